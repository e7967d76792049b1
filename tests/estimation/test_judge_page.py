"""The page and the figures of judged systems."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.command_line import Run


class Checked(HTMLParser):
    """Collect the addresses and the headings of a page, and check that its tags are closed."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.open: list[str] = []
        self.headings: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [value or "" for name, value in attrs if name in ("href", "src")]
        if tag not in ("meta", "link", "br", "input"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [value or "" for name, value in attrs if name in ("href", "src")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "h2":
            self.headings.append(data)


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    quality = rng.random((2, 200))
    frame = pd.DataFrame({"system": np.repeat(["<new>", "old"], 200), "item": np.tile(np.arange(200), 2)})
    frame["judge"] = np.clip(quality + 0.1 * rng.normal(size=(2, 200)), 0, 1).ravel()
    frame["label"] = np.where(frame["item"] < 50, quality.ravel(), np.nan)
    frame["length"] = rng.integers(1, 90, 400)
    frame.to_csv(tmp_path / "judged.csv", index=False)
    return tmp_path / "judged.csv"


def test_the_page_has_all_tables_and_makes_no_request(run: Run, judged: Path) -> None:
    page = judged.with_name("page.html")
    ran = run("judge", judged, "--bias", "length", "--method", "labels", "-o", page)
    assert f"Wrote {page}" in ran.out
    html = page.read_text(encoding="utf-8")
    checked = Checked()
    checked.feed(html)
    assert checked.headings == [
        "Systems",
        "Differences, first minus second",
        "Labels of the source on other systems",
        "Error of the judge by column",
        "Methods",
        "How these numbers were computed",
    ]
    assert all(address.startswith(("data:", "#")) for address in checked.addresses)
    assert html.count("<svg") == 2
    assert "<new>" not in html
    assert "&lt;new&gt;" in html
    assert len(html) < 200_000
    heads = re.findall(r"<thead>.*?</thead>", html, re.DOTALL)
    assert heads
    assert max(head.count("<th ") + head.count("<th>") for head in heads) <= 10  # which fit 1,300 pixels


def test_classes_have_a_page_and_means_a_figure(run: Run, judged: Path) -> None:
    frame = pd.read_csv(judged)
    frame["judge"] = np.where(frame["judge"] > 0.5, "good", "bad")
    known = frame["label"].notna()
    frame["label"] = frame["label"].gt(0.5).map({True: "good", False: "bad"}).where(known)
    frame.to_csv(judged.with_name("classes.csv"), index=False)
    page, figure = judged.with_name("page.html"), judged.with_name("means.svg")
    assert run("judge", judged.with_name("classes.csv"), "-o", page).code == 0
    html = page.read_text(encoding="utf-8")
    assert "Confusion of the judge" in html
    assert run("judge", judged, "-o", figure).code == 0
    svg = figure.read_text(encoding="utf-8")
    assert all(name in svg for name in ("corrected", "judge alone", "labels alone"))
    assert re.search(r"mean label \(95\s?% intervals\)", svg)
    run("judge", judged, "-o", judged.with_name("page.txt")).refused("a report is an HTML file")
    run("judge", judged, "-o", judged).refused()
