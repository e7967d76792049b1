"""The bars of recalibration: fits against the peers' fits, Venn-Abers, `calibrant apply`."""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import data
from parts import COMMAND, MIB, THREADS, Bar, Found, Row, Scale, _ratio, _timing
from processes import Timing, run_case, run_command
from recalibrate_cases import AGREES

PAIRS = ("beta", "skewed")
NETCAL = "netcal"
# Method, what it is called, how many times as long a peer takes at least, and the peers. Cuts of equal mass
# in heavy ties are an error in netcal, so that skewed pairs are cut into bins of equal width.
FITS: dict[str, tuple[tuple[str, str, float, tuple[str, ...]], ...]] = {
    "beta": (("histogram", "histogram binning, equal mass", 5, ("netcal HistogramBinning",)),),
    "skewed": (("uniform", "histogram binning, equal width", 5, ("netcal HistogramBinning, equal width",)),),
}
BOTH = (
    ("isotonic", "isotonic", 10, ("scikit-learn IsotonicRegression",)),
    (
        "platt",
        "Platt",
        10,
        (
            "scikit-learn LogisticRegression",
            "scikit-learn _SigmoidCalibration",
            "uncertainty-calibration PlattCalibrator",
            "netcal LogisticCalibration",
        ),
    ),
    (
        "temperature",
        "temperature",
        10,
        ("scikit-learn _TemperatureScaling", "netcal TemperatureScaling"),
    ),
    ("beta", "beta calibration", 10, ("betacal BetaCalibration", "netcal BetaCalibration")),
)
SLOW = "uncertainty-calibration HistogramCalibrator"  # a Python loop: fitted to a tenth of the pairs
APPLIED = ("isotonic", "platt")
GROUPED = "isotonic, a map for each of 5 groups of 300 classes"
CLASSES = 300


def _installed(peer: str) -> bool:
    return not peer.startswith(NETCAL) or find_spec(NETCAL) is not None


def recalibrate(scale: Scale) -> Found:
    """Fits of every method from arrays against those of every peer that is installed."""
    n = scale.peer_pairs
    bars: list[Bar] = []
    rows: list[Row] = []
    if not _installed(NETCAL):
        print("netcal is not installed: its bars are not run (make bench TORCH=1)", flush=True)
    for name in PAIRS:
        data.prepare(name, n)
        rows += [
            _timing(
                f"{name}: compressed tally",
                n,
                threads,
                run_case("compressed_tally", name=name, n=n, threads=threads, repeats=scale.repeats),
            )
            for threads in THREADS
        ]
        for method, text, more, peers in (*FITS[name], *BOTH):
            new_bars, new_rows = _fits(scale, name, method, text, more, peers)
            bars += new_bars
            rows += new_rows
    data.prepare("beta", n // 10)
    rows += [
        _timing(
            f"beta: histogram binning, equal mass, {SLOW}",
            n // 10,
            threads,
            _peer(SLOW, "histogram", "beta", n // 10, threads),
        )
        for threads in THREADS
    ]
    return bars, rows


def _peer(peer: str, method: str, name: str, n: int, threads: int) -> Timing:
    """Peers take seconds: they are called once, in a process that has not called them before."""
    case: dict[str, Any] = {"peer": peer, "method": method, "name": name, "n": n}
    return run_case("recalibrator_peer", threads=threads, repeats=1, warm=False, **case)


def _fits(scale: Scale, name: str, method: str, text: str, more: float, peers: tuple[str, ...]) -> Found:
    """One method on one kind of pairs."""
    n = scale.peer_pairs
    rows: list[Row] = []
    ratios: list[float | None] = []
    differences: dict[str, list[float]] = {peer: [] for peer in peers if _installed(peer)}
    for threads in THREADS:
        common: dict[str, Any] = {"name": name, "n": n, "threads": threads}
        mine = run_case("recalibrator", method=method, repeats=2 * scale.repeats + 1, **common)
        rows.append(_timing(f"{name}: {text}, calibrant", n, threads, mine))
        found: list[float] = []
        for peer, difference in differences.items():
            timing = _peer(peer, method, name, n, threads)
            rows.append(_timing(f"{name}: {text}, {peer}", n, threads, timing))
            found.append(timing.seconds)
            difference.append(timing.result)
        ratios.append(min(found) / mine.seconds if found else None)
    who = peers[0].split()[0] if len(peers) == 1 else "fastest peer"
    what = f"{name}, {n:,} pairs, {text}"
    bars = [Bar(f"{what}: {who} / ours", more, "x", *ratios, least=True)]
    bars += [
        Bar(f"{what}: largest difference from {peer}", AGREES[method], "", *found)
        for peer, found in differences.items()
    ]
    return bars, rows


def venn_abers(scale: Scale) -> Found:
    """Venn-Abers from a compressed tally and the error it states; exact fits against the peer."""
    n, few = scale.peer_pairs, scale.clustered_pairs
    bars: list[Bar] = []
    rows: list[Row] = []
    for name in PAIRS:
        for size in (n, few):
            data.prepare(name, size)
        fits: list[Timing] = []
        tallies: list[float] = []
        shares: list[float] = []
        for threads in THREADS:
            common: dict[str, Any] = {"name": name, "threads": threads}
            tallied = run_case("compressed_tally", n=n, repeats=scale.repeats, **common)
            fitted = run_case("venn_abers_of_tally", n=n, repeats=scale.repeats, **common)
            rows.append(_timing(f"{name}: Venn-Abers, tally included", n, threads, fitted))
            fits.append(fitted)
            tallies.append(tallied.seconds)
            error = run_case("venn_abers_error", n=few, repeats=1, warm=False, **common)
            shares.append(error.result)
        text = f"{name}, {n:,} pairs, Venn-Abers of a compressed tally"
        bars += [
            _ratio(f"{text}: time / tally", 2, fits, tallies),
            Bar(f"{text}: largest error, as it states", 0.1, "", *(fit.result[0] for fit in fits)),
            Bar(f"{text}: mean error, as it states", 0.01, "", *(fit.result[1] for fit in fits)),
            Bar(f"{name}, {few:,} pairs, Venn-Abers: its error / what it states", 1, "x", *shares),
        ]
    more_bars, more_rows = _exact_venn_abers()
    return bars + more_bars, rows + more_rows


def _exact_venn_abers() -> Found:
    """Fits and pairs of 1,000 scores; the peer's time grows with the square of the pairs."""
    rows: list[Row] = []
    bars: list[Bar] = []
    for n in (10_000, 100_000):
        data.prepare("beta", n)
        ratios, differences = [], []
        for threads in THREADS:
            common: dict[str, Any] = {"name": "beta", "n": n, "threads": threads}
            mine = run_case("venn_abers", peer=False, **common)
            theirs = run_case("venn_abers", peer=True, repeats=1, warm=False, **common)
            rows += [
                _timing("beta: Venn-Abers, exact, calibrant", n, threads, mine),
                _timing("beta: Venn-Abers, exact, venn-abers", n, threads, theirs),
            ]
            ratios.append(theirs.seconds / mine.seconds)
            differences.append(theirs.result)
        bars += [
            Bar(f"beta, {n:,} pairs, exact Venn-Abers: venn-abers / ours", 10, "x", *ratios, least=True),
            Bar(f"beta, {n:,} pairs, exact Venn-Abers: largest difference", 1e-12, "", *differences),
        ]
    return bars, rows


REWRITE = """
import json, sys, time
import pyarrow.parquet as pq
start = time.perf_counter()
table = pq.read_table(sys.argv[1])
repeated = [name for name in table.column_names if name != "score"]
pq.write_table(table, sys.argv[2], compression="zstd", use_dictionary=repeated)
print(json.dumps(time.perf_counter() - start))
"""


def apply(scale: Scale) -> Found:
    """The command on a Parquet file, start to end, against reading and writing it (imports left out)."""
    n = scale.rows
    for rows_made in (n, scale.clustered_pairs):
        data.aside(data.prepare, "beta", rows_made)
    path, labelled = (data.aside(data.table, "beta", made) for made in (n, scale.clustered_pairs))
    bars: list[Bar] = []
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(dir=data.FOLDER) as folder:
        output = Path(folder) / "out.parquet"
        with_classes = [
            data.aside(_with_classes, table, Path(folder) / f"{table.stem}.tags.parquet")
            for table in (path, labelled)
        ]
        cases = [(method, path, labelled, ["--method", method]) for method in APPLIED]
        cases.append((GROUPED, with_classes[0], with_classes[1], ["--group", "frequency"]))
        for called, table, dev, options in cases:
            model = str(Path(folder) / "model.json")
            run_command([COMMAND, "fit", str(dev), "-o", model, *options], threads=2, repeats=1)
            copies, found = [], []
            for threads in THREADS:
                copying = [
                    run_command(
                        [sys.executable, "-c", REWRITE, str(table), str(output)], threads=threads, repeats=1
                    )
                    for _ in range(3)
                ]
                copies.append(statistics.median(json.loads(timing.result) for timing in copying))
                command = [COMMAND, "apply", model, str(table), "-o", str(output), "--json"]
                found.append(run_command(command, threads=threads, repeats=2))
                rows += [
                    _timing(
                        f"pyarrow reads and writes what apply does, {called} (process)",
                        n,
                        threads,
                        copying[1],
                    ),
                    _timing(f"calibrant apply, {called}", n, threads, found[-1]),
                ]
            text = f"apply, {n:,} rows of Parquet, {called}"
            bars += [
                _ratio(f"{text}: time / reading and writing", 2, found, copies),
                Bar(f"{text}: peak memory", 1024, "MiB", *[(each.memory or 0) / MIB for each in found]),
            ]
    return bars, rows


def _with_classes(source: Path, target: Path) -> Path:
    """The same table with a column of classes, a few of them frequent and most of them rare."""
    import numpy as np
    import pyarrow as pa
    from pyarrow import parquet as pq

    table = pq.read_table(source)
    code = np.minimum(np.random.default_rng(0).zipf(1.5, len(table)) - 1, CLASSES - 1).astype(np.int32)
    names = pa.DictionaryArray.from_arrays(pa.array(code), pa.array([f"T{k:03d}" for k in range(CLASSES)]))
    pq.write_table(table.append_column("class", names), target)
    return target


PARTS: dict[str, Callable[[Scale], Found]] = {
    "recalibrate": recalibrate,
    "recalibrate_venn_abers": venn_abers,
    "recalibrate_apply": apply,
}
