"""Total intervals of counts, with the uncertainty that all documents share: recalibration and drift."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np
from msgspec.structs import replace
from numpy.typing import ArrayLike

from calibrant import _checks
from calibrant._checks import Floats, Integers, one_dimensional, positive_integer, proportion
from calibrant.estimation.counts import CountDistribution, Interval, count_interval, probabilities_of
from calibrant.estimation.results import CountInterval, Drift
from calibrant.exceptions import InputError
from calibrant.metrics.tails import effective_number
from calibrant.recalibrate.base import BinaryRecalibrator
from calibrant.recalibrate.histogram import HistogramBinning
from calibrant.recalibrate.isotonic import Isotonic
from calibrant.recalibrate.labelled import LabelledScores, Rows, check_recalibrator, checked
from calibrant.records import Quantity
from calibrant.seeds import Seed, generator

REFITS = 200
FEWEST_REFITS = 20
OF_LABELS = (HistogramBinning, Isotonic)  # their values are proportions of labels, which can be 0 or 1
ENOUGH_LABELS, ENOUGH_ALIKE = 50, 10  # units, and those with each label
NO_DRIFT = (
    "The total interval assumes that probabilities are as well calibrated in every period as in the labeled "
    "documents. If log-odds differ by 0.2 between periods, it covers fewer counts (with 1,000 labels of "
    "one period and 800 documents of another, half of them): give a drift."
)

FEWEST_PERIODS = 3
LARGEST = 3.0  # standard deviation in log-odds, beyond which no prior weight lies
SCALE = 0.5  # of the half-Cauchy prior of the standard deviation
CLIP = 1e-9
SHIFTS = np.linspace(-6, 6, 301)
MEANS = np.linspace(-3, 3, 61)
DEVIATIONS = np.concatenate([[0.0], np.geomspace(0.01, LARGEST, 60)])


def given_drift(sd: object) -> Drift:
    """Check a standard deviation of shifts that is known.

    Raises
    ------
    InputError
        If it is negative, above 3, or no number.
    """
    value = _checks.non_negative(sd, "drift")
    if value > LARGEST:
        message = f"drift is {value:g}"
        hint = f"give a standard deviation in log-odds, at most {LARGEST:g}"
        raise InputError(message, hint, code="parameter")
    return Drift(value)


def estimate_drift(y_true: ArrayLike, y_prob: ArrayLike, periods: ArrayLike) -> tuple[Drift, Floats]:
    """Estimate how much the log-odds of probabilities shift between periods, from labels of several.

    The shift of each period is drawn from a normal distribution, and the labels of the period from the
    shifted probabilities. The standard deviation of shifts has a half-Cauchy prior of scale 0.5, so that
    its uncertainty is taken along: a few periods that happen to agree do not exclude a drift. Dependent
    labels within a period look like drift, and widen the estimate.

    Parameters
    ----------
    y_true
        (n,) labels 0 / 1.
    y_prob
        (n,) calibrated probabilities.
    periods
        (n,) the period of each; at least 3.

    Returns
    -------
    tuple of a `Drift` and an array
        The posterior median of the standard deviation with its central 95 % interval; and the posterior
        probability of each standard deviation in `DEVIATIONS`.

    Raises
    ------
    InputError
        For fewer than 3 periods.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> q, period = rng.random(4000), np.repeat(np.arange(8), 500)
    >>> odds = np.log(q / (1 - q)) + rng.normal(0, 0.5, 8)[period]
    >>> drift, _ = estimate_drift(rng.random(4000) < 1 / (1 + np.exp(-odds)), q, period)
    >>> drift.periods, drift.low < 0.5 < drift.high
    (8, True)
    """
    label = np.asarray(_checks.labels(y_true, "y_true"), np.float64)
    score = probabilities_of(y_prob, "y_prob")
    code, names = _checks.cluster_codes(periods, "periods")
    _checks.same_length("y_prob", len(score), "y_true", len(label))
    _checks.same_length("periods", len(code), "y_true", len(label))
    if len(names) < FEWEST_PERIODS:
        message = f"the labels are from only {len(names)} periods"
        hint = f"label at least {FEWEST_PERIODS} periods, or give the standard deviation of the drift"
        raise InputError(message, hint, code="parameter")
    posterior = _posterior(label, score, code, len(names))
    below = np.cumsum(posterior)
    low, middle, high = (
        float(DEVIATIONS[min(int(np.searchsorted(below, at)), len(DEVIATIONS) - 1)])
        for at in (0.025, 0.5, 0.975)
    )
    return Drift(middle, low, high, periods=len(names)), posterior


def _posterior(label: Floats, score: Floats, code: Integers, count: int) -> Floats:
    """Posterior probabilities of `DEVIATIONS`."""
    from scipy.special import expit, logit

    odds = logit(np.clip(score, CLIP, 1 - CLIP))
    log_likelihood = np.empty((count, len(SHIFTS)))
    for place, shift in enumerate(SHIFTS):
        moved = expit(np.where(label == 1, odds + shift, -odds - shift))
        log_likelihood[:, place] = np.bincount(code, np.log(np.maximum(moved, 1e-300)), count)
    likelihood = np.exp(log_likelihood - log_likelihood.max(axis=1, keepdims=True))
    total = np.log(np.maximum(_densities() @ likelihood.T, 1e-300)).sum(axis=-1)
    marginal = np.exp(total - total.max()).sum(axis=1)
    weight = np.gradient(DEVIATIONS) / (1 + (DEVIATIONS / SCALE) ** 2)
    posterior: Floats = marginal * weight
    posterior /= posterior.sum()
    return posterior


@lru_cache(maxsize=1)
def _densities() -> Floats:
    """Normal densities of `SHIFTS` for each of `DEVIATIONS` and of `MEANS`."""
    sd = np.maximum(DEVIATIONS, 0.02)[:, None, None]
    density: Floats = np.exp(-0.5 * ((SHIFTS - MEANS[:, None]) / sd) ** 2)
    density /= density.sum(axis=-1, keepdims=True)
    return density


def shifts_of(
    drift: Drift, posterior: Floats | None, labelled: float, count: int, rng: np.random.Generator
) -> Floats:
    """Draw shifts of a period without labels from the labeled periods.

    Parameters
    ----------
    drift
        Known or estimated.
    posterior
        Probabilities of `DEVIATIONS`; None if the standard deviation is known.
    labelled
        Effective number of labeled periods: their mean shift is in the fitted map.
    count
        Number of draws, which are spread evenly over the distribution.
    rng
        Puts them in order.
    """
    from scipy.special import ndtri

    even = (np.arange(count) + 0.5) / count
    normal = rng.permutation(ndtri(even)) * np.sqrt(1 + 1 / labelled)
    if posterior is None:
        known: Floats = normal * (drift.estimate or 0.0)
        return known
    place = np.searchsorted(np.cumsum(posterior), rng.permutation(even))
    shifts: Floats = normal * DEVIATIONS[np.minimum(place, len(DEVIATIONS) - 1)]
    return shifts


class RefittedRecalibrator:
    """A recalibrator with its refits to resampled labeled data.

    Errors that all documents share do not average out in a count: a small error of a recalibrator affects
    each of 30,000 documents. Therefore clusters of the labeled data are drawn with replacement, the
    recalibrator is refitted to each draw, and the counts under all these maps are mixed. Not included are
    errors of earlier steps (parses, mentions, a lexicon), and differences between the documents and the
    labeled ones.

    Parameters
    ----------
    recalibrator
        Recalibrator of one event, such as ``Platt()``; copies of it are fitted. A map that does not take the
        mean probability to that of the labels is refused: ``Temperature()`` and ``Beta("ab")``, which have no
        intercept (intervals cover 0 to 57 % if log-odds are off by 0.1 to 0.5), and ``ScalingBinning()``.
    dev
        Labeled scores, with clusters if they are dependent.
    refits
        Number of draws, at least 20.
    seed
        Seed of the draws.
    drift
        Standard deviation of the periods' shifts of log-odds around their mean. None: it is
        estimated from ``periods``, or there is no drift if these are not given.
    periods
        (n,) periods of the labeled documents. None: all are from one period. The drift is estimated from
        at least 3 periods (`estimate_drift`).

    Attributes
    ----------
    fitted
        The recalibrator fitted to all of dev.
    maps
        Those fitted to the draws.
    drift
        The `Drift` in the total interval, or None.
    failed
        Draws to which none could be fitted (one label only).
    warning
        Warning on few labels, with which total intervals are too narrow; else None. The total interval of a
        count adds a warning on documents to which `Isotonic` or `HistogramBinning` gives probability 0 or 1.

    Raises
    ------
    InputError
        For bad values, for a map that does not fit the mean, where the recalibrator cannot be fitted to dev,
        or not to half of the draws.

    Examples
    --------
    >>> from calibrant.recalibrate import Platt
    >>> rng = np.random.default_rng(0)
    >>> q = rng.random(300)
    >>> dev = LabelledScores(q, rng.random(300) < q)
    >>> refitted = RefittedRecalibrator(Platt(), dev, refits=50, seed=1)
    >>> interval = refitted.count(rng.random(2000))
    >>> interval.total.low < interval.count.low < interval.count.high < interval.total.high
    True
    """

    def __init__(
        self,
        recalibrator: BinaryRecalibrator,
        dev: LabelledScores,
        *,
        refits: int = REFITS,
        seed: Seed = 0,
        drift: float | None = None,
        periods: ArrayLike | None = None,
    ) -> None:
        if positive_integer(refits, "refits") < FEWEST_REFITS:
            raise InputError(f"refits is {refits}", f"give at least {FEWEST_REFITS}", code="parameter")
        rows = checked(dev, 0.0, "dev")
        check_recalibrator(recalibrator, rows, "the recalibrator")
        if rows.has_classes or not isinstance(recalibrator, BinaryRecalibrator):
            raise InputError("dev has classes", "use data of one event", code="parameter")
        if not recalibrator.fits_mean:
            message = f"after {recalibrator!r} the mean probability is not that of the labels"
            hint = "a count sums this error over all documents: use Platt(), Beta() or Isotonic()"
            raise InputError(message, hint, code="parameter")
        model = rows.fit(recalibrator)
        assert isinstance(model, BinaryRecalibrator)
        self.fitted = model
        rng = generator(seed)
        made = rows.refits(recalibrator, refits, rng)
        self.maps = [one for one in made if isinstance(one, BinaryRecalibrator)]
        self.failed = refits - len(self.maps)
        if self.failed > refits / 2:
            message = f"{self.failed} of {refits} draws of dev could not be fitted"
            raise InputError(message, "label more documents", code="undefined")
        self.warning = _few(rows)
        fitted = self.probabilities(rows.score)
        self.drift, self._shifts = _drift(rows, fitted, drift, periods, len(self.maps), rng)

    def probabilities(self, scores: ArrayLike) -> Floats:
        """Return scores after the recalibrator that was fitted to all of dev.

        Parameters
        ----------
        scores
            (D,) in [0, 1].
        """
        return _mapped(self.fitted, scores)

    def refitted_probabilities(self, scores: ArrayLike) -> Iterable[Floats]:
        """Return scores after each of the other maps, shifted by the drift if there is one.

        Parameters
        ----------
        scores
            (D,) in [0, 1].
        """
        return (
            _shifted(_mapped(one, scores), shift) for one, shift in zip(self.maps, self._shifts, strict=True)
        )

    def count(
        self, scores: ArrayLike, *, interval: Interval = "poisson-binomial", level: float = 0.95
    ) -> CountInterval:
        """Estimate the number of positive documents, with both intervals.

        Parameters
        ----------
        scores
            (D,) before recalibration.
        interval
            ``"poisson-binomial"`` or ``"normal"``, for the interval of ``count``.
        level
            Level of both intervals.
        """
        return self.counts([scores], interval=interval, level=level)[0]

    def counts(
        self,
        scores: Sequence[ArrayLike],
        *,
        interval: Interval = "poisson-binomial",
        level: float = 0.95,
    ) -> list[CountInterval]:
        """Estimate the number of positive documents of several groups, faster than one group at a time.

        Parameters
        ----------
        scores
            For each group (D,) before recalibration; a group may be empty.
        interval, level
            As in `count`.
        """
        groups = [one_dimensional(one, "scores") if np.size(one) else np.zeros(0) for one in scores]
        start = np.concatenate([[0], np.cumsum([len(one) for one in groups], dtype=np.int64)])
        flat = probabilities_of(np.concatenate([*groups, np.zeros(0)]), "scores")
        # Proportions of samples have few values: each map is applied once to each value.
        distinct, code = np.unique(flat, return_inverse=True)
        recalibrated = self.probabilities(distinct)[code]
        every = mixed_counts(self.refitted_probabilities(distinct), len(self.maps), code, start)
        counts = []
        for (first, last), mixture in zip(pairwise(start), every, strict=True):
            certain = _certain(self.fitted, recalibrated[first:last])
            narrow = count_interval(recalibrated[first:last], interval=interval, level=level)
            count, (low, high) = narrow.count, mixture.interval(level)
            counts.append(
                replace(
                    narrow,
                    total=Quantity(
                        count.estimate,
                        min(float(low), count.low or 0.0),
                        max(float(high), count.high or 0.0),
                        warning=" ".join(filter(None, (self.warning, certain))) or None,
                    ),
                    refits=len(self.maps),
                    failed_refits=self.failed,
                    drift=self.drift,
                    drift_warning=NO_DRIFT if self.drift is None else None,
                )
            )
        return counts


def _few(rows: Rows) -> str | None:
    units = "labels" if rows.cluster is None else "clusters of labels"
    kinds = [len(np.unique(rows.units[rows.label == label])) for label in (0, 1)]
    if rows.unit_count >= ENOUGH_LABELS and min(kinds) >= ENOUGH_ALIKE:
        return None
    return (
        f"{rows.unit_count} {units} ({kinds[1]} with a positive one) are few: the total interval may be too "
        f"narrow. It needs {ENOUGH_LABELS}, and {ENOUGH_ALIKE} of each kind."
    )


def _certain(fitted: BinaryRecalibrator, probability: Floats) -> str | None:
    """Warning on documents that are certain under the map, and then mostly under its refits as well."""
    certain = int(np.isin(probability, (0, 1)).sum())
    # Smooth maps only come so close to 0 or 1 that the rest is lost in rounding.
    if not certain or not isinstance(fitted, OF_LABELS):
        return None
    return (
        f"The map gives {certain:,} of {len(probability):,} documents probability 0 or 1: the total interval "
        "leaves out how often that is wrong."
    )


def _drift(
    rows: Rows,
    fitted: Floats,
    drift: float | None,
    periods: ArrayLike | None,
    count: int,
    rng: np.random.Generator,
) -> tuple[Drift | None, Floats]:
    """The drift that was given, or that of the periods; and a shift for each map."""
    known = None if drift is None else given_drift(drift)
    posterior, labelled = None, 1.0
    if periods is not None:
        code, _ = _checks.cluster_codes(periods, "periods")
        _checks.same_length("periods", len(code), "dev scores", len(rows.score))
        labelled = effective_number(np.bincount(code))
        if known is None:
            known, posterior = estimate_drift(rows.label, fitted, periods)
    if known is None:
        return None, np.zeros(count)
    return known, shifts_of(known, posterior, labelled, count, rng)


def _mapped(fitted: BinaryRecalibrator, scores: ArrayLike) -> Floats:
    return fitted.transform(scores) if np.size(scores) else np.zeros(0)


def _shifted(probability: Floats, shift: float) -> Floats:
    """Probabilities moved by so many log-odds; 0 and 1 stay."""
    if shift == 0:
        return probability
    odds = np.exp(shift)
    moved: Floats = probability * odds / (1 - probability + probability * odds)
    return moved


def total_interval(probabilities: Iterable[ArrayLike], *, level: float = 0.95) -> tuple[float, float]:
    """Return the total interval of a count whose probabilities are uncertain.

    Parameters
    ----------
    probabilities
        (D,) probabilities of all documents for each refit.
    level
        Level of the interval.

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
    parts = [probabilities_of(one, "probabilities") for one in probabilities]
    if not parts:
        raise InputError("there are no refits", "pass the probabilities of at least one refit", code="empty")
    low, high = mixed_count(parts).interval(level)
    return float(low), float(high)


def mixed_count(parts: Sequence[Floats]) -> CountDistribution:
    """Return the equal mixture of counts, each of independent events."""
    from calibrant.estimation._kernels import add_count

    mixed = np.zeros(max(map(len, parts)) + 1)
    for part in parts:
        add_count(part, 1 / len(parts), mixed)
    return CountDistribution(0, mixed)


def mixed_counts(
    chances: Iterable[Floats], size: int, code: Integers, start: Integers
) -> Iterator[CountDistribution]:
    """Return the equal mixture of the counts of each group of events under several maps."""
    from calibrant.estimation._kernels import add_counts

    mixed = np.zeros(len(code) + len(start) - 1)
    for chance in chances:
        add_counts(chance, code, start, 1 / size, mixed)
    for group, (first, last) in enumerate(pairwise(start)):
        yield CountDistribution(0, mixed[first + group : last + group + 1])
