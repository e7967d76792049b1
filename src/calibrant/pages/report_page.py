"""The page: what the report says, as a dataclass that is rendered as HTML or as JSON."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from calibrant import __version__
from calibrant.exceptions import InputError
from calibrant.pages import text
from calibrant.pages._rows import number_groups
from calibrant.pages.sections import Card, ClassTable, Contrast, Lines, Section, TaskTable
from calibrant.records import plain, words
from calibrant.results.drawing import ModelDifference, Report, TaskErrors
from calibrant.results.groups import MAPS
from calibrant.results.measurement import Measured, Measurement
from calibrant.results.slices import SliceErrors

Keys = tuple[str | None, ...]


def task_table(tasks: Sequence[TaskErrors]) -> TaskTable | None:
    """Put the tasks of all models into one table, the worst of any model first; None without tasks."""
    if not tasks:
        return None
    by_key: dict[Keys, list[SliceErrors | None]] = {}
    for place, each in enumerate(tasks):
        for row in each.table.slices:
            by_key.setdefault(row.keys, [None] * len(tasks))[place] = row
    order = sorted(by_key, key=lambda keys: (_worst(by_key[keys]), _name(keys)))
    return TaskTable(
        models=tuple(each.model for each in tasks),
        rows=tuple((_name(keys), tuple(by_key[keys])) for keys in order),
        level=tasks[0].table.level,
        measured=tuple(each.table.measured for each in tasks),
        least=tasks[0].table.least,
    )


def _worst(rows: Sequence[SliceErrors | None]) -> tuple[bool, float]:
    """Small for what is bad; tasks without an error come last, from the largest on."""
    known = (_expected(row) for row in rows if row is not None)
    errors = [value for value in known if value is not None]
    if errors:
        return False, -max(errors)
    return True, -max(row.n for row in rows if row is not None)


def _expected(row: SliceErrors) -> float | None:
    """The shrunken squared error, or the one of the task alone."""
    shrunken = row.squared.shrunken.estimate
    return row.squared.estimate if shrunken is None else shrunken


def _name(keys: Keys) -> str:
    task, subject = (key or "" for key in keys)
    return task if subject in ("", task) else f"{task}: {subject}"


@dataclass(frozen=True)
class Page:
    """A report, ready to be shown.

    Attributes
    ----------
    title
        Of the page.
    sections
        One a view that is drawn, in the order of the measurements.
    classes
        The per-class table; None when no classes were measured.
    recipes
        For each model, what was measured and how, as labels and texts.
    command
        The command line that made the page; None where there is none.
    version
        Of calibrant.
    report
        The records behind every number on the page.
    tasks
        The table of the tasks of an evaluation; None where there are none.

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

    def to_dict(self) -> dict[str, Any]:
        """Return the page as plain Python values: every text, and the numbers behind it in ``report``."""
        sections = [
            {
                "view": section.view,
                "heading": section.heading,
                "meaning": section.meaning,
                "models": list(section.models),
                "cards": plain(section.cards),
                "contrasts": plain(section.contrasts),
                "numbers": plain(section.numbers),
            }
            for section in self.sections
        ]
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
    """Word a report for its reader.

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
    'On the whole its scores are 2.9 points too low. They are overconfident: too near 0 and 1.'
    """
    names = tuple(model.name for model in report.models)
    if not names:
        raise InputError("a report needs at least one model", "name a file of predictions", code="empty")
    if len(set(names)) < len(names):
        raise InputError(f"two models share a name: {', '.join(names)}", "name them apart", code="parameter")
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
    )


class Writable(Protocol):
    """What `write` can put into a file."""

    def to_html(self) -> str:
        """Return one HTML document."""


def write(path: str | os.PathLike[str], page: Writable) -> None:
    """Write a page as one HTML file, whole or not at all.

    Parameters
    ----------
    path
        Where to; a file there is replaced.
    page
        What to write.

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


def check_page(path: str | os.PathLike[str]) -> None:
    """Raise at once if `write` would: before work that takes long.

    Raises
    ------
    InputError
        If the folder does not exist or cannot be written, or the name is that of another kind of file.

    Examples
    --------
    >>> check_page("report.pdf")
    Traceback (most recent call last):
    calibrant.exceptions.InputError: report.pdf: a report is an HTML file: end its name in .html; ...
    """
    from calibrant.io.atomic import check_place

    _check_name(path)
    check_place(path)


def _check_name(path: str | os.PathLike[str]) -> None:
    """A browser or viewer goes by the ending, and cannot open HTML that is called otherwise."""
    if Path(path).suffix.lower() not in ("", ".html", ".htm"):
        hint = "end its name in .html; a browser prints it as PDF"
        raise InputError("a report is an HTML file", hint, code="output", file=os.fspath(path))


def _section(report: Report, view: str) -> Section:
    chosen = [model for model in report.models if any(m.view == view for m in model.measured.views)]
    measurements = tuple(model.measured[view] for model in chosen)
    drawings = tuple(drawing for model in chosen for drawing in model.drawings if drawing.view == view)
    return Section(
        view=view,
        heading=text.view_heading(view),
        meaning=text.view_meaning(view),
        models=tuple(model.name for model in chosen),
        measurements=measurements,
        drawings=drawings if len(drawings) == len(chosen) else (),
        cards=tuple(_card(model.name, m) for model, m in zip(chosen, measurements, strict=True)),
        contrasts=tuple(_contrasts(report, view)),
        numbers=number_groups(measurements),
    )


def _card(name: str, m: Measurement) -> Card:
    return Card(
        name=name,
        error=text.number(m.calibration_error.estimate),
        interval=text.span(m.calibration_error.low, m.calibration_error.high),
        estimand="" if m.interval.estimand == "rms" else text.ESTIMANDS[m.interval.estimand],
        plug_in=text.number(m.plug_in_calibration_error),
        bins=str(m.binning),
        verdict=text.error_verdict(m.interval),
        direction=text.direction_verdict(m),
        warnings=m.warnings(),
    )


def _contrasts(report: Report, view: str) -> list[Contrast]:
    return [
        Contrast(
            title=f"{compared.first} {text.MINUS} {compared.second}",
            difference=text.number(compared.difference.mse_difference.estimate),
            interval=text.span(
                compared.difference.mse_difference.low, compared.difference.mse_difference.high
            ),
            root_difference=text.number(compared.difference.rms_difference.estimate),
            root_interval=text.span(
                compared.difference.rms_difference.low, compared.difference.rms_difference.high
            ),
            p_value=words.p_value(compared.difference.p_value),
            p_reason=compared.difference.reason or "",
            verdict=text.difference_verdict(compared),
            notes=_contrast_notes(report, compared),
        )
        for compared in report.differences
        if compared.view == view
    ]


def _contrast_notes(report: Report, compared: ModelDifference) -> tuple[str, ...]:
    """Explain the adjustment of a difference's p-value, and how its intervals treat a calibration map."""
    notes = []
    several = sum(each.adjusted_p_value is not None for each in report.differences)
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
    """Sort by the first model's error, from the largest; undefined ones come last."""
    error = row[1][0].calibration_error.estimate
    return math.inf if error is None else -error


def _has(measured: Measured, view: str) -> bool:
    return any(m.view == view for m in measured.views)


def _recipe(measured: Measured) -> list[tuple[str, str]]:
    """Everything needed to get the same numbers again, as labels and texts."""
    lines = list(measured.settings().items())
    lines.insert(2, ("Views", ", ".join(m.view for m in measured.views)))
    if measured.recipe.command is not None:
        lines.append(("Numbers alone", measured.recipe.command))
    return lines
