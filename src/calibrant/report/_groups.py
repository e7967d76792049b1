"""What recalibration does to each group of classes, as a table and a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from calibrant.report import _text as text
from calibrant.report._sections import TextTable
from calibrant.results.groups import GroupedChanges, MarginalChange, MarginalError

NOTE = (
    "Calibration errors in percentage points, with their intervals; better or worse: by more than chance "
    "(the paired interval of the squared error's change excludes 0); open: not told."
)
Verdict = Literal["better", "worse", "open"]


@dataclass(frozen=True)
class GroupPart:
    """The part of a page about groups of classes.

    Attributes
    ----------
    table
        A row for all classes, and one a group.
    verdict
        In how many groups the error falls or rises by more than chance.
    """

    table: TextTable
    verdict: str


def group_part(changes: GroupedChanges) -> GroupPart:
    """Word what one recalibrator does."""
    return GroupPart(group_table({"after": changes}, note=NOTE), group_verdict(changes))


def group_table(
    changes: Mapping[str, GroupedChanges], *, head: str = "classes", total: bool = True, note: str = ""
) -> TextTable:
    """Errors before, and after each recalibrator, in percentage points with their intervals."""
    versions = list(changes.values())
    rows = [("all together", "", *_cells([each.total for each in versions]))] if total else []
    for place, group in enumerate(versions[0].groups):
        share = text.percent(group.share, 1)
        rows.append((group.label, share, *_cells([each.groups[place].change for each in versions])))
    return TextTable(
        title="",
        head=(head, "share", "before", *changes),
        rows=tuple(rows),
        note=note,
    )


def group_verdict(changes: GroupedChanges) -> str:
    """Count the groups that are better, and those that are worse, beyond chance."""
    found = [verdict_of(group.change) for group in changes.groups]
    better, worse, opened = (found.count(word) for word in ("better", "worse", "open"))
    said = [
        f"Of {len(found)} groups {better} {_has(better)} a smaller error than before, by more than chance"
    ]
    if worse:
        said.append(f"{worse} {_has(worse)} a larger one")
    if opened:
        said.append(f"for {opened} the data do not tell")
    return "; ".join(said) + "."


def verdict_of(change: MarginalChange) -> Verdict:
    """Say whether recalibration made an error smaller or larger by more than chance.

    It did where the paired interval of the change of the squared error excludes 0.
    """
    paired = change.difference
    if paired is None or paired.mse_low is None or paired.mse_high is None:
        return "open"
    if paired.mse_low > 0:
        return "better"
    return "worse" if paired.mse_high < 0 else "open"


def error_points(error: MarginalError) -> str:
    """Write an error in percentage points, with its interval."""
    interval = error.interval
    if error.debiased_error is None or interval is None or interval.low is None or interval.high is None:
        return text.UNDEFINED
    low, high = text.points(interval.low), text.points(interval.high)
    return f"{text.points(error.debiased_error)} [{low}, {high}]"


def _cells(changes: Sequence[MarginalChange]) -> list[str]:
    after = [f"{error_points(change.after)} {verdict_of(change)}" for change in changes]
    return [error_points(changes[0].before), *after]


def _has(count: int) -> str:
    return "has" if count == 1 else "have"
