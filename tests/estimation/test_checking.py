"""Checks of sampled numbers: right ones pass as often as they should, wrong ones do not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstest

from calibrant.estimation import QuantileCalibration, central_set_hits, quantile_calibration
from calibrant.exceptions import InputError
from tests.quantities import defined, limits


def counts(rng: np.random.Generator, n: int, size: int = 40) -> tuple[np.ndarray, np.ndarray]:
    """Samples of counts, many of them tied, and a truth that is one more draw."""
    rate = rng.gamma(1, 1.5, (n, 1))
    drawn = rng.poisson(rate, (n, size + 1))
    return drawn[:, 1:], drawn[:, 0]


def test_the_transform_of_one_more_draw_is_uniform_whatever_the_ties() -> None:
    rng = np.random.default_rng(0)
    samples, truth = counts(rng, 4000, size=3)
    assert kstest(quantile_calibration(samples, truth, seed=1).pit, "uniform").pvalue > 0.001


def test_the_transform_is_the_rank_with_ties_broken_at_random() -> None:
    found = quantile_calibration([[1, 2, 2, 3], [5, 5, 5, 5]], [2, 4], seed=2)
    uniform = np.random.default_rng(2).random(2)
    assert found.pit == pytest.approx([(1 + uniform[0] * 3) / 5, uniform[1] / 5])
    assert found.degenerate == 0.5


@pytest.mark.parametrize("clustered", [False, True], ids=["independent", "clusters"])
def test_the_test_of_uniformity_has_its_size_and_coverage_its_interval(clustered: bool) -> None:
    rng = np.random.default_rng(3)
    rejected, covered, hits = 0, [], []
    for replication in range(400):
        samples, truth = counts(rng, 40 if clustered else 120)
        clusters = None
        if clustered:  # the same number five times: ignoring that would reject nearly always
            samples, truth = np.repeat(samples, 5, axis=0), np.repeat(truth, 5)
            clusters = np.repeat(np.arange(40), 5)
        found = quantile_calibration(samples, truth, clusters=clusters, seed=replication, levels=(0.5, 0.9))
        rejected += defined(found.p_value) < 0.05
        covered.append([limits(each.coverage) for each in found.coverage])
        sets = central_set_hits(samples, truth, clusters=clusters, levels=(0.5, 0.8, 0.95)).sets
        hits.append([each.p_value for each in sets])
    assert rejected / 400 < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 400)
    assert rejected > 0
    low, _, high = np.moveaxis(np.array(covered), 2, 0)
    assert (((low <= (0.5, 0.9)) & (high >= (0.5, 0.9))).mean(axis=0) > 0.9).all()
    limit = 0.05 + (0.06 if clustered else 0.0) + 3 * np.sqrt(0.05 * 0.95 / 400)
    assert (np.mean(np.array(hits) < 0.05, axis=0) < limit).all()


def test_the_interval_of_coverage_holds_with_clusters_of_very_unequal_size() -> None:
    rng, covered = np.random.default_rng(2), 0
    for replication in range(300):
        size = np.maximum(1, np.round(30 * np.exp(rng.normal(-0.5, 1, 20)))).astype(int)
        clusters = np.repeat(np.arange(20), size)
        truth = 0.6 * rng.normal(size=20)[clusters] + 0.8 * rng.normal(size=len(clusters))
        samples = rng.normal(size=(len(clusters), 30))
        (found,) = quantile_calibration(
            samples, truth, clusters=clusters, seed=replication, levels=(0.5,)
        ).coverage
        low, _, high = limits(found.coverage)
        covered += low <= 0.5 <= high
    assert covered / 300 > 0.92, "88 to 90 % with Student's t of as many clusters as there are"


@pytest.mark.parametrize("change", ["narrow", "wide", "shifted"])
def test_wrong_samples_are_seen(change: str) -> None:
    rng = np.random.default_rng(4)
    centre = rng.normal(0, 3, (300, 1))
    spread = {"narrow": 0.5, "wide": 2.0, "shifted": 1.0}[change]
    samples = np.round(centre + 2 * spread * rng.normal(size=(300, 100)))
    truth = np.round(centre[:, 0] + 2 * rng.normal(size=300) + (change == "shifted"))
    found = quantile_calibration(samples, truth, seed=5)
    assert defined(found.p_value) < 1e-4
    half = central_set_hits(samples, truth).sets[0]
    if change != "shifted":
        assert half.p_value < 1e-4
        assert (half.hits < half.stated) == (change == "narrow")


def test_stated_mass_of_discrete_sets_is_above_the_level() -> None:
    samples, truth = counts(np.random.default_rng(6), 2000, size=200)
    found = central_set_hits(samples, truth)
    assert all(each.stated / 2000 > each.nominal for each in found.sets[:5])
    assert all(abs(each.hits - each.stated) < 4 * np.sqrt(2000) / 2 for each in found.sets)
    assert [row["hits"] for row in found.to_rows()] == [each.hits for each in found.sets]


def test_the_test_of_hits_counts_exactly() -> None:
    # One number, two halves of two samples: the set is [0, 1], which contains one of the stating samples.
    (found,) = central_set_hits([[0, 0, 1, 9]], [5], levels=(0.5,)).sets
    assert (found.hits, found.stated) == (0, 0.5)
    assert found.p_value == 1  # (1 + 0) / 3 of the three are inside: no hit has probability 2/3


def test_one_cluster_has_a_finite_interval_of_the_coverage() -> None:
    rng = np.random.default_rng(0)
    samples, truth = rng.normal(size=(12, 9)), rng.normal(size=12)
    (found,) = quantile_calibration(samples, truth, clusters=np.zeros(12, int), levels=(0.5,)).coverage
    low, share, high = limits(found.coverage)
    assert 0 <= low < share < high <= 1
    assert high - low > 0.9, "one cluster says next to nothing"


def test_too_few_clusters_have_no_test() -> None:
    samples, truth = counts(np.random.default_rng(7), 12)
    found = quantile_calibration(samples, truth, clusters=np.repeat([0, 1, 2], 4))
    assert found.p_value is None
    assert found.reason is not None
    assert "3 clusters are too few" in found.reason
    assert found.reason in found.to_markdown()
    assert found.coverage[0].nominal == 0.05
    with pytest.raises(InputError, match="read from JSON"):
        _ = QuantileCalibration.from_dict(found.to_dict()).pit


def test_bad_numbers_are_refused() -> None:
    with pytest.raises(InputError, match="samples have shape"):
        quantile_calibration([1, 2], [1, 2])
    with pytest.raises(InputError, match="samples has dtype <U1: pass numbers"):
        quantile_calibration([["a", "b"]], [1])
    with pytest.raises(InputError, match="one true value per number"):
        quantile_calibration([[1, 2]], [1, 2])
    with pytest.raises(InputError, match="number 1 or one of its samples"):
        quantile_calibration(np.array([[1, 2], [1, np.nan]]), [1, 2])
    with pytest.raises(InputError, match="at least 4"):
        central_set_hits([[1, 2]], [1])
    with pytest.raises(InputError, match="no levels"):
        central_set_hits([[1, 2, 3, 4]], [1], levels=())
    with pytest.raises(InputError, match="clusters"):
        quantile_calibration([[1, 2]], [1], clusters=np.array(["a", "b"]))
