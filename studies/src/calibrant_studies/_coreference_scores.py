"""The coreference study's F1: scores of clusterings, and paired differences on resampled documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from calibrant.metrics.resampling import expanded
from calibrant.seeds import generator
from calibrant.structures.documents import Document
from calibrant.structures.entity_scores import conll, counts, overlap, scores_of
from calibrant.structures.posterior import AntecedentPosterior, probable_entities
from calibrant.structures.results.coreference import METRICS
from calibrant_studies._base import Row
from calibrant_studies._coreference_baseline import rule_antecedents
from calibrant_studies.arrays import Floats

Labels = list[list[int]]
CLUSTERINGS: dict[str, Callable[[AntecedentPosterior, int], NDArray[np.int32]]] = {
    "best antecedents": lambda posterior, _: posterior.clusters_of(posterior.best_antecedents()),
    "probable entities": lambda posterior, _: probable_entities(posterior),
    "best clustering": lambda posterior, seed: posterior.best_clustering(seed=seed),
}
HEADLINE = "probable entities"  # as in the commands
RESAMPLES = 2_000
LEVEL = 0.95
F1 = 2
SHOWN = ("muc", "b_cubed", "ceaf_e", "lea", "pairwise")


def rule_labels(documents: Sequence[Document], *, trees: bool) -> Labels:
    """Entities of the rule baseline."""
    found: Labels = []
    for document in documents:
        antecedents = rule_antecedents(document, trees=trees)
        labels: list[int] = []
        for number, antecedent in enumerate(antecedents.tolist()):
            labels.append(number if antecedent < 0 else labels[antecedent])
        found.append(labels)
    return found


def model_labels(
    posterior: AntecedentPosterior, seed: int, wanted: Sequence[str] = tuple(CLUSTERINGS)
) -> dict[str, Labels]:
    """Entities that follow from a distribution over antecedents, by some of the ways of `CLUSTERINGS`."""
    ends = posterior.document_offsets.tolist()
    found = {name: CLUSTERINGS[name](posterior, seed) for name in wanted}
    return {
        name: [labels[start:end].tolist() for start, end in pairwise(ends)] for name, labels in found.items()
    }


def counted(
    gold: Sequence[Document], predicted: Sequence[Document], labels: Labels, *, singletons: bool
) -> Floats:
    """Numerators and denominators of all metrics, (D, counted, 4)."""
    tables = []
    for true, found, entities in zip(gold, predicted, labels, strict=True):
        pair = (
            _entities(true.mentions or (), true.clusters or (), singletons=singletons),
            _entities(found.mentions or (), entities, singletons=singletons),
        )
        tables.append(counts(overlap(*pair)))
    return np.array(tables)


def _entities(
    mentions: Sequence[Hashable], clusters: Sequence[Hashable | None], *, singletons: bool
) -> Mapping[Hashable, Hashable]:
    size = Counter(clusters)
    return {
        mention: cluster
        for mention, cluster in zip(mentions, clusters, strict=True)
        if cluster is not None and (singletons or size[cluster] > 1)
    }


def resampled(table: Floats, seed: int) -> Floats:
    """CoNLL F1 of resampled documents; the same documents for every table of one length."""
    copies = generator(seed).multinomial(len(table), np.full(len(table), 1 / len(table)), RESAMPLES)
    drawn: Floats = conll(scores_of(np.tensordot(copies.astype(np.float64), table, 1)))
    return drawn


def ends(drawn: Floats, documents: int) -> tuple[float, float]:
    """Interval of a number from its values on resampled documents."""
    low, high = np.quantile(drawn, expanded(LEVEL, documents))
    return float(low), float(high)


def f1_row(name: Row, model: str, table: Floats, baseline: Floats | None, seed: int, **also: object) -> Row:
    """Scores of one clustering, and its difference from the baseline."""
    values = scores_of(table.sum(axis=0))
    drawn = resampled(table, seed)
    low, high = ends(drawn, len(table))
    row = {
        **name,
        "model": model,
        **also,
        "documents": len(table),
        **{metric: 100 * float(values[METRICS.index(metric), F1]) for metric in SHOWN},
        "CoNLL F1": 100 * float(conll(values)),
        "low": 100 * low,
        "high": 100 * high,
        "above the rules": None,
        "above, low": None,
        "above, high": None,
    }
    if baseline is not None:
        above = float(conll(values)) - float(conll(scores_of(baseline.sum(axis=0))))
        low, high = ends(drawn - resampled(baseline, seed), len(table))
        row |= {"above the rules": 100 * above, "above, low": 100 * low, "above, high": 100 * high}
    return row
