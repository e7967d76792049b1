"""Worked examples for the questions of the Korean notes about Guo et al. (2017)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from calibrant.metrics import Pairs, pairs
from calibrant.metrics.binning import uniform
from calibrant.metrics.decompositions import brier_decomposition
from calibrant.metrics.plug_in import expected_calibration_error
from calibrant.metrics.proper_scores import log_loss_of_pairs
from calibrant_studies._base import Finding, Row
from calibrant_studies._networks_measure import NONE, Measured
from calibrant_studies.arrays import Floats

BINS = 10  # of the notes' code
Right = NDArray[np.bool_]


def notes_error(score: Floats, right: Right, *, inside: bool = False, ones: bool = False) -> float:
    """The error as the notes' code computes it.

    Parameters
    ----------
    score
        (n,) confidences.
    right
        (n,) True where the prediction is right.
    inside
        True to average the confidence inside each bin; the code averages it over all scores.
    ones
        True to include scores of exactly 1 in the last bin; the code leaves them out.

    Returns
    -------
    float

    Examples
    --------
    >>> notes_error(np.array([0.65, 1.0]), np.array([True, True]))
    0.0875...
    """
    total = 0.0
    for number in range(BINS):
        last = ones and number == BINS - 1
        rows = (score >= number * 0.1) & ((score < (number + 1) * 0.1) | (last & (score == 1)))
        if rows.any():
            mean = score[rows].mean() if inside else score.mean()
            total += rows.sum() / len(score) * abs(right[rows].mean() - mean)
    return round(float(total), 12)  # sums of tenths are not exact


def _made(*groups: tuple[float, int, int]) -> tuple[Floats, Right]:
    """Scores and labels of groups: confidence, items, right ones."""
    score = np.concatenate([np.full(n, score) for score, n, _ in groups])
    right = np.concatenate([np.arange(n) < positives for _, n, positives in groups])
    return score, right


EXAMPLES = {
    "calibrated: 500 scores of 1 (all right), 500 of 0.65 (325 right)": _made(
        (1.0, 500, 500), (0.65, 500, 325)
    ),
    "overconfident: 1,000 scores of 1, 700 right": _made((1.0, 1000, 700)),
    "errors that cancel: 500 of 0.95 (375 right), 500 of 0.55 (375 right)": _made(
        (0.95, 500, 375), (0.55, 500, 375)
    ),
}


def code_rows(found: Sequence[Measured]) -> list[Row]:
    """The notes' code beside the expected calibration error, on made-up scores and on the given networks."""
    cases = dict(EXAMPLES)
    for each in found:
        if each.test.seed == 0:
            prob = each.prob[NONE]
            right = prob.argmax(axis=1) == each.test.labels
            cases[f"{each.test.model}, seed 0"] = (prob.max(axis=1), right)
            rounded = prob.max(axis=1).round(3)  # as a log with three digits has them
            cases[f"{each.test.model}, seed 0, scores of three digits"] = (rounded, right)
    return [
        {
            "scores": name,
            "scores of 1": int(np.count_nonzero(score == 1)),
            "the notes' code": notes_error(score, right),
            "mean inside the bin": notes_error(score, right, inside=True),
            "and scores of 1 kept": notes_error(score, right, inside=True, ones=True),
            "calibrant's ECE": round(expected_calibration_error(uniform(pairs(right, score), BINS)), 12),
        }
        for name, (score, right) in cases.items()
    ]


# 60 % of 1,000 items have a class. Each model's groups: probability, items, items with the class.
BALANCE = {
    "says 0.6 of every item": _made((0.6, 1000, 600)),
    "tells items apart, calibrated": _made((0.95, 600, 570), (0.075, 400, 30)),
    "tells items apart, overconfident": _made((0.999, 600, 570), (0.001, 400, 30)),
    "tells items apart, underconfident": _made((0.8, 600, 570), (0.3, 400, 30)),
    "confident and no better than chance": _made((0.95, 600, 360), (0.05, 400, 240)),
}
# Ninety-nine of a hundred predictions are right, as in the notes' example of document classification.
TRAINED = {
    "all scores 0.99": _made((0.99, 1000, 990)),
    "all scores 0.999999": _made((0.999999, 1000, 990)),
    "0.999 for 900 (899 right), 0.91 for 100 (91 right)": _made((0.999, 900, 899), (0.91, 100, 91)),
    "all scores 0.9": _made((0.9, 1000, 990)),
}


def balance_rows() -> list[Row]:
    """Scores of models of two classes that are mixed 60 to 40."""
    return [_scored(name, *example) for name, example in BALANCE.items()]


def trained_rows() -> list[Row]:
    """Scores of models that are right in 99 % of cases."""
    return [_scored(name, *example) for name, example in TRAINED.items()]


def _scored(name: str, score: Floats, label: Right) -> Row:
    checked: Pairs = pairs(label, score)
    bins = uniform(checked, 15)
    parts = brier_decomposition(bins)
    likelier = np.maximum(score, 1 - score)
    return {
        "model": name,
        "accuracy": float(((score > 0.5) == label).mean()),
        "mean confidence": round(float(likelier.mean()), 12),
        "ECE": round(expected_calibration_error(bins), 12),
        "resolution": float(parts.resolution),
        "Brier score": float(parts.brier),
        "log loss": log_loss_of_pairs(checked)[0],
    }


def note_findings(tables: dict[str, list[Row]]) -> Iterator[Finding]:
    """Yield the results of the notes' code where the truth is known; exact, since nothing is drawn."""
    exact = "made-up scores; nothing is drawn"
    for key, row in zip(("calibrated", "overconfident", "cancel"), tables["notes-code"], strict=False):
        for column, short in (("the notes' code", "code"), ("calibrant's ECE", "ECE")):
            value = row[column]
            yield Finding(
                f"notes/{key}/{short}", f"{row['scores']}: {column}", value, value, value, note=exact
            )
