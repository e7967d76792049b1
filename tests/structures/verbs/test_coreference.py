"""Coreference from files to records: what is trained, written, scored and measured."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyarrow import parquet

from calibrant.exceptions import InputError
from calibrant.io import open_predictions
from calibrant.structures import (
    PosteriorDocument,
    PosteriorWriter,
    coreference_scores,
    evaluate_coreference,
    export_pairs,
    predict_coreference,
    read_documents,
    read_posteriors,
    save_model,
    train_coreference,
)
from calibrant.structures.documents import Document, Mention
from calibrant.structures.files.saved_models import load_coreference_model
from calibrant.structures.models import CoreferenceModel, shipped
from calibrant.structures.posterior import antecedent_losses, probable_entities
from calibrant.structures.posterior.coreference_queries import mention_pairs
from calibrant.verbs import measure
from tests.quantities import defined


@pytest.fixture(scope="module")
def model(narrated: Path) -> CoreferenceModel:
    trained, _ = train_coreference(narrated / "train.conll", epochs=4)
    return trained


@pytest.fixture(scope="module")
def posteriors(model: CoreferenceModel, narrated: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("posteriors") / "test.jsonl"
    predict_coreference(model, narrated / "test.conll", path)
    return path


# Training.


def test_the_best_penalties_on_dev_are_kept(narrated: Path, tmp_path: Path) -> None:
    path = tmp_path / "story.model"
    given = narrated / "train.conll", narrated / "dev.conll"
    model, record = train_coreference(*given, l1=[1e-5, 1.0], l2=[0, 0.1], epochs=3, output=path)
    tried = [(each.hyperparameters["l1"], each.hyperparameters["l2"]) for each in record.candidates]
    assert tried == [(1e-5, 0), (1e-5, 0.1), (1.0, 0), (1.0, 0.1)]
    best = max(record.candidates, key=lambda each: (each.conll_f1 or 0, -each.log_loss))
    assert best.hyperparameters.items() <= record.hyperparameters.items()
    assert record.conll_f1 == best.conll_f1
    assert (record.documents, record.dev) == (30, str(narrated / "dev.conll"))
    loaded = load_coreference_model(path)
    documents = read_documents(narrated / "test.conll")
    np.testing.assert_array_equal(loaded.scores(documents)[0], model.scores(documents)[0])


def test_the_temperature_is_stored_in_the_weights(narrated: Path) -> None:
    train, dev = narrated / "train.conll", read_documents(narrated / "dev.conll")
    cold, before = train_coreference(train, dev, l1=1e-5, epochs=3, temperature=False)
    warm, after = train_coreference(train, dev, l1=1e-5, epochs=3)
    assert (before.temperature, before.log_loss) == (1.0, before.log_loss_before)
    assert after.temperature != 1
    assert after.log_loss is not None
    assert after.log_loss < defined(before.log_loss)
    scores = cold.scores(dev)[0]
    np.testing.assert_allclose(warm.scores(dev)[0], scores / after.temperature, rtol=1e-4, atol=1e-5)
    losses = antecedent_losses(warm.posterior(dev), [each.clusters or () for each in dev])
    assert losses.mean() == pytest.approx(after.log_loss, rel=1e-4)


def test_without_dev_there_is_nothing_to_choose_by(narrated: Path) -> None:
    _, record = train_coreference(narrated / "train.conll", epochs=1)
    assert (record.conll_f1, record.candidates, record.temperature) == (None, (), 1.0)
    assert record.reason == "there is no development data"
    with pytest.raises(InputError, match="4 combinations of penalties, but no development data"):
        train_coreference(narrated / "train.conll", l1=[1e-5, 1e-4], l2=[0, 1])


def test_several_files_are_one_text(narrated: Path) -> None:
    files = [narrated / "train.conll", narrated / "dev.conll"]
    _, record = train_coreference(files, epochs=1)
    assert (record.documents, record.train) == (42, [str(file) for file in files])
    documents = [document for file in files for document in read_documents(file)]
    assert train_coreference(documents, epochs=1)[1].mention_count == record.mention_count


def test_a_document_given_twice_is_refused(narrated: Path) -> None:
    with pytest.raises(InputError, match=r"train\.conll: there are two documents named"):
        train_coreference([narrated / "train.conll", narrated / "train.conll"], epochs=1)


def test_detected_mentions_can_be_learnt_from(narrated: Path) -> None:
    given = narrated / "train.conllu", narrated / "dev.conllu"
    _, record = train_coreference(*given, mentions="detected", features="syntax", l1=1e-5, epochs=2)
    _, gold = train_coreference(*given, features="syntax", l1=1e-5, epochs=2)
    assert record.mention_count == gold.mention_count  # every mention can be detected in these trees
    assert record.conll_f1 == gold.conll_f1


# Posteriors.


def test_posteriors_come_back_with_gold(model: CoreferenceModel, posteriors: Path, narrated: Path) -> None:
    documents = read_documents(narrated / "test.conll")
    for document, back in zip(documents, read_posteriors(posteriors), strict=True):
        assert (back.name, list(back.mentions)) == (document.name, list(document.mentions or ()))
        assert back.clusters == document.clusters
        expected = model.posterior([document]).pair_probabilities()
        np.testing.assert_allclose(back.posterior().pair_probabilities(), expected, atol=1e-12)


def test_entities_found_are_written_too(model: CoreferenceModel, narrated: Path, tmp_path: Path) -> None:
    text = narrated / "test.conll"
    written = predict_coreference(model, text, tmp_path / "a.jsonl", clusters=tmp_path / "a.conll")
    gold, found = read_documents(text), read_documents(tmp_path / "a.conll")
    scores = coreference_scores(
        [each.mentions or () for each in gold],
        [each.clusters or () for each in gold],
        [each.mentions or () for each in found],
        [each.clusters or () for each in found],
    )
    assert scores.conll_f1.estimate == evaluate_coreference(model, text).scores.conll_f1.estimate
    assert (written.documents, written.mentions, written.labelled) == (
        12,
        scores.gold_mentions,
        scores.gold_mentions,
    )


def test_detected_mentions_get_the_gold_entity_of_their_words(
    model: CoreferenceModel, narrated: Path, tmp_path: Path
) -> None:
    documents = read_documents(narrated / "test.conllu")
    less = [
        replace(each, mentions=(each.mentions or ())[1:], clusters=(each.clusters or ())[1:])
        for each in documents
    ]
    written = predict_coreference(model, less, tmp_path / "a.jsonl", detect=True)
    assert written.gold_mentions == written.mentions - 12
    assert written.labelled == written.gold_mentions
    for document, back in zip(documents, read_posteriors(tmp_path / "a.jsonl"), strict=True):
        assert list(back.mentions) == list(document.mentions or ())
        assert back.clusters == [None, *(document.clusters or ())[1:]]


# Pairs.


def columns(path: Path) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = parquet.read_table(path).to_pydict()
    return found


def test_pairs_are_the_exact_probabilities_and_labels(posteriors: Path, tmp_path: Path) -> None:
    written = export_pairs(posteriors, tmp_path / "pairs.parquet")
    rows = list(zip(*columns(tmp_path / "pairs.parquet").values(), strict=True))
    expected = []
    for document in read_posteriors(posteriors):
        pair, entity = document.posterior().pair_probabilities(), document.clusters or ()
        for second in range(len(entity)):
            for first in range(second):
                same = int(entity[first] == entity[second])
                expected.append((pair[second, first], same, document.name, first, second))
    assert [row[1:] for row in rows] == [row[1:] for row in expected]
    np.testing.assert_allclose([row[0] for row in rows], [row[0] for row in expected], atol=1e-12)
    assert (written.rows, written.left_out, written.labelled) == (len(expected), 0, True)


def test_measuring_the_table_is_measuring_the_query(
    model: CoreferenceModel, posteriors: Path, narrated: Path, tmp_path: Path
) -> None:
    export_pairs(posteriors, tmp_path / "pairs.csv")
    table = measure(tmp_path / "pairs.csv")["binary"]
    documents = read_documents(narrated / "test.conll")
    query = mention_pairs(model.posterior(documents), [each.clusters or () for each in documents])
    found = measure(query)["mention pairs"]
    evaluated = defined(evaluate_coreference(posteriors).pairs)
    for other in (found, evaluated["mention pairs"]):
        assert (other.n, other.positives, other.clusters) == (table.n, table.positives, table.clusters)
        assert other.brier == pytest.approx(table.brier)
        assert other.debiased_squared_error.estimate == pytest.approx(table.debiased_squared_error.estimate)


def test_sampled_scores_are_shares_of_samples(posteriors: Path, tmp_path: Path) -> None:
    exact, sampled = tmp_path / "exact.parquet", tmp_path / "sampled.parquet"
    export_pairs(posteriors, exact)
    written = export_pairs(posteriors, sampled, samples=400, seed=3)
    q, share = np.array(columns(exact)["score"]), np.array(columns(sampled)["score"])
    assert (written.samples, written.seed) == (400, 3)
    np.testing.assert_allclose(share * 400, np.round(share * 400), atol=1e-9)
    error = np.sqrt(np.maximum(q * (1 - q), 1e-6) / 400)
    assert (np.abs(share - q) < 5 * error + 1e-3).all()
    export_pairs(posteriors, exact, samples=400, seed=3)
    assert columns(exact) == columns(sampled)


def test_window_and_threshold_leave_pairs_out(posteriors: Path, tmp_path: Path) -> None:
    whole, part = tmp_path / "whole.parquet", tmp_path / "part.parquet"
    every = export_pairs(posteriors, whole)
    near = export_pairs(posteriors, part, window=2)
    rows, kept = columns(whole), columns(part)
    assert near.rows == sum(b - a <= 2 for a, b in zip(rows["first"], rows["second"], strict=True))
    assert max(b - a for a, b in zip(kept["first"], kept["second"], strict=True)) == 2
    likely = export_pairs(posteriors, part, drop_below=0.3)
    assert (likely.rows + likely.dropped, likely.dropped) == (every.rows, sum(q < 0.3 for q in rows["score"]))
    assert open_predictions(part).threshold == 0.3


def story(name: str, clusters: list[str | None] | None) -> PosteriorDocument:
    mentions = [Mention(place, 0, 1) for place in range(3)]
    return PosteriorDocument(name, mentions, [[1], [0.75, 0.25], [0.5, 0.25, 0.25]], clusters)


def written(path: Path, *documents: PosteriorDocument) -> Path:
    with PosteriorWriter(path) as writer:
        for document in documents:
            writer.write(document)
    return path


def test_pairs_of_a_mention_without_an_entity_have_no_label(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", story("d", ["x", None, "x"]), story("e", ["x", "x", "y"]))
    found = export_pairs(path, tmp_path / "a.parquet")
    assert (found.rows, found.left_out) == (4, 2)
    assert columns(tmp_path / "a.parquet")["label"] == [1, 1, 0, 0]
    found = export_pairs(path, tmp_path / "a.parquet", labels=False)
    assert (found.rows, found.left_out, found.labelled) == (6, 0, False)
    assert "label" not in columns(tmp_path / "a.parquet")
    assert evaluate_coreference(path).left_out == 2


def test_without_gold_there_are_no_labels(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", story("d", None))
    assert not export_pairs(path, tmp_path / "a.csv").labelled
    assert (tmp_path / "a.csv").read_text().splitlines()[0] == "score,cluster,first,second"
    with pytest.raises(InputError, match="there is no column 'label'"):
        measure(tmp_path / "a.csv")
    with pytest.raises(InputError, match="document 'd' has no gold entities"):
        evaluate_coreference(path)


def test_gold_in_some_documents_alone_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", story("d", ["x", "x", "x"]), story("e", None))
    with pytest.raises(InputError, match=r"document 'e' has no gold entities .* write no labels"):
        export_pairs(path, tmp_path / "a.csv")
    assert not (tmp_path / "a.csv").exists()
    assert export_pairs(path, tmp_path / "a.csv", labels=False).rows == 6


# Evaluation.


def test_evaluation_is_that_of_its_parts(model: CoreferenceModel, posteriors: Path, narrated: Path) -> None:
    found = evaluate_coreference(model, narrated / "test.conll", seed=4)
    same = evaluate_coreference(posteriors, seed=4)
    assert found.scores == same.scores
    assert (found.documents, found.detected, same.model) == (12, False, str(posteriors))
    assert found.pairs is not None
    assert found.pairs_above is not None
    above = found.pairs_above["mention pairs"]
    rows = [
        (score, label)
        for batch in mention_pairs(
            model.posterior(read_documents(narrated / "test.conll")),
            [each.clusters or () for each in read_documents(narrated / "test.conll")],
        )
        for score, label in zip(batch.score, batch.label, strict=True)
        if score >= 0.01
    ]
    assert (above.n, above.positives) == (len(rows), sum(label for _, label in rows))
    assert found.pairs_above.recipe.threshold == 0.01
    assert found.pairs.recipe.file == str(narrated / "test.conll")
    assert found.pairs["mention pairs"].clusters == 12


@pytest.mark.parametrize("clustering", ["probable", "expected", "antecedents"])
def test_entities_are_made_as_asked_for(model: CoreferenceModel, narrated: Path, clustering: Any) -> None:
    found = evaluate_coreference(model, narrated / "test.conll", clustering=clustering)
    documents = read_documents(narrated / "test.conll")
    posterior = model.posterior(documents)
    labels = {
        "probable": probable_entities(posterior),
        "expected": posterior.best_clustering(seed=0),
        "antecedents": posterior.clusters_of(posterior.best_antecedents()),
    }[clustering]
    parts = np.split(labels, posterior.document_offsets[1:-1])
    scores = coreference_scores(
        [each.mentions or () for each in documents],
        [each.clusters or () for each in documents],
        None,
        [part.tolist() for part in parts],
    )
    assert found.scores["lea"] == scores["lea"]


def test_gold_of_posteriors_may_come_from_a_text(posteriors: Path, narrated: Path, tmp_path: Path) -> None:
    bare = [replace(document, clusters=None) for document in read_posteriors(posteriors)]
    path = written(tmp_path / "bare.jsonl", *bare[::-1])
    found = evaluate_coreference(path, narrated / "test.conll")
    same = evaluate_coreference(posteriors)
    assert found.scores.conll_f1.low == pytest.approx(same.scores.conll_f1.low)
    assert found.scores.conll_f1.estimate == pytest.approx(same.scores.conll_f1.estimate)
    with pytest.raises(InputError, match=r"document 'test-0' is missing in the posteriors"):
        evaluate_coreference(written(tmp_path / "few.jsonl", *bare[1:]), narrated / "test.conll")


def test_gold_mentions_that_were_not_detected_count(model: CoreferenceModel, narrated: Path) -> None:
    documents = read_documents(narrated / "test.conllu")
    assert documents[0].trees is not None
    extra = [
        replace(
            each,
            mentions=sorted(
                [*(each.mentions or ()), Mention(0, len(each.sentences[0]) - 1, len(each.sentences[0]))]
            ),
            clusters=None,
        )
        for each in documents
    ]
    padded = [
        replace(
            each,
            clusters=[
                dict(zip(old.mentions or (), old.clusters or (), strict=True)).get(mention, "new")
                for mention in each.mentions or ()
            ],
        )
        for each, old in zip(extra, documents, strict=True)
    ]
    found = evaluate_coreference(model, padded, detect=True)
    assert found.scores["mentions"].precision.estimate == 1
    assert found.scores.gold_mentions == found.scores.predicted_mentions + 12


def test_singletons_can_be_left_out_of_scores(model: CoreferenceModel, narrated: Path) -> None:
    found = evaluate_coreference(model, narrated / "test.conll", singletons=False)
    whole = evaluate_coreference(model, narrated / "test.conll")
    assert found.scores.gold_mentions < whole.scores.gold_mentions
    assert found.pairs == whole.pairs


def test_documents_without_pairs_have_scores_and_a_reason(model: CoreferenceModel) -> None:
    lonely = [Document("a", [["Ann"]], [Mention(0, 0, 1)], ["x"]), Document("b", [["Bob"]], [], [])]
    found = evaluate_coreference(model, lonely)
    record = json.loads(found.to_json())
    assert (record["pairs"], record["pairs_above"]) == (None, None)
    assert record["reason"] in found.to_text()
    assert found.scores["b_cubed"].f1.estimate == 1


def test_a_model_that_ships_goes_by_its_name(
    model: CoreferenceModel, narrated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shipped, "FOLDER", tmp_path)
    monkeypatch.chdir(tmp_path)
    save_model(model, tmp_path / "tiny.model")
    text = narrated / "test.conll"
    found, expected = evaluate_coreference("tiny", text), evaluate_coreference(model, text)
    assert (found.model, found.scores) == ("tiny", expected.scores)
    with pytest.raises(
        InputError, match=r"huge: no such file: check the path, or name an included model: tiny"
    ):
        evaluate_coreference("huge", text)


# Input that cannot be used.


def test_bad_input_is_refused(
    model: CoreferenceModel, posteriors: Path, narrated: Path, tmp_path: Path
) -> None:
    bare = [Document("d", [["Ann"]])]
    other: Any = "best"
    with pytest.raises(InputError, match="document 'd' has no mentions: detect mentions"):
        predict_coreference(model, bare, tmp_path / "a.jsonl")
    with pytest.raises(
        InputError, match="document 'd' has no trees, which detection of mentions needs: give a parser"
    ):
        predict_coreference(model, bare, tmp_path / "a.jsonl", detect=True)
    with pytest.raises(InputError, match="document 'd' has no gold entities"):
        evaluate_coreference(model, bare)
    with pytest.raises(InputError, match="there is no text to evaluate the model on"):
        evaluate_coreference(model)
    with pytest.raises(InputError, match="posteriors already have mentions"):
        evaluate_coreference(posteriors, detect=True)
    with pytest.raises(InputError, match="clustering is 'best'"):
        evaluate_coreference(posteriors, clustering=other)
    with pytest.raises(InputError, match="there are no training texts"):
        train_coreference([])
    with pytest.raises(InputError, match="the entities need a separate file"):
        predict_coreference(model, narrated / "test.conll", tmp_path / "a", clusters=tmp_path / "a")
    with pytest.raises(InputError, match="the output would replace this file"):
        export_pairs(posteriors, posteriors)
    with pytest.raises(InputError, match="cannot be written to standard output"):
        train_coreference(narrated / "train.conll", output="-")
    assert list(tmp_path.iterdir()) == []


# Input that a new user would try.


def test_posteriors_of_another_text_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", story("a", None))
    text = [Document("a", [["Ann", "left"], ["She", "slept"]], [Mention(0, 0, 1)], ["ann"])]
    with pytest.raises(InputError, match=r"mention 2 \[2, 0, 1\] is outside the text") as caught:
        evaluate_coreference(path, text)
    assert caught.value.file == str(path)


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_posteriors_are_known_by_their_content(packed: bool, tmp_path: Path) -> None:
    content = written(tmp_path / "a.jsonl", story("a", ["x", "x", "y"])).read_bytes()
    path = tmp_path / "posteriors"
    path.write_bytes(gzip.compress(content) if packed else b"\xef\xbb\xbf" + content)
    assert evaluate_coreference(path).mentions == 3


def test_a_document_without_mentions_needs_no_gold(tmp_path: Path) -> None:
    empty = PosteriorDocument("empty", [], [])
    path = written(tmp_path / "a.jsonl", empty, story("a", ["x", "x", "y"]))
    found = export_pairs(path, tmp_path / "a.csv")
    assert (found.labelled, found.rows, found.documents) == (True, 3, 2)
    assert evaluate_coreference(path).documents == 2
    with pytest.raises(InputError, match="no document has mentions"):
        export_pairs(written(tmp_path / "b.jsonl", empty), tmp_path / "b.csv")


def test_pairs_without_a_gold_entity_are_called_so(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", story("a", [None, None, "y"]))
    with pytest.raises(InputError, match="no document has two mentions with a gold entity: write no labels"):
        export_pairs(path, tmp_path / "a.csv")
    assert export_pairs(path, tmp_path / "a.csv", labels=False).rows == 3


def test_a_text_without_any_mention_or_gold_entity_is_refused(
    model: CoreferenceModel, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="no document has mentions: detect mentions"):
        predict_coreference(model, [Document("d", [["Ann"]], [], [])], tmp_path / "a.jsonl")
    assert list(tmp_path.iterdir()) == []
    path = written(tmp_path / "a.jsonl", story("a", [None, None, None]))
    with pytest.raises(InputError, match="no mention has a gold entity: give a text with gold") as caught:
        evaluate_coreference(path)
    assert caught.value.file == str(path)


def test_a_window_no_array_can_hold_is_refused(posteriors: Path, tmp_path: Path) -> None:
    for act in (
        lambda: export_pairs(posteriors, tmp_path / "a.csv", window=1 << 63),
        lambda: evaluate_coreference(posteriors, window=1 << 63),
        lambda: CoreferenceModel(window=1 << 63),
    ):
        with pytest.raises(InputError, match="window is 9223372036854775808"):
            act()


def test_a_dev_text_without_mentions_cannot_choose(narrated: Path, tmp_path: Path) -> None:
    dev = tmp_path / "dev.conll"
    dev.write_text("#begin document (d); part 000\nd\t0\t0\tRain\t-\n\n#end document\n")
    with pytest.raises(InputError, match="no mention of the development text has a gold entity") as caught:
        train_coreference(narrated / "train.conll", dev, epochs=1)
    assert caught.value.file == str(dev)


def test_entities_never_replace_the_posteriors(
    model: CoreferenceModel, narrated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="the entities need a separate file"):
        predict_coreference(model, narrated / "test.conll", "a.jsonl", clusters="./a.jsonl")


def test_a_text_without_trees_is_named(tmp_path: Path) -> None:
    text = tmp_path / "a.conll"
    text.write_text("#begin document (d); part 000\nd\t0\t0\tAnn\t(1)\n\n#end document\n")
    with pytest.raises(InputError, match=r"a\.conll: document 'd' has no trees") as caught:
        train_coreference(text, features="syntax")
    assert "`parser`" in str(caught.value)
