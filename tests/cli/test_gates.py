from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import numpy as np
import pytest

from calibrant import records
from calibrant.cli.gates import condition_of, failure
from calibrant.records import Quantity, Record, number, rows
from calibrant.verbs import measure
from tests.command_line import Run

SHAPES = ("text", "md", "csv", "json")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A binary table of overconfident scores, a stream of it, and a wide table with an awkward class."""
    place = tmp_path_factory.mktemp("gates")
    random = np.random.default_rng(5)
    score = random.random(800)
    label = (random.random(800) < 0.3 + 0.4 * score).astype(int)
    lines = [
        f"{s},{y},2026-01-{1 + row // 40:02},{'ab'[row % 2]}"
        for row, (s, y) in enumerate(zip(score, label, strict=True))
    ]
    (place / "long.csv").write_text("\n".join(["score,label,day,part", *lines, ""]), encoding="utf-8")
    sure = random.dirichlet([1, 1, 1], 300)
    chosen = [random.choice(["x", "y.z", "<unk>"], p=row) for row in sure]
    wide = [",".join([name, *map(str, row)]) for name, row in zip(chosen, sure, strict=True)]
    (place / "wide.csv").write_text("\n".join(["label,p_x,p_y.z,p_<unk>", *wide, ""]), encoding="utf-8")
    return place


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("calibration_error.low > 0.05", "(binary: 0."),
        ("calibration_error>0.05", "(binary: 0."),
        ("views.binary.n <= 800", "(binary: 800)"),
        ("n == 800", "(binary: 800)"),
        ("test.p_value < 0.01", "(binary: "),
        ("binary.ece_noise_floor.high >= 0", "(binary: "),
        ("recipe.rows > 1e2", "(800)"),
        ("bins.2.frequency.low > 0", "(binary, 2: 0."),
        ("bins.n > 10", "(14 of 14: binary, 1: 57; binary, 2: 57; binary, 3: 57 and 11 more)"),
        ("smooth_ece > 0.1", "(binary: undefined, the result has none)"),
        ("mean.ece > 0", "(undefined, the result has none)"),
    ],
)
def test_a_condition_that_is_met_makes_the_command_fail_after_it_has_printed(
    run: Run, folder: Path, condition: str, said: str
) -> None:
    passed = run("measure", folder / "long.csv")
    failed = run("measure", folder / "long.csv", "--fail-if", condition)
    assert (passed.code, failed.code) == (0, 3)
    assert failed.out == passed.out
    assert failed.err.startswith(f"calibrant: failed: {condition} {said}")
    assert failed.err.count("\n") == 1


@pytest.mark.parametrize(
    "condition",
    ["calibration_error.low > 0.9", "n < 800", "smooth_ece > 0.1 if defined", "test.p_value > 0.01"],
)
def test_a_condition_that_is_not_met_changes_nothing(run: Run, folder: Path, condition: str) -> None:
    ran = run("measure", folder / "long.csv", "--fail-if", condition)
    assert (ran.code, ran.err) == (0, "")


def test_each_condition_that_is_met_has_its_line(run: Run, folder: Path) -> None:
    asked = [word for each in ("n < 9000", "n > 9000", "brier > 0") for word in ("--fail-if", each)]
    ran = run("measure", folder / "long.csv", *asked)
    assert ran.code == 3
    assert [line.split(" (")[0] for line in ran.err.splitlines()] == [
        "calibrant: failed: n < 9000",
        "calibrant: failed: brier > 0",
    ]


@pytest.mark.parametrize(
    ("condition", "views"),
    [
        ("brier > 0", 4),
        ("top.brier > 0", 1),
        ("class:y.z.brier > 0", 1),
        ("views.class:<unk>.brier > 0", 1),
    ],
)
def test_a_condition_holds_for_all_views_unless_it_names_one(
    run: Run, folder: Path, condition: str, views: int
) -> None:
    ran = run("measure", folder / "wide.csv", "--fail-if", condition)
    assert ran.code == 3
    assert (f"{views} of {views}" in ran.err) is (views > 1)


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("calibration_eror > 1", "there is no number 'calibration_eror'; similar: calibration_error,"),
        ("brier.low > 0.1", "there is no number 'brier.low'; similar: brier_skill.low"),
        ("recipe.file > 1", "there is no number 'recipe.file'"),
        ("brier", "brier is a number: compare it with another, such as brier > 0.05"),
        ("brier > high", "'high' is not a finite number"),
        ("brier > nan", "'nan' is not a finite number"),
        ("brier != 3", "a condition is NAME, one of < <= > >= ==, and a number"),
        ("brier >", "a condition is NAME, one of"),
        ("", "a condition is NAME, one of"),
        ("calibration_error => 0.05", "write >= instead of =>"),
        ("calibration_error =< 0.05", "write <= instead of =<"),
        ("n = 800", "write == instead of ="),
        ("ecee > 0.05", "there is no number 'ecee'; similar: ece ("),
        ("mean.ecee > 0.05", "there is no number 'mean.ecee'; similar: mean.ece"),
    ],
)
def test_a_condition_that_cannot_be_checked_is_refused_before_anything_is_read(
    run: Run, condition: str, said: str
) -> None:
    run("measure", "no-such-file.csv", "--fail-if", condition).refused(
        f"calibrant: --fail-if {condition!r}: {said}"
    )


@pytest.mark.parametrize("wrong", ["ecee", "squared_eror", "calibration_eror.low", "plug_in"])
def test_numbers_that_not_every_table_has_are_not_suggested(run: Run, wrong: str) -> None:
    ran = run("measure", "no-such-file.csv", "--fail-if", f"{wrong} > 0.05")
    _, _, similar = ran.err.partition("similar: ")
    assert similar
    assert "mean." not in similar
    assert "smooth_ece_noise_floor." not in similar


def test_a_view_that_is_not_there_is_an_error_that_names_the_views(run: Run, folder: Path) -> None:
    ran = run("measure", folder / "wide.csv", "--fail-if", "class:q.brier > 0")
    assert ran.code == 2
    assert "there is no row for 'class:q.brier'; some rows: class:" in ran.err


def test_nested_tables_are_reached_without_their_names(run: Run, folder: Path) -> None:
    sliced = ("slices", folder / "long.csv", "--by", "part", "--by", "day")
    named = run(*sliced, "--fail-if", "a.error.low > 0")
    assert named.code == 3
    assert named.err.startswith("calibrant: failed: a.error.low > 0 (part, a: 0.")
    assert "(2 of 2: part, " in run(*sliced, "--fail-if", "part.slices.n > 1").err
    assert run(*sliced, "--fail-if", "tables.1.slices.b.signed.shrunken > -1").code == 3
    assert run(*sliced, "--fail-if", "error.p_value > 1 if defined").code == 0


@pytest.mark.parametrize("shape", SHAPES)
def test_the_output_of_every_format_is_whole(run: Run, folder: Path, shape: str) -> None:
    asked = ("measure", folder / "wide.csv", "--format", shape)
    plain, failed = run(*asked), run(*asked, "--fail-if", "brier > 0")
    assert failed.code == 3
    if shape == "json":
        one, other = json.loads(plain.out), json.loads(failed.out)
        assert one.pop("recipe").pop("command") != other.pop("recipe").pop("command")
        assert one == other
    else:
        assert failed.out == plain.out


def test_json_has_one_shape_for_one_view_and_for_several(run: Run, folder: Path) -> None:
    several = json.loads(run("measure", folder / "wide.csv", "--json").out)
    one = json.loads(run("measure", folder / "wide.csv", "--view", "top", "--json").out)
    assert one.keys() == several.keys()
    assert [each["view"] for each in several["views"]] == ["top", "class:x", "class:y.z", "class:<unk>"]
    assert one["views"] == several["views"][:1]


class Row(Record, frozen=True):
    """One row."""

    name: Annotated[str, records.name("Name", "Name of the row.")]
    share: Annotated[Quantity, number("Share", "A proportion.", group="")]


class Tables(Record, frozen=True):
    """Two tables with the same columns."""

    first: Annotated[tuple[Row, ...], rows("First", "First rows.")]
    second: Annotated[tuple[Row, ...], rows("Second", "Second rows.")]


def test_a_number_in_two_tables_needs_the_name_of_one() -> None:
    one, other = Row("a", Quantity(0.5)), Row("b", Quantity(None, reason="no data"))
    found = Tables((one,), (one, other))
    with pytest.raises(ValueError, match=r"in several tables: write first.share or second.share"):
        failure(found, condition_of("share > 0"))
    assert failure(found, condition_of("first.share > 0")) == "first.share > 0 (a: 0.5)"
    assert (
        failure(found, condition_of("second.share > 1")) == "second.share > 1 (1 of 2: b: undefined, no data)"
    )
    assert failure(found, condition_of("b.share > 1 if defined")) is None


def test_a_table_without_rows_fails_as_an_undefined_number_does() -> None:
    found = Tables((), ())
    assert (
        failure(found, condition_of("first.share > 1"))
        == "first.share > 1 (undefined, the result has none of first)"
    )
    assert failure(found, condition_of("first.share > 1 if defined")) is None


def test_python_reads_the_same_conditions(folder: Path) -> None:
    found = measure(folder / "long.csv")
    assert failure(found, condition_of("calibration_error.low > 0.9")) is None
    assert failure(found, condition_of("n < 900")) == "n < 900 (binary: 800)"
