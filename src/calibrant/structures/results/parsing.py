"""Records of dependency parsers: training, written trees, temperature and evaluation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from calibrant.records import Quantity, Record, number, part, setting
from calibrant.records.words import counted
from calibrant.results.measurement import Measured

ATTACHMENT, DATA, TRAINING, FIT = "Attachment", "Data", "Training data", "Fit"
DEVELOPMENT = "Development data"
MOST_RELATIONS = 8


class TreeTemperature(Record, frozen=True):
    """Temperature that best recalibrates distributions over dependency trees."""

    temperature: Annotated[
        float,
        number(
            "Temperature",
            "Divisor of the log-potentials of arcs: above 1 the model was overconfident, below 1 "
            "underconfident.",
            group=FIT,
            best=1,
            headline=True,
        ),
    ]
    before: Annotated[
        float,
        number(
            "Before",
            "Mean over sentences of minus the logarithm of the gold tree's probability at temperature 1.",
            group=FIT,
        ),
    ]
    after: Annotated[float, number("After", "The same mean at the temperature found.", group=FIT)]
    sentences: Annotated[int, number("Sentences", "Sentences that were used.", group=FIT)]
    left_out: Annotated[
        int,
        number("Left out", "Sentences of one word, or whose gold tree has probability 0.", group=FIT),
    ]


class TrainedParser(Record, frozen=True, kw_only=True):
    """Training of a parser."""

    main_table = "numbers"

    train: Annotated[list[str], setting("Training texts", "Files of the training data.", headline=True)]
    dev: Annotated[
        str | None,
        setting("Development text", "File on which temperatures were fitted; null for none.", headline=True),
    ]
    about: Annotated[str, setting("About", "Description of the training texts, saved with the model.")]
    column: Annotated[
        str | int | None, setting("Column", "Column of the tags; null for the default of the file format.")
    ]
    folds: Annotated[
        int,
        setting(
            "Folds",
            "Folds of the training text: a tagger trained on the others predicts the tags of each; 0 if the "
            "tags of the file were used.",
            headline=True,
        ),
    ]
    sentences: Annotated[int, number("Sentences", "Sentences of the training data.", group=TRAINING)]
    tokens: Annotated[int, number("Words", "Words of the training data.", group=TRAINING)]
    relations: Annotated[int, number("Relations", "Different labels of arcs.", group=TRAINING)]
    tag_accuracy: Annotated[
        float | None,
        number(
            "Accuracy of tags",
            "Proportion of the training words whose predicted tag is right; null for the file's tags.",
            group=TRAINING,
            best=1,
        ),
    ]
    hyperparameters: Annotated[dict[str, Any], setting("Settings", "Value by setting.")]
    unlabeled: Annotated[
        float | None,
        number(
            "Unlabeled attachment",
            "Proportion of development words with the right head; null without development data.",
            group=DEVELOPMENT,
            best=1,
            headline=True,
        ),
    ]
    labeled: Annotated[
        float | None,
        number(
            "Labeled attachment",
            "Proportion of development words with the right head and relation; null without development "
            "data.",
            group=DEVELOPMENT,
            best=1,
            headline=True,
        ),
    ]
    temperature: Annotated[
        TreeTemperature | None,
        part("Temperature", "Temperature of trees, fitted on the development text; null if none was."),
    ]
    label_temperature: Annotated[
        float | None,
        number(
            "Temperature of labels",
            "Divisor of the log-potentials of relations given arcs, fitted on the development text; null if "
            "none was.",
            group=DEVELOPMENT,
            best=1,
        ),
    ]
    output: Annotated[
        str | None, setting("Output", "File of the model; null if it was not saved.", headline=True)
    ]
    tagger: Annotated[
        str | None,
        setting(
            "Tagger", "File of the tagger of all training texts; null if it was not saved.", headline=True
        ),
    ]
    seconds: Annotated[float, setting("Seconds", "Time of reading and training, in seconds.", headline=True)]
    seed: Annotated[int, setting("Seed", "Seed of the order of sentences.")]
    version: Annotated[str, setting("calibrant", "Version of calibrant.")]
    temperature_warning: Annotated[
        str | None, setting("Warning", "Reason why a temperature was not fitted on the development text.")
    ] = None

    def remarks(self) -> Iterator[tuple[str, str]]:
        """Yield what limits the use of the model."""
        if not self.folds:
            yield (
                "",
                "The parser was trained on the tags of the file. If predicted tags are parsed, train on "
                "predicted tags (folds).",
            )
        if self.dev is None:
            yield "", "Temperatures are 1: no development text was given (dev)."


class WrittenTrees(Record, frozen=True, kw_only=True):
    """Written trees of a parser."""

    output: Annotated[str, setting("Output", "File of the trees.", headline=True)]
    model: Annotated[str, setting("Model", "Model, as named in the call.", headline=True)]
    tagger: Annotated[
        str | None,
        setting("Tagger", "Tagger, as named in the call; null if the tags of the file were used."),
    ]
    trained_on: Annotated[
        str | None, setting("Trained on", "Texts of the parser's training; null if the model does not say.")
    ]
    sentences: Annotated[int, number("Sentences", "Sentences of the text.", group=DATA, headline=True)]
    tokens: Annotated[int, number("Words", "Words of the text.", group=DATA, headline=True)]
    expected: Annotated[
        float,
        number(
            "Expected attachment",
            "Mean probability of the written arcs: the unlabeled attachment that the model expects.",
            group=ATTACHMENT,
            best=1,
            headline=True,
        ),
    ]


class ParserEvaluation(Record, frozen=True, kw_only=True):
    """Attachment scores of a parser, and calibration of its probabilities."""

    main_table = "measured.views"
    model: Annotated[str, setting("Model", "Model, or file of scores, as named in the call.", headline=True)]
    unlabeled: Annotated[
        Quantity,
        number(
            "Unlabeled attachment",
            "Proportion of words with the right head (UAS), in the tree with the most expected correct arcs. "
            "Wilson's interval with an effective number of words, which accounts for clusters.",
            group=ATTACHMENT,
            best=1,
            headline=True,
        ),
    ]
    labeled: Annotated[
        Quantity,
        number(
            "Labeled attachment",
            "Proportion of words with the right head and relation (LAS), with an interval as for unlabeled.",
            group=ATTACHMENT,
            best=1,
            headline=True,
        ),
    ]
    log_loss: Annotated[
        float | None,
        number(
            "Log loss",
            "Mean over sentences of minus the logarithm of the gold tree's probability, after the "
            "temperature; null if a gold tree has probability 0.",
            group=ATTACHMENT,
        ),
    ]
    tokens: Annotated[int, number("Words", "Words of the text.", group=DATA, headline=True)]
    sentences: Annotated[int, number("Sentences", "Sentences of the text.", group=DATA)]
    unseen_relations: Annotated[
        dict[str, int],
        setting(
            "Unseen relations",
            "Words per gold relation that the model has never seen; no relation of the model is right.",
        ),
    ]
    cluster: Annotated[
        str,
        setting("Units", "Unit that intervals treat as independent: sentence or document.", headline=True),
    ]
    level: Annotated[
        float, setting("Level", "Nominal coverage of every interval.", unit="percent", headline=True)
    ]
    query: Annotated[
        str,
        setting("Query", "Probabilities that are measured: head, relation, arcs or labeled.", headline=True),
    ]
    temperature: Annotated[
        TreeTemperature | None,
        part("Temperature", "Temperature fitted on another text (dev); null if none was asked for."),
    ]
    measured: Annotated[
        Measured,
        part(
            "Calibration",
            "Calibration of the probabilities, after the temperature, as calibrant measure reports it.",
        ),
    ]
    before: Annotated[
        Measured | None,
        part(
            "Before the temperature",
            "Calibration of the probabilities at temperature 1; null if no temperature was fitted.",
            brief=True,
        ),
    ]

    def summary(self) -> str:
        """Return a sentence on the attachment, and those on the error of the first view, after and before."""
        attachment = f"The unlabeled attachment is {self.unlabeled} on {counted(self.tokens, 'word')}."
        text = f"{attachment} {self.measured.summary()}"
        if self.before is None or self.temperature is None:
            return text
        first = self.before.views[0]
        return (
            f"{text} Before the temperature of {self.temperature.temperature:.2f}, the calibration error of "
            f"{first.view} was {first.calibration_error}."
        )

    def remarks(self) -> Iterator[tuple[str, str]]:
        """Yield relations that the model does not know."""
        if self.unseen_relations:
            given = list(self.unseen_relations.items())
            shown = ", ".join(f"{name} ({count:,})" for name, count in given[:MOST_RELATIONS])
            more = f" and {len(given) - MOST_RELATIONS} more" if len(given) > MOST_RELATIONS else ""
            total = sum(self.unseen_relations.values())
            yield "", f"{total:,} words have relations that the model has never seen: {shown}{more}"
