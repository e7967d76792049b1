"""Countries for which a document counts, over samples of its entities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant._checks import Integers, sample_count
from calibrant.events.lexicon import Lexicon
from calibrant.events.rules import Rules, acts, find
from calibrant.exceptions import InputError
from calibrant.seeds import Seed
from calibrant.structures.documents import Document

Bits = NDArray[np.bool_]


class EntityPosterior(Protocol):
    """Distribution that samples entities, such as an `AntecedentPosterior` of one document."""

    def sample(self, size: int, *, seed: Seed = None) -> NDArray[np.int32]:
        """Return (size, M) numbers below M, the entity of each mention."""


class Evidence(NamedTuple):
    """Evidence that a document counts: two mentions that may corefer.

    Attributes
    ----------
    country
        Code of the country.
    mention, agent
        Numbers of the mention described as the country, and of the agent; they may be equal.
    mention_sentence, agent_sentence
        Numbers of their sentences, from 0.
    verb
        Lemma of the agent's verb.
    probability
        Proportion of samples in which the two mentions corefer.
    """

    country: str
    mention: int
    agent: int
    mention_sentence: int
    agent_sentence: int
    verb: str
    probability: float


class DocumentSamples(NamedTuple):
    """Samples of the countries for which a document counts.

    Attributes
    ----------
    countries
        Sorted codes of the countries that count in at least one sample.
    bits
        (samples, countries) bool, True if the document counts for the country.
    evidence
        Pairs of mentions per country, the most probable pair first.
    """

    countries: tuple[str, ...]
    bits: Bits
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True)
class Candidates:
    """Mentions of a document that can count, for any clustering.

    Attributes
    ----------
    countries
        Sorted codes.
    described, country
        (k,) mentions that are described as a country, and the country's index in ``countries``. A mention
        with two countries appears twice.
    agents, verbs
        (a,) mentions that are agents, and the lemmas of their verbs.
    sentences
        (M,) number of each mention's sentence.

    Examples
    --------
    >>> from calibrant.structures.documents import Document, Mention, Tree
    >>> from calibrant.events.rules import RULES
    >>> from calibrant.events.lexicon import default_lexicon
    >>> tree = Tree([2, 0], ["nsubj", "root"], ["American", "attack"], ["PROPN", "VERB"], ["", ""])
    >>> document = Document("d", [["Americans", "attacked"]], [Mention(0, 0, 1)], trees=[tree])
    >>> candidates(document, default_lexicon(), RULES["paper"]).verbs
    ('attack',)
    """

    countries: tuple[str, ...]
    described: Integers
    country: Integers
    agents: Integers
    verbs: tuple[str, ...]
    sentences: Integers

    @property
    def can_count(self) -> bool:
        """Return True if the document counts under some clustering."""
        return bool(len(self.described) and len(self.agents))


def candidates(document: Document, lexicon: Lexicon, rules: Rules) -> Candidates:
    """Find the mentions that are described as a country, and those that are agents.

    Parameters
    ----------
    document
        Document with mentions, and trees with labels of Universal Dependencies or spaCy's English pipelines.
    lexicon, rules
        Names of countries, and rules that apply to them.

    Raises
    ------
    InputError
        If the document has no trees, mentions or lemmas (code ``missing-value``), or its labels fit no known
        scheme (code ``label-scheme``).

    Examples
    --------
    >>> from calibrant.structures.documents import Document, Mention, Tree
    >>> from calibrant.events.rules import RULES
    >>> from calibrant.events.lexicon import default_lexicon
    >>> tree = Tree([2, 0], ["nsubj", "root"], ["they", "attack"], ["PRON", "VERB"], ["", ""])
    >>> document = Document("d", [["They", "attacked"]], [Mention(0, 0, 1)], trees=[tree])
    >>> candidates(document, default_lexicon(), RULES["paper"]).can_count
    False
    """
    matches = find(document, lexicon, rules)
    countries = sorted({country for _, country in matches.described})
    place = {country: number for number, country in enumerate(countries)}
    return Candidates(
        tuple(countries),
        np.array([mention for mention, _ in matches.described], np.int64),
        np.array([place[country] for _, country in matches.described], np.int64),
        np.array([mention for mention, _ in matches.agents], np.int64),
        tuple(verb for _, verb in matches.agents),
        np.array([mention.sentence for mention in document.mentions or ()], np.int64),
    )


def count(eligible: Candidates, labels: ArrayLike) -> NDArray[np.int32]:
    """Count the entities that are exactly one country and an agent, for each clustering.

    Parameters
    ----------
    eligible
        Result of `candidates`.
    labels
        (S, M) or (M,) entity of each mention, numbers below M, as from `AntecedentPosterior.sample`.

    Returns
    -------
    ndarray of int32, shape (S, C)
        Entities per country of ``found.countries``. The document counts for a country with at least one.

    References
    ----------
    Nguyen and O'Connor (2015), section 6.1 and equation 3.

    Examples
    --------
    >>> zero, one = np.array([0]), np.array([1])
    >>> eligible = Candidates(("IRQ",), zero, zero, one, ("attack",), np.array([0, 1]))
    >>> count(eligible, [[0, 0], [0, 1]]).tolist()  # one entity, two entities
    [[1], [0]]
    """
    clusterings = np.atleast_2d(np.asarray(labels))
    mentions = len(eligible.sentences)
    if clusterings.ndim != 2 or clusterings.shape[1] != mentions or clusterings.dtype.kind not in "iu":
        message = f"labels have shape {clusterings.shape} and dtype {clusterings.dtype}"
        raise InputError(message, f"give integers of shape (S, {mentions})", code="shape")
    if clusterings.size and not 0 <= clusterings.min() <= clusterings.max() < mentions:
        message = f"labels range from {clusterings.min()} to {clusterings.max()}"
        raise InputError(message, f"number entities from 0 to {mentions - 1}", code="parameter")
    counts = np.zeros((len(clusterings), len(eligible.countries)), np.int32)
    if eligible.can_count:
        from calibrant.events._kernels import entity_counts

        fixed = np.ascontiguousarray(clusterings, np.int32)
        entity_counts(fixed, eligible.described, eligible.country, eligible.agents, counts)
    return counts


def document_samples(
    document: Document,
    posterior: EntityPosterior,
    lexicon: Lexicon,
    rules: Rules,
    samples: int = 100,
    seed: Seed = 0,
) -> DocumentSamples:
    """Return the countries for which a document counts in each sample of its entities.

    Parameters
    ----------
    document
        As in `candidates`.
    posterior
        Distribution over the entities of the mentions; sampled only if the document can count.
    lexicon, rules
        As in `candidates`.
    samples
        Number of samples.
    seed
        Seed of the samples. An `AntecedentPosterior` combines it with the document's name, so that a document
        has the same samples in every run.

    Returns
    -------
    DocumentSamples
        Samples and evidence, without countries that never count.

    References
    ----------
    Nguyen and O'Connor (2015), section 6.1.

    Examples
    --------
    >>> from calibrant.structures.documents import Document, Mention, Tree
    >>> from calibrant.events.rules import RULES
    >>> from calibrant.events.lexicon import default_lexicon
    >>> class Certain:
    ...     def sample(self, size, *, seed=None):
    ...         return np.zeros((size, 1), np.int32)
    >>> tree = Tree([2, 0], ["nsubj", "root"], ["American", "attack"], ["PROPN", "VERB"], ["", ""])
    >>> document = Document("d", [["Americans", "attacked"]], [Mention(0, 0, 1)], trees=[tree])
    >>> counted = document_samples(document, Certain(), default_lexicon(), RULES["paper"], samples=2)
    >>> counted.countries, counted.bits.tolist()
    (('USA',), [[True], [True]])
    """
    size = sample_count(samples)
    possible = document.trees is None or document.mentions is None or acts(document, rules)
    eligible = candidates(document, lexicon, rules) if possible else None
    if eligible is None or not eligible.can_count:
        return DocumentSamples((), np.zeros((size, 0), np.bool_), ())
    labels = posterior.sample(size, seed=seed)
    bits = count(eligible, labels) > 0
    kept = np.flatnonzero(bits.any(axis=0))
    countries = tuple(eligible.countries[place] for place in kept)
    return DocumentSamples(countries, bits[:, kept], evidence_of(eligible, labels, kept))


def evidence_of(eligible: Candidates, labels: NDArray[np.int32], kept: Integers) -> tuple[Evidence, ...]:
    """Return pairs of mentions that corefer in some sample, for the countries that count."""
    rows = []
    agents = labels[:, eligible.agents]
    for place in kept:
        for mention in eligible.described[eligible.country == place]:
            together = (agents == labels[:, [mention]]).mean(axis=0)
            for agent, verb, share in zip(eligible.agents, eligible.verbs, together, strict=True):
                if share > 0:
                    where = int(eligible.sentences[mention]), int(eligible.sentences[agent])
                    country = eligible.countries[place]
                    rows.append(Evidence(country, int(mention), int(agent), *where, verb, float(share)))
    return tuple(sorted(rows, key=lambda row: (row.country, -row.probability, row.mention, row.agent)))
