"""The bars of the explorer: how long a reader waits, on a store of the paper's size."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import explorer_data
from parts import THREADS, Bar, Found, Row, Scale
from processes import bind, environment

SEED = 3
CLICKS = 400
PERIODS = ("year", "quarter", "month", "week")


def explorer(scale: Scale) -> Found:
    """The first page of a server that has just begun, and any click after it."""
    if not (find_spec("starlette") and find_spec("uvicorn") and find_spec("duckdb")):
        print("skipped: starlette, uvicorn and duckdb are not installed", flush=True)
        return [], []
    folder = explorer_data.store()
    rows: list[Row] = []
    first: list[float] = []
    slow: list[float] = []
    for threads in THREADS:
        start = time.perf_counter()
        with _server(str(folder), threads) as (client, number):
            opened = time.perf_counter() - start
            at_first = _memory(number)
            first.append(_seconds(client, "/"))
            clicks = sorted(_seconds(client, path) for path in _walk(client, random.Random(SEED)))
            at_last = _memory(number)
        slow.append(clicks[int(0.95 * len(clicks))])
        for what, value, fastest, memory in (
            ("from the command to the address", opened, opened, at_first),
            ("first page", first[-1], first[-1], None),
            (f"{len(clicks)} clicks: median", clicks[len(clicks) // 2], clicks[0], None),
            (f"{len(clicks)} clicks: 95th percentile", slow[-1], clicks[0], None),
            (f"{len(clicks)} clicks: slowest", clicks[-1], clicks[0], at_last),
        ):
            rows.append(_row(f"explorer, {what}", threads, value, fastest, memory))
    return [
        Bar("explorer: first page of 200,000 documents", 0.3, "s", *first),
        Bar("explorer: 95th percentile of clicks", 0.2, "s", *slow),
    ], rows


def _row(what: str, threads: int, seconds: float, fastest: float, memory: int | None) -> Row:
    return {
        "what": what,
        "pairs": explorer_data.DOCUMENTS,
        "threads": threads,
        "seconds": float(f"{seconds:.4g}"),
        "fastest": float(f"{fastest:.4g}"),
        "memory, MiB": memory,
    }


def _memory(process: int) -> int | None:
    """The most that a process has held so far, in MiB; None where the system does not say."""
    status = Path(f"/proc/{process}/status")
    if not status.exists():
        return None
    line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return round(int(line.split()[1]) / 1024)


@contextmanager
def _server(folder: str, threads: int) -> Iterator[tuple[HTTPConnection, int]]:
    command = [sys.executable, "-m", "calibrant", "explore", folder, "--no-browser", "--port", "0"]
    process = subprocess.Popen(
        command,
        env=environment(threads, PYTHONUNBUFFERED="1"),
        preexec_fn=lambda: bind(threads),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        line = next((line for line in process.stdout if "http://" in line), "")
        address = urlsplit(next(word for word in line.split() if word.startswith("http://")))
        yield HTTPConnection(str(address.hostname), address.port, timeout=60), process.pid
    finally:
        process.terminate()
        process.wait()


def _seconds(client: HTTPConnection, path: str) -> float:
    start = time.perf_counter()
    client.request("GET", path)
    answer = client.getresponse()
    answer.read()
    if answer.status != 200:
        raise RuntimeError(f"{path}: {answer.status}")
    return time.perf_counter() - start


def _json(client: HTTPConnection, path: str) -> dict[str, list[object]]:
    client.request("GET", path)
    found: dict[str, list[object]] = json.loads(client.getresponse().read())
    return found


def _walk(client: HTTPConnection, rng: random.Random) -> Iterator[str]:
    """Clicks of all kinds on countries as frequent as they are in the store, few of them twice."""
    countries = [str(code) for code in _json(client, "/?by=year&format=json")["countries"]]
    weights = [1 / (place + 1) for place in range(len(countries))]
    for _ in range(CLICKS):
        one, other = rng.choices(countries, weights, k=2)
        by, rates = rng.choice(PERIODS), rng.choice(({}, {"rates": 1}))
        kind = rng.choice(("overview", "country", "country", "compare", "documents", "document", "document"))
        if kind == "overview":
            yield f"/?{urlencode({'by': by, **rates})}"
        elif kind == "country":
            yield f"/country?{urlencode({'country': one, 'by': by, **rates})}"
        elif kind == "compare" and one != other:
            yield f"/compare?{urlencode({'first': one, 'second': other, 'by': by, **rates})}"
        elif kind == "document":
            listed = _json(client, f"/documents?{urlencode({'country': one, 'format': 'json'})}")
            chosen = rng.choice(listed["documents"])
            assert isinstance(chosen, dict)
            yield f"/document?{urlencode({'id': chosen['id']})}"
        else:
            yield f"/documents?{urlencode({'country': one})}"


PARTS: dict[str, Callable[[Scale], Found]] = {"explorer": explorer}
