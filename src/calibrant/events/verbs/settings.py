"""Digests of the settings that determine the content of a store: models, lexicon, parser, rules."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from calibrant._version import __version__
from calibrant.events.lexicon import DEFAULT
from calibrant.events.rules import AGENT, Rules
from calibrant.events.verbs.worker import SAMPLED, Extraction, Extractor
from calibrant.structures.files.english import ENGLISH, english_about, english_folder
from calibrant.structures.models.shipped import is_shipped

UNKNOWN_TEXTS = "unknown texts"


def store_settings(settings: Extraction, extractor: Extractor) -> dict[str, Any]:
    """Return the settings that determine the content of a store, as JSON values."""
    # Settings equal to the defaults of older stores are left out, so that runs can continue in those stores.
    endings = {} if settings.possessive_endings else {"possessive_endings": False}
    drawn = {"trees": settings.trees, "tags": settings.tags}
    sampled = {name: value for name, value in drawn.items() if value == SAMPLED}
    return (
        endings
        | sampled
        | {
            "calibrant": __version__,
            "coref": state_digest(extractor.model.to_state()),
            "lexicon": path_digest(Path(DEFAULT if settings.lexicon is None else settings.lexicon)),
            "parser": None if settings.parser is None else _parser_digest(settings.parser),
            "rules": rules_settings(settings.rules),
            "samples": settings.samples,
            "seed": settings.seed,
            "with_text": settings.with_text,
        }
    )


def rules_settings(rules: Rules) -> dict[str, Any]:
    """Return the content of rules, without their name and the order of their verbs."""
    settings = asdict(rules) | {"verbs": sorted(rules.verbs), "name": None}
    # Older stores do not have these keys.
    older = {"places": True, "named": False, "role": AGENT}
    return {key: value for key, value in settings.items() if key not in older or older[key] != value}


def store_sources(settings: Extraction, trained_on: str) -> dict[str, str]:
    """Return the display names of a store's models and texts."""
    return {
        "coref": settings.coref,
        "coref trained on": trained_on,
        "lexicon": settings.lexicon or "default",
        "parser": settings.parser or "",
        **({"parser trained on": english_about()["parser"]} if settings.parser == ENGLISH else {}),
        "rules": settings.rules.name,
        "sampled": settings.sampled,
    }


def training_note(coref: str, trained_on: str, parser: str | None = None) -> str:
    """Warn about other kinds of text than those that the models were trained on."""
    if parser == ENGLISH:
        read = english_about()
        known = f"{ENGLISH} {read['version']} found sentences, tags and trees; trained on {read['parser']}."
        if coref == ENGLISH:
            return f"{known} Its coreference model was trained on {trained_on}. Other texts have more errors."
        return f"{known} {training_note(coref, trained_on)}"
    known = f"The coreference model {coref} was trained on {trained_on}."
    if is_shipped(coref):
        return (
            f"{known} On news and other present-day texts it finds entities no better than rules do. Run "
            "`calibrant data train` and use its gum.model instead."
        )
    return f"{known} On other kinds of text its entities and probabilities are less accurate."


def path_digest(path: Path) -> str:
    """Return the digest of a file, or of all files in a folder with their names."""
    digest = blake2b(digest_size=16)
    files = [path] if path.is_file() else sorted(part for part in path.rglob("*") if part.is_file())
    for file in files:
        name = os.fspath(file.relative_to(path)) if path.is_dir() else ""
        digest.update(f"{name}\0{file.stat().st_size}\0".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _parser_digest(parser: str) -> str:
    if parser == ENGLISH:
        return path_digest(english_folder())
    if Path(parser).exists():
        return path_digest(Path(parser))
    from importlib.metadata import version

    return f"{parser} {version(parser)}"


def state_digest(state: Any) -> str:
    """Return the digest of plain values and arrays."""
    digest = blake2b(digest_size=16)
    _add(digest, state)
    return digest.hexdigest()


def _add(digest: blake2b, value: Any) -> None:
    if isinstance(value, Mapping):
        for key in sorted(value):
            digest.update(f"{{{key}".encode())
            _add(digest, value[key])
    elif isinstance(value, np.ndarray):
        digest.update(f"{value.dtype.str}{value.shape}".encode())
        digest.update(np.ascontiguousarray(value).tobytes())
    elif isinstance(value, (list, tuple)):
        digest.update(f"[{len(value)}".encode())
        for item in value:
            _add(digest, item)
    else:
        digest.update(repr(value).encode())
