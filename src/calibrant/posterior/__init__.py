"""Posteriors over structures: probabilities of parts, samples, and the best structure."""

from __future__ import annotations

from calibrant.posterior._paths import BestSequences
from calibrant.posterior.antecedent import AntecedentPosterior
from calibrant.posterior.antecedent_tempering import antecedent_losses, fit_antecedent_temperature
from calibrant.posterior.chain import ChainPosterior
from calibrant.posterior.probable_entities import probable_entities
from calibrant.posterior.spans import Spans, gold_spans, likely_spans, span_probabilities
from calibrant.posterior.tempering import fit_temperature, tempered

__all__ = [
    "AntecedentPosterior",
    "BestSequences",
    "ChainPosterior",
    "Spans",
    "antecedent_losses",
    "fit_antecedent_temperature",
    "fit_temperature",
    "gold_spans",
    "likely_spans",
    "probable_entities",
    "span_probabilities",
    "tempered",
]
