"""The page of a report, as a dataclass that is rendered as HTML or JSON."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from calibrant._version import __version__
from calibrant.exceptions import InputError
from calibrant.pages import text
from calibrant.pages.sections import (
    Card,
    ClassTable,
    Contrast,
    Lines,
    Section,
    TaskTable,
    TextTable,
    number_groups,
)
from calibrant.records import Column, Quantity, plain, words
from calibrant.records.formats import word
from calibrant.results.drawing import (
    MOST_COMPARED,
    AccuracyDifference,
    ModelDifference,
    Report,
    TaskErrors,
)
from calibrant.results.groups import MAPS
from calibrant.results.measurement import Measured, Measurement
from calibrant.results.slices import SliceErrors

Keys = tuple[str | None, ...]


def task_table(tasks: Sequence[TaskErrors]) -> TaskTable | None:
    """Return one table of the tasks of all models, the worst of any model first; None without tasks."""
    if not tasks:
        return None
    by_key: dict[Keys, list[SliceErrors | None]] = {}
    for place, task in enumerate(tasks):
        for row in task.table.slices:
            by_key.setdefault(row.keys, [None] * len(tasks))[place] = row
    order = sorted(by_key, key=lambda keys: (_worst(by_key[keys]), _name(keys)))
    return TaskTable(
        models=tuple(task.model for task in tasks),
        rows=tuple((_name(keys), tuple(by_key[keys])) for keys in order),
        level=tasks[0].table.level,
        measured=tuple(task.table.measured for task in tasks),
        least=tasks[0].table.least,
    )


def _worst(rows: Sequence[SliceErrors | None]) -> tuple[bool, float]:
    """Return a sort key that is small for large errors; tasks without an error come last, largest first."""
    squared = [row.squared for row in rows if row is not None]
    known = (one.estimate if one.shrunken.estimate is None else one.shrunken.estimate for one in squared)
    errors = [value for value in known if value is not None]
    if errors:
        return False, -max(errors)
    return True, -max(row.n for row in rows if row is not None)


def _name(keys: Keys) -> str:
    task, subject = (key or "" for key in keys)
    return task if subject in ("", task) else f"{task}: {subject}"


@dataclass(frozen=True)
class Page:
    """A report, ready to be shown.

    Attributes
    ----------
    title
        Title of the page.
    sections
        One section per view that is drawn, in the order of the measurements.
    classes
        Table of the classes; None if no classes were measured.
    recipes
        Settings of each model's measurement, as labels and texts.
    command
        Command line that wrote the page; None if there is none.
    version
        Version of calibrant.
    report
        Record of all numbers on the page.
    tasks
        Table of the tasks of an evaluation; None without tasks.
    accuracies
        Table of the accuracies of pairs of models, over all items and by task; None with one model.

    Examples
    --------
    >>> empty = Page("Nothing yet", (), None, (), None, "0.1.0", Report(()))
    >>> "<title>Nothing yet</title>" in empty.to_html(), empty.to_dict()["title"]
    (True, 'Nothing yet')
    """

    title: str
    sections: tuple[Section, ...]
    classes: ClassTable | None
    recipes: tuple[tuple[str, Lines], ...]
    command: str | None
    version: str
    report: Report
    tasks: TaskTable | None = None
    accuracies: TextTable | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the page as plain Python values: all texts, and all numbers in ``report``."""
        shown = ("view", "heading", "meaning", "verdict", "models", "cards", "contrasts", "numbers")
        sections = [{name: plain(getattr(section, name)) for name in shown} for section in self.sections]
        return {
            "title": self.title,
            "version": self.version,
            "command": self.command,
            "notes": list(self.report.notes),
            "sections": sections,
            "tasks": None if self.tasks is None else [name for name, _ in self.tasks.rows],
            "classes": None if self.classes is None else [name for name, _ in self.classes.rows],
            "recipes": [{"model": name, "recipe": dict(recipe)} for name, recipe in self.recipes],
            "report": self.report.to_dict(),
        }

    def to_html(self) -> str:
        """Return the page as one self-contained HTML document."""
        from calibrant.pages.html import render

        return render(self, self.sections, self.classes, self.report.groups)


def page(report: Report, *, title: str | None = None) -> Page:
    """Return the page of a report.

    Parameters
    ----------
    report
        The records: models, what is drawn of them, their differences, the command.
    title
        Title of the page; None makes one of the models' names.

    Returns
    -------
    Page
        Rendered by its ``to_html()`` and ``to_dict()``.

    Raises
    ------
    InputError
        If there is no model, or two share a name.

    Examples
    --------
    >>> from calibrant.data import predictions
    >>> from calibrant.results.drawing import ReportedModel
    >>> from calibrant import measure
    >>> model = ReportedModel("naive Bayes", measure(predictions("dated", "naive-bayes")))
    >>> page(Report((model,))).sections[0].cards[0].direction
    'On average, its scores are 2.9 percentage points too low. They are overconfident: too close to 0 and 1.'
    """
    names = tuple(model.name for model in report.models)
    if not names:
        raise InputError("a report needs at least one model", "name a file of predictions", code="empty")
    if len(set(names)) < len(names):
        message = f"two models have the same name: {', '.join(names)}"
        raise InputError(message, "give each model a different name", code="parameter")
    views = list(dict.fromkeys(m.view for model in report.models for m in model.measured.views))
    classes = [view for view in views if view.startswith("class:")]
    drawn = {drawing.view for model in report.models for drawing in model.drawings}
    main = [view for view in views if view not in classes or view in drawn]
    return Page(
        title=title or text.title(names, recalibrated=report.recalibrator is not None),
        sections=tuple(_section(report, view) for view in main or views),
        classes=_class_table(report, classes) if len(classes) > 1 else None,
        recipes=tuple((model.name, tuple(_recipe(model.measured))) for model in report.models),
        command=report.command,
        version=__version__,
        report=report,
        tasks=task_table(report.tasks),
        accuracies=_accuracy_table(report.accuracies),
    )


def _accuracy_table(rows: Sequence[AccuracyDifference]) -> TextTable | None:
    """Return one row per pair of models over all items, then per task; None without pairs."""
    if not rows:
        return None
    tasks = any(row.task is not None for row in rows)
    pairs = list(dict.fromkeys((row.first, row.second) for row in rows))
    named = len(pairs) > 1
    head = [*(["task"] if tasks else []), *(["first", "second"] if named else []), "items"]
    head += (
        ["first's accuracy", "second's accuracy"] if named else [f"accuracy of {name}" for name in pairs[0]]
    )
    head += ["first minus second", "p (Holm)", "more accurate"]
    body = [
        (
            *([row.task or "all"] if tasks else []),
            *((row.first, row.second) if named else ()),
            words.count(row.items),
            _percent(row.first_accuracy),
            _percent(row.second_accuracy),
            _percent(row.difference, plus=True),
            word(row.adjusted_p_value, Column("p", "p", "p-value")),
            row.verdict,
        )
        for row in rows
    ]
    notes = [
        f"In percent, with {words.percent(rows[0].level)} intervals; the difference in percentage points."
    ]
    notes.append("P-values are adjusted by Holm's method, separately over all items and over tasks.")
    warned = {f"{row.task or 'All items'}: {warning}." for row in rows for warning in row.warnings()}
    return TextTable("", tuple(head), tuple(body), " ".join([*notes, *sorted(warned)]), words=1)


def _percent(value: Quantity, *, plus: bool = False) -> str:
    """Return a proportion in percent with its interval."""
    low, high = value.low, value.high
    sign = "+" if plus else ""
    shown = "-" if value.estimate is None else text.signed(f"{100 * value.estimate:{sign}.1f}")
    if low is None or high is None:
        return f"{shown} ({value.reason or 'no interval'})"
    return f"{shown} [{text.signed(f'{100 * low:{sign}.1f}')}, {text.signed(f'{100 * high:{sign}.1f}')}]"


class Writable(Protocol):
    """Page that `write` can write to a file."""

    def to_html(self) -> str:
        """Return one HTML document."""


def write(path: str | os.PathLike[str], page: Writable) -> None:
    """Write a page as one HTML file; if writing fails, no partial file remains.

    Parameters
    ----------
    path
        Path of the file; an existing file is replaced.
    page
        Page to write.

    Raises
    ------
    InputError
        If the folder does not exist or cannot be written, or the name is that of another kind of file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from calibrant.data import predictions
    >>> from calibrant.results.drawing import ReportedModel
    >>> from calibrant import measure
    >>> model = ReportedModel("naive Bayes", measure(predictions("dated", "naive-bayes")))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(Path(folder) / "report.html", page(Report((model,))))
    ...     (Path(folder) / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    True
    """
    from calibrant.io.atomic import writing

    _check_name(path)
    html = page.to_html().encode("utf-8")
    with writing(path) as file:
        file.write(html)


def write_report(
    measured: Measured | Measurement, output: str | os.PathLike[str], *, title: str | None = None
) -> Report:
    """Write the report of what was measured already, and return what it shows."""
    from calibrant.verbs.reporting import report

    check_page(output)
    shown = report(measured)
    write(output, page(shown, title=title))
    return shown


def check_page(path: str | os.PathLike[str]) -> None:
    """Raise an error if a page cannot be written to a path, before long work begins.

    Raises
    ------
    InputError
        If the folder does not exist or cannot be written, or the name is that of another kind of file.

    Examples
    --------
    >>> check_page("report.pdf")
    Traceback (most recent call last):
    calibrant.exceptions.InputError: report.pdf: a report is an HTML file: give a name that ends in .html; ...
    """
    from calibrant.io.atomic import check_place

    _check_name(path)
    check_place(path)


def _check_name(path: str | os.PathLike[str]) -> None:
    """Check the ending of the name, because browsers do not open HTML with other endings."""
    place = Path(path)
    if place.suffix.lower() not in (".html", ".htm") and (place.is_file() or not place.exists()):
        hint = "give a name that ends in .html; a browser can print the page as PDF"
        raise InputError("a report is an HTML file", hint, code="output", file=os.fspath(path))


def _section(report: Report, view: str) -> Section:
    chosen = [model for model in report.models if _has(model.measured, view)]
    measurements = tuple(model.measured[view] for model in chosen)
    drawings = tuple(drawing for model in chosen for drawing in model.drawings if drawing.view == view)
    return Section(
        view=view,
        heading=text.view_heading(view),
        meaning=text.view_meaning(view),
        models=tuple(model.name for model in chosen),
        verdict=_verdict(report, view, measurements),
        measurements=measurements,
        drawings=drawings if len(drawings) == len(chosen) else (),
        cards=tuple(_card(model.name, m) for model, m in zip(chosen, measurements, strict=True)),
        contrasts=tuple(
            _contrast(report, compared) for compared in report.differences if compared.view == view
        ),
        numbers=number_groups(measurements),
    )


def _verdict(report: Report, view: str, measurements: Sequence[Measurement]) -> str:
    """Return the sentence that a section leads with: a change, differences, or the error of one model."""
    if len(measurements) == 1:
        return measurements[0].summary()
    compared = [difference for difference in report.differences if difference.view == view]
    if report.recalibrator is not None and compared:
        return compared[0].change()
    return " ".join(difference.summary() for difference in compared[:MOST_COMPARED])


def _card(name: str, m: Measurement) -> Card:
    return Card(
        name=name,
        error=text.number(m.calibration_error.estimate),
        interval=text.span(m.calibration_error.low, m.calibration_error.high),
        mean_error=text.number(m.mean_error.estimate, plus=True),
        mean_interval=text.span(m.mean_error.low, m.mean_error.high),
        plug_in=text.number(m.plug_in_calibration_error),
        bins=str(m.binning),
        verdict=m.interval.summary(),
        direction=m.direction(),
        warnings=m.warnings(),
    )


def _contrast(report: Report, compared: ModelDifference) -> Contrast:
    difference = compared.difference
    squares, roots = difference.mse_difference, difference.rms_difference
    scores = difference.brier_difference or Quantity(None)
    return Contrast(
        title=f"{compared.first} {text.MINUS} {compared.second}",
        difference=text.number(squares.estimate),
        interval=text.span(squares.low, squares.high),
        root_difference=text.number(roots.estimate),
        root_interval=text.span(roots.low, roots.high),
        brier_difference=text.number(scores.estimate),
        brier_interval=text.span(scores.low, scores.high),
        p_value=words.p_value(difference.p_value),
        p_reason=difference.reason or "",
        verdict=compared.summary(),
        notes=_contrast_notes(report, compared),
    )


def _contrast_notes(report: Report, compared: ModelDifference) -> tuple[str, ...]:
    """Return warnings, and notes on the adjusted p-value and the treatment of the calibration map."""
    notes = [*compared.difference.warnings()]
    several = sum(other.adjusted_p_value is not None for other in report.differences)
    if several > 1 and compared.adjusted_p_value is not None:
        adjusted = words.p_value(compared.adjusted_p_value)
        notes.append(f"Adjusted by Holm's method for the report's {several} comparisons: {adjusted}.")
    if compared.difference.calibration_map is not None:
        notes.append(f"The intervals {MAPS[compared.difference.calibration_map]}.")
    return tuple(notes)


def _class_table(report: Report, views: Sequence[str]) -> ClassTable | None:
    models = [model for model in report.models if all(_has(model.measured, view) for view in views)]
    if not models:
        return None
    rows = [(view.removeprefix("class:"), tuple(model.measured[view] for model in models)) for view in views]
    return ClassTable(
        models=tuple(model.name for model in models),
        rows=tuple(sorted(rows, key=_error_of_first)),
        means=tuple(model.measured.mean for model in models),
    )


def _error_of_first(row: tuple[str, tuple[Measurement, ...]]) -> float:
    """Return a sort key by the first model's error, largest first; undefined errors come last."""
    error = row[1][0].calibration_error.estimate
    return math.inf if error is None else -error


def _has(measured: Measured, view: str) -> bool:
    return any(m.view == view for m in measured.views)


def _recipe(measured: Measured) -> list[tuple[str, str]]:
    """Return the settings that reproduce the numbers, as labels and texts."""
    lines = list(measured.settings().items())
    lines.insert(2, ("Views", ", ".join(m.view for m in measured.views)))
    if measured.recipe.command is not None:
        lines.append(("Numbers alone", measured.recipe.command))
    return lines
