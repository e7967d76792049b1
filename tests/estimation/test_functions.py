"""Functions of sampled structures, against enumeration."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from calibrant.estimation import Propagated, Stages, exceedance, propagate, summary
from calibrant.exceptions import InputError
from calibrant.structures.posterior import ChainPosterior
from calibrant.structures.posterior.antecedent import AntecedentPosterior
from tests.quantities import limits


def chain(seed: int = 0) -> ChainPosterior:
    rng = np.random.default_rng(seed)
    return ChainPosterior(rng.normal(size=(4, 2)), rng.normal(size=(2, 2)))


def antecedents(seed: int = 0, mentions: int = 5) -> AntecedentPosterior:
    rng = np.random.default_rng(seed)
    return AntecedentPosterior(rng.normal(size=mentions * (mentions + 1) // 2), [mentions])


def clusterings(posterior: AntecedentPosterior) -> Iterator[tuple[float, tuple[int, ...]]]:
    """Every choice of antecedents with its probability, as labels."""
    mentions = posterior.mention_count
    rows = np.split(np.exp(posterior.log_probabilities), posterior.row_offsets[1:-1])
    for picks in itertools.product(*(range(number + 1) for number in range(mentions))):
        labels: list[int] = []
        for number, pick in enumerate(picks):
            labels.append(number if pick == number else labels[pick])
        yield float(np.prod([row[pick] for row, pick in zip(rows, picks, strict=True)])), tuple(labels)


def test_the_mean_over_tags_is_that_of_the_marginals() -> None:
    posterior = chain()
    found = propagate(lambda codes: int(codes.sum()), posterior, 4000, seed=1)
    exact = float(posterior.marginals()[:, 1].sum())
    (sums,) = found.quantities
    error, (_, mean, high) = sums.mean.standard_error, limits(sums.normal)
    assert error == pytest.approx(sums.sd / np.sqrt(4000))
    assert abs(mean - exact) < 4 * sums.sd / np.sqrt(4000)
    assert mean == sums.mean.estimate == found.values.mean()
    assert high - mean == pytest.approx(1.959964 * sums.sd, rel=1e-6)


def test_a_function_of_entities_has_the_distribution_over_all_clusterings() -> None:
    posterior = antecedents()
    exact = np.zeros(6)
    for probability, labels in clusterings(posterior):
        exact[len(set(labels))] += probability
    assert exact.sum() == pytest.approx(1)
    found = propagate(lambda labels: len(set(labels.tolist())), posterior, 4000, seed=2)
    shares = np.bincount(found.values[:, 0].astype(int), minlength=6) / 4000
    assert np.abs(shares - exact).max() < 4 * np.sqrt(0.25 / 4000)


def test_limits_of_the_interval_are_values_that_leave_out_no_more_than_the_tails() -> None:
    found = summary(np.arange(1000.0)[:, None], ["x"], level=0.9)
    low, _, high = limits(found.quantities[0].mean)
    assert (found.values < low).mean() <= 0.05
    assert (found.values > high).mean() <= 0.05
    assert (low, high) == (49, 950)


@pytest.mark.parametrize(
    ("samples", "level"), [(19, 0.9), (39, 0.95), (41, 0.95), (100, 0.95), (199, 0.99), (100, 0.5)]
)
def test_a_new_draw_is_in_the_interval_as_often_as_the_level_says(samples: int, level: float) -> None:
    # A new draw falls with equal probability in each of the samples + 1 gaps between ordered values.
    found = summary(np.arange(float(samples))[:, None], ["x"], level=level).quantities[0].mean
    low, _, high = limits(found)
    covered = (high - low) / (samples + 1)
    assert level - 1e-9 <= covered < level + 2 / (samples + 1)
    assert found.warning is None


@pytest.mark.parametrize(
    ("samples", "level", "covered", "needed"),
    [(2, 0.95, 33, 39), (38, 0.95, 94, 39), (198, 0.99, 98, 199), (18, 0.9, 89, 19)],
)
def test_fewer_samples_than_the_level_needs_have_a_warning(
    samples: int, level: float, covered: int, needed: int
) -> None:
    values = np.random.default_rng(0).random((samples, 2))
    found = summary(values, ["a", "b"], level=level)
    warning = (
        f"{samples} samples are few: the interval of all of them covers about {covered} %. "
        f"A level of {100 * level:g} % needs {needed}."
    )
    for column, each in zip(values.T, found.quantities, strict=True):
        assert limits(each.mean)[::2] == (column.min(), column.max())
        assert each.mean.warning == warning
    assert exceedance(found).difference.warning == warning


def test_stages_give_the_joint_distribution() -> None:
    tags = ChainPosterior(np.log([[0.3, 0.7]]))

    def entities(codes: Any) -> AntecedentPosterior:
        new = 0.9 if codes[0] else 0.2
        return AntecedentPosterior.from_probabilities([[[1.0], [1 - new, new]]])

    found = propagate(
        lambda stages: [stages[0][0], len(set(stages[1].tolist()))], Stages(tags, entities), 4000, seed=3
    )
    means = [each.mean.estimate for each in found.quantities]
    assert means == pytest.approx([0.7, 1 + 0.3 * 0.2 + 0.7 * 0.9], abs=0.03)
    two_given_one = found.values[found.values[:, 0] == 1, 1].mean() - 1
    assert two_given_one == pytest.approx(0.9, abs=0.03)


def test_the_first_samples_of_many_are_the_samples_of_few() -> None:
    stages = Stages(chain(), lambda codes: chain(int(codes.sum())), lambda codes: chain(9 + int(codes[0])))
    few, many = stages.sample(5, seed=4), stages.sample(20, seed=4)
    assert len(few[0]) == 3
    for one, other in zip(few, many, strict=False):
        assert [part.tolist() for part in one] == [part.tolist() for part in other]


def test_a_stage_is_made_once_for_each_structure() -> None:
    made = []

    def following(codes: Any) -> ChainPosterior:
        made.append(tuple(codes.tolist()))
        return chain()

    Stages(chain(), following).sample(200, seed=5)
    assert len(made) == len(set(made))


def test_all_samples_at_once_give_the_same() -> None:
    one = propagate(lambda codes: {"ones": codes.sum(), "first": codes[0]}, chain(), 50, seed=6)
    all_at_once = propagate(
        lambda codes: {"ones": codes.sum(axis=1), "first": codes[:, 0]}, chain(), 50, seed=6, vectorised=True
    )
    assert one.names == all_at_once.names == ("ones", "first")
    assert one.to_json() == all_at_once.to_json()
    assert [row["quantity"] for row in one.to_rows()] == ["ones", "first"]
    with pytest.raises(InputError, match="read from JSON"):
        _ = Propagated.from_dict(one.to_dict()).values


def test_one_quantity_exceeds_another_as_often_as_in_the_samples() -> None:
    found = propagate(lambda codes: [codes[0], codes[1]], chain(), 300, seed=7)
    result = exceedance(found, "f0", "f1")
    assert result.greater == (found.values[:, 0] > found.values[:, 1]).mean()
    assert result.greater + result.equal + result.less == pytest.approx(1)
    assert exceedance(found, 1, 0).less == result.greater


def test_the_standard_error_of_a_probability_is_not_0_where_all_samples_agree() -> None:
    found = summary([[2.0, 1.0]] * 30, ["x", "y"])
    above, below = exceedance(found, "x", "y"), exceedance(found, "y", "x")
    assert (above.greater, below.greater) == (1, 0)
    assert above.standard_error == below.standard_error == pytest.approx(np.sqrt(31 / 32 / 32 / 30))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda codes: float("nan"), "sample 0 gives"),
        (lambda codes: "many", "does not return numbers"),
        (lambda codes: [0] * int(codes.sum()), "does not return numbers"),
        (lambda codes: {"a": 1} if codes[0] else {"b": 1}, "different names"),
        (lambda codes: [[1]], "shape"),
    ],
    ids=["nan", "text", "ragged", "names", "matrix"],
)
def test_what_is_no_number_is_refused(function: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        propagate(function, chain(), 50, seed=8)


def test_too_few_samples_stages_or_quantities_are_refused() -> None:
    with pytest.raises(InputError, match="samples is 19: give a whole number of at least 20"):
        propagate(len, chain(), 19)
    with pytest.raises(InputError, match="one stage"):
        Stages(chain())
    with pytest.raises(
        InputError, match=r"values have shape \(1, 1\) for 1 names: give .*at least two samples"
    ):
        summary([[1.0]], ["x"])
    with pytest.raises(InputError, match="no quantity 'z'"):
        exceedance(summary([[1, 2], [2, 3]], ["x", "y"]), "z")
    with pytest.raises(InputError, match="values for 20 samples"):
        propagate(lambda codes: [1, 2], chain(), 20, vectorised=True)


def test_bad_levels_names_and_places_are_refused() -> None:
    values, no_names, yes = [[1.0, 2.0], [2.0, 3.0]], "xy", True
    for level in (0, 1, 95, float("nan")):
        with pytest.raises(InputError, match="level is"):
            summary(values, ["x", "y"], level=level)
    with pytest.raises(InputError, match="names names 'x' twice"):
        summary(values, ["x", "x"])
    with pytest.raises(InputError, match="names is 'xy': pass a list of names"):
        summary(values, no_names)
    with pytest.raises(InputError, match="no quantity True"):
        exceedance(summary(values, ["x", "y"]), yes)
