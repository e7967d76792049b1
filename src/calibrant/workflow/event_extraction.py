"""Extract events from dated documents into a store, on one process or many."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import ExitStack
from importlib import import_module
from itertools import islice

from calibrant._checks import one_of, positive_integer
from calibrant._rng import number
from calibrant.events.lexicon import default_lexicon
from calibrant.events.rules import RULES, Rules
from calibrant.exceptions import CalibrantError, InputError, MissingExtraError
from calibrant.io.dated import DatedText, check_dated, iter_dated
from calibrant.io.store import StoredDocument
from calibrant.io.store_writing import PART, StoreWriter
from calibrant.io.verbs import read_verbs
from calibrant.results.events import ExtractedEvents
from calibrant.workflow._event_settings import store_settings, store_sources
from calibrant.workflow._event_worker import Extraction, opened, work

Progress = Callable[[str, int, int | None], None]

BATCH = 16  # documents that go to a worker together
WAITING = 4  # batches a worker that are under way
SAMPLES = 100
SHOWN = 5


def extract_events(
    documents: str | os.PathLike[str],
    store: str | os.PathLike[str],
    *,
    coref: str | os.PathLike[str] = "litbank",
    parser: str | os.PathLike[str] | None = None,
    lexicon: str | os.PathLike[str] | None = None,
    rules: str = "default",
    verbs: str | os.PathLike[str] | Sequence[str] | None = None,
    samples: int = SAMPLES,
    seed: int = 0,
    with_text: bool = False,
    workers: int = 1,
    executor: Executor | str | None = None,
    part: int = PART,
    progress: Progress | None = None,
) -> ExtractedEvents:
    """Find out for which countries each document counts, in samples of its entities, and store it.

    A run that was cut off is continued by running it again. What is stored depends neither on the order of
    the documents nor on the number of workers.

    Parameters
    ----------
    documents
        Path of JSON lines or CoNLL-U, as `calibrant.io.iter_dated` reads them.
    store
        Folder; new, or a store of the same settings, to which documents that it does not have are added.
    coref
        Path of a coreference model, or the name of one that ships.
    parser
        Path or name of a spaCy pipeline, for raw text and documents without trees.
    lexicon
        Path; None: the one that ships.
    rules
        ``"default"`` or ``"paper"``.
    verbs
        Lemmas, or the path of a list of them, instead of those of the rules.
    samples, seed
        How many samples of each document's entities, and what they are drawn from.
    with_text
        Whether the text of documents that count is stored.
    workers
        Processes. With more than one, a script that calls this must be importable
        (``if __name__ == "__main__":``).
    executor
        Instead of processes of this machine: a `concurrent.futures.Executor`, or the address of a Dask
        scheduler (``tcp://...``), whose workers find models, lexicon and parser under the same paths.
    part
        Documents a part of the store: what a kill can lose.
    progress
        Called with a stage, documents done, and how many there are (None: not known).

    Returns
    -------
    ExtractedEvents

    Raises
    ------
    InputError
        If documents, models or settings are bad, or the store was made with other settings. What was done
        before is kept.
    MissingExtraError
        If spaCy or Dask is needed and not installed.

    References
    ----------
    Nguyen and O'Connor (2015), section 6.

    Examples
    --------
    >>> import tempfile
    >>> from calibrant.data import dated_documents
    >>> from calibrant.io import read_documents, save_model
    >>> from calibrant.models import CoreferenceModel
    >>> model = CoreferenceModel(bits=10, least=1, epochs=5).fit(read_documents(dated_documents()))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, f"{folder}/small.model")
    ...     found = extract_events(dated_documents(), f"{folder}/store", coref=f"{folder}/small.model")
    >>> found.documents, found.skipped
    (14, 1)
    """
    began = time.monotonic()
    positive_integer(workers, "workers")
    settings = Extraction(
        os.fspath(coref),
        None if parser is None else os.fspath(parser),
        None if lexicon is None else os.fspath(lexicon),
        _rules(rules, verbs),
        positive_integer(samples, "samples"),
        number(seed),
        with_text,
    )
    extractor = opened(settings)
    total = check_dated(documents, progress=progress)
    done = Done()
    with ExitStack() as stack:
        describe = store_settings(settings, extractor), store_sources(settings)
        writer = stack.enter_context(StoreWriter(store, describe[0], sources=describe[1], part=part))
        pool = stack.enter_context(_Pool(executor, workers))
        fresh = done.fresh(iter_dated(documents), writer)
        for found in _worked(settings, fresh, pool, workers):
            for document in found:
                writer.write(document)
                done.add(document)
            if progress is not None:
                progress("extracting", done.read, total)
        writer.finish()
        notes = [f"{name} was damaged: its documents were done again" for name in writer.put_aside]
    conflicts = extractor.lexicon.conflicts if extractor.lexicon is not default_lexicon() else ()
    notes += [
        f"the lexicon gives {each.name!r} to {each.kept} and {each.dropped}" for each in conflicts[:SHOWN]
    ]
    return ExtractedEvents(
        store=os.fspath(store),
        documents=done.read,
        kept=done.kept,
        skipped=done.skipped,
        matched=done.matched,
        countries=len(done.countries),
        samples=settings.samples,
        seed=settings.seed,
        rules=settings.rules.name,
        verbs=settings.rules.verbs,
        workers=workers if executor is None else None,
        seconds=time.monotonic() - began,
        notes=tuple(notes),
    )


class Done:
    """How far a run has come."""

    def __init__(self) -> None:
        self.kept = self.skipped = self.matched = self.written = 0
        self.countries: set[str] = set()

    @property
    def read(self) -> int:
        """Documents that are in the store."""
        return self.kept + self.written

    def fresh(self, items: Iterator[DatedText], writer: StoreWriter) -> Iterator[DatedText]:
        """Leave out what the store has."""
        for item in items:
            if item.id in writer:
                self.kept += 1
            else:
                yield item

    def add(self, document: StoredDocument) -> None:
        """Note a document that was written."""
        self.written += 1
        self.skipped += document.skipped
        self.matched += bool(document.counts)
        self.countries.update(count.country for count in document.counts)


def _rules(name: str, verbs: str | os.PathLike[str] | Sequence[str] | None) -> Rules:
    one_of(name, tuple(RULES), "rules")
    if verbs is None:
        return RULES[name]
    chosen = read_verbs(verbs) if isinstance(verbs, (str, os.PathLike)) else verbs
    return RULES[name].with_verbs(chosen)


def _worked(
    settings: Extraction, items: Iterator[DatedText], pool: Executor | None, workers: int
) -> Iterator[list[StoredDocument]]:
    """Results in the order of the documents; only a few batches are in memory."""
    if pool is None:
        while batch := list(islice(items, BATCH)):
            yield work(settings, batch)
        return
    running: deque[Future[list[StoredDocument]]] = deque()
    try:
        while True:
            while len(running) < WAITING * workers and (batch := list(islice(items, BATCH))):
                running.append(pool.submit(work, settings, batch))
            if not running:
                return
            yield running.popleft().result()
    except BrokenExecutor as error:
        hint = "what was done is kept: run it again, with fewer workers if memory was short"
        raise CalibrantError("a worker process ended before its time", hint) from error
    finally:
        for future in running:
            future.cancel()


class _Pool:
    """The executor asked for; one that is made here is shut down here."""

    def __init__(self, executor: Executor | str | None, workers: int) -> None:
        self._given, self._workers = executor, workers
        self._close: Callable[[], None] | None = None

    def __enter__(self) -> Executor | None:
        if isinstance(self._given, Executor):
            return self._given
        if isinstance(self._given, str):
            return self._dask(self._given)
        if self._workers == 1:
            return None
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import get_context

        # New processes, not copies of this one: it has threads, and holds the lock of the store.
        pool = ProcessPoolExecutor(self._workers, mp_context=get_context("spawn"))
        self._close = lambda: pool.shutdown(cancel_futures=True)
        return pool

    def _dask(self, address: str) -> Executor:
        try:
            client_of = import_module("dask.distributed").Client
        except ImportError as error:
            hint = "pip install dask distributed"
            raise MissingExtraError("a Dask scheduler needs Dask", hint) from error
        try:
            client = client_of(address, timeout="10s")
        except (OSError, ValueError) as error:
            message = f"there is no Dask scheduler at {address}"
            raise InputError(message, "give its address, tcp://HOST:PORT", code="parameter") from error
        self._close = client.close
        found: Executor = client.get_executor()
        return found

    def __exit__(self, *error: object) -> None:
        if self._close is not None:
            self._close()
