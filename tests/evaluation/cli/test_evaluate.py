"""`calibrant agree` and `calibrant compare`."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from calibrant.data import predictions
from calibrant.io import open_predictions
from calibrant.outputs import schema as generated
from tests.command_line import Run

FIRST = [67, 63, 68, 65, 69, 61, 64, 67, 68, 65]
ORDERED = ["item,annotator,label", "1,a,low", "1,b,middle", "2,a,high", "2,b,low"]
SECOND = [65, 66, 67, 68, 61, 62, 63, 66, 69, 60]


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    """The lecture's ten sentences and two annotators."""
    path = tmp_path / "labels.csv"
    lines = ["item,annotator,label"]
    for item in range(1, 11):
        for annotator, kept in (("annotator1", (1, 3)), ("annotator2", (1, 3, 7))):
            lines.append(f"{item},{annotator},{'keep' if item in kept else 'not keep'}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def folds(tmp_path: Path) -> Path:
    """The lecture's two systems on 2 x 5 folds."""
    path = tmp_path / "folds.csv"
    rows = [f"{name},{fold},0.{score}" for name, scores in (("system1", FIRST), ("system2", SECOND))
            for fold, score in enumerate(scores, 1)]  # fmt: skip
    path.write_text("\n".join(["system,fold,score", *rows]) + "\n", encoding="utf-8")
    return path


def text(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "table.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_agree_shows_the_lectures_kappa(run: Run, labels: Path) -> None:
    found = json.loads(run("agree", labels, "--json").out)
    assert (found["items"], found["annotators"], found["labels"]) == (10, 2, ["keep", "not keep"])
    assert found["raw_agreement"]["estimate"] == 0.9
    assert round(found["cohen_kappa"]["estimate"], 2) == 0.74
    for name in ("raw_agreement", "cohen_kappa", "fleiss_kappa", "krippendorff_alpha"):
        assert found[name]["low"] <= found[name]["estimate"] <= found[name]["high"]
    shown = run("agree", labels, "--full").out
    assert "Cohen's kappa         0.7368  [" in shown
    assert "keep         2         0" in shown
    assert "annotator1: not keep, annotator2: keep" in shown


@pytest.mark.parametrize("kind", ["tsv", "jsonl", "parquet"])
def test_tables_of_every_kind_say_the_same(run: Run, labels: Path, tmp_path: Path, kind: str) -> None:
    rows = [line.split(",") for line in labels.read_text(encoding="utf-8").splitlines()]
    path = tmp_path / f"labels.{kind}"
    if kind == "tsv":
        path.write_text("\n".join("\t".join(row) for row in rows), encoding="utf-8")
    elif kind == "jsonl":
        objects = [json.dumps(dict(zip(rows[0], [int(row[0]), *row[1:]], strict=True))) for row in rows[1:]]
        path.write_text("\n".join(objects), encoding="utf-8")
    else:
        pq.write_table(
            pa.table({name: [row[place] for row in rows[1:]] for place, name in enumerate(rows[0])}), path
        )
    assert run("agree", path, "--json").out == run("agree", labels, "--json").out


def test_the_order_of_labels_is_given_or_that_of_numbers(run: Run, tmp_path: Path) -> None:
    worded = text(tmp_path, *ORDERED)
    options = ("--distance", "ordinal", "--json")
    by_word = json.loads(run("agree", worded, "--labels", "low,middle,high", *options).out)
    numbers = [line.replace("low", "2").replace("middle", "9").replace("high", "10") for line in ORDERED]
    by_number = json.loads(run("agree", text(tmp_path, *numbers), *options).out)
    assert by_word["krippendorff_alpha"] == by_number["krippendorff_alpha"]
    assert by_number["labels"] == ["2", "9", "10"]


def test_missing_labels_are_counted(run: Run, tmp_path: Path) -> None:
    path = text(
        tmp_path, "item,annotator,label", "1,a,x", "1,b,x", "2,a,y", "2,b,", "3,a,x", "3,b,y", "3,c,y"
    )
    found = json.loads(run("agree", path, "--json").out)
    assert (found["items"], found["annotators"], found["missing"], found["single"]) == (3, 3, 3, 1)
    assert found["cohen_kappa"]["estimate"] is None
    assert "by_pair" in found["cohen_kappa"]["reason"]
    shown = run("agree", path).out
    assert "Labels missing             3" in shown
    assert "Undefined (Cohen's kappa; Scott's pi): " in shown


def test_agree_refuses_what_it_cannot_use(run: Run, tmp_path: Path) -> None:
    cases = [
        (["item,annotator,label", "1,a,x", "2,a,y"], [], "there is one annotator, 'a'"),
        (["item,annotator,label", "1,a,x", "1,b,z"], ["--labels", "x,y"], "row 2: label 'z' is not one of"),
        (["item,annotator,label", "1,a,x", "1,b,x", "1,a,y"], [], "row 3: a labels item 1 twice"),
        (["item,annotator", "1,a"], [], "there is no column 'label'"),
        (
            ["item,ann,bob", "1,x,y"],
            [],
            "no column 'annotator': name it with --annotator; if each annotator has a column, write one row "
            "per label, in pandas: table.melt('item', var_name='annotator', value_name='label'); the",
        ),
        (
            ["item,annotator,label", "1,a,Yes", "1,b,yes"],
            [],
            "row 2, column label: 'yes' and 'Yes' differ in spaces or capitals only: write each label in one "
            "way, or list all labels in --labels",
        ),
        (["item,annotator,label", "1,a,x", "1,b,x "], [], "row 2, column label: 'x ' and 'x' differ in"),
        (
            ["item,annotator,label", "1,a,1", "1,b,1.0"],
            [],
            "row 2, column label: '1.0' and '1' are the same number: write each label in one way, or list",
        ),
        (["item,annotator,label", "1,a,00", "1,b,-0", "2,a,0"], [], "row 2, column label: '-0' and '00' are"),
        (["item,annotator,label", "1,Ann,x", "1,ann,x"], [], "column annotator: 'ann' and 'Ann' differ in"),
        (["item,annotator,label", "1,7,x", "1,07,x"], [], "column annotator: '07' and '7' are the same"),
        (["item,annotator,label", "1,a,x", "1,b,NA"], [], "row 2, column label: 'NA' may be a missing"),
        (["item,annotator,label", "1,,x"], [], "row 1, column annotator: the value is missing"),
        (["item,annotator,label"], [], "there are no rows"),
        (["item,annotator,label", "1,a,"], [], "column label: there is no value in any row"),
        (["item,annotator,label", "1,a,x", "1,b,x"], ["--distance", "interval"], "not all numbers"),
        (ORDERED, ["--distance", "ordinal"], "table.csv: the order of the labels (high, low, middle) is not"),
        (
            ["item,annotator,label", *(f"{item},{name},{item}" for item in range(1001) for name in "ab")],
            [],
            "table.csv: there are 1,001 labels, more than 1,000",
        ),
        (ORDERED, ["--labels", ","], "a label is empty"),
        (ORDERED, ["--weights", "linear"], "name all labels in order (--labels)"),
        (
            ["item,annotator,label,cluster", "1,a,x,d", "1,b,x,e"],
            [],
            "row 2, column cluster: item 1 is in two",
        ),
    ]
    for lines, options, message in cases:
        run("agree", text(tmp_path, *lines), *options).refused(message)


def test_listed_labels_may_differ_in_capitals(run: Run, tmp_path: Path) -> None:
    lines = ["item,annotator,label", "1,a,Y", "1,b,y", "2,a,y", "2,b,y"]
    ran = run("agree", text(tmp_path, *lines), "--labels", "Y,y", "--json")
    assert json.loads(ran.out)["raw_agreement"]["estimate"] == 0.5


def test_listed_labels_may_be_the_same_number(run: Run, tmp_path: Path) -> None:
    lines = ["item,annotator,label", "1,a,01", "1,b,1", "2,a,1.1", "2,b,1.10"]
    ran = run("agree", text(tmp_path, *lines), "--labels", "1,01,1.1,1.10", "--json")
    assert json.loads(ran.out)["raw_agreement"]["estimate"] == 0


def test_labels_with_different_decimals_are_different_codes(run: Run, tmp_path: Path) -> None:
    lines = ["item,annotator,label", "1,a,1.1", "1,b,1.10", "2,a,1.1", "2,b,1.1"]
    assert json.loads(run("agree", text(tmp_path, *lines), "--json").out)["raw_agreement"]["estimate"] == 0.5


def test_compare_shows_the_lectures_test(run: Run, folds: Path) -> None:
    options = ["--alternative", "greater", "--test-train-ratio", "0.25"]
    found = json.loads(run("compare", folds, *options, "--json").out)
    first, pair = found["systems"][0], found["pairs"][0]
    assert [round(100 * first["mean"][name], 2) for name in ("estimate", "low", "high")] == [65.7, 62.3, 69.1]
    assert [round(100 * first["plain"][name], 2) for name in ("low", "high")] == [63.88, 67.52]
    assert (round(pair["plain"]["t"], 3), round(pair["critical"], 3)) == (0.921, 1.833)
    assert (round(pair["difference"]["estimate"], 4), round(pair["t"], 4)) == (0.01, 0.4925)
    assert pair["plain"]["p_value"] < pair["p_value"]
    names = list(pair)
    assert names.index("difference") < names.index("plain"), "a reader takes the first interval"
    shown = run("compare", folds, *options, "--full").out
    assert re.search(r"Difference +\+0\.0100 +\[", shown)
    assert re.search(r"Critical value +1.8331", shown)
    heading = "Plain t-test, which ignores that folds share training data"
    assert shown.index("Difference  ") < shown.index(heading) < shown.index("As if folds were independent: t")
    assert "No difference is shown, at 95 %" in shown


def test_compare_refuses_the_corrected_test_without_the_ratio(run: Run, folds: Path) -> None:
    found = json.loads(run("compare", folds, "--json").out)
    assert found["pairs"][0]["plain"] is None
    assert "too optimistic" in found["folds_warning"]
    assert "the ratio of test to training data is needed: give it" in found["folds_warning"]
    assert "the ratio of test to training data is needed: give it, 1 / (k - 1)" in run("compare", folds).out


def test_a_column_of_repeats_tells_the_ratio(run: Run, tmp_path: Path) -> None:
    rows = [f"{name},{place // 5},{place % 5},{score}" for name, scores in (("a", FIRST), ("b", SECOND))
            for place, score in enumerate(scores)]  # fmt: skip
    found = json.loads(run("compare", text(tmp_path, "system,repeat,fold,score", *rows), "--json").out)
    assert (found["repeats"], found["test_train_ratio"]) == (2, 0.25)
    assert found["pairs"][0]["t"] == pytest.approx(0.4925, abs=1e-4)


def test_compare_refuses_what_it_cannot_use(run: Run, tmp_path: Path) -> None:
    cases = [
        (
            ["system,fold,score", "a,1,1", "a,2,2", "b,1,1"],
            [],
            "b has no score for fold 2: it has scores for 1 of 2 folds",
        ),
        (["system,fold,score", "a,1,1", "a,1,2"], [], "row 2: a has two scores for fold 1"),
        (
            ["system,item,score", "a,1,1", "a,1,2"],
            [],
            "one score per system and item, such as their mean",
        ),
        (["system,fold,score", "a,1,x"], [], "row 1, column score: 'x' is not a number"),
        (["system,fold,score", "a,1,", "b,1,2"], [], "row 1, column score: the value is missing"),
        (
            ["system,fold,score", "a,1,1e308", "a,2,-1e308", "b,1,1", "b,2,1"],
            [],
            "table.csv: first[0] is 1e+308",
        ),
        (["system,fold,score", ",1,1"], [], "row 1, column system: the value is missing"),
        (["system,score", "a,1"], [], "neither a column fold nor a column item"),
        (["system,fold,item,score", "a,1,1,1"], [], "the table has a column of folds and a column of items"),
        (["system,fold,score"], [], "there are no rows"),
        (
            ["system,item,score", "a,1,1", "b,1,1"],
            ["--test-train-ratio", "0.5"],
            "scores of items have no repeats",
        ),
        (["system,fold,score", "a,1,1", "b,1,1"], ["--baseline", "c"], "there is no system 'c'"),
        (["system,fold,score", "a,1,1", "b,1,1"], ["--test-train-ratio", "-1"], "--test-train-ratio is -1.0"),
    ]
    for lines, options, message in cases:
        run("compare", text(tmp_path, *lines), *options).refused(message)


def test_one_system_has_nothing_to_be_compared_with(run: Run, tmp_path: Path) -> None:
    run("compare", text(tmp_path, "system,fold,score", "a,1,1", "a,2,2")).refused(
        "there is one system, a, and nothing to compare it with: add the scores of another"
    )


def test_a_missing_score_says_how_many_there_are(run: Run, tmp_path: Path) -> None:
    lines = ("a,1,1", "a,2,2", "a,3,1", "b,1,2", "b,2,2")
    run("compare", text(tmp_path, "system,fold,score", *lines)).refused(
        "b has no score for fold 3: it has scores for 2 of 3 folds: systems are compared"
    )


def test_systems_are_compared_on_the_items_that_all_have(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    lines = [f"{name},{item},{item // 2},{rng.random():.3f}" for item in range(40) for name in "abc"]
    kept = [line for line in lines if not line.startswith(("b,3,", "c,7,", "c,8,", "c,9,", "c,10,"))]
    common = [line for line in lines if line.split(",")[1] not in ("3", "7", "8", "9", "10")]
    header = "system,item,cluster,score"
    alone = json.loads(run("compare", text(tmp_path, header, *common), "--json").out)
    found = json.loads(run("compare", text(tmp_path, header, *kept), "--json").out)
    note = found.pop("items_warning")
    assert note == (
        "systems are compared on the 35 items that have scores of all; left out are 1 item without a score "
        "of b (3) and 4 items without a score of c (7, 8, 9 and 1 more)"
    )
    assert alone.pop("items_warning") is None
    assert found == alone
    assert f"  {note}" in run("compare", text(tmp_path, header, *kept)).out
    run("compare", text(tmp_path, "system,item,score", "a,1,1", "b,2,1")).refused(
        "a has no score for item 2: it has scores for 1 of 2 items"
    )


def test_what_settles_a_difference_is_counted_in_clusters(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    lines = [f"{name},{item},{item // 5},{rng.random():.3f}" for item in range(60) for name in "ab"]
    found = json.loads(run("compare", text(tmp_path, "system,item,cluster,score", *lines), "--json").out)
    lacking = found["pairs"][0]["detectable"]["more"]
    out = run("compare", tmp_path / "table.csv", "--full").out
    assert "60 items in 12 clusters show one of " in out
    assert f"takes about {math.ceil(lacking / 5):,} more clusters like these ({lacking:,} more items)" in out


def test_a_warning_of_all_systems_is_told_once(run: Run, tmp_path: Path) -> None:
    lines = [f"{name},{item},{item // 15},{item % 7}" for item in range(60) for name in "ab"]
    ran = run("compare", text(tmp_path, "system,item,cluster,score", *lines))
    assert ran.out.count("the 4 clusters count as 4.0 equal clusters") == 1


def test_systems_that_tie_everywhere_have_no_test(run: Run, tmp_path: Path) -> None:
    path = text(tmp_path, "system,item,score", "a,1,1", "a,2,0", "b,1,1", "b,2,0")
    pair = json.loads(run("compare", path, "--json").out)["pairs"][0]
    assert (pair["t"], pair["ties"], pair["holm_p_value"]) == (None, 2, None)
    assert "all differences of the systems are equal" in pair["reason"]
    assert run("compare", path).code == 0


@pytest.fixture
def classifiers(tmp_path: Path) -> tuple[Path, Path]:
    """Two classifiers of tweets and gold labels: as annotators, and as systems that are right or wrong."""
    columns: dict[str, list[Any]] = {"item": [], "who": [], "label": [], "score": []}
    for name in ("naive-bayes", "logistic-regression"):
        batch = open_predictions(predictions("dated", name)).read(items=True)
        said, gold = batch.score >= 0.5, batch.label
        for who, values in ((name, said), *((("gold", gold),) if name == "naive-bayes" else ())):
            columns["item"] += np.arange(len(values)).tolist()
            columns["who"] += [who] * len(values)
            columns["label"] += np.where(values, "positive", "negative").tolist()
            columns["score"] += (values == gold).astype(int).tolist()
    table = pa.table(columns)
    labels, scores = tmp_path / "labels.parquet", tmp_path / "scores.parquet"
    pq.write_table(table.rename_columns(["item", "annotator", "label", "score"]), labels)
    rows = np.array([who != "gold" for who in columns["who"]])
    pq.write_table(table.rename_columns(["item", "system", "label", "score"]).filter(pa.array(rows)), scores)
    return labels, scores


def test_classifiers_and_gold_labels_are_annotators_too(run: Run, classifiers: tuple[Path, Path]) -> None:
    found = json.loads(run("agree", classifiers[0], "--json").out)
    assert (found["items"], found["annotators"], len(found["by_pair"])) == (6004, 3, 3)
    assert 0.3 < found["fleiss_kappa"]["estimate"] < 0.9


def test_classifiers_are_compared_on_items(run: Run, classifiers: tuple[Path, Path]) -> None:
    found = json.loads(run("compare", classifiers[1], "--json").out)
    pair = found["pairs"][0]
    assert found["unit"] == "item"
    means = [system["mean"]["estimate"] for system in found["systems"]]
    difference = pair["difference"]["estimate"]
    assert difference == pytest.approx(means[0] - means[1], abs=1e-12)
    p_values = [pair["p_value"], *(pair[name]["p_value"] for name in ("bootstrap", "permutation", "mcnemar"))]
    assert max(p_values) - min(p_values) < 0.05
    assert pair["mcnemar"]["first_only"] - pair["mcnemar"]["second_only"] == round(6004 * difference)
    assert pair["detectable"]["n"] == 6004


def test_columns_may_be_called_otherwise(run: Run, tmp_path: Path) -> None:
    rows = [f"{name},{place},{score}" for name, scores in (("a", FIRST), ("b", SECOND))
            for place, score in enumerate(scores)]  # fmt: skip
    path = text(tmp_path, "model,split,f1", *rows)
    options = ["--system", "model", "--score", "f1", "--json"]
    folds = json.loads(run("compare", path, *options, "--fold", "split", "--test-train-ratio", "0.25").out)
    assert folds["pairs"][0]["t"] == pytest.approx(0.4925, abs=1e-4)
    items = json.loads(run("compare", path, *options, "--item", "split").out)
    assert (items["unit"], items["pairs"][0]["plain"]) == ("item", None)


@pytest.mark.parametrize("command", ["agree", "compare"])
def test_the_json_output_follows_its_schema(run: Run, labels: Path, folds: Path, command: str) -> None:
    schema = generated(command)
    for name in ("items", "systems"):
        assert schema["properties"].get(name, {"description": "-"})["description"]
    outputs = [json.loads(run(command, labels if command == "agree" else folds, "--json").out)]
    if command == "compare":
        outputs.append(json.loads(run("compare", folds, "--item", "fold", "--json").out))
    for output in outputs:
        jsonschema.validate(output, schema)
        assert set(output) == set(schema["properties"])
