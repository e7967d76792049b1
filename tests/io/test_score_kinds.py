"""Scores of each kind become the probabilities that they mean, and rankings are never measured as such."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from calibrant import apply, convert, fit, measure
from calibrant.exceptions import InputError
from calibrant.io import Columns, load_recalibrator, open_predictions, save_recalibrator
from calibrant.io.score_kinds import SCORE_KINDS, from_numbers, to_number

N = 400


@pytest.fixture
def probability() -> Any:
    return np.random.default_rng(1).uniform(0.001, 0.999, N).round(6)


def as_kind(p: Any, kind: str) -> Any:
    logit = np.log(p) - np.log1p(-p)
    return {"percent": 100 * p, "logit": logit, "logprob": np.log(p), "probability": p}[kind]


@pytest.mark.parametrize("kind", ["percent", "logit", "logprob"])
@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet", None])
def test_scores_of_a_kind_are_read_as_probabilities(
    kind: Any, ending: str | None, probability: Any, tmp_path: Path
) -> None:
    table = pd.DataFrame({"score": as_kind(probability, kind), "label": np.arange(N) % 2})
    source: Any = table
    if ending is not None:
        source = tmp_path / f"scores{ending}"
        if ending == ".csv":
            table.to_csv(source, index=False)
        elif ending == ".parquet":
            table.to_parquet(source, index=False)
        else:
            table.to_json(source, orient="records", lines=True, double_precision=15)
    columns = Columns(score_kind=kind)
    assert open_predictions(source, columns).read().score == pytest.approx(probability)
    new = tmp_path / "new.parquet"
    convert(source, new, columns=columns)
    assert open_predictions(new).read().score == pytest.approx(probability)


def test_texts_of_percentages_are_numbers(tmp_path: Path) -> None:
    for name, text in {
        "a.csv": "score,label\n90%,1\n 7.5 % ,0\n100,1\n",
        "b.csv": "score;label\n90 %;1\n7,5%;0\n100;1\n",
        "c.jsonl": '{"score": "90%", "label": 1}\n{"score": "7.5%", "label": 0}\n'
        '{"score": "100", "label": 1}\n',
    }.items():
        (tmp_path / name).write_text(text)
        predictions = open_predictions(tmp_path / name, {"score_kind": "percent"})
        assert predictions.read().score.tolist() == [0.9, 0.075, 1.0]
        assert "The scores were read as percent." in predictions.told


WIDE = {
    "percent": [[80.0, 20.0], [30.0, 70.0]],
    "logit": [[np.log(0.8), np.log(0.2)], [np.log(3), np.log(7)]],
    "logprob": [[np.log(0.8), np.log(0.2)], [np.log(0.3), np.log(0.7)]],
}


@pytest.mark.parametrize("kind", list(WIDE))
def test_scores_of_the_classes_of_a_row_are_read_together(kind: Any) -> None:
    table = pd.DataFrame(WIDE[kind], columns=["p_a", "p_b"]).assign(label=["a", "b"])
    read = open_predictions(table, {"score_kind": kind}).read()
    assert read.score == pytest.approx(np.array([[0.8, 0.2], [0.3, 0.7]]))


BAD = [
    ("percent", "high,1", "row 2, column score: 'high' is not a percentage: write a number from 0 to 100"),
    ("percent", "101,1", "row 2, column score: 101.0 is not a percentage from 0 to 100"),
    ("percent", "nan,1", "row 2, column score: 'nan' is not a percentage"),
    ("percent", "1e1,1", "row 2, column score: '1e1' is not a percentage"),
    ("percent", ",1", "row 2, column score: the value is missing"),
    ("logprob", "0.1,1", "row 2, column score: 0.1 is not a log-probability, which is at most 0"),
    ("logprob", "nan,1", "row 2, column score: nan is not a log-probability"),
    ("logit", "inf,1", "row 2, column score: inf is not a finite number"),
    ("ranking", "nan,1", "row 2, column score: nan is not a number between -1e[+]07 and 1e[+]07"),
    ("ranking", "2e7,1", "row 2, column score: 20000000.0 is not .*: divide all scores by the same number"),
    ("probability", "95,1", "row 2, column score: 95.0 .*, or give `columns={'score_kind': 'percent'}`"),
    ("probability", "95%,1", "row 2, column score: '95%' .* give `columns={'score_kind': 'percent'}`"),
    (
        "probability",
        "-7,1",
        "row 2, .*: these look like log-probabilities .* `columns={'score_kind': 'logprob'}`",
    ),
    ("percentage", "95,1", "score_kind is 'percentage'"),
]


@pytest.mark.parametrize(("kind", "row", "message"), BAD)
def test_a_score_that_is_not_of_its_kind_is_refused(
    kind: Any, row: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_text(f"score,label\n0,0\n{row}\n")
    with pytest.raises(InputError, match=message):
        open_predictions(tmp_path / "a.csv", Columns(score_kind=kind), rankings=True).read()


@pytest.mark.parametrize("kind", ["percent", "logit"])
def test_probabilities_are_not_read_as_percentages_or_log_odds(kind: Any, probability: Any) -> None:
    table = pd.DataFrame({"score": probability, "label": np.arange(N) % 2})
    with pytest.raises(InputError, match=r"all scores are in \[0, 1\].*: leave `score_kind` out"):
        open_predictions(table, {"score_kind": kind}).read()


@pytest.mark.parametrize("kind", ["ranking", "uncertainty"])
def test_a_ranking_is_never_measured_as_a_probability(kind: Any, probability: Any, tmp_path: Path) -> None:
    table = pd.DataFrame({"score": probability, "label": np.arange(N) % 2})
    for verb in (measure, lambda source, columns: convert(source, tmp_path / "a.csv", columns=columns)):
        with pytest.raises(InputError, match=r"a ranking has no calibration.*`calibrant threshold`"):
            verb(table, columns={"score_kind": kind})
    wide = pd.DataFrame({"p_a": [0.5], "p_b": [0.5], "label": ["a"]})
    with pytest.raises(
        InputError, match=f"a {kind} orders answers, and this table has a score of each class"
    ):
        open_predictions(wide, {"score_kind": kind}, rankings=True)


def test_sources_that_tell_their_kind_take_no_other(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", probs=[[0.2, 0.8]], labels=[1])
    with pytest.raises(
        InputError, match=r"read as percent, but arrays and lists .* are named probs or logits"
    ):
        open_predictions(tmp_path / "a.npz", {"score_kind": "percent"})
    table = pd.DataFrame({"logit_a": [1.0], "logit_b": [2.0], "label": ["a"]})
    with pytest.raises(InputError, match="columns logit_<class> are read as percent"):
        open_predictions(table, {"score_kind": "percent"})
    assert open_predictions(table, {"score_kind": "logit"}).read().score.sum() == pytest.approx(1)


@pytest.mark.parametrize("kind", SCORE_KINDS)
def test_a_number_is_found_again(kind: Any) -> None:
    numbers = np.array([0.25, 0.5, 0.75])
    numbers = -numbers if kind == "logprob" else numbers
    scores = numbers if kind == "probability" else from_numbers(numbers, kind)
    assert [to_number(score, kind) for score in scores] == pytest.approx(numbers.tolist())


def test_a_ranking_keeps_its_order() -> None:
    numbers = np.concatenate([-np.logspace(30, -300, 500), [0], np.logspace(-12, 7, 500)])
    assert (np.diff(from_numbers(np.maximum(numbers, -1e7), "ranking")) >= 0).all()
    assert (np.diff(from_numbers(numbers[-400:], "ranking")) > 0).all()
    assert (np.diff(from_numbers(-numbers[-400:], "uncertainty")) > 0).all()


def test_a_ranking_becomes_a_probability(tmp_path: Path) -> None:
    random = np.random.default_rng(7)
    uncertainty = random.exponential(2, 3000)
    label = (random.random(3000) < np.exp(-uncertainty / 3)).astype(int)
    table = pd.DataFrame({"score": uncertainty, "label": label})
    model = fit(table[:2000], columns={"score_kind": "uncertainty"})
    assert (model.method, model.score_kind, model.tried) == ("isotonic-smoothed", "uncertainty", ())
    save_recalibrator(model, tmp_path / "model.json")
    assert load_recalibrator(tmp_path / "model.json").score_kind == "uncertainty"
    table[2000:].to_csv(tmp_path / "test.csv", index=False)
    apply(tmp_path / "model.json", tmp_path / "test.csv", tmp_path / "new.csv")
    new = pd.read_csv(tmp_path / "new.csv").score
    assert np.abs(new - np.exp(-uncertainty[2000:] / 3)).mean() < 0.05
    assert apply(model, uncertainty[2000:]) == pytest.approx(new)
    error = measure(tmp_path / "new.csv")["binary"].calibration_error
    assert error.low == 0
    with pytest.raises(InputError, match="a temperature divides log-odds, and a ranking has none"):
        fit(table, method="temperature", columns={"score_kind": "ranking"})
    reversed_order = fit(table, method="isotonic", columns={"score_kind": "ranking"})
    assert any("map is constant" in note for note in reversed_order.notes)


def test_a_map_of_percentages_reads_percentages(tmp_path: Path, probability: Any) -> None:
    text = [f"{100 * p:.4f}%" for p in probability]
    table = pd.DataFrame({"score": text, "label": (probability > 0.4).astype(int)})
    model = fit(table, method="isotonic", columns={"score_kind": "percent"})
    table.to_csv(tmp_path / "a.csv", index=False)
    apply(model, tmp_path / "a.csv", tmp_path / "b.csv")
    assert pd.read_csv(tmp_path / "b.csv").score.tolist() == apply(model, table).score.tolist()
    with pytest.raises(InputError, match="the recalibrator is for scores of the kind percent, and logit"):
        apply(model, table, columns={"score_kind": "logit"})
