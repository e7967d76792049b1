"""Judge scores of answers, and labels of people and models, from JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path

JUDGED = ("prompt_id", "judge_score", "oracle_label", "prompt_characters", "response_characters")


def judged(paths: Sequence[Path]) -> bytes:
    """Scores and labels of answers as CSV, with the numbers of characters instead of the texts."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(JUDGED)
    for path in paths:
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            lengths = [len(row["prompt"]), len(row["response"])]
            writer.writerow([row["prompt_id"], row["judge_score"], row.get("oracle_label", ""), *lengths])
    return out.getvalue().encode()


def annotated(paths: Sequence[Path]) -> bytes:
    """Labels of people, then those of models, one row per annotator and item, separated by tabs."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter="\t", lineterminator="\n")
    writer.writerow(["item", "annotator", "kind", "label"])
    for kind, path in zip(("human", "model"), paths, strict=True):
        for annotator, labels in sorted(json.loads(path.read_text(encoding="utf-8")).items()):
            writer.writerows([item, annotator, kind, labels[item]] for item in sorted(labels))
    return out.getvalue().encode()
