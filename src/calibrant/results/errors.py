"""Records of calibration errors, of the errors of a calibrated model, and of logistic recalibration."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, Any

import numpy as np

from calibrant._checks import Floats
from calibrant.records import Quantity, Record, name, number, rows, setting
from calibrant.records.record import plain
from calibrant.results.scores import CalibrationMse

TOO_FEW_NEAR = (
    "null if the point rests on fewer than 10 effective pairs, or is more than a bandwidth beyond the scores"
)


def _nones(values: Floats) -> list[float | None]:
    """Return values with None for NaN."""
    return [None if np.isnan(value) else value for value in values.tolist()]


def _rows(columns: dict[str, Floats]) -> list[dict[str, Any]]:
    """Return columns of equal length as rows."""
    lists = [_nones(column) for column in columns.values()]
    return [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]


FAR, WAY = "Calibration error", "Direction of the error"
Clusters = Annotated[
    int | None,
    setting("Clusters", "Clusters behind the standard errors; null if pairs are treated as independent."),
]

CalibErr = Annotated[
    float,
    number(
        "CalibErr (plug-in)",
        "Root mean square gap between predicted probability and label frequency over the plotted bins "
        "(Nguyen and O'Connor 2015, Algorithm 1). Noise makes it positive even for a calibrated model. In "
        "wide bins, gaps of opposite sign cancel, so it can be smaller than the calibration error.",
        group=FAR,
        best=0,
        headline=True,
        short="CalibErr",
    ),
]
MeanError = number(
    "Mean error",
    "Mean score minus mean label (calibration in the large): above 0 the scores are too high on average, "
    "below 0 too low. Errors of opposite sign cancel in it.",
    group=FAR,
    best=0,
    headline=True,
    short="mean error",
    signed=True,
)
LargestGap = Annotated[
    float,
    number(
        "Largest bin gap",
        "Largest gap between predicted probability and label frequency in a plotted bin; mostly noise if "
        "bins have few pairs.",
        group=FAR,
        best=0,
    ),
]


class PlugInErrors(Record, frozen=True, kw_only=True):
    """Plug-in calibration errors of one set of bins, and the recipe of the bins."""

    plug_in_calibration_error: CalibErr
    plug_in_squared_error: CalibrationMse
    expected_calibration_error: Annotated[
        float, number("ECE", "Mean absolute gap over the bins.", group=FAR, best=0, headline=True)
    ]
    max_calibration_error: LargestGap
    mean_error: Annotated[float, MeanError]
    n: Annotated[int, setting("n", "Number of pairs.")]
    weight_sum: Annotated[float, setting("Weight", "Sum of the pairs' weights; n without weights.")]
    kind: Annotated[str, setting("Bins", "Kind of bins: adaptive, uniform or edges.")]
    size: Annotated[
        int | None,
        setting("Pairs per bin", "Requested pairs per bin; null if a number of bins was requested."),
    ]
    asked: Annotated[
        int | None, setting("Bins asked for", "Requested number of bins; null if a size was requested.")
    ]
    used: Annotated[int, setting("Bins used", "Number of bins that contain pairs.")]


class ClassPlugInErrors(PlugInErrors, frozen=True, kw_only=True):
    """Plug-in calibration errors of one class."""

    label: Annotated[str, name("Class", "The class.")]
    positives: Annotated[int, number("Positives", "Items of the class.", group="Data", headline=True)]
    mean_score: Annotated[
        float, number("Mean score", "Mean probability of the class.", group="Data", headline=True)
    ]


class ClassErrors(Record, frozen=True, kw_only=True):
    """Plug-in errors of each class of a K-class model, and their mean."""

    by_class: Annotated[tuple[ClassPlugInErrors, ...], rows("Classes", "Errors of each class.")]
    marginal_calibration_error: Annotated[
        float,
        number(
            "Marginal calibration error",
            "Root mean over classes of the class-wise squared errors.",
            group=FAR,
            best=0,
            headline=True,
        ),
    ]
    mean_expected_calibration_error: Annotated[
        float, number("Mean ECE, these bins", "Mean ECE of the classes on these bins.", group=FAR, best=0)
    ]
    n: Annotated[int, setting("n", "Number of items.", headline=True)]


class NoiseFloor(Record, frozen=True):
    """Error of a perfectly calibrated model with these scores, due to noise alone."""

    error: Annotated[str, setting("Error", "Name of the error.")]
    mean: Annotated[float, number("Mean", "Mean of the error over resamples of the labels.", group="Noise")]
    high: Annotated[
        float,
        number(
            "Upper end", "Error that a calibrated model exceeds with probability 1 - level.", group="Noise"
        ),
    ]
    level: Annotated[
        float, setting("Level", "Probability that a calibrated model stays below the upper end.")
    ]
    resamples: Annotated[int, setting("Resamples", "Number of times that labels were redrawn.")]
    dependence: Annotated[
        str,
        setting(
            "Dependence",
            "Method of redrawing. independent: labels from their scores; clusters: signs of the residuals of "
            "whole clusters flipped.",
        ),
    ]
    seed: Annotated[int | None, setting("Seed", "Seed of the draws; null if a generator was given.")]


@dataclass(frozen=True)
class ConsistencyBars:
    """Range of each bin's frequency if the model is calibrated.

    Attributes
    ----------
    level
        Probability that a bar contains the frequency of its bin, for each bin alone (pointwise).
    score
        (bins,) mean scores, the positions of the bars.
    low, high
        (bins,) ends of the bars.
    dependence
        ``"independent"``: labels are treated as independent given their scores.
    """

    level: float
    score: Floats
    low: Floats
    high: Floats
    dependence: str = "independent"

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one row per bin: score, low and high."""
        return _rows({"score": self.score, "low": self.low, "high": self.high})


class SmoothError(Record, frozen=True, kw_only=True):
    """The smooth calibration error of Blasiok & Nakkiran."""

    value: Annotated[float, number("Smooth ECE", "The error, in [0, 1].", group=FAR, best=0, headline=True)]
    bandwidth: Annotated[
        float,
        setting(
            "Bandwidth", "Standard deviation of the kernel; the error itself unless the grid is coarser."
        ),
    ]
    error_bound: Annotated[
        float, setting("Error bound", "Largest possible difference from the error without a grid.")
    ]
    grid_points: Annotated[int, setting("Grid points", "Nodes of the grid.")]
    n: Annotated[int, setting("n", "Number of pairs.")]
    weight_sum: Annotated[float, setting("Weight", "Sum of the pairs' weights; n without weights.")]


@dataclass(frozen=True)
class SmoothCurve:
    """Observed frequency as a smooth function of the score, with a band.

    Attributes
    ----------
    score
        (points,) scores, equally spaced from 0 to 1.
    frequency
        (points,) local linear regression of the labels, clipped to [0, 1]; NaN (None in a dictionary) at
        points that rest on fewer than 10 effective pairs or are more than a bandwidth beyond the scores.
    low, high
        (points,) band: pointwise percentiles over resamples, at the bandwidth of the curve, and at least
        Wilson's interval of the effective number of pairs; NaN where ``frequency`` is NaN.
    density
        (points,) smoothed density of the scores, integrating to one.
    bandwidth
        Standard deviation of the kernel.
    level
        Nominal coverage of the band at each score alone.
    resamples, seed
        Number of resamples behind the band, and their seed if it was an integer.
    dependence
        ``"independent"`` or ``"clusters"``: the resampled units.
    smooth_error
        Smooth calibration error, which is also the bandwidth if it is large enough to average out noise.
    n
        Number of pairs.
    """

    score: Floats
    frequency: Floats
    low: Floats
    high: Floats
    density: Floats
    bandwidth: float
    level: float
    resamples: int
    seed: int | None
    dependence: str
    smooth_error: float
    n: int

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain Python values, with None at points with too few pairs."""
        arrays = {name: _nones(getattr(self, name)) for name in ("frequency", "low", "high")}
        record = {field.name: arrays.get(field.name, getattr(self, field.name)) for field in fields(self)}
        unseen = bool(np.isnan(self.frequency).any())
        record["reasons"] = dict.fromkeys(("frequency", "low", "high"), TOO_FEW_NEAR) if unseen else {}
        return {name: plain(value) for name, value in record.items()}

    def to_rows(self) -> list[dict[str, Any]]:
        """One row a point: score, frequency, low, high and density."""
        names = ("score", "frequency", "low", "high", "density")
        return _rows({name: getattr(self, name) for name in names})


IntervalLevel = Annotated[
    float, setting("Level", "Nominal coverage of the intervals.", unit="percent", headline=True)
]


class Estimate(Quantity, frozen=True, kw_only=True):
    """A number with its interval and the level of the interval."""

    level: Annotated[float, setting("Level", "Nominal coverage of the interval.")]


Slope = number(
    "Cox slope",
    "Slope of a logistic regression of the labels on the log-odds of the scores: below 1 the scores are "
    "overconfident, above 1 underconfident.",
    group=WAY,
    best=1,
)
Intercept = number("Cox intercept", "Intercept of the same regression.", group=WAY, best=0)


class CalibrationInTheLarge(Record, frozen=True, kw_only=True):
    """Mean calibration, independent of the distribution of the scores."""

    base_rate: Annotated[float, setting("Base rate", "Weighted proportion of positives.")]
    mean_score: Annotated[float, setting("Mean score", "Weighted mean of the scores.")]
    mean_error: Annotated[Estimate, MeanError]
    intercept: Annotated[
        Estimate,
        number(
            "Intercept",
            "Number that, added to every logit, makes the mean score equal to the base rate; pairs with a "
            "score of 0 or 1 are left out.",
            group=WAY,
            best=0,
        ),
    ]
    n: Annotated[int, setting("n", "Number of pairs.")]
    clusters: Clusters
    left_out: Annotated[
        int, setting("Left out", "Pairs with a score of exactly 0 or 1, which have no logit.")
    ]


class CoxCalibration(Record, frozen=True, kw_only=True):
    """Cox's logistic recalibration: logit P(event) = intercept + slope * logit(score)."""

    intercept: Annotated[Estimate, Intercept]
    slope: Annotated[Estimate, Slope]
    covariance: Annotated[
        float | None,
        setting("Covariance", "Covariance of the two estimates; null if the slope has no interval."),
    ]
    n: Annotated[int, setting("n", "Number of pairs.")]
    clusters: Clusters
    left_out: Annotated[
        int, setting("Left out", "Pairs with a score of exactly 0 or 1, which have no logit.")
    ]
    left_out_wrong: Annotated[
        int, setting("Left out, wrong", "Left-out pairs whose label contradicts the score.")
    ]
