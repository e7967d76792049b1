"""Every command that a command suggests works as it is printed."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv
from pyarrow import parquet as pq

from calibrant.exceptions import InputError
from calibrant.io import save_tally
from calibrant.verbs import measure, tally
from tests.goldens.commands import prepare, run, workplace

KINDS = {
    "long": "binary.csv",
    "clusters": "clusters.csv",
    "classes": "classes.csv",
    "wide": "wide.csv",
    "archive": "wide.npz",
    "folder": "parts",
    "pattern": "'parts/*.parquet'",
    "tally": "tally.parquet",
    "log": "logs/toy__small",
    "logs": "logs",
    "threshold": "tags.csv",
    "a name with a blank": "'my table.csv'",
}
"""Predictions of every kind."""

CLASSES = ("classes.csv", "wide.csv", "wide.npz")
GROUPED = ("--group class --min-scores 20", "--group frequency --groups 2")
COMMANDS = [
    *(f"measure {source}" for source in KINDS.values() if source != "logs"),
    *(f"measure {source} --view pooled" for source in ("wide.csv", "wide.npz")),
    *(f"fit {source} -o fitted.json" for source in KINDS.values() if "log" not in source),
    *(f"fit {source} -o fitted.json {asked}" for source in CLASSES for asked in GROUPED),
    "fit wide.csv -o fitted.json --method temperature",
    "fit weights.csv -o fitted.json",
    "measure renamed.csv --score rate",
    "measure wide.csv --form wide --cluster item",
    "fit renamed.csv -o fitted.json --score rate",
    "apply map.json renamed.csv --score rate -o applied.csv",
    "apply map.json binary.csv -o applied.csv",
    "apply class-map.json classes.csv -o 'new table.jsonl'",
    "plan --error 0.05",
    "convert wide.csv --to long -o long.parquet",
    "spans spans.csv gold-spans.csv -o matched.csv",
    "tag train tagged/train.tsv --model hmm -o new.model",
    "tag predict tagger.model tagged/dev.conllu -o predicted.csv",
    "tag eval tagger.model tagged/test.conllu",
    "tag eval tagger.model tagged/test.conllu --cluster document --view pooled --view classwise",
    "coref train narrated/train.conll --epochs 1 -o new.model",
    "coref predict coref.model narrated/test.conllu --detect -o predicted.jsonl",
    "coref pairs posteriors.jsonl -o pairs.csv",
    "events run events.conllu -o new.store --coref coref.model --workers 1",
]
QUICK = ("measure", "apply", "plan", "convert", "spans", "fit tally")
ONE_FILE = {
    **dict.fromkeys(("parts", "parts/*.parquet"), "parts/1.parquet"),
    "tally.parquet": "binary.csv",  # that was tallied
}
"""Where TEST has to be a file: one of the same kind as the predictions fitted to."""

REFUSED = {
    "compare binary.csv": "calibrant report FILE FILE",
    "measure binary.csv other.csv": "calibrant report FILE FILE",
}
"""Command lines that are refused with a command that works, or a part of it."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The inputs of the goldens, and further kinds of the same tables."""
    place = tmp_path_factory.mktemp("suggestions")
    with workplace(place):
        wide = csv.read_csv("wide.csv")
        names = [name for name in wide.column_names if name.startswith("p_")]
        classes = [name.removeprefix("p_") for name in names]
        probs = np.column_stack([wide[name].to_numpy() for name in names])
        labels = np.array([classes.index(name) for name in wide["label"].to_pylist()])
        np.savez(
            "wide.npz", probs=probs / probs.sum(1, keepdims=True), labels=labels, classes=np.array(classes)
        )
        Path("parts").mkdir()
        long = csv.read_csv("classes.csv")
        for part, rows in enumerate((long.slice(0, 120), long.slice(120))):
            pq.write_table(pa.table(rows), f"parts/{part}.parquet")
        save_tally(tally("binary.csv"), "tally.parquet", view="binary")
        shutil.copy("binary.csv", "my table.csv")
        binary = Path("binary.csv").read_text(encoding="utf-8")
        Path("renamed.csv").write_text(binary.replace("score", "rate", 1), encoding="utf-8")
        Path("unnamed.csv").write_text(binary.replace("label", "result", 1), encoding="utf-8")
        Path("both.csv").write_text("score,label,p_a,p_b\n0.5,1,0.5,0.5\n0.2,0,0.1,0.9\n", encoding="utf-8")
        told = Path("narrated/test.conllu").read_text(encoding="utf-8")
        told = re.sub(r"Entity=.*", "_", told.replace("# global.Entity = eid\n", ""))
        Path("plain.conllu").write_text(told, encoding="utf-8")
        scores = "model,fold,score\na,1,1\na,2,2\na,3,3\nb,1,2\nb,2,1\nb,3,1\n"
        Path("systems.csv").write_text(scores, encoding="utf-8")
    return place


def suggested(out: str) -> list[str]:
    """The command lines below the heading Next, without the remarks beside them."""
    _, _, below = out.partition("\nNext")
    lines = [line.strip() for line in below.splitlines() if line.startswith("  calibrant ")]
    return [re.split(r"\s{2,}(?=\S)", line)[0] for line in lines]


def completed(suggestion: str, line: str) -> str:
    """The command line with a file in each place that the reader fills."""
    words = shlex.split(line)
    texts = {"tag": "tagged/test.conllu", "coref": "narrated/test.conll"}
    fitted = next((word for word in words[1:] if not word.startswith("-")), "")
    places = {
        "TEST": ONE_FILE.get(fitted, fitted),
        "OUT": "out.parquet",
        "PRED": "binary.csv",
        "FILE": texts.get(words[0], "binary.csv"),
    }
    return shlex.join([places.get(word, word) for word in shlex.split(suggestion)[1:]])


@pytest.mark.parametrize(
    "line",
    [pytest.param(each, marks=[pytest.mark.slow] if not each.startswith(QUICK) else []) for each in COMMANDS],
)
def test_what_a_command_suggests_works(line: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    prepare(line)
    shutil.rmtree("new.store", ignore_errors=True)
    code, out, err = run(line)
    assert code == 0, err
    found = suggested(out)
    assert found
    for each in found:
        code, _, err = run(completed(each, line))
        assert code == 0, f"{each}: {err}"


@pytest.mark.parametrize("line", REFUSED)
def test_what_an_error_suggests_works(line: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    code, _, err = run(line)
    assert code == 2
    assert REFUSED[line] in err
    code, _, err = run(REFUSED[line].removeprefix("calibrant ").replace("FILE FILE", "binary.csv other.csv"))
    assert code == 0, err


HINTS = {
    "slices wide.csv --by class --view top": "--view pooled",
    "slices classes.csv --by class --view top": "--view pooled",
    "monitor classes.csv --time item --by value": "--view class:red",
    "monitor stream.csv --time date --by value --against reference": "--reference 2026-01-05",
    "monitor stream.csv --time day": "--time date",
    "measure binary.csv --level 95": "--level 0.95",
    "measure binary.csv --n-ece-bins 20000": "--n-ece-bins 10000",
    "measure binary.csv --n-bins 100000": "--n-bins 240",
    "measure both.csv": "--form long",
    "measure renamed.csv": "--score rate",
    "measure unnamed.csv": "--label result",
    "fit weights.csv --method histogram --n-bins auto -o fitted.json": "--n-bins 4",
    "fit wide.csv --group class -o fitted.json": "--min-scores 50",
    "fit classes.csv --groups 2 -o fitted.json": "--group frequency",
    "apply map.json binary.csv -o binary.csv": "--output applied.csv",
    "report classes.csv --group frequency -o page.html": "--model class-map.json",
    "report binary.csv --method isotonic -o page.html": "--dev other.csv",
    "agree two.csv --distance ordinal": "--labels low,middle,high",
    "estimate documents.csv": "--labels labels.csv",
    "compare systems.csv --test-train-ratio 1": "--system model",
    "tag predict tagger.model tagged/dev.conllu --column xpos -o predicted.csv": "--column upos",
    "coref train narrated/train.conll --l1 0.1 --l1 1 --epochs 1 -o new.model": "--dev narrated/dev.conll",
    "coref predict coref.model plain.conllu -o predicted.jsonl": "--detect",
}
"""Command lines that are refused with an option that makes them work, as it is then given."""


SLOW = ("tag ", "coref ")


@pytest.mark.parametrize(
    "line", [pytest.param(each, marks=[pytest.mark.slow] if each.startswith(SLOW) else []) for each in HINTS]
)
def test_an_option_that_an_error_suggests_works(
    line: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    prepare(f"{line} {HINTS[line]}")
    code, _, err = run(line)
    assert code == 2
    assert HINTS[line].split()[0] in err
    assert "`" not in re.sub("`calibrant [^`]*`", "", err)
    code, _, err = run(f"{line} {HINTS[line]}")
    assert code == 0, err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("measure binary.csv --level 95", "calibrant: --level is 95.0: give a number between 0 and 1"),
        ("measure binary.csv --bin-size 0", "calibrant: --bin-size is 0: give a whole number of at least 1"),
        ("monitor stream.csv --time date --alpha 3", "calibrant: --alpha is 3.0: "),
        (
            "slices parts.csv --by part:4",
            "is not a number, so the column cannot be cut into bands: slice by its values: part",
        ),
        (
            "apply class-map.json unknown.csv -o x.csv",
            "unknown.csv, row 3: the class 'zz' was not among the classes of the fit",
        ),
    ],
)
def test_errors_name_options_and_rows(
    line: str, said: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    Path("unknown.csv").write_text("item,class,score\n1,red,0.5\n1,blue,0.2\n1,zz,0.3\n", encoding="utf-8")
    prepare(line)
    code, out, err = run(line)
    assert (code, out) == (2, "")
    assert said in err


def test_an_error_about_a_value_keeps_the_name_of_the_parameter_in_python() -> None:
    with pytest.raises(InputError, match=r"^level is 95"):
        measure(pa.table({"score": [0.5], "label": [1]}), level=95)
