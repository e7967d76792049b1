"""Records of coreference: scores, training, and written posteriors and pairs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from calibrant.records import Quantity, Record, name, number, part, rows, setting, warning
from calibrant.results.errors import IntervalLevel
from calibrant.results.measurement import Measured

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
SCORES, DATA, WRITTEN, TRAINING, DEVELOPMENT = (
    "Scores",
    "Data",
    "Written",
    "Training data",
    "Development data",
)
CONLL = "Mean F1 of MUC, B-cubed and CEAF-e"


class PrecisionRecall(Record, frozen=True, kw_only=True):
    """Precision, recall and F1, each in [0, 1] with an interval."""

    metric: Annotated[str, name("Metric", "Name of the metric.")]
    precision: Annotated[
        Quantity,
        number(
            "Precision", "Proportion of the prediction that is in gold.", group=SCORES, best=1, headline=True
        ),
    ]
    recall: Annotated[
        Quantity,
        number(
            "Recall", "Proportion of gold that is in the prediction.", group=SCORES, best=1, headline=True
        ),
    ]
    f1: Annotated[
        Quantity, number("F1", "Harmonic mean of precision and recall.", group=SCORES, best=1, headline=True)
    ]


class DocumentCoreference(Record, frozen=True, kw_only=True):
    """Coreference scores of one document."""

    name: Annotated[str, name("Document", "Name of the document.")]
    gold_mentions: Annotated[int, number("Gold mentions", "Mentions of gold.", group=DATA, headline=True)]
    predicted_mentions: Annotated[
        int, number("Predicted mentions", "Mentions of the prediction.", group=DATA, headline=True)
    ]
    shared_mentions: Annotated[int, number("Shared mentions", "Mentions of both.", group=DATA)]
    gold_entities: Annotated[int, number("Gold entities", "Entities of gold.", group=DATA, headline=True)]
    predicted_entities: Annotated[
        int, number("Predicted entities", "Entities of the prediction.", group=DATA, headline=True)
    ]
    scores: Annotated[
        dict[str, dict[str, float | None]],
        setting("Scores", "Precision, recall and f1 of each metric; null where undefined."),
    ]
    conll_f1: Annotated[float | None, number("CoNLL F1", f"{CONLL}.", group=SCORES, best=1, headline=True)]
    reason: Annotated[str | None, setting("Reason", "Reason why conll_f1 is undefined, if it is.")] = None


class CoreferenceScores(Record, frozen=True, kw_only=True):
    """Scores over all documents together."""

    metrics: Annotated[
        tuple[PrecisionRecall, ...],
        rows(
            "Metrics",
            "Scores by metric. The metric pairs compares pairs of mentions in one entity; the metric "
            "mentions ignores entities.",
        ),
    ]
    conll_f1: Annotated[
        Quantity,
        number(
            "CoNLL F1",
            f"{CONLL}. Numerators and denominators are summed over documents, as in the reference scorer of "
            "the CoNLL shared tasks. Intervals treat documents as a sample.",
            group=SCORES,
            best=1,
            headline=True,
        ),
    ]
    gold_mentions: Annotated[int, number("Gold mentions", "Mentions of gold.", group=DATA)]
    gold_entities: Annotated[int, number("Gold entities", "Entities of gold.", group=DATA)]
    predicted_mentions: Annotated[int, number("Predicted mentions", "Mentions predicted.", group=DATA)]
    predicted_entities: Annotated[int, number("Predicted entities", "Entities predicted.", group=DATA)]
    singletons: Annotated[
        bool, setting("Singletons", "True if entities of one mention count.", headline=True)
    ]
    level: IntervalLevel
    samples: Annotated[int, setting("Resamples", "Bootstrap resamples of the documents.", headline=True)]
    seed: Annotated[
        int | None,
        setting("Seed", "Seed of the resamples; null if a generator was given.", unit="seed", headline=True),
    ]
    documents: Annotated[
        tuple[DocumentCoreference, ...], rows("Documents", "Scores of each document.", most=10)
    ]

    def __getitem__(self, metric: str) -> PrecisionRecall:
        if metric not in METRICS:
            raise KeyError(metric)
        return self.metrics[METRICS.index(metric)]


class AntecedentTemperature(Record, frozen=True, kw_only=True):
    """Temperature that recalibrates antecedent distributions best."""

    temperature: Annotated[
        float,
        number(
            "Temperature",
            "Divisor of the log-scores: above 1 if the model was overconfident, below 1 if it was "
            "underconfident.",
            group=SCORES,
            headline=True,
        ),
    ]
    before: Annotated[
        float,
        number("Loss before", "Mean loss per mention at temperature 1.", group=SCORES, unit="nats", best=0),
    ]
    after: Annotated[
        float,
        number("Loss after", "Mean loss per mention at this temperature.", group=SCORES, unit="nats", best=0),
    ]
    mentions: Annotated[int, number("Mentions", "Mentions that were used.", group=DATA)]
    left_out: Annotated[
        int,
        number(
            "Left out",
            "Mentions without a gold entity, or whose correct antecedents have probability 0.",
            group=DATA,
        ),
    ]


class CoreferenceCandidate(Record, frozen=True):
    """Settings that were tried, and their scores on the development data."""

    hyperparameters: Annotated[dict[str, Any], name("Settings", "Value by name.")]
    conll_f1: Annotated[
        float | None, number("CoNLL F1", f"{CONLL}, in [0, 1].", group=SCORES, best=1, headline=True)
    ]
    log_loss: Annotated[
        float,
        number(
            "Log loss",
            "Mean negative logarithm of the probability of the correct antecedents, per mention.",
            group=SCORES,
            unit="nats",
            best=0,
            headline=True,
        ),
    ]
    reason: Annotated[str | None, setting("Reason", "Reason why conll_f1 is undefined, if it is.")] = None


class TrainedCoreference(Record, frozen=True, kw_only=True):
    """Training of a coreference model."""

    main_table = "numbers"

    features: Annotated[
        str, setting("Features", "Features of the antecedent model: surface or syntax.", headline=True)
    ]
    mentions: Annotated[
        str, setting("Mentions", "Mentions that the model was trained on: gold or detected.", headline=True)
    ]
    train: Annotated[list[str], setting("Training texts", "Files of the training data.", headline=True)]
    about: Annotated[
        str,
        setting("Trained on", "Description of the training texts, as saved with the model.", headline=True),
    ]
    dev: Annotated[
        str | None,
        setting(
            "Development text",
            "File on which the settings were chosen; null if they are the defaults.",
            headline=True,
        ),
    ]
    candidates: Annotated[
        tuple[CoreferenceCandidate, ...], rows("Candidates", "Settings that were tried, in order.")
    ]
    documents: Annotated[int, number("Documents", "Documents of the training data.", group=TRAINING)]
    mention_count: Annotated[int, number("Mentions", "Mentions of the training data.", group=TRAINING)]
    hyperparameters: Annotated[dict[str, Any], setting("Settings", "Chosen value by name.", headline=True)]
    conll_f1: Annotated[
        float | None,
        number(
            "CoNLL F1",
            f"{CONLL} of the chosen settings, slightly too high because they were chosen on this text.",
            group=DEVELOPMENT,
            best=1,
            headline=True,
        ),
    ]
    log_loss: Annotated[
        float | None,
        number(
            "Log loss",
            "Mean per mention, with the temperature.",
            group=DEVELOPMENT,
            unit="nats",
            best=0,
            headline=True,
        ),
    ]
    log_loss_before: Annotated[
        float | None,
        number(
            "Log loss before",
            "Mean per mention, without the temperature.",
            group=DEVELOPMENT,
            unit="nats",
            best=0,
        ),
    ]
    temperature: Annotated[
        float,
        number(
            "Temperature",
            "Divisor of the log-scores, fitted on the development data; 1 without development data.",
            group=DEVELOPMENT,
        ),
    ]
    output: Annotated[
        str | None, setting("Output", "File of the model; null if it was not saved.", headline=True)
    ]
    seconds: Annotated[
        float, setting("Seconds", "Time of reading, training and selection, in seconds.", headline=True)
    ]
    seed: Annotated[
        int, setting("Seed", "Seed of the order in which training sees mentions.", unit="seed", headline=True)
    ]
    version: Annotated[str, setting("calibrant", "Version of calibrant.")]
    reason: Annotated[
        str | None, setting("Reason", "Reason why a number of the development data is undefined, if one is.")
    ] = None
    temperature_warning: Annotated[str | None, warning("No temperature minimizes the log loss.")] = None
    impossible_warning: Annotated[
        str | None, warning("The log loss leaves out mentions whose correct antecedents have probability 0.")
    ] = None

    def remarks(self) -> Iterator[tuple[str, str]]:
        """Yield limits of the chosen settings and of the scores."""
        if self.dev is None:
            yield "", "Settings are defaults: no development text was given (dev)."
        elif self.dev in self.train:
            yield "conll_f1", "on a training text; use another text to estimate the score on new text"


class WrittenPosteriors(Record, frozen=True, kw_only=True):
    """Written posteriors of a coreference model."""

    output: Annotated[str, setting("Output", "File of the posteriors.", headline=True)]
    clusters: Annotated[
        str | None,
        setting("Entities", "File of the predicted entities; null if none was written.", headline=True),
    ]
    documents: Annotated[int, number("Documents", "Documents that were written.", group=WRITTEN)]
    mentions: Annotated[int, number("Mentions", "Mentions that were written.", group=WRITTEN)]
    detected: Annotated[
        bool,
        setting(
            "Detected",
            "True if mentions were detected, false if the text's mentions were used.",
            headline=True,
        ),
    ]
    labelled: Annotated[int, number("With gold entity", "Mentions with a gold entity.", group=WRITTEN)]
    gold_mentions: Annotated[
        int | None,
        number(
            "Gold mentions",
            "Gold mentions of the text, including those that were not detected; null if the text has no "
            "gold.",
            group=DATA,
        ),
    ]

    def remarks(self) -> Iterator[tuple[str, str]]:
        """Yield a note if there is no gold."""
        if self.gold_mentions is None:
            yield "", "The text has no gold entities."


class WrittenPairs(Record, frozen=True, kw_only=True):
    """Written pairs of mentions."""

    source: Annotated[str, setting("Posteriors", "File of the posteriors.", headline=True)]
    output: Annotated[str, setting("Output", "File of the pairs.", headline=True)]
    rows: Annotated[int, number("Rows", "Pairs that were written.", group=WRITTEN)]
    dropped: Annotated[
        int,
        number(
            "Below the threshold",
            "Pairs whose score was below the threshold. Calibration errors of the written pairs differ from "
            "those of all pairs.",
            group=WRITTEN,
        ),
    ]
    left_out: Annotated[
        int,
        number(
            "Without label",
            "Pairs of a mention without a gold entity, which have no label and are not written; 0 in a table "
            "without labels.",
            group=WRITTEN,
        ),
    ]
    documents: Annotated[int, number("Documents", "Documents of the posteriors.", group=DATA)]
    mentions: Annotated[int, number("Mentions", "Mentions of the posteriors.", group=DATA)]
    threshold: Annotated[
        float, setting("Threshold", "Smallest score that was written; 0 writes every pair.", headline=True)
    ]
    labelled: Annotated[bool, setting("Labels", "True if the table has labels.", headline=True)]
    window: Annotated[
        int | None,
        setting("Window", "Largest distance of a pair, in mentions; null for all pairs.", headline=True),
    ]
    samples: Annotated[
        int | None,
        setting("Samples", "Number of sampled clusterings; null if scores are exact.", headline=True),
    ]
    seed: Annotated[
        int | None,
        setting("Seed", "Seed of the samples; null if scores are exact.", unit="seed", headline=True),
    ]

    def remarks(self) -> Iterator[tuple[str, str]]:
        """Yield the method of the scores, and the effect of the threshold and of missing labels."""
        if self.samples is None:
            yield "rows", "exact probabilities"
        else:
            yield "rows", f"proportions of {self.samples:,} samples"
        if self.dropped:
            yield "dropped", f"scores below {self.threshold:g}; calibration errors ignore these pairs"
        if not self.labelled:
            yield "", "The table has no labels, so its calibration cannot be measured."


class CoreferenceEvaluation(Record, frozen=True, kw_only=True):
    """Coreference scores of a model, and calibration of its probabilities of pairs."""

    model: Annotated[
        str, setting("Model", "Model, or file of posteriors, as named in the call.", headline=True)
    ]
    text: Annotated[str, setting("Text", "File with gold entities.", headline=True)]
    scores: Annotated[CoreferenceScores, part("Entities", "Scores of the entities.")]
    documents: Annotated[int, setting("Documents", "Number of documents.", headline=True)]
    mentions: Annotated[int, setting("Mentions", "Mentions that have a posterior.", headline=True)]
    left_out: Annotated[
        int,
        setting(
            "Pairs left out",
            "Pairs of a mention without a gold entity, which have no label and are not measured.",
            headline=True,
        ),
    ]
    detected: Annotated[
        bool,
        setting(
            "Detected", "True if mentions were detected, false if gold mentions were used.", headline=True
        ),
    ]
    clustering: Annotated[
        str,
        setting(
            "Clustering",
            "Choice of entities from a posterior: probable (high probability), expected (high expected "
            "pairwise F) or antecedents (the most probable antecedent of each mention).",
            headline=True,
        ),
    ]
    threshold: Annotated[
        float,
        setting(
            "Threshold", "Smallest score of the pairs in pairs_above; most others are trivial.", headline=True
        ),
    ]
    pairs: Annotated[
        Measured | None,
        part(
            "Pairs",
            "Calibration of the exact probability that two mentions corefer, as calibrant measure reports "
            "it, with documents as units; null without pairs.",
        ),
    ]
    pairs_above: Annotated[
        Measured | None,
        part(
            "Pairs above the threshold",
            "Calibration of the pairs with at least this score; null if there are no such pairs.",
            brief=True,
        ),
    ]
    reason: Annotated[
        str | None, setting("Reason", "Reason why pairs or pairs_above is null, if one is.")
    ] = None

    def summary(self) -> str:
        """Return sentences on the probabilities that two mentions corefer."""
        return "" if self.pairs is None else f"Pairs of mentions: {self.pairs.views[0].summary()}"

    def remarks(self) -> Iterator[tuple[str, str]]:
        """Yield the reason why there is no calibration of pairs, if there is one."""
        if self.reason is not None:
            yield "", self.reason
