"""netcal: errors and recalibrators."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from calibrant.metrics import (
    expected_calibration_error,
    max_calibration_error,
    uniform_bins,
)
from calibrant.recalibrate import Beta, HistogramBinning, Isotonic, Platt, Temperature
from crosscheck import inputs
from crosscheck.bins import UPPER, errors, top_pairs, upper
from crosscheck.comparison import Case, Comparison, compare
from crosscheck.inputs import ClassInput, Input
from crosscheck.maps import EARLY, PROBE, at_minimum, fitted

COUNT = 15
QUANTILES = (
    "The peer's edges are interpolated quantiles, and a score on an edge belongs to the upper "
    "bin; calibrant cuts at ranks, and shares ties. With the peer's bins the numbers are equal."
)
REFUSED = (
    "The peer refuses scores with many ties, since two of its quantile edges are equal; "
    "calibrant shares a tie between bins in proportion."
)
BINARY = (
    "The peer treats two columns as one score, that of the second class; calibrant's number is "
    "of the top label. The peer's call with that column alone gives the same number."
)
LABELS = (
    "The peer reads labels that happen to be 0 and 1 as labels of two classes, and stops. With "
    "one more item of a third label it does not."
)
THRESHOLD = (
    "The peer gives bins below sample_threshold the error 0. calibrant has no threshold, but an "
    "interval for each bin. The sums over the other bins are equal."
)


def plain(one: Input) -> tuple[Any, Any]:
    return one.score.astype(np.float64), one.label


def edge_index(one: Input) -> Any:
    return upper(one.score, np.linspace(0, 1, COUNT + 1))


def ece(one: Input) -> Comparison:
    from netcal.metrics import ECE

    def theirs() -> float:
        return float(ECE(COUNT).measure(*plain(one)))

    ours = expected_calibration_error(one.label, one.score, n_bins=COUNT)
    return compare(
        ours, theirs, UPPER, lambda: (errors(edge_index(one), one.label, one.score, "l1"), theirs())
    )


def mce(one: Input) -> Comparison:
    from netcal.metrics import MCE

    def theirs() -> float:
        return float(MCE(COUNT).measure(*plain(one)))

    ours = max_calibration_error(one.label, one.score, binning="uniform", n_bins=COUNT)
    return compare(
        ours, theirs, UPPER, lambda: (errors(edge_index(one), one.label, one.score, "max"), theirs())
    )


def ace(one: Input) -> Comparison:
    """The mean over bins, each alike."""
    from netcal.metrics import ACE

    def theirs() -> float:
        return float(ACE(COUNT).measure(*plain(one)))

    def because() -> Any:
        index = edge_index(one)
        gaps = [
            abs(np.mean(one.label[index == k]) - np.mean(one.score[index == k], dtype=float))
            for k in np.unique(index)
        ]
        return np.mean(gaps), theirs()

    bins = uniform_bins(one.label, one.score, n_bins=COUNT)
    return compare(float(np.abs(bins.residual).mean()), theirs, UPPER, because)


def equal_mass(one: Input) -> Comparison:
    from netcal.metrics import ECE

    count = min(COUNT, len(one.label))
    edges = np.quantile(one.score.astype(np.float64), np.linspace(0, 1, count + 1))
    edges[0], edges[-1] = 0, 1

    def theirs() -> float:
        return float(ECE(count, equal_intervals=False).measure(*plain(one)))

    ours = expected_calibration_error(one.label, one.score, binning="adaptive", n_bins=count)
    if len(np.unique(edges)) < len(edges):
        return compare(ours, theirs, REFUSED, lambda: len(np.unique(edges)) < len(edges))
    return compare(
        ours,
        theirs,
        QUANTILES,
        lambda: (errors(upper(one.score, edges), one.label, one.score, "l1"), theirs()),
    )


def top_label(one: ClassInput) -> Comparison:
    from netcal.metrics import ECE

    prob = one.prob.astype(np.float64)

    def theirs() -> float:
        return float(ECE(COUNT).measure(prob, one.label))

    def because() -> Any:
        if prob.shape[1] == 2:
            return float(ECE(COUNT).measure(prob[:, 1], one.label)), theirs()
        score, right = prob.max(axis=1), prob.argmax(axis=1) == one.label
        return errors(upper(score, np.linspace(0, 1, COUNT + 1)), right, score, "l1"), theirs()

    pairs = top_pairs(one)
    ours = expected_calibration_error(pairs.label, pairs.score, n_bins=COUNT)
    return compare(ours, theirs, BINARY if prob.shape[1] == 2 else UPPER, because)


def two_labels(one: ClassInput) -> Comparison:
    """Three classes, of which only two occur."""
    from netcal.metrics import ECE

    pairs = top_pairs(one)

    def because() -> bool:
        more = np.append(one.prob, [[0.2, 0.2, 0.6]], axis=0), np.append(one.label, 2)
        return bool(np.isfinite(ECE(COUNT).measure(*more)))

    ours = expected_calibration_error(pairs.label, pairs.score, n_bins=COUNT)
    return compare(ours, lambda: float(ECE(COUNT).measure(one.prob, one.label)), LABELS, because)


def threshold(one: Input) -> Comparison:
    from netcal.metrics import ECE

    def theirs() -> float:
        return float(ECE(COUNT, sample_threshold=200).measure(*plain(one)))

    def because() -> Any:
        index = edge_index(one)
        kept = np.bincount(index)[index] >= 200
        part = errors(index[kept], one.label[kept], one.score[kept], "l1") if kept.any() else 0.0
        return part * kept.mean(), theirs()

    return compare(expected_calibration_error(one.label, one.score, n_bins=COUNT), theirs, THRESHOLD, because)


def histogram(one: Input) -> Comparison:
    from netcal.binning import HistogramBinning as Peer

    score, label = plain(one)
    theirs = Peer(COUNT)
    theirs.fit(score, label)

    def because() -> Any:
        edges = np.linspace(0, 1, COUNT + 1)
        index = upper(score, edges)
        n = np.bincount(index, minlength=COUNT)
        frequency = np.bincount(index, label, minlength=COUNT) / np.maximum(n, 1)
        mapped = np.where(n > 0, frequency, np.nan)[upper(PROBE, edges)]
        found = theirs.transform(PROBE)
        known = np.isfinite(mapped)
        return mapped[known], found[known]

    ours = fitted(HistogramBinning(COUNT, strategy="uniform"), one).transform(PROBE)
    return compare(ours, theirs.transform(PROBE), UPPER, because)


def isotonic(one: Input) -> Comparison:
    from netcal.binning import IsotonicRegression as Peer

    theirs = Peer()
    theirs.fit(*plain(one))
    return compare(fitted(Isotonic(), one).transform(PROBE), theirs.transform(PROBE))


def scaling(one: Input, name: str) -> Comparison:
    import netcal.scaling

    theirs = getattr(netcal.scaling, name)()
    theirs.fit(*plain(one))

    def mapped(q: Any) -> Any:
        return np.asarray(theirs.transform(np.asarray(q, np.float64)), np.float64)

    models = {"LogisticCalibration": Platt, "TemperatureScaling": Temperature, "BetaCalibration": Beta}
    ours = fitted(models[name](), one)

    return compare(ours.transform(PROBE), mapped(PROBE), EARLY, lambda: at_minimum(ours, mapped, one))


def _fits() -> tuple[Input, ...]:
    return tuple(one for one in inputs.fits() if one.weight is None)


def _three() -> tuple[ClassInput, ...]:
    random = np.random.default_rng(31)
    prob = random.dirichlet([2, 2, 1], 60)
    return (ClassInput("3 classes, labels 0 and 1", random.integers(0, 2, 60), prob),)


def _wrong() -> tuple[Input, ...]:
    return (inputs.WRONG,)


def _zeros() -> tuple[Input, ...]:
    return (*inputs.binary(), inputs.ZEROS)


def _edges() -> tuple[Input, ...]:
    return (*inputs.binary(), inputs.EDGES)


def _case(theirs: str, ours: str, made: Any, run: Any, **options: Any) -> Case:
    return Case("netcal", theirs, ours, made, partial(run, **options))


TOP = "expected_calibration_error(uniform(top_view(class_predictions(y, Q)), 15))"
CASES = (
    _case("ECE(15).measure(q, y)", "expected_calibration_error(y, q)", _edges, ece),
    _case(
        "MCE(15).measure(q, y)",
        'max_calibration_error(y, q, binning="uniform", n_bins=15)',
        inputs.binary,
        mce,
    ),
    _case("ACE(15).measure(q, y)", "abs(uniform_bins(y, q).residual).mean()", inputs.binary, ace),
    _case(
        "ECE(15, equal_intervals=False).measure(q, y)",
        'expected_calibration_error(y, q, binning="adaptive", n_bins=15)',
        _zeros,
        equal_mass,
    ),
    _case("ECE(15).measure(Q, y)", TOP, inputs.classes, top_label),
    _case("ECE(15).measure(Q, y)", TOP, _three, two_labels),
    _case(
        "ECE(15, sample_threshold=200).measure(q, y)",
        "expected_calibration_error(y, q)",
        _wrong,
        threshold,
    ),
    _case("HistogramBinning(15)", 'HistogramBinning(15, strategy="uniform")', _fits, histogram),
    _case("IsotonicRegression()", "Isotonic()", _fits, isotonic),
    *(
        _case(f"{name}()", f"{ours}()", _fits, scaling, name=name)
        for name, ours in (
            ("LogisticCalibration", "Platt"),
            ("TemperatureScaling", "Temperature"),
            ("BetaCalibration", "Beta"),
        )
    ),
)
