from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from calibrant.exceptions import InputError
from calibrant.metrics.plug_in import expected_calibration_error
from calibrant.metrics.views import (
    ClassPredictions,
    binary_view,
    class_predictions,
    class_view,
    classwise_views,
    named_views,
    pooled_view,
    top_view,
)
from tests.quantities import defined


def sample(n: int = 50, count: int = 4, **options: Any) -> ClassPredictions:
    rng = np.random.default_rng(0)
    prob = rng.dirichlet(np.ones(count), n)
    return class_predictions(rng.integers(0, count, n), prob, **options)


def test_top_is_whether_the_most_probable_class_is_right() -> None:
    predictions = sample()
    view = top_view(predictions)
    assert view.score.tolist() == predictions.prob.max(axis=1).tolist()
    assert view.label.tolist() == (predictions.prob.argmax(axis=1) == predictions.label).tolist()


def test_the_first_of_tied_top_classes_is_the_top_label() -> None:
    predictions = class_predictions([1, 0, 2], [[0.4, 0.4, 0.2], [0.4, 0.4, 0.2], [0.2, 0.3, 0.5]])
    assert top_view(predictions).label.tolist() == [False, True, True]


def test_each_class_is_a_view_of_its_own() -> None:
    predictions = sample(classes=["a", "b", "c", "d"])
    views = classwise_views(predictions)
    assert list(views) == ["a", "b", "c", "d"]
    for index, (name, view) in enumerate(views.items()):
        assert view.score.tolist() == predictions.prob[:, index].tolist()
        assert view.label.tolist() == (predictions.label == index).tolist()
        assert class_view(predictions, name).score.tolist() == view.score.tolist()
    assert sum(view.label.sum() for view in views.values()) == len(predictions)


def test_pooled_pairs_of_an_item_are_one_cluster() -> None:
    predictions = sample(n=5, count=3)
    view = pooled_view(predictions)
    assert len(view) == 15
    assert view.cluster is not None
    assert view.cluster.tolist() == np.repeat(np.arange(5), 3).tolist()
    assert view.cluster_count == 5
    assert np.bincount(view.cluster, view.label).tolist() == [1] * 5
    assert view.score.reshape(5, 3).tolist() == predictions.prob.tolist()


def test_pooled_pairs_keep_named_clusters_and_weights() -> None:
    predictions = sample(n=4, count=2, clusters=["x", "y", "x", "y"], sample_weight=[1, 2, 3, 4])
    view = pooled_view(predictions)
    assert defined(view.cluster).tolist() == [0, 0, 1, 1, 0, 0, 1, 1]
    assert defined(view.weight).tolist() == [1, 1, 2, 2, 3, 3, 4, 4]
    assert view.cluster_count == 2


def test_items_of_weight_zero_are_dropped() -> None:
    predictions = sample(n=4, count=2, sample_weight=[1, 0, 3, 0], clusters=[7, 8, 7, 9])
    assert len(predictions) == 2
    assert predictions.cluster_count == 1
    assert len(top_view(predictions)) == 2


def test_binary_is_the_second_of_two_classes() -> None:
    predictions = sample(count=2)
    view = binary_view(predictions)
    assert view.score.tolist() == predictions.prob[:, 1].tolist()
    assert view.label.tolist() == (predictions.label == 1).tolist()
    with pytest.raises(InputError, match="4 classes and the view is binary"):
        binary_view(sample())


def test_two_columns_give_the_top_label_and_not_silently_the_second_class() -> None:
    predictions = sample(n=400, count=2)
    top, second = top_view(predictions), binary_view(predictions)
    assert expected_calibration_error(top.label, top.score) != expected_calibration_error(
        second.label, second.score
    )


def test_labels_that_happen_to_be_zero_and_one_are_still_classes() -> None:
    predictions = class_predictions([0, 1, 0], [[0.5, 0.3, 0.2]] * 3)
    assert top_view(predictions).label.tolist() == [True, False, True]


def test_views_are_had_by_name() -> None:
    predictions = sample(classes=["a", "b", "c", "d"])
    assert list(named_views(predictions, "top")) == ["top"]
    assert list(named_views(predictions, "pooled")) == ["pooled"]
    assert list(named_views(predictions, "class:c")) == ["class:c"]
    assert list(named_views(predictions, "classwise")) == ["class:a", "class:b", "class:c", "class:d"]
    assert list(named_views(sample(count=2), "binary")) == ["binary"]
    with pytest.raises(InputError, match="no view 'confidence'"):
        named_views(predictions, "confidence")
    with pytest.raises(InputError, match=r"no class 'e': classes are a, b, c, d"):
        named_views(predictions, "class:e")


def test_true_classes_can_be_names() -> None:
    predictions = class_predictions(["b", "a"], [[0.5, 0.5]] * 2, classes=["a", "b"])
    assert predictions.label.tolist() == [1, 0]
    objects = np.array(["b", "a"], dtype=object)
    assert class_predictions(objects, [[0.5, 0.5]] * 2, classes=["a", "b"]).label.tolist() == [1, 0]


GOOD = [[0.7, 0.3], [0.2, 0.8]]


@pytest.mark.parametrize(
    ("y", "prob", "options", "message"),
    [
        ([0, 1], [[0.7, 0.3], [0.0, 1.0000001]], {}, r"y_prob\[:, 1\]\[1\] is 1.0000001"),
        ([0, 1], [[0.7, 0.3], [-2.0, 3.0]], {}, "look like logits"),
        ([0, 1], [[70.0, 30.0], [20.0, 80.0]], {}, "look like percentages"),
        ([0, 1], [[0.7, 0.3], [0.5, float("nan")]], {}, r"\[1\] is nan"),
        ([0, 1], [[0.7, 0.3], [0.7, 0.7]], {}, r"y_prob\[1\] sums to 1.4, not to 1"),
        ([0, 1], [0.7, 0.3], {}, r"shape \(2,\)"),
        ([0, 1], [[0.7], [0.3]], {}, r"shape \(2, 1\)"),
        ([], np.zeros((0, 2)), {}, "empty"),
        ([0, 2], GOOD, {}, r"y_true\[1\] is 2, an unknown class: classes are 0 to 1"),
        ([0, -1], GOOD, {}, r"y_true\[1\] is -1"),
        (
            ["a", "x"],
            GOOD,
            {"classes": ["a", "b"]},
            r"y_true\[1\] is 'x', an unknown class: classes are a, b",
        ),
        (["a", "b"], GOOD, {}, "y_true has dtype"),
        ([0.0, 1.0], GOOD, {}, "y_true has dtype float64"),
        ([0, 1, 0], GOOD, {}, "y_true has 3 values and y_prob has 2"),
        ([[0], [1]], GOOD, {}, r"y_true has shape \(2, 1\)"),
        ([0, 1], GOOD, {"classes": ["a"]}, "1 names, and there are 2 columns"),
        ([0, 1], GOOD, {"classes": ["a", "a"]}, "'a' twice"),
        ([1, 2], GOOD, {"classes": ["1", "2"]}, "could be indices or names"),
        ([0, 1], GOOD, {"sample_weight": [0, 0]}, "zero everywhere"),
        ([0, 1], GOOD, {"sample_weight": [-1, 1]}, "sample_weight"),
        ([0, 1], GOOD, {"clusters": [1]}, "clusters has 1 values"),
        ([0, 1], [["a", "b"], ["c", "d"]], {}, "y_prob has dtype"),
    ],
)
def test_ambiguous_or_broken_input_is_refused(
    y: Any, prob: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        class_predictions(y, prob, **options)


def test_columns_of_a_dataframe_are_in_the_order_of_the_classes() -> None:
    prob = pd.DataFrame({"yes": [0.9, 0.4], "no": [0.1, 0.6]})
    assert class_predictions(["yes", "no"], prob, classes=["yes", "no"]).label.tolist() == [0, 1]
    with pytest.raises(
        InputError, match="classes and the columns of y_prob have the same names in different"
    ):
        class_predictions(["yes", "no"], prob, classes=["no", "yes"])


def test_rows_of_float32_softmax_are_accepted() -> None:
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(1000, 50)).astype(np.float32)
    prob = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    predictions = class_predictions(rng.integers(0, 50, 1000), prob)
    assert top_view(predictions).score.dtype == np.float32


def test_a_gold_class_that_is_none_of_the_classes_is_a_miss_of_each() -> None:
    known = sample(n=40, count=3)
    label = np.where(np.arange(40) % 4 == 0, -1, known.label)
    some = ClassPredictions(label, known.prob, known.classes)
    pairs = pooled_view(some)
    assert pairs.label.reshape(40, 3).sum(axis=1).tolist() == (label >= 0).astype(int).tolist()
    for name in known.classes:
        assert class_view(some, name).label.tolist() == (label == int(name)).tolist()
    assert not top_view(some).label[::4].any()
