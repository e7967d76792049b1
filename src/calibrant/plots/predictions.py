"""Figures of predictions: the figures of a report, one at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from calibrant.exceptions import InputError
from calibrant.plots._calibration import calibration_curves, smooth_curve
from calibrant.plots._confidence import confidence_and_reliability
from calibrant.plots._error_intervals import error_intervals
from calibrant.plots._labels import label_histograms
from calibrant.plots._log_odds import log_odds_curve
from calibrant.plots.style import figure_of, name_axes, score_names
from calibrant.results.drawing import Drawing, Report, bin_limits
from calibrant.results.measurement import Measurement

What = Literal["curve", "log-odds", "smooth", "confidence", "labels", "classes"]
WHAT: tuple[What, ...] = get_args(What)
Model = tuple[str, Measurement, Drawing | None]


def report_figure(report: Report, what: What = "curve") -> Figure:
    """Draw the first view of a report's models in one figure; of ``classes`` each of them.

    Parameters
    ----------
    report
        From `calibrant.verbs.report`.
    what
        ``curve`` (calibration curves of all models), ``log-odds`` (the same on log-odds axes),
        ``smooth`` (without bins, with bands), ``confidence`` (histogram and bars of one model), ``labels``
        (its scores by label) or ``classes`` (each class's error with its interval, the largest of the first
        model first).

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InputError
        If the models have no such figure.

    Examples
    --------
    >>> from calibrant.data import predictions
    >>> from calibrant import report
    >>> len(report_figure(report(predictions()), "confidence").axes)
    2
    """
    if what == "classes":
        return figure_of(_classes(report))
    view = report.models[0].measured.views[0].view
    models = [_of_view(report, place, view) for place in range(len(report.models))]
    if what in ("confidence", "labels"):
        return _of_one(models, view, what)
    if what == "smooth":
        return figure_of(name_axes(_smooth(models), view))
    drawn = [(name, measured.sums, bin_limits(measured)) for name, measured, _ in models]
    if what == "log-odds":
        return figure_of(name_axes(log_odds_curve(drawn), view, " (log-odds)"))
    return figure_of(name_axes(calibration_curves(drawn), view))


def measured_curves(models: Sequence[tuple[str, Measurement]]) -> Figure:
    """Draw the calibration curves of models that were measured for the same view on the same axes.

    Parameters
    ----------
    models
        Names and measurements, as `calibrant.verbs.measure` has them.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> from calibrant.data import predictions
    >>> from calibrant import measure
    >>> figure = measured_curves([("naive Bayes", measure(predictions())["binary"])])
    >>> figure.axes[0].get_xlabel()
    'predicted probability'
    """
    curves = [(name, measurement.sums, bin_limits(measurement)) for name, measurement in models]
    return figure_of(name_axes(calibration_curves(curves), models[0][1].view))


def _of_view(report: Report, place: int, view: str) -> Model:
    model = report.models[place]
    measured = next((one for one in model.measured.views if one.view == view), None)
    if measured is None:
        hint = "name a view that all models have (`view`)"
        raise InputError(f"{model.name} has no view {view}", hint, code="parameter")
    drawing = next((one for one in model.drawings if one.view == view), None)
    return model.name, measured, drawing


def _smooth(models: Sequence[Model]) -> Axes:
    ax: Axes | None = None
    for index, (name, _, drawing) in enumerate(models):
        if drawing is None or drawing.curve is None:
            hint = "draw the curve with bins instead"
            raise InputError(f"there is no smooth curve of {name}", hint, code="parameter")
        ax = smooth_curve(drawing.curve, label=name, index=index, legend=index + 1 == len(models), ax=ax)
    assert ax is not None
    return ax


def _of_one(models: Sequence[Model], view: str, what: What) -> Figure:
    drawing = models[0][2]
    if len(models) > 1 or drawing is None:
        raise InputError("this kind of figure shows one model", "draw one figure per model", code="parameter")
    score, frequency = score_names(view)
    if what == "labels":
        return figure_of(label_histograms(drawing.equal_width, score_name=score))
    return confidence_and_reliability(drawing.equal_width, score_name=score, frequency_name=frequency)


def _classes(report: Report) -> Axes:
    views = dict.fromkeys(measurement.view for model in report.models for measurement in model.measured.views)
    names = [view for view in views if view.startswith("class:")]
    if not names:
        raise InputError("these predictions have no classes", "draw a curve instead", code="parameter")
    errors = {name: _of_view(report, 0, name)[1].calibration_error.estimate for name in names}
    names.sort(key=lambda name: -(errors[name] or 0.0))
    models = [
        (model.name, [_of_view(report, place, name)[1].interval for name in names])
        for place, model in enumerate(report.models)
    ]
    return error_intervals([name.removeprefix("class:") for name in names], models)
