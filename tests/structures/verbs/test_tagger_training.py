"""Hyperparameters are chosen on the development data alone, and nothing is written by halves."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from calibrant.exceptions import InputError
from calibrant.structures import TaggedText, read_tagged, train_tagger
from calibrant.structures.files.saved_models import load_tagger, model_column
from calibrant.structures.models import L2_PENALTIES, PSEUDOCOUNTS, CRFTagger, HMMTagger, token_accuracy


def text_of(path: Path) -> tuple[TaggedText, list[list[str]]]:
    text = read_tagged(path)
    assert text.tags is not None
    return text, text.tags


def test_the_most_accurate_on_the_development_data_is_kept(tagged: Path) -> None:
    (train, tags), (dev, gold) = text_of(tagged / "train.tsv"), text_of(tagged / "dev.tsv")
    tagger, record = train_tagger(tagged / "train.tsv", tagged / "dev.tsv", model="hmm")
    assert [each.hyperparameters["pseudocount"] for each in record.candidates] == list(PSEUDOCOUNTS)
    for each in record.candidates:
        model = HMMTagger(pseudocount=each.hyperparameters["pseudocount"], unseen="classes")
        predicted = model.fit(train.sentences, tags).predict(dev.sentences)
        assert each.accuracy == token_accuracy(gold, predicted)
    best = max(each.accuracy for each in record.candidates)
    first = next(each for each in record.candidates if each.accuracy == best)
    assert record.accuracy == best
    assert record.hyperparameters == {**first.hyperparameters, "unseen": "classes"}
    assert token_accuracy(gold, tagger.predict(dev.sentences)) == best


def test_without_development_data_there_is_one_default(tagged: Path) -> None:
    _, record = train_tagger(tagged / "train.tsv", max_iterations=5)
    assert (record.model, record.features, record.hyperparameters) == (
        "crf",
        "advanced",
        {"l2": 0.1, "max_iterations": 5},
    )
    assert (record.dev, record.accuracy, record.candidates) == (None, None, ())
    assert record.iterations == 5
    _, record = train_tagger(tagged / "train.tsv", model="hmm", unseen="uniform")
    assert record.hyperparameters == {"pseudocount": 0.01, "unseen": "uniform"}
    assert (record.features, record.iterations) == (None, None)
    train, _ = text_of(tagged / "train.tsv")
    words = {word for sentence in train.sentences for word in sentence}
    assert (record.sentences, record.tokens, record.words) == (120, train.token_count, len(words))
    assert record.tags == ("D", "N", "V")


def test_a_crf_has_penalties_to_choose_from(tagged: Path) -> None:
    _, record = train_tagger(
        tagged / "train.tsv", tagged / "dev.tsv", features=["word", "suffixes"], max_iterations=5
    )
    assert [each.hyperparameters["l2"] for each in record.candidates] == list(L2_PENALTIES)
    assert record.features == ["word", "suffixes"]


@pytest.mark.slow
def test_processes_choose_the_same(tagged: Path) -> None:
    texts, said = (tagged / "train.tsv", tagged / "dev.tsv"), []
    alone = train_tagger(*texts, features="basic", l2=[1.0, 0.1, 0.01])[1]
    with ProcessPoolExecutor(2, get_context("spawn")) as executor:
        model, record = train_tagger(
            *texts,
            features="basic",
            l2=[1.0, 0.1, 0.01],
            executor=executor,
            progress=lambda *step: said.append(step),
        )
    assert (record.candidates, record.hyperparameters) == (alone.candidates, alone.hyperparameters)
    assert isinstance(model, CRFTagger)
    assert model.l2 == record.hyperparameters["l2"]
    assert [step for step in said if "training" in step[0]] == [
        ("training with 3 values of l2", done, 3) for done in (1, 2, 3)
    ]


def test_a_value_that_is_given_is_used_and_its_accuracy_told(tagged: Path) -> None:
    _, record = train_tagger(tagged / "train.tsv", tagged / "dev.tsv", model="hmm", pseudocount=0.25)
    assert record.hyperparameters["pseudocount"] == 0.25
    assert [each.accuracy for each in record.candidates] == [record.accuracy]


def test_the_model_is_saved_with_its_column(tagged: Path, tmp_path: Path) -> None:
    tagger, record = train_tagger(
        tagged / "train.conllu", model="hmm", column="xpos", output=tmp_path / "small.model"
    )
    assert load_tagger(tmp_path / "small.model").predict([["w1"]]) == tagger.predict([["w1"]])
    assert model_column(tmp_path / "small.model") == record.column == "xpos"
    assert record.output == str(tmp_path / "small.model")


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "several without dev": ({"l2": [1.0, 2.0]}, "2 values of l2, but no development data"),
    "none": ({"l2": []}, "0 values of l2"),
    "of the HMM": ({"pseudocount": 1.0}, "pseudocount is an option of the HMM: leave `pseudocount` out"),
    "of the CRF": ({"model": "hmm", "max_iterations": 3}, "max_iterations is an option of the CRF"),
    "features of the CRF": ({"model": "hmm", "features": "basic"}, "features is an option of the CRF"),
    "unknown": ({"model": "svm"}, "model is 'svm': use one of crf, hmm"),
    "negative": ({"l2": -1.0}, "l2 is -1"),
    "a bad one among good ones": ({"model": "hmm", "pseudocount": [-1.0]}, "pseudocount is -1"),
    "unknown features": ({"features": "basics"}, "there is no feature group 'basics'"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_settings_that_do_not_fit_are_refused(tagged: Path, case: str) -> None:
    given, message = REFUSED[case]
    with pytest.raises(InputError, match=message):
        train_tagger(tagged / "train.tsv", **given)


def test_a_place_that_cannot_be_written_is_known_before_anything_is_read(tmp_path: Path) -> None:
    for output, message in (
        (tmp_path / "no" / "small.model", "cannot write: no such file or directory"),
        (tmp_path, "this is a folder"),
    ):
        with pytest.raises(InputError, match=message):
            train_tagger(tmp_path / "none.tsv", output=output)
    assert not list(tmp_path.iterdir())


def test_development_data_of_other_tags_are_refused(tagged: Path, tmp_path: Path) -> None:
    (tmp_path / "dev.tsv").write_text("w1\tAUX\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"dev\.tsv: none of the tags \(AUX\) occurs in .*train\.tsv"):
        train_tagger(tagged / "train.tsv", tmp_path / "dev.tsv", model="hmm")


def test_the_model_may_not_replace_a_text(tagged: Path, tmp_path: Path) -> None:
    path = tmp_path / "train.tsv"
    path.write_bytes((tagged / "train.tsv").read_bytes())
    for given in ((path,), (tagged / "train.tsv", path)):
        with pytest.raises(InputError, match="the output would replace this file"):
            train_tagger(*given, model="hmm", output=path)
    assert path.read_bytes() == (tagged / "train.tsv").read_bytes()


def test_interrupted_training_leaves_the_old_model_and_nothing_else(tagged: Path, tmp_path: Path) -> None:
    output = tmp_path / "small.model"
    output.write_bytes(b"old")

    def stop(stage: str, done: int, total: int | None) -> None:
        if stage.startswith("training") and done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_tagger(tagged / "train.tsv", output=output, progress=stop)
    assert output.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [output]


def test_progress_names_the_value_that_is_tried(tagged: Path) -> None:
    said: list[tuple[str, int, int | None]] = []
    train_tagger(
        tagged / "train.tsv",
        tagged / "dev.tsv",
        l2=[1.0, 0.1],
        max_iterations=4,
        progress=lambda *step: said.append(step),
    )
    assert ("training with l2 0.1 (2 of 2)", 4, 4) in said
