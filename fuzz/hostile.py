"""Values that readers get wrong: as text between separators, and as parts of JSON."""

from __future__ import annotations

import json
from itertools import islice
from random import Random
from typing import Any

HALVES = ("\ud800", "a\udfff", "\udc80b")
MOST_DEPTH = 3_000
MOST_PLACES = 3_000
FIELDS = (
    *("", " ", "_", "-", "*", "0", "-1", "1", "2", "1-2", "1.1", "2-1", "1.0", "0.5", "1e400", "-1e400"),
    *(
        "nan",
        "inf",
        "-0.0",
        "-0",
        "1e31",
        "1e-31",
        "1e17",
        "9" * 5_001,
        "1_0",
        "1e-320",
        "9223372036854775808",
        "9" * 400,
        "0x10",
        "null",
        "true",
    ),
    *("(1", "1)", "(1)", "(1|(2)", "(e1[1/2]", "(e1-person-1-1,2", "Entity=(1", "Entity=1)"),
    *("Number=Sing|Number=Sing", "[]", "{}", '"', '""', "'", "\\", "#", "\r", "\x00", "\x1b[2J"),
    *("\u0085", "\u2028", "\ufeff", "\u0663", "\u00a0", "e\u0301", "\U0001f600", "a" * 3_000),
    *("-DOCSTART-", "# newdoc id = a", "#begin document (a); part 000", "#end document", "# sent_id = 1"),
    *("# global.Entity = eid", "score", "label", "class", "p_a", "2020-02-30", "0000-00-00", "9999-12-31"),
)
NUMBERS: tuple[Any, ...] = (
    *(0, 1, -1, 2, 255, 256, 65_536, 2**31 - 1, 2**31, 2**32, 2**53 + 1, 2**63 - 1, 2**63, -(2**63) - 1),
    *(2**64, 10**30, 10**400, 0.5, 1.5, 1e-320, 1e308, -1e308, 1e15),
    *(-0.0, -0.0, 1e-31, 1e-30, 1e30, 1e31, 1e40, 1e17, 1e20),  # zeros with a sign, and odd weights
    *(float("nan"), float("inf"), float("-inf")),
)
VALUES: tuple[Any, ...] = (*NUMBERS, None, True, False, "", [], {}, [[]], {"": ""}, [None], {"a": []})


def field(random: Random) -> str:
    """Return a text between separators."""
    return random.choice(FIELDS)


def value(random: Random) -> Any:
    """A part of a JSON document."""
    kind = random.random()
    if kind < 0.7:
        return random.choice(VALUES)
    if kind < 0.95:
        return random.choice((*FIELDS, *HALVES, *HALVES))
    return [random.choice(VALUES) for _ in range(random.randrange(1, 40))]


def json_changed(found: Any, random: Random) -> Any:
    """A JSON document with one to three of its parts changed, in place where that can be."""
    for _ in range(random.choice((1, 1, 2, 3))):
        places = list(islice(_places(found), MOST_PLACES))
        if not places:
            return value(random)
        inside, key = random.choice(places)
        kind = random.randrange(6)
        if kind < 3:
            inside[key] = value(random)
        elif kind == 3:
            other, there = random.choice(places)
            inside[key] = json.loads(json.dumps(other[there]))  # a copy: no circles
        elif kind == 4:
            del inside[key]
        elif isinstance(inside, list):
            inside.insert(key, json.loads(json.dumps(inside[key])))
        else:
            inside[random.choice((*inside, field(random)))] = value(random)
    return found


def json_text(found: Any, random: Random) -> str:
    """JSON as writers write it, and now and then as they do not."""
    text = json.dumps(found, ensure_ascii=random.random() < 0.8, separators=random.choice(((",", ":"), None)))
    kind = random.random()
    if kind < 0.02:
        text = "[" * MOST_DEPTH + text
    elif kind < 0.04:
        text = text.replace("1", "1" * random.choice((30, 400, 5_000)), 1)
    elif kind < 0.06:
        text = text.replace("0.", "1e400", 1)
    return text


def _places(found: Any) -> Any:
    """Every (container, key) inside a JSON document."""
    todo = [found]
    while todo:
        each = todo.pop()
        if isinstance(each, dict | list):
            keys = list(each) if isinstance(each, dict) else range(len(each))
            for key in keys:
                yield each, key
                todo.append(each[key])
