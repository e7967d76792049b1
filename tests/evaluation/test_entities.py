"""Entity F1 and F1 of distinct surface forms, against the task's definition by sets."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant.evaluation import entity_sums, f_of, form_clusters, surface_sums
from calibrant.exceptions import InputError

TAGS = ["O", "B-x", "I-x", "B-y", "I-y"]


def by_definition(tags: list[str], sentence: list[int], tokens: list[str]) -> set[tuple[int, int, str, str]]:
    """Entities as the task's script has them: each token is or continues a phrase, also O."""
    phrases: list[list[int | str]] = []
    for place, tag in enumerate(tags):
        mark, kind = ("O", "O") if tag == "O" else tag.split("-")
        new = not place or sentence[place] != sentence[place - 1]
        if not new and mark == "I" and kind == phrases[-1][2]:
            phrases[-1][1] = place + 1
        else:
            phrases.append([place, place + 1, kind])
    return {(a, b, str(k), " ".join(tokens[int(a) : int(b)])) for a, b, k in phrases if k != "O"}  # type: ignore[misc]


def f1(correct: int, predicted: int, reference: int) -> float:
    return 2 * correct / (predicted + reference)


@pytest.mark.parametrize("seed", range(20))
def test_both_scores_are_those_of_the_sets_that_the_task_defines(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 40
    sentence = np.sort(rng.integers(0, 8, n)).tolist()
    tokens = rng.choice(["a", "b", "c"], n).tolist()
    gold, found = (rng.choice(TAGS, n, p=[0.4, 0.2, 0.2, 0.1, 0.1]).tolist() for _ in range(2))
    true, pred = (by_definition(tags, sentence, tokens) for tags in (gold, found))
    entity = f_of(entity_sums(gold, found, sentence).sum(axis=0)[None])[0]
    assert entity == pytest.approx(f1(len(true & pred), len(pred), len(true)))
    forms = [{each[2:] for each in some} for some in (true & pred, pred, true)]
    surface = f_of(surface_sums(gold, found, sentence, tokens).sum(axis=0)[None])[0]
    assert surface == pytest.approx(f1(*map(len, forms)))


def test_a_form_that_is_found_in_another_place_only_is_not_correct() -> None:
    gold, found = ["B-x", "O", "O"], ["O", "O", "B-x"]
    assert surface_sums(gold, found, [0, 0, 1], ["Ada", "met", "Ada"]).sum(axis=0).tolist() == [0, 1, 1]


def test_i_continues_its_own_type_in_its_own_sentence_only() -> None:
    gold = ["I-x", "I-x", "I-y", "I-y"]
    sums = entity_sums(gold, gold, [0, 0, 0, 1])
    assert np.flatnonzero(sums[:, 2]).tolist() == [0, 2, 3]


def test_groups_are_sentences_that_share_a_form_of_any_output() -> None:
    tokens, sentence = ["Ada", "Bob", "Ada", "Bob", "Cy"], [0, 1, 2, 3, 4]
    gold, found = ["B-x", "O", "B-x", "O", "B-x"], ["O", "B-x", "O", "B-y", "O"]
    assert form_clusters([gold], sentence, tokens).tolist() == [0, 1, 0, 2, 3]
    assert form_clusters([gold, found], sentence, tokens).tolist() == [0, 1, 0, 2, 3]  # types differ
    found[3] = "B-x"
    assert form_clusters([gold, found], sentence, tokens).tolist() == [0, 1, 0, 1, 2]


def test_the_sums_of_a_group_do_not_depend_on_where_a_form_is_counted() -> None:
    rng = np.random.default_rng(1)
    n = 200
    sentence, tokens = np.arange(n) // 5, rng.choice(list("abcdefghijklmnop"), n)
    gold, found = (rng.choice(TAGS, n, p=[0.9, 0.05, 0.02, 0.02, 0.01]) for _ in range(2))
    groups = form_clusters([gold, found], sentence, tokens)
    whole = surface_sums(gold, found, sentence, tokens)
    for group in np.unique(groups):
        kept = groups == group
        alone = surface_sums(gold[kept], found[kept], sentence[kept], tokens[kept])
        assert alone.sum(axis=0).tolist() == whole[kept].sum(axis=0).tolist()


@pytest.mark.parametrize("tag", ["X-person", "person", "B-", "-person", ""])
def test_another_tag_is_refused_with_its_row(tag: str) -> None:
    with pytest.raises(InputError, match="is not an entity tag") as caught:
        entity_sums(["O", tag], ["O", "O"], [0, 0])
    assert caught.value.row == 1
    with pytest.raises(InputError, match="sentences"):
        entity_sums(["O"], ["O", "O"], [0, 0])
