"""Renormalize the probabilities of an item's classes after each was recalibrated separately."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from calibrant import _checks
from calibrant._checks import Floats
from calibrant.exceptions import InputError


def renormalize(scores: ArrayLike, items: ArrayLike, before: ArrayLike | None = None) -> Floats:
    """Divide the scores of each item by their sum, with scores below a threshold as one additional part.

    Scores of classes that were recalibrated separately do not sum to 1. If scores below a threshold were left
    out, their total, 1 minus the sum of the scores *before*, is one "other" part of the item. It is added to
    the sum unchanged; after division it is 1 minus the sum of the result.

    Parameters
    ----------
    scores
        (n,) recalibrated probabilities in [0, 1], one row per item and class.
    items
        (n,) item (token) of the row.
    before
        (n,) scores of the same rows before recalibration, if scores below a threshold are not among the
        rows. None: all classes of each item are present, and the results sum to 1.

    Returns
    -------
    ndarray of float64
        (n,) probabilities in [0, 1]. An item whose parts are all 0 stays 0. To measure the effect on the
        error, use `calibrant.metrics.calibration_changes` with ``threshold=0``, so that no further rows are
        left out.

    Raises
    ------
    InputError
        If the scores before sum to more than 1.

    Examples
    --------
    >>> recalibrated = renormalize([0.7, 0.2, 0.5], ["t1", "t1", "t2"], before=[0.8, 0.1, 0.5])
    >>> recalibrated.round(2).tolist()
    [0.7, 0.2, 0.5]
    >>> renormalize([0.6, 0.6], ["t1", "t1"]).tolist()
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
            message = f"the scores of item {names[worst]!s} before recalibration sum to {whole[worst]:.6g}"
            hint = "pass scores of mutually exclusive classes, with the same items before and after"
            raise InputError(message, hint, code="class-sum")
        total += np.maximum(0.0, 1 - whole)
    divisor = total[item]
    divided: Floats = np.divide(score, divisor, out=np.zeros_like(score), where=divisor > 0)
    return np.minimum(divided, 1.0)
