"""Records of calibration errors, of what a calibrated model would get, and of logistic recalibration."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Annotated, Any

import numpy as np

from calibrant._checks import Floats, Integers
from calibrant.records import Quantity, Record, number, setting
from calibrant.results._base import Result, plain

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


@dataclass(frozen=True)
class PlugInErrors(Result):
    """Plug-in calibration errors of one set of bins, and the recipe of the bins.

    Attributes
    ----------
    rms_calibration_error
        Root mean squared gap (frequency - mean score) of the bins; the papers' CalibErr.
    calibration_mse
        Its square.
    expected_calibration_error
        Mean absolute gap (ECE).
    max_calibration_error
        Largest absolute gap of a non-empty bin.
    mean_gap
        Mean gap, signed: base rate - mean score; positive when the model is underconfident on average.
    n
        Pairs.
    weight_sum
        Their total weight; n without weights.
    kind, size, asked, used
        The bins' kind, target size, number asked for and number that hold pairs.
    """

    rms_calibration_error: float
    calibration_mse: float
    expected_calibration_error: float
    max_calibration_error: float
    mean_gap: float
    n: int
    weight_sum: float
    kind: str
    size: int | None
    asked: int | None
    used: int


@dataclass(frozen=True)
class ClassErrors(Result):
    """Plug-in errors of each class of a K-class model, and their mean.

    Attributes
    ----------
    classes
        K class names.
    positives
        (K,) items of each class.
    mean_score
        (K,) mean probability of each class.
    errors
        K records of plug-in errors, one a class.
    marginal_calibration_error
        Root mean over classes of the class-wise squared errors.
    mean_expected_calibration_error
        Mean over classes of the class-wise absolute errors.
    n
        Items.
    """

    classes: tuple[str, ...]
    positives: Integers
    mean_score: Floats
    errors: tuple[PlugInErrors, ...]
    marginal_calibration_error: float
    mean_expected_calibration_error: float
    n: int

    def to_rows(self) -> list[dict[str, Any]]:
        """One row a class: name, positives, mean score and plug-in errors."""
        columns = zip(
            self.classes, self.positives.tolist(), self.mean_score.tolist(), self.errors, strict=True
        )
        return [
            {"class": name, "positives": positives, "mean_score": score, **errors.to_dict()}
            for name, positives, score, errors in columns
        ]


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
class ConsistencyBars(Result):
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


@dataclass(frozen=True)
class SmoothError(Result):
    """The smooth calibration error of Blasiok & Nakkiran.

    Attributes
    ----------
    value
        The error, in [0, 1].
    bandwidth
        The kernel's standard deviation; equal to ``value`` unless that is finer than the grid.
    error_bound
        The value is within this of the one without a grid.
    grid_points
        Nodes of the grid.
    n, weight_sum
        Pairs and their total weight.
    """

    value: float
    bandwidth: float
    error_bound: float
    grid_points: int
    n: int
    weight_sum: float


@dataclass(frozen=True)
class SmoothCurve(Result):
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
        The smooth calibration error, which is also the bandwidth unless this is the smallest.
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
        record = {f.name: arrays.get(f.name, getattr(self, f.name)) for f in fields(self)}
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


@dataclass(frozen=True)
class CalibrationInTheLarge(Result):
    """Do the scores add up to the events? Mean calibration, apart from where the scores lie.

    Attributes
    ----------
    base_rate, mean_score
        Weighted means of labels and scores.
    difference
        base rate - mean score; 0 when calibrated in the large, positive when scores are too low.
    intercept
        The number that, added to every logit, makes the scores add up; 0 when calibrated.
    n, clusters
        Pairs; clusters behind the standard errors, or None.
    left_out
        Pairs with a score of exactly 0 or 1, which have no logit, left out of ``intercept``.
    reasons
        Why a number is None.
    """

    base_rate: float
    mean_score: float
    difference: Estimate
    intercept: Estimate
    n: int
    clusters: int | None
    left_out: int
    reasons: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class CoxCalibration(Result):
    """Cox's logistic recalibration: logit P(event) = intercept + slope * logit(score).

    Attributes
    ----------
    intercept
        0 when calibrated.
    slope
        1 when calibrated; below 1 the scores are too extreme (overconfident), above 1 too timid.
    covariance
        Of the two estimates.
    n, clusters
        Pairs; clusters behind the standard errors, or None.
    left_out
        Pairs with a score of exactly 0 or 1, which have no logit.
    left_out_wrong
        Those of them whose label contradicts the score.
    reasons
        Why a number is None.
    """

    intercept: Estimate
    slope: Estimate
    covariance: float | None
    n: int
    clusters: int | None
    left_out: int
    left_out_wrong: int
    reasons: dict[str, str] = field(default_factory=dict)
