"""Parsers are trained on predicted tags, and evaluated as their scores of arcs are."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calibrant.exceptions import InputError
from calibrant.structures import (
    TreeText,
    evaluate_parser,
    load_dependency_model,
    load_tagger,
    predict_trees,
    read_trees,
    train_parser,
)
from calibrant.structures.models import DependencyModel
from calibrant.structures.posterior import tempered_trees
from calibrant.structures.posterior.dependency_queries import DISTANCES
from calibrant.structures.verbs.parser_training import jackknifed
from tests.quantities import defined
from tests.structures.treebank import treebank, write_trees


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trees")
    write_trees(folder)
    train_parser(
        folder / "train.conllu", folder / "dev.conllu", folds=2, bits=14, epochs=3,
        output=folder / "p.model", tagger=folder / "t.model",
    )  # fmt: skip
    return folder


def evaluated(place: Path, **options: Any) -> Any:
    return evaluate_parser(
        place / "p.model", place / "test.conllu", tagger=place / "t.model", n_bins=4, **options
    )


def test_training_says_what_it_did(place: Path) -> None:
    model, record = train_parser(
        [place / "train.conllu", place / "dev.conllu"], place / "test.conllu", folds=3, bits=14, epochs=2
    )
    assert (record.sentences, record.folds, record.relations) == (120, 3, 8)
    assert record.tag_accuracy == pytest.approx(1, abs=0.05)
    assert defined(record.unlabeled) > 0.9
    assert record.temperature is not None
    assert record.temperature.after <= record.temperature.before
    assert model.temperatures == (record.temperature.temperature, record.label_temperature or 1.0)
    assert model.trained_on == record.about == "train.conllu, dev.conllu (120 sentences)"
    plain, record = train_parser(place / "train.conllu", folds=0, bits=12, epochs=1)
    assert plain.temperatures == (1.0, 1.0)
    assert "trained on the tags of the file" in record.to_text()


def test_each_fold_is_tagged_by_a_tagger_of_the_others() -> None:
    text = treebank(40)
    assert text.document_ids
    # One document has a special word with a special tag, which no other fold can know.
    own = text.document_ids.index("d3")
    sentences, tags = [list(words) for words in text.sentences], [list(of) for of in defined(text.tags)]
    sentences[own][-1], tags[own][-1] = "zzz", "X"
    changed = TreeText(sentences, tags, None, None, text.sentence_ids, text.document_ids, "small")
    predicted = jackknifed(changed, 4)
    assert predicted[own][-1] != "X"
    assert [len(of) for of in predicted] == [len(of) for of in tags]
    with pytest.raises(InputError, match="40 sentences cannot have 50 folds"):
        jackknifed(changed, 50)


def test_attachment_is_that_of_the_trees(place: Path) -> None:
    found = evaluated(place)
    gold = read_trees(place / "test.conllu")
    tags = load_tagger(place / "t.model").predict(gold.sentences)
    heads, relations = load_dependency_model(place / "p.model").predict(gold.sentences, tags)
    right = [one == two for one, two in zip(chain(*heads), chain(*defined(gold.heads)), strict=True)]
    named = [one == two for one, two in zip(chain(*relations), chain(*defined(gold.relations)), strict=True)]
    assert found.unlabeled.estimate == pytest.approx(np.mean(right))
    assert found.labeled.estimate == pytest.approx(np.logical_and(right, named).mean())
    assert found.measured["pooled"].n == len(right) == found.tokens
    assert found.measured["pooled"].positives == sum(right)
    by_document = evaluated(place, cluster="document", view="classwise")
    assert by_document.unlabeled.estimate == found.unlabeled.estimate
    assert {view.view.removeprefix("class:") for view in by_document.measured.views} <= set(DISTANCES)


def test_queries_count_what_they_say(place: Path) -> None:
    words = [len(sentence) for sentence in read_trees(place / "test.conllu").sentences]
    arcs = evaluated(place, query="arcs").measured["pooled"]
    assert (arcs.n, arcs.positives) == (sum(length * length for length in words), sum(words))
    relation = evaluated(place, query="relation")
    assert relation.measured["pooled"].positives == round(relation.labeled.estimate * sum(words))
    labeled = evaluated(place, query="labeled", view="class:nmod").measured["class:nmod"]
    assert 0 < labeled.positives < labeled.n


def test_scores_of_arcs_are_evaluated_as_their_parser(place: Path, tmp_path: Path) -> None:
    model, tagger = load_dependency_model(place / "p.model"), load_tagger(place / "t.model")
    for name in ("dev", "test"):
        text = read_trees(place / f"{name}.conllu")
        arcs, _ = model.scores(text.sentences, tagger.predict(text.sentences), labels=False)
        shuffled = np.random.default_rng(0).permutation(len(arcs)).tolist()
        np.savez(tmp_path / f"{name}.npz", **{text.sentence_ids[at]: arcs[at] for at in shuffled})
    own = evaluate_parser(tmp_path / "test.npz", place / "test.conllu", n_bins=4)
    found = evaluated(place)
    assert own.unlabeled == found.unlabeled
    loss = found.measured["pooled"].log_loss.estimate
    assert own.measured["pooled"].log_loss.estimate == pytest.approx(loss, rel=1e-6)
    assert own.labeled.estimate is None
    fitted = evaluate_parser(
        tmp_path / "test.npz", place / "test.conllu", dev=place / "dev.conllu",
        dev_arcs=tmp_path / "dev.npz", n_bins=4,
    )  # fmt: skip
    assert defined(fitted.temperature).temperature == pytest.approx(1, abs=1e-3)  # the model has its own
    with pytest.raises(InputError, match="scores of arcs have no relations"):
        evaluate_parser(tmp_path / "test.npz", place / "test.conllu", query="labeled")
    with pytest.raises(InputError, match="needs a text and its scores"):
        evaluate_parser(tmp_path / "test.npz", place / "test.conllu", dev=place / "dev.conllu")
    with pytest.raises(InputError, match="there are scores of 80 sentences"):
        evaluate_parser(tmp_path / "test.npz", place / "dev.conllu")
    with pytest.raises(InputError, match="no relations to write"):
        predict_trees(tmp_path / "test.npz", place / "test.conllu", tmp_path / "a.conllu")


def test_a_temperature_is_fitted_and_both_results_are_given(place: Path) -> None:
    cold = load_dependency_model(place / "p.model").tempered(0.25)
    found = evaluate_parser(cold, place / "test.conllu", dev=place / "dev.conllu", n_bins=4)
    fitted = defined(found.temperature)
    assert fitted.temperature == pytest.approx(4, rel=0.05)
    before, after = (each["pooled"].log_loss for each in (defined(found.before), found.measured))
    assert defined(before.estimate) > defined(after.estimate)
    assert f"Before the temperature of {fitted.temperature:.2f}, the calibration" in found.summary()
    gold = read_trees(place / "test.conllu")
    posterior = tempered_trees(
        cold.posterior(gold.sentences, defined(gold.tags), labels=False), fitted.temperature
    )
    losses = -posterior.log_probability(list(chain(*defined(gold.heads))))
    assert found.log_loss == pytest.approx(losses.mean(), rel=1e-6)


def test_written_trees_are_those_of_the_parser(place: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.conllu"
    written = predict_trees(place / "p.model", place / "test.conllu", out, tagger=place / "t.model")
    trees = read_trees(out)
    gold = read_trees(place / "test.conllu")
    tags = load_tagger(place / "t.model").predict(gold.sentences)
    assert trees.tags == tags
    model = load_dependency_model(place / "p.model")
    assert (trees.heads, trees.relations) == model.predict(gold.sentences, tags)
    assert written.trained_on == "train.conllu (60 sentences)"
    line = next(line for line in out.read_text(encoding="utf-8").splitlines() if line.startswith("1\t"))
    assert 0 < float(line.rpartition("ArcProb=")[2]) <= 1


def test_bad_input_is_refused(place: Path, tmp_path: Path) -> None:
    test = place / "test.conllu"
    plain = tmp_path / "plain.conllu"
    rows = (line.split("\t") for line in test.read_text(encoding="utf-8").split("\n"))
    plain.write_text("\n".join("\t".join([*of[:3], *["_"] * (len(of) > 3), *of[4:]]) for of in rows), "utf-8")
    model = DependencyModel(bits=8, label_bits=8).fit([["a"] * 2], [["N", "V"]], [[2, 0]], [["x", "y"]])
    with pytest.raises(InputError, match=r"test\.conllu: .*does not know the tag"):
        evaluate_parser(model, test)
    for text, message in ((plain, "the file has no upos tags"), (place / "none.conllu", "no such file")):
        with pytest.raises(InputError, match=message):
            evaluate_parser(place / "p.model", text)
    for options, message in (
        ({"query": "trees"}, "query is 'trees'"),
        ({"cluster": "page"}, "there are no clusters by 'page'"),
    ):
        with pytest.raises(InputError, match=message):
            evaluate_parser(place / "p.model", test, **options)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no tagger is trained without folds"):
        train_parser(test, folds=0, tagger=tmp_path / "t.model")
    with pytest.raises(InputError, match="the output would replace"):
        predict_trees(place / "p.model", test, test)
