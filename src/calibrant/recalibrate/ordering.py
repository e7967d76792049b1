"""The effect of a map on the order of the scores: new ties, and the change in AUC."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from calibrant import _checks
from calibrant.metrics.tally import Tally
from calibrant.results.ordering import OrderEffect


def order_effect(
    y_true: ArrayLike, before: ArrayLike, after: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> OrderEffect:
    """Return the number of ties before and after recalibration, and the areas under the ROC curve.

    A map that never reverses two scores can still make them equal. Tied pairs of opposite labels count one
    half in the AUC: pairs in the right order lose one half, and pairs in the wrong order gain one half.

    Parameters
    ----------
    y_true
        (n,) labels 0 or 1; the AUC needs both.
    before, after
        (n,) scores before and after recalibration, in [0, 1].
    sample_weight
        (n,) non-negative weights.

    Returns
    -------
    OrderEffect

    Raises
    ------
    InputError
        For bad values.

    Examples
    --------
    >>> effect = order_effect([0, 1, 0, 1], [0.1, 0.4, 0.5, 0.9], [0.0, 0.5, 0.5, 1.0])
    >>> effect.distinct_before, effect.distinct_after, effect.auc_before, effect.auc_after
    (4, 3, 0.75, 0.875)
    """
    tallies = [
        Tally.from_pairs(
            _checks.pairs(y_true, score, sample_weight=sample_weight, score_name=name), exact=True
        )
        for name, score in (("before", before), ("after", after))
    ]
    first, second = tallies
    auc_before, auc_after = _auc(first), _auc(second)
    undefined = auc_before is None or auc_after is None
    return OrderEffect(
        distinct_before=len(first),
        distinct_after=len(second),
        tied_before=_tied(first),
        tied_after=_tied(second),
        auc_before=auc_before,
        auc_after=auc_after,
        auc_change=None if auc_before is None or auc_after is None else auc_after - auc_before,
        reason="all labels are the same" if undefined else None,
    )


def _auc(tally: Tally) -> float | None:
    """Return the probability that a positive pair outranks a negative one; ties count one half."""
    positive, negative = tally.weight_positives, tally.weight - tally.weight_positives
    pairs = float(positive.sum() * negative.sum())
    if not pairs:
        return None
    below = np.cumsum(negative) - negative / 2
    return float(np.sum(positive * below)) / pairs


def _tied(tally: Tally) -> float | None:
    """Return the proportion of combinations of a positive and a negative pair with equal scores."""
    positive, negative = tally.weight_positives, tally.weight - tally.weight_positives
    pairs = float(positive.sum() * negative.sum())
    return float(np.sum(positive * negative)) / pairs if pairs else None
