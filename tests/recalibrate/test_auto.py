"""The default map: the simplest that cross-fitting cannot tell from the best, or none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit, logit

from calibrant.exceptions import InputError
from calibrant.metrics import Tally
from calibrant.metrics.views import binary_view, class_predictions
from calibrant.recalibrate import Auto, Beta, Calibrated, Isotonic, PerClass, Platt, Recalibrator, Temperature
from calibrant.recalibrate.crossfit import NO_MAP, cross_fitted

Floats = NDArray[np.float64]


def sample(n: int, seed: int, true: Any) -> tuple[Floats, NDArray[np.bool_]]:
    rng = np.random.default_rng(seed)
    odds = rng.normal(0, 1.5, n)
    return expit(odds), rng.random(n) < true(odds)


def pairs(q: Floats, y: NDArray[np.bool_], **more: Any) -> Any:
    """Return checked pairs, with clusters or weights."""
    return binary_view(class_predictions(y.astype(int), np.column_stack([1 - q, q]), **more))


@pytest.mark.parametrize(
    ("true", "name"),
    [
        (expit, "none"),
        (lambda z: expit(z / 2), "temperature"),
        (lambda z: expit(z + 0.5), "platt"),
        (lambda z: np.where(z < 0, 0.2, 0.7), "isotonic-smoothed"),
    ],
    ids=["none", "temperature", "platt", "isotonic-smoothed"],
)
def test_the_map_that_made_the_scores_is_found(true: Any, name: str) -> None:
    q, y = sample(5000, 0, true)
    found = Auto().fit(q, y)
    assert found.chosen_name_ == name
    assert found.tried_.keys() == {"none", "temperature", "platt", "beta", "isotonic-smoothed"}
    expected = {"none": None, "temperature": Temperature(), "platt": Platt()}.get(
        name, Isotonic(smoothing=True)
    )
    mapped = q if expected is None else expected.fit(q, y).transform(q)
    np.testing.assert_array_equal(found.transform(q), mapped)


def test_a_map_of_a_calibrated_model_is_rarely_used_and_never_costs_more_than_noise() -> None:
    odds = np.random.default_rng(1).normal(0, 1.5, 5000)
    scores, truth = expit(odds), expit(odds)

    def log_loss(mapped: Floats) -> float:
        return float(-(truth * np.log(mapped) + (1 - truth) * np.log1p(-mapped)).mean())

    gaps = []
    for seed in range(60):
        found = Auto().fit(*sample(100, seed, expit))
        gaps.append(log_loss(found.transform(scores)) - log_loss(scores))
    assert np.mean(np.array(gaps) != 0) < 0.1
    assert np.mean(gaps) <= 2 * np.std(gaps) / np.sqrt(60)


def test_losses_are_those_of_folds_by_hand() -> None:
    q, y = sample(400, 3, lambda z: expit(z / 2))
    cluster = np.arange(400) // 80  # each of the five folds is one cluster
    losses = cross_fitted({"platt": Platt()}, pairs(q, y, clusters=cluster))
    held = np.empty(400)
    for fold in range(5):
        out = cluster == fold
        held[out] = Platt().fit(q[~out], y[~out]).transform(q[out])
    for name, score in (("platt", held), (NO_MAP, q)):
        log_loss = -np.log(np.where(y, score, 1 - score)).mean()
        np.testing.assert_allclose(losses.mean(name), [log_loss, np.mean((y - score) ** 2)], rtol=1e-9)
    per_cluster = [
        np.mean(
            (np.where(y, np.log(q), np.log1p(-q)) - np.where(y, np.log(held), np.log1p(-held)))[
                cluster == fold
            ]
        )
        for fold in range(5)
    ]
    gap = losses.gap("platt", NO_MAP, 0)
    assert gap.estimate == pytest.approx(np.mean(per_cluster))
    assert gap.error == pytest.approx(np.std(per_cluster, ddof=1) / np.sqrt(5))


def test_folds_of_a_tally_are_those_of_its_pairs() -> None:
    q, y = sample(3000, 4, lambda z: expit(z / 2))
    of_pairs = cross_fitted({"beta": Beta()}, pairs(q, y))
    of_tally = cross_fitted({"beta": Beta()}, Tally.from_arrays(y_true=y[::-1], y_prob=q[::-1], exact=True))
    np.testing.assert_allclose(of_tally.mean("beta"), of_pairs.mean("beta"), rtol=1e-12)
    grid = cross_fitted({"beta": Beta()}, Tally.from_arrays(y_true=y, y_prob=q, exact=False))
    np.testing.assert_allclose(grid.mean("beta"), of_pairs.mean("beta"), rtol=0.01)


def test_the_order_of_rows_does_not_matter() -> None:
    q, y = sample(600, 5, lambda z: expit(z / 2))
    cluster, turned = np.arange(600) // 10, np.random.default_rng(0).permutation(600)
    first = Auto().fit(q, y, clusters=cluster)
    second = Auto().fit(q[turned], y[turned], clusters=cluster[turned])
    for name, result in first.tried_.items():
        assert second.tried_[name] == pytest.approx(result, nan_ok=True)


def test_dependent_labels_of_a_cluster_are_no_evidence_for_a_map() -> None:
    rng = np.random.default_rng(6)
    cluster = np.arange(2000) // 100
    q = np.repeat(rng.random(20), 100)  # one score and one label per cluster, and the scores are calibrated
    y = (rng.random(20) < q[::100])[cluster]
    assert Auto().fit(q, y, clusters=cluster).chosen_name_ == "none"
    assert Auto().fit(q, y).chosen_name_ != "none"


def test_weights_count_as_copies() -> None:
    q, y = sample(300, 7, lambda z: expit(z / 2))
    thirds = np.arange(300) // 3
    weighted = cross_fitted({"platt": Platt()}, pairs(q, y, sample_weight=np.full(300, 2.0), clusters=thirds))
    plain = cross_fitted({"platt": Platt()}, pairs(q, y, clusters=thirds))
    assert weighted.mean("platt") == pytest.approx(plain.mean("platt"), rel=0.05)
    assert weighted.gap("platt", NO_MAP, 0).error == pytest.approx(
        plain.gap("platt", NO_MAP, 0).error, rel=0.05
    )


def test_rows_of_classes_have_maps_of_their_own() -> None:
    rng = np.random.default_rng(8)
    odds = rng.normal(size=(2000, 3))
    y = (odds + rng.gumbel(size=odds.shape)).argmax(axis=1)
    sharp = np.exp(2 * odds) / np.exp(2 * odds).sum(axis=1, keepdims=True)
    true = np.exp(odds) / np.exp(odds).sum(axis=1, keepdims=True)
    found = Auto().fit(sharp, y)
    assert found.chosen_name_ == "temperature"
    assert found.tried_.keys() == {"none", "temperature", "vector", "beta", "isotonic-smoothed"}
    np.testing.assert_allclose(found.transform(sharp), Temperature().fit(sharp, y).transform(sharp))
    same = Auto().fit(true, y)
    assert same.chosen_ is None
    np.testing.assert_array_equal(same.transform(true), true)
    by_name = Auto(classes=["z", "a", "m"]).fit(sharp, np.array(["z", "a", "m"])[y])
    np.testing.assert_allclose(by_name.transform(sharp), found.transform(sharp))
    losses = cross_fitted({"temperature": Temperature()}, class_predictions(y, sharp))
    right = sharp[np.arange(2000), y]
    brier = ((sharp - np.eye(3)[y]) ** 2).sum(axis=1).mean()
    np.testing.assert_allclose(losses.mean(NO_MAP), [-np.log(right).mean(), brier])


@pytest.mark.parametrize("classes", [1, 2, 3])
def test_a_state_brings_the_choice_back(classes: int) -> None:
    q, y = sample(1000, 9, lambda z: expit(z / 2))
    scores: Any = {1: q, 2: np.column_stack([1 - q, q]), 3: np.column_stack([1 - q, q / 2, q / 2])}[classes]
    found = Auto().fit(scores, y.astype(int) if classes < 3 else y * np.arange(1000) % 3)
    again = Recalibrator.from_state(found.to_state())
    assert isinstance(again, Auto)
    np.testing.assert_array_equal(again.transform(scores), found.transform(scores))
    assert (again.chosen_name_, again.tried_, again.clusters_) == (found.chosen_name_, found.tried_, 0)


def test_maps_that_cannot_be_fitted_have_a_reason() -> None:
    q = np.repeat([0.1, 0.9], 50)
    found = Auto().fit(q, q > 0.5)
    assert "slope of Platt scaling would be infinite" in found.tried_["platt"]["reason"]
    assert found.chosen_name_ == "isotonic-smoothed"
    with pytest.raises(InputError, match="fewer than two pairs or clusters"):
        Auto().fit([0.2, 0.8], [0, 1], clusters=["a", "a"])


def test_each_group_has_its_own_choice() -> None:
    (q, y), (p, x) = sample(3000, 10, expit), sample(3000, 10, lambda z: expit(z / 2))
    classes = np.repeat(["good", "over"], 3000)
    found = PerClass(Auto()).fit(np.concatenate([q, p]), np.concatenate([y, x]), classes)
    assert [part.chosen_name_ for part in found.parts_ if isinstance(part, Auto)] == ["none", "temperature"]


def test_a_classifier_has_it_by_default() -> None:
    from sklearn.datasets import load_digits
    from sklearn.naive_bayes import GaussianNB

    X, y = load_digits(return_X_y=True)
    found = Calibrated(GaussianNB()).fit(X[:900], y[:900] == 8)
    assert isinstance(found.recalibrator_, Auto)
    assert found.recalibrator_.chosen_name_ != "none"


def test_smoothed_isotonic_values_are_never_certain_and_equal_isotonic_ones_elsewhere() -> None:
    for n in (300, 300_000):
        q, y = sample(n, 11, lambda z: expit(z / 2))
        plain, smooth = Isotonic().fit(q, y), Isotonic(smoothing=True).fit(q, y)
        assert plain.values_[0] == 0
        assert plain.values_[-1] == 1
        assert smooth.values_[0] > 0
        assert smooth.values_[-1] < 1
        middle = expit(np.linspace(-1, 1, 50))
        np.testing.assert_allclose(smooth.transform(middle), plain.transform(middle), rtol=1e-12)
    order = np.argsort(q)
    odds = logit(q[order])
    assert np.isfinite(odds).all()
    exact = Isotonic(smoothing=True).fit_tally(Tally.from_arrays(y_true=y, y_prob=q, exact=True))
    np.testing.assert_allclose(exact.values_, smooth.values_)


def test_the_default_map_never_makes_a_label_impossible() -> None:
    q = np.linspace(0.001, 0.999, 999)
    reached = []
    for seed in range(20):
        scores, labels = sample(60, seed, lambda z: z > 0.1)  # nearly separated by a threshold
        labels[np.argsort(np.abs(scores - 0.52))[:2]] ^= True
        auto = Auto().fit(scores, labels)
        mapped = auto.transform(q)
        assert np.all(np.diff(mapped) >= 0)
        assert np.all(mapped >= np.minimum(q, 0.5 / 61))
        assert np.all(mapped <= np.maximum(q, 1 - 0.5 / 61))
        reached.append(auto.chosen_ is not None and auto.chosen_.transform(q).min() < 1e-6)
    assert any(reached)  # without the rule
