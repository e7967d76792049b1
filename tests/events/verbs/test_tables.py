"""Counts by period are sums of documents' probabilities, and say what they leave out."""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from matplotlib.patches import StepPatch

from calibrant.estimation import poisson_binomial
from calibrant.events import (
    EventStore,
    StoredCount,
    StoredDocument,
    StoredEvidence,
    StoreWriter,
    draw_events,
    event_table,
    uncertain_documents,
)
from calibrant.events.plots import event_series
from calibrant.events.results.events import EventCount, EventTable
from calibrant.exceptions import InputError
from calibrant.metrics.periods import By, period_of
from calibrant.records import Quantity
from tests.quantities import limits

SAMPLES = 20
BY: tuple[By, ...] = ("week", "month", "quarter", "year")
KEYS = ("country", "name", "period", "documents", "matched", "count", "sd", "total", "rate", "best")


def documents() -> list[StoredDocument]:
    """Sixty documents over two years, none from May to October of the first."""
    random = np.random.default_rng(6)
    found = []
    for number in range(60):
        day = date(2001, 1, 25) + timedelta(int(random.integers(0, 90)) + (0 if number < 20 else 300))
        counts = []
        for country, share in (("IRQ", 0.5), ("USA", 0.2)):
            if random.random() < 0.6:
                bits = random.random(SAMPLES) < share
                packed = np.packbits(bits, bitorder="little").tobytes()
                counts.append(StoredCount(country, float(bits.mean()), bool(random.random() < share), packed))
        counts = [each for each in counts if each.probability or each.best]
        evidence = [StoredEvidence(each.country, "raid", 0.5, 0, 0, 4, 2, 5, 8) for each in counts]
        text = "They saw it ." if counts else None
        entities = []
        for each in counts:
            one = np.unpackbits(np.frombuffer(each.samples, np.uint8), bitorder="little", count=SAMPLES)
            entities.append(bytes([*(one * (1 + number % 3)).tolist(), 2 * each.best]))
        found.append(StoredDocument(f"d{number:02}", day, not counts, counts, evidence, "", text, entities))
    return found


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("events") / "store"
    with StoreWriter(folder, {"samples": SAMPLES, "with_text": True}) as writer:
        for document in documents():
            writer.write(document)
        writer.finish()
    return folder


@pytest.mark.parametrize("by", BY)
def test_counts_are_those_of_a_plain_loop(store: Path, by: By) -> None:
    found = event_table(store, by=by)
    assert [*dict.fromkeys(row.country for row in found.counts)] == ["IRQ", "USA"]  # by falling mean
    for row in found.counts:
        there = [each for each in documents() if period_of(each.date, by) == row.period]
        counts = [one for each in there for one in each.counts if one.country == row.country]
        chance = [one.probability for one in counts if one.probability]
        assert row.documents == len(there)
        assert row.matched == len(chance)
        assert tuple(row.to_dict()) == KEYS
        if not there:
            assert (row.count.estimate, row.best) == (None, None)
            continue
        low, mean, high = limits(row.count)
        assert mean == pytest.approx(sum(chance))
        assert row.best == sum(one.best for one in counts)
        assert (low, high) == poisson_binomial(chance).interval(0.95)
        assert row.rate.estimate == (pytest.approx(sum(chance) / len(there)) if there else None)
        assert row.total is None
    for row in found.overall:
        chance = [
            one.probability for each in documents() for one in each.counts if one.country == row.country
        ]
        assert (row.period, row.documents) == ("all", 60)
        low, mean, high = limits(row.count)
        assert mean == pytest.approx(sum(chance))
        assert (low, high) == poisson_binomial([one for one in chance if one]).interval(0.95)


def test_entities_are_counted_in_place_of_documents(store: Path) -> None:
    plain = event_table(store, by="year")
    found = event_table(store, by="year", count="entities")
    assert (plain.counted, found.counted) == ("documents", "entities")
    for row, one in zip(found.counts, plain.counts, strict=True):
        same = ("country", "period", "documents", "matched")
        assert [getattr(row, key) for key in same] == [getattr(one, key) for key in same]
        numbers = [
            entities
            for each in documents()
            if period_of(each.date, "year") == row.period
            for stored, entities in zip(each.counts, each.entities or (), strict=True)
            if stored.country == row.country
        ]
        low, mean, high = limits(row.count)
        assert mean == pytest.approx(sum(sum(each[:-1]) for each in numbers) / SAMPLES)
        assert row.best == sum(each[-1] for each in numbers) == 2 * (one.best or 0)
        assert low <= mean <= high
        assert mean >= limits(one.count)[1]
        assert row.rate.estimate == pytest.approx(mean / row.documents)
    for interval in ("normal", "samples"):
        first = event_table(store, by="year", count="entities", interval=interval).counts[0]
        assert first.count.estimate == found.counts[0].count.estimate


def test_entities_are_refused_where_they_are_not_known(store: Path, tmp_path: Path) -> None:
    with StoreWriter(tmp_path / "old", {"samples": SAMPLES, "with_text": True}) as writer:
        for document in documents():
            writer.write(replace(document, entities=None))
        writer.finish()
    with pytest.raises(InputError, match="an earlier version") as error:
        event_table(tmp_path / "old", by="year", count="entities")
    assert error.value.code == "missing-value"
    with pytest.raises(InputError, match="cannot recalibrate counts of entities"):
        event_table(store, count="entities", labels=pa.table({"score": [0.5], "label": [1]}))
    with pytest.raises(InputError, match="count"):
        event_table(store, count="mentions")  # type: ignore[arg-type]


def test_periods_without_documents_are_unknown(store: Path) -> None:
    rows = [row for row in event_table(store, by="month").counts if row.country == "IRQ"]
    first, last = min(each.date for each in documents()), max(each.date for each in documents())
    assert len(rows) == (last.year - first.year) * 12 + last.month - first.month + 1
    empty = next(row for row in rows if row.period == "2001-07")
    assert (empty.documents, empty.matched, empty.best, empty.sd) == (0, 0, None, None)
    assert empty.count == empty.rate == Quantity(None, reason="the period has no documents")


@pytest.mark.parametrize(
    ("by", "since", "until", "periods"),
    [
        ("month", "2001-02", "2001-03", ["2001-02", "2001-03"]),
        ("quarter", "2001-Q2", "2001-11-30", ["2001-Q2", "2001-Q3", "2001-Q4"]),
        ("week", "2001-02-01", "2001-02-05", ["2001-W05", "2001-W06"]),
        ("year", "2002", None, ["2002"]),
        ("year", None, "2001-12-31", ["2001"]),
        ("year", "1990", "2030", ["2001", "2002"]),
        ("month", "2001-07", "2001-07", ["2001-07"]),
    ],
)
def test_a_range_has_whole_periods_with_the_counts_of_the_whole_table(
    store: Path, by: By, since: str | None, until: str | None, periods: list[str]
) -> None:
    found = event_table(store, by=by, since=since, until=until, countries=["USA", "IRQ"])
    whole = event_table(store, by=by, countries=["USA", "IRQ"]).counts
    assert found.counts == tuple(row for row in whole if row.period in periods)
    assert list(dict.fromkeys(row.period for row in found.counts)) == periods
    for row in found.overall:
        own = [one for one in found.counts if one.country == row.country]
        assert row.documents == sum(one.documents for one in own)
        assert (row.count.estimate or 0.0) == pytest.approx(sum(one.count.estimate or 0.0 for one in own))
    if "2001-07" not in periods:
        entities = event_table(store, by=by, since=since, until=until, countries=["USA"], count="entities")
        one = event_table(store, by=by, countries=["USA"], count="entities").counts
        assert entities.counts == tuple(row for row in one if row.period in periods)


@pytest.mark.parametrize(
    ("since", "until", "wrong"),
    [
        ("2005", None, "the store has no documents from 2005: it covers 2001-01-2"),
        (None, "1999-Q4", "the store has no documents to 1999-Q4"),
        ("2002", "2001", "the store has no documents from 2002 to 2001"),
        ("last year", None, "'last year' is not a period: write a year, quarter, month, week or day"),
        ("2001-13", None, "is not a period"),
    ],
)
def test_a_range_without_documents_is_refused(
    store: Path, since: str | None, until: str | None, wrong: str
) -> None:
    with pytest.raises(InputError, match=wrong):
        event_table(store, by="year", since=since, until=until)


def test_all_periods_sum_to_the_same(store: Path) -> None:
    sums = [
        np.sum([(row.count.estimate or 0, row.documents, row.best or 0) for row in rows], axis=0)
        for by in BY
        if (rows := event_table(store, by=by, countries=["USA"]).counts)
    ]
    for one, other in itertools.pairwise(sums):
        assert one == pytest.approx(other)


def test_countries_are_as_asked_for_and_one_that_never_counts_has_zeros(store: Path) -> None:
    rows = event_table(store, by="year", countries=["fji", "USA"]).counts
    assert [row.country for row in rows] == ["FJI", "FJI", "USA", "USA"]
    assert {row.count.estimate for row in rows[:2]} == {0.0}
    with pytest.raises(InputError, match="not a country code"):
        event_table(store, countries=[" "])
    with pytest.raises(InputError, match="neither the store nor the lexicon has a country 'Atlantis'"):
        event_table(store, countries=["USA", "Atlantis"])


def test_the_other_intervals_are_those_of_the_paper_and_of_the_samples(store: Path) -> None:
    normal = event_table(store, by="year", interval="normal", level=0.9).counts[0]
    chance = [
        one.probability
        for each in documents()
        for one in each.counts
        if one.country == normal.country and period_of(each.date, "year") == normal.period
    ]
    variance = sum(p * (1 - p) for p in chance) * SAMPLES / (SAMPLES - 1)
    assert normal.sd == pytest.approx(variance**0.5)
    assert normal.count.high == pytest.approx(sum(chance) + 1.6448536 * variance**0.5)
    drawn = event_table(store, by="year", interval="samples").counts[0]
    low, mean, high = limits(drawn.count)
    assert low <= mean <= high


def test_labelled_documents_give_the_interval_with_shared_doubt(store: Path) -> None:
    random = np.random.default_rng(1)
    score = random.random(400)
    dev = pa.table({"score": score, "label": (random.random(400) < score).astype(int)})
    plain = event_table(store, by="year").counts
    found = event_table(store, by="year", labels=dev)
    assert found.recalibrated
    for row, before in zip(found.counts, plain, strict=True):
        (low, mean, high), (low_total, same, high_total) = limits(row.count), limits(row.total)
        assert low_total <= low <= mean == same <= high <= high_total
        assert mean == pytest.approx(before.count.estimate, rel=0.4)
    with pytest.raises(InputError, match="samples cannot be recalibrated"):
        event_table(store, interval="samples", labels=dev)


def test_a_drift_between_periods_widens_the_total_interval(store: Path) -> None:
    random = np.random.default_rng(2)
    score = random.random(400)
    columns = {"score": score, "label": (random.random(400) < score).astype(int)}
    dev = pa.table(columns)
    dated = pa.table({**columns, "date": [f"{2000 + k % 5}-03-01" for k in range(400)]})
    periods = pa.table({**columns, "period": [k % 4 for k in range(400)]})
    plain = event_table(store, by="year", labels=dev)
    assert plain.drift is None
    assert plain.condition is not None
    assert "as well calibrated in every period" in plain.condition
    assert plain.condition in plain.to_tables()[0].notes
    assert event_table(store, by="year").condition is None
    for given, drift, found in ((dev, 0.7, None), (dated, "estimate", 5), (periods, "estimate", 4)):
        table = event_table(store, by="year", labels=given, drift=drift)
        assert table.drift is not None
        assert table.drift.periods == found
        assert f"standard deviation {table.drift.estimate:.2g}" in str(table.condition)
        assert [row.count for row in table.counts] == [row.count for row in plain.counts]
        wide, narrow = ([limits(row.total)[2] for row in each.counts] for each in (table, plain))
        assert all(high >= before - 1 for high, before in zip(wide, narrow, strict=True))
        assert sum(wide) > sum(narrow)


def test_a_drift_that_cannot_be_known_is_refused(store: Path) -> None:
    columns = {"score": np.linspace(0.1, 0.9, 60), "label": np.arange(60) % 2}
    with pytest.raises(InputError, match="drift needs labeled documents"):
        event_table(store, drift=0.2)
    with pytest.raises(InputError, match="the labeled documents have no periods"):
        event_table(store, labels=pa.table(columns), drift="estimate")
    with pytest.raises(InputError, match="the labeled documents have classes: give the columns score, label"):
        event_table(store, labels=pa.table({**columns, "class": ["a"] * 60}))
    with pytest.raises(InputError, match="drift is 'guess'"):
        event_table(store, labels=pa.table(columns), drift="guess")
    with pytest.raises(InputError, match="the labels are from only 2 periods"):
        event_table(store, labels=pa.table({**columns, "period": np.arange(60) % 2}), drift="estimate")
    with pytest.raises(InputError, match="'May' is not a date"):
        event_table(store, labels=pa.table({**columns, "date": ["May"] * 60}), drift="estimate")
    with pytest.raises(InputError, match="drift is -1"):
        event_table(store, labels=pa.table(columns), drift=-1)


def test_one_wrong_label_at_a_score_of_one_does_not_settle_the_recalibration(store: Path) -> None:
    random = np.random.default_rng(1)
    score = np.append(random.random(400), 1.0)
    label = np.append(random.random(400) < score[:-1], False).astype(int)
    with_it, without = (
        event_table(store, by="year", labels=pa.table({"score": score[:n], "label": label[:n]})).counts
        for n in (401, 400)
    )
    for row, before in zip(with_it, without, strict=True):
        assert row.count.estimate == pytest.approx(before.count.estimate, rel=0.1, abs=0.05)


def test_a_damaged_part_is_named_beside_the_numbers(tmp_path: Path) -> None:
    with StoreWriter(tmp_path / "s", {"samples": SAMPLES, "with_text": True}, part=30) as writer:
        for document in documents():
            writer.write(document)
    part = tmp_path / "s" / "documents" / "part-000001.parquet"
    part.write_bytes(part.read_bytes()[:-9])
    found = event_table(tmp_path / "s", by="year", countries=["IRQ"])
    assert sum(row.documents for row in found.counts) == 30
    assert not found.finished
    assert len(found.problems) == 1
    assert str(part) in found.problems[0]
    assert len(uncertain_documents(tmp_path / "s").problems) == 1


def test_a_store_of_nothing_has_no_rows(tmp_path: Path) -> None:
    with StoreWriter(tmp_path / "s", {"samples": 3, "with_text": False}):
        pass
    assert event_table(tmp_path / "s").counts == ()
    assert uncertain_documents(tmp_path / "s").documents == ()
    for nothing in (event_table(tmp_path / "s"), uncertain_documents(tmp_path / "s")):
        assert nothing.to_csv().startswith(("country,name,period", "id,date"))  # headings alone
        assert nothing.to_rows() == []
    with pytest.raises(InputError, match="the table has no rows"):
        draw_events(tmp_path / "s", tmp_path / "a.svg")
    with StoreWriter(tmp_path / "s", {"samples": 3, "with_text": False}) as writer:
        writer.write(StoredDocument("a", date(2001, 1, 1), skipped=True))
    assert event_table(tmp_path / "s").counts == ()
    assert event_table(tmp_path / "s", countries=["IRQ"]).counts[0].documents == 1


def test_uncertain_documents_come_with_the_words(store: Path, tmp_path: Path) -> None:
    rows = uncertain_documents(store, countries=["IRQ"], most=5).documents
    distances = sorted(
        abs(one.probability - 0.5) for each in documents() for one in each.counts if one.country == "IRQ"
    )
    assert [abs(row.probability - 0.5) for row in rows] == pytest.approx(distances[:5])
    assert {(each.mention, each.agent) for row in rows for each in row.evidence} == {("They", "saw")}
    with StoreWriter(tmp_path / "s", {"samples": SAMPLES, "with_text": False}) as writer:
        for document in documents():
            writer.write(
                StoredDocument(document.id, document.date, False, document.counts, document.evidence)
            )
    assert uncertain_documents(tmp_path / "s").documents[0].evidence[0].mention is None
    texts = tmp_path / "docs.jsonl"
    lines = [f'{{"id": "{each.id}", "date": "2001-01-01", "text": "We   met."}}' for each in documents()]
    texts.write_text("\n".join(lines))
    assert uncertain_documents(tmp_path / "s", documents=texts).documents[0].evidence[0].mention == "We"


def test_the_figure_draws_what_the_table_holds(store: Path, tmp_path: Path) -> None:
    found = draw_events(store, tmp_path / "a.svg", by="quarter")
    assert b"Iraq" in (tmp_path / "a.svg").read_bytes()
    assert isinstance(found, EventTable)
    assert found.to_dict() == event_table(store, by="quarter").to_dict()
    figure = event_series(found, most=1)
    ax = figure.axes[0]
    mean, best = (drawn.get_data()[0] for drawn in ax.patches[-2:] if isinstance(drawn, StepPatch))
    rows: list[EventCount] = [row for row in found.counts if row.country == "IRQ"]
    assert not all(row.documents for row in rows)  # periods without documents are gaps
    np.testing.assert_array_equal(mean, np.array([row.count.estimate for row in rows], float))
    np.testing.assert_array_equal(best, np.array([row.best for row in rows], float))
    assert len([each for each in event_series(found, rates=True).axes if each.get_visible()]) == 2
    with pytest.raises(InputError, match="no known ending of a figure"):
        draw_events(store, tmp_path / "a.gif")


def test_a_store_can_be_given_opened(store: Path) -> None:
    opened = EventStore(store)
    assert event_table(opened, by="year").counts == event_table(store, by="year").counts


def test_countries_go_by_name_too(store: Path) -> None:
    by_code = event_table(store, by="year", countries=["USA", "IRQ"]).counts
    assert event_table(store, by="year", countries=["United States", "Iraqis", "usa"]).counts == by_code
    assert (
        uncertain_documents(store, countries=["iraq"]).documents
        == uncertain_documents(store, countries=["IRQ"]).documents
    )


def test_labelled_documents_that_cannot_be_fitted_are_named_with_their_file(
    store: Path, tmp_path: Path
) -> None:
    for name, text in (("one", "0.5,1\n0.6,1\n"), ("parted", "0.1,0\n0.2,0\n0.8,1\n0.9,1\n")):
        dev = tmp_path / f"{name}.csv"
        dev.write_text(f"score,label\n{text}")
        with pytest.raises(InputError, match="label more documents") as error:
            event_table(store, by="year", labels=dev)
        assert error.value.file == str(dev)


def test_texts_of_another_corpus_are_refused(store: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    other.write_text('{"id": "nobody", "date": "2001-01-01", "text": "x"}\n')
    with pytest.raises(InputError, match="the file has no document of the store"):
        uncertain_documents(store, documents=other)


def test_dates_that_are_thousands_of_years_apart_make_no_endless_table(tmp_path: Path) -> None:
    with StoreWriter(tmp_path / "s", {"samples": 8, "with_text": False}) as writer:
        for number, year in enumerate((1, 2001)):
            count = StoredCount("IRQ", 0.5, True, b"\x0f")
            writer.write(StoredDocument(f"d{number}", date(year, 1, 1), counts=[count]))
    with pytest.raises(InputError, match=r"104,\d+ periods of one week") as error:
        event_table(tmp_path / "s", by="week")
    assert error.value.code == "date"
    assert len(event_table(tmp_path / "s", by="year").counts) == 2001


def test_codes_of_an_own_lexicon_may_be_lower_case(tmp_path: Path) -> None:
    with StoreWriter(tmp_path / "s", {"samples": 8, "with_text": False}) as writer:
        count = StoredCount("irq", 0.5, True, b"\x0f")
        writer.write(StoredDocument("d", date(2001, 1, 1), counts=[count]))
    for given in ("irq", "IRQ"):
        (row,) = event_table(tmp_path / "s", by="year", countries=[given]).counts
        assert (row.country, row.count.estimate) == ("irq", 0.5)


@pytest.mark.parametrize(
    ("positives", "zeros", "warned"),
    [(200, 0, None), (200, 7, "7 of 20 labeled documents with probability 0 count"), (9, 0, "are few")],
)
def test_few_labels_and_labels_of_missed_documents_have_a_warning(
    store: Path, positives: int, zeros: int, warned: str | None
) -> None:
    label = [1] * positives + [0] * 200 + [1] * zeros + [0] * (20 - zeros)
    dev = pa.table(
        {
            "score": [0.6, 0.4] * ((len(label) - 20) // 2) + [0.5] * (len(label) % 2) + [0.0] * 20,
            "label": label,
        }
    )
    found = event_table(store, by="year", labels=dev).labels_warning
    assert found is None if warned is None else warned in (found or "")
