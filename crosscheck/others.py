"""Peers that share one or two things with us: MAPIE, pycalib, model-diagnostics, betacal, venn-abers."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from calibrant.metrics import (
    calibration_in_the_large,
    class_errors,
    corp_decomposition,
    expected_calibration_error,
    max_calibration_error,
)
from calibrant.metrics.tally import Tally
from calibrant.recalibrate import Beta, VennAbers
from crosscheck import inputs
from crosscheck.bins import errors
from crosscheck.comparison import Case, Comparison, compare
from crosscheck.inputs import ClassInput, Input
from crosscheck.maps import EARLY, PROBE, at_minimum, fitted

COUNT = 15
FEWER = (
    "The peer's num_bins edges make num_bins - 1 bins: 14 here. With one more, it has "
    "calibrant's bins, except for a separate bin for a score of 0."
)
CERTAIN = (
    "A score is 0 for an outcome that occurred: the peer returns infinity, and calibrant "
    "reports the loss as undefined."
)


def plain(one: Input) -> tuple[Any, Any]:
    return one.label, one.score.astype(np.float64)


def mapie(one: Input) -> Comparison:
    from mapie.metrics.calibration import expected_calibration_error as peer

    def theirs(count: int) -> float:
        return float(peer(*plain(one), num_bins=count, split_strategy="uniform"))

    def because() -> Any:
        edges = np.linspace(0, 1, COUNT + 1)
        score = one.score.astype(np.float64)
        zero = np.searchsorted(edges, score)  # 0 has a bin of its own
        return errors(zero, one.label, score, "l1"), theirs(COUNT + 1)

    ours = expected_calibration_error(one.label, one.score, n_bins=COUNT)
    return compare(ours, theirs(COUNT), FEWER, because)


def pycalib(one: Input, name: str) -> Comparison:
    from pycalib import metrics

    call = {"binary_ECE": expected_calibration_error, "binary_MCE": max_calibration_error}[name]
    ours = call(one.label, one.score, binning="uniform", n_bins=COUNT)
    return compare(ours, lambda: float(getattr(metrics, name)(*plain(one), bins=COUNT)))


def pycalib_classes(one: ClassInput) -> Comparison:
    from pycalib.metrics import classwise_ECE

    prob = one.prob.astype(np.float64)
    right = (one.label[:, None] == np.arange(prob.shape[1])).astype(int)
    found = class_errors(one.label, one.prob, binning="uniform", n_bins=COUNT)
    ours = found.mean_expected_calibration_error
    return compare(ours, lambda: classwise_ECE(right, prob, bins=COUNT))


def corp(one: Input, rule: str) -> Comparison:
    """Miscalibration, discrimination, uncertainty and score."""
    from model_diagnostics.scoring import LogLoss, SquaredError, decompose

    source = Tally.from_arrays(y_true=one.label, y_prob=one.score, sample_weight=one.weight, exact=True)
    found = corp_decomposition(source, rule=rule)
    ours = [found.miscalibration, found.discrimination, found.uncertainty, found.score]
    kept = slice(None) if one.weight is None else one.weight > 0

    def theirs() -> Any:
        label, score = plain(one)
        weight = None if one.weight is None else one.weight[kept]
        function = {"brier": SquaredError, "log": LogLoss}[rule]()
        table = decompose(label[kept], score[kept], weights=weight, scoring_function=function)
        row = table.row(0, named=True)
        return [row[name] for name in ("miscalibration", "discrimination", "uncertainty", "score")]

    if None in ours:
        return compare(None, theirs, CERTAIN, lambda: not np.isfinite(theirs()[-1]))
    return compare(ours, theirs)


def bias(one: Input) -> Comparison:
    """The mean error."""
    from model_diagnostics.calibration import compute_bias

    found = calibration_in_the_large(one.label, one.score, sample_weight=one.weight)

    def theirs() -> float:
        label, score = plain(one)
        return float(compute_bias(label, score, weights=one.weight)["bias_mean"][0])

    return compare(found.mean_error.estimate, theirs)


def beta(one: Input) -> Comparison:
    from betacal import BetaCalibration

    theirs = BetaCalibration("abm").fit(one.score.astype(np.float64), one.label)
    ours = fitted(Beta(), one)

    def mapped(q: Any) -> Any:
        return theirs.predict(np.asarray(q, np.float64))

    return compare(ours.transform(PROBE), mapped(PROBE), EARLY, lambda: at_minimum(ours, mapped, one))


def venn_abers(one: Input) -> Comparison:
    """The pairs (p0, p1)."""
    from venn_abers import VennAbers as Peer

    score = one.score.astype(np.float64)
    both = [np.column_stack([1 - q, q]) for q in (score, PROBE)]
    _, theirs = Peer().fit(both[0], one.label).predict_proba(both[1])
    return compare(np.column_stack(fitted(VennAbers(exact=True), one).intervals(PROBE)), theirs)


def _fits() -> tuple[Input, ...]:
    return tuple(one for one in inputs.fits() if one.weight is None)


def _small() -> tuple[Input, ...]:
    return tuple(one for one in _fits() if len(one.label) < 2000)


CASES = (
    Case(
        "mapie",
        'expected_calibration_error(y, q, num_bins=15, split_strategy="uniform")',
        "expected_calibration_error(y, q)",
        inputs.binary,
        mapie,
    ),
    Case(
        "pycalib",
        "binary_ECE(y, q, bins=15)",
        "expected_calibration_error(y, q)",
        inputs.binary,
        partial(pycalib, name="binary_ECE"),
    ),
    Case(
        "pycalib",
        "binary_MCE(y, q, bins=15)",
        'max_calibration_error(y, q, binning="uniform", n_bins=15)',
        inputs.binary,
        partial(pycalib, name="binary_MCE"),
    ),
    Case(
        "pycalib",
        "classwise_ECE(Y, Q, bins=15)",
        'class_errors(y, Q, binning="uniform", n_bins=15).mean_expected_calibration_error',
        inputs.classes,
        pycalib_classes,
    ),
    *(
        Case(
            "model-diagnostics",
            f"decompose(y, q, scoring_function={name}())",
            f'corp_decomposition(pairs, rule="{rule}")',
            inputs.pairs,
            partial(corp, rule=rule),
        )
        for rule, name in (("brier", "SquaredError"), ("log", "LogLoss"))
    ),
    Case(
        "model-diagnostics",
        "compute_bias(y, q)",
        "calibration_in_the_large(y, q).mean_error",
        inputs.pairs,
        bias,
    ),
    Case("betacal", 'BetaCalibration("abm")', "Beta()", _fits, beta),
    Case("venn-abers", "VennAbers()", "VennAbers(exact=True)", _small, venn_abers),
)
