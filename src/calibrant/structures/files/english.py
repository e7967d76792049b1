"""The models of the distribution calibrant-english, which is found when it is installed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from calibrant.exceptions import FormatError
from calibrant.lazy import from_extra
from calibrant.structures.files.saved_models import load_dependency_model, load_tagger

if TYPE_CHECKING:
    from calibrant.structures.models.english import EnglishParser

ENGLISH = "calibrant-english"  # name of the models in place of a pipeline or a coreference model
SENTENCES, TAGS, TREES, LEMMAS = "sentences.model", "tags.model", "trees.model", "lemmas.json"
COREFERENCE, ABOUT = "coreference.model", "about.json"
NEED = "raw text needs the English models or a spaCy pipeline (`parser`)"


def english_folder() -> Path:
    """Return the folder of the English models.

    Raises
    ------
    MissingExtraError
        If the distribution calibrant-english is not installed.
    FormatError
        If files are missing.
    """
    folder: Path = from_extra("calibrant_english", NEED, "events").FOLDER
    missing = [
        name for name in (SENTENCES, TAGS, TREES, LEMMAS, COREFERENCE, ABOUT) if not (folder / name).is_file()
    ]
    if missing:
        message, hint = f"the English models lack {missing[0]}", "install calibrant-english again"
        raise FormatError(message, hint, code="file-missing", file=str(folder))
    return folder


def english_about() -> dict[str, str]:
    """Return the version of the English models, and descriptions of their training texts."""
    about: dict[str, str] = json.loads((english_folder() / ABOUT).read_text(encoding="utf-8"))
    return about


def load_english_parser(folder: Path | None = None) -> EnglishParser:
    """Load the parser of raw English text.

    Parameters
    ----------
    folder
        Folder of the models. None: that of calibrant-english.

    Raises
    ------
    MissingExtraError
        If calibrant-english or spaCy is not installed.

    Returns
    -------
    EnglishParser

    Examples
    --------
    >>> from calibrant.structures.documents import Document
    >>> parser = load_english_parser()
    >>> best, draws = parser.draws(Document("d", [["They", "saw", "her", "duck"]]), 10, tags=True)
    >>> best.trees[0].relations[0], len(draws)
    ('nsubj', 10)
    """
    from calibrant.structures.models.english import EnglishParser, Lemmas

    folder = english_folder() if folder is None else folder
    lemmas = json.loads((folder / LEMMAS).read_text(encoding="utf-8"))
    return EnglishParser(
        load_tagger(folder / SENTENCES),
        load_tagger(folder / TAGS),
        load_dependency_model(folder / TREES),
        Lemmas(lemmas["exceptions"], lemmas["endings"]),
    )
