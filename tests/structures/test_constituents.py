"""Parse bits become constituents, and constituents become dependency trees that fit their sentences."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.exceptions import InputError
from calibrant.structures.constituents import Constituent, constituents, dependencies
from calibrant.structures.documents import check_tree
from tests.quantities import defined


def converted(text: str) -> list[tuple[str, int, str]]:
    """Words, heads and relations of a sentence in Penn brackets such as ``(S (NP (NN dog)) ...)``."""
    words: list[str] = []
    tags: list[str] = []
    bits: list[str] = []
    pending = ""
    for piece in text.replace(")", " ) ").split():
        if piece == ")":
            bits[-1] += ")"
        elif piece.startswith("("):
            pending += piece
        else:
            before, _, tag = pending.rpartition("(")
            words.append(piece)
            tags.append(tag)
            bits.append(f"{before}*")
            pending = ""
    # Each word's own bracket closes right after it.
    bits = [bit.replace(")", "", 1) for bit in bits]
    root = defined(constituents(bits, tags))
    tree = dependencies(root, words, tags)
    return list(zip(words, tree.heads, tree.relations, strict=True))


def test_subject_object_and_a_phrase_with_a_preposition() -> None:
    found = converted(
        "(S (NP (DT The) (NN man)) (VP (VBD saw) (NP (PRP her)) (PP (IN in) (NP (NN town)))) (. .))"
    )
    assert found == [
        ("The", 2, "det"),
        ("man", 3, "nsubj"),
        ("saw", 0, "root"),
        ("her", 3, "obj"),
        ("in", 6, "case"),
        ("town", 3, "obl"),
        (".", 3, "punct"),
    ]


def test_a_passive_with_an_auxiliary_hangs_on_the_participle() -> None:
    found = converted("(S (NP (NNP Rome)) (VP (VBD was) (VP (VBN taken) (PP (IN by) (NP (NNPS Goths))))))")
    assert [(head, relation) for _, head, relation in found] == [
        (3, "nsubj:pass"),
        (3, "aux:pass"),
        (0, "root"),
        (5, "case"),
        (3, "obl"),
    ]


def test_the_predicate_of_a_copula_is_the_head() -> None:
    found = converted(
        "(S (NP (PRP She)) (VP (VBZ is) (NP (NP (DT the) (NN queen)) (PP (IN of) (NP (NNP Spain))))))"
    )
    assert [(head, relation) for _, head, relation in found] == [
        (4, "nsubj"),
        (4, "cop"),
        (4, "det"),
        (0, "root"),
        (6, "case"),
        (4, "nmod"),
    ]


def test_the_first_of_coordinated_words_and_phrases_is_the_head() -> None:
    words = converted("(NP (JJ old) (NNS cats) (, ,) (NNS dogs) (CC and) (NNS birds))")
    assert [(head, relation) for _, head, relation in words] == [
        (2, "amod"),
        (0, "root"),
        (2, "punct"),
        (2, "conj"),
        (6, "cc"),
        (2, "conj"),
    ]
    phrases = converted("(NP (NP (NNP Tom)) (CC and) (NP (PRP$ his) (NN aunt)))")
    assert [(head, relation) for _, head, relation in phrases] == [
        (0, "root"),
        (4, "cc"),
        (4, "nmod:poss"),
        (1, "conj"),
    ]


def test_a_possessor_an_apposition_and_a_relative_clause_hang_on_the_noun() -> None:
    found = converted(
        "(NP (NP (NP (NNP Ann) (POS 's)) (NN dog)) (, ,) (NP (DT a) (NN spaniel)) (, ,) "
        "(SBAR (WHNP (WDT which)) (S (VP (VBZ barks)))))"
    )
    assert [(word, head, relation) for word, head, relation in found if relation != "punct"] == [
        ("Ann", 3, "nmod:poss"),
        ("'s", 1, "case"),
        ("dog", 0, "root"),
        ("a", 6, "det"),
        ("spaniel", 3, "appos"),
        ("which", 9, "nsubj"),
        ("barks", 3, "acl:relcl"),
    ]


def test_clauses_and_infinitives_have_their_markers() -> None:
    found = converted(
        "(S (NP (PRP He)) (VP (VBD said) (SBAR (IN that) (S (NP (PRP he)) (VP (VBD wanted) "
        "(S (VP (TO to) (VP (VB go)))))))))"
    )
    assert [(word, head, relation) for word, head, relation in found] == [
        ("He", 2, "nsubj"),
        ("said", 0, "root"),
        ("that", 5, "mark"),
        ("he", 5, "nsubj"),
        ("wanted", 2, "ccomp"),
        ("to", 7, "mark"),
        ("go", 5, "xcomp"),
    ]


def test_functions_are_no_part_of_a_label() -> None:
    root = defined(constituents(["(TOP(NP-SBJ-1*", "*))"], ["DT", "NN"]))
    assert [each.label for each in root.walk() if each.children] == ["TOP", "TOP", "NP"]


@pytest.mark.parametrize("bits", [["*", "*"], ["-", "-"], ["_", "_"], []])
def test_a_sentence_without_brackets_has_no_constituents(bits: list[str]) -> None:
    assert constituents(bits, ["NN"] * len(bits)) is None


@pytest.mark.parametrize(
    ("bits", "row", "message"),
    [
        (["(S*", "*"], 0, "the constituent S is opened but not closed"),
        (["(S*", "*))"], 1, "closes a constituent that is not open"),
        (["(S*", "x)"], 1, "cannot be read"),
        (["(S*", ")"], 1, "cannot be read"),
        (["(S**", "*)"], 0, "cannot be read"),
        (["(" * 3 + "*", "*"], 0, "cannot be read"),
        (["(S" * 600 + "*", "*" + ")" * 600], 0, "cannot be read"),
    ],
)
def test_broken_bits_name_the_word(bits: list[str], row: int, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        constituents(bits, ["NN"] * len(bits))
    assert caught.value.row == row


LABELS = ["S", "NP", "VP", "PP", "SBAR", "SQ", "SBARQ", "SINV", "ADJP", "ADVP", "WHNP", "PRN", "FRAG", "UCP"]
LABELS += ["QP", "X", "NML", "CONJP"]
TAGS = ["NN", "NNP", "NNS", "DT", "JJ", "VBZ", "VBN", "VB", "MD", "TO", "IN", "CC", ",", ".", "POS", "PRP"]
TAGS += ["PRP$", "CD", "RB", "WDT", "WP", "EX", "UH", ":", "-LRB-", "?"]
WORDS = ["is", "was", "has", "dog", "not", "that", "something", "'s", "been", "today"]


@st.composite
def sentences(draw: st.DrawFn) -> tuple[list[str], list[str], list[str]]:
    """Words, tags and the bits of a random tree over them."""
    count = draw(st.integers(1, 9))
    before, after = [""] * count, [""] * count
    for _ in range(draw(st.integers(1, 8))):
        start = draw(st.integers(0, count - 1))
        end = draw(st.integers(start, count - 1))
        before[start] = f"({draw(st.sampled_from(LABELS))}" + before[start]
        after[end] += ")"
    tags = draw(st.lists(st.sampled_from(TAGS), min_size=count, max_size=count))
    words = draw(st.lists(st.sampled_from(WORDS), min_size=count, max_size=count))
    return words, tags, [f"{one}*{other}" for one, other in zip(before, after, strict=True)]


@given(sentences())
def test_every_tree_of_brackets_becomes_a_dependency_tree(
    sentence: tuple[list[str], list[str], list[str]],
) -> None:
    words, tags, bits = sentence
    try:
        root = constituents(bits, tags)
    except InputError:
        return  # spans that cross each other give brackets that close too early
    assert root is not None
    tree = dependencies(root, words, tags)
    check_tree(tree, len(words), "the sentence")
    assert tree.heads.count(0) == 1
    _assert_phrases_have_one_head(root, list(tree.heads))


def _assert_phrases_have_one_head(root: Constituent, heads: list[int]) -> None:
    """In each phrase exactly one word depends on a word outside."""
    for phrase in root.walk():
        inside = range(phrase.start + 1, phrase.end + 1)
        assert sum(heads[place - 1] not in inside for place in inside) == 1
