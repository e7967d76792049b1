"""Intervals of counts that have in them what all documents share: the recalibration's own doubt."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from calibrant._checks import Floats, positive_integer, proportion
from calibrant._rng import Seed, generator
from calibrant.exceptions import InputError
from calibrant.propagate.counts import CountDistribution, Interval, count_interval, poisson_binomial
from calibrant.recalibrate._base import BinaryRecalibrator
from calibrant.recalibrate._labelled import LabelledScores, Rows, check_recalibrator, checked
from calibrant.results.propagation import CountInterval

REFITS = 200
FEWEST_REFITS = 20
LARGE_SD = 20.0  # from here on the normal distribution with skewness is within 1e-3 of the exact one
REACH = 8.0


class RefittedRecalibrator:
    """A recalibrator, and what it would have been with other labelled data.

    Errors that all documents share do not average out in a count: a recalibrator that is off by a little is
    off for each of 30,000 documents. So clusters of the labelled data are drawn with replacement, the
    recalibrator is fitted again to each draw, and the counts under all these maps are mixed. What is still
    left out: errors of whatever came before the scores (parses, mentions, a lexicon), and documents that
    differ from the labelled ones.

    Parameters
    ----------
    recalibrator
        Of one event, such as ``Platt()``; copies of it are fitted.
    dev
        Labelled scores, with clusters where they are dependent.
    refits
        Draws, at least 20.
    seed
        Of the draws.

    Attributes
    ----------
    fitted
        The recalibrator fitted to all of dev.
    maps
        Those fitted to the draws.
    failed
        Draws to which none could be fitted (one label only).

    Raises
    ------
    InputError
        For bad values, where the recalibrator cannot be fitted to dev, or not to half of the draws.

    Examples
    --------
    >>> from calibrant.recalibrate import Platt
    >>> rng = np.random.default_rng(0)
    >>> q = rng.random(300)
    >>> dev = LabelledScores(q, rng.random(300) < q)
    >>> mended = RefittedRecalibrator(Platt(), dev, refits=50, seed=1)
    >>> found = mended.count(rng.random(2000))
    >>> found.low_total < found.low < found.mean < found.high < found.high_total
    True
    """

    def __init__(
        self, recalibrator: BinaryRecalibrator, dev: LabelledScores, *, refits: int = REFITS, seed: Seed = 0
    ) -> None:
        if positive_integer(refits, "refits") < FEWEST_REFITS:
            raise InputError(f"refits is {refits}", f"give at least {FEWEST_REFITS}", code="parameter")
        rows = checked(dev, 0.0, "dev")
        check_recalibrator(recalibrator, rows, "the recalibrator")
        if rows.has_classes or not isinstance(recalibrator, BinaryRecalibrator):
            raise InputError("dev has classes", "count one event at a time", code="parameter")
        self.fitted = _fitted(recalibrator, rows)
        self.maps = _refitted(recalibrator, rows, refits, generator(seed))
        self.failed = refits - len(self.maps)
        if self.failed > refits / 2:
            message = f"{self.failed} of {refits} draws of dev could not be fitted"
            raise InputError(message, "label more documents", code="undefined")

    def probabilities(self, scores: ArrayLike) -> Floats:
        """Scores after the recalibrator that was fitted to all of dev.

        Parameters
        ----------
        scores
            (D,) in [0, 1].
        """
        return _mapped(self.fitted, scores)

    def refitted_probabilities(self, scores: ArrayLike) -> Iterable[Floats]:
        """Scores after each of the other maps.

        Parameters
        ----------
        scores
            (D,) in [0, 1].
        """
        return (_mapped(one, scores) for one in self.maps)

    def count(
        self, scores: ArrayLike, *, interval: Interval = "poisson-binomial", level: float = 0.95
    ) -> CountInterval:
        """How many documents have it, with both intervals.

        Parameters
        ----------
        scores
            (D,) before recalibration.
        interval
            ``"poisson-binomial"`` or ``"normal"``, for ``low`` and ``high``.
        level
            Of both intervals.

        Raises
        ------
        InputError
            For scores outside [0, 1].
        """
        narrow = count_interval(self.probabilities(scores), interval=interval, level=level)
        low, high = total_interval(self.refitted_probabilities(scores), level=level)
        return replace(
            narrow,
            low_total=min(low, narrow.low),
            high_total=max(high, narrow.high),
            refits=len(self.maps),
            failed_refits=self.failed,
        )


def _fitted(recalibrator: BinaryRecalibrator, rows: Rows) -> BinaryRecalibrator:
    found = rows.fit(recalibrator)
    assert isinstance(found, BinaryRecalibrator)
    return found


def _refitted(
    recalibrator: BinaryRecalibrator, rows: Rows, refits: int, rng: np.random.Generator
) -> list[BinaryRecalibrator]:
    found = []
    for _ in range(refits):
        drawn = rows.resampled(rng)
        try:
            found.append(_fitted(recalibrator, drawn))
        except InputError:  # a draw with one label only
            continue
    return found


def _mapped(fitted: BinaryRecalibrator, scores: ArrayLike) -> Floats:
    return fitted.transform(scores) if np.size(scores) else np.zeros(0)


def total_interval(probabilities: Iterable[ArrayLike], *, level: float = 0.95) -> tuple[float, float]:
    """The central interval of a count whose probabilities are themselves uncertain.

    Parameters
    ----------
    probabilities
        For each refit of whatever gives them, the (D,) probabilities of all documents.
    level
        Of the interval.

    Returns
    -------
    tuple of two floats
        Limits of the equal mixture of the refits' counts.

    Raises
    ------
    InputError
        If there are no refits, or a probability is outside [0, 1].

    Examples
    --------
    >>> total_interval([[0.1] * 50, [0.3] * 50])
    (2.0, 20.0)
    """
    proportion(level, "level")
    parts = [_distribution(np.asarray(one, np.float64)) for one in probabilities]
    if not parts:
        raise InputError("there are no refits", "give the probabilities under at least one", code="empty")
    lowest = min(part.lowest for part in parts)
    length = max(part.lowest + len(part.probabilities) for part in parts) - lowest
    mixed = np.zeros(length)
    for part in parts:
        start = part.lowest - lowest
        mixed[start : start + len(part.probabilities)] += part.probabilities / len(parts)
    low, high = CountDistribution(lowest, mixed).interval(level)
    return float(low), float(high)


def _distribution(chance: Floats) -> CountDistribution:
    """The Poisson-binomial distribution; of many documents its normal form with skewness."""
    noise = chance * (1 - chance)
    variance = float(noise.sum())
    if not variance >= LARGE_SD**2:  # also where a probability is NaN, which is refused
        return poisson_binomial(chance)
    from scipy.special import ndtr

    mean, sd = float(chance.sum()), variance**0.5
    skewness = float((noise * (1 - 2 * chance)).sum()) / sd**3
    first, last = max(0, int(mean - REACH * sd)), min(len(chance), int(mean + REACH * sd))
    z = (np.arange(first - 0.5, last + 1, 1.0) - mean) / sd
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    below = np.clip(ndtr(z) + skewness / 6 * (1 - z**2) * density, 0, 1)
    return CountDistribution(first, np.maximum(np.diff(below), 0))
