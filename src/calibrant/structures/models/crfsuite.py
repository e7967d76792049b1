"""Training with CRFsuite, and reading of its weights."""

from __future__ import annotations

import ctypes
import re
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Floats, Integers
from calibrant.exceptions import CalibrantError, FormatError
from calibrant.lazy import from_extra
from calibrant.progress import Progress, tell

Setting = float | int | str

_ITERATION = re.compile(r"\*{5} (?:Iteration|Epoch) #(\d+) \*{5}")
# Log lines of the algorithms after convergence.
_CONVERGED = re.compile("L-BFGS resulted in convergence|.*[Tt]erminated with the stopping criteri")
_one_at_a_time = Lock()  # CRFsuite shuffles with the global generator of the C library

HEADER = np.dtype(
    [
        ("magic", "S4"),
        ("size", "<u4"),
        ("type", "S4"),
        ("version", "<u4"),
        ("features", "<u4"),
        ("labels", "<u4"),
        ("attributes", "<u4"),
        ("features_at", "<u4"),
        ("labels_at", "<u4"),
        ("attributes_at", "<u4"),
        ("label_references_at", "<u4"),
        ("attribute_references_at", "<u4"),
    ]
)
FEATURE = np.dtype([("type", "<u4"), ("source", "<u4"), ("target", "<u4"), ("weight", "<f8")])
COUNT_AT, FEATURES_AT = 8, 12  # in the chunk of features, after its name and size
NAMES_AT = 20  # position, in a dictionary, of the start of the offsets of names
TRANSITION = 1  # type of a feature; 0 for attributes


@dataclass(frozen=True)
class Trained:
    """Result of a training.

    Attributes
    ----------
    row, tag, weight
        Weights of (attribute, tag) that are not 0, in no particular order.
    transition
        (K, K) weights ``[from, to]``.
    iterations
        Number of iterations.
    converged
        True if training converged.
    """

    row: Integers
    tag: Integers
    weight: Floats
    transition: Floats
    iterations: int
    converged: bool


def train(
    items: Iterable[list[list[str]]],
    tags: Iterable[Integers],
    tag_count: int,
    *,
    algorithm: str,
    settings: Mapping[str, Setting],
    seed: int,
    progress: Progress | None = None,
) -> Trained:
    """Train a chain CRF on attributes and tags that are decimal numbers.

    Names of digits avoid characters that CRFsuite treats specially.

    Parameters
    ----------
    items
        Attributes of each token of each sentence.
    tags
        Codes of each sentence's tags.
    tag_count
        Number K of tags.
    algorithm, settings
        Names and values of CRFsuite.
    seed
        Seed for algorithms that shuffle the sentences.
    progress
        Called with ``"train"``, the iteration, and the largest number of iterations.

    Returns
    -------
    Trained
    """
    pycrfsuite = from_extra("pycrfsuite", "training a CRF needs python-crfsuite", "structures")

    iterations, converged = 0, False

    def message(line: str) -> None:
        nonlocal iterations, converged
        converged = converged or _CONVERGED.match(line) is not None
        match = _ITERATION.match(line)
        if match:
            iterations = int(match.group(1))
            tell(progress, "train", iterations, int(settings["max_iterations"]))

    trainer = pycrfsuite.Trainer(algorithm, settings, verbose=False)
    trainer.message = message
    names = [str(code) for code in range(tag_count)]
    for sentence, codes in zip(items, tags, strict=True):
        trainer.append(sentence, [names[code] for code in codes.tolist()])
    with tempfile.TemporaryDirectory(prefix="calibrant-") as folder, _one_at_a_time:
        path = Path(folder) / "model"
        # CRFsuite shuffles sentences with the C library's generator.
        ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None).srand(ctypes.c_uint(seed))
        try:
            trainer.train(str(path))
        except pycrfsuite.CRFSuiteError as error:
            raise CalibrantError(f"CRFsuite failed: {error}", "try other settings") from error
        model = parse_model(path.read_bytes())
    return _weights(model, tag_count, iterations, converged)


def _weights(model: ModelFile, tag_count: int, iterations: int, converged: bool) -> Trained:
    """Return weights by row and tag instead of by CRFsuite's numbers."""
    row, tag = np.array(model.attributes, np.int64), np.array(model.labels, np.int64)
    transition = np.zeros((tag_count, tag_count))
    edges = model.transition
    transition[tag[edges["source"]], tag[edges["target"]]] = edges["weight"]
    weight = model.state["weight"].astype(np.float64)
    if not (np.isfinite(weight).all() and np.isfinite(transition).all()):
        hint = "change the settings, or use lbfgs"
        raise CalibrantError("training diverged: CRFsuite returned weights that are not finite", hint)
    return Trained(
        row[model.state["source"]], tag[model.state["target"]], weight, transition, iterations, converged
    )


@dataclass(frozen=True)
class ModelFile:
    """Content of a model file of CRFsuite.

    Attributes
    ----------
    attributes, labels
        Names of attributes and labels.
    state
        Weights of (attribute, label), as records with ``source``, ``target`` and ``weight``.
    transition
        Weights of (label, label), as the same records.
    """

    attributes: list[str]
    labels: list[str]
    state: NDArray[np.void]
    transition: NDArray[np.void]


def parse_model(content: bytes) -> ModelFile:
    """Return the content of a model file of CRFsuite (version 100).

    Parameters
    ----------
    content
        Bytes of the file.

    Returns
    -------
    ModelFile
    """
    if len(content) < HEADER.itemsize:
        raise FormatError("CRFsuite wrote no model", "check the space left on disk", code="file-truncated")
    header = np.frombuffer(content, HEADER, 1)[0]
    if (header["magic"], header["type"], header["version"]) != (b"lCRF", b"FOMC", 100):
        message = "CRFsuite wrote a model that this release cannot read"
        raise FormatError(message, "use python-crfsuite 0.9", code="file-newer")
    if header["size"] != len(content):
        message = f"CRFsuite's model has {len(content)} bytes, expected {header['size']}"
        hint = "train on fewer features; its files cannot exceed 4 GiB"
        raise FormatError(message, hint, code="file-truncated")
    begin = int(header["features_at"])  # start of their chunk; the count in the header stays 0
    count = int(np.frombuffer(content, "<u4", 1, begin + COUNT_AT)[0])
    feature = np.frombuffer(content, FEATURE, count, begin + FEATURES_AT)
    is_transition = feature["type"] == TRANSITION
    return ModelFile(
        _names(content, int(header["attributes_at"]), int(header["attributes"])),
        _names(content, int(header["labels_at"]), int(header["labels"])),
        feature[~is_transition],
        feature[is_transition],
    )


def _names(content: bytes, start: int, count: int) -> list[str]:
    """Return names in the order of their numbers, from a CQDB dictionary that begins at byte ``start``.

    A name is stored as its number, its size with a closing zero (32 bits each), and its bytes.
    """
    if count == 0:
        return []
    places_at = int(np.frombuffer(content, "<u4", 1, start + NAMES_AT)[0])
    places = (np.frombuffer(content, "<u4", count, start + places_at).astype(np.int64) + start).tolist()
    sizes = [int.from_bytes(content[place + 4 : place + 8], "little") for place in places]
    return [
        content[place + 8 : place + 7 + size].decode("utf-8")
        for place, size in zip(places, sizes, strict=True)
    ]
