"""The bars of coreference posteriors: exact pairs against samples, and samples against NetworkX."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

import coreference_data
from parts import MIB, THREADS, Bar, Found, Row, Scale, _timing
from processes import run_case

SAMPLES, PEER_SAMPLES = 1_000, 50


def coreference(scale: Scale) -> Found:
    """The pair matrix of a document, by the recursion, by our samples, and by samples with NetworkX."""
    if not coreference_data.available():
        print("skipped: CALIBRANT_DATA names no folder with litbank-coref", flush=True)
        return [], []
    n = coreference_data.MENTIONS
    pairs = n * (n - 1) // 2
    coreference_data.posterior()
    rows: list[Row] = []
    ratios: dict[str, list[float]] = {"exact": [], "networkx": []}
    memory: list[float] = []
    for threads in THREADS:
        repeats = 4 * scale.repeats + 1
        exact = run_case("pair_matrix", threads=threads, repeats=repeats)
        ours = run_case("pair_samples", threads=threads, repeats=repeats, samples=SAMPLES)
        best = run_case("best_clustering", threads=threads, repeats=scale.repeats)
        long = run_case("long_tally", threads=threads, repeats=scale.repeats)
        rows += [
            _timing(f"{n} mentions: exact pair matrix", pairs, threads, exact),
            _timing(f"{n} mentions: pairs of {SAMPLES:,} samples", pairs, threads, ours),
            _timing(f"{n} mentions: best clustering", pairs, threads, best),
            _timing(
                f"2,832 mentions, exact pairs within {coreference_data.WINDOW}: tallied",
                long.result,
                threads,
                long,
            ),
        ]
        ratios["exact"].append(exact.seconds / ours.seconds)
        memory.append((long.memory or 0) / MIB)
        if find_spec("networkx"):
            peer = run_case("networkx_samples", threads=threads, repeats=3, samples=PEER_SAMPLES)
            rows.append(
                _timing(f"{n} mentions: pairs of {PEER_SAMPLES} samples, NetworkX", pairs, threads, peer)
            )
            ratios["networkx"].append(peer.seconds * SAMPLES / PEER_SAMPLES / ours.seconds)
    text = f"{n} mentions"
    peers: list[float | None] = [*ratios["networkx"]] or [None, None]
    return [
        Bar(f"{text}: exact pair matrix: time / pairs of {SAMPLES:,} samples", 0.2, "x", *ratios["exact"]),
        Bar(f"{text}: samples with pairs counted: NetworkX / ours", 50, "x", *peers, least=True),
        Bar("2,832 mentions, exact pairs tallied: extra memory", 64, "MiB", *memory),
    ], rows


PARTS: dict[str, Callable[[Scale], Found]] = {"coreference": coreference}
