"""Choose a recalibrator, and numbers of groups and bins, by cross-validation on the recalibration data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal, get_args

import msgspec
import numpy as np
from sklearn.base import clone

from calibrant._checks import Floats, Integers, Pairs, one_of, positive_integer, proportion
from calibrant.exceptions import InputError
from calibrant.metrics.compare import error_difference
from calibrant.metrics.debiased import debiased_squared_error
from calibrant.metrics.groups import by_frequency
from calibrant.metrics.tails import cr2, effective_number, quantile
from calibrant.progress import Progress, tell
from calibrant.recalibrate.base import BinaryRecalibrator
from calibrant.recalibrate.draws import content_order, dealt
from calibrant.recalibrate.groups import PerGroup, Shared
from calibrant.recalibrate.labelled import LabelledScores, Rows, Single, check_recalibrator, checked
from calibrant.records import Quantity
from calibrant.results.recalibration import RecalibratorCandidate, RecalibratorChoice
from calibrant.seeds import Seed, generator, recorded

Objective = Literal["brier", "log-loss", "calibration"]

GROUPS = (1, 2, 3, 5, 8, 12, 20)
BINS = (5, 10, 20, 40)
INFINITE = "a pair with label 1 has probability 0, or label 0 has probability 1, so the log loss is infinite"


def frequency_candidates(
    estimator: BinaryRecalibrator,
    train_counts: Mapping[str, int],
    *,
    groups: Sequence[int] = GROUPS,
    n_bins: Sequence[int] | None = None,
) -> dict[str, Single]:
    """Return a recalibrator for each number of tag frequency groups and of bins.

    Parameters
    ----------
    estimator
        A recalibrator of single scores.
    train_counts
        Number of occurrences of each tag in the training data.
    groups
        Numbers of groups, G; 1 is one map for all tags. If two G give the same groups, only the first is
        included.
    n_bins
        Numbers of bins, for estimators with bins; None for 5, 10, 20 and 40.

    Returns
    -------
    dict
        Candidates for `choose_recalibrator`, by names such as ``"G=5, bins=10"``.

    Raises
    ------
    InputError
        If ``n_bins`` is given and the estimator has no bins.

    Examples
    --------
    >>> from calibrant.recalibrate import HistogramBinning
    >>> counts = {"N": 3, "V": 2, "UH": 1}
    >>> list(frequency_candidates(HistogramBinning(), counts, groups=(1, 2), n_bins=(5, 10)))
    ['G=1, bins=5', 'G=1, bins=10', 'G=2, bins=5', 'G=2, bins=10']
    """
    has_bins = "n_bins" in estimator.get_params(deep=False)
    if n_bins is not None and not has_bins:
        raise InputError(f"{estimator!r} has no bins", "leave n_bins out", code="parameter")
    candidates: dict[str, Single] = {}
    seen: list[list[list[str]]] = []
    for count in groups:
        parts = by_frequency(train_counts, count)
        if parts in seen:
            continue
        seen.append(parts)
        for size in BINS if n_bins is None and has_bins else n_bins or (None,):
            one = clone(estimator)
            name = f"G={count}"
            if size is not None:
                one.set_params(n_bins=positive_integer(size, "n_bins"))
                name += f", bins={size}"
            candidates[name] = Shared(one) if len(parts) == 1 else PerGroup(one, parts)
    return candidates


def choose_recalibrator(
    candidates: Mapping[str, Single],
    data: LabelledScores,
    *,
    objective: Objective = "brier",
    folds: int = 5,
    threshold: float = 0.0,
    level: float = 0.95,
    seed: Seed = 0,
    progress: Progress | None = None,
) -> RecalibratorChoice:
    """Compare recalibrators on held-out parts of the recalibration data.

    Clusters are divided into folds. The scores of each fold are recalibrated by maps that were fitted to the
    other folds, and the loss is computed on all scores. Afterwards, fit the chosen recalibrator to all data
    and measure it on other data, because the loss of the best of several is biased downward.

    Parameters
    ----------
    candidates
        Recalibrators by name, preferred ones first; `frequency_candidates` returns some.
    data
        Recalibration data.
    objective
        ``"brier"`` (the mean squared difference of label and score) and ``"log-loss"`` are proper: true
        probabilities minimize them. ``"calibration"`` is the debiased squared calibration error of all
        scores on one set of bins; it can be negative. It prefers maps that distinguish items too little, and
        ignores errors of classes that cancel, so do not choose numbers of groups by it.
    folds
        Number of folds, at least 2.
    threshold
        Threshold below which scores are left out.
    level
        Nominal coverage of the intervals.
    seed
        Seed of the folds.
    progress
        Function that is called with ``"choosing"``, the candidates done and all candidates.

    Returns
    -------
    RecalibratorChoice

    Raises
    ------
    InputError
        For no candidates, fewer clusters than folds, or if no candidate can be fitted.

    Examples
    --------
    >>> from calibrant.recalibrate import HistogramBinning, LabelledScores
    >>> rng = np.random.default_rng(0)
    >>> q = rng.random(2000)
    >>> data = LabelledScores(q**2, rng.random(2000) < q)
    >>> choice = choose_recalibrator({f"bins={b}": HistogramBinning(n_bins=b) for b in (1, 20)}, data)
    >>> choice.chosen
    'bins=20'
    """
    one_of(objective, get_args(Objective), "objective")
    level = proportion(level, "level")
    rows = checked(data, threshold, "data")
    if not candidates:
        raise InputError("there are no candidates", "pass at least one", code="empty")
    for name, candidate in candidates.items():
        check_recalibrator(candidate, rows, f"the candidate {name!r}")
    fold = _folds(rows, positive_integer(folds, "folds"), seed)
    held: dict[str, Floats] = {}
    failed: dict[str, InputError] = {}
    for done, (name, candidate) in enumerate(candidates.items(), start=1):
        try:
            held[name] = _cross_fitted(candidate, rows, fold, folds)
        except InputError as error:
            failed[name] = error
        tell(progress, "choosing", done, len(candidates))
    if not held:
        raise next(iter(failed.values()))
    losses = {name: _loss(rows, score, objective) for name, score in held.items()}
    finite = {name: loss for name, loss in losses.items() if loss is not None}
    if not finite:
        raise InputError(INFINITE, 'choose by "brier"', code="undefined")
    chosen = min(finite, key=finite.__getitem__)
    reasons = {name: error.message for name, error in failed.items()}
    return RecalibratorChoice(
        chosen=chosen,
        objective=objective,
        unchanged=_loss(rows, rows.score, objective),
        candidates=tuple(
            RecalibratorCandidate(name=name, loss=Quantity(None, reason=reasons.get(name, INFINITE)))
            if name not in finite
            else _against(name, chosen, rows, held, finite[name], objective, level)
            for name in candidates
        ),
        folds=folds,
        pairs=len(rows.score),
        clusters=rows.cluster_count or None,
        threshold=float(threshold),
        level=level,
        seed=recorded(seed),
    )


def _folds(rows: Rows, folds: int, seed: Seed) -> Integers:
    """Return the fold of each row; folds contain whole clusters, in almost equal numbers.

    The order of rows does not matter.
    """
    if folds < 2:
        raise InputError("folds is 1, which leaves no data to fit to", "give at least 2", code="parameter")
    if rows.unit_count < folds:
        what = "scores" if rows.cluster is None else "clusters"
        message = f"there are {rows.unit_count} {what} for {folds} folds"
        raise InputError(message, "pass more, or lower folds", code="undefined")
    rank = np.argsort(np.argsort(np.array(rows.names, object)))  # codes may be in the order of appearance
    order = content_order([rows.score], [rows.label, rank[rows.code]], rows.cluster, rows.unit_count)
    return dealt(order, folds, generator(seed))[rows.units]


def _cross_fitted(candidate: Single, rows: Rows, fold: Integers, folds: int) -> Floats:
    """Return the scores of each fold after a map that was fitted to the others."""
    score = np.empty(len(rows.score))
    for number in range(folds):
        out = fold == number
        score[out] = rows.at(out).recalibrated(rows.at(~out).fit(candidate))
    return score


def _pairs(rows: Rows, score: Floats) -> Pairs:
    return Pairs(score, rows.label, None, rows.cluster, rows.cluster_count)


def _losses(rows: Rows, score: Floats, objective: str) -> Floats:
    if objective == "brier":
        return (rows.label - score) ** 2
    with np.errstate(divide="ignore"):
        logs: Floats = -np.log(np.where(rows.label, score, 1 - score))
    return logs


def _loss(rows: Rows, score: Floats, objective: str) -> float | None:
    """Return the loss of all scores; None if it is infinite or undefined."""
    if objective == "calibration":
        return debiased_squared_error(_pairs(rows, score))
    loss = float(_losses(rows, score, objective).mean())
    return loss if np.isfinite(loss) else None


def _against(
    name: str,
    chosen: str,
    rows: Rows,
    held: Mapping[str, Floats],
    loss: float,
    objective: str,
    level: float,
) -> RecalibratorCandidate:
    """Return a candidate with its paired difference from the chosen one."""
    if name == chosen:
        return RecalibratorCandidate(name=name, loss=Quantity(loss))
    if objective == "calibration":
        comparison = error_difference(_pairs(rows, held[name]), _pairs(rows, held[chosen]), level=level)
        warning = "; ".join(comparison.warnings()) or None
        difference = msgspec.structs.replace(comparison.mse_difference, warning=warning)
        return RecalibratorCandidate(name=name, loss=Quantity(loss), difference=difference)
    gap = _losses(rows, held[name], objective) - _losses(rows, held[chosen], objective)
    mean = float(gap.mean())
    size = np.bincount(rows.units)
    variance, _ = cr2(size, np.bincount(rows.units, gap - mean))
    effective = effective_number(size) if rows.cluster_count else 0.0
    half = quantile(level, effective) * math.sqrt(variance) / len(gap)
    difference = Quantity(mean, mean - half, mean + half)
    return RecalibratorCandidate(name=name, loss=Quantity(loss), difference=difference)
