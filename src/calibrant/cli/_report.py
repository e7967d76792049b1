"""A report's main numbers as text."""

from __future__ import annotations

from textwrap import wrap

from calibrant.cli import text
from calibrant.pages.groups import group_part
from calibrant.records import Column
from calibrant.records.formats import word
from calibrant.results.drawing import ModelDifference, Report, TaskErrors
from calibrant.results.groups import MAPS

MOST_TASKS = 10
WIDTH = 100


def lines_of(report: Report, *, full: bool) -> list[str]:
    """Return the lines of the models side by side and a summary; if ``full``, of all differences."""
    first = report.models[0].measured.views[0]
    level = text.percent(first.level)
    header = ["model", "view", "n", "error", f"{level} interval", "mean error", f"{level} interval"]
    header += ["CalibErr", "ECE", "Brier"]
    # Classes are left out beside views of all of them.
    whole = any(not view.view.startswith("class:") for view in report.models[0].measured.views)
    rows = [
        [
            model.name,
            view.view,
            text.count(view.n),
            text.decimal(view.calibration_error.estimate),
            text.interval(view.calibration_error.low, view.calibration_error.high),
            text.decimal(view.mean_error.estimate, plus=True),
            text.interval(view.mean_error.low, view.mean_error.high),
            text.decimal(view.plug_in_calibration_error),
            text.decimal(view.ece),
            text.decimal(view.brier),
        ]
        for model in report.models
        for view in model.measured.views
        if not whole or not view.view.startswith("class:")
    ]
    lines = [*_accuracies(report, level), *text.table([header, *rows], left=2)]
    warned: dict[str, list[str]] = {}  # models by warning
    for model in report.models:
        for warning in model.measured.to_tables()[0].notes:
            warned.setdefault(warning, []).append(model.name)
    for warning, names in warned.items():
        about = "" if len(names) == len(report.models) else f"{', '.join(names)}: "
        lines.append(f"  {about}{warning}")
    for tasks in report.tasks:
        lines += ["", *_tasks(tasks)]
    if not full:
        lines += ["", *wrap(report.summary(), WIDTH)]
        return lines + [f"note: {note}" for note in report.notes]
    if report.recalibrator is not None and report.differences:
        lines += ["", *_changes(report, level)]
    if report.groups is not None:
        part = group_part(report.groups)
        lines += ["", "Groups of classes", *text.table([part.table.head, *part.table.rows])]
        lines += [f"  {part.verdict}", *(f"  {line}" for line in wrap(part.table.note, WIDTH))]
    for comparison in report.differences:
        difference, roots = comparison.difference, comparison.difference.rms_difference
        brier: list[str] = []
        if (scores := difference.brier_difference) is not None:
            reason = f" ({scores.reason})" if scores.reason else ""
            interval = text.interval(scores.low, scores.high)
            brier = [f"  Brier scores: {text.decimal(scores.estimate)}, {level} interval {interval}{reason}"]
        lines += [
            "",
            "Difference of the errors in common bins (above: own bins), "
            f"{comparison.first} - {comparison.second}, view {comparison.view}",
            f"  {text.decimal(roots.estimate)}, {level} interval "
            f"{text.interval(roots.low, roots.high)}; squared errors equal: "
            + (
                f"undefined ({difference.reason or 'too few data'})"
                if difference.p_value is None
                else text.p_value(difference.p_value)
            )
            + _adjusted(comparison, len(report.differences)),
            *brier,
            *(f"  {warning}" for warning in difference.warnings() if warning not in warned),
        ]
    return lines + ([""] if report.notes else []) + [f"note: {note}" for note in report.notes]


def _accuracies(report: Report, level: str) -> list[str]:
    """Return the lines of the models' accuracies, over all items and of the first tasks."""
    shown = [row for row in report.accuracies if row.task is None]
    by_task = [row for row in report.accuracies if row.task is not None]
    if not shown:
        return []
    tasks = [*shown, *by_task[:MOST_TASKS]]
    pairs = list(dict.fromkeys((row.first, row.second) for row in shown))
    named, interval = len(pairs) > 1, f"{level} interval"
    one, other = ("accuracy 1", "accuracy 2") if named else pairs[0]
    header = ["task", *(["first", "second"] if named else []), "items", one, interval, other, interval]
    header += ["difference", interval, "p (Holm)", "more accurate"]
    rows = [
        [
            row.task or "all",
            *((row.first, row.second) if named else ()),
            text.count(row.items),
            text.decimal(row.first_accuracy.estimate),
            text.interval(row.first_accuracy.low, row.first_accuracy.high),
            text.decimal(row.second_accuracy.estimate),
            text.interval(row.second_accuracy.low, row.second_accuracy.high),
            text.decimal(row.difference.estimate, plus=True),
            text.interval(row.difference.low, row.difference.high),
            word(row.adjusted_p_value, Column("p", "p", "p-value")),
            row.verdict,
        ]
        for row in tasks
    ]
    lines = [
        "Accuracy on the same items, first minus second",
        *text.table([header, *rows], left=3 if named else 1),
    ]
    lines += [f"  {row.task or 'all'}: {warning}" for row in tasks for warning in row.warnings()]
    more = len(by_task) - MOST_TASKS
    return [*lines, *([f"  ({more} more tasks in the page and with --json)"] if more > 0 else []), ""]


def _adjusted(comparison: ModelDifference, several: int) -> str:
    """Return the adjusted p-value if there are several comparisons, and how intervals treat the map."""
    remark = ""
    if several > 1 and comparison.adjusted_p_value is not None:
        remark = f", after Holm's method {text.p_value(comparison.adjusted_p_value)}"
    if comparison.difference.calibration_map is not None:
        remark += f"; the intervals {MAPS[comparison.difference.calibration_map]}"
    return remark


def _tasks(tasks: TaskErrors) -> list[str]:
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
    for comparison in report.differences:
        fall, relative = comparison.difference.mse_difference, comparison.difference.relative_change
        rows.append(
            [
                comparison.view,
                text.decimal(comparison.difference.mse_first),
                text.decimal(comparison.difference.mse_second),
                "-" if fall.estimate is None else text.decimal(-fall.estimate),
                "-" if fall.low is None or fall.high is None else text.interval(-fall.high, -fall.low),
                _share(relative.estimate),
                "-"
                if relative.low is None or relative.high is None
                else f"[{_share(relative.low)}, {_share(relative.high)}]",
            ]
        )
    maps = dict.fromkeys(MAPS[comparison.difference.calibration_map] for comparison in report.differences)
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
