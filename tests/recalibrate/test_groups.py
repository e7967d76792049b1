from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone

from calibrant import Tally
from calibrant.exceptions import InputError
from calibrant.recalibrate import (
    HistogramBinning,
    Isotonic,
    PerClass,
    PerGroup,
    Platt,
    Recalibrator,
    Shared,
    VectorScaling,
)
from calibrant.recalibrate.groups import by_frequency

Columns = tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[Any]]
COUNTS = {"N": 60, "V": 30, "A": 7, "UH": 3}


def columns(n: int, seed: int) -> Columns:
    """Scores whose exponent depends on the class."""
    rng = np.random.default_rng(seed)
    tag = rng.choice(np.array(["N", "V", "A", "UH"]), n)
    p = rng.random(n)
    power = np.select([tag == "N", tag == "V", tag == "A"], [2.0, 1.0, 0.5], 3.0)
    return p**power, rng.random(n) < p, tag


def test_one_map_for_all_is_the_estimator_s_own() -> None:
    q, y, tag = columns(1000, 0)
    shared, alone = Shared(Isotonic()).fit(q, y, tag), Isotonic().fit(q, y)
    assert np.array_equal(shared.transform(q, tag), alone.transform(q))
    assert shared.part_names_ == ("all",)
    assert (shared.pair_count_, shared.score_range_) == (alone.pair_count_, alone.score_range_)
    assert np.array_equal(shared.transform(q[:5], ["new"] * 5), alone.transform(q[:5]))


def test_each_class_has_the_map_of_its_own_scores() -> None:
    q, y, tag = columns(2000, 1)
    each = PerClass(Platt()).fit(q, y, tag)
    assert each.part_names_ == ("A", "N", "UH", "V")
    recalibrated = each.transform(q, tag)
    for name in each.part_names_:
        mine = tag == name
        assert np.array_equal(recalibrated[mine], Platt().fit(q[mine], y[mine]).transform(q[mine]))


def test_the_range_of_the_fit_is_that_of_the_scores_of_all_parts() -> None:
    q, tag = [0.1, 0.3, 0.5, 0.9], ["N", "N", "V", "V"]
    for model in (PerClass(Isotonic(), min_scores=2), PerGroup(Isotonic(), [["N"], ["V"]])):
        assert model.fit(q, [0, 1, 0, 1], tag).score_range_ == (0.1, 0.9)


def test_each_group_has_the_map_of_its_tags() -> None:
    q, y, tag = columns(2000, 2)
    groups = by_frequency(COUNTS, 2)
    assert groups == [["N"], ["V", "A", "UH"]]
    tfg = PerGroup(Isotonic(), groups).fit(q, y, tag)
    first = tag == "N"
    recalibrated = tfg.transform(q, tag)
    assert np.array_equal(recalibrated[first], Isotonic().fit(q[first], y[first]).transform(q[first]))
    assert np.array_equal(recalibrated[~first], Isotonic().fit(q[~first], y[~first]).transform(q[~first]))
    assert tfg.part_names_ == ("1", "2")


def test_groups_of_one_tag_are_the_maps_of_classes_and_one_group_is_the_shared_map() -> None:
    q, y, tag = columns(2000, 3)
    singles = {name: [name] for name in COUNTS}
    assert np.array_equal(
        PerGroup(Platt(), singles).fit(q, y, tag).transform(q, tag),
        PerClass(Platt()).fit(q, y, tag).transform(q, tag),
    )
    assert np.array_equal(
        PerGroup(Platt(), by_frequency(COUNTS, 1)).fit(q, y, tag).transform(q, tag),
        Shared(Platt()).fit(q, y, tag).transform(q, tag),
    )


def test_unseen_tags_take_the_map_of_the_last_group() -> None:
    q, y, tag = columns(1000, 4)
    tfg = PerGroup(Platt(), by_frequency(COUNTS, 2)).fit(q, y, tag)
    assert np.array_equal(tfg.transform(q, ["never seen"] * 1000), tfg.transform(q, ["UH"] * 1000))
    with_unseen = PerGroup(Platt(), [["N"], ["V", "A"]]).fit(q, y, tag)  # UH is in no group
    listed = PerGroup(Platt(), [["N"], ["V", "A", "UH"]]).fit(q, y, tag)
    assert np.array_equal(with_unseen.transform(q, tag), listed.transform(q, tag))


def test_a_mapping_has_to_name_every_tag() -> None:
    q, y, tag = columns(1000, 5)
    groups = {"open": ["N", "V", "A"], "closed": ["UH"]}
    grouped = PerGroup(Platt(), groups).fit(q, y, tag)
    assert grouped.part_names_ == ("open", "closed")
    with pytest.raises(InputError, match="'X' is in no group") as caught:
        grouped.transform([0.5], ["X"])
    assert caught.value.code == "class-unknown"
    with pytest.raises(InputError, match="'UH' is in no group"):
        PerGroup(Platt(), {"open": ["N", "V", "A"]}).fit(q, y, tag)


def test_unseen_classes_are_refused_or_stay_as_they_are() -> None:
    q, y, tag = columns(1000, 6)
    with pytest.raises(InputError, match="'X' was not among the classes of the fit") as caught:
        PerClass(Platt()).fit(q, y, tag).transform([0.3, 0.5], ["N", "X"])
    assert caught.value.code == "class-unknown"
    lenient = PerClass(Platt(), unseen="unchanged").fit(q, y, tag)
    recalibrated = lenient.transform([0.3, 0.5], ["N", "X"])
    assert recalibrated[1] == 0.5
    assert recalibrated[0] == lenient.transform([0.3], ["N"])[0] != 0.3
    assert lenient.transform([0.3, 0.5], ["X", "Y"]).tolist() == [0.3, 0.5]


def test_weights_go_to_their_scores() -> None:
    q, y, tag = columns(1800, 7)
    w = np.random.default_rng(8).integers(0, 3, 1800)
    copies = np.repeat(np.arange(1800), w)
    for composed in (Shared(Platt()), PerClass(Platt()), PerGroup(Platt(), by_frequency(COUNTS, 2))):
        weighted = clone(composed).fit(q, y, tag, w)
        copied = clone(composed).fit(q[copies], y[copies], tag[copies])
        np.testing.assert_allclose(weighted.transform(q, tag), copied.transform(q, tag), rtol=1e-8)
        assert weighted.pair_count_ == (w > 0).sum()


def test_tallies_of_classes_give_the_map_of_their_pairs() -> None:
    q, y, tag = columns(1200, 9)
    tallies = {
        str(name): Tally.from_arrays(y_true=y[tag == name], y_prob=q[tag == name], exact=True)
        for name in np.unique(tag)
    }
    for composed in (Shared(Isotonic()), PerClass(Isotonic()), PerGroup(Isotonic(), by_frequency(COUNTS, 2))):
        tallied = clone(composed).fit_tallies(tallies)
        paired = clone(composed).fit(q, y, tag)
        np.testing.assert_allclose(tallied.transform(q, tag), paired.transform(q, tag), rtol=1e-12)
        assert tallied.part_names_ == paired.part_names_


def test_codes_with_names_are_the_names_in_any_numbering() -> None:
    q, y, tag = columns(1000, 10)
    names = ["unused", "V", "UH", "N", "A"]
    code = np.array([names.index(name) for name in tag])
    for composed in (PerClass(Platt()), PerGroup(Platt(), by_frequency(COUNTS, 2))):
        by_name = clone(composed).fit(q, y, tag)
        by_code = clone(composed).fit(q, y, code, names=names)
        assert sorted(by_code.part_names_) == sorted(by_name.part_names_)
        expected = by_name.transform(q, tag)
        assert np.array_equal(by_code.transform(q, tag), expected)
        assert np.array_equal(by_name.transform(q, code, names=names), expected)


def test_the_order_of_rows_is_nothing() -> None:
    q, y, tag = columns(1000, 11)
    order = np.random.default_rng(12).permutation(1000)
    one = PerClass(Isotonic()).fit(q, y, tag).transform(q, tag)
    other = PerClass(Isotonic()).fit(q[order], y[order], tag[order]).transform(q, tag)
    np.testing.assert_allclose(one, other, rtol=1e-12)


def test_the_estimator_is_copied_and_stays_unfitted() -> None:
    q, y, tag = columns(900, 13)
    estimator = Platt()
    each = PerClass(estimator).fit(q, y, tag)
    assert not hasattr(estimator, "slope_")
    assert len({part.to_state()["fitted"]["slope_"] for part in each.parts_}) == 4
    assert clone(each).get_params()["estimator__clip"] == estimator.clip


@pytest.mark.parametrize(
    "composed",
    [
        Shared(Isotonic()),
        PerClass(Platt(), min_scores=5, unseen="unchanged"),
        PerGroup(HistogramBinning(n_bins=3), [["N"], ["V", "A", "UH"]]),
        PerGroup(Platt(clip=1e-6), {"version": ["N", "V"], "method": ["A", "UH"]}),
    ],
)
def test_a_state_through_json_maps_the_same(composed: Any) -> None:
    q, y, tag = columns(1000, 14)
    fitted = composed.fit(q, y, tag)
    state = json.loads(json.dumps(fitted.to_state(), sort_keys=True))
    back: Any = Recalibrator.from_state(state)
    assert type(back) is type(fitted)
    assert np.array_equal(back.transform(q, tag), fitted.transform(q, tag))
    assert back.to_state() == fitted.to_state()
    state["fitted"]["parts_"] = state["fitted"]["parts_"][1:]
    with pytest.raises(InputError, match="broken"):
        Recalibrator.from_state(state)


# Input that is refused.


def test_a_class_with_too_few_scores_is_named_with_how_many_there_are() -> None:
    q, y, tag = columns(1000, 15)
    tag = np.where(np.arange(1000) < 7, "rare", tag)
    tag = np.where((np.arange(1000) >= 7) & (np.arange(1000) < 20), "few", tag)
    with pytest.raises(InputError) as caught:
        PerClass(Platt()).fit(q, y, tag)
    message = str(caught.value)
    assert "the class 'rare' has 7 scores, fewer than min_scores = 200; 2 of 6 classes have fewer" in message
    assert "or fit classes together" in message
    assert caught.value.code == "undefined"


def test_a_class_that_cannot_be_fitted_is_named() -> None:
    q, y, tag = columns(1000, 16)
    with pytest.raises(InputError, match=r"the class 'A': all \d+ labels are 0.*or fit classes together"):
        PerClass(Platt()).fit(q, y & (tag != "A"), tag)
    with pytest.raises(InputError, match=r"group 1: all \d+ labels are 0"):
        PerGroup(Platt(), [["N"], ["V"]]).fit(q, y & (tag != "N"), tag)


def test_a_group_without_scores_is_named() -> None:
    q, y, tag = columns(1000, 17)
    with pytest.raises(InputError, match="group 2 has no scores to fit on"):
        PerGroup(Platt(), [["N"], ["XX"], ["V"]]).fit(q, y, tag)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"scores": [0.1, 1.2]}, r"\[1\] is 1.2"),
        ({"labels": [0, 3]}, r"\[1\] is 3"),
        ({"classes": ["N"]}, "classes has 1 values"),
        ({"classes": ["N", None]}, r"classes\[1\] is missing"),
        ({"sample_weight": [1, -1]}, r"sample_weight\[1\] is -1"),
    ],
)
def test_bad_input_is_refused_with_its_row(changed: dict[str, Any], words: str) -> None:
    arguments: dict[str, Any] = {"scores": [0.1, 0.9], "labels": [0, 1], "classes": ["N", "V"]}
    with pytest.raises(InputError, match=words):
        PerGroup(Isotonic(), [["N"], ["V"]]).fit(**(arguments | changed))


def test_bad_scores_are_refused_with_their_row() -> None:
    q, y, tag = columns(1000, 18)
    tfg = PerGroup(Platt(), by_frequency(COUNTS, 2)).fit(q, y, tag)
    with pytest.raises(InputError, match=r"scores\[1\] is 1.5"):
        tfg.transform([0.5, 1.5], ["V", "N"])
    with pytest.raises(InputError, match="classes has 1 values"):
        tfg.transform([0.5, 0.5], ["V"])


def test_bad_parameters_are_refused() -> None:
    q, y, tag = columns(1000, 19)
    vector: Any = VectorScaling()
    with pytest.raises(InputError, match="does not map single scores"):
        Shared(vector).fit(q, y, tag)
    with pytest.raises(InputError, match="unseen is 'drop'"):
        PerClass(Platt()).set_params(unseen="drop").fit(q, y, tag)
    with pytest.raises(InputError, match="min_scores is 0"):
        PerClass(Platt(), min_scores=0).fit(q, y, tag)
    with pytest.raises(InputError, match="'N' is in groups 1 and 2"):
        PerGroup(Platt(), [["N"], ["N"]]).fit(q, y, tag)
    with pytest.raises(InputError, match="there are no tallies"):
        Shared(Platt()).fit_tallies({})
    with pytest.raises(InputError, match="has not been fitted"):
        Shared(Platt()).transform(q, tag)
