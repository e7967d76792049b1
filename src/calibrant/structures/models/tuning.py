"""Hyperparameters chosen by accuracy on held-out sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Generic, Protocol, TypeVar

import numpy as np

from calibrant.exceptions import InputError
from calibrant.records import Record, name, number
from calibrant.structures.models._tagger import same_lengths, sentence_lengths

HELD_OUT = "Held-out text"
Sentences = Sequence[Sequence[str]]
Setting = TypeVar("Setting")

# 10^1, 10^0.5, ... 10^-6; the first, and therefore largest, of equally accurate values is chosen.
PSEUDOCOUNTS: tuple[float, ...] = tuple(float(f"{10**power:.3g}") for power in np.arange(1.0, -6.1, -0.5))


class Tagger(Protocol):
    """Model that trains on tagged sentences and tags other sentences."""

    def fit(self, sentences: Sentences, tags: Sentences, /) -> object:
        """Train."""

    def predict(self, sentences: Sentences, /) -> list[list[str]]:
        """Return one tag per token."""


Model = TypeVar("Model", bound=Tagger)


class Candidate(Record, frozen=True):
    """Setting of a tagger that was tried."""

    setting: Annotated[Any, name("Setting", "Value of the hyperparameter.")]
    accuracy: Annotated[
        float,
        number(
            "Accuracy",
            "Proportion of the held-out tokens that were tagged correctly.",
            group=HELD_OUT,
            best=1,
            headline=True,
        ),
    ]
    tokens: Annotated[int, number("Tokens", "Held-out tokens.", group=HELD_OUT)]


@dataclass(frozen=True)
class Choice(Generic[Setting, Model]):
    """The best of some settings.

    Attributes
    ----------
    model
        Model trained with the best setting.
    setting
        Best setting; the first of equally accurate ones.
    candidates
        All settings in the order in which they were tried.
    """

    model: Model
    setting: Setting
    candidates: tuple[Candidate, ...]

    @property
    def accuracy(self) -> float:
        """Return the accuracy of the best setting on the held-out sentences, biased upward by the choice."""
        return max(candidate.accuracy for candidate in self.candidates)

    def to_rows(self) -> list[dict[str, Any]]:
        """Return the candidates as a table."""
        return [candidate.to_dict() for candidate in self.candidates]


def choose(
    make: Callable[[Setting], Model],
    settings: Iterable[Setting],
    sentences: Sentences,
    tags: Sentences,
    dev_sentences: Sentences,
    dev_tags: Sentences,
    *,
    progress: Callable[[Candidate], None] | None = None,
    executor: Executor | None = None,
) -> Choice[Setting, Model]:
    """Train a tagger with each of several settings, and keep the most accurate one on held-out sentences.

    Parameters
    ----------
    make
        Function of a setting that returns an untrained tagger.
    settings
        Settings to try, such as `PSEUDOCOUNTS`. The first of equally accurate settings is chosen, so put
        preferred settings first, such as the most regularized.
    sentences, tags
        Training data.
    dev_sentences, dev_tags
        Held-out data.
    progress
        Called with each `Candidate` after it was tried, in order.
    executor
        Executor that trains several settings in parallel; None: one after another in this process. With a
        ``ProcessPoolExecutor``, ``make`` must be a module-level function (or a `functools.partial` of one),
        and each process keeps the sentences and a model in memory. The result does not depend on it.

    Returns
    -------
    Choice
        Best model and setting, and the accuracy of all settings.

    References
    ----------
    Nguyen and O'Connor (2015), section 4.2: "hyperparameters [...] are selected by maximizing accuracy on the
    development set".

    Examples
    --------
    >>> from calibrant.structures.models import HMMTagger
    >>> def make(pseudocount):
    ...     return HMMTagger(pseudocount=pseudocount)
    >>> train = [["dogs", "bark"], ["cats", "sleep"]], [["N", "V"], ["N", "V"]]
    >>> dev = [["dogs", "sleep"]], [["N", "V"]]
    >>> choice = choose(make, [1.0, 0.1], *train, *dev)
    >>> choice.setting, choice.accuracy
    (1.0, 1.0)
    """
    same_lengths(sentence_lengths(dev_sentences, "dev_sentences"), dev_tags, "dev_tags", "dev_sentences")
    attempt = partial(_attempt, make, sentences, tags, dev_sentences, dev_tags)
    candidates: list[Candidate] = []
    best: tuple[float, Setting, Model] | None = None
    for setting, (model, accuracy) in _attempts(attempt, settings, executor):
        candidates.append(Candidate(setting, accuracy, sum(map(len, dev_tags))))
        if best is None or accuracy > best[0]:
            best = accuracy, setting, model
        if progress is not None:
            progress(candidates[-1])
    if best is None:
        raise InputError("there are no settings", "give at least one to try", code="empty")
    return Choice(best[2], best[1], tuple(candidates))


def _attempt(
    make: Callable[[Setting], Model],
    sentences: Sentences,
    tags: Sentences,
    dev_sentences: Sentences,
    dev_tags: Sentences,
    setting: Setting,
) -> tuple[Model, float]:
    """Return the model with one setting, and its accuracy."""
    model = make(setting)
    model.fit(sentences, tags)
    return model, token_accuracy(dev_tags, model.predict(dev_sentences))


def _attempts(
    attempt: Callable[[Setting], tuple[Model, float]], settings: Iterable[Setting], executor: Executor | None
) -> Iterator[tuple[Setting, tuple[Model, float]]]:
    """Yield each setting and its result, in order; settings that are no longer needed are not started."""
    if executor is None:
        for setting in settings:
            yield setting, attempt(setting)
        return
    every = list(settings)
    waiting: list[Future[tuple[Model, float]]] = [executor.submit(attempt, setting) for setting in every]
    try:
        for setting in every:
            yield setting, waiting.pop(0).result()  # do not keep the result, since models are large
    finally:
        for future in waiting:
            future.cancel()


def token_accuracy(gold: Sentences, predicted: Sentences) -> float:
    """Return the fraction of tokens with the correct tag.

    Parameters
    ----------
    gold, predicted
        Tags of the same sentences.

    Returns
    -------
    float
        Accuracy in [0, 1]. A gold tag that the model does not know counts as an error.

    Examples
    --------
    >>> token_accuracy([["N", "V"], ["N"]], [["N", "N"], ["N"]])
    0.6666666666666666
    """
    lengths = sentence_lengths(gold, "gold")
    same_lengths(lengths, predicted, "predicted", "gold")
    pairs = (zip(truth, prediction, strict=True) for truth, prediction in zip(gold, predicted, strict=True))
    right = sum(sum(truth == prediction for truth, prediction in sentence) for sentence in pairs)
    return int(right) / int(lengths.sum())
