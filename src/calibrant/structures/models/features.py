"""Features of a CRF: attributes of a word and its neighbors.

Every attribute is a function of one word at one offset. The score of a tag at a token is therefore a sum over
offsets of scores that are computed once per distinct word.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType

from calibrant.exceptions import InputError

FeatureFunction = Callable[[Sequence[str]], Sequence[Sequence[str]]]
Features = str | Sequence[str] | FeatureFunction

AROUND = (-2, -1, 1, 2)
OUTSIDE = "outside"
_AFFIXES = (1, 2, 3, 4)


class _Shapes(dict[int, str]):
    """Shape character of each character, computed on first use."""

    def __missing__(self, code: int) -> str:
        c = chr(code)
        kind = (
            "X" if c.isupper() else "x" if c.isalpha() else "d" if c.isdigit() else " " if c.isspace() else c
        )
        self[code] = kind
        return kind


_SHAPES = _Shapes({ord("\n"): "\n"})


class Words:
    """Words with cached values that several templates use.

    Parameters
    ----------
    text
        The words.

    Examples
    --------
    >>> Words(["So", "1st"]).shape
    ['Xx', 'dx']
    """

    def __init__(self, text: Sequence[str]) -> None:
        self.text = list(text)

    @cached_property
    def lower(self) -> list[str]:
        """Return the words in lower case."""
        return list(map(str.lower, self.text))

    @cached_property
    def shape(self) -> list[str]:
        """Return the shapes of words: X for capitals, x for other letters, d for digits, without repeats."""
        lines = "\n".join(
            word.replace("\n", " ") for word in self.text
        )  # joined, since one call is much faster
        shapes = lines.translate(_SHAPES)
        for kind in "Xxd":
            while kind + kind in shapes:
                shapes = shapes.replace(kind + kind, kind)
        return shapes.split("\n")


@dataclass(frozen=True)
class Template:
    """Kind of attribute.

    Attributes
    ----------
    name
        Name before the value in the attribute: ``"suffix3=ing"``.
    values
        Function of words that returns the attribute's value per word, or None. A value depends on one word
        only.
    offsets
        Offsets of the words relative to the token: 0 is the token, -1 the word before it.

    Examples
    --------
    >>> Template("last", lambda words: [word[-1:] for word in words.text]).values(Words(["so", "good"]))
    ['o', 'd']
    """

    name: str
    values: Callable[[Words], Sequence[str | None]]
    offsets: tuple[int, ...] = (0,)


def _prefix(length: int) -> Template:
    def values(words: Words) -> list[str | None]:
        return [word[:length] if len(word) >= length else None for word in words.lower]

    return Template(f"prefix{length}", values)


def _suffix(length: int) -> Template:
    def values(words: Words) -> list[str | None]:
        return [word[-length:] if len(word) >= length else None for word in words.lower]

    return Template(f"suffix{length}", values)


def _in_shape(name: str, mark: str) -> Template:
    """Return the template for words whose shape contains a mark."""
    return Template(name, lambda words: ["yes" if mark in shape else None for shape in words.shape])


def _capital(words: Words) -> list[str | None]:
    return ["yes" if shape[:1] == "X" else None for shape in words.shape]


def _length(words: Words) -> list[str]:
    return list(map(str, map(len, words.text)))


def _no_word(words: Words) -> list[None]:
    return [None] * len(words.text)


FEATURE_GROUPS: Mapping[str, tuple[Template, ...]] = MappingProxyType(
    {
        "word": (Template("word", lambda words: words.text),),
        "context": (
            Template("lower", lambda words: words.lower, AROUND),
            Template(OUTSIDE, _no_word, AROUND),  # its only value is for positions outside the sentence
        ),
        "lower": (Template("lower", lambda words: words.lower),),
        "shape": (
            Template("shape", lambda words: words.shape),
            Template("capital", _capital),
            _in_shape("digit", "d"),
            _in_shape("hyphen", "-"),
        ),
        "length": (Template("length", _length),),
        "prefixes": tuple(map(_prefix, _AFFIXES)),
        "suffixes": tuple(map(_suffix, _AFFIXES)),
    }
)
FEATURE_SETS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"basic": ("word",), "advanced": tuple(FEATURE_GROUPS)}
)


def feature_groups(features: str | Sequence[str]) -> tuple[str, ...]:
    """Return names of feature groups in the order of `FEATURE_GROUPS`.

    Parameters
    ----------
    features
        ``"basic"``, ``"advanced"``, or names of groups.

    Returns
    -------
    tuple of str

    Examples
    --------
    >>> feature_groups("basic"), feature_groups(["suffixes", "word"])
    (('word',), ('word', 'suffixes'))
    """
    names: tuple[object, ...]
    try:
        names = FEATURE_SETS.get(features, (features,)) if isinstance(features, str) else tuple(features)
    except TypeError:
        names = (features,)
    unknown = [name for name in names if not isinstance(name, str) or name not in FEATURE_GROUPS]
    if unknown or not names:
        message = f"there is no feature group {unknown[0]!r}" if unknown else "features is empty"
        hint = f"use one of {', '.join(FEATURE_SETS)}, some of {', '.join(FEATURE_GROUPS)}, or a function"
        raise InputError(message, hint, code="parameter")
    return tuple(name for name in FEATURE_GROUPS if name in names)


def merged_templates(groups: Sequence[str]) -> tuple[Template, ...]:
    """Return the templates of some groups; shared templates appear once, with all offsets."""
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
    """Return the attributes of each token as strings, in the form that python-crfsuite accepts.

    Use the lists for inspection and for other programs; `CRFTagger` does not build them to predict.

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

    Examples
    --------
    >>> attribute_lists([["Good", "day"]], ["word", "context"])[0][1]
    ['word=day', 'outside[-2]=', 'lower[-1]=good', 'outside[1]=', 'outside[2]=']
    """
    templates = merged_templates(feature_groups(features))
    offsets = sorted({offset for template in templates for offset in template.offsets})
    offsets.sort(key=bool)  # the word at offset 0 comes first
    lists = []
    for sentence in sentences:
        words = Words(sentence)
        columns = [(template, template.values(words)) for template in templates]
        tokens = range(len(sentence))
        lists.append([[name for o in offsets for name in _attributes(columns, t, o)] for t in tokens])
    return lists


def _attributes(
    columns: Sequence[tuple[Template, Sequence[str | None]]], token: int, offset: int
) -> list[str]:
    """Return the attributes of one token from the word at one offset."""
    place = f"[{offset}]" if offset else ""
    names = []
    for template, values in columns:
        if offset in template.offsets:
            inside = 0 <= token + offset < len(values)
            beyond = "" if template.name == OUTSIDE else None
            value = values[token + offset] if inside else beyond
            if value is not None:
                names.append(f"{template.name}{place}={value}")
    return names
