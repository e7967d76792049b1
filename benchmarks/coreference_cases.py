"""Cases of coreference posteriors: exact pairs, sampled pairs, and what NetworkX takes for these.

Sampled shares are compared with the exact probabilities before anything is timed.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import coreference_data
import numpy as np
from numpy.typing import NDArray

Call = Callable[[], Any]
Floats = NDArray[np.float64]
SEED = 1
MOST_DEVIATIONS = 7.0  # of 44,850 pairs none should be further off


def pair_matrix(**_: Any) -> Call:
    """The exact matrix, from log-scores: with checks and normalization."""
    from calibrant.structures.posterior import AntecedentPosterior

    scores = coreference_data.posterior().log_probabilities

    def call() -> float:
        posterior = AntecedentPosterior(scores, [coreference_data.MENTIONS])
        return float(posterior.pair_probabilities().sum())

    return call


def pair_samples(samples: int, **_: Any) -> Call:
    """Frequencies among samples, by calibrant's sampler, also from log-scores."""
    from calibrant.structures.posterior import AntecedentPosterior
    from calibrant.structures.posterior.coreference_queries import each_pair

    exact = coreference_data.posterior()
    scores, matrix = exact.log_probabilities, exact.pair_probabilities()

    def drawn() -> list[Any]:
        posterior = AntecedentPosterior(scores, [coreference_data.MENTIONS])
        return list(each_pair(posterior, samples=samples, seed=SEED))

    shares = np.eye(len(matrix))
    for pairs in drawn():
        shares[pairs.first, pairs.second] = pairs.score
    deviations = _check(np.triu(shares, 1), matrix, samples)

    def call() -> float:
        drawn()
        return deviations

    return call


def networkx_samples(samples: int, **_: Any) -> Call:
    """The same with NetworkX: a graph of antecedents a sample, its components, their pairs."""
    import networkx

    posterior = coreference_data.posterior()
    count = posterior.mention_count
    starts = posterior.row_offsets
    rows = [np.cumsum(posterior.probabilities[starts[i] : starts[i + 1]]) for i in range(count)]
    rng = np.random.default_rng(SEED)

    def call() -> Floats:
        joined = np.zeros((count, count))
        for _ in range(samples):
            graph = networkx.Graph()
            graph.add_nodes_from(range(count))
            for mention, cumulated in enumerate(rows):
                antecedent = int(np.searchsorted(cumulated, rng.random()))
                if antecedent < mention:
                    graph.add_edge(mention, antecedent)
            for entity in networkx.connected_components(graph):
                for first, second in combinations(sorted(entity), 2):
                    joined[first, second] += 1
        return joined / samples

    deviations = _check(call(), posterior.pair_probabilities(), samples)

    def timed() -> float:
        call()
        return deviations

    return timed


def long_tally(**_: Any) -> Call:
    """Pairs of the long document within the window, exactly, tallied by document; returns how many."""
    from calibrant.structures.posterior.coreference_queries import mention_pairs

    posterior = coreference_data.posterior(long=True)
    entities = posterior.best_clustering(20, seed=SEED).tolist()
    query = mention_pairs(posterior, [entities], window=coreference_data.WINDOW)
    return lambda: query.tally(by_cluster=True, exact=False).total_n


def best_clustering(**_: Any) -> Call:
    """Entities of high expected F, of the document with 300 mentions."""
    posterior = coreference_data.posterior()
    return lambda: int(posterior.best_clustering(seed=SEED).sum())


def _check(shares: Floats, exact: Floats, samples: int) -> float:
    """Return the largest deviation of frequencies, in standard deviations; raise if it is not by chance."""
    upper = np.triu_indices(len(exact), 1)
    q = exact[upper]
    # One sample more or less is no deviation where hardly any is expected.
    spread = np.sqrt(q * (1 - q) / samples) + 1 / samples
    largest = float((np.abs(shares[upper] - q) / spread).max())
    if largest > MOST_DEVIATIONS:
        raise AssertionError(f"frequencies of {samples} samples differ by {largest:.1f} standard deviations")
    return largest


CASES: tuple[Callable[..., Call], ...] = (
    pair_matrix,
    pair_samples,
    networkx_samples,
    long_tally,
    best_clustering,
)
