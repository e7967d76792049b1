"""Train the sentiment study's two models and write their predictions as prediction tables."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.data import MODELS, SETS, SPLITS, predictions
from calibrant.exceptions import FormatError
from calibrant.io.atomic import writing
from calibrant.metrics.plug_in import plug_in_calibration_error
from calibrant_studies.datasets._folders import required
from calibrant_studies.text_classifiers import Kind, Tokenizer, UnigramClassifier, tweet_tokenizer

DEV_BIN_SIZE = 200
METADATA = b"calibrant"
ENCODING = {"item": "DELTA_BINARY_PACKED", "score": "BYTE_STREAM_SPLIT", "label": "PLAIN"}
KINDS: dict[str, Kind] = {"naive-bayes": "naive_bayes", "logistic-regression": "logistic_regression"}
TITLE = {"naive-bayes": "naive Bayes", "logistic-regression": "logistic regression"}
STRENGTHS = tuple(float(f"{10.0 ** (k / 2):.4g}") for k in range(-6, 5))


@dataclass(frozen=True)
class Tweets:
    """One split of a set of tweets."""

    texts: list[str]
    labels: NDArray[np.uint8]


@dataclass(frozen=True)
class Sweep:
    """F1 and plug-in error on dev for every strength tried, and the one chosen (the first of the best F1)."""

    strengths: tuple[float, ...]
    f1_on_dev: tuple[float, ...]
    error_on_dev: tuple[float, ...]

    @property
    def chosen(self) -> float:
        return self.strengths[int(np.argmax(self.f1_on_dev))]


def source(data: Path, text_set: str, split: str) -> Path:
    """File of one split under the data folder."""
    return required(data, f"sentiment/sentiment140-{text_set}.{split}.tsv.gz")


def read(path: Path) -> Tweets:
    """Read a file of ``text<TAB>label[<TAB>date]`` lines."""
    texts, labels = [], []
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as lines:
        for number, line in enumerate(lines, start=1):
            text, label, *_ = line.rstrip("\n").split("\t")
            if label not in {"0", "1"}:
                raise FormatError(
                    f"label is {label!r}",
                    "it must be 0 or 1",
                    code="label-value",
                    file=str(path),
                    row=number,
                )
            texts.append(text)
            labels.append(int(label))
    return Tweets(texts, np.array(labels, dtype=np.uint8))


def f1_score(labels: NDArray[np.uint8], scores: NDArray[np.float64]) -> float:
    """F1 of the positive class, a score above one half being a positive prediction."""
    predicted = scores > 0.5
    return float(2 * np.sum(predicted & (labels == 1)) / (np.sum(predicted) + np.sum(labels)))


def train(kind: Kind, training: Tweets, dev: Tweets, tokenizer: Tokenizer) -> tuple[UnigramClassifier, Sweep]:
    """Train with every strength and keep the model with the best F1 on dev."""
    models, f1, error = [], [], []
    for strength in STRENGTHS:
        model = UnigramClassifier(kind, strength=strength, tokenizer=tokenizer)
        models.append(model.fit(training.texts, training.labels))
        scores = model.predict_proba(dev.texts)
        f1.append(f1_score(dev.labels, scores))
        error.append(plug_in_calibration_error(dev.labels, scores, bin_size=DEV_BIN_SIZE))
    return models[int(np.argmax(f1))], Sweep(STRENGTHS, tuple(f1), tuple(error))


@dataclass(frozen=True)
class Predicted:
    """Predictions of one model for one split of one set, and the origin of the model."""

    text_set: str
    model: str
    split: str
    scores: NDArray[np.float64]
    labels: NDArray[np.uint8]
    about: dict[str, Any]


def trained(data: Path) -> Iterator[Predicted]:
    """Train both models on both sets and predict test and dev."""
    for text_set in SETS:
        splits = {name: read(source(data, text_set, name)) for name in ("train", *SPLITS)}
        tokenizer = cache(tweet_tokenizer())
        for name, kind in KINDS.items():
            model, sweep = train(kind, splits["train"], splits["dev"], tokenizer)
            about = {
                "strength": sweep.chosen,
                "strengths": list(sweep.strengths),
                "f1_on_dev": list(sweep.f1_on_dev),
                "error_on_dev": list(sweep.error_on_dev),
                "train_items": len(splits["train"].texts),
                "vocabulary": len(model.vocabulary),
            }
            for split in SPLITS:
                tweets = splits[split]
                yield Predicted(
                    text_set, name, split, model.predict_proba(tweets.texts), tweets.labels, about
                )


def shipped() -> Iterator[Predicted]:
    """The predictions that ship with the package."""
    import pyarrow.parquet as pq

    for text_set, model, split in product(SETS, MODELS, SPLITS):
        table = pq.read_table(predictions(text_set, model, split))
        about = json.loads(table.schema.metadata[METADATA])
        scores, labels = (table[name].to_numpy() for name in ("score", "label"))
        yield Predicted(text_set, model, split, scores, labels, about)


def write_predictions(data: Path, folder: Path) -> list[Path]:
    """Train, and write the predictions to ``folder`` under the names they ship by."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    written = []
    for found in trained(data):
        item = np.arange(1, len(found.scores) + 1, dtype=np.int32)
        table = pa.table({"item": item, "score": found.scores, "label": found.labels})
        names = {"text_set": found.text_set, "model": found.model, "split": found.split}
        table = table.replace_schema_metadata({METADATA: json.dumps(names | found.about)})
        written.append(folder / predictions(found.text_set, found.model, found.split).name)
        with writing(written[-1]) as file:
            pq.write_table(
                table,
                file,
                compression="zstd",
                compression_level=19,
                use_dictionary=False,
                column_encoding=ENCODING,
            )
    return written
