"""torchmetrics' calibration errors."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from calibrant.metrics import expected_calibration_error, max_calibration_error, plug_in_calibration_error
from crosscheck import inputs
from crosscheck.bins import OWN_BIN, errors, own_bin, top_pairs
from crosscheck.comparison import Case, Comparison, compare
from crosscheck.inputs import ClassInput, Input

COUNT = 15
FLOAT32 = 1e-6  # rounding of sums of several hundred
OURS = {"l1": expected_calibration_error, "l2": plug_in_calibration_error, "max": max_calibration_error}
EDGES = f"{OWN_BIN} Its edges are those of torch.linspace, which differ from k / n by rounding."
SINGLE = "The peer computes in float32 for float32 input. In float64 the numbers are equal."
ALWAYS_SINGLE = (
    "The peer always computes in float32. With its rules for edges in float32, calibrant's "
    "numbers agree with it to 1e-6, and it is as close to calibrant's own number."
)
SATURATED = (
    "The peer counts in the precision of the scores: in float32 a bin counts at most 2^24 = "
    "16,777,216 pairs. In float64 the numbers are equal."
)
SIGMOID = (
    "For one score above 1, the peer treats the whole batch as logits and applies a sigmoid; "
    "calibrant refuses the score. With the sigmoid applied beforehand, the peer's number is the "
    "same."
)


def tensors(label: Any, score: Any) -> tuple[Any, Any]:
    import torch

    return torch.from_numpy(np.ascontiguousarray(score)), torch.from_numpy(np.ascontiguousarray(label))


def edges_in(score: Any) -> Any:
    """The edges of their bins, in the precision of the scores."""
    import torch

    return torch.linspace(0, 1, COUNT + 1, dtype=torch.from_numpy(score).dtype).numpy()


def peer(label: Any, score: Any, norm: str) -> float:
    from torchmetrics.functional.classification import binary_calibration_error

    return float(
        binary_calibration_error(*tensors(label, score), n_bins=COUNT, norm=norm, validate_args=False)
    )


def binary(one: Input, norm: str) -> Comparison:
    double = one.score.astype(np.float64)
    ours = OURS[norm](one.label, one.score, binning="uniform", n_bins=COUNT)

    def because() -> Any:
        index = own_bin(double, edges_in(double))
        return errors(index, one.label, double, norm), peer(one.label, double, norm)

    if one.score.dtype == np.float32:
        return compare(
            ours, peer(one.label, one.score, norm), SINGLE, lambda: (ours, peer(one.label, double, norm))
        )
    return compare(ours, peer(one.label, one.score, norm), EDGES, because)


def many_classes(one: ClassInput, norm: str) -> Comparison:
    from torchmetrics.functional.classification import multiclass_calibration_error

    pairs = top_pairs(one)

    def theirs(prob: Any) -> float:
        score, label = tensors(one.label, prob)
        classes = prob.shape[1]
        return float(multiclass_calibration_error(score, label, classes, n_bins=COUNT, norm=norm))

    ours = OURS[norm](pairs.label, pairs.score, binning="uniform", n_bins=COUNT)

    def because() -> bool:
        single = one.prob.astype(np.float32)
        score, right = single.max(axis=1), single.argmax(axis=1) == one.label
        found = errors(own_bin(score, edges_in(score)), right, score, norm)
        return max(abs(found - theirs(one.prob)), abs(found - ours)) < FLOAT32

    return compare(ours, theirs(one.prob), ALWAYS_SINGLE, because)


def saturation(one: Input) -> Comparison:
    ours = expected_calibration_error(one.label, one.score, n_bins=COUNT)
    return compare(
        ours,
        peer(one.label, one.score, "l1"),
        SATURATED,
        lambda: (ours, peer(one.label, one.score.astype(np.float64), "l1")),
    )


def above_one(one: Input) -> Comparison:
    squashed = 1 / (1 + np.exp(-one.score))
    return compare(
        lambda: expected_calibration_error(one.label, one.score, n_bins=COUNT),
        peer(one.label, one.score, "l1"),
        SIGMOID,
        lambda: (peer(one.label, squashed, "l1"), peer(one.label, one.score, "l1")),
    )


def _many() -> tuple[Input, ...]:
    n = 20_000_000
    return (Input("20,000,000 of score 0.1", np.zeros(n, np.int64), np.full(n, 0.1, np.float32)),)


def _above() -> tuple[Input, ...]:
    return (Input("a score of 1.0000001", np.array([0, 1, 1]), np.array([0.0, 0.5, 1.0000001])),)


def _case(theirs: str, ours: str, made: Any, run: Any, **options: Any) -> Case:
    return Case("torchmetrics", theirs, ours, made, partial(run, **options))


NAMES = {"l1": "expected", "l2": "plug_in", "max": "max"}
PLAIN = 'binary_calibration_error(q, y, n_bins=15, norm="l1")'
CASES = (
    *(
        _case(
            f'binary_calibration_error(q, y, n_bins=15, norm="{norm}")',
            f'{name}_calibration_error(y, q, binning="uniform", n_bins=15)',
            lambda: (*inputs.binary(), inputs.EDGES, inputs.ENDS),
            binary,
            norm=norm,
        )
        for norm, name in NAMES.items()
    ),
    *(
        _case(
            f'multiclass_calibration_error(Q, y, K, n_bins=15, norm="{norm}")',
            f"{name}_calibration_error_of(uniform(top_view(class_predictions(y, Q)), 15))",
            inputs.classes,
            many_classes,
            norm=norm,
        )
        for norm, name in NAMES.items()
    ),
    _case(PLAIN, "expected_calibration_error(y, q)", _many, saturation),
    _case(PLAIN, "expected_calibration_error(y, q)", _above, above_one),
)
