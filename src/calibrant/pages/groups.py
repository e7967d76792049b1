"""The changes of each group of classes by recalibration, as a table and a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from calibrant.io.predictions import listed
from calibrant.pages.sections import TextTable
from calibrant.records import words
from calibrant.results.groups import MAPS, GroupedChanges, MarginalChange, MarginalError, Verdict

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
NOTE = (
    "Calibration errors in percentage points with {level} intervals. Verdicts compare before and after. "
    "They are adjusted by Holm's method for the {count} comparisons of a calibration map, so the "
    "probability of any false verdict (better or worse) is at most {share}. Intervals of the change {map}."
)


@dataclass(frozen=True)
class GroupPart:
    """The part of a page about groups of classes.

    Attributes
    ----------
    table
        Table with one row for all classes and one row per group.
    verdict
        Sentence on how many groups are better, worse and inconclusive.
    """

    table: TextTable
    verdict: str


def group_part(changes: GroupedChanges) -> GroupPart:
    """Return the table and the sentence on one recalibrator."""
    named = {"after": changes}
    return GroupPart(group_table(named, note=note_on(named)), group_verdict(changes))


def note_on(changes: Mapping[str, GroupedChanges]) -> str:
    """Return a note on the intervals and the verdicts of a table of groups."""
    every = [change.total for change in changes.values()]
    every += [group for change in changes.values() for group in change.groups]
    paired = [one.difference for one in every if one.difference is not None]
    level = paired[0].level if paired else 0.95
    few = [group.label for change in changes.values() for group in change.groups if group.verdict_warning]
    maps = [MAPS[change.calibration_map] for change in paired]
    note = NOTE.format(
        level=words.percent(level),
        count=max(1 + len(change.groups) for change in changes.values()),
        share=words.percent(round(1 - level, 12)),
        map=", or ".join(dict.fromkeys(maps)) or MAPS[None],
    )
    if few:
        note += f" False verdicts are more frequent in groups with few positives or clusters: {listed(few)}."
    return note


def group_table(
    changes: Mapping[str, GroupedChanges],
    *,
    head: str = "classes",
    total: bool = True,
    note: str = "",
    inconclusive: str = "inconclusive",
) -> TextTable:
    """Return errors before and after each recalibrator in percentage points, with intervals and verdicts."""
    versions = list(changes.values())
    rows = (
        [("all classes", "", *_cells([version.total for version in versions], inconclusive))] if total else []
    )
    for place, group in enumerate(versions[0].groups):
        share = words.percent(group.share, 1)
        rows.append(
            (group.label, share, *_cells([version.groups[place] for version in versions], inconclusive))
        )
    return TextTable(
        title="",
        head=(head, "fraction", "before", *changes),
        rows=tuple(rows),
        note=note,
    )


def group_verdict(changes: GroupedChanges) -> str:
    """Return a sentence on how many groups are better, worse and inconclusive."""
    verdicts = [group.verdict for group in changes.groups]
    counts = [f"{n} {'is' if n == 1 else 'are'} {word}" for word in VERDICTS if (n := verdicts.count(word))]
    return f"After recalibration, of {len(verdicts)} groups {', '.join(counts)}."


def error_points(error: MarginalError) -> str:
    """Return an error in percentage points, with its interval."""
    estimate = error.calibration_error
    if estimate.estimate is None or estimate.low is None or estimate.high is None:
        return words.UNDEFINED
    return f"{words.points(estimate.estimate)} [{words.points(estimate.low)}, {words.points(estimate.high)}]"


def _cells(changes: Sequence[MarginalChange], inconclusive: str) -> list[str]:
    cells = [error_points(changes[0].before)]
    for change in changes:
        verdict = inconclusive if change.verdict in (None, "inconclusive") else change.verdict
        cells.append(f"{error_points(change.after)} {verdict}".rstrip())
    return cells
