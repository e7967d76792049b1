"""Records of coreference: how well entities were found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from calibrant.results._base import Result
from calibrant.results.errors import Estimate

METRICS = ("mentions", "muc", "b_cubed", "ceaf_e", "lea", "blanc", "pairwise")


@dataclass(frozen=True)
class PrecisionRecall(Result):
    """Precision, recall and their harmonic mean, each in [0, 1] with an interval.

    Attributes
    ----------
    precision, recall, f1
        None where undefined; the record that holds them says why.
    """

    precision: Estimate
    recall: Estimate
    f1: Estimate


@dataclass(frozen=True)
class DocumentCoreference(Result):
    """Coreference scores of one document.

    Attributes
    ----------
    name
        The document.
    gold_mentions, predicted_mentions, shared_mentions
        Mentions of gold, of the prediction, and of both.
    gold_entities, predicted_entities
        Entities.
    scores
        For each metric its ``precision``, ``recall`` and ``f1``; None where undefined.
    conll_f1
        Mean F1 of MUC, B-cubed and CEAF-e; None where one of them is undefined.
    """

    name: str
    gold_mentions: int
    predicted_mentions: int
    shared_mentions: int
    gold_entities: int
    predicted_entities: int
    scores: dict[str, dict[str, float | None]]
    conll_f1: float | None


@dataclass(frozen=True)
class CoreferenceScores(Result):
    """How well entities were found, over all documents together.

    Numerators and denominators are summed over documents, as the reference scorer of the CoNLL shared tasks
    does. Intervals are for more documents like these.

    Attributes
    ----------
    conll_f1
        Mean F1 of MUC, B-cubed and CEAF-e.
    muc, b_cubed, ceaf_e, lea, blanc
        The metrics of that name.
    pairwise
        Of pairs of mentions that are in one entity.
    mentions
        Of the mentions themselves, whatever entity they are in.
    gold_mentions, predicted_mentions, gold_entities, predicted_entities
        Counts; without singletons, where these were left out.
    singletons
        Whether entities of one mention count.
    level
        Nominal coverage of the intervals.
    samples, seed
        Resamples of the documents behind the intervals; seed is None when a generator was given.
    documents
        The scores of each document.
    reasons
        For each field that is None, why.
    """

    conll_f1: Estimate
    muc: PrecisionRecall
    b_cubed: PrecisionRecall
    ceaf_e: PrecisionRecall
    lea: PrecisionRecall
    blanc: PrecisionRecall
    pairwise: PrecisionRecall
    mentions: PrecisionRecall
    gold_mentions: int
    predicted_mentions: int
    gold_entities: int
    predicted_entities: int
    singletons: bool
    level: float
    samples: int
    seed: int | None
    documents: tuple[DocumentCoreference, ...]
    reasons: dict[str, str] = field(default_factory=dict)

    def to_rows(self) -> list[dict[str, Any]]:
        """Return the documents as a table, one row each."""
        rows = []
        for document in self.documents:
            row = document.to_dict()
            scores = row.pop("scores")
            flat = {
                f"{metric}_{part}": value for metric, parts in scores.items() for part, value in parts.items()
            }
            rows.append({**row, **flat})
        return rows
