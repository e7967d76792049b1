"""Lexicons of countries and organisations, from files."""

from __future__ import annotations

import os

from calibrant.events.lexicon import Lexicon, parse_lexicon
from calibrant.io.text import read_lines


def read_lexicon(path: str | os.PathLike[str]) -> Lexicon:
    r"""Read a lexicon: a CSV with the columns ``code`` and ``name``, or a list like ``country_igos.txt``.

    Parameters
    ----------
    path
        A text in UTF-8; ``.gz`` too. The formats are those of `calibrant.events.parse_lexicon`.

    Returns
    -------
    Lexicon
        Its ``conflicts`` are names with two codes, of which the first is kept.

    Raises
    ------
    InputError
        If there is no such file, or a line has not a code and a name.
    FormatError
        If it is no text in UTF-8.

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
