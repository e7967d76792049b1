"""Linear-chain conditional random fields, trained by CRFsuite or by AdaGrad."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Floats, Integers, non_negative, one_of, positive_integer
from calibrant.exceptions import InputError
from calibrant.progress import Progress
from calibrant.seeds import generator
from calibrant.structures.models import crf_adagrad as adagrad
from calibrant.structures.models._state import check_kind, distinct_strings, reading_state, require
from calibrant.structures.models._tagger import (
    ChainTagger,
    Sentences,
    codes_of,
    distinct,
    encode,
    same_lengths,
    sentence_lengths,
    untrained,
)
from calibrant.structures.models.crf_attributes import (
    GIVEN,
    FunctionAttributes,
    RowWeights,
    TokenScores,
    WordAttributes,
    WordScores,
    known,
)
from calibrant.structures.models.crfsuite import Setting, Trained, train
from calibrant.structures.models.features import FeatureFunction, Features, feature_groups, merged_templates
from calibrant.structures.posterior import ChainPosterior

Algorithm = Literal["lbfgs", "l2sgd", "adagrad", "ap", "pa", "arow"]

KIND, VERSION = "crf", 1
ARGUMENTS = ("algorithm", "l2", "l1", "max_iterations", "settings", "seed")
TRAINED = ("features", "tags", "values", "first", "tag", "weight", "transition", "iterations")
PENALIZED = ("lbfgs", "l2sgd")
# Settings of trainers that are not separate arguments.
SHARED = ("feature.minfreq", "feature.possible_states", "feature.possible_transitions")
SETTINGS: dict[Algorithm, tuple[str, ...]] = {
    "lbfgs": ("num_memories", "epsilon", "period", "delta", "linesearch", "max_linesearch"),
    "l2sgd": (
        "period",
        "delta",
        "calibration.eta",
        "calibration.rate",
        "calibration.samples",
        "calibration.candidates",
        "calibration.max_trials",
    ),
    "adagrad": ("rate", "batch", "period", "delta"),  # of calibrant's own
    "ap": ("epsilon",),
    "pa": ("type", "c", "error_sensitive", "averaging", "epsilon"),
    "arow": ("variance", "gamma", "epsilon"),
}
WHOLE = (  # settings that are positive integers
    "num_memories",
    "period",
    "batch",
    "max_linesearch",
    "calibration.samples",
    "calibration.candidates",
    "calibration.max_trials",
)
LINE_SEARCHES = ("MoreThuente", "Backtracking", "StrongBacktracking")

# Sorted from large to small, since `choose` keeps the first of equally accurate settings.
L2_PENALTIES: tuple[float, ...] = (10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01)


@dataclass(frozen=True)
class Arguments:
    """Arguments of a CRF's training, without features, checked on creation.

    Attributes
    ----------
    algorithm, l2, l1, max_iterations, settings, seed
        As in `CRFTagger`.
    """

    algorithm: Algorithm
    l2: float
    l1: float
    max_iterations: int
    settings: Mapping[str, Setting]
    seed: int

    def __post_init__(self) -> None:
        one_of(self.algorithm, get_args(Algorithm), "algorithm")
        non_negative(self.l2, "l2")
        non_negative(self.l1, "l1")
        if self.l1 > 0 and self.algorithm != "lbfgs":
            message = f"l1 is {self.l1!r} and algorithm is {self.algorithm!r}"
            raise InputError(message, "use the algorithm lbfgs for this penalty", code="parameter")
        positive_integer(self.max_iterations, "max_iterations")
        positive_integer(self.seed, "seed", least=0)
        object.__setattr__(self, "settings", self._checked(self.settings))

    def _checked(self, settings: object) -> dict[str, Setting]:
        if not isinstance(settings, Mapping):
            hint = "give a dictionary of CRFsuite's settings"
            raise InputError(f"settings is {settings!r:.40}", hint, code="parameter")
        known = (*SETTINGS[self.algorithm], *(() if self.algorithm == "adagrad" else SHARED))
        for name, value in settings.items():
            if name not in known:
                message = f"{self.algorithm} has no setting {name!r}"
                raise InputError(message, f"use some of {', '.join(known)}", code="parameter")
            if name in WHOLE:
                positive_integer(value, name)
                fine = True
            elif name == "linesearch":
                fine = isinstance(value, str) and value in LINE_SEARCHES
            elif name == "type":
                fine = isinstance(value, int) and value in (0, 1, 2)
            else:
                fine = _is_number(value) and (name != "rate" or float(value) > 0)
            if not fine:
                hint = f"use one of {', '.join(LINE_SEARCHES)}" if name == "linesearch" else "give a number"
                raise InputError(f"setting {name} is {value!r}", hint, code="parameter")
        return dict(settings)

    def of_crfsuite(self) -> dict[str, Setting]:
        """Return all settings by CRFsuite's names."""
        named: dict[str, Setting] = {"max_iterations": int(self.max_iterations), **self.settings}
        if self.algorithm in PENALIZED:
            named["c2"] = float(self.l2)
        if self.algorithm == "lbfgs":
            named["c1"] = float(self.l1)
        return named


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and bool(0 <= value < np.inf)


class CRFTagger(ChainTagger):
    """Linear-chain conditional random field for tagging.

    The probability of a tag sequence is proportional to the exponential of a sum of weights: one weight per
    (attribute, tag) for each attribute of each token, and one per (tag, next tag). CRFsuite or AdaGrad learns
    the weights; probabilities are computed from them exactly, by `ChainPosterior`.

    Parameters
    ----------
    features
        ``"basic"`` (the word), ``"advanced"`` (all groups of `FEATURE_GROUPS`), names of groups, or a
        function that takes the tokens of a sentence and returns a list of attributes (strings) per token. A
        function makes tagging slower.
    algorithm
        ``"lbfgs"`` (maximum likelihood with penalties), ``"l2sgd"`` (the same by stochastic gradients),
        ``"adagrad"`` (the same by mini-batches, with a step size per weight; needs no CRFsuite), ``"ap"``
        (averaged perceptron), ``"pa"`` (passive aggressive) or ``"arow"``. The last three maximize no
        likelihood, so their probabilities are usually not calibrated.
    l2
        0 or more: ``l2`` times the sum of squared weights is added to the negative log-likelihood
        (CRFsuite's ``c2``). Used by ``lbfgs``, ``l2sgd`` and ``adagrad`` only. `choose` selects a value, for
        example from `L2_PENALTIES`, on held-out sentences; on tweets, news and web text, the default is
        within one point of the best accuracy.
    l1
        0 or more: ``l1`` times the sum of absolute weights is added (``c1``); above 0 many weights become 0.
        Used by ``lbfgs`` only.
    max_iterations
        Largest number of iterations, or of epochs if the algorithm takes steps on parts of the text.
    settings
        Further settings by name. CRFsuite's algorithms take those of CRFsuite, such as
        ``{"feature.minfreq": 2}``. ``adagrad`` takes ``rate`` (0.3), ``batch`` (100 sentences), and ``delta``
        (0.0001): training ends once the loss has fallen by less than this fraction in ``period`` (10) epochs.
    seed
        Seed, 0 or more, of the order of sentences in the algorithms that shuffle them (all except ``lbfgs``).
        With CRFsuite the order is reproducible on one platform only, since the C library generates it.

    Attributes
    ----------
    tags : tuple of str
        Sorted K tags; set by `fit`.
    transition : ndarray of shape (K, K)
        Weights of pairs of tags, ``[from, to]``; 0 for pairs not seen in training. Set by `fit`.
    iterations : int
        Number of training iterations; set by `fit`.
    converged : bool or None
        True if training converged, False if it stopped after ``max_iterations`` or failed to improve; set by
        `fit`. None for older saved models.
    vocabulary : list of str or None
        Sorted words of the training text; set by `fit`. None for older saved models.

    References
    ----------
    Lafferty, McCallum and Pereira (2001), "Conditional random fields"; Okazaki (2007), "CRFsuite: a fast
    implementation of conditional random fields"; Duchi, Hazan and Singer (2011), "Adaptive subgradient
    methods for online learning and stochastic optimization"; Nguyen and O'Connor (2015), section 4.2.

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
        algorithm: Algorithm = "lbfgs",
        l2: float = 0.1,
        l1: float = 0.0,
        max_iterations: int = 200,
        settings: Mapping[str, Setting] | None = None,
        seed: int = 0,
    ) -> None:
        self.features: tuple[str, ...] | FeatureFunction | None = (
            features if callable(features) else feature_groups(features)
        )
        self.arguments = Arguments(
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
        """Return the penalty of squared weights."""
        return self.arguments.l2

    def fit(
        self,
        sentences: Sentences,
        tags: Sentences,
        *,
        penalty: adagrad.Penalty | None = None,
        progress: Progress | None = None,
    ) -> CRFTagger:
        """Train on tokens and their tags.

        Parameters
        ----------
        sentences
            Tokens of each sentence.
        tags
            Tags of each sentence, one per token.
        penalty
            A penalty on the marginals, in addition to that of squared weights; for ``adagrad`` only.
        progress
            Called with ``"train"``, the iteration, and ``max_iterations``. An exception that it raises stops
            training.

        Returns
        -------
        CRFTagger
            This model, trained.

        Raises
        ------
        InputError
            If there is no sentence, a sentence is empty, the numbers of tags and tokens differ, or a token or
            tag is not a string, is empty, or has a lone surrogate; the message names sentence and token. If
            there is a penalty and another algorithm.
        CalibrantError
            If CRFsuite fails, or AdaGrad diverges.

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
        attributes: WordAttributes | FunctionAttributes
        if isinstance(self.features, tuple):
            attributes = WordAttributes.learn(self.features, sentences)
        else:
            attributes = FunctionAttributes.learn(known(self.features), sentences)
        if self.arguments.algorithm == "adagrad":
            fitted = self._by_adagrad(attributes, sentences, codes, names, penalty, progress)
        elif penalty is not None:
            message = f"algorithm is {self.arguments.algorithm!r} and there is a penalty"
            raise InputError(message, "leave `penalty` out, or take adagrad", code="parameter")
        else:
            fitted = train(
                attributes.training_items(sentences),
                np.split(codes, np.cumsum(lengths)[:-1]),
                len(names),
                algorithm=self.arguments.algorithm,
                settings=self.arguments.of_crfsuite(),
                seed=int(generator(self.arguments.seed).integers(1 << 31)),
                progress=progress,
            )
        weights = RowWeights.of(fitted.row, fitted.tag, fitted.weight, attributes.row_count)
        attributes, rows = attributes.only(np.diff(weights.first) > 0)
        self.tags, self.transition, self.vocabulary = names, fitted.transition, vocabulary
        self.iterations, self.converged = fitted.iterations, fitted.converged
        self._scores = _scores(attributes, weights.rows(rows), len(names))
        return self

    def _by_adagrad(
        self,
        attributes: WordAttributes | FunctionAttributes,
        sentences: Sentences,
        codes: Integers,
        names: tuple[str, ...],
        penalty: adagrad.Penalty | None,
        progress: Progress | None,
    ) -> Trained:
        def text(of: Sentences, codes: Integers) -> adagrad.Text:
            offsets = np.concatenate(([0], np.cumsum(sentence_lengths(of))))
            return adagrad.Text(*attributes.token_rows(of), codes, offsets)

        other = None
        if penalty is not None and penalty.sentences is not None:
            lengths, tags = sentence_lengths(penalty.sentences, "penalty.sentences"), penalty.tags or []
            same_lengths(lengths, tags, "penalty.tags", "penalty.sentences")
            other = text(penalty.sentences, encode(tags, codes_of(names), int(lengths.sum())))
        return adagrad.train(
            text(sentences, codes),
            attributes.row_count,
            len(names),
            l2=self.arguments.l2,
            max_iterations=self.arguments.max_iterations,
            settings=self.arguments.settings,
            seed=self.arguments.seed,
            penalty=None if penalty is None else (penalty, other),
            progress=progress,
        )

    def potentials(self, sentences: Sentences) -> tuple[Floats, Integers]:
        """Return the score of each tag at each token; attributes unseen in training have weight 0.

        Returns
        -------
        unary : ndarray of float64, shape (N, K)
            Log-potentials of the tokens of all sentences, concatenated.
        lengths : ndarray of int64, shape (S,)
            Tokens per sentence.

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

        Returns
        -------
        ChainPosterior
            Distribution for all sentences, with the tags ``tags``.

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
            ``kind`` and ``version``; the arguments; ``features`` (names of groups, or None for a function,
            which is not saved); ``tags``; ``values`` (of each kind of attribute); ``first``, ``tag`` and
            ``weight`` (one row per offset and value); ``transition``; ``iterations``, ``converged`` and
            ``vocabulary``.

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
            "kind": KIND,
            "version": VERSION,
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
        """Return a model from the result of `to_state`.

        Parameters
        ----------
        state
            Result of `to_state`.
        features
            Feature function of the training, if there was one. Without it the model can be inspected and
            saved, but it cannot score text.

        Returns
        -------
        CRFTagger

        Raises
        ------
        FormatError
            If the state is of another kind or version, or inconsistent.
        InputError
            If a function is given for a model that was trained without one.

        Examples
        --------
        >>> model = CRFTagger(features="basic").fit([["so", "good"]], [["ADV", "ADJ"]])
        >>> CRFTagger.from_state(model.to_state()).predict([["so", "good"]])
        [['ADV', 'ADJ']]
        """
        saved = read_state(state)
        if features is not None and saved.groups is not None:
            message = f"the model was trained with the features {', '.join(saved.groups)}"
            raise InputError(message, "leave the function out", code="parameter")
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


@dataclass(frozen=True)
class Saved:
    """Checked state of a trained model.

    Attributes
    ----------
    arguments, tags, transition, iterations, converged, vocabulary
        As in `CRFTagger`.
    groups
        Names of feature groups; None for a feature function.
    values
        Values of each kind of attribute.
    weights
        Weights, one row per attribute.
    """

    arguments: Arguments
    groups: tuple[str, ...] | None
    tags: tuple[str, ...]
    values: dict[str, list[str]]
    weights: RowWeights
    transition: Floats
    iterations: int
    converged: bool | None
    vocabulary: list[str] | None


def read_state(state: Mapping[str, Any]) -> Saved:
    """Return the checked state; raise `FormatError` if it is for another model or inconsistent."""
    check_kind(state, KIND, VERSION)
    missing = [name for name in (*ARGUMENTS, *TRAINED) if name not in state]
    require(not missing, f"{', '.join(missing)} missing")
    with reading_state():
        arguments = Arguments(**{name: state[name] for name in ARGUMENTS})
        groups = None if state["features"] is None else feature_groups(state["features"])
        positive_integer(state["iterations"], "iterations", least=0)
    tags, values = distinct_strings(state["tags"], "tags"), _values(state["values"], groups)
    offsets = {o for template in merged_templates(groups or ()) for o in template.offsets}
    rows = sum(map(len, values.values())) * (1 if groups is None else len(offsets))
    weights, transition = _weights(state, rows, len(tags))
    converged, vocabulary = state.get("converged"), state.get("vocabulary")
    require(converged is None or isinstance(converged, bool), f"converged is {converged!r:.40}")
    return Saved(
        arguments,
        groups,
        tuple(tags),
        values,
        weights,
        transition,
        int(state["iterations"]),
        converged,
        None if vocabulary is None else distinct_strings(vocabulary, "vocabulary"),
    )


def _values(values: Any, groups: tuple[str, ...] | None) -> dict[str, list[str]]:
    names = [GIVEN] if groups is None else [template.name for template in merged_templates(groups)]
    fits = isinstance(values, dict) and sorted(values) == sorted(names)
    require(fits, f"the values do not match {', '.join(names)}")
    return {name: distinct_strings(values[name], name) for name in names}


def _weights(state: Mapping[str, Any], rows: int, tag_count: int) -> tuple[RowWeights, Floats]:
    first, tag = _array(state, "first", "iu", 1), _array(state, "tag", "iu", 1)
    weight, transition = _array(state, "weight", "f", 1), _array(state, "transition", "f", 2)
    require(len(first) == rows + 1, f"first has {len(first)} values for {rows} rows")
    cuts = first[0] == 0 and first[-1] == len(weight) and bool((np.diff(first.astype(np.int64)) >= 0).all())
    require(cuts, f"first does not divide {len(weight)} weights into rows")
    require(len(tag) == len(weight), f"there are {len(tag)} tags for {len(weight)} weights")
    in_range = len(tag) == 0 or (int(tag.min()) >= 0 and int(tag.max()) < tag_count)
    require(in_range, f"a weight belongs to none of the {tag_count} tags")
    shape = (tag_count, tag_count)
    require(transition.shape == shape, f"transition has shape {transition.shape}, expected {shape}")
    require(bool(np.isfinite(weight).all() and np.isfinite(transition).all()), "a weight is not finite")
    weights = RowWeights(first.astype(np.int64), tag.astype(np.int32), weight.astype(np.float64))
    return weights, transition.astype(np.float64)


def _array(state: Mapping[str, Any], name: str, kinds: str, dimensions: int) -> NDArray[Any]:
    array = state[name]
    fits = isinstance(array, np.ndarray) and array.ndim == dimensions and array.dtype.kind in kinds
    require(fits, f"{name} is not an array of numbers with {dimensions} dimensions")
    return np.ascontiguousarray(array)
