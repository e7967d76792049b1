from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from datetime import date
from http.client import HTTPConnection
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest

from calibrant.data import event_labels, event_store
from calibrant.events.files.store import StoredCount, StoredDocument
from calibrant.events.files.store_writing import StoreWriter
from calibrant.events.results.events import UNFINISHED
from calibrant.parts import installing
from tests.command_line import Run
from tests.quantities import defined


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Two parts, a document each."""
    folder = tmp_path / "events.store"
    with StoreWriter(folder, {"samples": 20, "with_text": False}, part=1) as writer:
        for number in range(2):
            counts = [StoredCount("IRQ", 0.5, True, b"\xff\x03\x00")]
            writer.write(StoredDocument(f"d{number}", date(2001, 1 + number, 1), counts=counts))
        writer.finish()
    return folder


@pytest.mark.parametrize(
    "how",
    [
        pytest.param(signal.SIGINT, id="Ctrl-C"),
        pytest.param(signal.SIGTERM, id="SIGTERM", marks=pytest.mark.slow),
    ],
)
def test_it_prints_its_address_serves_and_ends_when_told(store: Path, how: signal.Signals) -> None:
    manifest = store / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"finished": true', '"finished": false'))
    damaged = store / "documents" / "part-000001.parquet"
    damaged.write_bytes(damaged.read_bytes()[:50])
    command = [sys.executable, "-m", "calibrant", "explore", str(store), "--no-browser", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    line = defined(process.stdout).readline()
    address = urlsplit(line.split(" at ")[1].split()[0])
    client = HTTPConnection("127.0.0.1", int(address.port or 0), timeout=30)
    client.request("GET", "/?format=json")
    found = json.loads(client.getresponse().read())
    client.close()
    process.send_signal(how)
    out, err = process.communicate(timeout=30)
    assert found["about"]["documents"] == 1
    assert "part-000001.parquet" in found["about"]["problems"][0]
    assert process.returncode == 0
    assert out.strip() == "Stopped."
    assert "part-000001.parquet" in err
    assert f"calibrant: warning: {UNFINISHED}" in err
    assert "Traceback" not in err


def test_the_address_is_a_line_of_json_for_machines(store: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "calibrant",
        "explore",
        str(store),
        "--no-browser",
        "--port",
        "0",
        "--json",
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    said = json.loads(defined(process.stdout).readline())
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    assert (said["schema_version"], said["store"]) == (1, str(store))
    assert said["address"].startswith("http://127.0.0.1:")
    assert (process.returncode, out) == (0, "")


def test_a_port_that_is_taken_is_refused_in_one_line(run: Run, store: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        run("explore", store, "--no-browser", "--port", taken.getsockname()[1]).refused("calibrant: port ")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["missing"], "the store does not exist"),
        (["STORE", "--documents", "missing.jsonl"], "missing.jsonl"),
        (["STORE", "--labels", "missing.csv"], "missing.csv"),
        (["STORE", "--token", "short"], "16"),
        (["STORE", "--host", "no-such-host.invalid"], "is not an address of this machine"),
        (["STORE", "--port", "70000"], "70000"),
    ],
    ids=["store", "documents", "dev", "token", "host", "port"],
)
def test_bad_arguments_are_refused_in_one_line(
    run: Run, store: Path, arguments: list[str], says: str
) -> None:
    run("explore", "--no-browser", *(str(store) if each == "STORE" else each for each in arguments)).refused(
        says
    )


def test_a_store_of_a_later_release_is_refused_in_one_line(run: Run, store: Path) -> None:
    manifest = json.loads((store / "manifest.json").read_text(encoding="utf-8"))
    (store / "manifest.json").write_text(json.dumps({**manifest, "version": 99}), encoding="utf-8")
    run("explore", store, "--no-browser").refused("install a newer calibrant")


def test_without_the_extra_it_says_what_to_install(
    run: Run, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    run("explore", store, "--no-browser").refused(installing("web"), code=1)


@pytest.mark.parametrize(
    ("arguments", "name"), [([], "current-events"), (["socialist-worker"], "socialist-worker")], ids=str
)
def test_without_a_store_or_by_name_one_that_ships_is_opened_with_its_labels(
    run: Run, monkeypatch: pytest.MonkeyPatch, arguments: list[str], name: str
) -> None:
    opened: dict[str, Any] = {}

    def explorer(store: str, **options: Any) -> Any:
        opened.update(options, store=store)
        return SimpleNamespace(about=SimpleNamespace(notes=(), problems=()))

    monkeypatch.setattr("calibrant.events.web.Explorer", explorer)
    monkeypatch.setattr("calibrant.events.web.serve", lambda _, ready, **__: ready("http://127.0.0.1:1/"))
    ran = run("explore", "--no-browser", *arguments)
    assert (ran.code, f"Explore {name} at http://127.0.0.1:1/" in ran.out) == (0, True)
    assert opened["store"] == str(event_store(name))
    assert opened["labels"] == str(event_labels())
