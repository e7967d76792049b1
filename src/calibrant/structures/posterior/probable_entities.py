"""Greedy search for a clustering with high probability."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from calibrant.structures._kernels.probable_entities import assign
from calibrant.structures.posterior.antecedent import AntecedentPosterior


def probable_entities(posterior: AntecedentPosterior) -> NDArray[np.int32]:
    """Return entities with high probability, by a greedy search from the first mention to the last.

    Since antecedents are independent, the probability of a clustering is the product over mentions of the
    probability that the antecedent is in the mention's entity (of "new" for an entity's first mention). The
    search selects, for each mention, the largest factor given the entities so far. Unlike the best
    antecedents, it sums the candidates of one entity: a pronoun with nine candidates of 10 % each, all in one
    entity, does not start a new entity. The result is not always the most probable clustering.

    Parameters
    ----------
    posterior
        Posterior of a batch of documents.

    Returns
    -------
    ndarray of int32, shape (M,)
        Entity of each mention, given as the number of its first mention within the document, as from
        `AntecedentPosterior.clusters_of`.

    Examples
    --------
    >>> rows = [[1.0], [0.9, 0.1], [0.3, 0.3, 0.4]]
    >>> posterior = AntecedentPosterior.from_probabilities([rows])
    >>> posterior.best_antecedents().tolist()
    [-1, 0, -1]
    >>> probable_entities(posterior).tolist()
    [0, 0, 0]
    """
    labels = np.zeros(posterior.mention_count, np.int32)
    offsets = posterior.document_offsets.tolist()
    for start, stop in pairwise(offsets):
        assign(posterior.probabilities, posterior.row_offsets, posterior.first, start, stop, labels)
    return labels
