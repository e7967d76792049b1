"""A log-linear first-order dependency parser with hashed features, trained by the likelihood of trees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant._checks import Floats, Integers, non_negative, positive_integer
from calibrant.exceptions import InputError
from calibrant.progress import Progress, tell
from calibrant.seeds import generator
from calibrant.structures._kernels import dependency_features as features
from calibrant.structures._kernels import dependency_training as training
from calibrant.structures.models._state import check_kind, distinct_strings, reading_state, require
from calibrant.structures.models._tagger import (
    Sentences,
    codes_of,
    distinct,
    refuse_other_than_text,
    same_lengths,
    sentence_lengths,
    untrained,
)
from calibrant.structures.models.dependency_encoding import EncodedSentences, encode, frequent_words
from calibrant.structures.posterior.dependency import DependencyPosterior, check_tree

Weights = NDArray[np.float32]
KIND, VERSION = "dependency", 2
FEWEST_BITS, MOST_BITS = 8, 26
MOST_DROPPED = 0.9
REPORT_EVERY = 500  # sentences
FIRST_SQUARES = 1.0  # of each slope before the first step, so that rare features take small steps
LARGEST = 1024  # temperature; the smallest is its inverse
FEWEST_WORDS = 20  # in which most tags must be known


@dataclass(frozen=True)
class Settings:
    """Settings of a parser, checked on creation; see `DependencyModel`."""

    bits: int
    label_bits: int
    least: int
    epochs: int
    batch: int
    rate: float
    l1: float
    l2: float
    dropout: float
    seed: int

    def __post_init__(self) -> None:
        for name in ("bits", "label_bits"):
            if not FEWEST_BITS <= positive_integer(getattr(self, name), name) <= MOST_BITS:
                message = f"{name} is {getattr(self, name)}"
                raise InputError(message, f"give {FEWEST_BITS} to {MOST_BITS}", code="parameter")
        for name in ("least", "epochs", "batch"):
            positive_integer(getattr(self, name), name)
        for name in ("rate", "l1", "l2"):
            non_negative(getattr(self, name), name)
        if not 0 <= non_negative(self.dropout, "dropout") <= MOST_DROPPED:
            message = f"dropout is {self.dropout}"
            raise InputError(message, f"give 0 to {MOST_DROPPED}", code="parameter")
        positive_integer(self.seed, "seed", least=0)


class DependencyModel:
    """Log-linear model of dependency trees, with one weight per feature of an arc.

    P(tree | words, tags) is proportional to exp(sum over words of w . f(head, word)); a tree has one root.
    Labels are independent given the arcs: P(label | arc) is proportional to exp(v_label . g(head, word)).
    Features follow McDonald et al. (2005) and Koo et al. (2008): the two words and tags, their neighbors'
    tags and words, suffixes, stems, a word's preposition and conjunction, the tags, verbs and punctuation
    between the two, and the verbs outside, each combined with direction and distance. Tags of punctuation and
    particles include the word. Features are hashed to 2^bits weights.

    The interface: ``fit(sentences, tags, heads, relations)``; ``posterior(sentences, tags)`` returns a
    `DependencyPosterior` with ``names = model.relations``; ``predict(sentences, tags)`` returns heads and
    relations; `calibrant.structures.save_model` and `load_dependency_model` save and load it.

    Training maximizes the likelihood of gold trees, with penalties, by AdaGrad after mini-batches of
    sentences. The weights are the mean of the weights after each step of the last half of the training. Train
    on tags that are predicted, for example by taggers trained on other folds, if predicted tags are parsed.

    Parameters
    ----------
    bits
        Logarithm of the number of weights of arcs, from 8 to 26.
    label_bits
        Logarithm of the number of weights per label, from 8 to 26.
    least
        Words that occur less often in training share weights with words of the same shape and suffix.
    epochs
        Number of passes over the training sentences.
    batch
        Sentences per step.
    rate
        Step size of AdaGrad.
    l1, l2
        Penalties of absolute and of half of squared weights, per step that changes a weight.
    dropout
        Proportion of features, 0 to 0.9, that are left out of each sentence in training, at random.
    seed
        Seed of the order of sentences and of the features left out, 0 or more.

    Attributes
    ----------
    relations : tuple of str
        Sorted labels of arcs; set by `fit`.
    tags : tuple of str
        Sorted tags of the training text; set by `fit`.
    losses : list of float
        Mean negative log-likelihood of the tree per sentence in each epoch, computed during training.
    temperatures : tuple of float
        Temperatures of arcs and of labels, by which their log-potentials are divided; 1 unless `tempered`.
    trained_on : str or None
        Description of the training texts, saved with the model. None: unknown.

    References
    ----------
    McDonald, Crammer and Pereira (2005), "Online large-margin training of dependency parsers"; Koo,
    Globerson, Carreras and Collins (2007), "Structured prediction models via the matrix-tree theorem"; Koo,
    Carreras and Collins (2008), "Simple semi-supervised dependency parsing"; Duchi, Hazan and Singer (2011),
    "Adaptive subgradient methods".

    Examples
    --------
    >>> words, tags = [["dogs", "bark"], ["cats", "sleep"]], [["N", "V"], ["N", "V"]]
    >>> model = DependencyModel(bits=12, label_bits=8, least=1)
    >>> model = model.fit(words, tags, [[2, 0], [2, 0]], [["nsubj", "root"], ["nsubj", "root"]])
    >>> model.predict([["dogs", "sleep"]], [["N", "V"]])
    ([[2, 0]], [['nsubj', 'root']])
    """

    def __init__(
        self,
        *,
        bits: int = 22,
        label_bits: int = 16,
        least: int = 3,
        epochs: int = 5,
        batch: int = 4,
        rate: float = 0.03,
        l1: float = 0.0,
        l2: float = 0.005,
        dropout: float = 0.0,
        seed: int = 0,
    ) -> None:
        self.settings = Settings(bits, label_bits, least, epochs, batch, rate, l1, l2, dropout, seed)
        self.relations: tuple[str, ...] = ()
        self.tags: tuple[str, ...] = ()
        self.losses: list[float] = []
        self.temperatures: tuple[float, float] = (1.0, 1.0)
        self.trained_on: str | None = None
        self._frequent: Integers = np.zeros(0, np.int64)
        self._arc_weight: Weights | None = None
        self._label_weight: Weights | None = None

    def fit(
        self,
        sentences: Sentences,
        tags: Sentences,
        heads: Sequence[Sequence[int]],
        relations: Sentences,
        *,
        progress: Progress | None = None,
    ) -> DependencyModel:
        """Train on sentences with tags and gold trees.

        Parameters
        ----------
        sentences
            Words of each sentence.
        tags
            Tag of each word; best predicted by a tagger that was not trained on the sentence.
        heads
            Head of each word: 0 for the root, h for the h-th word, from 1. One word has the root as its head.
        relations
            Label of the arc to each word.
        progress
            Called with ``"train"``, the number of sentences done and the total number. An exception that it
            raises stops training.

        Returns
        -------
        DependencyModel
            This model, trained.

        Raises
        ------
        InputError
            If there is no sentence, a sentence is empty, numbers of words, tags, heads and relations differ,
            or heads form no tree with one root; the message names the sentence.

        Examples
        --------
        >>> model = DependencyModel(bits=10, label_bits=8, epochs=2)
        >>> model.fit([["I", "see"]], [["PRON", "VERB"]], [[2, 0]], [["nsubj", "root"]]).relations
        ('nsubj', 'root')
        """
        lengths = _checked(sentences, tags)
        same_lengths(lengths, relations, "relations")
        same_lengths(lengths, heads, "heads")  # type: ignore[arg-type]
        flat = _flat_heads(heads, lengths)
        names = tuple(distinct(relations, "relations"))
        frequent = frequent_words(sentences, self.settings.least)
        text = encode(sentences, tags, frequent)
        gold, labels = np.zeros((2, len(text.codes)), np.int64)
        code = codes_of(names)
        gold[text.words] = flat
        labels[text.words] = [code[name] for name in chain.from_iterable(relations)]
        arcs, label_weight, self.losses = _trained(text, gold, labels, len(names), self.settings, progress)
        self.relations, self.tags, self._frequent = names, tuple(distinct(tags, "tags")), frequent
        # A saved model has these digits, so that the model before and after saving is the same.
        self._arc_weight = arcs.astype(np.float16).astype(np.float32)
        self._label_weight = label_weight.astype(np.float16).astype(np.float32)
        return self

    def posterior(self, sentences: Sentences, tags: Sentences, *, labels: bool = True) -> DependencyPosterior:
        """Return the distribution over trees of each sentence.

        Parameters
        ----------
        sentences, tags
            Words of each sentence, and their tags. Memory grows with the squares of the lengths, times the
            number of labels, so pass large texts in batches.
        labels
            False for a distribution without labels.

        Returns
        -------
        DependencyPosterior
            Its labels are the model's ``relations``.

        Examples
        --------
        >>> model = DependencyModel(bits=10, label_bits=8, epochs=9)
        >>> model = model.fit([["I", "see"]], [["PRON", "VERB"]], [[2, 0]], [["nsubj", "root"]])
        >>> posterior = model.posterior([["I", "see"]], [["PRON", "VERB"]])
        >>> bool(posterior.marginals()[0][0, 2] > 0.9)
        True
        """
        arcs, given = self.scores(sentences, tags, labels=labels)
        return DependencyPosterior(arcs, given, names=self.relations) if given else DependencyPosterior(arcs)

    def scores(
        self, sentences: Sentences, tags: Sentences, *, labels: bool = True
    ) -> tuple[list[Floats], list[Floats]]:
        """Return the log-potentials of arcs, and log-probabilities of labels given arcs, of each sentence.

        Returns
        -------
        arcs : list of ndarray of shapes (n, n + 1)
            As `DependencyPosterior` takes them.
        labels : list of ndarray of shapes (n, n + 1, L)
            Empty without ``labels``.

        Examples
        --------
        >>> model = DependencyModel(bits=10, label_bits=8, epochs=2)
        >>> model = model.fit([["I", "see"]], [["PRON", "VERB"]], [[2, 0]], [["nsubj", "root"]])
        >>> arcs, labels = model.scores([["I", "see"]], [["PRON", "VERB"]])
        >>> arcs[0].shape, labels[0].shape
        ((2, 3), (2, 3, 2))
        """
        if self._arc_weight is None or self._label_weight is None:
            raise untrained()
        lengths = _checked(sentences, tags)
        self.check_tags(tags)
        text = encode(sentences, tags, self._frequent)
        arcs, given = [], []
        for place, length in enumerate(lengths.tolist()):
            rows = slice(text.offsets[place], text.offsets[place + 1])
            own = text.codes[rows], text.kinds[rows]
            score = np.empty((length, length + 1))
            features.score_arcs(*own, self.settings.bits, self._arc_weight, 0, 0, score)
            score /= self.temperatures[0]
            arcs.append(score)
            if labels:
                score = np.empty((length, length + 1, len(self.relations)))
                features.score_labels(*own, self.settings.label_bits, self._label_weight, score)
                if self.temperatures[1] != 1.0:
                    score /= self.temperatures[1]
                    score -= np.logaddexp.reduce(score, axis=2, keepdims=True)
                given.append(score)
        return arcs, given

    def check_tags(self, tags: Sentences) -> None:
        """Raise `InputError` if the model does not know most tags of 20 or more words.

        A tag that the training text lacks is no error elsewhere: features with it have weight 0.

        Examples
        --------
        >>> model = DependencyModel(bits=10, label_bits=8, epochs=2)
        >>> model = model.fit([["I", "see"]], [["PRON", "VERB"]], [[2, 0]], [["nsubj", "root"]])
        >>> model.check_tags([["PRP", "VB"]] * 10)
        Traceback (most recent call last):
        calibrant.exceptions.InputError: row 0: the model does not know the tag 'PRP': ...
        """
        unknown = set(chain.from_iterable(tags)).difference(self.tags)
        words = list(chain.from_iterable(tags)) if unknown else []
        if len(words) >= FEWEST_WORDS and 2 * sum(tag in unknown for tag in words) > len(words):
            row = next(row for row, of in enumerate(tags) if unknown.intersection(of))
            first = next(tag for tag in tags[row] if tag in unknown)
            message = f"the model does not know the tag {first!r:.40}"
            hint = f"use tags as in its training, such as {', '.join(self.tags[:3])}"
            raise InputError(message, hint, code="class-unknown", row=row)

    def predict(self, sentences: Sentences, tags: Sentences) -> tuple[list[list[int]], list[list[str]]]:
        """Return the heads and relations of the tree with the most expected correct arcs of each sentence.

        Returns
        -------
        heads : list of list of int
            Head of each word: 0 for the root, h for the h-th word, from 1.
        relations : list of list of str
            Most probable label of each arc.

        Examples
        --------
        >>> model = DependencyModel(bits=10, label_bits=8, epochs=9)
        >>> model = model.fit([["I", "see"]], [["PRON", "VERB"]], [[2, 0]], [["nsubj", "root"]])
        >>> model.predict([["I", "see"]], [["PRON", "VERB"]])
        ([[2, 0]], [['nsubj', 'root']])
        """
        posterior = self.posterior(sentences, tags)
        heads = posterior.minimum_bayes_risk()
        labels = posterior.best_labels(heads).tolist()
        ends = list(zip(posterior.offsets.tolist(), posterior.offsets[1:].tolist(), strict=False))
        names = [self.relations[label] for label in labels]
        return [heads[a:b].tolist() for a, b in ends], [names[a:b] for a, b in ends]

    def tempered(self, arcs: float, labels: float = 1.0) -> DependencyModel:
        """Return a copy whose log-potentials of arcs and of labels are divided by temperatures.

        Examples
        --------
        >>> model = DependencyModel(bits=10, label_bits=8, epochs=2)
        >>> model = model.fit([["I", "see"]], [["PRON", "VERB"]], [[2, 0]], [["nsubj", "root"]])
        >>> hot = model.tempered(1024).posterior([["I", "see"]], [["PRON", "VERB"]])
        >>> hot.marginals()[0].round(1).tolist()
        [[0.5, 0.0, 0.5], [0.5, 0.5, 0.0]]
        """
        for name, value in (("arcs", arcs), ("labels", labels)):
            if not 1 / LARGEST <= value <= LARGEST:
                message = f"the temperature of {name} is {value}"
                raise InputError(message, f"give 1/{LARGEST} to {LARGEST}", code="parameter")
        state = self.to_state()
        state["temperatures"] = [self.temperatures[0] * arcs, self.temperatures[1] * labels]
        model = DependencyModel.from_state(state)
        model.trained_on = self.trained_on
        return model

    def to_state(self) -> dict[str, Any]:
        """Return the trained model as plain values and arrays.

        Returns
        -------
        dict
            ``kind`` and ``version``; the settings; ``relations`` and ``tags``; ``frequent`` (codes of
            frequent words); ``arc_weight`` (2^bits) and ``label_weight`` (2^label_bits, L), in half
            precision; ``temperatures``; ``losses``.

        Examples
        --------
        >>> model = DependencyModel(bits=10, label_bits=8, epochs=2)
        >>> model = model.fit([["I", "see"]], [["PRON", "VERB"]], [[2, 0]], [["nsubj", "root"]])
        >>> DependencyModel.from_state(model.to_state()).losses == model.losses
        True
        """
        if self._arc_weight is None or self._label_weight is None:
            raise untrained()
        return {
            "kind": KIND,
            "version": VERSION,
            **asdict(self.settings),
            "relations": list(self.relations),
            "tags": list(self.tags),
            "frequent": self._frequent.astype(np.uint32),
            "arc_weight": self._arc_weight.astype(np.float16),
            "label_weight": self._label_weight.astype(np.float16),
            "temperatures": list(self.temperatures),
            "losses": list(self.losses),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> DependencyModel:
        """Return a model from the result of `to_state`.

        Examples
        --------
        >>> DependencyModel.from_state({"kind": "dependency", "version": 99})
        Traceback (most recent call last):
        calibrant.exceptions.FormatError: the model's state has version 99: this release reads version 2
        """
        check_kind(state, KIND, VERSION)
        with reading_state():
            model = cls(**{name: state[name] for name in Settings.__dataclass_fields__})
            model.relations = tuple(distinct_strings(state["relations"], "relations"))
            model.tags = tuple(distinct_strings(state["tags"], "tags"))
            require(bool(model.relations and model.tags), "relations or tags are missing")
            frequent = np.asarray(state["frequent"])
            fine = frequent.ndim == 1 and frequent.dtype.kind in "iu"
            require(
                fine and bool(np.all(np.diff(frequent.astype(np.int64)) > 0)),
                "frequent words are out of order",
            )
            model._frequent = frequent.astype(np.int64)
            shapes = (1 << model.settings.bits,), (1 << model.settings.label_bits, len(model.relations))
            weights = [
                _weights(state[name], shape, name)
                for name, shape in zip(("arc_weight", "label_weight"), shapes, strict=True)
            ]
            model._arc_weight, model._label_weight = weights
            first, second = (float(value) for value in state["temperatures"])
            fine = 0 < first <= LARGEST**2 and 0 < second <= LARGEST**2
            require(fine and min(first, second) * LARGEST**2 >= 1, "a temperature is out of range")
            model.temperatures = first, second
            model.losses = [float(loss) for loss in state["losses"]]
        return model


def _weights(values: Any, shape: tuple[int, ...], name: str) -> Weights:
    fine = isinstance(values, np.ndarray) and values.dtype.kind == "f" and values.shape == shape
    require(fine and bool(np.isfinite(values).all()), f"{name} is not a finite array of shape {shape}")
    return np.ascontiguousarray(values, np.float32)


def _checked(sentences: Sentences, tags: Sentences) -> Integers:
    """Return the lengths of the sentences, after checks of words and tags."""
    lengths = sentence_lengths(sentences)
    same_lengths(lengths, tags)
    refuse_other_than_text(sentences)
    refuse_other_than_text(tags, "tags")
    return lengths


def _flat_heads(heads: Sequence[ArrayLike], lengths: Integers) -> Integers:
    flat = []
    for row, (own, length) in enumerate(zip(heads, lengths.tolist(), strict=True)):
        given = np.asarray(own)
        if given.shape != (length,) or given.dtype.kind not in "iu":
            message = f"heads[{row}] are {own!r:.40}"
            raise InputError(message, "give one integer per word", code="dtype", row=row)
        check_tree(given.astype(np.int64), row)
        flat.append(given)
    return np.concatenate(flat).astype(np.int64)


def _trained(
    text: EncodedSentences,
    heads: Integers,
    labels: Integers,
    label_count: int,
    settings: Settings,
    progress: Progress | None,
) -> tuple[Weights, Weights, list[float]]:
    """Return the weights of arcs and of labels, and the mean loss per sentence in each epoch."""
    size = 1 << settings.bits
    weight, squares, gradient, drift = np.zeros((4, size), np.float32)
    touched, marked = np.zeros(size, np.int32), np.zeros(size, np.bool_)
    squares += FIRST_SQUARES
    label_weight, label_squares = np.zeros((2, 1 << settings.label_bits, label_count), np.float32)
    random, count = generator(settings.seed), len(text.offsets) - 1
    losses, step, total = [], 1, count * settings.epochs
    below = round(256 * settings.dropout)
    averaged_from = settings.epochs // 2
    penalties = settings.rate, settings.l1, settings.l2
    own = text.codes, text.kinds, text.offsets, heads
    for epoch in range(settings.epochs):
        if epoch == averaged_from:
            drift[:], step = 0.0, 1
        order, loss = random.permutation(count), 0.0
        for first in range(0, count, REPORT_EVERY):
            part = order[first : first + REPORT_EVERY]
            salts = random.integers(1 << 40, size=len(part)) if below else np.zeros(len(part), np.int64)
            loss += training.train_arcs(
                *own,
                part,
                settings.bits,
                weight,
                squares,
                gradient,
                drift,
                touched,
                marked,
                *penalties,
                settings.batch,
                step,
                below,
                salts,
            )
            step += -(-len(part) // settings.batch)
            training.train_labels(
                *own,
                labels,
                part,
                settings.label_bits,
                label_weight,
                label_squares,
                settings.rate,
                settings.l2,
            )
            tell(progress, "train", epoch * count + first + len(part), total)
        losses.append(float(loss) / count)
    kept = np.float32(1 - below / 256)  # without dropout, so many more features are added up
    return kept * (weight - drift / np.float32(step)), label_weight, losses
