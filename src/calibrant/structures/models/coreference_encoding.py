"""Encoding of documents as integers for the kernels of coreference."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from types import MappingProxyType
from zlib import crc32

import numpy as np

from calibrant._checks import Integers
from calibrant.exceptions import InputError
from calibrant.structures._kernels import coreference_features as kernel
from calibrant.structures.documents import Document
from calibrant.structures.models._mention_words import PRONOUN_FORMS
from calibrant.structures.models.mentions import GENDERS, MENTION_TYPES, NUMBERS, Traits, traits

# Features of a single mention. Lexical features that are rare in training are replaced by their class.
LEXICAL = ("head", "first", "last", "before", "after", "string", "governor")
OWN = (*LEXICAL, "length", "gender", "number", "quoted", "relation")
# Features of one mention, and templates of pairs, in each group.
GROUPS: Mapping[str, tuple[tuple[str, ...], tuple[int, ...]]] = MappingProxyType(
    {
        "head": (("head",), ()),
        "edges": (("first", "last"), ()),
        "context": (("before", "after"), ()),
        "string": (("string",), ()),
        "length": (("length",), ()),
        "gender": (("gender",), (kernel.GENDERS,)),
        "number": (("number",), (kernel.NUMBERS,)),
        "distance": ((), (kernel.MENTION_DISTANCE, kernel.SENTENCE_DISTANCE)),
        "match": ((), (kernel.STRING_MATCH, kernel.HEAD_MATCH)),
        "containment": (
            (),
            (kernel.CONTAINED, kernel.CONTAINS, kernel.HEAD_CONTAINED, kernel.CONTAINS_HEAD),
        ),
        "nesting": ((), (kernel.NESTING,)),
        "speaker": ((), (kernel.SPEAKERS,)),
        "quotation": (("quoted",), (kernel.QUOTATIONS,)),
        "head pairs": ((), (kernel.HEAD_WORDS,)),
        "relation": (("relation",), (kernel.RELATIONS,)),
        "arc": ((), (kernel.ARC,)),
        "governor": (("governor",), ()),
        "rank": ((), (kernel.RANK, kernel.SUBJECT_RANK, kernel.REPEATED)),
        "parallel": ((), (kernel.PARALLEL,)),
    }
)
LATER = ("rank", "parallel")  # groups that models of earlier releases do not have
NEED_TREES = ("relation", "arc", "governor", *LATER)
ROLES = {"nsubj": kernel.SUBJECT, "obj": 2, "iobj": 2, "obl": 2, "nmod:poss": 3, "nmod:unmarked": 0}
LONGEST_QUOTATION = 300  # words; an unclosed quotation ends here
LONGEST = 20  # words; longer mentions are treated as this long
LARGEST_CODE = (1 << 32) - 1
NOTHING = -1
OPENING, CLOSING = frozenset(["``", "\u201c", '"']), frozenset(["''", "\u201d", '"'])


@lru_cache(maxsize=1 << 16)
def code_of(text: str) -> int:
    """Return a number for a text, the same on every machine, from 0 to `LARGEST_CODE`."""
    return crc32(text.encode(errors="replace"))


@lru_cache(maxsize=1 << 16)
def class_of_rare(word: str) -> int:
    """Return a number for the class of a rare word: capital or digit, and its last two letters."""
    shape = "X" if word[:1].isupper() else "d" if any(map(str.isdigit, word)) else "x"
    return code_of(f"rare {shape} {word[-2:].lower()}")


@dataclass(frozen=True)
class Encoded:
    """Document encoded as integers.

    Attributes
    ----------
    mentions
        (M, columns) values for the comparison of pairs.
    tokens
        (T,) words of all sentences.
    own
        (M, kinds of OWN) features of each mention; NOTHING if a feature is missing.
    rare
        (M, kinds of LEXICAL) codes that replace rare words.
    """

    mentions: Integers
    tokens: Integers
    own: Integers
    rare: Integers


def encode(document: Document, *, trees: bool, quotations: bool = True) -> Encoded:
    """Return a document with mentions as integers, with its trees or only its words.

    With ``quotations``, *I* and *you* have other forms inside quotations.
    """
    mentions = document.mentions or ()
    words = list(chain.from_iterable(document.sentences))
    tokens = np.fromiter((code_of(word.lower()) for word in words), np.int64, len(words))
    sentence_start = np.cumsum([0, *map(len, document.sentences)])
    spans = np.array(mentions, dtype=np.int64).reshape(-1, 3)
    mention_traits = traits(document, trees=trees)
    base = sentence_start[spans[:, 0]]
    table = np.full((len(spans), kernel.COLUMN_COUNT), NOTHING)
    start, end = base + spans[:, 1], base + spans[:, 2]
    head = base + np.array([of.head for of in mention_traits], dtype=np.int64)
    quoted = quotations_of(words)[start] if quotations else np.zeros(len(spans), np.int64)
    speakers: Iterable[str] = document.speakers or [""] * len(document.sentences)
    speaker = np.array([code_of(name) if name else NOTHING for name in speakers], dtype=np.int64)
    strings = np.empty(len(spans), np.int64)
    kernel.span_codes(tokens, start, end, strings)
    for column, values in (
        (kernel.SENTENCE, spans[:, 0]),
        (kernel.START, start),
        (kernel.END, end),
        (kernel.HEAD_PLACE, head),
        (kernel.TYPE, [MENTION_TYPES.index(of.type) for of in mention_traits]),
        (
            kernel.FORM,
            [_form(of, inside) for of, inside in zip(mention_traits, quoted.tolist(), strict=True)],
        ),
        (kernel.GENDER, [GENDERS.index(of.gender) for of in mention_traits]),
        (kernel.NUMBER, [NUMBERS.index(of.number) for of in mention_traits]),
        (kernel.SPEAKER, speaker[spans[:, 0]]),
        (kernel.QUOTATION, quoted),
        (kernel.PERSON, [of.person for of in mention_traits]),
        (kernel.STRING, strings),
        (kernel.HEAD, tokens[head]),
    ):
        table[:, column] = values
    own, rare = _own(words, tokens, table, base, sentence_start[spans[:, 0] + 1])
    if trees:
        _add_syntax(document, spans, mention_traits, table, own, rare, base)
    return Encoded(table, tokens, own, rare)


def _form(of: Traits, quotation: int) -> int:
    """Return a number for the pronoun's form, or for the type.

    Reflexive pronouns, and first and second persons in quotations, have separate numbers.
    """
    if of.pronoun is None:
        return MENTION_TYPES.index(of.type)
    quoted = quotation > 0 and of.person in (1, 2)
    form = 4 * PRONOUN_FORMS.index(of.pronoun.form) + 2 * quoted + of.pronoun.reflexive
    return len(MENTION_TYPES) + form


def quotations_of(words: Sequence[str]) -> Integers:
    """Return the number of each word's quotation, from 1, or 0 outside; closing marks are inside."""
    numbers = np.zeros(len(words), np.int64)
    number, length = 0, 0
    for place, word in enumerate(words):
        if length:
            numbers[place] = number
            length = 0 if word in CLOSING or length == LONGEST_QUOTATION else length + 1
        elif word in OPENING:
            number, length = number + 1, 1
            numbers[place] = number
    return numbers


def _own(
    words: Sequence[str], tokens: Integers, table: Integers, sentence_start: Integers, sentence_end: Integers
) -> tuple[Integers, Integers]:
    """Return the features of each mention, and the codes that replace its rare words."""
    outside = code_of("outside the sentence")
    token = np.append(tokens, outside)
    of_rare = np.append(np.fromiter(map(class_of_rare, words), np.int64, len(words)), outside)
    start, end = table[:, kernel.START], table[:, kernel.END]
    own = np.full((len(table), len(OWN)), NOTHING)
    rare = np.full((len(table), len(LEXICAL)), NOTHING)
    for name, place in (
        ("head", table[:, kernel.HEAD_PLACE]),
        ("first", start),
        ("last", end - 1),
        ("before", np.where(start == sentence_start, len(tokens), start - 1)),
        ("after", np.where(end == sentence_end, len(tokens), end)),
    ):
        column = OWN.index(name)
        own[:, column], rare[:, column] = token[place], of_rare[place]
    own[:, OWN.index("string")] = table[:, kernel.STRING] & LARGEST_CODE
    pronoun = table[:, kernel.TYPE] == kernel.PRONOUN
    for name, without in (
        ("first", pronoun),
        ("last", pronoun | (table[:, kernel.HEAD_PLACE] == end - 1)),
        ("string", pronoun),
    ):
        column = OWN.index(name)
        own[without, column] = rare[without, column] = NOTHING
    own[:, OWN.index("length")] = np.minimum(end - start, LONGEST)
    own[:, OWN.index("quoted")] = table[:, kernel.QUOTATION] > 0
    own[:, OWN.index("gender")] = table[:, kernel.GENDER]
    own[:, OWN.index("number")] = table[:, kernel.NUMBER]
    return own, rare


def _add_syntax(
    document: Document,
    spans: Integers,
    mention_traits: Sequence[Traits],
    table: Integers,
    own: Integers,
    rare: Integers,
    base: Integers,
) -> None:
    """Fill in the relation of each mention to its governor, the governor's word and part of speech."""
    trees = document.trees or ()
    for row, ((sentence, start, end), of) in enumerate(zip(spans.tolist(), mention_traits, strict=True)):
        tree = trees[sentence]
        top = of.head
        while start <= tree.heads[top] - 1 < end:
            top = tree.heads[top] - 1
        governor = tree.heads[top] - 1
        table[row, kernel.TOP_PLACE] = base[row] + top
        table[row, kernel.GOVERNOR_PLACE] = base[row] + governor if governor >= 0 else NOTHING
        table[row, kernel.RELATION] = own[row, OWN.index("relation")] = code_of(tree.relations[top])
        relation = tree.relations[top]
        table[row, kernel.ROLE] = ROLES.get(relation, ROLES.get(relation.partition(":")[0], 0))
        word, tag = "", ""
        if governor >= 0:
            word, tag = document.sentences[sentence][governor].lower(), tree.tags[governor]
        side = "before" if governor < start else "after"
        own[row, OWN.index("governor")] = code_of(f"{side} {word}")
        rare[row, LEXICAL.index("governor")] = code_of(f"rare {side} {tag}")


class Lexicon:
    """Words and strings that are frequent enough in training to have separate weights.

    Parameters
    ----------
    frequent
        Sorted codes of each kind of LEXICAL.
    """

    def __init__(self, frequent: Sequence[Integers]) -> None:
        self.frequent = tuple(frequent)

    @classmethod
    def learn(cls, documents: Iterable[Encoded], least: int) -> Lexicon:
        """Return the lexicon of words that occur at least ``least`` times."""
        own = np.concatenate([document.own for document in documents])
        frequent = []
        for column in range(len(LEXICAL)):
            codes, counts = np.unique(own[:, column], return_counts=True)
            frequent.append(codes[(counts >= least) & (codes != NOTHING)])
        return cls(frequent)

    def own_codes(self, document: Encoded, kinds: Sequence[int]) -> tuple[Integers, Integers]:
        """Return (M, kinds) codes of the mentions' features, and codes of frequent heads (else 0)."""
        own = document.own.copy()
        known = np.zeros(document.rare.shape, bool)
        for column, frequent in enumerate(self.frequent):
            if len(frequent):
                place = np.searchsorted(frequent, own[:, column])
                known[:, column] = frequent.take(place, mode="clip") == own[:, column]
        lexical = own[:, : len(LEXICAL)]
        lexical[~known] = document.rare[~known]
        code = np.empty((len(own), len(kinds)), np.int64)
        kernel.own_codes(np.ascontiguousarray(own[:, list(kinds)]), np.array(kinds, dtype=np.int64), code)
        head = LEXICAL.index("head")
        return code, np.where(known[:, head], document.own[:, head], 0)


def chosen_groups(features: str, without: Collection[str]) -> tuple[str, ...]:
    """Return the feature groups of a set except those in ``without``; raise an error for unknown ones."""
    available = [name for name in GROUPS if features == "syntax" or name not in NEED_TREES]
    unknown = [name for name in without if name not in available]
    if unknown:
        hint = f"choose from the groups of {features!r}: {', '.join(available)}"
        raise InputError(f"there is no feature group {unknown[0]!r} to leave out", hint, code="parameter")
    return tuple(name for name in available if name not in without)
