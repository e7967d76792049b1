"""Documents: sentences of words, and what is known of them: trees, mentions, entities, a date."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from calibrant.exceptions import InputError


class Mention(NamedTuple):
    """A stretch of words in one sentence that refers to something; all numbers count from 0.

    Attributes
    ----------
    sentence
        The sentence's number in its document.
    start, end
        The first word, and the word after the last one: ``words[start:end]``.

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
    """The dependency tree of one sentence, a value a word, as CoNLL-U has it.

    Attributes
    ----------
    heads
        The number of each word's head, counted from 1; 0 is the root.
    relations
        The label of the arc from the head: ``nsubj``, ``obl:agent``, ...
    lemmas, tags
        Lemma and universal part of speech (UPOS); empty strings where a file has none.
    features
        The morphological features as written, ``Gender=Fem|Number=Sing``; empty where there are none.

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


@dataclass(frozen=True, slots=True)
class Document:
    """A text cut into sentences and words, with whatever is known of it.

    Attributes
    ----------
    name
        What the document is called; unique within a corpus.
    sentences
        The words of each sentence.
    mentions
        The mentions in the order of the text: by sentence, start and end. None: not known.
    clusters
        The gold entity of each mention, None for a mention without one. None: no gold entities.
    trees
        A dependency tree a sentence. None: not parsed.
    speakers
        Who speaks or writes each sentence; empty where it is not known. None: not known.
    date
        The day of the document as ``YYYY-MM-DD``. None: not known.
    genre
        The kind of text. None: not known.

    Raises
    ------
    InputError
        If a mention is empty, repeated, out of order or outside its sentence, if trees, clusters or speakers
        differ in number from what they describe, or if a tree does not fit its sentence or is none.

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
                raise InputError(
                    f"document {self.name!r} has {len(values)} {name} for {wanted} {other}",
                    f"give one of the {name} for each",
                    code="length",
                )
        for number, (tree, words) in enumerate(zip(self.trees or (), self.sentences, strict=False)):
            check_tree(tree, len(words), f"document {self.name!r}, sentence {number}")

    def words(self, mention: Mention) -> list[str]:
        """The words of a mention."""
        return list(self.sentences[mention.sentence][mention.start : mention.end])


def check_tree(tree: Tree, words: int, place: str) -> None:
    """Refuse a tree that does not have one value a word, or whose heads form no tree.

    A sentence may have several roots, as parsers give them; each word hangs on one of them.

    Parameters
    ----------
    tree
        The tree of one sentence.
    words
        The number of its words.
    place
        How messages call the sentence.

    Raises
    ------
    InputError
        If a head is no word of the sentence, or words hang on each other in a circle; ``row`` is the word's
        number, from 0.

    Examples
    --------
    >>> check_tree(Tree([2, 1], ["dep"] * 2, [""] * 2, [""] * 2, [""] * 2), 2, "sentence 0")
    Traceback (most recent call last):
    calibrant.exceptions.InputError: row 0: sentence 0: words hang on each other in a circle ...
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
            raise InputError(message, "give one a word", code="length")
    for number, head in enumerate(tree.heads):
        if not 0 <= head <= words:
            message = f"{place}: the head {head} is no word"
            raise InputError(message, f"give 0 for a root, or a word from 1 to {words}", row=number)
    passed = [0] * (words + 1)  # by number of the word, from 1: from which word it was first come by
    for first in range(1, words + 1):
        word = first
        while word and not passed[word]:
            passed[word] = first
            word = tree.heads[word - 1]
        if word and passed[word] == first:
            circle = [word, tree.heads[word - 1]]
            while circle[-1] != word:
                circle.append(tree.heads[circle[-1] - 1])
            message = f"{place}: words hang on each other in a circle ({' on '.join(map(str, circle))})"
            raise InputError(message, "let each word hang on a root, whose head is 0", row=word - 1)


def check_mentions(
    mentions: Sequence[Mention], lengths: Sequence[int] | None, document: str, *, ordered: bool = True
) -> None:
    """Refuse mentions that are empty, repeated, out of the text's order or outside their sentence.

    Parameters
    ----------
    mentions
        Mentions of one document.
    lengths
        The number of words of each sentence; None where the words are not known.
    document
        Its name, for messages.
    ordered
        Whether they must stand in the order of the text.

    Raises
    ------
    InputError
        With the document's name, the mention's number (from 0) and what to do.

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
            raise InputError(
                f"{place} is empty", "ends are exclusive, [sentence, start, start + 1] is one word"
            )
        if mention.end < mention.start or min(mention) < 0:
            raise InputError(f"{place} runs backwards", "give [sentence, start, end], from 0, end exclusive")
        if lengths is not None and mention.sentence >= len(lengths):
            raise InputError(f"{place} lies outside the document", f"it has {len(lengths)} sentences, from 0")
        if lengths is not None and mention.end > lengths[mention.sentence]:
            raise InputError(
                f"{place} goes past the end of its sentence",
                f"the sentence has {lengths[mention.sentence]} words; a mention lies in one sentence",
            )
        if seen.setdefault(mention, number) != number:
            message = f"{place} is there twice, first as mention {seen[mention]}"
            raise InputError(message, "name each stretch of words once")
        if ordered and before is not None and mention < before:
            raise InputError(f"{place} is out of order", "sort mentions by sentence, start and end")
        before = mention
