"""Base of compositions over classes: rows with their classes, and one map for each part of the classes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from calibrant import _checks
from calibrant._checks import Check, Floats, Integers
from calibrant.exceptions import InputError
from calibrant.metrics.classes import class_codes
from calibrant.metrics.tally import Tally
from calibrant.metrics.views import class_predictions
from calibrant.recalibrate.base import BinaryRecalibrator, Recalibrator, check_estimator, divided


class ClasswiseRecalibrator(Recalibrator):
    """Base of compositions: one map of single scores for each part of the classes.

    Each score is one row: (n,) scores with their (n,) classes. The recalibrated scores of an item need not
    sum to 1.
    """

    _learned: ClassVar[tuple[str, ...]] = ("classes_", "part_names_", "parts_")
    _parameters: ClassVar[dict[str, Check]] = {"estimator": check_estimator}

    estimator: BinaryRecalibrator
    classes_: tuple[str, ...]
    part_names_: tuple[str, ...]
    parts_: tuple[BinaryRecalibrator, ...]

    def fit(
        self,
        scores: ArrayLike,
        labels: ArrayLike,
        classes: ArrayLike,
        sample_weight: ArrayLike | None = None,
        clusters: ArrayLike | None = None,
        *,
        names: Sequence[str] | None = None,
    ) -> Self:
        """Fit the map of each part.

        Parameters
        ----------
        scores
            (n,) probabilities in [0, 1].
        labels
            (n,) 1 if the row's class is the true class, else 0.
        classes
            (n,) class of the row: a name, or with ``names`` an index into them.
        sample_weight
            (n,) non-negative weights; None counts every row once.
        clusters
            As in `BinaryRecalibrator.fit`.
        names
            Class names, if ``classes`` are indices.

        Returns
        -------
        self

        Raises
        ------
        InputError
            If a part cannot be fitted; the error names it.
        """
        self.check_parameters()
        splits = self.estimator.splits
        pairs = _checks.pairs(
            labels, scores, sample_weight=sample_weight, clusters=clusters if splits else None
        )
        codes, class_names = class_codes(classes, names)
        _checks.same_length("classes", len(codes), "scores", np.size(scores))
        if len(pairs) < len(codes):
            codes = codes[_checks.as_array(sample_weight, "sample_weight") > 0]
        used = np.unique(codes)
        met = tuple(class_names[code] for code in used.tolist())
        part, part_names = self._parts_of(met)
        part_of = np.zeros(len(class_names), np.int64)
        part_of[used] = part
        by_part = {part_names[number]: rows for number, rows in _runs(part_of[codes])}
        sizes = {name: len(by_part.get(name, ())) for name in part_names}

        def learn(estimator: BinaryRecalibrator, name: str) -> None:
            some = pairs.part(by_part[name])
            estimator.fit(some.score, some.outcome, some.weight, some.cluster)

        return self._learn_parts(met, sizes, learn)

    def fit_tallies(self, tallies: Mapping[str, Tally]) -> Self:
        """Fit the map of each part to one tally per class.

        Parameters
        ----------
        tallies
            Tallies of the scores of each class, exact or compressed, by class.

        Returns
        -------
        self
        """
        self.check_parameters()
        if not tallies:
            raise InputError("there are no tallies", "pass one per class", code="empty")
        classes = tuple(str(name) for name in tallies)
        part, part_names = self._parts_of(classes)
        merged: dict[str, Tally] = {}
        for number, own in zip(part.tolist(), tallies.values(), strict=True):
            name, tally = part_names[number], replace(own, view=None)
            merged[name] = merged[name].merge(tally) if name in merged else tally
        sizes = {name: merged[name].total_n if name in merged else 0 for name in part_names}
        return self._learn_parts(classes, sizes, lambda estimator, name: estimator.fit_tally(merged[name]))

    def transform(
        self, scores: ArrayLike, classes: ArrayLike | None = None, *, names: Sequence[str] | None = None
    ) -> Floats:
        """Return recalibrated probabilities.

        Parameters
        ----------
        scores
            (n,) probabilities in [0, 1]; or, without ``classes``, (n, K) rows of the K classes of the fit, in
            the order of ``classes_``.
        classes, names
            As in `fit`; each composition documents how it treats new classes.

        Returns
        -------
        ndarray of float64
            (n,) in [0, 1]; or (n, K) rows that are divided by their sums. A row that all maps take to 0 stays
            unchanged.

        Raises
        ------
        InputError
            If it has not been fitted, or for a class that has no map.
        """
        self.check_fitted()
        if classes is None:
            return self._map_rows(scores)
        score = _checks.scores(scores, "scores").astype(np.float64, copy=False)
        codes, class_names = class_codes(classes, names)
        _checks.same_length("classes", len(codes), "scores", len(score))
        rows = self.rows_by_part(codes, class_names)
        only = next(iter(rows)) if len(rows) == 1 else None
        if only is not None:
            return self._part(only).transform(score)
        out: Floats = np.array(score)
        for name, some in rows.items():
            if name is not None:
                out[some] = self._part(name).transform(score[some])
        return out

    def rows_by_part(self, codes: Integers, names: Sequence[str]) -> dict[str | None, Integers]:
        """Return the rows that each part maps; the rows of None stay unchanged.

        Parameters
        ----------
        codes
            (n,) indices of the rows' classes.
        names
            Names of the classes.
        """
        used = np.flatnonzero(np.bincount(codes, minlength=len(names)))
        part_of = np.full(len(names), -1)
        part_of[used] = self._fitted_parts_of([names[code] for code in used.tolist()])
        return {
            self.part_names_[number] if number >= 0 else None: rows for number, rows in _runs(part_of[codes])
        }

    def _part(self, name: str) -> BinaryRecalibrator:
        return self.parts_[self.part_names_.index(name)]

    def _map_rows(self, scores: ArrayLike) -> Floats:
        width = np.shape(scores)[1] if np.ndim(scores) == 2 else 1
        if width != len(self.classes_):
            message = f"scores have shape {np.shape(scores)}, and there are no classes"
            hint = f"pass the class of each score, or rows of {len(self.classes_)} scores, one per class"
            raise InputError(message, hint, code="shape")
        given = class_predictions(np.zeros(len(np.asarray(scores)), np.int64), scores)
        prob = given.prob.astype(np.float64)
        columns = np.tile(np.arange(width), len(prob))
        single = self.transform(prob.ravel(), columns, names=self.classes_)
        return divided(single.reshape(prob.shape), prob)

    def _learn_parts(self, classes: tuple[str, ...], sizes: dict[str, int], learn: Any) -> Self:
        """Fit a copy of the estimator to each part; an error names the part that cannot be fitted."""
        self._check_sizes(sizes)
        parts = {}
        for name in sizes:
            parts[name] = clone(self.estimator)
            try:
                learn(parts[name], name)
            except InputError as error:
                message = f"{self._called(name)}: {error.message}"
                raise InputError(message, self._hint(error.hint), code=error.code) from error
        self.classes_, self.part_names_, self.parts_ = classes, tuple(parts), tuple(parts.values())
        self.pair_count_ = sum(part.pair_count_ for part in self.parts_)
        low, high = zip(*(part.score_range_ for part in self.parts_), strict=True)
        self.score_range_ = (min(low), max(high))
        self.n_features_in_ = 1
        return self

    def _check_sizes(self, sizes: dict[str, int]) -> None:
        """Raise an error if a part has too few scores."""
        empty = [name for name, size in sizes.items() if not size]
        if empty:
            message = f"{self._called(empty[0])} has no scores to fit on"
            raise InputError(message, self._hint("pass more scores"), code="empty")

    def _restore(self, learned: dict[str, Any]) -> None:
        parts = learned["parts_"]
        self.classes_, self.part_names_ = _names(learned["classes_"]), _names(learned["part_names_"])
        if not isinstance(parts, list) or len(parts) != len(self.part_names_) or self.n_features_in_ != 1:
            raise ValueError("its parts have no names")
        for part in parts:
            if type(part) is not type(self.estimator):
                raise ValueError("a part is of another method")
            part.check_fitted()
            if part.n_features_in_ != 1:
                raise ValueError("a part does not map single scores")
        self.parts_ = tuple(parts)
        placed = self._fitted_parts_of(self.classes_)
        if placed.min() < 0 or placed.max() >= len(parts):
            raise ValueError("a class of the fit has no map")

    @abstractmethod
    def _parts_of(self, classes: Sequence[str]) -> tuple[Integers, list[str]]:
        """Return the part of each class of the fit, and the names of the parts."""

    @abstractmethod
    def _fitted_parts_of(self, classes: Sequence[str]) -> Integers:
        """Return the fitted part of each class; -1 leaves its scores unchanged."""

    def _called(self, name: str) -> str:
        return f"group {name}"

    def _hint(self, hint: str) -> str:
        return hint


def _runs(part: Integers) -> Iterator[tuple[int, Integers]]:
    """Yield the rows of each part that has rows, in their order."""
    low = int(part.min())
    size = np.bincount(part - low)
    order = np.argsort(part.astype(np.int16) if part.max() < 1 << 15 else part, kind="stable")
    for number, rows in enumerate(np.split(order, np.cumsum(size)[:-1]), start=low):
        if len(rows):
            yield number, rows


def _names(value: Any) -> tuple[str, ...]:
    """Return a list of different names from a state, or raise an error."""
    texts = isinstance(value, list) and all(isinstance(name, str) for name in value)
    if not texts or not 0 < len(set(value)) == len(value):
        raise ValueError("names are missing or repeated")
    return tuple(value)
