"""Posteriors over structures: probabilities of parts, samples, and the best structure."""

from __future__ import annotations

from calibrant.posterior._paths import BestSequences
from calibrant.posterior.chain import ChainPosterior
from calibrant.posterior.spans import Spans, gold_spans, likely_spans, span_probabilities
from calibrant.posterior.tempering import fit_temperature, tempered

__all__ = [
    "BestSequences",
    "ChainPosterior",
    "Spans",
    "fit_temperature",
    "gold_spans",
    "likely_spans",
    "span_probabilities",
    "tempered",
]
