"""Base class of the taggers."""

from __future__ import annotations

from abc import ABC, abstractmethod

from calibrant.exceptions import InputError
from calibrant.structures.models._vocabulary import Sentences, split
from calibrant.structures.posterior import ChainPosterior


def untrained() -> InputError:
    """Return the error for a model that has not been trained."""
    return InputError("the model has not been trained", "call fit first", code="undefined")


class ChainTagger(ABC):
    """Tagger with a posterior over the tag sequences of a sentence."""

    tags: tuple[str, ...] = ()

    @abstractmethod
    def posterior(self, sentences: Sentences) -> ChainPosterior:
        """Return the distribution over tag sequences of each sentence."""

    def predict(self, sentences: Sentences) -> list[list[str]]:
        """Return the most probable tag sequence of each sentence.

        Parameters
        ----------
        sentences
            S sentences, each a list of tokens.

        Returns
        -------
        list of list of str
            One tag per token.

        Raises
        ------
        InputError
            If the model has not been trained, there is no sentence, a sentence has no tokens, or a token is
            not a string.

        Examples
        --------
        >>> from calibrant.structures.models import HMMTagger
        >>> HMMTagger().fit([["so", "good"]], [["R", "A"]]).predict([["very", "good"]])
        [['R', 'A']]
        """
        posterior = self.posterior(sentences)
        return split([self.tags[code] for code in posterior.viterbi().tolist()], posterior.lengths)
