from __future__ import annotations

import json
import shutil
from datetime import date
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calibrant import InputError
from calibrant.data import STORES, dated_documents, event_labels, event_reading, event_store
from calibrant.estimation.total import RefittedRecalibrator
from calibrant.events import RULES, EventStore
from calibrant.events.files.store import StoredCount, StoredDocument
from calibrant.events.files.store_writing import StoreWriter
from calibrant.io import open_predictions
from calibrant.recalibrate import LabelledScores, Platt
from calibrant.structures import read_documents
from calibrant.structures.models import CoreferenceModel
from calibrant_studies import _events_differences as differences
from calibrant_studies import _events_numbers as numbers
from calibrant_studies import _events_parts as parts
from calibrant_studies import _events_readings as readings
from calibrant_studies import _events_total as total
from calibrant_studies import events, run
from calibrant_studies._base import Study
from calibrant_studies._events_data import CORPORA, Corpus, Extracted, store_name
from calibrant_studies._events_dev import rows_of
from calibrant_studies._events_shipping import ship_labels, ship_readings, ship_store

BY_YEAR = Corpus("small", "Small", "year")


@pytest.fixture(scope="module")
def recalibrated() -> RefittedRecalibrator:
    """As the study has it, of the labels that ship."""
    table = open_predictions(event_labels()).read()
    assert table.cluster is not None
    scores = LabelledScores(table.score, table.label, clusters=np.asarray(table.cluster))
    return RefittedRecalibrator(Platt(clip=total.CLIP), scores, refits=total.REFITS, seed=events.SEED)


def counted(
    store: Path, corpus: Corpus, recalibrated: RefittedRecalibrator, rules: str = "default"
) -> numbers.Counted:
    return numbers.Counted(Extracted(corpus, rules, EventStore(store), 0.0), recalibrated)


def small_store(folder: Path, cells: dict[tuple[str, int], list[float]], samples: int = 100) -> Path:
    """A store of documents with the probabilities given for each country and year."""
    rng = np.random.default_rng(1)
    with StoreWriter(
        folder, {"samples": samples, "with_text": False}, sources={"rules": "default"}
    ) as writer:
        for (country, year), chances in cells.items():
            for number, chance in enumerate(chances):
                bits = np.zeros(samples, np.bool_)
                bits[rng.permutation(samples)[: round(chance * samples)]] = True
                packed = np.packbits(bits, bitorder="little").tobytes()
                count = StoredCount(country, float(bits.mean()), chance > 0.5, packed)
                name = f"{country}{year}-{number}"
                writer.write(StoredDocument(name, date(year, 1, 1), counts=[count], source=name.encode()))
        writer.finish()
    return folder


def test_no_finding_has_the_name_of_another(record: dict[str, Any]) -> None:
    names = [finding["name"] for finding in record["findings"]]
    assert len(names) == len(set(names))


def test_the_figures_come_from_the_record_alone(record: dict[str, Any]) -> None:
    study = Study.from_dict(record)
    names = {corpus.name for corpus in CORPORA} | {"current-events-rates", "paper"}
    assert set(events.figures(study)) == names


def test_the_rows_of_a_corpus_follow_from_the_store_that_ships(
    record: dict[str, Any], recalibrated: RefittedRecalibrator
) -> None:
    corpus = CORPORA[-1]
    main = counted(event_store(corpus.name), corpus, recalibrated)
    paper = counted(event_store(f"{corpus.name}-paper"), corpus, recalibrated, "paper")
    for key, rows in (
        ("countries", numbers.country_rows(main, paper)),
        ("fewer", [*numbers.fewer_rows(main), *numbers.fewer_rows(paper)]),
        ("totals", [numbers.total_row(main), numbers.total_row(paper)]),
        ("not-real", differences.difference_tables(main)["not-real"]),
    ):
        there = [row for row in record["tables"][key] if row["corpus"] == corpus.title]
        if key == "not-real":
            there = [row for row in there if row["rules"] == "default"]
        assert len(there) == len(rows)
        for row, one in zip(rows, there, strict=True):
            assert row == pytest.approx(one), key


def test_what_was_read_is_in_the_stores_that_ship(record: dict[str, Any]) -> None:
    read = json.loads(readings.READ.read_text())
    stores = {name: EventStore(event_store(name)) for name in read}
    assert readings.sure_rows(stores) == record["tables"]["sure"]
    assert readings.doubtful_rows(stores) == record["tables"]["doubtful"]
    assert len(readings.doubtful_rows(stores)) == len(readings.DOUBTFUL) >= 10
    assert {one[:3] for one in readings.WRONG} <= {(name, *one) for name in read for one in read[name]}
    for name, pairs in read.items():
        counts = stores[name].counts()
        sure = np.flatnonzero(counts.probability >= readings.SURE)
        there = {(counts.names[counts.document[n]], counts.countries[counts.country[n]]) for n in sure}
        assert {(document, country) for document, country in pairs} <= there


@pytest.mark.parametrize("name", STORES)
def test_a_store_that_ships_is_whole_and_has_no_text(name: str, record: dict[str, Any]) -> None:
    store = EventStore(event_store(name))
    assert store.manifest.finished
    assert not store.with_text
    assert not any("/" in source for source in store.manifest.sources.values())
    rules = "paper" if name.endswith("-paper") else "default"
    title = next(corpus.title for corpus in CORPORA if store_name(corpus.name, rules) == name)
    row = next(row for row in record["tables"]["overview"] if (row["corpus"], row["rules"]) == (title, rules))
    assert store.document_count == row["documents"]
    assert store.counts().probability.sum() == pytest.approx(row["mean"])
    assert len(store.entities()) == len(store.counts().probability)


def test_what_ships_of_events_is_small() -> None:
    files = [path for path in event_labels().parent.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 1_500_000


def test_a_difference_is_that_of_all_outcomes(tmp_path: Path, recalibrated: RefittedRecalibrator) -> None:
    first, second = [0.9] * 6 + [0.4], [0.8] * 2 + [0.3] * 2
    one = counted(
        small_store(tmp_path / "s", {("IRQ", 2001): first, ("IRQ", 2002): second}), BY_YEAR, recalibrated
    )
    (found,) = differences.differences(one)
    assert (found.kind, found.first.name, found.second.name) == ("two periods", "IRQ 2001", "IRQ 2002")
    assert (found.first.best, found.second.best) == (6, 2)
    chances = np.array(first + second)
    sign = np.array([1] * len(first) + [-1] * len(second))
    greater = 0.0
    for outcome in product((0, 1), repeat=len(chances)):
        happened = np.array(outcome)
        if sign @ happened > 0:
            greater += float(np.prod(np.where(happened, chances, 1 - chances)))
    assert found.compared.greater == pytest.approx(greater)
    assert found.is_real == ((found.compared.difference.low or 0) > 0)


def test_two_countries_are_compared_in_the_same_samples(
    tmp_path: Path, recalibrated: RefittedRecalibrator
) -> None:
    """Each document counts for one or the other, never both: the difference is certain where the sum is."""
    half, other = bytes([0b00001111]), bytes([0b11110000])
    with StoreWriter(tmp_path / "s", {"samples": 8, "with_text": False}) as writer:
        for number in range(12):
            counts = [StoredCount("IRN", 0.5, number < 8, half), StoredCount("IRQ", 0.5, number >= 8, other)]
            writer.write(StoredDocument(f"d{number}", date(2001, 1, 1), counts=counts))
        writer.finish()
    (found,) = differences.differences(counted(tmp_path / "s", BY_YEAR, recalibrated))
    assert found.kind == "two countries"
    assert found.shown == 4
    # The difference is twice a binomial count of 12 halves, less 12: its sd is 2 sqrt(3), not sqrt(6).
    assert found.compared.greater == pytest.approx(1 - found.compared.less - found.compared.equal)
    assert found.compared.equal == pytest.approx(924 / 4096)
    assert not found.is_real


def test_ten_samples_differ_from_a_hundred_by_chance_alone(
    tmp_path: Path, recalibrated: RefittedRecalibrator
) -> None:
    chances = np.random.default_rng(2).random(400).round(2).tolist()
    pair, cell = numbers.fewer_rows(
        counted(small_store(tmp_path / "s", {("IRQ", 2001): chances}), BY_YEAR, recalibrated)
    )
    assert pair["rms difference"] == pytest.approx(pair["expected"], rel=0.1)
    assert cell["numbers"] == 1
    assert cell["largest"] < 4 * cell["expected"]


def test_total_intervals_hold_those_of_the_model(tmp_path: Path, recalibrated: RefittedRecalibrator) -> None:
    one = counted(small_store(tmp_path / "s", {("IRQ", 2001): [0.5] * 30}), BY_YEAR, recalibrated)
    (row,) = numbers.series_rows(one, ["IRQ"])
    assert row["low_total"] <= row["low"] < row["mean"] < row["high"] <= row["high_total"]
    assert (row["documents"], row["best"]) == (30, 0)


def test_labels_compare_samples_with_gold_verb_by_verb() -> None:
    documents = list(read_documents(dated_documents()))
    model = CoreferenceModel(bits=10, least=1, epochs=5).fit(documents)
    rows = list(rows_of(model, documents, RULES["default"], 1))
    gold = {(row["document"], row["country"], row["verb"]) for row in rows if row["label"]}
    assert ("callao", "ESP", "attack") in gold
    assert all(0 <= row["score"] <= 1 for row in rows)
    assert all(row["score"] > 0 or row["label"] for row in rows)
    assert {row["verb"] for row in rows} <= set(RULES["default"].verbs)
    whole, force = total.label_rows(rows)
    assert {**whole, "verbs": ""} == {**force, "verbs": ""}  # here all verbs are verbs of force
    assert whole["positive"] <= len(gold)
    assert sum(row["triples"] for row in total.bin_rows(rows)) == whole["triples with a score"]


def test_a_store_that_ships_holds_what_the_store_held(tmp_path: Path) -> None:
    store = small_store(tmp_path / "s", {("IRQ", 2002): [0.5, 1.0], ("IRN", 2001): [0.25]}, samples=20)
    ship_store(store, tmp_path / "shipped")
    assert EventStore(tmp_path / "shipped").digest() == EventStore(store).digest()
    shipped = list(EventStore(tmp_path / "shipped").documents())
    assert shipped[0].id == "IRN2001-0"
    assert all(each.source for each in EventStore(store).documents())
    assert not any(each.source for each in shipped)


def test_labels_that_ship_are_those_with_a_score(tmp_path: Path) -> None:
    row = {"document": "d", "country": "IRQ", "verb": "go", "score": 0.5, "label": 1}
    ship_labels([row, {**row, "score": 0.0}], tmp_path / "labels.parquet")
    table = open_predictions(tmp_path / "labels.parquet").read()
    assert (table.score.tolist(), table.label.tolist()) == ([0.5], [1])


def test_readings_that_ship_are_those_of_the_record(record: dict[str, Any], tmp_path: Path) -> None:
    rows = record["tables"]["sure"]
    assert {row["corpus"] for row in rows} == set(json.loads(readings.READ.read_text()))
    for row in rows:
        assert event_reading(row["corpus"]) == (row["right"], row["read"])
    ship_readings(rows, tmp_path / "readings.json")
    shipped = event_labels().with_name("readings.json")
    assert (tmp_path / "readings.json").read_bytes() == shipped.read_bytes()
    with pytest.raises(InputError, match="current-events"):
        event_reading("current-events-paper")


def test_a_part_is_made_once_in_each_way(tmp_path: Path) -> None:
    made = []

    def make() -> dict[str, Any]:
        made.append(1)
        return {"seconds": 2.0}

    for seed, times in ((1, 1), (1, 1), (2, 2)):
        part = parts.labels_part(seed)
        assert part.take(tmp_path, make)["seconds"] == 2.0
        assert len(made) == times
        assert part.there(tmp_path) is not None
    assert parts.labels_part(1).there(tmp_path) is None


def test_the_plan_lists_the_parts_that_a_run_reuses_and_computes_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CALIBRANT_STORE", raising=False)
    assert "computed again" in events.plan()[0]
    monkeypatch.setenv("CALIBRANT_STORE", str(tmp_path))
    assert len(events.plan()) == 12
    assert all(line.endswith(parts.ANEW) for line in events.plan()[1:])
    (tmp_path / "gum.model").touch()
    parts.skipping_part().take(tmp_path, lambda: {"seconds": 0.0})
    shutil.copytree(event_store("reuters-21578-paper"), tmp_path / "reuters-21578-paper")
    shutil.copytree(event_store("reuters-21578-paper"), tmp_path / "reuters-21578")
    states = dict(parts.states(tmp_path, events.SEED))
    assert states["gum.model"] == states["skipping.json"] == parts.TAKEN
    assert states["dev.json"] == states["current-events"] == parts.ANEW
    assert states["reuters-21578-paper"] == "reused: 21,578 documents"
    assert states["reuters-21578"].startswith("made by other rules (21,578 documents)")
    assert f"  {'gum.model':<22}  {parts.TAKEN}" in events.plan()


def test_without_a_parser_the_study_says_what_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CALIBRANT_MODELS", raising=False)
    with pytest.raises(InputError, match="needs a parser"):
        run("events", data=tmp_path)
