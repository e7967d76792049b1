"""Numbers of bins and of groups that nobody gave: chosen by cross-validation on the data of the fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from calibrant.exceptions import InputError
from calibrant.metrics.tally import Tally
from calibrant.progress import Progress
from calibrant.recalibrate import LabelledScores
from calibrant.recalibrate.choosing import BINS, GROUPS, choose_recalibrator
from calibrant.verbs._class_parts import Labelled
from calibrant.verbs._methods import FREQUENCY, composed

Auto = Literal["auto"]
AUTO = "auto"


@dataclass(frozen=True)
class Asked:
    """What somebody asked for: an estimator and a grouping, their numbers, and the counts of classes."""

    estimator: Any
    group: str | Mapping[str, str]
    groups: int | Auto
    bins: int | Auto | None
    min_scores: int | None
    counts: Mapping[str, int]
    classes: Sequence[str]

    def made(self, groups: int | Auto, bins: int | Auto | None) -> Any:
        """An estimator with these numbers."""
        numbers = {"bins": bins} if isinstance(bins, int) else {}
        alone = type(self.estimator)(**self.estimator.get_params(deep=False) | numbers)
        number = groups if isinstance(groups, int) else 1
        if not self.classes:
            return alone
        return composed(alone, self.group, number, self.counts, self.min_scores)


def chosen(
    asked: Asked, found: Labelled | dict[int, Tally], name: str, progress: Progress | None
) -> tuple[Any, str]:
    """The best candidate by the Brier score of five-fold cross-validation, and a sentence on the choice.

    Raises
    ------
    InputError
        If scores are not held in memory or have weights, or nothing can be fitted to four fifths of them.
    """
    if isinstance(found, dict) or found.weight is not None:
        why = "more than 10^7 of them" if isinstance(found, dict) else "weights"
        hint = "give the numbers of bins and groups (`bins`, `groups`)"
        raise InputError(f"numbers are not chosen for scores with {why}", hint, code="parameter", file=name)
    candidates: dict[str, Any] = {}
    seen: list[Any] = []
    for groups in GROUPS if asked.groups == AUTO and asked.group == FREQUENCY else (asked.groups,):
        first = asked.made(groups, None)
        parts = getattr(first, "groups", None)
        if parts is not None and parts in seen:
            continue
        seen.append(parts)
        for bins in BINS if asked.bins == AUTO else (asked.bins,):
            said = [f"{groups} group{'s' * (groups != 1)}"] if asked.groups == AUTO else []
            said += [f"{bins} bins"] if asked.bins == AUTO else []
            candidates[", ".join(said)] = asked.made(groups, bins)
    data = LabelledScores(found.score, found.label, found.code, found.unit, asked.classes or None)
    choice = choose_recalibrator(candidates, data, progress=progress)
    loss = next(each.loss.estimate for each in choice.candidates if each.name == choice.chosen)
    units = "scores" if choice.clusters is None else f"{choice.clusters:,} clusters"
    return candidates[choice.chosen], (
        f"{choice.chosen}: the best of {len(candidates)} by the Brier score ({loss:.4g}) in five-fold "
        f"cross-validation over {units}"
    )
