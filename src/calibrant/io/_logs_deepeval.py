"""Test runs of DeepEval, as its files in ``DEEPEVAL_RESULTS_FOLDER`` and ``.deepeval`` have them.

Fields are as in the source of deepeval 4.3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from calibrant.io._log_text import head, mapping, sequence, whole
from calibrant.io.log_scores import SampleScore, cluster_of, digest, score_of


def holds(path: Path, first: Mapping[str, Any]) -> bool:
    """Return True if a file contains a test run, by its keys."""
    start = head(path)
    return start.startswith(b"{") and (b'"testCases"' in start or b'"conversationalTestCases"' in start)


class DeepEvalLog:
    """A test run.

    Parameters
    ----------
    path
        The file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        run = whole(path, dict)
        run = mapping(run.get("testRunData")) or run
        settings = mapping(run.get("hyperparameters"))
        self.model = str(settings.get("model") or run.get("identifier") or path.stem)
        self.task = str(run.get("datasetAlias") or "all")
        self.date = path.stem
        cases = sequence(run.get("testCases")) + sequence(run.get("conversationalTestCases"))
        self._cases = [mapping(case) for case in cases]
        self._run = run

    def scores(self, cluster: str | None = None) -> Iterator[SampleScore]:
        """Yield whether each test case succeeded, and the score of each of its metrics.

        The field of a cluster is one of the test case's metadata.
        """
        names = Counter(str(case.get("name")) for case in self._cases)
        unique = len(names) == len(self._cases)
        for number, case in enumerate(self._cases, 1):
            name = str(case.get("name")) if unique and case.get("name") else str(number)
            group, problem = cluster_of(mapping(case.get("metadata")), cluster)
            values = {} if case.get("success") is None else {"success": case.get("success")}
            for metric in map(mapping, sequence(case.get("metricsData"))):
                values.setdefault(str(metric.get("name")), metric.get("score"))
            if problem or not values:
                yield SampleScore(name, problem=problem or "without scores")
                continue
            content = digest(repr([case.get("input"), case.get("scenario")]))
            for called, value in values.items():
                yield SampleScore(name, called, score_of(value), "", 1, content, 0, group)

    def aggregates(self) -> dict[str, float]:
        """Return the fraction of test cases that passed, and the mean score of each metric."""
        means = {}
        passed, failed = (score_of(self._run.get(name)) for name in ("testPassed", "testFailed"))
        if passed + failed > 0:
            means["success"] = passed / (passed + failed)
        for entry in map(mapping, sequence(self._run.get("metricsScores"))):
            values = [score_of(value) for value in sequence(entry.get("scores"))]
            if values:
                means.setdefault(str(entry.get("metric")), sum(values) / len(values))
        return means
