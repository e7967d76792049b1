from __future__ import annotations

import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

from calibrant import InputError
from calibrant.structures.models import PSEUDOCOUNTS, Candidate, HMMTagger, choose, token_accuracy

DEV = [["a", "b", "c"], ["d"]]
GOLD = [["X", "Y", "X"], ["Y"]]


class Parrot:
    """Gives every token but the first few the tag "Y"; remembers what it was trained on."""

    def __init__(self, right: int) -> None:
        self.right = right
        self.trained: object = None

    def fit(self, sentences: object, tags: object) -> None:
        self.trained = (sentences, tags)

    def predict(self, sentences: object) -> list[list[str]]:
        assert sentences is DEV
        flat = ["X", "Y", "X", "Y"][: self.right] + ["?"] * (4 - self.right)
        return [flat[:3], flat[3:]]


def test_the_most_accurate_setting_wins_and_of_equal_ones_the_first() -> None:
    seen: list[Candidate] = []
    choice = choose(lambda n: Parrot(n % 4), [1, 3, 7, 2], [["w"]], [["X"]], DEV, GOLD, progress=seen.append)
    assert choice.setting == 3
    assert choice.accuracy == 0.75
    assert choice.model.right == 3
    assert choice.model.trained == ([["w"]], [["X"]])
    assert [candidate.accuracy for candidate in choice.candidates] == [0.25, 0.75, 0.75, 0.5]
    assert tuple(seen) == choice.candidates
    assert choice.to_rows()[1] == {"setting": 3, "accuracy": 0.75, "tokens": 4}


def test_the_chosen_pseudocount_is_the_best_of_the_grid() -> None:
    train = [["a", "b"], ["a", "c"], ["b"]], [["X", "Y"], ["X", "Y"], ["Y"]]
    choice = choose(lambda value: HMMTagger(pseudocount=value), PSEUDOCOUNTS, *train, *train)
    accuracies = [
        token_accuracy(train[1], HMMTagger(pseudocount=a).fit(*train).predict(train[0])) for a in PSEUDOCOUNTS
    ]
    assert [candidate.accuracy for candidate in choice.candidates] == accuracies
    assert choice.setting == PSEUDOCOUNTS[accuracies.index(max(accuracies))]
    assert choice.model.pseudocount == choice.setting


def test_pseudocounts_come_from_large_to_small() -> None:
    assert list(PSEUDOCOUNTS) == sorted(PSEUDOCOUNTS, reverse=True)
    assert (PSEUDOCOUNTS[0], PSEUDOCOUNTS[-1]) == (10, 1e-6)


TRAIN = [["a", "b"], ["a", "c"], ["b"], ["c", "a"]], [["X", "Y"], ["X", "Y"], ["Y"], ["X", "X"]]


MAKE = """
from calibrant.structures.models import CRFTagger

def unigram_crf(l2):
    return CRFTagger(features="basic", l2=l2)
"""


def test_processes_find_what_is_found_without_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "made_here.py").write_text(MAKE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    unigram_crf = import_module("made_here").unigram_crf
    seen: list[Candidate] = []
    alone = choose(unigram_crf, [10.0, 1.0, 0.1], *TRAIN, *TRAIN)
    with ProcessPoolExecutor(2, get_context("spawn")) as executor:
        choice = choose(
            unigram_crf, [10.0, 1.0, 0.1], *TRAIN, *TRAIN, progress=seen.append, executor=executor
        )
    assert (choice.setting, choice.candidates) == (alone.setting, alone.candidates)
    assert tuple(seen) == alone.candidates
    marginals = alone.model.posterior(TRAIN[0]).marginals()
    np.testing.assert_array_equal(choice.model.posterior(TRAIN[0]).marginals(), marginals)


def test_an_error_in_one_of_several_ends_the_choice() -> None:
    begun: list[int] = []

    def make(n: int) -> Parrot:
        begun.append(n)
        if n == 1:
            raise InputError("no such parrot")
        time.sleep(0.01)
        return Parrot(n % 4)

    with ThreadPoolExecutor(1) as executor, pytest.raises(InputError, match="no such parrot"):
        choose(make, [0, 1, *range(2, 200)], [["w"]], [["X"]], DEV, GOLD, executor=executor)
    assert begun[:2] == [0, 1]
    assert len(begun) < 200


def test_nothing_to_choose_from_is_an_error() -> None:
    with pytest.raises(InputError, match="there are no settings"):
        choose(lambda n: Parrot(n), [], [["w"]], [["X"]], DEV, GOLD)


def test_bad_held_out_sentences_are_named_before_any_training() -> None:
    def never(_: int) -> Parrot:
        raise AssertionError

    with pytest.raises(InputError, match="dev_sentences is empty"):
        choose(never, [1], [["w"]], [["X"]], [], [])
    with pytest.raises(InputError, match=r"dev_sentences\[1\] has 1 tokens and dev_tags\[1\] has 2"):
        choose(never, [1], [["w"]], [["X"]], DEV, [GOLD[0], ["X", "Y"]])


def test_accuracy_is_the_share_of_right_tokens() -> None:
    assert token_accuracy(GOLD, [["X", "X", "X"], ["Y"]]) == 0.75
    with pytest.raises(InputError, match=r"gold\[1\] has 1 tokens and predicted\[1\] has 2"):
        token_accuracy(GOLD, [["X", "X", "X"], ["Y", "Y"]])
