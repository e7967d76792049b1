"""Events of a document: samples, 1-best structure and evidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calibrant.events.counting import Evidence, candidates, count, evidence_of
from calibrant.events.lexicon import Lexicon
from calibrant.events.rules import Rules, acts
from calibrant.structures.documents import Document
from calibrant.structures.models.mentions import detect_mentions
from calibrant.structures.posterior import AntecedentPosterior

MOST_EVIDENCE = 10


@dataclass(frozen=True)
class DocumentEvents:
    """Countries for which a document counts.

    Attributes
    ----------
    document
        Document with the mentions of the evidence.
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
) -> DocumentEvents | None:
    """Extract the events of a parsed document; its posterior is computed only if the document can count.

    Parameters
    ----------
    document
        Document with trees. Mentions are detected if it has none.
    posterior_of
        Function that returns the posterior of one document with mentions, such as
        `calibrant.structures.models.CoreferenceModel.posterior`.
    lexicon, rules
        As in `calibrant.events.document_samples`.
    samples, seed
        Number of samples, and their seed, which is combined with the document's name.
    possessive_endings
        Include *'s* in detected mentions.

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
    """
    if not acts(document, rules):
        return None
    if document.mentions is None:
        found_mentions = detect_mentions(document, possessive_endings=possessive_endings)
        document = replace(document, mentions=found_mentions)
    eligible = candidates(document, lexicon, rules)
    if not eligible.can_count:
        return None
    posterior = posterior_of(document)
    labels = posterior.sample(samples, seed=seed, threads=1)
    entities = count(eligible, labels)
    best = count(eligible, posterior.clusters_of(posterior.best_antecedents()))[0]
    kept = np.flatnonzero((entities > 0).any(axis=0) | (best > 0))
    if not len(kept):
        return None
    evidence: list[Evidence] = []
    for place in kept:
        evidence += evidence_of(eligible, labels, np.array([place]))[:MOST_EVIDENCE]
    countries = tuple(eligible.units[place] for place in kept)
    return DocumentEvents(document, countries, entities[:, kept], best[kept], tuple(evidence))
