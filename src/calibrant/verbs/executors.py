"""Run work over documents in this process, in other processes, by an executor, or on a Dask cluster.

A few batches are submitted at a time, and results come back in order. Batches of a lost worker are repeated.
Each result is used once, at its place in the order, so repeated work never counts twice.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor
from dataclasses import dataclass
from types import TracebackType
from typing import Any, TypeVar

from calibrant._checks import positive_integer
from calibrant._version import __version__
from calibrant.exceptions import CalibrantError, InputError
from calibrant.lazy import from_extra

Batch = TypeVar("Batch")
Result = TypeVar("Result")

AHEAD = 4  # submitted batches per slot
TRIES = 3  # attempts for a batch whose worker was lost
PATIENCE = 60.0  # seconds to wait for a worker on a cluster
CONNECT = 10.0  # seconds to wait for a connection to a scheduler
ASK = 2.0  # seconds between checks of a cluster
KEPT = "finished work is kept: run the command again"


def workers_of(executor: object = None, workers: int = 1) -> Workers:
    """Return a context manager that runs work.

    Parameters
    ----------
    executor
        None: ``workers`` processes, or this process if ``workers`` is 1. An executor, which receives
        ``workers`` batches at a time. Text: the address of a Dask scheduler, whose workers set the number.
    workers
        Number of workers, at least 1.
    """
    positive_integer(workers, "workers")
    if isinstance(executor, Executor):
        return _Given(executor, workers)
    if isinstance(executor, str):
        return _Cluster(executor)
    if executor is not None:
        message = f"executor is {type(executor).__name__}"
        hint = "give a concurrent.futures.Executor, or the address of a Dask scheduler (tcp://HOST:PORT)"
        raise InputError(message, hint, code="parameter")
    return Workers() if workers == 1 else _Processes(workers)


class Workers:
    """Work in this process, and base of the other kinds.

    Attributes
    ----------
    slots
        Number of batches that can run at the same time.
    local
        True if objects need not be sent.
    """

    slots = 1
    local = True

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def map(
        self,
        function: Callable[[Batch], Result],
        batches: Iterable[Batch],
        named: Callable[[Batch], str] = str,
    ) -> Generator[Result, None, None]:
        """Apply a function to batches, which are read when needed, and yield results in their order.

        Parameters
        ----------
        function
            Picklable function whose result does not depend on how often and where it is called.
        batches
            Picklable batches.
        named
            Function that returns the name of a batch, for errors.

        Raises
        ------
        CalibrantError
            If the function raises it, or a batch has lost its worker too often.
        """
        for batch in batches:
            yield function(batch)


@dataclass
class _Task:
    """A submitted batch, and the number of times that it has lost its worker."""

    batch: Any
    future: Any = None
    tries: int = 0


class Elsewhere(Workers):
    """Work in another process or thread, which can be lost."""

    local = False
    lost: tuple[type[BaseException], ...] = (BrokenExecutor,)
    tries = TRIES

    def map(
        self,
        function: Callable[[Batch], Result],
        batches: Iterable[Batch],
        named: Callable[[Batch], str] = str,
    ) -> Generator[Result, None, None]:
        """Run each batch in one of the slots, again if it was lost, and yield results in order."""
        source = iter(batches)
        waiting: deque[_Task] = deque()
        try:
            while True:
                while len(waiting) < AHEAD * max(1, self.slots) and (batch := next(source, None)) is not None:
                    waiting.append(_Task(batch))
                if not waiting:
                    return
                try:
                    self._send(function, waiting)
                    result: Result = self.result(waiting[0].future, named(waiting[0].batch))
                except self.lost as error:
                    self._note_loss(waiting, named, error)
                    continue
                waiting.popleft()
                yield result
        finally:
            for task in waiting:
                if task.future is not None:
                    task.future.cancel()

    def _send(self, function: Callable[[Any], Any], waiting: deque[_Task]) -> None:
        """Submit pending batches; retry lost batches one at a time, to find the batch that kills workers."""
        for place, task in enumerate(waiting):
            if task.future is None:
                if place and (task.tries or waiting[0].tries):
                    return
                task.future = self.submit(function, task.batch)

    def _note_loss(self, waiting: deque[_Task], named: Callable[[Any], str], error: BaseException) -> None:
        self.renew()
        for task in waiting:
            if task.future is not None and task.future.done() and not self.succeeded(task.future):
                task.future, task.tries = None, task.tries + 1
        if waiting[0].tries >= self.tries:
            message = f"a worker process died while it worked on {named(waiting[0].batch)}"
            raise _worker(message, f"{KEPT}, with fewer workers if memory was short") from error

    def submit(self, function: Callable[[Any], Any], batch: Any) -> Any:
        """Submit a batch, and return its future."""
        raise NotImplementedError

    def result(self, future: Any, name: str) -> Any:
        """Return the result of a batch; wait for it."""
        return future.result()

    def succeeded(self, future: Any) -> bool:
        """Return True if a finished future has a result."""
        return not future.cancelled() and future.exception() is None

    def renew(self) -> None:
        """Prepare for new batches after a worker was lost; all futures are then finished."""


class _Given(Elsewhere):
    """The caller's executor, which the caller shuts down."""

    tries = 1  # a broken executor stays broken

    def __init__(self, executor: Executor, workers: int) -> None:
        self._executor, self.slots = executor, workers

    def submit(self, function: Callable[[Any], Any], batch: Any) -> Any:
        try:
            return self._executor.submit(function, batch)
        except BrokenExecutor:
            raise
        except RuntimeError as error:
            message = f"the executor accepts no work ({error})"
            raise InputError(message, "give an executor that is not shut down", code="parameter") from error


class _Processes(Elsewhere):
    """Processes of this machine, replaced after a loss."""

    def __init__(self, workers: int) -> None:
        self.slots = workers
        self._pool = self._new()

    def _new(self) -> ProcessPoolExecutor:
        from multiprocessing import get_context

        # New processes, not copies of this process, which has threads and may hold locks of files.
        return ProcessPoolExecutor(self.slots, mp_context=get_context("spawn"), initializer=_begin)

    def submit(self, function: Callable[[Any], Any], batch: Any) -> Future[Any]:
        return self._pool.submit(function, batch)

    def renew(self) -> None:
        self._pool.shutdown(cancel_futures=True)
        self._pool = self._new()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.shutdown(cancel_futures=True)


def _begin() -> None:
    """Make a process end when its parent is killed, and leave Ctrl-C to the parent."""
    from multiprocessing import parent_process
    from threading import Thread

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    assert parent is not None

    def wait() -> None:
        parent.join()
        os._exit(1)

    Thread(target=wait, daemon=True).start()


class _Cluster(Elsewhere):
    """Workers of a Dask scheduler, which moves the batches of a lost worker to another one."""

    def __init__(self, address: str) -> None:
        self._dask = from_extra("distributed", "a Dask scheduler needs Dask", "dask")
        self._address = address
        self.lost = (self._dask.comm.CommClosedError,)

    def __enter__(self) -> Workers:
        self._client: Any = self._connect()
        try:
            self._check()
        except BaseException:
            self._client.close()
            raise
        return self

    def _connect(self) -> Any:
        """Return a client of the scheduler, which may answer wrongly while it reports a lost worker."""
        limit = time.monotonic() + CONNECT
        while True:
            try:
                return self._start()
            except (OSError, ValueError, AssertionError) as error:
                if isinstance(error, AssertionError) and self._address and time.monotonic() < limit:
                    continue
                message = f"there is no Dask scheduler at {self._address or repr(self._address)}"
                raise InputError(message, "give its address, tcp://HOST:PORT", code="parameter") from error
            except TypeError as error:
                message = f"{self._address} needs the certificates of the cluster"
                hint = "set distributed.comm.tls in the configuration of Dask"
                raise InputError(message, hint, code="parameter") from error

    def _start(self) -> Any:
        client = self._dask.Client.__new__(self._dask.Client)
        try:
            client.__init__(self._address, timeout=CONNECT, set_as_default=False)
        except BaseException:
            client.__del__()  # if the collector closed it while another one starts, both would hang
            raise
        return client

    def _check(self) -> None:
        """Wait for workers, and check that they have this release."""
        from importlib.metadata import version

        try:
            self._client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError as error:
            raise self._no_workers() from error
        self._look()
        # A function of the standard library exists even without this package.
        releases = self._client.run(version, "calibrant", on_error="return")
        for place, theirs in releases.items():
            if isinstance(theirs, BaseException):
                theirs = "none"
            _check_version(theirs, f"the worker {place}", __version__)

    def _look(self) -> None:
        try:
            self.slots = sum(self._client.nthreads().values())
        except (OSError, RuntimeError, CancelledError) as error:
            raise self._no_scheduler() from error

    def _no_workers(self) -> CalibrantError:
        hint = f"start workers (dask worker {self._address}); {KEPT}"
        return _worker(f"the Dask scheduler at {self._address} has no workers", hint)

    def submit(self, function: Callable[[Any], Any], batch: Any) -> Any:
        return self._client.submit(_checked, __version__, function, batch, pure=False)

    def result(self, future: Any, name: str) -> Any:
        seen = time.monotonic()
        while True:
            try:
                return future.result(timeout=ASK)
            except TimeoutError:
                if future.status == "error":  # an error of the work itself
                    raise
            except self._dask.KilledWorker as error:
                message = f"several workers died, one after another, while they worked on {name}"
                raise _worker(message, f"{KEPT}, with more memory per worker") from error
            except (CancelledError, asyncio.CancelledError) as error:
                raise self._no_scheduler() from error
            except ModuleNotFoundError as error:
                hint = "install the same packages on all machines"
                raise _worker(f"a worker has no module {error.name}", hint) from error
            self._look()
            if self.slots:
                seen = time.monotonic()
            elif time.monotonic() - seen > PATIENCE:
                raise self._no_workers()

    def succeeded(self, future: Any) -> bool:
        return bool(future.status == "finished")

    def _no_scheduler(self) -> CalibrantError:
        logging.getLogger("distributed.client").setLevel(logging.CRITICAL)  # the error reports it
        return _worker(f"the Dask scheduler at {self._address} was lost", KEPT)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()


def _checked(release: str, function: Callable[[Any], Any], batch: Any) -> Any:
    _check_version(__version__, "a worker", release)  # the worker may have joined late
    return function(batch)


def _check_version(theirs: str, where: str, ours: str) -> None:
    if theirs != ours:
        message = f"{where} has calibrant {theirs}, and this process {ours}"
        raise _worker(message, "install the same release on all machines")


def _worker(message: str, hint: str) -> CalibrantError:
    return CalibrantError(message, hint, code="worker")
