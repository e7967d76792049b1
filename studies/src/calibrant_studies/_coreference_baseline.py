"""Rule-based baseline of coreference: equal heads, and the nearest mention that agrees."""

from __future__ import annotations

import numpy as np

from calibrant.structures.documents import Document, Mention
from calibrant.structures.models.mentions import Traits, agree, traits
from calibrant_studies.arrays import Integers

NONE = -1


def rule_antecedents(document: Document, *, trees: bool = True) -> Integers:
    """Return an antecedent for each mention by rule.

    The antecedent of a name or nominal is the nearest earlier name or nominal with the same head word,
    without regard to case. The antecedent of a personal pronoun is the nearest earlier mention that agrees in
    gender, number and person (`agree`); in the first and second person, the nearest mention with the same
    form and, if known, the same speaker. Overlapping mentions do not corefer. All other mentions start an
    entity.

    Parameters
    ----------
    document
        Document with mentions.
    trees
        Use the document's trees, if it has them; see `calibrant.structures.models.mentions.traits`.

    Returns
    -------
    ndarray of int64, shape (n,)
        Number of the antecedent, or -1.

    Examples
    --------
    >>> words = ["The", "queen", "said", "that", "she", "met", "a", "queen"]
    >>> document = Document("d", [words], [Mention(0, 0, 2), Mention(0, 4, 5), Mention(0, 6, 8)])
    >>> rule_antecedents(document).tolist()
    [-1, 0, 0]
    """
    mentions = document.mentions or ()
    described = traits(document, trees=trees)
    heads = [
        document.sentences[mention.sentence][of.head].lower()
        for mention, of in zip(mentions, described, strict=True)
    ]
    by_head: dict[str, list[int]] = {}
    found = np.full(len(mentions), NONE, dtype=np.int64)
    for number, (mention, of) in enumerate(zip(mentions, described, strict=True)):
        if of.pronoun is None:
            earlier = by_head.setdefault(heads[number], [])
            fitting = (other for other in reversed(earlier) if not _overlap(mentions[other], mention))
            found[number] = next(fitting, NONE)
            earlier.append(number)
        elif of.person:
            found[number] = _nearest(number, document, described)
    return found


def _nearest(number: int, document: Document, described: list[Traits]) -> int:
    """Return the nearest earlier mention that agrees with a personal pronoun, or -1."""
    mentions = document.mentions or ()
    mention, of = mentions[number], described[number]
    speakers = document.speakers
    for other in range(number - 1, -1, -1):
        earlier = described[other]
        if not agree(earlier, of) or _overlap(mentions[other], mention):
            continue
        if of.person == 3:
            return other
        same = (
            earlier.pronoun is not None and of.pronoun is not None and earlier.pronoun.form == of.pronoun.form
        )
        if same and (not speakers or speakers[mentions[other].sentence] == speakers[mention.sentence]):
            return other
    return NONE


def _overlap(first: Mention, second: Mention) -> bool:
    return first.sentence == second.sentence and first.start < second.end and second.start < first.end
