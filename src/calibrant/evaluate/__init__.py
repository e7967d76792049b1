"""Scores of what models predict, beside how far their probabilities can be trusted."""

from __future__ import annotations

from calibrant.evaluate.coreference import coreference_scores

__all__ = ["coreference_scores"]
