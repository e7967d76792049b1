"""Slow parts of the events study, which are kept and reused if they were made with the same settings."""

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
from calibrant_studies._events_names import LEXICON, LEXICON_EVERY, RELATIONS_EVERY
from calibrant_studies._kept_parts import KeptPart

ANEW = "computed again"
TAKEN = "reused"


def labels_part(seed: int) -> KeptPart:
    """The labeled documents."""
    rules = rules_settings(replace(RULES["default"], places=True)) | {"verbs": "every verb in turn"}
    return KeptPart("dev.json", {"rules": rules, "penalty": PENALTY, "samples": SAMPLES, "seed": seed})


def skipping_part() -> KeptPart:
    """The check of skipping."""
    rules = rules_settings(RULES["default"])
    return KeptPart("skipping.json", {"rules": rules, "samples": SAMPLES, "seed": SEED})


def lexicons_part() -> KeptPart:
    """The comparison of lexicons."""
    return KeptPart("lexicons.json", {"lexicon": LEXICON, "every": LEXICON_EVERY})


def relations_part() -> KeptPart:
    """The dependency relations of country entities."""
    rules = rules_settings(RULES["default"])
    settings = {"rules": rules, "samples": SAMPLES, "seed": SEED, "every": RELATIONS_EVERY}
    return KeptPart("relations.json", settings)


def all_parts(seed: int) -> tuple[KeptPart, ...]:
    """Every part that is kept as JSON."""
    return labels_part(seed), skipping_part(), lexicons_part(), relations_part()


def states(folder: Path, seed: int) -> list[tuple[str, str]]:
    """Return the path of each part, and the next run's action: reuse it or compute it again."""
    found: list[tuple[str, str]] = [(MODEL, TAKEN if (folder / MODEL).exists() else ANEW)]
    found += [(part.file, ANEW if part.there(folder) is None else TAKEN) for part in all_parts(seed)]
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
