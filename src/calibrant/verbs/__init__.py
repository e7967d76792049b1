"""The verbs that all front ends share: they take plain arguments and return records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calibrant.lazy import lazily

if TYPE_CHECKING:
    from calibrant.verbs.converting import convert
    from calibrant.verbs.displays import ReliabilityDisplay
    from calibrant.verbs.figures import plot, save_figure
    from calibrant.verbs.grouping import group_changes
    from calibrant.verbs.measuring import measure
    from calibrant.verbs.planning import plan
    from calibrant.verbs.recalibrating import apply, fit
    from calibrant.verbs.reporting import report
    from calibrant.verbs.slicing import slice_tables, slices
    from calibrant.verbs.tallying import tally, tally_by, tally_files
else:
    __getattr__, __dir__ = lazily(__name__)

__all__ = [
    "ReliabilityDisplay",
    "apply",
    "convert",
    "fit",
    "group_changes",
    "measure",
    "plan",
    "plot",
    "report",
    "save_figure",
    "slice_tables",
    "slices",
    "tally",
    "tally_by",
    "tally_files",
]
