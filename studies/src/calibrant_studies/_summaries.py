"""Systems for the shipped articles: which sentences a summary should keep.

Three, from the plainest on: the first sentences of an article, those nearest to its centroid, and a logistic
model of a few features, whose probabilities come from folds of whole articles that it was not trained on.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from calibrant.data import example
from calibrant.io.atomic import writing
from calibrant_studies.arrays import Floats, Integers

BUDGET = 3
FOLDS = 4
FEATURES = ("first", "second", "place", "length", "centroid", "title", "number", "quotation")


@dataclass(frozen=True)
class Sentences:
    """The sentences of all articles, in order.

    Attributes
    ----------
    item, text, title
        One per sentence.
    document
        (n,) codes of the articles.
    place, length
        (n,) from 0 within the article, and the article's number of sentences.
    kept
        (n,) whether both passes of the annotator keep it, or else the third look.
    """

    item: list[str]
    text: list[str]
    title: list[str]
    document: Integers
    place: Integers
    length: Integers
    kept: Integers


def write_outputs(folder: Path | None = None) -> None:
    """Write the systems' outputs, and which fold an article is in, beside the articles."""
    folder = example("summaries").parent if folder is None else folder
    sentences = read_sentences(folder)
    centroid = centroid_scores(sentences)
    fold = sentences.document % FOLDS
    probability = logistic_probabilities(features(sentences, centroid), sentences.kept, fold)
    first = np.where(sentences.place < BUDGET, "keep", "not keep").tolist()
    nearest = np.where(_best(centroid, sentences.document), "keep", "not keep").tolist()
    _write(folder / "first-sentences.csv", ("item", "label"), zip(sentences.item, first, strict=True))
    _write(folder / "centroid.csv", ("item", "label"), zip(sentences.item, nearest, strict=True))
    scores = [f"{score:.4f}" for score in probability.tolist()]
    _write(folder / "logistic.csv", ("item", "probability"), zip(sentences.item, scores, strict=True))
    folds = (fold + 1).tolist()
    _write(folder / "folds.csv", ("item", "fold"), zip(sentences.item, folds, strict=True))


def read_sentences(folder: Path) -> Sentences:
    """Read the articles, the labels of two passes by one annotator, and a third look where they differ."""
    rows = _read(folder / "sentences.csv")
    chosen = {row["item"]: row["label"] for row in _read(folder / "adjudicated.csv")}
    labels: dict[str, set[str]] = {}
    for row in _read(folder / "annotations.csv"):
        labels.setdefault(row["item"], set()).add(row["label"])
    settled = [chosen.get(row["item"]) or next(iter(labels[row["item"]])) for row in rows]
    names = list(dict.fromkeys(row["document"] for row in rows))
    document = np.array([names.index(row["document"]) for row in rows], np.int64)
    length = np.bincount(document)
    starts = np.cumsum(length) - length
    return Sentences(
        [row["item"] for row in rows],
        [row["sentence"] for row in rows],
        [row["title"] for row in rows],
        document,
        np.arange(len(rows)) - starts[document],
        length[document],
        np.array([label == "keep" for label in settled], np.int64),
    )


def centroid_scores(sentences: Sentences) -> Floats:
    """Cosine of each sentence and the sum of its article's, words weighed by tf-idf over all sentences."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    words = TfidfVectorizer(stop_words="english", sublinear_tf=True).fit_transform(sentences.text).toarray()
    centroid = np.zeros((int(sentences.document.max()) + 1, words.shape[1]))
    np.add.at(centroid, sentences.document, words)
    centroid /= np.linalg.norm(centroid, axis=1, keepdims=True)
    scores: Floats = (words * centroid[sentences.document]).sum(axis=1)
    return scores


def features(sentences: Sentences, centroid: Floats) -> Floats:
    """Return the features of each sentence for the logistic model: (n, 8), as in ``FEATURES``."""
    in_title = [
        len(_words(title) & _words(text)) for title, text in zip(sentences.title, sentences.text, strict=True)
    ]
    return np.column_stack(
        [
            sentences.place == 0,
            sentences.place == 1,
            sentences.place / (sentences.length - 1),
            np.log([len(text.split()) for text in sentences.text]),
            centroid,
            in_title,
            [any(char.isdigit() for char in text) for text in sentences.text],
            ['"' in text for text in sentences.text],
        ]
    ).astype(np.float64)


def logistic_probabilities(values: Floats, kept: Integers, fold: Integers) -> Floats:
    """Probability of "keep" from a model that was trained on the other folds."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    probability = np.empty(len(kept))
    for each in np.unique(fold):
        test = fold == each
        model = make_pipeline(StandardScaler(), LogisticRegression(C=0.3))
        probability[test] = model.fit(values[~test], kept[~test]).predict_proba(values[test])[:, 1]
    return probability


def _best(score: Floats, document: Integers) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    from calibrant.evaluation import keep_top

    return keep_top(np.clip(score, 0, 1), document, BUDGET)


def _words(text: str) -> set[str]:
    return {word.strip('.,"?!').lower() for word in text.split() if len(word) > 3}


def _read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _write(path: Path, names: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    lines = [",".join(names), *(",".join(str(value) for value in row) for row in rows)]
    with writing(path) as file:
        file.write(("\n".join(lines) + "\n").encode("utf-8"))
