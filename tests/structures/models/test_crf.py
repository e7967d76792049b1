"""The CRF agrees with python-crfsuite, which trained it, in whatever it computes itself."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pycrfsuite
import pytest

from calibrant import CalibrantError, FormatError, InputError
from calibrant.structures import load_tagger, save_model
from calibrant.structures.models import (
    L2_PENALTIES,
    CRFTagger,
    HMMTagger,
    attribute_lists,
    choose,
    token_accuracy,
)
from calibrant.structures.models import crf_attributes as scores
from calibrant.structures.models.crfsuite import parse_model

Tagged = tuple[list[list[str]], list[list[str]]]

WORDS = (
    "the",
    "a",
    "dog",
    "Dogs",
    "barks",
    "Running",
    "3rd",
    ":",
    "\\",
    "é",
    "\N{GRINNING FACE}",
    "=",
    "-x",
    "u.s.",
)
TAGS = ("N", "V", "DET", ":", "\\ odd")


def drawn(seed: int, sentences: int = 60) -> Tagged:
    """Return sentences in which tags depend on the word, on the words beside it, and on chance."""
    random = np.random.default_rng(seed)
    tokens, tags = [], []
    for _ in range(sentences):
        words = random.integers(len(WORDS), size=random.integers(1, 9))
        noise = random.integers(3, size=len(words)) == 0
        codes = (words + np.roll(words, 1) % 2 + noise) % len(TAGS)
        tokens.append([WORDS[word] for word in words])
        tags.append([TAGS[code] for code in codes])
    return tokens, tags


TRAIN, TEST = drawn(1), drawn(2)
TEST[0][0][0] = "unheard-of"


def by_crfsuite(
    attributes: list[list[list[str]]], tags: list[list[str]], folder: Path, **settings: Any
) -> Any:
    """Train python-crfsuite on ready attribute lists."""
    trainer = pycrfsuite.Trainer(settings.pop("algorithm", "lbfgs"), settings, verbose=False)
    for sentence, gold in zip(attributes, tags, strict=True):
        trainer.append(sentence, gold)
    trainer.train(str(folder / "model"))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(folder / "model"))
    return tagger


def code_of(model: CRFTagger, tags: Sequence[Sequence[str]]) -> np.ndarray[Any, Any]:
    return np.array([model.tags.index(tag) for sentence in tags for tag in sentence])


@pytest.mark.parametrize("features", ["basic", "advanced", ("word", "context", "suffixes")])
def test_marginals_probabilities_and_best_sequences_are_those_of_crfsuite(
    tmp_path: Path, features: str | tuple[str, ...]
) -> None:
    model = CRFTagger(features=features, l2=0.1).fit(*TRAIN)
    other = by_crfsuite(attribute_lists(TRAIN[0], features), TRAIN[1], tmp_path, c2=0.1, max_iterations=200)
    posterior = model.posterior(TEST[0])
    marginals, best = posterior.marginals(), model.predict(TEST[0])
    probability = np.exp(posterior.log_probability(code_of(model, TEST[1])))
    for s, attributes in enumerate(attribute_lists(TEST[0], features)):
        other.set(attributes)
        expected = [[other.marginal(tag, t) for tag in model.tags] for t in range(len(attributes))]
        assert np.allclose(marginals[posterior.offsets[s] : posterior.offsets[s + 1]], expected, atol=1e-6)
        assert probability[s] == pytest.approx(other.probability(TEST[1][s]), abs=1e-6)
        assert other.probability(best[s]) == pytest.approx(other.probability(other.tag()), rel=1e-6)


def test_weights_are_read_at_full_precision(tmp_path: Path) -> None:
    tagger = by_crfsuite(attribute_lists(TRAIN[0]), TRAIN[1], tmp_path)
    found, dump = parse_model((tmp_path / "model").read_bytes()), tagger.info()
    assert found.attributes == list(dump.attributes)
    assert found.labels == list(dump.labels)
    names = (found.attributes, found.labels, found.state, dump.state_features)
    pairs = (found.labels, found.labels, found.transition, dump.transitions)
    for sources, targets, edges, expected in (names, pairs):
        ends = zip(edges["source"], edges["target"], strict=True)
        weights = {(sources[i], targets[j]): w for (i, j), w in zip(ends, edges["weight"], strict=True)}
        assert weights == pytest.approx(expected, abs=5.1e-7)
        assert any(w != round(float(w), 6) for w in weights.values())


@pytest.mark.parametrize("algorithm", ["lbfgs", "l2sgd", "ap", "pa", "arow"])
def test_training_twice_gives_the_same_weights(algorithm: Any) -> None:
    states = [CRFTagger(algorithm=algorithm, max_iterations=15).fit(*TRAIN).to_state() for _ in range(2)]
    assert np.array_equal(states[0]["weight"], states[1]["weight"])
    assert np.array_equal(states[0]["transition"], states[1]["transition"])
    assert np.abs(states[0]["weight"]).max() > 0.1


def test_the_seed_orders_the_sentences_of_those_algorithms_that_shuffle() -> None:
    def weights(algorithm: Any, seed: int) -> Any:
        return CRFTagger(algorithm=algorithm, max_iterations=3, seed=seed).fit(*TRAIN).transition

    assert not np.array_equal(weights("ap", 1), weights("ap", 2))
    assert np.array_equal(weights("lbfgs", 1), weights("lbfgs", 2))


def test_settings_reach_crfsuite(tmp_path: Path) -> None:
    settings = {"feature.minfreq": 3, "feature.possible_transitions": True}
    model = CRFTagger(features="basic", l2=0.5, l1=0.3, settings=settings).fit(*TRAIN)
    plain = {"c2": 0.5, "c1": 0.3, "max_iterations": 200, **settings}
    by_crfsuite(attribute_lists(TRAIN[0], "basic"), TRAIN[1], tmp_path, **plain)
    expected = parse_model((tmp_path / "model").read_bytes())
    assert sorted(model.to_state()["weight"]) == sorted(expected.state["weight"])
    ends = zip(expected.transition["source"], expected.transition["target"], strict=True)
    for (i, j), weight in zip(ends, expected.transition["weight"], strict=True):
        row, column = model.tags.index(expected.labels[i]), model.tags.index(expected.labels[j])
        assert model.transition[row, column] == weight


def test_a_strong_absolute_penalty_leaves_fewer_attributes() -> None:
    few, all_ = (CRFTagger(l1=l1).fit(*TRAIN).to_state() for l1 in (10.0, 0.0))
    assert len(few["weight"]) < len(all_["weight"]) / 2
    assert sum(map(len, few["values"].values())) < sum(map(len, all_["values"].values()))
    assert CRFTagger(l1=1e6).fit(*TRAIN).posterior(TEST[0]).marginals() == pytest.approx(1 / len(TAGS))


def test_a_function_gives_the_same_model_as_the_groups_that_it_imitates() -> None:
    def advanced(sentence: Sequence[str]) -> Sequence[Sequence[str]]:
        return attribute_lists([sentence])[0]

    given, own = CRFTagger(features=advanced, l2=0.1).fit(*TRAIN), CRFTagger(l2=0.1).fit(*TRAIN)
    assert given.potentials(TEST[0])[0] == pytest.approx(own.potentials(TEST[0])[0], abs=1e-3)
    state = given.to_state()
    loaded = CRFTagger.from_state(state)
    with pytest.raises(InputError, match=r"trained with a feature function: give the function"):
        loaded.predict(TEST[0])
    with pytest.raises(InputError, match=r"trained with a feature function: give the function"):
        loaded.fit(*TRAIN)
    again = CRFTagger.from_state(loaded.to_state(), features=advanced)
    assert np.array_equal(again.potentials(TEST[0])[0], given.potentials(TEST[0])[0])
    with pytest.raises(InputError, match=r"trained with the features word, context"):
        CRFTagger.from_state(own.to_state(), features=advanced)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda sentence: 3, r"returned 3 for sentences\[0\]: return a list"),
        (lambda sentence: None, r"returned None for sentences\[0\]"),
        (lambda sentence: "ab"[: len(sentence)], r"returned 'a' for sentences\[0\]"),
        (lambda sentence: [["x"]], r"returned 1 lists for the 2 tokens of sentences\[1\]"),
        (lambda sentence: sentence, r"returned 'so' for token 0 of sentences\[0\]"),
        (lambda sentence: [[3] for _ in sentence], r"returned \[3\] for token 0"),
    ],
)
def test_a_function_that_does_not_fit_is_refused(function: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        CRFTagger(features=function).fit([["so"], ["a", "b"]], [["X"], ["X", "Y"]])


def test_scores_do_not_depend_on_what_was_scored_before(monkeypatch: pytest.MonkeyPatch) -> None:
    model = CRFTagger().fit(*TRAIN)
    expected = model.potentials(TEST[0])[0]
    monkeypatch.setattr(scores, "TABLE_BYTES", 1500)  # a handful of words
    copy = deepcopy(model)
    assert isinstance(copy._scores, scores.WordScores)
    assert copy._scores.most_words == 7
    for size in (1, 5, 60):
        parts = [copy.potentials(TEST[0][k : k + size])[0] for k in range(0, len(TEST[0]), size)]
        assert np.array_equal(np.concatenate(parts), expected)


def test_threads_may_share_a_model() -> None:
    model = CRFTagger().fit(*TRAIN)
    texts = [[[f"{word}{k}" for word in sentence] for sentence in TEST[0]] for k in range(8)]
    expected = [deepcopy(model).potentials(text)[0] for text in texts]
    found: dict[int, Any] = {}

    def work(k: int) -> None:
        found[k] = model.potentials(texts[k])[0]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(found[k], expected[k]) for k in range(8))


def test_a_refused_token_leaves_the_model_as_it_was() -> None:
    model = CRFTagger().fit(*TRAIN)
    expected = model.potentials(TEST[0])[0]
    for bad in (3, None, ["the"]):
        broken: Any = [["new"], ["newer", bad]]
        with pytest.raises(InputError, match=r"sentences\[1\]\[1\] is"):
            model.potentials(broken)
    assert np.array_equal(model.potentials(TEST[0])[0], expected)
    assert len(model.predict([["new"]])[0]) == 1


def test_one_tag_and_one_token_are_enough() -> None:
    model = CRFTagger().fit([["so"]], [["ADV"]])
    assert model.predict([["what", "now"]]) == [["ADV", "ADV"]]
    assert model.posterior([["what", "now"]]).marginals() == pytest.approx(1.0)


def test_odd_tokens_and_tags_are_like_any_others() -> None:
    odd = ["\x00", "\x00a", ":", "\\", "\t", "\n", "\N{GRINNING FACE}", "\u2028", " "]
    model = CRFTagger(features="basic", l2=0.01).fit([[token] for token in odd], [[f"{t}:"] for t in odd])
    assert model.predict([[token] for token in odd]) == [[f"{token}:"] for token in odd]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"algorithm": "adam"}, "algorithm is 'adam': use one of lbfgs"),
        ({"features": "fancy"}, "there is no feature group 'fancy'"),
        ({"features": 3}, "there is no feature group 3"),
        ({"features": None}, "there is no feature group None"),
        ({"features": []}, "features is empty"),
        ({"algorithm": np.array(["ap", "pa"])}, "algorithm is array"),
        ({"l2": True}, "l2 is True"),
        ({"l2": 10**400}, "l2 is 1000"),
        ({"l2": "1"}, "l2 is '1'"),
        ({"settings": 3}, "settings is 3: give a dictionary"),
        ({"settings": []}, r"settings is \[\]"),
        ({"settings": {"linesearch": np.zeros(2)}}, "use one of MoreThuente"),
        ({"l2": -1}, "l2 is -1"),
        ({"l2": float("nan")}, "l2 is nan"),
        ({"l1": float("inf")}, "l1 is inf"),
        ({"l1": 1.0, "algorithm": "ap"}, "use the algorithm lbfgs"),
        ({"max_iterations": 0}, "max_iterations is 0"),
        ({"max_iterations": 2.5}, "max_iterations is 2.5"),
        ({"seed": -1}, "seed is -1"),
        ({"settings": {"c2": 1}}, "lbfgs has no setting 'c2': use some of num_memories"),
        ({"settings": {"gamma": 1}}, "lbfgs has no setting 'gamma'"),
        ({"settings": {"epsilon": "small"}}, "setting epsilon is 'small'"),
        ({"settings": {"num_memories": 0}}, "num_memories is 0"),
        ({"settings": {"linesearch": "none"}}, "use one of MoreThuente"),
    ],
)
def test_arguments_that_cannot_be_used_are_refused(arguments: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        CRFTagger(**arguments)


def test_a_model_must_be_trained_before_it_is_used() -> None:
    for use in (CRFTagger().to_state, lambda: CRFTagger().predict([["so"]])):
        with pytest.raises(InputError, match="call fit first"):
            use()


def test_progress_counts_iterations_and_may_end_training() -> None:
    seen: list[tuple[str, int, int | None]] = []
    model = CRFTagger(max_iterations=5).fit(*TRAIN, progress=lambda *step: seen.append(step))
    assert seen == [("train", k, 5) for k in range(1, 6)]
    assert model.iterations == 5

    def stop(stage: str, done: int, most: int | None) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        CRFTagger().fit(*TRAIN, progress=stop)


def test_a_saved_model_computes_the_same(tmp_path: Path) -> None:
    model = CRFTagger(settings={"epsilon": 1e-4}, seed=3).fit(*TRAIN)
    save_model(model, tmp_path / "m.model")
    loaded = load_tagger(tmp_path / "m.model")
    assert isinstance(loaded, CRFTagger)
    assert loaded.arguments == model.arguments
    assert (loaded.features, loaded.tags, loaded.iterations) == (model.features, model.tags, model.iterations)
    assert np.array_equal(loaded.posterior(TEST[0]).marginals(), model.posterior(TEST[0]).marginals())


@pytest.mark.parametrize("algorithm", ["lbfgs", "l2sgd"])
def test_a_model_knows_whether_its_training_converged(algorithm: Any, tmp_path: Path) -> None:
    for iterations, converged in ((2, False), (500, True)):
        model = CRFTagger(features="basic", algorithm=algorithm, l2=1.0, max_iterations=iterations)
        model.fit(*TRAIN)
        assert model.converged is converged
        assert (model.iterations < iterations) is converged
        save_model(model, tmp_path / "a.model")
        loaded = load_tagger(tmp_path / "a.model")
        assert isinstance(loaded, CRFTagger)
        assert loaded.converged is converged


@pytest.mark.parametrize("features", ["basic", "advanced", "suffixes"])
def test_the_vocabulary_has_every_word_of_training(features: Any, tmp_path: Path) -> None:
    every = sorted({word for sentence in TRAIN[0] for word in sentence})
    if features == "suffixes":
        features = ("suffixes",)
    model = CRFTagger(features=features, l1=5.0, max_iterations=5).fit(*TRAIN)
    assert model.vocabulary == every
    save_model(model, tmp_path / "a.model")
    assert load_tagger(tmp_path / "a.model").vocabulary == every
    older = {
        name: value for name, value in model.to_state().items() if name not in ("vocabulary", "converged")
    }
    loaded = CRFTagger.from_state(older)
    assert (loaded.vocabulary, loaded.converged) == (None, None)
    assert CRFTagger.from_state(loaded.to_state()).vocabulary is None


def changed(**parts: Any) -> dict[str, Any]:
    state = CRFTagger(features="basic", max_iterations=2).fit(*TRAIN).to_state()
    return state | {name: value(state[name]) if callable(value) else value for name, value in parts.items()}


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"kind": "hmm"}, "is of kind 'hmm'"),
        ({"version": 2}, "has version 2"),
        ({"algorithm": "adam"}, "algorithm is 'adam'"),
        ({"settings": 3}, "damaged"),
        ({"features": ["fancy"]}, "no feature group 'fancy'"),
        ({"features": ["word", "length"]}, "values do not match word, length"),
        ({"tags": lambda tags: [tags[0], *tags[:-1]]}, "tags are not distinct strings"),
        ({"tags": lambda tags: tags[:-1]}, "a weight belongs to none of the 4 tags"),
        ({"values": {"word": ["a"]}}, "first has"),
        ({"first": lambda first: first[::-1]}, "does not divide"),
        ({"tag": lambda tag: tag - 1}, "belongs to none"),
        ({"tag": lambda tag: tag[:-1]}, "tags for"),
        ({"weight": lambda weight: weight * np.nan}, "not finite"),
        ({"weight": lambda weight: weight.tolist()}, "weight is not an array"),
        ({"transition": lambda transition: transition[:-1]}, "transition has shape"),
        ({"iterations": "many"}, "iterations is 'many'"),
        ({"iterations": None}, "iterations is None"),
        ({"iterations": []}, r"iterations is \[\]"),
        ({"iterations": -1}, "iterations is -1"),
        ({"converged": 1}, "converged is 1"),
        ({"vocabulary": "words"}, "vocabulary are not distinct strings"),
        ({"kind": np.zeros(2)}, "is of kind array"),
        ({"version": np.ones(2)}, "has version array"),
        ({"algorithm": np.zeros(2)}, "algorithm is array"),
        ({"l2": np.zeros(2)}, "l2 is array"),
        ({"features": np.zeros(2)}, "no feature group"),
        ({"tags": np.zeros(2)}, "tags are not distinct strings"),
    ],
)
def test_a_state_that_does_not_hold_together_is_refused(parts: Any, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        CRFTagger.from_state(changed(**parts))


@pytest.mark.parametrize("model", [HMMTagger, CRFTagger])
@pytest.mark.parametrize("state", [None, [], [("kind", "crf")], "crf", 3])
def test_a_state_is_a_dictionary(model: Any, state: Any) -> None:
    with pytest.raises(FormatError, match=r"damaged: it is .* instead of a dictionary") as raised:
        model.from_state(state)
    assert raised.value.code == "file-broken"


def test_settings_that_change_later_change_no_model() -> None:
    settings: dict[str, float] = {"epsilon": 1e-3}
    model = CRFTagger(settings=settings)
    settings["epsilon"] = 5.0
    assert model.arguments.settings == {"epsilon": 1e-3}


def test_a_state_with_something_missing_is_refused() -> None:
    for name in changed().keys() - {"converged", "vocabulary"}:  # older models have not noted these
        state = changed()
        del state[name]
        with pytest.raises(FormatError):
            CRFTagger.from_state(state)


@pytest.mark.parametrize("cut", [0, 20, -1])
def test_a_model_file_of_crfsuites_that_is_cut_short_is_refused(tmp_path: Path, cut: int) -> None:
    by_crfsuite(attribute_lists(TRAIN[0], "basic"), TRAIN[1], tmp_path)
    content = (tmp_path / "model").read_bytes()
    with pytest.raises(FormatError):
        parse_model(content[:cut])
    with pytest.raises(FormatError, match="cannot read"):
        parse_model(b"x" + content[1:])


def test_weights_that_diverge_are_an_error() -> None:
    settings = {"calibration.eta": 1e300, "calibration.max_trials": 1, "calibration.candidates": 1}
    with pytest.raises(CalibrantError, match="diverged"):
        CRFTagger(algorithm="l2sgd", l2=1e200, settings=settings).fit(*TRAIN)


def test_the_penalty_is_chosen_on_held_out_sentences() -> None:
    chosen = choose(lambda l2: CRFTagger(features="basic", l2=l2), L2_PENALTIES, *TRAIN, *TEST)
    assert chosen.model.l2 == chosen.setting
    assert chosen.accuracy == token_accuracy(TEST[1], chosen.model.predict(TEST[0]))


def test_tweets_are_tagged_as_well_as_the_thesis_says(data: Path) -> None:
    def read(part: str) -> Tagged:
        with gzip.open(data / "twitter-pos" / f"oct27.{part}.tsv.gz", "rt", encoding="utf-8") as file:
            tweets = [tweet.splitlines() for tweet in file.read().strip().split("\n\n")]
        pairs = [[line.split("\t") for line in tweet] for tweet in tweets]
        return [[p[0] for p in tweet] for tweet in pairs], [[p[1] for p in tweet] for tweet in pairs]

    test = read("test")
    accuracy = token_accuracy(
        test[1], CRFTagger(l2=0.3, max_iterations=60).fit(*read("train")).predict(test[0])
    )
    assert 0.86 < accuracy < 0.89  # 87 % in the thesis, section 4.2.2
