"""Figures of an evaluation and of a monitored stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calibrant.lazy import lazily

if TYPE_CHECKING:
    from calibrant.evaluation.plots.monitoring import evidence_over_time
    from calibrant.evaluation.plots.scores import risk_coverage_curves, score_intervals
else:
    __getattr__, __dir__ = lazily(__name__)

__all__ = [
    "evidence_over_time",
    "risk_coverage_curves",
    "score_intervals",
]
