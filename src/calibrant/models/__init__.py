"""Reference models that train and predict, so that every measurement can be tried on a real model."""

from __future__ import annotations

from calibrant.models.text import UnigramClassifier, tweet_tokenizer, words

__all__ = ["UnigramClassifier", "tweet_tokenizer", "words"]
