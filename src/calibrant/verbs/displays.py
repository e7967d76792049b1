"""Calibration curves for notebooks, with the interface of scikit-learn's displays."""

from __future__ import annotations

from typing import Any, Self

from calibrant._checks import shown
from calibrant.exceptions import InputError
from calibrant.results.drawing import bin_limits
from calibrant.results.measurement import Measured, Measurement
from calibrant.results.slices import SliceTable
from calibrant.verbs.measuring import measure


class Display:
    """A figure of a record, which a notebook shows if the figure is new.

    Attributes
    ----------
    ax_, figure_
        Axes and figure of the last drawing.
    """

    ax_: Any
    figure_: Any
    _own = False

    def _take(self, ax: Any) -> None:
        """Check the caller's axes; None: the figure will be new."""
        if ax is not None and not hasattr(ax, "plot"):
            message = f"ax is {shown(ax)}, not matplotlib axes"
            hint = "leave ax out; to write a file, call .figure_.savefig('curve.png') of the display"
            raise InputError(message, hint, code="parameter")
        self._own = ax is None

    def _repr_png_(self) -> bytes | None:
        """Show a new figure; pyplot shows the caller's figures."""
        if not self._own:
            return None
        from calibrant.plots import render

        return render(self.figure_, "png")


class ReliabilityDisplay(Display):
    """Calibration curve (reliability diagram) on your axes or on a new figure.

    Create a display with `from_predictions`, `from_estimator` or ``measure(...).plot()``. A display on a new
    figure is shown in a notebook. A second display on the same axes gets the next color.

    Parameters
    ----------
    measurement
        Measurement, whose first view is drawn, or one view of it.
    name
        Name of the model in the legend.

    Attributes
    ----------
    measurement
        The `Measurement` of the drawn view, with the numbers of the figure.
    ax_, figure_
        Axes and figure of the last `plot`.

    Examples
    --------
    >>> from calibrant import ReliabilityDisplay
    >>> display = ReliabilityDisplay.from_predictions([0, 1, 1, 0] * 50, [0.2, 0.9, 0.6, 0.3] * 50)
    >>> display.ax_.get_ylabel()
    'label frequency'
    """

    measurement: Measurement

    def __init__(self, measurement: Measured | Measurement, *, name: str | None = None) -> None:
        self.measurement = measurement.views[0] if isinstance(measurement, Measured) else measurement
        self.name = name

    @classmethod
    def from_predictions(
        cls, y: Any, p: Any, *, ax: Any = None, name: str | None = None, **options: Any
    ) -> Self:
        """Measure labels and probabilities, and draw their calibration curve.

        Parameters
        ----------
        y
            (n,) labels.
        p
            (n,) probabilities of an event, (n, 2) of two classes or (n, K) of K classes, of which the top
            label is drawn.
        ax
            Axes to draw on; None makes a figure.
        name
            Name of the model in the legend.
        **options
            Other arguments of `calibrant.measure`, such as ``classes``, ``clusters``, ``n_bins`` or ``view``.

        Returns
        -------
        ReliabilityDisplay

        Raises
        ------
        InputError
            As `calibrant.measure`.

        Examples
        --------
        >>> y, p = [0, 1, 1, 0] * 50, [0.2, 0.9, 0.6, 0.3] * 50
        >>> found = ReliabilityDisplay.from_predictions(y, p, n_bins=2)
        >>> len(found.measurement.bins)
        2
        """
        return cls(measure(y, p, **options), name=name).plot(ax)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, ax: Any = None, name: str | None = None, **options: Any
    ) -> Self:
        """Measure a fitted classifier on items that it was not trained on, and draw its calibration curve.

        Parameters
        ----------
        estimator
            A fitted classifier with ``predict_proba``.
        X, y
            n items, and their (n,) labels.
        ax, name, **options
            As in `from_predictions`; by default the curve has the name of the classifier's class.

        Returns
        -------
        ReliabilityDisplay

        Raises
        ------
        InputError
            As `calibrant.measure`.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from sklearn.naive_bayes import GaussianNB
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> model = GaussianNB().fit(X[:300], y[:300])
        >>> ReliabilityDisplay.from_estimator(model, X[300:], y[300:]).name
        'GaussianNB'
        """
        name = type(estimator).__name__ if name is None else name
        return cls(measure(estimator, X, y, **options), name=name).plot(ax)

    def plot(self, ax: Any = None, *, name: str | None = None, legend: bool = True) -> Self:
        """Draw the calibration curve.

        Parameters
        ----------
        ax
            matplotlib axes to draw on; None makes a figure. The legend is below your axes, and above those
            of a new figure, where it covers no data.
        name
            Name of the model in the legend, instead of the display's name.
        legend
            True to draw the legend.

        Returns
        -------
        ReliabilityDisplay
            This display, with ``ax_`` and ``figure_``.

        Raises
        ------
        InputError
            If the measurement was read from JSON, which does not contain the sums of its bins, or if ``ax``
            is not matplotlib axes.

        Examples
        --------
        >>> from calibrant import measure
        >>> measurement = measure([0, 1, 1, 0] * 50, [0.2, 0.9, 0.6, 0.3] * 50)
        >>> ReliabilityDisplay(measurement).plot(legend=False).ax_.get_legend() is None
        True
        """
        from calibrant.plots import calibration_curve
        from calibrant.plots.style import curve_count, legend_outside, score_names

        self._take(ax)
        measurement = self.measurement
        self.ax_ = calibration_curve(
            measurement.sums,
            bin_limits(measurement),
            label=name or self.name or "model",
            index=0 if ax is None else curve_count(ax),
            legend=False,
            ax=ax,
        )
        self.figure_ = self.ax_.figure
        score, frequency = score_names(measurement.view)
        self.ax_.set_xlabel(score)
        self.ax_.set_ylabel(frequency)
        if legend:
            legend_outside(self.ax_, below=not self._own)
        return self

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.measurement!r})"


class SliceDisplay(Display):
    """Errors of slices, the worst on top, on your axes or on a new figure; ``slices(...).plot()`` makes one.

    Parameters
    ----------
    table
        Result of `calibrant.slices`.

    Attributes
    ----------
    table
        The drawn slices.
    ax_, figure_
        Axes and figure of the last `plot`.

    Examples
    --------
    >>> from calibrant import slices
    >>> from calibrant.data import predictions
    >>> len(slices(predictions(), "item:3").plot().ax_.get_yticklabels())
    3
    """

    def __init__(self, table: SliceTable) -> None:
        self.table = table

    def plot(self, ax: Any = None, *, most: int = 20) -> Self:
        """Draw the slices.

        Parameters
        ----------
        ax
            matplotlib axes to draw on; None makes a figure as tall as the lines need.
        most
            Slices to draw.

        Returns
        -------
        SliceDisplay
            This display, with ``ax_`` and ``figure_``.

        Examples
        --------
        >>> from calibrant import slices
        >>> from calibrant.data import predictions
        >>> len(SliceDisplay(slices(predictions(), "item:3")).plot(most=2).ax_.get_yticklabels())
        2
        """
        from calibrant.plots import slice_intervals

        self._take(ax)
        self.ax_ = slice_intervals(self.table, most=most, ax=ax)
        self.figure_ = self.ax_.figure
        return self

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.table!r})"


def draw_view(measurement: Measurement, ax: Any = None, *, name: str | None = None) -> ReliabilityDisplay:
    """Draw the calibration curve of a view: what `Measurement.plot` does."""
    return ReliabilityDisplay(measurement, name=name).plot(ax)


def draw_slices(table: SliceTable, ax: Any = None, *, most: int = 20) -> SliceDisplay:
    """Draw the errors of slices: what `SliceTable.plot` does."""
    return SliceDisplay(table).plot(ax, most=most)
