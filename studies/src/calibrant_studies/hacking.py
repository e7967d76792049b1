"""Conclusions from labels of language models: errors of naive, corrected and labels-only estimates.

Items with gold labels and labels of a model are resampled, and groups and numbers are drawn so that the true
effect is known. Baumann et al. (2025), "Large language model hacking", arXiv 2509.08825, ask the same of
hypotheses whose truth is the conclusion from all gold labels.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import calibrant
from calibrant_studies import _hacking_simulation as simulation
from calibrant_studies import _hacking_tables as tables
from calibrant_studies._base import Study
from calibrant_studies._hacking_data import OPTIONS, Population, digests, populations
from calibrant_studies._hacking_simulation import DOCUMENTS, LABELS, SCENARIOS, Scenario, tally
from calibrant_studies._kept_parts import KeptPart
from calibrant_studies.arrays import Floats
from calibrant_studies.datasets._folders import real_data

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SEED = 20261128
REPLICATIONS = 2
STORE = "CALIBRANT_STORE"
Done = Callable[[int, int], None]


def run(
    *,
    data: Path | None = None,
    seed: int = SEED,
    replications: int | None = None,
    progress: Done | None = None,
) -> Study:
    """Run all hypotheses; takes about three minutes of a processor per corpus of each.

    The environment variable ``CALIBRANT_STORE`` names a folder in which finished parts are kept: an
    interrupted run continues where it was.
    """
    folder = os.environ.get(STORE)
    store = None
    if folder:
        store = Path(folder) / "hacking"
        store.mkdir(parents=True, exist_ok=True)
    return hacking(
        real_data("hacking", data),
        replications=replications or REPLICATIONS,
        seed=seed,
        progress=progress,
        store=store,
    )


def hacking(
    data: Path,
    *,
    replications: int = REPLICATIONS,
    seed: int = SEED,
    progress: Done | None = None,
    store: Path | None = None,
) -> Study:
    """Draw corpora of each hypothesis, and count true and false conclusions of each analysis.

    Parameters
    ----------
    data
        Folder of all data sets.
    replications
        Corpora per hypothesis.
    seed
        Seed of all draws. The draws of a corpus depend on the seed, its number and its hypothesis alone.
    progress
        Called with the number of finished parts and of all.
    store
        Folder in which finished parts are kept.

    Returns
    -------
    Study
        Tables of errors of both kinds, of sign and of magnitude, of coverage and of widths.
    """
    started = time.perf_counter()
    found = {task: tuple(populations(data, task)) for task in OPTIONS}
    sums: dict[str, Floats] = {}
    seconds = 0.0
    for number in range(replications):
        for place, (task, every) in enumerate(found.items()):
            part = _part(task, every, seed, number, store)
            seconds += part["seconds"]
            notes = np.array(part["notes"])
            sums[task] = sums[task] + notes if task in sums else notes
            if progress is not None:
                progress(number * len(found) + place + 1, replications * len(found))
    items = [one for every in found.values() for one in every]
    arranged = tables.arranged(items, np.concatenate([sums[task] for task in found]))
    return Study(
        name="hacking",
        title="Conclusions from labels of language models",
        command="calibrant study hacking",
        seed=seed,
        wall_seconds=max(seconds, time.perf_counter() - started),
        data=digests(data),
        parameters={
            "hypotheses": len(items) * len(SCENARIOS),
            "corpora per hypothesis": replications,
            "documents per corpus": DOCUMENTS,
            "processor seconds": round(seconds),
        },
        findings=tables.findings(items, np.concatenate([sums[task] for task in found])),
        tables={"tasks": tables.tasks(items), **arranged},
    )


def notes_of(
    every: Sequence[Population],
    seed: Sequence[int],
    scenarios: Sequence[Scenario] = SCENARIOS,
    labels: Sequence[int] = LABELS,
) -> Floats:
    """Return the notes (populations, scenarios, labels, columns, fields) of one corpus per hypothesis."""
    return np.array([[tally(one, scenario, seed, labels) for scenario in scenarios] for one in every])


def _part(
    task: str, every: Sequence[Population], seed: int, number: int, store: Path | None
) -> dict[str, Any]:
    def make() -> dict[str, Any]:
        began = time.process_time()
        notes = notes_of(every, (seed, number))
        return {"notes": notes.round(6).tolist(), "seconds": time.process_time() - began}

    if store is None:
        return make()
    settings = {"seed": seed, "number": number, "labels": list(LABELS), "code": _code()}
    return KeptPart(f"{task}-{number}.json", settings).take(store, make)


def _code() -> str:
    """Return the digest of the modules that estimate and simulate; parts of other code are not used."""
    folder = Path(calibrant.__file__).parent / "estimation"
    paths = [*sorted(folder.glob("*.py")), Path(simulation.__file__)]
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()


def figures(study: Study) -> dict[str, Figure]:
    """Draw errors of the first and second kind, and what the model's labels are worth."""
    from calibrant_studies import _hacking_figures

    return _hacking_figures.drawn(study)
