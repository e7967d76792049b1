"""The study of neural networks, half of the given logits: on made-up networks, and its record."""

from __future__ import annotations

import csv
import gzip
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import softmax

from calibrant.exceptions import CalibrantError
from calibrant.metrics import expected_calibration_error
from calibrant_studies import Study
from calibrant_studies import networks as study_of_networks
from calibrant_studies._base import Row
from calibrant_studies._networks_chaos import chaos
from calibrant_studies._networks_claims import OF_PAPER, PUBLISHED, findings
from calibrant_studies._networks_classes import class_findings, class_rows
from calibrant_studies._networks_coverage import NUMBERS, coverage_rows
from calibrant_studies._networks_data import CLASSES, MODELS, Logits, networks
from calibrant_studies._networks_figures import draw
from calibrant_studies._networks_given import given
from calibrant_studies._networks_measure import ALL, MEASURES, NONE, interval, log_loss, measured, place
from calibrant_studies._networks_notes import (
    BALANCE,
    EXAMPLES,
    TRAINED,
    balance_rows,
    code_rows,
    notes_error,
    trained_rows,
)

ITEMS = 240


def logits(seed: int, temperature: float = 2.0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    true = rng.normal(0, 1.5, (ITEMS, 3))
    return temperature * true, (true + rng.gumbel(size=true.shape)).argmax(axis=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made-up logits of two seeds for every network, and a hundred labels of every third item."""
    root = tmp_path_factory.mktemp("data")
    (root / "nli-logits").mkdir()
    for task, network in MODELS:
        for split in ("dev", "test"):
            name = "{}{}#{}r1e" if task == "snli" else "{}{}{}"
            ids = np.array([name.format(split, i // 2, "en"[i % 2]) for i in range(ITEMS)])
            arrays: dict[str, Any] = {"ids": ids}
            values, labels = logits(10 * (task == "snli") + (split == "test"))
            arrays |= {"labels": labels.astype(np.int8), "logits_0": values.astype(np.float32)}
            arrays["logits_1"] = (values * 0.8).astype(np.float32)
            np.savez_compressed(root / "nli-logits" / f"{task}-{split}-{network}.npz", **arrays)
            if network == "roberta-base":
                write_people(root / "nli-logits" / f"chaosnli-{task}.csv.gz", arrays, split)
    return root


def write_people(path: Path, arrays: dict[str, Any], split: str) -> None:
    rng = np.random.default_rng(3)
    with gzip.open(path, "wt" if split == "dev" else "at", newline="") as file:
        writer = csv.writer(file)
        if split == "dev":
            writer.writerow(["uid", *CLASSES])
        for i in range(0, ITEMS, 3):
            counts = rng.multinomial(100, softmax(arrays["logits_0"][i].astype(float) / 3))
            writer.writerow([arrays["ids"][i], *counts])


SMALL: dict[str, Any] = {"classes": (3, 5), "dev": 300, "test": 300, "repeats": 2}
FEW: dict[str, Any] = {"replications": 3, "draws": 3}


@pytest.fixture(scope="module")
def study(folder: Path) -> Any:
    half = given(folder, 1, draws=3, sizes=SMALL, coverage=FEW)
    return study_of_networks._joined([half], 1, 0.0, "calibrant study networks")


def test_the_study_runs_on_made_up_networks_and_is_drawn(study: Any) -> None:
    assert {"given", "page-given-ece", "given-classes", "notes-code"} <= study.tables.keys()
    assert len(study.tables["given"]) == 2 * len(MODELS) * len(ALL)
    names = [finding.name for finding in study.findings]
    assert len(set(names)) == len(names)
    assert list(draw(study)) == ["given-diagrams", "given-methods", "given-classes"]


def test_figures_are_those_of_both_halves(record: dict[str, Any]) -> None:
    drawn = study_of_networks.figures(Study.from_dict(record))
    assert {name.partition("-")[0] for name in drawn} == {"given", "trained"}


def test_networks_of_one_set_are_drawn_alike(folder: Path) -> None:
    pairs = [pair for pair in networks(folder) if pair[0].model == "MNLI, RoBERTa"]
    first, second = (measured(dev, test, 4, 7) for dev, test in pairs)
    at = place(NONE, "accuracy")
    np.testing.assert_array_equal(first.draws[:, at[0], at[1]], second.draws[:, at[0], at[1]])
    assert not np.array_equal(first.draws, second.draws)


def test_measures_are_those_of_the_library_and_temperature_changes_no_decision(folder: Path) -> None:
    dev, test = next(networks(folder))
    found = measured(dev, test, 2, 7)
    prob = found.prob[NONE]
    right = prob.argmax(axis=1) == test.labels
    values = dict(zip(MEASURES, found.values[ALL.index(NONE)].tolist(), strict=True))
    assert values["accuracy"] == pytest.approx(right.mean())
    assert values["ECE"] == pytest.approx(expected_calibration_error(right, prob.max(axis=1), n_bins=15))
    assert values["log loss"] == pytest.approx(-np.log(prob[np.arange(ITEMS), test.labels]).mean())
    assert found.values[place("temperature", "changed")] == 0
    assert found.values[place("temperature", "accuracy")] == values["accuracy"]
    assert found.values[place("temperature", "ECE")] < values["ECE"]
    assert found.spread[0] >= 1


def test_verdicts_follow_from_intervals_alone(study: Any) -> None:
    claims = [finding for finding in study.findings if finding.claim is not None]
    assert len(claims) > 30
    for finding in study.findings:
        if finding.verdict in ("agrees", "differs"):
            assert finding.low is not None
            assert finding.high is not None


def test_a_probability_of_zero_makes_the_log_loss_infinite_and_takes_its_interval() -> None:
    prob = np.array([[1.0, 0.0], [0.5, 0.5]])
    assert log_loss(prob, np.array([1, 0]), np.full(2, 0.5)) == np.inf
    assert log_loss(prob, np.array([1, 0]), np.array([0.0, 1.0])) == pytest.approx(np.log(2))
    assert interval(np.inf, [1.0, 2.0]) == (None, None)
    assert interval(0.0, [1.0, np.inf]) == (None, None)
    low, high = interval(1.0, [0.0, 2.0])
    assert low == pytest.approx(1 - 1.96 * np.sqrt(2), abs=1e-3)
    assert high == pytest.approx(1 + 1.96 * np.sqrt(2), abs=1e-3)


def test_the_paper_s_tables_are_whole() -> None:
    for rows in PUBLISHED.values():
        assert len(rows) == 5
        assert all(len(values) == 1 + len(OF_PAPER) for values in rows.values())
    for row in PUBLISHED["test error"].values():
        assert row[0] == row[1 + OF_PAPER.index("temperature")]


def test_people_who_agree_with_a_calibrated_network_are_as_many_as_it_says(folder: Path) -> None:
    found = [measured(dev, test, 2, 7) for dev, test in networks(folder)]
    rows, said = chaos(folder, found, 1)
    assert {finding.name.rpartition("/")[2] for finding in said} == {"people"}
    tempered = [row for row in rows if row["method"] == "temperature, 100 labels"]
    plain = [row for row in rows if row["method"] == NONE]
    for after, before in zip(tempered, plain, strict=True):
        assert after["items"] == ITEMS // 3
        assert after["log loss against people"] <= before["log loss against people"]
        assert after["distance to people"] < before["distance to people"]


def test_matrix_scaling_needs_items_for_each_of_its_parameters() -> None:
    rows = class_rows(1, classes=(3, 20), dev=1500, test=2000, repeats=2)
    ece = {
        (count, name): np.mean(
            [row["ECE"] for row in rows if (row["classes"], row["method"]) == (count, name)]
        )
        for count in (3, 20)
        for name in ("temperature", "matrix", "matrix, penalized")
    }
    assert ece[20, "matrix"] > 2 * ece[20, "temperature"]
    assert ece[20, "matrix, penalized"] < ece[20, "matrix"]
    assert ece[3, "matrix"] < ece[3, "temperature"] + 0.02


def test_no_finite_matrix_is_said_and_not_compared() -> None:
    rows: list[Row] = [
        {"classes": 100, "repeat": 0, "method": "temperature", "ECE": 0.1, "log loss": 1.0},
        {"classes": 100, "repeat": 0, "method": "matrix", "ECE": None, "log loss": None},
    ]
    assert {finding.verdict for finding in class_findings(rows)} == {"not comparable"}


def test_coverage_has_a_row_for_each_number_and_cell() -> None:
    rows = coverage_rows(1, replications=2, draws=3)
    assert len(rows) == 2 * len(NUMBERS)
    assert all(row["coverage"].endswith("%") for row in rows)


def by_hand(score: Any, right: Any) -> float:
    """The notes' code, line by line."""
    eces = []
    for i in range(10):
        inside = (score >= i * 0.1) & (score < (i + 1) * 0.1)
        if inside.any():
            eces.append(inside.sum() / len(score) * abs(right[inside].mean() - np.average(score)))
    return float(np.sum(eces))


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_notes_code_is_told_from_the_error(name: str) -> None:
    score, right = EXAMPLES[name]
    (row,) = [row for row in code_rows([]) if row["scores"] == name]
    assert row["the notes' code"] == pytest.approx(by_hand(score, right), abs=1e-9)
    assert row["and scores of 1 kept"] == pytest.approx(row["calibrant's ECE"], abs=1e-9)
    assert row["calibrant's ECE"] != pytest.approx(row["the notes' code"], abs=0.05)


def test_both_departures_of_the_notes_code_matter() -> None:
    score, right = np.array([0.65] * 20 + [1.0] * 20), np.array([True] * 13 + [False] * 7 + [True] * 20)
    assert notes_error(score, right) == pytest.approx(0.0875)
    assert notes_error(score, right, ones=True) == pytest.approx(0.175)
    assert notes_error(score, right, inside=True) == pytest.approx(0)


def test_confident_and_calibrated_are_no_contradiction() -> None:
    rows = {row["model"]: row for row in balance_rows()}
    assert rows.keys() == BALANCE.keys()
    base, good, bold, timid, _ = rows.values()
    assert base["ECE"] == good["ECE"] == 0
    assert good["mean confidence"] == pytest.approx(good["accuracy"])
    assert good["log loss"] < bold["log loss"] < base["log loss"]
    assert good["log loss"] < timid["log loss"]
    assert base["resolution"] == pytest.approx(0, abs=1e-12)
    assert good["resolution"] == pytest.approx(bold["resolution"])


def test_a_model_that_is_nearly_always_right_can_be_miscalibrated() -> None:
    rows = {row["model"]: row for row in trained_rows()}
    assert rows.keys() == TRAINED.keys()
    assert all(row["accuracy"] == pytest.approx(0.99) for row in rows.values())
    assert rows["all scores 0.999999"]["log loss"] > 2 * rows["all scores 0.99"]["log loss"]


def test_findings_are_means_over_seeds(folder: Path) -> None:
    found = [measured(dev, test, 2, 7) for dev, test in networks(folder)][:2]
    (ece,) = [each for each in findings(found) if each.name.endswith("/ECE")]
    at = place(NONE, "ECE")
    assert ece.value == pytest.approx(np.mean([each.values[at] for each in found]))


def broken_archive(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:1000])


def other_arrays(**changes: Any) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        with np.load(path) as file:
            arrays = dict(file)
        for name, value in changes.items():
            if value is None:
                del arrays[name]
            else:
                arrays[name] = value(arrays[name])
        np.savez(path, **arrays)

    return change


def text(path: Path) -> None:
    path.write_text("uid,labels\n", encoding="utf-8")


def huge(path: Path) -> None:
    """An array of labels that states a size of a petabyte."""
    other_arrays(labels=None)(path)
    with zipfile.ZipFile(path, "a") as archive, archive.open("labels.npy", "w") as member:
        header = {"descr": "<i8", "fortran_order": False, "shape": (1 << 47,)}
        np.lib.format.write_array_header_1_0(member, header)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (broken_archive, "no archive of NumPy arrays"),
        (huge, "no archive of NumPy arrays"),
        (text, "no archive of NumPy arrays"),
        (other_arrays(labels=None), "needs the arrays ids, labels and logits_0"),
        (other_arrays(logits_0=None, logits_1=None), "needs the arrays"),
        (other_arrays(labels=lambda found: found + 1), "one whole number below 3"),
        (other_arrays(labels=lambda found: found[:-1]), "one whole number below 3"),
        (other_arrays(logits_1=lambda found: found[:, :2]), "logits_1 has shape"),
        (other_arrays(logits_0=lambda found: found * np.nan), "not finite"),
        (other_arrays(ids=lambda found: found.astype(object)), "no archive of NumPy arrays"),
    ],
)
def test_a_broken_file_of_logits_is_named(
    folder: Path, tmp_path: Path, change: Callable[[Path], None], message: str
) -> None:
    (tmp_path / "nli-logits").mkdir()
    for path in (folder / "nli-logits").iterdir():
        (tmp_path / "nli-logits" / path.name).write_bytes(path.read_bytes())
    change(tmp_path / "nli-logits" / "snli-dev-roberta-base.npz")
    with pytest.raises(CalibrantError, match=message) as caught:
        list(networks(tmp_path))
    assert "snli-dev-roberta-base.npz" in str(caught.value)


@pytest.mark.parametrize(
    "content", [b"", b"no gzip", gzip.compress(b"uid,neutral\na,1\n", mtime=0), gzip.compress(b"", mtime=0)]
)
def test_a_broken_file_of_people_is_named(folder: Path, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "nli-logits").mkdir()
    (tmp_path / "nli-logits" / "chaosnli-snli.csv.gz").write_bytes(content)
    with pytest.raises(CalibrantError, match=r"chaosnli-snli\.csv\.gz"):
        chaos(tmp_path, [], 1)


def test_dev_and_test_have_clusters_of_their_own(folder: Path) -> None:
    dev, test = next(networks(folder))
    assert isinstance(dev, Logits)
    assert len(dev) == len(test) == ITEMS
    assert dev.cluster.max() + 1 == len(np.unique(dev.cluster))
