"""The explorer as a reader has it: hostile texts, narrow and wide, light and dark, clicks and keys."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import date, timedelta
from html import unescape
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pytest

from calibrant.events.files.store import StoredCount, StoredDocument, StoredEvidence
from calibrant.events.files.store_writing import StoreWriter
from tests.quantities import defined

pytestmark = pytest.mark.browser

HOSTILE = "</title><script>document.body.remove()</script><img src=x onerror=document.body.remove()>\"'&"
TEXT = "American planes bombed the city .\nThe Pentagon said that they attacked two bridges .\n"


def evidence(country: str, probability: float) -> StoredEvidence:
    place = TEXT.index("they")
    return StoredEvidence(country, "attack", probability, 0, 0, 15, 1, place, place + 4)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """600 documents of three years, and one whose every text is hostile."""
    folder = tmp_path_factory.mktemp("explorer") / "events <b>store & co"
    rng = np.random.default_rng(7)
    countries = ["USA", "IRQ", "ISR", "GBR", "x" * 60]
    with StoreWriter(folder, {"samples": 100, "with_text": True}) as writer:
        for number in range(600):
            day = date(2001, 1, 1) + timedelta(days=int(rng.integers(1100)))
            country = countries[int(rng.integers(5)) if number % 3 else 0]
            bits = rng.random(100) < rng.beta(0.7, 0.7)
            bits[0] = True
            share = float(bits.mean())
            packed = np.packbits(bits, bitorder="little").tobytes()
            count, pair = StoredCount(country, share, share > 0.5, packed), evidence(country, share)
            writer.write(StoredDocument(f"d{number}", day, False, [count], [pair], f"Story {number}", TEXT))
        all_samples = np.packbits(np.ones(100, bool), bitorder="little").tobytes()
        counts = [StoredCount(HOSTILE, 1.0, True, all_samples)]
        text = TEXT + HOSTILE + "\u202e" + "y" * 300
        pairs = [evidence(HOSTILE, 1.0)]
        writer.write(StoredDocument(HOSTILE, date(2002, 1, 1), False, counts, pairs, HOSTILE, text))
        writer.finish()
    return folder


@pytest.fixture(scope="module")
def address(store: Path) -> Iterator[str]:
    """Where the store is served."""
    command = [sys.executable, "-m", "calibrant", "explore", str(store), "--no-browser", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        found = re.search(r"http://[^ ]*(?=/ )", defined(process.stdout).readline())
        assert found is not None, "the explorer did not start"
        yield found[0]
    finally:
        process.terminate()
        process.communicate()


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the browser."""
    return tmp_path_factory.mktemp("profile")


def chromium(url: str, profile: Path, *options: str) -> subprocess.CompletedProcess[str]:
    program = os.environ.get("CALIBRANT_BROWSER")
    if program is None:
        pytest.skip("needs a browser: make browser")
    fixed = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
    fixed += ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--enable-logging=stderr"]
    command = [program, *fixed, f"--user-data-dir={profile}", *options, url]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)


PAGES = {
    "overview": "/",
    "weeks": "/?by=week&rates=1",
    "years": "/?from=2001&to=2002&own=1",
    "country": "/country?country=USA&by=month",
    "comparison": "/compare?first=USA&second=IRQ&by=quarter",
    "documents": "/documents?country=USA&by=year&period=2002",
    "document": "/document?id=d3",
    "hostile country": f"/country?{urlencode({'country': HOSTILE})}",
    "hostile comparison": f"/compare?{urlencode({'first': HOSTILE, 'second': 'x' * 60})}",
    "hostile list": f"/documents?{urlencode({'country': HOSTILE})}",
    "hostile document": f"/document?{urlencode({'id': HOSTILE})}",
    "nothing": f"/{HOSTILE}",
}


@pytest.mark.parametrize("page", PAGES)
def test_the_browser_complains_of_nothing_and_shows_the_whole_page(
    address: str, profile: Path, page: str
) -> None:
    run = chromium(address + PAGES[page], profile, "--dump-dom")
    complaints = [line for line in run.stderr.splitlines() if "CONSOLE" in line]
    assert page == "nothing" or not complaints
    assert not any("Content Security Policy" in line for line in complaints)
    assert "<footer>" in run.stdout
    assert "<script" not in run.stdout
    assert "<img" not in run.stdout
    if page.startswith("hostile"):
        assert "<script>document.body.remove()" in unescape(run.stdout)


@pytest.mark.parametrize("look", ["light", "dark"])
def test_pages_are_drawn_in_light_and_in_dark(address: str, profile: Path, look: str) -> None:
    from matplotlib.image import imread

    picture = profile / f"{look}.png"
    scheme = f"--blink-settings=preferredColorScheme={1 if look == 'light' else 0}"
    chromium(address + PAGES["country"], profile, scheme, "--window-size=900,900", f"--screenshot={picture}")
    pixels = np.asarray(imread(picture))[..., :3]
    paper = pixels[2, 2].mean()
    assert paper > 0.9 if look == "light" else paper < 0.2
    blue = pixels[..., 2] - pixels[..., 0]
    assert (blue > 0.15).mean() > 0.02  # the band is there: styles apply, although no page may carry its own
    red = pixels[..., 0] - pixels[..., 2]
    assert (red > 0.3).mean() > 0.0005  # and so is the 1-best line


WIDE = """<!doctype html>
<style>body {{ margin: 0 }} iframe {{ border: 0; width: {width}px; height: 3000px }}</style>
<iframe src="page.html"></iframe><pre id="facts"></pre><script>
onmessage = e => document.getElementById("facts").textContent = e.data</script>"""
PROBE = """<script>onload = () => { const page = document.documentElement;
const outside = [...document.querySelectorAll("body *")].filter(e =>
  e.getBoundingClientRect().right > page.clientWidth + 1 && !e.closest(".scroll, svg, .skip"));
const names = outside.slice(0, 5).map(e => e.tagName + "." + e.className);
parent.postMessage([page.scrollWidth <= page.clientWidth + 1, ...names].join(" "), "*") }</script>"""


@pytest.mark.parametrize("width", [360, 768, 1280])
@pytest.mark.parametrize("page", [name for name in PAGES if name != "nothing"])
def test_nothing_sticks_out_at_any_width(
    address: str, profile: Path, tmp_path: Path, page: str, width: int
) -> None:
    # Pages refuse to be framed, so a copy is, with its style inside.
    html = chromium(address + PAGES[page], profile, "--dump-dom").stdout
    style = unescape(re.sub("<[^>]*>", "", chromium(f"{address}/style.css", profile, "--dump-dom").stdout))
    html = html.replace("</head>", f"<style>{style}</style></head>").replace("</body>", f"{PROBE}</body>")
    (tmp_path / "page.html").write_text(html, encoding="utf-8")
    (tmp_path / "frame.html").write_text(WIDE.format(width=width), encoding="utf-8")
    dom = chromium(
        (tmp_path / "frame.html").as_uri(), profile, "--dump-dom", "--window-size=1600,1000"
    ).stdout
    found = re.search(r'<pre id="facts">(.+?)</pre>', dom)
    assert found is not None, "the page did not load"
    assert found[1].split() == ["true"]


def test_a_range_of_years_can_be_chosen_and_left(address: str, profile: Path) -> None:
    shown = chromium(address + "/country?country=USA&by=year&from=2002&to=2003", profile, "--dump-dom").stdout
    form = defined(re.search(r'<form class="years".*?</form>', shown, re.DOTALL))[0]
    assert re.findall(r"<option selected[^>]*>(\d+)", form) == ["2002", "2003"]
    assert re.findall(r'type="hidden" name="(\w+)" value="(\w+)"', form) == [
        ("by", "year"),
        ("country", "USA"),
    ]
    assert ">2001</a>" not in shown
    whole = unescape(defined(re.search(r'href="([^"]*)">all years', form))[1])
    assert ">2001</a>" in chromium(address + whole, profile, "--dump-dom").stdout


def test_links_lead_from_a_period_to_a_document(address: str, profile: Path) -> None:
    page = "/country?country=USA&by=quarter"
    for pattern in (r'<a href="(/documents\?[^"]*period=2002-Q1)"', r'<a href="(/document\?id=[^"]*)"'):
        found = defined(re.search(pattern, chromium(address + page, profile, "--dump-dom").stdout))
        page = unescape(found[1])
    shown = chromium(address + page, profile, "--dump-dom").stdout
    assert re.search(r'<mark class="mention">American planes</mark>', shown)
    assert re.search(r'<mark class=" ?agent">they</mark>', shown)
