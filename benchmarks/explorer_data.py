"""A store of events of the paper's size: bursts in time, heavy tails in length, countries of all sizes."""

from __future__ import annotations

import datetime
import shutil
from pathlib import Path
from typing import Any

import data
import numpy as np

SEED = 20010911
DOCUMENTS = 200_000
YEARS = 20
SAMPLES = 100
COUNTING = 0.15  # share of documents that may count for some country
COUNTRIES = 160
FIRST_DAY = datetime.date(1987, 1, 1)
SENTENCE = "The troops of a country crossed the border and they attacked three towns before the rain came . "


def store(documents: int = DOCUMENTS) -> Path:
    """Its folder; made once, kept in the cache folder."""
    folder = data.FOLDER / f"events-{documents}.store"
    if not (folder / "done").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        _write(folder, documents)
        (folder / "done").touch()
    return folder


def _write(folder: Path, documents: int) -> None:
    from calibrant.events.files.store import StoredDocument
    from calibrant.events.files.store_writing import StoreWriter

    rng = np.random.default_rng(SEED)
    days = _days(rng, documents)
    words = np.minimum(60 * (1 + rng.pareto(1.3, documents)), 20_000).astype(int)
    weights = 1 / np.arange(1, COUNTRIES + 1) ** 1.3
    names = np.array(_codes(COUNTRIES))
    chosen = rng.choice(COUNTRIES, size=(documents, 3), p=weights / weights.sum())
    most = np.where(rng.random(documents) < COUNTING, 1 + rng.binomial(2, 0.2, documents), 0)
    chance = np.clip(rng.beta(0.5, 0.5, (documents, 3)), 0.01, 1.0)
    text = SENTENCE * (20_000 * 8 // len(SENTENCE) + 1)
    with StoreWriter(folder, {"samples": SAMPLES, "with_text": True}) as writer:
        for row in range(documents):
            day = FIRST_DAY + datetime.timedelta(days=int(days[row]))
            if not most[row]:
                writer.write(StoredDocument(f"doc-{row:07}", day, skipped=bool(row % 2)))
                continue
            picked = np.unique(chosen[row, : most[row]])
            counts = [_count(rng, str(names[number]), chance[row, k]) for k, number in enumerate(picked)]
            pairs = [pair for count in counts for pair in _evidence(count, int(words[row]))]
            whole = text[: int(words[row]) * 6]
            writer.write(StoredDocument(f"doc-{row:07}", day, False, counts, pairs, f"Story {row}", whole))
        writer.finish()


def _days(rng: np.random.Generator, documents: int) -> Any:
    """Days in order of files, not of time; many in bursts that last weeks."""
    steps = YEARS * 365
    level = np.cumsum(rng.normal(0, 0.1, steps))
    busy = np.exp(level - level.mean()) * (1 + rng.pareto(1.5, steps))
    return rng.choice(steps, documents, p=busy / busy.sum())


def _codes(number: int) -> list[str]:
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    return [
        letters[k // 676 % 26] + letters[k // 26 % 26] + letters[k % 26]
        for k in range(17, 17 + 7 * number, 7)
    ]


def _count(rng: np.random.Generator, country: str, chance: float) -> Any:
    from calibrant.events.files.store import StoredCount

    bits = rng.random(SAMPLES) < chance
    bits[0] |= not bits.any()
    packed = np.packbits(bits, bitorder="little").tobytes()
    return StoredCount(country, float(bits.mean()), bool(chance > 0.5), packed)


def _evidence(count: Any, words: int) -> list[Any]:
    from calibrant.events.files.store import StoredEvidence

    found = []
    for number in range(min(10, 1 + words // 200)):
        start = number * len(SENTENCE)
        mention, agent = SENTENCE.index("country"), SENTENCE.index("they")
        spans = (number, start + mention, start + mention + 7, number, start + agent, start + agent + 4)
        found.append(StoredEvidence(count.country, "attack", count.probability / (number + 1), *spans))
    return found
