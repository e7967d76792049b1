"""Lexicons of countries and organisations, from files."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

from calibrant.events.lexicon import Lexicon, parse_lexicon
from calibrant.exceptions import FormatError, InputError


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
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "own.csv").write_text("code,name\nATL,Atlantis\n", encoding="utf-8")
    ...     read_lexicon(f"{folder}/own.csv").code_of("Atlantis")
    'ATL'
    """
    name = os.fspath(path)
    try:
        data = Path(name).read_bytes()
        text = (gzip.decompress(data) if name.endswith(".gz") else data).decode("utf-8-sig")
    except (gzip.BadGzipFile, EOFError) as error:
        raise FormatError("the file is no whole gzip file", "pack it again", file=name) from error
    except OSError as error:
        reason = "no such file" if isinstance(error, FileNotFoundError) else (error.strerror or str(error))
        raise InputError(reason.lower(), "check the path", code="file-missing", file=name) from error
    except UnicodeDecodeError as error:
        raise FormatError("this is no text in UTF-8", "save it as UTF-8", file=name) from error
    return parse_lexicon(text, file=name)
