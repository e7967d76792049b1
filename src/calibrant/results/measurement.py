"""The record of `calibrant measure`: all numbers of each view, its bins, and the settings."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from os import PathLike
from typing import TYPE_CHECKING, Annotated, Any

from calibrant.exceptions import InputError
from calibrant.records import Quantity, Record, hidden, name, number, part, rows, setting, warning
from calibrant.records.fields import Library
from calibrant.records.words import counted, decimal, percent, points
from calibrant.results.bins import Bins
from calibrant.results.errors import FAR, CalibErr, Intercept, LargestGap, MeanError, NoiseFloor, Slope
from calibrant.results.intervals import CalibrationTest, ErrorInterval
from calibrant.results.scores import (
    Brier,
    BrierSkill,
    CalibrationMse,
    LogLoss,
    LogLossSkill,
    Refinement,
    Reliability,
    Remainder,
    Resolution,
    Uncertainty,
)

if TYPE_CHECKING:
    from calibrant.records.record import Display

DATA = "Data"
ROUNDING = 1e-9  # scores that add up to 1 for each item leave so much of a mean of 0


class Binning(Record, frozen=True):
    """Settings of the plotted bins."""

    kind: Annotated[
        str,
        setting(
            "Bins",
            "Kind of bins: adaptive (equal counts), information (equal sums of q(1 - q)), uniform (equal "
            "widths) or edges.",
            headline=True,
        ),
    ]
    size: Annotated[
        int | None,
        setting(
            "Pairs per bin", "Requested pairs per bin; null if a number of bins was requested.", headline=True
        ),
    ]
    asked: Annotated[
        int | None,
        setting("Bins asked for", "Requested number of bins; null if a size was requested.", headline=True),
    ]
    used: Annotated[int, setting("Bins used", "Number of bins that contain pairs.", headline=True)]

    def __str__(self) -> str:
        asked = ""
        if self.size is not None:
            asked = f" of {counted(self.size, 'pair')}"
        elif self.asked is not None and self.asked != self.used:
            asked = f" ({self.asked} asked for)"
        if self.kind == "information":
            return f"{counted(self.used, 'bin')} of equal information{asked}"
        return f"{counted(self.used, f'{self.kind} bin')}{asked}"


class Bin(Record, frozen=True):
    """One plotted bin."""

    n: Annotated[
        float,
        number("n", "Number of pairs; a tie at an edge is shared.", group=DATA, unit="count", headline=True),
    ]
    positives: Annotated[float, number("Positives", "Pairs with label 1.", group=DATA, unit="count")]
    weight: Annotated[float, number("Weight", "Total weight; n without weights.", group=DATA)]
    score: Annotated[float, number("Score", "Mean score in the bin.", group=DATA, headline=True)]
    frequency: Annotated[
        Quantity,
        number(
            "Frequency",
            "Weighted proportion of positives, with an interval for this bin alone.",
            group=DATA,
            headline=True,
        ),
    ]
    edge_low: Annotated[float, number("From", "Lower edge of the bin.", group=DATA, headline=True)]
    edge_high: Annotated[float, number("To", "Upper edge of the bin.", group=DATA, headline=True)]


class Measurement(Record, frozen=True, kw_only=True):
    """Calibration for one view."""

    view: Annotated[
        str,
        name("View", "Subject of the probability: binary, top, class:NAME, pooled, or a name like tag:V."),
    ]
    n: Annotated[int, number("n", "Pairs of a predicted probability and a label.", group=DATA, headline=True)]
    positives: Annotated[int, number("Positives", "Pairs with label 1.", group=DATA, headline=True)]
    weight_sum: Annotated[float, setting("Weight", "Sum of the pairs' weights; n without weights.")]
    clusters: Annotated[
        int | None,
        setting(
            "Clusters",
            "Independent units (sentences, documents) behind interval and test; null if pairs are "
            "independent.",
            headline=True,
        ),
    ]
    tally: Annotated[
        str,
        setting(
            "Tally",
            "Source of the bins: exact, the scores themselves; compressed, sums on a fixed fine grid.",
            headline=True,
        ),
    ]
    calibration_error: Annotated[
        Quantity,
        number(
            "Calibration error",
            "Typical distance of a predicted probability from the frequency of positives among predictions "
            "like it (root mean square, corrected for the noise of small bins; 0.05 means five percentage "
            "points). If the interval begins at 0, the data are compatible with perfect calibration.",
            group=FAR,
            best=0,
            headline=True,
            short="error",
        ),
    ]
    debiased_squared_error: Annotated[
        Quantity,
        number(
            "Its square, signed",
            "Square of the calibration error before rounding up to zero. It is unbiased: for a calibrated "
            "model it is below 0 about half of the time.",
            group=FAR,
            interval=False,
        ),
    ]
    mean_error: Annotated[Quantity, MeanError]
    interval: Annotated[
        ErrorInterval, part("Interval", "Settings of the interval of the calibration error.", group=FAR)
    ]
    test: Annotated[
        CalibrationTest,
        part("Test of calibration", "Test of the hypothesis that the model is calibrated.", group=FAR),
    ]
    bootstrap: Annotated[
        ErrorInterval | None,
        number(
            "Error by bootstrap",
            "Debiased error with an interval from resampled clusters or pairs; null if it was not requested.",
            group=FAR,
            best=0,
            headline=True,
            short="by bootstrap",
        ),
    ] = None
    plug_in_calibration_error: CalibErr
    sampling: Annotated[
        ErrorInterval | None,
        number(
            "CalibErr by sampling",
            "CalibErr with the interval of Algorithm 2 (Nguyen and O'Connor 2015): mean and spread of the "
            "error over frequencies drawn bin by bin. It has the bias of CalibErr, and the draws add noise a "
            "second time, so it rarely contains the calibration error, and can be above CalibErr; null if "
            "it was not requested.",
            group=FAR,
            best=0,
            headline=True,
            short="by sampling",
        ),
    ] = None
    plug_in_calibration_error_warning: Annotated[
        str | None, warning("CalibErr understates the error: gaps of opposite sign cancel within bins.")
    ] = None
    max_calibration_error: LargestGap
    ece: Annotated[
        float,
        number(
            "ECE (Guo et al.)",
            "Mean absolute gap over equal-width bins. Noise biases it upward: compare it with its noise "
            "floor, not with 0.",
            group=FAR,
            best=0,
            headline=True,
            short="ECE",
        ),
    ]
    n_ece_bins: Annotated[int, setting("ECE bins", "Number of equal-width bins of the ECE.", headline=True)]
    ece_noise_floor: Annotated[
        NoiseFloor, part("ECE noise floor", "ECE of a calibrated model with these scores.", group=FAR)
    ]
    smooth_ece: Annotated[
        float | None,
        number(
            "Smooth ECE",
            "Calibration gap after smoothing labels over neighboring scores instead of binning them "
            "(Blasiok and Nakkiran); null if it was not requested.",
            group=FAR,
            best=0,
        ),
    ] = None
    smooth_ece_bandwidth: Annotated[
        float | None, setting("Smooth ECE bandwidth", "Bandwidth of the kernel of the smooth ECE.")
    ] = None
    smooth_ece_noise_floor: Annotated[
        NoiseFloor | None,
        part("Smooth ECE noise floor", "Smooth ECE of a calibrated model with these scores.", group=FAR),
    ] = None
    cox_slope: Annotated[Quantity, Slope]
    cox_intercept: Annotated[Quantity, Intercept]
    brier: Brier
    plug_in_squared_error: CalibrationMse
    brier_skill: BrierSkill
    log_loss: LogLoss
    log_loss_skill: LogLossSkill
    refinement: Refinement
    remainder: Remainder
    reliability: Reliability
    resolution: Resolution
    uncertainty: Uncertainty
    level: Annotated[
        float, setting("Level", "Nominal coverage of every interval.", unit="percent", headline=True)
    ]
    seed: Annotated[
        int | None,
        setting("Seed", "Seed of all draws; null if a generator was given.", unit="seed", headline=True),
    ]
    binning: Annotated[Binning, part("Bins", "Settings of the plotted bins.")]
    bin_interval: Annotated[
        str,
        setting(
            "Intervals of frequencies",
            "Method of the bins' intervals: wilson (with an effective number of pairs under clusters and "
            "weights) or normal (Nguyen and O'Connor 2015).",
            headline=True,
        ),
    ]
    bins: Annotated[tuple[Bin, ...], rows("Bins", "Plotted bins, in order of the score.", most=25)]
    bins_warning: Annotated[str | None, warning("Few pairs, or fewer bins than requested.")] = None
    plotted: Annotated[Bins | None, hidden()] = None

    @property
    def sums(self) -> Bins:
        """Sums of the plotted bins, for figures.

        Raises
        ------
        InputError
            If the record was read from JSON, which does not contain the sums.
        """
        if self.plotted is None:
            hint = "measure the predictions, or a tally of them that `calibrant.save_tally` saved"
            raise InputError("a measurement read from JSON has no sums of its bins", hint, code="input")
        return self.plotted

    def plot(self, ax: Any = None, *, name: str | None = None) -> Display:
        """Draw the calibration curve on matplotlib axes, or on a new figure, which a notebook shows.

        Returns
        -------
        calibrant.ReliabilityDisplay

        Raises
        ------
        InputError
            If the record was read from JSON, which does not contain the sums of its bins.
        """
        # By name: figures and pages are layers above the records.
        drawn: Display = import_module("calibrant.verbs.displays").draw_view(self, ax, name=name)
        return drawn

    def report(self, output: str | PathLike[str], *, title: str | None = None) -> Record:
        """Write this view as one HTML page; see `Measured.report`, which writes all views.

        Raises
        ------
        InputError
            If the file cannot be written, or its name does not end in .html.
        """
        pages = import_module("calibrant.pages.report_page")
        written: Record = pages.write_report(self, output, title=title)
        return written

    def other_signs(self) -> str | None:
        """Return which numbers show miscalibration although the interval of the error contains 0, if any."""
        if self.calibration_error.low != 0:
            return None
        off = [
            name
            for name, own, ideal in (
                ("the mean error", self.mean_error, 0),
                ("the Cox slope", self.cox_slope, 1),
            )
            if own.low is not None and own.high is not None and not own.low <= ideal <= own.high
        ]
        return f"{' and '.join(off)} {'show' if len(off) > 1 else 'shows'} miscalibration" if off else None

    def direction(self) -> str:
        """Return sentences on the direction of the error, as far as intervals exclude the other direction."""
        if not self.calibration_error.low:
            other = self.other_signs()
            return f"But {other}." if other else ""
        sentences = []
        mean, slope = self.mean_error, self.cox_slope
        if mean.estimate is not None and mean.low is not None and mean.high is not None:
            shown = points(abs(mean.estimate))
            if abs(mean.estimate) < ROUNDING:
                sentences.append("On average, its scores are neither too high nor too low.")
            elif mean.low > 0:
                sentences.append(f"On average, its scores are {shown} percentage points too high.")
            elif mean.high < 0:
                sentences.append(f"On average, its scores are {shown} percentage points too low.")
            else:
                sentences.append(
                    "These data do not show whether its scores are too high or too low on average."
                )
        if slope.low is not None and slope.high is not None:
            if slope.high < 1:
                sentences.append("They are overconfident: too close to 0 and 1.")
            elif slope.low > 1:
                sentences.append("They are underconfident: too close to the overall frequency.")
        return " ".join(sentences).replace("They", "They" if len(sentences) > 1 else "Its scores")

    def summary(self) -> str:
        """Return sentences on the size and the direction of the error."""
        return f"{self.interval.summary()} {self.direction()}".rstrip()

    def remarks(self) -> Iterator[tuple[str, str]]:
        """Return remarks on the weights, the bias of CalibErr and the noise floors."""
        if self.weight_sum != self.n:
            yield "n", f"weights sum to {self.weight_sum:,.6g}"
        if self.calibration_error.low:
            yield "calibration_error", "interval excludes 0"
        elif self.calibration_error.low == 0:
            if other := self.other_signs():
                yield "calibration_error", f"interval contains 0, but {other}"
            elif self.calibration_error.high == 1:
                yield "calibration_error", "no upper limit: few pairs or clusters carry the error"
        error = self.calibration_error.estimate
        below = error is not None and self.plug_in_calibration_error < error
        bias = "below the debiased error: gaps can cancel within a bin" if below else "biased upward by noise"
        yield "plug_in_calibration_error", f"{bias}; {self.binning}"
        yield "sampling", "has the bias of CalibErr"
        if self.mean_error.low is not None and self.mean_error.high is not None:
            if self.mean_error.low > 0:
                yield "mean_error", "scores are too high on average"
            elif self.mean_error.high < 0:
                yield "mean_error", "scores are too low on average"
        for field, floor in (("ece", self.ece_noise_floor), ("smooth_ece", self.smooth_ece_noise_floor)):
            if floor is not None:
                yield field, f"a calibrated model: below {decimal(floor.high)} in {percent(floor.level)}"


MEAN = "Mean over classes"


class Recipe(Record, frozen=True):
    """The measured predictions, and the command that reproduces the measurement."""

    file: Annotated[str, setting("File", "Name of the predictions, as it was given.", headline=True)]
    form: Annotated[
        str,
        setting(
            "Form",
            "Form of the table: long or wide; tally, query or view if there is no table.",
            headline=True,
        ),
    ]
    rows: Annotated[int, setting("Rows", "Number of rows read with a weight above 0.", headline=True)]
    classes: Annotated[list[str] | None, setting("Classes", "Class names; null for a binary table.")]
    threshold: Annotated[
        float | None,
        setting("Threshold", "Scores below it were not written; null if all were.", headline=True),
    ]
    version: Annotated[str, setting("calibrant", "Version of calibrant.", headline=True)]
    command: Annotated[
        str | None, setting("Command", "Command line that reproduces the result; null if there is none.")
    ]
    event: Annotated[
        str | None, setting("Event", "Label that counts as 1; null where labels are classes.", headline=True)
    ] = None
    notes: Annotated[tuple[str, ...], setting("Notes", "Rows of a log that were left out, and why.")] = ()
    library: Annotated[Library | None, hidden()] = None


class ClassMean(Record, frozen=True):
    """Mean over classes: marginal calibration error."""

    classes: Annotated[int, number("Classes", "Number of classes.", group=MEAN)]
    calibration_error: Annotated[
        Quantity,
        number(
            "Calibration error",
            "Root of the mean of the classes' signed debiased squared errors; 0 if the mean is below 0.",
            group=MEAN,
            best=0,
            headline=True,
            interval=False,
        ),
    ]
    debiased_squared_error: Annotated[
        Quantity,
        number(
            "Its square, signed",
            "Mean of the classes' signed debiased squared errors.",
            group=MEAN,
            interval=False,
        ),
    ]
    plug_in_calibration_error: Annotated[
        float,
        number(
            "CalibErr (plug-in)",
            "Root mean of the classes' plug-in squared errors: the marginal calibration error of papers.",
            group=MEAN,
            best=0,
            headline=True,
        ),
    ]
    ece: Annotated[
        float, number("ECE", "Mean of the classes' equal-width errors.", group=MEAN, best=0, headline=True)
    ]


class Measured(Record, frozen=True):
    """Calibration errors of one table of predictions."""

    recipe: Annotated[Recipe, part("Recipe", "The measured predictions, and the settings.")]
    views: Annotated[tuple[Measurement, ...], rows("Views", "One entry per view.")]
    mean: Annotated[
        ClassMean | None, part("Mean", "Mean over classes; null unless each class was measured.")
    ] = None

    def plot(self, ax: Any = None, *, view: str | None = None, name: str | None = None) -> Display:
        """Draw the calibration curve of a view, by default the first; see `Measurement.plot`.

        Raises
        ------
        InputError
            If the view was not measured.
        """
        views = [measurement.view for measurement in self.views]
        if view is not None and view not in views:
            message = f"there is no view {view!r}"
            raise InputError(message, f"name one of {', '.join(views)} (`view`)", code="view")
        return (self.views[0] if view is None else self[view]).plot(ax, name=name)

    def report(self, output: str | PathLike[str], *, title: str | None = None) -> Record:
        """Write the measurement as one HTML page, without the smooth curves that `calibrant.report` adds.

        Parameters
        ----------
        output
            File to write.
        title
            Title of the page.

        Returns
        -------
        Record
            Content of the page, a `calibrant.results.Report`.

        Raises
        ------
        InputError
            If the file cannot be written, or its name does not end in .html.
        """
        pages = import_module("calibrant.pages.report_page")
        written: Record = pages.write_report(self, output, title=title)
        return written

    def summary(self) -> str:
        """Return sentences on the error of the first view, or on the mean over classes."""
        if self.mean is not None and self.mean.calibration_error.estimate is not None:
            error = points(self.mean.calibration_error.estimate)
            return f"A predicted probability of a class is typically off by {error} percentage points."
        first = self.views[0]
        return first.summary() if len(self.views) == 1 else f"View {first.view}: {first.summary()}"

    def _library(self) -> Library | None:
        return self.recipe.library

    def __iter__(self) -> Iterator[str]:
        return (measurement.view for measurement in self.views)

    def __getitem__(self, view: str) -> Measurement:
        for measurement in self.views:
            if measurement.view == view:
                return measurement
        known = ", ".join(measurement.view for measurement in self.views)
        raise KeyError(f"there is no view {view!r}; the views are {known}")

    def remarks(self) -> Iterator[tuple[str, str]]:
        """Return the notes on rows of a log that were left out."""
        yield from (("views", note) for note in self.recipe.notes)
