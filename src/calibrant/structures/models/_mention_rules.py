"""Gender and number of a noun phrase from its words and its head's features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from calibrant.structures.models import _mention_words as lists
from calibrant.structures.models._mention_words import Gender, Number

_FEATURE_GENDERS: dict[str, Gender] = {"Masc": "masculine", "Fem": "feminine", "Neut": "neuter"}
_FEATURE_NUMBERS: dict[str, Number] = {"Sing": "singular", "Plur": "plural", "Ptan": "plural"}


def gender_of(lower: Sequence[str], head: int, is_proper: bool, features: Mapping[str, str]) -> Gender:
    """Gender of a noun phrase that is no pronoun; ``lower`` are its words in lower case."""
    if features.get("Gender") in _FEATURE_GENDERS:
        return _FEATURE_GENDERS[features["Gender"]]
    word = lower[head]
    named = _gender_of_name(lower[: head + 1]) if is_proper else None
    if named is not None:
        return named
    if word in lists.MALE_NOUNS or word.endswith(("sman", "rman", "yman", "eman", "dman", "kman", "tman")):
        return "masculine"
    if word in lists.FEMALE_NOUNS or word.endswith(("woman", "women")):
        return "feminine"
    if word in lists.PERSON_NOUNS or word.endswith((*lists.PERSON_SUFFIXES, "men")):
        return "person"
    if not is_proper and word.endswith(lists.NEUTER_SUFFIXES):
        return "neuter"
    return "unknown"


def _gender_of_name(lower: Sequence[str]) -> Gender | None:
    for word in lower:
        if word in lists.MALE_TITLES or word in lists.MALE_NAMES:
            return "masculine"
        if word in lists.FEMALE_TITLES or word in lists.FEMALE_NAMES:
            return "feminine"
        if word in ("uncle", "father", "brother", "count", "baron"):
            return "masculine"
        if word in ("aunt", "mother", "sister", "countess"):
            return "feminine"
    return "person" if lower[0] in lists.PERSON_TITLES else None


def number_of(lower: Sequence[str], head: int, is_proper: bool, features: Mapping[str, str]) -> Number:
    """Number of a noun phrase that is no pronoun."""
    if _is_coordination(lower, head):
        return "plural"
    if features.get("Number") in _FEATURE_NUMBERS:
        return _FEATURE_NUMBERS[features["Number"]]
    if lower[0] in lists.PLURAL_DETERMINERS:
        return "plural"
    if lower[0] in lists.SINGULAR_DETERMINERS:
        return "singular"
    if is_proper:
        return "plural" if lower[0] == "the" and is_plural(lower[head]) else "singular"
    return "plural" if is_plural(lower[head]) else "singular"


def _is_coordination(lower: Sequence[str], head: int) -> bool:
    """Whether another phrase is joined to the head: *Tom and his aunt*, not *the king of A and B*."""
    for place in range(head + 1, len(lower) - 1):
        if lower[place] in ("and", "&"):
            return True
        if lower[place] in lists.PREPOSITIONS or (lower[place] in lists.BREAKS and lower[place] != ","):
            return False
    return False


def is_plural(lower: str) -> bool:
    """Whether a word looks like a plural."""
    if lower in lists.IRREGULAR_PLURALS:
        return True
    if lower in lists.SINGULARS_IN_S or len(lower) < 4:
        return False
    return lower.endswith("s") and not lower.endswith(("ss", "us", "is", "'s", "’s"))
