"""The page of an evaluation: five steps, a conclusion, every number, and nothing that data can break."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path

import pytest

from calibrant.data import example
from calibrant.evaluation import ProtocolPage, protocol, protocol_page
from calibrant.pages import write
from tests.decimals import decimals_in, decimals_of_page
from tests.html_reader import HOSTILE, Reader
from tests.quantities import defined


def hostile_evaluation(folder: Path) -> Path:
    """Labels, systems, annotators, items and a task whose names try to become markup."""
    label = json.dumps(HOSTILE)
    quoted = '"' + HOSTILE.replace('"', '""') + '"'
    for name, kept in (("annotations", "11100010"), ("one", "10101010")):
        lines = ["item,annotator,document,label" if name == "annotations" else "item,label"]
        for item in range(8):
            answer = quoted if kept[item] == "1" else "no"
            for annotator in (quoted, "$x_1$ & co") if name == "annotations" else ("",):
                own = f"{annotator},<b>{item % 4}</b>," if name == "annotations" else ""
                changed = "no" if annotator == quoted and item == 6 else answer
                lines.append(f"<i>{item}</i>,{own}{changed}")
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    lines = ["item,probability", *(f"<i>{item}</i>,{(item % 3 + 1) / 5}" for item in range(8))]
    (folder / "two.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    text = (
        f'[task]\nname = {label}\ndescription = {label}\nlabels = [{label}, "no"]\nbudget = 2\n'
        '[annotators]\nfile = "annotations.csv"\n[reference]\nties = "no"\n'
        f'[[systems]]\nname = {label}\ndescription = {label}\nfile = "one.csv"\n'
        '[[systems]]\nname = "<b>two</b>"\nfile = "two.csv"\n[evaluation]\nsamples = 200\n'
    )
    path = folder / "eval.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def summaries() -> ProtocolPage:
    return protocol_page(protocol(example("summaries"), command="calibrant protocol 'a <file>.toml'"))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> ProtocolPage:
    return protocol_page(protocol(hostile_evaluation(tmp_path_factory.mktemp("hostile"))))


def test_each_decimal_of_the_page_is_as_it_is_printed_as_text() -> None:
    found = protocol(example("summaries"))
    shown = decimals_of_page(protocol_page(found).to_html())
    assert shown
    assert shown <= decimals_in(found)


@pytest.mark.parametrize("which", ["summaries", "hostile"])
def test_the_page_is_whole_runs_nothing_and_asks_for_nothing(
    which: str, request: pytest.FixtureRequest
) -> None:
    html = request.getfixturevalue(which).to_html()
    reader = Reader(html)
    assert (reader.faults, reader.open) == ([], [])
    assert not {"script", "img", "iframe", "object", "embed", "form"} & {tag for tag, _ in reader.elements}
    for tag, attributes in reader.elements:
        assert not [name for name in attributes if name.startswith("on")], tag
        for name in ("src", "href", "xlink:href"):
            assert (attributes.get(name) or "#").startswith(("#", "data:")), (tag, attributes)
    assert not re.search(r"@import|url\(", html.split("</style>")[0])


def test_hostile_names_are_text(hostile: ProtocolPage) -> None:
    reader = Reader(hostile.to_html())
    assert not {"b", "i"} & {tag for tag, _ in reader.elements}
    assert HOSTILE in reader.text
    assert "<b>two</b>" in reader.text
    assert "<i>6</i>" in reader.text
    assert "$x_1$ & co" in reader.text


def test_the_steps_stand_in_order_and_the_conclusion_at_the_end(summaries: ProtocolPage) -> None:
    text = Reader(summaries.to_html()).text
    headings = [
        "1. Define a control task",
        "2. Produce a reference",
        "3. Assess the reference",
        "4. Evaluate the systems",
        "5. Discuss with statistics",
        "At the level of 95 %",
        "Supported by the data",
        "Not supported by the data",
        "How these numbers were computed",
    ]
    places = [text.index(heading) for heading in headings]
    assert places == sorted(places)
    assert text.rindex("do not show a difference") > places[4]


def test_every_number_can_be_saved_from_the_page(summaries: ProtocolPage) -> None:
    html = summaries.to_html()
    found = defined(re.search(r'href="data:application/json;base64,([^"]+)"', html))
    assert json.loads(base64.b64decode(found[1])) == json.loads(summaries.protocol.to_json())


def test_the_page_shows_what_the_record_holds(summaries: ProtocolPage) -> None:
    record = summaries.protocol
    tables = {table.title: table for step in summaries.steps for table in step.tables}
    value = record.systems[2].values["f1:keep"]
    assert tables["Scores"].rows[4][:3] == ("logistic", "f1:keep", f"{defined(value.estimate):.3f}")
    agreed = {row[0]: row[1] for row in tables["Agreement of annotators (people or systems)"].rows}
    assert agreed["Krippendorff's alpha"] == f"{defined(record.agreement).krippendorff_alpha.estimate:.3f}"
    assert len(tables["Differences of F1 of keep, on 12 documents"].rows) == 3
    assert len(tables["Pairs"].rows) == 1
    assert summaries.to_dict()["protocol"]["metrics"] == ["f1:keep", "accuracy"]


def test_a_page_without_annotators_says_so(tmp_path: Path) -> None:
    made = protocol_page(protocol(example("sentiment")), title="Tweets & co")
    assert made.steps[2].notes == ("Agreement is undefined: the file names no annotators.",)
    write(tmp_path / "report.html", made)
    assert "<title>Tweets &amp; co</title>" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_page_of_one_system_with_labels_has_no_calibration(tmp_path: Path) -> None:
    path = hostile_evaluation(tmp_path)
    text = path.read_text(encoding="utf-8")
    second = text.index('[[systems]]\nname = "<b>two</b>"')
    path.write_text(text[:second] + text[text.index("[evaluation]") :], encoding="utf-8")
    made = protocol_page(protocol(path))
    assert (made.calibration, made.selective, made.cards) == (None, (), ())
    assert "There is one system" in Reader(made.to_html()).text


def test_metrics_that_are_not_drawn_are_noted(tmp_path: Path) -> None:
    path = hostile_evaluation(tmp_path)
    text = path.read_text(encoding="utf-8")
    path.write_text(
        text.replace("[evaluation]", '[evaluation]\nmetrics = ["accuracy", "f1_macro", "precision_macro"]'),
        encoding="utf-8",
    )
    assert "metrics are drawn" not in protocol_page(protocol(path)).to_html()
    path.write_text(
        path.read_text(encoding="utf-8").replace('"accuracy", ', '"accuracy", "recall_macro", '),
        encoding="utf-8",
    )
    assert "The first 3 metrics are drawn." in protocol_page(protocol(path)).to_html()
