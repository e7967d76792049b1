"""Conditions of `compare --fail-if` about rows that are not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command_line import Run


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        (
            "overall.0.difference < 0",
            "overall has no row '0', but toy/large.toy/small.items, toy/large.toy/small.tasks; "
            "overall.difference is about every row",
        ),
        (
            "systems.small.mean.low < 1",
            "systems has no row 'small', but toy/small and 1 more; systems.mean.low is",
        ),
        ("tasks.quiz.p_value < 1", "tasks has no row 'quiz', but quiz_"),
        ("no.difference < 1", "there is no row for 'no.difference'; some rows: "),
    ],
)
def test_a_row_that_is_not_there_is_an_error_that_names_the_rows_of_its_table(
    run: Run, condition: str, said: str
) -> None:
    logs = Path(__file__).resolve().parents[2] / "archives" / "logs" / "lm_eval-0.4.13"
    ran = run("compare", logs, "--fail-if", condition)
    assert ran.code == 2
    assert f"calibrant: --fail-if {condition!r}: {said}" in ran.err
