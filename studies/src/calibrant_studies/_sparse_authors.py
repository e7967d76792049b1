"""Files of the sparse paper's authors: results, tag counts, labels, and scores if they are available."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from calibrant.exceptions import FormatError
from calibrant.io.origin import reading
from calibrant.metrics.groups import THRESHOLD
from calibrant_studies._base import Row
from calibrant_studies._sparse_maps import PAPER_SHARING
from calibrant_studies._sparse_rules import CODE, TEXT, groups, table
from calibrant_studies._sparse_scores import GROUPS, Scores
from calibrant_studies._tensors import read_tensor
from calibrant_studies.arrays import Integers
from calibrant_studies.datasets._folders import required

TASKS = {"CCG": "ccg", "LSR": "lsr"}
FOLDER, SCORES = "tfg-authors", "tfg-scores"
SPLITS = ("dev", "test")
COUNTED = ("tag_indexes", "training_tag_frequencies")
NAMES = {
    "isotonic_scaling_binning": "scaling binning",
    "isotonic_regression": "isotonic regression",
    "histogram_binning": "histogram binning",
}
LARGEST_SCORE = 1.0001  # in single precision a softmax can exceed 1 by rounding
SAME = 1e-6  # errors that differ by more are not those of the same rules
COUNTS = ("numel", "num_scores")
Columns = tuple[str, str, str]
COLUMNS: Mapping[str, Columns] = {
    "SMCE": ("collective_pre", "collective_post", "numel"),
    **{
        f"GMCE {group}": (
            f"group{group - 1}_rmse_uncal",
            f"group{group - 1}_rmse_cal",
            f"group{group - 1}_num_scores",
        )
        for group in range(1, GROUPS + 1)
    },
}
AGAIN = "fetch it again with `calibrant data fetch tfg-authors tfg-scores`"


def sources(data: Path) -> list[Path]:
    """Return the files that the study reads: those of the catalog, and the scores that are available."""
    always = [
        *(f"{task}_{sharing.lower()}_5_groups.csv" for task in TASKS.values() for sharing in PAPER_SHARING),
        *(f"{task}-{part}.json" for task in TASKS.values() for part in COUNTED),
        *(f"ccg-{split}_labels.pt" for split in SPLITS),
    ]
    there = [
        path
        for task in TASKS.values()
        if has_scores(data, task)
        for path in (*_score_files(data, task), *_label_files(data, task))
    ]
    return list(dict.fromkeys([*(data / FOLDER / name for name in always), *there]))


def _score_files(data: Path, task: str) -> list[Path]:
    return [data / SCORES / f"{task}-{split}_scores.pt" for split in SPLITS]


def _label_files(data: Path, task: str) -> list[Path]:
    return [data / (FOLDER if task == "ccg" else SCORES) / f"{task}-{split}_labels.pt" for split in SPLITS]


def has_scores(data: Path, task: str) -> bool:
    """Return True if a task's scores and labels are available."""
    return all(path.exists() for path in (*_score_files(data, task), *_label_files(data, task)))


def results(data: Path) -> list[Row]:
    """Return the authors' published errors before and after, by task, technique, sharing and measure."""
    rows: list[Row] = []
    for title, task in TASKS.items():
        for sharing in PAPER_SHARING:
            path = required(data, f"{FOLDER}/{task}_{sharing.lower()}_5_groups.csv")
            for technique, found in read_published(path).items():
                name = {"task": title, "technique": technique, "sharing": sharing}
                for measure, columns in COLUMNS.items():
                    before, after, n = (found[column] for column in columns)
                    change = after / before - 1
                    numbers = {"before": before, "after": after, "change": change, "n": int(n)}
                    rows.append({**name, "measure": measure, **numbers})
    return rows


def read_published(path: Path) -> dict[str, dict[str, float]]:
    """Read a table of results: one row per technique, its numbers by column."""
    found: dict[str, dict[str, float]] = {}
    with reading(str(path)), path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        wanted = [name for columns in COLUMNS.values() for name in columns]
        missing = [name for name in ("technique", *wanted) if name not in (rows.fieldnames or ())]
        if missing:
            raise FormatError(f"there is no column {missing[0]!r}", AGAIN, code="column", file=str(path))
        for number, row in enumerate(rows, 1):
            place: dict[str, Any] = {"file": str(path), "row": number}
            technique = NAMES.get(row["technique"] or "")
            if technique is None or technique in found:
                what = f"{row['technique']!r} is no technique of the paper, or there twice"
                raise FormatError(what, AGAIN, code="file-row", **place, column="technique")
            found[technique] = {name: _error(row[name], name, place) for name in wanted}
    lacking = [name for name in NAMES.values() if name not in found]
    if lacking:
        raise FormatError(f"there is no row of {lacking[0]}", AGAIN, code="file-row", file=str(path))
    return found


def _error(text: str | None, column: str, place: Mapping[str, Any]) -> float:
    try:
        value = float(text or "")
    except ValueError:
        value = float("nan")
    count = column.endswith(COUNTS)
    if not 0 < value < np.inf or (count and not value.is_integer()):
        what = f"{text!r} is no positive {'whole ' if count else ''}number"
        raise FormatError(what, AGAIN, code="file-row", **place, column=column)
    return value


def tag_counts(data: Path, task: str) -> tuple[list[str | None], dict[str, int]]:
    """Return the tag of each column of the scores (None without a tag), and each tag's count in training."""
    index, counts = (read_integers(required(data, f"{FOLDER}/{task}-{part}.json")) for part in COUNTED)
    path = str(data / FOLDER / f"{task}-tag_indexes.json")
    places = set(index.values())
    if len(places) != len(index) or max(places) >= 10 * len(index) or not counts.keys() <= index.keys():
        what = "two tags share an index, or a tag of the training text has none"
        raise FormatError(what, AGAIN, code="file-row", file=path)
    tags: list[str | None] = [None] * (max(places) + 1)
    for tag, place in index.items():
        tags[place] = tag
    return tags, counts


def read_integers(path: Path) -> dict[str, int]:
    """Read an object of whole numbers, such as tag counts."""
    try:
        found = msgspec.json.decode(path.read_bytes(), type=dict[str, int])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise FormatError(str(error), AGAIN, code="file-broken", file=str(path)) from error
    if not found or min(found.values()) < 0:
        raise FormatError("there is no number, or one is negative", AGAIN, code="file-row", file=str(path))
    return found


def labels(path: Path, tags: int) -> Integers:
    """Read the column of each token's gold tag, from codes or from rows of zeros and one one."""
    found = read_tensor(path)
    if found.ndim == 2:
        ones = found == 1
        if found.shape[1] > tags or not (ones | (found == 0)).all() or (ones.sum(axis=1) != 1).any():
            what = "a row is not zeros and one one, or there are more columns than tags"
            raise FormatError(what, AGAIN, code="file-row", file=str(path))
        column: Integers = ones.argmax(axis=1)
        return column
    if found.dtype.kind not in "iu" or found.min() < 0 or found.max() >= tags:
        raise FormatError(
            f"a label is no integer from 0 to {tags - 1}", AGAIN, code="file-row", file=str(path)
        )
    return found.astype(np.int64)


def scores(data: Path, task: str) -> tuple[Scores, Scores]:
    """Read the scores of dev and test that reach the threshold, in single precision as they are."""
    count = len(tag_counts(data, task)[0])
    dev, test = (
        read_scores(score, labels(label, count), count)
        for score, label in zip(_score_files(data, task), _label_files(data, task), strict=True)
    )
    return dev, test


def read_scores(path: Path, gold: Integers, tags: int) -> Scores:
    """Read the scores that reach the threshold, against each token's gold tag."""
    found = read_tensor(path)
    if found.ndim != 2 or len(found) != len(gold) or found.shape[1] > tags or found.dtype.kind != "f":
        what = f"the scores have shape {found.shape} for {len(gold):,} labels of {tags} tags"
        raise FormatError(what, AGAIN, code="shape", file=str(path))
    if not ((found >= 0) & (found <= LARGEST_SCORE)).all():  # NaN is neither
        raise FormatError("a score is outside [0, 1]", AGAIN, code="file-row", file=str(path))
    token, code = np.nonzero(found >= found.dtype.type(THRESHOLD))
    label = (gold[token] == code).astype(np.uint8)
    score = np.minimum(found[token, code], found.dtype.type(1))
    return Scores(score, label, code, token, token, np.zeros(len(token)))


def result_rows(data: Path) -> list[Row]:
    """Return the authors' results, with those of both rules if the scores are available."""
    rows = results(data)
    for title, task in TASKS.items():
        own = [row for row in rows if row["task"] == title]
        for rules, departures in (("code", CODE), ("text", TEXT)):
            found = {_key(row): row for row in _again(data, task, departures)}
            for row in own:
                here = found.get(_key(row), {})
                row |= {f"before, {rules}": here.get("before"), f"after, {rules}": here.get("after")}
                row[f"n, {rules}"] = here.get("n")
    return rows


def _again(data: Path, task: str, departures: frozenset[str]) -> Iterator[Row]:
    """Return the errors of one task by some rules; empty without its scores."""
    if not has_scores(data, task):
        return
    tags, counts = tag_counts(data, task)
    given = [tag if tag is not None else f"column {place}" for place, tag in enumerate(tags)]
    # The code leaves tags without a count out; in the text every tag is in some group.
    known = counts if departures == CODE else counts | {tag: 0 for tag in given if tag not in counts}
    yield from table(scores(data, task), given, known, departures)


def _key(row: Row) -> tuple[str, str, str]:
    return row["technique"], row["sharing"], row["measure"]


def group_rows(data: Path) -> list[Row]:
    """Return the groups of the published tag counts by both rules, with the gold tags of CCG's test text."""
    rows: list[Row] = []
    for title, task in TASKS.items():
        tags, counts = tag_counts(data, task)
        text, code = (groups(counts, departures) for departures in (TEXT, CODE))
        total = sum(counts.values())
        path = _label_files(data, task)[1]
        gold = [tags[place] for place in labels(path, len(tags))] if path.exists() else None
        for place, some in enumerate(code):
            share = [counts[tag] / total for tag in some]
            rows.append(
                {
                    "task": title,
                    "group": place + 1,
                    "tags": len(some),
                    "highest share": max(share),
                    "lowest share": min(share),
                    "share": sum(share),
                    "same by the text": set(some) == set(text[place]),
                    "gold in test": None if gold is None else sum(tag in set(some) for tag in gold),
                }
            )
        others = None if gold is None else sum(tag not in counts for tag in gold)
        lost = [tag for tag in tags if tag is not None and tag not in counts]
        rows.append({"task": title, "group": None, "tags": len(lost), "gold in test": others})
    return [{key: row.get(key) for key in rows[0]} for row in rows]
