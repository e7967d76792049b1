"""Every command's help has an example that runs as it is printed."""

from __future__ import annotations

import json
import shlex
import shutil
import webbrowser
from collections.abc import Callable
from datetime import date
from pathlib import Path

import click
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv
from pyarrow import parquet as pq

from calibrant.cli import main
from tests.command_line import Run
from tests.structures.treebank import write_trees
from tests.test_commands import all_commands

ITEMS = 900
CLASSES = np.array(["noun", "verb", "other"])
SLOW = {
    "demo",
    "report",
    "study",
    "data train",
    "coref train",
    "parse train",
    "events run",
    "events relations",
}
"""Commands whose examples take longer than a few seconds."""
COUNTRIES = ("IRQ", "USA")
COUNTRY_SENTENCES = ("Iraqi troops attacked Basra .", "American troops attacked Basra .")


def help_example(*words: str) -> str:
    """Return the example in the help of a command."""
    command: click.Command | None = main
    for word in words:
        assert isinstance(command, click.Group)
        command = command.get_command(click.Context(command), word)
    assert command is not None
    assert command.epilog is not None
    assert command.epilog.startswith("Example: calibrant ")
    return command.epilog.removeprefix("Example: ").partition("\n\n")[0]


def command_lines(example: str) -> list[list[str]]:
    """Return the words of each command line of an example, without the redirection of its output."""
    lines = [shlex.split(line.partition(" > ")[0]) for line in example.split(" && ")]
    assert all(words[0] == "calibrant" for words in lines)
    return [words[1:] for words in lines]


@pytest.fixture
def inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tagged: Path, narrated: Path) -> Path:
    """Write the tables and texts that examples name, and return their folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CALIBRANT_DATA", str(tmp_path / "data"))
    monkeypatch.delenv("CALIBRANT_MODELS", raising=False)
    rng = np.random.default_rng(5)
    probs = rng.dirichlet(np.ones(3), ITEMS)
    truth = (rng.random((ITEMS, 1)) > probs.cumsum(axis=1)).sum(axis=1)
    long = pa.table(
        {
            "item": np.repeat(np.arange(ITEMS), 3),
            "class": np.tile(CLASSES, ITEMS),
            "score": probs.ravel(),
            "label": (np.repeat(truth, 3) == np.tile(np.arange(3), ITEMS)).astype(int),
        }
    )
    for name in ("dev", "test"):
        pq.write_table(long, f"{name}.parquet")
    np.savez("predictions.npz", probs=probs, labels=truth, classes=CLASSES)
    score = rng.random(ITEMS)
    label = (rng.random(ITEMS) < score).astype(int)
    item = [f"d{number}" for number in range(ITEMS)]
    single = {"item": item, "score": score, "label": label}
    for name in ("nb", "logreg"):
        pq.write_table(pa.table(single), f"{name}.parquet")
    more = {"subject": np.tile(["law", "art"], ITEMS // 2), "model": np.repeat(["a", "b", "c"], ITEMS // 3)}
    pq.write_table(pa.table({**single, **more, "length": rng.integers(1, 90, ITEMS)}), "predictions.parquet")
    dates = np.repeat(["2001-05-01", "2002-05-01", "2003-05-01"], ITEMS // 3)
    pq.write_table(pa.table({"item": item, "score": score, "date": dates}), "scores.parquet")
    days = np.repeat([f"2026-01-{day:02}" for day in range(1, 31)], ITEMS // 30)
    pq.write_table(pa.table({**single, "date": days}), "scored.parquet")
    folds = {"system": np.tile(["a", "b"], 10), "fold": np.repeat(np.arange(10), 2), "score": rng.random(20)}
    csv.write_csv(pa.table(folds), "folds.csv")
    place = np.arange(120)
    pilot = {"system": np.where(place < 60, "a", "b"), "item": place % 30, "run": place // 30 % 2}
    csv.write_csv(pa.table({**pilot, "score": place * 7 % 5 % 2}), "runs.csv")
    start = np.tile(np.arange(10), 2)
    spans = {"document": np.repeat(["d1", "d2"], 10), "start": start, "end": start + 1, "type": ["A"] * 20}
    csv.write_csv(pa.table({**spans, "score": rng.random(20)}), "predicted.csv")
    csv.write_csv(pa.table(spans).slice(0, 12), "gold.csv")
    for part in ("train", "dev", "test"):
        shutil.copy(tagged / f"{part}.conllu", f"{part}.conllu")
        shutil.copy(narrated / f"{part}.conll", f"{part}.conll")
    news = [
        {"id": f"n{number}", "date": f"2001-0{1 + number}-01", "text": COUNTRY_SENTENCES[number % 2]}
        for number in range(8)
    ]
    Path("news.jsonl").write_text("\n".join(map(json.dumps, news)), encoding="utf-8")
    Path("country_igos.txt").write_text("=== Iraq\nIRQ\tIraq\nIRQ\tIraqi\n", encoding="utf-8")
    return tmp_path


def write_news() -> None:
    """Write the documents of news.jsonl as text files of a folder."""
    Path("news").mkdir()
    for number in range(8):
        Path(f"news/2001-0{1 + number}-01.txt").write_text(COUNTRY_SENTENCES[number % 2], encoding="utf-8")


def write_ratings() -> None:
    grades = np.random.default_rng(7).choice(["low", "middle", "high"], 60)
    ratings = {"item": np.repeat(np.arange(30), 2), "annotator": np.tile(["x", "y"], 30), "label": grades}
    csv.write_csv(pa.table(ratings), "labels.csv")


def write_labels() -> None:
    chosen = np.random.default_rng(7).choice(ITEMS, 300, replace=False)
    csv.write_csv(pq.read_table("nb.parquet").take(chosen).select(["item", "label"]), "labels.csv")


def write_posts() -> None:
    rng = np.random.default_rng(8)
    gpt, labeled = rng.integers(0, 2, ITEMS), rng.random(ITEMS) < 0.3
    gold = [
        int(value) if there else None
        for value, there in zip(gpt ^ (rng.random(ITEMS) < 0.1), labeled, strict=True)
    ]
    years, party = rng.integers(2001, 2010, ITEMS), rng.choice(["left", "right"], ITEMS)
    csv.write_csv(pa.table({"topic": gold, "gpt": gpt, "year": years, "party": party}), "posts.csv")


def write_judged() -> None:
    rng = np.random.default_rng(7)
    quality = rng.random((2, ITEMS))
    judged = {
        "system": np.repeat(["new", "old"], ITEMS),
        "item": np.tile(np.arange(ITEMS), 2),
        "judge": np.clip(quality + 0.1 * rng.normal(size=(2, ITEMS)), 0, 1).ravel(),
        "label": [q if row % ITEMS < 60 else None for row, q in enumerate(quality.ravel().tolist())],
        "length": rng.integers(1, 90, 2 * ITEMS),
    }
    csv.write_csv(pa.table(judged), "judged.csv")


def write_store() -> None:
    """Write a store with the documents of news.jsonl."""
    from calibrant.events.files.store import StoredCount, StoredDocument
    from calibrant.events.files.store_writing import StoreWriter

    with StoreWriter(Path("store"), {"samples": 24, "with_text": False}, part=8) as writer:
        for number in range(8):
            counts = [StoredCount(COUNTRIES[number % 2], 0.5, True, b"\x00\x0f\xff")]
            writer.write(StoredDocument(f"n{number}", date(2001, 1 + number, 1), counts=counts))
        writer.finish()


def write_pipeline() -> None:
    """Write a spaCy pipeline that was trained on the sentences of news.jsonl."""
    spacy = pytest.importorskip("spacy", reason="needs the extra spacy")
    from spacy.training import Example

    nlp = spacy.blank("en")
    nlp.add_pipe("tagger")
    nlp.add_pipe("parser", config={"min_action_freq": 1})
    gold = {
        "heads": [1, 2, 2, 2, 2],
        "deps": ["amod", "nsubj", "ROOT", "obj", "punct"],
        "tags": ["JJ", "NNS", "VBD", "NNP", "."],
    }
    examples = [Example.from_dict(nlp.make_doc(text), gold) for text in COUNTRY_SENTENCES]
    optimizer = nlp.initialize(lambda: examples)
    for _ in range(20):
        nlp.update(examples, sgd=optimizer)
    nlp.to_disk("en_core_web_sm")


def write_fetched() -> None:
    """Write the files of the data sets that examples name; their texts are those that ship with calibrant."""
    import gzip

    from calibrant.data import dated_documents
    from calibrant_studies.datasets import data_set

    text = Path(dated_documents()).read_bytes()
    for name in ("twitter-pos", "ud-english-ewt", "ud-english-gum"):
        for file in data_set(name).files:
            path = Path("data", name, file.name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)


MADE = {
    "agree": write_ratings,
    "estimate": write_labels,
    "plan-estimate": write_labels,
    "plan-judge": write_judged,
    "regress": write_posts,
    "plan-regress": write_posts,
    "judge": write_judged,
    "parse": lambda: write_trees(Path()),
    "data": write_fetched,
    "store": write_store,
    "news": write_news,
    "en_core_web_sm": write_pipeline,
}
"""Functions that write what commands or words of examples need."""
FIRST = {
    "model.json": "calibrant fit dev.parquet -o model.json",
    "pos.model": "calibrant tag train train.conllu --column xpos --model hmm -o pos.model",
    "parser.model": "calibrant parse train train.conllu --folds 0 --epochs 1 --bits 12 -o parser.model",
    "posteriors.jsonl": "calibrant coref predict litbank test.conll -o posteriors.jsonl",
    "gum.model": "calibrant coref train train.conll --epochs 1 -o gum.model",
}
"""Commands that write the files that examples read."""


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop the explorer when it would serve, open no browser, and accept made-up files of data sets."""

    def serve(explorer: object, *, ready: Callable[[str], None], **options: object) -> None:
        ready("http://127.0.0.1:8765/")
        raise KeyboardInterrupt

    monkeypatch.setattr("calibrant.events.web.serve", serve)
    monkeypatch.setattr(webbrowser, "open", lambda address: True)
    monkeypatch.setattr("calibrant_studies.datasets._fetching.digest_of", lambda content, digest: digest)


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(words, marks=[pytest.mark.slow] if " ".join(words) in SLOW else [], id=" ".join(words))
        for words in all_commands(main)
    ],
)
@pytest.mark.usefixtures("offline")
def test_the_example_in_the_help_runs_as_it_is_printed(
    command: tuple[str, ...], run: Run, inputs: Path
) -> None:
    if command == ("events",):
        pytest.importorskip("spacy")
    for words in command_lines(help_example(*command)):
        assert tuple(words[: len(command)]) == command
        written = [words[place + 1] for place, word in enumerate(words) if word == "-o"]
        for name in words:
            if name in MADE and name not in written:
                MADE[name]()
            elif name in FIRST and name not in written:
                (first,) = command_lines(FIRST[name])
                assert run(*first).code == 0
        ran = run(*words)
        assert ran.code == 0, ran.err
        assert "calibrant: " not in ran.err
        assert all((inputs / output).exists() for output in written)
