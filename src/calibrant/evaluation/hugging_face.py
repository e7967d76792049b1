"""Metrics for a trainer of Hugging Face: accuracy and calibration of its predictions as a flat dictionary."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant import _checks
from calibrant.evaluation.significance import bounded_mean, mean_interval
from calibrant.exceptions import InputError
from calibrant.metrics.intervals import calibration_error
from calibrant.records import Quantity
from calibrant.records.metrics import metrics_of


def compute_metrics(prediction: Any, *, ignore: int = -100, level: float = 0.95) -> dict[str, float]:
    """Return accuracy, calibration error, Brier score and log loss of logits, with their intervals.

    Pass the function to a trainer: ``Trainer(..., compute_metrics=compute_metrics)``. The names are
    ``accuracy``, ``accuracy_low``, ``accuracy_high`` and so on, and ``n`` for the number of labels. Undefined
    numbers are left out, so no value is NaN.

    Parameters
    ----------
    prediction
        An object with ``predictions`` and ``label_ids``, as `transformers.EvalPrediction`, or a pair of both.
        ``predictions`` are logits (n, K) of K classes or, for labels of tokens, (n, T, K); of a tuple of
        outputs, the first is taken. ``label_ids`` are (n,) or (n, T).
    ignore
        Label of what is left out, such as the padding of a batch.
    level
        Level of the intervals. With labels of tokens, the sequences are clusters.

    Notes
    -----
    The calibration error is that of the largest probability, as a statement that its class is right. The
    Brier score is the sum of squares over the K classes. The log loss is computed from the logits, so that a
    probability that is rounded to 0 does not make it infinite.

    Raises
    ------
    InputError
        If the shapes differ, a logit is not finite, or a label is neither a class nor ``ignore``.

    Examples
    --------
    >>> logits, labels = [[2.0, 0.0], [0.0, 1.0], [0.5, 0.0]] * 40, [0, 1, 1] * 40
    >>> metrics = compute_metrics((logits, labels))
    >>> metrics["n"], round(metrics["accuracy"], 3), round(metrics["log_loss"], 3)
    (120.0, 0.667, 0.471)
    """
    _checks.proportion(level, "level")
    if hasattr(prediction, "predictions") and hasattr(prediction, "label_ids"):
        outputs, labels = prediction.predictions, prediction.label_ids
    elif isinstance(prediction, (tuple, list)) and len(prediction) == 2:
        outputs, labels = prediction
    else:
        message = "the prediction has no predictions and label_ids"
        raise InputError(message, "pass an EvalPrediction, or logits and labels", code="parameter")
    if isinstance(outputs, tuple):
        outputs = outputs[0]
    try:
        logits, label = np.asarray(outputs, np.float64), np.asarray(labels)
    except (TypeError, ValueError) as error:
        message = "predictions or label_ids are not arrays of numbers"
        raise InputError(message, "give logits (n, K) and labels (n,)", code="parameter") from error
    if logits.ndim not in (2, 3) or logits.shape[-1] < 2 or label.shape != logits.shape[:-1]:
        message = f"predictions have the shape {logits.shape}, and label_ids {label.shape}"
        hint = "give logits (n, K) with labels (n,), or (n, T, K) with (n, T), of 2 classes or more"
        raise InputError(message, hint, code="parameter")
    if label.dtype.kind not in "iu":
        raise InputError("label_ids are not integers", "give the numbers of the classes", code="parameter")
    kept = label != ignore
    if not kept.any():
        message = f"no label is left without those that are {ignore}"
        raise InputError(message, "give labels of classes", code="empty")
    clusters = np.nonzero(kept)[0] if logits.ndim == 3 else None
    logits, label = logits[kept], label[kept]
    n, classes = logits.shape
    wrong = np.flatnonzero((label < 0) | (label >= classes))
    if len(wrong):
        message = f"label {int(label[wrong[0]])} is outside the {classes} classes"
        raise InputError(message, f"give labels from 0 to {classes - 1}, or {ignore}", code="parameter")
    if not np.isfinite(logits).all():
        message = "a logit is infinite or not a number"
        raise InputError(message, "did the training diverge?", code="parameter")
    from scipy.special import log_softmax

    log_p = log_softmax(logits, axis=1)
    p = np.exp(log_p)
    rows = np.arange(n)
    right = (p.argmax(1) == label).astype(np.float64)
    confidence = np.minimum(p.max(1), 1.0)
    brier = (p**2).sum(1) - 2 * p[rows, label] + 1
    interval = calibration_error(right, confidence, clusters=clusters, level=level)
    return {"n": float(n)} | metrics_of(
        {
            "accuracy": bounded_mean(right, clusters, level)[0],
            "calibration_error": Quantity(interval.estimate, interval.low, interval.high),
            "brier": mean_interval(brier, clusters=clusters, level=level).mean,
            "log_loss": mean_interval(-log_p[rows, label], clusters=clusters, level=level).mean,
        }
    )
