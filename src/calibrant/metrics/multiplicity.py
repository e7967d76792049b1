"""Many tests at once: adjusted p-values, and groups of what the tests do not distinguish."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from string import ascii_letters
from typing import Literal, get_args

import numpy as np

from calibrant import _checks
from calibrant.exceptions import InputError

Adjustment = Literal["holm", "benjamini-hochberg", "benjamini-yekutieli"]


def adjusted_p_values(p_values: Sequence[float | None], method: Adjustment = "holm") -> list[float | None]:
    """Adjust p-values of many comparisons, so that each can be held against the level itself.

    Parameters
    ----------
    p_values
        Each in [0, 1]; None where it is undefined, which stays and does not count.
    method
        ``holm``: the probability of at least one false finding is at most the level, for any dependence.
        ``benjamini-hochberg``: the expected proportion of false findings among the findings is at most the
        level, for independent or positively dependent p-values. ``benjamini-yekutieli``: the same for any
        dependence.

    References
    ----------
    .. [1] Holm (1979). A simple sequentially rejective multiple test procedure. Scandinavian Journal of
       Statistics 6, 65-70.
    .. [2] Benjamini and Hochberg (1995). Controlling the false discovery rate. Journal of the Royal
       Statistical Society B 57, 289-300.
    .. [3] Benjamini and Yekutieli (2001). The control of the false discovery rate in multiple testing under
       dependency. Annals of Statistics 29, 1165-1188.

    Examples
    --------
    >>> adjusted_p_values([0.01, None, 0.04])
    [0.02, None, 0.04]
    """
    _checks.one_of(method, get_args(Adjustment), "method")
    if not _checks.is_list(p_values):
        raise InputError(f"p_values is {_checks.shown(p_values)}", "pass a list of numbers", code="parameter")
    known = [place for place, value in enumerate(p_values) if value is not None]
    p = np.array([p_values[place] for place in known], np.float64)
    bad = np.flatnonzero(~((p >= 0) & (p <= 1)))
    if len(bad):
        message = f"p_values[{known[bad[0]]}] is {p[bad[0]]!r}"
        raise InputError(message, "p-values are in [0, 1]", code="parameter")
    order = np.argsort(p)
    rank = np.arange(1, len(p) + 1)
    if method == "holm":
        adjusted = np.maximum.accumulate((len(p) + 1 - rank) * p[order])
    else:
        factor = len(p) if method == "benjamini-hochberg" else len(p) * np.sum(1 / rank)
        adjusted = np.minimum.accumulate((factor / rank * p[order])[::-1])[::-1]
    result: list[float | None] = [None] * len(p_values)
    for place, value in zip(order.tolist(), np.minimum(adjusted, 1).tolist(), strict=True):
        result[known[place]] = value
    return result


def groups_not_distinguishable(names: Sequence[str], different: Collection[frozenset[str]]) -> list[str]:
    """Return letters of groups: two names share a letter exactly if they are not in ``different``.

    Each pair that is in no group so far starts one, to which names are added in order while they fit.

    Parameters
    ----------
    names
        Names, in order.
    different
        Pairs of names that are distinguishable.

    References
    ----------
    Gramm and others (2007), "Algorithms for compact letter displays: comparison and evaluation",
    Computational Statistics & Data Analysis 52: letters are a cover of the pairs by cliques.

    Examples
    --------
    >>> groups_not_distinguishable(["a", "b", "c"], {frozenset("ac")})
    ['A', 'AB', 'B']
    """
    alike = ~np.array([[frozenset((one, other)) in different for other in names] for one in names], bool)
    covered, groups = np.zeros_like(alike), []
    for one, other in zip(*np.nonzero(np.triu(alike)), strict=True):
        if covered[one, other]:
            continue
        group, open_ = [int(one), int(other)] if one != other else [int(one)], alike[one] & alike[other]
        open_[group] = False
        while open_.any():
            group.append(int(open_.argmax()))
            open_ &= alike[group[-1]]
            open_[group] = False
        covered[np.ix_(group, group)] = True
        groups.append(sorted(group))
    groups.sort()
    return [
        "".join(letter(number) for number, group in enumerate(groups) if place in group)
        for place in range(len(names))
    ]


def letter(number: int) -> str:
    """Return the letter of a group; small letters come after Z, and letters with a number after z.

    Examples
    --------
    >>> letter(0), letter(25), letter(26), letter(52)
    ('A', 'Z', 'a', 'A2')
    """
    return ascii_letters[(number + 26) % 52] + (str(number // 52 + 1) if number >= 52 else "")
