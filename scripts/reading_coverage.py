"""Coverage of counts that readings correct, on simulated stores whose truth is known.

Writes docs/studies/reading_coverage.md. `python scripts/reading_coverage.py 400` draws 400 samples per cell.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa

from calibrant.events.files.store import EventStore, StoredCount, StoredDocument
from calibrant.events.files.store_writing import StoreWriter
from calibrant.events.results.corrected import CorrectedPeriod
from calibrant.events.verbs.reading import corrected_events, sample_readings
from calibrant.metrics.periods import By, period_of

PAGE = Path(__file__).parents[1] / "docs" / "studies" / "reading_coverage.md"
SAMPLES = 100  # of entities per document
YEARS = 4
# Documents, proportion that the model may count, proportion of other documents that count all the same,
# and the shift of the true log-odds from the model's.
STORES = {
    "few errors": (2000, 0.3, 0.002, 0.0),
    "overconfident": (2000, 0.3, 0.01, -1.0),
    "many missed": (2000, 0.2, 0.05, 0.5),
    "rare": (4000, 0.05, 0.005, -0.5),
}
READINGS = (100, 200, 400)
TITLE = """# Coverage of counts corrected by readings

95 % intervals of [corrected counts](../guide/event_store.md#counts-with-all-errors-inside) on simulated
stores of four years, of which readers see {readings} documents drawn by `calibrant events sample`;
{count} samples per cell. In each store, the model counts some documents wrongly and misses others.

- *all*, *years*, *quarters*: percentage of intervals that contain the true number, over all documents, per
  year and per quarter; in parentheses, the percentage that have a warning.
- *misses*: percentage of intervals without a warning that miss the true number.
- *model alone*: percentage of samples in which an interval of a sum of independent documents contains it.

`python scripts/reading_coverage.py` writes this page.

| store | readings | all | years | quarters | misses | model alone |
|---|---:|---:|---:|---:|---:|---:|
"""


def write_store(folder: Path, kind: str, rng: np.random.Generator) -> np.ndarray:
    """Write a store with one country; return the truth of each document."""
    size, may, missed, shift = STORES[kind]
    days = np.sort(rng.integers(0, 365 * YEARS + 1, size))
    counted = rng.random(size) < may
    chance = np.where(counted, rng.beta(0.8, 0.6, size), 0.0)
    sampled = rng.random((size, SAMPLES)) < chance[:, None]
    share = sampled.mean(axis=1)
    odds = np.log(np.clip(chance, 1e-9, 1) / np.clip(1 - chance, 1e-9, 1)) + shift
    truth = rng.random(size) < np.where(counted, 1 / (1 + np.exp(-odds)), missed)
    with StoreWriter(folder, {"samples": SAMPLES, "with_text": False}) as writer:
        for number in range(size):
            day = date(2001, 1, 1) + timedelta(days=int(days[number]))
            bits = np.packbits(sampled[number], bitorder="little").tobytes()
            counts = (
                [StoredCount("IRQ", float(share[number]), share[number] > 0.5, bits)] if share[number] else []
            )
            writer.write(StoredDocument(f"{number:05d}", day, not counted[number], counts, []))
        writer.finish()
    return truth


def cell(kind: str, readings: int, count: int) -> dict[str, float]:
    """Return the percentages of one row."""
    rng = np.random.default_rng([list(STORES).index(kind), readings, 1])
    hits: dict[str, list[bool]] = {"all": [], "year": [], "quarter": []}
    warned: dict[str, list[bool]] = {"all": [], "year": [], "quarter": []}
    misses, alone = [], []
    with tempfile.TemporaryDirectory() as folder:
        truth = write_store(Path(folder, "store"), kind, rng)
        for seed in range(count):
            drawn = sample_readings(Path(folder, "store"), country="IRQ", size=readings, seed=seed).table
            items = [int(item) for item in drawn["item"].to_pylist()]
            labels = pa.array(["yes" if truth[item] else "no" for item in items])
            table = drawn.append_column("label", labels)
            periods: tuple[By, ...] = ("year", "quarter")
            for by in periods:
                for row, right in rows(Path(folder, "store"), table, by, truth):
                    name = "all" if row.period == "all" else by
                    if by == "quarter" and name == "all":
                        continue
                    if row.count.low is None or row.count.high is None:
                        continue
                    hit = row.count.low <= right <= row.count.high
                    caution = bool(row.few_warning or row.count.warning)
                    hits[name].append(hit)
                    warned[name].append(caution)
                    if not caution:
                        misses.append(not hit)
                    if name == "all":
                        model = row.model or 0.0
                        alone.append(abs(model - right) <= 1.96 * np.sqrt(model / 4))
    result = {name: 100 * float(np.mean(values)) for name, values in hits.items()}
    result |= {f"{name} warned": 100 * float(np.mean(values)) for name, values in warned.items()}
    return result | {
        "misses": 100 * float(np.mean(misses)) if misses else float("nan"),
        "alone": 100 * float(np.mean(alone)),
    }


def rows(store: Path, table: pa.Table, by: By, truth: np.ndarray) -> Iterator[tuple[CorrectedPeriod, int]]:
    """Yield the rows of the corrected counts with the true number."""
    names, days = EventStore(store).names_and_days()
    periods = np.array([period_of(day.item(), by) for day in days])
    right = truth[[int(name) for name in names]]
    for row in corrected_events(store, table, by=by).counts:
        yield row, int(right.sum() if row.period == "all" else right[periods == row.period].sum())


def main() -> None:
    """Write the page."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    lines = [TITLE.format(readings="100, 200 or 400", count=count)]
    for kind in STORES:
        for readings in READINGS:
            row = cell(kind, readings, count)
            parts = ("all", "year", "quarter")
            cells = [f"{row[name]:.1f} ({row[f'{name} warned']:.0f})" for name in parts]
            cells += ["–" if np.isnan(row["misses"]) else f"{row['misses']:.1f}", f"{row['alone']:.0f}"]
            lines.append(f"| {kind} | {readings} | {' | '.join(cells)} |\n")
            print(lines[-1], end="", flush=True)
    PAGE.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
