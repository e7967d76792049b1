"""Settings of all tests: reproducible property tests, no windows, and real data if there are any."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path, PosixPath

import matplotlib as mpl
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import settings
from pyarrow import parquet as pq

from calibrant.cli import main
from calibrant.data import dated_documents
from tests.command_line import Ran, Run
from tests.made_up import write_copies, write_narrated, write_tagged

mpl.use("Agg")

# Timing of single examples says more about compiling and busy machines than about the code.
settings.register_profile("quick", max_examples=25, deadline=None, derandomize=True, database=None)
settings.register_profile("thorough", max_examples=500, deadline=None)
settings.load_profile(os.environ.get("CALIBRANT_HYPOTHESIS", "quick"))


@pytest.fixture(scope="session")
def root() -> Path:
    """The work tree."""
    return Path(__file__).resolve().parent.parent


class DataFolder(PosixPath):
    """The folder of real data, of which some sets may be missing."""

    def __truediv__(self, name: str | os.PathLike[str]) -> DataFolder:
        inside = super().__truediv__(name)
        if not inside.exists():
            pytest.skip(f"needs {os.fspath(name)} in the folder of real data: see calibrant data list")
        return inside


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real data; a test that asks for it, or for a set that is not there, is skipped."""
    path = os.environ.get("CALIBRANT_DATA")
    if not path or not Path(path).is_dir():
        pytest.skip("needs real data: set CALIBRANT_DATA to its folder")
    return DataFolder(path)


@pytest.fixture(scope="session")
def tagged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of texts in a made-up language: see `write_tagged`."""
    folder = tmp_path_factory.mktemp("tagged")
    write_tagged(folder)
    return folder


@pytest.fixture(scope="session")
def narrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of made-up stories with entities: see `write_narrated`."""
    folder = tmp_path_factory.mktemp("narrated")
    write_narrated(folder)
    return folder


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command line; return its exit code and what it printed."""

    def call(*arguments: str | Path) -> Ran:
        texts = [str(argument) for argument in arguments]
        monkeypatch.setattr("sys.argv", ["calibrant", *texts])
        monkeypatch.setattr("sys.unraisablehook", sys.unraisablehook)  # which a signal replaces
        with pytest.raises(SystemExit) as left:
            main(texts, prog_name="calibrant")
        captured = capsys.readouterr()
        # Compiling may be announced in any run; it is not what commands say.
        err = "".join(line for line in captured.err.splitlines(True) if "compiling kernels" not in line)
        return Ran(int(left.value.code or 0), captured.out, err)

    return call


@pytest.fixture(scope="session")
def coref(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A coreference model that is unsure of much."""
    from calibrant.structures import read_documents, save_model
    from calibrant.structures.models import CoreferenceModel

    path = tmp_path_factory.mktemp("model") / "small.model"
    documents = read_documents(dated_documents())
    save_model(CoreferenceModel(bits=12, least=1, epochs=2).fit(documents), path)
    return path


@pytest.fixture(scope="session")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The corpus that ships, a dozen times under other names."""
    return write_copies(tmp_path_factory.mktemp("many") / "many.conllu")


class Cluster:
    """A Dask scheduler and its workers, each in a separate process that can be killed."""

    def __init__(self, folder: Path, workers: int) -> None:
        self._file = folder / "scheduler.json"
        self.scheduler = self._start("scheduler", "--port", "0", "--no-dashboard")
        limit = time.monotonic() + 60
        # The scheduler creates the file before it writes the address into it.
        while not (self._file.exists() and self._file.read_text(encoding="utf-8").endswith("}")):
            if time.monotonic() > limit:
                raise TimeoutError("Dask's scheduler gave no address")
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


@pytest.fixture
def long_table(tmp_path: Path) -> Path:
    """400 pairs of a score and a label."""
    random = np.random.default_rng(3)
    score = random.random(400)
    label = (random.random(400) < score).astype(np.int8)
    path = tmp_path / "long.parquet"
    pq.write_table(pa.table({"score": score, "label": label}), path)
    return path


@pytest.fixture
def wide_table(tmp_path: Path) -> Path:
    """300 items of a model of three classes."""
    random = np.random.default_rng(4)
    probability = random.dirichlet(np.ones(3), 300)
    label = [["red", "green", "blue"][random.choice(3, p=row)] for row in probability]
    columns = {f"p_{name}": probability[:, place] for place, name in enumerate(["red", "green", "blue"])}
    path = tmp_path / "wide.parquet"
    pq.write_table(pa.table({**columns, "label": label}), path)
    return path
