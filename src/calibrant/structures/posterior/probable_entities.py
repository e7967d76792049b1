"""A clustering of high probability: each mention joins the entity that most probably has its antecedent."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from calibrant.structures._kernels.probable_entities import assign
from calibrant.structures.posterior.antecedent import AntecedentPosterior


def probable_entities(posterior: AntecedentPosterior) -> NDArray[np.int32]:
    """Find entities of high probability, from the first mention to the last.

    The probability of a clustering is exactly the product over mentions of the probability that the
    antecedent lies in the mention's own entity (of "new" for an entity's first mention), since antecedents
    are independent. This takes, mention by mention, the factor that is largest given the entities so far.
    Unlike the best antecedents it adds up the candidates of one entity: a pronoun with nine candidates of
    10 % each, all of one entity, is no new entity. It is not always the most probable clustering of all.

    Parameters
    ----------
    posterior
        Of a batch of documents.

    Returns
    -------
    ndarray of int32, shape (M,)
        The entity of each mention: the number of its first mention within the document, as
        `AntecedentPosterior.clusters_of` has it.

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
