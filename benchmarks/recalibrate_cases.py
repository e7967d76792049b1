"""Cases of recalibration: fits by calibrant and by peers, whose maps are compared after each fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import data
import numpy as np
from numpy.typing import NDArray

Call = Callable[[], Any]
Floats = NDArray[np.float64]
Labels = NDArray[Any]
Map = Callable[[Floats], Floats]
Fit = Callable[[], Map]

PROBE = np.concatenate([10.0 ** np.arange(-9, -2), (np.arange(1000) + 0.5) / 1000])  # where maps are compared
BINS = 15
NO_WORSE = 1e-9  # how far our log loss may be above a peer's
# How far apart outputs may be. netcal puts a score on an edge of equal width into the upper bin, we into the
# lower one. Peers that iterate stop early.
AGREES = {
    "histogram": 1e-3,
    "uniform": 1e-2,
    "isotonic": 1e-6,
    "platt": 0.02,
    "temperature": 0.02,
    "beta": 0.02,
    "venn-abers": 1e-12,
}
BY_LIKELIHOOD = ("platt", "temperature", "beta")


def _made(method: str) -> Any:
    from calibrant import recalibrate

    made: dict[str, Callable[[], Any]] = {
        "histogram": lambda: recalibrate.HistogramBinning(BINS),
        "uniform": lambda: recalibrate.HistogramBinning(BINS, strategy="uniform"),
        "isotonic": recalibrate.Isotonic,
        "platt": recalibrate.Platt,
        "temperature": recalibrate.Temperature,
        "beta": recalibrate.Beta,
        "venn-abers": recalibrate.VennAbers,
    }
    return made[method]()


def recalibrator(method: str, name: str, n: int, **_: Any) -> Call:
    """Fit to the caller's arrays, checks included."""
    score, label = data.load(name, n, "int64")
    return lambda: _made(method).fit(score, label).pair_count_


def compressed_tally(name: str, n: int, **_: Any) -> Call:
    from calibrant.metrics.tally import Tally

    score, label = data.load(name, n, "int64")
    return lambda: len(Tally.from_arrays(y_true=label, y_prob=score, exact=False))


def recalibrator_peer(peer: str, method: str, name: str, n: int, **_: Any) -> Call:
    """Fit a peer's map; returns the largest difference of its outputs from ours."""
    score, label = data.load(name, n, "int64")
    fit = PEERS[peer](score, label)
    mine = _made(method).fit(score, label)
    expected = mine.transform(PROBE)
    log_loss = _log_loss(score, label) if method in BY_LIKELIHOOD else None

    def call() -> float:
        found = fit()
        difference = float(np.abs(found(PROBE) - expected).max())
        if not difference <= AGREES[method]:
            raise RuntimeError(f"{peer} differs by {difference}")
        if log_loss is not None and log_loss(mine.transform) > log_loss(found) + NO_WORSE:
            raise RuntimeError(f"the log loss of {peer} is smaller than ours")
        return difference

    return call


def _log_loss(score: Floats, label: Labels) -> Callable[[Map], float]:
    """The mean log loss of a map on the pairs, from their sums on the grid of a tally."""
    from calibrant.metrics.tally import Tally

    tally = Tally.from_arrays(y_true=label, y_prob=score, exact=False)
    inside = np.clip(tally.score, 2.0**-53, 1 - 2.0**-53)
    negatives = tally.weight - tally.weight_positives

    def of(found: Map) -> float:
        p = found(inside)
        return -float(tally.weight_positives @ np.log(p) + negatives @ np.log1p(-p)) / tally.total_weight

    return of


def _log_odds(score: Floats) -> Floats:
    inside = np.clip(score, 2.0**-53, 1 - 2.0**-53)
    log_odds: Floats = np.log(inside) - np.log1p(-inside)
    return log_odds


def sklearn_isotonic(score: Floats, label: Labels) -> Fit:
    from sklearn.isotonic import IsotonicRegression

    return lambda: IsotonicRegression(out_of_bounds="clip").fit(score, label).predict


def sklearn_logistic(score: Floats, label: Labels) -> Fit:
    """On log-odds that are ready."""
    from sklearn.linear_model import LogisticRegression

    column = _log_odds(score)[:, None]

    def fit() -> Map:
        model = LogisticRegression(C=np.inf).fit(column, label)
        return lambda q: model.predict_proba(_log_odds(q)[:, None])[:, 1]

    return fit


def sklearn_sigmoid(score: Floats, label: Labels) -> Fit:
    """Fit the map of CalibratedClassifierCV(method="sigmoid") on ready log-odds."""
    from sklearn.calibration import _SigmoidCalibration

    log_odds = _log_odds(score)

    def fit() -> Map:
        model = _SigmoidCalibration().fit(log_odds, label)
        return lambda q: model.predict(_log_odds(q))

    return fit


def sklearn_temperature(score: Floats, label: Labels) -> Fit:
    """Fit the map of CalibratedClassifierCV(method="temperature") on ready log-odds."""
    from sklearn.calibration import _TemperatureScaling

    half = _log_odds(score) / 2  # it makes logits (-x, x) of them

    def fit() -> Map:
        model = _TemperatureScaling().fit(half, label)
        return lambda q: model.predict(_log_odds(q) / 2)[:, 1]

    return fit


def uncertainty_calibration_platt(score: Floats, label: Labels) -> Fit:
    from calibration.utils import get_platt_scaler

    return lambda: get_platt_scaler(score, label)


def uncertainty_calibration_histogram(score: Floats, label: Labels) -> Fit:
    from calibration import HistogramCalibrator

    def fit() -> Map:
        model = HistogramCalibrator(len(score), BINS)
        model.train_calibration(score, label)
        mapped: Map = model.calibrate
        return mapped

    return fit


def betacal(score: Floats, label: Labels) -> Fit:
    from betacal import BetaCalibration

    return lambda: BetaCalibration("abm").fit(score, label).predict


def netcal_histogram(score: Floats, label: Labels, *, equal_intervals: bool = False) -> Fit:
    from netcal.binning import HistogramBinning

    def fit() -> Map:
        model = HistogramBinning(BINS, equal_intervals=equal_intervals).fit(score, label)
        inner, value = model._bin_bounds[0][1:-1], model._bin_map  # it does not apply bins of equal mass
        return lambda q: value[np.searchsorted(inner, q, side="right")]

    return fit


def netcal_uniform(score: Floats, label: Labels) -> Fit:
    return netcal_histogram(score, label, equal_intervals=True)


def _netcal_scaling(kind: str) -> Callable[[Floats, Labels], Fit]:
    def peer(score: Floats, label: Labels) -> Fit:
        import netcal.scaling

        def fit() -> Map:
            model = getattr(netcal.scaling, kind)()
            model.fit(score, label)
            return lambda q: np.asarray(model.transform(q), np.float64)

        return fit

    return peer


PEERS: dict[str, Callable[[Floats, Labels], Fit]] = {
    "scikit-learn IsotonicRegression": sklearn_isotonic,
    "scikit-learn LogisticRegression": sklearn_logistic,
    "scikit-learn _SigmoidCalibration": sklearn_sigmoid,
    "scikit-learn _TemperatureScaling": sklearn_temperature,
    "uncertainty-calibration PlattCalibrator": uncertainty_calibration_platt,
    "uncertainty-calibration HistogramCalibrator": uncertainty_calibration_histogram,
    "betacal BetaCalibration": betacal,
    "netcal HistogramBinning": netcal_histogram,
    "netcal HistogramBinning, equal width": netcal_uniform,
    "netcal LogisticCalibration": _netcal_scaling("LogisticCalibration"),
    "netcal TemperatureScaling": _netcal_scaling("TemperatureScaling"),
    "netcal BetaCalibration": _netcal_scaling("BetaCalibration"),
}


def venn_abers_of_tally(name: str, n: int, **_: Any) -> Call:
    """Tally and fit; returns the largest and the mean bound that the fit states of its error."""
    from calibrant.recalibrate import VennAbers

    score, label = data.load(name, n, "int64")

    def call() -> list[float]:
        model = VennAbers(exact=False).fit(score, label)
        return [model.grid_error_, model.mean_grid_error_]

    return call


def venn_abers_error(name: str, n: int, **_: Any) -> Call:
    """Return the distance of the fit of a compressed tally from the exact one, relative to its bound."""
    from calibrant.recalibrate import VennAbers

    score, label = data.load(name, n, "int64")

    def call() -> float:
        rough, exact = (VennAbers(exact=asked).fit(score, label) for asked in (False, True))
        pairs = zip(rough.intervals(score), exact.intervals(score), strict=True)
        return max(float(np.abs(one - other).max()) for one, other in pairs) / rough.grid_error_

    return call


def venn_abers(peer: bool, name: str, n: int, **_: Any) -> Call:
    """Exact pairs (p0, p1) of 1,000 scores, fit included; the peer returns the largest difference."""
    from calibrant.recalibrate import VennAbers

    score, label = data.load(name, n, "int64")
    asked = score[:: n // 1000]

    def ours() -> tuple[Floats, Floats]:
        return VennAbers(exact=True).fit(score, label).intervals(asked)

    if not peer:
        return lambda: float(ours()[0][-1])
    from venn_abers import VennAbers as Peer

    both, both_asked = np.column_stack([1 - score, score]), np.column_stack([1 - asked, asked])
    expected = np.column_stack(ours())

    def call() -> float:
        _, found = Peer().fit(both, label).predict_proba(both_asked)
        difference = float(np.abs(found - expected).max())
        if not difference <= AGREES["venn-abers"]:
            raise RuntimeError(f"venn-abers differs by {difference}")
        return difference

    return call


CASES: Sequence[Callable[..., Call]] = (
    recalibrator,
    compressed_tally,
    recalibrator_peer,
    venn_abers_of_tally,
    venn_abers_error,
    venn_abers,
)
