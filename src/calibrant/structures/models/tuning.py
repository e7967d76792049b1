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
from calibrant.structures.models._vocabulary import same_lengths, sentence_lengths

HELD_OUT = "Held-out text"
Sentences = Sequence[Sequence[str]]
Setting = TypeVar("Setting")

# 10^1, 10^0.5, ... 10^-6: of equally accurate ones the first, which is the largest, is chosen.
PSEUDOCOUNTS: tuple[float, ...] = tuple(float(f"{10**power:.3g}") for power in np.arange(1.0, -6.1, -0.5))


class Tagger(Protocol):
    """What can be trained on tagged sentences and then tags others."""

    def fit(self, sentences: Sentences, tags: Sentences, /) -> object:
        """Train."""

    def predict(self, sentences: Sentences, /) -> list[list[str]]:
        """Return one tag a token."""


Model = TypeVar("Model", bound=Tagger)


class Candidate(Record, frozen=True):
    """Setting of a tagger that was tried."""

    setting: Annotated[Any, name("Setting", "Value that the model was made from.")]
    accuracy: Annotated[
        float,
        number(
            "Accuracy",
            "Proportion of the held-out tokens that it tagged correctly.",
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
        Trained with the best setting.
    setting
        The best setting: of equally accurate ones the first.
    candidates
        All settings, in the order in which they were tried.
    """

    model: Model
    setting: Setting
    candidates: tuple[Candidate, ...]

    @property
    def accuracy(self) -> float:
        """Accuracy of the best setting on the held-out sentences; too high, since it was chosen by it."""
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
    """Train a tagger with each of some settings and keep the one that is most accurate on held-out sentences.

    Parameters
    ----------
    make
        Takes a setting and returns an untrained tagger.
    settings
        What to try, such as `PSEUDOCOUNTS`. Of equally accurate ones the first is chosen: put those
        first that are to be preferred, such as the most regularised.
    sentences, tags
        To train on.
    dev_sentences, dev_tags
        To compare on.
    progress
        Called with each `Candidate` once it has been tried, in their order.
    executor
        Where to train, several settings at a time; here and one after another if not given. In a
        ``ProcessPoolExecutor`` ``make`` must be a function of a module (or a `functools.partial` of one), and
        each process holds the sentences and a model. The result does not depend on it.

    Returns
    -------
    Choice
        The best model and setting, and the accuracy of all.

    Raises
    ------
    InputError
        If there is no setting, or the sentences cannot be used.

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
    """Yield each setting and what came of it, in order; what is not wanted any more is not begun."""
    if executor is None:
        for setting in settings:
            yield setting, attempt(setting)
        return
    every = list(settings)
    waiting: list[Future[tuple[Model, float]]] = [executor.submit(attempt, setting) for setting in every]
    try:
        for setting in every:
            yield setting, waiting.pop(0).result()  # which is then forgotten: models are large
    finally:
        for future in waiting:
            future.cancel()


def token_accuracy(gold: Sentences, predicted: Sentences) -> float:
    """Share of tokens whose tag was predicted right.

    Parameters
    ----------
    gold, predicted
        Tags of the same sentences.

    Returns
    -------
    float
        In [0, 1]. A gold tag that the model does not know counts as an error.

    Raises
    ------
    InputError
        If there is no sentence, one has no tags, or lengths differ.

    Examples
    --------
    >>> token_accuracy([["N", "V"], ["N"]], [["N", "N"], ["N"]])
    0.6666666666666666
    """
    lengths = sentence_lengths(gold, "gold")
    same_lengths(lengths, predicted, "predicted", "gold")
    pairs = (zip(truth, found, strict=True) for truth, found in zip(gold, predicted, strict=True))
    right = sum(sum(truth == found for truth, found in sentence) for sentence in pairs)
    return int(right) / int(lengths.sum())
