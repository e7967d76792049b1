"""Cases of events on a cluster: parsed documents of heavy-tailed lengths, on processes and on Dask workers.

The documents are made of the sentences of the corpus that ships, so that nothing is parsed. In most of them
nobody does a deed of force, as in newspapers; those are read, and skipped.
"""

from __future__ import annotations

import atexit
import datetime
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import data
import numpy as np

Call = Callable[[], Any]
SEED = 20010911
COUNTING = 0.15  # share of documents with sentences of force
SAMPLES = 100
FIRST_DAY = datetime.date(1987, 1, 1)
DAYS = 20 * 365


def documents(number: int) -> Path:
    """A file of CoNLL-U; made once, kept in the cache folder."""
    path = data.FOLDER / f"parsed-{number}.conllu"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".part")
        _write(unfinished, number)
        unfinished.rename(path)
    return path


def _write(path: Path, number: int) -> None:
    rng = np.random.default_rng(SEED)
    plain, of_force = _sentences()
    lengths = np.minimum(3 * (1 + rng.pareto(1.3, number)), 200).astype(int)
    counting = rng.random(number) < COUNTING
    days = rng.integers(DAYS, size=number)
    with path.open("w", encoding="utf-8") as file:
        for row in range(number):
            known = plain + of_force if counting[row] else plain
            chosen = rng.integers(len(known), size=lengths[row])
            day = FIRST_DAY + datetime.timedelta(days=int(days[row]))
            file.write(f"# newdoc id = doc-{row:07}\n# date = {day}\n")
            file.writelines(known[place] for place in chosen)


def _sentences() -> tuple[list[str], list[str]]:
    """Sentences without a word that may be a verb of force, and those with one; without their entities."""
    from calibrant.data import dated_documents
    from calibrant.events import RULES

    plain: list[str] = []
    of_force: list[str] = []
    for block in dated_documents().read_text(encoding="utf-8").split("\n\n"):
        words = [line.split("\t") for line in block.split("\n") if line and not line.startswith("#")]
        if not words:
            continue
        text = "".join("\t".join([*fields[:9], "_"]) + "\n" for fields in words) + "\n"
        acts = any(fields[1].lower().startswith(RULES["default"].triggers) for fields in words)
        (of_force if acts else plain).append(text)
    return plain, of_force


def cluster_run(number: int, workers: int, dask: bool, **_: Any) -> Call:
    """A whole run; the result has the seconds of processor time of the process that leads it."""
    from calibrant.events import EventStore, extract_events

    source = documents(number)
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    address = _cluster(folder, workers) if dask else None

    def call() -> dict[str, Any]:
        shutil.rmtree(folder / "store", ignore_errors=True)
        before = resource.getrusage(resource.RUSAGE_SELF)
        found = extract_events(source, folder / "store", samples=SAMPLES, workers=workers, executor=address)
        used = resource.getrusage(resource.RUSAGE_SELF)
        seconds = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
        store = EventStore(folder / "store")
        return {"documents": found.documents, "leading": seconds, "digest": store.digest()}

    return call


def _cluster(folder: Path, workers: int) -> str:
    """Start a scheduler and workers over TCP; return the address when all are there."""
    from distributed import Client

    file = folder / "scheduler.json"
    where = ("--host", "127.0.0.1", "--scheduler-file", str(file), "--no-dashboard")
    commands = [["scheduler", "--port", "0"], *[["worker", "--no-nanny", "--nthreads", "1"]] * workers]
    for program, *options in commands:
        command = [sys.executable, "-m", f"distributed.cli.dask_{program}", *where, *options]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        atexit.register(process.kill)
    while not file.exists():
        time.sleep(0.05)
    address: str = json.loads(file.read_text(encoding="utf-8"))["address"]
    connect: Any = Client  # without types
    with connect(address, set_as_default=False) as client:
        client.wait_for_workers(workers)
    return address


CASES: tuple[Callable[..., Call], ...] = (cluster_run,)
