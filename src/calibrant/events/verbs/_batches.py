"""Batches of dated documents, as processes and machines work on them, each with models of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import Any

from calibrant.events.files.dated_pieces import Item, Unread
from calibrant.events.files.store import Manifest, StoredDocument
from calibrant.events.lexicon import default_lexicon
from calibrant.events.verbs.settings import store_settings
from calibrant.events.verbs.worker import Extraction, Extractor
from calibrant.exceptions import InputError

SHOWN = 5


@dataclass(frozen=True)
class Prepared:
    """What a worker says of an extraction when its models are loaded.

    Attributes
    ----------
    settings
        Of the store.
    notes
        On the lexicon.
    """

    settings: dict[str, Any]
    notes: tuple[str, ...]

    @property
    def digest(self) -> str:
        """Of the settings."""
        return Manifest.digest_of(self.settings)


@dataclass(frozen=True)
class _Opened:
    """What a process holds."""

    extractor: Extractor
    prepared: Prepared
    digest: str


_opening = Lock()


@lru_cache(maxsize=1)
def _load(settings: Extraction) -> _Opened:
    extractor = Extractor(settings)
    lexicon = extractor.lexicon
    conflicts = () if lexicon is default_lexicon() else lexicon.conflicts[:SHOWN]
    notes = [f"the lexicon gives {each.name!r} to {each.kept} and {each.dropped}" for each in conflicts]
    prepared = Prepared(store_settings(settings, extractor), tuple(notes))
    return _Opened(extractor, prepared, prepared.digest)


def _opened(settings: Extraction) -> _Opened:
    """Load once, whatever threads ask for it."""
    with _opening:
        return _load(settings)


def prepare(settings: Extraction) -> Prepared:
    """Load models, and say what they are."""
    return _opened(settings).prepared


def work(settings: Extraction, digest: str, batch: Sequence[Item]) -> list[StoredDocument]:
    """Do some documents; the models must be those of the store."""
    opened = _opened(settings)
    if opened.digest != digest:
        message = "a worker has another coreference model, parser or lexicon under the same path"
        raise InputError(message, "give all workers the same files", code="worker")
    return [opened.extractor.stored(item.read() if isinstance(item, Unread) else item) for item in batch]
