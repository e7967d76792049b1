"""Options of logged items as rows: probabilities from log-likelihoods, and the top option of each item."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Floats, shown
from calibrant.records.words import counted

if TYPE_CHECKING:
    import pyarrow as pa

Normalise = Literal["none", "characters", "bytes"]
View = Literal["options", "top"]
COLUMNS = ("model", "task", "subject", "item", "class", "score", "label")
AT_ONCE = 1 << 14  # items a block
MOST_LEFT_OUT = 0.05  # fraction of the items of a log
ANSWER = re.compile(r"\W*((the )?answer( is)?\W+)?\w{1,3}\W*", re.IGNORECASE)


@dataclass(frozen=True)
class Block:
    """Some items with their options, side by side in flat arrays.

    Attributes
    ----------
    model, task, subject, item, cluster
        (n,) texts of the items; repeated items have the same ``cluster``.
    start
        (n + 1,) where the options of each item start.
    name
        Name of each option.
    score
        (options,) probabilities; those of an item sum to one, or it has a single option.
    gold
        (options,) whether the option is right.
    """

    model: list[str]
    task: list[str]
    subject: list[str]
    item: list[str]
    cluster: list[str]
    start: NDArray[np.int64]
    name: list[str]
    score: Floats
    gold: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.item)

    def rows(self, view: View) -> pa.RecordBatch:
        """Return one row per option, or with ``"top"`` per item: its largest score, and 1 if it is right.

        The class is the option; of the view ``"top"`` it is the (first) right option, empty if none is.
        """
        import pyarrow as pa
        from pyarrow import compute

        counts = np.diff(self.start)
        columns = ("model", "task", "subject", "item", "cluster")
        texts = [pa.array(getattr(self, name), pa.string()) for name in columns]
        names = pa.array(self.name, pa.string())
        if view == "options":
            index = pa.array(np.repeat(np.arange(len(self)), counts))
            texts = [text.take(index) for text in texts]
            score, label = self.score, self.gold
        else:
            top, _ = first_of_largest(self.score, self.start)
            right, _ = first_of_largest(self.gold, self.start)
            names = names.take(pa.array(right))
            # A stated confidence is in the model's own answer, so its label is no class that models share.
            named = self.gold[right] | (counts == 1)
            if not named.all():
                names = compute.if_else(pa.array(named), names, "")
            score, label = self.score[top], self.gold[top]
        arrays = [*texts, names, pa.array(score), pa.array(label)]
        return pa.RecordBatch.from_arrays(arrays, [*columns, "class", "score", "label"])


class LeftOut:
    """Items of a log that were left out, counted by reason, and those that were read.

    Parameters
    ----------
    unit
        Name of an item, such as ``sample``.

    Examples
    --------
    >>> left_out = LeftOut("sample")
    >>> left_out.add("that gave no option", "ANSWER: E")
    >>> left_out.notes(), left_out.answered
    (['left out: 1 sample that gave no option'], "'ANSWER: E'")
    """

    def __init__(self, unit: str) -> None:
        self.unit = unit
        self.read = 0
        self.counts: Counter[str] = Counter()
        self.answered: str | None = None

    def add(self, reason: str, text: str = "") -> None:
        """Count an item that is left out, and note the first text that looks like an answer."""
        self.counts[reason] += 1
        if self.answered is None and ANSWER.fullmatch(text):
            self.answered = shown(text.strip())

    def notes(self) -> list[str]:
        """Return a note per reason."""
        return [f"left out: {counted(count, self.unit)} {reason}" for reason, count in self.counts.items()]


def first_of_largest(values: NDArray[Any], start: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """Return the position of each item's first largest value, and the number of items with several of them.

    Examples
    --------
    >>> place, tied = first_of_largest(np.array([0.4, 0.6, 0.5, 0.5]), np.array([0, 2, 4]))
    >>> place.tolist(), tied
    ([1, 2], 1)
    """
    largest = np.maximum.reduceat(values, start[:-1])
    places = np.flatnonzero(values == np.repeat(largest, np.diff(start)))
    first = np.searchsorted(places, start[:-1])
    return places[first], int(np.count_nonzero(np.diff(first, append=len(places)) > 1))


def probabilities(logs: Floats, start: NDArray[np.int64]) -> Floats:
    """Return the softmax over the options of each item.

    Examples
    --------
    >>> probabilities(np.log([0.2, 0.6, 0.5]), np.array([0, 2, 3])).round(3).tolist()
    [0.25, 0.75, 1.0]
    """
    counts = np.diff(start)
    shifted = np.exp(logs - np.repeat(np.maximum.reduceat(logs, start[:-1]), counts))
    result: Floats = shifted / np.repeat(np.add.reduceat(shifted, start[:-1]), counts)
    return result


class Collector:
    """Takes items one by one and gives them as blocks."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._texts: list[list[str]] = [[] for _ in range(5)]
        self._start = [0]
        self._names: list[str] = []
        self._values: list[float] = []
        self._gold: list[bool] = []
        self._logs: list[bool] = []

    def __len__(self) -> int:
        return len(self._start) - 1

    def add(
        self,
        model: str,
        task: str,
        subject: str,
        item: str,
        names: Sequence[str],
        values: Sequence[float],
        gold: Sequence[int],
        *,
        cluster: str | None = None,
        logs: bool = True,
    ) -> None:
        """Add an item: names and log-likelihoods (or with ``logs=False`` probabilities) of its options."""
        for texts, text in zip(
            self._texts, (model, task, subject, item, item if cluster is None else cluster), strict=True
        ):
            texts.append(text)
        self._names += names
        self._values += values
        self._gold += [place in gold for place in range(len(values))]
        self._logs.append(logs)
        self._start.append(len(self._values))

    def take(self, least: int = AT_ONCE) -> Iterator[Block]:
        """Yield the items as one block, and begin again, if there are at least so many."""
        if len(self) >= least:
            yield self._block()
            self._begin()

    def _block(self) -> Block:
        start, values = np.array(self._start), np.array(self._values, np.float64)
        logs = np.array(self._logs)
        if logs.all():
            values = probabilities(values, start)
        elif logs.any():
            logged = np.repeat(logs, np.diff(start))
            values = np.where(logged, probabilities(np.where(logged, values, 0.0), start), values)
        model, task, subject, item, cluster = self._texts
        return Block(
            model, task, subject, item, cluster, start, self._names, values, np.array(self._gold, np.bool_)
        )
