"""Documents of words and sentences, with optional trees, mentions, entities and dates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from calibrant.exceptions import InputError


class Mention(NamedTuple):
    """Contiguous words of one sentence that refer to something; all numbers count from 0.

    Attributes
    ----------
    sentence
        Number of the sentence in its document.
    start, end
        First word, and word after the last one: ``words[start:end]``.

    Examples
    --------
    >>> mention = Mention(0, 1, 3)
    >>> ["the", "old", "man", "slept"][mention.start : mention.end]
    ['old', 'man']
    """

    sentence: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Tree:
    """Dependency tree of one sentence, with one value per word, as in CoNLL-U.

    Attributes
    ----------
    heads
        Number of each word's head, counted from 1; 0 is the root.
    relations
        Label of the arc from the head: ``nsubj``, ``obl:agent``, ...
    lemmas, tags
        Lemma and universal part of speech (UPOS); empty strings if missing.
    features
        Morphological features as written, ``Gender=Fem|Number=Sing``; empty strings if missing.
    probabilities
        Probability of each word's arc and its label under the parser. None: unknown.

    Examples
    --------
    >>> tree = Tree([2, 0], ["nsubj", "root"], ["they", "attack"], ["PRON", "VERB"], ["Number=Plur", ""])
    >>> tree.heads[0]
    2
    """

    heads: Sequence[int]
    relations: Sequence[str]
    lemmas: Sequence[str]
    tags: Sequence[str]
    features: Sequence[str]
    probabilities: Sequence[float] | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """Text split into sentences and words, with its annotation.

    Attributes
    ----------
    name
        Name of the document, unique within a corpus.
    sentences
        Words of each sentence.
    mentions
        Mentions, sorted by sentence, start and end. None: unknown.
    clusters
        Gold entity of each mention, None for a mention without one. None: no gold entities.
    trees
        One dependency tree per sentence. None: not parsed.
    speakers
        Speaker or writer of each sentence, empty if unknown. None: unknown.
    date
        Day of the document as ``YYYY-MM-DD``. None: unknown.
    genre
        Genre of the text. None: unknown.

    Raises
    ------
    InputError
        If a mention is empty, repeated, out of order or outside its sentence, if the numbers of trees,
        clusters or speakers do not match sentences and mentions, or if a tree is invalid or does not fit its
        sentence.

    Examples
    --------
    >>> document = Document("d1", [["She", "sleeps"]], [Mention(0, 0, 1)])
    >>> document.words(document.mentions[0])
    ['She']
    """

    name: str
    sentences: Sequence[Sequence[str]]
    mentions: Sequence[Mention] | None = None
    clusters: Sequence[str | None] | None = None
    trees: Sequence[Tree] | None = None
    speakers: Sequence[str] | None = None
    date: str | None = None
    genre: str | None = None

    def __post_init__(self) -> None:
        check_mentions(self.mentions or (), [len(words) for words in self.sentences], self.name)
        count = len(self.mentions or ())
        for name, values, other, wanted in (
            ("clusters", self.clusters, "mentions", count),
            ("trees", self.trees, "sentences", len(self.sentences)),
            ("speakers", self.speakers, "sentences", len(self.sentences)),
        ):
            if values is not None and len(values) != wanted:
                message = f"document {self.name!r} has {len(values)} {name} for {wanted} {other}"
                raise InputError(message, f"give one of the {name} per entry of {other}", code="length")
        for number, (tree, words) in enumerate(zip(self.trees or (), self.sentences, strict=False)):
            check_tree(tree, len(words), f"document {self.name!r}, sentence {number}")

    def words(self, mention: Mention) -> list[str]:
        """Return the words of a mention."""
        return list(self.sentences[mention.sentence][mention.start : mention.end])


def check_tree(tree: Tree, words: int, place: str) -> None:
    """Check that a tree has one value per word, and that its heads form a tree.

    A sentence may have several roots, since parsers return such trees; each word depends on one of them.

    Parameters
    ----------
    tree
        Tree of one sentence.
    words
        Number of its words.
    place
        Name of the sentence in messages.

    Raises
    ------
    InputError
        If a head is not a word of the sentence, or heads form a cycle; ``row`` is the word's number, from 0.

    Examples
    --------
    >>> check_tree(Tree([2, 1], ["dep"] * 2, [""] * 2, [""] * 2, [""] * 2), 2, "sentence 0")
    Traceback (most recent call last):
    calibrant.exceptions.InputError: row 0: sentence 0: heads form a cycle ...
    """
    for name, values in (
        ("heads", tree.heads),
        ("relations", tree.relations),
        ("lemmas", tree.lemmas),
        ("tags", tree.tags),
        ("features", tree.features),
    ):
        if len(values) != words:
            message = f"{place} has {words} words and a tree with {len(values)} {name}"
            raise InputError(message, "give one per word", code="length")
    for number, head in enumerate(tree.heads):
        if not 0 <= head <= words:
            message = f"{place}: the head {head} is not a word of the sentence"
            raise InputError(message, f"give 0 for a root, or a word from 1 to {words}", row=number)
    passed = [0] * (words + 1)  # for each word, from 1: the word from which it was first reached
    for first in range(1, words + 1):
        word = first
        while word and not passed[word]:
            passed[word] = first
            word = tree.heads[word - 1]
        if word and passed[word] == first:
            circle = [word, tree.heads[word - 1]]
            while circle[-1] != word:
                circle.append(tree.heads[circle[-1] - 1])
            message = f"{place}: heads form a cycle ({' -> '.join(map(str, circle))})"
            raise InputError(message, "make each word depend on a root, whose head is 0", row=word - 1)


def check_mentions(
    mentions: Sequence[Mention], lengths: Sequence[int] | None, document: str, *, ordered: bool = True
) -> None:
    """Check that mentions are not empty, repeated, out of order or outside their sentence.

    Parameters
    ----------
    mentions
        Mentions of one document.
    lengths
        Number of words of each sentence; None if unknown.
    document
        Name of the document, for messages.
    ordered
        True if mentions must be in the order of the text.

    Raises
    ------
    InputError
        If a mention is invalid; the message names the document and the mention's number, from 0.

    Examples
    --------
    >>> check_mentions([Mention(0, 2, 2)], [5], "d1")
    Traceback (most recent call last):
    calibrant.exceptions.InputError: document 'd1', mention 0 [0, 2, 2] is empty: ends are exclusive, ...
    """
    seen: dict[Mention, int] = {}
    before: Mention | None = None
    for number, mention in enumerate(mentions):
        place = f"document {document!r}, mention {number} [{', '.join(map(str, mention))}]"
        if mention.end == mention.start:
            message = f"{place} is empty"
            raise InputError(message, "ends are exclusive, [sentence, start, start + 1] is one word")
        if mention.end < mention.start or min(mention) < 0:
            raise InputError(f"{place} runs backwards", "give [sentence, start, end], from 0, end exclusive")
        if lengths is not None and mention.sentence >= len(lengths):
            message = f"{place} is outside the document"
            raise InputError(message, f"the document has {len(lengths)} sentences, from 0")
        if lengths is not None and mention.end > lengths[mention.sentence]:
            raise InputError(
                f"{place} extends past the end of its sentence",
                f"the sentence has {lengths[mention.sentence]} words; a mention must be within one sentence",
            )
        if seen.setdefault(mention, number) != number:
            message = f"{place} repeats mention {seen[mention]}"
            raise InputError(message, "give each mention once")
        if ordered and before is not None and mention < before:
            raise InputError(f"{place} is out of order", "sort mentions by sentence, start and end")
        before = mention
