"""`calibrant protocol`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest

from calibrant.evaluation import protocol
from calibrant.outputs import schema as schema_of
from tests.command_line import Run


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_example_is_written_and_evaluated_and_its_12_documents_support_no_conclusion(
    run: Run, here: Path
) -> None:
    assert "Wrote summaries/eval.toml" in run("protocol", "--example", "summaries").out
    shown = run("protocol", "summaries/eval.toml", "-o", "page.html", "--full").out
    assert "125 items of 12 documents, 3 systems" in shown
    other = shown.index("Conclusions that the data do not support at 95 %")
    assert other < shown.index("do not show a difference") < shown.index("logistic is correct on")
    supported = shown[shown.index("Conclusions that the data support at") : other]
    assert supported.endswith("\n  There is no such conclusion.\n\n"), "12 documents"
    empty = run("protocol", "summaries/eval.toml", "--format", "csv", "--table", "concluded").out
    assert empty.strip() == "about,text"
    assert not re.search(r"\d\.\d{4}", shown[: shown.index("Differences")]), "three decimals are enough"
    assert (here / "page.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_json_is_the_record(run: Run, here: Path) -> None:
    run("protocol", "--example", "summaries")
    found = json.loads(run("protocol", "summaries/eval.toml", "--json").out)
    schema = schema_of("protocol")
    jsonschema.validate(found, schema)
    assert set(found) == set(schema["properties"])
    direct = json.loads(protocol("summaries/eval.toml").to_json())
    assert found.pop("command") == "calibrant protocol summaries/eval.toml --json"
    direct.pop("command")
    assert found == direct


def test_an_unknown_key_is_named_with_its_line(run: Run, here: Path) -> None:
    run("protocol", "--example", "summaries")
    path = here / "summaries" / "eval.toml"
    path.write_text(path.read_text(encoding="utf-8").replace("budget", "buget"), encoding="utf-8")
    run("protocol", "summaries/eval.toml").refused(
        "line 8: there is no key 'buget' in [task]: did you mean 'budget'?"
    )
    assert not (here / "report.html").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["none.toml"], "none.toml: no such file"),
        ([], "Missing argument"),
        (["summaries/eval.toml", "-o", "summaries/centroid.csv"], "centroid.csv"),
        (["summaries/eval.toml", "--example", "sentiment"], "leave EVAL.toml out"),
        (["--example", "sentiment", "--fail-if", "samples > 1"], "leave --fail-if out"),
        (["--example", "summaries"], "this folder or file exists"),
    ],
    ids=["missing", "none", "source", "both", "condition", "again"],
)
def test_bad_input_is_one_line(run: Run, here: Path, arguments: list[str], said: str) -> None:
    run("protocol", "--example", "summaries")
    run("protocol", *arguments).refused(said)
