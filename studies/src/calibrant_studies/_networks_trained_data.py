"""Input of the trained networks: headlines with topics and tweets with sentiment, as dense vectors."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant_studies import _tweets
from calibrant_studies.datasets._folders import required

SPLITS = ("train", "dev", "test")
TOPICS = 8
DIMENSIONS = 300
WORD = r"\w+|[^\w\s]+"  # runs of letters and digits, and runs of signs, such as emoticons


@dataclass(frozen=True)
class Texts:
    """One split: the number of each text in its source, the texts, and their classes as indices."""

    items: NDArray[np.int32]
    texts: list[str]
    labels: NDArray[np.uint8]


@dataclass(frozen=True)
class Vectors:
    """One split as networks read it: inputs of shape (n, dimensions), and classes as indices."""

    items: NDArray[np.int32]
    inputs: NDArray[np.float32]
    labels: NDArray[np.uint8]


def sources(data: Path) -> dict[str, list[Path]]:
    """Files that each set is read from."""
    return {
        "headlines": [required(data, "reuters-21578/documents.jsonl.gz")],
        "tweets": [_tweets.source(data, "dated", split) for split in SPLITS],
    }


def headlines(data: Path) -> tuple[dict[str, Texts], tuple[str, ...]]:
    """Titles of the stories that have one topic, among the most frequent ones, and the names of the topics.

    The test stories are those of the usual split (ModApte). The last fifth of its training stories is dev.
    """
    with gzip.open(sources(data)["headlines"][0], "rt", encoding="utf-8") as lines:
        stories = [json.loads(line) for line in lines]
    single = [story for story in stories if story["topics_attr"] == "YES" and len(story["topics"]) == 1]
    training = [story for story in single if story["lewissplit"] == "TRAIN"]
    frequent = Counter(story["topics"][0] for story in training).most_common(TOPICS)
    names = tuple(sorted(name for name, _ in frequent))
    training.sort(key=lambda story: (story["date"], story["id"]))
    training = [story for story in training if story["topics"][0] in names]
    cut = len(training) * 4 // 5
    test = [story for story in single if story["lewissplit"] == "TEST" and story["topics"][0] in names]
    parts = dict(zip(SPLITS, (training[:cut], training[cut:], test), strict=True))
    return {split: _titles(part, names) for split, part in parts.items()}, names


def _titles(stories: list[dict[str, Any]], names: tuple[str, ...]) -> Texts:
    return Texts(
        np.array([story["id"] for story in stories], dtype=np.int32),
        [story["title"] for story in stories],
        np.array([names.index(story["topics"][0]) for story in stories], dtype=np.uint8),
    )


def tweets(data: Path) -> tuple[dict[str, Texts], tuple[str, ...]]:
    """Tweets of 2009 in order of time, and the names of the two classes."""
    found = {}
    for split, path in zip(SPLITS, sources(data)["tweets"], strict=True):
        read = _tweets.read(path)
        found[split] = Texts(np.arange(1, len(read.texts) + 1, dtype=np.int32), read.texts, read.labels)
    return found, ("negative", "positive")


READERS: dict[str, Callable[[Path], tuple[dict[str, Texts], tuple[str, ...]]]] = {
    "headlines": headlines,
    "tweets": tweets,
}


def vectors(
    splits: Mapping[str, Texts], *, dimensions: int = DIMENSIONS, seed: int = 0
) -> dict[str, Vectors]:
    """Reduce tf-idf weights of words to a few dimensions, by a singular value decomposition.

    Parameters
    ----------
    splits
        Texts by name of the split; weights and dimensions are learned from ``"train"`` alone.
    dimensions
        Numbers per text, centered; their mean variance on the training texts is 1.
    seed
        Seed of the decomposition's random start.

    Returns
    -------
    dict
        Vectors by name of the split.
    """
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    weights = TfidfVectorizer(min_df=2, sublinear_tf=True, token_pattern=WORD)
    trained = weights.fit_transform(splits["train"].texts)
    reduced = TruncatedSVD(dimensions, n_iter=4, random_state=seed).fit(trained)
    inputs = reduced.transform(trained)
    center, scale = inputs.mean(axis=0), float(np.sqrt(inputs.var(axis=0).mean()))

    def of(texts: Texts) -> Vectors:
        found = (reduced.transform(weights.transform(texts.texts)) - center) / scale
        return Vectors(texts.items, found.astype(np.float32), texts.labels)

    return {split: of(texts) for split, texts in splits.items()}
