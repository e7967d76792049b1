"""Calibration errors before and after recalibration, with what another recalibration set would have given."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from calibrant._checks import Floats, sample_count
from calibrant.exceptions import InputError
from calibrant.measure._class_scores import Arguments, Recipe, Subject, error_of, subjects
from calibrant.measure.classes import Groups
from calibrant.measure.groups import BIN_COUNT, THRESHOLD, calibration_changes
from calibrant.measure.tails import FEW_CLUSTERS, quantile, two_sided_p_value
from calibrant.recalibrate._labelled import (
    LabelledScores,
    Rows,
    Single,
    check_recalibrator,
    checked,
    effective_clusters,
)
from calibrant.results.groups import MarginalChange, ResampledChange
from calibrant.results.intervals import ErrorDifference, ErrorInterval
from calibrant.seeds import Seed, generator

Progress = Callable[[str, int, int | None], None]

DRAWS = 200
FEWEST_DRAWS = 20
FEW = "few clusters of dev (effective number {:.1f}): the sampling error of the map is itself uncertain"
NUMBERS = ("map_deviation", "after_low", "after_high", "relative_low", "relative_high")


def resampled_changes(
    recalibrator: Single,
    dev: LabelledScores,
    test: LabelledScores,
    groups: Groups = (),
    *,
    threshold: float = THRESHOLD,
    bin_count: int = BIN_COUNT,
    min_scores: int = 1,
    class_mean: bool = True,
    level: float = 0.95,
    draws: int = DRAWS,
    seed: Seed = 0,
    progress: Progress | None = None,
) -> tuple[ResampledChange, ...]:
    """Fit to dev, measure on test before and after, and ask how much another dev set would change.

    `calibration_changes` treats the calibration map as fixed. This function draws clusters of dev with
    replacement, fits the recalibrator again, and measures its effect on test, many times. The interval of the
    change of the squared error adds the variance over these maps to the variance of test.

    Parameters
    ----------
    recalibrator
        Of single scores, such as ``Isotonic()``, or of classes, such as ``PerGroup(Isotonic(), groups)``;
        copies of it are fitted.
    dev, test
        What to fit to and what to measure on. Without classes there is one error, that of the event.
    groups
        For GMCE, as in `calibrant.measure.grouped_calibration_errors`; none if left out.
    threshold
        Scores below it, before recalibration, are left out of dev and of test.
    bin_count, min_scores, class_mean, level
        As in `calibrant.measure.calibration_changes`.
    draws
        Maps to fit, at least 20. Draws that cannot be fitted (a group has one label only) are counted.
    seed
        Of the draws, and of the sign flips behind the paired interval.
    progress
        Called with ``"resampling"``, the draws done and all of them.

    Returns
    -------
    tuple of ResampledChange
        MCE, SMCE, and GMCE of each group; for one event SMCE, which is then its calibration error. Their
        intervals are for the mean change over dev sets of this size.

    Raises
    ------
    InputError
        For bad values, or where the recalibrator cannot be fitted to dev.

    References
    ----------
    M. Kranzlein, N. F. Liu and N. Schneider (2021), Making heads and tails of models with marginal
    calibration for sparse tagsets, Findings of EMNLP 2021, table 1, whose changes have no intervals.

    Examples
    --------
    >>> from calibrant.recalibrate import LabelledScores, Platt
    >>> rng = np.random.default_rng(0)
    >>> q = rng.random((2, 1000))
    >>> dev, test = (LabelledScores(one**2, rng.random(1000) < one) for one in q)
    >>> (change,) = resampled_changes(Platt(), dev, test, draws=50)
    >>> found, fixed = change.change.difference, change.fixed
    >>> found.mse_low < fixed.mse_low < fixed.mse_high < found.mse_high
    True
    >>> found.calibration_map, fixed.calibration_map
    ('resampled', 'fixed')
    """
    sample_count(draws, "draws", least=FEWEST_DRAWS)
    some, whole = checked(dev, threshold, "dev"), checked(test, 0.0, "test")
    check_recalibrator(recalibrator, some, "the recalibrator")
    if some.has_classes != whole.has_classes:
        raise InputError("one of dev and test has no classes", "pass them for both", code="parameter")
    if len(groups) and not whole.has_classes:
        raise InputError("one event has no groups of classes", "leave groups out", code="parameter")
    class_mean = class_mean and whole.has_classes
    setting = _Setting(whole, groups, threshold, bin_count, min_scores, class_mean)
    given = calibration_changes(
        whole.label,
        whole.score,
        setting.after(some.fit(recalibrator)),
        whole.code,
        groups,
        names=whole.names,
        clusters=whole.cluster,
        threshold=threshold,
        bin_count=bin_count,
        min_scores=min_scores,
        class_mean=class_mean,
        level=level,
        seed=seed,
    )
    fitted_to_all = setting.subjects(setting.after(some.fit(recalibrator)))
    found: list[Floats] = []
    for done, fitted in enumerate(some.refits(recalibrator, draws, generator(seed)), 1):
        if progress is not None:
            progress("resampling", done, draws)
        if fitted is not None:
            found.append(setting.errors(fitted, fitted_to_all))
    return tuple(
        _record(change, one, np.array([errors[i] for errors in found]), draws, some, seed)
        for i, (change, one) in enumerate(zip(given, setting.subjects(whole.score), strict=True))
    )


class _Setting(NamedTuple):
    """What every map is measured on, and how."""

    test: Rows
    groups: Groups
    threshold: float
    bin_count: int
    min_scores: int
    class_mean: bool

    def subjects(self, score: Floats) -> list[Subject]:
        """What errors are of, after any map."""
        test = self.test
        given = Arguments(test.label, test.code, test.names, None, test.cluster, self.threshold)
        scores = given.scores(score, reference=test.score)
        return subjects(scores, self.groups, self.min_scores, class_mean=self.class_mean)

    def after(self, fitted: Single) -> Floats:
        """Test scores after a map; those below the threshold stay."""
        high = self.test.score >= self.threshold
        score = np.array(self.test.score)
        score[high] = self.test.at(high).mended(fitted)
        return score

    def errors(self, fitted: Single, reference: list[Subject]) -> Floats:
        """(measures, 3) plug-in and debiased squared errors after a map, and its distance from the reference.

        The distance is the mean squared difference of the scores. All are NaN where they are undefined.
        """
        found = self.subjects(self.after(fitted))
        return np.array(
            [
                (*one.squares(self.bin_count), _distance(one, other))
                for one, other in zip(found, reference, strict=True)
            ]
        )


def _distance(one: Subject, other: Subject) -> float:
    """Mean squared difference of the scores after two maps; over classes, if it is about each class."""
    squares = (one.scores.pairs.score - other.scores.pairs.score) ** 2
    if not len(squares):
        return math.nan
    parts = one.scores.rows_by_class() if one.measure == "mce" else [np.arange(len(squares))]
    return float(np.mean([squares[rows].mean() for rows in parts]))


def _record(
    change: MarginalChange,
    before: Subject,
    drawn: Floats,
    draws: int,
    dev: Rows,
    seed: Seed,
) -> ResampledChange:
    """The change with wider intervals, from (draws, 3) plug-in errors, debiased squares and distances."""
    paired = change.difference
    level = 0.95 if paired is None else paired.level
    failed = draws - len(drawn)
    number = None if seed is None or isinstance(seed, np.random.Generator) else int(seed)
    clusters = effective_clusters(dev.cluster)
    warnings = {"warning": FEW.format(clusters)} if 0 < clusters < FEW_CLUSTERS else {}
    record = ResampledChange(change, paired, level, clusters or None, draws, failed, number, reasons=warnings)
    if len(drawn) < max(FEWEST_DRAWS, draws / 2):
        return replace(
            record,
            reasons=warnings
            | dict.fromkeys(NUMBERS, f"{failed} of {draws} draws of dev could not be fitted"),
        )
    if paired is None or paired.mse_difference is None or paired.mse_low is None or paired.mse_high is None:
        return replace(record, reasons=warnings | dict.fromkeys(NUMBERS, "the change itself is undefined"))
    if not np.isfinite(drawn).all():
        return replace(
            record, reasons=warnings | dict.fromkeys(NUMBERS, "after some draws of dev there is no error")
        )
    # A resampled map has its own noise and the noise of the map of all of dev. The product of the two has
    # twice the variance of the square of one, the distance; over dev sets there is no such product.
    own, distance = (float(np.var(drawn[:, column], ddof=1)) for column in (1, 2))
    deviation = math.sqrt(max(own - 2 * distance, distance))
    low, high = (float(np.quantile(drawn[:, 0], share)) for share in ((1 - level) / 2, (1 + level) / 2))
    plug_in = change.before.calibration_error
    reasons = {} if plug_in else dict.fromkeys(("relative_low", "relative_high"), "the error before is 0")
    recipe = Recipe(change.before.bin_count, level=1 - (1 - level) / 2)
    error = error_of(before.scores, recipe, before.measure).interval
    units = effective_clusters(before.scores.pairs.cluster)
    return replace(
        record,
        change=replace(change, difference=with_map_error(paired, deviation, error, test=units, dev=clusters)),
        map_deviation=deviation,
        after_low=low,
        after_high=high,
        relative_low=low / plug_in - 1 if plug_in else None,
        relative_high=high / plug_in - 1 if plug_in else None,
        reasons=warnings | reasons,
    )


class _Range(NamedTuple):
    low: float
    high: float


def with_map_error(
    paired: ErrorDifference, deviation: float, before: ErrorInterval | None, *, test: float, dev: float
) -> ErrorDifference:
    """Widen the intervals of a change for a fixed map by the sampling error of the map.

    Parameters
    ----------
    paired
        The change of the squared error, before minus after, for a fixed map.
    deviation
        Standard deviation of the squared error after over maps.
    before
        Interval of the error before at the level 1 - (1 - level) / 2. With the interval of the change at the
        same level it gives the intervals of the root errors, which hold by Bonferroni.
    test, dev
        Effective numbers of clusters of test and of dev; 0 if rows are independent.
    """
    difference, low, high = paired.mse_difference, paired.mse_low, paired.mse_high
    assert difference is not None
    assert low is not None
    assert high is not None
    level = paired.level
    fewest = min(filter(None, (dev, test)), default=0.0)

    def limits(at: float) -> _Range:
        wider, added = quantile(at, test) / quantile(level, test), quantile(at, dev) * deviation
        return _Range(
            difference - math.hypot((difference - low) * wider, added),
            difference + math.hypot((high - difference) * wider, added),
        )

    whole, joint = limits(level), limits(1 - (1 - level) / 2)
    half = difference - whole.low if difference > 0 else whole.high - difference
    p_value = two_sided_p_value(difference / half * quantile(level, fewest), fewest) if half > 0 else None
    widened = replace(
        paired,
        mse_low=whole.low,
        mse_high=whole.high,
        p_value=p_value,
        calibration_map="resampled",
    )
    if before is None or before.low is None or before.high is None:
        names = ("rms_low", "rms_high", "relative_low", "relative_high")
        reasons = paired.reasons | dict.fromkeys(names, "the error before has no interval")
        return replace(
            widened, rms_low=None, rms_high=None, relative_low=None, relative_high=None, reasons=reasons
        )
    return _with_roots(widened, joint, _Range(before.low, before.high))


def _with_roots(record: ErrorDifference, squares: _Range, first: _Range) -> ErrorDifference:
    """Add the intervals of the roots, from ranges of the change of the squares and of the error before."""

    def fall(error: float, change: float) -> float:
        return error - math.sqrt(max(0.0, error**2 - change))

    rises = [fall(error, squares.low) for error in first]
    falls = [fall(error, squares.high) for error in first]
    if squares.high > 0 and first.low < math.sqrt(squares.high) < first.high:
        falls.append(math.sqrt(squares.high))
    record = replace(record, rms_low=min(rises), rms_high=max(falls))
    if first.low == 0:
        reason = "the error before may be 0: its interval reaches 0"
        names = ("relative_change", "relative_low", "relative_high")
        reasons = record.reasons | dict.fromkeys(names, reason)
        return replace(record, relative_change=None, relative_low=None, relative_high=None, reasons=reasons)
    return replace(
        record,
        relative_low=min(-fall(error, squares.high) / error for error in first),
        relative_high=max(-fall(error, squares.low) / error for error in first),
    )
