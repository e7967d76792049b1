"""Reading documents in the explorer: one at a time, answers on disk, and no answer from elsewhere."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import date
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from calibrant.data import event_store
from calibrant.events import EventStore
from calibrant.events.files.readings import Readings
from calibrant.events.files.store import StoredDocument
from calibrant.events.files.store_writing import StoreWriter
from calibrant.events.verbs.reading import are_readings, corrected_events, counted_events, sample_readings
from calibrant.events.web import Explorer, application
from calibrant.exceptions import InputError
from tests.quantities import defined

Serve = Callable[[Explorer], AbstractContextManager[int]]
PageOf = Callable[[Explorer, str], str]


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def drawn(tmp_path: Path) -> Path:
    path = tmp_path / "readings.csv"
    sample_readings(event_store("reuters-21578"), path, country="Iran", size=30, seed=1)
    rows = rows_of(path)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0], "text"])
        writer.writeheader()
        writer.writerows([{**row, "text": f"Text {place} <b>"} for place, row in enumerate(rows)])
    return path


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({"label": "maybe"}, "row 2, column label: 'maybe' is no answer"),
        ({"item": "elsewhere"}, "the store has no document 'elsewhere'"),
        ({"role": "dyad"}, "the readings are about the role dyad, and the store counts the role agent"),
        ({"country": "ATL"}, "no country 'ATL'|about 2 countries|are about ATL, IRN"),
    ],
    ids=lambda case: case if isinstance(case, str) else None,
)
def test_readings_of_something_else_are_one_line(drawn: Path, change: dict[str, str], wrong: str) -> None:
    rows = [{**row, "label": "no"} for row in rows_of(drawn)]
    rows[1] |= change
    if "role" in change:
        rows = [row | change for row in rows]
    with drawn.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0]])
        writer.writeheader()
        writer.writerows(rows)
    store = event_store("reuters-21578")
    with pytest.raises(InputError, match=wrong) as first:
        corrected_events(store, drawn)
    with pytest.raises(InputError, match=wrong):
        Explorer(store, readings=Readings(drawn))
    assert first.value.row == 2 or "country" in change or "role" in change


def test_readings_without_their_probabilities_are_not_taken_for_labels(drawn: Path) -> None:
    rows = [{name: value for name, value in row.items() if "prob" not in name} for row in rows_of(drawn)]
    with drawn.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0], "label"])
        writer.writeheader()
        writer.writerows({**row, "label": "no"} for row in rows)
    assert are_readings(drawn)
    with pytest.raises(InputError, match="no column 'inclusion_probability'"):
        corrected_events(event_store("reuters-21578"), drawn)


def test_texts_are_read_by_the_columns_of_the_run(tmp_path: Path) -> None:
    store = tmp_path / "store"
    layout = {"layout text": "content", "layout date": "when", "layout date_from": "%d.%m.%Y"}
    with StoreWriter(store, {"samples": 20, "with_text": False}, sources=layout) as writer:
        writer.write(StoredDocument("1", date(2001, 2, 3), skipped=True))
        writer.finish()
    table = tmp_path / "news.csv"
    table.write_text("when,content\n03.02.2001,Peru attacked.\n", encoding="utf-8")
    found = sample_readings(store, country="Peru", size=1, documents=table).table
    assert found["text"].to_pylist() == ["Peru attacked."]


def labels(path: Path) -> list[str]:
    return [row.get("label") or "" for row in rows_of(path)]


@pytest.fixture
def port(drawn: Path, serve: Serve) -> Iterator[int]:
    with serve(Explorer(event_store("reuters-21578"), readings=Readings(drawn))) as number:
        yield number


def ask(port: int, method: str, form: dict[str, str] | None = None, **headers: str) -> tuple[int, str]:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    origin = {"Origin": f"http://127.0.0.1:{port}"} if method == "POST" else {}
    given = {name.replace("_", "-"): value for name, value in headers.items() if value}
    sent = {name: value for name, value in (origin | given).items() if value != "-"}
    connection.request(method, "/read", urlencode(form or {}) if method == "POST" else None, sent)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


def form_of(text: str) -> dict[str, str]:
    return dict(re.findall(r'name="(key|item)" value="([^"]*)"', text))


def test_an_answer_is_on_disk_before_the_next_document_shows(port: int, drawn: Path) -> None:
    _, first = ask(port, "GET")
    assert "0 of 30 documents read" in first
    assert "Text 0 &lt;b&gt;" in first
    assert "documents in which a country attacks" in first
    status, _ = ask(port, "POST", {**form_of(first), "answer": "yes"})
    assert status == 303
    assert labels(drawn)[:2] == ["yes", ""]
    assert "Text 1 &lt;b&gt;" in ask(port, "GET")[1]


def test_after_the_last_document_the_corrected_counts_show(port: int, drawn: Path) -> None:
    text = ask(port, "GET")[1]
    for place in range(30):
        answer = ("yes", "no", "unclear")[0 if place < 12 else 1 if place < 29 else 2]
        ask(port, "POST", {**form_of(text), "answer": answer})
        text = ask(port, "GET")[1]
    counts = corrected_events(event_store("reuters-21578"), drawn, by="week")
    assert (counts.read, counts.unclear) == (30, 1)
    assert "Corrected counts of Iran" in text


def test_main_pages_show_corrected_counts_when_enough_is_read(drawn: Path, page_of: PageOf) -> None:
    store = event_store("reuters-21578")
    explorer = Explorer(store, readings=Readings(drawn))
    assert explorer.overview(by="year").corrected is None
    readings = defined(explorer.readings)
    for place, item in enumerate(readings.items[:20]):
        readings.answer(item, "yes" if place < 9 else "no")
    assert explorer.country("Iran", by="year").corrected is None  # nine that count are too few
    readings.answer(readings.items[9], "yes")
    readings.answer(readings.items[20], "no")
    expected = corrected_events(store, drawn, by="year")
    assert explorer.overview(by="year").corrected == expected
    assert explorer.country("Iran", by="year").corrected == expected
    assert explorer.country("Iraq", by="year").corrected is None
    whole = f"{defined(expected.counts[0].count.estimate):,.1f}"
    assert f"corrected by 21 readings</a>: {whole} documents" in page_of(explorer, "/?by=year")
    assert "Corrected by 21 readings" in page_of(explorer, "/country?country=Iran&by=year")
    labelled = Explorer(store, labels=drawn)  # readings are no labels of a recalibrator
    assert not labelled.about.recalibrated
    assert labelled.country("Iran", by="year").corrected == expected
    part = defined(labelled.country("Iran", by="month", since="1987-03", until="1987-04").corrected)
    assert [row.period for row in part.counts] == ["1987-03", "1987-04"]


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({"countries": ["Iran", "Iraq"]}, "readings are about one country"),
        ({"count": "entities"}, "cannot correct counts of entities"),
        ({"drift": 0.2}, "there is no drift"),
    ],
    ids=["countries", "entities", "drift"],
)
def test_what_readings_cannot_correct_is_refused(drawn: Path, change: dict[str, Any], wrong: str) -> None:
    rows = [{**row, "label": "no"} for row in rows_of(drawn)]
    with drawn.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0]])
        writer.writeheader()
        writer.writerows(rows)
    with pytest.raises(InputError, match=wrong):
        counted_events(event_store("reuters-21578"), labels=drawn, **change)


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"key": "guessed"}, 403),
        ({"item": "another"}, 404),
        ({"answer": "maybe"}, 404),
        ({"answer": "x" * 5000}, 413),
    ],
    ids=["key", "item", "answer", "size"],
)
def test_a_wrong_form_changes_nothing(port: int, drawn: Path, change: dict[str, str], status: int) -> None:
    form = {**form_of(ask(port, "GET")[1]), "answer": "yes", **change}
    assert "Page not available" in ask(port, "POST", form)[1]
    before = drawn.read_bytes()
    assert ask(port, "POST", form)[0] == status
    assert drawn.read_bytes() == before


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "-"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Origin": "null"},
    ],
    ids=["other-origin", "no-origin", "cross-site", "null"],
)
def test_other_pages_cannot_answer(port: int, drawn: Path, headers: dict[str, str]) -> None:
    form = {**form_of(ask(port, "GET")[1]), "answer": "yes"}
    assert ask(port, "POST", form, **headers)[0] == 403
    assert not any(labels(drawn))


def test_nothing_is_written_without_readings_or_for_other_machines(drawn: Path, serve: Serve) -> None:
    plain = Explorer(event_store("reuters-21578"))
    with serve(plain) as number:
        assert ask(number, "POST", {"answer": "yes"})[0] == 405
        assert ask(number, "GET")[0] == 404
    reading = Explorer(event_store("reuters-21578"), readings=Readings(drawn))
    with pytest.raises(InputError, match="could answer for the reader"):
        application(reading, host="0.0.0.0", token="x" * 20)


def test_readings_without_texts_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "readings.csv"
    sample_readings(event_store("reuters-21578"), path, country="Iran", size=5, seed=1)
    with pytest.raises(InputError, match="no text of 5 documents"):
        Explorer(EventStore(event_store("reuters-21578")).path, readings=Readings(path))
