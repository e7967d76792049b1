"""Countries, or pairs of them, for which a document counts, over samples of its entities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant._checks import Integers, sample_count
from calibrant.events.lexicon import ARROW, Lexicon
from calibrant.events.rules import AGENT, TARGET, Arc, Participant, Rules, acts, find
from calibrant.exceptions import InputError
from calibrant.seeds import Seed
from calibrant.structures.documents import Document

Bits = NDArray[np.bool_]


class EntityPosterior(Protocol):
    """Distribution that samples entities, such as an `AntecedentPosterior` of one document."""

    def sample(self, size: int, *, seed: Seed = None) -> NDArray[np.int32]:
        """Return (size, M) numbers below M, the entity of each mention."""


class Evidence(NamedTuple):
    """Evidence that a document counts: two mentions that may corefer, or a target and an agent.

    Attributes
    ----------
    country
        Code of the country, or of the pair of countries.
    mention, agent
        Numbers of the mention described as the country, and of the agent (with the role ``target``: of the
        target); they may be equal. For pairs of countries, the target and the agent.
    mention_sentence, agent_sentence
        Numbers of their sentences, from 0.
    verb
        Lemma of the verb.
    probability
        Proportion of samples in which the two mentions corefer. For pairs of countries, proportion of samples
        in which the agent and the target are of these countries.
    arcs
        Arcs between the verb and its agent or target, or both, if their probabilities are known.
    """

    country: str
    mention: int
    agent: int
    mention_sentence: int
    agent_sentence: int
    verb: str
    probability: float
    arcs: tuple[Arc, ...] = ()


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
    agents, targets
        (p,) pairs of an agent and a target of the same verb; -1 where the role of the rules needs only one.
    verbs
        (p,) lemmas of their verbs.
    arcs
        (p,) arcs between each verb and its agent and target; see `Evidence`.
    named
        (M,) index in ``countries`` of the country for which a mention counts whatever its entity is, or -1.
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
    targets: Integers
    verbs: tuple[str, ...]
    arcs: tuple[tuple[Arc, ...], ...]
    named: Integers
    sentences: Integers

    @property
    def can_count(self) -> bool:
        """Return True if the document counts under some clustering."""
        return bool(len(self.described) and len(self.agents))

    @property
    def is_dyadic(self) -> bool:
        """Return True if pairs of countries count."""
        return bool(len(self.agents) and self.agents[0] >= 0 and self.targets[0] >= 0)

    @property
    def units(self) -> tuple[str, ...]:
        """Return the codes for which the document can count: countries, or pairs of them."""
        if not self.is_dyadic:
            return self.countries
        return tuple(dyad(agent, target) for agent in self.countries for target in self.countries)


def dyad(agent: str, target: str) -> str:
    """Return the code of a pair of countries.

    Examples
    --------
    >>> dyad("USA", "IRQ")
    'USA -> IRQ'
    """
    return f"{agent}{ARROW}{target}"


def candidates(document: Document, lexicon: Lexicon, rules: Rules) -> Candidates:
    """Find the mentions that are described as a country, and those that are agents or targets.

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
    roles = find(document, lexicon, rules)
    countries = sorted({country for _, country in roles.described})
    place = {country: number for number, country in enumerate(countries)}
    mentions = document.mentions or ()
    named = np.full(len(mentions), -1, np.int64)
    if rules.named:
        times = np.bincount([mention for mention, _ in roles.described], minlength=len(mentions))
        for mention, country in roles.described:
            if times[mention] == 1:
                named[mention] = place[country]
    if rules.role == AGENT:
        pairs = [(agent.mention, -1, agent.verb, agent.arcs) for agent in roles.agents]
    elif rules.role == TARGET:
        pairs = [(-1, target.mention, target.verb, target.arcs) for target in roles.targets]
    else:
        acted_on: dict[tuple[int, int], list[Participant]] = {}
        for target in roles.targets:
            acted_on.setdefault((target.sentence, target.word), []).append(target)
        pairs = [
            (agent.mention, target.mention, agent.verb, agent.arcs + target.arcs)
            for agent in roles.agents
            for target in acted_on.get((agent.sentence, agent.word), ())
        ]
    return Candidates(
        tuple(countries),
        np.array([mention for mention, _ in roles.described], np.int64),
        np.array([place[country] for _, country in roles.described], np.int64),
        np.array([agent for agent, *_ in pairs], np.int64),
        np.array([target for _, target, *_ in pairs], np.int64),
        tuple(verb for _, _, verb, _ in pairs),
        tuple(arcs for *_, arcs in pairs),
        named,
        np.array([mention.sentence for mention in mentions], np.int64),
    )


def count(eligible: Candidates, labels: ArrayLike) -> NDArray[np.int32]:
    """Count the entities that are exactly one country and take part as the rules ask, for each clustering.

    Parameters
    ----------
    eligible
        Result of `candidates`.
    labels
        (S, M) or (M,) entity of each mention, numbers below M, as from `AntecedentPosterior.sample`.

    Returns
    -------
    ndarray of int32, shape (S, C)
        Entities, or pairs of entities, per code of ``eligible.units``. The document counts for a code with at
        least one.

    References
    ----------
    Nguyen and O'Connor (2015), section 6.1 and equation 3.

    Examples
    --------
    >>> zero, one, none = np.array([0]), np.array([1]), np.array([-1])
    >>> unnamed, sentences = np.array([-1, -1]), np.array([0, 1])
    >>> eligible = Candidates(("IRQ",), zero, zero, one, none, ("attack",), ((),), unnamed, sentences)
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
    counts = np.zeros((len(clusterings), len(eligible.units)), np.int32)
    if eligible.can_count:
        from calibrant.events._kernels import unit_counts

        fixed = np.ascontiguousarray(clusterings, np.int32)
        unit_counts(fixed, eligible.agents, eligible.targets, units_of(eligible, fixed), counts)
    return counts


def units_of(eligible: Candidates, labels: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return (S, p) the unit for which each pair counts in each clustering, or -1."""
    from calibrant.events._kernels import units_of_pairs

    units = np.empty((len(labels), len(eligible.agents)), np.int64)
    pairs = eligible.agents, eligible.targets, eligible.named, len(eligible.countries)
    units_of_pairs(labels, eligible.described, eligible.country, *pairs, units)
    return units


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
    countries = tuple(eligible.units[place] for place in kept)
    return DocumentSamples(countries, bits[:, kept], evidence_of(eligible, labels, kept))


def evidence_of(eligible: Candidates, labels: NDArray[np.int32], kept: Integers) -> tuple[Evidence, ...]:
    """Return the mentions for which the document counts in some sample, for the codes that count.

    A pair of countries has its agents and targets as evidence. A country has the pairs of a mention of the
    country and an agent (or target) that corefer; one that counts whatever its entity is has itself.
    """
    rows = []
    codes, sentences = eligible.units, eligible.sentences

    def add(code: str, mention: int, pair: int, agent: int, probability: float) -> None:
        if probability > 0:
            where = int(sentences[mention]), int(sentences[agent])
            verb, arcs = eligible.verbs[pair], eligible.arcs[pair]
            rows.append(Evidence(code, int(mention), int(agent), *where, verb, float(probability), arcs))

    if eligible.is_dyadic:
        units = units_of(eligible, np.ascontiguousarray(labels, np.int32))
        for place in kept:
            proportions = (units == place).mean(axis=0)
            for pair, proportion in enumerate(proportions):
                add(codes[place], eligible.targets[pair], pair, eligible.agents[pair], proportion)
    else:
        agents = np.maximum(eligible.agents, eligible.targets)
        named = eligible.named[agents]
        entities = labels[:, agents]
        for place in kept:
            for mention in eligible.described[eligible.country == place]:
                together = (entities == labels[:, [mention]]).mean(axis=0)
                together[(named >= 0) & (agents != mention)] = 0
                for pair, proportion in enumerate(together):
                    add(codes[place], mention, pair, agents[pair], proportion)
    return tuple(sorted(rows, key=lambda row: (row.country, -row.probability, row.mention, row.agent)))
