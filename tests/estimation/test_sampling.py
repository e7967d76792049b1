"""`calibrant sample`, and estimates from its samples."""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from scipy.special import expit

from calibrant import InputError, estimate, sample
from calibrant.estimation import CorrectedMean, corrected_counts
from calibrant.estimation.drawing import (
    Population,
    allocate,
    draw,
    inclusion_probabilities,
    permanent_numbers,
    scaled,
    systematic,
)
from tests.command_line import Run


def table_of(count: int, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    odds = rng.normal(-1, 1.5, count)
    return pa.table(
        {
            "item": [f"d{place}" for place in range(count)],
            "score": expit(odds),
            "party": rng.choice(["left", "right", "green"], count, p=[0.5, 0.4, 0.1]),
            "author": [f"a{place // 5}" for place in range(count)],
            "text": [f"text, {place}" for place in range(count)],
        }
    )


def labels_of(drawn: pa.Table, seed: int = 0) -> pa.Table:
    """Add a column of labels, each with the probability of 0.3."""
    rng = np.random.default_rng(seed)
    return drawn.append_column("label", pa.array(rng.random(drawn.num_rows) < 0.3).cast(pa.int8()))


DESIGNS: dict[str, dict[str, Any]] = {
    "simple": {"size": 60},
    "stratified": {"size": 60, "by": "party"},
    "uncertainty": {"size": 60, "design": "uncertainty"},
    "cluster": {"size": 12, "cluster": "author"},
}


@pytest.mark.parametrize("design", DESIGNS)
def test_a_draw_depends_on_items_and_seed_but_not_on_the_order_of_rows(design: str) -> None:
    table = table_of(500)
    shuffled = table.take(np.random.default_rng(1).permutation(500))
    one, other = (sample(rows, seed=3, **DESIGNS[design]) for rows in (table, shuffled))
    values = [
        {row["item"]: row["inclusion_probability"] for row in drawn.table.to_pylist()}
        for drawn in (one, other)
    ]
    assert values[0] == pytest.approx(values[1])
    another = sample(table, seed=4, **DESIGNS[design])
    assert set(another.table["item"].to_pylist()) != set(values[0])
    assert one.drawn == another.drawn == 60
    assert {stratum.stratum for stratum in one.strata} == (
        {"left", "right", "green"} if design == "stratified" else {"all"}
    )
    assert sum(stratum.drawn for stratum in one.strata) == 60


def test_a_larger_simple_sample_contains_the_smaller_one() -> None:
    table = table_of(300)
    small, large = (set(sample(table, size=size).table["item"].to_pylist()) for size in (20, 50))
    assert small < large


@pytest.mark.parametrize("design", ["simple", "stratified", "uncertainty", "cluster"])
def test_documents_are_drawn_as_often_as_their_probabilities_say(design: str) -> None:
    rng = np.random.default_rng(0)
    count, draws = 40, 4000
    names = [str(number) for number in range(count)]
    stratum = np.repeat([0, 1, 2], [20, 15, 5]) if design == "stratified" else np.zeros(count, np.int64)
    population = Population(
        names,
        expit(rng.normal(-1, 2, count)),
        stratum,
        ["a", "b", "c"] if design == "stratified" else ["all"],
        np.arange(count) // 4,
        [str(number) for number in range(10)],
    )
    seen, stated = np.zeros(count), np.zeros(count)
    for seed in range(draws):
        rows, stated = draw(
            population, 3 if design == "cluster" else 12, design, allocation="neyman", seed=seed
        )
        assert len(rows) == len(np.unique(rows)) == 12
        seen[rows] += 1
    error = np.sqrt(stated * (1 - stated) / draws)
    assert np.abs(seen / draws - stated).max() <= 4 * error.max()
    assert stated.sum() == pytest.approx(12)
    z = (seen / draws - stated)[stated < 1] / error[stated < 1]
    assert 0.5 < (z**2).mean() < 1.6


def test_systematic_samples_have_a_fixed_size_and_exact_probabilities() -> None:
    chance = np.array([0.2, 1.0, 0.35, 0.6, 0.85])
    grid = (np.arange(20_000) + 0.5) / 20_000
    seen = np.zeros(5)
    for start in grid:
        rows = systematic(chance, start)
        assert len(rows) == 3
        seen[rows] += 1
    assert seen / len(grid) == pytest.approx(chance, abs=1e-4)


def test_probabilities_by_uncertainty_are_those_of_least_variance() -> None:
    rng = np.random.default_rng(1)
    spread = np.sqrt(np.prod([one := rng.beta(0.3, 1, 400), 1 - one], axis=0))
    chance = inclusion_probabilities(spread, 60, 0.25)
    assert chance.sum() == pytest.approx(60)
    assert chance.min() == pytest.approx(0.25 * 60 / 400)
    assert chance.max() <= 1
    free = (chance > chance.min() + 1e-9) & (chance < 1)
    assert np.ptp(chance[free] / spread[free]) < 1e-6
    for _ in range(200):  # moving probability from one document to another never helps
        up, down = rng.choice(np.flatnonzero(free), 2, replace=False)
        moved = chance.copy()
        moved[up] += 1e-4
        moved[down] -= 1e-4
        assert spread**2 @ (1 / moved) >= spread**2 @ (1 / chance) - 1e-9


def test_neyman_allocations_are_the_best_by_enumeration() -> None:
    sizes, sd = np.array([30, 20, 10]), np.array([0.1, 0.5, 0.3])
    counts = allocate(sizes, sizes * sd, 15, str)
    assert counts.sum() == 15

    def variance(allocation: NDArray[np.int64]) -> float:
        return float((sizes**2 * sd**2 / allocation * (1 - allocation / sizes)).sum())

    best = min(
        variance(np.array([first, second - first, 15 - second]))
        for first, second in combinations(range(2, 14), 2)
        if second - first >= 2 and 15 - second >= 2
    )
    assert variance(counts) <= 1.02 * best
    assert allocate(np.array([3, 100]), np.array([100.0, 1.0]), 20, str).tolist() == [3, 17]


def test_values_are_scaled_within_limits() -> None:
    rng = np.random.default_rng(2)
    for _ in range(50):
        values = rng.gamma(0.3, size=30) * (rng.random(30) < 0.8)
        total = rng.uniform(3, 25)
        cut = scaled(values, total, 0.02, 1.0)
        assert cut.sum() == pytest.approx(total)
        assert cut.min() >= 0.02 - 1e-12
        assert cut.max() <= 1 + 1e-12
    assert permanent_numbers(["a", "b"], 0, "x")[0] != permanent_numbers(["a"], 0, "y")[0]
    numbers = permanent_numbers([str(name) for name in range(5000)], 5)
    assert abs(numbers.mean() - 0.5) < 0.02
    assert abs(np.corrcoef(numbers[1:], numbers[:-1])[0, 1]) < 0.05


def test_the_command_writes_what_estimate_reads(run: Run, tmp_path: Path) -> None:
    from pyarrow import csv as arrow_csv

    arrow_csv.write_csv(table_of(400), tmp_path / "scores.csv")
    for design, options in {
        "uncertainty": ["--design", "uncertainty"],
        "stratified": ["--by", "party"],
        "cluster": ["--cluster", "author"],
    }.items():
        size = 16 if design == "cluster" else 80
        given = ["sample", tmp_path / "scores.csv", "--size", str(size), *options, "--keep", "text"]
        out = tmp_path / f"{design}.csv"
        printed = json.loads(run(*given, "-o", out, "--json").out)
        assert (printed["design"], printed["drawn"], printed["output"]) == (design, 80, str(out))
        with out.open(encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        expected = ["item", "inclusion_probability", "stratum", "text"]
        assert list(rows[0]) == (expected if design != "cluster" else [*expected[:3], "cluster", "text"])
        assert rows[0]["text"] == f"text, {rows[0]['item'][1:]}"
        rng = np.random.default_rng(3)
        with out.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, [*rows[0], "label"])
            writer.writeheader()
            writer.writerows({**row, "label": int(rng.random() < 0.4)} for row in rows)
        result = json.loads(run("estimate", tmp_path / "scores.csv", "--labels", out, "--json").out)
        assert result["labelled"] == 80
        assert result["reported"] == ("ppi++" if design == "cluster" else "dsl")
        assert result["sampling"] == ("simple" if design == "cluster" else "fixed")
        assert result["clusters"] == (16 if design == "cluster" else None)
        assert result["selection_warning"] is None
    text = run("sample", tmp_path / "scores.csv", "--size", "80", "--design", "uncertainty", "-o", out).out
    assert "80 documents drawn of 400 (design uncertainty, seed 0)" in text
    assert "calibrant estimate" in text


def test_the_expected_width_is_that_of_calibrated_scores() -> None:
    table = table_of(400)
    drawn = sample(table, size=80, design="uncertainty", floor=1.0)
    assert drawn.relative_width == pytest.approx(1)
    assert (sample(table, size=80, design="uncertainty").relative_width or 0) < 0.97
    assert sample(table, size=8, cluster="author").relative_width is None


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (["--size", "500"], ["--size is 500, but there are 400 documents to draw from: give at most 400"]),
        (["--size", "90", "--cluster", "author"], ["--size is 90, but there are 80 clusters"]),
        (["--size", "5", "--by", "party"], ["--size is 5, too few for 2 documents from each of 3 strata"]),
        (
            ["--size", "300", "--by", "party", "--allocation", "equal"],
            ["the allocation of stratum 'green' is 100, but it has ", "give a size of at most "],
        ),
        (["--size", "5", "--by", "praty"], ["no column 'praty'", "did you mean 'party'"]),
        (["--size", "5", "--keep", "txt"], ["no column 'txt'", "did you mean 'text'"]),
        (["--size", "5", "--cluster", "writer"], ["no column 'writer'"]),
        (
            ["--size", "5", "--design", "stratified"],
            ["--design is 'stratified', which needs a column of strata"],
        ),
        (
            ["--size", "5", "--design", "uncertainty", "--by", "party"],
            ["--design is 'uncertainty', which has no strata: leave --by out"],
        ),
        (
            ["--size", "5", "--design", "uncertainty", "--score", "high"],
            ["row 1, column high", "not a probability"],
        ),
        (["--size", "5", "--design", "uncertainty", "--score", "sure"], ["all scores are 0 or 1"]),
        (
            ["--size", "5", "--by", "party", "--allocation", "neyman", "--score", "sure"],
            ["all scores are 0 or 1"],
        ),
        (["--size", "5", "--allocation", "neyman"], ["documents are not drawn from strata"]),
        (["--size", "5", "--design", "uncertainty", "--floor", "0"], ["--floor is 0"]),
        (["--size", "5", "--item", "party"], ["is also in row"]),
        (["--size", "5", "--round", "2"], ["--round is 2, but there is no table of earlier rounds"]),
        (["--size", "5", "--keep", "stratum"], ["no column 'stratum'"]),
        (
            ["--size", "5", "--previous", "zero.csv"],
            ["zero.csv, row 1, column inclusion_probability", "is 0"],
        ),
    ],
)
def test_bad_input_is_one_line(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], parts: list[str]
) -> None:
    from pyarrow import csv as arrow_csv

    table = table_of(400).append_column("high", pa.array(np.full(400, 1.5)))
    table = table.append_column("sure", pa.array(np.arange(400) % 2))
    arrow_csv.write_csv(table, tmp_path / "scores.csv")
    (tmp_path / "zero.csv").write_text(
        f"item,inclusion_probability\n{table['item'][0]},0\n", encoding="utf-8"
    )
    monkeypatch.chdir(tmp_path)
    run("sample", tmp_path / "scores.csv", "-o", tmp_path / "out.csv", *options).refused(*parts)
    assert not (tmp_path / "out.csv").exists()


def test_the_output_never_replaces_a_file_that_is_read(run: Run, tmp_path: Path) -> None:
    from pyarrow import csv as arrow_csv

    arrow_csv.write_csv(table_of(100), tmp_path / "scores.csv")
    scores, first = tmp_path / "scores.csv", tmp_path / "first.csv"
    run("sample", scores, "--size", "5", "-o", scores).refused("the output would replace this file")
    assert run("sample", scores, "--size", "5", "-o", first).code == 0
    again = run("sample", scores, "--size", "5", "--previous", first, "-o", first)
    again.refused("the output would replace this file")


def test_later_rounds_draw_other_documents_and_keep_the_earlier_rows() -> None:
    table = table_of(300)
    first = labels_of(sample(table, size=40, design="uncertainty", keep=["text"]).table)
    second = sample(table, size=30, by="party", previous=first, round=2, keep=["text"])
    rows = second.table.to_pylist()
    assert (second.round, second.drawn, second.earlier, second.documents) == (2, 30, 40, 260)
    assert [row["round"] for row in rows] == [1] * 40 + [2] * 30
    assert len({row["item"] for row in rows}) == 70
    assert [row["label"] for row in rows[:40]] == [str(label) for label in first["label"].to_pylist()]
    assert {row["label"] for row in rows[40:]} == {None}
    third = sample(table, size=20, previous=second.table)
    assert third.round == 3
    assert third.table.num_rows == 90
    result = estimate(table, labels_of(third.table.drop_columns("label")))
    assert result.reported == "dsl"
    assert result.labelled == 90


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({}, {"round": 3}, "round is 3, but the last round of the dataframe is 1"),
        ({"item": ["new", *(f"d{place}" for place in range(1, 20))]}, {}, "'new' is not in the dataframe"),
        ({"item": ["d1", *(f"d{place}" for place in range(1, 20))]}, {}, "item 'd1' is also in row"),
        ({}, {"size": 90}, "size is 90, but there are 80 documents"),
    ],
)
def test_bad_earlier_rounds_are_named(change: dict[str, Any], options: dict[str, Any], message: str) -> None:
    first = {
        "item": [f"d{place}" for place in range(20)],
        "inclusion_probability": [0.2] * 20,
    }
    with pytest.raises(InputError, match=message):
        sample(table_of(100), previous=pa.table({**first, **change}), **{"size": 5, **options})


@pytest.mark.slow
def test_a_million_documents_are_drawn_in_seconds() -> None:
    rng = np.random.default_rng(0)
    table = pa.table(
        {"item": np.arange(10**6), "score": rng.random(10**6), "kind": rng.integers(0, 9, 10**6)}
    )
    designs: tuple[dict[str, Any], ...] = ({"design": "uncertainty"}, {"by": "kind"})
    for options in designs:
        start = time.process_time()
        assert sample(table, size=2000, **options).drawn == 2000
        assert time.process_time() - start < 15


# Estimates


Draw = Callable[[int], tuple[NDArray[np.int64], dict[str, Any]]]


def sharp_corpus(spread: float, seed: int = 1) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    rng = np.random.default_rng(seed)
    odds = rng.normal(-4 if spread > 2 else -1.5, spread, 4000)
    return rng.random(4000) < expit(odds), expit(odds)


def by_design(score: NDArray[np.float64], design: str, size: int) -> Draw:
    names = [str(number) for number in range(len(score))]
    code, strata = np.zeros(len(score), np.int64), ["all"]
    if design == "class":
        code, strata = (score > 0.5).astype(np.int64), ["no", "yes"]
    elif design == "strata":
        code, strata = np.minimum(np.argsort(np.argsort(score)) * 4 // len(score), 3), list("abcd")
    kind = design if design == "uncertainty" else "stratified"
    allocation = "equal" if design == "class" else "neyman"

    def drawn(seed: int) -> tuple[NDArray[np.int64], dict[str, Any]]:
        rows, chance = draw(
            Population(names, score, code, strata), size, kind, allocation=allocation, seed=seed
        )
        return rows, {"inclusion_probabilities": chance[rows], "strata": code[rows]}

    return drawn


@pytest.mark.parametrize("design", ["uncertainty", "class", "strata"])
@pytest.mark.parametrize("spread", [1.5, 4.0])
def test_intervals_have_the_ideal_width(design: str, spread: float) -> None:
    # With sharp scores, dsl was 1.2 to 2.6 times as wide, and labels of strata 1.4 to 2.3 times.
    truth, score = sharp_corpus(spread)
    values: dict[str, list[tuple[float, float, float]]] = {"labels": [], "dsl": []}
    drawn = by_design(score, design, 400)
    for seed in range(150):
        rows, given = drawn(seed)
        for one in corrected_counts(score, rows, truth[rows], methods=["labels", "dsl"], **given).estimates:
            low, high = one.share.low, one.share.high
            assert low is not None
            assert high is not None
            assert one.share.estimate is not None
            values[one.method].append((one.share.estimate, low, high))
    for method, ends in values.items():
        middle, low, high = np.array(ends).T
        ratio = (high - low).mean() / (2 * 1.96 * middle.std())
        assert 0.85 <= ratio <= 1.2, (method, ratio)  # the standard error of the ratio is 0.06
        assert np.mean((low <= truth.mean()) & (truth.mean() <= high)) >= 0.9


def test_a_fixed_number_of_draws_narrows_the_interval_of_biased_scores() -> None:
    truth, score = sharp_corpus(1.5)
    score = expit(np.log(score / (1 - score)) + 2)
    widths = []
    rows, given = by_design(score, "uncertainty", 200)(0)
    for sampling in ("fixed", "independent"):
        counts = corrected_counts(score, rows, truth[rows], methods="dsl", sampling=sampling, **given)
        share = counts.estimates[0].share
        widths.append((share.high or 0) - (share.low or 0))
        assert counts.sampling == sampling
    assert widths[0] < 0.95 * widths[1]


def test_strata_of_one_certain_document_are_possible() -> None:
    score, rows = np.linspace(0.1, 0.9, 101), np.array([0, 1, 2, 50, 51, 60, 100])
    strata = np.array(["low"] * 3 + ["middle"] * 3 + ["top"])
    chance = np.array([3 / 50] * 3 + [3 / 50] * 3 + [1.0])
    label = [0, 1, 0, 1, 1, 0, 1]
    result = corrected_counts(
        score, rows, label, inclusion_probabilities=chance, strata=strata, methods="labels"
    )
    assert result.sampling == "fixed"
    assert result.estimates[0].share.estimate == pytest.approx((50 / 3 + 100 / 3 + 1) / 101)


def by_hand(score: NDArray[np.float64], label: NDArray[np.float64], rounds: list[Any]) -> float:
    """Each round's estimate for all documents, weighted by its number of labels."""
    known, estimates, sizes = np.zeros(0, np.int64), [], []
    for rows, chance in rounds:
        error = (label - score)[known].sum() + ((label - score)[rows] / chance).sum()
        estimates.append(score.mean() + error / len(score))
        sizes.append(len(rows))
        known = np.append(known, rows)
    return float(np.average(estimates, weights=sizes))


def test_rounds_are_weighted_by_their_labels() -> None:
    rng = np.random.default_rng(0)
    score = rng.random(500)
    label = (rng.random(500) < score**2).astype(float)
    order = rng.permutation(500)
    first, second, third = order[:60], order[60:100], order[100:160]
    chances = [np.full(60, 60 / 500), rng.uniform(0.05, 0.2, 40), np.full(60, 60 / 400)]
    rounds = list(zip((first, second, third), chances, strict=True))
    rows = np.concatenate([first, second, third])
    result = corrected_counts(
        score,
        rows,
        label[rows],
        methods=["dsl"],
        inclusion_probabilities=np.concatenate(chances),
        rounds=np.repeat([1, 2, 3], [60, 40, 60]),
    )
    assert result.estimates[0].share.estimate == pytest.approx(by_hand(score, label, rounds))


def defined(one: CorrectedMean) -> tuple[float, float, float]:
    low, high, share = one.share.low, one.share.high, one.share.estimate
    assert low is not None
    assert high is not None
    assert share is not None
    return share, low, high


def test_intervals_cover_after_rounds_that_depend_on_labels() -> None:
    # Each later round draws by the error rates of the labels so far, which biases a pooled weighted mean.
    rng, hits, errors = np.random.default_rng(1), 0, []
    names = [str(number) for number in range(2000)]
    for seed in range(150):
        truth = rng.random(2000) < 0.25
        score = np.where(rng.random(2000) < 0.8, np.where(truth, 0.8, 0.2), 0.5)
        rows, chances, turns = np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.int64)
        for turn in (1, 2, 3):
            rest = np.setdiff1d(np.arange(2000), rows)
            rate = dict.fromkeys((0.2, 0.5, 0.8), 0.3)
            for value in rate if turn > 1 else ():
                seen = truth[rows[score[rows] == value]]
                rate[value] = (seen.sum() + 0.5) / (len(seen) + 1)
            current = np.array([rate[value] for value in score[rest]])
            population = Population(
                [names[row] for row in rest], current, np.zeros(len(rest), np.int64), ["all"]
            )
            new, chance = draw(population, 80, "uncertainty", seed=seed, stage=str(turn))
            rows, chances = np.append(rows, rest[new]), np.append(chances, chance[new])
            turns = np.append(turns, np.full(80, turn))
        counts = corrected_counts(
            score,
            rows,
            truth[rows],
            methods=["dsl"],
            inclusion_probabilities=chances,
            rounds=turns,
            strata=np.zeros(240, np.int64),
        )
        share, low, high = defined(counts.estimates[0])
        hits += low <= truth.mean() <= high
        errors.append(share - truth.mean())
    assert 135 <= hits <= 150
    assert abs(np.mean(errors)) < 3 * np.std(errors) / np.sqrt(150)


def test_groups_that_were_labeled_as_a_whole_are_noticed() -> None:
    table = table_of(500)
    whole = sample(table, size=20, cluster="author").table
    labels = labels_of(whole).select(["item", "label"])
    warning = estimate(table, labels).groups_warning
    assert "each labeled value of the column 'author' (20 of 100) has labels" in str(warning)
    one_less = estimate(table, labels.slice(1))
    assert one_less.groups_warning is None
    assert estimate(table, labels_of(whole)).groups_warning is None  # it has the clusters
    designs: tuple[dict[str, Any], ...] = ({}, {"by": "party"}, {"design": "uncertainty"})
    for options in designs:
        drawn = labels_of(sample(table, size=100, **options).table)
        assert estimate(table, drawn).groups_warning is None
    few = estimate(table, labels.slice(0, 5))  # one author of five documents in 100 groups
    assert few.groups_warning is not None
    everyone = pa.table({"item": table["item"], "label": np.arange(500) % 2})
    assert estimate(table, everyone).groups_warning is None
    simple = labels_of(sample(table, size=100).table)
    known = set(simple["item"].to_pylist())
    for nothing in ("", None):  # in another column of labels
        gold = [str(place % 2) if f"d{place}" in known else nothing for place in range(500)]
        assert estimate(table.append_column("gold", pa.array(gold)), simple).groups_warning is None
    beside = table.append_column(
        "label", pa.array([place % 2 if place < 50 else None for place in range(500)])
    )
    assert "column 'author' (10 of 100)" in str(estimate(beside).groups_warning)


def test_bad_samples_are_named(run: Run, tmp_path: Path) -> None:
    from pyarrow import csv as arrow_csv

    scores, out = tmp_path / "scores.csv", tmp_path / "labels.csv"
    arrow_csv.write_csv(table_of(200), scores)
    drawn = sample(scores, size=30, by="party", allocation="equal").table

    def estimated(**columns: Any) -> Any:
        names = {**{name: drawn[name] for name in drawn.column_names}, "label": np.arange(30) % 2, **columns}
        arrow_csv.write_csv(pa.table(names), out)
        return run("estimate", scores, "--labels", out)

    assert estimated().code == 0
    labels = [None if name == "green" else 1 for name in drawn["stratum"].to_pylist()]
    estimated(label=labels).refused("stratum 'green' has no label", "label at least 2")
    estimated(inclusion_probability=[0.0] + [0.5] * 29).refused("row 1, column inclusion_probability", "0")
    estimated(inclusion_probability=[1.5] + [0.5] * 29).refused("row 1, column inclusion_probability")
    items = ["other", *drawn["item"].to_pylist()[1:]]
    estimated(item=items).refused("'other' has a label but no score")
    estimated(item=[items[1], *items[1:]]).refused("is also in row 1")


SIX_CELLS = [
    ("uncertainty", "good", 0.2, 200),
    ("uncertainty", "biased", 0.2, 200),
    ("uncertainty", "useless", 0.5, 60),
    ("strata of scores", "good", 0.05, 800),
    ("model's class", "classes", 0.2, 200),
    ("cluster", "biased", 0.5, 800),
]


@pytest.mark.parametrize(("design", "predictions", "share", "labels"), SIX_CELLS)
def test_six_cells_of_the_published_grid(design: str, predictions: str, share: float, labels: int) -> None:
    import importlib.util

    path = Path(__file__).resolve().parents[2] / "scripts" / "sampling_coverage.py"
    specification = importlib.util.spec_from_file_location("sampling_coverage", path)
    assert specification is not None
    assert specification.loader is not None
    script = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(script)
    for cell in script.cell_of(design, predictions, share, labels, 150):
        assert cell.coverage >= 0.90  # 0.95 minus 3 standard errors
        assert 0.85 <= cell.ratio <= 1.35
