"""The dated tweets as a stream: both models' predictions day by day, after a reference of four days."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from calibrant.evaluation.monitoring import CalibrationMonitor
from calibrant.exceptions import FormatError
from calibrant_studies._base import Row, digest
from calibrant_studies._tweets import TITLE, Predicted, shipped, source

ALPHA = 0.01
NOT_READ = "not read: there was no folder of data"


def digests(data: Path | None) -> dict[str, str]:
    """SHA-256 of the files that have the days."""
    if data is None:
        return {}
    return {path.name: digest(path) for path in (source(data, "dated", split) for split in ("dev", "test"))}


def tables(data: Path | None) -> dict[str, list[Row]]:
    """Return the results for both models: ``tweets`` (one row per monitor) and ``days`` (per day)."""
    if data is None:
        return {"tweets": [{"model": NOT_READ}], "days": [{"model": NOT_READ}]}
    day = {split: days(source(data, "dated", split)) for split in ("dev", "test")}
    found = {(p.model, p.split): p for p in shipped() if p.text_set == "dated"}
    summary: list[Row] = []
    rows: list[Row] = []
    for model, title in TITLE.items():
        reference, stream = found[model, "dev"], found[model, "test"]
        monitors = {
            "calibrated": CalibrationMonitor(alpha=ALPHA, unit="item"),
            "reference": CalibrationMonitor.against_reference(
                reference.labels, reference.scores, alpha=ALPHA, unit="item"
            ),
        }
        for name, monitor in monitors.items():
            _watch(monitor, stream, day["test"])
            record = monitor.result()
            last = record.days[-1]
            summary.append(
                {
                    "model": title,
                    "against": name,
                    "alarm": record.alarms[0] if record.alarms else "none",
                    "log10 e, last day": last.log10_e,
                    "alarm at": record.threshold,
                    "leading": last.leading,
                }
            )
            rows += [{"model": title, "against": name, **_shown(each.to_dict())} for each in record.days]
    return {"tweets": summary, "days": rows}


def days(path: Path) -> NDArray[np.str_]:
    """Return the day of each tweet of a file."""
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as lines:
        found = [line.rstrip("\n").rsplit("\t", 1)[-1][:10] for line in lines]
    if not found or any(len(day) != 10 for day in found):
        raise FormatError("a line has no date", "it must be the last column", code="date", file=str(path))
    return np.array(found)


def _watch(monitor: CalibrationMonitor, stream: Predicted, day: NDArray[np.str_]) -> None:
    for each in np.unique(day):
        rows = day == each
        monitor.update(str(each), stream.labels[rows], stream.scores[rows])


def _shown(row: Row) -> Row:
    error = row["error"]
    return {
        **{name: row[name] for name in ("day", "n", "score", "frequency")},
        "error": error["estimate"],
        "low": error.get("low"),
        "high": error.get("high"),
        "log10_e": row["log10_e"],
        "alarm": "yes" if row["alarm"] else "",
    }
