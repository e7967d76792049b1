"""`calibrant estimate` for classes, grades, weights, groups and periods: estimates, comparisons and files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from calibrant import estimation
from calibrant.estimation.classes import class_scores
from calibrant.estimation.contrasts import Groups
from calibrant.exceptions import InputError
from calibrant.io.roles import open_table
from tests.command_line import Run

# Estimates may be undefined; these tests know which are not.
corrected_classes: Any = estimation.corrected_classes
corrected_counts: Any = estimation.corrected_counts
corrected_means: Any = estimation.corrected_means
estimate: Any = estimation.estimate
TOPICS = np.array(["economy", "health", "other"])
N = 1500


@pytest.fixture(scope="module")
def data() -> dict[str, Any]:
    """Topics by a model and by hand, grades, parties, dates and weights of documents."""
    rng = np.random.default_rng(0)
    topic = rng.choice(3, N, p=[0.5, 0.2, 0.3])
    model = np.where(rng.random(N) < 0.8, topic, rng.choice(3, N))
    grade = rng.integers(1, 6, N).astype(float)
    month = rng.integers(1, 7, N)
    documents = {
        "item": np.arange(N),
        "model": TOPICS[model],
        "sure": rng.uniform(0.5, 1, N),
        "health": np.where(model == 1, 0.7, 0.2),
        "grade": grade + rng.normal(0.5, 0.5, N),
        "party": np.where(rng.random(N) < 0.4, "left", "right"),
        "date": [f"2020-{one:02}-{1 + row % 28:02}" for row, one in enumerate(month.tolist())],
        "survey": rng.gamma(4, 0.25, N),
        **{f"p_{name}": np.where(model == code, 0.8, 0.1) for code, name in enumerate(TOPICS)},
    }
    rows = rng.choice(N, 300, replace=False)
    labels = {"item": rows, "topic": TOPICS[topic][rows], "health": topic[rows] == 1, "grade": grade[rows]}
    return {"documents": pa.table(documents), "labels": pa.table(labels), "rows": rows, "topic": topic}


def row(found: Any, period: str = "all", outcome: str | None = None) -> Any:
    return next(one for one in found.estimates if (one.period, one.outcome) == (period, outcome))


@pytest.mark.parametrize(
    "given", [{"score": "model"}, {"score": "model", "confidence_column": "sure"}, {"score": "p_*"}], ids=str
)
def test_shares_of_classes_add_up_to_1(data: dict[str, Any], given: dict[str, str]) -> None:
    names = {"label": "topic", "by": ["party"], "methods": ["labels", "ppi++"]}
    found = estimate(data["documents"], data["labels"], **names, **given)
    assert found.outcome == "classes"
    shares: dict[tuple[str, str], float] = {}
    for one in found.estimates:
        key = one.period, one.method
        shares[key] = shares.get(key, 0.0) + (one.share.estimate or 0.0)
        assert one.simultaneous is not None
        assert one.simultaneous.low <= one.share.low <= one.share.estimate <= one.share.high
        assert one.share.high <= one.simultaneous.high
        assert one.count.estimate == pytest.approx(one.share.estimate * one.documents)
    assert len(shares) == 6
    assert all(total == pytest.approx(1) for total in shares.values())
    assert {one.outcome for one in found.differences} == {*TOPICS}


def test_a_class_among_all_is_about_that_class_alone(data: dict[str, Any]) -> None:
    given = {"score": "model", "label": "topic", "methods": ["labels"]}
    every = estimate(data["documents"], data["labels"], **given)
    alone = estimate(data["documents"], data["labels"], view="class:health", **given)
    assert row(every, outcome="health").share == row(alone).share


def test_classes_that_are_never_predicted_have_the_proportion_of_the_labels(data: dict[str, Any]) -> None:
    topics = data["labels"]["topic"].to_pylist()
    new = ["sports" if place < 30 else name for place, name in enumerate(topics)]
    labels = data["labels"].drop_columns(["topic"]).append_column("topic", pa.array(new))
    found = estimate(data["documents"], labels, score="model", label="topic", methods="ppi++")
    assert row(found, outcome="sports").share.estimate == pytest.approx(0.1)
    assert "no score is one of these classes of labels" in found.class_warning
    wrong = labels.drop_columns(["topic"]).append_column("topic", pa.array(["helth", *topics[1:]]))
    with pytest.raises(InputError, match="'helth' is no class of the predictions: did you mean 'health'"):
        estimate(data["documents"], wrong, score="model", label="topic")


def test_rare_classes_have_shares_within_their_intervals() -> None:
    truth, predicted = np.zeros(400, np.int64), np.arange(400) % 2
    rows = np.arange(0, 400, 10)
    found = corrected_classes(class_scores(predicted, 3), rows, truth[rows], ["a", "b", "c"], methods="ppi++")
    shares = [one.share.estimate for one in found.estimates]
    assert sum(shares) == pytest.approx(1)
    assert all(one.share.low <= one.share.estimate <= one.share.high for one in found.estimates)


def test_two_columns_and_a_period_make_groups_in_order_of_time(data: dict[str, Any]) -> None:
    given = {"score": "health", "label": "health", "methods": "ppi++"}
    found = estimate(data["documents"], data["labels"], by=["party", "quarter"], **given)
    names = [one.period for one in found.estimates]
    assert names == ["all", "2020-Q1, left", "2020-Q1, right", "2020-Q2, left", "2020-Q2, right"]
    plain = estimate(data["documents"], data["labels"], **given)
    assert row(found) == row(plain)
    compared = [(one.first, one.second) for one in found.differences]
    assert compared == [("2020-Q2, left", "2020-Q1, left"), ("2020-Q2, right", "2020-Q1, right")]
    assert found.trends == ()
    monthly = estimate(data["documents"], data["labels"], by="month", **given)
    [trend] = monthly.trends
    assert (trend.first, trend.last, trend.periods) == ("2020-01", "2020-06", 6)
    shares = np.array([one.share.estimate for one in monthly.estimates[1:]])
    assert trend.slope.estimate == pytest.approx(np.polyfit(np.arange(6), shares, 1)[0])
    assert trend.p_value == trend.holm_p_value


def test_dates_have_a_format_and_a_mixed_one_is_named(data: dict[str, Any]) -> None:
    documents, labels = data["documents"], data["labels"]
    given = {"score": "health", "label": "health", "methods": "labels", "by": "month"}
    expected = estimate(documents, labels, **given)
    day = ["/".join(reversed(text.split("-"))) for text in documents["date"].to_pylist()]
    written = documents.drop_columns(["date"]).append_column("when", pa.array(day))
    found = estimate(written, labels, time="when", date_format="%d/%m/%Y", **given)
    assert found.estimates == expected.estimates
    day[1] = "2020-06-02"
    mixed = documents.drop_columns(["date"]).append_column("when", pa.array(day))
    with pytest.raises(
        InputError, match=r"'2020-06-02' is not a date of the format %d/%m/%Y, as .* is"
    ) as error:
        estimate(mixed, labels, time="when", date_format="%d/%m/%Y", **given)
    assert (error.value.row, error.value.column) == (1, "when")
    with pytest.raises(InputError, match="have no length of periods"):
        estimate(documents, labels, **{**given, "by": "party"}, time="date")
    with pytest.raises(InputError, match="month and year are both lengths of periods"):
        estimate(documents, labels, **{**given, "by": ["month", "year"]})


def test_days_and_weeks_without_documents_count_as_time() -> None:
    days = ["2019-12-30", "2020-01-06", "2020-01-20"]
    table = pa.table(
        {"date": days * 20, "score": [0.1, 0.2, 0.5] * 20, "label": ([0, 0, 1] + [0, 1, 1] * 3) * 5}
    )
    for by, ratio in (("week", 1), ("day", 7)):
        found = estimate(table, by=by, methods="labels")
        [trend] = found.trends
        share = np.array([one.share.estimate for one in found.estimates[1:]])
        assert trend.slope.estimate * ratio == pytest.approx(np.polyfit([0, 1, 3], share, 1)[0])
    assert [one.period for one in found.estimates[1:]] == days


def test_grades_have_means_and_sums(data: dict[str, Any]) -> None:
    given = {"score": "grade", "label": "grade", "label_range": (1, 5)}
    found = estimate(data["documents"], data["labels"], by="party", **given)
    assert (found.outcome, found.reported) == ("grades", "ppi++")
    one = row(found)
    share = next(each for each in found.estimates if each.method == "ppi++").share
    assert 2.5 < share.low < share.estimate < share.high < 3.5
    assert one.count.estimate == pytest.approx(one.share.estimate * N)
    [difference] = found.differences
    left, right = ([each for each in found.estimates if each.period == p][3].share for p in ("left", "right"))
    assert difference.difference.estimate == pytest.approx(right.estimate - left.estimate)
    with pytest.raises(InputError, match="the label 5 is outside the range from 1 to 4"):
        estimate(data["documents"], data["labels"], **{**given, "label_range": (1, 4)})
    with pytest.raises(InputError, match="label_range is 5 to 1"):
        estimate(data["documents"], data["labels"], **{**given, "label_range": (5, 1)})
    with pytest.raises(InputError, match="prior-shift has no estimate for graded labels"):
        estimate(data["documents"], data["labels"], methods="prior-shift", **given)


def test_binary_grades_are_proportions() -> None:
    rng = np.random.default_rng(1)
    truth = rng.random(3000) < 0.4
    score, rows = np.where(truth, 0.6, 0.3) + rng.normal(0, 0.1, 3000), rng.choice(3000, 300, replace=False)
    score = np.clip(score, 0, 1)
    group = np.arange(3000) % 12
    given: dict[str, Any] = {"periods": group, "methods": "ppi++"}
    counts = corrected_counts(score, rows, truth[rows], **given).estimates
    means = corrected_means(score, rows, truth[rows], **given).estimates
    for one, other in zip(counts, means, strict=True):
        assert one.share.estimate == pytest.approx(other.share.estimate, abs=1e-9)
        widths = [each.share.high - each.share.low for each in (one, other)]
        assert widths[0] == pytest.approx(widths[1], rel=0.25)


def test_weights_count_documents_more_or_less(data: dict[str, Any]) -> None:
    given = {"score": "health", "label": "health", "methods": "labels", "weight": "survey"}
    found = estimate(data["documents"], data["labels"], **given)
    weight = data["documents"]["survey"].to_numpy()
    own = weight[data["rows"]]
    expected = own @ data["labels"]["health"].to_numpy(zero_copy_only=False) / own.sum()
    assert row(found).share.estimate == pytest.approx(expected)
    assert row(found).count.estimate == pytest.approx(expected * weight.sum())
    twice = pa.concat_tables([data["documents"], data["documents"]])
    doubled = twice.set_column(0, "item", pa.array(np.arange(2 * N)))
    halves = doubled.drop_columns(["survey"]).append_column("survey", pa.array(np.repeat([1.0, 0.0], N)))
    first = estimate(halves, data["labels"], **given)
    plain = estimate(data["documents"], data["labels"], **{**given, "weight": None})
    assert row(first).share.estimate == pytest.approx(row(plain).share.estimate)
    bad = (
        data["documents"].drop_columns(["survey"]).append_column("survey", pa.array([-1.0] + [1.0] * (N - 1)))
    )
    with pytest.raises(InputError, match="the weight is -1") as error:
        estimate(bad, data["labels"], **given)
    assert (error.value.row, error.value.column) == (0, "survey")


def test_groups_are_compared_with_a_baseline() -> None:
    rng = np.random.default_rng(2)
    group, truth = np.arange(4000) % 12, rng.random(4000) < 0.3
    rows = rng.choice(4000, 400, replace=False)
    given: dict[str, Any] = {"periods": group, "methods": "labels", "compare": True}
    score = np.clip(truth * 0.5 + rng.random(4000) * 0.5, 0, 1)
    assert corrected_counts(score, rows, truth[rows], **given).differences == ()  # 66 pairs
    found = corrected_counts(score, rows, truth[rows], **given, baseline="3").differences
    assert {one.second for one in found} == {"3"}
    assert len(found) == 11
    for one in found:
        assert one.holm_p_value is not None
        assert one.simultaneous is not None
        assert one.p_value <= one.holm_p_value <= 1
        assert one.simultaneous.low < one.difference.low < one.difference.high < one.simultaneous.high
        assert (one.p_value < 0.05) == (not one.difference.low <= 0 <= one.difference.high)
    with pytest.raises(InputError, match="no group is 'x'"):
        corrected_counts(score, rows, truth[rows], **given, baseline="x")


def test_clusters_in_two_groups_make_the_difference_more_certain() -> None:
    """Posts of the same authors in both periods share the authors' habits, which a difference cancels."""
    rng = np.random.default_rng(3)
    author, period = np.repeat(np.arange(300), 20), np.tile(np.repeat([0, 1], 10), 300)
    truth = rng.random(6000) < np.where(rng.random(300) < 0.5, 0.1, 0.7)[author]
    rows = np.flatnonzero(author < 60)
    given: dict[str, Any] = {"periods": period, "methods": "labels", "compare": True}
    score = np.full(6000, 0.5)
    own = corrected_counts(score, rows, truth[rows], clusters=author[rows], **given).differences[0].difference
    nested = np.where(period == 0, author, author + 1000)
    apart = (
        corrected_counts(score, rows, truth[rows], clusters=nested[rows], **given).differences[0].difference
    )
    assert own.high - own.low < 0.6 * (apart.high - apart.low)


@pytest.mark.parametrize("kind", ["confidence", "other class"])
def test_scores_of_another_kind_are_noticed(kind: str) -> None:
    rng = np.random.default_rng(4)
    truth = rng.random(2000) < 0.35
    probability = np.clip(np.where(truth, 0.75, 0.25) + rng.normal(0, 0.15, 2000), 0.01, 0.99)
    wrong = np.maximum(probability, 1 - probability) if kind == "confidence" else 1 - probability
    rows = rng.choice(2000, 200, replace=False)
    found = corrected_counts(wrong, rows, truth[rows])
    assert "confidence of the predicted label" in str(found.score_warning)
    raw = next(one for one in found.estimates if one.method == "uncorrected")
    assert "labels contradict it: scores are 0." in str(raw.uncorrected_warning)
    assert "which labels contradict" in found.summary()
    right = corrected_counts(probability, rows, truth[rows])
    assert right.score_warning is None


def test_right_scores_are_seldom_contradicted() -> None:
    rng, warned = np.random.default_rng(5), []
    for _ in range(100):
        score = rng.beta(2, 3, 1000)
        truth, rows = rng.random(1000) < score, rng.choice(1000, 100, replace=False)
        found = corrected_counts(score, rows, truth[rows], methods="uncorrected")
        warned.append(found.estimates[0].uncorrected_warning is not None)
        assert found.score_warning is None
    assert sum(warned) <= 6


@pytest.mark.parametrize(
    "given",
    [
        {"score": "health", "label": "health"},
        {"score": "health", "label": "health", "by": "party"},
        {"score": "health", "label": "health", "weight": "survey", "by": ["party", "quarter"]},
        {"score": "grade", "label": "grade", "label_range": (1, 5), "by": "month"},
        {"score": "model", "label": "topic", "by": "party"},
        {"score": "health", "label": "health", "inclusion_probability": "p"},
        {"score": "health", "label": "health", "inclusion_probability": "p", "by": "party"},
    ],
    ids=str,
)
def test_means_of_the_corrected_outcome_are_the_estimates(
    data: dict[str, Any], tmp_path: Path, given: dict[str, Any]
) -> None:
    labels, documents = data["labels"], data["documents"]
    if "inclusion_probability" in given:
        labels = labels.append_column("p", pa.array(np.where(data["rows"] % 2, 0.1, 0.4)))
    output = tmp_path / "corrected.parquet"
    found = estimate(documents, labels, output=str(output), **given)
    written = pq.read_table(output)
    weight = written["survey"].to_numpy() if "weight" in given else np.ones(N)
    groups = np.array(["all"] * N)
    if "by" in given:
        from calibrant.estimation.verbs.groups import groups_of_table, roles_of
        from calibrant.io.roles import read_table

        by = [given["by"]] if isinstance(given["by"], str) else given["by"]
        table = open_table(documents)
        made = (
            groups_of_table(read_table(table, roles_of(table, by, None)), by[-1], None)
            if by[-1]
            in (
                "month",
                "quarter",
            )
            else groups_of_table(read_table(table, roles_of(table, by, None)), None, None)
        )
        assert isinstance(made, Groups)
        groups = np.array(made.names)[made.code]
    compared = 0
    for one in found.estimates:
        if one.method != found.reported or (one.period == "all") != ("by" not in given):
            continue
        name = "corrected" if one.outcome is None else f"corrected_{one.outcome}"
        inside = groups == one.period
        mean = np.average(written[name].to_numpy()[inside], weights=weight[inside])
        assert mean == pytest.approx(one.share.estimate, abs=1e-9)
        compared += 1
    assert compared


def test_figures_and_reports_are_written(run: Run, data: dict[str, Any], tmp_path: Path) -> None:
    given = {"score": "model", "label": "topic", "by": "party"}
    for name in ("documents", "labels"):
        pq.write_table(data[name], tmp_path / f"{name}.parquet")
    tables = [tmp_path / "documents.parquet", "--labels", tmp_path / "labels.parquet", "--by", "party"]
    run("estimate", *tables, "--score", "model", "--label", "topic", "-o", tmp_path / "report.html")
    for name in ("figure.svg", "figure.png"):
        estimate(data["documents"], data["labels"], output=str(tmp_path / name), **given)
    assert "scores alone, uncorrected" in (tmp_path / "figure.svg").read_text(encoding="utf-8")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Proportions of classes" in page
    assert page.count("<svg") == 1
    assert "right" in page
    many = data["documents"].append_column("many", pa.array(np.arange(N) % 70))
    with pytest.raises(InputError, match="there are 71 groups and classes to draw"):
        estimate(
            many, data["labels"], score="health", label="health", by="many", output=str(tmp_path / "a.svg")
        )
    with pytest.raises(InputError, match="nowhere"):
        estimate(data["documents"], data["labels"], output=str(tmp_path / "nowhere" / "a.svg"), **given)


def test_groups_without_labels_are_named_and_have_no_number(run: Run, tmp_path: Path) -> None:
    rows = "\n".join(f"{one},0.{one % 9 + 1},{'abc'[one % 3] if one < 290 else 'd'}" for one in range(300))
    (tmp_path / "d.csv").write_text(f"item,score,party\n{rows}\n", encoding="utf-8")
    labels = "\n".join(f"{one},{int(one % 9 > 4)}" for one in range(0, 290, 7))
    (tmp_path / "l.csv").write_text(f"item,label\n{labels}\n", encoding="utf-8")
    found = json.loads(
        run("estimate", tmp_path / "d.csv", "--labels", tmp_path / "l.csv", "--by", "party", "--json").out
    )
    share = next(one for one in found["estimates"] if one["period"] == "d" and one["method"] == "ppi++")[
        "share"
    ]
    assert share["estimate"] is None
    assert share["reason"] == "0 labels: at least 2 are needed"
    assert all("d" not in (one["first"], one["second"]) for one in found["differences"])


TWO = "item,label\n0,1\n1,0\n"
BAD = {
    "no document": ("item,label\n0,1\n999,0\n", [], "row 2, column item: '999' has a label but no score in"),
    "two labels": ("item,label\n0,1\n0,1\n", [], "row 2, column item: "),
    "probability 0": (
        "item,label,inclusion_probability\n0,1,0.5\n1,0,0\n",
        [],
        "row 2, column inclusion_prob",
    ),
    "stratum": (
        "item,label,inclusion_probability,stratum\n0,1,0.5,a\n1,0,0.5,a\n2,,0.5,b\n",
        [],
        "stratum 'b' has no label",
    ),
    "no class": ("item,label\n0,yes\n1,no\n", ["--score", "model"], "row 1, column label: 'yes' is no class"),
    "grade": (
        "item,label\n0,3\n1,7\n",
        ["--label-range", "1", "5"],
        "row 2, column label: the label 7 is outside",
    ),
    "prediction": ("item,label\n0,1\n1,0\n", ["--score", "gap"], "row 2, column gap"),
    "sums": (
        "item,label\n0,a\n1,b\n",
        ["--score", "q_*"],
        "row 1, column q_a: the probabilities of its classes",
    ),
    "columns": ("item,label\n0,a\n1,b\n", ["--score", "z_*"], "columns 'z_*'"),
    "baseline": (TWO, ["--baseline", "a"], "there are no groups, of which 'a' could be one"),
    "by": (TWO, ["--by", "model", "--by", "model"], "'model' is named twice"),
    "confidence": (
        TWO,
        ["--score", "model", "--confidence-column", "no"],
        "name it with --confidence-column",
    ),
}


def test_a_class_among_probabilities_is_refused_without_a_list_of_them() -> None:
    documents = pa.table({"score": np.linspace(0.01, 0.99, 60), "label": [1.0, 0.0] * 5 + [None] * 50})
    with pytest.raises(InputError, match="no value is '1', and there are 60 others, such as "):
        estimation.verbs.estimate(documents, view="class:1")


@pytest.mark.parametrize(("text", "given", "message"), BAD.values(), ids=BAD.keys())
def test_bad_input_is_one_line(run: Run, tmp_path: Path, text: str, given: list[str], message: str) -> None:
    rows = "0,0.2,a,0.5,0.5,0.6\n1,0.7,b,,0.2,0.8\n2,0.4,b,0.1,0.3,0.7\n"
    (tmp_path / "d.csv").write_text(f"item,score,model,gap,q_a,q_b\n{rows}", encoding="utf-8")
    (tmp_path / "l.csv").write_text(text, encoding="utf-8")
    run("estimate", tmp_path / "d.csv", "--labels", tmp_path / "l.csv", *given).refused(message)


def test_grades_of_groups_of_which_one_has_no_labels_have_its_reason_and_no_total() -> None:
    rng = np.random.default_rng(0)
    grade = rng.integers(1, 6, 900)
    rows = np.concatenate([rng.choice(300, 12, replace=False), 600 + rng.choice(300, 60, replace=False)])
    found = estimation.corrected_means(
        grade + rng.normal(size=900),
        rows,
        grade[rows],
        label_range=(1.0, 5.0),
        periods=np.repeat(["a", "b", "c"], 300),
    )
    shares = {row.period: row.share for row in found.estimates if row.method == "labels"}
    assert shares["a"].low is not None
    assert shares["b"].estimate is None
    assert shares["c"].low is not None
    assert "some groups have no labels" in str(shares["all"].reason)
