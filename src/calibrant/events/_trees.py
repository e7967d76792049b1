"""Dependency trees of two label schemes: what modifies a word, and whose agent a word is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from calibrant.structures.documents import Tree

UNIVERSAL = "universal"
CLEARNLP = "clearnlp"


@dataclass(frozen=True, slots=True)
class Words:
    """A tree with the dependents of each word, from 0."""

    tree: Tree
    words: Sequence[str]
    children: list[list[int]]

    @classmethod
    def of(cls, tree: Tree, words: Sequence[str]) -> Words:
        """Find the dependents of each word."""
        children: list[list[int]] = [[] for _ in words]
        for word, head in enumerate(tree.heads):
            if head > 0:
                children[head - 1].append(word)
        return cls(tree, words, children)

    def head(self, word: int) -> int:
        """The number of a word's head, -1 of the root's."""
        return self.tree.heads[word] - 1

    def relation(self, word: int) -> str:
        return self.tree.relations[word]

    def related(self, word: int, relations: frozenset[str]) -> Iterator[int]:
        """Dependents with one of these labels."""
        return (child for child in self.children[word] if self.relation(child) in relations)


def base(relation: str) -> str:
    """A label of Universal Dependencies without its subtype."""
    return relation.partition(":")[0]


UNIVERSAL_MODIFIERS = {"nmod", "amod"}
CLEARNLP_MODIFIERS = frozenset({"nmod", "amod", "poss"})
CLEARNLP_COMPOUNDS = frozenset({"compound", "nn"})
PREPOSITION = frozenset({"prep"})
OBJECT = frozenset({"pobj"})
CONJUNCT = frozenset({"conj"})
PASSIVE = frozenset({"nsubj:pass", "csubj:pass", "aux:pass", "nsubjpass", "csubjpass", "auxpass"})
CASE = frozenset({"case"})
COPULA = frozenset({"cop"})
NAMES = frozenset({"compound"})  # compound:prt is a particle, and no noun
SUBJECTS = frozenset({"nsubj", "nsubj:pass", "nsubjpass"})
OPENERS = frozenset({"case", "mark", "advmod"})
BELONGING = frozenset(
    {"of", "from", "by", "'s", "’s", "'", "’"}
)  # all other prepositions say where, or on whom


def modifiers(
    words: Words, head: int, scheme: str, *, compounds: bool, coordination: bool, places: bool
) -> Iterator[int]:
    """Words that modify a noun: adjectives, nouns with a preposition, possessors, and names before it."""
    if scheme == UNIVERSAL:
        found = [
            child
            for child in words.children[head]
            if (base(words.relation(child)) in UNIVERSAL_MODIFIERS and (places or _belongs(words, child)))
            or (compounds and words.relation(child) in NAMES)
        ]
    else:
        found = list(words.related(head, CLEARNLP_MODIFIERS))
        found += words.related(head, CLEARNLP_COMPOUNDS) if compounds else ()
        for preposition in words.related(head, PREPOSITION):
            if places or words.words[preposition].lower() in BELONGING:
                found += words.related(preposition, OBJECT)
    if coordination:
        for word in found:  # grows as it is read: a conjunct of a conjunct
            found += words.related(word, CONJUNCT)
    yield from found


def _belongs(words: Words, noun: int) -> bool:
    """Whether a noun has no preposition, or only such as say whose or from where."""
    return all(words.words[case].lower() in BELONGING for case in words.related(noun, CASE))


def agent_of(words: Words, word: int, scheme: str, *, coordination: bool) -> int:
    """The word whose active subject or passive agent a noun is; -1 if of none."""
    steps = 0
    while coordination and words.relation(word) == "conj" and steps < len(words.words):
        word = words.head(word)
        steps += 1
    relation, head = words.relation(word), words.head(word)
    if head < 0:
        return -1
    if scheme == CLEARNLP:
        if relation == "pobj" and words.relation(head) == "agent":
            return words.head(head)
        return head if relation == "nsubj" else -1
    if base(relation) == "nsubj" and relation != "nsubj:pass":
        return head
    if relation in ("obl:agent", "nmod:agent"):
        return head
    by = any(words.words[child].lower() == "by" for child in words.related(word, CASE))
    return head if relation == "obl" and by and is_passive(words, head) else -1


def is_passive(words: Words, verb: int) -> bool:
    """Whether a verb has a passive subject or auxiliary, or is a participle after a noun."""
    if next(words.related(verb, PASSIVE), None) is not None:
        return True
    features = words.tree.features[verb].split("|")
    return "Voice=Pass" in features or (base(words.relation(verb)) == "acl" and "VerbForm=Part" in features)


def is_verb(words: Words, word: int) -> bool:
    """Whether a word is used as a verb: by its tag, or where it has none, if no copula hangs on it."""
    tag = words.tree.tags[word]
    return tag == "VERB" if tag not in ("", "_") else next(words.related(word, COPULA), None) is None


def names_a_place(words: Words, head: int, name: range, verb: int) -> bool:
    """Whether the parser took for a verb's agent what says where: the last name of "Lyon, France".

    It shows in a second subject ("A bomb in Lyon, France kills": both), in a colon after the name ("France:
    Gunmen attack"), or in a comma between it and another name. A name after a phrase of place ("In Lyon,
    Americans attacked"), or in a list of names, is an agent.

    Parameters
    ----------
    words
        A sentence.
    head
        The head of a name.
    name
        All words of the name.
    verb
        What it is the agent of.
    """
    relation = words.relation(head)
    if relation == "nsubj":
        if any(other != head for other in words.related(verb, SUBJECTS)):
            return True
        if words.words[name.stop : name.stop + 1] == [":"]:
            return True
    start = name.start
    while words.tree.tags[start - 1] == "ADJ" and start > 0:  # "central France"
        start -= 1
    before = start - 2
    if before < 0 or words.words[before + 1] != "," or words.tree.tags[before] != "PROPN":
        return False
    if relation == "nsubj":
        return not _opens(words, before, verb)
    if relation == "conj":
        return words.relation(before) != "conj" and words.head(head) != before
    return base(relation) == "obl" and next(words.related(head, CASE), None) is None


def _opens(words: Words, word: int, verb: int) -> bool:
    """Whether a word ends a phrase that a clause opens with: a time, or what has a preposition."""
    top, steps = word, 0
    while words.head(top) != verb and words.head(top) >= 0 and steps < len(words.words):
        top = words.head(top)
        steps += 1
    if words.head(top) != verb or words.relation(top) in SUBJECTS:
        return False
    opens = words.relation(top) in PREPOSITION or next(words.related(top, OPENERS), None) is not None
    return opens or top == word
