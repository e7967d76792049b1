from __future__ import annotations

import csv
import html
import io
import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from calibrant.events import event_table
from calibrant.events.files.store import StoredArc, StoredCount, StoredDocument
from calibrant.events.files.store_parts import part_digest
from calibrant.events.web import Explorer
from calibrant.events.web.pages.document import Pair, line_of, why_below_one, why_uncertain
from calibrant.exceptions import FormatError, InputError
from tests.events.web.conftest import documents
from tests.quantities import limits

Make = Callable[..., Path]
PageOf = Callable[[Explorer, str], str]


def test_what_is_said_of_the_store(explorer: Explorer) -> None:
    about = explorer.about
    assert (about.documents, about.matched, about.samples) == (4, 3, 8)
    assert (about.first, about.last) == ("2001-01-05", "2001-07-04")
    assert about.finished
    assert not about.problems
    assert not about.recalibrated


def test_numbers_are_those_of_the_table_of_events(store: Path) -> None:
    explorer = Explorer(store)
    table = event_table(store, by="quarter", countries=["USA"])
    assert explorer.country("USA", by="quarter").series.rows == table.counts
    found = explorer.overview(by="quarter")
    assert {series.country: series.rows for series in found.series}["USA"] == table.counts


def test_countries_come_by_falling_mean(explorer: Explorer) -> None:
    means = [float(series.overall.count) for series in explorer.overview().series]
    assert means == sorted(means, reverse=True)
    assert means[0] == pytest.approx(1.375)


def test_the_first_cut_of_time_is_the_finest_of_at_most_sixty_periods(make_store: Make) -> None:
    for days, by in ((100, "week"), (1000, "month"), (3000, "quarter"), (9000, "year")):
        ends = [StoredDocument(str(day), date.fromordinal(700000 + day)) for day in (0, days)]
        assert Explorer(make_store(ends, name=f"{by}.store")).fitting() == by


def test_two_countries_are_compared_by_samples_that_they_share(explorer: Explorer) -> None:
    found = explorer.compare("USA", "IRQ", by="year")
    samples = np.arange(8)
    first_document = [(samples < 2).astype(int) - (samples < 4), np.ones(8, int), (samples < 1).astype(int)]
    sums = [sum(steps) for steps in product(*first_document)]
    assert found.together.counts.greater == pytest.approx(np.mean([total > 0 for total in sums]))
    assert found.together.counts.less == pytest.approx(np.mean([total < 0 for total in sums]))
    assert (found.together.first_best, found.together.second_best) == (1, 1)
    assert found.both == 1
    assert [row.period for row in found.periods] == ["2001"]
    assert found.periods[0].counts == found.together.counts


def test_a_range_of_years_is_counted_alone_and_kept_in_links(explorer: Explorer, page_of: PageOf) -> None:
    whole = explorer.country("USA", by="month").series
    part = explorer.country("USA", by="month", since="2001-02", until="2001").series
    assert part.rows == tuple(row for row in whole.rows if row.period >= "2001-02")
    assert float(part.overall.count) == pytest.approx(1 / 8)
    both = explorer.compare("USA", "IRQ", by="quarter", since="2001-Q3")
    assert both.both == 0
    assert float(both.together.counts.difference) == pytest.approx(1 / 8)
    listed = explorer.documents("USA", by="month", since="2001-02").documents
    assert [row.date for row in listed] == ["2001-07-04"]
    assert "IRQ" not in explorer.overview(since="2001-02").countries
    for path in ("/?", "/country?country=USA&", "/compare?first=USA&second=IRQ&", "/documents?country=USA&"):
        shown = page_of(explorer, f"{path}by=month&from=2001-01&to=2001-03&rates=1")
        links = [
            html.unescape(link) for link in re.findall(r'href="(/(?:country|compare|doc)\w*\?[^"]*)"', shown)
        ]
        links = [link for link in links if not link.startswith("/document?")]
        assert links
        assert all("to=2001-03" in link or "all years" in shown for link in links)
        kept = [link for link in links if "from=2001-01" in link and "to=2001-03" in link]
        assert len(links) - len(kept) <= 1  # that to all years
    for wrong in ({"since": "soon"}, {"since": "2005"}, {"since": "2001-07", "until": "2001-01"}):
        with pytest.raises(InputError):
            explorer.overview(by="month", **wrong)  # type: ignore[arg-type]


def test_small_charts_have_one_scale_or_none(explorer: Explorer, page_of: PageOf) -> None:
    one = page_of(explorer, "/?by=year")
    tops = set(re.findall(r'<text class="up"[^>]*>([^<]*)</text>', one))
    assert "All charts have the same scale" in one
    assert len(tops) == 1
    own = page_of(explorer, "/?by=year&own=1")
    assert "heights do not compare" in own
    assert 'class="up"' not in own
    assert "by=month&amp;own=1" in own


def test_periods_of_a_comparison_are_those_with_documents(explorer: Explorer) -> None:
    found = explorer.compare("USA", "IRQ", by="month")
    assert [row.period for row in found.periods] == ["2001-01", "2001-07"]
    assert found.periods[1].counts.greater == pytest.approx(1 / 8)
    assert len(found.to_rows()) == 2
    assert found.to_rows()[0]["counts.greater"] == found.periods[0].counts.greater


@pytest.mark.parametrize(
    ("order", "names"),
    [("uncertain", ["a", "h", "b"]), ("probability", ["b", "a", "h"]), ("date", ["a", "b", "h"])],
)
def test_documents_come_in_the_order_that_was_asked_for(
    explorer: Explorer, order: str, names: list[str]
) -> None:
    found = explorer.documents("USA", order=order)
    assert [row.id if len(row.id) == 1 else "h" for row in found.documents] == names


def test_a_period_has_its_own_documents(explorer: Explorer) -> None:
    found = explorer.documents("USA", by="quarter", period="2001-Q1")
    assert [(row.id, row.title, row.best) for row in found.documents] == [
        ("a", "Planes", False),
        ("b", None, True),
    ]
    assert explorer.documents("USA", by="quarter", period="2001-Q2").total == 0
    assert explorer.documents("USA", offset=2).total == 3
    assert len(explorer.documents("USA", offset=2).documents) == 1


def test_a_document_says_why_it_counts(explorer: Explorer) -> None:
    page = explorer.document("a")
    assert [(count.country, count.samples_counted, count.best) for count in page.counts] == [
        ("IRQ", 4, True),
        ("USA", 2, False),
    ]
    assert page.counts[0].why == (
        "In 50 % of the samples, “they” and “American planes” are different entities.",
    )
    assert [(pair.mention, pair.agent, pair.agent_sentence) for pair in page.pairs] == [
        ("American planes", "they", 2),
        ("American planes", "American planes", 2),
    ]
    assert page.text is not None
    assert page.text.startswith("American planes bombed")
    marked = [(piece.text, piece.mentions, piece.agents, piece.ends) for piece in page.pieces if piece.ends]
    assert marked == [("American planes", (1, 2), (2,), (1, 2)), ("they", (), (1,), (1,))]
    assert json.loads(page.to_json())["text"] == "".join(piece.text for piece in page.pieces) == page.text


def test_a_mention_of_another_country_that_blocks_is_named() -> None:
    first = Pair(1, "IRQ", "attack", 0.75, 1, (0, 5), 2, (9, 12), None, None)
    other = Pair(2, "USA", "attack", 0.5, 3, (20, 25), 2, (9, 12), None, None)
    apart, blocked = why_below_one("IRQ", 0.5, [first, other], {"USA": "United States"})
    assert apart == "In 25 % of the samples, the agent and the mention are different entities."
    assert "at least 25 % of the samples" in blocked
    assert "a mention (sentence 3) names United States" in blocked
    assert "the same entity as the agent in 50 %" in blocked
    unnamed = why_below_one("IRQ", 0.5, [first], {})[1]  # the other country counts in no sample
    assert unnamed.endswith("so that it counts for neither.")
    assert why_below_one("IRQ", 0.75, [first, other], {}) == (apart,)
    assert why_below_one("IRQ", 1.0, [replace(first, probability=1.0)], {}) == ()
    assert "another pair counts in some of them" in why_below_one("IRQ", 0.9, [first], {})[0]


def test_an_uncertain_arc_is_named_on_the_page(make_store: Make, page_of: PageOf) -> None:
    first, second = documents()[0].evidence
    weak = (StoredArc("they", "nsubj", "attacked", 0.62), StoredArc("and", "conj", "attacked", 0.99))
    sure = (StoredArc("American", "nsubj", "bombed", 0.99),)
    changed = replace(documents()[0], evidence=[first._replace(arcs=weak), second._replace(arcs=sure)])
    explorer = Explorer(make_store([changed]))
    irq, usa = explorer.document("a").counts
    assert irq.why[-1].startswith("The parser is uncertain that “they” is nsubj of “attacked”: 0.62.")
    assert "takes its tree as certain" in irq.why[-1]
    assert not any("parser" in sentence for sentence in usa.why)
    shown = re.sub("<[^>]*>", "", page_of(explorer, "/document?id=a"))
    assert "nsubj of attacked: 0.62" in shown
    assert "nsubj of bombed: 0.99" in shown
    row = explorer.document("a").to_rows()[0]
    assert (row["arc"], row["arc_probability"]) == ("nsubj of attacked", 0.62)
    pair = explorer.document("a").pairs[0]
    assert why_uncertain(pair, sampled=True) == (
        "The parser is uncertain that “they” is nsubj of “attacked”: 0.62.",
    )
    assert why_uncertain(replace(pair, arcs=()), sampled=True) == ()


def test_a_document_begins_with_the_sentence_that_decides(explorer: Explorer, page_of: PageOf) -> None:
    assert [count.line for count in explorer.document("a").counts] == [
        ("The Pentagon said that", "they", "attacked two bridges ."),
        ("", "American planes", "bombed the city ."),
    ]
    shown = page_of(explorer, "/document?id=a")
    assert shown.index("<blockquote") < shown.index('class="pairs"') < shown.index('<h2 class="sub">Text')
    assert explorer.document("b").counts[0].line is None
    long = "a " * 400 + "they attacked " + "b " * 400
    before, words, after = line_of(long, (800, 804))
    assert words == "they"
    assert len(before) < 310 > len(after)
    assert before.startswith("… a")
    assert after.endswith("b …")
    assert line_of("no end", (0, 6)) == ("", "no end", "")


def test_the_most_probable_country_of_a_document_is_first_and_its_pair_stands_out(
    explorer: Explorer, page_of: PageOf
) -> None:
    shown = page_of(explorer, "/document?id=a")
    assert shown.index("probability <b>50 %") < shown.index("probability <b>25 %")
    assert shown.count('class="decides"') == 2


def test_without_a_text_there_are_sentences_and_a_note(explorer: Explorer) -> None:
    page = explorer.document("b")
    assert page.text is None
    assert page.pieces == ()
    assert "`documents`" in page.note
    assert page.pairs[0].mention is None
    assert page.pairs[0].agent_sentence == 2


def test_texts_can_come_from_the_documents(store: Path, tmp_path: Path) -> None:
    lines = [{"id": name, "date": "2001-01-09", "title": "Given", "text": text} for name, text in (
        ("b", "American planes, as one reporter wrote, and they attacked two towns near the border."),
        ("a", "Another"),
        ("z", "Not in the store."),
    )]  # fmt: skip
    file = tmp_path / "docs.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    explorer = Explorer(store, documents=file)
    assert explorer.document("b").pairs[0].mention == "American planes"
    assert explorer.document("b").title == "Given"
    assert {row.title for row in explorer.documents("USA").documents} >= {"Given"}
    other = explorer.document("a")
    assert "differs from the text of the run" in other.note
    assert [piece.text for piece in other.pieces] == ["Another"]
    assert other.pairs[0].mention is None


@pytest.mark.parametrize(
    "ask",
    [
        lambda explorer: explorer.country("XXX"),
        lambda explorer: explorer.compare("USA", "USA"),
        lambda explorer: explorer.compare("USA", "XXX"),
        lambda explorer: explorer.documents("USA", by="month", period="2001"),
        lambda explorer: explorer.documents("USA", order="size"),
        lambda explorer: explorer.document("c"),
        lambda explorer: explorer.overview(by="day"),
    ],
    ids=["country", "same", "second", "period", "order", "skipped", "by"],
)
def test_what_is_not_there_is_refused(explorer: Explorer, ask: Callable[[Explorer], object]) -> None:
    with pytest.raises(InputError):
        ask(explorer)


def test_a_part_that_is_cut_short_is_named_and_the_rest_is_served(store: Path) -> None:
    part = store / "documents" / "part-000000.parquet"
    part.write_bytes(part.read_bytes()[:-40])
    explorer = Explorer(store)
    assert len(explorer.about.problems) == 1
    assert "part-000000.parquet" in explorer.about.problems[0]
    assert explorer.about.documents == 2
    assert [row.id[:2] for row in explorer.documents("USA").documents] == ["</"]
    with pytest.raises(InputError):
        explorer.document("a")


@pytest.mark.parametrize("name", ["~store", "[s]tore*"])
def test_the_name_of_a_store_is_no_pattern(
    name: str, store: Path, hostile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(store.rename(store.with_name(name)).parent)
    assert Explorer(name).document(hostile).text


def test_a_part_that_goes_away_is_named(store: Path, hostile: str) -> None:
    explorer = Explorer(store)
    (store / "documents" / "part-000000.parquet").unlink()
    with pytest.raises(FormatError, match=r"part-000000\.parquet"):
        explorer.document("a")
    assert explorer.document(hostile).text


def test_evidence_with_an_empty_field_is_named(store: Path) -> None:
    part = store / "documents" / "part-000000.parquet"
    table = parquet.read_table(part)
    place = table.column_names.index("evidence")
    rows = [[{**pair, "verb": None} for pair in pairs] for pairs in table["evidence"].to_pylist()]
    changed = pa.array(rows, table.schema.field(place).type)
    parquet.write_table(table.set_column(place, "evidence", changed), part)
    manifest = json.loads((store / "manifest.json").read_text(encoding="utf-8"))
    manifest["parts"][part.name] = part_digest(part.read_bytes())
    (store / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(FormatError, match=r"part-000000.*damaged"):
        Explorer(store).document("a")


def test_a_store_of_a_later_release_is_refused(store: Path) -> None:
    manifest = json.loads((store / "manifest.json").read_text(encoding="utf-8"))
    (store / "manifest.json").write_text(json.dumps({**manifest, "version": 99}), encoding="utf-8")
    with pytest.raises(FormatError, match="install a newer calibrant") as caught:
        Explorer(store)
    assert caught.value.code == "file-newer"


def test_two_explorers_share_a_store(store: Path) -> None:
    one, other = Explorer(store), Explorer(store)
    assert one.document("a") == other.document("a")
    assert one.overview() == other.overview()


def test_signs_of_patterns_in_the_name_of_a_store_do_no_harm(make_store: Make, store: Path) -> None:
    name = "odd [1] *?.store"
    folder = store.rename(store.with_name(name))
    assert Explorer(folder).document("a").title == "Planes"


@pytest.mark.parametrize(
    "these", [[], [StoredDocument("c", date(2001, 2, 1), skipped=True)]], ids=["none", "skipped"]
)
def test_a_store_without_events_has_a_page(make_store: Make, these: list[StoredDocument]) -> None:
    page = Explorer(make_store(these)).overview()
    assert page.series == ()
    assert page.to_rows() == []
    assert page.about.documents == len(these)


def test_labelled_documents_add_the_total_interval(store: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    score = rng.random(200)
    lines = [f"{q:.3f},{int(rng.random() < q)}" for q in score]
    (tmp_path / "dev.csv").write_text("\n".join(["score,label", *lines]), encoding="utf-8")
    page = Explorer(store, labels=tmp_path / "dev.csv").country("USA", by="year")
    assert page.about.recalibrated
    row = page.series.rows[0]
    (low, mean, high), (low_total, _, high_total) = limits(row.count), limits(row.total)
    assert low_total <= low <= mean <= high <= high_total
    assert page.to_rows()[0]["total_high"] == high_total


def test_a_cell_that_a_spreadsheet_would_compute_is_text(make_store: Make, page_of: PageOf) -> None:
    count = StoredCount("USA", 0.5, True, b"\x0f")
    names = ["=2+3", 'a"b\nc']
    store = make_store([StoredDocument(name, date(2001, 1, 1), counts=[count]) for name in names])
    explorer = Explorer(store)
    table = page_of(explorer, "/documents?country=USA&order=date&format=csv")
    head, *rows = csv.reader(io.StringIO(table, newline=""))
    assert {row[head.index("id")] for row in rows} == {"'=2+3", names[1]}
    assert '"a""b\nc"' in table
    assert table.startswith("id,")
    assert table.endswith("\r\n")
    after = "/documents?country=USA&offset=50&format=csv"
    assert page_of(explorer, after) == ""


def test_a_wrong_date_does_not_keep_the_explorer_from_beginning(make_store: Make) -> None:
    count = StoredCount("IRQ", 0.5, True, b"\x0f")
    days = (date(1, 1, 1), date(2001, 1, 1))
    these = [StoredDocument(f"d{day.year}", day, counts=[count]) for day in days]
    explorer = Explorer(make_store(these))
    explorer.prepare()
    assert explorer.overview().by == "year"
    with pytest.raises(InputError, match="periods"):
        explorer.country("IRQ", by="week")


@pytest.mark.parametrize("path", ["/country?country=USA", "/compare?first=USA&second=IRQ"])
def test_each_number_of_a_narrow_table_names_its_column_since_small_screens_hide_the_headings(
    explorer: Explorer, page_of: PageOf, path: str
) -> None:
    page = page_of(explorer, path)
    table = page[page.index('<table class="narrow">') : page.index("</table>")]
    headings = [html.unescape(each) for each in re.findall(r"<th(?: class=.right.)?>(.*?)</th>", table)][1:]
    body = table[table.index("<tbody>") :]
    for row in body.split("<tr>")[1:]:
        labels = [re.search(r'data-label="(.*?)"', cell) for cell in re.findall("<td.*?>", row)]
        assert [each and html.unescape(each[1]) for each in labels] == headings
    assert len(headings) >= 6


def test_each_cell_of_the_list_of_documents_names_its_column(explorer: Explorer, page_of: PageOf) -> None:
    page = page_of(explorer, "/documents?country=USA&from=2001-01&to=2001-06&by=month")
    table = page[page.index("<table class") : page.index("</table>")]
    labels = re.findall(r'<td[^>]*data-label="([^"]*)"', table)
    headings = re.findall(r"<th[^>]*>([^<]*)</th>", table)
    assert labels == headings * (table.count("<td") // len(headings))
    assert "</a>, 2001-01 to 2001-06</h1>" in page


def test_a_comparison_is_of_the_recalibrated_counts_of_the_charts(store: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    score = rng.random(400)
    lines = [f"{q:.3f},{int(rng.random() < q**3)}" for q in score]
    (tmp_path / "dev.csv").write_text("\n".join(["score,label", *lines]), encoding="utf-8")
    plain, found = (
        Explorer(store, labels=dev).compare("USA", "IRQ", by="year") for dev in (None, tmp_path / "dev.csv")
    )
    for page in (plain, found):
        difference = page.together.counts.difference.estimate
        assert difference == pytest.approx(float(page.first.overall.count) - float(page.second.overall.count))
    assert found.together.counts.difference != plain.together.counts.difference
