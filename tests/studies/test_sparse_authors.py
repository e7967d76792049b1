"""The authors' files: as published, and made by hand."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from calibrant.exceptions import FormatError, InputError
from calibrant_studies import _sparse_authors as authors
from calibrant_studies._sparse_published import arrange_published, find_published
from calibrant_studies._sparse_scores import GROUPS
from tests.studies.simulated_tags import TAGS, counts, simulated
from tests.studies.test_tensors import described, saved

HEADER = ["technique", *(column for columns in authors.COLUMNS.values() for column in columns)]


def table(folder: Path, rows: list[list[str]]) -> Path:
    path = folder / "results.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


def whole() -> list[list[str]]:
    return [HEADER, *([name, *["0.02", "0.01", "30"] * (1 + GROUPS)] for name in authors.NAMES)]


def floats(path: Path, values: np.ndarray) -> None:
    path.write_bytes(saved(values, described(values.shape, kind="FloatStorage")))


@pytest.fixture
def made_up(tmp_path: Path) -> Path:
    """The authors' folders with scores, of which the results are what their code gives."""
    for name in (authors.FOLDER, authors.SCORES):
        (tmp_path / name).mkdir()
    index = {f"t{place}": place for place in range(TAGS)}
    count = dict(zip(index, counts(), strict=True))
    with (Path(__file__).parent / "tfg_simulated.csv").open(encoding="utf-8", newline="") as file:
        given = [row for row in csv.DictReader(file) if row["fewest"] == "1"]
    for task in authors.TASKS.values():
        folder = tmp_path / authors.FOLDER
        (folder / f"{task}-tag_indexes.json").write_text(json.dumps(index))
        (folder / f"{task}-training_tag_frequencies.json").write_text(json.dumps(count))
        for sharing in ("SCW", "TFG"):
            rows = [HEADER]
            for name, technique in authors.NAMES.items():
                own = {
                    r["measure"]: r for r in given if (r["technique"], r["sharing"]) == (technique, sharing)
                }
                values = [
                    own[measure][key] for measure in authors.COLUMNS for key in ("before", "after", "n")
                ]
                rows.append([name, *values])
            table(folder, rows).rename(folder / f"{task}_{sharing.lower()}_5_groups.csv")
        for split, tokens, seed in (("dev", 1500, 1), ("test", 1200, 2)):
            score, gold = simulated(tokens, seed, 1)
            floats(tmp_path / authors.SCORES / f"{task}-{split}_scores.pt", score)
            place = tmp_path / (authors.FOLDER if task == "ccg" else authors.SCORES)
            if task == "ccg":  # codes here, rows of ones there
                (place / f"{task}-{split}_labels.pt").write_bytes(saved(gold))
            else:
                ones = (gold[:, None] == np.arange(TAGS)).astype("|b1")
                pickled = described(ones.shape, kind="BoolStorage")
                (place / f"{task}-{split}_labels.pt").write_bytes(saved(ones, pickled))
    return tmp_path


def test_with_scores_at_hand_the_results_are_matched_to_a_millionth(made_up: Path) -> None:
    rows = authors.result_rows(made_up)
    assert len(rows) == 2 * 2 * 3 * (1 + GROUPS)
    for row in rows:
        assert row["n, code"] == row["n"]
        for key in ("before", "after"):
            assert row[f"{key}, code"] == pytest.approx(row[key], abs=authors.SAME)
    assert any(abs(row["after, text"] - row["after"]) > 0.001 for row in rows)
    tables = {"authors": rows, "author-groups": authors.group_rows(made_up), "effects": [], "rules": []}
    found = {each.name: each for each in find_published(tables)}
    assert found["authors/lsr/code"].verdict == "agrees"
    assert len(authors.sources(made_up)) == 10 + 6
    pages = arrange_published(tables | {"affected": []})
    assert all(row["off the code's rules"] <= authors.SAME for row in pages["page-authors-lsr"][1:])


def test_without_scores_the_study_says_so(made_up: Path) -> None:
    (made_up / authors.SCORES / "lsr-test_labels.pt").unlink()
    rows = authors.result_rows(made_up)
    assert {row["after, code"] is None for row in rows if row["task"] == "LSR"} == {True}
    tables = {"authors": rows, "author-groups": authors.group_rows(made_up), "effects": [], "rules": []}
    found = {each.name: each for each in find_published(tables)}
    assert (found["authors/lsr/code"].value, found["authors/lsr/code"].verdict) == (None, "not comparable")
    assert "not available" in found["authors/lsr/code"].note
    assert found["authors/ccg/code"].verdict == "agrees"


def test_the_published_files_are_those_of_the_paper(data: Path) -> None:
    folder = Path(data / authors.FOLDER).parent
    tables = {"authors": authors.results(folder), "author-groups": authors.group_rows(folder)}
    rows = [row | {"after, code": None} for row in tables["authors"]]
    found = {
        each.name: each for each in find_published({**tables, "authors": rows, "effects": [], "rules": []})
    }
    names = {name for name in found if not name.endswith("/code")}
    assert len(names) == 2 * (1 + 3 + 3 + 1)
    assert {found[name].verdict for name in names} == {"agrees"}
    groups = [row for row in tables["author-groups"] if row["task"] == "CCG"]
    assert sum(row["gold in test"] for row in groups) == 55_371, "the paper's number of tokens"
    assert groups[-1] == {**groups[-1], "group": None, "tags": 2, "gold in test": 104}
    assert all(row["same by the text"] for row in tables["author-groups"] if row["group"])


def test_results_that_are_no_results_are_refused_in_one_line(tmp_path: Path) -> None:
    def refused(rows: list[list[str]], words: str) -> None:
        with pytest.raises(FormatError, match=words) as caught:
            authors.read_published(table(tmp_path, rows))
        assert "results.csv" in str(caught.value)
        assert "\n" not in str(caught.value)

    assert len(authors.read_published(table(tmp_path, whole()))) == len(authors.NAMES)
    refused([row[1:] for row in whole()], "no column 'technique'")
    refused([row[:-1] for row in whole()], "no column 'group4_num_scores'")
    refused(whole()[:-1], "no row of histogram binning")
    refused([*whole()[:2], *whole()[1:]], "row 2.*there twice")
    refused([*whole(), ["temperature", *whole()[1][1:]]], "'temperature' is no technique")
    for value, words in (("", "positive"), ("x", "positive"), ("nan", "positive"), ("-1", "positive")):
        refused([whole()[0], [whole()[1][0], value, *whole()[1][2:]]], f"row 1, column.*{words}")
    refused([whole()[0], [*whole()[1][:3], "30.5", *whole()[1][4:]]], "whole number")
    refused([whole()[0], whole()[1][:4]], "None is no positive")


def test_tag_counts_that_do_not_fit_are_refused(made_up: Path) -> None:
    index = made_up / authors.FOLDER / "ccg-tag_indexes.json"
    for content, words in (
        ('{"t0": 0, "t1": 0}', "share an index"),
        ('{"t0": 0}', "training text has none"),
        ('{"t0": "0"}', "Expected `int`"),
        ('{"t0": 0', "truncated"),
        ("{}", "no number"),
        ('{"t0": -1}', "negative"),
        ('{"t0": 1000000000}', "share an index|has none"),
    ):
        index.write_text(content)
        with pytest.raises(FormatError, match=words):
            authors.tag_counts(made_up, "ccg")


def test_labels_and_scores_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "some.pt"
    for values, pickled, words in (
        (np.array([0, 3]), None, "integer from 0 to 2"),
        (np.array([0, -1]), None, "integer from 0 to 2"),
        (np.array([0.5, 1.0]), described((2,), kind="DoubleStorage"), "integer from 0 to 2"),
        (np.array([[1, 1, 0]]), None, "zeros and one one"),
        (np.array([[0, 0, 2]]), None, "zeros and one one"),
        (np.array([[1, 0, 0, 0]]), None, "more columns than tags"),
    ):
        path.write_bytes(saved(values, pickled))
        with pytest.raises(FormatError, match=words):
            authors.labels(path, 3)
    gold = np.array([0, 1])
    for score, words in (
        (np.array([[0.5, 0.5]], "f4"), "for 2 labels"),
        (np.array([[0.5, 1.5], [0, 1]], "f4"), r"outside \[0, 1\]"),
        (np.array([[0.5, np.nan], [0, 1]], "f4"), r"outside \[0, 1\]"),
        (np.array([[0.1] * 4] * 2, "f4"), "of 3 tags"),
    ):
        floats(path, score)
        with pytest.raises(FormatError, match=words):
            authors.read_scores(path, gold, 3)


def test_files_that_are_missing_name_the_command_that_fetches_them(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="calibrant data fetch tfg-authors"):
        authors.result_rows(tmp_path)
