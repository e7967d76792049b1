"""Annotations of alpaca_eval: a judge's preference between the output of a model and that of a reference.

Fields are as in the source of alpaca_eval 0.6.6: ``preference`` is 1 if the output of ``generator_1`` is
better, 2 if that of ``generator_2`` is, and 1.5 (once 0) for a draw; ``generator_2`` is the evaluated model.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from calibrant.io._log_text import head, mapping, whole
from calibrant.io.log_formats import AnyLog
from calibrant.io.log_scores import SampleScore, cluster_of, digest, score_of

LONGEST = 60  # characters of a name


def holds(path: Path, first: Mapping[str, Any]) -> bool:
    """Return True if a file contains annotations, by its keys."""
    start = head(path)
    return start.startswith(b"[") and b'"preference"' in start and b'"generator_2"' in start


class AlpacaFile:
    """A file of annotations.

    Parameters
    ----------
    path
        The file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._rows: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for row in map(mapping, whole(path, (list,))):
            model, reference = str(row.get("generator_2") or "model"), str(row.get("generator_1") or "none")
            self._rows.setdefault((model, reference), []).append(row)

    def logs(self) -> list[AnyLog]:
        """Return a log for each model and reference."""
        return [AlpacaLog(self.path, *names, rows) for names, rows in self._rows.items()]


class AlpacaLog:
    """The annotations of one model's outputs against those of a reference.

    Parameters
    ----------
    path
        The file.
    model, reference
        Names of ``generator_2`` and ``generator_1``.
    rows
        The annotations.
    """

    date = ""

    def __init__(self, path: Path, model: str, reference: str, rows: list[dict[str, Any]]) -> None:
        self.path, self.model, self.task = path, model, f"against {reference}"
        self._rows = rows

    def scores(self, cluster: str | None = None) -> Iterator[SampleScore]:
        """Yield the preference less 1 for each instruction, which is 1 if the model is better.

        Equal instructions are runs of an item. The field of a cluster is one of the annotation.
        """
        texts = [" ".join(str(row.get("instruction")).split()) for row in self._rows]
        whole_of = {text[:LONGEST]: text for text in reversed(texts)}
        runs: Counter[tuple[str, str]] = Counter()
        for number, (row, text) in enumerate(zip(self._rows, texts, strict=True), 1):
            name = text[:LONGEST] if whole_of[text[:LONGEST]] == text else text
            name = name or str(number)
            group, problem = cluster_of(row, cluster)
            preference = score_of(row.get("preference"))
            value = 0.5 if preference == 0 else preference - 1
            if not 0 <= value <= 1:
                problem = "without a preference from 1 to 2"
            if problem:
                yield SampleScore(name, problem=problem)
                continue
            judge = str(row.get("annotator") or "")
            runs[name, judge] += 1
            yield SampleScore(name, "win_rate", value, judge, runs[name, judge], digest(text), cluster=group)

    def aggregates(self) -> dict[str, float]:
        """Return the win rate of the model in ``leaderboard.csv`` beside the file."""
        board = self.path.with_name("leaderboard.csv")
        if not board.is_file():
            return {}
        with board.open(encoding="utf-8", errors="replace", newline="") as file:
            for row in csv.DictReader(file):
                fields = mapping(row)
                if fields.get("") == self.model:
                    try:
                        return {"win_rate": float(str(fields.get("win_rate"))) / 100}
                    except ValueError:
                        return {}
        return {}
