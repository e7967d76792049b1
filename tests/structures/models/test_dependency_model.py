"""The parser learns a small language; saved parsers parse as before; bad input is refused."""

from __future__ import annotations

import tracemalloc
from itertools import chain
from pathlib import Path

import numpy as np
import pytest

from calibrant.exceptions import FormatError, InputError
from calibrant.structures import TreeText, load_dependency_model, load_tagger, save_model
from calibrant.structures.models import DependencyModel
from tests.structures.treebank import treebank


def fitted(text: TreeText, **settings: float) -> DependencyModel:
    model = DependencyModel(**{"bits": 16, "label_bits": 10, "epochs": 3, **settings})  # type: ignore[arg-type]
    assert text.tags
    assert text.heads
    assert text.relations
    return model.fit(text.sentences, text.tags, text.heads, text.relations)


@pytest.fixture(scope="module")
def text() -> TreeText:
    return treebank(60)


@pytest.fixture(scope="module")
def model(text: TreeText) -> DependencyModel:
    return fitted(text)


def test_the_language_is_learned_and_its_ambiguity_is_uncertain(model: DependencyModel) -> None:
    test = treebank(200, seed=9)
    assert test.tags
    assert test.heads
    assert test.relations
    heads, relations = model.predict(test.sentences, test.tags)
    right = [own == gold for own, gold in zip(chain(*heads), chain(*test.heads), strict=True)]
    assert 0.93 < np.mean(right) < 1
    named = [own == gold for own, gold in zip(chain(*relations), chain(*test.relations), strict=True)]
    assert np.mean(named) > 0.93
    case = next(place for place, words in enumerate(test.sentences) if "with" in words)
    word = max(place for place, name in enumerate(test.relations[case]) if name in ("nmod", "obl"))
    marginals = model.posterior(test.sentences, test.tags).marginals()
    assert marginals[case][word].max() < 0.999
    assert np.mean([own.max(axis=1).min() < 0.9 for own in marginals]) > 0.1


def test_training_is_reproducible_and_depends_on_its_seed(text: TreeText, model: DependencyModel) -> None:
    assert text.tags
    own = model.scores(text.sentences[:3], text.tags[:3])[0]
    for same, other in zip(own, fitted(text).scores(text.sentences[:3], text.tags[:3])[0], strict=True):
        np.testing.assert_array_equal(same, other)
    assert fitted(text, seed=1).losses != model.losses
    assert fitted(text, dropout=0.5).losses == fitted(text, dropout=0.5).losses != model.losses
    assert model.losses[0] > model.losses[-1]


def test_a_saved_parser_parses_as_before(tmp_path: Path, text: TreeText, model: DependencyModel) -> None:
    assert text.tags
    path = tmp_path / "a.model"
    tempered = model.tempered(1.5, 2.0)
    tempered.trained_on = "a small language"
    save_model(tempered, path, column="upos")
    again = load_dependency_model(path)
    assert again.trained_on == "a small language"
    assert again.temperatures == (1.5, 2.0)
    for kept, loaded in zip(
        (*tempered.scores(text.sentences, text.tags)[0], *tempered.scores(text.sentences, text.tags)[1]),
        (*again.scores(text.sentences, text.tags)[0], *again.scores(text.sentences, text.tags)[1]),
        strict=True,
    ):
        np.testing.assert_array_equal(kept, loaded)
    save_model(again, tmp_path / "b.model", column="upos")
    assert path.read_bytes() == (tmp_path / "b.model").read_bytes()
    with pytest.raises(InputError, match=r"a\.model: this is a parser, not a tagger: .*tag train"):
        load_tagger(path)


def test_features_that_are_left_out_in_training_count_less(text: TreeText, model: DependencyModel) -> None:
    test = treebank(200, seed=9)
    assert test.tags
    assert test.heads
    found = fitted(text, dropout=0.5)
    heads, _ = found.predict(test.sentences, test.tags)
    right = [own == gold for own, gold in zip(chain(*heads), chain(*test.heads), strict=True)]
    assert np.mean(right) > 0.9


def test_temperatures_divide_potentials(text: TreeText, model: DependencyModel) -> None:
    assert text.tags
    arcs, labels = model.scores(text.sentences[:2], text.tags[:2])
    hot, flat = model.tempered(2.0, 4.0).scores(text.sentences[:2], text.tags[:2])
    np.testing.assert_allclose(hot[0][0, 0], arcs[0][0, 0] / 2)
    np.testing.assert_allclose(np.exp(flat[0]).sum(axis=2), 1)
    expected = labels[0] / 4
    np.testing.assert_allclose(flat[0], expected - np.logaddexp.reduce(expected, axis=2, keepdims=True))
    with pytest.raises(InputError, match="the temperature of arcs is 0"):
        model.tempered(0.0)


def test_a_sentence_of_300_words_takes_bounded_memory(model: DependencyModel) -> None:
    words = ["the", "dog", "sees", "Ann", "with", "birds"] * 50
    tags = ["DET", "NOUN", "VERB", "NOUN", "ADP", "NOUN"] * 50
    tracemalloc.start()
    arcs, _ = model.scores([words], [tags], labels=False)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 << 20
    assert np.isfinite(arcs[0]).sum() == 300 * 300


def test_bad_input_is_refused(text: TreeText, model: DependencyModel) -> None:
    assert text.tags
    given = [["I", "see"]], [["PRON", "VERB"]]
    for heads, message in (
        ([[2, 1]], "sentence 0: no word has the root"),
        ([[0, 0]], "sentence 0: 2 words have the root"),
        ([[2, 3]], r"sentence 0: the head of word 2 \(from 1\) is 3"),
        ([["2", "0"]], r"heads\[0\] are"),
        ([[0]], r"heads\[0\] has 1"),
    ):
        with pytest.raises(InputError, match=message):
            DependencyModel(bits=8).fit(*given, heads, [["nsubj", "root"]])  # type: ignore[arg-type]
    with pytest.raises(InputError, match="has no tokens"):
        model.posterior([[]], [[]])
    with pytest.raises(InputError, match="the model does not know the tag 'NN'"):
        model.posterior([["dogs"]] * 30, [["NN"]] * 30)
    assert model.posterior([["dogs"]], [["NN"]]).marginals()[0].tolist() == [[1.0, 0.0]]  # a rare tag
    with pytest.raises(InputError, match="not been trained"):
        DependencyModel().predict(*given)
    for settings, message in (({"bits": 40}, "bits is 40"), ({"dropout": 1.0}, "dropout is 1.0")):
        with pytest.raises(InputError, match=message):
            DependencyModel(**settings)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("arc_weight", np.zeros(3, np.float16)),
        ("label_weight", np.full((1 << 10, 7), np.nan, np.float16)),
        ("frequent", np.array([3, 2, 1])),
        ("relations", ["a", "a"]),
        ("temperatures", [0.0, 1.0]),
        ("bits", 99),
        ("losses", "x"),
    ],
    ids=lambda value: value if isinstance(value, str) else "wrong",
)
def test_damaged_states_are_refused(model: DependencyModel, name: str, value: object) -> None:
    with pytest.raises(FormatError, match="the model's state is damaged"):
        DependencyModel.from_state({**model.to_state(), name: value})
