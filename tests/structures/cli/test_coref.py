"""`calibrant coref`: train, predict, eval, pairs."""

from __future__ import annotations

import gzip
import io
import json
import re
import sys
from pathlib import Path

import jsonschema
import pytest
from pyarrow import parquet

from calibrant.io import open_predictions
from calibrant.outputs import schema
from calibrant.parts import installing
from calibrant.structures import evaluate_coreference, read_documents
from tests.command_line import Run


@pytest.fixture(scope="module")
def trained(narrated: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from calibrant.structures import train_coreference

    path = tmp_path_factory.mktemp("trained") / "story.model"
    train_coreference(narrated / "train.conll", epochs=4, output=path)
    return path


@pytest.fixture
def posteriors(run: Run, trained: Path, narrated: Path, tmp_path: Path) -> Path:
    path = tmp_path / "test.jsonl"
    assert run("coref", "predict", trained, narrated / "test.conll", "-o", path).code == 0
    return path


def test_training_shows_what_was_tried_and_what_was_chosen(run: Run, narrated: Path, tmp_path: Path) -> None:
    path = tmp_path / "story.model"
    train, dev = narrated / "train.conll", narrated / "dev.conll"
    given = ["--l1", "0.00001", "--l1", "1", "--epochs", "3", "-o", path]
    ran = run("coref", "train", train, "--dev", dev, *given, "--full")
    assert (ran.code, ran.err) == (0, "")
    for part in (
        f"{train}\n",
        "Documents            30",
        "Features          surface",
        "CoNLL F1  log loss",
        "l1: 1e-05",
        f"{dev}\n",
        "  Temperature ",
        f"Output            {path}\n",
        f"calibrant coref eval {path} FILE",
    ):
        assert part in ran.out, part
    found = json.loads(run("coref", "train", train, "--dev", dev, *given, "--json").out)
    assert [each["hyperparameters"]["l1"] for each in found["candidates"]] == [1e-5, 1.0]
    assert found["output"] == str(path)


def test_training_without_dev_says_so(run: Run, narrated: Path, tmp_path: Path) -> None:
    ran = run("coref", "train", narrated / "train.conll", "--epochs", "1", "-o", tmp_path / "m", "--full")
    assert ran.code == 0
    assert "epochs: 1, window: 150" in ran.out
    assert "Settings are defaults: no development text was given (dev)" in ran.out
    assert "there is no development data" in ran.out


def test_prediction_says_what_was_written(run: Run, trained: Path, narrated: Path, tmp_path: Path) -> None:
    text, path = narrated / "test.conll", tmp_path / "test.jsonl.gz"
    ran = run("coref", "predict", trained, text, "-o", path, "--clusters", tmp_path / "found.conll", "--full")
    assert (ran.code, ran.err) == (0, "")
    count = sum(len(each.mentions or ()) for each in read_documents(text))
    assert f"  Mentions             {count}\n" in ran.out
    assert f"  Entities  {tmp_path / 'found.conll'}\n" in ran.out
    assert f"calibrant coref pairs {path} -o pairs.parquet" in ran.out
    assert len(gzip.decompress(path.read_bytes()).splitlines()) == 12
    assert len(read_documents(tmp_path / "found.conll")) == 12


def test_mentions_can_be_detected(run: Run, trained: Path, narrated: Path, tmp_path: Path) -> None:
    text = narrated / "test.conllu"
    ran = run("coref", "predict", trained, text, "--detect", "-o", tmp_path / "a.jsonl", "--full")
    assert "  Detected  yes\n" in ran.out
    assert "  Gold mentions " in ran.out
    ran = run("coref", "eval", trained, text, "--detect", "--full")
    assert re.search(r"^  Detected +yes$", ran.out, re.MULTILINE)


def test_prediction_without_gold_asks_for_the_text_of_the_evaluation(
    run: Run, trained: Path, narrated: Path, tmp_path: Path
) -> None:
    bare = tmp_path / "bare.conllu"
    lines = (narrated / "test.conllu").read_text(encoding="utf-8").splitlines(keepends=True)
    words = [line if line.startswith("#") else re.sub(r"\t[^\t]*\n$", "\t_\n", line) for line in lines]
    bare.write_text("".join(words), encoding="utf-8")
    path = tmp_path / "a.jsonl"
    ran = run("coref", "predict", trained, bare, "--detect", "-o", path)
    assert f"calibrant coref eval {path} FILE" in ran.out
    assert run("coref", "eval", path, narrated / "test.conllu").code == 0


def test_posteriors_and_pairs_can_be_piped(
    run: Run,
    trained: Path,
    narrated: Path,
    posteriors: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ran = run("coref", "predict", trained, narrated / "test.conll", "-o", "-")
    assert ran.out == posteriors.read_text(encoding="utf-8")
    assert ran.err.startswith("Written posteriors of a coreference model")
    assert "Next" not in ran.err
    run("coref", "pairs", posteriors, "-o", tmp_path / "pairs.csv")
    for given, more in ((posteriors, []), ("-", []), (posteriors, ["--json"])):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(posteriors.read_bytes())))
        ran = run("coref", "pairs", given, "-o", "-", *more)
        assert ran.out == (tmp_path / "pairs.csv").read_text(encoding="utf-8")
    assert json.loads(ran.err)["output"] == "-"


def test_pairs_say_what_was_written(run: Run, posteriors: Path, tmp_path: Path) -> None:
    table = tmp_path / "pairs.parquet"
    ran = run("coref", "pairs", posteriors, "-o", table)
    assert (ran.code, ran.err) == (0, "")
    rows = parquet.read_metadata(table).num_rows
    assert re.search(rf"^  Rows +{rows:,}  exact probabilities$", ran.out, re.MULTILINE)
    assert f"calibrant measure {table}" in ran.out
    measured = run("measure", table, "--json")
    assert json.loads(measured.out)["views"][0]["clusters"] == 12
    more = ["--samples", 10, "--seed", 2, "--window", 3, "--drop-below", "0.05"]
    found = json.loads(run("coref", "pairs", posteriors, "-o", table, *more, "--json").out)
    assert {name: found[name] for name in ("samples", "seed", "window", "threshold")} == {
        "samples": 10,
        "seed": 2,
        "window": 3,
        "threshold": 0.05,
    }
    assert open_predictions(table).threshold == 0.05
    ran = run("coref", "pairs", posteriors, "-o", table, "--no-labels")
    assert "The table has no labels, so its calibration cannot be measured" in ran.out
    run("measure", table).refused("there is no column 'label'")


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--clustering", "antecedents", "--no-singletons"],
        ["--clustering", "expected"],
        ["--threshold", "0.2", "--window", "3"],
        ["--bin-size", "50", "--level", "0.9", "--smooth", "--threads", "1"],
        ["--interval", "sampling", "--samples", "50", "--exact"],
        ["--threshold", "1"],
    ],
    ids=" ".join,
)
def test_evaluation_gives_json_of_the_schema(
    run: Run,
    posteriors: Path,
    options: list[str],
) -> None:
    ran = run("coref", "eval", posteriors, "--json", *options)
    assert (ran.code, ran.err) == (0, "")
    found = json.loads(ran.out)
    jsonschema.validate(found, schema("coref eval"))
    assert list(found)[:2] == ["schema_version", "model"]
    assert run("coref", "eval", posteriors, *options).code == 0


def test_evaluation_says_what_the_library_says(run: Run, trained: Path, narrated: Path) -> None:
    text = narrated / "test.conll"
    found = json.loads(run("coref", "eval", trained, text, "--seed", 4, "--json").out)
    expected = json.loads(evaluate_coreference(trained, text, seed=4).to_json())
    for part in ("pairs", "pairs_above"):
        command = found[part]["recipe"].pop("command")
        assert command == f"calibrant coref eval {trained} {text} --seed 4 --json"
        del expected[part]["recipe"]["command"]
    assert found == expected


def test_evaluation_shows_scores_and_pairs(run: Run, trained: Path, narrated: Path) -> None:
    text = narrated / "test.conll"
    ran = run("coref", "eval", trained, text, "--full")
    assert (ran.code, ran.err) == (0, "")
    for part in (
        f"{text}\n",
        f"{trained}\n",
        "Entities: metrics",
        "  MUC ",
        "  CEAF-e ",
        "  CoNLL F1 ",
        "  Gold mentions ",
        "  mention pairs ",
        "Pairs above the threshold: views",
        "  Clusters  ",
    ):
        assert part in ran.out, part
    assert ran.out.count("Calibration error ") == 1, "one measurement in full"


def test_usage_is_explained(run: Run, trained: Path, posteriors: Path, narrated: Path) -> None:
    text = narrated / "test.conll"
    run("coref", "predict", trained, text).refused("Missing option '-o'")
    run("coref", "train", text).refused("Missing option '-o'")
    run("coref", "pairs", posteriors).refused("Missing option '-o'")
    run("coref", "eval").refused("Missing argument 'MODEL'")
    run("coref", "eval", trained).refused("there is no text to evaluate the model on")
    run("coref", "eval", posteriors, "--detect").refused("posteriors already have mentions")
    for options, message in (
        (["--level", "95"], "level is 95"),
        (["--clustering", "best"], "Invalid value for '--clustering'"),
        (["--threshold", "2"], "threshold is 2"),
        (["--window", "0"], "Invalid value for '--window'"),
    ):
        run("coref", "eval", posteriors, *options).refused(message)


def test_a_model_that_is_none_is_refused(
    run: Run, trained: Path, narrated: Path, tagged: Path, tmp_path: Path
) -> None:
    text = narrated / "test.conll"
    run("coref", "eval", tmp_path / "none.model", text).refused(
        "none.model: no such file: check the path, or name an included model: "
    )
    run("coref", "eval", text, text).refused("test.conll: this is not a saved model")
    other = tmp_path / "tagger.model"
    run("tag", "train", tagged / "train.tsv", "--model", "hmm", "-o", other)
    run("coref", "eval", other, text).refused("tagger.model: this is a tagger")
    run("tag", "eval", trained, tagged / "test.tsv").refused("story.model: this is a coreference model")


TEXTS = {
    "missing": (None, "no such file"),
    "empty": ("", "the file is empty"),
    "no document": ("one two\n", "the file is neither CoNLL-U nor CoNLL-2012"),
    "an open bracket": ("#begin document (d); part 000\nd 0 0 Ann (1\n#end document\n", "line "),
    "no end": ("#begin document (d); part 000\nd 0 0 Ann (1)\n", "has no '#end document'"),
}


@pytest.mark.parametrize("case", TEXTS)
def test_a_bad_text_is_refused(run: Run, trained: Path, tmp_path: Path, case: str) -> None:
    content, message = TEXTS[case]
    path = tmp_path / "text.conll"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    before = sorted(tmp_path.iterdir())
    run("coref", "eval", trained, path).refused(str(path), message)
    run("coref", "predict", trained, path, "-o", tmp_path / "a.jsonl").refused(str(path), message)
    run("coref", "train", path, "-o", tmp_path / "new.model").refused(str(path), message)
    assert sorted(tmp_path.iterdir()) == before


def test_what_a_text_lacks_is_said(run: Run, trained: Path, narrated: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare.conllu"
    bare.write_text("# newdoc id = d\n1\tAnn\tAnn\tPROPN\t_\t_\t_\t_\t_\t_\n", encoding="utf-8")
    out = ["-o", tmp_path / "a.jsonl"]
    run("coref", "predict", trained, bare, *out).refused(
        f"{bare}: document 'd' has no mentions: detect mentions"
    )
    run("coref", "predict", trained, bare, "--detect", *out).refused("has no trees", "--parser")
    run("coref", "eval", trained, bare).refused(f"{bare}: document 'd' has no gold entities")
    run("coref", "train", bare, "-o", tmp_path / "m").refused("has no gold entities")


POSTERIORS = {
    "not a number": ('{"doc": "d", "mentions": [[0, 0, 1]], "antecedents": [["x"]]}\n', "line 1: "),
    "a sum": (
        '{"doc": "c", "mentions": [], "antecedents": []}\n'
        '{"doc": "d", "mentions": [[0, 0, 1], [1, 0, 1]], "antecedents": [[1], [0.5, 0.4]]}\n',
        "line 2: document 'd', mention 1: the probabilities sum to 0.9",
    ),
    "no JSON": ("{", "line 1: "),
    "empty": ("", "the file is empty"),
}


@pytest.mark.parametrize("case", POSTERIORS)
def test_bad_posteriors_are_refused(run: Run, tmp_path: Path, case: str) -> None:
    content, message = POSTERIORS[case]
    path = tmp_path / "a.jsonl"
    path.write_text(content, encoding="utf-8")
    run("coref", "eval", path).refused(str(path), message)
    run("coref", "pairs", path, "-o", tmp_path / "pairs.parquet").refused(str(path), message)
    assert list(tmp_path.iterdir()) == [path]


def test_outputs_never_replace_what_is_read(
    run: Run, trained: Path, narrated: Path, posteriors: Path, tmp_path: Path
) -> None:
    text = tmp_path / "text.conll"
    text.write_bytes((narrated / "test.conll").read_bytes())
    replaced = "the output would replace this file"
    run("coref", "predict", trained, text, "-o", text).refused(replaced)
    run("coref", "predict", trained, text, "-o", tmp_path / "new", "--clusters", text).refused(replaced)
    run("coref", "predict", trained, text, "-o", trained).refused(replaced)
    run("coref", "train", text, "-o", text).refused(replaced)
    run("coref", "train", narrated / "train.conll", "--dev", text, "-o", text).refused(replaced)
    run("coref", "pairs", posteriors, "-o", posteriors).refused(replaced)
    run("coref", "pairs", posteriors, "-o", tmp_path / "no" / "pairs.csv").refused("cannot write")
    run("coref", "pairs", posteriors, "-o", tmp_path / "pairs.xlsx").refused("no ending of a table format")
    run("coref", "predict", trained, text, "-o", tmp_path / "no" / "a.jsonl").refused("cannot write")
    assert text.read_bytes() == (narrated / "test.conll").read_bytes()


def test_a_parser_needs_the_extra(
    run: Run, trained: Path, narrated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    run("coref", "eval", trained, narrated / "test.conll", "--detect", "--parser", tmp_path).refused(
        installing("spacy"), code=1
    )
