"""A report's main numbers as text."""

from __future__ import annotations

from textwrap import wrap

from calibrant.cli import text
from calibrant.pages.groups import group_part
from calibrant.records import Quantity
from calibrant.results.drawing import ModelDifference, Report, TaskErrors
from calibrant.results.groups import MAPS

MOST_TASKS = 10
WIDTH = 100


def lines_of(report: Report) -> list[str]:
    """Return the lines of the models side by side and of their differences."""
    first = report.models[0].measured.views[0]
    level = text.percent(first.level)
    header = ["model", "view", "n", "error", f"{level} interval", "mean error", f"{level} interval"]
    header += ["CalibErr", "ECE", "Brier"]
    # Classes are left out beside views of all of them.
    whole = any(not each.view.startswith("class:") for each in report.models[0].measured.views)
    rows = [
        [
            model.name,
            each.view,
            text.count(each.n),
            text.decimal(each.calibration_error.estimate),
            text.interval(each.calibration_error.low, each.calibration_error.high),
            text.decimal(each.mean_error.estimate, plus=True),
            text.interval(each.mean_error.low, each.mean_error.high),
            text.decimal(each.plug_in_calibration_error),
            text.decimal(each.ece),
            text.decimal(each.brier),
        ]
        for model in report.models
        for each in model.measured.views
        if not whole or not each.view.startswith("class:")
    ]
    lines = text.table([header, *rows], left=2)
    warned: dict[str, list[str]] = {}  # models by warning
    for model in report.models:
        for warning in model.measured.to_tables()[0].notes:
            warned.setdefault(warning, []).append(model.name)
    for warning, names in warned.items():
        about = "" if len(names) == len(report.models) else f"{', '.join(names)}: "
        lines.append(f"  {about}{warning}")
    for tasks in report.tasks:
        lines += ["", *_tasks(tasks)]
    if report.recalibrator is not None and report.differences:
        lines += ["", *_changes(report, level)]
    if report.groups is not None:
        part = group_part(report.groups)
        lines += ["", "Groups of classes", *text.table([part.table.head, *part.table.rows])]
        lines += [f"  {part.verdict}", *(f"  {line}" for line in wrap(part.table.note, WIDTH))]
    for found in report.differences:
        difference, roots = found.difference, found.difference.rms_difference
        scores = difference.brier_difference
        lines += [
            "",
            f"Difference of the errors in common bins (above: own bins), {found.first} - {found.second}, "
            f"view {found.view}",
            f"  {text.decimal(roots.estimate)}, {level} interval "
            f"{text.interval(roots.low, roots.high)}; squared errors equal: "
            + (
                f"undefined ({difference.reason or 'too few data'})"
                if difference.p_value is None
                else text.p_value(difference.p_value)
            )
            + _adjusted(found, len(report.differences)),
            *([] if scores is None else [_brier(scores, level)]),
            *(f"  {warning}" for warning in difference.warnings() if warning not in warned),
        ]
    return lines + ([""] if report.notes else []) + [f"note: {note}" for note in report.notes]


def _brier(scores: Quantity, level: str) -> str:
    """Return the line on the difference of the Brier scores."""
    interval = text.interval(scores.low, scores.high)
    reason = f" ({scores.reason})" if scores.reason else ""
    return f"  Brier scores: {text.decimal(scores.estimate)}, {level} interval {interval}{reason}"


def _adjusted(found: ModelDifference, several: int) -> str:
    """Return the adjusted p-value if there are several comparisons, and how intervals treat the map."""
    said = ""
    if several > 1 and found.adjusted_p_value is not None:
        said = f", after Holm's method {text.p_value(found.adjusted_p_value)}"
    if found.difference.calibration_map is not None:
        said += f"; the intervals {MAPS[found.difference.calibration_map]}"
    return said


def _tasks(tasks: TaskErrors) -> list[str]:
    """Return the lines of a model's worst tasks."""
    table = tasks.table
    header = ["task", "subject", "n", "accuracy", "confidence", "error", "interval"]
    rows = [
        [
            *(key or "" for key in row.keys),
            text.count(row.n),
            text.percent(row.frequency, 1),
            text.percent(row.mean_score, 1),
            text.decimal(row.error.estimate),
            text.interval(row.error.low, row.error.high),
        ]
        for row in table.slices[:MOST_TASKS]
    ]
    more = len(table.slices) - len(rows)
    lines = [f"Tasks, top labels of {tasks.model}, the worst first (by errors shrunken to their mean)"]
    lines += text.table([header, *rows], left=2)
    return lines + ([f"  ({more} more tasks in the page and with --json)"] if more else [])


def _changes(report: Report, level: str) -> list[str]:
    """Return the lines of each view's squared error before and after recalibration, and its change."""
    rows = [["view", "before", "after", "change", f"{level} interval", "RMS error", f"{level} interval"]]
    for found in report.differences:
        fall, relative = found.difference.mse_difference, found.difference.relative_change
        rows.append(
            [
                found.view,
                text.decimal(found.difference.mse_first),
                text.decimal(found.difference.mse_second),
                "-" if fall.estimate is None else text.decimal(-fall.estimate),
                "-" if fall.low is None or fall.high is None else text.interval(-fall.high, -fall.low),
                _share(relative.estimate),
                "-"
                if relative.low is None or relative.high is None
                else f"[{_share(relative.low)}, {_share(relative.high)}]",
            ]
        )
    maps = dict.fromkeys(MAPS[found.difference.calibration_map] for found in report.differences)
    return [
        f"Squared error (debiased) before and after {report.recalibrator}",
        *text.table(rows),
        *wrap(
            "The change is computed in bins in common, and can differ from the difference of the two errors. "
            f"Its intervals {', or '.join(maps)}.",
            WIDTH,
            initial_indent="  ",
        ),
    ]


def _share(change: float | None) -> str:
    """Return a relative change as a percentage with its sign."""
    return "-" if change is None else f"{100 * change:+.0f} %"
