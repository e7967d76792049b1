"""The record of a study, and a server of made-up data sets, which can misbehave."""

from __future__ import annotations

import hashlib
import http.server
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from calibrant_studies.datasets import _catalogue, _downloading, _listing

COMMIT = "0f" * 20
PLACE = f"someone/texts/{COMMIT}"
LONG = b"".join(b"line %d\n" % number for number in range(40_000))
SHORT = b"one\n"
LICENSE = b"Do as you like.\n"


@pytest.fixture(scope="module")
def record(request: pytest.FixtureRequest, root: Path) -> dict[str, Any]:
    """The stored record of the study that the test file is named after."""
    name = request.path.stem.split("_")[1]
    found: dict[str, Any] = json.loads((root / f"docs/studies/{name}.json").read_text(encoding="utf-8"))
    return found


@dataclass
class Served:
    """Files of the server, its faults, and the requests that it received."""

    address: str
    files: dict[str, bytes] = field(default_factory=dict)
    ranges: bool = True
    cuts: list[int] = field(default_factory=list)  # bytes after which the next answers break off
    statuses: list[int] = field(default_factory=list)  # of the next answers
    delay: float = 0.0  # seconds in the middle of each answer
    asked: list[tuple[str, str]] = field(default_factory=list)  # path and range


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    served: Served

    def log_message(self, format: str, *arguments: object) -> None:
        pass

    def do_GET(self) -> None:
        served = self.served
        wanted = self.headers.get("Range", "")
        served.asked.append((self.path.lstrip("/"), wanted))
        status = served.statuses.pop(0) if served.statuses else 200
        content = served.files.get(self.path.lstrip("/"))
        if content is None:
            status = 404
        if status != 200:
            self.answer(status, b"")
            return
        assert content is not None
        first = int(wanted.removeprefix("bytes=").partition("-")[0]) if wanted and served.ranges else 0
        if first >= len(content) > 0:
            self.answer(416, b"")
        elif wanted and served.ranges:
            self.answer(206, content[first:], f"bytes {first}-{len(content) - 1}/{len(content)}")
        else:
            self.answer(200, content)

    def answer(self, status: int, content: bytes, content_range: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        if status in (429, 503):
            self.send_header("Retry-After", "0")
        if content_range:
            self.send_header("Content-Range", content_range)
        self.end_headers()
        cut = self.served.cuts.pop(0) if self.served.cuts and content else len(content)
        half = cut // 2
        self.wfile.write(content[:half])
        if self.served.delay:
            self.wfile.flush()
            time.sleep(self.served.delay)
        self.wfile.write(content[half:cut])
        if cut < len(content):
            self.close_connection = True


class QuietServer(http.server.ThreadingHTTPServer):
    """Says nothing about a client that has hung up."""

    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """A server that has nothing yet."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(_downloading, "PAUSE", 0.0)

    class Own(Handler):
        pass

    running = QuietServer(("127.0.0.1", 0), Own)
    Own.served = Served(f"http://127.0.0.1:{running.server_address[1]}")
    thread = threading.Thread(target=running.serve_forever, args=(0.01,))
    thread.start()
    yield Own.served
    running.shutdown()
    thread.join()
    running.server_close()


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def made_up(server: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """The server with what the data set ``made-up`` needs, which is the only one besides ``secret``."""
    sources = tmp_path / "sources"
    sources.mkdir()
    (sources / "made-up.toml").write_text(
        f"""
        title = "Made-up texts"
        license = "CC BY 4.0"
        terms = "Name the author."
        reference = "Nobody (1900)."
        studies = ["tagging"]
        repository = "someone/texts"
        commit = "{COMMIT}"
        license_files = "{sha256(LICENSE)} {len(LICENSE)} LICENSE"
        [[files]]
        name = "both.txt.gz"
        content = "sha256:{sha256(LONG + SHORT)}"
        originals = '''
        {sha256(LONG)} {len(LONG)} a/long text.txt
        {sha256(SHORT)} {len(SHORT)} a/short.txt
        '''
        [[files]]
        name = "short.txt"
        content = "sha256:{sha256(SHORT)}"
        originals = "{sha256(SHORT)} {len(SHORT)} a/short.txt"
        """.replace("\n        ", "\n"),
        encoding="utf-8",
    )
    (sources / "secret.toml").write_text(
        'title = "Secrets"\nlicense = "none"\nterms = "None."\nstudies = ["tagging"]\n'
        'ask = "Ask the one who knows."\n[[files]]\nname = "secret.txt"\n',
        encoding="utf-8",
    )
    names = ("made-up", "secret")
    monkeypatch.setattr(_catalogue, "SOURCES", sources)
    monkeypatch.setattr(_catalogue, "NAMES", names)
    monkeypatch.setattr(_listing, "NAMES", names)
    monkeypatch.setattr("calibrant_studies.datasets.NAMES", names)
    monkeypatch.setenv("CALIBRANT_DATA_SERVER", server.address)
    _catalogue.data_set.cache_clear()
    server.files = {
        f"{PLACE}/a/long%20text.txt": LONG,
        f"{PLACE}/a/short.txt": SHORT,
        f"{PLACE}/LICENSE": LICENSE,
    }
    yield server
    _catalogue.data_set.cache_clear()
