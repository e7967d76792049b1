"""Networks that the study trains: training, what ships, effects and their intervals, verdicts, figures."""

from __future__ import annotations

import gzip
import json
import sys
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from calibrant.exceptions import FormatError, MissingExtraError
from calibrant.metrics import debiased_squared_error
from calibrant_studies import Study
from calibrant_studies._base import digest
from calibrant_studies._networks_trained import stopping_rows, trained
from calibrant_studies._networks_trained_data import READERS, SPLITS, Texts, Vectors, headlines, vectors
from calibrant_studies._networks_trained_effects import (
    GROUPS,
    WITHOUT,
    Effect,
    Measured,
    effects,
    effects_by_norm,
    levels,
    measure,
    over_seeds_and_texts,
)
from calibrant_studies._networks_trained_figures import draw
from calibrant_studies._networks_trained_files import (
    BASE,
    LAST,
    NETWORKS,
    SEEDS,
    SETS,
    STOPPED,
    Run,
    Trained,
    files,
    pack,
    read,
    ship,
    top,
    unpack,
    write,
)
from calibrant_studies._networks_trained_fit import Network, train
from calibrant_studies._verdicts import above, judge
from tests.quantities import defined

Floats = NDArray[np.float64]


def simulated_vectors(classes: int = 3, dimensions: int = 5) -> dict[str, Vectors]:
    """Classes are Gaussians around random centers."""
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(classes, dimensions))
    found = {}
    for split, n in zip(SPLITS, (300, 40, 50), strict=True):
        labels = rng.integers(classes, size=n).astype(np.uint8)
        inputs = (centers[labels] + rng.normal(size=(n, dimensions))).astype(np.float32)
        found[split] = Vectors(np.arange(n, dtype=np.int32), inputs, labels)
    return found


@pytest.mark.parametrize("batch_norm", [False, True])
def test_training_lowers_the_loss_and_is_the_same_for_the_same_seed(batch_norm: bool) -> None:
    pytest.importorskip("jax", reason="needs calibrant-studies[networks], which only training needs")
    splits = simulated_vectors()
    network = Network(2, 8, batch_norm, 1e-4)
    first, again, other = (
        train(splits, network, np.random.default_rng(seed), classes=3, epochs=8) for seed in (1, 1, 2)
    )
    assert first[-1].training_loss < 0.75 * first[0].training_loss
    assert [epoch.training_loss for epoch in first] == [epoch.training_loss for epoch in again]
    for split in ("dev", "test"):
        assert first[-1].logits[split].shape == (len(splits[split].labels), 3)
        np.testing.assert_array_equal(first[-1].logits[split], again[-1].logits[split])
        assert not np.array_equal(first[-1].logits[split], other[-1].logits[split])


def test_more_weight_decay_leaves_shorter_logits() -> None:
    pytest.importorskip("jax", reason="needs calibrant-studies[networks], which only training needs")
    splits = simulated_vectors()
    little, much = (
        train(splits, Network(1, 8, False, decay), np.random.default_rng(1), classes=3, epochs=8)
        for decay in (1e-5, 0.3)
    )
    assert np.abs(much[-1].logits["test"]).max() < 0.5 * np.abs(little[-1].logits["test"]).max()


def test_training_without_jax_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    from calibrant_studies import _networks_trained_fit as fit

    fit._compiled.cache_clear()
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(MissingExtraError, match=r"calibrant-studies\[networks\]"):
        train(simulated_vectors(), Network(1, 8, False, 0.0), np.random.default_rng(0), classes=3)
    fit._compiled.cache_clear()


def test_headlines_have_one_topic_and_dev_is_the_end_of_the_training_stories(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = []

    def story(split: str, topics: list[str], date: str, attribute: str = "YES") -> None:
        number = len(rows) + 1
        rows.append(
            {
                "id": number,
                "date": date,
                "title": f"title {number}",
                "topics": topics,
                "lewissplit": split,
                "topics_attr": attribute,
            }
        )

    for day in range(9, -1, -1):
        story("TRAIN", ["earn" if day % 2 else "acq"], f"1987-03-{day + 10}")
    story("TRAIN", ["earn", "acq"], "1987-03-01")
    story("TRAIN", ["earn"], "1987-03-01", "BYPASS")
    story("TEST", ["acq"], "1987-04-10")
    story("TEST", ["cocoa"], "1987-04-10")
    (tmp_path / "reuters-21578").mkdir()
    (tmp_path / "sentiment").mkdir()
    for split in SPLITS:
        (tmp_path / "sentiment" / f"sentiment140-dated.{split}.tsv.gz").touch()
    with gzip.open(tmp_path / "reuters-21578" / "documents.jsonl.gz", "wt") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    found, names = headlines(tmp_path)
    assert names == ("acq", "earn")
    assert found["train"].items.tolist() == [10, 9, 8, 7, 6, 5, 4, 3]
    assert found["dev"].items.tolist() == [2, 1]
    assert found["test"].items.tolist() == [13]
    assert found["dev"].labels.tolist() == [0, 1]
    assert found["test"].texts == ["title 13"]


def test_vectors_are_learned_from_the_training_texts_alone() -> None:
    words = ["good day", "bad day", "good night", "bad night", "good rain", "bad rain"]
    parts = {
        "train": Texts(np.arange(6, dtype=np.int32), words, np.array([1, 0] * 3, dtype=np.uint8)),
        "test": Texts(np.arange(1, dtype=np.int32), ["good unheard"], np.array([1], dtype=np.uint8)),
    }
    alone = vectors({"train": parts["train"]}, dimensions=2)["train"].inputs
    found = vectors(parts, dimensions=2)
    np.testing.assert_array_equal(alone, found["train"].inputs)
    assert found["train"].inputs.mean(axis=0) == pytest.approx([0, 0], abs=1e-6)
    assert found["train"].inputs.var(axis=0).mean() == pytest.approx(1, rel=1e-5)
    assert found["test"].inputs.shape == (1, 2)


def test_packed_logits_keep_top_class_and_probabilities() -> None:
    rng = np.random.default_rng(3)
    logits = rng.normal(scale=4, size=(4_000, 5))
    labels = rng.integers(5, size=4_000).astype(np.uint8)
    packed = pack(logits)
    assert packed.dtype == np.uint8
    assert packed.shape == logits.shape
    kept = unpack(packed)
    assert kept.max(axis=1) == pytest.approx(0)
    (before, _, loss), (after, _, loss_after) = top(logits, labels), top(kept, labels)
    assert np.abs(before - after).max() < 0.03
    assert before.mean() == pytest.approx(after.mean(), abs=3e-4)
    assert loss.mean() == pytest.approx(loss_after.mean(), rel=2e-3)
    np.testing.assert_array_equal(pack(kept), packed)


def test_confidence_and_log_loss_are_those_of_the_softmax() -> None:
    confidence, right, loss = top(np.log([[0.2, 0.8], [0.6, 0.4]]), np.array([1, 1], dtype=np.uint8))
    assert confidence == pytest.approx([0.8, 0.6])
    assert right.tolist() == [True, False]
    assert loss == pytest.approx(-np.log([0.8, 0.4]))


def simulated(name: str = "made-up") -> Trained:
    """All networks of a set, overconfident by more the deeper they are."""
    rng = np.random.default_rng(5)
    labels, logits = {}, {}
    for split, n in (("dev", 60), ("test", 90)):
        logits[split] = rng.normal(size=(n, 2))
        noise = rng.gumbel(size=(n, 2))
        labels[split] = (logits[split] + noise).argmax(axis=1).astype(np.uint8)
    runs = [Run(*both, LAST) for both in product(NETWORKS, SEEDS)]
    runs += [Run(*both, STOPPED) for both in product(BASE, SEEDS)]
    packed = {
        run: {split: pack(logits[split] * (1 + run.network.depth) + 0.1 * run.seed) for split in logits}
        for run in runs
    }
    numbers = ("training_loss", "dev_loss", "test_loss", "test_error", "test_ece", "test_mse")
    epochs = [
        {"network": str(network), "seed": seed, "epoch": 1, **dict.fromkeys(numbers, 0.5)}
        for network, seed in product(NETWORKS, SEEDS)
    ]
    items = {split: np.arange(len(values), dtype=np.int32) for split, values in labels.items()}
    return Trained(name, items, labels, packed, epochs, {"classes": ["no", "yes"], "epochs": 1})


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    before = simulated()
    assert write(before, tmp_path) == list(files("made-up", tmp_path))
    after = read("made-up", tmp_path)
    assert after.packed.keys() == before.packed.keys()
    for split in ("dev", "test"):
        np.testing.assert_array_equal(after.items[split], before.items[split])
        np.testing.assert_array_equal(after.labels[split], before.labels[split])
        for run, values in before.packed.items():
            np.testing.assert_array_equal(after.packed[run][split], values[split])
    assert after.epochs == before.epochs
    assert after.about == before.about


def test_a_file_that_lacks_a_network_is_refused(tmp_path: Path) -> None:
    some = simulated()
    run = Run(NETWORKS[0], SEEDS[0], LAST)
    del some.packed[run]
    write(some, tmp_path)
    with pytest.raises(FormatError, match=f"networks-made-up.parquet: there is no column '{run}'"):
        read("made-up", tmp_path)


def test_each_effect_is_a_contrast_that_only_its_factor_moves() -> None:
    values = {
        "depth": np.log2([network.depth for network in NETWORKS]),
        "width": np.log2([network.width for network in NETWORKS]),
        "weight_decay": -np.log10([network.weight_decay for network in NETWORKS]),
        "batch_norm": np.array([float(network.batch_norm) for network in NETWORKS]),
    }
    assert {effect.name for effect in effects()} == set(values)
    for effect in effects():
        assert sum(effect.weights.values()) == pytest.approx(0, abs=1e-12)
        for name, value in values.items():
            assert effect.of(NETWORKS, value) == pytest.approx(float(name == effect.name), abs=1e-9)


def test_each_effect_is_the_mean_of_those_without_and_with_normalization() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=len(NETWORKS))
    halves: dict[str, list[float]] = {}
    for effect in effects_by_norm():
        halves.setdefault(effect.name, []).append(float(effect.of(NETWORKS, values)))
    for effect in effects():
        if effect.name != "batch_norm":
            assert effect.of(NETWORKS, values) == pytest.approx(np.mean(halves[effect.name]))


def test_levels_are_means_over_the_networks_that_share_a_value() -> None:
    values = np.array([float(network.depth) for network in NETWORKS])
    found = {
        (factor, value, norm): float(mean.of(NETWORKS, values)) for factor, value, norm, mean in levels()
    }
    assert len(found) == 2 * (4 + 3 + 4)
    for (factor, value, _), mean in found.items():
        assert mean == pytest.approx({"depth": value, "width": 15 / 4, "weight_decay": 4}[factor])


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two networks, trained twice, on one simulated set."""
    where = "calibrant_studies._networks_trained_files"
    monkeypatch.setattr(f"{where}.NETWORKS", BASE)
    monkeypatch.setattr(f"{where}.SEEDS", (0, 1))
    monkeypatch.setattr(f"{where}.SETS", ("made-up",))
    monkeypatch.setattr(f"{where}.READERS", {"made-up": lambda data: ({}, ("a", "b", "c"))})
    monkeypatch.setattr(f"{where}.vectors", lambda texts, seed: simulated_vectors())
    monkeypatch.setattr(f"{where}.sources", lambda data: {"made-up": []})


@pytest.mark.usefixtures("few")
def test_the_seed_fixes_all_predictions_that_ship(tmp_path: Path) -> None:
    pytest.importorskip("jax", reason="needs calibrant-studies[networks], which only training needs")
    told: list[tuple[str, int, int | None]] = []
    folders = [tmp_path / name for name in ("first", "again", "other")]
    for folder, seed in zip(folders, (1, 1, 2), strict=True):
        ship(tmp_path, folder, seed=seed, progress=lambda *amount: told.append(amount))
    assert told[:4] == [("training networks", done, 4) for done in range(4)]
    first, again, other = (read("made-up", folder) for folder in folders)
    assert {str(run) for run in first.packed} == {
        f"{network}/{seed}/{stage}" for network in BASE for seed in (0, 1) for stage in (LAST, STOPPED)
    }
    for run, parts in first.packed.items():
        np.testing.assert_array_equal(parts["test"], again.packed[run]["test"])
        assert not np.array_equal(parts["test"], other.packed[run]["test"])
    assert first.about["seconds"] >= 0
    assert first.about["machine"]


@pytest.mark.usefixtures("few")
def test_a_network_that_is_stopped_has_the_lowest_loss_on_dev(tmp_path: Path) -> None:
    pytest.importorskip("jax", reason="needs calibrant-studies[networks], which only training needs")
    ship(tmp_path, tmp_path, seed=1)
    found = read("made-up", tmp_path)
    for run, parts in found.packed.items():
        rows = [row for row in found.epochs if (row["network"], row["seed"]) == (str(run.network), run.seed)]
        losses = [row["dev_loss"] for row in rows]
        expected = min(losses) if run.stage == STOPPED else losses[-1]
        assert top(unpack(parts["dev"]), found.labels["dev"])[2].mean() == pytest.approx(expected, abs=0.01)


SHAPES = {
    "headlines": {"dev": (1_114, 8), "test": (2_207, 8)},
    "tweets": {"dev": (3_202, 2), "test": (6_004, 2)},
}


@pytest.fixture(scope="module", params=SETS)
def shipped(request: pytest.FixtureRequest) -> Trained:
    return read(request.param)


def test_every_network_that_ships_has_predicted_every_text(shipped: Trained) -> None:
    assert len(shipped.packed) == 3 * 30 + 3 * 2
    assert len(shipped.epochs) == 3 * 30 * shipped.about["epochs"]
    for split, shape in SHAPES[shipped.name].items():
        assert shipped.labels[split].shape == shipped.items[split].shape == shape[:1]
        assert set(shipped.labels[split].tolist()) == set(range(shape[1]))
        for run, parts in shipped.packed.items():
            assert parts[split].shape == shape, run
            assert (parts[split].min(axis=1) == 0).all(), run


def test_the_record_was_made_of_the_files_that_ship(record: dict[str, Any]) -> None:
    paths = [path for name in SETS for path in files(name)]
    for path in paths:
        assert record["data"][path.name] == digest(path)
    assert sum(path.stat().st_size for path in paths) < 3_000_000


def test_the_last_epoch_is_that_of_the_last_predictions(shipped: Trained) -> None:
    last = {(row["network"], row["seed"]): row for row in shipped.epochs}
    for run in shipped.packed:
        if run.stage == LAST:
            _, right, loss = top(shipped.logits(run, "test"), shipped.labels["test"])
            row = last[str(run.network), run.seed]
            assert loss.mean() == pytest.approx(row["test_loss"], rel=0.02)
            assert 1 - right.mean() == pytest.approx(row["test_error"], abs=0.005)


def test_the_shipped_labels_are_those_of_the_texts(shipped: Trained, data: Path) -> None:
    assert (data / "sentiment").exists()
    assert (data / "reuters-21578").exists()
    texts, classes = READERS[shipped.name](Path(data))
    assert list(classes) == shipped.about["classes"]
    for split in ("dev", "test"):
        np.testing.assert_array_equal(texts[split].items, shipped.items[split])
        np.testing.assert_array_equal(texts[split].labels, shipped.labels[split])


def test_the_shipped_predictions_give_the_record_of_stopped_networks(
    shipped: Trained, record: dict[str, Any]
) -> None:
    then = [row for row in record["tables"]["trained-stopping"] if row["set"] == shipped.name]
    last, stopped = (measure(shipped, BASE, stage, seed=record["seed"]) for stage in (LAST, STOPPED))
    for now, before in zip(stopping_rows(shipped.name, last, stopped), then, strict=True):
        assert now.keys() == before.keys()
        for key, value in now.items():
            # Fits of other versions of SciPy end a little elsewhere.
            near = pytest.approx(value, rel=1e-3, abs=1e-9) if isinstance(value, float) else value
            assert before[key] == near, key


@pytest.mark.slow
def test_the_shipped_predictions_give_the_whole_record(record: dict[str, Any]) -> None:
    half = trained(None, record["seed"])
    then = [each for each in record["findings"] if each["name"].startswith("trained/")]
    for now, before in zip(half.findings, then, strict=True):
        assert (now.name, now.verdict) == (before["name"], before["verdict"])
        for key in ("value", "low", "high"):
            assert getattr(now, key) == pytest.approx(before[key], rel=1e-6, abs=1e-9)
    for name, rows in half.tables.items():
        assert len(rows) == len(record["tables"][name])


def test_training_anew_is_recorded_with_its_data_machine_and_time(monkeypatch: pytest.MonkeyPatch) -> None:
    made = {"seed": 3, "seconds": 90, "processor_seconds": 30, "machine": "abacus", "libraries": "beads 1"}
    sets = [simulated(name) for name in SETS]
    for each in sets:
        each.about.update(made | {"data": {f"{each.name}.txt": "0" * 64}})
    asked: list[tuple[Path, int]] = []

    def train_all(data: Path, *, seed: int, progress: object) -> list[Trained]:
        asked.append((data, seed))
        return sets

    monkeypatch.setattr("calibrant_studies._networks_trained.train_all", train_all)
    monkeypatch.setattr("calibrant_studies._networks_trained_effects.GROUPS", 3)
    half = trained(Path("texts"), 3, anew=True)
    assert asked == [(Path("texts"), 3)]
    assert half.data == {"headlines.txt": "0" * 64, "tweets.txt": "0" * 64}
    assert (
        half.parameters["training"]
        == "in this run, seed 3, 3 minutes (1 of the processor) on abacus; beads 1"
    )
    found = {each.name: each for each in half.findings}
    assert len(found) == 14
    # The simulated logits grow with the depth, and all networks make the same errors.
    depth = found["trained/tweets/depth"]
    assert isinstance(depth.value, float)
    assert depth.value > 0.02
    assert found["trained/tweets/width"].value == pytest.approx(0, abs=1e-12)
    assert found["trained/tweets/overfit_error"].verdict != "agrees"


def test_figures_show_four_factors_of_each_set_and_the_epochs(record: dict[str, Any]) -> None:
    drawn = draw(Study.from_dict(record))
    assert list(drawn) == ["trained-headlines", "trained-tweets", "trained-epochs"]
    label = f"calibration error, {WITHOUT}"
    for name in SETS:
        panels = drawn[f"trained-{name}"].axes
        names = ["hidden layers", "units per layer", "batch normalization", "weight decay"]
        assert [ax.get_xlabel() for ax in panels] == names
        line = next(line for line in panels[0].get_lines() if line.get_label() == label)
        rows = [
            row["calibration_error"]
            for row in record["tables"]["trained-levels"]
            if (row["set"], row["factor"], row["networks"]) == (name, "depth", WITHOUT)
        ]
        np.testing.assert_allclose(np.asarray(line.get_ydata(), dtype=float), rows)
    assert [ax.get_title(loc="left") for ax in drawn["trained-epochs"].axes[:2]] == list(SETS)


def of_networks(values: Floats) -> Measured:
    """Networks whose calibration errors are given, without noise of the texts."""
    mse = np.repeat(values[..., None] ** 2, 1 + GROUPS, axis=-1)
    named = dict.fromkeys(("error", "loss", "mse", "loss_after", "mse_after"), mse)
    return Measured(NETWORKS, named, values, values, np.ones_like(values))


@pytest.mark.parametrize(
    ("by_depth", "verdict"), [(0.02, "agrees"), (-0.02, "differs"), (0.0, "inconclusive")]
)
def test_a_verdict_needs_an_effect_beyond_the_noise_of_training(by_depth: float, verdict: str) -> None:
    rng = np.random.default_rng(1)
    depth = np.array([np.log2(network.depth) for network in NETWORKS])
    values = 0.2 + by_depth * depth[:, None] + rng.normal(scale=0.01, size=(len(NETWORKS), len(SEEDS)))
    effect = next(effect for effect in effects() if effect.name == "depth")
    found = over_seeds_and_texts(effect.of(NETWORKS, of_networks(values).rms()))
    assert found.estimate == pytest.approx(by_depth, abs=0.005)
    assert judge(above(0), found.low, found.high) == verdict


def test_the_interval_is_students_if_only_trainings_differ() -> None:
    values = np.repeat(np.array([[0.1], [0.2], [0.3]]), 1 + GROUPS, axis=1)
    found = over_seeds_and_texts(values)
    assert found.estimate == pytest.approx(0.2)
    assert found.high == pytest.approx(0.2 + 4.302653 * 0.1 / np.sqrt(3), rel=1e-6)


def test_the_interval_is_that_of_the_mean_if_only_texts_differ() -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=(GROUPS, 50))
    left_out = [np.delete(x, group, axis=0).mean() for group in range(GROUPS)]
    values = np.tile([x.mean(), *left_out], (3, 1))
    found = over_seeds_and_texts(values)
    error = x.mean(axis=1).std(ddof=1) / np.sqrt(GROUPS)
    assert found.low == pytest.approx(x.mean() - 2.093024 * error, rel=1e-6)


def drawn_networks(rng: np.random.Generator, n: int, spread: float) -> Floats:
    """Calibration errors (2 networks, 3 trainings, 1 + G) of one replication.

    Logits are stretched: twice by the first network and 1.4 times by the second one on average, with a
    separate factor for each training.
    """
    logit = rng.normal(scale=1.5, size=n) + 0.5
    group = np.arange(n) % GROUPS
    chance = 1 / (1 + np.exp(-logit))
    right = rng.random(n) < chance
    found = np.empty((2, 3, 1 + GROUPS))
    for network, seed in product(range(2), range(3)):
        factor = (2.0, 1.4)[network] * np.exp(rng.normal(scale=spread))
        score = 1 / (1 + np.exp(-factor * logit))
        for place in range(1 + GROUPS):
            kept = group != place - 1
            found[network, seed, place] = debiased_squared_error(right[kept], score[kept])
    return np.sqrt(np.maximum(found, 0))


def true_difference(spread: float) -> float:
    """Mean over trainings of the difference of both networks' errors, by integrals on a grid."""
    z = (np.arange(4_000) + 0.5) / 4_000
    from scipy.special import expit, ndtri

    logit = 1.5 * ndtri(z) + 0.5
    stretch = np.exp(spread * ndtri((np.arange(400) + 0.5) / 400))[:, None]
    errors = [
        np.sqrt(np.mean((expit(factor * stretch * logit) - expit(logit)) ** 2, axis=1)).mean()
        for factor in (2.0, 1.4)
    ]
    return float(errors[0] - errors[1])


@pytest.mark.slow
@pytest.mark.parametrize(("n", "spread"), [(2_000, 0.02), (2_000, 0.2), (6_000, 0.08)])
def test_the_interval_covers_the_effect_over_trainings_and_texts(n: int, spread: float) -> None:
    rng = np.random.default_rng(7)
    effect = Effect("difference", "", {NETWORKS[0]: 1.0, NETWORKS[1]: -1.0})
    truth = true_difference(spread)
    covered = 0
    for _ in range(200):
        found = over_seeds_and_texts(effect.of(NETWORKS[:2], drawn_networks(rng, n, spread)))
        covered += defined(found.low) <= truth <= defined(found.high)
    assert covered >= 180
