from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calibrant.metrics import plug_in_calibration_error
from calibrant_studies import Study, run
from calibrant_studies._tweets import KINDS, f1_score, read, shipped, source
from calibrant_studies.text_classifiers import UnigramClassifier, tweet_tokenizer

PREDICTED = {(p.text_set, p.model, p.split): p for p in shipped()}


@pytest.fixture(scope="module")
def study() -> Study:
    return run("sentiment")


def test_the_record_is_what_the_shipped_predictions_give(study: Study, record: dict[str, Any]) -> None:
    here = json.loads(study.to_json())
    for now, then in zip(here["findings"], record["findings"], strict=True):
        for key in ("value", "low", "high"):
            if isinstance(then[key], float):
                # NumPy's streams of draws, and so resampled ends, may differ a little between its releases.
                near = 1e-6 if key == "value" else 1e-3
                assert now[key] == pytest.approx(then[key], rel=near, abs=1e-9), then["name"]
            else:
                assert now[key] == then[key]
        assert now["verdict"] == then["verdict"]


def test_naive_bayes_is_worse_calibrated_at_every_bin_size(study: Study) -> None:
    rows = study.tables["sizes"]
    assert len(rows) == 12
    for row in rows:
        assert row["naive Bayes"] > row["logistic regression"]
        assert row["naive Bayes, debiased"] > row["logistic regression, debiased"]


def test_the_plug_in_of_one_row_is_algorithm_1_by_hand() -> None:
    p = PREDICTED["dated", "naive-bayes", "test"]
    score, first = np.unique(p.scores, return_index=True)  # tied tweets have no order, so leave one of each
    label = p.labels[first]
    assert len(score) > 5_900
    bin_of = np.minimum(np.arange(len(score)) // 300, len(score) // 300 - 1)
    n = np.bincount(bin_of)
    gap = (np.bincount(bin_of, label) - np.bincount(bin_of, score)) / n
    expected = float(np.sqrt(np.sum(n * gap**2) / n.sum()))
    assert plug_in_calibration_error(label, score, bin_size=300) == pytest.approx(expected, abs=1e-12)


def test_f1_is_of_the_positive_class() -> None:
    labels = np.array([1, 1, 0, 0], dtype=np.uint8)
    assert f1_score(labels, np.array([0.9, 0.2, 0.8, 0.1])) == 0.5
    assert f1_score(labels, np.array([0.9, 0.8, 0.8, 0.1])) == pytest.approx(0.8)


@pytest.mark.slow
def test_training_anew_gives_the_shipped_predictions(data: Path) -> None:
    shipped_before = PREDICTED["dated", "logistic-regression", "test"]
    training, test = (read(source(data, "dated", split)) for split in ("train", "test"))
    kind, strength = KINDS["logistic-regression"], shipped_before.about["strength"]
    model = UnigramClassifier(kind, strength=strength, tokenizer=tweet_tokenizer())
    scores = model.fit(training.texts, training.labels).predict_proba(test.texts)
    np.testing.assert_array_equal(test.labels, shipped_before.labels)
    np.testing.assert_allclose(scores, shipped_before.scores, rtol=1e-4)  # solvers differ by release
