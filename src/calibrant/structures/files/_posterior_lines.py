"""Lines of JSON with the antecedent distributions of a document: what a line says, checked piece by piece."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import repeated
from calibrant.exceptions import FormatError
from calibrant.structures.documents import Mention

Floats = NDArray[np.float64]

KEYS = ("doc", "mentions", "antecedents", "clusters")
NEEDED = KEYS[:3]
NEW = "new"
TOO_LARGE = 1 << 31


class Line(NamedTuple):
    """What a line holds; rows have an entry for each candidate in the window and one for a new entity."""

    name: str
    mentions: list[Mention]
    rows: list[Floats]
    clusters: list[str | None] | None


def parse_line(text: str, window: int | None) -> Line:
    """Read a line; errors do not know its file and number."""
    record = _record(text)
    name = record["doc"]
    if isinstance(name, bool) or not isinstance(name, str | int) or name == "":
        raise _broken(f"doc is {_short(name)}", "give the name of the document, a text")
    name = str(name)
    if any("\ud800" <= letter <= "\udfff" for letter in name):
        raise _broken(f"doc is {_short(name)}, half a character", "give the name of the document, a text")
    keys = KEYS[1:] if record.get("clusters") is not None else NEEDED[1:]
    for key in keys:
        if not isinstance(record[key], list):
            message = f"document {name!r}: {key} is {_short(record[key])}"
            raise _broken(message, "give a list, an entry a mention")
        if len(record[key]) != len(record["mentions"]):
            message = f"document {name!r} has {len(record['mentions'])} mentions and {len(record[key])} {key}"
            raise _broken(message, "give one a mention", "length")
    places = [f"document {name!r}, mention {number}" for number in range(len(record["mentions"]))]
    mentions = [_mention(value, place) for value, place in zip(record["mentions"], places, strict=True)]
    rows = [
        _row(value, number, window, place)
        for number, (value, place) in enumerate(zip(record["antecedents"], places, strict=True))
    ]
    clusters = record.get("clusters")
    if clusters is not None:
        clusters = [_entity(value, place) for value, place in zip(clusters, places, strict=True)]
    return Line(name, mentions, rows, clusters)


def format_line(name: str, mentions: Iterable[Mention], rows: Iterable[Floats], clusters: object) -> str:
    """Write a line: a row with zeros as pairs of index and probability, others as they are."""
    record: dict[str, Any] = {"doc": name, "mentions": [[int(at) for at in mention] for mention in mentions]}
    record["antecedents"] = [_formatted(number, np.asarray(row)) for number, row in enumerate(rows)]
    if clusters is not None:
        record["clusters"] = clusters
    return json.dumps(record, separators=(",", ":"))


def _formatted(number: int, row: Floats) -> list[Any]:
    first = number + 1 - len(row)  # what lies before the window has no entry
    if not first and row.all():
        return list(row.tolist())
    pairs = [[first + at, row[at].item()] for at in np.flatnonzero(row[:-1]).tolist()]
    return [*pairs, [NEW, row[-1].item()]]


def _broken(message: str, hint: str, code: str = "file-row") -> FormatError:
    return FormatError(message, hint, code=code)


def _short(value: object) -> str:
    """A value as JSON, cut where it is long."""
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:40]}..."


def _record(text: str) -> dict[str, Any]:
    try:
        record = json.loads(text, object_pairs_hook=_unique)
    except json.JSONDecodeError as error:
        message = f"this is no JSON ({error.msg.lower()} at character {error.colno})"
        raise _broken(message, "write one whole object a line") from None
    except (RecursionError, ValueError) as error:
        reason = (
            str(error) if isinstance(error, _RepeatedKeyError) else "nested too deep or a number too long"
        )
        raise _broken(f"this cannot be read: {reason}", "write one object a line") from None
    if not isinstance(record, dict):
        raise _broken(f"this is no object but {_short(record)}", "write one object a line")
    missing = [key for key in NEEDED if key not in record]
    for key in record:
        # A key that is not known is left alone, unless it is one that is missing, spelled wrongly.
        close = get_close_matches(key.lower(), [each for each in KEYS if each not in record], 1, 0.75)
        if key not in KEYS and close:
            raise _broken(f"there is no key {key!r}", f"did you mean {close[0]!r}?", "column")
    if missing:
        message = f"there is no key {missing[0]!r}"
        raise _broken(message, f"every line needs {', '.join(NEEDED)}", "column-missing")
    return record


class _RepeatedKeyError(ValueError):
    """A key is twice in an object."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        names = [key for key, _ in pairs]
        raise _RepeatedKeyError(f"the key {repeated(names)!r} is there twice")
    return record


def _mention(value: Any, place: str) -> Mention:
    if not isinstance(value, list) or len(value) != 3 or not all(type(at) is int for at in value):
        hint = "give [sentence, start, end], from 0, end exclusive; a mention lies in one sentence"
        raise _broken(f"{place} is {_short(value)}", hint)
    if max(value) >= TOO_LARGE:
        raise _broken(f"{place} is {_short(value)}", "count sentences and words from 0")
    return Mention(*value)


def _entity(value: Any, place: str) -> str | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, str | int)):
        raise _broken(f"{place} has the cluster {_short(value)}", "give a text, a number or null")
    return None if value is None else str(value)


def _row(value: Any, number: int, window: int | None, place: str) -> Floats:
    """Antecedent probabilities of a mention: of those in the window, in order, then of a new entity."""
    if not isinstance(value, list) or not value:
        hint = "give probabilities, or pairs of index and probability"
        raise _broken(f"{place} has the antecedents {_short(value)}", hint)
    if any(isinstance(entry, list) for entry in value):
        indices, scores = _pairs(value, number, place)
    elif len(value) == number + 1:
        indices, scores = list(range(number + 1)), value
    else:
        message = f"{place} has {len(value)} probabilities"
        hint = f"give {number + 1}: of each mention before it, in order, then of a new entity"
        raise _broken(message, hint, "length")
    first = 0 if window is None else max(0, number - window)
    given, at = _numbers(scores, place), np.array(indices)
    outside = np.flatnonzero((at < first) & (given != 0))
    if len(outside):
        message = f"{place}: antecedent {at[outside[0]]} lies outside the window of {window} mentions"
        raise _broken(message, "widen the window, or leave it out")
    row = np.zeros(number + 1)
    row[at] = given
    return row[first:]


def _numbers(scores: list[Any], place: str) -> Floats:
    if not set(map(type, scores)) <= {int, float}:
        wrong = next(score for score in scores if type(score) not in (int, float))
        raise _broken(f"{place}: a probability is {_short(wrong)}", "give numbers", "column-type")
    try:
        return np.array(scores, np.float64)
    except OverflowError:
        raise _broken(f"{place}: a probability is above 1", "give probabilities", "score-range") from None


def _pairs(entries: Sequence[Any], number: int, place: str) -> tuple[list[int], list[Any]]:
    """Indices and probabilities of a sparse row; a new entity has the mention's own number as index."""
    indices: list[int] = []
    for entry in entries:
        if not isinstance(entry, list) or len(entry) != 2:
            message = f"{place} has the antecedent {_short(entry)}"
            raise _broken(message, "give pairs of index and probability, or probabilities, not both")
        index = number if entry[0] == NEW else entry[0]
        if type(index) is not int or (entry[0] != NEW and not 0 <= index < number):
            message = f"{place} has the antecedent {_short(entry[0])}"
            earlier = f"a mention before it, 0 to {number - 1}, or {NEW!r}" if number else f"{NEW!r}"
            raise _broken(message, f"give {earlier}")
        indices.append(index)
    if len(set(indices)) < len(indices):
        twice = repeated(indices)
        message = f"{place} has the antecedent {json.dumps(NEW if twice == number else twice)} twice"
        raise _broken(message, "give its probability once")
    return indices, [entry[1] for entry in entries]
