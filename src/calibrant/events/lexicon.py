"""Lexicon of names of countries and organizations, and matching of names in sentences."""

from __future__ import annotations

import csv
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from io import StringIO
from pathlib import Path
from types import MappingProxyType
from typing import Literal, NamedTuple

from calibrant._checks import one_of
from calibrant.exceptions import InputError

DEFAULT = Path(__file__).with_name("lexicon.csv")
SHOWN = Path(__file__).with_name("country_names.csv")
SHORTEST_STEM = 4
REMEMBERED = 1 << 16
STEMMED = ("any", "capitalised")
NO_COUNTRY = "-"
ARROW = " -> "  # between the codes of an agent and its target
YES_NO = {"": False, "0": False, "1": True}

Stemmed = Literal["any", "capitalised"]


class Entry(NamedTuple):
    """Name with its code.

    Attributes
    ----------
    code
        ISO 3166 alpha-3 code of a country, or a code that begins with ``IGO`` for an organization. ``-``: the
        name is no country's, as New Mexico.
    name
        Name of one or several words.
    cased
        True if case matters, so that ``US`` does not match ``us``.
    line
        Line of its file, from 1; 0 without a file.
    """

    code: str
    name: str
    cased: bool = False
    line: int = 0


class Match(NamedTuple):
    """Name in a sentence: ``words[start:end]`` name ``code``."""

    start: int
    end: int
    code: str


class Conflict(NamedTuple):
    """Name with two codes in a lexicon; the first code is kept."""

    name: str
    kept: str
    dropped: str
    line: int


class Longer(NamedTuple):
    """Name of several words, in lower case unless it is cased."""

    first: str
    rest: tuple[str, ...]
    code: str
    cased: bool


class Lexicon:
    """Lexicon of names of countries and organizations.

    Names match without regard to case, the longest first. If a word matches no name, its last character and
    then its last two are removed ("Americans", "Israelis"); for a name of several words, those of the last
    word.

    Parameters
    ----------
    entries
        Names with their codes. Names with blanks, hyphens and apostrophes match every tokenization.
    stemmed
        ``"any"``: any word may be stemmed, as in the paper. ``"capitalised"``: only words that begin with a
        capital letter, so that "malice" does not match Mali.
    shortest_stem
        Smallest number of characters of a stem.

    Attributes
    ----------
    codes
        All codes, in the order of their first names.
    conflicts
        Names with two codes; the first code is kept.

    References
    ----------
    Nguyen and O'Connor (2015), appendix, section 3.

    Examples
    --------
    >>> lexicon = Lexicon([Entry("USA", "American"), Entry("KOR", "South Korea")])
    >>> lexicon.matches("The Americans left South Korea .".split())
    [Match(start=1, end=2, code='USA'), Match(start=3, end=5, code='KOR')]
    """

    def __init__(self, entries: Iterable[Entry], *, stemmed: Stemmed = "any", shortest_stem: int = 1) -> None:
        one_of(stemmed, STEMMED, "stemmed")
        self.stemmed = stemmed
        self.shortest_stem = shortest_stem
        self._words: dict[str, str] = {}
        self._known: dict[str, str | None] = {}  # cache of looked-up words
        self._cased: dict[str, str] = {}
        self._longer: dict[str, list[Longer]] = {}
        names: dict[tuple[bool, tuple[str, ...]], str] = {}
        codes: dict[str, None] = {}
        conflicts = []
        for entry in entries:
            if not entry.code.strip() or not _pieces(entry.name):
                message = f"an entry has the code {entry.code!r} and the name {entry.name!r}"
                raise InputError(
                    message, "give a code and a name", code="missing-value", line=entry.line or None
                )
            kept = self._add(entry, names)
            if entry.code != NO_COUNTRY:
                codes.setdefault(entry.code)
            if kept != entry.code:
                conflicts.append(Conflict(entry.name, kept, entry.code, entry.line))
        if not codes:
            raise InputError("the lexicon has no names", "give at least one", code="empty")
        for same_start in self._longer.values():
            same_start.sort(key=lambda name: (-len(name.rest), not name.cased, name.rest))
        self.codes = tuple(codes)
        self.conflicts = tuple(conflicts)

    def _add(self, entry: Entry, names: dict[tuple[bool, tuple[str, ...]], str]) -> str:
        """Add every tokenization of a name; return the code that the name already has."""
        kept = entry.code
        name = entry.name if entry.cased else entry.name.lower()
        for number, words in enumerate(filter(None, _cuts(name))):  # a lone hyphen leaves no word
            code = names.setdefault((entry.cased, words), entry.code)
            kept = code if number == 0 else kept
            if code != entry.code:
                continue
            if len(words) == 1:
                (self._cased if entry.cased else self._words)[words[0]] = code
                continue
            longer = Longer(words[0], words[1:], code, entry.cased)
            if longer not in (same_start := self._longer.setdefault(words[0].lower(), [])):
                same_start.append(longer)
        return kept

    def __len__(self) -> int:
        longer = sum(len(names) for names in self._longer.values())
        return len(self._words) + len(self._cased) + longer

    def code_of(self, word: str) -> str | None:
        """Return the code that one word names, or None.

        Parameters
        ----------
        word
            The word as written in the text.

        Examples
        --------
        >>> Lexicon([Entry("ISR", "Israel")]).code_of("ISRAELI")
        'ISR'
        """
        try:
            return self._known[word]
        except KeyError:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            listed = self._look_up(word)
            code = self._known[word] = None if listed == NO_COUNTRY else listed
            return code

    def _look_up(self, word: str) -> str | None:
        word = _plain(word)
        lower = word.lower()
        code = self._cased.get(word) or self._words.get(lower)
        if code is None:
            for stem in self._stems(word, lower):
                if stem in self._words:
                    return self._words[stem]
        return code

    def matches(self, words: Sequence[str]) -> list[Match]:
        """Return the names in a sentence, from left to right, without overlaps.

        Parameters
        ----------
        words
            Words of the sentence.
        """
        plain = [_plain(word) for word in words]
        lower = [word.lower() for word in plain]
        matches = []
        place = 0
        while place < len(words):
            match = self._longest(plain, lower, place) if lower[place] in self._longer else None
            if match is None and (code := self.code_of(words[place])) is not None:
                match = Match(place, place + 1, code)
            if match is not None and match.code != NO_COUNTRY:
                matches.append(match)
            place = place + 1 if match is None else match.end
        return matches

    def _longest(self, words: Sequence[str], lower: list[str], place: int) -> Match | None:
        for name in self._longer[lower[place]]:
            last = place + len(name.rest)
            if last >= len(words):
                continue
            if name.cased:
                if (words[place], *words[place + 1 : last + 1]) == (name.first, *name.rest):
                    return Match(place, last + 1, name.code)
                continue
            if tuple(lower[place + 1 : last]) != name.rest[:-1]:
                continue
            if lower[last] == name.rest[-1] or name.rest[-1] in self._stems(words[last], lower[last]):
                return Match(place, last + 1, name.code)
        return None

    def _stems(self, word: str, lower: str) -> Iterator[str]:
        if self.stemmed == "any" or word[:1].isupper():
            for cut in (1, 2):
                if len(lower) - cut >= self.shortest_stem:
                    yield lower[:-cut]


def _pieces(name: str) -> list[str]:
    return name.replace("_", " ").split()


def _plain(text: str) -> str:
    """Return a text with composed letters and straight apostrophes."""
    return text if text.isascii() else unicodedata.normalize("NFC", text).replace("’", "'")


def _cuts(name: str) -> Iterator[tuple[str, ...]]:
    """Yield a name's words, split at blanks, then also at hyphens and apostrophes."""
    whole = _plain(" ".join(_pieces(name)))
    yield tuple(whole.split())
    if "-" in whole:
        yield tuple(whole.replace("-", " - ").split())
        yield tuple(whole.replace("-", " ").split())
    if "'" in whole:
        yield tuple(whole.replace("'", "' ").split())
        yield tuple(whole.replace("'", " '").split())


def parse_lexicon(text: str, *, file: str | None = None) -> Lexicon:
    r"""Read a lexicon from text, in one of two formats.

    The first format is CSV with the columns ``code``, ``name`` and optionally ``cased`` (1: match the name's
    case). The second format is that of ``country_igos.txt``: a code, a tab and a name in each line, ``_`` for
    blanks, and headings that begin with ``===``.

    Parameters
    ----------
    text
        Content of the file.
    file
        Name of the file, for messages.

    Returns
    -------
    Lexicon
        A lexicon from CSV stems capitalized words only, to at least four characters. A lexicon from the other
        format stems any word, as in the paper.

    References
    ----------
    O'Connor, Stewart and Smith (2013), "Learning to extract international relations from political context",
    whose list is ``country_igos.txt``.

    Examples
    --------
    >>> lexicon = parse_lexicon("=== countrycode=ABW\nABW\tARUBA\nARE\tUNITED_ARAB_EMIRATES\n")
    >>> lexicon.matches("the united Arab Emirates".split())
    [Match(start=1, end=4, code='ARE')]
    >>> parse_lexicon("code,name,cased\nUSA,US,1\n").matches(["Let", "us", "leave", "the", "US"])
    [Match(start=4, end=5, code='USA')]
    """
    lines = text.splitlines()
    first = next((line for line in lines if line.strip()), "")
    if "\t" in first or first.startswith("==="):
        return _checked(_tabbed(lines, file), file, "any", 1)
    return _checked(_comma_separated(text, file), file, "capitalised", SHORTEST_STEM)


def _checked(entries: Iterator[Entry], file: str | None, stemmed: Stemmed, shortest: int) -> Lexicon:
    try:
        return Lexicon(entries, stemmed=stemmed, shortest_stem=shortest)
    except InputError as error:
        error.file = error.file or file
        raise


def _tabbed(lines: list[str], file: str | None) -> Iterator[Entry]:
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("==="):
            continue
        code, tab, name = line.partition("\t")
        if not tab:
            message = f"the line {line[:60]!r} has no tab"
            hint = "write a code, a tab and a name"
            raise InputError(message, hint, code="file-row", file=file, line=number)
        yield Entry(code.strip(), name.strip(), line=number)


def _comma_separated(text: str, file: str | None) -> Iterator[Entry]:
    rows = _rows(text, file)
    header = [name.strip() for name in next(rows, (1, []))[1]]
    missing = [name for name in ("code", "name") if name not in header]
    if missing:
        hint = f"the first line must name the columns code and name; it has {', '.join(header)[:60]!r}"
        message = f"there is no column {missing[0]!r}"
        raise InputError(message, hint, code="column-missing", file=file, line=1)
    for line, row in rows:
        if not any(row):
            continue
        if len(row) != len(header):
            message = f"the line has {len(row)} fields, not {len(header)}"
            raise InputError(message, "quote names with commas", code="file-row", file=file, line=line)
        fields = dict(zip(header, (value.strip() for value in row), strict=True))
        cased = fields.get("cased", "")
        if cased not in YES_NO:
            message = f"cased is {cased!r:.40}"
            raise InputError(
                message, "write 1 or 0", code="column-type", file=file, line=line, column="cased"
            )
        yield Entry(fields["code"], fields["name"], YES_NO[cased], line)


def _rows(text: str, file: str | None) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a CSV with the number of their last lines."""
    rows = csv.reader(StringIO(text, newline=""), strict=True)
    try:
        for row in rows:
            yield rows.line_num, row
    except csv.Error as error:
        reason = "there is text after a closing quote" if "expected after" in str(error) else str(error)
        message, hint = f"the file is not valid CSV ({reason})", "quote names with commas"
        raise InputError(message, hint, code="file-row", file=file, line=rows.line_num) from error


@cache
def default_lexicon() -> Lexicon:
    """Return the included lexicon: countries, their people, historical states, and some organizations.

    ``scripts/lexicon.py`` writes the lexicon from ISO 3166 (pycountry), Unicode CLDR (Babel) and calibrant's
    list of demonyms, historical states and organizations. Abbreviations match only in their written case. A
    name shared by several countries has one code: "Korean" is South Korea, "Congo" the Democratic Republic,
    and "Guinea" the republic of that name. Places such as New Mexico, Indiana and the Indian Ocean are no
    country. The lexicon has no capital cities, rulers or nicknames.

    Examples
    --------
    >>> lexicon = default_lexicon()
    >>> lexicon.matches("Soviet and East German troops let US forces pass".split())
    [Match(start=0, end=1, code='SUN'), Match(start=2, end=4, code='DDR'), Match(start=6, end=7, code='USA')]
    """
    return parse_lexicon(DEFAULT.read_text(encoding="utf-8"), file=DEFAULT.name)


@cache
def country_names() -> Mapping[str, str]:
    """Return one English display name for each code of `default_lexicon`.

    Names come from Unicode CLDR; states and organizations that CLDR lacks have names from calibrant's list.

    Examples
    --------
    >>> country_names()["CIV"], country_names()["IGONAT"]
    ('Côte d’Ivoire', 'NATO')
    """
    with SHOWN.open(encoding="utf-8", newline="") as file:
        return MappingProxyType({row["code"]: row["name"] for row in csv.DictReader(file)})


def display_name(code: str) -> str:
    """Return the display name of a code, or of a pair of codes; unknown codes are kept.

    Examples
    --------
    >>> display_name("IRQ"), display_name("USA -> IRQ"), display_name("X9")
    ('Iraq', 'United States -> Iraq', 'X9')
    """
    names = country_names()
    return ARROW.join(names.get(side, side) for side in code.split(ARROW))


def code_named(text: str) -> str | None:
    """Return the code of a country by its name or the name of its people, or None.

    Parameters
    ----------
    text
        Name in upper or lower case, or a pair of names with an arrow between them.

    Examples
    --------
    >>> code_named("iraq"), code_named("Americans"), code_named("nato"), code_named("Atlantis")
    ('IRQ', 'USA', 'IGONAT', None)
    >>> code_named("Israel -> Egypt")
    'ISR -> EGY'
    """
    sides = text.split(ARROW.strip())
    if len(sides) == 2:
        names = country_names()
        codes = [side if (side := given.strip().upper()) in names else code_named(given) for given in sides]
        return None if None in codes else ARROW.join(map(str, codes))
    folded = " ".join(text.split()).casefold()
    for code, name in country_names().items():
        if name.casefold() == folded:
            return code
    words = folded.title().split()
    return next(
        (name.code for name in default_lexicon().matches(words) if name.end - name.start == len(words)), None
    )
