"""Figures of predictions, and figures as files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

from calibrant._checks import one_of
from calibrant.exceptions import InputError
from calibrant.io._atomic import check_place, writing
from calibrant.results.drawing import Drawing, Report, bin_limits
from calibrant.results.measurement import Measurement
from calibrant.workflow.reporting import report

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from calibrant.plots._svg import Kind

KINDS: tuple[Kind, ...] = ("svg", "pdf", "png")
What = Literal["curve", "log-odds", "smooth", "confidence", "classes"]
Model = tuple[str, Measurement, Drawing | None]
WIDEST = 40.0  # inches


def draw_predictions(
    sources: Any,
    output: str | os.PathLike[str],
    *,
    what: What = "curve",
    event: str | None = None,
    width: float | None = None,
    **settings: Any,
) -> Report:
    """Draw the predictions of one or several models as one figure.

    Parameters
    ----------
    sources
        As in `calibrant.workflow.report`.
    output, width
        As in `save_figure`.
    what
        ``curve`` (calibration curves, one over the other), ``log-odds`` (the same on axes of log-odds, for
        scores that crowd near 0 and 1), ``smooth`` (without bins, with bands), ``confidence`` (Guo et al.'s
        histogram and bars, of one model) or ``classes`` (each class's error with its interval).
    event
        As in `calibrant.workflow.measure`; the first that the table has if not given.
    **settings
        Other arguments of `calibrant.workflow.report`.

    Returns
    -------
    Report
        The numbers that are drawn.

    Raises
    ------
    InputError
        As `calibrant.workflow.report`; the figure cannot be written, or the predictions have no such figure.

    Examples
    --------
    >>> import tempfile
    >>> from calibrant.data import predictions
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = draw_predictions([predictions()], f"{folder}/curve.pdf", width=3.3)
    >>> len(found.models)
    1
    """
    one_of(what, get_args(What), "what")
    figure_kind(output)
    found = report(sources, event="classwise" if what == "classes" and event is None else event, **settings)
    save_figure(figure_of_report(found, what), output, width=width)
    return found


def figure_of_report(found: Report, what: What = "curve") -> Figure | Axes:
    """Draw the first event of a report's models; of ``classes`` all of them."""
    from calibrant import plots

    if what == "classes":
        return _classes(found)
    event = found.models[0].measured.events[0].event
    models = [_of_event(found, place, event) for place in range(len(found.models))]
    drawn = [(name, measured.bins, bin_limits(measured)) for name, measured, _ in models]
    if what == "confidence":
        return _confidence(models, event)
    if what == "smooth":
        ax = _smooth(models)
    elif what == "log-odds":
        ax = plots.log_odds_curve(drawn)
    else:
        ax = plots.calibration_curves(drawn)
    return _named(ax, event, " (log-odds)" if what == "log-odds" else "")


def draw_measured(
    models: Sequence[tuple[str, Measurement]],
    output: str | os.PathLike[str],
    *,
    width: float | None = None,
) -> None:
    """Write the calibration curves of models that were measured for the same event, one over the other."""
    from calibrant import plots

    curves = [(name, found.bins, bin_limits(found)) for name, found in models]
    save_figure(_named(plots.calibration_curves(curves), models[0][1].event), output, width=width)


def save_figure(figure: Figure | Axes, output: str | os.PathLike[str], *, width: float | None = None) -> None:
    """Write a figure of `calibrant.plots` to a file: equal bytes for equal figures, texts as texts.

    Parameters
    ----------
    figure
        A figure, or axes of one.
    output
        A file whose name ends in ``.pdf`` (fonts embedded), ``.svg`` or ``.png``.
    width
        In inches: 3.3 fits a column of a page with two, 6.9 the page. None: as the figure is.

    Raises
    ------
    InputError
        If the name does not say what kind of figure, the file cannot be written, or the width is not that of
        a figure.

    Examples
    --------
    >>> import tempfile
    >>> from matplotlib.figure import Figure
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_figure(Figure(), f"{folder}/empty.pdf", width=3.3)
    """
    from calibrant.plots import render
    from calibrant.plots._style import figure_of

    kind = figure_kind(output)
    if width is not None and not 1 <= width <= WIDEST:
        raise InputError(f"a figure cannot be {width:g} inches wide", "give 3.3, or 6.9", code="parameter")
    data = render(figure_of(figure), kind, width=width)
    with writing(output) as file:
        file.write(data)


def figure_kind(output: str | os.PathLike[str]) -> Kind:
    """Return the kind of figure that a file's name says, or raise; also where it cannot be written."""
    name = os.fspath(output)
    kind = name.rpartition(".")[2].lower()
    if kind not in KINDS:
        hint = "name it .pdf, .svg or .png"
        raise InputError("the name does not say what kind of figure", hint, code="file-kind", file=name)
    check_place(output)
    return kind


def _of_event(found: Report, place: int, event: str) -> Model:
    model = found.models[place]
    measured = next((each for each in model.measured.events if each.event == event), None)
    if measured is None:
        hint = "name an event that all models have (--event)"
        raise InputError(f"{model.name} has no event {event}", hint, code="parameter")
    drawing = next((each for each in model.drawings if each.event == event), None)
    return model.name, measured, drawing


def _named(ax: Axes, event: str, scale: str = "") -> Axes:
    from calibrant.plots._style import score_names

    score, frequency = score_names(event)
    ax.set_xlabel(f"{score}{scale}")
    ax.set_ylabel(f"{frequency}{scale}")
    return ax


def _smooth(models: Sequence[Model]) -> Axes:
    from calibrant import plots

    ax: Axes | None = None
    last = len(models) - 1
    for index, (name, _, drawing) in enumerate(models):
        if drawing is None or drawing.curve is None:
            hint = "draw the curve with bins instead"
            raise InputError(f"there is no smooth curve of {name}", hint, code="parameter")
        ax = plots.smooth_curve(drawing.curve, label=name, index=index, legend=index == last, ax=ax)
    assert ax is not None
    return ax


def _confidence(models: Sequence[Model], event: str) -> Figure:
    from calibrant import plots
    from calibrant.plots._style import score_names

    drawing = models[0][2]
    if len(models) > 1 or drawing is None:
        raise InputError("this figure is of one model", "draw one at a time", code="parameter")
    score, frequency = score_names(event)
    return plots.confidence_and_reliability(drawing.equal_width, score_name=score, frequency_name=frequency)


def _classes(found: Report) -> Axes:
    from calibrant import plots

    names = [each.event for each in found.models[0].measured.events if each.event.startswith("class:")]
    if not names:
        raise InputError("these predictions have no classes", "draw a curve instead", code="parameter")
    models = [
        (model.name, [_of_event(found, place, name)[1].interval for name in names])
        for place, model in enumerate(found.models)
    ]
    return plots.error_intervals([name.removeprefix("class:") for name in names], models)
