"""Records of what stands in documents: relations of country entities, and names that lexicons find."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from calibrant.records import Record, name, number, rows, setting

DOCUMENTS, MENTIONS, NAMES = "Documents", "Mentions", "Names"
Read = Annotated[int, number("Documents", "Documents that were read.", group=DOCUMENTS, headline=True)]
Source = Annotated[str, setting("Source", "File of the documents.", headline=True)]


class RelationCount(Record, frozen=True, kw_only=True):
    """A dependency relation of mentions of country entities."""

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
            "Expected number of those whose governor has the lemma of a verb of the rules.",
            group=MENTIONS,
            digits=1,
            headline=True,
        ),
    ]
    governors: Annotated[
        str, name("Governors", "Most frequent lemmas of the governors, at most 5; (root) is none.")
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
    samples: Annotated[int, setting("Samples", "Samples of each document's entities.", headline=True)]
    seed: Annotated[int, setting("Seed", "Seed of the samples.", unit="seed", headline=True)]
    rules: Annotated[str, setting("Rules", "Rules that describe a country and name verbs.", headline=True)]

    def remarks(self) -> Iterator[tuple[str, str]]:
        """Say what a mention counts as."""
        yield (
            "relations",
            "A mention counts by the share of samples in which its entity is described as one country alone.",
        )


class NameDifference(Record, frozen=True, kw_only=True):
    """Words that two lexicons read differently."""

    words: Annotated[str, name("Words", "The words, in lower case.")]
    first: Annotated[str | None, name("First", "Code in the first lexicon; null if it has none.")]
    second: Annotated[str | None, name("Second", "Code in the second lexicon; null if it has none.")]
    times: Annotated[int, number("Times", "How often the words are read so.", group=NAMES, headline=True)]


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
        rows("Differences", "Words that are read differently, the most frequent first."),
    ]
