"""Records of taggers: training, written predictions and evaluation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from calibrant.records import Quantity, Record, name, number, part, rows, setting
from calibrant.records.words import counted
from calibrant.results.measurement import Measured

ACCURACY, DATA, TRAINING = "Accuracy", "Data", "Training data"
MOST_TAGS = 8
UnseenTags = Annotated[
    dict[str, int],
    setting(
        "Unseen tags", "Tokens per gold tag that the model has never seen; no tag of the model is correct."
    ),
]


class TaggerCandidate(Record, frozen=True):
    """Hyperparameters that were tried, and their accuracy on the development data."""

    hyperparameters: Annotated[dict[str, Any], name("Settings", "Value by hyperparameter.")]
    accuracy: Annotated[
        float,
        number(
            "Accuracy",
            "Proportion of the development tokens with the right tag, in [0, 1].",
            group=ACCURACY,
            best=1,
        ),
    ]


class TrainedTagger(Record, frozen=True, kw_only=True):
    """Training of a tagger."""

    main_table = "numbers"

    model: Annotated[str, setting("Model", "Kind of model: crf or hmm.", headline=True)]
    features: Annotated[
        str | list[str] | None,
        setting(
            "Features",
            "Feature set or groups of a CRF, or own for a custom function; null for an HMM.",
            headline=True,
        ),
    ]
    column: Annotated[
        str | int | None, setting("Column", "Column of the tags; null for the default of the file format.")
    ]
    train: Annotated[str, setting("Training text", "File of the training data.", headline=True)]
    dev: Annotated[
        str | None,
        setting(
            "Development text",
            "File on which the hyperparameters were chosen; null if they are the defaults.",
            headline=True,
        ),
    ]
    candidates: Annotated[
        tuple[TaggerCandidate, ...], rows("Candidates", "Hyperparameters that were tried, in order.")
    ]
    sentences: Annotated[int, number("Sentences", "Sentences of the training data.", group=TRAINING)]
    tokens: Annotated[int, number("Tokens", "Tokens of the training data.", group=TRAINING)]
    words: Annotated[int, number("Words", "Different tokens of the training data.", group=TRAINING)]
    tags: Annotated[tuple[str, ...], setting("Tags", "The tags, sorted.", headline=True)]
    hyperparameters: Annotated[
        dict[str, Any], setting("Settings", "Chosen value by hyperparameter.", headline=True)
    ]
    accuracy: Annotated[
        float | None,
        number(
            "Accuracy",
            "Accuracy of the chosen hyperparameters on the development data, slightly too high because they "
            "were chosen there; null without development data.",
            group=ACCURACY,
            best=1,
            headline=True,
        ),
    ]
    iterations: Annotated[
        int | None,
        setting(
            "Iterations",
            "Iterations of a CRF's training; equal to the limit if training did not converge; null for an "
            "HMM.",
            headline=True,
        ),
    ]
    output: Annotated[
        str | None, setting("Output", "File of the model; null if it was not saved.", headline=True)
    ]
    seconds: Annotated[
        float, setting("Seconds", "Time of reading, training and selection, in seconds.", headline=True)
    ]
    version: Annotated[str, setting("calibrant", "Version of calibrant.")]

    def remarks(self) -> Iterator[tuple[str, str]]:
        """Yield limits of the chosen settings and of the accuracy."""
        if self.dev is None:
            yield "", "Hyperparameters are defaults: no development text was given (dev)."
        elif self.dev == self.train:
            yield "accuracy", "on the training text; use another text to estimate accuracy on new text"
        if self.iterations is not None and self.iterations >= self.hyperparameters["max_iterations"]:
            yield "", f"Training stopped at the limit of {self.iterations} iterations before it converged."


class WrittenPredictions(Record, frozen=True, kw_only=True):
    """Written predictions of a tagger."""

    output: Annotated[str, setting("Output", "File of the predictions.", headline=True)]
    rows: Annotated[
        int, number("Rows", "Rows written: pairs of a token and a tag.", group=DATA, headline=True)
    ]
    dropped: Annotated[
        int,
        number(
            "Left out",
            "Pairs whose score was below the threshold. Calibration errors of the written pairs differ from "
            "those of all pairs.",
            group=DATA,
        ),
    ]
    threshold: Annotated[float, setting("Threshold", "Smallest score that was written; 0 writes every pair.")]
    sentences: Annotated[int, number("Sentences", "Sentences of the text.", group=DATA)]
    tokens: Annotated[int, number("Tokens", "Tokens of the text.", group=DATA)]
    tags: Annotated[int, number("Tags", "Tags of the model.", group=DATA)]
    labelled: Annotated[
        bool, setting("Labels", "True if the table has labels: the text has gold tags.", headline=True)
    ]
    unseen_tags: UnseenTags

    def remarks(self) -> Iterator[tuple[str, str]]:
        """Yield the effect of the threshold and of missing labels, and gold tags unknown to the model."""
        if self.threshold:
            yield "dropped", f"scores below {self.threshold:g}; calibration errors ignore these pairs"
        if not self.labelled:
            yield "", "The table has no labels, so its calibration cannot be measured."
        yield from _unseen(self.unseen_tags, self.tokens)


class TagEvaluation(Record, frozen=True, kw_only=True):
    """Accuracy of a tagger, and calibration of its probabilities."""

    main_table = "measured.views"
    model: Annotated[str, setting("Model", "Model, as named in the call.", headline=True)]
    accuracy: Annotated[
        Quantity,
        number(
            "Accuracy",
            "Proportion of tokens whose tag in the best sequence is the gold tag, in [0, 1]. The Wilson "
            "interval uses the effective number of tokens, so that it accounts for dependence within "
            "clusters.",
            group=ACCURACY,
            best=1,
            headline=True,
        ),
    ]
    unseen_words_accuracy: Annotated[
        Quantity,
        number(
            "On unseen words",
            "Accuracy on tokens that do not occur in the training data.",
            group=ACCURACY,
            best=1,
            interval=False,
        ),
    ]
    tokens: Annotated[int, number("Tokens", "Tokens of the text.", group=DATA, headline=True)]
    sentences: Annotated[int, number("Sentences", "Sentences of the text.", group=DATA)]
    unseen_words: Annotated[
        int | None,
        number(
            "Unseen words",
            "Tokens that do not occur in the training data; null if the model does not know them.",
            group=DATA,
        ),
    ]
    unseen_tags: UnseenTags
    cluster: Annotated[
        str,
        setting("Units", "Unit that intervals treat as independent: sentence or document.", headline=True),
    ]
    level: Annotated[
        float, setting("Level", "Nominal coverage of every interval.", unit="percent", headline=True)
    ]
    measured: Annotated[
        Measured,
        part("Calibration", "Calibration of the same probabilities, as calibrant measure reports it."),
    ]

    def summary(self) -> str:
        """Return a sentence on the accuracy, and those on the error of the first view."""
        return (
            f"The accuracy is {self.accuracy} on {counted(self.tokens, 'token')}. {self.measured.summary()}"
        )

    def remarks(self) -> Iterator[tuple[str, str]]:
        """Yield the proportion of unseen words, and the gold tags that the model does not know."""
        if self.unseen_words:
            yield "unseen_words", f"{self.unseen_words / self.tokens:.1%}"
        yield from _unseen(self.unseen_tags, self.tokens)


def _unseen(tags: dict[str, int], tokens: int) -> Iterator[tuple[str, str]]:
    """Yield remarks on the gold tags that the model does not know."""
    if not tags:
        return
    shown = ", ".join(f"{tag} ({count:,})" for tag, count in list(tags.items())[:MOST_TAGS])
    more = f" and {len(tags) - MOST_TAGS} more" if len(tags) > MOST_TAGS else ""
    count = sum(tags.values())
    have = "token has a gold tag" if count == 1 else "tokens have gold tags"
    yield "", f"{count:,} {have} that the model has never seen, so every tag is wrong there: {shown}{more}"
    if 2 * count > tokens:
        yield (
            "",
            "These are most of the text. Check that the column is the one that the model was trained on.",
        )
