"""Mentions in a dependency tree: which words head one, and how far it stretches."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from calibrant.structures.documents import Tree

# Dependents of a nominal head that are no part of its noun phrase: the clause around a predicate noun, what
# is joined to it, and what stands between phrases.
OUTSIDE = frozenset(
    {"appos", "aux", "case", "cc", "ccomp", "conj", "cop", "csubj", "dep", "discourse", "dislocated", "expl"}
    | {"list", "mark", "nsubj", "orphan", "parataxis", "reparandum", "vocative"}
)
CLAUSE = frozenset({"advcl", "advmod", "iobj", "obj", "obl", "xcomp"})  # where the noun is a predicate
PARTS = frozenset({"fixed", "flat", "goeswith", "punct"})
ARGUMENTS = frozenset({"iobj", "nmod", "nsubj", "obj", "obl"})
MODIFIERS = frozenset({"advmod", "amod", "compound", "det", "nummod"})
PLACES = frozenset({"here", "there"})
CLOSING = {")": "(", "]": "[", "”": "“", "’": "‘", "''": "``"}
TRIMMED = frozenset([",", ";", ":", ".", "!", "?", "--", "-", "–", "—", "(", "[", "“", "``", "‘", "/", "…"])
YEAR = 4  # digits


class Sentence:
    """The noun phrases of one parsed sentence.

    Parameters
    ----------
    words, tree
        The sentence.
    possessive_endings
        Whether *'s* belongs to the noun phrase.
    """

    def __init__(self, words: Sequence[str], tree: Tree, *, possessive_endings: bool) -> None:
        self.words = words
        self.tree = tree
        self.possessive_endings = possessive_endings
        self.relations = [relation.partition(":")[0] for relation in tree.relations]
        self.children: list[list[int]] = [[] for _ in words]
        for place, head in enumerate(tree.heads):
            if head:
                self.children[head - 1].append(place)

    def mentions(self) -> list[tuple[int, int]]:
        """Start and end of each mention, in order."""
        found = set()
        for place in range(len(self.words)):
            if self._heads_mention(place):
                found.add(self._phrase(place))
                if self._has(place, "conj"):
                    found.add(self._phrase(place, joined=True))
        return sorted(found)

    def _heads_mention(self, place: int) -> bool:
        tag, relation = self.tree.tags[place], self.relations[place]
        if relation in PARTS:
            return False
        if tag in ("NOUN", "PROPN"):
            return True
        if tag == "PRON":
            return relation != "expl" and "PronType=Rel" not in self.tree.features[place]
        if tag == "NUM":
            is_year = len(self.words[place]) == YEAR and self.words[place].isdigit()
            return relation not in MODIFIERS or (relation == "compound" and is_year)
        if tag == "ADV":
            return self.words[place].lower() in PLACES
        if tag == "VERB":
            return self._has(place, "det")  # "the best known of them"
        joined = relation in ("conj", "root") and self._has(place, "det")
        return tag in ("ADJ", "DET", "SYM", "X") and (relation in ARGUMENTS or joined)

    def _phrase(self, head: int, *, joined: bool = False) -> tuple[int, int]:
        """First word of a head's noun phrase, and the word after its last; joined: with all conjuncts."""
        if "PronType=Prs" in self.tree.features[head] and not joined:
            return head, head + 1  # "you yourself", "them all": the rest stands beside the pronoun
        predicate = self._has(head, "cop") or self._has(head, "nsubj")
        left = right = head
        for child in reversed([child for child in self.children[head] if child < head]):
            if self.relations[child] == "punct":
                continue
            if self._is_outside(child, predicate):
                break
            left = min(left, self._edge(child, min))
        for child in (child for child in self.children[head] if child > head):
            if self.relations[child] == "punct":
                continue
            if self._is_outside(child, predicate) and not (
                joined and self.relations[child] in ("conj", "cc")
            ):
                break
            right = max(right, self._edge(child, max))
        return self._trimmed(left, head, right)

    def _trimmed(self, left: int, head: int, right: int) -> tuple[int, int]:
        """Leave out punctuation at the ends, but for what closes a bracket or quotation inside."""
        while right > head and self.words[right] in TRIMMED:
            right -= 1
        while left < head and self.words[left] in TRIMMED:
            left += 1
        after = self.words[right + 1] if right + 1 < len(self.words) else ""
        if after in CLOSING and CLOSING[after] in self.words[left : right + 1]:
            right += 1
        return left, right + 1

    def _is_outside(self, child: int, predicate: bool) -> bool:
        relation = self.relations[child]
        if relation == "case" and self.tree.tags[child] == "PART":
            return not self.possessive_endings
        return relation in OUTSIDE or (predicate and relation in CLAUSE)

    def _has(self, place: int, relation: str) -> bool:
        return any(self.relations[child] == relation for child in self.children[place])

    def _edge(self, place: int, furthest: Callable[[int, int], int]) -> int:
        """First or last word of a word's subtree."""
        edge, waiting = place, [place]
        while waiting:
            word = waiting.pop()
            edge = furthest(edge, word)
            waiting.extend(self.children[word])
        return edge
