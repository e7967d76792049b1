"""Tallies of a stream of batches, or of windows of time: accumulators for training loops and monitors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import reduce
from typing import Any, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from calibrant import _checks
from calibrant._checks import LONGEST_REASON, Pairs
from calibrant.exceptions import InputError
from calibrant.metrics.tally import Kind, Tally
from calibrant.metrics.views import class_predictions, named_views

WAITING = 1 << 16  # pairs; a small batch waits for others
VERSION = 1

Window = int | str

COUNTS = ("n", "positives", "cluster")

Restored = TypeVar("Restored")


def tally_to_state(tally: Tally) -> dict[str, Any]:
    """Return a tally as plain values that JSON knows; numbers come back exactly."""
    state: dict[str, Any] = {}
    for field in fields(Tally):
        value = getattr(tally, field.name)
        state[field.name] = value.tolist() if isinstance(value, np.ndarray) else value
    return state


def tally_from_state(state: Mapping[str, Any]) -> Tally:
    """Return the tally that `tally_to_state` was called on."""
    columns: dict[str, Any] = {}
    for field in fields(Tally):
        value = state[field.name]
        if isinstance(value, list):
            kind = np.int64 if field.name in COUNTS else None if field.name == "clusters" else np.float64
            value = np.array(value, kind)
        columns[field.name] = value
    arrays = [
        column for name, column in columns.items() if name != "clusters" and isinstance(column, np.ndarray)
    ]
    if len({len(column) for column in arrays}) > 1:
        raise ValueError("columns of different lengths")
    if not all(np.isfinite(column).all() for column in arrays):
        raise ValueError("a number is not finite")
    n, positives = columns["n"], columns["positives"]
    if (n <= 0).any() or (positives < 0).any() or (positives > n).any():
        raise ValueError("the counts are impossible")
    if columns["kind"] not in get_args(Kind) or (np.diff(columns["low"]) < 0).any():
        raise ValueError("the rows are not those of a tally")
    return Tally(**columns)


def check_version(state: object, version: int) -> None:
    """Raise unless this is a state of a version that is read."""
    if not isinstance(state, Mapping) or "version" not in state:
        raise InputError("this is not a saved state", "pass what to_state() returned", code="version")
    if state["version"] != version:
        message = f"the state has version {state['version']!r}, and this release reads version {version}"
        raise InputError(message, "save it again with this release", code="version")


def restored(build: Callable[[], Restored]) -> Restored:
    """Return the object of a state; missing parts raise one error."""
    try:
        return build()
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        why = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        message = f"the saved state is damaged ({why:.{LONGEST_REASON}})"
        raise InputError(message, "use an earlier saved state", code="version") from error


class TallyAccumulator:
    """Adds batches of predictions up to one `Tally`, in memory that does not grow with their number.

    The tally is on the fixed grid (about 30,000 rows at most; with clusters, a row for each score row and
    cluster that occurs together). Batches may come in any order and size, and accumulators of several
    processes may be merged in any order: counts agree exactly, sums to 1e-12.

    Parameters
    ----------
    view
        None: batches are (n,) scores of one view and labels 0 / 1. ``binary``, ``top``, ``class:NAME`` or
        ``pooled``: batches are (n, K) probabilities and the true classes; see `calibrant.metrics.views`.
    classes
        Names of the K classes, if labels are names; indices 0 to K - 1 otherwise.

    Raises
    ------
    InputError
        If the view has no single tally (``classwise``), or classes are named without a view.

    Examples
    --------
    A loop of training, with whatever has ``__array__`` or DLPack (a PyTorch tensor, say):

    >>> import numpy as np
    >>> from calibrant.metrics import debiased_squared_error
    >>> rng = np.random.default_rng(0)
    >>> batches = [(rng.random((64, 2)), rng.integers(0, 2, 64)) for _ in range(50)]
    >>> metric = TallyAccumulator(view="top")
    >>> for epoch in range(2):
    ...     metric.reset()
    ...     for weight, label in batches:  # the loop over validation batches
    ...         metric.update(label, weight / weight.sum(axis=1, keepdims=True))
    ...     tally = metric.result()
    >>> tally.total_n, round(debiased_squared_error(tally), 2)
    (3200, 0.07)
    """

    def __init__(self, view: str | None = None, *, classes: Sequence[str] | None = None) -> None:
        if view == "classwise":
            hint = "use one accumulator per class, with view='class:NAME'"
            message = "an accumulator has one view, and classwise has one per class"
            raise InputError(message, hint, code="view")
        if view is None and classes is not None:
            hint = "give a view: binary, top, class:NAME or pooled"
            raise InputError("classes are given without a view", hint, code="view")
        if classes is not None and not _checks.is_list(classes):
            raise InputError(f"classes is {classes!r:.40}", "pass a list of their names", code="parameter")
        self.view = view
        self.classes = None if classes is None else tuple(str(name) for name in classes)
        self._parts: list[Tally] = []  # each at least twice as large as the next: rows are merged rarely
        self._waiting: list[Pairs] = []
        self._items = 0
        self._weights = _checks.WeightRange()
        self._numbered = False  # in ``pooled`` an item without a cluster is its own, named by its number

    @property
    def n(self) -> int:
        """Number of pairs so far."""
        return sum(part.total_n for part in self._parts) + sum(map(len, self._waiting))

    def update(self, y_true: Any, y_prob: Any, *, sample_weight: Any = None, clusters: Any = None) -> None:
        """Add a batch; with bad input nothing is added.

        Parameters
        ----------
        y_true, y_prob
            (n,) labels and scores, or with a view (n,) true classes and (n, K) probabilities. Arrays,
            lists, or what has ``__array__`` or DLPack.
        sample_weight
            (n,) non-negative weights.
        clusters
            (n,) what each pair depends on. The same name in two batches is the same cluster.

        Raises
        ------
        InputError
            A value is wrong, an array cannot be read, or only some batches have clusters or weights.
        """
        given = {"y_true": y_true, "y_prob": y_prob, "sample_weight": sample_weight, "clusters": clusters}
        columns = {
            name: _checks.as_array(value, name) if value is not None or name in ("y_true", "y_prob") else None
            for name, value in given.items()
        }
        pairs, names, items = self._pairs(columns)
        weight = columns["sample_weight"]
        if weight is not None:
            self._weights.add(weight.astype(np.float64), "sample_weight")
        self._check_weights(pairs.weight is not None)
        self._check_clusters(pairs.cluster is not None, names is not None and given["clusters"] is None)
        if pairs.cluster is not None:
            self._add(Tally.from_pairs(pairs, exact=False, names=names))
        else:
            # The caller may overwrite the arrays.
            weight = None if pairs.weight is None else pairs.weight.copy()
            self._waiting.append(Pairs(pairs.score.astype(np.float64), pairs.outcome != 0, weight))
            if sum(map(len, self._waiting)) >= WAITING:
                self._flush()
        self._items += items

    def merge(self, other: TallyAccumulator) -> None:
        """Add what another accumulator of the same view has seen; the other stays as it is.

        Raises
        ------
        InputError
            The other is no accumulator, the views differ, or only one has clusters or weights.
        """
        _checks.instance(other, TallyAccumulator, "other", "tallies are merged by Tally.merge")
        if (self.view, self.classes) != (other.view, other.classes):
            message = f"the accumulators have different views: {self.view} and {other.view}"
            raise InputError(message, "merge accumulators of the same view and classes", code="view")
        tally = other._current()
        if tally is None:
            return
        self._check_weights(tally.weighted)
        self._check_clusters(tally.cluster is not None, other._numbered)
        if other._numbered and tally.clusters is not None:
            tally = replace(tally, clusters=tally.clusters + self._items)
        self._flush()
        self._add(tally)
        self._items += other._items

    def result(self) -> Tally:
        """Return the tally of all batches so far.

        Raises
        ------
        InputError
            If there was none.
        """
        tally = self._current()
        if tally is None:
            raise InputError("no batch was added yet", "call update first", code="empty")
        return replace(tally, view=self.view)

    def reset(self) -> None:
        """Forget all batches."""
        self._parts, self._waiting, self._items, self._numbered = [], [], 0, False
        self._weights = _checks.WeightRange()

    def to_state(self) -> dict[str, Any]:
        """Return everything as plain values that JSON knows, for a checkpoint."""
        tally = self._current()
        return {
            "version": VERSION,
            "view": self.view,
            "classes": None if self.classes is None else list(self.classes),
            "items": self._items,
            "numbered": self._numbered,
            "tally": None if tally is None else tally_to_state(tally),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> TallyAccumulator:
        """Return the accumulator that `to_state` was called on.

        Raises
        ------
        InputError
            If this is no such state, or that of another version.

        Examples
        --------
        >>> metric = TallyAccumulator()
        >>> metric.update([0, 1], [0.2, 0.9])
        >>> TallyAccumulator.from_state(metric.to_state()).result().total_n
        2
        """
        check_version(state, VERSION)

        def build() -> TallyAccumulator:
            new = cls(state["view"], classes=state["classes"])
            new._items, new._numbered = int(state["items"]), bool(state["numbered"])
            new._parts = [] if state["tally"] is None else [tally_from_state(state["tally"])]
            return new

        return restored(build)

    def __getstate__(self) -> dict[str, Any]:
        return self.to_state()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(type(self).from_state(state).__dict__)

    def _check_weights(self, weighted: bool) -> None:
        there = [pairs.weight is not None for pairs in self._waiting[:1]]
        there += [tally.weighted for tally in self._parts[:1]]
        if there and there[0] != weighted:
            message = "some batches have weights and others have none"
            raise InputError(message, "pass the weights of all batches, or of none", code="weight-value")

    def _check_clusters(self, clustered: bool, numbered: bool) -> None:
        """Raise `InputError` if only one of the batch and the tally has clusters."""
        there = bool(self._parts) and self._parts[0].cluster is not None
        if self.n and (there, self._numbered) != (clustered, numbered):
            message = "some batches have clusters and others have none"
            raise InputError(message, "pass the clusters of all batches, or of none", code="cluster")
        self._numbered = numbered

    def _pairs(self, columns: Mapping[str, Any]) -> tuple[Pairs, NDArray[Any] | None, int]:
        """Check a batch; return the view's pairs, the names of their clusters, and how many items it had."""
        labels, scores = columns["y_true"], columns["y_prob"]
        weight, clusters = columns["sample_weight"], columns["clusters"]
        if self.view is None:
            pairs = _checks.pairs(labels, scores, sample_weight=weight, clusters=clusters)
        else:
            predictions = class_predictions(
                labels, scores, classes=self.classes, sample_weight=weight, clusters=clusters
            )
            pairs = named_views(predictions, self.view)[self.view]
        if pairs.cluster is None:
            return pairs, None, len(labels)
        if clusters is None:
            return pairs, self._items + np.arange(pairs.cluster_count), len(labels)
        kept = clusters if weight is None else clusters[weight > 0]
        return pairs, _checks.cluster_codes(kept)[1], len(labels)

    def _flush(self) -> None:
        new = self._tally_of_waiting()
        self._waiting = []
        if new is not None:
            self._add(new)

    def _current(self) -> Tally | None:
        """The tally of all batches, those that wait included; nothing changes."""
        new = self._tally_of_waiting()
        parts = self._parts if new is None else [*self._parts, new]
        return reduce(Tally.merge, reversed(parts)) if parts else None

    def _tally_of_waiting(self) -> Tally | None:
        if not self._waiting:
            return None
        # Exact first: quicker than the grid for so few.
        return Tally.from_pairs(Pairs.joined(self._waiting), exact=True).compress()

    def _add(self, tally: Tally) -> None:
        while self._parts and len(self._parts[-1]) < 2 * len(tally):
            tally = self._parts.pop().merge(tally)
        self._parts.append(tally)


class TallyWindows:
    """A tally a window of time (a day, say), of which the last few are kept and can be merged.

    Tumbling windows are the windows themselves; sliding ones are merged: ``result(last=7)`` of days is the
    last week.

    Parameters
    ----------
    keep
        Windows that are kept, the latest; None keeps all.
    view, classes
        As in `TallyAccumulator`.

    Examples
    --------
    >>> days = TallyWindows(keep=7)
    >>> days.update("2026-11-20", [0, 1, 1], [0.2, 0.9, 0.6])
    >>> days.update("2026-11-21", [1, 0], [0.7, 0.1])
    >>> days.windows, days.result("2026-11-21").total_n, days.result(last=2).total_n
    (['2026-11-20', '2026-11-21'], 2, 5)
    """

    def __init__(
        self, *, keep: int | None = None, view: str | None = None, classes: Sequence[str] | None = None
    ) -> None:
        self.keep = None if keep is None else _checks.positive_integer(keep, "keep")
        self._empty = TallyAccumulator(view, classes=classes)
        self._windows: dict[Any, TallyAccumulator] = {}

    @property
    def windows(self) -> list[Any]:
        """The windows that are kept, in order."""
        return sorted(self._windows)

    def update(self, window: Window, y_true: Any, y_prob: Any, **more: Any) -> None:
        """Add a batch to a window; arguments after it as in `TallyAccumulator.update`.

        Parameters
        ----------
        window
            Text or a number that sorts as time does: ``2026-11-21``, ``2026-W47``, 17.
        y_true, y_prob, **more
            As in `TallyAccumulator.update`.

        Raises
        ------
        InputError
            As there; or the window is older than those that are kept, or of another type.
        """
        known = self.windows
        if isinstance(window, bool) or not isinstance(window, (str, int)):
            message, hint = f"the window is {window!r:.40}", "name it by a text or a number"
            raise InputError(message, hint, code="parameter")
        if known and not isinstance(window, type(known[0])):
            message = f"the window {window!r} cannot be ordered with {known[0]!r}"
            raise InputError(message, "name all windows by texts, or all by numbers", code="parameter")
        if self.keep is not None and len(known) == self.keep and window < known[0]:
            message = f"window {window!r} is older than the {self.keep} that are kept"
            raise InputError(message, "keep more windows", code="parameter")
        new = self._windows.get(window)
        if new is None:
            new = TallyAccumulator(self._empty.view, classes=self._empty.classes)
        new.update(y_true, y_prob, **more)
        self._windows[window] = new
        if self.keep is not None:
            for old in self.windows[: -self.keep]:
                del self._windows[old]

    def result(self, window: Window | None = None, *, last: int | None = None) -> Tally:
        """Return the tally of one window, of the last ones, or of all that are kept.

        Raises
        ------
        InputError
            There is no such window, or `window` and `last` are both given.
        """
        if window is not None and last is not None:
            raise InputError("both window and last are given", "give one of them", code="parameter")
        chosen = self.windows if last is None else self.windows[-_checks.positive_integer(last, "last") :]
        if window is not None:
            if window not in self.windows:
                known = ", ".join(map(str, self.windows)) or "none"
                raise InputError(f"there is no window {window!r}", f"there are {known}", code="parameter")
            chosen = [window]
        merged = TallyAccumulator(self._empty.view, classes=self._empty.classes)
        for period in chosen:
            merged.merge(self._windows[period])
        return merged.result()
