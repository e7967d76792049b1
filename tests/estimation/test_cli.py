"""`calibrant estimate`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import click
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from calibrant.estimation import METHODS, corrected_counts
from calibrant.estimation import cli as estimate
from calibrant.estimation import estimate as of_tables
from tests.command_line import Run


@pytest.fixture
def tables(tmp_path: Path) -> tuple[Path, Path]:
    rng = np.random.default_rng(0)
    score = rng.random(400)
    label = rng.random(400) < score**2
    dates = [f"200{1 + place % 2}-0{1 + place % 9}-15" for place in range(400)]
    scores, labels = tmp_path / "scores.parquet", tmp_path / "labels.csv"
    pq.write_table(pa.table({"item": range(400), "score": score, "date": dates}), scores)
    rows = "".join(f"{place},{int(label[place])}\n" for place in range(100))
    labels.write_text(f"item,label\n{rows}", encoding="utf-8")
    return scores, labels


def test_the_command_says_what_the_library_says(run: Run, tables: tuple[Path, Path]) -> None:
    scores, labels = tables
    found = json.loads(run("estimate", scores, "--labels", labels, "--by", "year", "--json").out)
    table = pq.read_table(scores).to_pydict()
    given = [line.split(",") for line in labels.read_text(encoding="utf-8").split()[1:]]
    expected = corrected_counts(
        table["score"],
        [int(item) for item, _ in given],
        [int(label) for _, label in given],
        periods=[day[:4] for day in table["date"]],
    )
    assert found["estimates"] == json.loads(expected.to_json())["estimates"]
    assert found["command"].startswith("calibrant estimate")
    assert {one["period"] for one in found["estimates"]} == {"all", "2001", "2002"}
    out = run("estimate", scores, "--labels", labels, "--by", "year", "--method", "ppi++", "--full").out
    one = next(one for one in expected.estimates if (one.period, one.method) == ("2001", "ppi++"))
    assert f"[{one.count.low:,.1f}, {one.count.high:,.1f}]" in out
    assert "  Documents          400\n  Labeled            100\n" in out


def test_a_note_says_what_is_undefined_and_where(run: Run, tables: tuple[Path, Path]) -> None:
    scores, labels = tables
    ran = run("estimate", scores, "--labels", labels, "--by", "week", "--full")
    assert ran.code == 0
    assert ": the interval is wide" in ran.out
    assert re.search(r"  \d+ of \d+ rows \(2001-W\d\d, labels; ", ran.out)


def test_the_sampling_design_is_stated(run: Run, tables: tuple[Path, Path]) -> None:
    scores, labels = tables
    assert "Sampling           simple\n" in run("estimate", scores, "--labels", labels, "--full").out
    rows = labels.read_text(encoding="utf-8").split()[1:]
    text = "".join(f"{row},{0.1 + 0.3 * (place % 2)}\n" for place, row in enumerate(rows))
    labels.write_text(f"item,label,inclusion_probability\n{text}", encoding="utf-8")
    out = run("estimate", scores, "--labels", labels, "--full").out
    assert "  Sampling           independent\n  Sampling detected  yes\n" in out
    out = run("estimate", scores, "--labels", labels, "--sampling", "independent", "--full").out
    assert "  Sampling           independent\n  Sampling detected  no\n" in out
    run("estimate", scores, "--labels", labels, "--sampling", "fixed", "--full").refused(
        "the probabilities imply 625 documents, and there are 400"
    )


def test_columns_of_chances_and_clusters_have_any_name(run: Run, tables: tuple[Path, Path]) -> None:
    scores, labels = tables
    rows = labels.read_text(encoding="utf-8").split()[1:]
    text = "".join(f"{row},{0.1 + 0.3 * (place % 2)},{place // 5}\n" for place, row in enumerate(rows))
    labels.write_text(f"item,label,inclusion_probability,cluster\n{text}", encoding="utf-8")
    usual = json.loads(run("estimate", scores, "--labels", labels, "--json").out)
    labels.write_text(f"item,label,p,author\n{text}", encoding="utf-8")
    given = ("estimate", scores, "--labels", labels, "--inclusion-probability", "p")
    named = json.loads(run(*given, "--cluster", "author", "--json").out)
    assert named["estimates"] == usual["estimates"]
    run(*given, "--cluster", "user").refused("no column 'user'")


BAD = {
    "no-item": ("item,label\nnobody,1\n", "row 1, column item: 'nobody' has a label but no score"),
    "twice": (
        "item,label\n1,1\n1,0\n",
        "row 2, column item: item '1' is also in row 1: keep one row per item",
    ),
    "label": ("item,label\n1,2\n", "label"),
    "no-label": ("item,score\n1,1\n", "there is no column 'label'"),
    "no-rows": ("item,label\n", "no rows"),
    "zero": (
        "item,label,inclusion_probability\n1,1,0\n2,0,0.5\n",
        "row 1, column inclusion_probability: the inclusion probability of a labeled document is 0",
    ),
    "tiny": (
        "item,label,inclusion_probability\n1,1,0.5\n2,0,1e-300\n",
        "row 2, column inclusion_probability: the inclusion probability of a labeled document is 1e-300",
    ),
    "missing": ("item,label\n,1\n", "row 1, column item: the value is missing"),
}


@pytest.mark.parametrize(("text", "message"), BAD.values(), ids=BAD.keys())
def test_bad_labels_are_one_line(run: Run, tables: tuple[Path, Path], text: str, message: str) -> None:
    scores, labels = tables
    labels.write_text(text, encoding="utf-8")
    run("estimate", scores, "--labels", labels).refused(message)


def test_labels_may_be_in_the_table_of_scores(run: Run, tables: tuple[Path, Path], tmp_path: Path) -> None:
    scores, labels = tables
    given = dict(line.split(",") for line in labels.read_text(encoding="utf-8").split()[1:])
    columns = pq.read_table(scores).to_pydict()
    rows = zip(columns["item"], columns["score"], columns["date"], strict=True)
    own = tmp_path / "own.csv"
    own.write_text(
        "item;score;date;label\n"
        + "".join(f"{item};{score!r};{day};{given.get(str(item), '')}\n".replace(".", ",", 1)
                  for item, score, day in rows),
        encoding="utf-8",
    )  # fmt: skip
    together = json.loads(run("estimate", own, "--by", "year", "--json").out)
    apart = json.loads(run("estimate", scores, "--labels", labels, "--by", "year", "--json").out)
    assert together["estimates"] == apart["estimates"]
    assert (
        json.loads(run("estimate", own, "--labels", own, "--by", "year", "--json").out)
        | {"command": together["command"]}
        == together
    )
    nameless = own.read_text(encoding="utf-8").replace("item;", "text;", 1)
    own.write_text(nameless, encoding="utf-8")
    assert json.loads(run("estimate", own, "--by", "year", "--json").out) == together
    run("estimate", own, "--labels", labels).refused("own.csv: there is no column 'item'")
    run("estimate", scores).refused(
        "no column 'label': name it with --label, or give a table of labels (--labels)"
    )


def test_groups_spelled_in_two_ways_are_refused(run: Run, tmp_path: Path) -> None:
    scores = tmp_path / "own.csv"
    scores.write_text(
        "item;score;label;period\n0;0,5;1;Left\n1;0,5;0;Right\n2;0,5;;left \n", encoding="utf-8"
    )
    run("estimate", scores).refused(
        "row 3, column period: 'left ' and 'Left' differ in spaces or capitals only"
    )


@pytest.fixture
def named(tmp_path: Path) -> tuple[Path, Path]:
    rng = np.random.default_rng(0)
    names = np.array(["Law and crime", "Sport", "Other"])
    truth = rng.choice(3, 300)
    model = np.where(rng.random(300) < 0.8, truth, rng.choice(3, 300))
    texts, coded = tmp_path / "texts.csv", tmp_path / "coded.csv"
    rows = [f"{row},{names[model[row]]},{int(model[row] == 1)},{'LR'[row % 2]}" for row in range(300)]
    texts.write_text("\n".join(["item,score,sport,party", *rows]), encoding="utf-8")
    rows = [f"{row},{names[truth[row]]},{int(truth[row] == 1)}" for row in range(100)]
    coded.write_text("\n".join(["item,label,sport", *rows, "100,,"]), encoding="utf-8")
    return texts, coded


def test_a_class_of_names_is_counted_like_its_zeros_and_ones(run: Run, named: tuple[Path, Path]) -> None:
    texts, coded = named
    given = ["estimate", texts, "--labels", coded, "--by", "party", "--json"]
    found = json.loads(run(*given, "--view", "class:Sport").out)
    recoded = json.loads(run(*given, "--score", "sport", "--label", "sport").out)
    assert found["estimates"] == recoded["estimates"]
    assert {one["period"] for one in found["estimates"]} == {"all", "L", "R"}
    assert json.loads(run(*given, "--view", "class:Law and crime").out)["estimates"] != found["estimates"]


def test_classes_that_only_labels_have_are_named(run: Run, named: tuple[Path, Path]) -> None:
    texts, coded = named
    given = ["estimate", texts, "--labels", coded, "--json", "--view", "class:Sport"]
    assert json.loads(run(*given).out)["class_warning"] is None
    coded.write_text(re.sub("Sport,1$", "Sprot,1", coded.read_text(), count=1, flags=re.M))
    assert json.loads(run(*given).out)["class_warning"].startswith(
        "no score is one of these classes of labels, which may be misspelled: Sprot. Documents with"
    )


def test_names_without_a_class_to_count_say_how_to_choose_one(run: Run, named: tuple[Path, Path]) -> None:
    texts, coded = named
    given = ["estimate", texts, "--labels", coded]
    every = json.loads(run(*given, "--json").out)
    assert every["outcome"] == "classes"
    ran = run(*given, "--score", "sport")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.endswith("if both columns contain class names, count one class with --view class:NAME\n")
    ran = run(*given, "--view", "Sport")
    assert (
        ran.err
        == "calibrant: 'Sport' is no class: write --view class:NAME, or --view classes for all classes\n"
    )
    ran = run(*given, "--view", "class:sport")
    assert "texts.csv, column score: no value is 'sport', only " in ran.err
    for gap in ("NA", "."):
        coded.write_text(f"item,label\n1,Sport\n2,{gap}\n", encoding="utf-8")
        ran = run(*given, "--view", "class:Sport")
        assert f"row 2, column label: '{gap}' may be a missing value: leave the field" in ran.err
    coded.write_text("item,label\n1,Other\n2,other\n", encoding="utf-8")
    assert "differ in spaces or capitals only" in run(*given, "--view", "class:Sport").err


def test_the_error_of_classes_that_pandas_wrote_as_decimals_asks_to_write_them_alike(
    run: Run, tmp_path: Path
) -> None:
    table = tmp_path / "coded.csv"
    table.write_text("item,score,label\n1,2,2.0\n2,0,0.0\n3,2,\n", encoding="utf-8")
    ran = run("estimate", table, "--view", "class:2")
    assert "column label: no value is '2', only 2.0, 0.0: write each class alike in both columns" in ran.err


def test_a_class_without_a_labeled_document_is_counted_from_zeros_as_the_error_says(
    run: Run, named: tuple[Path, Path]
) -> None:
    texts, coded = named
    coded.write_text(
        "item,label,sport\n" + "\n".join(f"{row},Other,0" for row in range(60)), encoding="utf-8"
    )
    given = ["estimate", texts, "--labels", coded, "--method", "labels", "--json"]
    ran = run(*given, "--view", "class:Sport")
    assert ran.err.endswith("if no row is of this class, write 0 and 1 in both\n")
    share = json.loads(run(*given, "--score", "sport", "--label", "sport").out)["estimates"][0]["share"]
    assert share["estimate"] == share["low"] == 0 < share["high"] < 0.1


def test_groups_are_a_named_column_and_periods_need_dates(run: Run, named: tuple[Path, Path]) -> None:
    texts, coded = named
    given = ["estimate", texts, "--labels", coded, "--score", "sport", "--label", "sport"]
    ran = run(*given, "--by", "prty")
    assert (
        "no column 'prty': did you mean 'party'? Name a column, or day, week, month, quarter or year"
        in ran.err
    )
    assert "there is no column 'date'" in run(*given, "--by", "year").err
    texts.write_text(texts.read_text(encoding="utf-8").replace("party", "year", 1), encoding="utf-8")
    found = json.loads(run(*given, "--by", "year", "--json").out)
    assert {one["period"] for one in found["estimates"]} == {"all", "L", "R"}


def test_weights_in_the_place_of_probabilities_get_a_remedy(run: Run, tables: tuple[Path, Path]) -> None:
    scores, labels = tables
    labels.write_text("item,label,p\n1,1,14.5\n2,0,3\n", encoding="utf-8")
    ran = run("estimate", str(scores), "--labels", str(labels), "--inclusion-probability", "p")
    assert ran.code == 2
    assert "row 1, column p: 14.5 is not a probability in [0, 1]: write the probability of being" in ran.err


def test_weights_of_labels_alone_are_refused(run: Run, tables: tuple[Path, Path]) -> None:
    scores, labels = tables
    labels.write_text("item,label,weight\n1,1,10\n2,0,3\n", encoding="utf-8")
    ran = run("estimate", scores, "--labels", labels)
    assert (ran.code, ran.out) == (2, "")
    assert (
        "column weight: survey weights are those of all documents: write the weights of all documents"
        in ran.err
    )


@pytest.mark.parametrize("column", ["inclusion_probability", "cluster"])
def test_a_column_about_labels_that_only_the_table_of_scores_has_is_refused(
    run: Run, tables: tuple[Path, Path], column: str
) -> None:
    scores, labels = tables
    table = pq.read_table(scores)
    pq.write_table(table.append_column(column, pa.array([0.5] * len(table))), scores)
    ran = run("estimate", scores, "--labels", labels)
    ran.refused(f"column {column}: ", "labels.csv, which has the labels, does not have this column")


def test_a_bad_date_is_named(run: Run, tables: tuple[Path, Path], tmp_path: Path) -> None:
    scores = tmp_path / "own.csv"
    scores.write_text("item,score,date\n0,0.5,2001-02-03\n1,0.5,3rd of May\n", encoding="utf-8")
    run("estimate", scores, "--labels", tables[1], "--by", "month").refused()
    labels = tmp_path / "own-labels.csv"
    labels.write_text("item,label\n0,1\n1,0\n", encoding="utf-8")
    run("estimate", scores, "--labels", labels, "--by", "month").refused(
        "row 2, column date: '3rd of May' is not a date"
    )
    scores.write_text("item,score\n0,0.5\n1,0.5\n", encoding="utf-8")
    assert "there is no column 'date'" in run("estimate", scores, "--labels", labels, "--by", "month").err


def test_the_command_offers_every_method() -> None:
    (methods,) = (each.type for each in estimate.command.params if each.name == "methods")
    assert isinstance(methods, click.Choice)
    assert tuple(methods.choices) == ("all", *METHODS)


def test_probabilities_that_two_other_classes_exchanged_are_noticed() -> None:
    model = np.repeat(["economy", "health", "other"], [1000, 500, 3500])
    coded = np.concatenate([np.arange(100), 1000 + np.arange(100), 1500 + np.arange(100)])
    chance = np.repeat([100 / 1000, 100 / 500, 100 / 3500], 100)
    documents = pa.table({"item": np.arange(5000), "score": model})
    for given, noticed in ((chance, False), (np.roll(chance[::-1], 100), True)):
        labels = pa.table({"item": coded, "label": model[coded], "inclusion_probability": given})
        warning = of_tables(documents, labels, view="class:economy", methods=["dsl"]).selection_warning
        assert (warning or "").startswith("class 'other': the mean score is 0.1") == noticed
        assert (warning is None) != noticed
