"""Temperature scaling of dependency trees, and of the labels of their arcs."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from calibrant import _checks
from calibrant._checks import Floats, Integers
from calibrant.exceptions import InputError
from calibrant.structures.posterior.dependency import DependencyPosterior
from calibrant.structures.posterior.tempering import bracket
from calibrant.structures.results.parsing import TreeTemperature

TOLERANCE = 1e-6  # of the logarithm of a temperature


def tempered_trees(
    posterior: DependencyPosterior, temperature: float, labels: float = 1.0
) -> DependencyPosterior:
    """Divide the log-potentials of arcs by a temperature, and those of labels given arcs by another.

    Parameters
    ----------
    posterior
        Distribution over trees.
    temperature
        Positive number for trees: P(tree)^(1/T), normalized, so that the best tree stays the same.
    labels
        Positive number for the distribution over the labels of each arc.

    Returns
    -------
    DependencyPosterior
        Distribution over the same sentences and labels.

    Examples
    --------
    >>> sure = DependencyPosterior(np.log([[0.9, 1e-9, 0.1], [0.1, 0.9, 1e-9]]))
    >>> tempered_trees(sure, 2).marginals()[0].round(3).tolist()
    [[0.9, 0.0, 0.1], [0.1, 0.9, 0.0]]
    """
    value = _checks.positive(temperature, "temperature")
    arcs = [posterior.potentials(place) / value for place in range(posterior.sentence_count)]
    if not posterior.labels:
        return DependencyPosterior(arcs)
    of_labels = _checks.positive(labels, "labels")
    given = []
    for own in posterior.labels:
        scaled = own / of_labels
        total = np.logaddexp.reduce(scaled, axis=2, keepdims=True)
        given.append(scaled - np.where(np.isfinite(total), total, 0.0))
    return DependencyPosterior(arcs, given, names=posterior.names)


def fit_tree_temperature(posterior: DependencyPosterior, heads: ArrayLike) -> TreeTemperature:
    """Fit the temperature that maximizes the likelihood of gold trees the model was not trained on.

    The negative log-likelihood is convex in 1/T. At its minimum, the mean negative log-probability of the
    gold trees equals the mean entropy. Labels of arcs are not used.

    Parameters
    ----------
    posterior
        Distribution over the trees of S sentences, at temperature 1.
    heads
        (N,) gold heads: 0 for the root, h + 1 for word h of the sentence.

    Returns
    -------
    TreeTemperature
        Sentences with one word, and those whose gold tree is forbidden, are left out.

    Raises
    ------
    InputError
        If no sentence is left, or there is no minimum: the likelihood increases towards temperature 0 (every
        gold tree is the most probable one) or towards infinity.

    Examples
    --------
    >>> arcs = np.log([[0.9, 1e-9, 0.1], [0.1, 0.9, 1e-9]])
    >>> fitted = fit_tree_temperature(DependencyPosterior([arcs] * 4), [0, 1, 0, 1, 0, 1, 2, 0])
    >>> tempered_trees(DependencyPosterior(arcs), fitted.temperature).marginals()[0][0].round(4).tolist()
    [0.75, 0.0, 0.25]
    """
    from scipy.optimize import brentq

    gold = posterior.check_heads(heads)
    bounds = list(zip(posterior.offsets.tolist(), posterior.offsets[1:].tolist(), strict=False))
    arcs, kept = [], []
    for place, (first, last) in enumerate(bounds):
        own = posterior.potentials(place)
        if last - first > 1 and np.isfinite(own[np.arange(last - first), gold[first:last]]).all():
            arcs.append(own)
            kept.append(gold[first:last])
    if not arcs:
        message = "no sentence of two or more words has a gold tree with positive probability"
        raise InputError(message, "give more gold trees", code="empty")
    flat = np.concatenate(kept)
    if (DependencyPosterior(arcs).best() == flat).all():
        raise _none("gold tree")

    def loss_and_slope(temperature: float) -> tuple[float, float]:
        """Return the mean loss, and its derivative by 1/T: T times loss minus entropy."""
        trees = DependencyPosterior([own / temperature for own in arcs])
        loss = -float(trees.log_probability(flat).mean())
        return loss, (loss - float(trees.entropy().mean())) * temperature

    before, at_one = loss_and_slope(1.0)
    low, high = bracket(lambda logarithm: loss_and_slope(math.exp(logarithm))[1], at_one)
    temperature = 1.0
    if low != high:
        temperature = math.exp(
            brentq(lambda logarithm: loss_and_slope(math.exp(logarithm))[1], low, high, xtol=TOLERANCE)
        )
    after = loss_and_slope(temperature)[0]
    return TreeTemperature(temperature, before, after, len(arcs), posterior.sentence_count - len(arcs))


def fit_label_temperature(scores: Floats, labels: Integers) -> float:
    """Return the temperature of labels that maximizes their likelihood given gold arcs.

    Parameters
    ----------
    scores
        (N, L) log-potentials of the labels of each word's gold arc.
    labels
        (N,) codes of the gold labels.

    Raises
    ------
    InputError
        If there is no such temperature: every gold label is the most probable one, or none is more probable
        than others.

    Examples
    --------
    >>> scores = np.log(np.tile([0.9, 0.1], (4, 1)))
    >>> round(fit_label_temperature(scores, np.array([0, 0, 0, 1])), 3)
    2.0
    """
    from scipy.optimize import brentq

    rows = np.arange(len(labels))
    values = scores - scores.max(axis=1, keepdims=True)
    if (values.argmax(axis=1) == labels).all():
        raise _none("gold label")

    def slope(logarithm: float) -> float:
        """Return the derivative of the mean loss by 1/T."""
        share = np.exp(values / math.exp(logarithm))
        share /= share.sum(axis=1, keepdims=True)
        return float(np.einsum("ij,ij->i", share, values).mean() - values[rows, labels].mean())

    low, high = bracket(slope, slope(0.0))
    return 1.0 if low == high else math.exp(brentq(slope, low, high, xtol=TOLERANCE))


def _none(what: str) -> InputError:
    message = f"there is no best temperature: every {what} is the most probable one"
    return InputError(message, "give more gold data", code="undefined")
