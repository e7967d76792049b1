"""Posteriors over structures: probabilities of parts, samples, and the best structure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calibrant.lazy import lazily

if TYPE_CHECKING:
    from calibrant.structures.posterior._paths import BestSequences
    from calibrant.structures.posterior.antecedent import AntecedentPosterior, probable_entities
    from calibrant.structures.posterior.chain import ChainPosterior
    from calibrant.structures.posterior.dependency import DependencyPosterior
    from calibrant.structures.posterior.spans import Spans, gold_spans, likely_spans, span_probabilities
    from calibrant.structures.posterior.tempering import (
        antecedent_losses,
        fit_antecedent_temperature,
        fit_temperature,
        tempered,
    )
    from calibrant.structures.posterior.tree_tempering import (
        fit_label_temperature,
        fit_tree_temperature,
        tempered_trees,
    )
else:
    __getattr__, __dir__ = lazily(__name__)

__all__ = [
    "AntecedentPosterior",
    "BestSequences",
    "ChainPosterior",
    "DependencyPosterior",
    "Spans",
    "antecedent_losses",
    "fit_antecedent_temperature",
    "fit_label_temperature",
    "fit_temperature",
    "fit_tree_temperature",
    "gold_spans",
    "likely_spans",
    "probable_entities",
    "span_probabilities",
    "tempered",
    "tempered_trees",
]
