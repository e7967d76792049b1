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
