"""The rule baseline of coreference."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from calibrant.structures.documents import Document, Mention
from calibrant_studies._coreference_baseline import rule_antecedents


def antecedents(*sentences: str, speakers: Sequence[str] | None = None) -> list[int]:
    """Antecedents in sentences whose mentions are in brackets."""
    words: list[list[str]] = []
    mentions: list[list[int]] = []
    for number, sentence in enumerate(sentences):
        words.append([])
        for word in sentence.split():
            if word == "[":
                mentions.append([number, len(words[-1])])
            elif word == "]":
                next(of for of in reversed(mentions) if len(of) == 2).append(len(words[-1]))
            else:
                words[-1].append(word)
    document = Document("d", words, sorted(Mention(*of) for of in mentions), speakers=speakers)
    return list(map(int, rule_antecedents(document)))


CASES = {
    "the nearest equal head": (["[ the ship ] met [ a ship ]", "[ the old Ship ] sank"], [-1, 0, 1]),
    "names by their last part": (["[ Tom Sawyer ] and [ Tom Jones ]", "[ Mr. Sawyer ] left"], [-1, -1, 0]),
    "the nearest that agrees": (
        ["[ a king ] and [ a queen ] saw [ a ship ]", "[ he ] left"],
        [-1, -1, -1, 0],
    ),
    "plurals": (["[ the king ] bought [ ships ]", "[ they ] sank"], [-1, -1, 1]),
    "no agreement, no antecedent": (["[ the king ] left", "[ she ] stayed"], [-1, -1]),
    "a mention has no antecedent that contains it": (["[ the queen of [ her ] land ] slept"], [-1, -1]),
    "possessives go to what is outside": (["[ the queen ] saw [ [ her ] ship ]"], [-1, 0, -1]),
    "demonstratives are new": (["[ the ship ] sank", "[ this ] hurt"], [-1, -1]),
    "I is I": (["[ the king ] said [ I ] love [ you ]", "[ my ] ship sank"], [-1, -1, -1, 1]),
    "no mentions": (["it rains"], []),
}


@pytest.mark.parametrize("case", CASES)
def test_antecedents_follow_the_stated_rules(case: str) -> None:
    sentences, expected = CASES[case]
    assert antecedents(*sentences) == expected


def test_first_and_second_persons_are_looked_for_with_the_same_speaker() -> None:
    sentences = ["[ I ] see", "[ I ] hear", "[ I ] speak"]
    assert antecedents(*sentences) == [-1, 0, 1]
    assert antecedents(*sentences, speakers=["a", "b", "a"]) == [-1, -1, 0]
