"""Models with different items are not compared, and the note says which items differ."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from calibrant import report


def table(items: list[Any]) -> pa.Table:
    count = len(items)
    return pa.table({"score": [0.3, 0.6] * (count // 2), "label": [0, 1] * (count // 2), "item": items})


def test_a_note_names_items_of_only_one_model() -> None:
    [note] = [each for each in report([table([*range(40)]), table([*range(38)])]).notes if "computed" in each]
    assert "40 and 38 pairs (2 items of only one of them: 38, 39). Leave out such items" in note


def test_a_note_names_items_that_are_written_differently() -> None:
    numbers, texts = table([*range(40)]), table([f"{each}.0" for each in range(40)])
    [note] = [each for each in report([numbers, texts]).notes if "computed" in each]
    assert "their items differ (80 items of only one of them: 0, 0.0, 1 and 77 more)" in note
