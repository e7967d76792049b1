from __future__ import annotations

import numpy as np
import pytest

from calibrant_studies._peers import plug_in_error, resampled_interval


def test_the_plug_in_error_is_that_of_uncertainty_calibration() -> None:
    package = pytest.importorskip("calibration")
    rng = np.random.default_rng(0)
    for score in (rng.random(1_003), np.round(rng.random(1_003), 1), np.round(rng.beta(0.1, 1, 1_003), 3)):
        label = rng.random(len(score)) < score**2
        order = np.argsort(score)
        found = plug_in_error(score[order], (score - label)[order])
        theirs = package.get_calibration_error(score, label.astype(int), debias=False)
        assert found == pytest.approx(theirs, rel=1e-9)


def test_the_interval_is_that_of_uncertainty_calibration() -> None:
    package = pytest.importorskip("calibration")
    rng = np.random.default_rng(0)
    score = rng.random(300)
    label = rng.random(300) < score**2
    np.random.seed(0)  # noqa: NPY002  (the package draws from it)
    theirs = [
        package.get_calibration_error_uncertainties(score, label.astype(int), alpha=5) for _ in range(20)
    ]
    ours = [resampled_interval(label, score, rng) for _ in range(20)]
    np.testing.assert_allclose(np.mean(ours, axis=0), np.mean(theirs, axis=0)[[0, 2]], atol=0.004)
