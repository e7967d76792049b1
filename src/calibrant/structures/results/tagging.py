"""Records of taggers: how one was trained, what was written of its predictions, how far to trust it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from calibrant.records import Quantity, Record, name, number, part, rows, setting
from calibrant.results.measurement import Measured

ACCURACY, DATA, TRAINING = "Accuracy", "Data", "Training data"
MOST_TAGS = 8
UnseenTags = Annotated[
    dict[str, int],
    setting("Unseen tags", "Tokens by gold tag that the model has never seen, each a miss of every tag."),
]


class TaggerCandidate(Record, frozen=True):
    """One choice of hyperparameters, and how well it did on the development data."""

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

    model: Annotated[str, setting("Model", "Kind of model: crf or hmm.", headline=True)]
    features: Annotated[
        str | list[str] | None,
        setting(
            "Features",
            "Feature set or groups of a CRF, or own for a user's function; null for an HMM.",
            headline=True,
        ),
    ]
    column: Annotated[
        str | int | None, setting("Column", "Column of the tags; null for the default of the kind of file.")
    ]
    train: Annotated[str, setting("Training text", "File of the training data.", headline=True)]
    dev: Annotated[
        str | None,
        setting(
            "Development text",
            "File by which the hyperparameters were chosen; null if these are the defaults.",
            headline=True,
        ),
    ]
    candidates: Annotated[
        tuple[TaggerCandidate, ...],
        rows("Candidates", "Every choice that was tried, in the order of trying."),
    ]
    sentences: Annotated[int, number("Sentences", "Sentences of the training data.", group=TRAINING)]
    tokens: Annotated[int, number("Tokens", "Tokens of the training data.", group=TRAINING)]
    words: Annotated[int, number("Words", "Different tokens of the training data.", group=TRAINING)]
    tags: Annotated[tuple[str, ...], setting("Tags", "The tags, sorted.", headline=True)]
    hyperparameters: Annotated[
        dict[str, Any], setting("Settings", "Value by hyperparameter that was chosen.", headline=True)
    ]
    accuracy: Annotated[
        float | None,
        number(
            "Accuracy",
            "Accuracy on the development data of the settings that were chosen, a little too high since they "
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
            "Iterations of a CRF's training, the limit if it has not converged; null for an HMM.",
            headline=True,
        ),
    ]
    output: Annotated[
        str | None, setting("Output", "File of the model; null if it was not saved.", headline=True)
    ]
    seconds: Annotated[
        float, setting("Seconds", "Time of reading, training and choosing, in seconds.", headline=True)
    ]
    version: Annotated[str, setting("calibrant", "Version of calibrant.")]

    def remarks(self) -> Iterator[tuple[str, str]]:
        """Return why the settings, or the accuracy, say less than they seem to."""
        if self.dev is None:
            yield "", "No text was given to choose the settings by (dev)."
        elif self.dev == self.train:
            yield "accuracy", "this is the training text, which says nothing of other texts"
        if self.iterations is not None and self.iterations >= self.hyperparameters["max_iterations"]:
            yield "", f"Training stopped after {self.iterations} iterations, the most that were allowed."


class WrittenPredictions(Record, frozen=True, kw_only=True):
    """Predictions of a tagger that were written."""

    output: Annotated[str, setting("Output", "File of the predictions.", headline=True)]
    rows: Annotated[
        int, number("Rows", "Rows written: pairs of a token and a tag.", group=DATA, headline=True)
    ]
    dropped: Annotated[
        int,
        number(
            "Left out",
            "Pairs whose score was below the threshold; errors are of those written, so other than of all.",
            group=DATA,
        ),
    ]
    threshold: Annotated[float, setting("Threshold", "Least score that was written; 0 writes every pair.")]
    sentences: Annotated[int, number("Sentences", "Sentences of the text.", group=DATA)]
    tokens: Annotated[int, number("Tokens", "Tokens of the text.", group=DATA)]
    tags: Annotated[int, number("Tags", "Tags of the model.", group=DATA)]
    unseen_tags: UnseenTags

    def remarks(self) -> Iterator[tuple[str, str]]:
        """Return the effect of the threshold, and the gold tags that the model has not."""
        if self.threshold:
            yield "dropped", f"scores below {self.threshold:g}; errors are of those written"
        yield from _unseen(self.unseen_tags, self.tokens)


class TagEvaluation(Record, frozen=True, kw_only=True):
    """Accuracy of a tagger, and how far its probabilities can be trusted."""

    model: Annotated[str, setting("Model", "Model, as it was named.", headline=True)]
    accuracy: Annotated[
        Quantity,
        number(
            "Accuracy",
            "Proportion of tokens whose tag in the best sequence is the gold tag, in [0, 1]. The interval is "
            "for text like this: whole clusters vary (Wilson's, of an effective number of tokens).",
            group=ACCURACY,
            best=1,
            headline=True,
        ),
    ]
    unseen_words_accuracy: Annotated[
        Quantity,
        number(
            "On words not seen in training",
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
            "Tokens that do not occur in the training data; null if the model cannot say.",
            group=DATA,
        ),
    ]
    unseen_tags: UnseenTags
    cluster: Annotated[
        str,
        setting(
            "Units", "Unit that every interval takes as independent: sentence or document.", headline=True
        ),
    ]
    level: Annotated[
        float, setting("Level", "Nominal coverage of every interval.", unit="percent", headline=True)
    ]
    measured: Annotated[
        Measured,
        part("Calibration", "Calibration of the same probabilities, as calibrant measure gives it."),
    ]

    def remarks(self) -> Iterator[tuple[str, str]]:
        """Return the proportion of unseen words, and the gold tags that the model has not."""
        if self.unseen_words:
            yield "unseen_words", f"{self.unseen_words / self.tokens:.1%}"
        yield from _unseen(self.unseen_tags, self.tokens)


def _unseen(tags: dict[str, int], tokens: int) -> Iterator[tuple[str, str]]:
    """Remarks on the gold tags that the model has not."""
    if not tags:
        return
    shown = ", ".join(f"{tag} ({count:,})" for tag, count in list(tags.items())[:MOST_TAGS])
    more = f" and {len(tags) - MOST_TAGS} more" if len(tags) > MOST_TAGS else ""
    count = sum(tags.values())
    have = "token has a gold tag" if count == 1 else "tokens have gold tags"
    yield "", f"{count:,} {have} that the model has never seen, a miss of every tag: {shown}{more}"
    if 2 * count > tokens:
        yield "", "These are most of the text; is it the column that the model was trained on?"
