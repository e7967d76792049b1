"""Logits of natural language inference and ChaosNLI's labels, from lines of JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from calibrant.exceptions import FormatError

CHAOS = ("uid", "entailment", "neutral", "contradiction", "majority_label", "old_label", "old_labels")


def logits(paths: Sequence[Path]) -> bytes:
    """Logits of all seeds of a network in one archive of NumPy: ``ids``, ``labels``, ``logits_SEED``.

    Raises
    ------
    FormatError
        If the seeds' files do not have the same items.
    """
    arrays: dict[str, Any] = {}
    for seed, path in enumerate(paths):
        rows = _rows(path)
        same = {
            "ids": np.array([row["uid"] for row in rows]),
            "labels": np.array([row["true"] for row in rows], np.int8),
        }
        for name, values in same.items():
            if not np.array_equal(arrays.setdefault(name, values), values):
                raise FormatError(
                    f"{path.name} has other {name} than {paths[0].name}",
                    "take the files as they are published",
                    code="file-broken",
                )
        arrays[f"logits_{seed}"] = np.array([row["logits"] for row in rows], np.float32)
    out = io.BytesIO()
    np.savez_compressed(out, **arrays)
    return out.getvalue()


def chaos(paths: Sequence[Path]) -> bytes:
    """Counts of 100 labels of each item, beside its first labels, as CSV."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(CHAOS)
    for path in paths:
        for row in _rows(path):
            first = [row["majority_label"], row["old_label"], " ".join(row["old_labels"])]
            writer.writerow([row["uid"], *row["label_count"], *first])
    return out.getvalue().encode()


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]
