"""An antecedent model of coreference with hashed surface features, after Durrett and Klein (2013)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Floats, Integers, is_list, non_negative, one_of, positive_integer
from calibrant.exceptions import InputError
from calibrant.progress import Progress, tell
from calibrant.seeds import generator
from calibrant.structures._kernels.coreference_features import HEAD_WORD, PAIR_TEMPLATES, score_document
from calibrant.structures._kernels.coreference_training import BLOCK_BITS, adagrad, add_gradient
from calibrant.structures.documents import Document
from calibrant.structures.models._state import check_kind, reading_state, require
from calibrant.structures.models._tagger import untrained
from calibrant.structures.models.coreference_encoding import (
    GROUPS,
    LARGEST_CODE,
    LATER,
    LEXICAL,
    OWN,
    Encoded,
    Lexicon,
    chosen_groups,
    encode,
)
from calibrant.structures.posterior.antecedent import AntecedentPosterior

Weights = NDArray[np.float32]


@dataclass(frozen=True)
class Features:
    """Features of a model, in the form that the kernels need.

    Attributes
    ----------
    own
        Columns of OWN that are used.
    pairs
        Mask of the templates of pairs that are used.
    bits
        Logarithm of the number of weights, 2^bits.
    window
        Number of earlier mentions that are candidates.
    """

    own: tuple[int, ...]
    pairs: NDArray[np.bool_]
    bits: int
    window: int

    @classmethod
    def of(cls, groups: Sequence[str], bits: int, window: int) -> Features:
        """Return the features of some groups; the bias of not starting an entity is always included."""
        pairs = np.zeros(PAIR_TEMPLATES, bool)
        pairs[[0, *(template for group in groups for template in GROUPS[group][1])]] = True
        own = tuple(OWN.index(name) for group in groups for name in GROUPS[group][0])
        return cls(own, pairs, bits, window)


@dataclass(frozen=True)
class Coded:
    """Document encoded for the kernels.

    Attributes
    ----------
    mentions, own, tokens
        Arguments of `row_features`.
    """

    mentions: Integers
    own: Integers
    tokens: Integers


@dataclass(frozen=True)
class Objective:
    """Objective and settings of training.

    Attributes
    ----------
    costs, l1, l2, rate, epochs, batch, seed
        As in `CoreferenceModel`.
    """

    costs: tuple[float, float, float]
    l1: float
    l2: float
    rate: float
    epochs: int
    batch: int
    seed: int


def train(
    documents: Sequence[Coded],
    entities: Sequence[Integers],
    features: Features,
    objective: Objective,
    progress: Progress | None = None,
) -> tuple[Weights, list[float]]:
    """Return the weights, and the mean loss per mention in each epoch, computed during training.

    A batch consists of consecutive mentions of one document; batches are visited in random order.
    """
    weight = np.zeros(1 << features.bits, np.float32)
    squares = np.zeros_like(weight)
    gradient = np.zeros(len(weight))
    touched = np.zeros(len(weight) >> BLOCK_BITS, np.bool_)
    costs = np.array(objective.costs, dtype=np.float64)
    batches = [
        (number, start, min(start + objective.batch, len(entity)))
        for number, entity in enumerate(entities)
        for start in range(0, len(entity), objective.batch)
    ]
    total = sum(map(len, entities))
    random = generator(objective.seed)
    losses = []
    for epoch in range(objective.epochs):
        loss = 0.0
        for place in random.permutation(len(batches)).tolist():
            number, start, stop = batches[place]
            document = documents[number]
            loss += add_gradient(
                document.mentions,
                document.own,
                document.tokens,
                entities[number],
                start,
                stop,
                features.window,
                features.pairs,
                features.bits,
                costs,
                weight,
                gradient,
                touched,
            )
            adagrad(
                weight,
                squares,
                gradient,
                touched,
                1 / objective.batch,
                objective.rate,
                objective.l1,
                objective.l2,
            )
        losses.append(loss / total)
        tell(progress, "train", epoch + 1, objective.epochs)
    return weight, losses


KIND, VERSION = "coreference", 1
ARGUMENTS = (
    "features",
    "without",
    "bits",
    "window",
    "least",
    "costs",
    "l1",
    "l2",
    "rate",
    "epochs",
    "batch",
    "seed",
)


def _codes(values: Any) -> Integers:
    """Return increasing integers from 0 to `LARGEST_CODE`, or raise an error."""
    codes = np.asarray(values)
    require(codes.ndim == 1 and codes.dtype.kind in "iu", "places or codes are not integers")
    codes = codes.astype(np.int64)
    inside = len(codes) == 0 or (codes[0] >= 0 and codes[-1] <= LARGEST_CODE)
    require(bool(inside and np.all(np.diff(codes) > 0)), "places or codes are out of order or range")
    return codes


FeatureSet = Literal["surface", "syntax"]
FEATURE_SETS: tuple[FeatureSet, ...] = ("surface", "syntax")
COREFERENCE_GROUPS: tuple[str, ...] = tuple(GROUPS)
PAPER_COSTS = (0.1, 3.0, 1.0)
FEWEST_BITS, MOST_BITS = 8, 26


class CoreferenceModel:
    """Locally normalized log-linear model of each mention's antecedent.

    Mention i selects an earlier mention of its window, or "new", with P(a_i = j | x) proportional to
    exp(w . f(i, j, x)), independently of all other mentions. The features follow Durrett and Klein. Features
    of the mention and of the candidate: type, length, head, first and last word, the words before and after,
    the whole string. Features of the pair: distance in mentions and in sentences, exact and head match,
    containment, nesting, gender, number, speaker, pair of heads, and (new in calibrant) quotations. Each
    feature is used alone, combined with the form of the mention (its type, or the pronoun), and combined with
    the forms of both. Features are hashed to 2^bits weights.

    Training maximizes, with AdaGrad, the likelihood of the set of gold antecedents (all earlier mentions of
    the entity in the window, else "new"). ``costs`` are added to the scores of wrong candidates in training
    (softmax-margin), which can increase F1 but distorts the probabilities.

    Parameters
    ----------
    features
        ``"surface"`` needs words and mentions only, and finds heads by rules. ``"syntax"`` needs trees, which
        provide heads and traits, the relation of each mention to its governor, the governor, the arcs
        between mentions (appositions and predicate nouns), parallel subjects and objects, and for pronouns
        the number of closer candidates, and of subjects among them, that agree.
    without
        Feature groups of `COREFERENCE_GROUPS` to leave out.
    bits
        Logarithm of the number of weights, from 8 to 26. With fewer weights, more features share a weight.
    window
        Number of earlier mentions that are candidates.
    least
        Words and strings that occur less often in training share weights with similar ones (with trees:
        governors with the same part of speech).
    costs
        Costs of linking a mention that starts an entity, of starting an entity wrongly, and of a wrong
        antecedent. The paper uses `PAPER_COSTS`; zero costs give maximum likelihood.
    l1, l2
        Penalties, 0 or more: ``l1`` times the sum of absolute weights and ``l2 / 2`` times the sum of squared
        weights are added to the mean loss per mention. With ``l1`` above 0, most weights are 0.
    rate
        Step size of AdaGrad.
    epochs
        Number of passes over the training documents.
    batch
        Mentions per step; a batch is within one document.
    seed
        Seed of the order of batches, 0 or more.

    Attributes
    ----------
    losses : list of float
        Mean loss per mention in each epoch; set by `fit`.
    trained_on : str or None
        Description of the training texts; set by `calibrant.structures.train_coreference`, and saved with the
        model. None: unknown.

    References
    ----------
    Durrett and Klein (2013), "Easy victories and uphill battles in coreference resolution", sections 3 and 4;
    Duchi, Hazan and Singer (2011), "Adaptive subgradient methods", for AdaGrad with penalties; Nguyen and
    O'Connor (2015), section 5.

    Examples
    --------
    >>> from calibrant.structures.documents import Mention
    >>> words = [["Ann", "sleeps"], ["She", "snores"]]
    >>> document = Document("d", words, [Mention(0, 0, 1), Mention(1, 0, 1)], ["ann", "ann"])
    >>> model = CoreferenceModel(bits=12, least=1, epochs=20).fit([document])
    >>> model.posterior([document]).best_antecedents().tolist()
    [-1, 0]
    """

    def __init__(
        self,
        *,
        features: FeatureSet = "surface",
        without: Collection[str] = (),
        bits: int = 20,
        window: int = 150,
        least: int = 20,
        costs: tuple[float, float, float] = (0.0, 0.0, 0.0),
        l1: float = 3e-5,
        l2: float = 0.0,
        rate: float = 0.05,
        epochs: int = 8,
        batch: int = 64,
        seed: int = 0,
    ) -> None:
        one_of(features, FEATURE_SETS, "features")
        self.features: FeatureSet = features
        self.groups = chosen_groups(features, without)
        self.least = positive_integer(least, "least")
        if not FEWEST_BITS <= positive_integer(bits, "bits") <= MOST_BITS:
            raise InputError(f"bits is {bits}", f"give {FEWEST_BITS} to {MOST_BITS}", code="parameter")
        self._features = Features.of(
            self.groups, positive_integer(bits, "bits"), positive_integer(window, "window")
        )
        self._objective = Objective(
            costs=_costs(costs),
            l1=non_negative(l1, "l1"),
            l2=non_negative(l2, "l2"),
            rate=non_negative(rate, "rate"),
            epochs=positive_integer(epochs, "epochs"),
            batch=positive_integer(batch, "batch"),
            seed=positive_integer(seed, "seed", least=0),
        )
        self.losses: list[float] = []
        self.trained_on: str | None = None
        self._lexicon: Lexicon | None = None
        self._weight: Weights | None = None

    @property
    def window(self) -> int:
        """Return the number of earlier mentions that are candidates."""
        return self._features.window

    def _trained(self) -> tuple[Lexicon, Weights]:
        if self._lexicon is None or self._weight is None:
            raise untrained()
        return self._lexicon, self._weight

    def fit(self, documents: Sequence[Document], *, progress: Progress | None = None) -> CoreferenceModel:
        """Train on documents with mentions and their gold entities.

        Parameters
        ----------
        documents
            Documents with ``mentions`` and ``clusters``, and ``trees`` for ``"syntax"``. A mention whose
            cluster is None is a separate entity.
        progress
            Called with ``"train"``, the epoch, and ``epochs``. An exception that it raises stops training.

        Returns
        -------
        CoreferenceModel
            This model, trained.

        Raises
        ------
        InputError
            If there is no document, no document has mentions, or a document lacks required annotation; the
            message names the document.

        Examples
        --------
        >>> from calibrant.structures.documents import Mention
        >>> document = Document("d", [["He", "runs"]], [Mention(0, 0, 1)], ["1"])
        >>> len(CoreferenceModel(bits=10, epochs=2).fit([document]).losses)
        2
        """
        encoded = self._encoded(documents)
        for document in documents:
            if document.clusters is None:
                message = f"document {document.name!r} has no gold entities"
                raise InputError(message, "give clusters to train on", code="empty")
        if not any(len(document.mentions) for document in encoded):
            raise InputError("there are no mentions", "train on documents with mentions", code="empty")
        lexicon = Lexicon.learn(encoded, self.least)
        coded = [self._coded(document, lexicon) for document in encoded]
        entities = list(map(_entities, documents))
        weight, self.losses = train(coded, entities, self._features, self._objective, progress)
        self._lexicon, self._weight = lexicon, weight
        return self

    def _encoded(self, documents: Sequence[Document]) -> list[Encoded]:
        if not is_list(documents) or not all(isinstance(document, Document) for document in documents):
            raise InputError(f"documents is {documents!r:.40}", "pass a list of documents", code="dtype")
        if len(documents) == 0:
            raise InputError("there are no documents", "pass at least one", code="empty")
        for document in documents:
            if document.mentions is None:
                hint = "give mentions, or find them with detect_mentions"
                raise InputError(f"document {document.name!r} has no mentions", hint, code="empty")
            if self.features == "syntax" and document.trees is None:
                hint = "parse it, or use a model with surface features"
                raise InputError(f"document {document.name!r} has no trees", hint, code="empty")
        trees, quotations = self.features == "syntax", "quotation" in self.groups
        return [encode(document, trees=trees, quotations=quotations) for document in documents]

    def _coded(self, document: Encoded, lexicon: Lexicon) -> Coded:
        own, frequent_head = lexicon.own_codes(document, self._features.own)
        mentions = document.mentions.copy()
        mentions[:, HEAD_WORD] = frequent_head
        return Coded(mentions, own, document.tokens)

    def scores(self, documents: Sequence[Document]) -> tuple[Floats, Integers]:
        """Return the score of each candidate of each mention.

        Parameters
        ----------
        documents
            Documents with ``mentions``, and ``trees`` for ``"syntax"``.

        Returns
        -------
        scores : ndarray of float64
            One row per mention, with its candidates in the order of the text, then "new"; concatenated over
            documents.
        mention_counts : ndarray of int64, shape (D,)
            Mentions per document.

        Examples
        --------
        >>> from calibrant.structures.documents import Mention
        >>> mentions = [Mention(0, 0, 1), Mention(0, 2, 3)]
        >>> document = Document("d", [["He", "hurt", "himself"]], mentions, ["1", "1"])
        >>> model = CoreferenceModel(bits=10, epochs=2).fit([document])
        >>> scores, counts = model.scores([document])
        >>> len(scores), counts.tolist()
        (3, [2])
        """
        lexicon, weight = self._trained()
        counts, parts = [], []
        for document in self._encoded(documents):
            coded = self._coded(document, lexicon)
            count, window = len(coded.mentions), self.window
            score = np.empty(int(np.minimum(np.arange(count), window).sum()) + count)
            score_document(
                coded.mentions,
                coded.own,
                coded.tokens,
                window,
                self._features.pairs,
                self._features.bits,
                weight,
                score,
            )
            counts.append(count)
            parts.append(score)
        return np.concatenate(parts), np.array(counts, dtype=np.int64)

    def posterior(self, documents: Sequence[Document]) -> AntecedentPosterior:
        """Return the distribution over antecedents of the mentions of some documents.

        Parameters
        ----------
        documents
            As in `scores`. A document may have no mentions. Memory grows with the number of candidates, so
            pass large corpora in batches.

        Returns
        -------
        AntecedentPosterior

        Examples
        --------
        >>> from calibrant.structures.documents import Mention
        >>> mentions = [Mention(0, 0, 1), Mention(0, 2, 3)]
        >>> document = Document("d", [["He", "hurt", "himself"]], mentions, ["1", "1"])
        >>> posterior = CoreferenceModel(bits=10, epochs=9).fit([document]).posterior([document])
        >>> bool(posterior.pair_probabilities()[0, 1] > 0.9)
        True
        """
        scores, counts = self.scores(documents)
        names = [document.name for document in documents]
        return AntecedentPosterior(scores, counts, window=self.window, names=names)

    def to_state(self) -> dict[str, Any]:
        """Return the trained model as plain values and arrays.

        Returns
        -------
        dict
            ``kind`` and ``version``; the arguments; ``frequent`` (codes of frequent words of each kind);
            ``place`` and ``weight`` (indices and values of the weights that are not 0); ``losses``.

        Examples
        --------
        >>> from calibrant.structures.documents import Mention
        >>> document = Document("d", [["He", "runs"]], [Mention(0, 0, 1)], ["1"])
        >>> model = CoreferenceModel(bits=10, epochs=2).fit([document])
        >>> CoreferenceModel.from_state(model.to_state()).losses == model.losses
        True
        """
        lexicon, weight = self._trained()
        place = np.flatnonzero(weight)
        objective = self._objective
        return {
            "kind": KIND,
            "version": VERSION,
            "features": self.features,
            "without": [name for name in chosen_groups(self.features, ()) if name not in self.groups],
            # Stores keep digests of states, so those of models without the later groups do not change.
            **({"groups": list(self.groups)} if set(LATER) & set(self.groups) else {}),
            "bits": self._features.bits,
            "window": self.window,
            "least": self.least,
            "costs": list(objective.costs),
            **{name: getattr(objective, name) for name in ("l1", "l2", "rate", "epochs", "batch", "seed")},
            "frequent": [codes.astype(np.uint32) for codes in lexicon.frequent],
            "place": place.astype(np.uint32),
            "weight": weight[place],
            "losses": list(self.losses),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> CoreferenceModel:
        """Return a model from the result of `to_state`.

        Examples
        --------
        >>> CoreferenceModel.from_state({"kind": "coreference", "version": 99})
        Traceback (most recent call last):
        calibrant.exceptions.FormatError: the model's state has version 99: this release reads version 1
        """
        check_kind(state, KIND, VERSION)
        with reading_state():
            arguments = {name: state[name] for name in ARGUMENTS}
            if "groups" not in state and arguments["features"] == "syntax":
                arguments["without"] = [*arguments["without"], *LATER]
            frequent = [_codes(codes) for codes in state["frequent"]]
            require(len(frequent) == len(LEXICAL), "kinds of frequent words are missing")
            place, weight = _codes(state["place"]), np.asarray(state["weight"])
            fine = weight.dtype.kind == "f" and weight.shape == place.shape
            require(fine and bool(np.isfinite(weight).all()), "weights are not one finite number per place")
            losses = [float(loss) for loss in state["losses"]]
            model = cls(**arguments)
        count = 1 << model._features.bits
        require(len(place) == 0 or place[-1] < count, "the index of a weight is out of range")
        model._lexicon, model.losses = Lexicon(frequent), losses
        model._weight = np.zeros(count, np.float32)
        model._weight[place] = weight
        return model


def _entities(document: Document) -> Integers:
    """Return the number of each mention's entity; a mention without one is a separate entity."""
    number: dict[str | int, int] = {}
    clusters = document.clusters or ()
    keys = (row if cluster is None else cluster for row, cluster in enumerate(clusters))
    return np.array([number.setdefault(key, len(number)) for key in keys], dtype=np.int64)


def _costs(costs: Sequence[float]) -> tuple[float, float, float]:
    if not is_list(costs) or len(costs) != 3:
        hint = "give three costs: of a false link, a false new entity, and a wrong link"
        raise InputError(f"costs is {costs!r:.40}", hint, code="parameter")
    false_link, false_new, wrong_link = (non_negative(cost, "costs") for cost in costs)
    return false_link, false_new, wrong_link
