"""Events of a document: samples, 1-best structure and evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Integers
from calibrant.events.counting import Candidates, Evidence, candidates, count, evidence_of
from calibrant.events.lexicon import Lexicon
from calibrant.events.rules import Rules, acts
from calibrant.seeds import generator_of
from calibrant.structures.documents import Document, Mention
from calibrant.structures.models.mentions import detect_mentions, head_of
from calibrant.structures.posterior import AntecedentPosterior

MOST_EVIDENCE = 10


@dataclass(frozen=True)
class DocumentEvents:
    """Countries for which a document counts.

    Attributes
    ----------
    document
        Document with its 1-best trees, and the mentions of the evidence.
    countries
        Codes of the countries, or pairs of countries, that count in some sample or in the 1-best structure.
    entities
        (samples, countries) int32, number of entities that count.
    best_entities
        (countries,) number of entities that count in the 1-best structure, in which each mention has its most
        probable antecedent.
    evidence
        Pairs of mentions, at most 10 per country, the most probable first.
    """

    document: Document
    countries: tuple[str, ...]
    entities: NDArray[np.int32]
    best_entities: NDArray[np.int32]
    evidence: tuple[Evidence, ...]

    @property
    def bits(self) -> NDArray[np.bool_]:
        """Return (samples, countries) bool, True if the document counts."""
        return self.entities > 0

    @property
    def best(self) -> NDArray[np.bool_]:
        """Return (countries,) bool, True if the document counts in the 1-best structure."""
        return self.best_entities > 0


def extract(
    document: Document,
    posterior_of: Callable[[Document], AntecedentPosterior],
    lexicon: Lexicon,
    rules: Rules,
    *,
    samples: int,
    seed: int,
    possessive_endings: bool = True,
    draws: Sequence[Document] = (),
) -> DocumentEvents | None:
    """Extract the events of a parsed document; its posterior is computed only if the document can count.

    With sampled tags or trees, each draw has its own mentions, descriptions, agents and distribution over
    entities. The samples are divided evenly among the draws, in random order. Draws with equal trees are
    scored once.

    Parameters
    ----------
    document
        Document with its 1-best trees. Mentions are detected if it has none.
    posterior_of
        Function that returns the posterior of one document with mentions, such as
        `calibrant.structures.models.CoreferenceModel.posterior`.
    lexicon, rules
        As in `calibrant.events.document_samples`.
    samples, seed
        Number of samples, and their seed, which is combined with the document's name.
    possessive_endings
        Include *'s* in detected mentions.
    draws
        The document with sampled trees, as from the English parser's ``draws``. Without them, all samples
        have the trees of ``document``.

    Returns
    -------
    DocumentEvents or None
        Events; None if the document counts neither in a sample nor in the 1-best structure.

    Examples
    --------
    >>> from calibrant.structures.documents import Mention, Tree
    >>> from calibrant.events.rules import RULES
    >>> from calibrant.events.lexicon import default_lexicon
    >>> tree = Tree([2, 0], ["nsubj", "root"], ["American", "attack"], ["PROPN", "VERB"], ["", ""])
    >>> document = Document("d", [["Americans", "attacked"]], [Mention(0, 0, 1)], trees=[tree])
    >>> alone = AntecedentPosterior([0.0], [1], names=["d"])
    >>> settings = default_lexicon(), RULES["paper"]
    >>> events = extract(document, lambda _: alone, *settings, samples=3, seed=0)
    >>> events.countries, events.bits.shape, events.best.tolist()
    (('USA',), (3, 1), [True])

    One of two sampled trees has another verb:

    >>> other = replace(tree, relations=["obj", "root"])
    >>> draws = [document, replace(document, trees=[other])]
    >>> events = extract(document, lambda _: alone, *settings, samples=4, seed=0, draws=draws)
    >>> float(events.bits.mean())
    0.5
    """
    read: list[tuple[Document, Candidates, Integers, NDArray[np.int32]]] = []
    entities: dict[str, NDArray[np.int32]] = {}
    best: dict[str, int] = {}
    for number, (text, rows) in enumerate(_shares(document, draws, samples, seed)):
        if not acts(text, rules):
            continue
        if text.mentions is None:
            text = replace(text, mentions=detect_mentions(text, possessive_endings=possessive_endings))
        eligible = candidates(text, lexicon, rules)
        if not eligible.can_count:
            continue
        posterior = posterior_of(text)
        if number == 0:
            counts = count(eligible, posterior.clusters_of(posterior.best_antecedents()))[0]
            best = {eligible.units[place]: int(counts[place]) for place in np.flatnonzero(counts)}
        if len(rows):
            # Draws are independent, so each has its own seed; samples of the 1-best trees keep the given one.
            own = number and generator_of(seed, f"{document.name} {number}").integers(2**63)
            labels = posterior.sample(len(rows), seed=seed + int(own), threads=1)
            counts = count(eligible, labels)
            for place in np.flatnonzero(counts.any(axis=0)):
                unit = eligible.units[place]
                entities.setdefault(unit, np.zeros(samples, np.int32))[rows] = counts[:, place]
            read.append((text, eligible, rows, labels))
    countries = tuple(sorted({*entities, *best}))
    if not countries:
        return None
    none = np.zeros(samples, np.int32)
    parts = [
        (
            text,
            len(rows) / samples,
            evidence_of(eligible, labels, np.flatnonzero(np.isin(eligible.units, countries))),
        )
        for text, eligible, rows, labels in read
    ]
    marked, evidence = _with_evidence(document, parts)
    return DocumentEvents(
        marked,
        countries,
        np.stack([entities.get(unit, none) for unit in countries], axis=1),
        np.array([best.get(unit, 0) for unit in countries], np.int32),
        evidence,
    )


def _shares(
    document: Document, draws: Sequence[Document], samples: int, seed: int
) -> list[tuple[Document, Integers]]:
    """Return the 1-best document, then the draws with other trees, with the samples of each.

    The order is random, so that each sample of a sum over documents combines other draws.
    """
    if not draws:
        return [(document, np.arange(samples))]
    order = generator_of(seed, f"{document.name} draws").permutation(samples) % len(draws)
    texts: dict[tuple[int, ...], tuple[Document, list[int]]] = {}
    for number, text in enumerate([document, *draws], -1):
        texts.setdefault(tuple(map(id, text.trees or ())), (text, []))[1].append(number)
    return [(text, np.flatnonzero(np.isin(order, members))) for text, members in texts.values()]


def _with_evidence(
    document: Document, parts: Sequence[tuple[Document, float, Sequence[Evidence]]]
) -> tuple[Document, tuple[Evidence, ...]]:
    """Return the most probable pairs of mentions of all draws, and a document with their mentions.

    Each part has the proportion of samples of a draw, and its pairs. Mentions with the same head are one,
    with the words that they have in the first of the draws, so that different ends do not split
    probabilities.
    """
    found: dict[object, tuple[Evidence, Mention, Mention]] = {}
    for text, share, pairs in parts:
        times: Counter[object] = Counter()
        for pair in pairs:
            mention, agent = ((text.mentions or ())[place] for place in (pair.mention, pair.agent))
            trees = text.trees or ()
            heads = (head_of(trees[mention.sentence], mention), head_of(trees[agent.sentence], agent))
            key = pair.country, mention.sentence, agent.sentence, heads, pair.verb
            times[key] += 1
            first = found.get((key, times[key]), (pair._replace(probability=0.0), mention, agent))
            total = first[0].probability + share * pair.probability
            found[key, times[key]] = (first[0]._replace(probability=total), *first[1:])
    spans = {span for _, *ends in found.values() for span in ends}
    mentions = sorted(spans.union(parts[0][0].mentions or ()) if parts else spans)
    place = {span: number for number, span in enumerate(mentions)}
    pairs = [pair._replace(mention=place[one], agent=place[other]) for pair, one, other in found.values()]
    pairs.sort(key=lambda pair: (pair.country, -pair.probability, pair.mention, pair.agent))
    kept = [
        pair
        for _, of_country in groupby(pairs, key=lambda pair: pair.country)
        for pair in islice(of_country, MOST_EVIDENCE)
    ]
    return replace(document, mentions=mentions, clusters=None), tuple(kept)
