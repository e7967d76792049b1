"""Calibration errors before and after recalibration, with what another recalibration set would have given."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from calibrant._checks import Floats, positive_integer
from calibrant._rng import Seed, generator
from calibrant.exceptions import InputError
from calibrant.measure._class_scores import Arguments, subjects
from calibrant.measure._classes import Groups
from calibrant.measure._tails import quantile
from calibrant.measure.groups import BIN_COUNT, THRESHOLD, calibration_changes
from calibrant.recalibrate._labelled import LabelledScores, Rows, Single, check_recalibrator, checked
from calibrant.results.groups import MarginalChange, ResampledChange

Progress = Callable[[str, int, int | None], None]

DRAWS = 200
FEWEST_DRAWS = 20
NUMBERS = ("mse_low", "mse_high", "map_deviation", "after_low", "after_high", "relative_low", "relative_high")


def resampled_changes(
    recalibrator: Single,
    dev: LabelledScores,
    test: LabelledScores,
    groups: Groups = (),
    *,
    threshold: float = THRESHOLD,
    bin_count: int = BIN_COUNT,
    min_scores: int = 1,
    level: float = 0.95,
    draws: int = DRAWS,
    seed: Seed = 0,
    progress: Progress | None = None,
) -> tuple[ResampledChange, ...]:
    """Fit to dev, measure on test before and after, and ask how much another dev set would change.

    `calibration_changes` takes the fitted map as given. Here clusters of dev are drawn with replacement, the
    recalibrator is fitted again, and what it does to test is measured, many times over. The wider interval
    on the change of the squared error adds the variance over these maps to that of test.

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
    bin_count, min_scores, level
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
        MCE, SMCE, and GMCE of each group; for one event SMCE, which is then its calibration error.

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
    >>> given = change.change.difference
    >>> change.mse_low < given.mse_low < given.mse_high < change.mse_high
    True
    """
    if positive_integer(draws, "draws") < FEWEST_DRAWS:
        raise InputError(f"draws is {draws}", f"give at least {FEWEST_DRAWS}", code="parameter")
    some, whole = checked(dev, threshold, "dev"), checked(test, 0.0, "test")
    check_recalibrator(recalibrator, some, "the recalibrator")
    if some.has_classes != whole.has_classes:
        raise InputError("one of dev and test has no classes", "pass them for both", code="parameter")
    if len(groups) and not whole.has_classes:
        raise InputError("one event has no groups of classes", "leave groups out", code="parameter")
    setting = _Setting(whole, groups, threshold, bin_count, min_scores)
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
        level=level,
        seed=seed,
    )
    found: list[Floats] = []
    rng = generator(seed)
    for done in range(1, draws + 1):
        drawn = some.resampled(rng)
        try:
            fitted = drawn.fit(recalibrator)
        except InputError:  # a draw in which a group lacks a label, or all of its scores
            continue
        finally:
            if progress is not None:
                progress("resampling", done, draws)
        found.append(setting.errors(fitted))
    start = 0 if whole.has_classes else 1
    return tuple(
        _record(given[i], np.array([errors[i] for errors in found]), draws, some.cluster_count, level, seed)
        for i in range(start, len(given))
    )


class _Setting(NamedTuple):
    """What every map is measured on, and how."""

    test: Rows
    groups: Groups
    threshold: float
    bin_count: int
    min_scores: int

    def after(self, fitted: Single) -> Floats:
        """Test scores after a map; those below the threshold stay."""
        high = self.test.score >= self.threshold
        score = np.array(self.test.score)
        score[high] = self.test.at(high).mended(fitted)
        return score

    def errors(self, fitted: Single) -> Floats:
        """(measures, 2) plug-in errors after a map, and debiased squared errors; NaN where undefined."""
        test = self.test
        given = Arguments(test.label, test.code, test.names, None, test.cluster, self.threshold)
        scores = given.scores(self.after(fitted), reference=test.score)
        return np.array(
            [one.squares(self.bin_count) for one in subjects(scores, self.groups, self.min_scores)]
        )


def _record(
    change: MarginalChange, drawn: Floats, draws: int, clusters: int, level: float, seed: Seed
) -> ResampledChange:
    """The change with its wider interval, from (draws, 2) plug-in and debiased squared errors after."""
    paired = change.difference
    failed = draws - len(drawn)
    number = None if seed is None or isinstance(seed, np.random.Generator) else int(seed)
    record = ResampledChange(change, level, draws, failed, number)
    if len(drawn) < max(FEWEST_DRAWS, draws / 2):
        return replace(
            record, reasons=dict.fromkeys(NUMBERS, f"{failed} of {draws} draws of dev could not be fitted")
        )
    if paired is None or paired.mse_difference is None or paired.mse_low is None or paired.mse_high is None:
        return replace(record, reasons=dict.fromkeys(NUMBERS, "the change itself is undefined"))
    if not np.isfinite(drawn).all():
        return replace(record, reasons=dict.fromkeys(NUMBERS, "after some draws of dev there is no error"))
    deviation = float(np.std(drawn[:, 1], ddof=1))
    half = math.hypot((paired.mse_high - paired.mse_low) / 2, quantile(level, clusters) * deviation)
    low, high = (float(np.quantile(drawn[:, 0], share)) for share in ((1 - level) / 2, (1 + level) / 2))
    before = change.before.calibration_error
    return replace(
        record,
        mse_low=paired.mse_difference - half,
        mse_high=paired.mse_difference + half,
        map_deviation=deviation,
        after_low=low,
        after_high=high,
        relative_low=low / before - 1 if before else None,
        relative_high=high / before - 1 if before else None,
        reasons={} if before else dict.fromkeys(("relative_low", "relative_high"), "the error before is 0"),
    )
