"""Text that no tagger can be trained on, or tag, is refused by name of the sentence and the token."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from calibrant import InputError
from calibrant.structures.models import CRFTagger, HMMTagger

Make = Callable[[], Any]
MODELS = [HMMTagger, lambda: HMMTagger(unseen="classes"), lambda: CRFTagger(features="basic")]
SENTENCES: list[tuple[Any, str]] = [
    (None, "sentences is None: pass a list of sentences"),
    ((sentence for sentence in [["a"]]), "sentences is <generator"),
    ("a b", "sentences is 'a b'"),
    ({"a": ["b"]}, "sentences is {"),
    ([], "sentences is empty"),
    ([None], r"sentences\[0\] is None: pass each sentence as a list"),
    ([["a"], {"a"}], r"sentences\[1\] is {'a'}"),
    ([["a"], (token for token in "a")], r"sentences\[1\] is <generator"),
    (["a b"], r"sentences\[0\] is 'a b'"),
    ([b"ab"], r"sentences\[0\] is b'ab'"),
    ([["a"], []], r"sentences\[1\] has no tokens"),
    ([["a"], ["b", None]], r"sentences\[1\]\[1\] is None: pass strings"),
    ([["a"], ["b", ["c"]]], r"sentences\[1\]\[1\] is \['c'\]"),
    ([["a"], ["a", 3]], r"sentences\[1\]\[1\] is 3"),
]


@pytest.mark.parametrize("make", MODELS)
@pytest.mark.parametrize(("sentences", "message"), SENTENCES)
def test_sentences_are_lists_of_strings(make: Make, sentences: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make().fit(sentences, [["X"], ["X", "Y"]])
    with pytest.raises(InputError, match=message):
        make().fit([["a"]], [["X"]]).predict(sentences)


@pytest.mark.parametrize("make", MODELS)
@pytest.mark.parametrize(
    ("tags", "message"),
    [
        (None, "tags is None"),
        ((tag for tag in "ab"), "tags is <generator"),
        ([["X"]], "tags has 1 sentences and sentences has 2"),
        ([["X"], ["Y"]], r"sentences\[1\] has 2 tokens and tags\[1\] has 1"),
        ([["X"], {"X", "Y"}], r"tags\[1\] is {"),
        ([["X"], None], r"tags\[1\] is None"),
        ([["X"], ["Y", None]], r"tags\[1\]\[1\] is None"),
        ([["X"], ["Y", ["Z"]]], r"tags\[1\]\[1\] is \['Z'\]"),
        ([["X"], ["", "Y"]], r"tags\[1\]\[0\] is '': pass strings that are not empty"),
        ([["X"], ["Y", "\ud800"]], r"tags\[1\]\[1\] is '\\ud800'"),
    ],
)
def test_tags_are_one_string_a_token(make: Make, tags: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make().fit([["a"], ["b", "c"]], tags)


@pytest.mark.parametrize("make", MODELS)
@pytest.mark.parametrize("token", ["", "\ud800", "a\udfff"])
def test_what_no_file_can_hold_is_not_trained_on_but_tagged_as_any_unseen_word(
    make: Make, token: str
) -> None:
    with pytest.raises(InputError, match=r"sentences\[1\]\[1\] is .*: pass strings that are not empty"):
        make().fit([["a"], ["b", token]], [["X"], ["Y", "X"]])
    assert len(make().fit([["a"]], [["X"]]).predict([["a", token]])[0]) == 2


@pytest.mark.parametrize("make", MODELS)
def test_tuples_and_arrays_are_as_good_as_lists(make: Make) -> None:
    sentences, tags = [["a", "b"], ["b", "b"]], [["X", "Y"], ["Y", "Y"]]
    expected = make().fit(sentences, tags).posterior(sentences).marginals()
    for form in (tuple, np.array):
        model = make().fit(form(sentences), form(tags))
        np.testing.assert_array_equal(model.posterior(form(sentences)).marginals(), expected)
        assert model.predict(form(sentences)) == tags
