"""A number is declared once: every format, the schema and the guide have it from its declaration."""

from __future__ import annotations

import csv
import io
import json
import re
from html import unescape
from typing import Annotated, Any, cast

import jsonschema
import msgspec
import numpy as np
import pyarrow as pa
import pytest

from calibrant.data import event_store
from calibrant.evaluation import Agreement, Ratings, agreement, classification_scores, risk_coverage
from calibrant.events import EventTable, ServedStore, event_table, uncertain_documents
from calibrant.exceptions import InputError
from calibrant.metrics import labels_needed
from calibrant.outputs import outputs
from calibrant.outputs import schema as schema_of
from calibrant.records import (
    Quantity,
    Record,
    fields_of,
    hidden,
    name,
    number,
    numbers_of,
    part,
    rows,
    schema,
)
from calibrant.records.record import warnings_of_rows
from calibrant.results import Measured, Measurement, Report
from calibrant.verbs import fit, measure, report

LABEL, MEANING = "Base rate & more", "Weighted proportion of positives, a|b."


def measured(**options: Any) -> Measured:
    score = np.linspace(0.01, 0.99, 400)
    label = (np.random.default_rng(1).random(400) < score).astype(int)
    return measure(pa.table({"score": score, "label": label}), **options)


def undefined() -> Measured:
    return measure(pa.table({"score": [0.0, 0.5, 1.0], "label": [1, 1, 1]}))


def agreed(*labels: str) -> Agreement:
    return agreement(Ratings.from_lists({chr(97 + place): list(each) for place, each in enumerate(labels)}))


def counted(**options: Any) -> EventTable:
    return event_table(event_store("reuters-21578"), by="year", countries=["IRN"], **options)


def reported() -> Report:
    """Two models, the second with a warning beside its difference; and what a map does to two groups."""
    rng = np.random.default_rng(1)
    table = pa.table(
        {
            "class": ["x", "y"] * 60,
            "score": rng.random(120),
            "label": rng.random(120) < 0.2,
            "item": np.arange(120) // 2,
        }
    )
    model = fit(table, method="platt")
    return report([table], model=model, group="frequency", groups=2)


@pytest.fixture
def more() -> Record:
    """A measurement with a number that is added on the fly, and the quantity that it is."""
    before = measured().views[0]
    declared = Annotated[Quantity, number(LABEL, MEANING, group="Data", best=0.5, headline=True)]
    kind = msgspec.defstruct(
        "More", [("base_rate", declared)], bases=(Measurement,), frozen=True, kw_only=True
    )
    values = {field: getattr(before, field) for field in before.__struct_fields__}
    return cast(Record, kind(**values, base_rate=Quantity(0.123456, 0.1, 0.2)))


def test_a_number_that_is_added_to_a_record_is_in_every_format(more: Record) -> None:
    assert f"  {LABEL}" in more.to_text()
    assert re.search(r"0\.1235 +\[0\.1000, 0\.2000\]", more.to_text())
    assert f"{LABEL}: {MEANING}" in more.to_text(meanings=True)
    assert "| Base rate &amp; more" in more.to_markdown()
    assert r"Weighted proportion of positives, a\|b." in more.to_markdown(meanings=True)
    assert r"Base rate \& more & 0.1235 & [0.1000, 0.2000]" in more.to_latex()
    assert r"Weighted proportion of positives, a\textbar{}b." in more.to_latex(meanings=True)
    assert '<th scope="row" title="Weighted proportion of positives, a|b.">Base rate &amp; more' in (
        more.to_html()
    )
    (row,) = [each for each in csv.DictReader(io.StringIO(more.to_csv())) if each["field"] == "base_rate"]
    assert (row["number"], row["value"], row["low"], row["meaning"]) == (LABEL, "0.123456", "0.1", MEANING)
    found = json.loads(more.to_json())
    assert found["base_rate"] == {"estimate": 0.123456, "low": 0.1, "high": 0.2}
    described = schema(type(more))
    jsonschema.validate(found, described)
    node = described["properties"]["base_rate"]
    assert (node["title"], node["description"], node["best"]) == (LABEL, MEANING, 0.5)
    assert "base_rate=0.1235 [0.1000, 0.2000]" in repr(more)


def test_it_is_in_the_row_of_a_record_among_others(more: Record) -> None:
    kind = msgspec.defstruct(
        "Several", [("events", Annotated[tuple[Any, ...], rows("Events", "All of them.")])], bases=(Record,)
    )
    (table,) = cast(Record, kind((more, more))).to_tables()
    assert "base rate & more" in [column.heading for column in table.columns]
    assert table.to_rows()[0]["base_rate_high"] == 0.2


@pytest.mark.parametrize(
    "record",
    [
        measured(),
        measured(smooth=True),
        measured(interval="sampling", samples=50),
        measured(interval="bootstrap", samples=50),
        undefined(),
        agreed("xyx", "xyy"),
        agreed("xxx", "xxx"),
        agreed("xyx", "xyy", "yyx"),
        counted(),
        counted(labels=pa.table({"score": np.linspace(0, 1, 40), "label": [0, 0, 1, 0, 1] * 8})),
        uncertain_documents(event_store("reuters-21578"), most=3),
        ServedStore(store="events.store", address="http://127.0.0.1:8765/"),
        reported(),
        labels_needed(error=0.05, cluster_size=5),
        labels_needed(error=1e-5),
    ],
    ids=lambda record: f"{type(record).__name__}",
)
def test_json_fits_the_schema_and_is_read_back(record: Record) -> None:
    command, *_ = [each for each, kind in outputs().items() if isinstance(record, kind)]
    found, described = json.loads(record.to_json()), schema(type(record), command=command)
    jsonschema.Draft202012Validator.check_schema(described)
    jsonschema.validate(found, described)
    assert type(record).from_dict(found).to_dict() == record.to_dict()


def test_an_undefined_number_is_null_with_a_reason_and_one_symbol_with_a_footnote() -> None:
    record = undefined().views[0]
    assert record.to_dict()["brier_skill"]["estimate"] is None
    reason = record.brier_skill.reason
    assert reason
    for text in (record.to_text(), record.to_markdown()):
        (line,) = [each for each in text.splitlines() if each.startswith(("  Brier skill", "| Brier skill"))]
        assert line.replace("|", "").split()[2] == "-"
        (note,) = [each for each in text.splitlines() if "Undefined" in each and "Brier skill" in each]
        assert note.endswith(reason)
    assert [row["value"] for row in record.to_rows() if row["field"] == "brier_skill"] == [None]


def test_a_wrong_file_is_refused_with_the_place() -> None:
    found = measured().to_dict()
    found["views"][0]["n"] = "many"
    with pytest.raises(InputError, match=r"Expected `int`, got `str` - at `\$\.views\[0\]\.n`"):
        Measured.from_dict(found)
    with pytest.raises(InputError, match="missing required field `recipe`"):
        Measured.from_dict({})


def test_kinds_of_one_name_are_told_apart_by_the_record_they_are_in() -> None:
    verdicts = [
        schema(outputs()[command])["$defs"]["Finding"]["properties"].keys()
        for command in ("protocol", "study")
    ]
    assert "verdict" in verdicts[1]
    assert verdicts[0] != verdicts[1]


def test_hidden_fields_are_for_python_only() -> None:
    class Drawn(Record, frozen=True):
        """A record with an array."""

        text: Annotated[str, name("Text", "Name of the text.")]
        points: Annotated[Any, hidden()] = None

    record = Drawn("a", np.zeros(3))
    assert record.to_dict() == {"text": "a"}
    assert list(schema(Drawn)["properties"]) == ["schema_version", "text"]
    assert '"plotted"' not in json.dumps(schema_of("measure"))
    with pytest.raises(InputError, match="read from JSON"):
        _ = Measured.from_dict(measured().to_dict()).views[0].sums


def test_repr_is_short_and_a_notebook_shows_a_table() -> None:
    record = measured()
    assert len(repr(record)) < 80
    assert len(repr(record.views[0])) < 400
    shown = record._repr_html_()
    assert (shown.count("<table>"), record.to_html().count("<table>")) == (1, 3)
    assert unescape(shown).startswith(f"<p>{record.summary()}</p>")
    assert "<b>" not in agreement(Ratings.from_lists({"a": ["<b>", "y"], "b": ["<b>", "z"]})).to_html()


@pytest.mark.parametrize("kind", outputs().values())
def test_every_field_has_a_label_and_a_meaning(kind: type[Record]) -> None:
    waiting: list[type[msgspec.Struct]] = [kind]
    seen = set()
    while waiting:
        own = waiting.pop()
        for field in fields_of(own):
            assert field.meaning.endswith("."), (own, field.name)
            assert field.role == "plain" or field.label
            if field.kind is not None and field.kind not in seen:
                seen.add(field.kind)
                waiting.append(field.kind)
    assert numbers_of(Measurement)


def test_warnings_are_fields_that_end_in_warning() -> None:
    record = undefined().views[0]
    assert record.bins_warning in record.warnings()
    assert record.bins_warning in record.to_markdown().replace("\\", "")
    warned = Quantity(0.5, warning="few clusters")
    assert warned.warnings() == ("few clusters",)


class Trial(Record, frozen=True, kw_only=True):
    """A trial of settings."""

    chosen: Annotated[dict[str, Any], name("Settings", "Value by name.")]
    change: Annotated[Quantity, number("Change", "After minus before.", group="Scores", signed=True)]


class Trials(Record, frozen=True, kw_only=True):
    """Several trials."""

    trials: Annotated[tuple[Trial, ...], rows("Trials", "One entry per trial.")]
    best: Annotated[Trial | None, part("Best", "The best trial.")] = None


class Series(Record, frozen=True, kw_only=True):
    """Two series of trials."""

    first: Annotated[Trials, part("First", "The first series.")]
    second: Annotated[Trials, part("Second", "The second series.", brief=True)]


@pytest.fixture
def trials() -> Trials:
    """Two trials, one for the better and one for the worse."""
    changes = Quantity(0.25, -0.5, 1.0), Quantity(-0.25)
    found = tuple(
        Trial(chosen={"rate": rate, "own_words": True}, change=change)
        for rate, change in zip((10.0, 0.000316), changes, strict=True)
    )
    return Trials(trials=found, best=found[0])


def test_a_signed_number_has_its_sign_for_people_and_is_a_number_for_machines(trials: Trials) -> None:
    own = trials.trials[0]
    for text in (trials.to_text(), own.to_text(), trials.to_markdown(), trials.to_html()):
        assert "+0.2500" in text
    assert "[-0.5000, 1.0000]" in trials.to_text()
    assert "-0.2500" in trials.to_text()
    assert "$+0.2500$" in trials.to_latex()
    assert "+0.25" not in trials.to_csv() + trials.to_json()


def test_a_name_that_is_a_mapping_makes_a_column_per_key(trials: Trials) -> None:
    table = trials.to_tables()[0]
    assert [column.heading for column in table.columns[:2]] == ["rate", "own words"]
    assert [row[:2] for row in table.rows] == [("10", "yes"), ("0.000316", "yes")]


def test_a_terminal_shows_a_warning_once_and_each_table_for_a_paper_has_it() -> None:
    record = undefined()
    few = record.views[0].bins_warning
    assert few is not None
    assert (record.to_text().count(few), record.to_markdown().count(few)) == (1, 2)


def test_warnings_of_rows_that_differ_in_numbers_are_one_line() -> None:
    rng = np.random.default_rng(1)
    score = rng.dirichlet(np.full(8, 0.5), 200)
    label = np.array([rng.choice(8, p=row) for row in score])
    found = measure(label, score)
    notes = [line for line in found.to_text().splitlines() if "few positives" in line]
    fewest = sorted(each.positives for each in found.views if each.interval.few_positives_warning)
    assert len(fewest) > 3
    assert len(notes) == 1
    assert f"{len(fewest)} of {len(found.views)} views (" in notes[0]
    assert f"only {fewest[0]} to {fewest[-1]} positives among 200 pairs" in notes[0]


def test_the_table_of_rows_shows_warnings_of_their_quantities_that_the_whole_record_does_not_have() -> None:
    confidence = np.linspace(0, 1, 60)
    points = risk_coverage(confidence > 0.04, confidence, coverages=[0.5, 0.9, 1.0])
    warned = [point.accuracy.warning for point in points.points]
    assert [warning is None for warning in warned] == [True, False, True]
    for text in (points.to_text(), points.to_markdown()):
        assert text.count(f"0.9: {warned[1]}") == 1


def test_rows_repeat_no_warning_that_the_whole_record_has_with_other_numbers() -> None:
    label = np.tile(["x", "y", "z"], 20)
    found = classification_scores(label, np.roll(label, 1), clusters=np.repeat(np.arange(6), 10))
    assert found.accuracy.warning is not None
    assert all(found[each].f1.warning is not None for each in "xyz")
    (classes,) = (table for table in found.to_tables() if table.title == "Classes")
    assert not classes.notes


def test_a_warning_of_many_rows_counts_them_in_the_plural_of_their_name() -> None:
    label = np.tile([*"abcde"], 20)
    found = classification_scores(label, np.roll(label, 1), clusters=np.repeat(np.arange(5), 20))
    (note,) = warnings_of_rows(found.by_class, Quantity(None))
    assert note.startswith("5 of 5 classes (a; b; c, ...): the estimate depends on")


def test_one_pair_is_not_called_pairs() -> None:
    text = measure(pa.table({"score": [0.5], "label": [1]})).to_text()
    assert "among 1 pair, so that" in text
    assert "only 1 pair, so bins have few" in text
    assert "1 pairs" not in text


def test_a_brief_part_shows_its_first_table(trials: Trials) -> None:
    names = [table.name for table in Series(first=trials, second=trials).to_tables()]
    assert [name for name in names if name.startswith("second")] == ["second.trials"]
    assert [name for name in names if name.startswith("first")] == ["first.trials", "first.numbers"]


def test_a_quantity_is_formatted_with_its_interval_and_is_a_number_if_it_is_defined() -> None:
    assert f"{Quantity(0.123456, 0.1, 0.2):.2f}, {Quantity(0.5):.1%}" == "0.12 [0.10, 0.20], 50.0%"
    assert f"{Quantity(0.123456, 0.1, 0.2)} {Quantity(None, reason='few'):.2f}" == "0.1235 [0.1000, 0.2000] -"
    assert float(Quantity(0.123456, 0.1, 0.2)) == 0.123456
    with pytest.raises(TypeError, match="the number is undefined: one item"):
        float(Quantity(None, reason="one item"))
