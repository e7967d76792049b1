"""Metrics and a hook for inspect_ai, which finds them by its entry point; calibrant itself never imports it.

In a scorer: ``@scorer(metrics=[accuracy_interval(), calibration_error(), brier_score()])``. With the
environment variable ``CALIBRANT_INSPECT=1``, the hook writes what ``calibrant measure LOG --json`` prints
beside each log, as ``calibrant-NAME.json``.
"""

from __future__ import annotations

import os
from logging import getLogger
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from inspect_ai.hooks import Hooks, TaskEnd, hooks
from inspect_ai.scorer import Metric, SampleScore, metric

from calibrant.evaluation.stated import accuracy_metrics, confidence_metrics
from calibrant.exceptions import CalibrantError

ENABLED = "CALIBRANT_INSPECT"
logger = getLogger(__name__)


@metric(scores="unreduced")
def accuracy_interval(level: float = 0.95, cluster: str | None = None) -> Metric:
    """Accuracy with its interval; the epochs of a sample are averaged.

    Parameters
    ----------
    level
        Level of the interval.
    cluster
        Key of the samples' metadata that names dependent samples, as for inspect_ai's ``stderr``.
    """

    def compute(scores: list[SampleScore]) -> dict[str, float]:
        return _computed("accuracy", lambda: accuracy_metrics(scores, cluster=cluster, level=level))

    return compute


@metric(scores="unreduced")
def calibration_error(level: float = 0.95, cluster: str | None = None) -> Metric:
    """Calibration error of the confidences in the scores' metadata, with its interval.

    Parameters
    ----------
    level
        Level of the interval.
    cluster
        Key of the samples' metadata that names dependent samples. None: the epochs of a sample.
    """

    def compute(scores: list[SampleScore]) -> dict[str, float]:
        name = "calibration_error"
        return _computed(name, lambda: confidence_metrics(scores, cluster=cluster, level=level)[name])

    return compute


@metric(scores="unreduced")
def brier_score(level: float = 0.95, cluster: str | None = None) -> Metric:
    """Brier score of the confidences in the scores' metadata, with its interval.

    Parameters
    ----------
    level, cluster
        As in `calibration_error`.
    """

    def compute(scores: list[SampleScore]) -> dict[str, float]:
        return _computed("brier", lambda: confidence_metrics(scores, cluster=cluster, level=level)["brier"])

    return compute


def _computed(name: str, numbers: Any) -> dict[str, float]:
    """Return the numbers, or a count of 0 and a warning: an error would end a run of hours."""
    try:
        metrics: dict[str, float] = numbers()
    except CalibrantError as error:
        logger.warning("calibrant: %s", error)
        return {f"{name}_n": 0.0}
    return metrics


@hooks(name="calibration", description="Writes the calibration of each log beside it.")
class CalibrationSummary(Hooks):
    """Writes ``calibrant-NAME.json`` beside each log, if ``CALIBRANT_INSPECT`` is 1.

    A hook must not change a log, so the summary is a separate file. Its name begins with ``calibrant-``,
    since inspect_ai takes a JSON file that begins with a date for a log.
    """

    def enabled(self) -> bool:
        """Return True if ``CALIBRANT_INSPECT`` is 1."""
        return os.environ.get(ENABLED) == "1"

    async def on_task_end(self, data: TaskEnd) -> None:
        """Measure the log of a task."""
        from anyio import to_thread

        await to_thread.run_sync(_summarize, data.log.location)


def _summarize(location: str) -> None:
    from calibrant.io.atomic import writing
    from calibrant.verbs.measuring import measure

    parts = urlsplit(location)
    if parts.scheme not in ("", "file"):
        logger.warning("calibrant: no summary of %s, which is not a file of this machine", location)
        return
    path = Path(unquote(parts.path))
    try:
        record = measure(path).to_json(indent=2)
        with writing(path.with_name(f"calibrant-{path.stem}.json")) as file:
            file.write((record + "\n").encode())
    except CalibrantError as error:
        logger.warning("calibrant: no summary: %s", error)
