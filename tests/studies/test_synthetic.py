from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from calibrant.seeds import generator
from calibrant.synthetic import BetaScores, mean_over
from calibrant_studies import synthetic


def test_the_first_rows_of_the_record_can_be_computed_again(record: dict[str, Any]) -> None:
    rng = generator(record["seed"]).spawn(6)[0]
    pairs = synthetic._draw(synthetic.PAIRS, synthetic.BETAS[0], "calibrated", rng)
    drawn = [(pairs, size) for size in synthetic.DOUBLING[:3]]
    for now, then in zip(
        synthetic._rows(drawn, synthetic.BETAS[0], "calibrated"), record["tables"]["doubling"], strict=False
    ):
        assert now.keys() == then.keys()
        for key, value in now.items():
            assert value == (then[key] if isinstance(value, str) else pytest.approx(then[key], rel=1e-9))


def test_the_plug_in_never_rises_when_the_bin_size_doubles() -> None:
    pairs = synthetic._draw(3_000, (0.5, 0.5), "uncalibrated", np.random.default_rng(5))
    sizes = [2**k for k in range(1, 12)]
    rows = synthetic._rows([(pairs, size) for size in sizes], (0.5, 0.5), "uncalibrated")
    assert np.all(np.diff([row["plug-in"] for row in rows]) <= 1e-15)


def test_a_calibrated_models_plug_in_is_its_expected_noise_and_its_debiased_error_nothing() -> None:
    rng = np.random.default_rng(3)
    row = synthetic._replicated(2_000, (2.0, 2.0), "calibrated", 40, rng)
    assert row["noise"] == pytest.approx(mean_over(BetaScores(2, 2), lambda q: q * (1 - q)) / 44, rel=0.05)
    assert abs(row["plug-in"] - row["noise"]) < 4 * row["plug-in, s.e."]
    assert abs(row["debiased"]) < 4 * row["debiased, s.e."]


def test_one_bin_hides_the_error_of_a_symmetric_model() -> None:
    pairs = synthetic._draw(20_000, (2.0, 2.0), "uncalibrated", np.random.default_rng(8))
    fine, one = synthetic._rows([(pairs, 200), (pairs, 20_000)], (2.0, 2.0), "uncalibrated")
    assert fine["debiased"] == pytest.approx(fine["population"], rel=0.1)
    assert one["plug-in"] < fine["population"] / 50
