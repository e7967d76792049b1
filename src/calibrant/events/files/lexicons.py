"""Lexicons of countries and organizations from files."""

from __future__ import annotations

import os

from calibrant.events.lexicon import Lexicon, parse_lexicon
from calibrant.io.text import read_lines


def read_lexicon(path: str | os.PathLike[str]) -> Lexicon:
    r"""Read a lexicon: a CSV with the columns ``code`` and ``name``, or a list like ``country_igos.txt``.

    Parameters
    ----------
    path
        UTF-8 text, with or without ``.gz``, in a format of `calibrant.events.parse_lexicon`.

    Returns
    -------
    Lexicon
        Lexicon; ``conflicts`` lists names with two codes, of which the first is kept.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "own.csv").write_text("code,name\nATL,Atlantis\n", encoding="utf-8")
    ...     read_lexicon(f"{folder}/own.csv").code_of("Atlantis")
    'ATL'
    """
    name, lines = read_lines(path)
    return parse_lexicon("\n".join(lines), file=name)
