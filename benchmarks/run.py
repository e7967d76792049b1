"""``make bench``: every bar of speed and memory, measured in one run and judged by ratios.

``--quick`` uses 10^6 to 10^7 pairs and leaves the documentation alone; ``--only WORD`` runs the parts whose
name has one of the words, and with ``--update`` puts their rows in the place of those in the
documentation. ``--resume`` goes on with a run that was cut off. The full run needs 6 GB of disk under
``.cache``, 6 GB of memory, and a quiet machine.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import sys
import time
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import chain_parts
import cluster_parts
import coreference_model_parts
import coreference_parts
import engines_parts
import estimation_parts
import event_store_parts
import events_parts
import explorer_parts
import parts
import recalibrate_parts

from calibrant_studies import fill

ROOT = Path(__file__).resolve().parent.parent
PARTS = {
    **parts.PARTS,
    **chain_parts.PARTS,
    **cluster_parts.PARTS,
    **coreference_parts.PARTS,
    **events_parts.PARTS,
    **explorer_parts.PARTS,
    **event_store_parts.PARTS,
    **estimation_parts.PARTS,
    **engines_parts.PARTS,
    **coreference_model_parts.PARTS,
    **recalibrate_parts.PARTS,
}
KEPT = ROOT / ".cache" / "benchmarks-run.json"  # the rows of each part that is through
PEERS = (
    "scikit-learn",
    "model-diagnostics",
    "uncertainty-calibration",
    "mapie",
    "python-crfsuite",
    "hmmlearn",
    "betacal",
    "venn-abers",
)
WHERE_INSTALLED = ("netcal", "torch", "networkx")
PACKAGES = ("calibrant", "numpy", "numba", "pyarrow", *PEERS)


def machine() -> dict[str, Any]:
    model = platform.processor() or platform.machine()
    information = Path("/proc/cpuinfo")
    if information.exists():
        lines = [line for line in information.read_text().splitlines() if line.startswith("model name")]
        model = lines[0].split(":", 1)[1].strip() if lines else model
    return {
        "processor": model,
        "processors": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "python": platform.python_version(),
        "load_before": round(os.getloadavg()[0], 2),
        "versions": {name: version(name) for name in (*PACKAGES, *filter(find_spec, WHERE_INSTALLED))},
    }


def show(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        print("  ".join(str(value) for value in row.values()), flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="10^6 to 10^7 pairs, nothing written to docs/")
    parser.add_argument("--only", action="append", metavar="WORD", help=f"among {', '.join(PARTS)}; repeats")
    parser.add_argument("--update", action="store_true", help="with --only: write these parts to docs/ too")
    parser.add_argument("--resume", action="store_true", help="go on with a run that was cut off")
    options = parser.parse_args()
    chosen = [name for name in PARTS if not options.only or any(word in name for word in options.only)]
    scale = parts.QUICK if options.quick else parts.FULL
    record: dict[str, Any] = {
        "date": datetime.date.today().isoformat(),
        "machine": machine(),
        "scale": vars(scale),
    }
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if options.resume and KEPT.exists() else {}
    for name in chosen:
        print(f"# {name}{' (kept)' if name in kept else ''}", flush=True)
        if name not in kept:
            start = time.perf_counter()
            bars, timings = PARTS[name](scale)
            kept[name] = {"bars": [bar.row() for bar in bars], "timings": timings}
            kept[name]["seconds"] = time.perf_counter() - start
            KEPT.parent.mkdir(exist_ok=True)
            KEPT.write_text(json.dumps(kept), encoding="utf-8")
            show([*kept[name]["timings"], *kept[name]["bars"]])
    record["wall_seconds"] = round(sum(kept[name]["seconds"] for name in chosen))
    about = {"parts": ", ".join(chosen), **_flat(record)}
    tables = {table: [row for name in chosen for row in kept[name][table]] for table in ("bars", "timings")}
    record["tables"] = {**tables, "machine": [about]}
    met = [row["met"] for row in tables["bars"] if row["met"] != "not run"]
    print(f"{met.count('yes')} of {len(met)} bars met", end="")
    print(f", {len(tables['bars']) - len(met)} not run" if len(met) < len(tables["bars"]) else "")
    published = not options.quick and (not options.only or options.update)
    target = ROOT / ("docs/benchmarks.json" if published else ".cache/benchmarks-part.json")
    if published and options.only:
        record = updated(json.loads(target.read_text(encoding="utf-8")), record)
    target.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    if published:
        page = ROOT / "docs" / "benchmarks.md"
        page.write_text(fill(page.read_text(encoding="utf-8"), record), encoding="utf-8")
    print(f"written: {target.relative_to(ROOT)}")
    return 0


def updated(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """The old record with the rows of a run of some parts in the place of those of the same name."""
    tables = {}
    for table, keys in (
        ("bars", ("bar",)),
        ("timings", ("what", "pairs", "threads")),
        ("machine", ("parts",)),
    ):
        rows = {tuple(row.get(key) for key in keys): row for row in old["tables"][table]}
        tables[table] = list(
            (rows | {tuple(row[key] for key in keys): row for row in new["tables"][table]}).values()
        )
    return {**old, "tables": tables}


def _flat(record: dict[str, Any]) -> dict[str, Any]:
    about = record["machine"]
    return {
        "date": record["date"],
        "machine": f"{about['processor']}, {about['processors']} processors, {about['memory_gib']} GiB",
        "versions": ", ".join(f"{name} {number}" for name, number in about["versions"].items()),
        "Python": about["python"],
        "load before": about["load_before"],
        "seconds": record["wall_seconds"],
    }


if __name__ == "__main__":
    sys.exit(main())
