"""Records of recalibration: the choice and fit of a map, its application, and its effect on the order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import msgspec

from calibrant.records import Quantity, Record, name, number, rows, setting, warning

MOST_CLASSES = 20  # that a summary names

FIT, TABLE = "Fit", "Table"

TIES, AUC = "Ties", "Order"
TIED = "Proportion of the combinations of a positive and a negative pair that have the same score"
AREA = "Area under the ROC curve, ties counting one half"

LOSS = "Loss on held-out folds"


class ChainTemperature(Record, frozen=True):
    """Temperature that best recalibrates the posteriors of a chain."""

    temperature: Annotated[
        float,
        number(
            "Temperature",
            "Divisor of the potentials: above 1 the model was overconfident, below 1 underconfident.",
            group=FIT,
            best=1,
            headline=True,
        ),
    ]
    objective: Annotated[str, setting("Objective", "likelihood or calibration.", headline=True)]
    before: Annotated[
        float,
        number(
            "Before",
            "Objective at temperature 1: mean over sentences of minus the logarithm of the gold tags' "
            "probability, or the debiased squared calibration error, which can be negative.",
            group=FIT,
        ),
    ]
    after: Annotated[float, number("After", "Objective at the temperature found.", group=FIT)]
    sentences: Annotated[int, number("Sentences", "Sentences that were used.", group=FIT)]
    left_out: Annotated[
        int,
        number(
            "Left out",
            "Sentences whose gold tags have probability 0 at every temperature; none for calibration.",
            group=FIT,
        ),
    ]
    unseen: Annotated[
        dict[str, int],
        setting("Unseen", "Gold tokens by tag that the model has never seen, the most frequent tag first."),
    ] = msgspec.field(default_factory=dict)


class TriedMap(Record, frozen=True, kw_only=True):
    """One calibration map, or no map, in cross-fitting on the data of a fit."""

    name: Annotated[str, name("Map", "Method of the map; none for unchanged scores.")]
    part: Annotated[
        str | None, name("Group", "Class or group of classes of the map; null if there is one map.")
    ]
    log_loss: Annotated[
        Quantity,
        number(
            "Log loss",
            "Mean log loss of scores that are mapped by fits to the other folds. A probability of 0 for the "
            "label counts as 1 / (2 n).",
            group=LOSS,
            best=0,
            headline=True,
            interval=False,
        ),
    ]
    log_loss_difference: Annotated[
        Quantity,
        number(
            "Difference",
            "Log loss minus that of the map of this fit, with a paired interval over clusters.",
            group=LOSS,
            headline=True,
            signed=True,
        ),
    ]
    brier: Annotated[
        Quantity,
        number(
            "Brier",
            "Mean Brier score of these scores; a sum over classes if the map takes whole rows.",
            group=LOSS,
            best=0,
            headline=True,
            interval=False,
        ),
    ]
    brier_difference: Annotated[
        Quantity,
        number(
            "Difference of Brier",
            "Brier score minus that of the map of this fit, with a paired interval over clusters.",
            group=LOSS,
            headline=True,
            signed=True,
        ),
    ]
    impossible: Annotated[
        int | None,
        number(
            "Labels of probability 0",
            "Held-out labels that the map gives probability 0, so that their log loss is infinite; null if "
            "the map could not be fitted.",
            group=LOSS,
        ),
    ]
    chosen: Annotated[bool, setting("Chosen", "True for the map of this fit.")]


class FittedRecalibrator(Record, frozen=True, kw_only=True):
    """Fit of a recalibrator."""

    main_table = "tried"
    method: Annotated[str, setting("Method", "Name of the method.", headline=True)]
    group: Annotated[
        str | None,
        setting(
            "Maps",
            "One map for all classes (shared), one per class (class), one per group of similarly frequent "
            "classes (frequency), or the file of the groups; null if there are no classes, or one map takes "
            "all classes at once.",
            headline=True,
        ),
    ]
    kind: Annotated[str, setting("Kind of table", "Kind of table: binary, classes or wide.", headline=True)]
    source: Annotated[str | None, setting("File", "File of the fit; null for a dataframe.", headline=True)]
    digest: Annotated[
        str | None, setting("SHA-256", "SHA-256 of the file, or of the scores and labels of a dataframe.")
    ]
    pairs: Annotated[
        int,
        number(
            "Pairs",
            "Pairs (rows, if one map takes all classes at once) of the fit.",
            group=FIT,
            headline=True,
        ),
    ]
    classes: Annotated[int, number("Classes", "Classes of these pairs; 0 for a binary table.", group=FIT)]
    score_range: Annotated[
        tuple[float, float],
        setting(
            "Scores",
            "Lowest and highest score of the fit; outside this range the map is extrapolated.",
            headline=True,
        ),
    ]
    threshold: Annotated[
        float | None,
        setting(
            "Threshold",
            "Scores below it were left out of the fit and stay unchanged; null if all scores were used.",
            headline=True,
        ),
    ]
    maps: Annotated[
        int, number("Maps", "Number of maps: one, or one per class or group.", group=FIT, headline=True)
    ]
    output: Annotated[str | None, setting("Output", "File of the recalibrator; null if it was not saved.")]
    seconds: Annotated[float, number("Seconds", "Time of reading and fitting.", group=FIT, unit="seconds")]
    version: Annotated[str, setting("calibrant", "Version of calibrant.")]
    notes: Annotated[
        tuple[str, ...],
        setting(
            "Notes",
            "Choices by cross-fitting, a temperature, and unusual maps: a map is constant, or decreases.",
        ),
    ] = ()
    tried: Annotated[
        tuple[TriedMap, ...],
        rows(
            "Maps in cross-fitting",
            "Held-out losses of the map, of no map, and for auto of all maps that were compared.",
            most=30,
        ),
    ] = ()
    harm_warning: Annotated[
        str | None, warning("The map is worse than no map in cross-fitting on the data of the fit.")
    ] = None

    def remarks(self) -> Iterator[tuple[str, str]]:
        """Return the notes."""
        yield from (("", note) for note in self.notes)


class AppliedRecalibrator(Record, frozen=True, kw_only=True):
    """Scores that were written with a recalibrator."""

    model: Annotated[
        str | None, setting("Model", "File of the recalibrator; null for one in memory.", headline=True)
    ]
    source: Annotated[str, setting("Read", "Table that was read.", headline=True)]
    output: Annotated[str, setting("Written", "Table that was written.", headline=True)]
    rows: Annotated[int, number("Rows", "Rows written.", group=TABLE, headline=True)]
    scores: Annotated[int, number("Scores", "Number of scores in these rows.", group=TABLE, headline=True)]
    below: Annotated[
        int,
        number(
            "Below the threshold", "Scores below the threshold of the fit, which stay unchanged.", group=TABLE
        ),
    ]
    beyond: Annotated[
        int,
        number(
            "Outside the range",
            "Scores outside the range of the fit, where the map is extrapolated.",
            group=TABLE,
        ),
    ]
    new_classes: Annotated[
        tuple[str, ...],
        setting(
            "New classes",
            "Classes of a long table that were not in the fit, in order of first appearance.",
            headline=True,
        ),
    ]
    again: Annotated[
        bool,
        setting("Recalibrated before", "If true, measure whether recalibrating twice helps.", headline=True),
    ]

    def summary(self) -> str:
        """Return what limits how far the new scores can be trusted."""
        cautions = ["The table was recalibrated before; measure whether this helps."] if self.again else []
        if self.new_classes:
            cautions.append(
                f"Classes that were not in the fit: {', '.join(self.new_classes[:MOST_CLASSES])}."
            )
        return " ".join(cautions)

    threshold: Annotated[
        float | None,
        setting(
            "Left out below",
            "Threshold below which the table leaves out scores; written scores may be lower. Null if the "
            "table has all scores.",
            headline=True,
        ),
    ]

    def remarks(self) -> Iterator[tuple[str, str]]:
        """Return remarks to read before the scores are used."""
        if self.below:
            yield "below", "they stay unchanged"
        if self.beyond:
            yield "beyond", "the map is extrapolated"
        if self.again:
            yield "", f"{self.source} was already recalibrated; measure whether doing it twice helps"
        if self.threshold is not None:
            yield (
                "",
                f"{self.source} leaves out scores below {self.threshold:g}; written scores may be lower",
            )


class OrderEffect(Record, frozen=True, kw_only=True):
    """Ties and AUC before and after a recalibration."""

    distinct_before: Annotated[
        int, number("Distinct scores before", "Number of distinct scores before.", group=TIES)
    ]
    distinct_after: Annotated[
        int, number("Distinct scores after", "Number of distinct scores after.", group=TIES)
    ]
    tied_before: Annotated[float | None, number("Tied before", f"{TIED}, before.", group=TIES)]
    tied_after: Annotated[float | None, number("Tied after", f"{TIED}, after.", group=TIES)]
    auc_before: Annotated[float | None, number("AUC before", f"{AREA}, before.", group=AUC, best=1)]
    auc_after: Annotated[float | None, number("AUC after", f"{AREA}, after.", group=AUC, best=1)]
    auc_change: Annotated[
        float | None, number("AUC change", "AUC after minus AUC before.", group=AUC, headline=True)
    ]
    reason: Annotated[str | None, setting("Reason", "Reason why numbers are undefined, if they are.")] = None


class RecalibratorCandidate(Record, frozen=True, kw_only=True):
    """One recalibrator that was tried."""

    name: Annotated[str, name("Candidate", "Name that the caller gave it.")]
    loss: Annotated[
        Quantity,
        number(
            "Loss",
            "Loss of scores recalibrated by maps that were fitted to the other folds.",
            group=LOSS,
            headline=True,
            interval=False,
        ),
    ]
    difference: Annotated[
        Quantity | None,
        number(
            "Difference",
            "Loss of the candidate minus loss of the chosen candidate, with a paired interval over clusters; "
            "null for the chosen candidate. Differences are slightly too large, because the chosen candidate "
            "is the best of several on these data.",
            group=LOSS,
            headline=True,
        ),
    ] = None


class RecalibratorChoice(Record, frozen=True, kw_only=True):
    """The best of several recalibrators by cross-validation."""

    chosen: Annotated[
        str,
        setting("Chosen", "Candidate with the smallest loss; the first of equally good ones.", headline=True),
    ]
    objective: Annotated[str, setting("Loss", "The loss: brier, log-loss or calibration.", headline=True)]
    unchanged: Annotated[
        float | None,
        setting("Loss unchanged", "Loss of the scores without recalibration; null if it is infinite."),
    ]
    candidates: Annotated[
        tuple[RecalibratorCandidate, ...], rows("Candidates", "Every candidate, in the order given.")
    ]
    folds: Annotated[int, setting("Folds", "Parts of the data, each held out once.", headline=True)]
    pairs: Annotated[int, setting("Pairs", "Number of scores used.", headline=True)]
    clusters: Annotated[
        int | None, setting("Clusters", "Number of clusters; null if scores are treated as independent.")
    ]
    threshold: Annotated[float, setting("Threshold", "Scores below it were left out.")]
    level: Annotated[float, setting("Level", "Nominal coverage of the intervals.", unit="percent")]
    seed: Annotated[
        int | None, setting("Seed", "Seed of the folds; null if a generator was given.", unit="seed")
    ]
