"""Linear-chain conditional random fields, trained by CRFsuite."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.exceptions import InputError
from calibrant.progress import Progress
from calibrant.seeds import generator
from calibrant.structures.models import _crf_state as states
from calibrant.structures.models._crf_scores import RowWeights, TokenScores, WordScores
from calibrant.structures.models._crf_training import Setting, train
from calibrant.structures.models._tagger import ChainTagger, untrained
from calibrant.structures.models._vocabulary import (
    Integers,
    Sentences,
    codes_of,
    distinct,
    encode,
    same_lengths,
    sentence_lengths,
)
from calibrant.structures.models.crf_attributes import FunctionAttributes, WordAttributes, known
from calibrant.structures.models.features import FeatureFunction, Features, feature_groups
from calibrant.structures.posterior import ChainPosterior

Floats = NDArray[np.float64]

# Largest first: `choose` keeps the first of equally accurate settings.
L2_PENALTIES: tuple[float, ...] = (10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01)


class CRFTagger(ChainTagger):
    """A linear-chain conditional random field for tagging.

    The probability of a tag sequence is proportional to the exponential of a sum of weights: of
    (attribute, tag) for each attribute of each token, and of (tag, next tag). CRFsuite learns the weights;
    probabilities are computed from them exactly, by `ChainPosterior`.

    Parameters
    ----------
    features
        ``"basic"`` (the word), ``"advanced"`` (all groups of `FEATURE_GROUPS`), names of groups, or a
        function that takes the tokens of a sentence and returns a list of attributes (strings) for each;
        with a function, text is tagged more slowly.
    algorithm
        ``"lbfgs"`` (maximum likelihood with penalties), ``"l2sgd"`` (the same by stochastic gradients),
        ``"ap"`` (averaged perceptron), ``"pa"`` (passive aggressive) or ``"arow"``. The last three maximize
        no likelihood: do not expect their probabilities to be calibrated.
    l2
        0 or more: ``l2`` times the sum of squared weights is added to the negative log-likelihood
        (CRFsuite's ``c2``). For ``lbfgs`` and ``l2sgd``; the others do not use it. `choose` picks one, of
        `L2_PENALTIES` say, on held-out sentences; on tweets, news and web text the default is within a
        point of the best one's accuracy.
    l1
        0 or more: the same with absolute weights (``c1``); above 0 many weights become 0. For ``lbfgs`` only.
    max_iterations
        Training ends here if it has not converged.
    settings
        Further settings of CRFsuite's by their names, such as ``{"feature.minfreq": 2}``.
    seed
        0 or more: the order of the sentences in the algorithms that shuffle them (all but ``lbfgs``). It
        is reproducible on one platform, since the C library draws it.

    Attributes
    ----------
    tags : tuple of str
        The K tags, sorted; set by `fit`.
    transition : ndarray of shape (K, K)
        Weights of pairs of tags, ``[from, to]``; 0 for those that training has not seen. Set by `fit`.
    iterations : int
        How many iterations training took; set by `fit`.
    converged : bool or None
        Whether training ended because it had converged, and not after ``max_iterations`` or because it could
        not go on; set by `fit`. None: not known, of models saved before it was noted.
    vocabulary : list of str or None
        The words of training, sorted; set by `fit`. None as above.

    Raises
    ------
    InputError
        If an argument is unknown or out of its range.

    References
    ----------
    Lafferty, McCallum and Pereira (2001), "Conditional random fields"; Okazaki (2007), "CRFsuite: a fast
    implementation of conditional random fields"; Nguyen and O'Connor (2015), section 4.2.

    Examples
    --------
    >>> model = CRFTagger(features="basic", l2=0.1)
    >>> model = model.fit([["dogs", "bark"], ["cats", "sleep"]], [["N", "V"], ["N", "V"]])
    >>> model.predict([["dogs", "sleep"]])
    [['N', 'V']]
    """

    def __init__(
        self,
        *,
        features: Features = "advanced",
        algorithm: states.Algorithm = "lbfgs",
        l2: float = 0.1,
        l1: float = 0.0,
        max_iterations: int = 200,
        settings: Mapping[str, Setting] | None = None,
        seed: int = 0,
    ) -> None:
        self.features: tuple[str, ...] | FeatureFunction | None = (
            features if callable(features) else feature_groups(features)
        )
        self.arguments = states.Arguments(
            algorithm, l2, l1, max_iterations, {} if settings is None else settings, seed
        )
        self.tags: tuple[str, ...] = ()
        self.transition: Floats = np.zeros((0, 0))
        self.iterations = 0
        self.converged: bool | None = None
        self.vocabulary: list[str] | None = None
        self._scores: WordScores | TokenScores | None = None

    @property
    def l2(self) -> float:
        """The penalty of squared weights."""
        return self.arguments.l2

    def fit(self, sentences: Sentences, tags: Sentences, *, progress: Progress | None = None) -> CRFTagger:
        """Train on tokens and their tags.

        Parameters
        ----------
        sentences
            Tokens of each sentence.
        tags
            Their tags, as many.
        progress
            Called with ``"train"``, the iteration, and ``max_iterations``. An exception that it raises ends
            training.

        Returns
        -------
        CRFTagger
            This model, trained.

        Raises
        ------
        InputError
            If there is no sentence, one is empty, its tags are not as many as its tokens, or something is
            no string, empty, or a lone surrogate; it names the sentence and the token.
        CalibrantError
            If CRFsuite fails.

        Examples
        --------
        >>> CRFTagger(features=["word", "suffixes"]).fit([["so", "good"]], [["ADV", "ADJ"]]).tags
        ('ADJ', 'ADV')
        """
        lengths = sentence_lengths(sentences)
        same_lengths(lengths, tags)
        vocabulary = distinct(sentences, "sentences")
        names = tuple(distinct(tags, "tags"))
        codes = encode(tags, codes_of(names), int(lengths.sum()))
        attributes = self._learn(sentences)
        arguments = self.arguments
        found = train(
            attributes.training_items(sentences),
            np.split(codes, np.cumsum(lengths)[:-1]),
            len(names),
            algorithm=arguments.algorithm,
            settings=arguments.of_crfsuite(),
            seed=int(generator(arguments.seed).integers(1 << 31)),
            progress=progress,
        )
        weights = RowWeights.of(found.row, found.tag, found.weight, attributes.row_count)
        attributes, rows = attributes.only(np.diff(weights.first) > 0)
        self.tags, self.transition, self.vocabulary = names, found.transition, vocabulary
        self.iterations, self.converged = found.iterations, found.converged
        self._scores = _scores(attributes, weights.rows(rows), len(names))
        return self

    def _learn(self, sentences: Sentences) -> WordAttributes | FunctionAttributes:
        if isinstance(self.features, tuple):
            return WordAttributes.learn(self.features, sentences)
        return FunctionAttributes.learn(known(self.features), sentences)

    def potentials(self, sentences: Sentences) -> tuple[Floats, Integers]:
        """Score each tag at each token by its attributes' weights; attributes unseen in training count 0.

        Parameters
        ----------
        sentences
            Tokens of each sentence.

        Returns
        -------
        unary : ndarray of float64, shape (N, K)
            Log-potentials of the tokens of all sentences, one sentence after another.
        lengths : ndarray of int64, shape (S,)
            Tokens a sentence.

        Raises
        ------
        InputError
            If the model has not been trained, there is no sentence, one is empty, or a token is no string.

        Examples
        --------
        >>> model = CRFTagger(features="basic").fit([["so", "good"]], [["ADV", "ADJ"]])
        >>> unary, lengths = model.potentials([["good"], ["so", "so"]])
        >>> unary.shape, lengths.tolist()
        ((3, 2), [1, 2])
        """
        if self._scores is None:
            raise untrained()
        lengths = sentence_lengths(sentences)
        return self._scores.unary(sentences, lengths), lengths

    def posterior(self, sentences: Sentences) -> ChainPosterior:
        """Return the distribution over tag sequences of each sentence.

        Parameters
        ----------
        sentences
            Tokens of each sentence.

        Returns
        -------
        ChainPosterior
            Of all sentences, its tags named as in ``tags``.

        Raises
        ------
        InputError
            As `potentials`.

        Examples
        --------
        >>> model = CRFTagger(features="basic", l2=0.1).fit([["so", "good"]], [["ADV", "ADJ"]])
        >>> model.posterior([["good"]]).marginals().argmax(axis=1).tolist()
        [0]
        """
        unary, lengths = self.potentials(sentences)
        unary.setflags(write=False)  # so that it is not copied
        return ChainPosterior(unary, self.transition, lengths=lengths, tags=self.tags)

    def to_state(self) -> dict[str, Any]:
        """Return the trained model as plain values and arrays.

        Returns
        -------
        dict
            ``kind`` and ``version``; the arguments; ``features`` (names of groups, or None: a function is
            code and stays out); ``tags``; ``values`` (of each kind of attribute); ``first``, ``tag`` and
            ``weight`` (one row an offset and value); ``transition``; ``iterations``, ``converged`` and
            ``vocabulary``.

        Raises
        ------
        InputError
            If the model has not been trained.

        Examples
        --------
        >>> model = CRFTagger(features="basic").fit([["so", "good"]], [["ADV", "ADJ"]])
        >>> model.to_state()["values"]
        {'word': ['so', 'good']}
        """
        if self._scores is None:
            raise untrained()
        weights = self._scores.weights
        return {
            "kind": states.KIND,
            "version": states.VERSION,
            **asdict(self.arguments),
            "features": list(self.features) if isinstance(self.features, tuple) else None,
            "tags": list(self.tags),
            "values": {name: list(column) for name, column in self._scores.attributes.values.items()},
            "first": weights.first.copy(),
            "tag": weights.tag.copy(),
            "weight": weights.weight.copy(),
            "transition": self.transition.copy(),
            "iterations": self.iterations,
            "converged": self.converged,
            "vocabulary": None if self.vocabulary is None else list(self.vocabulary),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any], *, features: FeatureFunction | None = None) -> CRFTagger:
        """Make a model from what `to_state` returned.

        Parameters
        ----------
        state
            As returned by `to_state`.
        features
            The function that the model was trained with, if it was one. Without it the model can be
            looked at and saved; to score text it needs the function.

        Returns
        -------
        CRFTagger

        Raises
        ------
        FormatError
            If the state is of another kind or version, or does not hold together.
        InputError
            If a function is given for a model that was trained without one.

        Examples
        --------
        >>> model = CRFTagger(features="basic").fit([["so", "good"]], [["ADV", "ADJ"]])
        >>> CRFTagger.from_state(model.to_state()).predict([["so", "good"]])
        [['ADV', 'ADJ']]
        """
        saved = states.read_state(state)
        if features is not None and saved.groups is not None:
            found = f"the model was trained with the features {', '.join(saved.groups)}"
            raise InputError(found, "leave the function out", code="parameter")
        model = cls(**asdict(saved.arguments))
        model.features = features if saved.groups is None else saved.groups
        model.tags, model.transition, model.vocabulary = saved.tags, saved.transition, saved.vocabulary
        model.iterations, model.converged = saved.iterations, saved.converged
        attributes = (
            FunctionAttributes(features, saved.values)
            if saved.groups is None
            else WordAttributes(saved.groups, saved.values)
        )
        model._scores = _scores(attributes, saved.weights, len(saved.tags))
        return model


def _scores(
    attributes: WordAttributes | FunctionAttributes, weights: RowWeights, tag_count: int
) -> WordScores | TokenScores:
    if isinstance(attributes, WordAttributes):
        return WordScores(attributes, weights, tag_count)
    return TokenScores(attributes, weights, tag_count)
