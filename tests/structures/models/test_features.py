"""Attributes of words: what each feature group sees, and that one word's attributes are its own affair."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import InputError
from calibrant.structures.models import FEATURE_GROUPS, FEATURE_SETS, Words, attribute_lists, feature_groups
from calibrant.structures.models.crf_attributes import NONE, FunctionAttributes, WordAttributes

ODD = [
    "",
    ":",
    "\\",
    "a:b=c",
    "\t",
    "\n",
    "a\n\nb",
    "\x00",
    "\u2028",
    "\N{GRINNING FACE}",
    "Σ",
    "İ",
    "\ud800",
    "=",
    "-",
]


def test_attributes_are_named_by_template_offset_and_value() -> None:
    first, second = attribute_lists([["Big", "dogs"]], ["word", "context"])[0]
    assert first == ["word=Big", "outside[-2]=", "outside[-1]=", "lower[1]=dogs", "outside[2]="]
    assert second == ["word=dogs", "outside[-2]=", "lower[-1]=big", "outside[1]=", "outside[2]="]


@pytest.mark.parametrize(
    ("group", "expected"),
    [
        ("word", ["word=Re-3d"]),
        ("lower", ["lower=re-3d"]),
        ("shape", ["shape=Xx-dx", "capital=yes", "digit=yes", "hyphen=yes"]),
        ("length", ["length=5"]),
        ("prefixes", ["prefix1=r", "prefix2=re", "prefix3=re-", "prefix4=re-3"]),
        ("suffixes", ["suffix1=d", "suffix2=3d", "suffix3=-3d", "suffix4=e-3d"]),
    ],
)
def test_each_group_sees_its_part_of_a_word(group: str, expected: list[str]) -> None:
    assert attribute_lists([["Re-3d"]], [group])[0][0] == expected


def test_a_short_word_has_no_longer_affixes() -> None:
    assert attribute_lists([["ab"]], ["prefixes", "suffixes"])[0][0] == [
        "prefix1=a",
        "prefix2=ab",
        "suffix1=b",
        "suffix2=ab",
    ]


def test_basic_is_the_word_alone_and_advanced_is_everything() -> None:
    assert attribute_lists([["so", "so"]], "basic") == [[["word=so"], ["word=so"]]]
    assert FEATURE_SETS["advanced"] == tuple(FEATURE_GROUPS)


@pytest.mark.parametrize(
    ("word", "shape"),
    [
        ("dog", "x"),
        ("McDonald's", "XxXx'x"),
        ("1,000", "d,d"),
        ("@you", "@x"),
        ("http://x.co/1a", "x://x.x/dx"),
        ("...", "..."),
        ("ÉTÉ", "X"),
        ("犬", "x"),
        ("a\nb", "x x"),
        ("", ""),
    ],
)
def test_shapes(word: str, shape: str) -> None:
    assert Words([word]).shape == [shape]


@given(st.lists(st.text(max_size=6) | st.sampled_from(ODD), min_size=1, max_size=8))
def test_a_words_attributes_do_not_depend_on_the_words_beside_it(words: list[str]) -> None:
    groups = feature_groups("advanced")
    for template in WordAttributes.learn(groups, [words]).templates:
        together = list(template.values(Words(words)))
        assert together == [template.values(Words([word]))[0] for word in words]


@given(
    st.lists(
        st.lists(st.sampled_from([*ODD, "dog", "Dogs"]), min_size=1, max_size=5), min_size=1, max_size=4
    ),
    st.sets(st.sampled_from(sorted(FEATURE_GROUPS)), min_size=1),
)
def test_rows_stand_for_the_same_attributes_as_the_strings_do(
    sentences: list[list[str]], groups: set[str]
) -> None:
    attributes = WordAttributes.learn(feature_groups(sorted(groups)), sentences)
    names: dict[str, str] = {}
    items = attributes.training_items(sentences)
    for rows, strings in zip(items, attribute_lists(sentences, sorted(groups)), strict=True):
        for token_rows, token_strings in zip(rows, strings, strict=True):
            assert len(set(token_rows)) == len(token_rows) == len(token_strings)
    for sentence in sentences:  # one row, one string, in every sentence
        rows = next(attributes.training_items([sentence]))
        strings = attribute_lists([sentence], sorted(groups))[0]
        by_offset = [sorted(token, key=_offset) for token in strings]
        for token_rows, token_strings in zip(rows, by_offset, strict=True):
            for row, string in zip(token_rows, token_strings, strict=True):
                assert names.setdefault(row, string) == string
    assert len(set(names.values())) == len(names)


def _offset(name: str) -> int:
    head = name.partition("=")[0]
    return int(head.partition("[")[2].rstrip("]") or 0)


def test_words_that_training_has_not_seen_have_only_the_attributes_that_it_has() -> None:
    attributes = WordAttributes.learn(("word", "suffixes"), [["walking"]])
    codes = attributes.codes(["walking", "talking", "xyz"])
    assert (codes[0] != NONE).all()
    assert (codes[1] == NONE).tolist() == [True, False, False, False, False]
    assert (codes[2] == NONE).all()


def test_only_drops_values_that_no_offset_uses() -> None:
    attributes = WordAttributes.learn(("word", "context"), [["a", "b"]])
    used = [row in (0, attributes.row_count - 1) for row in range(attributes.row_count)]
    fewer, rows = attributes.only(np.array(used))
    assert fewer.values == {"word": ["a"], "lower": [], "outside": [""]}
    assert rows[0] == 0
    assert rows[-1] == attributes.row_count - 1


@pytest.mark.parametrize("features", ["fancy", ["word", "fancy"], [], [3], 3, None])
def test_unknown_features_are_refused(features: Any) -> None:
    with pytest.raises(InputError, match=r"use one of basic, advanced, some of word, context"):
        feature_groups(features)


def test_attributes_can_be_copied() -> None:
    attributes = WordAttributes.learn(feature_groups("advanced"), [["dog"]])
    copy = deepcopy(attributes)
    assert copy.values == attributes.values
    assert (copy.codes(["dog", "do"]) == attributes.codes(["dog", "do"])).all()


def test_a_function_is_asked_for_the_attributes_of_each_token() -> None:
    attributes = FunctionAttributes.learn(lambda sentence: [[word, word] for word in sentence], [["a", "b"]])
    assert list(attributes.codes([["b", "c"]])) == [[1, 1], [NONE, NONE]]
