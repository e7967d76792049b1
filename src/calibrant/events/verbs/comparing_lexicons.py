"""Comparison of two lexicons of countries on the same documents."""

from __future__ import annotations

import os
from collections import Counter

from calibrant.events.files.dated import iter_dated
from calibrant.events.files.lexicons import read_lexicon
from calibrant.events.lexicon import Lexicon, default_lexicon
from calibrant.events.results.reading import ComparedLexicons, NameDifference
from calibrant.events.verbs.worker import models_of, text_parser, words_of
from calibrant.progress import Progress

SHIPPED = "default"


def compare_lexicons(
    documents: str | os.PathLike[str],
    second: str | os.PathLike[str],
    *,
    first: str | os.PathLike[str] | None = None,
    parser: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> ComparedLexicons:
    r"""Compare the names that two lexicons find in documents.

    Parameters
    ----------
    documents
        Path, as in `calibrant.events.extract_events`. The documents are not parsed.
    second
        Path of the second lexicon, as for `calibrant.events.read_lexicon`.
    first
        Lexicon to compare the second with. None: the included lexicon.
    parser
        spaCy pipeline (path or name) that splits raw text into words. None: calibrant-english.
    progress
        Called with a stage, the number of documents done, and their total (None if unknown).

    Returns
    -------
    ComparedLexicons
        Counts of names by agreement. Two names are the same only if their words are: "South Korea" and
        "Korea" are two names, each found by one lexicon.

    References
    ----------
    Nguyen and O'Connor (2015), appendix, section 3, whose lexicon is ``country_igos.txt``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from calibrant.data import dated_documents
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     own = Path(folder, "own.csv")
    ...     _ = own.write_text("code,name\nPER,Peruvian\n")
    ...     comparison = compare_lexicons(dated_documents(), own)
    >>> comparison.same > 0, comparison.only_second
    (True, 0)
    """
    lexicons = (default_lexicon() if first is None else read_lexicon(first)), read_lexicon(second)
    named = models_of(documents, parser, None)[0]
    loaded = None if named is None else text_parser(named)
    times: Counter[tuple[str, str | None, str | None]] = Counter()
    read = 0
    for item in iter_dated(documents, progress=progress):
        read += 1
        for words in words_of(item, loaded):
            times.update(_read(words, *lexicons))
    differences = [key for key in times if key[1] != key[2]]
    differences.sort(key=lambda key: (-times[key], key[0]))

    def total(kept: list[tuple[str, str | None, str | None]]) -> int:
        return sum(times[key] for key in kept)

    return ComparedLexicons(
        source=os.fspath(documents),
        first=SHIPPED if first is None else os.fspath(first),
        second=os.fspath(second),
        documents=read,
        same=total([key for key in times if key[1] == key[2]]),
        other_code=total([key for key in differences if None not in key]),
        only_first=total([key for key in differences if key[2] is None]),
        only_second=total([key for key in differences if key[1] is None]),
        differences=tuple(
            NameDifference(words=key[0], first=key[1], second=key[2], times=times[key]) for key in differences
        ),
    )


def _read(words: list[str], first: Lexicon, second: Lexicon) -> list[tuple[str, str | None, str | None]]:
    """Return each name of a sentence with its code in both lexicons."""
    one, other = ({(name.start, name.end): name.code for name in of.matches(words)} for of in (first, second))
    return [
        (" ".join(words[start:end]).lower(), one.get((start, end)), other.get((start, end)))
        for start, end in sorted(one.keys() | other.keys())
    ]
