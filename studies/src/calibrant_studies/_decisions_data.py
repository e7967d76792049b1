"""Texts and taggers of the decisions study, and the taggers' probabilities after recalibration."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from calibrant.recalibrate import Isotonic
from calibrant.recalibrate.groups import by_frequency
from calibrant.structures.files.tagged import read_tagged
from calibrant.structures.models.crf import CRFTagger
from calibrant.structures.models.features import FeatureFunction
from calibrant.structures.models.hmm import HMMTagger
from calibrant.structures.posterior import ChainPosterior, fit_temperature, tempered
from calibrant_studies._decisions_compare import gold_codes
from calibrant_studies._tagging_data import DEV_SHARE, Part
from calibrant_studies.arrays import Floats
from calibrant_studies.datasets._folders import required

SPLITS = ("train", "dev", "test")
# Name of a task: the files, and the column of the tags.
SOURCES: dict[str, tuple[tuple[str, ...], int | str | None]] = {
    "twitter": (tuple(f"twitter-pos/oct27.{split}.tsv.gz" for split in SPLITS), None),
    "upos": (tuple(f"ud-english-ewt/en_ewt-ud-{split}.conllu.gz" for split in SPLITS), "upos"),
    "xpos": (tuple(f"ud-english-ewt/en_ewt-ud-{split}.conllu.gz" for split in SPLITS), "xpos"),
    "lextag": (tuple(f"sparse-tags/streusle.ud_{split}.conllulex.gz" for split in SPLITS), 19),
    "pos": (("conll2000/train.txt.gz", "conll2000/test.txt.gz"), 2),
    "chunk": (("conll2000/train.txt.gz", "conll2000/test.txt.gz"), 3),
    "names": (tuple(f"wnut17/{split}.conll.gz" for split in SPLITS), 2),
}
TITLE = {
    "twitter": "tweets, parts of speech",
    "upos": "EWT, parts of speech",
    "xpos": "EWT, Penn tags",
    "lextag": "STREUSLE, lexical-semantic tags",
    "pos": "CoNLL-2000, parts of speech",
    "chunk": "CoNLL-2000, chunks",
    "names": "WNUT-17, names",
}
GROUPS = 5
LEAST = 1e-3  # smaller scores are not mapped
FEWEST = 10
MOST_SENTENCES = 3_000  # training sentences of a CRF, so that the study takes minutes
MOST_STEPS = 300_000_000  # limit of tokens times squared tags when a temperature is fitted
PSEUDOCOUNT = 0.01
METHODS = ("temperature", "map per tag", "map per group")


@dataclass(frozen=True)
class Texts:
    """A data set with tags of one kind."""

    name: str
    train: Part
    dev: Part
    test: Part

    @property
    def title(self) -> str:
        """Its name in tables."""
        return TITLE[self.name]


def files(data: Path) -> list[Path]:
    """Every file that the study reads."""
    return [data / file for file in dict.fromkeys(file for found, _ in SOURCES.values() for file in found)]


def read_texts(data: Path, name: str) -> Texts:
    """Read one data set; without a dev file dev is the last tenth of the training sentences."""
    names, column = SOURCES[name]
    parts = []
    for file in names:
        path = required(data, file)
        parts.append(_read(path, column))
    if len(parts) == len(SPLITS):
        return Texts(name, *parts)
    whole, test = parts
    count = len(whole.sentences) - len(whole.sentences) // DEV_SHARE
    dev = Part(whole.sentences[count:], whole.tags[count:])
    return Texts(name, whole.first(count), dev, test)


def _read(path: Path, column: int | str | None) -> Part:
    found = read_tagged(path, column=column)
    assert found.tags is not None
    return Part(found.sentences, found.tags)


def hmm(train: Part) -> HMMTagger:
    """Train an HMM."""
    return HMMTagger(pseudocount=PSEUDOCOUNT, unseen="classes").fit(train.sentences, train.tags)


def crf(
    train: Part,
    seed: int,
    *,
    epochs: int = 20,
    l2: float = 0.1,
    features: str | FeatureFunction = "advanced",
) -> CRFTagger:
    """Train a CRF by AdaGrad."""
    model = CRFTagger(features=features, algorithm="adagrad", l2=l2, max_iterations=epochs, seed=seed)
    return model.fit(train.sentences, train.tags)


@dataclass(frozen=True)
class Task:
    """A tagger's distribution over the tags of dev and test.

    Attributes
    ----------
    texts, model
        The data set, and the name of the model.
    on_dev, on_test
        Its distributions.
    """

    texts: Texts
    model: str
    on_dev: ChainPosterior
    on_test: ChainPosterior

    @property
    def key(self) -> str:
        """Its name in findings."""
        return f"{self.texts.name}-{self.model.lower()}"

    @property
    def title(self) -> str:
        """Its name in tables."""
        return f"{self.texts.title}, {self.model}"

    @cached_property
    def temperature(self) -> float:
        """The temperature of the greatest likelihood on dev; with hundreds of tags on its first sentences."""
        return temperature_of(self.on_dev, self.texts.dev.tags)

    @cached_property
    def tempered(self) -> ChainPosterior:
        """The distribution on test, recalibrated by one temperature."""
        return tempered(self.on_test, self.temperature)

    def marginals(self) -> Iterator[tuple[str, Floats]]:
        """Yield the probabilities of the tags of test, recalibrated by each method of `METHODS`."""
        yield "temperature", self.tempered.marginals()
        names, counts = self.on_test.tags, Counter(tag for tags in self.texts.train.tags for tag in tags)
        place = {name: code for code, name in enumerate(names)}
        groups = by_frequency({name: counts[name] for name in names}, GROUPS)
        yield METHODS[1], self._mapped([[code] for code in range(len(names))])
        yield METHODS[2], self._mapped([[place[name] for name in group] for group in groups])

    def _mapped(self, parts: Sequence[Sequence[int]]) -> Floats:
        """Map the scores of each part of the tags by isotonic regression on dev; then let rows sum to 1.

        Scores below `LEAST` stay as they are, and so do tags with fewer than `FEWEST` positives or negatives.
        """
        before, found = self.on_dev.marginals(), self.on_test.marginals().copy()
        gold = gold_codes(self.on_dev.tags, self.texts.dev)
        for codes in parts:
            score, label = before[:, codes], gold[:, None] == np.array(codes)
            kept = score >= LEAST
            positives = int(label[kept].sum())
            if min(positives, int(kept.sum()) - positives) < FEWEST:
                continue
            made = Isotonic().fit(score[kept], label[kept])
            column = found[:, codes]
            column[column >= LEAST] = made.transform(column[column >= LEAST])
            found[:, codes] = column
        total = found.sum(axis=1, keepdims=True)
        return np.where(total > 0, found / np.where(total > 0, total, 1.0), self.on_test.marginals())


def temperature_of(posterior: ChainPosterior, tags: Sequence[Sequence[str]]) -> float:
    """Return the temperature of the greatest likelihood, on so many sentences that it takes seconds."""
    most = MOST_STEPS // posterior.tag_count**2
    count = max(1, int(np.searchsorted(posterior.offsets, most, side="right")) - 1)
    first = ChainPosterior(
        posterior.unary[: posterior.offsets[count]],
        posterior.transition,
        lengths=posterior.lengths[:count],
        tags=posterior.tags,
    )
    return fit_temperature(first, tags[:count]).temperature


def task(texts: Texts, kind: str, seed: int) -> Task:
    """Train a tagger, HMM or CRF, and tag dev and test."""
    model = hmm(texts.train) if kind == "HMM" else crf(texts.train.first(MOST_SENTENCES), seed)
    return Task(texts, kind, model.posterior(texts.dev.sentences), model.posterior(texts.test.sentences))
