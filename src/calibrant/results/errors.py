"""Records of calibration errors, of what a calibrated model would get, and of logistic recalibration."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, Any

import numpy as np

from calibrant._checks import Floats
from calibrant.records import Quantity, Record, name, number, rows, setting
from calibrant.records.record import plain
from calibrant.results.scores import CalibrationMse

TOO_FEW_NEAR = (
    "null where fewer than 10 effective pairs carry the point, or more than a bandwidth beyond the scores"
)


def _nones(values: Floats) -> list[float | None]:
    """Values with None for NaN."""
    return [None if np.isnan(value) else value for value in values.tolist()]


def _rows(columns: dict[str, Floats]) -> list[dict[str, Any]]:
    """Columns of equal length as rows."""
    lists = [_nones(column) for column in columns.values()]
    return [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]


FAR, WAY = "How far off", "In which way"
Clusters = Annotated[
    int | None,
    setting("Clusters", "Clusters behind the standard errors; null if pairs are taken as independent."),
]

CalibErr = Annotated[
    float,
    number(
        "CalibErr (plug-in)",
        "Root mean square gap between predicted probability and label frequency over the plotted bins "
        "(Nguyen and O'Connor 2015, Algorithm 1). Noise makes it exceed 0 even for a calibrated model; "
        "wide bins, in which gaps of opposite sign cancel, make it smaller than the calibration error.",
        group=FAR,
        best=0,
        headline=True,
        short="CalibErr",
    ),
]
LargestGap = Annotated[
    float,
    number(
        "Largest bin gap",
        "Largest gap between predicted probability and label frequency in a plotted bin; with few "
        "pairs in a bin it is mostly noise.",
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
    mean_gap: Annotated[
        float,
        number(
            "Mean gap",
            "Base rate minus mean score; above 0 the scores are too low on the whole.",
            group=WAY,
            best=0,
        ),
    ]
    n: Annotated[int, setting("n", "Number of pairs.")]
    weight_sum: Annotated[float, setting("Weight", "Sum of the pairs' weights; n without weights.")]
    kind: Annotated[str, setting("Bins", "Kind of bins: adaptive, uniform or edges.")]
    size: Annotated[int | None, setting("Pairs per bin", "Pairs per bin asked for; null if bins were.")]
    asked: Annotated[int | None, setting("Bins asked for", "Number of bins asked for; null if a size was.")]
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
        float,
        number("Mean ECE", "Mean over classes of the class-wise absolute errors.", group=FAR, best=0),
    ]
    n: Annotated[int, setting("n", "Number of items.", headline=True)]


class NoiseFloor(Record, frozen=True):
    """Error of a perfectly calibrated model with these scores, which is noise alone."""

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
    resamples: Annotated[int, setting("Resamples", "How many times labels were redrawn.")]
    dependence: Annotated[
        str,
        setting(
            "Dependence",
            "How labels were redrawn: independent, from their scores; clusters, residuals of whole clusters "
            "flipped in sign.",
        ),
    ]
    seed: Annotated[int | None, setting("Seed", "Seed of the draws; null if a generator was given.")]


@dataclass(frozen=True)
class ConsistencyBars:
    """Where each bin's observed frequency would lie if the model were calibrated.

    Attributes
    ----------
    level
        Probability that a bar holds the frequency of its bin, for each bin alone (pointwise).
    score
        (bins,) mean score, where the bar stands.
    low, high
        (bins,) ends of the bars.
    dependence
        ``"independent"``: labels are taken as independent given their scores.
    """

    level: float
    score: Floats
    low: Floats
    high: Floats
    dependence: str = "independent"

    def to_rows(self) -> list[dict[str, Any]]:
        """One row a bin: score, low and high."""
        return _rows({"score": self.score, "low": self.low, "high": self.high})


class SmoothError(Record, frozen=True, kw_only=True):
    """The smooth calibration error of Blasiok & Nakkiran."""

    value: Annotated[
        float,
        number("Smooth ECE", "The error, in [0, 1].", group=FAR, best=0, headline=True),
    ]
    bandwidth: Annotated[
        float,
        setting(
            "Bandwidth", "Standard deviation of the kernel; the error itself unless the grid is coarser."
        ),
    ]
    error_bound: Annotated[
        float, setting("Error bound", "The error is within this of the one without a grid.")
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
        (points,) local linear regression of the labels, cut to [0, 1]; NaN (None in a dictionary) where
        fewer than 10 effective pairs carry the point, and more than a bandwidth beyond the scores.
    low, high
        (points,) the band: pointwise percentiles over resamples, at the bandwidth of the curve, and at
        least Wilson's interval; NaN where ``frequency`` is.
    density
        (points,) smoothed density of the scores, integrating to one.
    bandwidth
        Standard deviation of the kernel.
    level
        Nominal coverage of the band at each score alone.
    resamples, seed
        Resamples behind the band, and their seed where it was an integer.
    dependence
        ``"independent"`` or ``"clusters"``: what was resampled.
    smooth_error
        The smooth calibration error, which is also the bandwidth where that is large enough to average noise
        out.
    n
        Pairs.
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
        """Return the record as plain Python values, None where too few pairs are near."""
        arrays = {name: _nones(getattr(self, name)) for name in ("frequency", "low", "high")}
        record = {each.name: arrays.get(each.name, getattr(self, each.name)) for each in fields(self)}
        unseen = bool(np.isnan(self.frequency).any())
        record["reasons"] = dict.fromkeys(("frequency", "low", "high"), TOO_FEW_NEAR) if unseen else {}
        return {name: plain(value) for name, value in record.items()}

    def to_rows(self) -> list[dict[str, Any]]:
        """One row a point: score, frequency, low, high and density."""
        names = ("score", "frequency", "low", "high", "density")
        return _rows({name: getattr(self, name) for name in names})


class Estimate(Quantity, frozen=True, kw_only=True):
    """A number with its interval and the level of the interval."""

    level: Annotated[float, setting("Level", "Nominal coverage of the interval.")]


InTheLarge = number(
    "Calibration in the large",
    "Mean label minus mean score: below 0 the scores are too high on the whole, above 0 too low.",
    group=WAY,
    best=0,
    signed=True,
)
Slope = number(
    "Cox slope",
    "Slope of a logistic regression of the labels on the log-odds of the scores: below 1 the scores are "
    "overconfident, above 1 underconfident.",
    group=WAY,
    best=1,
)
Intercept = number("Cox intercept", "Intercept of the same regression.", group=WAY, best=0)


class CalibrationInTheLarge(Record, frozen=True, kw_only=True):
    """Mean calibration, apart from where the scores lie."""

    base_rate: Annotated[float, setting("Base rate", "Weighted proportion of positives.")]
    mean_score: Annotated[float, setting("Mean score", "Weighted mean of the scores.")]
    difference: Annotated[Estimate, InTheLarge]
    intercept: Annotated[
        Estimate,
        number(
            "Intercept",
            "The number that, added to every logit, makes the scores add up; pairs with a score of 0 or 1 "
            "are left out.",
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
        int, setting("Left out, wrong", "Those of them whose label contradicts the score.")
    ]
