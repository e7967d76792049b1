"""Results of promptfoo: each provider with each prompt is a model, each test an item, each repeat a run.

``promptfoo eval -o results.json`` also states the number of tests passed; ``-o results.jsonl`` has the rows
alone. Fields are as in promptfoo 0.121.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from calibrant.exceptions import FormatError
from calibrant.io._log_text import head, lines, mapping, sequence, whole
from calibrant.io.log_formats import AnyLog
from calibrant.io.log_scores import SampleScore, cluster_of, digest, score_of

KEYS = {"promptIdx", "testIdx", "success"}
ERROR = 2  # failureReason of a test whose provider failed
LONGEST = 60  # characters of a name


def holds(path: Path, first: Mapping[str, Any]) -> bool:
    """Return True if a file contains results, by its first keys."""
    if path.name.lower().endswith(".json"):
        start = head(path)
        return start.startswith(b"{") and b'"evalId"' in start[:100] and b'"results"' in start
    return first.keys() >= KEYS


class PromptfooFile:
    """A file of results.

    Parameters
    ----------
    path
        The file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        content = {} if ".jsonl" in path.name.lower() else whole(path, dict)
        results = mapping(content.get("results"))
        rows = sequence(results.get("results")) if content else [line for _, line in lines(path)]
        self.task = str(mapping(content.get("config")).get("description") or "all")
        self.date = str(results.get("timestamp") or "")
        self._columns: dict[int, list[dict[str, Any]]] = {}
        for row in rows:
            column = mapping(row).get("promptIdx")
            column = column if isinstance(column, int) and column >= 0 else 0
            self._columns.setdefault(column, []).append(mapping(row))
        if not rows:
            hint = "write them with `promptfoo eval -o results.json`"
            raise FormatError("there are no results of tests", hint, code="log", file=str(path))
        self._stated = sequence(results.get("prompts"))

    def logs(self) -> list[AnyLog]:
        """Return a log for each provider and prompt."""
        names = {column: _names(rows[0]) for column, rows in self._columns.items()}
        providers = Counter(provider for provider, _ in names.values())
        called = {
            column: provider if providers[provider] == 1 else f"{provider}, {prompt}"
            for column, (provider, prompt) in names.items()
        }
        twice = Counter(called.values())
        return [
            PromptLog(
                self.path,
                called[column] if twice[called[column]] == 1 else f"{called[column]} ({column + 1})",
                self.task,
                self.date,
                rows,
                mapping(mapping(self._stated[column]).get("metrics")) if column < len(self._stated) else {},
            )
            for column, rows in sorted(self._columns.items())
        ]


class PromptLog:
    """The results of one provider with one prompt.

    Parameters
    ----------
    path, model, task, date
        As in `calibrant.io.log_formats.AnyLog`.
    rows
        The results of the tests.
    stated
        The sums that the file states.
    """

    def __init__(
        self,
        path: Path,
        model: str,
        task: str,
        date: str,
        rows: list[dict[str, Any]],
        stated: Mapping[str, Any],
    ) -> None:
        self.path, self.model, self.task, self.date = path, model, task, date
        self._rows, self._stated = rows, stated

    def scores(self, cluster: str | None = None) -> Iterator[SampleScore]:
        """Yield whether each test passed, its score, and its named scores.

        The field of a cluster is one of the test's metadata or variables.
        """
        tests = []
        for row in self._rows:
            test = mapping(row.get("testCase"))
            own = mapping(test.get("vars")) or mapping(row.get("vars"))
            words = test.get("description") or ", ".join(f"{name}={value}" for name, value in own.items())
            name = " ".join(str(words).split())[:LONGEST] or "test"
            key = json.dumps([test.get("description"), own], sort_keys=True)
            fields = {**own, **mapping(test.get("metadata"))}
            tests.append((name, key, fields))
        shared = Counter(name for name, _ in {(name, key) for name, key, _ in tests})
        runs: Counter[str] = Counter()
        for row, (name, key, fields) in zip(self._rows, tests, strict=True):
            item = name
            if shared[name] > 1:
                item += f" #{hashlib.sha256(key.encode()).hexdigest()[:6]}"
            group, problem = cluster_of(fields, cluster)
            if row.get("failureReason") == ERROR or "success" not in row:
                problem = "that ended with an error"
            if problem:
                yield SampleScore(item, problem=problem)
                continue
            runs[item] += 1
            values = {"success": row.get("success"), "score": row.get("score")}
            for metric, value in (values | mapping(row.get("namedScores"))).items():
                yield SampleScore(item, metric, score_of(value), "", runs[item], digest(key), 0, group)

    def aggregates(self) -> dict[str, float]:
        """Return the fraction of tests that passed, the mean score, and the means of named scores."""
        passed, *others = (
            score_of(self._stated.get(f"test{what}Count")) for what in ("Pass", "Fail", "Error")
        )
        total = passed + sum(others)
        sums = {"success": (passed, total), "score": (score_of(self._stated.get("score")), total)}
        counts = mapping(self._stated.get("namedScoresCount"))
        weights = mapping(self._stated.get("namedScoreWeights")) or counts
        for name, value in mapping(self._stated.get("namedScores")).items():
            sums.setdefault(name, (score_of(value), score_of(weights.get(name))))
        return {name: value / count for name, (value, count) in sums.items() if count > 0}


def _names(row: Mapping[str, Any]) -> tuple[str, str]:
    """Return the names of a result's provider and prompt."""
    provider = row.get("provider")
    if isinstance(provider, dict):
        provider = provider.get("label") or provider.get("id")
    prompt = " ".join(str(mapping(row.get("prompt")).get("label") or "prompt").split())
    return str(provider or "model"), prompt[:40]
