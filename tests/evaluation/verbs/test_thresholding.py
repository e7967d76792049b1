"""`calibrant.evaluation.threshold`: cuts, ties, kinds of scores, and the rows for a person."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from calibrant.evaluation import AnswerSelection, order_quality, risk_coverage, threshold
from calibrant.exceptions import InputError
from calibrant.io.logs import open_log

N = 300


def answers(seed: int = 0, n: int = N) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    confidence = random.beta(3, 1, n)
    correct = (random.random(n) < confidence).astype(int)
    return pd.DataFrame({"id": [f"q{row}" for row in range(n)], "confidence": confidence, "correct": correct})


def test_a_row_counts_the_answers_at_its_threshold() -> None:
    table = answers()
    found = threshold(table, coverage=0.75)
    for row in found.points:
        kept = table[table.confidence >= row.threshold]
        assert (row.items, row.to_person) == (len(kept), N - len(kept))
        assert row.errors == (kept.correct == 0).sum()
        assert row.errors + row.errors_found == (table.correct == 0).sum()
        assert row.accuracy.estimate == pytest.approx(kept.correct.mean())
    assert [round(row.coverage, 4) for row in found.points] == [0.5, 0.6, 0.7, 0.75, 0.8, 0.9, 0.95, 1]
    assert found.cut == 0.75
    quality = order_quality(table.correct, table.confidence)
    assert (found.auroc, found.rejection_ratio) == (quality.auroc, quality.rejection_ratio)
    assert found.area == risk_coverage(table.correct, table.confidence).area
    assert AnswerSelection.from_dict(found.to_dict()) == found


def test_equal_confidences_stay_together() -> None:
    table = pd.DataFrame({"confidence": [0.9] * 4 + [0.5] * 5 + [0.1], "correct": [1, 0] * 5})
    found = threshold(table, coverage=0.5)
    assert [(row.items, row.threshold) for row in found.points] == [(9, 0.5), (10, 0.1)]
    assert found.cut == 0.9


def test_the_largest_score_of_a_wide_table_is_the_answer() -> None:
    found = threshold(
        pd.DataFrame({"p_a": [0.7, 0.4, 0.9], "p_b": [0.3, 0.6, 0.1], "label": ["a", "a", "b"]})
    )
    assert [(row.items, row.errors) for row in found.points][-1] == (3, 2)
    assert found.points[0].threshold == 0.7
    said = pd.DataFrame(
        {"prediction": ["a", "b", "a"], "confidence": [0.7, 0.6, 0.9], "gold": ["a", "a", "b"]}
    )
    assert threshold(said).points == found.points
    columns = {"class": ["a", "b"] * 3, "item": [1, 1, 2, 2, 3, 3]}
    long = pd.DataFrame({**columns, "score": [0.7, 0.3, 0.4, 0.6, 0.9, 0.1], "label": [1, 0, 1, 0, 0, 1]})
    assert threshold(long).points == found.points


def test_the_probability_of_an_event_has_two_answers() -> None:
    table = pd.DataFrame({"score": [0.9, 0.2, 0.4, 0.6], "label": ["spam", "ham", "spam", "ham"]})
    found = threshold(table, columns={"event": "spam"})
    assert [(row.items, row.threshold, row.errors) for row in found.points] == [(2, 0.8, 0), (4, 0.6, 2)]
    numbers = table.assign(label=[1, 0, 1, 0])
    assert threshold(numbers, view="binary").points == found.points
    assert threshold(numbers).points != found.points
    assert any("choose the view binary" in note for note in threshold(numbers).notes)


@pytest.mark.parametrize("kind", ["percent", "logit", "logprob", "ranking", "uncertainty"])
def test_thresholds_are_in_the_numbers_of_the_table(kind: Any) -> None:
    table, plain = answers(), threshold(answers(), coverage=0.8)
    p = table.confidence
    numbers = {
        "percent": 100 * p,
        "logit": np.log(p / (1 - p)),
        "logprob": np.log(p),
        "ranking": 40 * p - 17,
        "uncertainty": -np.log(p),
    }[kind]
    found = threshold(table.assign(confidence=numbers), coverage=0.8, columns={"score_kind": kind})
    assert found.auroc == plain.auroc
    assert [(row.items, row.errors) for row in found.points] == [
        (row.items, row.errors) for row in plain.points
    ]
    for row in found.points:
        kept = numbers <= row.threshold * (1 + 1e-9) if kind == "uncertainty" else None
        least = np.sort(numbers if kind == "uncertainty" else -numbers)[row.items - 1]
        assert row.threshold == pytest.approx(least if kind == "uncertainty" else -least)
        assert kept is None or kept.sum() == row.items
    cut = next(row for row in found.points if row.coverage == found.cut)
    again = threshold(
        table.assign(confidence=numbers), confidence=np.quantile(numbers, 0.5), columns={"score_kind": kind}
    )
    assert again.cut == pytest.approx(0.5)
    assert ("uncertainty" if kind == "uncertainty" else "confidence") in found.summary()
    assert f"{cut.threshold:.4g}" in found.summary()


def test_a_log_and_clusters_are_read(tmp_path: Path) -> None:
    table = answers().assign(cluster=np.arange(N) // 10)
    found = threshold(table)
    assert found.clusters == 30
    assert found.area == risk_coverage(table.correct, table.confidence, clusters=table.cluster).area
    repeated = threshold(answers().assign(item=np.arange(N) // 3))
    assert repeated.clusters == 100


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".tsv", ".parquet", ".jsonl"])
def test_the_rows_below_the_threshold_are_written(ending: str, tmp_path: Path) -> None:
    table, source, output = answers(), tmp_path / f"all{ending}", tmp_path / f"low{ending}"
    separator = "\t" if ending == ".tsv" else ","
    if ending == ".parquet":
        table.to_parquet(source, index=False)
    elif ending == ".jsonl":
        table.to_json(source, orient="records", lines=True, double_precision=15)
    else:
        table.to_csv(source, index=False, sep=separator)
    found = threshold(source, coverage=0.9, output=output)
    cut = next(row for row in found.points if row.coverage == found.cut)
    below = table[table.confidence < cut.threshold]
    if ending == ".parquet":
        new = pd.read_parquet(output)
    elif ending == ".jsonl":
        new = pd.read_json(output, lines=True)
    else:
        new = pd.read_csv(output, sep=separator)
    assert list(new.columns) == list(table.columns)
    assert new["id"].tolist() == below["id"].tolist()
    assert len(below) == cut.to_person


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", [True, False])
def test_rows_of_csv_stay_byte_for_byte(end: str, last: bool, tmp_path: Path) -> None:
    rows = ['"a ""x"",\n y", 0.90 ,1,é', "b,0.1,0,", "c,8e-1,1,'q'", '"d", .2 ,0,"z"']
    source = tmp_path / "all.csv"
    body = end.join(["name,confidence,correct,extra", rows[0], "", *rows[1:]]) + (end if last else "")
    source.write_bytes(b"\xef\xbb\xbf" + body.encode())
    threshold(source, coverage=0.5, output=tmp_path / "low.csv")
    kept = end.join(["name,confidence,correct,extra", rows[1], rows[3]]) + (end if last else "")
    assert (tmp_path / "low.csv").read_bytes() == b"\xef\xbb\xbf" + kept.encode()
    threshold(source, coverage=0.5, output=tmp_path / "low.csv.gz")
    assert gzip.decompress((tmp_path / "low.csv.gz").read_bytes()) == b"\xef\xbb\xbf" + kept.encode()


def test_a_table_in_other_formats_keeps_its_columns(tmp_path: Path) -> None:
    table = pa.table(
        {"p_a": [0.9, 0.55, 0.2], "p_b": [0.1, 0.45, 0.8], "label": ["a", "b", "b"], "n": [1, 2, None]}
    )
    pq.write_table(table, tmp_path / "all.parquet")
    threshold(tmp_path / "all.parquet", coverage=0.5, output=tmp_path / "low.parquet")
    assert pq.read_table(tmp_path / "low.parquet").equals(table.slice(1, 1))
    threshold(table, coverage=0.5, output=tmp_path / "low.csv")
    assert (tmp_path / "low.csv").read_text().split() == ["p_a,p_b,label,n", '0.55,0.45,"b",2']


BAD: list[tuple[dict[str, Any], str]] = [
    ({"coverage": 0}, "coverage is 0"),
    ({"coverage": 1.5}, "coverage is 1.5"),
    ({"coverage": "x"}, "coverage is 'x'"),
    ({"coverage": 0.5, "confidence": 0.5}, "both a coverage and a confidence are given"),
    ({"confidence": 2}, "no answer has the confidence 2: the surest one has 0.9"),
    ({"confidence": float("nan")}, "confidence is nan"),
    ({"confidence": 101, "columns": {"score_kind": "percent"}}, "confidence is 101"),
    ({"view": "pooled"}, "view is 'pooled'"),
    (
        {"view": "binary", "columns": {"score_kind": "ranking"}},
        "does not tell which outcome is more probable",
    ),
    ({"level": 1}, "level"),
]


@pytest.mark.parametrize(("options", "message"), BAD)
def test_bad_arguments_are_refused(options: dict[str, Any], message: str) -> None:
    table = answers()
    if "columns" in options and "percent" in str(options["columns"]):
        table["confidence"] *= 100
    with pytest.raises(InputError, match=message):
        threshold(table, **options)


def test_tables_without_single_answers_are_refused(tmp_path: Path) -> None:
    table = answers()
    with pytest.raises(InputError, match="rows have weights"):
        threshold(table.assign(weight=1.0))
    with pytest.raises(InputError, match="takes one column of clusters"):
        threshold(table.assign(a=1, b=range(N)), columns={"cluster": ["a", "b"]})
    long = pd.DataFrame({"item": [1, 1], "class": ["a", "b"], "score": [0.7, 0.3], "label": [1, 0]})
    with pytest.raises(InputError, match="all answers are kept, so that none goes to a person"):
        threshold(long, output=tmp_path / "low.csv")
    two = pd.concat([long, long.assign(item=2, score=[0.4, 0.6])])
    with pytest.raises(InputError, match=r"its rows are not single answers.*`calibrant convert --to wide`"):
        threshold(two, coverage=0.5, output=tmp_path / "low.csv")
    wide = pd.DataFrame({"p_a": [0.9, 0.6, 0.8], "p_b": [0.1, 0.4, 0.2], "label": ["a", "a", "-100"]})
    with pytest.raises(InputError, match="rows without a label that counts are neither kept nor left out"):
        threshold(wide, coverage=0.5, output=tmp_path / "low.csv")
    assert not (tmp_path / "low.csv").exists()
    with pytest.raises(InputError, match="view binary is for tables with the probability of one event"):
        threshold(wide, view="binary")


def test_without_errors_there_is_an_accuracy_and_no_order() -> None:
    found = threshold(answers().assign(correct=1))
    assert found.auroc.estimate is None
    assert found.points[0].accuracy.estimate == 1
    assert "does not raise accuracy" in found.summary()
    one = threshold(answers()[:1])
    assert one.points[0].accuracy.low is None


def test_the_sentence_says_what_the_cut_does() -> None:
    text = threshold(answers(), coverage=0.8).to_text(full=False)
    assert "Keeping the most confident 80 % (confidence 0." in text
    assert "raises accuracy from" in " ".join(text.split())
    assert "All 300 answers are kept" in threshold(answers(), coverage=1).summary()


def test_the_samples_of_a_log_below_the_threshold_are_written(tmp_path: Path) -> None:
    log = Path(__file__).resolve().parents[2] / "archives" / "logs" / "lm_eval-0.4.13" / "toy__small"
    low = tmp_path / "low.csv"
    selection = threshold(log, coverage=0.5, output=low)
    [point] = [point for point in selection.points if point.coverage == selection.cut]
    written = pd.read_csv(low)
    top = open_log(log, view="top").read()
    assert len(written) == point.to_person == len(top.score) - point.items
    assert (~written.label).sum() == point.errors_found
    assert written.score.max() < point.threshold
    assert sorted(written.score) == pytest.approx(sorted(top.score)[: len(written)])
