"""Records of recalibration: how a map was fitted, what was written with it, which temperature was found."""

from __future__ import annotations

from dataclasses import dataclass, field

from calibrant.results._base import Result


@dataclass(frozen=True)
class ChainTemperature(Result):
    """The temperature that mends the posteriors of a chain best.

    Attributes
    ----------
    temperature
        What potentials are to be divided by: above 1 the model was too sure of itself, below 1 too unsure.
    objective
        ``"likelihood"`` or ``"calibration"``.
    before, after
        What was minimised, at temperature 1 and at the one found: the mean over sentences of minus the
        logarithm of the gold tags' probability, or the debiased squared calibration error (which can be
        negative).
    sentences
        Sentences that were used.
    left_out
        Sentences that were not, since the gold tags cannot be theirs: their probability is 0 at every
        temperature. For ``"calibration"`` none.
    unseen
        Gold tokens by tag that the model has never seen, the most frequent tag first.
    """

    temperature: float
    objective: str
    before: float
    after: float
    sentences: int
    left_out: int
    unseen: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class FittedRecalibrator(Result):
    """How a recalibrator was fitted.

    Attributes
    ----------
    method
        As `calibrant.workflow.fit_recalibrator` takes it.
    group
        ``shared``, ``class``, ``frequency``, or the file of the groups; None where there are no classes, or
        one map takes all classes at once.
    view
        ``binary``, ``classes`` or ``wide``.
    source, digest
        The file, and the SHA-256 of its bytes; None for a dataframe.
    pairs
        Pairs (or rows, of a map of all classes at once) it was fitted on.
    classes
        How many classes these had; 0 for ``binary``.
    score_range
        The lowest and the highest score of the fit; beyond them the map is extrapolated.
    threshold
        Scores below it took no part; None when all took part.
    maps
        How many maps there are: one, or one a class or group.
    output
        Where it was saved; None if nowhere.
    seconds
        Time of reading and fitting.
    version
        Of calibrant.
    notes
        What was chosen by cross-validation, and what is odd about the maps: that one is constant, or falls
        where the score rises.
    """

    method: str
    group: str | None
    view: str
    source: str | None
    digest: str | None
    pairs: int
    classes: int
    score_range: tuple[float, float]
    threshold: float | None
    maps: int
    output: str | None
    seconds: float
    version: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class AppliedRecalibrator(Result):
    """What was written with a recalibrator.

    Attributes
    ----------
    model
        The recalibrator's file; None for one in memory.
    source, output
        The table read, and the one written.
    rows
        Rows written.
    scores
        Scores in them.
    below
        Scores below the threshold of the fit: they stay as they were.
    beyond
        Scores outside the range of the fit: the map is extrapolated.
    new_classes
        Classes of a long table that were not there at the fit, in order of first appearance.
    again
        Whether the table had been recalibrated before.
    threshold
        Of the table: scores below it were not written, before they were recalibrated. None when all were.
    """

    model: str | None
    source: str
    output: str
    rows: int
    scores: int
    below: int
    beyond: int
    new_classes: tuple[str, ...]
    again: bool
    threshold: float | None
