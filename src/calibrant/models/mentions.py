"""Mentions: what their words and trees say of them, and where they are in a parsed text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from calibrant.documents import Document, Mention, Tree
from calibrant.models import _mention_words as lists
from calibrant.models._mention_words import PRONOUN_FORMS, PRONOUNS, Gender, Number, Pronoun

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
    "head_by_rule",
    "head_of",
    "traits",
]

MentionType = Literal["pronoun", "proper", "nominal"]
MENTION_TYPES: tuple[MentionType, ...] = ("pronoun", "proper", "nominal")
GENDERS: tuple[Gender, ...] = ("masculine", "feminine", "neuter", "person", "unknown")
NUMBERS: tuple[Number, ...] = ("singular", "plural", "unknown")

_FEATURE_GENDERS: dict[str, Gender] = {"Masc": "masculine", "Fem": "feminine", "Neut": "neuter"}
_FEATURE_NUMBERS: dict[str, Number] = {"Sing": "singular", "Plur": "plural", "Ptan": "plural"}
_NAME_PARTS = ("flat", "goeswith")
_QUOTES = frozenset("\"'`“”‘’([{-–—") | {"``", "''", "--"}


class Traits(NamedTuple):
    """What the words, and the tree where there is one, say of a mention.

    Attributes
    ----------
    head
        The place of the head word in the mention's sentence, from 0. Of a name in several parts, the last
        part: *Sawyer* of *Tom Sawyer* and of *Mr. Sawyer*.
    type
        ``pronoun``, ``proper`` or ``nominal``.
    gender
        ``person``: a person, and not known whether man or woman.
    number
        ``singular``, ``plural`` or ``unknown``.
    person
        1, 2 or 3 of personal pronouns, 3 of names and nominals, 0 of other pronouns.
    pronoun
        What the pronoun's form says; None for names and nominals.
    """

    head: int
    type: MentionType
    gender: Gender
    number: Number
    person: int
    pronoun: Pronoun | None


def traits(document: Document, *, trees: bool = True) -> list[Traits]:
    """Describe each mention of a document.

    With trees the head is the word whose own head lies outside the mention, and parts of speech and features
    come before word lists. Without, rules over words, capitals and suffixes decide.

    Parameters
    ----------
    document
        With mentions.
    trees
        Whether to use its trees, if it has them.

    Returns
    -------
    list of Traits
        One a mention.

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
    of: MentionType = "proper" if _is_proper(sentence, mention, head, tree) else "nominal"
    features = _features(tree, head)
    gender = _FEATURE_GENDERS.get(features.get("Gender", "")) or _gender(words, head - mention.start, of)
    number = _number(words, head - mention.start, of, features)
    return Traits(head, of, gender, number, 3, None)


def head_of(tree: Tree, mention: Mention) -> int:
    """Find the head word of a mention: the first whose own head lies outside.

    Punctuation, conjunctions and prepositions are heads only where there is nothing else: *, the king* has
    the head *king*, however a parser attached the comma.

    Parameters
    ----------
    tree
        Of the mention's sentence.
    mention
        The stretch of words.

    Returns
    -------
    int
        The word's place in the sentence, from 0.

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
    """The last part of a name whose first part is the head."""
    for place in range(mention.end - 1, head, -1):
        if tree.heads[place] == head + 1 and tree.relations[place].partition(":")[0] in _NAME_PARTS:
            return place
    return head


def head_by_rule(words: Sequence[str]) -> int:
    """Guess the head word of an English noun phrase from its words alone.

    It is the last word before the first preposition, relative pronoun, verb form of *be*, *have* or *do*,
    or punctuation; before a conjunction, if a new noun phrase follows it. A final *'s* is left out.

    Parameters
    ----------
    words
        Of the mention.

    Returns
    -------
    int
        The word's place in the mention, from 0.

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


def _is_proper(sentence: Sequence[str], mention: Mention, head: int, tree: Tree | None) -> bool:
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
    # The first word of a sentence has a capital anyway: a lone one that no list knows passes as a name.
    return lower not in lists.MALE_NOUNS | lists.FEMALE_NOUNS | lists.DETERMINERS and not _is_plural(lower)


def _features(tree: Tree | None, head: int) -> dict[str, str]:
    if tree is None or "=" not in tree.features[head]:
        return {}
    return dict(part.split("=", 1) for part in tree.features[head].split("|") if "=" in part)


def _gender(lower: Sequence[str], head: int, of: MentionType) -> Gender:
    word = lower[head]
    named = _gender_of_name(lower[: head + 1]) if of == "proper" else None
    if named is not None:
        return named
    if word in lists.MALE_NOUNS or word.endswith(("sman", "rman", "yman", "eman", "dman", "kman", "tman")):
        return "masculine"
    if word in lists.FEMALE_NOUNS or word.endswith(("woman", "women")):
        return "feminine"
    if word in lists.PERSON_NOUNS or word.endswith((*lists.PERSON_SUFFIXES, "men")):
        return "person"
    if of == "nominal" and word.endswith(lists.NEUTER_SUFFIXES):
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


def _number(lower: Sequence[str], head: int, of: MentionType, features: dict[str, str]) -> Number:
    if _is_coordination(lower, head):
        return "plural"
    if features.get("Number") in _FEATURE_NUMBERS:
        return _FEATURE_NUMBERS[features["Number"]]
    if lower[0] in lists.PLURAL_DETERMINERS:
        return "plural"
    if lower[0] in lists.SINGULAR_DETERMINERS:
        return "singular"
    if of == "proper":
        return "plural" if lower[0] == "the" and _is_plural(lower[head]) else "singular"
    return "plural" if _is_plural(lower[head]) else "singular"


def _is_coordination(lower: Sequence[str], head: int) -> bool:
    """Whether another phrase is joined to the head: *Tom and his aunt*, not *the king of A and B*."""
    for place in range(head + 1, len(lower) - 1):
        if lower[place] in ("and", "&"):
            return True
        if lower[place] in lists.PREPOSITIONS or (lower[place] in lists.BREAKS and lower[place] != ","):
            return False
    return False


def _is_plural(lower: str) -> bool:
    if lower in lists.IRREGULAR_PLURALS:
        return True
    if lower in lists.SINGULARS_IN_S or len(lower) < 4:
        return False
    return lower.endswith("s") and not lower.endswith(("ss", "us", "is", "'s", "’s"))


def agree(first: Traits, second: Traits) -> bool:
    """Whether gender, number and person let two mentions be the same; what is not known agrees with all.

    Parameters
    ----------
    first, second
        As `traits` gives them.

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
