"""The logits of fine-tuned transformers that the study of neural networks reads."""

from __future__ import annotations

import csv
import gzip
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.exceptions import FormatError
from calibrant_studies.arrays import Floats, Integers
from calibrant_studies.datasets._folders import required

FOLDER = "nli-logits"
CLASSES = ("entailment", "contradiction", "neutral")  # in the order of the columns
MODELS = {
    ("snli", "bert-base-uncased"): "SNLI, BERT",
    ("snli", "roberta-base"): "SNLI, RoBERTa",
    ("mnli", "roberta-base"): "MNLI, RoBERTa",
}
TASKS = ("snli", "mnli")


@dataclass(frozen=True)
class Logits:
    """One trained network's logits of one part of a data set.

    Attributes
    ----------
    task
        Data set.
    model
        Data set and network, for a reader.
    seed
        Seed of the network's training.
    logits
        (n, K), in double precision.
    labels
        (n,) index of the true class.
    ids
        (n,) names of the items.
    cluster
        (n,) picture or premise of each item; items of one cluster are dependent.
    """

    task: str
    model: str
    seed: int
    logits: Floats
    labels: Integers
    ids: NDArray[Any]
    cluster: Integers

    def __len__(self) -> int:
        """The number of items."""
        return len(self.labels)


def sources(data: Path) -> list[Path]:
    """The files that are read."""
    parts = [f"{task}-{split}-{network}.npz" for task, network in MODELS for split in ("dev", "test")]
    chaos = [f"chaosnli-{task}.csv.gz" for task in TASKS]
    return [data / FOLDER / name for name in (*parts, *chaos)]


def networks(data: Path) -> Iterator[tuple[Logits, Logits]]:
    """Dev and test of every network and seed.

    Raises
    ------
    InputError
        If the folder lacks a file.
    FormatError
        If a file is broken.
    """
    for (task, network), title in MODELS.items():
        dev, test = (
            _parts(required(data, f"{FOLDER}/{task}-{split}-{network}.npz"), title, task)
            for split in ("dev", "test")
        )
        yield from zip(dev, test, strict=True)


@dataclass(frozen=True)
class Humans:
    """Labels by a hundred people of some items of a data set.

    Attributes
    ----------
    ids
        (n,) names of the items.
    counts
        (n, K) how many people chose each class, in the order of `CLASSES`.
    """

    ids: NDArray[Any]
    counts: Integers


def humans(data: Path, task: str) -> Humans:
    """Read ChaosNLI's labels of a data set.

    Raises
    ------
    InputError
        If the file is missing.
    FormatError
        If it is broken.
    """
    path = required(data, f"{FOLDER}/chaosnli-{task}.csv.gz")
    try:
        with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        counts = np.array([[int(row[name]) for name in CLASSES] for row in rows], np.int64)
        ids = np.array([row["uid"] for row in rows])
    except (OSError, EOFError, zlib.error, ValueError, TypeError, KeyError) as error:
        raise _broken(path, "it needs the columns uid, entailment, contradiction and neutral") from error
    if counts.ndim != 2 or (counts < 0).any() or (counts.sum(axis=1) == 0).any():
        raise _broken(path, "an item has no labels, or a count below 0")
    return Humans(ids, counts)


def _parts(path: Path, title: str, task: str) -> list[Logits]:
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (OSError, EOFError, MemoryError, zipfile.BadZipFile, zlib.error, ValueError, TypeError) as error:
        raise _broken(path, "it is no archive of NumPy arrays") from error
    names = sorted(name for name in arrays if name.removeprefix("logits_").isdecimal())
    if not names or "ids" not in arrays or "labels" not in arrays:
        raise _broken(path, "it needs the arrays ids, labels and logits_0")
    ids, labels = arrays["ids"], arrays["labels"]
    whole = ids.ndim == 1 and labels.shape == ids.shape and labels.dtype.kind in "iu" and len(ids) > 0
    if not whole or not ((labels >= 0) & (labels < len(CLASSES))).all():
        raise _broken(path, "labels are not one whole number below 3 per item")
    for name in names:
        logits = arrays[name]
        if logits.shape != (len(ids), len(CLASSES)) or logits.dtype.kind != "f":
            raise _broken(path, f"{name} has shape {logits.shape}, not three numbers per item")
        if not np.isfinite(logits).all():
            raise _broken(path, f"{name} has a number that is not finite")
    cluster = _clusters(ids.tolist(), task)
    return [
        Logits(
            task,
            title,
            int(name.removeprefix("logits_")),
            arrays[name].astype(np.float64),
            labels.astype(np.int64),
            ids,
            cluster,
        )
        for name in names
    ]


def _broken(path: Path, why: str) -> FormatError:
    hint = f"delete it and run `calibrant data fetch {FOLDER}`"
    return FormatError(f"cannot be read: {why}", hint, code="file-broken", file=str(path))


def _clusters(ids: list[str], task: str) -> Integers:
    """The picture of an item of SNLI, the premise of one of MNLI, as codes."""
    names = [str(name).partition("#")[0] if task == "snli" else str(name)[:-1] for name in ids]
    return np.unique(names, return_inverse=True)[1].astype(np.int64)
