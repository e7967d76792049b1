"""Checked arguments and saved state of a CRF."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Floats, non_negative, one_of, positive_integer
from calibrant.exceptions import InputError
from calibrant.structures.models._crf_scores import RowWeights
from calibrant.structures.models._crf_training import Setting
from calibrant.structures.models._state import check_kind, distinct_strings, reading_state, require
from calibrant.structures.models.crf_attributes import GIVEN
from calibrant.structures.models.features import feature_groups, merged_templates

Algorithm = Literal["lbfgs", "l2sgd", "adagrad", "ap", "pa", "arow"]

KIND, VERSION = "crf", 1
ARGUMENTS = ("algorithm", "l2", "l1", "max_iterations", "settings", "seed")
TRAINED = ("features", "tags", "values", "first", "tag", "weight", "transition", "iterations")
PENALIZED = ("lbfgs", "l2sgd")
# Settings of trainers that are not separate arguments.
SHARED = ("feature.minfreq", "feature.possible_states", "feature.possible_transitions")
SETTINGS: dict[Algorithm, tuple[str, ...]] = {
    "lbfgs": ("num_memories", "epsilon", "period", "delta", "linesearch", "max_linesearch"),
    "l2sgd": (
        "period",
        "delta",
        "calibration.eta",
        "calibration.rate",
        "calibration.samples",
        "calibration.candidates",
        "calibration.max_trials",
    ),
    "adagrad": ("rate", "batch", "period", "delta"),  # of calibrant's own
    "ap": ("epsilon",),
    "pa": ("type", "c", "error_sensitive", "averaging", "epsilon"),
    "arow": ("variance", "gamma", "epsilon"),
}
WHOLE = (  # settings that are positive integers
    "num_memories",
    "period",
    "batch",
    "max_linesearch",
    "calibration.samples",
    "calibration.candidates",
    "calibration.max_trials",
)
LINE_SEARCHES = ("MoreThuente", "Backtracking", "StrongBacktracking")


@dataclass(frozen=True)
class Arguments:
    """Arguments of a CRF's training, without features, checked on creation.

    Attributes
    ----------
    algorithm, l2, l1, max_iterations, settings, seed
        As in `CRFTagger`.
    """

    algorithm: Algorithm
    l2: float
    l1: float
    max_iterations: int
    settings: Mapping[str, Setting]
    seed: int

    def __post_init__(self) -> None:
        one_of(self.algorithm, get_args(Algorithm), "algorithm")
        non_negative(self.l2, "l2")
        non_negative(self.l1, "l1")
        if self.l1 > 0 and self.algorithm != "lbfgs":
            found = f"l1 is {self.l1!r} and algorithm is {self.algorithm!r}"
            raise InputError(found, "use the algorithm lbfgs for this penalty", code="parameter")
        positive_integer(self.max_iterations, "max_iterations")
        positive_integer(self.seed, "seed", least=0)
        object.__setattr__(self, "settings", self._checked(self.settings))

    def _checked(self, settings: object) -> dict[str, Setting]:
        """Return a checked copy of the settings."""
        if not isinstance(settings, Mapping):
            hint = "give a dictionary of CRFsuite's settings"
            raise InputError(f"settings is {settings!r:.40}", hint, code="parameter")
        known = (*SETTINGS[self.algorithm], *(() if self.algorithm == "adagrad" else SHARED))
        for name, value in settings.items():
            if name not in known:
                found = f"{self.algorithm} has no setting {name!r}"
                raise InputError(found, f"use some of {', '.join(known)}", code="parameter")
            if name in WHOLE:
                positive_integer(value, name)
                fine = True
            elif name == "linesearch":
                fine = isinstance(value, str) and value in LINE_SEARCHES
            elif name == "type":
                fine = isinstance(value, int) and value in (0, 1, 2)
            else:
                fine = _is_number(value) and (name != "rate" or float(value) > 0)
            if not fine:
                hint = f"use one of {', '.join(LINE_SEARCHES)}" if name == "linesearch" else "give a number"
                raise InputError(f"setting {name} is {value!r}", hint, code="parameter")
        return dict(settings)

    def of_crfsuite(self) -> dict[str, Setting]:
        """Return all settings by CRFsuite's names."""
        named: dict[str, Setting] = {"max_iterations": int(self.max_iterations), **self.settings}
        if self.algorithm in PENALIZED:
            named["c2"] = float(self.l2)
        if self.algorithm == "lbfgs":
            named["c1"] = float(self.l1)
        return named


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and bool(0 <= value < np.inf)


@dataclass(frozen=True)
class Saved:
    """Checked state of a trained model.

    Attributes
    ----------
    arguments, tags, transition, iterations, converged, vocabulary
        As in `CRFTagger`.
    groups
        Names of feature groups; None for a feature function.
    values
        Values of each kind of attribute.
    weights
        Weights, one row per attribute.
    """

    arguments: Arguments
    groups: tuple[str, ...] | None
    tags: tuple[str, ...]
    values: dict[str, list[str]]
    weights: RowWeights
    transition: Floats
    iterations: int
    converged: bool | None
    vocabulary: list[str] | None


def read_state(state: Mapping[str, Any]) -> Saved:
    """Return the checked state; raise `FormatError` if it is for another model or inconsistent."""
    check_kind(state, KIND, VERSION)
    missing = [name for name in (*ARGUMENTS, *TRAINED) if name not in state]
    require(not missing, f"{', '.join(missing)} missing")
    with reading_state():
        arguments = Arguments(**{name: state[name] for name in ARGUMENTS})
        groups = None if state["features"] is None else feature_groups(state["features"])
        positive_integer(state["iterations"], "iterations", least=0)
    tags, values = distinct_strings(state["tags"], "tags"), _values(state["values"], groups)
    offsets = {o for template in merged_templates(groups or ()) for o in template.offsets}
    rows = sum(map(len, values.values())) * (1 if groups is None else len(offsets))
    weights, transition = _weights(state, rows, len(tags))
    converged, vocabulary = state.get("converged"), state.get("vocabulary")
    require(converged is None or isinstance(converged, bool), f"converged is {converged!r:.40}")
    return Saved(
        arguments,
        groups,
        tuple(tags),
        values,
        weights,
        transition,
        int(state["iterations"]),
        converged,
        None if vocabulary is None else distinct_strings(vocabulary, "vocabulary"),
    )


def _values(values: Any, groups: tuple[str, ...] | None) -> dict[str, list[str]]:
    names = [GIVEN] if groups is None else [template.name for template in merged_templates(groups)]
    fits = isinstance(values, dict) and sorted(values) == sorted(names)
    require(fits, f"the values do not match {', '.join(names)}")
    return {name: distinct_strings(values[name], name) for name in names}


def _weights(state: Mapping[str, Any], rows: int, tag_count: int) -> tuple[RowWeights, Floats]:
    first, tag = _array(state, "first", "iu", 1), _array(state, "tag", "iu", 1)
    weight, transition = _array(state, "weight", "f", 1), _array(state, "transition", "f", 2)
    require(len(first) == rows + 1, f"first has {len(first)} values for {rows} rows")
    cuts = first[0] == 0 and first[-1] == len(weight) and bool((np.diff(first.astype(np.int64)) >= 0).all())
    require(cuts, f"first does not divide {len(weight)} weights into rows")
    require(len(tag) == len(weight), f"there are {len(tag)} tags for {len(weight)} weights")
    in_range = len(tag) == 0 or (int(tag.min()) >= 0 and int(tag.max()) < tag_count)
    require(in_range, f"a weight belongs to none of the {tag_count} tags")
    shape = (tag_count, tag_count)
    require(transition.shape == shape, f"transition has shape {transition.shape}, expected {shape}")
    require(bool(np.isfinite(weight).all() and np.isfinite(transition).all()), "a weight is not finite")
    weights = RowWeights(first.astype(np.int64), tag.astype(np.int32), weight.astype(np.float64))
    return weights, transition.astype(np.float64)


def _array(state: Mapping[str, Any], name: str, kinds: str, dimensions: int) -> NDArray[Any]:
    array = state[name]
    fits = isinstance(array, np.ndarray) and array.ndim == dimensions and array.dtype.kind in kinds
    require(fits, f"{name} is not an array of numbers with {dimensions} dimensions")
    return np.ascontiguousarray(array)
