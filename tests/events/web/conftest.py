"""Stores of events to look at."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from calibrant.events.files.store import StoredCount, StoredDocument, StoredEvidence
from calibrant.events.files.store_writing import StoreWriter
from calibrant.events.web import Explorer, application
from calibrant.events.web.serving import server_of
from tests.events.web.asking import asked

Make = Callable[..., Path]
TEXT = "American planes bombed the city .\nThe Pentagon said that they attacked two bridges ."
HOSTILE = "</title><script>document.body.remove()</script><img src=x onerror=document.body.remove()>\"'&"


def count(country: str, times: int, best: bool, samples: int = 8) -> StoredCount:
    """Counts in the first of the samples."""
    bits = np.arange(samples) < times
    return StoredCount(country, times / samples, best, np.packbits(bits, bitorder="little").tobytes())


def evidence(country: str, probability: float, text: str = TEXT, agent: str = "they") -> StoredEvidence:
    """The first mention and a word, in one entity."""
    place = text.index(agent)
    return StoredEvidence(country, "attack", probability, 0, 0, 15, 1, place, place + len(agent))


def documents() -> list[StoredDocument]:
    """Two countries in two quarters; a document that was skipped and one whose name is hostile."""
    return [
        StoredDocument(
            "a",
            date(2001, 1, 5),
            counts=[count("IRQ", 4, True), count("USA", 2, False)],
            evidence=[evidence("IRQ", 0.5), evidence("USA", 0.25, agent="American planes")],
            title="Planes",
            text=TEXT,
        ),
        StoredDocument(
            "b", date(2001, 1, 9), counts=[count("USA", 8, True)], evidence=[evidence("USA", 1.0)]
        ),
        StoredDocument("c", date(2001, 2, 1), skipped=True),
        StoredDocument(
            HOSTILE,
            date(2001, 7, 4),
            counts=[count(HOSTILE[:40], 6, True), count("USA", 1, False)],
            evidence=[evidence("USA", 0.125, text=TEXT + HOSTILE, agent=HOSTILE[:20])],
            title=HOSTILE,
            text=TEXT + HOSTILE,
        ),
    ]


def written(folder: Path, these: Sequence[StoredDocument]) -> Path:
    """A store with two documents a part."""
    with StoreWriter(folder, {"samples": 8, "with_text": True}, part=2) as writer:
        for document in these:
            writer.write(document)
        writer.finish()
    return folder


@pytest.fixture
def make_store(tmp_path: Path) -> Make:
    """Write a store; return its folder."""

    def make(these: Sequence[StoredDocument], *, name: str = "events.store") -> Path:
        return written(tmp_path / name, these)

    return make


@pytest.fixture
def store(make_store: Make) -> Path:
    """The folder of the documents above, to be changed at will."""
    return make_store(documents())


@pytest.fixture(scope="session")
def explorer(tmp_path_factory: pytest.TempPathFactory) -> Explorer:
    """The same, opened, to be left as it is."""
    return Explorer(written(tmp_path_factory.mktemp("web") / "events.store", documents()))


@pytest.fixture(scope="session")
def hostile() -> str:
    """The name, title and end of the text of a document; its beginning is the code of a country."""
    return HOSTILE


@contextmanager
def served(explorer: Explorer, **settings: str) -> Iterator[int]:
    """A server in a thread of this process; its port."""
    app = application(explorer, **settings)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(128)
        server = server_of(app)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture(scope="session")
def serve() -> Callable[..., AbstractContextManager[int]]:
    """Serve an explorer for a while."""
    return served


@pytest.fixture(scope="session")
def page_of() -> Callable[[Explorer, str], str]:
    """Return the application's answer at an address, which it has to know."""

    def page(explorer: Explorer, address: str) -> str:
        path, _, query = address.partition("?")
        status, text = asked(application(explorer), path, query.encode())
        assert status == 200
        return text

    return page
