"""A bad argument of an evaluation is refused with its name, its value and the remedy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from calibrant.evaluation import (
    CalibrationMonitor,
    Ratings,
    compare_systems,
    expected_f_decision,
    keep_above,
    minimum_detectable_difference,
    most_probable,
    pair_agreement,
    paired_bootstrap,
    paired_t_test,
)
from calibrant.evaluation.files.timed import window_of
from calibrant.evaluation.plots import risk_coverage_curves
from calibrant.evaluation.ratings import label_order
from calibrant.exceptions import InputError

F1: Any = "f1"
LETTERS: Any = ["a"]
TWO = Ratings.from_lists({"ann": [1, 2], "bob": [1, 1]})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: most_probable([0.2, 0.8]), r"y_prob has shape \(2,\): expected \(n, classes\)"),
        (lambda: keep_above([0.2], threshold=1.5), r"threshold is 1.5: give a number in \[0, 1\]"),
        (lambda: expected_f_decision([0.2], beta=9), "beta is 9: give a number from 0.125 to 8"),
        (lambda: minimum_detectable_difference(0.5, 99, power=0.05), "power is 0.05: give more than 0.05"),
        (lambda: minimum_detectable_difference(0.5, 1), "n is 1: a test needs two items or more"),
        (lambda: pair_agreement(TWO, 0, 2), "annotators 0 and 2 are asked for, but there are only 2: number"),
        (lambda: Ratings.from_lists({"ann": [None]}), "there are no labels: give at least one"),
        (lambda: label_order(["a"], ["a", "a"]), "a label is given twice: name each label once"),
        (lambda: paired_bootstrap([1, 2], [1]), r"first has shape \(2, 1\) and second \(1, 1\): give both"),
        (lambda: paired_bootstrap([1], [1], statistic=F1), "statistic is 'f1': pass a function, or None"),
        (lambda: paired_bootstrap([[1, 2]], [[1, 2]]), "first has 2 columns and no statistic: pass"),
        (lambda: paired_bootstrap(np.zeros((1, 1, 1)), [1]), r"first has shape \(1, 1, 1\): expected \(n,\)"),
        (lambda: paired_bootstrap(["a"], [1]), "first has dtype <U1: pass numbers"),
        (lambda: paired_bootstrap([1, 2], [1, np.nan]), r"second\[1\] is not finite: correct it, or remove"),
        (lambda: compare_systems(["a", "b"], [["x"], ["y"]]), "scores has dtype <U1: pass numbers"),
        (
            lambda: compare_systems([f"item {i}" for i in range(1200)], np.eye(1200, 2)),
            "1,200 systems have 719,400 pairs: give a baseline, .*or swap the columns of system and item",
        ),
        (lambda: compare_systems(["a", "b"], [[1, 2]]), r"shape \(1, 2\) and there are 2 systems: expected"),
        (lambda: paired_t_test(["x"], ["y"]), "first has dtype <U1: pass numbers"),
        (lambda: paired_t_test([1], [2], test_train_ratio=0), r"test_train_ratio is 0: give 1 / \(k - 1\)"),
        (lambda: window_of(1.5, "value"), "1.5 names no window: use whole numbers, text or dates"),
        (lambda: CalibrationMonitor(edges=LETTERS), r"edges is \['a'\]: give ascending numbers between 0"),
        (lambda: risk_coverage_curves([]), "there is nothing to draw: pass at least one curve"),
    ],
)
def test_a_bad_argument_is_named(call: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()
