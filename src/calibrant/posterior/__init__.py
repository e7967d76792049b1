"""Posteriors over structures: probabilities of parts, samples, and the best structure."""

from __future__ import annotations

from calibrant.posterior.chain import ChainPosterior

__all__ = ["ChainPosterior"]
