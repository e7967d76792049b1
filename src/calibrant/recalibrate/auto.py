"""The simplest calibration map that cross-fitting cannot tell from the best, or none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from calibrant._checks import Check, Floats, Pairs, list_of_names, optional
from calibrant.metrics.views import ClassPredictions, class_predictions, classwise_views, label_codes
from calibrant.recalibrate.base import ArrayRecalibrator, BinaryRecalibrator, Source, check_width
from calibrant.recalibrate.beta import Beta
from calibrant.recalibrate.crossfit import BRIER, LOG_LOSS, NO_MAP, Losses, cross_fitted
from calibrant.recalibrate.isotonic import Isotonic
from calibrant.recalibrate.platt import Platt
from calibrant.recalibrate.temperature import Temperature
from calibrant.recalibrate.vector import VectorScaling
from calibrant.seeds import Seed, generator

WEAK_PENALTY = 1e-4  # keeps the vector of separated classes finite
CERTAIN = 0.95  # level of the interval of an improvement


def candidates(*, rows: bool) -> dict[str, ArrayRecalibrator]:
    """Return the maps that are compared, simple ones first: of single scores, or of rows of K classes."""
    second: ArrayRecalibrator = VectorScaling(penalty=WEAK_PENALTY) if rows else Platt()
    return {
        "temperature": Temperature(),
        "vector" if rows else "platt": second,
        "beta": Beta(),
        "isotonic-smoothed": Isotonic(smoothing=True),
    }


def simplest(losses: Losses) -> str:
    """Return the first map, in the order of the losses, within one standard error of the best in both losses.

    Only maps that are better than no map take part: the interval of the improvement of their log loss is
    above 0, and their Brier score is not higher. If there are none, no map is best.
    """
    better = [name for name in losses.by_map if name != NO_MAP and _is_better(losses, name)]
    if not better:
        return NO_MAP
    best = {loss: min(better, key=lambda name: losses.mean(name)[loss]) for loss in (LOG_LOSS, BRIER)}
    for name in better:
        gaps = [losses.gap(name, other, loss) for loss, other in best.items()]
        if all(gap.estimate <= gap.half() for gap in gaps):
            return name
    return best[LOG_LOSS]


def _is_better(losses: Losses, name: str) -> bool:
    log_loss, brier = (losses.gap(name, NO_MAP, loss) for loss in (LOG_LOSS, BRIER))
    return log_loss.estimate + log_loss.half(CERTAIN) < 0 and brier.estimate <= 0


class Auto(BinaryRecalibrator):
    """The simplest map that cross-fitting cannot tell from the best one; no map if none is better.

    Maps are fitted to four fifths of the pairs and measured on the rest, five times, without dividing
    clusters. A map takes part if the 95 % interval of its improvement of the log loss over unchanged scores
    is above 0, and its Brier score is not higher. The simplest of these maps whose log loss and Brier score
    are at most one standard error above the lowest ones is fitted to all pairs. A single score is not mapped
    nearer to 0 or 1 than half a pair of those of the fit, unless it is there already.

    The maps are, from simple to complex: `Temperature`, `Platt`, `Beta` and `Isotonic` with ``smoothing``.
    For K > 2 classes, `Temperature` and `VectorScaling` (with a weak penalty) map whole rows, and the other
    two map each class against the rest.

    Parameters
    ----------
    classes
        K class names, if the columns are not in the sorted order of the labels.
    seed
        Seed of the folds.

    Attributes
    ----------
    chosen_
        The fitted map; None if scores stay unchanged.
    chosen_name_
        Name of its method, or ``"none"``.
    tried_
        Result for each map by name, and for ``"none"``: ``log_loss`` and ``brier`` of held-out pairs, their
        differences from those of the chosen map (``log_loss_gap``, ``brier_gap``) and standard errors
        (``log_loss_error``, ``brier_error``); or the ``reason`` why the map could not be fitted.
    clusters_
        Effective number of clusters; 0 for independent pairs.
    pair_count_, score_range_
        As in `Recalibrator`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2000)
    >>> y = rng.random(2000) < p
    >>> auto = Auto().fit(p**2 / (p**2 + (1 - p) ** 2), y)  # overconfident
    >>> auto.chosen_name_, auto.transform([0.5, 0.9]).round(1).tolist()
    ('temperature', [0.5, 0.8])
    >>> Auto().fit(p, y).chosen_name_  # calibrated
    'none'
    """

    method: ClassVar[str] = "auto"
    splits: ClassVar[bool] = True
    _learned: ClassVar[tuple[str, ...]] = ("chosen_", "chosen_name_", "tried_", "clusters_")
    _parameters: ClassVar[dict[str, Check]] = {
        "classes": optional(list_of_names),
        "seed": lambda value, name: generator(value),
    }

    chosen_: ArrayRecalibrator | None
    chosen_name_: str
    tried_: dict[str, dict[str, Any]]
    clusters_: float

    def __init__(self, *, classes: Sequence[str] | None = None, seed: Seed = 0) -> None:
        self.classes = classes
        self.seed = seed

    def _learn(self, source: Source) -> None:
        self.chosen_ = self._choose(candidates(rows=False), source)
        if isinstance(self.chosen_, BinaryRecalibrator):
            if isinstance(source, Pairs):
                self.chosen_._fit_pairs(source)
            else:
                self.chosen_.fit_tally(source)

    def _map(self, score: Floats) -> Floats:
        if self.chosen_ is None:
            return score
        # A map of separated labels may reach 0 and 1, where one label of the other side costs everything.
        least = 0.5 / (self.pair_count_ + 1)
        mapped = self.chosen_.transform(score)
        return np.clip(mapped, np.minimum(score, least), np.maximum(score, 1 - least))

    def _fit_rows(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None, clusters: ArrayLike | None
    ) -> Self:
        code, labels = label_codes(y, np.shape(X)[1], self.classes)
        rows = class_predictions(code, X, sample_weight=sample_weight, clusters=clusters)
        if len(labels) == 2:
            self._fit_pairs(list(classwise_views(rows).values())[1])
        else:
            self.chosen_ = self._choose(candidates(rows=True), rows)
            if self.chosen_ is not None:
                self.chosen_.fit(rows.prob, rows.label, rows.weight)
            self._fitted_on(len(rows), float(rows.prob.min()), float(rows.prob.max()))
        self.n_features_in_, self.classes_ = len(labels), labels
        return self

    def _map_rows(self, X: ArrayLike) -> Floats:
        if self.n_features_in_ < 3:
            return super()._map_rows(X)
        check_width(np.shape(X)[1] if np.ndim(X) == 2 else 1, self.n_features_in_)
        if self.chosen_ is not None:
            return self.chosen_.transform(X)
        return class_predictions(np.zeros(len(np.asarray(X)), np.int64), X).prob.astype(np.float64)

    def _choose(
        self, maps: Mapping[str, ArrayRecalibrator], source: Source | ClassPredictions
    ) -> ArrayRecalibrator | None:
        """Compare the maps, and return an unfitted copy of the chosen one."""
        losses = cross_fitted(maps, source, seed=self.seed)
        self.chosen_name_ = simplest(losses)
        self.tried_ = losses.compared(self.chosen_name_)
        self.clusters_ = losses.clusters
        return None if self.chosen_name_ == NO_MAP else clone(maps[self.chosen_name_])

    def _restore(self, learned: dict[str, Any]) -> None:
        chosen, name, tried = (learned[key] for key in ("chosen_", "chosen_name_", "tried_"))
        if not isinstance(name, str) or (name == NO_MAP) != (chosen is None):
            raise ValueError("the chosen map has no name")
        if not isinstance(tried, dict) or not all(isinstance(losses, dict) for losses in tried.values()):
            raise ValueError("the results of the maps are missing")
        if chosen is not None:
            if not isinstance(chosen, ArrayRecalibrator):
                raise ValueError("the chosen map is no recalibrator")
            chosen.check_fitted()
            width = 1 if self.n_features_in_ < 3 else self.n_features_in_
            if chosen.n_features_in_ != width:
                raise ValueError("the chosen map is for another number of classes")
        self.chosen_, self.chosen_name_, self.tried_ = chosen, name, tried
        super()._restore({"clusters_": learned["clusters_"]})

    def _check_map(self) -> None:
        if self.n_features_in_ < 3:
            super()._check_map()
