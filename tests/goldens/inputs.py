"""Small seeded inputs of every kind, and what commands make of them for other commands."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from calibrant.data import dated_documents
from tests.made_up import write_narrated, write_tagged
from tests.structures.treebank import write_trees

COLORS = ("red", "green", "blue")
FREQUENT = [0.6, 0.3, 0.1]
LOGS = Path(__file__).resolve().parents[1] / "archives" / "logs" / "lm_eval-0.4.13"


def write_table(path: Path, columns: Mapping[str, Iterable[Any]]) -> None:
    """Write columns as CSV; None is an empty cell, and scores have four digits."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        for row in zip(*columns.values(), strict=True):
            writer.writerow([f"{cell:.4f}" if isinstance(cell, float) else cell for cell in row])


def _binary(folder: Path, random: np.random.Generator) -> None:
    """Write tables of a score and a label: plain, weighted, clustered, sliced, dated, and two models'."""
    row = np.arange(240)
    score = random.beta(0.7, 0.7, 240)
    label = (random.random(240) < 0.15 + 0.6 * score).astype(int)
    other = (score + random.normal(0, 0.1, 240)).clip(0, 1)
    columns: dict[str, Iterable[Any]] = {"item": row, "score": score, "label": label}
    write_table(folder / "binary.csv", columns)
    write_table(folder / "other.csv", {**columns, "score": other})
    write_table(folder / "weights.csv", {**columns, "weight": random.integers(1, 4, 240)})
    write_table(folder / "clusters.csv", {**columns, "cluster": [f"d{each // 6}" for each in row]})
    part = [None if each % 40 == 7 else f"a_b & {each % 3}%" for each in row]
    write_table(folder / "parts.csv", {**columns, "part": part, "length": random.integers(1, 99, 240)})
    lower = (random.random(240) < score - 0.3 * (row >= 140)).astype(int)
    days = [f"2026-01-{1 + each // 20:02}" for each in row]
    write_table(folder / "stream.csv", {**columns, "label": lower, "date": days})


def _undefined(folder: Path, random: np.random.Generator) -> None:
    """Write tables of which some quantities are undefined, or which a command warns about or refuses."""
    score = random.random(30)
    write_table(folder / "all-positive.csv", {"score": score, "label": [1] * 30})
    write_table(folder / "constant.csv", {"score": [0.5] * 20, "label": [0, 1] * 10})
    write_table(folder / "extreme.csv", {"score": [0, 0, 1, 1, 0.5, 0.5], "label": [0, 1, 1, 1, 0, 1]})
    write_table(folder / "one.csv", {"score": [0.3], "label": [1]})
    write_table(folder / "wrong.csv", {"score": [0.3, 1.2], "label": [1, 0]})
    few: dict[str, Iterable[Any]] = {
        "score": [0.2, 0.7, 0.4, 0.9] * 3,
        "label": [0, 1, 0, 1] * 3,
        "cluster": ["a"] * 6 + ["b"] * 6,
    }
    write_table(folder / "two-clusters.csv", few)


def _classes(folder: Path, random: np.random.Generator) -> None:
    """Write tables of three classes: wide, and long with and without a cluster for each item."""
    prob = random.dirichlet([1.2, 0.8, 0.3], 80)
    label = [COLORS[random.choice(3, p=0.7 * each + 0.3 * np.array(FREQUENT))] for each in prob]
    wide = {f"p_{name}": prob[:, place] for place, name in enumerate(COLORS)}
    write_table(folder / "wide.csv", {"item": range(80), "label": label, **wide})
    chosen = [COLORS[place] for place in prob.argmax(axis=1)]
    some: dict[str, Iterable[Any]] = {"label": ["red" if name != "blue" else name for name in chosen], **wide}
    write_table(folder / "wide-unseen.csv", some)
    rows = [(item, place) for item in range(80) for place in range(3)]
    long: dict[str, list[Any]] = {
        "item": [item for item, _ in rows],
        "class": [COLORS[place] for _, place in rows],
        "score": [float(prob[each]) for each in rows],
        "label": [int(label[item] == COLORS[place]) for item, place in rows],
    }
    write_table(folder / "classes.csv", long)
    write_table(
        folder / "classes-clustered.csv", {**long, "cluster": [f"s{item // 4}" for item in long["item"]]}
    )
    (folder / "counts.tsv").write_text("red\t700\ngreen\t250\nblue\t40\n", encoding="utf-8")


def _estimated(folder: Path, random: np.random.Generator) -> None:
    """Write scored documents with dates, and labels of some, also with the probabilities of sampling."""
    score = random.random(200)
    label = (random.random(200) < score**2).astype(int)
    dates = [f"200{1 + each % 2}-0{1 + each % 9}-15" for each in range(200)]
    write_table(folder / "documents.csv", {"item": range(200), "score": score, "date": dates})
    taken = range(60)
    write_table(folder / "labels.csv", {"item": taken, "label": label[:60]})
    chance = [0.1 + 0.3 * (each % 2) for each in taken]
    write_table(folder / "sampled.csv", {"item": taken, "label": label[:60], "inclusion_probability": chance})


def _annotated(folder: Path, random: np.random.Generator) -> None:
    """Write annotators' labels: two and three of them, ordered, with labels missing, and all the same."""
    names, truth = ("ann", "bob", "cyd"), random.integers(0, 3, 40)
    rows = [
        (item, name, int(truth[item] if random.random() < 0.7 else random.integers(0, 3)))
        for item in range(40)
        for name in names
    ]
    for file, kept in {
        "ratings.csv": rows,
        "two.csv": [row for row in rows if row[1] != "cyd"],
        "missing.csv": [row for row in rows if row[0] % 3 or row[1] != "bob"],
        "same.csv": [(item, name, 1) for item, name, _ in rows[:30]],
    }.items():
        item, name, label = zip(*kept, strict=True)
        words = ["low" if each == 0 else ("middle", "high")[each - 1] for each in label]
        columns = {"item": item, "annotator": name, "label": words}
        write_table(folder / file, {**columns, "cluster": [f"d{each // 4}" for each in item]})


def _candidates(folder: Path, random: np.random.Generator) -> None:
    """Write labels of four annotators, some missing, and of two models, in documents of four items."""
    truth = random.integers(0, 3, 60)
    right_of = {"ann": 0.8, "bob": 0.7, "cyd": 0.8, "dan": 0.7, "model": 0.9, "other": 0.5}
    rows = [
        (item, name, "xyz"[truth[item] if random.random() < right else random.integers(0, 3)])
        for name, right in right_of.items()
        for item in range(60)
        if name != "dan" or item < 28
    ]
    item, name, label = zip(*rows, strict=True)
    columns = {"item": item, "annotator": name, "label": label}
    write_table(folder / "candidates.csv", {**columns, "cluster": [f"d{each // 4}" for each in item]})


def _systems(folder: Path, random: np.random.Generator) -> None:
    """Write systems' scores on folds, on repeated folds, on items of documents, and equal ones."""
    base = 0.7 + random.normal(0, 0.02, 10)
    rows = [(name, fold, float(base[fold] + 0.02 * place + random.normal(0, 0.01)))
            for place, name in enumerate(("a_b", "c&%", "third")) for fold in range(10)]  # fmt: skip
    system, fold, score = zip(*rows, strict=True)
    write_table(folder / "folds.csv", {"system": system, "fold": fold, "score": score})
    repeat = [each // 5 for each in fold]
    within = {"system": system, "repeat": repeat, "fold": [each % 5 for each in fold], "score": score}
    write_table(folder / "repeats.csv", within)
    correct = [int(random.random() < 0.6 + 0.1 * place) for place in range(2) for _ in range(60)]
    items: dict[str, list[Any]] = {
        "system": ["one"] * 60 + ["two"] * 60,
        "item": list(range(60)) * 2,
        "score": correct,
    }
    write_table(folder / "items.csv", {**items, "cluster": [f"d{each // 5}" for each in items["item"]]})
    write_table(folder / "equal.csv", {**items, "score": [1] * 120})
    runs = [(name, item, run) for name in ("one", "two") for item in range(30) for run in (1, 2)]
    system, item, run = zip(*runs, strict=True)
    right = [int((7 * i + 5 * r + (name == "two") * i * r) % 11 < 6) for name, i, r in runs]
    write_table(folder / "runs.csv", {"system": system, "item": item, "run": run, "score": right})


def _spans(folder: Path, random: np.random.Generator) -> None:
    """Write spans of documents with the scores of two types each, and gold spans."""
    places = [(f"d{document}", 10 * place) for document in range(12) for place in range(5)]
    typed = [(*place, kind) for place in places for kind in ("A", "B")]
    document, start, kind = zip(*typed, strict=True)
    score = [round(float(random.uniform(0, 0.5)), 3) for _ in typed]
    columns = {"document": document, "start": start, "end": [each + 4 for each in start], "type": kind}
    write_table(folder / "spans.csv", {**columns, "score": score})
    right = [place for place, value in enumerate(score) if random.random() < value] + [0, 0]
    gold = {name: [values[place] for place in right] for name, values in columns.items()}
    write_table(folder / "gold-spans.csv", {**gold, "start": [*gold["start"][:-1], 3]})


def _judged(folder: Path, random: np.random.Generator) -> None:
    """Write a judge's scores of two systems, with labels of some and lengths; and preferences."""
    quality = random.random((2, 80))
    judge = np.clip(quality + [[0.0], [0.4]] + 0.1 * random.normal(size=(2, 80)), 0, 1)
    columns = {
        "system": np.repeat(["new", "old"], 80).tolist(),
        "item": np.tile(np.arange(80), 2).tolist(),
        "judge": [round(float(value), 3) for value in judge.ravel()],
        "label": [round(float(q), 3) if each % 80 < 30 else "" for each, q in enumerate(quality.ravel())],
        "length": random.integers(1, 90, 160).tolist(),
    }
    write_table(folder / "judged.csv", columns)
    words = np.array(["a", "b", "tie"])
    preferences = {
        "item": (np.arange(80) // 2).tolist(),
        "system_a": ["new", "old"] * 40,
        "system_b": ["old", "new"] * 40,
        "judge": words[random.integers(0, 3, 80)].tolist(),
        "label": [str(words[random.integers(0, 3)]) if each < 40 else "" for each in range(80)],
    }
    write_table(folder / "preferences.csv", preferences)
    names = np.array(["good", "fair", "bad"])
    kinds = np.minimum(2, (3 * quality).astype(np.int64)).ravel()
    said = np.where(random.random(160) < 0.8, kinds, random.integers(0, 3, 160))
    own = [str(names[kind]) if each % 80 < 30 else "" for each, kind in enumerate(kinds)]
    classes = {**columns, "judge": names[said].tolist(), "label": own}
    write_table(folder / "judged-classes.csv", classes)
    second = np.clip(quality + 0.2 * random.normal(size=(2, 80)), 0, 1)
    scores = {"first": columns["judge"], "second": [round(float(value), 3) for value in second.ravel()]}
    graded: dict[str, list[Any]] = {name: columns[name] for name in ("system", "item")}
    for number, spread in ((1, 0.02), (2, 0.05)):
        votes = np.clip(quality.ravel() + spread * random.normal(size=160), 0, 1)
        known = [round(float(vote), 3) if each % 80 < 30 else "" for each, vote in enumerate(votes)]
        graded[f"label_{number}"] = known
    write_table(folder / "judged-several.csv", {**graded, **scores})


PREPARED = {
    "map.json": "fit binary.csv -o map.json",
    "thresholds.json": "threshold binary.csv --risk 0.45 --two-sided --save thresholds.json",
    "class-map.json": "fit classes.csv --method platt --group class --min-scores 20 -o class-map.json",
    "tagger.model": "tag train tagged/train.conllu --model hmm -o tagger.model",
    "tags.csv": "tag predict tagger.model tagged/dev.conllu --drop-below 0.05 -o tags.csv",
    "parser.model": "parse train trees/train.conllu --folds 2 --epochs 2 --bits 14 -o parser.model",
    "coref.model": "coref train narrated/train.conll --epochs 2 -o coref.model",
    "posteriors.jsonl": "coref predict coref.model narrated/test.conll -o posteriors.jsonl",
    "events.store": "events run events.conllu -o events.store --coref coref.model --workers 1 --with-text",
    "summaries/eval.toml": "protocol --example summaries",
}
"""Commands that make what other commands read, in the order in which they need each other."""


def write_inputs(folder: Path) -> None:
    """Write all inputs; each group has a separate seed, so that a change of one keeps the others."""
    groups = (_binary, _undefined, _classes, _estimated, _annotated, _systems, _spans, _candidates, _judged)
    for seed, group in enumerate(groups, 20):
        group(folder, np.random.default_rng(seed))
    for name, write in {"tagged": write_tagged, "narrated": write_narrated, "trees": write_trees}.items():
        (folder / name).mkdir()
        write(folder / name)
    shutil.copy(dated_documents(), folder / "events.conllu")
    (folder / "lexicon.csv").write_text("code,name\nPER,Peruvian\nESP,Spain\n", encoding="utf-8")
    shutil.copytree(LOGS, folder / "logs")
    (folder / "data").mkdir()
