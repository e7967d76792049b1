"""Mentions: their traits from words and trees, and their detection in parsed text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

from calibrant.exceptions import InputError
from calibrant.structures.documents import Document, Mention, Tree
from calibrant.structures.models import _mention_words as lists
from calibrant.structures.models._mention_words import PRONOUN_FORMS, PRONOUNS, Gender, Number, Pronoun

_FEATURE_GENDERS: dict[str, Gender] = {"Masc": "masculine", "Fem": "feminine", "Neut": "neuter"}
_FEATURE_NUMBERS: dict[str, Number] = {"Sing": "singular", "Plur": "plural", "Ptan": "plural"}


def gender_of(lower: Sequence[str], head: int, is_proper: bool, features: Mapping[str, str]) -> Gender:
    """Return the gender of a noun phrase other than a pronoun; ``lower`` are its words in lower case."""
    if features.get("Gender") in _FEATURE_GENDERS:
        return _FEATURE_GENDERS[features["Gender"]]
    word = lower[head]
    named = _gender_of_name(lower[: head + 1]) if is_proper else None
    if named is not None:
        return named
    if word in lists.MALE_NOUNS or word.endswith(("sman", "rman", "yman", "eman", "dman", "kman", "tman")):
        return "masculine"
    if word in lists.FEMALE_NOUNS or word.endswith(("woman", "women")):
        return "feminine"
    if word in lists.PERSON_NOUNS or word.endswith((*lists.PERSON_SUFFIXES, "men")):
        return "person"
    if not is_proper and word.endswith(lists.NEUTER_SUFFIXES):
        return "neuter"
    return "unknown"


def _gender_of_name(lower: Sequence[str]) -> Gender | None:
    for word in lower:
        if word in lists.MALE_TITLES or word in lists.MALE_NAMES:
            return "masculine"
        if word in lists.FEMALE_TITLES or word in lists.FEMALE_NAMES:
            return "feminine"
        if word in ("uncle", "father", "brother", "count", "baron"):
            return "masculine"
        if word in ("aunt", "mother", "sister", "countess"):
            return "feminine"
    return "person" if lower[0] in lists.PERSON_TITLES else None


def number_of(lower: Sequence[str], head: int, is_proper: bool, features: Mapping[str, str]) -> Number:
    """Return the number of a noun phrase other than a pronoun."""
    if _is_coordination(lower, head):
        return "plural"
    if features.get("Number") in _FEATURE_NUMBERS:
        return _FEATURE_NUMBERS[features["Number"]]
    if lower[0] in lists.PLURAL_DETERMINERS:
        return "plural"
    if lower[0] in lists.SINGULAR_DETERMINERS:
        return "singular"
    if is_proper:
        return "plural" if lower[0] == "the" and is_plural(lower[head]) else "singular"
    return "plural" if is_plural(lower[head]) else "singular"


def _is_coordination(lower: Sequence[str], head: int) -> bool:
    """Return True if another phrase is joined to the head: *Tom and his aunt*, not *the king of A and B*."""
    for place in range(head + 1, len(lower) - 1):
        if lower[place] in ("and", "&"):
            return True
        if lower[place] in lists.PREPOSITIONS or (lower[place] in lists.BREAKS and lower[place] != ","):
            return False
    return False


def is_plural(lower: str) -> bool:
    """Return True if a word looks like a plural."""
    if lower in lists.IRREGULAR_PLURALS:
        return True
    if lower in lists.SINGULARS_IN_S or len(lower) < 4:
        return False
    return lower.endswith("s") and not lower.endswith(("ss", "us", "is", "'s", "’s"))


# Dependents of a nominal head outside its noun phrase: the clause around a predicate noun, conjuncts, and
# words between phrases.
OUTSIDE = frozenset(
    {"appos", "aux", "case", "cc", "ccomp", "conj", "cop", "csubj", "dep", "discourse", "dislocated", "expl"}
    | {"list", "mark", "nsubj", "orphan", "parataxis", "reparandum", "vocative"}
)
CLAUSE = frozenset({"advcl", "advmod", "iobj", "obj", "obl", "xcomp"})  # if the noun is a predicate
WITHIN_MENTIONS = frozenset({"fixed", "flat", "goeswith", "punct"})
ARGUMENTS = frozenset({"iobj", "nmod", "nsubj", "obj", "obl"})
MODIFIERS = frozenset({"advmod", "amod", "compound", "det", "nummod"})
PLACES = frozenset({"here", "there"})
CLOSING = {")": "(", "]": "[", "”": "“", "’": "‘", "''": "``"}
TRIMMED = frozenset([",", ";", ":", ".", "!", "?", "--", "-", "–", "—", "(", "[", "“", "``", "‘", "/", "…"])
YEAR = 4  # digits


class Sentence:
    """Noun phrases of one parsed sentence.

    Parameters
    ----------
    words, tree
        Sentence and its tree.
    possessive_endings
        True if *'s* belongs to the noun phrase.
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
        """Return start and end of each mention, in order."""
        phrases = set()
        for place in range(len(self.words)):
            if self._heads_mention(place):
                phrases.add(self._phrase(place))
                if self._has(place, "conj"):
                    phrases.add(self._phrase(place, joined=True))
        return sorted(phrases)

    def _heads_mention(self, place: int) -> bool:
        tag, relation = self.tree.tags[place], self.relations[place]
        if relation in WITHIN_MENTIONS:
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
        """Return the bounds of a head's noun phrase, the end exclusive; ``joined`` includes conjuncts."""
        if "PronType=Prs" in self.tree.features[head] and not joined:
            return head, head + 1  # "you yourself", "them all": other words do not belong to the pronoun
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
        """Remove punctuation at the ends, except marks that close a bracket or quotation inside."""
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
        """Return the first or last word of a word's subtree."""
        edge, waiting = place, [place]
        while waiting:
            word = waiting.pop()
            edge = furthest(edge, word)
            waiting.extend(self.children[word])
        return edge


__all__ = [
    "GENDERS",
    "MENTION_TYPES",
    "NUMBERS",
    "PRONOUNS",
    "PRONOUN_FORMS",
    "Gender",
    "MentionType",
    "Number",
    "Pronoun",
    "Traits",
    "agree",
    "detect_mentions",
    "head_by_rule",
    "head_of",
    "traits",
]

MentionType = Literal["pronoun", "proper", "nominal"]
MENTION_TYPES: tuple[MentionType, ...] = ("pronoun", "proper", "nominal")
GENDERS: tuple[Gender, ...] = ("masculine", "feminine", "neuter", "person", "unknown")
NUMBERS: tuple[Number, ...] = ("singular", "plural", "unknown")

_NAME_PARTS = ("flat", "goeswith")
_QUOTES = frozenset("\"'`“”‘’([{-–—") | {"``", "''", "--"}


class Traits(NamedTuple):
    """Traits of a mention, from its words and its tree if there is one.

    Attributes
    ----------
    head
        Index of the head word in the mention's sentence, from 0. The head of a name in several parts is the
        last part: *Sawyer* for *Tom Sawyer* and *Mr. Sawyer*.
    type
        ``pronoun``, ``proper`` or ``nominal``.
    gender
        ``masculine``, ``feminine``, ``neuter``, ``person`` (a person of unknown gender) or ``unknown``.
    number
        ``singular``, ``plural`` or ``unknown``.
    person
        1, 2 or 3 for personal pronouns, 3 for names and nominals, 0 for other pronouns.
    pronoun
        Traits of the pronoun's form; None for names and nominals.
    """

    head: int
    type: MentionType
    gender: Gender
    number: Number
    person: int
    pronoun: Pronoun | None


def traits(document: Document, *, trees: bool = True) -> list[Traits]:
    """Return the traits of each mention of a document.

    With trees, the head is the word whose head is outside the mention, and parts of speech and features have
    priority over word lists. Without trees, rules over words, capitals and suffixes decide.

    Parameters
    ----------
    document
        Document with mentions.
    trees
        Use the document's trees, if it has them.

    Returns
    -------
    list of Traits
        Traits, one per mention.

    Examples
    --------
    >>> words = ["The", "old", "queen", "of", "Spain", "loved", "her", "ships"]
    >>> document = Document("d", [words], [Mention(0, 0, 5), Mention(0, 6, 7), Mention(0, 6, 8)])
    >>> for of in traits(document):
    ...     print(words[of.head], of.type, of.gender, of.number)
    queen nominal feminine singular
    her pronoun feminine singular
    ships nominal unknown plural
    """
    use = document.trees if trees else None
    return [
        _traits(document.sentences[mention.sentence], mention, use[mention.sentence] if use else None)
        for mention in document.mentions or ()
    ]


def _traits(sentence: Sequence[str], mention: Mention, tree: Tree | None) -> Traits:
    words = [word.lower() for word in sentence[mention.start : mention.end]]
    if tree is None:
        head = mention.start + head_by_rule(sentence[mention.start : mention.end])
    else:
        head = _last_name(tree, head_of(tree, mention), mention)
    pronoun = _pronoun(words)
    if pronoun is not None and not (tree and tree.tags[head] in ("PROPN", "NOUN", "NUM", "VERB")):
        return Traits(head, "pronoun", pronoun.gender, pronoun.number, pronoun.person, pronoun)
    of: MentionType = "proper" if _is_proper(sentence, head, tree) else "nominal"
    features = _features(tree, head)
    gender = gender_of(words, head - mention.start, of == "proper", features)
    number = number_of(words, head - mention.start, of == "proper", features)
    return Traits(head, of, gender, number, 3, None)


def head_of(tree: Tree, mention: Mention) -> int:
    """Return the head word of a mention: the first word whose head is outside the mention.

    Punctuation, conjunctions and prepositions are heads only if there is no other word: *, the king* has the
    head *king* for any attachment of the comma.

    Parameters
    ----------
    tree
        Tree of the mention's sentence.
    mention
        Words of the mention.

    Returns
    -------
    int
        Index of the word in the sentence, from 0.

    Examples
    --------
    >>> tree = Tree([2, 3, 0], ["det", "nsubj", "root"], [""] * 3, ["DET", "NOUN", "VERB"], [""] * 3)
    >>> head_of(tree, Mention(0, 0, 2))
    1
    """
    outside = [
        place
        for place in range(mention.start, mention.end)
        if not mention.start < tree.heads[place] <= mention.end
    ]
    for place in outside:
        if tree.tags[place] not in ("PUNCT", "CCONJ", "ADP", "SCONJ", "PART"):
            return place
    return outside[0] if outside else mention.end - 1


def _last_name(tree: Tree, head: int, mention: Mention) -> int:
    """Return the last part of a name whose first part is the head."""
    for place in range(mention.end - 1, head, -1):
        if tree.heads[place] == head + 1 and tree.relations[place].partition(":")[0] in _NAME_PARTS:
            return place
    return head


def head_by_rule(words: Sequence[str]) -> int:
    """Estimate the head word of an English noun phrase from its words only.

    The head is the last word before the first preposition, relative pronoun, verb form of *be*, *have* or
    *do*, or punctuation mark, or before a conjunction that a new noun phrase follows. A final *'s* is
    ignored.

    Parameters
    ----------
    words
        Words of the mention.

    Returns
    -------
    int
        Index of the word in the mention, from 0.

    Examples
    --------
    >>> head_by_rule(["the", "old", "queen", "of", "Spain"])
    2
    >>> head_by_rule(["Tom", "Sawyer", "and", "his", "aunt"])
    1
    """
    lower = [word.lower() for word in words]
    end = len(words)
    for place in range(1, len(words)):
        word = lower[place]
        if word in lists.PREPOSITIONS or word in lists.BREAKS:
            if lower[place - 1] in ("the", "a", "an") and place + 1 < len(words):
                continue  # "the above mentioned man", "the, uh, faculty"
            end = place
            break
        if word in lists.CONJUNCTIONS and place + 1 < len(words) and _starts_phrase(words[place + 1]):
            end = place
            break
    while end > 1 and lower[end - 1] in ("'s", "’s", "'", "’"):
        end -= 1
    return end - 1


def _starts_phrase(word: str) -> bool:
    lower = word.lower()
    return lower in lists.DETERMINERS or lower in PRONOUNS or word[:1].isupper()


def _pronoun(lower: Sequence[str]) -> Pronoun | None:
    if len(lower) == 1:
        return PRONOUNS.get(lower[0].replace("’", "'"))
    return lists.RECIPROCAL if tuple(lower) in lists.RECIPROCALS else None


def _is_proper(sentence: Sequence[str], head: int, tree: Tree | None) -> bool:
    if tree is not None and tree.tags[head]:
        return tree.tags[head] == "PROPN"
    word = sentence[head]
    if not word[:1].isupper():
        return False
    lower = word.lower()
    if lower in lists.PERSON_NOUNS and lower not in lists.PERSON_TITLES:
        return False
    if head > 0 and sentence[head - 1] not in _QUOTES:
        return True
    # The first word of a sentence is always capitalized; a single word there that is in no list is treated as
    # a name.
    return lower not in lists.MALE_NOUNS | lists.FEMALE_NOUNS | lists.DETERMINERS and not is_plural(lower)


def _features(tree: Tree | None, head: int) -> dict[str, str]:
    if tree is None or "=" not in tree.features[head]:
        return {}
    return dict(part.split("=", 1) for part in tree.features[head].split("|") if "=" in part)


def agree(first: Traits, second: Traits) -> bool:
    """Return True if gender, number and person of two mentions agree; unknown values agree with all.

    Parameters
    ----------
    first, second
        Traits of the two mentions, from `traits`.

    Returns
    -------
    bool

    Examples
    --------
    >>> words = ["The", "king", "sent", "his", "sister", "home"]
    >>> mentions = [Mention(0, 0, 2), Mention(0, 3, 4), Mention(0, 3, 5)]
    >>> king, his, sister = traits(Document("d", [words], mentions))
    >>> agree(king, his), agree(his, sister)
    (True, False)
    """
    numbers = {first.number, second.number}
    if len(numbers - {"unknown"}) > 1:
        return False
    genders = {first.gender, second.gender} - {"unknown"}
    if "person" in genders and "neuter" not in genders:
        genders = set()
    persons = {first.person, second.person} - {0}
    return len(genders) <= 1 and len(persons) <= 1


def detect_mentions(document: Document, *, possessive_endings: bool = True) -> list[Mention]:
    """Detect the mentions of a parsed document.

    A mention is a noun phrase: the subtree of a noun, name, pronoun, number, or a verb or adjective used as a
    noun, in a tree with labels of Universal Dependencies (with or without subtypes). It includes relative
    clauses, but no prepositions, clauses around a predicate noun, appositions, parentheses, or punctuation at
    its ends. Names, possessives, nouns inside compounds, *here* and *there* are mentions; relative pronouns
    and expletive *it* and
    *there* are not. Each of several coordinated phrases is a mention, and so is the whole coordination.

    Parameters
    ----------
    document
        Document with trees.
    possessive_endings
        Include *'s* in mentions, as in GUM; LitBank does not include it.

    Returns
    -------
    list of Mention
        Mentions in the order of the text.

    Raises
    ------
    InputError
        If the document has no trees.

    Examples
    --------
    >>> words = ["The", "old", "queen", "slept"]
    >>> relations, tags = ["det", "amod", "nsubj", "root"], ["DET", "ADJ", "NOUN", "VERB"]
    >>> tree = Tree([3, 3, 4, 0], relations, words, tags, [""] * 4)
    >>> detect_mentions(Document("d", [words], trees=[tree]))
    [Mention(sentence=0, start=0, end=3)]
    """
    if document.trees is None:
        hint = "parse it with calibrant.structures.models.parsing.parse"
        raise InputError(f"document {document.name!r} has no trees", hint, code="parameter")
    return [
        Mention(number, start, end)
        for number, (words, tree) in enumerate(zip(document.sentences, document.trees, strict=True))
        for start, end in Sentence(words, tree, possessive_endings=possessive_endings).mentions()
    ]
