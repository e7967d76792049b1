from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from calibrant.exceptions import InputError
from calibrant.synthetic import BetaScores, LogitSlope, Shift, draw_uniforms, mean_over, sample, squared_error


@pytest.mark.parametrize(("a", "b"), [(0.1, 1.0), (0.5, 0.5), (2.0, 2.0), (0.7, 3.0)])
def test_closed_form_quantiles_are_those_of_the_beta_distribution(a: float, b: float) -> None:
    u = np.linspace(0.01, 0.99, 50)
    np.testing.assert_allclose(BetaScores(a, b)(u), stats.beta(a, b).ppf(u), rtol=1e-9)


def test_the_shift_is_that_of_the_thesis_with_its_sign_corrected() -> None:
    q = np.array([0.0, 0.04, 0.49, 0.5, 0.97])
    np.testing.assert_allclose(Shift(0.05)(q), [0.0, 0.0, 0.44, 0.55, 1.0])


def test_the_logit_slope_multiplies_logits() -> None:
    q = np.array([0.1, 0.5, 0.9])
    np.testing.assert_allclose(LogitSlope(1.5)(q), 1 / (1 + np.exp(-1.5 * np.log(q / (1 - q)))))
    assert LogitSlope(1.5)(np.array([0.0, 1e-320, 1.0])).tolist() == [0.0, 0.0, 1.0]


def test_labels_follow_the_transform() -> None:
    drawn = sample(400_000, a=2, b=2, transform=Shift(0.1), seed=0)
    p = Shift(0.1)(drawn.score)
    for low in (0.0, 0.3, 0.5, 0.8):
        inside = (drawn.score >= low) & (drawn.score < low + 0.1)
        assert drawn.label[inside].mean() == pytest.approx(p[inside].mean(), abs=0.01)


def test_labels_of_a_cluster_have_the_wanted_correlation_at_equal_scores() -> None:
    _, threshold, cluster = draw_uniforms(
        400_000, 2, np.random.default_rng(0), label_correlation=0.3, score_correlation=0.0
    )
    assert cluster is not None
    label = (threshold < 0.3).reshape(-1, 2)
    assert np.corrcoef(label[:, 0], label[:, 1])[0, 1] == pytest.approx(0.3, abs=0.01)


def test_scores_of_a_cluster_have_the_wanted_correlation_on_the_normal_scale() -> None:
    uniform, _, _ = draw_uniforms(
        200_000, 2, np.random.default_rng(0), label_correlation=0.0, score_correlation=0.5
    )
    normal = stats.norm.ppf(uniform).reshape(-1, 2)
    assert np.corrcoef(normal[:, 0], normal[:, 1])[0, 1] == pytest.approx(0.5, abs=0.01)


def test_independent_pairs_have_no_clusters() -> None:
    assert sample(10, a=1, b=1, seed=0).cluster is None


def test_equal_seeds_give_equal_samples() -> None:
    one, other = (sample(100, a=0.5, b=0.5, cluster_size=5, label_correlation=0.3, seed=4) for _ in range(2))
    np.testing.assert_array_equal(one.score, other.score)
    np.testing.assert_array_equal(one.label, other.label)


@pytest.mark.parametrize("transform", [Shift(0.0), Shift(0.05), Shift(0.1), LogitSlope(1.5)])
@pytest.mark.parametrize(("a", "b"), [(0.1, 1.0), (0.5, 0.5), (2.0, 2.0)])
def test_the_true_error_is_the_mean_over_many_scores(a: float, b: float, transform: Shift) -> None:
    q = BetaScores(a, b)((np.arange(1_000_000) + 0.5) / 1_000_000)
    error = float(np.mean((q - transform(q)) ** 2))
    assert squared_error(BetaScores(a, b), transform) == pytest.approx(error, rel=1e-4)


def test_expectations_are_those_of_the_beta_distribution() -> None:
    assert mean_over(BetaScores(0.5, 0.5), lambda q: q**2) == pytest.approx(0.375, rel=1e-8)


@pytest.mark.parametrize(
    ("changed", "match"),
    [({"a": 0.0}, "a and b"), ({"n": 0}, "n is 0"), ({"label_correlation": 1.5}, "label_correlation")],
)
def test_a_bad_parameter_is_named(changed: dict[str, float], match: str) -> None:
    arguments: dict[str, Any] = {"n": 10, "a": 1.0, "b": 1.0, **changed}
    with pytest.raises(InputError, match=match):
        sample(**arguments)
