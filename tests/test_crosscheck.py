"""`crosscheck`: peers give calibrant's numbers, or differ for a reason that the record states."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from crosscheck import record
from crosscheck.comparison import Case, compare

HERE = [peer for peer in record.PEERS if peer.installed]
CASES = [case for peer in HERE for case in peer.cases()]
VERSIONS = {peer.name: peer.version for peer in HERE}


@pytest.mark.filterwarnings("ignore")  # theirs
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.peer}: {case.theirs}: {case.ours}")
def test_a_peer_gives_our_number_or_differs_for_the_reason_named(case: Case) -> None:
    rows, faults = [], []
    for one in case.inputs():
        found = case.run(one)
        rows.append(record.row(case, one.name, found))
        faults += [f"{one.name}: {fault}" for fault in found.faults]
    assert not faults
    known = record.load()
    if known["peers"][case.peer] == VERSIONS[case.peer]:
        same_call = [row for row in known["rows"] if all(row[key] == rows[0][key] for key in record.KEY[:3])]
        assert not record.stale(same_call, rows), "run `make crosscheck ARGS=--update`"


def test_the_page_shows_the_record() -> None:
    text = record.PAGE.read_text(encoding="utf-8")
    assert record.page(text, record.load()) == text
    for peer in record.PEERS:
        assert f"<!-- table: {peer.name} -->" in text


def quoted() -> Iterator[tuple[str, str, str, str]]:
    """Return the outputs of peers in the notes on moving: peer, version, call, output."""
    text = (record.ROOT / "docs" / "guide" / "migrating.md").read_text(encoding="utf-8")
    for block in re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        first, *lines = block.splitlines()
        peer, version = first.removeprefix("# ").split(":")[0].split()
        for line in lines:
            call, output = line.split("  # ")
            yield peer, version, call, output


def test_the_notes_on_moving_quote_the_record() -> None:
    known = record.load()
    rows = {(row["peer"], row["theirs"], row["their_value"]) for row in known["rows"]}
    found = list(quoted())
    assert {peer for peer, *_ in found} == {"netcal", "uncertainty-calibration", "torchmetrics", "relplot"}
    for peer, version, call, output in found:
        assert known["peers"][peer] == version
        assert (peer, call, output) in rows


def test_a_difference_needs_a_reason_that_is_true() -> None:
    assert compare(1.0, 1.0 + 1e-10, "unused", lambda: False).reason == ""
    assert compare(1.0, 2.0).faults
    assert compare(1.0, 2.0, "one is added", lambda: (1.0 + 1.0, 2.0)).faults == ()
    assert compare(1.0, 2.0, "two are added", lambda: (1.0 + 2.0, 2.0)).faults
    assert compare(1.0, 2.0, "an error is no proof", lambda: [][1]).faults
    assert compare(None, float("nan"), "undefined", lambda: True).reason == "undefined"
    assert compare(1.0, lambda: float("inf"), "they divide by 0", lambda: True).theirs == "inf"


def test_a_record_of_other_verdicts_is_stale() -> None:
    row = {"peer": "p", "theirs": "f", "ours": "g", "input": "x", "verdict": "equal"}
    assert record.stale([row], [row]) == []
    assert record.stale([row], [{**row, "verdict": "a reason"}]) == ["p | f | g | x: a reason"]
    near = {**row, "verdict": "its solver stops early", "difference": 2.3e-9}
    assert record.stale([near], [row]) == record.stale([row], [near]) == []
    assert record.stale([row], [{**near, "difference": 2.3e-5}]) == ["p | f | g | x: its solver stops early"]
    assert record.stale([row, {**row, "input": "z"}], [row]) == ["p | f | g | z: is compared no more"]
