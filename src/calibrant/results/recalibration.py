"""Records of recalibration: the fit of a map, its application, and the best temperature."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import msgspec

from calibrant.records import Record, number, setting

FIT, TABLE = "Fit", "Table"


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


class FittedRecalibrator(Record, frozen=True, kw_only=True):
    """Fit of a recalibrator."""

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
    digest: Annotated[str | None, setting("SHA-256", "SHA-256 of the file; null for a dataframe.")]
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
            "Choices by cross-validation, a temperature, and unusual maps: a map is constant, or decreases.",
        ),
    ] = ()

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
            "Below the threshold",
            "Scores below the threshold of the fit, which stay unchanged.",
            group=TABLE,
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
