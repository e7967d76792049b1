"""Constituents of CoNLL-2012, and their conversion to dependency trees by head rules."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from calibrant.exceptions import InputError
from calibrant.structures.documents import Tree

__all__ = ["Constituent", "constituents", "dependencies"]

PIECE = re.compile(r"\(([^()*\s]+)|(\*)|(\))")
ABSENT = frozenset({"*", "-", "_", ""})
DEEPEST = 500

# For each phrase, the direction in which its daughters are searched, and their labels in order of priority
# (Collins 1999, appendix A). Phrases in which Universal Dependencies prefer the content word (prepositional
# phrases, clauses, auxiliaries) have that word's phrase first.
RULES: dict[str, tuple[int, str]] = {
    "ADJP": (1, "NNS QP NN $ ADVP JJ VBN VBG ADJP JJR NP JJS DT FW RBR RBS SBAR RB"),
    "ADVP": (-1, "RB RBR RBS FW ADVP TO CD JJR JJ IN NP JJS NN"),
    "CONJP": (-1, "CC RB IN"),
    "FRAG": (1, "S SQ SINV SBARQ VP NP NML ADJP SBAR PP ADVP FRAG"),
    "LST": (-1, "LS :"),
    "PP": (-1, "NP NML NAC NX PP S SBAR ADJP ADVP UCP QP VP NN NNS NNP NNPS PRP CD IN TO VBG VBN RP FW"),
    "PRT": (-1, "RP"),
    "QP": (-1, "NNS NN CD $ QP JJ RB DT JJR JJS IN"),
    "RRC": (-1, "VP NP ADVP ADJP PP"),
    "S": (1, "VP S SBAR ADJP UCP NP PP ADVP VB VBP VBD VBZ VBG VBN TO IN"),
    "SBAR": (1, "S SQ SINV SBAR FRAG VP WHNP WHPP WHADVP WHADJP IN DT"),
    "SBARQ": (1, "SQ S SINV SBARQ FRAG VP NP"),
    "SINV": (1, "VP S SINV VBZ VBD VBP VB VBG VBN MD ADJP PP NP"),
    "SQ": (1, "VP SQ ADJP VB VBZ VBD VBP MD NP"),
    "VP": (1, "VP VBD VBN VBZ VB VBG VBP VBE MD TO ADJP NN NNS NP"),
    "WHADJP": (1, "JJ ADJP RB WRB CC"),
    "WHADVP": (-1, "WRB RB CC"),
    "WHNP": (-1, "NN NNS NNP NNPS NP WHNP WP WDT WP$ CD WHADJP WHPP"),
    "WHPP": (-1, "WHNP WHADVP NP IN TO FW"),
}
NOMINAL = frozenset({"NP", "NML", "NX", "NAC", "WHNP"})
NOUNS = frozenset({"NN", "NNS", "NNP", "NNPS", "POS", "JJR", "NX", "NML"})
CLAUSES = frozenset({"S", "SQ", "SINV", "SBARQ"})
VERBS = frozenset({"VB", "VBD", "VBG", "VBN", "VBP", "VBZ"})
PUNCTUATION = frozenset({".", ",", ":", "``", "''", "-LRB-", "-RRB-", "HYPH", "NFP", "#"})
BE = frozenset(["be", "am", "is", "are", "was", "were", "been", "being", "'s", "'m", "'re", "ai"])
# Nouns that, as phrases next to a verb, usually indicate a time and are not objects.
TIMES = frozenset(["today", "yesterday", "tomorrow", "tonight", "monday", "tuesday", "wednesday", "thursday"])
TIMES |= frozenset(
    ["friday", "saturday", "sunday", "day", "days", "week", "weeks", "month", "months", "year"]
)
TIMES |= frozenset(
    ["year", "years", "time", "times", "morning", "evening", "night", "afternoon", "hour", "hours"]
)
INDEFINITE = frozenset(
    f"{first}{second}" for first in ("some", "any", "no", "every") for second in ("thing", "one", "body")
)
UPOS = {
    "CC": "CCONJ", "CD": "NUM", "DT": "DET", "PDT": "DET", "WDT": "DET", "EX": "PRON", "FW": "X", "IN": "ADP",
    "JJ": "ADJ", "JJR": "ADJ", "JJS": "ADJ", "AFX": "ADJ", "LS": "X", "MD": "AUX", "NN": "NOUN",
    "NNS": "NOUN", "NNP": "PROPN", "NNPS": "PROPN", "POS": "PART", "PRP": "PRON", "PRP$": "PRON",
    "WP": "PRON", "WP$": "PRON", "RB": "ADV", "RBR": "ADV", "RBS": "ADV", "WRB": "ADV", "RP": "ADP",
    "TO": "PART", "UH": "INTJ", "$": "SYM", "#": "SYM", "SYM": "SYM", "ADD": "X", "XX": "X", "GW": "X",
}  # fmt: skip
NUMBER = {"NN": "Sing", "NNP": "Sing", "NNS": "Plur", "NNPS": "Plur"}


@dataclass(eq=False)
class Constituent:
    """Phrase, or word with its part of speech.

    Attributes
    ----------
    label
        ``NP``, ``VP``, ... without grammatical functions; the part of speech of a word.
    start, end
        Words ``start`` to ``end - 1``, from 0.
    children
        Daughters in order; empty for a word.
    """

    label: str
    start: int
    end: int = 0
    children: list[Constituent] = field(default_factory=list)

    def walk(self) -> Iterator[Constituent]:
        """Yield this constituent and all below it, each before its daughters."""
        waiting = [self]
        while waiting:
            phrase = waiting.pop()
            yield phrase
            waiting.extend(reversed(phrase.children))


def constituents(bits: Sequence[str], tags: Sequence[str]) -> Constituent | None:
    """Read the constituents of a sentence from the parse bits of its words.

    Parameters
    ----------
    bits
        Sixth column of CoNLL-2012, one entry per word: brackets around ``*``, which represents the word.
    tags
        Part of speech (Penn Treebank) of each word.

    Returns
    -------
    Constituent or None
        Root, labeled ``TOP``; None if no word has a bracket.

    Raises
    ------
    InputError
        If brackets do not balance, or an entry does not contain exactly one ``*``. ``row`` is the number of
        the word in the sentence, from 0.

    References
    ----------
    Pradhan et al. (2012), CoNLL-2012 shared task, https://aclanthology.org/W12-4501.

    Examples
    --------
    >>> root = constituents(["(TOP(S(NP*", "*)", "(VP*)))"], ["DT", "NN", "VBD"])
    >>> [(phrase.label, phrase.start, phrase.end) for phrase in root.walk() if phrase.children]
    [('TOP', 0, 3), ('TOP', 0, 3), ('S', 0, 3), ('NP', 0, 2), ('VP', 2, 3)]
    """
    if all(bit in ABSENT for bit in bits):
        return None
    root = Constituent("TOP", 0)
    stack = [root]
    for place, (bit, tag) in enumerate(zip(bits, tags, strict=True)):
        stars = end = 0
        for match in PIECE.finditer(bit):
            if match.start() != end:
                break
            end = match.end()
            if match[1]:
                opened = Constituent(_category(match[1]), place)
                stack[-1].children.append(opened)
                stack.append(opened)
            elif match[2]:
                stars += 1
                stack[-1].children.append(Constituent(tag, place, place + 1))
            elif len(stack) == 1:
                message = f"the parse bit {bit:.40} closes a constituent that is not open"
                raise InputError(message, "give every bracket its partner within the sentence", row=place)
            else:
                stack.pop().end = place + 1
        if end != len(bit) or stars != 1 or len(stack) > DEEPEST:
            message = f"the parse bit {bit[:40]!r} cannot be read"
            raise InputError(message, "write (S(NP* or *) or *: brackets around one * per word", row=place)
    if len(stack) > 1:
        message = f"the constituent {stack[-1].label} is opened but not closed"
        raise InputError(message, "give every bracket its partner within the sentence", row=stack[-1].start)
    root.end = len(bits)
    return root


def dependencies(
    root: Constituent, words: Sequence[str], tags: Sequence[str], lemmas: Sequence[str] | None = None
) -> Tree:
    """Convert constituents into a dependency tree with the labels of Universal Dependencies.

    Heads follow the rules of Collins (1999), with content words as heads as in Universal Dependencies: the
    noun of a prepositional phrase, the main verb with auxiliaries, the predicate of a copula, the first of
    coordinated phrases. Labels depend on the phrases on both sides of an arc.

    Parameters
    ----------
    root
        Result of `constituents`.
    words, tags
        Words of the sentence and their parts of speech (Penn Treebank).
    lemmas
        Lemmas of the words, ``-`` if unknown. None: no lemmas.

    Returns
    -------
    Tree
        Tree with universal parts of speech, and the features ``Number`` of nouns and ``PronType`` of
        pronouns.

    References
    ----------
    Collins (1999), Head-driven statistical models for natural language parsing, appendix A.

    Examples
    --------
    >>> words, tags = ["The", "king", "of", "Spain", "left"], ["DT", "NN", "IN", "NNP", "VBD"]
    >>> root = constituents(["(TOP(S(NP(NP*", "*)", "(PP*", "(NP*)))", "(VP*)))"], tags)
    >>> tree = dependencies(root, words, tags)
    >>> list(zip(tree.heads, tree.relations))
    [(2, 'det'), (5, 'nsubj'), (4, 'case'), (2, 'nmod'), (0, 'root')]
    """
    conversion = _Conversion(words, tags)
    conversion.attach(root)
    lemma = [""] * len(words) if lemmas is None else ["" if given in ABSENT else given for given in lemmas]
    return Tree(conversion.heads, conversion.relations, lemma, conversion.upos(), conversion.features())


def _category(label: str) -> str:
    """Return a label without grammatical functions: ``NP-SBJ-1`` is an ``NP``."""
    return label if label.startswith("-") else re.split("[-=]", label, maxsplit=1)[0]


class _Conversion:
    """Heads and relations of one sentence, computed bottom-up."""

    def __init__(self, words: Sequence[str], tags: Sequence[str]) -> None:
        self.words = [word.lower() for word in words]
        self.tags = list(tags)
        self.heads = [0] * len(words)
        self.relations = ["root"] * len(words)
        self._head: dict[int, int] = {}

    def attach(self, root: Constituent) -> None:
        """Find the head word of every phrase, and attach the heads of the other daughters to it."""
        for phrase in reversed(list(root.walk())):
            if not phrase.children:
                self._head[id(phrase)] = phrase.start
                continue
            chosen = self._head_child(phrase)
            head = self._head[id(phrase)] = self._head[id(chosen)]
            before = True
            for child in phrase.children:
                before = before and child is not chosen
                if child is chosen:
                    continue
                word = self._head[id(child)]
                self.heads[word] = head + 1
                self.relations[word] = self._relation(phrase, chosen, child, before)
            self._chain_conjuncts(phrase, chosen)

    def upos(self) -> list[str]:
        tags = []
        for place, tag in enumerate(self.tags):
            upos = UPOS.get(tag, "PUNCT" if tag in PUNCTUATION else "")
            if tag in VERBS:
                upos = "AUX" if self.relations[place].startswith(("aux", "cop")) else "VERB"
            elif self.words[place] in ("not", "n't", "n’t"):
                upos = "PART"
            elif tag == "NN" and self.words[place] in INDEFINITE:
                upos = "PRON"
            elif tag == "IN" and self.relations[place] == "mark":
                upos = "SCONJ"
            elif tag == "TO" and self.relations[place] == "case":
                upos = "ADP"
            elif tag in ("DT", "WDT") and self.relations[place] not in ("det", "det:predet"):
                upos = "PRON"
            tags.append(upos or "X")
        return tags

    def features(self) -> list[str]:
        """Return the features that the detection of mentions uses."""
        features = []
        for tag, relation in zip(self.tags, self.relations, strict=True):
            if tag in NUMBER:
                features.append(f"Number={NUMBER[tag]}")
            elif tag in ("PRP", "PRP$"):
                features.append("PronType=Prs")
            elif tag in ("WP", "WDT", "WP$"):
                features.append("PronType=Rel" if relation != "det" else "PronType=Int")
            else:
                features.append("")
        return features

    def _head_child(self, phrase: Constituent) -> Constituent:
        children = [child for child in phrase.children if child.label not in PUNCTUATION] or phrase.children
        label = phrase.label
        if label in NOMINAL and label != "WHNP":
            return self._noun_head(phrase, children)
        if label == "VP":
            return self._verb_head(phrase, children)
        if label in ("SQ", "SINV") and not any(child.label == "VP" for child in children):
            return self._verb_head(phrase, children)
        conjuncts = self._conjuncts(phrase, children)
        if conjuncts and label in ("PP", "ADJP", "ADVP", "S", "SBAR", "UCP", "QP"):
            return conjuncts[0]
        direction, labels = RULES.get(label, RULES["FRAG"])
        for wanted in labels.split():
            for child in children[::direction]:
                if child.label == wanted:
                    return child
        return children[::direction][0]

    def _noun_head(self, phrase: Constituent, children: list[Constituent]) -> Constituent:
        """Return the head of a noun phrase: the first conjunct, else by the rules of Collins."""
        phrases = [child for child in children if child.label in NOMINAL]
        conjuncts = self._conjuncts(phrase, children)
        if conjuncts:
            return conjuncts[0]
        words = [child for child in children if not child.children]
        if phrases and self.tags[phrases[0].end - 1] == "POS" and len(children) > 1:
            rest = [child for child in children if child is not phrases[0]]
            return self._last_noun(rest)
        if phrases and not any(child.label in NOUNS for child in words):
            return phrases[0]
        return self._last_noun(children)

    def _last_noun(self, children: list[Constituent]) -> Constituent:
        for wanted in (NOUNS - {"POS", "JJR"}, NOMINAL, {"PRP", "EX", "$", "ADJP", "PRN"}, {"CD", "QP"}):
            for child in reversed(children):
                if child.label in wanted:
                    return child
        for child in reversed(children):
            if child.label not in ("PP", "SBAR", "POS", "ADVP", "RB"):
                return child
        return children[-1]

    def _verb_head(self, phrase: Constituent, children: list[Constituent]) -> Constituent:
        """Return the head of a verb phrase: the one below an auxiliary, or the predicate of a copula."""
        conjuncts = self._conjuncts(phrase, children)
        if conjuncts:
            return conjuncts[0]
        inner = [child for child in children if child.label == "VP"]
        if inner:
            return inner[0]
        verbs = [child for child in children if child.label in VERBS or child.label == "MD"]
        main = verbs[-1] if verbs else children[0]
        if verbs and not main.children and self.words[main.start] in BE:
            after = children[children.index(main) + 1 :]
            subject = [child for child in after if child.label in NOMINAL]
            for wanted in (("ADJP", "NP", "UCP", "PP"), ("ADVP", "RB", "JJ", "NN")):
                predicates = [child for child in after if child.label in wanted]
                if len(subject) > 1 and predicates and predicates[0] is subject[0]:
                    predicates = predicates[1:]
                if predicates:
                    return predicates[0]
        return main

    def _conjuncts(self, phrase: Constituent, children: list[Constituent]) -> list[Constituent]:
        """Return the coordinated daughters: those of the same kind as the one after the conjunction."""
        place = next((at for at, child in enumerate(children) if child.label in ("CC", "CONJP")), None)
        if place is None or place == 0 or place == len(children) - 1:
            return []
        last = children[-1]
        # For adjacent words, those before a comma or the conjunction: "old time, place and rank".
        return [
            child
            for child, after in pairwise(phrase.children)
            if _kind(child) == _kind(last)
            and child.start < children[place].start
            and (last.children or after.label in (",", "CC", "CONJP"))
        ]

    def _chain_conjuncts(self, phrase: Constituent, chosen: Constituent) -> None:
        """Attach each conjunction to the conjunct after it."""
        conjunct: int | None = None
        for child in reversed(phrase.children):
            word = self._head[id(child)]
            if self.relations[word] == "conj" and self.heads[word] == self._head[id(chosen)] + 1:
                conjunct = word
            elif conjunct is not None and self.relations[word] == "cc":
                self.heads[word] = conjunct + 1

    def _relation(self, phrase: Constituent, chosen: Constituent, child: Constituent, before: bool) -> str:
        """Label the arc from the head of a daughter to that of its phrase."""
        if child.label in PUNCTUATION:
            return "punct"
        if child.label in ("CC", "CONJP"):
            return "cc"
        children = [part for part in phrase.children if part.label not in PUNCTUATION]
        at = children.index(child)
        joined = any(part.label in ("CC", "CONJP") for part in children[:at])
        comma_list = any(part.label in ("CC", "CONJP") for part in children) and _kind(child) == _kind(chosen)
        if not before and (joined or comma_list) and _kind(child) in (_kind(chosen), _kind(children[-1])):
            return "conj"
        if child.label in ("UH", "INTJ"):
            return "discourse"
        if phrase.label in NOMINAL or (phrase.label in ("QP", "ADJP") and not child.children):
            return self._in_noun_phrase(child, before)
        if phrase.label in ("PP", "WHPP"):
            if child.label in ("IN", "TO") and chosen.label in CLAUSES | {"VP", "SBAR"}:
                return "mark"
            return "case" if child.label in ("IN", "TO", "RP", "VBG", "VBN", "JJ", "PP", "FW") else "advmod"
        return self._in_clause(phrase, chosen, child, before)

    def _in_noun_phrase(self, child: Constituent, before: bool) -> str:
        label = child.label
        simple = {"PRP$": "nmod:poss", "WP$": "nmod:poss", "DT": "det", "PDT": "det:predet", "WDT": "det"}
        simple |= {"CD": "nummod", "QP": "nummod", "POS": "case", "PRN": "parataxis", "$": "compound"}
        if label in simple:
            return simple[label]
        if label in NOMINAL:
            if self.tags[child.end - 1] == "POS":
                return "nmod:poss"
            return "compound" if before else "appos"
        if label.startswith("NN"):
            return "compound" if before else "appos"
        if label in ("PP", "WHPP"):
            return "nmod"
        if label == "SBAR":
            first = next(leaf.label for leaf in child.walk() if not leaf.children)
            return "acl:relcl" if first.startswith("W") else "acl"
        if label in ("VP", "S", "RRC"):
            return "acl"
        if label in ("RB", "RBR", "RBS", "ADVP", "WRB", "WHADVP"):
            return "advmod"
        return "amod" if label.startswith(("JJ", "ADJP", "VB", "UCP", "WHADJP")) else "dep"

    def _in_clause(self, phrase: Constituent, chosen: Constituent, child: Constituent, before: bool) -> str:
        label, word = child.label, self._head[id(child)]
        if label == "EX" or self.tags[word] == "EX":
            return "expl"
        if label in NOMINAL:
            return self._argument(phrase, chosen, child, before)
        if label in VERBS or label in ("MD", "TO"):
            return self._helper(phrase, chosen, child)
        if label in ("IN", "DT") and phrase.label == "SBAR":
            return "mark"
        if label in ("PP", "WHPP"):
            return "obl"
        if label == "PRT" or label == "RP":
            return "compound:prt"
        if label in ("ADVP", "RB", "RBR", "RBS", "WHADVP", "WRB"):
            return "advmod"
        if label in ("ADJP", "JJ"):
            return "xcomp" if phrase.label == "VP" else "advcl"
        if label in CLAUSES | {"SBAR", "VP"}:
            return self._clause(phrase, child, before)
        return "parataxis" if label in ("PRN", "FRAG", "SBARQ") else "dep"

    def _argument(self, phrase: Constituent, chosen: Constituent, child: Constituent, before: bool) -> str:
        if phrase.label in ("SBAR", "SBARQ"):
            return "obj" if any(part.label in NOMINAL for part in chosen.children) else "nsubj"
        if phrase.label in CLAUSES and before and chosen.label != "NP":
            later = phrase.children[phrase.children.index(child) + 1 :]
            if any(part.label in NOMINAL for part in later[: later.index(chosen)]):
                return "obl"
            return "nsubj:pass" if self._is_passive(chosen) else "nsubj"
        if phrase.label in ("SQ", "SINV"):
            return "nsubj"
        if phrase.label == "VP" and not before:
            objects = [part for part in phrase.children if part.label in NOMINAL and part is not chosen]
            if self._is_copula(phrase, chosen):
                return "nsubj"
            if child is objects[0]:
                return "iobj" if len(objects) > 1 and not self._is_time(objects[1]) else "obj"
            return "obl" if self._is_time(child) else "obj"
        return "dep" if phrase.label in CLAUSES and chosen.label == "NP" else "obl"

    def _helper(self, phrase: Constituent, chosen: Constituent, child: Constituent) -> str:
        if child.label == "TO":
            return "mark"
        if chosen.label == "VP":
            passive = self.words[child.start] in BE and self.tags[self._head[id(chosen)]] == "VBN"
            return "aux:pass" if passive else "aux"
        if chosen.label in VERBS:
            return "aux"
        return "cop" if self.words[child.start] in BE else "dep"

    def _clause(self, phrase: Constituent, child: Constituent, before: bool) -> str:
        words = [leaf for leaf in child.walk() if not leaf.children]
        first = next((leaf for leaf in words if leaf.label not in PUNCTUATION), child)
        if phrase.label == "VP" and not before:
            if child.label == "SBAR":
                known = self.words[first.start] in ("that", "whether", "if") or first.label != "IN"
                return "ccomp" if known else "advcl"
            subject = any(part.label in NOMINAL for part in child.children)
            return "ccomp" if subject and first.label != "TO" else "xcomp"
        if phrase.label == "ADJP":
            return "ccomp" if child.label == "SBAR" else "xcomp"
        return "advcl" if child.label == "SBAR" or before else "parataxis"

    def _is_passive(self, phrase: Constituent) -> bool:
        """Return True if a verb phrase is passive: a participle below a form of *be*."""
        word = self._head[id(phrase)]
        return any(
            head == word + 1 and relation == "aux:pass"
            for head, relation in zip(self.heads, self.relations, strict=True)
        )

    def _is_copula(self, phrase: Constituent, chosen: Constituent) -> bool:
        verb = next((child for child in phrase.children if child.label in VERBS), None)
        return verb is not None and verb is not chosen and self.words[verb.start] in BE

    def _is_time(self, phrase: Constituent) -> bool:
        return self.words[self._head[id(phrase)]] in TIMES


def _kind(phrase: Constituent) -> str:
    """Return the kind of a phrase; only phrases of the same kind are coordinated."""
    label = phrase.label
    if label in NOMINAL or label.startswith("NN") or label == "PRP":
        return "noun"
    if label in VERBS or label == "VP":
        return "verb"
    if label in CLAUSES or label == "SBAR":
        return "clause"
    if label.startswith("JJ") or label == "ADJP":
        return "adjective"
    if label.startswith("RB") or label == "ADVP":
        return "adverb"
    return label
