from __future__ import annotations

import gzip
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import FormatError, InputError
from calibrant.structures.models import HMMTagger, token_accuracy
from calibrant.structures.models.hmm import (
    ANY,
    LARGEST_PSEUDOCOUNT,
    SMALLEST_CLASS,
    UNSEEN,
    Unseen,
    candidates,
    choose_classes,
    class_of,
    shape,
)

SENTENCES = [["the", "dog", "barks"], ["the", "cat"], ["dogs", "bark"], ["bark"], ["the", "dog", "dog"]]
TAGS = [["D", "N", "V"], ["D", "N"], ["N", "V"], ["V"], ["D", "N", "N"]]
Corpus = tuple[list[list[str]], list[list[str]]]


def joint(model: HMMTagger, words: list[str], tags: tuple[str, ...], pseudocount: float) -> float:
    """P(words, tags) by counting the sentences above, word by word; "unseen" stands for every unseen word."""
    vocabulary = {word for sentence in SENTENCES for word in sentence}
    a = pseudocount
    pairs = [
        (tag, word) for s, t in zip(SENTENCES, TAGS, strict=True) for word, tag in zip(s, t, strict=True)
    ]
    steps = [step for tag in TAGS for step in zip(["<", *tag], [*tag, ">"], strict=True)]
    result = 1.0
    for before, after in zip(["<", *tags], [*tags, ">"], strict=True):
        outcomes = len(model.tags) + (before != "<")  # a sentence does not end before it begins
        total = sum(first == before for first, _ in steps)
        result *= (steps.count((before, after)) + a) / (total + a * outcomes)
    for tag, word in zip(tags, words, strict=True):
        total = sum(other == tag for other, _ in pairs)
        if word in vocabulary or a > 0:
            result *= (pairs.count((tag, word)) + a) / (total + a * (len(vocabulary) + 1))
    return result


@pytest.mark.parametrize(
    "words", [["bark"], ["the", "dog"], ["dogs", "dog", "barks"], ["the", "new", "cat", "new"]]
)
@pytest.mark.parametrize("pseudocount", [0.0, 0.01, 1.0, 7.5])
def test_the_joint_probability_is_the_product_of_counted_shares(words: list[str], pseudocount: float) -> None:
    model = HMMTagger(pseudocount=pseudocount).fit(SENTENCES, TAGS)
    posterior = model.posterior([words])
    every = list(product(model.tags, repeat=len(words)))
    probability = np.array([joint(model, words, tags, pseudocount) for tags in every])
    assert np.exp(posterior.log_partition[0]) == pytest.approx(probability.sum(), rel=1e-9)
    expected = [
        [sum(p for p, tags in zip(probability, every, strict=True) if tags[t] == tag) for tag in model.tags]
        for t in range(len(words))
    ]
    np.testing.assert_allclose(posterior.marginals(), np.array(expected) / probability.sum(), atol=1e-12)
    best = every[int(np.argmax(probability))]
    assert joint(model, words, tuple(model.predict([words])[0]), pseudocount) == pytest.approx(
        joint(model, words, best, pseudocount)
    )


def test_maximum_likelihood_is_the_share_of_each_event() -> None:
    model = HMMTagger(pseudocount=0).fit(SENTENCES, TAGS)
    assert model.tags == ("D", "N", "V")
    np.testing.assert_allclose(np.exp(model.tables.start), [3 / 5, 1 / 5, 1 / 5])
    after = np.array([[0, 1, 0], [0, 1 / 5, 2 / 5], [0, 0, 0]])
    np.testing.assert_allclose(np.exp(model.tables.transition), after, atol=1e-40)
    np.testing.assert_allclose(np.exp(model.tables.end), [0, 2 / 5, 1], atol=1e-40)
    dog = model.vocabulary.index("dog")
    np.testing.assert_allclose(np.exp(model.tables.emission[dog]), [0, 3 / 5, 0], atol=1e-40)


def test_a_pseudocount_is_added_to_every_transition_and_every_word() -> None:
    a = 0.25
    model = HMMTagger(pseudocount=a).fit(SENTENCES, TAGS)
    np.testing.assert_allclose(np.exp(model.tables.start), np.array([3 + a, 1 + a, 1 + a]) / (5 + 3 * a))
    found = np.append(np.exp(model.tables.transition[1]), np.exp(model.tables.end[1]))
    np.testing.assert_allclose(found, np.array([0 + a, 1 + a, 2 + a, 2 + a]) / (5 + 4 * a))
    words = len(model.vocabulary)
    dog = model.vocabulary.index("dog")
    np.testing.assert_allclose(np.exp(model.tables.emission[dog, 1]), (3 + a) / (5 + a * (words + 1)))
    np.testing.assert_allclose(
        np.exp(model.tables.emission[words]), a / (np.array([3, 5, 3]) + a * (words + 1))
    )


def synthetic(seed: int, sentences: int = 60) -> Corpus:
    """Sentences of words with telling and less telling suffixes, many of them rare."""
    rng = np.random.default_rng(seed)
    endings = {"N": ["ness", "er", "X9"], "V": ["ing", "ed"], "A": ["ly", "ed", "-up"]}
    words, tags = [], []
    for _ in range(sentences):
        length = int(rng.integers(1, 8))
        line = [str(tag) for tag in rng.choice(list(endings), size=length)]
        stems = rng.integers(0, 200, size=length)
        words.append(
            [
                f"st{chr(97 + s % 26)}{'b' * (s // 26)}{rng.choice(endings[t])}"
                for s, t in zip(stems, line, strict=True)
            ]
        )
        tags.append(line)
    return words, tags


@pytest.mark.parametrize("pseudocount", [0.0, 0.001, 1.0])
@pytest.mark.parametrize("unseen", UNSEEN)
def test_every_distribution_sums_to_one(unseen: Unseen, pseudocount: float) -> None:
    model = HMMTagger(pseudocount=pseudocount, unseen=unseen, rare=2).fit(*synthetic(1))
    assert np.exp(model.tables.start).sum() == pytest.approx(1)
    np.testing.assert_allclose(np.exp(model.tables.transition).sum(axis=1) + np.exp(model.tables.end), 1)
    assert model.tables.emission.shape == (len(model.vocabulary) + len(model.classes), 3)
    silent = (model.tables.emission == 0).all(axis=1)  # with pseudocount 0: no such word in the model
    assert silent.sum() == (pseudocount == 0 and unseen == "uniform")
    np.testing.assert_allclose(np.exp(model.tables.emission[~silent]).sum(axis=0), 1)
    assert (len(model.classes) > 1) == (unseen == "classes")


def test_classes_have_the_share_of_words_seen_once() -> None:
    sentences, tags = synthetic(2, 200)
    model = HMMTagger(pseudocount=0, unseen="classes", rare=1).fit(sentences, tags)
    tokens = [pair for s, t in zip(sentences, tags, strict=True) for pair in zip(s, t, strict=True)]
    words = [word for word, _ in tokens]
    for tag, column in zip(model.tags, np.exp(model.tables.emission).T, strict=True):
        total = sum(other == tag for _, other in tokens)
        once = sum(other == tag and words.count(word) == 1 for word, other in tokens)
        found = column[len(model.vocabulary) :][
            (model.tables.emission[len(model.vocabulary) :] != 0).any(axis=1)
        ]
        assert found.sum() == pytest.approx(once / (total + once))


def test_an_unseen_word_says_nothing_under_maximum_likelihood() -> None:
    model = HMMTagger(pseudocount=0).fit(SENTENCES, TAGS)
    unary, lengths = model.potentials([["never", "dog"], ["seen"]])
    assert lengths.tolist() == [2, 1]
    assert (unary[[0, 2]] == 0).all()
    # Only the start and the end of a sentence of one word remain: N with 1/5 * 2/5, V with 1/5 * 1.
    np.testing.assert_allclose(model.posterior([["seen"]]).marginals()[0], [0, 2 / 7, 5 / 7], atol=1e-12)


def test_suffixes_tell_the_tags_of_unseen_words() -> None:
    sentences, tags = synthetic(3, 300)
    model = HMMTagger(pseudocount=0.01, unseen="classes").fit(sentences, tags)
    assert model.predict([["grobbness"], ["grobbing"], ["grobbX9"]]) == [["N"], ["V"], ["N"]]


def test_shapes_merge_runs_of_one_kind() -> None:
    assert [shape(word) for word in ("McDonald's", "1,000", "U.S.", "co-op", "")] == [
        "XxXx'x",
        "d,d",
        "X.X.",
        "x-x",
        "",
    ]


def test_classes_of_a_word_go_from_specific_to_general() -> None:
    assert candidates("Walking") == ["Xx ending ing", "Xx ending ng", "Xx ending g", "Xx", "X", ANY]
    assert candidates("it") == ["x", ANY]
    assert candidates("20th") == ["dx ending th", "dx ending h", "dx", "d", ANY]
    assert candidates("3.14") == ["d.d", "d.", "d", ANY]
    assert candidates("") == [ANY]


def test_words_of_a_small_class_go_to_a_more_general_one() -> None:
    words = [f"{stem}ing" for stem in "abcdefgh"[:SMALLEST_CLASS]]
    words = [f"xx{word}" for word in words] + ["yyyong", "12"]
    classes = choose_classes(words, [1] * len(words))
    assert classes == ["x ending ing", ANY]
    code = {name: place for place, name in enumerate(classes)}
    assert [class_of(word, code) for word in ("saying", "wrong", "12")] == [0, 1, 1]
    assert choose_classes(words, [SMALLEST_CLASS] * len(words)) == ["x ending ing", "x ending ong", "d", ANY]


@given(st.lists(st.text("ABab1-. ", max_size=6), max_size=60, unique=True), st.integers(1, 5))
def test_every_class_but_the_last_has_enough_rare_words(words: list[str], frequency: int) -> None:
    classes = choose_classes(words, [frequency] * len(words))
    code = {name: place for place, name in enumerate(classes)}
    assert len(code) == len(classes)
    assert classes[-1] == ANY
    size = np.bincount([class_of(word, code) for word in words], minlength=len(classes)) * frequency
    assert (size[:-1] >= SMALLEST_CLASS).all()


def test_impossible_sentences_are_tagged_by_the_limit_of_small_pseudocounts() -> None:
    sentences = [["barks", "the"], ["the", "dog"], ["the", "the", "dog"], ["dog", "cat", "bark", "the"]]
    model = HMMTagger(pseudocount=0).fit(SENTENCES, TAGS)
    assert model.impossible(sentences).tolist() == [True, False, True, True]
    limit = HMMTagger(pseudocount=1e-13).fit(SENTENCES, TAGS)
    assert not limit.impossible(sentences).any()
    np.testing.assert_allclose(
        model.posterior(sentences).marginals(), limit.posterior(sentences).marginals(), atol=1e-9
    )
    assert model.predict(sentences) == limit.predict(sentences)


def test_no_other_sentence_makes_a_sentence_impossible() -> None:
    model = HMMTagger(pseudocount=0).fit(SENTENCES, TAGS)
    assert not model.impossible([*SENTENCES[::-1], *SENTENCES]).any()


@given(st.integers(0, 10_000), st.sampled_from(UNSEEN), st.sampled_from([0.0, 1e-3, 0.5]))
def test_a_saved_state_gives_back_the_same_model(seed: int, unseen: Unseen, pseudocount: float) -> None:
    sentences, tags = synthetic(seed, 20)
    model = HMMTagger(pseudocount=pseudocount, unseen=unseen).fit(sentences, tags)
    again = HMMTagger.from_state(model.to_state())
    assert (again.tags, again.vocabulary, again.classes) == (model.tags, model.vocabulary, model.classes)
    assert (again.pseudocount, again.unseen, again.rare) == (pseudocount, unseen, model.rare)
    new = [[*sentence, "unseening", "7"] for sentence in sentences]
    np.testing.assert_array_equal(again.posterior(new).marginals(), model.posterior(new).marginals())


def test_the_order_of_the_sentences_changes_nothing() -> None:
    sentences, tags = synthetic(4)
    one = HMMTagger(unseen="classes").fit(sentences, tags).to_state()
    other = HMMTagger(unseen="classes").fit(sentences[::-1], tags[::-1]).to_state()
    assert one.keys() == other.keys()
    for key, value in one.items():
        np.testing.assert_array_equal(other[key], value)


def changed(**parts: Any) -> dict[str, Any]:
    return {**HMMTagger(unseen="classes").fit(SENTENCES, TAGS).to_state(), **parts}


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (changed(tags=["D", "N"]), "shapes"),
        (changed(tags=["D", "N", "N"]), "tags are not distinct strings"),
        (changed(vocabulary=[1, 2]), "vocabulary are not distinct strings"),
        (changed(vocabulary=["the"]), "are not codes of the model's words"),
        (changed(classes=["x"]), "last class"),
        (changed(start=np.array([0.5, 0.2, 0.3])), "start contains values that are not counts"),
        (changed(start=np.array([5, -1, 0])), "start contains values that are not counts"),
        (changed(emission=np.array([1])), "different lengths"),
        (changed(transition=np.ones((3, 3), int)), "shapes"),
        (changed(tags=None), "tags are not distinct strings"),
        (changed(tags=[]), "there are no names"),
        (changed(unseen=np.zeros(2)), "unseen is array"),
        (changed(pseudocount=np.zeros(2)), "pseudocount is array"),
        (changed(pseudocount=True), "pseudocount is True"),
        (changed(rare=None), "rare is None"),
        (changed(start=[[1], [1, 2]]), "inhomogeneous"),
        (changed(row=np.full(3, 2**64 - 1, np.uint64)), "row contains values that are not counts"),
        ({key: value for key, value in changed().items() if key != "row"}, "it has no 'row'"),
    ],
)
def test_a_damaged_state_is_refused(state: dict[str, Any], message: str) -> None:
    with pytest.raises(FormatError, match=message) as raised:
        HMMTagger.from_state(state)
    assert raised.value.code == "file-broken"


def test_the_state_of_another_model_or_version_is_refused() -> None:
    for kind in ("crf", None, np.zeros(2)):
        with pytest.raises(FormatError, match=r"is of kind .*: expected 'hmm'") as raised:
            HMMTagger.from_state(changed(kind=kind))
        assert raised.value.code == "file-mislabelled"
    for version in (2, None, np.ones(2)):
        with pytest.raises(FormatError, match="has version") as raised:
            HMMTagger.from_state(changed(version=version))
        assert raised.value.code == "version"


@pytest.mark.parametrize(
    "pseudocount", [-0.1, float("nan"), float("inf"), "1", None, True, 10**400, np.zeros(2)]
)
def test_a_pseudocount_is_a_finite_number_of_at_least_0(pseudocount: Any) -> None:
    with pytest.raises(InputError, match="pseudocount is"):
        HMMTagger(pseudocount=pseudocount)


def test_the_largest_pseudocount_makes_every_tag_equally_probable() -> None:
    model = HMMTagger(pseudocount=LARGEST_PSEUDOCOUNT).fit(SENTENCES, TAGS)
    np.testing.assert_allclose(model.posterior(SENTENCES).marginals(), 1 / len(model.tags), atol=1e-10)
    for absurd in (1e13, 1e300, 1e308):
        with pytest.raises(InputError, match=r"pseudocount is 1e\+[0-9]+: give at most 1e\+12"):
            HMMTagger(pseudocount=absurd)


def test_unknown_options_are_refused() -> None:
    unknown: Any = "letters"
    with pytest.raises(InputError, match="unseen is 'letters'"):
        HMMTagger(unseen=unknown)
    with pytest.raises(InputError, match="rare is 0"):
        HMMTagger(rare=0)


def test_a_model_is_trained_before_it_is_used() -> None:
    for use in (HMMTagger().posterior, HMMTagger().predict, HMMTagger().potentials, HMMTagger().impossible):
        with pytest.raises(InputError, match="has not been trained"):
            use([["a"]])
    with pytest.raises(InputError, match="has not been trained"):
        HMMTagger().to_state()


def read(path: Path) -> Corpus:
    text = gzip.decompress(path.read_bytes()).decode()
    lines = [[line.split("\t") for line in part.splitlines()] for part in text.strip().split("\n\n")]
    return [[word for word, _ in part] for part in lines], [[tag for _, tag in part] for part in lines]


def test_classes_tell_the_tags_of_newspaper_text(data: Path) -> None:
    train, test = (read(data / f"wsj-pos/wsj-pos.{part}.tsv.gz") for part in ("train", "test"))
    uniform = HMMTagger(pseudocount=0.03).fit(*train)
    classes = HMMTagger(pseudocount=0.001, unseen="classes").fit(*train)
    assert token_accuracy(test[1], uniform.predict(test[0])) == pytest.approx(0.895, abs=0.003)
    assert token_accuracy(test[1], classes.predict(test[0])) == pytest.approx(0.952, abs=0.003)
