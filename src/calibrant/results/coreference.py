"""Records of coreference: how well entities were found, how a model was trained, what was written of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from calibrant.records.table import Cell, Column, Table, interval_heading
from calibrant.records.words import counted
from calibrant.results._base import Result
from calibrant.results.errors import Estimate
from calibrant.results.interval_estimate import estimate_cells, estimate_columns
from calibrant.results.measured import Measured

HEADINGS = {
    "mentions": "mentions",
    "muc": "MUC",
    "b_cubed": "B-cubed",
    "ceaf_e": "CEAF-e",
    "lea": "LEA",
    "blanc": "BLANC",
    "pairwise": "pairs",
}
METRICS = tuple(HEADINGS)


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

    def to_tables(self) -> tuple[Table, ...]:
        """Return precision, recall and F1 of each metric with intervals."""
        parts = ("precision", "recall", "f1")
        headings = ("precision", "recall", "F1")
        columns = [Column("metric", "metric", "name")]
        for part, heading in zip(parts, headings, strict=True):
            columns += estimate_columns(part, heading, self.level)
        rows: list[tuple[Cell, ...]] = []
        for name, heading in HEADINGS.items():
            cells: list[Cell] = []
            for part in parts:
                cells += estimate_cells(getattr(getattr(self, name), part), {})
            rows.append((heading, *cells))
        rows.append(("CoNLL", *[None] * 4, *estimate_cells(self.conll_f1, {})))
        seed = "" if self.seed is None else f", seed {self.seed}"
        singletons = "with" if self.singletons else "without"
        caption = (
            f"Entities of {counted(len(self.documents), 'document')}, "
            f"{singletons} singletons: {counted(self.gold_mentions, 'gold mention')}; "
            f"{interval_heading(self.level)}s from {counted(self.samples, 'resample')} of documents{seed}"
        )
        return (Table("scores", tuple(columns), tuple(rows), caption),)

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


@dataclass(frozen=True)
class AntecedentTemperature(Result):
    """The temperature that mends antecedent distributions best.

    Attributes
    ----------
    temperature
        What log-scores are to be divided by: above 1 the model was too sure of itself, below 1 too unsure.
    before, after
        Mean loss of a mention, in nats, at temperature 1 and at the one found.
    mentions
        Mentions that were used.
    left_out
        Mentions that were not: without a gold entity, or with right choices of no probability.
    """

    temperature: float
    before: float
    after: float
    mentions: int
    left_out: int


@dataclass(frozen=True)
class CoreferenceCandidate(Result):
    """One choice of settings, and how well it did on the development data.

    Attributes
    ----------
    settings
        Value by name.
    conll_f1
        Of the development data, in [0, 1]; None where undefined.
    log_loss
        Mean of minus the logarithm of the probability of the right antecedents, a mention, in nats.
    """

    settings: dict[str, Any]
    conll_f1: float | None
    log_loss: float


@dataclass(frozen=True)
class TrainedCoreference(Result):
    """How a coreference model was trained.

    Attributes
    ----------
    features
        ``surface`` or ``syntax``.
    mentions
        ``gold`` or ``detected``: those that it was trained on.
    train, dev
        The files; ``dev`` is None where none was given, and the settings are the defaults.
    documents, mention_count
        Of the training data.
    settings
        Value by name: what was chosen.
    temperature
        What divides the log-scores, fitted on the development data; 1 without.
    conll_f1
        On the development data, of what was chosen; optimistic, since the choice was made there. None
        without.
    log_loss, log_loss_before
        There too, a mention, in nats: with the temperature and without. None without development data.
    candidates
        Every choice that was tried, in the order of trying.
    output
        Where the model was saved; None if nowhere.
    seconds
        Time of reading, training and choosing.
    seed
        Of the order in which training sees mentions.
    version
        Of calibrant.
    reasons
        For each field that is None, why; and why the temperature is 1, if none is best.
    """

    features: str
    mentions: str
    train: list[str]
    dev: str | None
    documents: int
    mention_count: int
    settings: dict[str, Any]
    temperature: float
    conll_f1: float | None
    log_loss: float | None
    log_loss_before: float | None
    candidates: tuple[CoreferenceCandidate, ...]
    output: str | None
    seconds: float
    seed: int
    version: str
    reasons: dict[str, str] = field(default_factory=dict)

    def to_rows(self) -> list[dict[str, Any]]:
        """Return the candidates as a table, one row each."""
        return [
            {**candidate.settings, "conll_f1": candidate.conll_f1, "log_loss": candidate.log_loss}
            for candidate in self.candidates
        ]


@dataclass(frozen=True)
class WrittenPosteriors(Result):
    """What was written of a coreference model's posteriors.

    Attributes
    ----------
    output
        The file of posteriors.
    clusters
        The file of clusterings; None if none was written.
    documents, mentions
        Written.
    detected
        Whether mentions were detected; they are those of the text otherwise.
    labelled
        Mentions with a gold entity.
    gold_mentions
        Mentions of gold in the text; those that were not detected are not among the mentions. None where the
        text has no gold.
    """

    output: str
    clusters: str | None
    documents: int
    mentions: int
    detected: bool
    labelled: int
    gold_mentions: int | None


@dataclass(frozen=True)
class WrittenPairs(Result):
    """What was written of the pairs of mentions of some posteriors.

    Attributes
    ----------
    source, output
        The posteriors, and the table.
    rows
        Pairs written.
    dropped
        Pairs whose score was below the threshold.
    left_out
        Pairs of a mention without a gold entity: they have no label. 0 in a table without labels.
    threshold
        The threshold; 0 writes every pair.
    documents, mentions
        Of the posteriors.
    labelled
        Whether the table has labels.
    window
        Only pairs at most so many mentions apart; None: all.
    samples, seed
        Clusterings sampled, and the seed; None where scores are exact.
    """

    source: str
    output: str
    rows: int
    dropped: int
    left_out: int
    threshold: float
    documents: int
    mentions: int
    labelled: bool
    window: int | None
    samples: int | None
    seed: int | None


@dataclass(frozen=True)
class CoreferenceEvaluation(Result):
    """How well entities are found, and how far the probabilities of pairs can be trusted.

    Attributes
    ----------
    model
        The model, or the file of posteriors, as it was named.
    text
        The file with gold entities.
    documents
        Number of documents.
    mentions
        Mentions that have a posterior.
    detected
        Whether these were detected; they are those of gold otherwise.
    clustering
        How entities were made of a posterior: ``probable`` (high probability), ``expected`` (high expected
        pairwise F) or ``antecedents`` (the best antecedent of each mention).
    left_out
        Pairs of a mention without a gold entity: they have no label, and are not measured.
    scores
        Of the entities.
    pairs
        Of the exact probability that two mentions are of one entity: what `calibrant.workflow.measure` gives,
        with documents as units. None where there are no pairs.
    threshold
        Most pairs are trivial: ``pairs_above`` has those with a score of at least this.
    pairs_above
        The same of these.
    reasons
        For each field that is None, why.
    """

    model: str
    text: str
    documents: int
    mentions: int
    detected: bool
    clustering: str
    left_out: int
    scores: CoreferenceScores
    pairs: Measured | None
    threshold: float
    pairs_above: Measured | None
    reasons: dict[str, str] = field(default_factory=dict)

    def to_tables(self) -> tuple[Table, ...]:
        """Return the scores, then the errors of all pairs and of those above the threshold."""
        tables = list(self.scores.to_tables())
        where = ("all pairs", self.pairs), (f"pairs of {self.threshold:g} and more", self.pairs_above)
        rows = [(text, *row[1:]) for text, found in where if found for row in found.to_tables()[0].rows]
        if self.pairs is not None:
            errors = self.pairs.to_tables()[0]
            columns = Column("pairs", "pairs", "name"), *errors.columns[1:]
            tables.append(replace(errors, name="pairs", columns=columns, rows=tuple(rows)))
        return tuple(tables)
