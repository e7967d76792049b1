"""The bars: what is measured, against what, and the limit."""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import data
from limits import limit_of
from processes import Timing, run_case, run_command

MIB = 1 << 20
THREADS = (1, 2)
COMMAND = str(Path(sys.executable).with_name("calibrant"))
Row = dict[str, Any]
Found = tuple[list["Bar"], list[Row]]


@dataclass(frozen=True)
class Scale:
    """How many pairs each part is measured on."""

    pairs: int
    peer_pairs: int
    clustered_pairs: int
    clusters: int
    rows: int
    repeats: int


FULL = Scale(10**8, 10**7, 10**6, 10**4, 10**8, 3)
QUICK = Scale(10**7, 10**6, 10**6, 10**4, 2 * 10**7, 3)


@dataclass(frozen=True)
class Bar:
    """A limit and what was measured at one thread and at two; ``least`` turns the limit round."""

    text: str
    limit: float
    unit: str
    one: float | None
    two: float | None
    least: bool = field(default=False, kw_only=True)

    def meets(self, value: float | None) -> bool:
        return value is None or (value >= self.limit if self.least else value <= self.limit)

    @property
    def measured(self) -> bool:
        return self.one is not None or self.two is not None

    @property
    def passed(self) -> bool:
        return self.meets(self.one) and self.meets(self.two)

    def row(self) -> Row:
        sign = "≥" if self.least else "≤"

        def shown(value: float | None) -> str:
            return "–" if value is None else f"{_digits(value)}{'' if self.meets(value) else ' (missed)'}"

        return {
            "bar": self.text,
            "limit": f"{sign} {self.limit:g} {self.unit}",
            "one thread": shown(self.one),
            "two threads": shown(self.two),
            "met": ("yes" if self.passed else "no") if self.measured else "not run",
            "limited by": limit_of(self.text),
        }


def _digits(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _timing(what: str, n: int, threads: int, timing: Timing) -> Row:
    return {
        "what": what,
        "pairs": n,
        "threads": threads,
        "seconds": float(f"{timing.seconds:.4g}"),
        "fastest": float(f"{timing.fastest:.4g}"),
        "memory, MiB": None if timing.memory is None else round(timing.memory / MIB, 1),
    }


def exact(scale: Scale) -> Found:
    """Exact adaptive bins, RMS, ECE and Brier of pairs in memory against one sort and one read."""
    bars, rows = [], []
    n, repeats = scale.pairs, scale.repeats
    for name, labels in (("beta", ("int64", "bool")), ("skewed", ("bool",))):
        data.prepare(name, n)
        timings: dict[tuple[str, int], Timing] = {}
        for threads in THREADS:
            common: dict[str, Any] = {"name": name, "n": n, "threads": threads, "repeats": repeats}
            timings["sort", threads] = run_case("sort", **common)
            for label in labels:
                timings[f"read, {label}", threads] = run_case("read", label=label, **common)
                for bins in (15, 1_000, 20_000):
                    key = f"{bins:,} bins, {label}"
                    timings[key, threads] = run_case("adaptive", label=label, bins=bins, **common)
        rows += [_timing(f"{name}: {key}", n, threads, t) for (key, threads), t in timings.items()]
        for label in labels:
            for bins, of_sort, memory in ((15, 0.5, 64), (1_000, 0.5, 64), (20_000, 0.8, 256)):
                key = f"{bins:,} bins, {label}"
                ours = [timings[key, threads] for threads in THREADS]
                # NumPy sorts and sums on one thread: the better of the two processes is the reference.
                sort = 2 * [min(timings["sort", threads].seconds for threads in THREADS)]
                read = 2 * [min(timings[f"read, {label}", threads].seconds for threads in THREADS)]
                text = f"{name}, {label} labels, {bins:,} bins"
                bars.append(_ratio(f"{text}: time / np.sort", of_sort, ours, sort))
                if bins < 20_000:
                    bars.append(_ratio(f"{text}: time / read pass", 6, ours, read))
                extra = [(t.memory or 0) / MIB for t in ours]
                bars.append(Bar(f"{text}: extra memory", memory, "MiB", *extra))
    return bars, rows


def _ratio(text: str, limit: float, ours: list[Timing], theirs: list[float]) -> Bar:
    return Bar(text, limit, "x", *(t.seconds / other for t, other in zip(ours, theirs, strict=True)))


def log_loss(scale: Scale) -> Found:
    """The exact log loss, which has no bar: it needs a logarithm a pair."""
    data.prepare("beta", scale.pairs)
    common: dict[str, Any] = {"name": "beta", "n": scale.pairs, "label": "bool", "repeats": scale.repeats}
    rows = [
        _timing(
            "beta: exact log loss",
            scale.pairs,
            threads,
            run_case("exact_log_loss", threads=threads, **common),
        )
        for threads in THREADS
    ]
    return [], rows


PEERS = {
    "scikit-learn calibration_curve, quantile": "peer_sklearn",
    "uncertainty-calibration get_ece_em": "peer_uncertainty_calibration",
    "model-diagnostics compute_bias, quantile": "peer_model_diagnostics",
    "MAPIE expected_calibration_error, quantile": "peer_mapie",
}


def peers(scale: Scale) -> Found:
    """15 bins of equal mass against every peer that makes them."""
    n = scale.peer_pairs
    data.prepare("beta", n)
    rows: list[Row] = []
    fastest = []
    ours = []
    for threads in THREADS:
        common: dict[str, Any] = {"name": "beta", "n": n, "threads": threads}
        mine = run_case("adaptive", label="int64", bins=15, repeats=2 * scale.repeats + 1, **common)
        ours.append(mine)
        rows.append(_timing("calibrant, 15 bins of equal mass", n, threads, mine))
        theirs = {text: run_case(name, repeats=3, **common) for text, name in PEERS.items()}
        rows += [_timing(text, n, threads, timing) for text, timing in theirs.items()]
        fastest.append(min(timing.seconds for timing in theirs.values()))
    ratio = [peer / mine.seconds for peer, mine in zip(fastest, ours, strict=True)]
    return [
        Bar(f"{n:,} pairs, 15 bins of equal mass: fastest peer / ours", 20, "x", *ratio, least=True)
    ], rows


def interval(scale: Scale) -> Found:
    """The default interval with clusters against one tally of the same pairs."""
    n = scale.clustered_pairs
    data.prepare("beta", n)
    rows, ours, tally = [], [], []
    for threads in THREADS:
        common: dict[str, Any] = {
            "name": "beta",
            "n": n,
            "clusters": scale.clusters,
            "threads": threads,
            "repeats": scale.repeats,
        }
        tallied = run_case("clustered_tally", **common)
        mine = run_case("default_interval", **common)
        rows += [
            _timing(f"tally of {scale.clusters:,} clusters", n, threads, tallied),
            _timing("default interval", n, threads, mine),
        ]
        ours.append(mine)
        tally.append(tallied.seconds)
    return [_ratio(f"default interval, {scale.clusters:,} clusters: time / tally", 20, ours, tally)], rows


def sampling(scale: Scale) -> Found:
    """Algorithm 2 with 10,000 samples on 1,000 bins against drawing its normals."""
    rows, ours, normals = [], [], []
    for threads in THREADS:
        common = {"bins": 1_000, "samples": 10_000, "threads": threads, "repeats": scale.repeats}
        drawn, mine = run_case("normals", **common), run_case("algorithm_2", **common)
        rows += [
            _timing("10,000 x 1,000 normals", 10_000_000, threads, drawn),
            _timing("Algorithm 2", 200_000, threads, mine),
        ]
        ours.append(mine)
        normals.append(drawn.seconds)
    return [
        _ratio("Algorithm 2, 10,000 samples, 1,000 bins: time / drawing the normals", 3, ours, normals)
    ], rows


READ = """
import json, sys, time
import pyarrow.parquet as pq
start = time.perf_counter()
table = pq.read_table(sys.argv[1], columns=["score", "label"])
print(json.dumps(time.perf_counter() - start))
"""


def parquet(scale: Scale) -> Found:
    """The command on a Parquet file, start to end, against reading its two columns (imports left out)."""
    n = scale.rows
    data.aside(data.prepare, "beta", n)
    path = str(data.aside(data.table, "beta", n))
    rows: list[Row] = []
    reads: list[float] = []
    times: dict[str, list[Timing]] = {"--compressed": [], "--exact": []}
    for threads in THREADS:
        reading = [
            run_command([sys.executable, "-c", READ, path], threads=threads, repeats=1) for _ in range(3)
        ]
        reads.append(statistics.median(json.loads(timing.result) for timing in reading))
        rows.append(_timing("pyarrow reads two columns (process)", n, threads, reading[1]))
        for option, found in times.items():
            arguments = [COMMAND, "measure", path, "--json", *(["--exact"] if option == "--exact" else [])]
            found.append(run_command(arguments, threads=threads, repeats=3))
            rows.append(_timing(f"calibrant measure {option}", n, threads, found[-1]))
    peak = [(timing.memory or 0) / MIB for timing in times["--compressed"]]
    return [
        _ratio(
            f"measure, {n:,} rows of Parquet, compressed: time / reading", 2, times["--compressed"], reads
        ),
        Bar(f"measure, {n:,} rows of Parquet, compressed: peak memory", 1024, "MiB", *peak),
        _ratio(f"measure --exact, {n:,} rows of Parquet: time / reading", 4, times["--exact"], reads),
    ], rows


def clustered(scale: Scale) -> Found:
    """The command on a Parquet file whose clusters have ten rows, against the same rows without clusters."""
    n = scale.pairs // 10
    data.aside(data.prepare, "beta", n)
    rows: list[Row] = []
    alone: list[Timing] = []
    found: list[Timing] = []
    for threads in THREADS:
        for what, times, clusters in (("", alone, 0), (f" in {n // 10:,} clusters", found, n // 10)):
            path = str(data.aside(data.table, "beta", n, clusters))
            times.append(run_command([COMMAND, "measure", path, "--json"], threads=threads, repeats=3))
            rows.append(_timing(f"calibrant measure, rows of Parquet{what}", n, threads, times[-1]))
    what = f"measure, {n:,} rows of Parquet in {n // 10:,} clusters"
    return [
        _ratio(f"{what}: time / without clusters", 3, found, [timing.seconds for timing in alone]),
        Bar(f"{what}: peak memory", 1200, "MiB", *((timing.memory or 0) / MIB for timing in found)),
    ], rows


IMPORTS = "import numpy, pyarrow.csv, scipy.special, numba"


def start(scale: Scale) -> Found:
    """The import and the help against a bare interpreter; small tables against importing libraries."""
    table = data.small_csv()
    page = str(table.with_suffix(".html"))
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "python -c 'import calibrant'": [sys.executable, "-c", "import calibrant"],
        "calibrant --help": [COMMAND, "--help"],
        f"python -c '{IMPORTS}'": [sys.executable, "-c", IMPORTS],
        "calibrant measure, 2,000 rows of CSV": [COMMAND, "measure", str(table)],
        "calibrant report, 2,000 rows of CSV": [COMMAND, "report", str(table), "-o", page],
    }
    rows, beyond, times = [], [], []
    for threads in THREADS:
        found = {
            text: run_command(command, threads=threads, repeats=11) for text, command in commands.items()
        }
        # A forked child's peak includes what its parent held: of no use for processes this small.
        rows += [_timing(text, 0, threads, replace(timing, memory=None)) for text, timing in found.items()]
        bare, library, help_page, imports, *small = (timing.seconds for timing in found.values())
        beyond.append([library - bare, help_page - bare])
        times.append([seconds / imports for seconds in small])
    against = "importing numpy, pyarrow.csv, scipy.special and numba"
    return [
        Bar("import calibrant, beyond a bare interpreter", 0.2, "s", *(b[0] for b in beyond)),
        Bar("calibrant --help, beyond a bare interpreter", 0.25, "s", *(b[1] for b in beyond)),
        Bar(f"measure 2,000 rows of CSV / {against}", 1.0, "x", *(t[0] for t in times)),
        Bar(f"report on 2,000 rows of CSV / {against}", 3.0, "x", *(t[1] for t in times)),
    ], rows


def first_call(scale: Scale) -> Found:
    """The first real call with an empty cache of compiled kernels, and the second."""
    data.prepare("beta", 10_000)
    path = str(data.table("beta", 10_000))
    with tempfile.TemporaryDirectory() as cache:
        command = ["bash", "-c", f"{COMMAND} measure {path} 2>&1 >/dev/null | grep -c compiling || true"]
        both = [run_command(command, threads=2, repeats=1, NUMBA_CACHE_DIR=cache) for _ in range(2)]
    said = [int(timing.result) for timing in both]
    rows = [
        _timing(f"calibrant measure, {text} call", 10_000, 2, t)
        for text, t in zip(("first", "next"), both, strict=True)
    ]
    bars = [
        Bar("first call after an install: notices that it compiles", 1, "notice", float(said[0]), None),
        Bar("next call: notices that it compiles", 0, "notices", float(said[1]), None),
    ]
    return bars, rows


PARTS: dict[str, Callable[[Scale], Found]] = {
    "exact": exact,
    "log_loss": log_loss,
    "peers": peers,
    "interval": interval,
    "sampling": sampling,
    "parquet": parquet,
    "clustered": clustered,
    "start": start,
    "first_call": first_call,
}
