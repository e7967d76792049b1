"""Train the sentiment study's two models and write their predictions as prediction tables."""

from __future__ import annotations

import gzip
import json
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from calibrant.data import SETS, predictions
from calibrant.exceptions import FormatError, InputError
from calibrant.models.text import Kind, UnigramClassifier, tweet_tokenizer

KINDS: dict[str, Kind] = {"naive-bayes": "naive_bayes", "logistic-regression": "logistic_regression"}
STRENGTHS = tuple(float(f"{10.0 ** (k / 2):.4g}") for k in range(-6, 5))


@dataclass(frozen=True)
class Tweets:
    """One split of a set of tweets."""

    texts: list[str]
    labels: NDArray[np.uint8]


@dataclass(frozen=True)
class Sweep:
    """F1 on dev for every strength tried, and the one chosen (the first of the best)."""

    strengths: tuple[float, ...]
    f1_on_dev: tuple[float, ...]

    @property
    def chosen(self) -> float:
        return self.strengths[int(np.argmax(self.f1_on_dev))]


def source(data: Path, text_set: str, split: str) -> Path:
    """File of one split under the data folder."""
    return data / "sentiment" / f"sentiment140-{text_set}.{split}.tsv.gz"


def read(path: Path) -> Tweets:
    """Read a file of ``text<TAB>label[<TAB>date]`` lines."""
    texts, labels = [], []
    try:
        with gzip.open(path, "rt", encoding="utf-8", newline="\n") as lines:
            for number, line in enumerate(lines, start=1):
                text, label, *_ = line.rstrip("\n").split("\t")
                if label not in {"0", "1"}:
                    raise FormatError(f"label is {label!r}", "it must be 0 or 1", file=str(path), row=number)
                texts.append(text)
                labels.append(int(label))
    except FileNotFoundError as error:
        hint = "set CALIBRANT_DATA to the folder that has sentiment/"
        raise InputError(f"{path} does not exist", hint, code="input") from error
    return Tweets(texts, np.array(labels, dtype=np.uint8))


def f1_score(labels: NDArray[np.uint8], scores: NDArray[np.float64]) -> float:
    """F1 of the positive class, a score above one half being a positive prediction."""
    predicted = scores > 0.5
    return float(2 * np.sum(predicted & (labels == 1)) / (np.sum(predicted) + np.sum(labels)))


def train(kind: Kind, training: Tweets, dev: Tweets) -> tuple[UnigramClassifier, Sweep]:
    """Train with every strength and keep the model with the best F1 on dev."""
    tokenizer = cache(tweet_tokenizer())
    best: tuple[float, UnigramClassifier] | None = None
    f1 = []
    for strength in STRENGTHS:
        model = UnigramClassifier(kind, strength=strength, tokenizer=tokenizer)
        model.fit(training.texts, training.labels)
        f1.append(f1_score(dev.labels, model.predict_proba(dev.texts)))
        if best is None or f1[-1] > best[0]:
            best = (f1[-1], model)
    assert best is not None
    return best[1], Sweep(STRENGTHS, tuple(f1))


def write_predictions(data: Path, folder: Path) -> list[Path]:
    """Train both models on both sets and write their dev and test predictions to ``folder``."""
    written = []
    for text_set in SETS:
        splits = {name: read(source(data, text_set, name)) for name in ("train", "dev", "test")}
        for name, kind in KINDS.items():
            model, sweep = train(kind, splits["train"], splits["dev"])
            for split in ("test", "dev"):
                tweets = splits[split]
                path = folder / predictions(text_set, name, split).name
                about = {
                    "text_set": text_set,
                    "model": name,
                    "split": split,
                    "strength": sweep.chosen,
                    "strengths": sweep.strengths,
                    "f1_on_dev": sweep.f1_on_dev,
                    "train_items": len(splits["train"].texts),
                    "vocabulary": len(model.vocabulary),
                }
                _write_table(path, model.predict_proba(tweets.texts), tweets.labels, about)
                written.append(path)
    return written


def _write_table(
    path: Path, scores: NDArray[np.float64], labels: NDArray[np.uint8], about: dict[str, object]
) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    item = np.arange(1, len(scores) + 1, dtype=np.int32)
    table = pa.table({"item": item, "score": scores, "label": labels})
    table = table.replace_schema_metadata({"calibrant": json.dumps(about)})
    unfinished = path.with_name(path.name + ".part")
    pq.write_table(
        table,
        unfinished,
        compression="zstd",
        compression_level=19,
        use_dictionary=False,
        column_encoding={"item": "DELTA_BINARY_PACKED", "score": "BYTE_STREAM_SPLIT", "label": "PLAIN"},
    )
    os.replace(unfinished, path)
