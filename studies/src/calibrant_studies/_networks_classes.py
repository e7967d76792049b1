"""Matrix scaling against the number of classes, on simulated logits whose truth is known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.special import softmax

from calibrant.exceptions import InputError
from calibrant.metrics.plug_in import expected_calibration_error
from calibrant.metrics.tails import quantile
from calibrant.seeds import generator
from calibrant_studies._base import Finding, Row
from calibrant_studies._networks_measure import METHODS, NONE, ODIR, log_loss, top_bins
from calibrant_studies._verdicts import above
from calibrant_studies.arrays import Floats, Integers

CLASSES = (3, 10, 30, 100)
SHOWN = ("temperature", "vector", "matrix", ODIR)
DEV, TEST = 5_000, 10_000  # as CIFAR-100 has in the paper
REPEATS = 4
SPREAD, TEMPERATURE = 2.0, 2.0


def class_rows(
    seed: int, classes: Sequence[int] = CLASSES, dev: int = DEV, test: int = TEST, repeats: int = REPEATS
) -> list[Row]:
    """ECE and log loss of each method, for each number of classes and each simulated network."""
    rng = generator(seed)
    rows = []
    for count in classes:
        for repeat in range(repeats):
            fitting, held = (_drawn(size, count, rng) for size in (dev, test))
            for name in (NONE, *SHOWN):
                rows.append({"classes": count, "repeat": repeat, "method": name, **_row(name, fitting, held)})
    return rows


def _drawn(size: int, classes: int, rng: np.random.Generator) -> tuple[Floats, Integers]:
    """Logits that are twice as far apart as the log-odds of the labels."""
    true = rng.normal(0, SPREAD, (size, classes))
    labels = (true + rng.gumbel(size=true.shape)).argmax(axis=1)
    return TEMPERATURE * true, labels


def _row(name: str, dev: tuple[Floats, Integers], test: tuple[Floats, Integers]) -> Row:
    logits, labels = test
    if name == NONE:
        prob = softmax(logits, axis=1)
    else:
        try:
            prob = METHODS[name].make().fit(*dev).transform(logits)
        except InputError as error:
            return {"ECE": None, "log loss": None, "accuracy": None, "reason": error.message}
    return {
        "ECE": expected_calibration_error(top_bins(prob, labels)),
        "log loss": log_loss(prob, labels, np.ones(len(labels)) / len(labels)),
        "accuracy": float((prob.argmax(axis=1) == labels).mean()),
        "reason": "",
    }


def class_findings(rows: Sequence[Row]) -> Iterator[Finding]:
    """Matrix scaling minus temperature scaling, for each number of classes."""
    for count in dict.fromkeys(row["classes"] for row in rows):
        for measure in ("ECE", "log loss"):
            found = {
                name: [row[measure] for row in rows if (row["classes"], row["method"]) == (count, name)]
                for name in ("temperature", "matrix")
            }
            text = (
                f"simulated, {count} classes: {measure} of matrix scaling minus that of temperature scaling"
            )
            name = f"given/classes {count}/{measure}"
            if None in found["matrix"]:
                note = "no finite matrix fits best in some repeats"
                yield Finding(name, text, None, paper="above 0", note=note, verdict="not comparable")
                continue
            gap = np.array(found["matrix"]) - np.array(found["temperature"])
            mean = float(gap.mean())
            half = float(quantile(0.95, len(gap)) * gap.std(ddof=1) / np.sqrt(len(gap)))
            yield Finding(
                name,
                text,
                mean,
                mean - half,
                mean + half,
                "poor with hundreds of classes" if count >= 100 else None,
                note=f"Student's interval over {len(gap)} simulated networks",
                claim=above(0) if count >= 100 else None,
            )
