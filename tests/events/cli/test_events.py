"""`calibrant events`: the commands print what the workflow returns, and one line for what is wrong."""

from __future__ import annotations

import itertools
import json
import re
import sys
from datetime import date
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner, Result

from calibrant.cli import main
from calibrant.data import dated_documents, event_labels, event_store
from calibrant.events import EventStore, event_table
from calibrant.events.files.store import StoredCount, StoredDocument
from calibrant.events.files.store_writing import StoreWriter
from calibrant.events.results.events import FEW_SAMPLES, UNFINISHED
from calibrant.events.web import Explorer
from calibrant.outputs import schema


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["events", *map(str, arguments)])


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, coref: Path) -> Path:
    path = tmp_path_factory.mktemp("store") / "my store"
    result = run("run", dated_documents(), "-o", path, "--coref", coref, "--workers", 1, "--with-text")
    assert result.exit_code == 0, result.output
    assert "  Documents        14\n" in result.stdout
    assert "  Cannot count      1\n" in result.stdout
    assert f"calibrant events table '{path}'" in result.stdout
    return path


def test_who_attacked_whom_is_counted_and_shown(tmp_path: Path) -> None:
    path = tmp_path / "pairs"
    result = run(
        "run", dated_documents(), "-o", path, "--role", "dyad", "--samples", 20, "--workers", 1, "--with-text"
    )
    assert result.exit_code == 0, result.output
    counts = json.loads(run("table", path, "--by", "year", "--country", "Spain -> Chile", "--json").stdout)[
        "counts"
    ]
    assert [(row["period"], row["best"]) for row in counts if row["matched"]] == [("1865", 1)]
    explorer = Explorer(path)
    assert explorer.about.counted == "documents in which one attacks another"
    assert explorer.country("Chile -> Spain", by="year").series.name == "Chile -> Spain"
    assert [pair.agent for pair in explorer.document("papudo").pairs] == ["A Chilean corvette"]
    target = run("run", dated_documents(), "-o", path, "--role", "target", "--samples", 20, "--workers", 1)
    assert target.exit_code == 2  # a store has one role
    assert "rules" in target.stderr


def test_the_printed_table_has_the_countries_with_the_most_documents(store: Path) -> None:
    table = event_table(store, by="year")
    may = list(dict.fromkeys(row.name for row in table.counts if row.matched or row.best))

    def shown(*options: object) -> list[str]:
        printed = run("table", store, "--by", "year", *options).stdout.splitlines()
        overall = itertools.takewhile(bool, (line.strip() for line in printed[2:]))
        return [line.partition("  ")[0] for line in overall]

    assert shown("--most", 2) == may[:2]
    chosen = ("--country", "PER", "--country", "ESP", "--country", "ITA")
    assert shown("--most", 2, *chosen) == ["Peru", "Spain"]
    assert f"{len(may) - 2} of {len(may)} countries are omitted" in run("table", store, "--most", 2).stdout
    assert "are omitted, which" not in run("table", store, "--full").stdout
    written = json.loads(run("table", store, "--most", 1, "--json").stdout)["counts"]
    assert len({row["country"] for row in written}) == len({row.country for row in table.counts})


def test_the_printed_table_fits_a_screen_and_says_what_it_leaves_out() -> None:
    printed = run("table", "socialist-worker", "--by", "week").stdout
    table = event_table(event_store("socialist-worker"), by="week", labels=event_labels())
    rows = [line.split("  ") for line in printed.splitlines() if re.match(r"  [A-Z].*\]", line)]
    assert len(rows) == 24
    assert [row[1].strip() for row in rows[:10]] == [row.name for row in table.overall[:10]]
    frequent = {row.country for row in table.overall[:10]}
    periods = [row for row in table.counts if row.country in frequent]
    largest = sorted(periods, key=lambda row: -(row.count.estimate or 0.0))[:14]
    shown = [row for row in periods if row in largest]
    assert [re.search(r"\d{4}-W\d\d", " ".join(row))[0] for row in rows[10:]] == [row.period for row in shown]  # type: ignore[index]
    assert "The 14 periods with the largest counts are shown" in printed
    gaps = sum(not row.documents for row in table.counts if row.country == "USA")
    assert f"{gaps} periods have no documents, so that their counts are unknown, not 0" in printed


def test_a_second_run_finds_all_done(store: Path, coref: Path) -> None:
    result = run(
        "run", dated_documents(), "-o", store, "--coref", coref, "--workers", 1, "--with-text", "--json"
    )
    values = json.loads(result.stdout)
    assert (values["documents"], values["kept"]) == (14, 14)


def test_the_table_has_the_keys_that_programs_read(store: Path) -> None:
    result = run("table", store, "--by", "quarter", "--country", "ESP", "--country", "chl", "--json")
    values = json.loads(result.stdout)
    assert values == json.loads(event_table(store, by="quarter", countries=["ESP", "CHL"]).to_json())
    jsonschema.validate(values, schema("events table"))
    wanted = {"country", "name", "period", "documents", "matched", "count", "sd", "total", "rate", "best"}
    assert all(wanted == row.keys() for row in values["counts"])
    assert [row["period"] for row in values["counts"]][:3] == ["1864-Q1", "1864-Q2", "1864-Q3"]


def test_the_table_says_what_its_intervals_leave_out(store: Path) -> None:
    result = run("table", store, "--by", "year")
    assert "Spain" in result.stdout
    assert "ESP" not in result.stdout
    assert "errors of the parser" in result.stdout
    assert "cells without a document that may count" in result.stdout


def test_uncertain_documents_show_the_evidence(store: Path) -> None:
    result = run("uncertain", store, "--most", 3)
    assert "Mentions that may corefer" in result.stdout
    assert len(json.loads(run("uncertain", store, "--most", 3, "--json").stdout)["documents"]) == 3


def test_the_figure_is_written(store: Path, tmp_path: Path) -> None:
    result = run("plot", store, "-o", tmp_path / "a.png", "--by", "year", "--most", 2)
    assert result.exit_code == 0
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert "2 of" in result.stdout


def written_store(folder: Path, samples: int, *, finish: bool) -> Path:
    """A store of one document, as a run leaves it that is complete, or killed."""
    with StoreWriter(folder, {"samples": samples, "with_text": False}) as writer:
        bits = b"\x0f" * -(-samples // 8)
        counts = [StoredCount("IRQ", 0.5, True, bits)]
        writer.write(StoredDocument("d", date(2001, 1, 1), False, counts))
        if finish:
            writer.finish()
    return folder


@pytest.mark.parametrize("country", [(), ("--country", "ESP")], ids=["found", "not found"])
@pytest.mark.parametrize("command", ["table", "plot", "uncertain"])
def test_every_command_notes_a_store_whose_run_has_not_finished(
    tmp_path: Path, command: str, country: tuple[str, ...]
) -> None:
    figure = ("-o", tmp_path / "a.svg") if command == "plot" else ()
    for finish, times in ((False, 1), (True, 0)):
        folder = written_store(tmp_path / str(finish), 100, finish=finish)
        result = run(command, folder, *figure, *country)
        assert result.exit_code == 0, result.output
        assert " ".join(result.stdout.split()).count(UNFINISHED) == times
        assert json.loads(run(command, folder, *figure, "--json").stdout)["finished"] is finish


def test_a_store_of_few_samples_is_read_with_a_warning_about_its_intervals(tmp_path: Path) -> None:
    for samples, times in ((19, 1), (20, 0)):
        folder = written_store(tmp_path / str(samples), samples, finish=True)
        for command in (("table", folder), ("plot", folder, "-o", tmp_path / "a.svg")):
            assert " ".join(run(*command).stdout.split()).count(FEW_SAMPLES) == times
        assert FEW_SAMPLES not in run("uncertain", folder).stdout


def test_a_run_of_fewer_than_20_samples_is_refused(tmp_path: Path) -> None:
    result = run("run", dated_documents(), "-o", tmp_path / "s", "--samples", 19)
    assert result.exit_code == 2
    assert "19 is not in the range x>=20" in result.stderr
    assert not (tmp_path / "s").exists()


def test_what_is_wrong_is_one_line(tmp_path: Path) -> None:
    for arguments in (
        ("table", tmp_path / "none"),
        ("run", tmp_path / "none.jsonl", "-o", tmp_path / "s", "--coref", tmp_path / "no.model"),
        ("table", tmp_path, "--level", "2"),
    ):
        result = run(*arguments)
        assert result.exit_code == 2
        assert result.stderr.startswith("calibrant: ")
        assert result.stderr.count("\n") == 1


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of the size of files")
def test_a_full_disk_ends_a_run_in_one_line_and_the_next_goes_on(
    tmp_path: Path, store: Path, coref: Path
) -> None:
    import resource

    asked = ("run", dated_documents(), "-o", tmp_path / "s", "--coref", coref, "--workers", 1, "--with-text")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2500, before[1]))  # the manifest fits, a part does not
        full = run(*asked)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert full.exit_code == 2, full.output
    assert "cannot write: file too large" in full.stderr
    assert [line for line in full.stderr.splitlines() if line][-1].startswith("calibrant: ")
    assert "Traceback" not in full.stderr
    assert not list((tmp_path / "s" / "documents").iterdir())
    assert EventStore(tmp_path / "s").document_count == 0
    again = run(*asked)
    assert again.exit_code == 0, again.output
    assert EventStore(tmp_path / "s").digest() == EventStore(store).digest()


def test_a_store_that_ships_is_known_by_its_name_and_has_both_intervals(tmp_path: Path) -> None:
    asked = ("table", "reuters-21578", "--by", "year", "--country", "IRN", "--json")
    (row,) = json.loads(run(*asked).stdout)["counts"]
    assert (row["period"], row["documents"]) == ("1987", 21_578)
    count, total = row["count"], row["total"]
    assert total["low"] <= count["low"] < count["estimate"] < count["high"] <= total["high"]
    (sampled,) = json.loads(run(*asked, "--interval", "samples").stdout)["counts"]
    assert sampled["total"] is None
    shown = run("table", "reuters-21578", "--by", "year", "--country", "IRN", "--drift", "0.2").stdout
    assert "differ by a normal shift with standard deviation 0.2" in shown
    assert "as well calibrated in every period" in run(*asked[:-1]).stdout
    wrong = run(*asked, "--drift", "much")
    assert wrong.exit_code == 2
    assert "drift is 'much'" in wrong.output
    drawn = run("plot", "reuters-21578-paper", "-o", tmp_path / "x.svg", "--by", "month")
    assert drawn.exit_code == 0, drawn.output
    (nearest,) = json.loads(run("uncertain", "reuters-21578", "--most", "1", "--json").stdout)["documents"]
    assert 0.4 < nearest["probability"] < 0.6


def test_a_folder_goes_before_a_store_that_ships(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "reuters-21578").mkdir()
    result = run("table", "reuters-21578")
    assert result.exit_code != 0
    assert "this is not a store of events" in result.output


def test_the_counts_of_a_run_add_up(tmp_path: Path, coref: Path) -> None:
    result = run("run", dated_documents(), "-o", tmp_path / "new", "--coref", coref, "--workers", 1)
    assert "  Cannot count      1\n" in result.stdout
    assert "  May count        11\n" in result.stdout
    assert "The other 2 parsed documents count for no country." in result.stdout
