"""A Dask cluster gives what one process gives, whatever becomes of its workers."""

from __future__ import annotations

import operator
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Timer
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pytest
from pyarrow import parquet

from calibrant.events import EventStore, extract_events
from calibrant.exceptions import CalibrantError, InputError
from calibrant.structures import predict_coreference, predict_tags, train_tagger
from calibrant.structures.models import CoreferenceModel
from calibrant.verbs import executors, tally, tally_files
from calibrant.verbs.executors import workers_of
from tests.made_up import COPIES

distributed = pytest.importorskip("distributed")


def test_a_run_whose_worker_is_killed_makes_the_store_of_one_process(
    tmp_path: Path, many: Path, coref: Path, cluster: Any, monkeypatch: Any
) -> None:
    from calibrant.events.verbs import extraction as event_extraction

    monkeypatch.setattr(event_extraction, "BATCH", 6)
    killed: list[int] = []

    def kill(stage: str, done: int, total: int | None) -> None:
        if stage == "extracting" and done > 30 and not killed:
            cluster.replace_worker()
            killed.append(done)

    found = extract_events(
        many, tmp_path / "a", coref=coref, samples=20, executor=cluster.address, part=10, progress=kill
    )
    extract_events(many, tmp_path / "b", coref=coref, samples=20, part=10)
    assert found.documents == 14 * COPIES > killed[0]
    stores = [EventStore(tmp_path / name) for name in "ab"]
    assert stores[0].digest() == stores[1].digest()
    parts = [sorted((store.path / "documents").glob("*.parquet")) for store in stores]
    assert [part.read_bytes() for part in parts[0]] == [part.read_bytes() for part in parts[1]]


def test_an_error_in_the_documents_comes_out_as_it_is(
    tmp_path: Path, many: Path, coref: Path, cluster: Any
) -> None:
    text = many.read_text(encoding="utf-8")
    file = tmp_path / "bad.conllu"
    place = text.index("# newdoc id = 7-callao")
    line = text[:place].count("\n") + 1
    file.write_text(text[:place] + text[place:].replace("\t0\t", "\t99\t", 1), encoding="utf-8")
    with pytest.raises(InputError, match=r"document '7-callao': .*99") as error:
        extract_events(file, tmp_path / "s", coref=coref, samples=20, executor=cluster.address)
    assert error.value.line is not None
    assert line < error.value.line < line + 20


def test_tallies_of_files_are_merged_to_the_last_bit(tmp_path: Path, cluster: Any) -> None:
    random = np.random.default_rng(3)
    files = []
    for number in range(5):
        score = random.beta(0.3, 1, 3000)
        table = pa.table({"score": score, "label": random.random(3000) < score})
        files.append(tmp_path / f"{number}.parquet")
        parquet.write_table(table, files[-1])
    here, there = tally_files(files), tally_files(files, executor=cluster.address)
    assert here.total_n == 15_000
    for name in ("low", "n", "positives", "weight", "offset", "offset2", "offset_positive"):
        np.testing.assert_array_equal(getattr(here, name), getattr(there, name))
    with ThreadPoolExecutor(2) as pool, pytest.raises(InputError, match="listed twice"):
        tally_files([files[0], tmp_path / "." / files[0].name], executor=pool)


@pytest.mark.slow
def test_coreference_and_tags_are_the_same_to_the_last_byte(
    tmp_path: Path, narrated: Path, tagged: Path, coref: Path, cluster: Any
) -> None:
    for name, executor in (("here", None), ("there", cluster.address)):
        predict_coreference(
            coref,
            narrated / "test.conllu",
            tmp_path / f"{name}.jsonl",
            detect=True,
            clusters=tmp_path / f"{name}.conll",
            clustering="expected",
            executor=executor,
        )
        train_tagger(tagged / "train.conllu", output=tmp_path / "hmm.model", model="hmm")
        test = tagged / "test.conllu"
        predict_tags(tmp_path / "hmm.model", test, tmp_path / f"{name}.csv", executor=executor)
    for kind in ("jsonl", "conll", "csv"):
        assert (tmp_path / f"here.{kind}").read_bytes() == (tmp_path / f"there.{kind}").read_bytes()
    untold = CoreferenceModel(bits=10)
    with pytest.raises(InputError, match="workers cannot load a model that has no path"):
        predict_coreference(untold, narrated / "test.conllu", tmp_path / "x.jsonl", executor=cluster.address)


def test_what_is_lost_is_said_in_time(lone_worker: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(executors, "ASK", 0.2)
    monkeypatch.setattr(executors, "CONNECT", 5.0)
    with workers_of(lone_worker.address) as pool:
        monkeypatch.setattr(executors, "PATIENCE", 0.5)
        found = pool.map(time.sleep, [0.02] * 400)
        next(found)
        lone_worker.workers[0].kill()
        with pytest.raises(
            CalibrantError, match=r"has no workers: start workers.*finished work is kept"
        ) as error:
            list(found)
        assert error.value.code == "worker"
        monkeypatch.setattr(executors, "CONNECT", 60)  # the machine may be busy
        with pytest.raises(CalibrantError, match="has no workers"), workers_of(lone_worker.address):
            pass
        monkeypatch.setattr(executors, "PATIENCE", 60)
        Timer(0.5, lone_worker.scheduler.kill).start()
        with pytest.raises(CalibrantError, match=r"the Dask scheduler at .* was lost.*finished work is kept"):
            list(pool.map(time.sleep, [0.02]))


def test_a_scheduler_that_answers_a_new_client_wrongly_is_asked_again_by_another_client(
    cluster: Any, monkeypatch: Any
) -> None:
    import distributed

    connect: Any = distributed.Client._ensure_connected
    refused: list[Any] = []

    async def hasty(client: Any, timeout: Any = None) -> None:
        await connect(client, timeout=timeout)
        if not refused:
            refused.append(client)
            raise AssertionError  # two messages where Dask expects one

    monkeypatch.setattr(distributed.Client, "_ensure_connected", hasty)
    with workers_of(cluster.address) as pool:
        assert [client.status for client in refused] == ["closed"]
        assert list(pool.map(operator.neg, [1, 2])) == [-1, -2]


def test_a_worker_of_another_release_is_refused(cluster: Any, monkeypatch: Any) -> None:
    with pytest.raises(CalibrantError, match=r"a worker has calibrant .*, and this process 9\.9"):
        executors._checked("9.9", operator.neg, 1)
    monkeypatch.setattr(executors, "__version__", "9.9")
    wanted = r"the worker tcp://.* has calibrant .*, and this process 9\.9"
    with pytest.raises(CalibrantError, match=wanted), workers_of(cluster.address):
        pass


def test_no_scheduler_is_one_clear_error(monkeypatch: Any) -> None:
    monkeypatch.setattr(executors, "CONNECT", 0.2)
    for address in ("tcp://127.0.0.1:1", "somewhere"):
        with pytest.raises(InputError, match="there is no Dask scheduler at"), workers_of(address):
            pass


def test_documents_that_kill_one_worker_after_another_are_named(cluster: Any) -> None:
    class Future:
        status = "error"

        def result(self, timeout: float) -> None:
            raise distributed.KilledWorker("task", None, 3)

    pool: Any = workers_of(cluster.address)
    with pytest.raises(CalibrantError, match="one after another, while they worked on number 9") as error:
        pool.result(Future(), "number 9")
    assert error.value.code == "worker"


# Runs that are cut off.

RUN = """
import sys
from calibrant.events.verbs import extraction as event_extraction

if __name__ == "__main__":
    event_extraction.BATCH = 6
    documents, store, model, workers, executor = sys.argv[1:]
    event_extraction.extract_events(
        documents, store, coref=model, samples=20, part=10, workers=int(workers), executor=executor or None
    )
"""


def begun(folder: Path, documents: Path, coref: Path, workers: int, executor: str) -> subprocess.Popen[str]:
    """A run that has written a part, and is not at its end."""
    script = folder / "run.py"
    script.write_text(RUN, encoding="utf-8")
    given = [documents, folder / "s", coref, workers, executor]
    command = [sys.executable, str(script), *map(str, given)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    while not list((folder / "s" / "documents").glob("*.parquet")):
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    return process


@pytest.mark.slow
def test_a_run_on_a_cluster_that_is_killed_goes_on_where_it_was(
    tmp_path: Path, many: Path, coref: Path, cluster: Any
) -> None:
    process = begun(tmp_path, many, coref, 1, cluster.address)
    process.kill()
    process.communicate()
    kept = EventStore(tmp_path / "s").document_count
    found = extract_events(many, tmp_path / "s", coref=coref, samples=20, part=10, executor=cluster.address)
    assert found.kept == kept > 0
    extract_events(many, tmp_path / "t", coref=coref, samples=20)
    assert EventStore(tmp_path / "s").digest() == EventStore(tmp_path / "t").digest()


@pytest.mark.slow
def test_a_process_that_is_killed_changes_nothing(tmp_path: Path, many: Path, coref: Path) -> None:
    process = begun(tmp_path, many, coref, 2, "")
    workers = [each for each in psutil.Process(process.pid).children() if "spawn_main" in str(each.cmdline())]
    assert len(workers) == 2
    workers[0].kill()
    errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    extract_events(many, tmp_path / "t", coref=coref, samples=20)
    assert EventStore(tmp_path / "s").digest() == EventStore(tmp_path / "t").digest()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=lambda number: number.name)
def test_what_ends_a_run_leaves_no_process_behind(
    tmp_path: Path, many: Path, coref: Path, number: signal.Signals
) -> None:
    process = begun(tmp_path, many, coref, 2, "")
    everyone = psutil.Process(process.pid).children(recursive=True)
    assert len(everyone) >= 2
    if number == signal.SIGINT:
        os.killpg(process.pid, number)  # as a terminal does
    else:
        process.kill()
    errors = process.communicate(timeout=60)[1]
    assert number == signal.SIGKILL or "KeyboardInterrupt" in errors.splitlines()[-1]
    _, alive = psutil.wait_procs(everyone, timeout=20)
    assert not alive
    assert EventStore(tmp_path / "s").document_count >= 10


def test_an_executor_that_is_shut_down_is_named() -> None:
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    with pytest.raises(InputError, match="the executor accepts no work"), workers_of(pool) as there:
        list(there.map(operator.neg, [1]))


def test_files_without_rows_are_accepted_beside_others_as_in_a_folder(tmp_path: Path) -> None:
    pairs = pa.table({"score": [0.2, 0.7], "label": [0, 1], "cluster": ["a", "b"]})
    files = [tmp_path / f"{name}.parquet" for name in ("empty", "full", "last")]
    for file, rows in zip(files, (0, 2, 0), strict=True):
        parquet.write_table(pairs.slice(0, rows), file)
    assert tally_files(files).total_n == tally(tmp_path).total_n == 2
    with pytest.raises(InputError, match="there are no rows in any file") as error:
        tally_files([files[0], files[2]])
    assert error.value.file == str(files[0])
    plain = tmp_path / "plain.parquet"
    parquet.write_table(pairs.drop_columns("cluster"), plain)
    with pytest.raises(InputError, match=r"has no clusters, unlike .*full\.parquet"):
        tally_files([*files, plain])


def test_files_that_would_count_twice_or_differ_in_clusters_are_named(tmp_path: Path) -> None:
    for name, more in (("plain", {}), ("clustered", {"cluster": ["a", "b"]})):
        pairs = pa.table({"score": [0.2, 0.7], "label": [0, 1], **more})
        parquet.write_table(pairs, tmp_path / f"{name}.parquet")
    plain, clustered = str(tmp_path / "plain.parquet"), str(tmp_path / "clustered.parquet")
    with pytest.raises(InputError, match="has clusters, unlike") as error:
        tally_files([plain, clustered])
    assert error.value.file == clustered
    with pytest.raises(InputError, match="listed twice"):
        tally_files([tmp_path, plain])
    with pytest.raises(InputError, match="give a list of paths"):
        tally_files(plain)
