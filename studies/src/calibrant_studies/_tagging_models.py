"""The tagging study's models: training settings and sentences, and the choices on dev."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any, TypeVar

import numpy as np

from calibrant.structures.models.crf import CRFTagger
from calibrant.structures.models.features import FEATURE_GROUPS
from calibrant.structures.models.hmm import HMMTagger, Unseen
from calibrant.structures.models.tuning import PSEUDOCOUNTS, choose, token_accuracy
from calibrant.structures.posterior import ChainPosterior
from calibrant_studies._tagging_data import Part, TextSet
from calibrant_studies.arrays import Floats, Integers

TITLE = {
    "hmm-ml": "HMM, maximum likelihood",
    "hmm": "HMM",
    "hmm-classes": "HMM, unseen words in classes",
    "crf-basic": "CRF-basic",
    "crf-advanced": "CRF-advanced",
    "crf": "CRF",  # the CRF with other features
}
# The larger sets try only values that the smaller sets find good, since one training takes minutes.
PENALTIES: dict[str, dict[str, tuple[float, ...]]] = {
    "twitter": {"basic": (3.0, 1.0, 0.3, 0.1, 0.03, 0.01), "advanced": (3.0, 1.0, 0.3, 0.1, 0.03)},
    "wsj": {"basic": (0.3, 0.1, 0.03), "advanced": (1.0, 0.3, 0.1)},
    "conll2000": {"basic": (0.3, 0.1), "advanced": (0.3,)},
    "ewt": {"basic": (0.3, 0.1), "advanced": (0.3,)},
    "ontonotes": {"basic": (0.3, 0.1), "advanced": (0.3,)},
    "ptb": {"basic": (0.3, 0.1), "advanced": (0.3,)},
}
ABLATION_PENALTIES: dict[str, tuple[float, ...]] = {"twitter": (1.0, 0.3, 0.1), "wsj": (0.3,)}
# Penalties of CRF-basic on the sets of the ablation, besides those that dev chooses among.
SWEEP = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
STEPS = {
    "words": ("word",),
    "+ words around": ("word", "context"),
    "+ lower case, shape, length": ("word", "context", "lower", "shape", "length"),
    "+ prefixes": ("word", "context", "lower", "shape", "length", "prefixes"),
    "+ suffixes": tuple(FEATURE_GROUPS),
}
SMALLEST_SHARE = 16
BISECTIONS = 5
PROCESSES = 2

Model = TypeVar("Model", HMMTagger, CRFTagger)


@dataclass(frozen=True)
class Tagger:
    """Trained tagger, with its setting and its training.

    Attributes
    ----------
    key
        Key of `TITLE`.
    model
        The tagger.
    setting
        Pseudocount or penalty of squared weights.
    sentences
        Number of training sentences.
    dev_accuracy
        Accuracy on dev with the chosen setting.
    candidates
        Settings that were tried on dev, with their accuracy.
    """

    key: str
    model: HMMTagger | CRFTagger
    setting: float
    sentences: int
    dev_accuracy: float
    candidates: tuple[dict[str, Any], ...] = ()

    def posterior(self, part: Part) -> ChainPosterior:
        """Return the distribution over the tags of some sentences."""
        return self.model.posterior(part.sentences)


@dataclass(frozen=True)
class Job:
    """Conditional random fields to train in another process, from plain values.

    Attributes
    ----------
    train, dev
        Sentences.
    features
        Names of groups, or of a set of them.
    penalties
        Penalties to try.
    target
        Accuracy on dev that a second model, trained on fewer sentences, comes closest to; None: no
        second model.
    iterations
        Largest number of iterations.
    """

    train: Part
    dev: Part
    features: str | tuple[str, ...]
    penalties: tuple[float, ...]
    target: float | None = None
    iterations: int = 200

    def make(self, l2: float) -> CRFTagger:
        """Return an untrained model."""
        return CRFTagger(features=self.features, l2=l2, max_iterations=self.iterations)


Found = list[tuple[dict[str, Any], dict[str, Any]]]


def train_crf(job: Job) -> Found:
    """Train what a job asks for: the state of each model, and the other fields of its `Tagger`."""
    train, dev = job.train, job.dev
    choice = choose(job.make, job.penalties, train.sentences, train.tags, dev.sentences, dev.tags)
    about = {"setting": choice.setting, "sentences": len(train.sentences), "dev_accuracy": choice.accuracy}
    found: Found = [(choice.model.to_state(), {**about, "candidates": tuple(choice.to_rows())})]
    if job.target is not None and choice.accuracy >= job.target:

        def fit(count: int) -> CRFTagger:
            part = train.first(count)
            return job.make(choice.setting).fit(part.sentences, part.tags)

        model, count, accuracy = closest(fit, len(train.sentences), dev, job.target)
        about = {"setting": choice.setting, "sentences": count, "dev_accuracy": accuracy}
        found.append((model.to_state(), about))
    return found


def closest(fit: Callable[[int], Model], most: int, dev: Part, target: float) -> tuple[Model, int, float]:
    """Find the first so many training sentences whose model is nearest to an accuracy, by bisection.

    Returns
    -------
    tuple
        The model, how many sentences it was trained on, and its accuracy on dev.
    """
    low, high = most / SMALLEST_SHARE, float(most)
    best: tuple[Model, int, float] | None = None
    for _ in range(BISECTIONS):
        count = round(math.sqrt(low * high))
        model = fit(count)
        accuracy = token_accuracy(dev.tags, model.predict(dev.sentences))
        if best is None or abs(accuracy - target) < abs(best[2] - target):
            best = model, count, accuracy
        low, high = (count, high) if accuracy < target else (low, count)
    assert best is not None
    return best


def hidden_markov_models(texts: TextSet) -> dict[str, Tagger]:
    """Train the study's HMMs: maximum likelihood, and the mode with a pseudocount that dev chooses."""
    return {
        "hmm-ml": _chosen_hmm("hmm-ml", texts, "uniform", (0.0,)),
        "hmm": _chosen_hmm("hmm", texts, "uniform", PSEUDOCOUNTS),
        "hmm-classes": _chosen_hmm("hmm-classes", texts, "classes", PSEUDOCOUNTS),
    }


def _chosen_hmm(key: str, texts: TextSet, unseen: Unseen, pseudocounts: Sequence[float]) -> Tagger:
    train, dev = texts.train, texts.dev
    choice = choose(
        lambda value: HMMTagger(pseudocount=value, unseen=unseen),
        pseudocounts,
        train.sentences,
        train.tags,
        dev.sentences,
        dev.tags,
    )
    rows = tuple(choice.to_rows())
    return Tagger(key, choice.model, choice.setting, len(train.sentences), choice.accuracy, rows)


def hmm_like(texts: TextSet, hmm: Tagger, target: float) -> Tagger:
    """Train the HMM on fewer sentences, for an accuracy on dev."""

    def fit(count: int) -> HMMTagger:
        part = texts.train.first(count)
        return HMMTagger(pseudocount=hmm.setting).fit(part.sentences, part.tags)

    model, count, accuracy = closest(fit, len(texts.train.sentences), texts.dev, target)
    return Tagger("hmm", model, hmm.setting, count, accuracy)


class Training:
    """Conditional random fields under way in other processes."""

    def __init__(self, pool: ProcessPoolExecutor, iterations: int) -> None:
        self._pool, self._iterations = pool, iterations
        self._futures: dict[tuple[str, ...], Future[Found]] = {}

    def start(self, texts: TextSet, target: float) -> None:
        """Begin to train CRF-basic (and its twin of the target accuracy) and CRF-advanced."""
        for features in ("basic", "advanced"):
            twin = target if features == "basic" and texts.name != "twitter" else None
            self._submit((texts.name, features), texts, features, PENALTIES[texts.name][features], twin)

    def start_ablation(self, texts: TextSet) -> None:
        """Begin to train a model for each step of the ablation."""
        for groups in STEPS.values():
            self._submit((texts.name, *groups), texts, groups, ABLATION_PENALTIES[texts.name])

    def start_sweep(self, texts: TextSet) -> None:
        """Begin to train CRF-basic with each penalty."""
        for l2 in SWEEP:
            self._submit((texts.name, f"{l2:g}"), texts, "basic", (l2,))

    def _submit(
        self,
        key: tuple[str, ...],
        texts: TextSet,
        features: str | tuple[str, ...],
        penalties: tuple[float, ...],
        target: float | None = None,
    ) -> None:
        job = Job(texts.train, texts.dev, features, penalties, target, self._iterations)
        self._futures[key] = self._pool.submit(train_crf, job)

    def taggers(self, name: str, *features: str) -> list[Tagger]:
        """Wait for the models of some features: all sentences first, then the twin if there is one."""
        key = f"crf-{features[0]}" if f"crf-{features[0]}" in TITLE else "crf"
        found = self._futures.pop((name, *features)).result()
        return [Tagger(key, CRFTagger.from_state(state), **about) for state, about in found]


@contextmanager
def training(iterations: int, processes: int = PROCESSES) -> Iterator[Training]:
    """Processes to train on; CRFsuite holds the interpreter's lock, so that threads do not help."""
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        try:
            yield Training(pool, iterations)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def accuracy_interval(gold: Part, predicted: Sequence[Sequence[str]]) -> tuple[float, float, float]:
    """Accuracy of some tokens and its normal interval, with sentences as clusters."""
    right = np.array(
        [
            sum(truth == tag for truth, tag in zip(true, found, strict=True))
            for true, found in zip(gold.tags, predicted, strict=True)
        ]
    )
    return mean_interval(right, np.array([len(sentence) for sentence in gold.tags]))


def mean_interval(sums: Floats | Integers, sizes: Integers) -> tuple[float, float, float]:
    """Return a mean and its normal interval from the sums and sizes of clusters."""
    mean = float(sums.sum() / sizes.sum())
    half = 1.96 * float(np.sqrt(np.sum((sums - mean * sizes) ** 2)) / sizes.sum())
    return mean, mean - half, mean + half
