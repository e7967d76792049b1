"""Recalibrators over the classes of a tag set: one map for all classes, per class, or per group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

import numpy as np

from calibrant._checks import Check, Integers, option, positive_integer
from calibrant.exceptions import InputError
from calibrant.metrics.classes import Groups, group_of_names, named_groups
from calibrant.metrics.groups import by_frequency
from calibrant.recalibrate._classwise import ClasswiseRecalibrator
from calibrant.recalibrate.base import BinaryRecalibrator

__all__ = ["PerClass", "PerGroup", "Shared", "by_frequency"]

MIN_SCORES = 200


class Shared(ClasswiseRecalibrator):
    """One map for the scores of all classes: shared class-wise recalibration (SCW).

    Classes that were not in the fit are mapped like the others.

    Parameters
    ----------
    estimator
        Recalibrator of single scores, such as ``Isotonic()``; a copy of it is fitted.

    Attributes
    ----------
    classes_
        The classes of the fit.
    parts_, part_names_
        The fitted map, and ``"all"``.
    pair_count_, score_range_
        As in `Recalibrator`.

    References
    ----------
    K. Patel, W. Beluch, B. Yang, M. Pfeiffer and D. Zhang (2021), Multi-class uncertainty calibration via
    mutual information maximization-based binning, ICLR. arXiv:2006.13092

    Examples
    --------
    >>> from calibrant.recalibrate import Isotonic
    >>> shared = Shared(Isotonic()).fit([0.2, 0.4, 0.6, 0.8], [0, 1, 0, 1], ["N", "V", "V", "N"])
    >>> shared.transform([0.2, 0.5], ["V", "X"]).tolist()
    [0.0, 0.5]
    """

    method: ClassVar[str] = "shared"

    def __init__(self, estimator: BinaryRecalibrator) -> None:
        self.estimator = estimator

    def _parts_of(self, classes: Sequence[str]) -> tuple[Integers, list[str]]:
        return np.zeros(len(classes), np.int64), ["all"]

    def _fitted_parts_of(self, classes: Sequence[str]) -> Integers:
        return np.zeros(len(classes), np.int64)

    def _called(self, name: str) -> str:
        return "the scores of all classes"


class PerClass(ClasswiseRecalibrator):
    """One map per class, one against the rest.

    Every class needs many scores. If some classes have too few, group classes (`PerGroup`) or share one map
    (`Shared`).

    Parameters
    ----------
    estimator
        Recalibrator of single scores; one copy per class is fitted.
    min_scores
        Smallest number of scores per class; a class with fewer is an error. A single bin should have at least
        200 (Nguyen & O'Connor 2015); Kranzlein et al. (2021) require 1,000.
    unseen
        Treatment by `transform` of classes that were not in the fit: ``"refuse"`` raises an error,
        ``"unchanged"`` leaves their scores unchanged.

    Attributes
    ----------
    classes_
        The classes of the fit.
    parts_, part_names_
        The fitted maps, and their classes.
    pair_count_, score_range_
        As in `Recalibrator`.

    Examples
    --------
    >>> from calibrant.recalibrate import Isotonic
    >>> grouped = PerClass(Isotonic(), min_scores=2, unseen="unchanged")
    >>> grouped = grouped.fit([0.2, 0.4, 0.6, 0.8], [0, 1, 0, 1], ["N", "V", "V", "N"])
    >>> grouped.transform([0.5, 0.5, 0.3], ["N", "V", "X"]).round(3).tolist()
    [0.5, 0.5, 0.3]
    """

    method: ClassVar[str] = "per-class"
    _parameters: ClassVar[dict[str, Check]] = {
        **ClasswiseRecalibrator._parameters,
        "min_scores": positive_integer,
        "unseen": option("refuse", "unchanged"),
    }

    def __init__(
        self,
        estimator: BinaryRecalibrator,
        min_scores: int = MIN_SCORES,
        unseen: Literal["refuse", "unchanged"] = "refuse",
    ) -> None:
        self.estimator = estimator
        self.min_scores = min_scores
        self.unseen = unseen

    def _parts_of(self, classes: Sequence[str]) -> tuple[Integers, list[str]]:
        return np.arange(len(classes)), list(classes)

    def _fitted_parts_of(self, classes: Sequence[str]) -> Integers:
        place = {name: number for number, name in enumerate(self.part_names_)}
        lost = [name for name in classes if name not in place]
        if lost and self.unseen == "refuse":
            message = f"the class {lost[0]!r} was not among the classes of the fit"
            hint = "leave its scores out, or fit one map for all classes, or groups by frequency"
            raise InputError(message, hint, code="class-unknown")
        return np.array([place.get(name, -1) for name in classes], np.int64)

    def _check_sizes(self, sizes: dict[str, int]) -> None:
        least = self.min_scores
        few = {name: size for name, size in sizes.items() if size < least}
        if few:
            name = min(few, key=lambda key: (few[key], key))
            others = f"; {len(few)} of {len(sizes)} classes have fewer" if len(few) > 1 else ""
            message = f"the class {name!r} has {few[name]} scores, fewer than min_scores = {least}{others}"
            raise InputError(message, self._hint("lower `min_scores`"), code="undefined")

    def _called(self, name: str) -> str:
        return f"the class {name!r}"

    def _hint(self, hint: str) -> str:
        return f"{hint}, or fit classes together, in groups or all of them"


class PerGroup(ClasswiseRecalibrator):
    """One map per group of classes, such as tags of similar frequency (TFG).

    Parameters
    ----------
    estimator
        Recalibrator of single scores; one copy per group is fitted.
    groups
        Lists of tags, as from `by_frequency`; tags in no list belong to the last group, the rarest, in the
        fit and afterwards. Or a mapping from names to lists of tags (such as categories), which must contain
        every tag; other tags are an error.

    Attributes
    ----------
    classes_
        The classes of the fit.
    parts_, part_names_
        The fitted maps, and the names of the groups; "1", "2" and so on for lists.
    pair_count_, score_range_
        As in `Recalibrator`.

    References
    ----------
    M. Kranzlein, N. F. Liu and N. Schneider (2021), Making heads and tails of models with marginal
    calibration for sparse tagsets, Findings of EMNLP 2021, section 3.3.

    Examples
    --------
    >>> from calibrant.recalibrate import Isotonic
    >>> tfg = PerGroup(Isotonic(), by_frequency({"N": 3, "V": 2, "UH": 1}, 2))
    >>> tfg = tfg.fit([0.2, 0.4, 0.6, 0.8], [0, 1, 0, 1], ["N", "UH", "V", "N"])
    >>> tfg.transform([0.5, 0.5], ["N", "unseen"]).round(3).tolist()
    [0.5, 0.5]
    """

    method: ClassVar[str] = "per-group"
    _parameters: ClassVar[dict[str, Check]] = {
        **ClasswiseRecalibrator._parameters,
        "groups": lambda value, name: named_groups(value),
    }

    def __init__(self, estimator: BinaryRecalibrator, groups: Groups) -> None:
        self.estimator = estimator
        self.groups = groups

    def _parts_of(self, classes: Sequence[str]) -> tuple[Integers, list[str]]:
        return group_of_names(classes, self.groups), list(named_groups(self.groups))

    def _fitted_parts_of(self, classes: Sequence[str]) -> Integers:
        names = list(named_groups(self.groups))
        place = np.array([self.part_names_.index(name) for name in names], np.int64)
        return place[group_of_names(classes, self.groups)]

    def _check_sizes(self, sizes: dict[str, int]) -> None:
        empty = [name for name, size in sizes.items() if not size]
        if not empty:
            return
        tags = named_groups(self.groups)[empty[0]]
        message = f"group {empty[0]} has no scores to fit on: it has {listed(tags)}"
        hint = "leave the group out, or check the names of its classes"
        if not isinstance(self.groups, Mapping):
            hint = "ask for fewer groups, or give counts of classes that occur in the data"
        raise InputError(message, hint, code="empty")


def listed(tags: Sequence[str], most: int = 5) -> str:
    """Return a text with the first tags of a list.

    Examples
    --------
    >>> listed(["NN"]), listed(["a", "b", "c"], most=1)
    ("the class 'NN'", "the classes 'a' and 2 more")
    """
    shown = ", ".join(map(repr, tags[:most])) or "none"
    more = f" and {len(tags) - most} more" if len(tags) > most else ""
    return f"the class{'' if len(tags) == 1 else 'es'} {shown}{more}"
