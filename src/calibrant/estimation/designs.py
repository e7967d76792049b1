"""Designs of labeled samples: groups of a fixed number of draws, and rounds."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from calibrant._checks import Floats, Integers
from calibrant.estimation.sampling import EQUAL, Sample
from calibrant.exceptions import InputError

FEWEST = 2
WHOLE = 1e-4  # relative distance from a whole number that the rounding of a probability explains


@dataclass(frozen=True)
class Design:
    """How documents were chosen to be labeled.

    Attributes
    ----------
    name
        ``simple``, ``fixed`` or ``independent``.
    group
        (n,) groups of labeled documents of equal probability with a fixed number of draws, or None.
    draws
        (n,) codes of strata and rounds with a fixed number of draws of unequal probability, or None.
    """

    name: str
    group: Integers | None = None
    draws: Integers | None = None


def design_of(sample: Sample, sampling: str, strata: Integers | None, rounds: Integers | None) -> Design:
    """Return the design of a sample with unequal probabilities, from its strata or from the probabilities.

    Parameters
    ----------
    sample
        All documents, with the probabilities of their last step, see `combine_rounds`.
    sampling
        ``detect``, ``fixed`` or ``independent``.
    strata, rounds
        (n,) codes of the labeled documents; None if they are not known.
    """
    if strata is None and rounds is None:
        group, name = groups_of_chances(sample, sampling)
        return Design(name, group)
    if sampling == "independent":
        return Design("independent")
    known = [codes for codes in (rounds, strata) if codes is not None]
    code = np.unique(np.stack(known), axis=1, return_inverse=True)[1].reshape(-1)
    count = np.bincount(code)
    low, high = np.full(len(count), np.inf), np.zeros(len(count))
    np.minimum.at(low, code, sample.chance)
    np.maximum.at(high, code, sample.chance)
    alone = (count < FEWEST) & (low < 1 - EQUAL)  # a single label shows no variance
    if alone.any():
        return Design("independent")
    if (high - low <= WHOLE * high).all():
        return Design("fixed", group=code)
    return Design("fixed", draws=code)


def combine_rounds(sample: Sample, rounds: Integers) -> Sample:
    """Return the sample of several rounds with one probability per label, so that rounds weigh by labels.

    Each round draws from the documents that no earlier round drew. Its estimate for all documents counts the
    labels of earlier rounds once, and its own by one over their probabilities. These estimates are
    uncorrelated, and have the true value as their mean, even if the probabilities depend on earlier labels.
    Their mean, weighted by the numbers of labels, is a weighted sum of labels; this function returns one over
    the weights.

    Parameters
    ----------
    sample
        Labels of all rounds, with the probability in their round.
    rounds
        (n,) numbers of rounds, in ascending order of time.

    Examples
    --------
    >>> chance = np.array([0.25, 0.25, 1 / 3, 1 / 3])
    >>> sample = Sample(np.full(8, 0.5), np.arange(4), np.zeros(4), chance, None)
    >>> combine_rounds(sample, np.array([1, 1, 2, 2])).weight.tolist()
    [2.5, 2.5, 1.5, 1.5]
    """
    _, code = np.unique(rounds, return_inverse=True)
    part = np.bincount(code) / len(code)
    later = 1 - np.cumsum(part)
    return replace(sample, chance=1 / (part[code] / sample.chance + later[code]))


def shift_of_draws(sample: Sample, residual: Floats, draws: Integers) -> Floats:
    """Return the part of the residuals that cancels if the number of draws of each code is fixed.

    The variance of a sample of fixed size with unequal probabilities is that of the weighted residuals around
    their mean (Hajek 1964), not around 0.

    Parameters
    ----------
    sample, residual, draws
        Labeled documents, their residuals, and codes of the draws.

    Examples
    --------
    >>> sample = Sample(np.full(8, 0.5), np.arange(2), np.ones(2), np.array([0.25, 0.5]), None)
    >>> shift_of_draws(sample, np.array([0.1, 0.2]), np.zeros(2, np.int64)).round(3).tolist()
    [0.1, 0.2]
    """
    left = np.maximum(0, 1 - sample.chance)
    total = np.bincount(draws, left)
    mean = np.bincount(draws, left * sample.weight * residual) / np.where(total > 0, total, 1)
    shift: Floats = mean[draws] * sample.chance
    return shift


def groups_of_chances(sample: Sample, sampling: str) -> tuple[Integers | None, str]:
    """Tell a sample of fixed sizes from independent draws.

    If every group of documents with one selection probability has a fixed number of labels n, then n over the
    probability is the number of documents in the group, and the sum of these numbers is the number of all
    documents. With independent draws, the sum is only close to it. Return the (n,) groups of the labeled
    documents, or None for independent draws, and the name of the design.

    Raises
    ------
    InputError
        If fixed sizes are claimed, and the probabilities contradict that.
    """
    if sampling == "independent":
        return None, "independent"
    order = np.sort(sample.chance)
    starts = order[np.concatenate([[True], np.diff(order) > EQUAL])]
    group = np.searchsorted(starts, sample.chance, side="right") - 1
    count = np.bincount(group)
    sizes = count / starts
    agree = abs(sizes.sum() - len(sample.score)) <= max(0.5, WHOLE * len(sample.score))
    whole = bool((np.abs(sizes - np.rint(sizes)) <= np.maximum(WHOLE * sizes, 1e-6)).all())
    if sampling == "fixed":
        hint = "give the number of labels over the number of documents of each group, or state that "
        hint += "documents were chosen independently"
        if count.min() < 2:
            message = f"only one label has the probability {starts[int(count.argmin())]:g}"
            raise InputError(message, hint, code="parameter")
        if abs(sizes.sum() - len(sample.score)) > max(0.5, 0.01 * len(sample.score)):
            message = f"the probabilities imply {sizes.sum():,.0f} documents, and there are "
            raise InputError(f"{message}{len(sample.score):,}", hint, code="parameter")
        return group, "fixed"
    return (group, "fixed") if agree and whole and count.min() >= 2 else (None, "independent")
