from __future__ import annotations

import importlib
import json
import pydoc
from pathlib import Path
from types import ModuleType

import pytest

from calibrant_studies import fill
from tests.command_line import Run


def test_the_page_of_the_benchmarks_shows_their_record_and_hides_no_miss(root: Path) -> None:
    record = json.loads((root / "docs" / "benchmarks.json").read_text(encoding="utf-8"))
    page = (root / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert fill(page, record) == page
    for bar in record["tables"]["bars"]:
        values = [bar[key] for key in ("one thread", "two threads")]
        missed = any("missed" in value for value in values)
        assert bar["limited by"]
        assert bar["met"] == ("not run" if set(values) == {"–"} else "no" if missed else "yes")
    bars = record["tables"]["bars"]
    assert f"{sum(bar['met'] == 'yes' for bar in bars)} of {len(bars)} bars are met" in page


def test_the_front_page_states_the_times_of_the_last_run(root: Path) -> None:
    record = json.loads((root / "docs" / "benchmarks.json").read_text(encoding="utf-8"))
    page = (root / "README.md").read_text(encoding="utf-8")
    stated = []
    for name in ("scikit-learn calibration_curve, quantile", "calibrant, 15 bins of equal mass"):
        (row,) = (row for row in record["tables"]["timings"] if row["what"] == name and row["threads"] == 1)
        stated.append(f"{row['seconds']:.2f} s, {row['memory, MiB']:.0f} MiB")
    assert f"scikit-learn: {stated[0]} | {stated[1]} |" in page


@pytest.fixture
def chain_parts(root: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(root / "benchmarks"))
    return importlib.import_module("chain_parts")


def test_a_bar_is_met_if_each_value_that_was_measured_meets_it(chain_parts: ModuleType) -> None:
    bar = chain_parts.Bar
    assert bar("texts a second", 2, "x", 1.9, 2.0).passed
    assert not bar("texts a second", 2, "x", 1.9, 2.1).passed
    assert not bar("texts a second", 2, "x", None, 1.9, least=True).passed
    assert bar("texts a second", 2, "x", None, 2.1, least=True).row()["one thread"] == "–"
    assert bar("texts a second", 2, "x", None, 2.1, least=True).row()["met"] == "yes"
    assert bar("texts a second", 2, "x", None, None, least=True).row()["met"] == "not run"


def test_parts_that_need_tagged_text_say_so_where_it_is_missing(
    chain_parts: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("CALIBRANT_DATA", raising=False)
    for part in chain_parts.PARTS.values():
        assert part(None) == ([], [])
    assert capsys.readouterr().out.count("skipped: CALIBRANT_DATA") == len(chain_parts.PARTS) == 3


@pytest.mark.parametrize(
    ("name", "folder"), [("coreference", "litbank-coref"), ("coreference_model", "ud-english-gum")]
)
def test_coreference_says_so_where_its_texts_are_missing(
    name: str, folder: str, root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(root / "benchmarks"))
    monkeypatch.delenv("CALIBRANT_DATA", raising=False)
    part = importlib.import_module(f"{name}_parts").PARTS[name]
    assert part(None) == ([], [])
    assert f"skipped: CALIBRANT_DATA names no folder with {folder}" in capsys.readouterr().out


def test_events_say_so_where_their_texts_are_missing(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(root / "benchmarks"))
    monkeypatch.delenv("CALIBRANT_DATA", raising=False)
    assert importlib.import_module("events_parts").PARTS["events"](None) == ([], [])
    assert "skipped: CALIBRANT_DATA names no folder with ud-english-gum" in capsys.readouterr().out


def test_tags_of_the_text_that_is_tagged_are_all_known_to_the_models(
    chain_parts: ModuleType, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CALIBRANT_DATA", str(data))
    text = chain_parts.tagging_data
    assert text.available()
    known = {tag for tags in text.train()[1] for tag in tags}
    sentences, tags = text.test()
    assert len(known) == chain_parts.TAGS
    assert {text.BRACKETS.get(tag, tag) for sentence in tags for tag in sentence} <= known
    assert sum(map(len, sentences)) / len(sentences) == pytest.approx(25, abs=0.5)


@pytest.fixture
def recalibrate_parts(root: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(root / "benchmarks"))
    return importlib.import_module("recalibrate_parts")


def test_every_peer_of_recalibration_is_known_and_has_a_limit_to_its_differences(
    recalibrate_parts: ModuleType,
) -> None:
    cases = importlib.import_module("recalibrate_cases")
    fits = [fit for name in recalibrate_parts.PAIRS for fit in recalibrate_parts.FITS[name]]
    fits += recalibrate_parts.BOTH
    assert {method for method, *_ in fits} | {"venn-abers"} == set(cases.AGREES)
    named = {peer for *_, peers in fits for peer in peers} | {recalibrate_parts.SLOW}
    assert named == set(cases.PEERS)


def test_a_peer_that_is_not_installed_leaves_its_bar_not_run(
    recalibrate_parts: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = importlib.import_module("parts")
    scale = parts.Scale(10, 10, 10, 1, 10, 1)
    timing = recalibrate_parts.Timing(0.5, None, 0.0, 0.5)
    monkeypatch.setattr(recalibrate_parts, "run_case", lambda *_, **__: timing)
    monkeypatch.setattr(recalibrate_parts, "find_spec", lambda _: None)
    method = recalibrate_parts.FITS["beta"][0]
    bars, rows = recalibrate_parts._fits(scale, "beta", *method)
    assert [bar.row()["met"] for bar in bars] == ["not run"]
    assert len(rows) == len(recalibrate_parts.THREADS)


@pytest.mark.parametrize("peer", ["scikit-learn IsotonicRegression", "scikit-learn LogisticRegression"])
def test_a_map_of_a_peer_that_differs_from_ours_ends_the_benchmark(
    root: Path, monkeypatch: pytest.MonkeyPatch, peer: str
) -> None:
    monkeypatch.syspath_prepend(str(root / "benchmarks"))
    cases = importlib.import_module("recalibrate_cases")
    score, label = cases.data.beta(20_000)
    monkeypatch.setattr(cases.data, "load", lambda *_: (score, label.astype(int)))
    method = "isotonic" if "Isotonic" in peer else "platt"
    call = cases.recalibrator_peer(peer, method, "beta", len(score))
    assert call() <= cases.AGREES[method]
    with pytest.raises(RuntimeError, match="differs by"):
        cases.recalibrator_peer(peer, "uniform", "beta", len(score))()


def test_the_stages_that_are_timed_are_there(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(root / "benchmarks"))
    stages = importlib.import_module("chain_cases").STAGES
    for owner, name, _ in stages:
        assert callable(getattr(pydoc.locate(owner), name)), f"{owner}.{name}"


@pytest.fixture
def estimation_parts(root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    monkeypatch.syspath_prepend(str(root / "benchmarks"))
    parts = importlib.import_module("estimation_parts")
    monkeypatch.setattr(parts.data, "FOLDER", tmp_path)
    monkeypatch.setattr(parts.data, "aside", lambda make, *arguments: make(*arguments))
    return parts


@pytest.mark.slow
def test_commands_of_estimation_are_measured_on_tables_that_they_read(
    estimation_parts: ModuleType, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    timing = estimation_parts.Timing

    def command(arguments: list[str], **_: object) -> object:
        ran = run(*arguments[1:])
        assert ran.code == 0, ran.err
        return timing(1.0, 1 << 20, ran.out, 1.0)

    def case(name: str, *, n: int, **_: object) -> object:
        make = getattr(estimation_parts.estimation_cases, name)
        return timing(1.0, None, make(n)(), 1.0)

    monkeypatch.setattr(estimation_parts, "run_command", command)
    monkeypatch.setattr(estimation_parts, "run_case", case)
    bars, rows = estimation_parts.commands(4000, 400, 1, threads=(1,))
    assert [bar.row()["met"] for bar in bars] == ["yes"] * len(bars)
    assert len(rows) >= 6
    assert any("statsmodels" in bar.text for bar in bars)


def test_the_parser_is_skipped_without_its_sentences(
    estimation_parts: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("CALIBRANT_DATA", raising=False)
    assert estimation_parts.parsing(importlib.import_module("parts").QUICK) == ([], [])
    assert "skipped: CALIBRANT_DATA names no folder with ud-english-ewt" in capsys.readouterr().out
