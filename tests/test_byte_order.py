"""Arrays whose bytes are in the other order than the machine's, as readers of FITS and netCDF return them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import GaussianNB

from calibrant import Calibrated, measure
from calibrant.structures.posterior import AntecedentPosterior, ChainPosterior
from tests.goldens import function_calls, functions


def swapped(values: Any) -> Any:
    """Return an array with its bytes in the order that the machine does not use; other values as they are."""
    if not isinstance(values, np.ndarray):
        return values
    array = values.astype(values.dtype.newbyteorder("S"))
    assert array.dtype.itemsize == 1 or array.dtype.kind == "O" or not array.dtype.isnative
    return array


def drawn(n: int = 400) -> tuple[Any, Any, Any, Any]:
    """Return scores and labels of one event, and scores and labels of three classes."""
    random = np.random.default_rng(0)
    score, matrix = random.random(n), random.dirichlet([1, 1, 1], n)
    return score, (random.random(n) < score).astype(int), matrix, random.integers(3, size=n)


@pytest.mark.slow
def test_public_functions_give_the_same_digits_for_both_byte_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, given = functions.digits(), function_calls.inputs
    monkeypatch.setattr(
        function_calls,
        "inputs",
        lambda *args: function_calls.Inputs(*map(swapped, vars(given(*args)).values())),
    )
    assert functions.digits() == plain


def test_measure_takes_labels_scores_weights_clusters_and_names_in_both_byte_orders() -> None:
    score, label, matrix, code = drawn()
    more: dict[str, Any] = {"clusters": np.arange(400) // 4, "sample_weight": 1.0 + np.arange(400) % 3}
    names = np.array(["x", "y", "z"])
    cases: list[tuple[Any, Any, Any]] = [
        (label, score, None),
        (code, matrix, None),
        (names[code], matrix, names),
    ]
    for y, p, classes in cases:
        plain = measure(y, p, classes=classes, **more)
        other = measure(
            swapped(y), swapped(p), classes=swapped(classes), **{k: swapped(v) for k, v in more.items()}
        )
        assert other.to_dict() == plain.to_dict()


def test_frames_of_pandas_are_read_in_both_byte_orders() -> None:
    score, label, _, _ = drawn()
    columns = {"score": score, "label": label, "weight": 1.0 + label, "cluster": np.arange(400) // 4}
    plain = measure(pd.DataFrame(columns))
    other = measure(pd.DataFrame({name: swapped(values) for name, values in columns.items()}))
    assert other.to_dict() == plain.to_dict()


@pytest.mark.parametrize("kind", ["probs", "logits"])
def test_archives_are_read_in_both_byte_orders(kind: str, tmp_path: Path) -> None:
    _, _, matrix, code = drawn()
    arrays: dict[str, Any] = {
        kind: matrix if kind == "probs" else np.log(matrix),
        "labels": code,
        "clusters": np.array([f"text {place // 4}" for place in range(400)]),
        "weights": 1.0 + code,
        "classes": np.array(["x", "y", "z"]),
    }
    found = []
    for order in (np.asarray, swapped):
        ordered: dict[str, Any] = {name: order(values) for name, values in arrays.items()}
        np.savez(tmp_path / "scores.npz", **ordered)
        found.append(measure(tmp_path / "scores.npz").to_dict())
    assert found[0] == found[1]


def test_a_calibrated_classifier_takes_labels_in_both_byte_orders() -> None:
    _, label, matrix, code = drawn()
    for y, method in ((label, "platt"), (code, "temperature")):
        plain, other = (
            Calibrated(GaussianNB(), method).fit(order(matrix), order(y)).predict_proba(matrix)
            for order in (np.asarray, swapped)
        )
        assert (plain == other).all()


def test_posteriors_take_potentials_in_both_byte_orders() -> None:
    random = np.random.default_rng(0)
    unary, transition, lengths = random.normal(size=(6, 3)), random.normal(size=(3, 3)), np.array([2, 4])
    plain, other = (
        ChainPosterior(order(unary), order(transition), lengths=order(lengths)).marginals()
        for order in (np.asarray, swapped)
    )
    assert (plain == other).all()
    scores = random.normal(size=10)
    plain, other = (
        AntecedentPosterior(order(scores), order(np.array([4]))).pair_probabilities()
        for order in (np.asarray, swapped)
    )
    assert (plain == other).all()
