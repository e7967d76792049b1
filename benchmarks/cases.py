"""Timed cases. Each case runs in a fresh process: ``python benchmarks/cases.py '{"case": ..., ...}'``.

A case is a function that prepares its input and returns the call to be timed. The process prints one
line of JSON: seconds of each call, memory beyond the input, and what the call returned.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
import chain_cases
import cluster_cases
import coreference_cases
import coreference_model_cases
import data
import engines_cases
import estimation_cases
import event_store_cases
import events_cases
import recalibrate_cases

Call = Callable[[], Any]
CASES: dict[str, Callable[..., Call]] = {}
MORE = (
    *chain_cases.CASES,
    *cluster_cases.CASES,
    *coreference_cases.CASES,
    *engines_cases.CASES,
    *estimation_cases.CASES,
    *event_store_cases.CASES,
    *events_cases.CASES,
    *coreference_model_cases.CASES,
    *recalibrate_cases.CASES,
)


def case(make: Callable[..., Call]) -> Callable[..., Call]:
    CASES[make.__name__] = make
    return make


@case
def read(name: str, n: int, label: str, **_: Any) -> Call:
    score, y = data.load(name, n, label)
    return lambda: float(score.sum()) + float(y.sum())


@case
def sort(name: str, n: int, **_: Any) -> Call:
    score, _y = data.load(name, n)
    return lambda: float(np.sort(score)[n // 2])


@case
def adaptive(name: str, n: int, label: str, bins: int, threads: int) -> Call:
    """Exact adaptive bins from the caller's arrays, checks included, and RMS, ECE and Brier from them."""
    from calibrant.metrics import adaptive_bins, plug_in_errors

    score, y = data.load(name, n, label)

    def call() -> list[float]:
        found = adaptive_bins(y, score, size=n // bins, threads=threads)
        errors = plug_in_errors(found)
        square = found.sum_score2.sum() - 2 * found.sum_score_positive.sum() + found.positives.sum()
        return [
            found.used,
            errors.plug_in_calibration_error,
            errors.expected_calibration_error,
            float(square / found.n.sum()),
        ]

    return call


@case
def exact_log_loss(name: str, n: int, label: str, threads: int, **_: Any) -> Call:
    from calibrant.metrics.proper_scores import log_loss

    score, y = data.load(name, n, label)
    return lambda: log_loss(y, score)


@case
def peer_sklearn(name: str, n: int, **_: Any) -> Call:
    from sklearn.calibration import calibration_curve

    score, y = data.load(name, n, "int64")
    return lambda: float(
        np.abs(np.subtract(*calibration_curve(y, score, n_bins=15, strategy="quantile"))).mean()
    )


@case
def peer_uncertainty_calibration(name: str, n: int, **_: Any) -> Call:
    from calibration import get_ece_em

    score, y = data.load(name, n, "int64")
    return lambda: float(get_ece_em(score, y, num_bins=15, mode="marginal"))


@case
def peer_model_diagnostics(name: str, n: int, **_: Any) -> Call:
    from model_diagnostics.calibration import compute_bias

    score, y = data.load(name, n, "int64")
    return lambda: len(compute_bias(y, score, feature=score, n_bins=15, bin_method="quantile"))


@case
def peer_mapie(name: str, n: int, **_: Any) -> Call:
    from mapie.metrics.calibration import expected_calibration_error

    score, y = data.load(name, n, "int64")  # num_bins edges make one bin fewer
    return lambda: float(expected_calibration_error(y, score, num_bins=16, split_strategy="quantile"))


@case
def clustered_tally(name: str, n: int, clusters: int, threads: int, **_: Any) -> Call:
    from calibrant.metrics.tally import Tally

    score, y = data.load(name, n)
    cluster = _clusters(n, clusters)
    return lambda: len(
        Tally.from_arrays(y_true=y, y_prob=score, clusters=cluster, exact=False, threads=threads)
    )


@case
def default_interval(name: str, n: int, clusters: int, **_: Any) -> Call:
    from calibrant.metrics.intervals import calibration_error

    score, y = data.load(name, n)
    cluster = _clusters(n, clusters)

    def call() -> list[float | None]:
        found = calibration_error(y, score, clusters=cluster)
        return [found.low, found.high]

    return call


@case
def normals(bins: int, samples: int, **_: Any) -> Call:
    rng = np.random.default_rng(data.SEED)
    return lambda: float(rng.standard_normal((samples, bins))[0, 0])


@case
def algorithm_2(bins: int, samples: int, **_: Any) -> Call:
    from calibrant.metrics import pairs
    from calibrant.metrics.binning import adaptive as adaptive_of
    from calibrant.metrics.intervals import error_interval

    score, y = data.beta(200 * bins)
    found = adaptive_of(pairs(y, score), size=200)

    def call() -> list[float | None]:
        interval = error_interval(found, method="sampling", samples=samples, seed=data.SEED)
        return [interval.low, interval.high]

    return call


def _clusters(n: int, count: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.random.default_rng(data.SEED + 1).integers(0, count, n)


def _give_back_memory() -> None:
    """Return freed memory to the system, so that the memory of the next call is measured."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def _memory(key: str) -> int:
    """A line of /proc/self/status in bytes; 0 if it is missing."""
    status = Path("/proc/self/status")
    if not status.exists():
        return 0
    line = next(line for line in status.read_text().splitlines() if line.startswith(key))
    return int(line.split()[1]) * 1024


def measure(call: Call, repeats: int, *, warm: bool = True) -> dict[str, Any]:
    """Time the calls after one that warms up, and the most memory beyond what was in use before them."""
    result = call() if warm else None
    gc.collect()
    _give_back_memory()
    peak_can_be_reset = Path("/proc/self/clear_refs").exists()
    if peak_can_be_reset:
        Path("/proc/self/clear_refs").write_text("5")
    before = _memory("VmRSS")
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = call()
        seconds.append(time.perf_counter() - start)
    extra = _memory("VmHWM") - before if peak_can_be_reset else None
    return {"seconds": seconds, "extra_bytes": extra, "result": result}


def main() -> None:
    arguments = json.loads(sys.argv[1])
    warnings.simplefilter("ignore")
    repeats, warm = arguments.pop("repeats"), arguments.pop("warm", True)
    CASES.update({make.__name__: make for make in MORE})
    make = CASES[arguments.pop("case")]
    print(json.dumps(measure(make(**arguments), repeats, warm=warm)))


if __name__ == "__main__":
    main()
