from __future__ import annotations

import json
from pathlib import Path

from calibrant.studies import fill


def test_the_page_of_the_benchmarks_shows_their_record_and_hides_no_miss(root: Path) -> None:
    record = json.loads((root / "docs" / "benchmarks.json").read_text(encoding="utf-8"))
    page = (root / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert fill(page, record) == page
    for bar in record["tables"]["bars"]:
        missed = any("missed" in bar[key] for key in ("one thread", "two threads"))
        assert bar["met"] == ("no" if missed else "yes")
