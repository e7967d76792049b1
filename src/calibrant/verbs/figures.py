"""Draw figures of predictions, and write figures to files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from calibrant._checks import one_of
from calibrant.exceptions import InputError
from calibrant.io.atomic import check_place, writing
from calibrant.results.drawing import Report
from calibrant.verbs.options import takes
from calibrant.verbs.reporting import report

if TYPE_CHECKING:
    from calibrant.plots.predictions import What
    from calibrant.plots.style import Drawn
    from calibrant.plots.svg import Kind

KINDS: tuple[Kind, ...] = ("svg", "pdf", "png")
WIDEST = 40.0  # inches


@takes(report)
def plot(
    sources: Any,
    output: str | os.PathLike[str],
    *,
    what: What = "curve",
    view: str | None = None,
    width: float | None = None,
    **options: Any,
) -> Report:
    """Draw the predictions of one or several models as one figure.

    Parameters
    ----------
    sources
        As in `calibrant.verbs.report`.
    output, width
        As in `save_figure`.
    what
        ``curve`` (calibration curves of all models), ``log-odds`` (the same on log-odds axes, for scores near
        0 and 1), ``smooth`` (smoothed curves with bands), ``confidence`` (Guo et al.'s histogram and bars, of
        one model), ``labels`` (its scores by label, with the base rate) or ``classes`` (each class's error
        with its interval).
    view
        As in `calibrant.verbs.measure`; by default the table's first view.
    **options
        Other arguments of `calibrant.verbs.report`.

    Returns
    -------
    Report
        Numbers of the drawn view, or of each class.

    Raises
    ------
    InputError
        As `calibrant.verbs.report`; or if the figure cannot be written, or the predictions have no such
        figure.

    Examples
    --------
    >>> import tempfile
    >>> from calibrant.data import predictions
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     content = plot([predictions()], f"{folder}/curve.pdf", width=3.3)
    >>> len(content.models)
    1
    """
    from calibrant.plots import report_figure
    from calibrant.plots.predictions import WHAT

    one_of(what, WHAT, "what")
    figure_kind(output)
    content = report(
        sources, view="classwise" if what == "classes" and view is None else view, what=what, **options
    )
    save_figure(report_figure(content, what), output, width=width)
    return content


def save_figure(figure: Drawn, output: str | os.PathLike[str], *, width: float | None = None) -> None:
    """Write a figure of `calibrant.plots` to a file, with equal bytes for equal figures and text as text.

    Parameters
    ----------
    figure
        A figure, or axes of one.
    output
        Path that ends in ``.pdf`` (with embedded fonts), ``.svg`` or ``.png``.
    width
        Width in inches: 3.3 fits one column of a two-column page, 6.9 the full page. None keeps the width.

    Raises
    ------
    InputError
        If the name has no known ending, the file cannot be written, or the width is out of range.

    Examples
    --------
    >>> import tempfile
    >>> from matplotlib.figure import Figure
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_figure(Figure(), f"{folder}/empty.pdf", width=3.3)
    """
    from calibrant.plots import render
    from calibrant.plots.style import figure_of

    kind = figure_kind(output)
    if width is not None and not 1 <= width <= WIDEST:
        raise InputError(f"a figure cannot be {width:g} inches wide", "give 3.3, or 6.9", code="parameter")
    data = render(figure_of(figure), kind, width=width)
    with writing(output) as file:
        file.write(data)


def figure_kind(output: str | os.PathLike[str]) -> Kind:
    """Return the kind of figure by a file's ending; raise an error if it is unknown or cannot be written."""
    name = os.fspath(output)
    kind = name.rpartition(".")[2].lower()
    if kind not in KINDS:
        hint = "name it .pdf, .svg or .png"
        raise InputError("the name has no known ending of a figure", hint, code="file-kind", file=name)
    check_place(output)
    return kind
