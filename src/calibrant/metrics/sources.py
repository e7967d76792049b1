"""Sources of the numbers: labels and scores as arrays, or pairs, a tally or bins of them."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from calibrant._checks import Pairs, pairs, shown
from calibrant.exceptions import InputError
from calibrant.metrics.crossed import clustered_pairs
from calibrant.metrics.rows import PairRows
from calibrant.metrics.tally import Tally
from calibrant.results.bins import Bins

Measurable = Pairs | Tally | Bins


def source_of(
    y_true: ArrayLike | Measurable | PairRows,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    crossed: bool = False,
) -> Any:
    """Return checked pairs of two arrays; pairs, a tally or bins that are given alone are returned unchanged.

    ``crossed`` permits clusters of two kinds.

    Raises
    ------
    InputError
        If an array is missing or wrong, or something beside a tally would not be used.

    Examples
    --------
    >>> len(source_of([0, 1], [0.2, 0.9])), len(source_of(source_of([0, 1], [0.2, 0.9])))
    (2, 2)
    """
    if isinstance(y_true, (Pairs, Tally, Bins, PairRows)):
        more = {"y_prob": y_prob, "sample_weight": sample_weight, "clusters": clusters}
        for name, values in more.items():
            if values is not None:
                kind = type(y_true).__name__
                message, hint = f"{name} is given beside a {kind}, which has its own", "leave it out"
                raise InputError(message, hint, code="parameter")
        return y_true
    if y_prob is None:
        hint = "pass labels and scores, or pairs, a tally or bins alone"
        raise InputError(f"there are no scores beside {shown(y_true)}", hint, code="parameter")
    check = clustered_pairs if crossed else pairs
    return check(y_true, y_prob, sample_weight=sample_weight, clusters=clusters)
