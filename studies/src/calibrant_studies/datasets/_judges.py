"""Judge scores and preferences of answers, and labels of people and models, from JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path

from calibrant.exceptions import FormatError

PREFERRED = ("judge_name", "item", "system_a", "system_b", "judge", "label", "length_a", "length_b")
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


def preferred(paths: Sequence[Path]) -> bytes:
    """Preferences of cheap judges and of a better one as CSV, from AlpacaEval's annotations.

    The files alternate: a cheap judge's annotations of a system's answers, and the better judge's of the same
    answers. A preference is 1 for the system, 0 for the reference; it is empty if the judge gave none.
    Lengths are in characters.

    Raises
    ------
    FormatError
        If the two files of a pair do not compare the same answers.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(PREFERRED)
    items: dict[str, int] = {}
    compared = ("instruction", "generator_1", "generator_2", "output_1", "output_2")
    for cheap, better in zip(paths[::2], paths[1::2], strict=True):
        rows, labels = (json.loads(path.read_text(encoding="utf-8")) for path in (cheap, better))
        known = {tuple(row[name] for name in compared): row["preference"] for row in labels}
        for row in rows:
            texts = tuple(row[name] for name in compared)
            if texts not in known:
                raise FormatError(
                    f"{better.name} has no comparison of {texts[2]!r} for {texts[0][:40]!r}",
                    "take the files as they are published",
                    code="file-broken",
                )
            given = (
                "" if value is None else round(value - 1, 9) for value in (row["preference"], known[texts])
            )
            item = items.setdefault(row["instruction"], len(items))
            lengths = [len(row["output_2"]), len(row["output_1"])]
            writer.writerow([row["annotator"], item, texts[2], texts[1], *given, *lengths])
    return out.getvalue().encode()
