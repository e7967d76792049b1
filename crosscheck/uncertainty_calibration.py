"""uncertainty-calibration: plug-in and debiased errors, and recalibrators."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from calibrant.metrics import (
    at_edges,
    class_errors,
    expected_calibration_error,
    kumar_debiased_squared_error,
    plug_in_calibration_error,
    uniform,
)
from calibrant.metrics.tally import Tally
from calibrant.recalibrate import HistogramBinning, Platt
from calibrant.results import Bins
from crosscheck import inputs
from crosscheck.bins import errors, top_pairs
from crosscheck.comparison import Case, Comparison, compare
from crosscheck.inputs import ClassInput, Input
from crosscheck.maps import EARLY, PROBE, at_minimum, fitted

COUNT = 15
PEER = "uncertainty-calibration"
MIDDLE = (
    "The peer's bins of equal mass have edges halfway between two scores: ties stay whole, and "
    "there are fewer bins than requested. calibrant's bins share ties in proportion, and end at "
    "rank floor(j n / count). With the peer's edges, the numbers are equal."
)
MAP = f"{MIDDLE} The peer maps an empty bin to its middle."
SINGLE = (
    "The peer gives a bin of a single pair the error 0; calibrant refuses to debias it. Without "
    "such bins, the sums are equal."
)
GUESSED = (
    "The peer chooses 15 bins of equal mass, or one bin per distinct score if fewer than n / 4 "
    "are distinct. calibrant uses about n^(1/3) pairs per bin. On the peer's bins the numbers "
    "are equal."
)
GUESSED_PLUG_IN = (
    "The peer chooses 15 bins of equal mass with edges halfway between two scores, or one bin "
    "per distinct score if fewer than n / 4 are distinct. On its bins the numbers are equal."
)
CLIPPED = (
    "The peer sets a negative debiased square of a class to 0 before averaging, so the mean is "
    "too large; calibrant averages the signed squares. With clipped squares, the numbers are "
    "equal."
)


def plain(one: Input) -> tuple[Any, Any]:
    return one.score.astype(np.float64), one.label


def exact(one: Input) -> Tally:
    return Tally.from_arrays(y_true=one.label, y_prob=one.score, exact=True)


def cut(one: Input, edges: Any) -> Bins:
    """Our bins at their edges, which lack the 0."""
    return at_edges(exact(one), np.unique([0.0, *edges]))


def ece(one: Input) -> Comparison:
    from calibration import get_ece

    return compare(
        expected_calibration_error(one.label, one.score, n_bins=COUNT),
        lambda: get_ece(*plain(one), num_bins=COUNT),
    )


def ece_equal_mass(one: Input) -> Comparison:
    from calibration import get_ece_em
    from calibration.utils import get_equal_bins

    count = min(COUNT, len(one.label))

    def theirs() -> Any:
        return get_ece_em(*plain(one), num_bins=count)

    def because() -> Any:
        score = one.score.astype(np.float64)
        index = np.searchsorted(get_equal_bins(score, count), score)
        return errors(index, one.label, score, "l1"), theirs()

    ours = expected_calibration_error(one.label, one.score, binning="adaptive", n_bins=count)
    return compare(ours, theirs, MIDDLE, because)


def plug_in(one: Input, power: int) -> Comparison:
    from calibration import lower_bound_scaling_ce
    from calibration.utils import get_equal_prob_bins

    ours = plug_in_calibration_error(one.label, one.score, binning="uniform", n_bins=COUNT)
    return compare(
        ours,
        lambda: lower_bound_scaling_ce(
            *plain(one), p=power, debias=False, num_bins=COUNT, binning_scheme=get_equal_prob_bins
        ),
    )


def debiased(one: Input) -> Comparison:
    """On bins of equal width."""
    from calibration import lower_bound_scaling_ce
    from calibration.utils import get_equal_prob_bins

    bins = uniform(exact(one), COUNT)

    def theirs() -> Any:
        return lower_bound_scaling_ce(*plain(one), p=2, num_bins=COUNT, binning_scheme=get_equal_prob_bins)

    return compare(
        lambda: root(kumar_debiased_squared_error(bins)),
        theirs,
        SINGLE,
        lambda: (root(_without_singles(bins)), theirs()),
    )


def root(square: float) -> float:
    return float(np.sqrt(max(square, 0.0)))


def _without_singles(bins: Bins) -> float:
    n, p = bins.n, bins.frequency
    noise = p * (1 - p) / np.maximum(n - 1, 1)
    return float(np.sum(np.where(n < 2, 0.0, bins.share * (bins.residual**2 - noise))))


def default(one: Input, debias: bool) -> Comparison:
    """Their one-line call."""
    from calibration import get_calibration_error
    from calibration.utils import get_discrete_bins, get_equal_bins, is_discrete

    score = one.score.astype(np.float64)

    def theirs() -> Any:
        return get_calibration_error(*plain(one), debias=debias)

    def because() -> Any:
        edges = get_discrete_bins(score) if is_discrete(score) else get_equal_bins(score, COUNT)
        bins = cut(one, edges)
        square = _without_singles(bins) if debias else float(bins.share @ bins.residual**2)
        return root(square), theirs()

    if debias:
        return compare(root(kumar_debiased_squared_error(one.label, one.score)), theirs, GUESSED, because)
    ours = plug_in_calibration_error(one.label, one.score, n_bins=min(COUNT, len(score)))
    return compare(ours, theirs, GUESSED_PLUG_IN, because)


def top_label(one: ClassInput) -> Comparison:
    from calibration import get_ece

    pairs = top_pairs(one)
    ours = expected_calibration_error(pairs.label, pairs.score, n_bins=COUNT)
    return compare(ours, lambda: get_ece(one.prob.astype(np.float64), one.label, num_bins=COUNT))


def marginal(one: ClassInput, debias: bool) -> Comparison:
    from calibration import lower_bound_scaling_ce
    from calibration.utils import get_equal_prob_bins

    prob = one.prob.astype(np.float64)

    def theirs() -> Any:
        return lower_bound_scaling_ce(
            prob, one.label, p=2, debias=debias, num_bins=COUNT, binning_scheme=get_equal_prob_bins
        )

    if not debias:
        found = class_errors(one.label, one.prob, binning="uniform", n_bins=COUNT)
        return compare(found.marginal_calibration_error, theirs)
    by_class = [
        uniform(Tally.from_arrays(y_true=one.label == k, y_prob=prob[:, k], exact=True), COUNT)
        for k in range(prob.shape[1])
    ]
    squares = [_without_singles(bins) for bins in by_class]
    clipped = [max(square, 0.0) for square in squares]
    return compare(
        root(float(np.mean(squares))),
        theirs,
        CLIPPED,
        lambda: (float(np.sqrt(np.mean(clipped))), theirs()),
    )


def platt(one: Input) -> Comparison:
    from calibration import PlattCalibrator

    theirs = PlattCalibrator(len(one.label), COUNT)
    theirs.train_calibration(*plain(one))
    ours = fitted(Platt(), one)
    return compare(
        ours.transform(PROBE), theirs.calibrate(PROBE), EARLY, lambda: at_minimum(ours, theirs.calibrate, one)
    )


def histogram(one: Input) -> Comparison:
    from calibration import HistogramCalibrator
    from calibration.utils import get_equal_bins

    theirs = HistogramCalibrator(len(one.label), COUNT)
    theirs.train_calibration(*plain(one))

    def because() -> Any:
        edges = np.array(get_equal_bins(one.score.astype(np.float64), COUNT))
        index = np.searchsorted(edges, one.score.astype(np.float64))
        n = np.bincount(index, minlength=len(edges))
        frequency = np.bincount(index, one.label, minlength=len(edges)) / np.maximum(n, 1)
        middle = (edges + np.append(0.0, edges[:-1])) / 2
        mapped = np.where(n > 0, frequency, middle)
        return mapped[np.searchsorted(edges, PROBE)], theirs.calibrate(PROBE)

    return compare(
        fitted(HistogramBinning(COUNT), one).transform(PROBE), theirs.calibrate(PROBE), MAP, because
    )


def _zeros() -> tuple[Input, ...]:
    return (*inputs.binary(), inputs.ZEROS)


def _rounded() -> tuple[Input, ...]:
    return (*inputs.binary(), inputs.rounded())


def unweighted() -> tuple[Input, ...]:
    return tuple(one for one in inputs.fits() if one.weight is None)


def _case(theirs: str, ours: str, made: Any, run: Any, **options: Any) -> Case:
    return Case(PEER, theirs, ours, made, partial(run, **options))


SCHEME = "binning_scheme=get_equal_prob_bins"
TOP = "expected_calibration_error(uniform(top_view(class_predictions(y, Q)), 15))"
CASES = (
    _case("get_ece(q, y)", "expected_calibration_error(y, q)", inputs.binary, ece),
    _case(
        "get_ece_em(q, y)",
        'expected_calibration_error(y, q, binning="adaptive", n_bins=15)',
        _zeros,
        ece_equal_mass,
    ),
    _case(
        f"lower_bound_scaling_ce(q, y, p=2, debias=False, {SCHEME})",
        'plug_in_calibration_error(y, q, binning="uniform", n_bins=15)',
        inputs.binary,
        plug_in,
        power=2,
    ),
    _case(
        f"lower_bound_scaling_ce(q, y, {SCHEME})",
        "kumar_debiased_squared_error(uniform_bins(y, q)) ** 0.5",
        inputs.binary,
        debiased,
    ),
    _case(
        "get_calibration_error(q, y)",
        "kumar_debiased_squared_error(y, q) ** 0.5",
        _rounded,
        default,
        debias=True,
    ),
    _case(
        "get_calibration_error(q, y, debias=False)",
        "plug_in_calibration_error(y, q, n_bins=15)",
        _rounded,
        default,
        debias=False,
    ),
    _case("get_ece(Q, y)", TOP, inputs.classes, top_label),
    _case(
        f"lower_bound_scaling_ce(Q, y, p=2, debias=False, {SCHEME})",
        'class_errors(y, Q, binning="uniform", n_bins=15).marginal_calibration_error',
        inputs.classes,
        marginal,
        debias=False,
    ),
    _case(
        f"lower_bound_scaling_ce(Q, y, {SCHEME})",
        "root of the mean of kumar_debiased_squared_error by class",
        inputs.classes,
        marginal,
        debias=True,
    ),
    _case("PlattCalibrator(n, 15)", "Platt()", unweighted, platt),
    _case("HistogramCalibrator(n, 15)", "HistogramBinning(15)", unweighted, histogram),
)
