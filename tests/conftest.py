"""What every test shares: reproducible property tests, no windows, and real data where there is some."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import settings

mpl.use("Agg")

# Timing of single examples says more about compiling and busy machines than about the code.
settings.register_profile("quick", max_examples=25, deadline=None, derandomize=True, database=None)
settings.register_profile("thorough", max_examples=500, deadline=None)
settings.load_profile(os.environ.get("CALIBRANT_HYPOTHESIS", "quick"))


@pytest.fixture(scope="session")
def root() -> Path:
    """The work tree."""
    return Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real data; a test that asks for it is skipped where there is none."""
    path = os.environ.get("CALIBRANT_DATA")
    if not path or not Path(path).is_dir():
        pytest.skip("needs real data: set CALIBRANT_DATA to its folder")
    return Path(path)


@pytest.fixture(scope="session")
def tagged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of texts in a made-up language: train, dev and test, as ``.tsv`` and as ``.conllu``.

    Tags follow each other by chance, words follow tags. The test text has a tag that training has not, and
    documents of four sentences.
    """
    folder = tmp_path_factory.mktemp("tagged")
    random = np.random.default_rng(8)
    names = ["N", "V", "D"]
    follow = random.dirichlet([1, 1, 1], 3)
    words = random.dirichlet(np.full(60, 0.3), 3)
    for part, count in (("train", 120), ("dev", 40), ("test", 60)):
        table, tree = [], []
        for number in range(count):
            if part == "test" and number % 4 == 0:
                tree.append(f"# newdoc id = d{number // 4}")
            tag = 0
            for place in range(1, int(random.integers(2, 12))):
                tag = int(random.choice(3, p=follow[tag]))
                word, name = f"w{random.choice(60, p=words[tag])}", names[tag]
                if part == "test" and number % 20 == 0 and place == 1:
                    word, name = "new", "X"
                table.append(f"{word}\t{name}")
                tree.append(f"{place}\t{word}\t_\t{name}\t{names[tag].lower()}{tag}\t_\t_\t_\t_\t_")
            table.append("")
            tree.append("")
        (folder / f"{part}.tsv").write_text("\n".join(table) + "\n", encoding="utf-8")
        (folder / f"{part}.conllu").write_text("\n".join(tree) + "\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def narrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of made-up stories with entities: train, dev and test, as ``.conll`` and as ``.conllu``.

    People are named, then called by name, pronoun or role. The CoNLL-U has trees, in which every mention can
    be detected.
    """
    folder = tmp_path_factory.mktemp("narrated")
    random = np.random.default_rng(9)
    people = {"Ann": ("She", "queen"), "Bob": ("He", "king"), "Eve": ("She", "nurse"), "Tom": ("He", "boy")}
    for part, count in (("train", 30), ("dev", 12), ("test", 12)):
        columns, trees = [], ["# global.Entity = eid"]
        for number in range(count):
            name = f"{part}-{number}"
            columns.append(f"#begin document ({name}); part 000")
            trees.append(f"# newdoc id = {name}")
            before = ""
            for _ in range(int(random.integers(3, 9))):
                who = str(random.choice(list(people)))
                code = list(people).index(who)
                role = people[who][1]
                form = random.random()
                if form < 0.35 and before:
                    who, code = before, list(people).index(before)
                    words = [(people[who][0], "PRON", 2, "nsubj", f"({code})")]
                elif form < 0.6:
                    words = [("The", "DET", 2, "det", f"({code}"), (role, "NOUN", 3, "nsubj", f"{code})")]
                else:
                    words = [(who, "PROPN", 2, "nsubj", f"({code})")]
                words.append((str(random.choice(["left", "slept", "sang"])), "VERB", 0, "root", ""))
                words.append((".", "PUNCT", len(words), "punct", ""))
                before = who
                for place, (word, tag, head, relation, entity) in enumerate(words):
                    columns.append(f"{name}\t0\t{place}\t{word}\t{entity or '-'}")
                    misc = f"Entity={entity}" if entity else "_"
                    trees.append(f"{place + 1}\t{word}\t{word}\t{tag}\t_\t_\t{head}\t{relation}\t_\t{misc}")
                columns.append("")
                trees.append("")
            columns.append("#end document")
        (folder / f"{part}.conll").write_text("\n".join(columns) + "\n", encoding="utf-8")
        (folder / f"{part}.conllu").write_text("\n".join(trees) + "\n", encoding="utf-8")
    return folder


class Cluster:
    """A Dask scheduler and its workers, each a process of its own that can be killed."""

    def __init__(self, folder: Path, workers: int) -> None:
        self._file = folder / "scheduler.json"
        self.scheduler = self._start("scheduler", "--port", "0", "--no-dashboard")
        limit = time.monotonic() + 60
        while not self._file.exists() and time.monotonic() < limit:
            time.sleep(0.05)
        self.address: str = json.loads(self._file.read_text(encoding="utf-8"))["address"]
        self.workers = [self.add_worker() for _ in range(workers)]

    def _start(self, *command: str) -> subprocess.Popen[bytes]:
        where = ("--host", "127.0.0.1", "--scheduler-file", str(self._file))
        module = f"distributed.cli.dask_{command[0]}"
        return subprocess.Popen(
            [sys.executable, "-m", module, *where, *command[1:]], stderr=subprocess.DEVNULL
        )

    def add_worker(self) -> subprocess.Popen[bytes]:
        return self._start("worker", "--no-nanny", "--nthreads", "1", "--no-dashboard")

    def replace_worker(self) -> None:
        """Kill a worker without warning, and let another come in its place."""
        gone = self.workers.pop(0)
        gone.kill()
        gone.wait()
        self.workers.append(self.add_worker())

    def close(self) -> None:
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A Dask scheduler and two workers, on ports that are free."""
    pytest.importorskip("distributed")
    made = Cluster(tmp_path_factory.mktemp("cluster"), workers=2)
    yield made
    made.close()


@pytest.fixture
def lone_worker(tmp_path: Path) -> Iterator[Cluster]:
    """A Dask scheduler and a worker, to be killed both."""
    pytest.importorskip("distributed")
    made = Cluster(tmp_path, workers=1)
    yield made
    made.close()
