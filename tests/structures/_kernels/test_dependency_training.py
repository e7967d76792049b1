"""A step of the parser's training is the gradient of the likelihood of the tree."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant.structures._kernels import dependency_features, dependency_training
from calibrant.structures.models.dependency_encoding import encode, frequent_words, kind_of, refined
from calibrant.structures.posterior import DependencyPosterior
from tests.structures.treebank import treebank

BITS = 12


def test_a_step_is_the_gradient_of_the_likelihood_of_the_tree() -> None:
    one = treebank(1, seed=3)
    assert one.tags
    assert one.heads
    heads = np.array(one.heads[0])
    encoded = encode(one.sentences, one.tags, frequent_words(one.sentences, 1))
    gold = np.zeros(len(encoded.codes), np.int64)
    gold[encoded.words] = heads
    weight = np.random.default_rng(1).normal(0, 0.25, size=1 << BITS).astype(np.float32)
    n = len(one.sentences[0])

    def loss(of: np.ndarray) -> float:
        score = np.empty((n, n + 1))
        dependency_features.score_arcs(encoded.codes, encoded.kinds, BITS, of, 0, 0, score)
        return -float(DependencyPosterior(score).log_probability(heads)[0])

    after = weight.copy()
    squares, gradient, drift = np.zeros((3, len(weight)), np.float32)
    squares[:] = 1e16  # a step is then the rate times the slope, divided by the root
    marked, touched = np.zeros(len(weight), np.bool_), np.zeros(len(weight), np.int32)
    stated = dependency_training.train_arcs(
        encoded.codes, encoded.kinds, encoded.offsets, gold, np.zeros(1, np.int64), BITS, after, squares,
        gradient, drift, touched, marked, 1e8, 0.0, 0.0, 1, 1, 0, np.zeros(1, np.int64),
    )  # fmt: skip
    assert stated == pytest.approx(loss(weight), rel=1e-5)
    assert not gradient.any()
    assert not marked.any()
    slope = weight - after
    largest = np.argsort(-np.abs(slope))[:12]
    assert np.abs(slope[largest]).min() > 0.05
    for place in largest.tolist():
        up, down = weight.copy(), weight.copy()
        up[place] += 0.01
        down[place] -= 0.01
        # Slopes of less than a thousandth per arc are skipped.
        assert slope[place] == pytest.approx((loss(up) - loss(down)) / 0.02, abs=0.01)


def test_features_are_left_out_at_random() -> None:
    salts = np.arange(4000)
    left_out = [dependency_features.dropped(12345, int(salt) * 7919, 64) for salt in salts]
    assert np.mean(left_out) == pytest.approx(0.25, abs=0.03)


def test_kinds_of_words_follow_either_tagset() -> None:
    assert kind_of("VERB") == kind_of("VBD") == kind_of("AUX|Mood=Ind") == dependency_features.VERB
    assert kind_of("ADP") == kind_of("IN") == dependency_features.ADPOSITION
    assert kind_of(",") == kind_of("PUNCT") == dependency_features.PUNCTUATION
    assert kind_of("NOUN") == kind_of("CD") == dependency_features.OTHER


def test_words_know_their_context() -> None:
    words = [
        "that",
        "they",
        "have",
        "gone",
        "to",
        "Rome",
        ",",
        "and",
        "that",
        ",",
        "by",
        "chance",
        ",",
        "old",
        "kings",
        "left",
    ]
    tags = [
        "SCONJ",
        "PRON",
        "AUX",
        "VERB",
        "ADP",
        "PROPN",
        "PUNCT",
        "CCONJ",
        "SCONJ",
        "PUNCT",
        "ADP",
        "NOUN",
        "PUNCT",
        "ADJ",
        "NOUN",
        "VERB",
    ]
    encoded = encode([words], [tags], frequent_words([words], 1))
    of = {word: encoded.codes[row] for word, row in zip(words, encoded.words.tolist(), strict=True)}
    f = dependency_features
    assert of["gone"][f.CASE] == of["that"][f.WORD]  # the auxiliary is passed
    assert of["Rome"][f.CASE] == of["to"][f.WORD]
    assert of["kings"][f.CASE] == 0  # the comma is in between
    verbs = encoded.codes[encoded.words][:, [f.EARLIER, f.LATER]].tolist()
    assert verbs[0] == [0, 3]
    assert verbs[3] == [1, 1]
    assert verbs[-1] == [2, 0]
    commas = [
        encoded.codes[row, f.PAIRED] for row, word in zip(encoded.words, words, strict=True) if word == ","
    ]
    assert commas == [4, 5, 3]  # first of several, odd and followed by one, last
    joined = ["kings", "and", "old", "queens", "or", "dukes"]
    encoded = encode(
        [joined], [["NOUN", "CCONJ", "ADJ", "NOUN", "CCONJ", "NOUN"]], frequent_words([joined], 1)
    )
    row = encoded.words
    columns = encoded.codes[row][:, f.JOINED].tolist()
    form = encoded.codes[row][:, f.WORD].tolist()
    assert columns == [0, 0, form[1], form[1], form[1], form[4]]


def test_tags_of_punctuation_particles_and_interrogatives_are_refined() -> None:
    assert refined("PUNCT", ",") != refined("PUNCT", ".")
    assert refined("PART", "To") == refined("PART", "to") != refined("PART", "not")
    assert refined("PRON", "who") == refined("PRON", "what") != refined("PRON", "they")
    assert refined("NOUN", "what") == "NOUN"
