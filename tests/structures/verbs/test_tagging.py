"""A written table of a tagger has the tagger's measures, and tags unknown to it are reported."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from pyarrow import parquet as pq

from calibrant.exceptions import InputError
from calibrant.io import open_predictions
from calibrant.records import Quantity
from calibrant.structures import (
    TagEvaluation,
    TaggedText,
    evaluate_tagger,
    predict_tags,
    read_tagged,
    train_tagger,
)
from calibrant.structures.files.saved_models import save_model
from calibrant.structures.models import CRFTagger, HMMTagger
from calibrant.structures.posterior import ChainPosterior
from calibrant.structures.posterior.queries import tag_is, top_label
from calibrant.verbs import measure
from tests.quantities import defined

Kind = Literal["hmm", "crf"]


@pytest.fixture(scope="module")
def hmm(tagged: Path) -> HMMTagger:
    text = read_tagged(tagged / "train.conllu")
    return HMMTagger(pseudocount=0.5).fit(text.sentences, defined(text.tags))


@pytest.fixture(scope="module")
def crf(tagged: Path) -> CRFTagger:
    text = read_tagged(tagged / "train.conllu")
    return CRFTagger(features="basic", max_iterations=20).fit(text.sentences, defined(text.tags))


def numbers(found: Any) -> dict[str, Any]:
    """A measurement without what it was made from."""
    record: dict[str, Any] = found.to_dict()
    del record["recipe"]
    return record


@pytest.mark.parametrize("cluster", ["sentence", "document"])
@pytest.mark.parametrize("views", [["pooled"], ["classwise", "pooled", "class:V"], ["top"]], ids="+".join)
@pytest.mark.parametrize("kind", ["hmm", "crf"])
def test_the_table_measures_as_the_tagger_does(
    request: pytest.FixtureRequest,
    tagged: Path,
    tmp_path: Path,
    kind: Kind,
    views: list[str],
    cluster: Literal["sentence", "document"],
) -> None:
    model = request.getfixturevalue(kind)
    table = tmp_path / "pred.parquet"
    predict_tags(model, tagged / "test.conllu", table, cluster=cluster)
    found = evaluate_tagger(model, tagged / "test.conllu", cluster=cluster, view=views, seed=3)
    again = measure(table, view=views, seed=3)
    assert numbers(found.measured) == numbers(again)
    tags = len(model.tags) if views == ["top"] else 1
    assert found.measured.recipe.rows * tags == again.recipe.rows
    assert found.measured.recipe.classes == again.recipe.classes


def test_the_table_measures_as_the_tagger_does_when_both_are_streamed(
    hmm: HMMTagger, tagged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("calibrant.verbs.sources.IN_MEMORY", 300)
    monkeypatch.setattr("calibrant.structures.verbs.tagging.FEWEST_TOKENS", 40)
    monkeypatch.setattr("calibrant.io.predictions.Predictions.batches.__defaults__", (120,), raising=False)
    table = tmp_path / "pred.parquet"
    predict_tags(hmm, tagged / "test.conllu", table)
    found = evaluate_tagger(hmm, tagged / "test.conllu").measured["pooled"]
    again = measure(table, view="pooled")["pooled"]
    assert found.tally == again.tally == "compressed"
    assert found.debiased_squared_error == pytest.approx(again.debiased_squared_error, abs=1e-12)
    assert found.interval.high == pytest.approx(again.interval.high, abs=1e-9)
    assert found.log_loss.estimate == pytest.approx(again.log_loss.estimate, rel=1e-9)


def test_text_tables_measure_as_the_tagger_does(hmm: HMMTagger, tagged: Path, tmp_path: Path) -> None:
    found = evaluate_tagger(hmm, tagged / "test.conllu").measured["pooled"]
    for name in ("pred.csv.gz", "pred.tsv", "pred.jsonl", "pred.arrow"):
        predict_tags(hmm, tagged / "test.conllu", tmp_path / name)
        again = measure(tmp_path / name, view="pooled")["pooled"]
        assert again.plug_in_calibration_error == found.plug_in_calibration_error
        assert again.interval.low == found.interval.low


def test_accuracy_is_that_of_the_best_sequences(hmm: HMMTagger, tagged: Path) -> None:
    text = read_tagged(tagged / "test.conllu")
    found = evaluate_tagger(hmm, text)
    words = [word for sentence in text.sentences for word in sentence]
    gold = [tag for sentence in defined(text.tags) for tag in sentence]
    predicted = [tag for sentence in hmm.predict(text.sentences) for tag in sentence]
    right = np.array(predicted) == np.array(gold)
    unseen = np.array([word not in set(hmm.vocabulary) for word in words])
    assert found.accuracy.estimate == right.mean()
    assert (found.tokens, found.sentences) == (len(gold), 60)
    assert found.unseen_words == unseen.sum() > 0
    assert found.unseen_words_accuracy.estimate == right[unseen].mean()
    # CR2 of a mean over clusters, by hand.
    size = np.array([len(each) for each in text.sentences])
    residuals = np.bincount(np.repeat(np.arange(60), size), right - right.mean())
    error = np.sqrt((residuals**2 / (1 - size / len(gold))).sum()) / len(gold)
    assert found.accuracy.standard_error == pytest.approx(error)


def test_the_interval_of_the_accuracy_stays_within_0_and_1() -> None:
    def evaluated(gold: list[list[str]]) -> TagEvaluation:
        names = [str(place) for place in range(len(gold))]
        text = TaggedText([["a"] * len(tags) for tags in gold], gold, names, None, "text")
        return evaluate_tagger(Coin(), text)

    few = evaluated([["N"], ["V"]]).accuracy
    assert 0 < defined(few.low) < 0.02
    assert 0.98 < defined(few.high) < 1
    rare = evaluated([["V"] * 20] * 39 + [["V"] * 19 + ["N"]]).accuracy
    assert 0 < defined(rare.low) < 1 / 800 < defined(rare.high) < 0.01
    # Equal sentences do not make the interval narrower than that of independent tokens.
    equal = evaluated([["N", "V"]] * 200).accuracy
    assert equal.standard_error == pytest.approx(0.5 / 20, rel=2e-3)
    assert equal.low == pytest.approx(0.451, abs=1e-3)


def test_few_effective_clusters_have_a_warning_and_a_wider_interval() -> None:
    def accuracy(lengths: list[int]) -> Quantity:
        gold = [
            ["N", "V"] * (length // 2) if place else ["N"] * length for place, length in enumerate(lengths)
        ]
        words = [["a"] * length for length in lengths]
        text = TaggedText(words, gold, [str(place) for place in range(len(lengths))], None, "text")
        return evaluate_tagger(Coin(), text).accuracy

    equal, unequal = accuracy([20] * 20), accuracy([210, *[10] * 19])
    assert equal.warning is None
    assert "the 20 clusters count as 3.5 equal clusters" in (unequal.warning or "")


def test_an_accuracy_whose_errors_are_in_few_clusters_has_a_warning() -> None:
    gold = [["V"] * 20] * 37 + [["N"] * 10 + ["V"] * 10] * 3
    text = TaggedText([["a"] * 20] * 40, gold, [str(place) for place in range(40)], None, "text")
    assert "count as those of 3.0 equal clusters" in (evaluate_tagger(Coin(), text).accuracy.warning or "")


def test_one_cluster_has_an_accuracy_and_no_interval() -> None:
    text = TaggedText([["a", "b"]], [["N", "V"]], ["1"], None, "text")
    found = evaluate_tagger(Coin(), text)
    assert (found.accuracy.estimate, found.accuracy.low) == (0.5, None)
    assert "there is one cluster" in (found.accuracy.reason or "")


def test_an_accuracy_without_spread_has_no_interval(hmm: HMMTagger) -> None:
    word, tag = "w1", hmm.predict([["w1"]])[0][0]
    other = next(name for name in hmm.tags if name != tag)
    for gold, accuracy in ((tag, 1.0), (other, 0.0)):
        text = TaggedText([[word], [word]], [[gold], [gold]], ["1", "2"], None, "small")
        found = evaluate_tagger(hmm, text)
        assert (found.accuracy.estimate, found.accuracy.low) == (accuracy, None)
        assert "variance between clusters is unknown" in found.to_dict()["accuracy"]["reason"]


def test_a_gold_tag_that_the_model_has_never_seen_is_a_miss_of_every_tag(
    hmm: HMMTagger, tagged: Path, tmp_path: Path
) -> None:
    found = evaluate_tagger(hmm, tagged / "test.conllu")
    assert found.unseen_tags == {"X": 3}
    assert found.measured["pooled"].positives == found.tokens - 3
    assert found.measured["pooled"].n == 3 * found.tokens
    written = predict_tags(hmm, tagged / "test.conllu", tmp_path / "pred.parquet")
    assert written.unseen_tags == {"X": 3}
    columns = pq.read_table(tmp_path / "pred.parquet").to_pydict()
    assert columns["label"][:3] == [0, 0, 0]
    assert sum(columns["label"]) == found.tokens - 3


def test_top_beside_pooled_changes_nothing(hmm: HMMTagger, tagged: Path) -> None:
    pooled = evaluate_tagger(hmm, tagged / "test.conllu").measured["pooled"].to_dict()
    both = evaluate_tagger(hmm, tagged / "test.conllu", view=["top", "pooled"]).measured
    assert both["pooled"].to_dict() == pooled


def test_the_table_has_the_columns_that_are_promised(hmm: HMMTagger, tagged: Path, tmp_path: Path) -> None:
    text = read_tagged(tagged / "test.conllu")
    written = predict_tags(hmm, text, tmp_path / "pred.parquet")
    table = pq.read_table(tmp_path / "pred.parquet")
    assert {"score", "label", "class", "cluster", "token"} <= set(table.column_names)
    marginals = hmm.posterior(text.sentences).marginals()
    assert written.rows == table.num_rows == marginals.size
    assert written.dropped == 0
    np.testing.assert_allclose(table["score"].to_numpy(), marginals.ravel(), rtol=1e-12)
    assert table["class"].to_pylist()[:3] == list(hmm.tags)
    names = np.repeat(text.sentence_ids, [3 * len(sentence) for sentence in text.sentences])
    assert table["cluster"].to_pylist() == names.tolist()


def test_scores_below_the_threshold_are_left_out_and_the_table_says_so(
    hmm: HMMTagger, tagged: Path, tmp_path: Path
) -> None:
    table = tmp_path / "pred.parquet"
    written = predict_tags(hmm, tagged / "test.conllu", table, drop_below=0.1)
    predictions = open_predictions(table)
    assert predictions.threshold == 0.1
    assert predictions.read().score.min() >= 0.1
    assert written.rows == len(predictions.read())
    assert written.rows + written.dropped == 3 * written.tokens
    assert measure(table, view="pooled")["pooled"].log_loss.estimate is None


def test_views_are_those_of_the_queries(hmm: HMMTagger, tagged: Path) -> None:
    text = read_tagged(tagged / "test.conllu")
    assert text.tags is not None
    found = evaluate_tagger(hmm, text, view=["top", "class:V"]).measured
    posterior = hmm.posterior(text.sentences)
    for view, pairs in (
        ("top", top_label(posterior, text.tags).pairs()),
        ("class:V", tag_is(posterior, text.tags, "V").pairs()),
    ):
        assert found[view].n == len(pairs)
        assert found[view].positives == pairs.label.sum()
        assert found[view].brier == pytest.approx(np.mean((pairs.score - pairs.label) ** 2))


def test_documents_are_fewer_units_than_sentences(hmm: HMMTagger, tagged: Path) -> None:
    def clusters(found: TagEvaluation) -> int | None:
        return found.measured["pooled"].clusters

    assert clusters(evaluate_tagger(hmm, tagged / "test.conllu")) == 60
    assert clusters(evaluate_tagger(hmm, tagged / "test.conllu", cluster="document")) == 15
    with pytest.raises(InputError, match="does not mark documents"):
        evaluate_tagger(hmm, tagged / "test.tsv", cluster="document")


def test_the_column_of_training_is_the_default(tagged: Path, tmp_path: Path) -> None:
    text = read_tagged(tagged / "train.conllu", column="xpos")
    model = tmp_path / "small.model"
    save_model(HMMTagger().fit(text.sentences, defined(text.tags)), model, column="xpos")
    assert evaluate_tagger(model, tagged / "test.conllu").unseen_tags == {}
    with pytest.raises(
        InputError,
        match=r"knows none of the file's tags \(X, N, D and 1 more\): its tags are d2, n0, v1: choose",
    ):
        evaluate_tagger(model, tagged / "test.conllu", column="upos")


class Coin:
    """A model of a user's own: two tags, each with probability 1/2."""

    tags = ("N", "V")

    def posterior(self, sentences: Sequence[Sequence[str]]) -> ChainPosterior:
        lengths = [len(sentence) for sentence in sentences]
        return ChainPosterior(np.zeros((sum(lengths), 2)), lengths=lengths, tags=self.tags)


def test_any_model_with_tags_and_a_posterior_can_be_evaluated() -> None:
    text = TaggedText([["a", "b"], ["c"]], [["N", "V"], ["N"]], ["1", "2"], None, "text")
    found = evaluate_tagger(Coin(), text)
    assert found.measured["pooled"].brier == 0.25
    assert (found.unseen_words, found.model) == (None, "Coin")
    assert "does not say" in (found.unseen_words_accuracy.reason or "")
    assert "On unseen words): the model does not say" in found.to_text()


def test_text_without_gold_tags_is_tagged_but_not_evaluated(hmm: HMMTagger, tmp_path: Path) -> None:
    plain = TaggedText([["a"]], None, ["1"], None, "plain.txt")
    with pytest.raises(InputError, match=r"plain\.txt: the text has no gold tags"):
        evaluate_tagger(hmm, plain)
    written = predict_tags(hmm, plain, tmp_path / "pred.parquet")
    assert (written.tokens, written.labelled, written.unseen_tags) == (1, False, {})
    with pytest.raises(InputError, match="label"):
        measure(tmp_path / "pred.parquet")


def test_an_output_that_would_replace_a_source_is_refused(
    hmm: HMMTagger, tagged: Path, tmp_path: Path
) -> None:
    path = tmp_path / "test.csv"
    path.write_bytes((tagged / "test.tsv").read_bytes())
    with pytest.raises(InputError, match="the output would replace this file"):
        predict_tags(hmm, path, path)
    assert path.read_bytes() == (tagged / "test.tsv").read_bytes()


def test_what_fails_while_it_writes_leaves_nothing(hmm: HMMTagger, tagged: Path, tmp_path: Path) -> None:
    def stop(stage: str, done: int, total: int | None) -> None:
        if stage == "tagging":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        predict_tags(hmm, tagged / "test.conllu", tmp_path / "pred.parquet", progress=stop)
    assert not list(tmp_path.iterdir())


def test_tweets_are_tagged_and_measured(data: Path, tmp_path: Path) -> None:
    folder = data / "twitter-pos"
    model, record = train_tagger(
        folder / "oct27.train.tsv.gz", folder / "oct27.dev.tsv.gz", model="hmm", pseudocount=[0.1, 0.01]
    )
    assert (record.sentences, record.tokens, len(record.tags)) == (1000, 14619, 25)
    found = evaluate_tagger(model, folder / "oct27.test.tsv.gz")
    assert found.tokens == 7152
    assert found.accuracy.estimate is not None
    assert 0.82 < found.accuracy.estimate < 0.86
    assert defined(found.unseen_words_accuracy.estimate) < found.accuracy.estimate
    predict_tags(model, folder / "oct27.test.tsv.gz", tmp_path / "pred.parquet")
    again = measure(tmp_path / "pred.parquet", view="pooled")["pooled"]
    assert again.to_dict() == found.measured["pooled"].to_dict()
