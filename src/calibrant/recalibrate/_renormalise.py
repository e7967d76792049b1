"""Probabilities of an item's classes that sum to 1 again after each was mended by itself."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from calibrant import _checks
from calibrant._checks import Floats
from calibrant.exceptions import InputError


def renormalise(scores: ArrayLike, items: ArrayLike, before: ArrayLike | None = None) -> Floats:
    """Divide the scores of each item by their sum, what was below a threshold counting as one part.

    Classes that were mended one by one do not sum to 1. Where scores below a threshold were left out, what
    they had together, 1 minus the sum of the scores *before*, is kept as one "other" part of the item: it
    enters the sum as it is, and is 1 minus the sum of the result.

    Parameters
    ----------
    scores
        (n,) mended probabilities in [0, 1], one row for each item and class.
    items
        (n,) the item (token) of the row.
    before
        (n,) the same rows' scores before they were mended, if scores below a threshold are not among the
        rows. None: all classes of each item are there, and the results sum to 1.

    Returns
    -------
    ndarray of float64
        (n,) in [0, 1]. An item whose parts are all 0 stays 0. For the effect on the error compare with
        `calibrant.metrics.calibration_changes`, with ``threshold=0``: rows that were left out stay out, and
        no others.

    Raises
    ------
    InputError
        For bad values, or where the scores before sum to more than 1.

    Examples
    --------
    >>> mended = renormalise([0.7, 0.2, 0.5], ["t1", "t1", "t2"], before=[0.8, 0.1, 0.5])
    >>> mended.round(2).tolist()
    [0.7, 0.2, 0.5]
    >>> renormalise([0.6, 0.6], ["t1", "t1"]).tolist()
    [0.5, 0.5]
    """
    score = _checks.scores(scores, "scores").astype(np.float64, copy=False)
    item, names = _checks.cluster_codes(items, "items")
    _checks.same_length("items", len(item), "scores", len(score))
    total = np.bincount(item, score)
    if before is not None:
        first = _checks.scores(before, "before")
        _checks.same_length("before", len(first), "scores", len(score))
        whole = np.bincount(item, first)
        if whole.max() > 1 + _checks.SUM_TOLERANCE:
            worst = int(whole.argmax())
            raise InputError(
                f"the scores before of item {names[worst]!s} sum to {whole[worst]:.6g}",
                "pass scores of classes that exclude each other, and the same items on both sides",
                code="class-sum",
            )
        total += np.maximum(0.0, 1 - whole)
    divisor = total[item]
    divided: Floats = np.divide(score, divisor, out=np.zeros_like(score), where=divisor > 0)
    return np.minimum(divided, 1.0)
