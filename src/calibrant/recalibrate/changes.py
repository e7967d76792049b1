"""Effects of recalibration: errors before and after, for other recalibration sets too; order of scores."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant import _checks
from calibrant._checks import Floats, positive_integer, sample_count
from calibrant.exceptions import InputError
from calibrant.metrics.class_scores import Arguments, ClassScores, Recipe, Subject, error_of, subjects
from calibrant.metrics.classes import Groups
from calibrant.metrics.groups import BIN_COUNT, THRESHOLD, changes_between
from calibrant.metrics.tails import FEW_CLUSTERS, quantile, two_sided_p_value
from calibrant.metrics.tally import Tally
from calibrant.metrics.views import class_predictions, reaching, top_view
from calibrant.progress import Progress, tell
from calibrant.recalibrate.labelled import (
    LabelledScores,
    Rows,
    Single,
    check_recalibrator,
    checked,
    effective_clusters,
)
from calibrant.recalibrate.methods import DRAWS
from calibrant.records import Quantity
from calibrant.results.groups import MarginalChange, ResampledChange
from calibrant.results.intervals import ErrorDifference, ErrorInterval
from calibrant.results.recalibration import OrderEffect
from calibrant.seeds import Seed, generator, recorded

FEWEST_DRAWS = 20
FEW = "few clusters of dev (effective number {:.1f}): the sampling error of the map is itself uncertain"


def resampled_changes(
    recalibrator: Single,
    dev: LabelledScores,
    test: LabelledScores,
    groups: Groups = (),
    *,
    threshold: float = THRESHOLD,
    n_bins: int = BIN_COUNT,
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
    change of the squared error adds the variance over these maps to the variance of test. `BBQ` would take
    copies of a pair for evidence of narrow bins, so its draws are halves of the clusters without replacement.

    Parameters
    ----------
    recalibrator
        Recalibrator of single scores, such as ``Isotonic()``, or of classes, such as
        ``PerGroup(Isotonic(), groups)``; copies of it are fitted.
    dev, test
        Data to fit to, and data to measure on. Without classes, there is one error, that of the event.
    groups
        Groups for GMCE, as in `calibrant.metrics.grouped_calibration_errors`; by default none.
    threshold
        Scores below it, before recalibration, are left out of dev and of test.
    n_bins, min_scores, class_mean, level
        As in `calibrant.metrics.calibration_changes`.
    draws
        Number of maps to fit, at least 20. Draws that cannot be fitted (a group has only one label) are
        counted.
    seed
        Seed of the draws, and of the sign flips behind the paired interval.
    progress
        Function that is called with ``"resampling"``, the draws done and all draws.

    Returns
    -------
    tuple of ResampledChange
        Changes of MCE, SMCE, and GMCE of each group; for one event only SMCE, which is then its calibration
        error; for rows of K classes also the error of the top label (``top``). Their intervals are for the
        mean change over dev sets of this size.

    Raises
    ------
    InputError
        If the recalibrator cannot be fitted to dev.

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
    >>> difference, fixed = change.change.difference, change.fixed
    >>> wide, narrow = difference.mse_difference, fixed.mse_difference
    >>> wide.low < narrow.low < narrow.high < wide.high
    True
    >>> difference.calibration_map, fixed.calibration_map
    ('resampled', 'fixed')
    """
    sample_count(draws, "draws", least=FEWEST_DRAWS)
    some, whole = checked(dev, threshold, "dev"), checked(test, 0.0, "test")
    check_recalibrator(recalibrator, some, "the recalibrator")
    if some.has_classes != whole.has_classes:
        raise InputError("only one of dev and test has classes", "pass them for both", code="parameter")
    if len(groups) and not whole.has_classes:
        message, hint = "groups need classes, and the scores have none", "leave groups out"
        raise InputError(message, hint, code="parameter")
    recipe = Recipe.of(n_bins, "inverted", level, seed)
    least = positive_integer(min_scores, "min_scores")
    high = reaching(whole.score, threshold)
    setting = _Setting(whole, high, groups, threshold, recipe, least, class_mean and whole.has_classes)
    before, after = setting.subjects(whole.score), setting.subjects(setting.after(some.fit(recalibrator)))
    given = changes_between(before, after, recipe)
    errors_of_refits: list[Floats] = []
    for done, fitted in enumerate(some.refits(recalibrator, draws, generator(seed)), 1):
        tell(progress, "resampling", done, draws)
        if fitted is not None:
            errors_of_refits.append(setting.errors(fitted, after))
    return tuple(
        _record(change, one, np.array([errors[i] for errors in errors_of_refits]), draws, some, seed)
        for i, (change, one) in enumerate(zip(given, before, strict=True))
    )


class _Setting(NamedTuple):
    """Test data, which of its scores count, and settings of the measurement of each map."""

    test: Rows
    high: NDArray[np.bool_]
    groups: Groups
    threshold: float
    recipe: Recipe
    min_scores: int
    class_mean: bool

    def subjects(self, score: Floats) -> list[Subject]:
        test = self.test
        given = Arguments(test.label, test.code, test.names, None, test.cluster, self.threshold)
        # Test scores of float32 are widened here, and at the threshold would be below it.
        scores = given.scores(score, reference=self.high.astype(np.float64))
        measured = subjects(scores, self.groups, self.min_scores, class_mean=self.class_mean)
        return [*measured, self._top(score)] if test.width > 1 else measured

    def _top(self, score: Floats) -> Subject:
        """Return the error of the top label of each row of a wide table."""
        test = self.test
        assert test.cluster is not None
        matrix, label = score.reshape(-1, test.width), test.label.reshape(-1, test.width)
        rows = class_predictions(label.argmax(axis=1), matrix)
        top, cluster = top_view(rows), test.cluster[:: test.width]
        if test.cluster_count < len(matrix):
            top = replace(top, cluster=cluster, cluster_count=test.cluster_count)
        whole = ClassScores(top, np.zeros(len(top), np.int64), ("top",), np.zeros(1, np.int64), 0.0)
        return Subject("top", None, whole)

    def after(self, fitted: Single) -> Floats:
        """Return test scores after a map; scores below the threshold stay unchanged."""
        score = np.array(self.test.score)
        score[self.high] = self.test.at(self.high).recalibrated(fitted)
        return score

    def errors(self, fitted: Single, reference: list[Subject]) -> Floats:
        """Return (measures, 3) plug-in and debiased squared errors after a map, and its distance.

        The distance is the mean squared difference from the reference scores. Undefined values are NaN.
        """
        measured = self.subjects(self.after(fitted))
        return np.array(
            [
                (*one.squares(self.recipe.n_bins), _distance(one, other))
                for one, other in zip(measured, reference, strict=True)
            ]
        )


def _distance(one: Subject, other: Subject) -> float:
    """Return the mean squared difference of the scores after two maps; the mean over classes for MCE."""
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
    """Return the change with intervals, from (draws, 3) plug-in errors, debiased squares and distances."""
    paired = change.difference
    level = 0.95 if paired is None else paired.level
    failed = draws - len(drawn)
    clusters = effective_clusters(dev.cluster)
    reason = None
    if len(drawn) < max(FEWEST_DRAWS, draws / 2):
        reason = f"{failed} of {draws} draws of dev could not be fitted"
    elif paired is None or paired.mse_difference.low is None or paired.mse_difference.high is None:
        reason = "the change itself is undefined"
    elif not np.isfinite(drawn).all():
        reason = "the error is undefined after some draws of dev"
    record = ResampledChange(
        change=change,
        fixed=paired,
        map_deviation=Quantity(None, reason=reason),
        after=Quantity(change.after.plug_in_calibration_error, reason=reason),
        relative_change=Quantity(change.relative_change.estimate, reason=reason),
        level=level,
        dev_clusters=clusters or None,
        draws=draws,
        failed=failed,
        seed=recorded(seed),
        warning=FEW.format(clusters) if 0 < clusters < FEW_CLUSTERS else None,
    )
    if reason is not None or paired is None:
        return record
    # A resampled map has its noise and the noise of the map of all of dev. The product of the two has twice
    # the variance of the square of one, the distance; over dev sets there is no such product. If the edges of
    # steps move, scores change but their error hardly does, and the distance is not informative.
    own, distance = (float(np.var(drawn[:, column], ddof=1)) for column in (1, 2))
    deviation = math.sqrt(max(own - 2 * distance, min(distance, own)))
    low, high = (float(np.quantile(drawn[:, 0], share)) for share in ((1 - level) / 2, (1 + level) / 2))
    plug_in = change.before.plug_in_calibration_error
    relative = change.relative_change
    if plug_in:
        relative = Quantity(relative.estimate, low / plug_in - 1, high / plug_in - 1)
    recipe = Recipe(change.before.n_bins, level=1 - (1 - level) / 2)
    error = error_of(before.scores, recipe, before.measure).interval
    units = effective_clusters(before.scores.pairs.cluster)
    widened = with_map_error(paired, deviation, error, test=units, dev=clusters)
    return msgspec.structs.replace(
        record,
        change=msgspec.structs.replace(change, difference=widened),
        map_deviation=Quantity(deviation),
        after=Quantity(change.after.plug_in_calibration_error, low, high),
        relative_change=relative,
    )


class _Range(NamedTuple):
    low: float
    high: float


def with_map_error(
    paired: ErrorDifference, deviation: float, before: ErrorInterval | None, *, test: float, dev: float
) -> ErrorDifference:
    """Return a change for a fixed map with intervals that include the sampling error of the map.

    The difference of the Brier scores is left out: the variance of the Brier score over maps is unknown here.

    Parameters
    ----------
    paired
        Change of the squared error, before minus after, for a fixed map.
    deviation
        Standard deviation over maps of the squared error after.
    before
        Interval of the error before at the level 1 - (1 - level) / 2. With the interval of the change at the
        same level it gives the intervals of the root errors, which are valid by Bonferroni's inequality.
    test, dev
        Effective numbers of clusters of test and of dev; 0 if rows are independent.
    """
    fixed = paired.mse_difference
    difference, low, high = fixed.estimate, fixed.low, fixed.high
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
    widened = msgspec.structs.replace(
        paired,
        mse_difference=Quantity(difference, whole.low, whole.high),
        p_value=p_value,
        brier_difference=None,
        calibration_map="resampled",
    )
    if before is None or before.low is None or before.high is None:
        relative, reason = paired.relative_change, "the error before has no interval"
        if relative.estimate is not None:
            relative = Quantity(relative.estimate, reason=reason)
        rms = Quantity(paired.rms_difference.estimate, reason=reason)
        return msgspec.structs.replace(widened, rms_difference=rms, relative_change=relative)
    return _with_roots(widened, joint, _Range(before.low, before.high))


def _with_roots(record: ErrorDifference, squares: _Range, first: _Range) -> ErrorDifference:
    """Return the intervals of the roots, from ranges of the change of the squares and of the error before."""

    def fall(error: float, change: float) -> float:
        return error - math.sqrt(max(0.0, error**2 - change))

    rises = [fall(error, squares.low) for error in first]
    falls = [fall(error, squares.high) for error in first]
    if squares.high > 0 and first.low < math.sqrt(squares.high) < first.high:
        falls.append(math.sqrt(squares.high))
    relative = Quantity(None, reason="the error before may be 0: its interval reaches 0")
    if first.low != 0:
        relative = Quantity(
            record.relative_change.estimate,
            min(-fall(error, squares.high) / error for error in first),
            max(-fall(error, squares.low) / error for error in first),
            reason=record.relative_change.reason,
        )
    rms = Quantity(record.rms_difference.estimate, min(rises), max(falls))
    return msgspec.structs.replace(record, rms_difference=rms, relative_change=relative)


def order_effect(
    y_true: ArrayLike, before: ArrayLike, after: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> OrderEffect:
    """Return the number of ties before and after recalibration, and the areas under the ROC curve.

    A map that never reverses two scores can still make them equal. Tied pairs of opposite labels count one
    half in the AUC: pairs in the right order lose one half, and pairs in the wrong order gain one half.

    Parameters
    ----------
    y_true
        (n,) labels 0 or 1; the AUC needs both.
    before, after
        (n,) scores before and after recalibration, in [0, 1].
    sample_weight
        (n,) non-negative weights.

    Returns
    -------
    OrderEffect

    Examples
    --------
    >>> effect = order_effect([0, 1, 0, 1], [0.1, 0.4, 0.5, 0.9], [0.0, 0.5, 0.5, 1.0])
    >>> effect.distinct_before, effect.distinct_after, effect.auc_before, effect.auc_after
    (4, 3, 0.75, 0.875)
    """
    tallies = [
        Tally.from_pairs(
            _checks.pairs(y_true, score, sample_weight=sample_weight, score_name=name), exact=True
        )
        for name, score in (("before", before), ("after", after))
    ]
    first, second = tallies
    (auc_before, tied_before), (auc_after, tied_after) = _order(first), _order(second)
    return OrderEffect(
        distinct_before=len(first),
        distinct_after=len(second),
        tied_before=tied_before,
        tied_after=tied_after,
        auc_before=auc_before,
        auc_after=auc_after,
        auc_change=None if auc_before is None or auc_after is None else auc_after - auc_before,
        reason="all labels are the same" if auc_before is None or auc_after is None else None,
    )


def _order(tally: Tally) -> tuple[float | None, float | None]:
    """Return the area under the ROC curve, and the proportion of ties of a positive and a negative pair."""
    positive, negative = tally.weight_positives, tally.weight - tally.weight_positives
    pairs = float(positive.sum() * negative.sum())
    if not pairs:
        return None, None
    below = np.cumsum(negative) - negative / 2
    return float(np.sum(positive * below)) / pairs, float(np.sum(positive * negative)) / pairs
