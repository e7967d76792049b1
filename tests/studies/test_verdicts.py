"""The rule by which studies compare numbers with a paper, and that every record follows it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from calibrant import InputError
from calibrant_studies import NAMES, Finding, Study
from calibrant_studies._verdicts import Claim, above, apart, below, between, equal, judge


@pytest.mark.parametrize(
    ("claim", "low", "high", "verdict"),
    [
        (above(0), 0.1, 0.2, "agrees"),
        (above(0), -0.2, -0.1, "differs"),
        (above(0), -0.1, 0.2, "inconclusive"),
        (above(0), 0.0, 0.2, "inconclusive"),  # 0 itself is not above 0
        (above(0), -0.2, 0.0, "differs"),
        (below(0.5), 0.2, 0.4, "agrees"),
        (below(0.5), 0.2, 0.6, "inconclusive"),
        (below(0.5), 0.5, 0.6, "differs"),
        (between(0.25, 0.75), 0.3, 0.7, "agrees"),
        (between(0.25, 0.75), 0.0, 11.0, "inconclusive"),
        (between(0.25, 0.75), 0.8, 0.9, "differs"),
        (equal(0.87, width=0.02), 0.865, 0.884, "agrees"),
        (equal(0.87, width=0.02), 0.85, 0.89, "inconclusive"),  # it contains 0.87, and much else
        (equal(0.87, width=0.02), 0.871, 0.88, "differs"),
        (above(0), None, None, "inconclusive"),
        (equal(0.5, width=1.0), None, None, "inconclusive"),
        (above(0), 20.0, 20.0, "agrees"),  # a number that no sample moves
    ],
)
def test_only_an_interval_settles_a_claim(
    claim: Claim, low: float | None, high: float | None, verdict: str
) -> None:
    assert judge(claim, low, high) == verdict


def test_a_finding_has_the_verdict_of_its_interval_and_no_other() -> None:
    found = Finding("one", "a number", 0.2, -0.1, 0.5, paper="above 0", verdict="agrees", claim=above(0))
    assert found.verdict == "inconclusive"
    assert Finding("two", "a number", 0.2, paper=0.3, verdict="not comparable").verdict == "not comparable"
    with pytest.raises(ValueError, match="needs a claim"):
        Finding("three", "a number", 0.2, 0.1, 0.3, paper=0.2, verdict="agrees")


def test_ends_of_a_difference_leave_room_for_both_intervals() -> None:
    assert apart((4.0, 6.0), (1.0, 2.0)) == (2.0, 5.0)
    assert apart((4.0, 6.0), (None, None)) == (None, None)


@pytest.mark.parametrize("name", NAMES)
def test_every_statement_of_a_paper_is_judged_or_said_to_be_not_comparable(name: str, root: Path) -> None:
    record = json.loads((root / "docs/studies" / f"{name}.json").read_text(encoding="utf-8"))
    for finding in record["findings"]:
        assert (finding["paper"] is None) == (finding["verdict"] is None), finding["name"]
        assert (finding["claim"] is None) == (finding["verdict"] in (None, "not comparable")), finding["name"]


def test_a_verdict_that_the_interval_does_not_settle_is_corrected_on_reading(root: Path) -> None:
    record = json.loads((root / "docs/studies/sentiment.json").read_text(encoding="utf-8"))
    for finding in record["findings"]:
        if finding["claim"] is not None:
            finding["verdict"] = "agrees"
    assert "inconclusive" in [finding.verdict for finding in Study.from_dict(record).findings]
    record["findings"][0] |= {"verdict": "agrees", "claim": None}
    with pytest.raises(InputError, match="needs a claim"):
        Study.from_dict(record)
