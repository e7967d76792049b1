"""Work that is shared comes back in order and once, whoever does it and whatever is lost."""

from __future__ import annotations

import operator
import random
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from typing import Any

import pytest

from calibrant.exceptions import CalibrantError, InputError
from calibrant.verbs.executors import AHEAD, TRIES, Elsewhere, workers_of


class Twice(ThreadPoolExecutor):
    """Does everything twice, as a cluster does what it believes lost."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        super().submit(function, *arguments, **named)
        return super().submit(function, *arguments, **named)


def slow_double(number: int) -> int:
    time.sleep(random.Random(number).random() * 0.01)
    return 2 * number


@pytest.mark.parametrize("pool", [ThreadPoolExecutor, Twice])
def test_results_come_in_order_and_once(pool: type[ThreadPoolExecutor]) -> None:
    with pool(4) as executor, workers_of(executor, 4) as workers:
        assert list(workers.map(slow_double, range(60))) == [2 * number for number in range(60)]


def test_batches_are_read_only_as_they_are_needed() -> None:
    taken: list[int] = []

    def numbers() -> Iterator[int]:
        for number in range(100):
            taken.append(number)
            yield number

    with ThreadPoolExecutor(2) as executor, workers_of(executor, 2) as workers:
        for done, result in enumerate(workers.map(operator.neg, numbers()), 1):
            assert result == 1 - done
            assert len(taken) <= done + 2 * AHEAD


def test_an_error_of_the_work_comes_out_as_itself_and_at_once() -> None:
    calls: list[int] = []

    def fails(number: int) -> int:
        calls.append(number)
        if number == 3:
            raise InputError("this document is bad", file="docs", line=7)
        return number

    with ThreadPoolExecutor(1) as executor, workers_of(executor) as workers:
        found = workers.map(fails, range(100))
        assert [next(found), next(found), next(found)] == [0, 1, 2]
        with pytest.raises(InputError, match=r"docs, line 7: this document is bad"):
            next(found)
    assert calls.count(3) == 1
    assert len(calls) < 10


class Broken(Executor):
    """Loses its workers at the third task."""

    def __init__(self) -> None:
        self.left = 3

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.left -= 1
        if self.left > 0:
            future.set_result(function(*arguments, **named))
        else:
            future.set_exception(BrokenExecutor("gone"))
        return future


def test_an_executor_that_breaks_is_an_error_that_names_the_batch() -> None:
    with workers_of(Broken()) as workers:
        found = workers.map(operator.neg, range(5), lambda number: f"number {number}")
        assert [next(found), next(found)] == [0, -1]
        with pytest.raises(CalibrantError, match="died while it worked on number 2") as error:
            next(found)
    assert error.value.code == "worker"


class Fragile(Elsewhere):
    """Loses all it has when it comes to a deadly batch, the first times."""

    slots = 2

    def __init__(self, deadly: set[int], times: int) -> None:
        self.deadly, self.times = deadly, times
        self.broken = False
        self.sent: list[int] = []

    def submit(self, function: Callable[[Any], Any], batch: Any) -> Any:
        self.sent.append(batch)
        future: Future[Any] = Future()
        if self.broken or (batch in self.deadly and self.times > 0):
            self.times -= not self.broken
            self.broken = True
            future.set_exception(BrokenExecutor("gone"))
        else:
            future.set_result(function(batch))
        return future

    def renew(self) -> None:
        self.broken = False


def test_what_was_lost_is_done_again() -> None:
    workers = Fragile({3, 11}, times=2)
    assert list(workers.map(operator.neg, range(20))) == [-number for number in range(20)]


def test_what_is_lost_again_and_again_is_named_and_not_what_stood_by() -> None:
    workers = Fragile({5}, times=99)
    with pytest.raises(CalibrantError, match="a worker process died while it worked on number 5"):
        list(workers.map(operator.neg, range(20), lambda number: f"number {number}"))
    assert workers.sent.count(5) == TRIES
    assert workers.sent[-(TRIES - 1) :] == [5] * (TRIES - 1)  # alone


@pytest.mark.slow
def test_a_batch_that_kills_its_process_is_named_and_all_before_it_are_done() -> None:
    batches = [0, 0, 0, signal.SIGKILL, 0]  # signal 0 does nothing
    done: list[None] = []
    with workers_of(workers=2) as workers:
        found = workers.map(signal.raise_signal, batches, lambda number: f"signal {int(number)}")
        with pytest.raises(CalibrantError, match="a worker process died while it worked on signal 9"):
            done.extend(found)
    assert done == [None, None, None]


def test_who_works_is_checked() -> None:
    with pytest.raises(InputError, match=r"executor is float: give a concurrent.futures.Executor"):
        workers_of(1.5)
    with pytest.raises(InputError, match="workers"):
        workers_of(workers=0)
