"""Records of openai/evals: a first line with the ``spec`` of the run, then one event per line.

Fields are as in the source of evals 3.0.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from calibrant.io._log_text import mapping, scanned, sequence, value_of
from calibrant.io.log_scores import SampleScore, cluster_of, digest, score_of


def holds(path: Path, first: Mapping[str, Any]) -> bool:
    """Return True if a file of JSON lines contains records, by its first line."""
    return bool(mapping(first.get("spec")).keys() & {"completion_fns", "eval_name", "base_eval"})


class EvalsLog:
    """The records of a run.

    Parameters
    ----------
    path
        The file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        spec: dict[str, Any] = next((mapping(value_of(line, "spec")) for _, line in scanned(path)), {})
        self.model = ", ".join(map(str, sequence(spec.get("completion_fns")))) or "model"
        self.task = str(spec.get("eval_name") or spec.get("base_eval") or "all")
        self.date = str(spec.get("created_at") or "")
        self._report: dict[str, Any] = {}

    def scores(self, cluster: str | None = None) -> Iterator[SampleScore]:
        """Yield as ``accuracy`` whether each answer was a match, and the numbers of recorded metrics.

        The field of a cluster is one of the event's data.
        """
        for number, line in scanned(self.path):
            if not line:
                yield SampleScore(f"line {number}", problem="that is not an event")
                continue
            report = value_of(line, "final_report")
            self._report = mapping(report) or self._report
            kind, item = value_of(line, "type"), value_of(line, "sample_id")
            if kind not in ("match", "metrics") or not isinstance(item, str):
                continue
            data = mapping(value_of(line, "data"))
            group, problem = cluster_of(data, cluster)
            values = {"accuracy": data.get("correct")} if kind == "match" else data
            if problem:
                yield SampleScore(item, problem=problem)
                continue
            content = digest(repr(data.get("expected"))) if kind == "match" else 0
            for metric, value in values.items():
                yield SampleScore(item, str(metric), score_of(value), "", 1, content, 0, group)

    def aggregates(self) -> dict[str, float]:
        """Return the numbers of the final report, which follows the events."""
        return {name: score_of(value) for name, value in self._report.items() if score_of(value) >= 0}
