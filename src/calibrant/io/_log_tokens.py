"""Probabilities of answers from the most likely tokens that a model interface reports at one place."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
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
    tokens = []
    for token in logprobs.get("content") or []:
        top = [(str(one["token"]), one["logprob"]) for one in token.get("top_logprobs") or []]
        tokens.append((str(token["token"]), token["logprob"], top))
    return tokens


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
    """Return the probabilities of options at the first token that is one of them; None without one.

    With a ``recorded`` answer, only tokens that are this answer count. With ``last``, the last token counts,
    or that after the word "answer" if there is one.

    Options that are not listed share the remaining probability; None if no option is listed.

    Examples
    --------
    >>> answer = answered([(" B", -0.1, [(" B", -0.1), ("A", -2.5), (" C", -5.0)])], ["A", "B", "C"])
    >>> [round(value, 3) for value in answer.values], round(answer.listed, 3), answer.unlisted
    ([0.083, 0.911, 0.007], 0.994, 0)
    """
    # Case is ignored unless two options differ only in case.
    key: Callable[[str], str] = str if len(set(map(str.casefold, options))) < len(options) else str.casefold
    known = {key(option): option for option in options}
    texts = [token.strip() for token, _, _ in tokens]
    places = {place: known[key(text)] for place, text in enumerate(texts) if key(text) in known}
    # A single letter in another case (the article "a") names an option only if no other token does.
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
    listed = {name: _probability(log_probability, name) for name, log_probability in top}
    listed.setdefault(token, _probability(value, token))
    together = fsum(listed.values())
    if together > MOST:
        message = f"the tokens listed at the answer have probabilities that sum to {together:.2f}"
        raise InputError(message, "drop the sample or repair it", code="score-range")
    # Interfaces mark tokens beyond the listed ones by a log-probability such as -9999.
    listed = {name: probability for name, probability in listed.items() if probability}
    sums = dict.fromkeys(known, 0.0)
    for name, probability in listed.items():
        if (option := key(name.strip())) in sums:
            sums[option] += probability
    if not any(sums.values()):
        return None
    absent = [option for option, probability in sums.items() if not probability]
    reported = fsum(sums.values())
    if absent:
        # An option that is not listed is no likelier than the least likely token that is.
        left = max(0.0, 1 - fsum(listed.values()))
        sums.update(dict.fromkeys(absent, min(left / len(absent), min(listed.values()))))
    total = fsum(sums.values())
    return Answered(
        [probability / total for probability in sums.values()],
        min(1.0, reported),
        len(absent),
        tuple(dict.fromkeys(places.values())),
    )


def _probability(value: Any, token: str) -> float:
    try:
        number = float("nan") if isinstance(value, (bool, str)) or value is None else float(value)
    except OverflowError:
        number = float("nan")
    if not number <= ROUNDING:
        message = f"the log-probability {shown(value)} of the token {shown(token)} is not 0 or less"
        raise InputError(message, "drop the sample or repair it", code="score-range")
    return min(1.0, exp(number))
