"""Reference models that train and predict, so that every measurement can be tried on a real model."""

from __future__ import annotations

from calibrant.models.hmm import HMMTagger
from calibrant.models.text import UnigramClassifier, tweet_tokenizer, words
from calibrant.models.tuning import PSEUDOCOUNTS, Candidate, Choice, choose, token_accuracy

__all__ = [
    "PSEUDOCOUNTS",
    "Candidate",
    "Choice",
    "HMMTagger",
    "UnigramClassifier",
    "choose",
    "token_accuracy",
    "tweet_tokenizer",
    "words",
]
