"""Display names of a store's countries, and lookup by name."""

from __future__ import annotations

from collections.abc import Sequence

from calibrant.events.lexicon import ARROW, code_named, country_names, display_name
from calibrant.exceptions import InputError

LONGEST_NAME = 100
SHOWN = 5


def nouns_of(codes: Sequence[str]) -> tuple[str, str]:
    """Return the words for one and for several of the codes: a lexicon of parties has no countries.

    Examples
    --------
    >>> nouns_of(["IRQ", "USA"]), nouns_of(["USA -> IRQ"]), nouns_of(["Labour"])
    (('country', 'countries'), ('pair', 'pairs'), ('actor', 'actors'))
    """
    if any(ARROW in code for code in codes):
        return "pair", "pairs"
    known = country_names()
    return ("country", "countries") if all(code in known for code in codes) else ("actor", "actors")


def by_name(codes: Sequence[str]) -> list[str]:
    return sorted(codes, key=lambda code: (display_name(code).casefold(), code))


def find(given: str, codes: Sequence[str]) -> str:
    """Return the code for a code, a name, a part of a name, or the name of a people.

    Parameters
    ----------
    given
        Text in upper or lower case.
    codes
        Codes of the store.

    Raises
    ------
    InputError
        If the text fits no code, or several.

    Examples
    --------
    >>> find("iraq", ["IRQ", "USA"]), find("Americans", ["IRQ", "USA"]), find("states", ["IRQ", "USA"])
    ('IRQ', 'USA', 'USA')
    """
    text = " ".join(given[:LONGEST_NAME].split())
    if given in codes:
        return given
    if text.upper() in codes:
        return text.upper()
    if (named := code_named(text)) in codes:
        return str(named)
    part = text.casefold()
    matches = [code for code in codes if part and part in display_name(code).casefold()]
    if len(matches) == 1:
        return matches[0]
    if matches:
        several = ", ".join(f"{display_name(code)} ({code})" for code in by_name(matches)[:SHOWN])
        raise InputError(f"{text!r:.40} may be {several}", "give one of the codes", code="parameter")
    hint = "choose a country of the overview"
    raise InputError(f"the store has no document of {given!r:.20}", hint, code="parameter")
