"""An impossible parameter is refused by name when a map is fitted, applied, saved and loaded."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

from calibrant import recalibrate
from calibrant.exceptions import InputError
from calibrant.recalibrate import Isotonic, PerClass, PerGroup, Recalibrator, Shared
from calibrant.recalibrate.methods import METHODS

RNG = np.random.default_rng(3)
SCORE = RNG.random(400)
LABEL = (RNG.random(400) < SCORE).astype(int)
ROWS = np.column_stack([1 - SCORE, SCORE])
CLASSES = np.array(["a", "b"])[np.arange(400) % 2]
IMPOSSIBLE = [float("nan"), float("inf"), -1, 10**5000, "odd", {}, np.array([1, 2])]
KINDS: dict[str, Any] = {
    method.estimator: SCORE if method.maps == "scores" else ROWS for method in METHODS.values()
}
CASES = [
    (name, parameter)
    for name in KINDS
    for parameter in inspect.signature(getattr(recalibrate, name)).parameters
]


@pytest.mark.parametrize("value", IMPOSSIBLE, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize(("name", "parameter"), CASES)
def test_an_impossible_parameter_is_refused_at_every_step(name: str, parameter: str, value: Any) -> None:
    kind, scores = getattr(recalibrate, name), KINDS[name]
    if parameter == "classes" and isinstance(value, np.ndarray):
        return  # names of two classes
    if parameter == "seed" and isinstance(value, int) and value > 0:
        return  # a seed of any size
    with pytest.raises(InputError, match=f"{parameter} is") as error:
        kind().set_params(**{parameter: value}).fit(scores, LABEL)
    assert len(str(error.value)) < 300
    fitted = kind().fit(scores, LABEL)
    state = fitted.to_state()
    fitted.set_params(**{parameter: value})
    with pytest.raises(InputError, match=f"{parameter} is"):
        fitted.transform(scores)
    with pytest.raises(InputError, match=f"{parameter} is"):
        fitted.to_state()
    state["parameters"][parameter] = value
    with pytest.raises(InputError, match=f"{parameter} is"):
        Recalibrator.from_state(state)


@pytest.mark.parametrize(
    ("model", "parameter", "value"),
    [
        (Shared(Isotonic()), "estimator", 5),
        (Shared(Isotonic()), "estimator", Isotonic().set_params(between="cubic")),
        (PerClass(Isotonic(), min_scores=1), "min_scores", float("nan")),
        (PerClass(Isotonic(), min_scores=1), "unseen", np.array([1, 2])),
        (PerGroup(Isotonic(), [["a"], ["b"]]), "groups", 5),
    ],
)
def test_an_impossible_parameter_of_a_composition_is_refused_at_every_step(
    model: Any, parameter: str, value: Any
) -> None:
    model.fit(SCORE, LABEL, CLASSES)
    state = model.to_state()
    model.set_params(**{parameter: value})
    for step in (
        model.to_state,
        lambda: model.transform(SCORE, CLASSES),
        lambda: model.fit(SCORE, LABEL, CLASSES),
    ):
        with pytest.raises(InputError) as error:
            step()
        assert error.value.code == "parameter"
    if not isinstance(value, Recalibrator):
        state["parameters"][parameter] = value
        with pytest.raises(InputError):
            Recalibrator.from_state(state)
