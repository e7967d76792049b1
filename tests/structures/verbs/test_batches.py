"""Batches of documents for workers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from calibrant.exceptions import InputError
from calibrant.structures.verbs.batches import batches_of, named_source, span
from calibrant.verbs.executors import workers_of


def test_items_are_cut_by_number_and_by_size() -> None:
    assert list(batches_of(range(7), 3)) == [[0, 1, 2], [3, 4, 5], [6]]
    words = ["aa", "b", "cccc", "d", "e", "f"]
    assert list(batches_of(words, 3, size=len, full=4)) == [["aa", "b", "cccc"], ["d", "e", "f"]]
    assert list(batches_of(words, 9, size=len, full=4)) == [["aa", "b", "cccc"], ["d", "e", "f"]]
    assert list(batches_of([], 3)) == []


def test_a_model_without_a_path_does_not_travel() -> None:
    with ThreadPoolExecutor(1) as executor, pytest.raises(InputError, match="model that has no path"):
        named_source(object(), workers_of(executor), "model")


def test_documents_of_a_batch_are_worded() -> None:
    assert span(["a"]) == "document 'a'"
    assert span(["a", "b", "c"]) == "the documents from 'a' to 'c'"
