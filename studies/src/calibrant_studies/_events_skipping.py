"""The events study's check of skipping: documents that cannot count are parsed, too."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from calibrant.events import RULES
from calibrant.events.files.dated import iter_dated
from calibrant.events.files.dated_text import DatedText
from calibrant.events.files.store import StoredDocument
from calibrant.events.verbs.worker import Extraction, Extractor
from calibrant_studies._base import Row
from calibrant_studies._events_data import CORPORA, SAMPLES, SEED

DOCUMENTS = {"socialist-worker": 100, "current-events": 600, "reuters-21578": 300}


def skipping(data: Path, pipeline: Path, model: Path) -> dict[str, Any]:
    """Read a random sample of each corpus with and without skipping, and compare the events."""
    settings = Extraction(
        os.fspath(model), os.fspath(pipeline), None, RULES["default"], SAMPLES, SEED, with_text=False
    )
    rows: list[Row] = []
    for corpus in CORPORA:
        documents = _drawn(list(iter_dated(corpus.file(data))), DOCUMENTS[corpus.name])
        quick, quick_seconds = _stored(settings, documents)
        whole, whole_seconds = _stored(replace(settings, skip=False), documents)
        different = sum(replace(one, skipped=False) != other for one, other in zip(quick, whole, strict=True))
        rows.append(
            {
                "corpus": corpus.title,
                "documents": len(documents),
                "skipped": sum(one.skipped for one in quick),
                "may count": sum(bool(one.counts) for one in whole),
                "different": different,
                "seconds with": quick_seconds,
                "seconds without": whole_seconds,
            }
        )
    return {"rows": rows, "seconds": sum(row["seconds with"] + row["seconds without"] for row in rows)}


def _drawn(documents: Sequence[DatedText], size: int) -> list[DatedText]:
    chosen = np.random.default_rng(SEED).choice(len(documents), min(size, len(documents)), replace=False)
    return [documents[place] for place in np.sort(chosen)]


def _stored(settings: Extraction, documents: Iterable[DatedText]) -> tuple[list[StoredDocument], float]:
    extractor = Extractor(settings)
    start = time.perf_counter()
    return [extractor.stored(each) for each in documents], time.perf_counter() - start
