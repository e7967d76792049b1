"""`--format`: every command's result as text, Markdown, LaTeX, CSV and JSON, and nothing else on a pipe."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from calibrant.cli.options import FORMATS, Printing
from calibrant.data import dated_documents, example
from calibrant.io import save_recalibrator
from calibrant.outputs import outputs
from calibrant.records import Printed, Record, Table
from calibrant.records.formats import ASIDE
from calibrant.structures import predict_coreference, train_coreference, train_parser, train_tagger
from calibrant.verbs import fit
from tests.command_line import Run
from tests.structures.treebank import as_conllu, treebank

COMMANDS = {
    "measure": "{long.parquet}",
    "measure several": "{wide.parquet}",
    "monitor": "{long.parquet} --time day --unit item",
    "plan": "--error 0.05",
    "estimate": "{dated.parquet} --labels {labels.parquet}",
    "plan-estimate": "{dated.parquet} --labels {labels.parquet} --width 0.2",
    "plan-judge": "{judged.parquet} --width 0.3",
    "sample": "{dated.parquet} --size 50 -o {drawn.csv}",
    "regress": "{posts.parquet} --formula topic~age+party --family logistic --effects --at party",
    "plan-regress": "{posts.parquet} --formula topic~age+party --term age --width 0.2",
    "judge": "{judged.parquet} --bias length --method labels",
    "slices": "{long.parquet} --by part --by part,day",
    "report": "{short.parquet} {short.parquet} --name one --name two -o {a.html}",
    "plot": "{long.parquet} -o {a.pdf}",
    "fit": "{long.parquet} -o {again.json}",
    "apply": "{platt.json} {long.parquet} -o {better.parquet}",
    "convert": "{long.parquet} -o {converted.csv}",
    "agree": "{given.parquet}",
    "threshold": "{long.parquet}",
    "compare": "{folds.parquet} --test-train-ratio 0.1",
    "plan-runs": "{runs.parquet} --difference 0.1",
    "protocol": "{example} -o {b.html}",
    "tag train": "{tagged}/train.conllu --model hmm -o {other-tagger}",
    "tag predict": "{tagger} {tagged}/dev.conllu -o {tags.parquet}",
    "tag eval": "{tagger} {tagged}/dev.conllu --view pooled",
    "parse train": "{trees.conllu} --folds 0 --epochs 1 --bits 12 -o {other-parser}",
    "parse predict": "{parser} {trees.conllu} -o {parsed.conllu}",
    "parse eval": "{parser} {trees.conllu} --dev {trees.conllu}",
    "spans": "{spans.parquet} -o {matched.parquet}",
    "coref train": "{narrated}/train.conll --epochs 1 -o {other-coref}",
    "coref predict": "{coref} {narrated}/test.conll -o {other.jsonl}",
    "coref pairs": "{posteriors.jsonl} -o {pairs.parquet}",
    "coref eval": "{posteriors.jsonl} --samples 100",
    "events run": "{documents} -o {store} --coref {coref} --workers 1",
    "events lexicon": "{documents} {lexicon}",
    "events relations": "{documents} --coref {coref} --samples 5",
    "events table": "current-events --by year --country IRQ",
    "events uncertain": "current-events --country IRQ --most 3",
    "events sample": "current-events --country IRQ --size 10 -o {readings.csv}",
    "events plot": "current-events --by year --country IRQ -o {events.svg}",
    "demo": "-o {c.html}",
    "study": "synthetic",
}
SLOW = ("demo", "study", "protocol")
ELSEWHERE = {
    "agree candidate",
    "judge classes",
    "apply thresholds",
    "events table corrected",
    "compare runs",
    "data fetch",
    "data list",
    "data train",
    "data where",
    "explore",
    "threshold risk",
}  # tested elsewhere


def test_every_command_that_prints_a_record_is_here() -> None:
    assert {name.removesuffix(" several") for name in COMMANDS} == outputs().keys() - ELSEWHERE | {"demo"}


@pytest.fixture(scope="module")
def place_of(tagged: Path, narrated: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Where a file of a name is, or is to be; small tables, models and posteriors are made."""
    folder = tmp_path_factory.mktemp("formats")
    there = {"tagged": tagged, "narrated": narrated}
    there |= {"documents": dated_documents(), "example": example("summaries")}

    def place(name: str) -> Path:
        return there.get(name, folder / name)

    random = np.random.default_rng(3)
    score, row = random.random(600), np.arange(600)
    label = (random.random(600) < score).astype(np.int8)
    day, part = [f"2026-01-{1 + each // 60:02}" for each in row], [f"a_b & {each % 3}%" for each in row]
    given = random.integers(0, 2, 120).astype(str)
    tables = {
        "long": {"score": score, "label": label, "day": day, "part": part, "item": row},
        "dated": {"item": row, "score": score, "period": [f"200{each % 2}" for each in row]},
        "short": {"score": score[:60], "label": label[:60]},
        "labels": {"item": row[::4], "label": label[::4]},
        "given": {"item": row[:120] // 3, "annotator": row[:120] % 3, "label": given},
        "wide": {"label": np.where(label, "a_b", "=c&%"), "p_a_b": score, "p_=c&%": 1 - score},
        "spans": {
            "document": row // 3,
            "start": row % 3,
            "end": 9 + row,
            "type": [f"a_b & {each % 2}%" for each in row],
            "score": score,
            "gold": label,
        },
        "runs": {
            "system": ["a_b", "c&%"] * 60,
            "item": row[:120] // 4,
            "run": row[:120] // 2 % 2,
            "score": random.integers(0, 2, 120),
        },
        "posts": {
            "topic": [int(value) if each % 4 == 0 else None for each, value in enumerate(label)],
            "pred_topic": score > 0.5,
            "age": np.sin(row),
            "party": part,
        },
        "judged": {
            "system": [f"a_b & {each % 2}%" for each in row],
            "item": row // 2,
            "judge": score,
            "label": [float(each) if place < 120 else None for place, each in enumerate(label)],
            "length": row % 50,
        },
        "folds": {"system": ["a_b", "c&%"] * 10, "fold": row[:20] // 2, "score": random.random(20)},
    }
    for name, columns in tables.items():
        pq.write_table(pa.table(columns), place(f"{name}.parquet"))
    save_recalibrator(fit(place("long.parquet"), method="platt"), place("platt.json"))
    train_tagger(tagged / "train.conllu", None, model="hmm", output=place("tagger"))
    train_coreference(narrated / "train.conll", epochs=2, output=place("coref"))
    predict_coreference(place("coref"), narrated / "test.conll", place("posteriors.jsonl"))
    place("trees.conllu").write_text(as_conllu(treebank(40)), encoding="utf-8")
    train_parser(place("trees.conllu"), folds=0, bits=12, epochs=1, output=place("parser"))
    place("lexicon").write_text("code,name\nPER,Peruvian\n", encoding="utf-8")
    return place


def found_by(
    run: Run, monkeypatch: pytest.MonkeyPatch, place: Callable[[str], Path], name: str
) -> tuple[Printed, Sequence[str]]:
    """Run a command once; return its result, and what it prints as text."""
    kept: list[tuple[Printed, Sequence[str]]] = []

    def keep(
        self: Printing,
        found: Printed,
        lines: Callable[[list[str]], Sequence[str]] | None = None,
        **options: Any,
    ) -> None:
        told = found.to_text().splitlines()
        kept.append((found, told if lines is None else lines(told)))

    monkeypatch.setattr(Printing, "show", keep)
    words = [word for word in name.split() if word != "several"]
    line = re.sub(r"\{([\w.-]+)\}", lambda match: str(place(match[1])), COMMANDS[name]).split()
    ran = run(*words, *line)
    assert (ran.code, ran.out) == (0, ""), ran.err
    monkeypatch.undo()
    return kept[0]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in COMMANDS]
)
def test_every_command_prints_its_result_in_every_format(
    name: str,
    run: Run,
    place_of: Callable[[str], Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    found, lines = found_by(run, monkeypatch, place_of, name)
    printed = {}
    for shape in FORMATS:
        capsys.readouterr()
        Printing(shape).show(found, lambda _: lines, whole=True)
        printed[shape] = capsys.readouterr().out
    assert printed["text"] == "\n".join(lines) + "\n"
    assert json.loads(printed["json"]) == json.loads(found.to_json())
    tables = found.to_tables()
    assert len({table.name for table in tables}) == len(tables), "a table is asked for by its name"
    assert all(table.caption for table in tables)
    assert printed["csv"] == tables[0].to_csv()
    for table in tables:
        as_it_was(table)
        assert table.to_markdown() in printed["md"]
    if name != "demo":  # which prints parts of other records
        again = outputs()[name.removesuffix(" several")].from_dict(json.loads(printed["json"]))
        assert printed["md"] == again.to_markdown()
        assert printed["latex"] == again.to_latex()
        assert printed["tabular"] == again.to_latex(tabular=True)
        assert printed["csv"] == again.to_csv()
        assert found.to_html() == again.to_html()
        assert isinstance(found, Record)
        flat = found.to_metrics()
        assert flat == again.to_metrics()
        assert all(type(value) is float and math.isfinite(value) for value in flat.values())
        assert all(name and not name.startswith("/") and "//" not in name for name in flat)
    compiles(printed["latex"], printed["tabular"], tmp_path)


def as_it_was(table: Table) -> None:
    """Numbers of the CSV are those of the table, to the last bit, and Markdown has its rows."""
    head, *rows = csv.reader(io.StringIO(table.to_csv(), newline=""))
    assert len(rows) == len(table.rows)
    for row, cells in zip(rows, table.rows, strict=True):
        ends: list[Any] = []
        for cell, column in zip(cells, table.columns, strict=True):
            pair = cell if isinstance(cell, tuple) else (None, None)
            ends += list(pair) if column.kind == "interval" else [cell]
        assert len(row) == len(head) == len(ends)
        for text, value in zip(row, ends, strict=True):
            if isinstance(value, int | float):
                assert float(text) == value
            elif not isinstance(value, str):
                assert text == ""
    piped = [line for line in table.to_markdown().splitlines() if line.startswith("| ")]
    assert len(piped) == len(table.rows) + 2
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in piped} == {
        sum(each.kind not in ASIDE for each in table.columns) + 1
    }


def compiles(latex: str, tabular: str, folder: Path) -> None:
    """Where TeX is on the machine it takes what is printed; elsewhere braces and columns must be right."""
    for text in (latex, tabular):
        bare = re.sub(r"%.*|\\[{}&%]", "", text) if text is tabular else re.sub(r"\\[{}&%]", "", text)
        assert bare.count("{") == bare.count("}")
    if shutil.which("pdflatex") is None:
        return
    head = r"\documentclass{article}\usepackage[T1]{fontenc}\usepackage{booktabs}\begin{document}"
    (folder / "a.tex").write_text(f"{head}{latex}\n\\clearpage {tabular}\\end{{document}}", encoding="utf-8")
    command = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "-draftmode", "a.tex"]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout[-1500:]


def test_a_table_is_named_by_its_heading_or_a_part_of_its_name(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text("item,annotator,label\n1,a,x\n1,b,x\n2,a,y\n2,b,x\n", encoding="utf-8")
    pairs, headed = (
        run("agree", path, "--format", "csv", "--table", name).out for name in ("by_pair", "Pairs")
    )
    assert pairs == headed
    assert pairs.startswith("first,second,")


def test_meanings_stand_below_the_tables(run: Run, long_table: Path) -> None:
    plain, more = run("measure", long_table).out, run("measure", long_table, "--meanings").out
    assert more.startswith(plain)
    lines = more.removeprefix(plain).splitlines()
    assert "Meanings" in lines
    assert len({line.casefold() for line in lines}) == len(lines), "each meaning once"
    meaning = "Brier score: Mean squared difference"
    assert sum(meaning in line for line in lines) == 1
    assert meaning in run("measure", long_table, "--format", "md", "--meanings").out
    assert meaning not in run("measure", long_table, "--format", "md").out


def test_the_option_prints_nothing_but_the_table(run: Run, long_table: Path) -> None:
    ran = run("measure", long_table, "--format", "csv", "--table", "bins")
    rows = list(csv.DictReader(io.StringIO(ran.out, newline="")))
    assert (ran.code, ran.err) == (0, "")
    assert sum(float(row["n"]) for row in rows) == 400
    same = [run("measure", long_table, *how).out for how in (("--format", "json"), ("--json",))]
    assert same[0].replace("--format json", "--json") == same[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--format", "csv", "--json"), "--json and --format csv exclude each other"),
        (("--meanings", "--json"), "--meanings requires --format text, md, latex or tabular"),
        (("--table", "bins"), "--table requires --format md, latex, tabular or csv"),
        (("--format", "md", "--table", "bin"), "no table 'bin': it has views, numbers, bins"),
        (("--format", "xls"), "'xls' is not one of 'text'"),
    ],
    ids=["two formats", "meanings", "text", "no such table", "no such format"],
)
def test_what_does_not_go_together_is_one_line(
    run: Run, long_table: Path, options: tuple[str, ...], message: str
) -> None:
    run("measure", long_table, *options).refused(message)
