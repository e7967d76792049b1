"""Traits of mentions, from words alone and from trees."""

from __future__ import annotations

import pytest

from calibrant.structures.documents import Document, Mention, Tree
from calibrant.structures.models.mentions import PRONOUN_FORMS, PRONOUNS, agree, head_by_rule, head_of, traits

HEADS = {
    "the old queen of Spain": "queen",
    "Tom Sawyer": "Sawyer",
    "Tom and his aunt": "Tom",
    "a man who sleeps": "man",
    "the king 's": "king",
    "one of the men": "one",
    "those around him": "those",
    "The Hague": "Hague",
    "black and white horses": "horses",
}


@pytest.mark.parametrize("phrase", HEADS)
def test_the_rule_finds_the_head_of_a_noun_phrase(phrase: str) -> None:
    words = phrase.split()
    assert words[head_by_rule(words)] == HEADS[phrase]


def test_the_head_in_a_tree_is_the_word_whose_head_lies_outside() -> None:
    # ", the king of Spain": the comma hangs on the verb, as king does
    tree = Tree(
        [6, 3, 6, 5, 3, 0],
        ["punct", "det", "nsubj", "case", "nmod", "root"],
        [""] * 6,
        ["PUNCT", "DET", "NOUN", "ADP", "PROPN", "VERB"],
        [""] * 6,
    )
    assert head_of(tree, Mention(0, 0, 5)) == 2
    assert head_of(tree, Mention(0, 4, 5)) == 4
    assert head_of(tree, Mention(0, 0, 1)) == 0


def test_the_head_of_a_name_in_parts_is_its_last_part() -> None:
    tree = Tree([3, 1, 0], ["nsubj", "flat", "root"], [""] * 3, ["PROPN", "PROPN", "VERB"], [""] * 3)
    document = Document("d", [["Mrs.", "Smith", "left"]], [Mention(0, 0, 2)], trees=[tree])
    assert traits(document)[0].head == 1
    assert traits(document)[0].gender == "feminine"


def one(phrase: str) -> tuple[str, str, str, int]:
    words = ["Now", *phrase.split()]
    found = traits(Document("d", [words], [Mention(0, 1, len(words))]))[0]
    return found.type, found.gender, found.number, found.person


TRAITS = {
    "himself": ("pronoun", "masculine", "singular", 3),
    "our": ("pronoun", "person", "plural", 1),
    "each other": ("pronoun", "unknown", "plural", 3),
    "Mr. Darcy": ("proper", "masculine", "singular", 3),
    "Aunt Polly": ("proper", "feminine", "singular", 3),
    "Dr. Zyx": ("proper", "person", "singular", 3),
    "London": ("proper", "unknown", "singular", 3),
    "the United States": ("proper", "unknown", "plural", 3),
    "her good intention": ("nominal", "neuter", "singular", 3),
    "two fishermen": ("nominal", "person", "plural", 3),
    "a fisherman": ("nominal", "masculine", "singular", 3),
    "many sheep": ("nominal", "unknown", "plural", 3),
    "the news": ("nominal", "unknown", "singular", 3),
    "the boy and the girl": ("nominal", "masculine", "plural", 3),
}


@pytest.mark.parametrize("phrase", TRAITS)
def test_traits_follow_from_words(phrase: str) -> None:
    assert one(phrase) == TRAITS[phrase]


def test_features_of_a_tree_come_before_word_lists() -> None:
    tree = Tree([2, 0], ["det", "root"], ["", ""], ["DET", "NOUN"], ["", "Gender=Fem|Number=Plur"])
    document = Document("d", [["the", "chair"]], [Mention(0, 0, 2)], trees=[tree])
    assert traits(document)[0][2:4] == ("feminine", "plural")
    assert traits(document, trees=False)[0][2:4] == ("unknown", "singular")


def test_a_pronoun_form_used_as_a_noun_in_the_tree_is_no_pronoun() -> None:
    tree = Tree([0], ["root"], [""], ["NOUN"], [""])
    document = Document("d", [["Mine"]], [Mention(0, 0, 1)], trees=[tree])
    assert traits(document)[0].type == "nominal"
    assert traits(document, trees=False)[0].type == "pronoun"


def test_all_cases_of_a_pronoun_share_one_form() -> None:
    assert {PRONOUNS[word].form for word in ("he", "him", "his", "himself")} == {"he"}
    assert {PRONOUNS[word].form for word in ("thou", "thee", "thy", "thyself")} == {"thou"}
    assert set(PRONOUN_FORMS) >= {word.form for word in PRONOUNS.values()}


PAIRS = {
    "king-he": ("the king", "he", True),
    "king-she": ("the king", "she", False),
    "king-it": ("the king", "it", False),
    "king-they": ("the king", "they", False),
    "teacher-she": ("the teacher", "she", True),
    "friend-it": ("a friend", "it", False),
    "I-he": ("I", "he", False),
    "I-my": ("I", "my", True),
    "kings-they": ("three kings", "they", True),
    "everybody-who": ("everybody", "who", True),
}


@pytest.mark.parametrize("pair", PAIRS)
def test_agreement(pair: str) -> None:
    first, second, expected = PAIRS[pair]
    words = [*first.split(), *second.split()]
    cut = len(first.split())
    found = traits(Document("d", [words], [Mention(0, 0, cut), Mention(0, cut, len(words))]))
    assert agree(*found) is expected
    assert agree(*reversed(found)) is expected
