"""What of the events study is slow and kept: made once, taken up again if it was made in the same way."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from calibrant.events import RULES
from calibrant.events.files.store import EventStore
from calibrant.events.files.store_parts import read_manifest
from calibrant.events.verbs.settings import rules_settings
from calibrant_studies._counts_models import PENALTY
from calibrant_studies._events_data import CORPORA, MODEL, SAMPLES, SEED, store_name
from calibrant_studies._events_data import RULES as NAMES
from calibrant_studies._kept_parts import KeptPart

ANEW = "made anew"
TAKEN = "taken up"


def labels_part(seed: int) -> KeptPart:
    """The labelled documents."""
    rules = rules_settings(replace(RULES["default"], places=True)) | {"verbs": "every verb in turn"}
    return KeptPart("dev.json", {"rules": rules, "penalty": PENALTY, "samples": SAMPLES, "seed": seed})


def skipping_part() -> KeptPart:
    """The check of skipping."""
    rules = rules_settings(RULES["default"])
    return KeptPart("skipping.json", {"rules": rules, "samples": SAMPLES, "seed": SEED})


def states(folder: Path, seed: int) -> list[tuple[str, str]]:
    """For each part its file or folder, and whether a run takes it up or makes it anew."""
    parts = labels_part(seed), skipping_part()
    found: list[tuple[str, str]] = [(MODEL, TAKEN if (folder / MODEL).exists() else ANEW)]
    found += [(part.file, ANEW if part.there(folder) is None else TAKEN) for part in parts]
    for corpus in CORPORA:
        for rules in NAMES:
            name = store_name(corpus.name, rules)
            found.append((name, _store_state(folder / name, rules)))
    return found


def _store_state(place: Path, rules: str) -> str:
    if read_manifest(place) is None:
        return ANEW
    store = EventStore(place)
    count = store.document_count
    if store.manifest.settings["rules"] != rules_settings(RULES[rules]):
        return f"made by other rules ({count:,} documents): move it away, or the study ends here"
    return f"{TAKEN}: {count:,} documents" + ("" if store.manifest.finished else ", and gone on with")
