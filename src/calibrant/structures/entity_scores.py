"""Coreference scores: MUC, B-cubed, CEAF-e, LEA, BLANC, pairs, and the CoNLL F1."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from calibrant._checks import Floats, Integers, proportion, sample_count
from calibrant.exceptions import InputError
from calibrant.metrics.resampling import expanded
from calibrant.metrics.tails import effective_number, few_clusters, quantile, wilson
from calibrant.records import Quantity
from calibrant.seeds import Seed, generator
from calibrant.structures.results.coreference import (
    HEADINGS,
    METRICS,
    CoreferenceScores,
    DocumentCoreference,
    PrecisionRecall,
)

Mentions = Sequence[Hashable]
Clusters = Sequence[Hashable | None]

FIGURES = ("precision", "recall", "f1")
CONLL = ("muc", "b_cubed", "ceaf_e")
UNITS = {
    "mentions": "mentions",
    "muc": "entities of two or more mentions",
    "b_cubed": "mentions",
    "ceaf_e": "entities",
    "lea": "mentions",
    "pairwise": "entities of two or more mentions",
}
WHO = {"precision": "the prediction has no", "recall": "gold has no", "f1": "neither side has"}
NO_LINKS = "gold has no two mentions in one document"
UNDEFINED_CONLL = "MUC, B-cubed or CEAF-e is undefined"
ONE_DOCUMENT = "there is only one document, so the variance between documents is unknown"
SOMETIMES = "undefined in some resamples of the documents"
NO_SPREAD = "all documents have the same score, so the variance between documents is unknown"
ROUNDING = 1e-12
FEWEST_CARRIERS = 4  # documents that lower a score, and that raise it, without a warning
CARRIED = "errors, or correct parts, are in few documents: the interval may cover less than it states"

COUNTED = ("mentions", "muc", "b_cubed", "ceaf_e", "lea", "pairwise", "apart")


class Overlap(NamedTuple):
    """Overlap of the entities of gold and of a prediction.

    Attributes
    ----------
    gold, predicted
        (G,) and (P,) number of mentions of each entity.
    gold_entity, predicted_entity
        (cells,) entities of each pair that shares mentions.
    shared
        (cells,) number of shared mentions.
    """

    gold: Integers
    predicted: Integers
    gold_entity: Integers
    predicted_entity: Integers
    shared: Integers


def overlap(gold: Mapping[Hashable, Hashable], predicted: Mapping[Hashable, Hashable]) -> Overlap:
    """Return the overlap of two clusterings, each given as the entity of each mention."""
    gold_code, gold_size = _coded(gold)
    predicted_code, predicted_size = _coded(predicted)
    both = [mention for mention in gold if mention in predicted]
    cells = np.array(
        [
            gold_code[gold[mention]] * len(predicted_size) + predicted_code[predicted[mention]]
            for mention in both
        ],
        np.int64,
    )
    cell, shared = np.unique(cells, return_counts=True)
    width = max(1, len(predicted_size))
    return Overlap(gold_size, predicted_size, cell // width, cell % width, shared.astype(np.int64))


def counts(shared: Overlap) -> Floats:
    """Return the (7, 4) numerators and denominators of `COUNTED`."""
    gold, predicted = shared.gold.astype(np.float64), shared.predicted.astype(np.float64)
    n = shared.shared.astype(np.float64)
    of_gold, of_predicted = gold[shared.gold_entity], predicted[shared.predicted_entity]
    both = n.sum()
    in_gold, in_prediction, in_both = _pairs(gold).sum(), _pairs(predicted).sum(), _pairs(n).sum()
    apart = (
        _pairs(both)
        - _shared_pairs(shared.gold_entity, n)
        - _shared_pairs(shared.predicted_entity, n)
        + in_both
    )
    matched = best_match(shared)
    links = both - len(n)
    return np.array(
        [
            [both, gold.sum(), both, predicted.sum()],
            [links, (gold - 1).sum(), links, (predicted - 1).sum()],
            [(n**2 / of_gold).sum(), gold.sum(), (n**2 / of_predicted).sum(), predicted.sum()],
            [matched, len(gold), matched, len(predicted)],
            [
                _linked(n, of_gold, of_predicted),
                gold.sum(),
                _linked(n, of_predicted, of_gold),
                predicted.sum(),
            ],
            [in_both, in_gold, in_both, in_prediction],
            [apart, _pairs(gold.sum()) - in_gold, apart, _pairs(predicted.sum()) - in_prediction],
        ]
    )


def best_match(shared: Overlap) -> float:
    """Return the largest sum of 2 |g and p| / (|g| + |p|) over one-to-one matchings of entities."""
    if not len(shared.shared):
        return 0.0
    from scipy.optimize import linear_sum_assignment

    # Entities without a shared mention contribute nothing and are left out of the matrix.
    rows, row = np.unique(shared.gold_entity, return_inverse=True)
    columns, column = np.unique(shared.predicted_entity, return_inverse=True)
    similar = np.zeros((len(rows), len(columns)))
    sizes = shared.gold[shared.gold_entity] + shared.predicted[shared.predicted_entity]
    similar[row, column] = 2 * shared.shared / sizes
    best = linear_sum_assignment(similar, maximize=True)
    return float(similar[best].sum())


def _coded(clusters: Mapping[Hashable, Hashable]) -> tuple[dict[Hashable, int], Integers]:
    """Return a number for each entity, and its number of mentions."""
    code: dict[Hashable, int] = {}
    members = [code.setdefault(entity, len(code)) for entity in clusters.values()]
    return code, np.bincount(np.array(members, np.int64), minlength=len(code)).astype(np.int64)


def _pairs(n: Floats) -> Floats:
    return n * (n - 1) / 2


def _shared_pairs(entity: Integers, n: Floats) -> float:
    """Return the number of pairs of shared mentions that one side has in one entity."""
    return float(_pairs(np.bincount(entity, n).astype(np.float64)).sum()) if len(n) else 0.0


def _linked(n: Floats, size: Floats, other: Floats) -> float:
    """Return LEA's numerator: the size of each entity times the fraction of its links on the other side."""
    # One mention has a link to itself, which the other side shares if the mention is alone there.
    alone = size == 1
    share = np.where(alone, other == 1, _pairs(n) / np.maximum(_pairs(size), 1))
    return float((size * share).sum())


def coreference_scores(
    gold_mentions: Sequence[Mentions],
    gold_clusters: Sequence[Clusters],
    predicted_mentions: Sequence[Mentions] | None,
    predicted_clusters: Sequence[Clusters],
    *,
    names: Sequence[str] | None = None,
    singletons: bool = True,
    level: float = 0.95,
    samples: int = 2000,
    seed: Seed = 0,
) -> CoreferenceScores:
    """Compare predicted entities with gold entities, over some documents.

    Parameters
    ----------
    gold_mentions
        Mentions of each document: hashable objects such as `calibrant.structures.documents.Mention`, compared
        by equality.
    gold_clusters
        Entity of each mention, per document; a mention with None is ignored.
    predicted_mentions
        Mentions of the prediction, per document; None: the gold mentions.
    predicted_clusters
        Entity of each predicted mention, per document. Names of entities may differ from gold.
    names
        Names of the documents; default: their numbers.
    singletons
        If False, entities of one mention are left out on both sides, as in corpora that do not annotate them.
    level
        Nominal coverage of the intervals, between 0 and 1.
    samples
        Number of resamples of the documents.
    seed
        Seed of the resamples.

    Returns
    -------
    CoreferenceScores
        Precision, recall and F1 in [0, 1], over all documents and of each document.

    Notes
    -----
    A ratio with denominator 0 is None (the reference scorer returns 0); an F1 is 0 if only one side has the
    counted units. BLANC is the mean over coreferent and non-coreferent pairs, or uses the only kind of pairs
    that gold has; by its definition, a precision is 0 if the prediction has no such pair. Mentions of one
    side only count in its denominators, as in the reference scorer since version 8.

    Intervals are percentiles of resampled documents, widened for few documents by quantiles of Student's t
    (Hesterberg's expanded percentiles), and contain Wilson's interval with the same standard error, since few
    errors do not show others. Documents of unequal numbers of mentions count as fewer; if they count as fewer
    than 10, or if those with errors, or with correct parts, count as fewer than 4, intervals have a warning.
    There is no interval if all documents have the same score.

    References
    ----------
    .. [1] Vilain et al. (1995). A model-theoretic coreference scoring scheme. MUC-6.
    .. [2] Bagga and Baldwin (1998). Algorithms for scoring coreference chains. LREC workshop.
    .. [3] Luo (2005). On coreference resolution performance metrics. HLT-EMNLP.
    .. [4] Moosavi and Strube (2016). Which coreference evaluation metric do you trust? ACL. (LEA)
    .. [5] Luo, Pradhan, Recasens and Hovy (2014). An extension of BLANC to system mentions. ACL.
    .. [6] Pradhan et al. (2014). Scoring coreference partitions of predicted mentions: a reference
       implementation. ACL.
    .. [7] Hesterberg (2015). "What teachers should know about the bootstrap". The American Statistician
       69, 371-386.

    Examples
    --------
    >>> scores = coreference_scores([["a", "b", "c"]], [[1, 1, 2]], None, [["x", "y", "y"]])
    >>> round(scores["b_cubed"].f1.estimate, 3), scores["muc"].f1.estimate
    (0.667, 0.0)
    """
    share, times = proportion(level, "level"), sample_count(samples)
    compared = _compared(
        gold_mentions, gold_clusters, predicted_mentions, predicted_clusters, names, singletons
    )
    table = np.array([counts(shared) for _, shared in compared])
    estimates = _Estimates(table, times, generator(seed), share)
    return CoreferenceScores(
        metrics=tuple(estimates.of_metric(name) for name in METRICS),
        conll_f1=estimates.conll(),
        gold_mentions=sum(int(shared.gold.sum()) for _, shared in compared),
        predicted_mentions=sum(int(shared.predicted.sum()) for _, shared in compared),
        gold_entities=sum(len(shared.gold) for _, shared in compared),
        predicted_entities=sum(len(shared.predicted) for _, shared in compared),
        singletons=singletons,
        level=share,
        samples=times,
        seed=None if seed is None or isinstance(seed, np.random.Generator) else int(seed),
        documents=tuple(
            _document(name, shared, row) for (name, shared), row in zip(compared, table, strict=True)
        ),
    )


class _Estimates:
    """Scores over all documents, with intervals.

    Parameters
    ----------
    table
        (D, counted, 4) numerators and denominators of each document.
    samples, rng
        Number of resamples of the documents, and their generator.
    level
        Nominal coverage.
    """

    def __init__(self, table: Floats, samples: int, rng: np.random.Generator, level: float) -> None:
        self._level, self._documents = level, len(table)
        size = table[:, COUNTED.index("mentions"), [1, 3]].sum(axis=1)
        self._effective = effective_number(size) if size.any() else 1.0
        self._warning = few_clusters(size)
        self._value = scores_of(table.sum(axis=0))
        self._without = scores_of(table.sum(axis=0) - table)  # each document
        # Documents are sorted, so that their order in the input does not change the resamples.
        ordered = table[np.lexsort(table.reshape(len(table), -1).T)]
        copies = rng.multinomial(len(table), np.full(len(table), 1 / len(table)), samples)
        self._drawn = scores_of(np.tensordot(copies.astype(np.float64), ordered, 1))

    def of_metric(self, metric: str) -> PrecisionRecall:
        row, estimates = METRICS.index(metric), {}
        for place, part in enumerate(FIGURES):
            why = NO_LINKS if metric == "blanc" else f"{WHO[part]} {UNITS[metric]}"
            estimates[part] = self._estimate(itemgetter((..., row, place)), why)
        return PrecisionRecall(metric=HEADINGS[metric], **estimates)

    def conll(self) -> Quantity:
        return self._estimate(conll, UNDEFINED_CONLL)

    def _estimate(self, score: Callable[[Floats], Floats], why: str) -> Quantity:
        """Return a score with an interval, from its resamples and the scores without each document."""
        value, drawn, change = float(score(self._value)), score(self._drawn), score(self._without)
        error = float(drawn.std())
        if math.isnan(value):
            return Quantity(None, reason=why)
        if self._documents == 1 or not error > ROUNDING:
            reason = ONE_DOCUMENT if self._documents == 1 else SOMETIMES if math.isnan(error) else NO_SPREAD
            return Quantity(value, reason=reason)
        student = quantile(self._level, self._effective) / quantile(self._level, 0)
        number = np.array([value * (1 - value) / (error * student) ** 2])
        ends = np.quantile(drawn, expanded(self._level, self._effective))
        low, high = (float(end[0]) for end in wilson(np.array([value]), number, self._level))
        change = np.nan_to_num(change - value)
        sides = [np.where(side > ROUNDING, side, 0) for side in (change, -change)]
        few = min(effective_number(side) if side.any() else 0 for side in sides) < FEWEST_CARRIERS
        warning = self._warning or (CARRIED if few else None)
        low, high = min(low, float(ends[0])), max(high, float(ends[1]))
        return Quantity(value, low, high, error, warning=warning)


def scores_of(sums: Floats) -> Floats:
    """Return (..., metrics, 3) precision, recall and F1 of (..., counted, 4) sums; NaN if undefined."""
    rows = [
        _blanc(sums) if metric == "blanc" else _precision_recall(sums[..., COUNTED.index(metric), :])
        for metric in METRICS
    ]
    return np.stack(rows, axis=-2)


def conll(scores: Floats) -> Any:
    """Return the mean F1 of MUC, B-cubed and CEAF-e; NaN if one of them is undefined."""
    return np.mean([scores[..., METRICS.index(metric), FIGURES.index("f1")] for metric in CONLL], axis=0)


def _precision_recall(sums: Floats) -> Floats:
    recall, precision = _ratio(sums[..., 0], sums[..., 1]), _ratio(sums[..., 2], sums[..., 3])
    product = np.nan_to_num(recall) * np.nan_to_num(precision)
    total = np.nan_to_num(recall) + np.nan_to_num(precision)
    f1 = np.where(np.isnan(recall) & np.isnan(precision), np.nan, np.nan_to_num(_ratio(2 * product, total)))
    return np.stack([precision, recall, f1], axis=-1)


def _blanc(sums: Floats) -> Floats:
    """Return the mean over coreferent and non-coreferent pairs, if gold has both."""
    kinds = sums[..., [COUNTED.index("pairwise"), COUNTED.index("apart")], :]
    there = kinds[..., 1] > 0
    parts = np.nan_to_num(_precision_recall(kinds)) * there[..., np.newaxis]
    return _ratio(parts.sum(axis=-2), there.sum(axis=-1)[..., np.newaxis].astype(np.float64))


def _ratio(numerator: Floats, denominator: Floats) -> Floats:
    whole = np.broadcast_to(denominator, numerator.shape)
    ratio: Floats = np.divide(numerator, whole, out=np.full(numerator.shape, np.nan), where=whole > 0)
    return ratio


def _document(name: str, shared: Overlap, row: Floats) -> DocumentCoreference:
    scores = scores_of(row)
    mean = _known(conll(scores))
    return DocumentCoreference(
        name=name,
        gold_mentions=int(shared.gold.sum()),
        predicted_mentions=int(shared.predicted.sum()),
        shared_mentions=int(shared.shared.sum()),
        gold_entities=len(shared.gold),
        predicted_entities=len(shared.predicted),
        scores={
            metric: {part: _known(value) for part, value in zip(FIGURES, values, strict=True)}
            for metric, values in zip(METRICS, scores, strict=True)
        },
        conll_f1=mean,
        reason=UNDEFINED_CONLL if mean is None else None,
    )


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _compared(
    gold_mentions: Sequence[Mentions],
    gold_clusters: Sequence[Clusters],
    predicted_mentions: Sequence[Mentions] | None,
    predicted_clusters: Sequence[Clusters],
    names: Sequence[str] | None,
    singletons: bool,
) -> list[tuple[str, Overlap]]:
    """Check the arguments; return the name of each document and the overlap of its entities."""
    mentions = gold_mentions if predicted_mentions is None else predicted_mentions
    count = len(gold_mentions)
    known = [str(number) for number in range(count)] if names is None else [str(name) for name in names]
    arguments = ("gold_clusters", "predicted_mentions", "predicted_clusters", "names")
    for what, values in zip(arguments, (gold_clusters, mentions, predicted_clusters, known), strict=True):
        if len(values) != count:
            message = f"{what} has {len(values)} documents and gold_mentions has {count}"
            raise InputError(message, "give one entry per document", code="length")
    if not count:
        raise InputError("there are no documents", "give at least one", code="empty")
    overlaps = []
    documents = zip(known, gold_mentions, gold_clusters, mentions, predicted_clusters, strict=True)
    for name, *document in documents:
        gold = _clustering(document[0], document[1], f"document {name!r}, gold", singletons)
        predicted = _clustering(document[2], document[3], f"document {name!r}, predicted", singletons)
        overlaps.append((name, overlap(gold, predicted)))
    return overlaps


def _clustering(
    mentions: Mentions, clusters: Clusters, place: str, singletons: bool
) -> dict[Hashable, Hashable]:
    """Return the entity of each mention that has one."""
    if len(mentions) != len(clusters):
        message = f"{place}: {len(clusters)} clusters for {len(mentions)} mentions"
        raise InputError(message, "give one cluster or None per mention", code="length")
    entity_of: dict[Hashable, Hashable] = {}
    seen: set[Hashable] = set()
    for number, (mention, cluster) in enumerate(zip(mentions, clusters, strict=True)):
        if mention in seen:
            shown = list(mention) if isinstance(mention, tuple) else repr(mention)
            message = f"{place}: mention {number} {shown} is repeated"
            raise InputError(message, "give each mention once")
        seen.add(mention)
        if cluster is not None:
            entity_of[mention] = cluster
    sizes = Counter(entity_of.values())
    return {mention: cluster for mention, cluster in entity_of.items() if singletons or sizes[cluster] > 1}
