from __future__ import annotations

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB

from calibrant import InputError
from calibrant_studies.text_classifiers import KINDS, Kind, UnigramClassifier, tweet_tokenizer, words

TEXTS = ["good good day", "so good", "not so bad", "bad day", "a bad bad film", "the film is good"]
LABELS = [1, 1, 1, 0, 0, 1]
NEW = ["good film", "bad film", "nothing known", "good bad"]


@pytest.mark.parametrize("strength", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("kind", KINDS)
def test_predictions_are_those_of_scikit_learn(kind: Kind, strength: float) -> None:
    vectorizer = CountVectorizer(binary=True, tokenizer=words, token_pattern=None)
    features = vectorizer.fit_transform(TEXTS)
    reference = (
        BernoulliNB(alpha=strength, binarize=None)
        if kind == "naive_bayes"
        else LogisticRegression(C=strength, tol=1e-8, max_iter=5000)
    ).fit(features, LABELS)
    expected = reference.predict_proba(vectorizer.transform(NEW))[:, 1]
    found = UnigramClassifier(kind, strength=strength).fit(TEXTS, LABELS).predict_proba(NEW)
    np.testing.assert_allclose(found, expected, rtol=1e-6 if kind == "logistic_regression" else 1e-12)


def test_naive_bayes_matches_a_hand_computation() -> None:
    model = UnigramClassifier("naive_bayes", strength=1.0).fit(["x", "x", "y", "y"], [1, 1, 0, 0])
    # P(x | 1) = 3/4 = P(y | 0), P(x | 0) = 1/4: present x and absent y each multiply the odds by 3.
    assert model.predict_proba(["x"])[0] == pytest.approx(9 / 10)
    assert model.predict_proba(["x y"])[0] == pytest.approx(1 / 2)


@pytest.mark.parametrize("kind", KINDS)
def test_training_twice_gives_the_same_model_to_the_last_bit(kind: Kind) -> None:
    first, second = (UnigramClassifier(kind).fit(TEXTS, LABELS) for _ in range(2))
    assert np.array_equal(first.coef, second.coef)
    assert first.intercept == second.intercept


@pytest.mark.parametrize("kind", KINDS)
def test_the_order_and_number_of_a_texts_words_do_not_matter(kind: Kind) -> None:
    model = UnigramClassifier(kind).fit(TEXTS, LABELS)
    once, twice = model.predict_proba(["good film", "film good film"])
    assert once == twice


def test_the_tweet_tokenizer_needs_no_downloaded_data_and_keeps_emoticons() -> None:
    assert tweet_tokenizer()("I'm SO happy :-D #yay @you http://a.b/c") == [
        *("i'm", "so", "happy", ":-D", "#yay", "@you", "http://a.b/c"),
    ]


@pytest.mark.parametrize(
    ("texts", "labels", "message"),
    [
        (["a", "b"], [1], r"shape \(1,\) for 2 texts"),
        (["a", "b"], [1, 1], "both must occur"),
        (["a", "b"], [1, 2], "labels must be 0 and 1"),
        (["", " "], [0, 1], "no text has a token"),
    ],
)
def test_bad_training_data_are_refused(texts: list[str], labels: list[int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        UnigramClassifier("naive_bayes").fit(texts, labels)


@pytest.mark.parametrize("strength", [0.0, -1.0, float("nan"), float("inf")])
def test_a_strength_must_be_finite_and_above_zero(strength: float) -> None:
    with pytest.raises(InputError, match="strength"):
        UnigramClassifier("naive_bayes", strength=strength)


def test_an_untrained_model_says_so() -> None:
    with pytest.raises(InputError, match="has not been trained"):
        UnigramClassifier("naive_bayes").predict_proba(["a"])
