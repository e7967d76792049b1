"""Records of taggers: how one was trained, what was written of its predictions, how far to trust it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from calibrant.records.table import Cell, Column, Table, interval_heading, known
from calibrant.records.words import counted
from calibrant.results._base import Result
from calibrant.results.errors import Estimate
from calibrant.results.interval_estimate import estimate_cells, estimate_columns
from calibrant.results.measured import Measured


@dataclass(frozen=True)
class TaggerCandidate(Result):
    """One choice of hyperparameters, and how well it did on the development data.

    Attributes
    ----------
    settings
        Value by hyperparameter.
    accuracy
        Share of the development tokens with the right tag, in [0, 1].
    """

    settings: dict[str, Any]
    accuracy: float


@dataclass(frozen=True)
class TrainedTagger(Result):
    """How a tagger was trained.

    Attributes
    ----------
    model
        ``crf`` or ``hmm``.
    features
        Feature set or groups of a CRF, or ``own`` for a user's function; None for an HMM.
    column
        Which column of the files the tags are; None for the file's default.
    train, dev
        The files; ``dev`` is None where none was given, and the hyperparameters are the defaults.
    sentences, tokens, words
        Of the training data: sentences, tokens, different tokens.
    tags
        The tags, sorted.
    settings
        Value by hyperparameter: what was chosen.
    accuracy
        On the development data, of what was chosen; optimistic, since the choice was made there.
        None without.
    candidates
        Every choice that was tried, in the order of trying.
    iterations
        Of a CRF's training; the limit, if it has not converged. None for an HMM.
    output
        Where the model was saved; None if nowhere.
    seconds
        Time of reading, training and choosing.
    version
        Of calibrant.
    """

    model: str
    features: str | list[str] | None
    column: str | int | None
    train: str
    dev: str | None
    sentences: int
    tokens: int
    words: int
    tags: tuple[str, ...]
    settings: dict[str, Any]
    accuracy: float | None
    candidates: tuple[TaggerCandidate, ...]
    iterations: int | None
    output: str | None
    seconds: float
    version: str

    def to_rows(self) -> list[dict[str, Any]]:
        """Return the candidates as a table, one row each."""
        return [{**candidate.settings, "accuracy": candidate.accuracy} for candidate in self.candidates]


@dataclass(frozen=True)
class WrittenPredictions(Result):
    """What was written of a tagger's predictions.

    Attributes
    ----------
    output
        The file.
    rows
        Rows written: pairs of a token and a tag.
    dropped
        Pairs whose score was below the threshold.
    threshold
        The threshold; 0 writes every pair.
    sentences, tokens, tags
        Of the text: sentences and tokens; of the model: tags.
    unseen_tags
        Tokens by gold tag that the model has never seen; each is a miss of every tag.
    """

    output: str
    rows: int
    dropped: int
    threshold: float
    sentences: int
    tokens: int
    tags: int
    unseen_tags: dict[str, int]


@dataclass(frozen=True)
class TagEvaluation(Result):
    """How often a tagger is right, and how far its probabilities can be trusted.

    Attributes
    ----------
    accuracy
        Share of tokens whose tag in the best sequence is the gold tag, in [0, 1].
    accuracy_interval
        Its interval, for text like this: whole clusters vary. Wilson's, of an effective number of tokens.
    tokens, sentences
        Of the text.
    cluster
        What intervals take as one independent unit: ``sentence`` or ``document``.
    unseen_words
        Tokens that do not occur in the training data; None where the model cannot say.
    unseen_words_accuracy
        Accuracy on them; None where there are none, or the model cannot say.
    unseen_tags
        Tokens by gold tag that the model has never seen; each is a miss of every tag.
    model
        The model, as it was named.
    measured
        What `calibrant.workflow.measure` gives for the same probabilities in a table.
    reasons
        For each field that is None, why.
    """

    accuracy: float
    accuracy_interval: Estimate
    tokens: int
    sentences: int
    cluster: str
    unseen_words: int | None
    unseen_words_accuracy: float | None
    unseen_tags: dict[str, int]
    model: str
    measured: Measured
    reasons: dict[str, str] = field(default_factory=dict)

    def to_tables(self) -> tuple[Table, ...]:
        """Return the accuracy, then the tables of the measurement."""
        level = self.accuracy_interval.level
        columns = Column("of", "", "name"), *estimate_columns("accuracy", "accuracy", level)
        rows: tuple[tuple[Cell, ...], ...] = (
            ("all tokens", *estimate_cells(self.accuracy_interval, self.reasons)),
            (
                "words not seen in training",
                known(self.unseen_words_accuracy, self.reasons, "unseen_words_accuracy", "unseen_words"),
                None,
            ),
        )
        caption = (
            f"Accuracy of {self.model} on {counted(self.tokens, 'token')} in "
            f"{counted(self.sentences, 'sentence')}; {interval_heading(level)}s, {self.cluster}s as units"
        )
        return (Table("accuracy", columns, rows, caption), *self.measured.to_tables())

    def to_dict(self) -> dict[str, Any]:
        """Return the tagger's fields, then those of the measurement, all at the top."""
        record = super().to_dict()
        reasons, measured = record.pop("reasons"), record.pop("measured")
        return {**record, **measured, "reasons": reasons}
