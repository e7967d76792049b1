"""What a CRF looks at: attributes of a word, and of the words around it.

Every attribute is a function of one word at one offset, so that the score of a tag at a token is a sum over
offsets of scores that each distinct word has once and for all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from calibrant.exceptions import InputError

FeatureFunction = Callable[[Sequence[str]], Sequence[Sequence[str]]]
Features = str | Sequence[str] | FeatureFunction

AROUND = (-2, -1, 1, 2)
LONGEST_AFFIX = 4
OUTSIDE = "outside"
_RUN = re.compile(r"(.)\1+", re.DOTALL)


@dataclass(frozen=True)
class Template:
    """One kind of attribute.

    Attributes
    ----------
    name
        Stands before the value in the attribute: ``"suffix3=ing"``.
    value
        Takes a word, returns the attribute's value; None: the word has no such attribute.
    offsets
        Which words are looked at, relative to the token: 0 is the token itself, -1 the word before it.

    Examples
    --------
    >>> Template("last", lambda word: word[-1:], (0, 1)).value("good")
    'd'
    """

    name: str
    value: Callable[[str], str | None]
    offsets: tuple[int, ...] = (0,)


def word_shape(word: str) -> str:
    """Shape of a word: X for capitals, x for other letters, d for digits, runs cut to one.

    Parameters
    ----------
    word
        Any string.

    Returns
    -------
    str

    Examples
    --------
    >>> word_shape("McDonald's"), word_shape("1,000-fold"), word_shape("@you")
    ("XxXx'x", 'd,d-x', '@x')
    """
    kinds = "".join("X" if c.isupper() else "x" if c.isalpha() else "d" if c.isdigit() else c for c in word)
    return _RUN.sub(r"\1", kinds)


def _flag(holds: Callable[[str], bool]) -> Callable[[str], str | None]:
    return lambda word: "yes" if holds(word) else None


def _prefix(length: int) -> Callable[[str], str | None]:
    return lambda word: word[:length].lower() if len(word) >= length else None


def _suffix(length: int) -> Callable[[str], str | None]:
    return lambda word: word[-length:].lower() if len(word) >= length else None


def _itself(word: str) -> str:
    return word


def _nothing(word: str) -> None:
    """No word lies outside the sentence."""


_AFFIXES = range(1, LONGEST_AFFIX + 1)
FEATURE_GROUPS: Mapping[str, tuple[Template, ...]] = MappingProxyType(
    {
        "word": (Template("word", _itself),),
        "context": (Template("lower", str.lower, AROUND), Template(OUTSIDE, _nothing, AROUND)),
        "lower": (Template("lower", str.lower),),
        "shape": (
            Template("shape", word_shape),
            Template("capital", _flag(lambda word: word[:1].isupper())),
            Template("digit", _flag(lambda word: any(map(str.isdigit, word)))),
            Template("hyphen", _flag(lambda word: "-" in word)),
        ),
        "length": (Template("length", lambda word: str(len(word))),),
        "prefixes": tuple(Template(f"prefix{length}", _prefix(length)) for length in _AFFIXES),
        "suffixes": tuple(Template(f"suffix{length}", _suffix(length)) for length in _AFFIXES),
    }
)
FEATURE_SETS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"basic": ("word",), "advanced": tuple(FEATURE_GROUPS)}
)


def feature_groups(features: str | Sequence[str]) -> tuple[str, ...]:
    """Names of the feature groups that are meant, in the order of `FEATURE_GROUPS`.

    Parameters
    ----------
    features
        ``"basic"``, ``"advanced"``, or names of groups.

    Returns
    -------
    tuple of str

    Raises
    ------
    InputError
        If a name is unknown, or there is none.

    Examples
    --------
    >>> feature_groups("basic"), feature_groups(["suffixes", "word"])
    (('word',), ('word', 'suffixes'))
    """
    if isinstance(features, str):
        names: tuple[object, ...] = FEATURE_SETS.get(features, (features,))
    else:
        names = tuple(features)
    unknown = [name for name in names if not isinstance(name, str) or name not in FEATURE_GROUPS]
    if unknown or not names:
        found = f"there are no features {unknown[0]!r}" if unknown else "features is empty"
        hint = f"use one of {', '.join(FEATURE_SETS)}, some of {', '.join(FEATURE_GROUPS)}, or a function"
        raise InputError(found, hint, code="parameter")
    return tuple(name for name in FEATURE_GROUPS if name in names)


def merged_templates(groups: Sequence[str]) -> tuple[Template, ...]:
    """Templates of some groups; those that groups share appear once, with the offsets of all."""
    merged: dict[str, Template] = {}
    for group in groups:
        for template in FEATURE_GROUPS[group]:
            before = merged.get(template.name, replace(template, offsets=()))
            offsets = tuple(sorted({*before.offsets, *template.offsets}))
            merged[template.name] = replace(template, offsets=offsets)
    return tuple(merged.values())


def attribute_lists(
    sentences: Sequence[Sequence[str]], features: str | Sequence[str] = "advanced"
) -> list[list[list[str]]]:
    """Attributes of each token as strings, such as python-crfsuite takes them.

    This is for looking at, and for other programs: `CRFTagger` never builds these lists to predict.

    Parameters
    ----------
    sentences
        Tokens of each sentence.
    features
        ``"basic"``, ``"advanced"``, or names of groups of `FEATURE_GROUPS`.

    Returns
    -------
    list of list of list of str
        Attributes of each token of each sentence: ``"word=The"``, ``"lower[-1]=the"``, ``"outside[-2]="``.

    Raises
    ------
    InputError
        If a feature set or group is unknown.

    Examples
    --------
    >>> attribute_lists([["Good", "day"]], ["word", "context"])[0][1]
    ['word=day', 'outside[-2]=', 'lower[-1]=good', 'outside[1]=', 'outside[2]=']
    """
    templates = merged_templates(feature_groups(features))
    offsets = sorted({offset for template in templates for offset in template.offsets})
    ordered = sorted(offsets, key=lambda offset: (offset != 0, offset))
    return [
        [
            [name for o in ordered for name in _attributes(templates, sentence, t, o)]
            for t in range(len(sentence))
        ]
        for sentence in sentences
    ]


def _attributes(templates: Sequence[Template], sentence: Sequence[str], token: int, offset: int) -> list[str]:
    """Attributes of one token that come from the word at one offset."""
    inside = 0 <= token + offset < len(sentence)
    place = f"[{offset}]" if offset else ""
    names = []
    for template in templates:
        if offset in template.offsets:
            value = template.value(sentence[token + offset]) if inside else None
            if template.name == OUTSIDE and not inside:
                value = ""
            if value is not None:
                names.append(f"{template.name}{place}={value}")
    return names
