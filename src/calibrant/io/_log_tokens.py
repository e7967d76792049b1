"""Probabilities of answers from the most likely tokens that a model interface reports at one place."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, fsum
from typing import Any

from calibrant._checks import shown
from calibrant.exceptions import InputError

ROUNDING = 1e-3
NEAR = 9  # tokens before an answer that announce it
ANNOUNCED = re.compile(r"answer( is)?\W*$", re.IGNORECASE)
MOST = 1.01  # that the listed tokens may have together: they are rounded


@dataclass(frozen=True)
class Answered:
    """Probabilities of the options from the tokens at the place of the answer.

    Attributes
    ----------
    values
        Probability of each option, adding up to one over the options.
    listed
        Total probability of the listed tokens of the options, before normalization.
    unlisted
        Options that are not among the listed tokens.
    named
        The different options that tokens of the answer are, in order.
    """

    values: list[float]
    listed: float
    unlisted: int
    named: tuple[str, ...]


def chat_tokens(logprobs: Any) -> list[tuple[str, float, list[tuple[str, float]]]]:
    """Tokens of a chat completion: each with its log-probability and the likeliest ones at its place."""
    found = []
    for each in logprobs.get("content") or []:
        top = [(str(one["token"]), one["logprob"]) for one in each.get("top_logprobs") or []]
        found.append((str(each["token"]), each["logprob"], top))
    return found


def completion_tokens(logprobs: Any) -> list[tuple[str, float, list[tuple[str, float]]]]:
    """Return the tokens of the older completions format, whose fields are parallel lists."""
    tokens, values = logprobs["tokens"], logprobs["token_logprobs"]
    tops = logprobs.get("top_logprobs") or [{}] * len(tokens)
    return [
        (str(token), value, list((top or {}).items()))
        for token, value, top in zip(tokens, values, tops, strict=True)
    ]


def answered(
    tokens: Sequence[tuple[str, float, list[tuple[str, float]]]],
    options: Sequence[str],
    *,
    recorded: str | None = None,
    last: bool = False,
) -> Answered | None:
    """Probabilities of options at the first token that is one of them; None without one.

    With a ``recorded`` answer, only tokens that are this answer count. With ``last``, the last token counts,
    or that after the word "answer" if there is one.

    Blanks around a token are ignored, and case unless two options differ only in case. A single letter in
    another case (the article "a") names an option only if no other token does. A log-probability such as
    -9999, with which interfaces mark a token beyond the listed ones, counts as not listed. Options that are
    not listed share the remaining probability, each at most that of the least probable listed token; None if
    no option is listed.

    Raises
    ------
    InputError
        If a log-probability is above 0 or no number, or the tokens have more than 1 together.

    Examples
    --------
    >>> found = answered([(" B", -0.1, [(" B", -0.1), ("A", -2.5), (" C", -5.0)])], ["A", "B", "C"])
    >>> [round(value, 3) for value in found.values], round(found.listed, 3), found.unlisted
    ([0.083, 0.911, 0.007], 0.994, 0)
    """
    key: Callable[[str], str] = str if len(set(map(str.casefold, options))) < len(options) else str.casefold
    known = {key(option): option for option in options}
    texts = [token.strip() for token, _, _ in tokens]
    places = {place: known[key(text)] for place, text in enumerate(texts) if key(text) in known}
    clear = {place: name for place, name in places.items() if len(name) > 1 or name == texts[place]}
    if not (places := clear or places):
        return None
    named = [place for place, name in places.items() if recorded in (None, name)]
    if not named:
        return None
    if last:
        before = ("".join(text for text, _, _ in tokens[max(0, place - NEAR) : place]) for place in named)
        announced = [place for place, text in zip(named, before, strict=True) if ANNOUNCED.search(text)]
        named = (announced or named)[-1:]
    token, value, top = tokens[named[0]]
    listed = {name: _probability(each, name) for name, each in top}
    listed.setdefault(token, _probability(value, token))
    together = fsum(listed.values())
    if together > MOST:
        message = f"the tokens listed at the answer have probabilities that sum to {together:.2f}"
        raise InputError(message, "drop the sample or repair it", code="score-range")
    listed = {name: probability for name, probability in listed.items() if probability}
    sums = dict.fromkeys(known, 0.0)
    for name, probability in listed.items():
        if (option := key(name.strip())) in sums:
            sums[option] += probability
    return _shared(sums, listed, tuple(dict.fromkeys(places.values()))) if any(sums.values()) else None


def _shared(sums: dict[str, float], listed: Mapping[str, float], named: tuple[str, ...]) -> Answered:
    absent = [option for option, value in sums.items() if not value]
    known = fsum(sums.values())
    if absent:
        left = max(0.0, 1 - fsum(listed.values()))
        each = min(left / len(absent), min(listed.values()))
        sums.update(dict.fromkeys(absent, each))
    total = fsum(sums.values())
    return Answered([value / total for value in sums.values()], min(1.0, known), len(absent), named)


def _probability(value: Any, token: str) -> float:
    try:
        number = float("nan") if isinstance(value, (bool, str)) or value is None else float(value)
    except OverflowError:
        number = float("nan")
    if not number <= ROUNDING:
        message = f"the log-probability {shown(value)} of the token {shown(token)} is not 0 or less"
        raise InputError(message, "drop the sample or repair it", code="score-range")
    return min(1.0, exp(number))
