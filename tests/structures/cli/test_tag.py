"""`calibrant tag`: train, predict, eval."""

from __future__ import annotations

import csv
import doctest
import json
import re
import sys
from pathlib import Path

import jsonschema
import pytest

from calibrant.outputs import schema
from calibrant.parts import installing
from calibrant.structures import evaluate_tagger, load_tagger, read_tagged
from tests.command_line import Run


@pytest.fixture
def model(run: Run, tagged: Path, tmp_path: Path) -> Path:
    path = tmp_path / "small.model"
    assert run("tag", "train", tagged / "train.conllu", "--model", "hmm", "-o", path).code == 0
    return path


def test_training_shows_what_was_tried_and_what_was_chosen(run: Run, tagged: Path, tmp_path: Path) -> None:
    path = tmp_path / "small.model"
    ran = run(
        "tag",
        "train",
        tagged / "train.tsv",
        "--dev",
        tagged / "dev.tsv",
        "--model",
        "hmm",
        "-o",
        path,
        "--full",
    )
    assert (ran.code, ran.err) == (0, "")
    for part in (
        f"Training text     {tagged / 'train.tsv'}",
        "Sentences     120",
        "Tags              D, N, V",
        "unseen: classes",
        "  10             0.",
        f"Development text  {tagged / 'dev.tsv'}",
        f"Output            {path}",
        f"calibrant tag eval {path} FILE",
    ):
        assert part in ran.out, part
    assert load_tagger(path).tags == ("D", "N", "V")


def test_training_without_dev_says_so(run: Run, tagged: Path, tmp_path: Path) -> None:
    ran = run(
        "tag", "train", tagged / "train.tsv", "--max-iterations", 3, "-o", tmp_path / "small.model", "--full"
    )
    assert ran.code == 0
    assert "l2: 0.1, max_iterations: 3" in ran.out
    assert "Hyperparameters are defaults: no development text was given (dev)" in ran.out
    assert "Training stopped at the limit of 3 iterations" in ran.out


def test_training_gives_json(run: Run, tagged: Path, tmp_path: Path) -> None:
    options = ["--features", "basic", "--l2", "1", "--l2", "0.1", "--max-iterations", "5", "--json"]
    ran = run(
        "tag", "train", tagged / "train.tsv", "--dev", tagged / "dev.tsv", "-o", tmp_path / "m", *options
    )
    found = json.loads(ran.out)
    assert [each["hyperparameters"]["l2"] for each in found["candidates"]] == [1.0, 0.1]
    assert found["accuracy"] == max(each["accuracy"] for each in found["candidates"])
    assert (found["features"], found["output"]) == ("basic", str(tmp_path / "m"))


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--cluster", "document"],
        ["--view", "top"],
        ["--view", "classwise", "--view", "pooled"],
        ["--view", "class:V", "--bin-size", "50", "--level", "0.9", "--smooth"],
        ["--interval", "sampling", "--samples", "50", "--exact", "--threads", "1"],
    ],
    ids=" ".join,
)
def test_evaluation_gives_json_of_the_schema(
    run: Run,
    model: Path,
    tagged: Path,
    options: list[str],
) -> None:
    ran = run("tag", "eval", model, tagged / "test.conllu", "--json", *options)
    assert (ran.code, ran.err) == (0, "")
    found = json.loads(ran.out)
    jsonschema.validate(found, schema("tag eval"))
    assert list(found)[:2] == ["schema_version", "model"]
    assert run("tag", "eval", model, tagged / "test.conllu", *options).code == 0


def test_evaluation_says_what_the_library_and_measure_say(
    run: Run, model: Path, tagged: Path, tmp_path: Path
) -> None:
    found = json.loads(run("tag", "eval", model, tagged / "test.conllu", "--seed", 4, "--json").out)
    expected = json.loads(evaluate_tagger(model, tagged / "test.conllu", seed=4).to_json())
    command = found["measured"]["recipe"].pop("command")
    assert command == f"calibrant tag eval {model} {tagged / 'test.conllu'} --seed 4 --json"
    del expected["measured"]["recipe"]["command"]
    assert found == expected
    table = tmp_path / "pred.parquet"
    assert run("tag", "predict", model, tagged / "test.conllu", "-o", table).code == 0
    measured = json.loads(run("measure", table, "--view", "pooled", "--seed", 4, "--json").out)
    assert found["measured"]["views"] == measured["views"]


def test_evaluation_shows_accuracy_the_measurement_and_what_to_type_next(
    run: Run, model: Path, tagged: Path
) -> None:
    ran = run("tag", "eval", model, tagged / "test.conllu", "--column", "upos", "--full")
    assert (ran.code, ran.err) == (0, "")
    for part in (
        f"{tagged / 'test.conllu'}\n",
        f"  {model}\n",
        "Accuracy ",
        "  On unseen words",
        "3 tokens have gold tags that the model has never seen, so every tag is wrong there: X (3)",
        "Calibration: views",
        "CalibErr",
        "Clusters                  60",
        f"calibrant tag predict {model} {tagged / 'test.conllu'} --column upos -o pred.parquet",
        "calibrant report pred.parquet --view pooled -o report.html",
    ):
        assert part in ran.out, part


def test_what_to_type_next_has_the_same_clusters(run: Run, model: Path, tagged: Path) -> None:
    text = tagged / "test.conllu"
    ran = run("tag", "eval", model, text, "--cluster", "document")
    assert f"calibrant tag predict {model} {text} --cluster document -o pred.parquet" in ran.out
    ran = run("tag", "eval", model, text, "--view", "top", "--view", "class:V")
    assert "calibrant report pred.parquet --view top --view class:V -o report.html" in ran.out


def test_the_training_text_as_development_text_is_noted(run: Run, tagged: Path, tmp_path: Path) -> None:
    text = tagged / "train.tsv"
    options = ["--model", "hmm", "--pseudocount", "1", "--pseudocount", "1.0", "-o", tmp_path / "m"]
    ran = run("tag", "train", text, "--dev", text, *options, "--full")
    assert "on the training text" in ran.out
    assert re.search(r"pseudocount +accuracy\n +1 +0\.\d{4}\n\n", ran.out), "tried once"
    assert "pseudocount: 1, unseen: classes" in ran.out, "and chosen"


def test_predictions_can_be_written_to_standard_output(
    run: Run, model: Path, tagged: Path, tmp_path: Path
) -> None:
    given = [model, tagged / "test.conllu", "--drop-below", "0.05", "-o"]
    run("tag", "predict", *given, tmp_path / "pred.csv")
    for more in ([], ["--json"]):
        ran = run("tag", "predict", *given, "-", *more)
        assert ran.out == (tmp_path / "pred.csv").read_text(encoding="utf-8")
    assert json.loads(ran.err)["output"] == "-"
    said = run("tag", "predict", *given, "-").err
    assert said.startswith("Written predictions of a tagger")
    assert "Next" not in said


def test_the_guide_shows_what_is_printed_for_tweets(
    run: Run, data: Path, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for source in (data / "twitter-pos").glob("oct27.*"):
        Path(source.name).symlink_to(source)
    guide = (root / "docs" / "guide" / "tagging.md").read_text(encoding="utf-8")
    block = re.search(r"^```text\n(\$ calibrant tag .*?)^```$", guide, re.M | re.S)
    assert block is not None
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    for part in block[1].split("$ calibrant ")[1:]:
        command, _, shown = part.partition("\n")
        out = run(*command.split()).out
        assert doctest.OutputChecker().check_output(shown, out, flags), out


def test_a_text_of_mostly_other_tags_may_be_the_wrong_column(run: Run, model: Path, tmp_path: Path) -> None:
    path = tmp_path / "text.tsv"
    path.write_text("w1\tN\nw2\tAUX\nw3\tAUX\n\n" * 9, encoding="utf-8")
    assert "Check that the column is the one" in run("tag", "eval", model, path).out


def test_prediction_says_what_was_written(run: Run, model: Path, tagged: Path, tmp_path: Path) -> None:
    table = tmp_path / "pred.csv"
    ran = run("tag", "predict", model, tagged / "test.conllu", "-o", table, "--drop-below", "0.05")
    assert (ran.code, ran.err) == (0, "")
    rows = len(table.read_text(encoding="utf-8").splitlines()) - 2  # a note of the threshold, and names
    assert f"  Rows         {rows:,}\n" in ran.out
    assert "scores below 0.05; calibration errors ignore these pairs" in ran.out
    assert "3 tokens have gold tags" in ran.out
    assert f"calibrant measure {table} --view pooled" in ran.out
    found = json.loads(run("tag", "predict", model, tagged / "test.conllu", "-o", table, "--json").out)
    assert found["rows"] == 3 * found["tokens"]


def test_a_spacy_pipeline_can_be_evaluated(run: Run, tagged: Path, tmp_path: Path) -> None:
    spacy = pytest.importorskip("spacy")
    from spacy.training import Example

    nlp = spacy.blank("en")
    nlp.add_pipe("tagger")
    example = Example.from_dict(nlp.make_doc("I see"), {"tags": ["n0", "v1"]})
    nlp.initialize(lambda: [example])
    nlp.to_disk(tmp_path / "pipeline")
    text = tagged / "test.conllu"
    found = json.loads(
        run("tag", "eval", "--spacy", tmp_path / "pipeline", text, "--column", "xpos", "--json").out
    )
    assert found["model"] == str(tmp_path / "pipeline")
    assert found["measured"]["recipe"]["classes"] == ["n0", "v1"]
    assert list(found["unseen_tags"]) == ["d2"]
    assert found["measured"]["views"][0]["brier"] == 0.25  # nothing was learnt: every probability is 1/2
    ran = run("tag", "eval", "--spacy", tmp_path / "pipeline", text, "--column", "xpos")
    assert f"calibrant tag predict --spacy {tmp_path / 'pipeline'} {text} --column xpos" in ran.out
    run("tag", "eval", "--spacy", tmp_path / "pipeline", text).refused("it has a tagger: use column='xpos'")


def test_model_and_pipeline_are_one_of_two(run: Run, model: Path, tagged: Path) -> None:
    text = tagged / "test.conllu"
    run("tag", "eval").refused("Missing argument 'MODEL FILE'")
    run("tag", "eval", text).refused("Give MODEL and FILE, or --spacy PIPELINE and FILE")
    run("tag", "eval", model, text, text).refused("Give MODEL and FILE")
    run("tag", "eval", "--spacy", "pipeline", model, text).refused("Give either MODEL or --spacy PIPELINE")
    run("tag", "predict", model, text).refused("Missing option '-o'")
    run("tag", "train", text).refused("Missing option '-o'")


def test_a_pipeline_needs_the_extra(
    run: Run, tagged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    run("tag", "eval", "--spacy", tmp_path, tagged / "test.conllu").refused(installing("spacy"), code=1)


def test_a_model_file_that_is_none_is_refused(run: Run, model: Path, tagged: Path, tmp_path: Path) -> None:
    text, other = tagged / "test.conllu", tmp_path / "other.model"
    run("tag", "eval", tmp_path / "none.model", text).refused("none.model: no such file")
    run("tag", "eval", text, text).refused("test.conllu: this is not a saved model")
    other.write_bytes(model.read_bytes()[:-40])
    run("tag", "eval", other, text).refused("other.model: ", "cut short")
    other.write_bytes(b"")
    run("tag", "eval", other, text).refused("other.model: the file is empty")
    run("tag", "eval", tmp_path, text).refused(f"{tmp_path}: ")


TEXTS = {
    "missing": (None, "no such file"),
    "empty": ("", "the file is empty"),
    "blank": ("\n\n", "the file is empty"),
    "no tags": ("one\ntwo\n", "the file has only one column, the token, and no tags"),
    "no tags in CoNLL-U": ("1\tone" + "\t_" * 8 + "\n", "the file has no upos: every value is _"),
    "ragged": ("one\tN\ntwo\n", "line 2: the line has 1 column, and the first line 2"),
    "broken CoNLL-U": ("1\tone\t_\tN" + "\t_" * 6 + "\n3\ttwo\t_\tN" + "\t_" * 6 + "\n", "line 2: "),
    "an empty tag": ("one\t\n", "line 1: the tag is empty"),
    "other tags": ("one\tAUX\n", "the model knows none of the file's tags"),
}


@pytest.mark.parametrize("case", TEXTS)
def test_a_bad_text_is_refused(run: Run, model: Path, tmp_path: Path, case: str) -> None:
    content, message = TEXTS[case]
    path = tmp_path / ("text.conllu" if "CoNLL-U" in case else "text.tsv")
    if content is not None:
        path.write_text(content, encoding="utf-8")
    before = sorted(tmp_path.iterdir())
    run("tag", "eval", model, path).refused(str(path), message)
    if not case.startswith("no tags"):
        run("tag", "predict", model, path, "-o", tmp_path / "pred.parquet").refused(str(path), message)
    if case != "other tags":
        run("tag", "train", path, "-o", tmp_path / "new.model").refused(str(path), message)
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("name", ["text.tsv", "text.conllu"])
def test_a_text_without_gold_tags_is_tagged_as_one_with_them(
    run: Run, model: Path, tagged: Path, tmp_path: Path, name: str
) -> None:
    table, same = tmp_path / "pred.csv", tmp_path / "same.csv"
    gold = read_tagged(tagged / "test.conllu")
    mark = "{1}\n" if name == "text.tsv" else "{0}\t{1}" + "\t_" * 8 + "\n"
    lines = ("".join(mark.format(*each) for each in enumerate(words, 1)) for words in gold.sentences)
    (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    ran = run("tag", "predict", model, tmp_path / name, "-o", table)
    assert "The table has no labels" in ran.out
    assert "calibrant measure" not in ran.out
    run("tag", "predict", model, tagged / "test.conllu", "-o", same)
    with table.open() as file, same.open() as other:
        found, expected = list(csv.DictReader(file)), list(csv.DictReader(other))
    assert all("label" not in row for row in found)
    assert [row["score"] for row in found] == [row["score"] for row in expected]
    assert [row["class"] for row in found] == [row["class"] for row in expected]
    run("measure", table).refused("label")


OPTIONS = {
    "--column 9": "there is no column 9",
    "--column lemma": "no column 'lemma'",
    "--cluster paragraph": "Invalid value for '--cluster'",
    "--view binary": "a table with classes has no binary view",
    "--view class:Q": "there is no class 'Q': the classes are D, N, V",
    "--view nonsense": "unknown view 'nonsense'",
    "--level 95": "level is 95",
    "--bin-size 0": "--bin-size is 0",
    "--n-bins 5 --bin-size 5": "both a bin size and a number of bins",
    "--seed -1": "Invalid value for '--seed'",
    "--threads 0": "Invalid value for '--threads'",
}


@pytest.mark.parametrize("options", OPTIONS)
def test_a_bad_option_is_refused(run: Run, model: Path, tagged: Path, options: str) -> None:
    run("tag", "eval", model, tagged / "test.tsv", *options.split()).refused(OPTIONS[options])


OUTPUTS = {
    "no/pred.parquet": "cannot write: no such file or directory",
    "pred.xlsx": "the name has no ending of a table format",
    "": "",
}


@pytest.mark.parametrize("name", OUTPUTS)
def test_predictions_that_cannot_be_written_are_refused(
    run: Run, model: Path, tagged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    run("tag", "predict", model, tagged / "test.tsv", "-o", name).refused(OUTPUTS[name])
    assert list(tmp_path.iterdir()) == [model]


@pytest.mark.parametrize("least", ["-0.1", "1", "nan", "x"])
def test_a_bad_threshold_is_refused(run: Run, model: Path, tagged: Path, tmp_path: Path, least: str) -> None:
    given = ["-o", tmp_path / "pred.parquet", "--drop-below", least]
    run("tag", "predict", model, tagged / "test.tsv", *given).refused(
        "--drop-below" if least == "x" else f"the threshold {least}"
    )
    assert list(tmp_path.iterdir()) == [model]


def test_a_model_that_cannot_be_written_is_refused_before_training(
    run: Run, tagged: Path, tmp_path: Path
) -> None:
    run("tag", "train", tagged / "train.tsv", "-o", "-").refused("cannot be written to standard output")
    run("tag", "train", tagged / "train.tsv", "-o", tmp_path / "no" / "m").refused(
        "cannot write: no such file"
    )
    run("tag", "train", tagged / "train.tsv", "-o", tmp_path).refused("this is a folder: name a file")
    run("tag", "train", tmp_path / "none", "-o", tmp_path / "m.gz").refused("remove .gz from the name")
    given = ["--model", "hmm", "--features", "basic", "-o", tmp_path / "m"]
    run("tag", "train", tagged / "train.tsv", *given).refused("--features is an option of the CRF")
    assert not list(tmp_path.iterdir())
