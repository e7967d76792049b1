"""The report as a reader has it: a browser without a network, narrow and wide, light and dark, paper."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from calibrant.data import example, predictions

pytestmark = pytest.mark.browser

HOSTILE = "</title><script>document.body.remove()</script><img src=x onerror=document.body.remove()>"

# A page that shows the report in a frame of a given width and writes down what the frame tells about itself.
FRAME = """<!doctype html><pre id="facts"></pre>
<script>onmessage = e => document.getElementById("facts").textContent = JSON.stringify(e.data)</script>
<iframe src="probed.html" style="width: {width}px; height: 900px; border: 0"></iframe>"""
PROBE = """<script>onload = () => {
  const page = document.documentElement, look = getComputedStyle(document.body);
  const bare = look.backgroundColor === "rgba(0, 0, 0, 0)";
  const outer = [...document.querySelectorAll("body *")].filter(
    e => e.getBoundingClientRect().right > page.clientWidth + 1 && !e.closest(".scroll, svg, pre"));
  document.querySelectorAll("details").forEach(e => e.open = true);
  const scrolled = [...document.querySelectorAll(".scroll")].filter(e => e.scrollWidth > e.clientWidth + 1);
  parent.postMessage({scrolled: scrolled.map(e => e.innerText.slice(0, 60)),
    width: page.clientWidth, needs: page.scrollWidth, ink: look.color,
    paper: bare ? getComputedStyle(page).backgroundColor : look.backgroundColor,
    outside: outer.slice(0, 5).map(e => e.tagName + "." + e.className)}, "*")
}</script>"""


def binary_tables(folder: Path) -> list[str]:
    """Both shipped models."""
    return ["report", *(str(predictions("dated", model)) for model in ("naive-bayes", "logistic-regression"))]


def hostile_tables(folder: Path) -> list[str]:
    """Two models of three classes, whose names try to become markup or to burst the page."""
    classes = [HOSTILE, "$x_1$ & co", "x" * 90]
    rng = np.random.default_rng(20261121)
    true = rng.dirichlet([1, 1, 1], 500)
    tables = ["report"]
    for power in (1, 2):
        score = true**power / (true**power).sum(axis=1, keepdims=True)
        table = pd.DataFrame(score, columns=[f"p_{name}" for name in classes])
        table.insert(0, "label", [classes[rng.choice(3, p=row)] for row in true])
        path = folder / f"<i>{power}&{'y' * 60}.csv"
        table.to_csv(path, index=False)
        tables.append(str(path))
    return tables


def evaluation(folder: Path) -> list[str]:
    """The shipped evaluation."""
    return ["protocol", str(example("summaries"))]


def hostile_evaluation(folder: Path) -> list[str]:
    """Labels, systems and items whose names try to become markup or to burst the page."""
    label, other = HOSTILE.replace('"', ""), "x" * 90
    rows = [f"<i>{item}</i>,{name},{'y' * 70}{item % 4},{(label, other)[item * k % 3 > 0]}"
            for item in range(40) for k, name in ((1, HOSTILE), (2, "$x_1$ & co"))]  # fmt: skip
    tables = {
        "annotations": ["item,annotator,document,label", *rows],
        "one": ["item,label", *(f"<i>{item}</i>,{(label, other)[item % 2]}" for item in range(40))],
        "two": ["item,probability", *(f"<i>{item}</i>,{(item % 9 + 0.5) / 10}" for item in range(40))],
    }
    for name, lines in tables.items():
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    text = f'[task]\nname = "{label}"\ndescription = "{other}"\nlabels = ["{label}", "{other}"]\nbudget = 3\n'
    text += f'[annotators]\nfile = "annotations.csv"\n[reference]\nties = "{other}"\n'
    text += f'[[systems]]\nname = "{label}"\nfile = "one.csv"\n'
    text += f'[[systems]]\nname = "{"z" * 80}"\nfile = "two.csv"\n'
    (folder / "eval.toml").write_text(text, encoding="utf-8")
    return ["protocol", str(folder / "eval.toml")]


@pytest.fixture(scope="module", params=[binary_tables, hostile_tables, evaluation, hostile_evaluation])
def report(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report on two models, or on an evaluation."""
    folder = tmp_path_factory.mktemp("report")
    page = folder / "report.html"
    command = [sys.executable, "-m", "calibrant", *request.param(folder), "-o", str(page)]
    subprocess.run(command, check=True, capture_output=True)
    return page


def chromium(page: Path, *options: str) -> subprocess.CompletedProcess[str]:
    program = os.environ.get("CALIBRANT_BROWSER")
    if program is None:
        pytest.skip("needs a browser: make browser")
    fixed = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
    fixed += [
        "--host-resolver-rules=MAP * ~NOTFOUND",
        "--enable-logging=stderr",
        "--virtual-time-budget=5000",
    ]
    profile = f"--user-data-dir={page.parent / 'profile'}"
    command = [program, *fixed, profile, *options, page.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)


def facts(report: Path, width: int, *options: str) -> dict[str, Any]:
    """Return the page's report about itself in a frame of this width."""
    html = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", report.read_text(encoding="utf-8"))
    (report.parent / "probed.html").write_text(html.replace("</body>", f"{PROBE}</body>"), encoding="utf-8")
    frame = report.parent / "frame.html"
    frame.write_text(FRAME.replace("{width}", str(width)), encoding="utf-8")
    dom = chromium(frame, "--dump-dom", "--window-size=1600,1000", *options).stdout
    found = re.search(r'<pre id="facts">(.+?)</pre>', dom)
    assert found is not None, "the page did not load"
    values: dict[str, Any] = json.loads(found[1].replace("&quot;", '"'))
    return values


def luminance(colour: str) -> float:
    """Return the relative luminance of an `rgb(r, g, b)` color (WCAG 2.2)."""
    shares = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(values: dict[str, Any]) -> float:
    dark, light = sorted([luminance(values["ink"]), luminance(values["paper"])])
    return (light + 0.05) / (dark + 0.05)


def test_the_page_opens_without_a_network_and_complains_of_nothing(report: Path) -> None:
    run = chromium(report, "--dump-dom")
    assert "CONSOLE" not in run.stderr
    assert run.stdout.count("<svg") >= 2
    assert "Calibration error" in run.stdout
    assert "<script" not in run.stdout


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_nothing_sticks_out_at_any_width(report: Path, width: int) -> None:
    values = facts(report, width)
    assert values["needs"] <= values["width"] + 1, values["outside"]


def test_no_table_has_to_be_scrolled_on_a_phone(report: Path) -> None:
    assert facts(report, 390)["scrolled"] == []


def test_no_table_of_two_models_has_to_be_scrolled_on_a_screen(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    rng = np.random.default_rng(5)
    true = rng.dirichlet(np.full(12, 0.5), 400)
    label = [f"class{rng.choice(12, p=row):02}" for row in true]
    for power in (1, 2):
        score = true**power / (true**power).sum(axis=1, keepdims=True)
        table = pd.DataFrame(score, columns=[f"p_class{place:02}" for place in range(12)])
        table.assign(label=label).to_csv(tmp_path / f"model-{power}.csv", index=False)
    models = [str(tmp_path / f"model-{power}.csv") for power in (1, 2)]
    command = [sys.executable, "-m", "calibrant", "report", *models, "-o", str(page)]
    subprocess.run(command, check=True, capture_output=True)
    assert facts(page, 1300)["scrolled"] == facts(page, 390)["scrolled"] == []


def test_text_stands_out_in_light_and_in_dark(report: Path) -> None:
    light = facts(report, 1280, "--blink-settings=preferredColorScheme=1")
    dark = facts(report, 1280, "--blink-settings=preferredColorScheme=0")
    assert luminance(light["paper"]) > luminance(light["ink"])
    assert luminance(dark["paper"]) < luminance(dark["ink"])
    assert min(contrast(light), contrast(dark)) >= 7


def test_the_page_prints(report: Path) -> None:
    paper = report.with_suffix(".pdf")
    chromium(report, f"--print-to-pdf={paper}", "--no-pdf-header-footer")
    assert paper.read_bytes().startswith(b"%PDF")
