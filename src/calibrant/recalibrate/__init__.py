"""Recalibrate probabilities with maps that are fitted to labeled pairs or their tally.

Every estimator follows scikit-learn: ``fit(X, y, sample_weight=None)``, ``transform(X)``,
``predict_proba(X)``, ``get_params``, ``clone``. Estimators of one event can also be fitted to a `Tally`, and
all can be saved as plain values and restored. `Calibrated` wraps a classifier and fits a map to scores of
items that it was not trained on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from calibrant.lazy import lazily

if TYPE_CHECKING:
    from calibrant.recalibrate._renormalize import renormalize
    from calibrant.recalibrate.auto import Auto
    from calibrant.recalibrate.base import BinaryRecalibrator, Recalibrator
    from calibrant.recalibrate.bbq import BBQ
    from calibrant.recalibrate.beta import Beta
    from calibrant.recalibrate.calibrated import Calibrated
    from calibrant.recalibrate.changes import order_effect, resampled_changes
    from calibrant.recalibrate.choosing import choose_recalibrator, frequency_candidates
    from calibrant.recalibrate.groups import PerClass, PerGroup, Shared
    from calibrant.recalibrate.histogram import HistogramBinning
    from calibrant.recalibrate.isotonic import Isotonic
    from calibrant.recalibrate.labelled import LabelledScores
    from calibrant.recalibrate.matrix import MatrixScaling
    from calibrant.recalibrate.platt import Platt
    from calibrant.recalibrate.scaling_binning import ScalingBinning
    from calibrant.recalibrate.temperature import Temperature
    from calibrant.recalibrate.vector import VectorScaling
    from calibrant.recalibrate.venn_abers import VennAbers
else:
    __getattr__, __dir__ = lazily(__name__)

__all__ = [
    "BBQ",
    "Auto",
    "Beta",
    "BinaryRecalibrator",
    "Calibrated",
    "HistogramBinning",
    "Isotonic",
    "LabelledScores",
    "MatrixScaling",
    "PerClass",
    "PerGroup",
    "Platt",
    "Recalibrator",
    "ScalingBinning",
    "Shared",
    "Temperature",
    "VectorScaling",
    "VennAbers",
    "choose_recalibrator",
    "frequency_candidates",
    "order_effect",
    "renormalize",
    "resampled_changes",
]
