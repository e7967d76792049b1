"""Taggers through the evaluation of one file: the numbers of `calibrant tag eval`, from their predictions."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from calibrant.evaluation import Protocol, protocol
from calibrant.exceptions import InputError
from calibrant.io import open_predictions
from calibrant.structures import predict_tags, read_tagged
from calibrant.structures.models import CRFTagger, HMMTagger
from calibrant.verbs import measure
from tests.quantities import defined

BIN = 36  # a tenth of the words


@pytest.fixture(scope="module")
def folder(tagged: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Predictions of two taggers on the same text, and an evaluation of both."""
    here = tmp_path_factory.mktemp("taggers")
    text = read_tagged(tagged / "train.conllu")
    assert text.tags is not None
    hmm = HMMTagger(pseudocount=0.5).fit(text.sentences, text.tags)
    crf = CRFTagger(features="basic", max_iterations=20).fit(text.sentences, text.tags)
    for name, model in (("hmm", hmm), ("crf", crf)):
        predict_tags(model, tagged / "test.conllu", here / f"{name}.parquet")
    labels = json.dumps(list(dict.fromkeys([*hmm.tags, *crf.tags])))
    systems = "".join(f'[[systems]]\nname = "{name}"\nfile = "{name}.parquet"\n' for name in ("hmm", "crf"))
    (here / "eval.toml").write_text(
        f'[task]\nlabels = {labels}\n[reference]\nfile = "hmm.parquet"\n{systems}'
        '[evaluation]\nmetrics = ["accuracy"]\nsamples = 200\n',
        encoding="utf-8",
    )
    return here


@pytest.fixture(scope="module")
def found(folder: Path) -> Protocol:
    return protocol(folder / "eval.toml")


@pytest.mark.parametrize("place", [0, 1], ids=["hmm", "crf"])
def test_accuracy_is_that_of_the_most_probable_tags(found: Protocol, folder: Path, place: int) -> None:
    batch = open_predictions(folder / f"{found.systems[place].name}.parquet").by_item().read()
    known = batch.label >= 0
    right = batch.score.argmax(axis=1)[known] == batch.label[known]
    assert found.systems[place].values["accuracy"].estimate == pytest.approx(np.mean(right))
    assert found.reference.items == int(known.sum())


def test_sentences_are_the_units(found: Protocol, folder: Path) -> None:
    batch = open_predictions(folder / "hmm.parquet").by_item().read()
    assert found.reference.documents == len(np.unique(defined(batch.cluster)))
    assert found.comparisons[0].unit == "document"


def test_calibration_is_that_of_the_top_tag(found: Protocol, folder: Path) -> None:
    for model in defined(found.calibration).models:
        batch = open_predictions(folder / f"{model.name}.parquet").by_item().read()
        known = batch.label >= 0
        right = (batch.score.argmax(axis=1) == batch.label)[known]
        top = batch.score.max(axis=1)[known]
        direct = measure(
            pa.table({"score": top, "label": right, "cluster": defined(batch.cluster)[known]}), bin_size=BIN
        )
        assert model.measured["top"].brier == pytest.approx(direct["binary"].brier)
        assert model.measured["top"].interval.high == pytest.approx(direct["binary"].interval.high)


def test_words_with_a_tag_that_the_taggers_do_not_know_are_counted(found: Protocol, folder: Path) -> None:
    batch = open_predictions(folder / "hmm.parquet").by_item().read()
    unknown = int(np.sum(batch.label < 0))
    assert unknown > 0
    assert found.reference.left_out == unknown
    assert any(note.startswith(f"{unknown} items have no reference label") for note in found.notes)


def test_a_tag_that_the_task_lacks_is_named(folder: Path) -> None:
    text = (folder / "eval.toml").read_text(encoding="utf-8")
    (folder / "short.toml").write_text(text.replace('"N"', '"NOUN"'), encoding="utf-8")
    with pytest.raises(InputError, match="class 'N' is not one of the task's labels"):
        protocol(folder / "short.toml")
