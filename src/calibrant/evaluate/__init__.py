"""Evaluation with statistics: agreement of annotators, scores of systems, and what differences mean."""

from calibrant.evaluate.agreement import agreement, confusion, pair_agreement
from calibrant.evaluate.ratings import Ratings

__all__ = ["Ratings", "agreement", "confusion", "pair_agreement"]
