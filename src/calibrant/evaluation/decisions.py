"""Decisions from probabilities: most probable class, threshold, top items per document, best expected F."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant import _checks
from calibrant._checks import Floats, Integers
from calibrant.exceptions import InputError

Rule = Literal["threshold", "top", "expected-f"]
LARGEST_EXACT = 2000
FEW_POSITIVES = 50  # expected ones

__all__ = ["decide", "expected_f_decision", "keep_above", "keep_top", "most_probable"]


def most_probable(y_prob: ArrayLike, classes: Sequence[Any] | None = None) -> NDArray[Any]:
    """Return the class with the highest probability (MAP); of equal ones, the first.

    Parameters
    ----------
    y_prob
        (n, K) probabilities.
    classes
        K names; None: 0 to K - 1.

    Returns
    -------
    ndarray
        (n,) class of each item.

    Examples
    --------
    >>> most_probable([[0.2, 0.8], [0.6, 0.4]], ["keep", "drop"]).tolist()
    ['drop', 'keep']
    """
    array = _checks.as_array(y_prob, "y_prob", "give one row per item")
    if array.ndim != 2 or not array.size:
        raise InputError(f"y_prob has shape {array.shape}", "expected (n, classes)", code="shape")
    prob: NDArray[Any] = _checks.scores(array.ravel()).reshape(array.shape)
    best: NDArray[Any] = prob.argmax(axis=1)
    if classes is None:
        return best
    _checks.same_length("classes", len(classes), "each row of y_prob", array.shape[1])
    named: NDArray[Any] = np.asarray(classes)[best]
    return named


def keep_above(y_prob: ArrayLike, threshold: float = 0.5) -> NDArray[np.bool_]:
    """Keep items whose probability reaches a threshold; at 0.5 this is the most probable decision.

    Parameters
    ----------
    y_prob
        (n,) probabilities of "keep".
    threshold
        Smallest probability to keep, in [0, 1].

    Examples
    --------
    >>> keep_above([0.2, 0.5, 0.9]).tolist()
    [False, True, True]
    """
    if not 0 <= _checks.non_negative(threshold, "threshold") <= 1:
        raise InputError(f"threshold is {threshold}", "give a number in [0, 1]", code="parameter")
    kept: NDArray[np.bool_] = _checks.scores(y_prob) >= threshold
    return kept


def keep_top(
    y_prob: ArrayLike, documents: ArrayLike, most: int, *, threshold: float = 0.0
) -> NDArray[np.bool_]:
    """Keep a limited number of items per document: the most probable; of equal ones, the first.

    Parameters
    ----------
    y_prob
        (n,) probabilities of "keep".
    documents
        (n,) document of each item, in any order.
    most
        Largest number of items to keep per document.
    threshold
        Smallest probability to keep.

    Examples
    --------
    >>> keep_top([0.2, 0.9, 0.4, 0.3], ["a", "a", "a", "b"], 2).tolist()
    [False, True, True, True]
    """
    above = keep_above(y_prob, threshold)
    score, code = _by_document(y_prob, documents)
    order = np.lexsort((-score, code))
    start = np.flatnonzero(np.diff(code[order], prepend=-1))
    rank = np.empty(len(score), np.int64)
    rank[order] = np.arange(len(score)) - np.repeat(start, np.diff(start, append=len(score)))
    kept: NDArray[np.bool_] = above & (rank < _checks.positive_integer(most, "most"))
    return kept


def expected_f_decision(
    y_prob: ArrayLike, documents: ArrayLike | None = None, *, beta: float = 1.0
) -> NDArray[np.bool_]:
    """Keep the items that maximize the expected F score (minimum Bayes risk), separately per document.

    The best decision keeps the k most probable items for some k. Probabilities are assumed to be calibrated
    and independent. F is 1 if there is nothing to keep and nothing is kept. The expectation is exact for
    documents of up to 2,000 items. For larger documents it is the F score of expected counts, a close
    approximation; with fewer than 50 expected positives, it is almost exact for up to 1,000 kept items.

    Parameters
    ----------
    y_prob
        (n,) probabilities of "keep".
    documents
        (n,) document of each item; None: all items are in one document.
    beta
        Weight of recall relative to precision, such as 0.5, 1 or 2.

    References
    ----------
    .. [1] Ye, Chai, Lee and Chieu (2012). Optimizing F-measures: a tale of two approaches. ICML.
    .. [2] Jansche (2007). A maximum expected utility framework for binary sequence labeling. ACL, 736-743.

    Examples
    --------
    >>> expected_f_decision([0.45, 0.4, 0.05]).tolist()
    [True, True, False]
    """
    ratio = Fraction(_checks.non_negative(beta, "beta") ** 2).limit_denominator(64)
    if not 0 < ratio <= 64:
        raise InputError(f"beta is {beta}", "give a number from 0.125 to 8", code="parameter")
    score, code = _by_document(y_prob, np.zeros(np.size(y_prob)) if documents is None else documents)
    order = np.lexsort((-score, code))
    kept = np.zeros(len(score), np.bool_)
    for rows in np.split(order, np.flatnonzero(np.diff(code[order])) + 1):
        expected = _expected(score[rows], ratio)
        kept[rows[: int(np.argmax(expected))]] = True
    return kept


def decide(
    y_prob: ArrayLike,
    rule: Rule = "threshold",
    *,
    threshold: float = 0.5,
    documents: ArrayLike | None = None,
    most: int | None = None,
    beta: float = 1.0,
) -> NDArray[np.bool_]:
    """Convert probabilities of "keep" into decisions by the name of a rule.

    Parameters
    ----------
    y_prob
        (n,) probabilities of "keep".
    rule
        ``threshold`` (`keep_above`), ``top`` (`keep_top`) or ``expected-f`` (`expected_f_decision`).
    threshold, documents, most, beta
        Arguments of the rule; ``top`` needs ``documents`` and ``most`` and ignores ``threshold``.

    Examples
    --------
    >>> decide([0.2, 0.6, 0.9], "top", documents=[1, 1, 1], most=1).tolist()
    [False, False, True]
    """
    _checks.one_of(rule, ("threshold", "top", "expected-f"), "rule")
    if rule == "threshold":
        return keep_above(y_prob, threshold)
    if rule == "expected-f":
        return expected_f_decision(y_prob, documents, beta=beta)
    if documents is None or most is None:
        message = "the rule top lacks documents or most"
        hint = "give the document of each item, and the number of items to keep per document"
        raise InputError(message, hint, code="parameter")
    return keep_top(y_prob, documents, most)


def _by_document(y_prob: ArrayLike, documents: ArrayLike) -> tuple[Floats, Integers]:
    score = _checks.scores(y_prob).astype(np.float64)
    code, _ = _checks.cluster_codes(documents, "documents")
    _checks.same_length("documents", len(code), "y_prob", len(score))
    return score, code


def _expected(score: Floats, ratio: Fraction) -> Floats:
    """Return the expected F (n + 1,) of keeping the first k of descending scores."""
    from calibrant.evaluation._kernels.expected_f import expected_f_of_best

    parts = ratio.numerator, ratio.denominator
    if len(score) <= LARGEST_EXACT:
        expected: Floats = expected_f_of_best(score, *parts)
        return expected
    square = float(ratio)
    right = np.concatenate([[0.0], np.cumsum(score)])
    total = square * score.sum() + np.arange(len(right))
    close: Floats = (1 + square) * np.divide(right, total, out=np.zeros(len(right)), where=total > 0)
    if score.sum() < FEW_POSITIVES:
        # The ratio of expectations is wrong for few positives. Positives among the last items matter by their
        # number alone, so that fewer items of the same sum stand for them.
        half = LARGEST_EXACT // 2
        rest = np.full(half, score[half:].sum() / half)
        close[: half + 1] = expected_f_of_best(np.concatenate([score[:half], rest]), *parts)[: half + 1]
    return close
