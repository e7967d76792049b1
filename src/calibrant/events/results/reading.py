"""Records of words in documents: relations of country entities, and names that lexicons find."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from calibrant.records import Record, name, number, rows, setting

DOCUMENTS, MENTIONS, NAMES = "Documents", "Mentions", "Names"
Read = Annotated[int, number("Documents", "Documents that were read.", group=DOCUMENTS, headline=True)]
Source = Annotated[str, setting("Source", "File of the documents.", headline=True)]


class RelationCount(Record, frozen=True, kw_only=True):
    """Dependency relation of mentions of country entities."""

    relation: Annotated[
        str, name("Relation", "Label of the arc between a mention's head word and its governor.")
    ]
    mentions: Annotated[
        float,
        number(
            "Mentions",
            "Expected number of mentions of country entities with this relation.",
            group=MENTIONS,
            digits=1,
            headline=True,
        ),
    ]
    share: Annotated[
        float,
        number("Proportion", "Proportion of all such mentions.", group=MENTIONS, digits=3, headline=True),
    ]
    acting: Annotated[
        float,
        number(
            "Verbs of the rules",
            "Expected number of such mentions whose governor is a verb of the rules.",
            group=MENTIONS,
            digits=1,
            headline=True,
        ),
    ]
    governors: Annotated[
        str,
        name(
            "Governors", "Most frequent lemmas of the governors, at most 5; (root) if there is no governor."
        ),
    ]


class RelationCounts(Record, frozen=True, kw_only=True):
    """Dependency relations of country entities."""

    source: Source
    documents: Read
    described: Annotated[
        int,
        number(
            "With a country",
            "Documents with a mention that is described as a country.",
            group=DOCUMENTS,
            headline=True,
        ),
    ]
    relations: Annotated[tuple[RelationCount, ...], rows("Relations", "The most frequent relation first.")]
    coref: Annotated[
        str, setting("Coreference model", "Name or path of the coreference model.", headline=True)
    ]
    trained_on: Annotated[
        str, setting("Trained on", "Texts that the coreference model was trained on.", headline=True)
    ]
    samples: Annotated[int, setting("Samples", "Sampled clusterings per document.", headline=True)]
    seed: Annotated[int, setting("Seed", "Seed of the samples.", unit="seed", headline=True)]
    rules: Annotated[
        str,
        setting(
            "Rules", "Rules that decide which mentions describe a country, and list the verbs.", headline=True
        ),
    ]

    def remarks(self) -> Iterator[tuple[str, str]]:
        """Yield the weight of a mention."""
        yield (
            "relations",
            "The weight of a mention is the proportion of samples in which its entity is described as "
            "exactly one country.",
        )


class NameDifference(Record, frozen=True, kw_only=True):
    """Words that two lexicons assign different codes."""

    words: Annotated[str, name("Words", "The words, in lower case.")]
    first: Annotated[str | None, name("First", "Code in the first lexicon; null if it has none.")]
    second: Annotated[str | None, name("Second", "Code in the second lexicon; null if it has none.")]
    times: Annotated[
        int, number("Times", "Number of occurrences with this difference.", group=NAMES, headline=True)
    ]


class ComparedLexicons(Record, frozen=True, kw_only=True):
    """Comparison of the names that two lexicons find in documents."""

    source: Source
    first: Annotated[str, setting("First lexicon", "The first lexicon.", headline=True)]
    second: Annotated[str, setting("Second lexicon", "The second lexicon.", headline=True)]
    documents: Read
    same: Annotated[
        int, number("Same", "Names that both find with the same code.", group=NAMES, headline=True)
    ]
    other_code: Annotated[
        int, number("Other code", "Names that both find with different codes.", group=NAMES, headline=True)
    ]
    only_first: Annotated[
        int, number("Only first", "Names that only the first lexicon finds.", group=NAMES, headline=True)
    ]
    only_second: Annotated[
        int, number("Only second", "Names that only the second lexicon finds.", group=NAMES, headline=True)
    ]
    differences: Annotated[
        tuple[NameDifference, ...],
        rows("Differences", "Words that get different codes, the most frequent first."),
    ]
