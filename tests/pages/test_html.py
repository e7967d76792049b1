from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from html import unescape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from msgspec import structs

from calibrant.data import predictions
from calibrant.exceptions import InputError
from calibrant.pages import Page, page, write
from calibrant.parts import installing
from calibrant.results.drawing import Report
from calibrant.verbs import report
from tests.decimals import decimals, decimals_of_page
from tests.html_reader import HOSTILE, Reader
from tests.quantities import defined


@pytest.fixture(scope="module")
def two_html(two_page: Page) -> str:
    return two_page.to_html()


@pytest.fixture(scope="module")
def class_html(class_page: Page) -> str:
    return class_page.to_html()


@pytest.mark.parametrize("which", ["two_html", "class_html"])
def test_every_tag_is_closed(which: str, request: pytest.FixtureRequest) -> None:
    reader = Reader(request.getfixturevalue(which))
    assert reader.faults == []
    assert reader.open == []


@pytest.mark.parametrize("which", ["two_html", "class_html"])
def test_the_page_runs_nothing_and_asks_for_nothing(which: str, request: pytest.FixtureRequest) -> None:
    html = request.getfixturevalue(which)
    reader = Reader(html)
    assert not {"script", "img", "iframe", "object", "embed", "form"} & {tag for tag, _ in reader.elements}
    for tag, attributes in reader.elements:
        assert not [name for name in attributes if name.startswith("on")], tag
        for name in ("src", "href", "xlink:href", "action", "srcset"):
            assert (attributes.get(name) or "#").startswith(("#", "data:")), (tag, attributes)
    style = defined(re.search(r"<style>(.*?)</style>", html, re.DOTALL))
    assert not re.search(r"@import|url\(", style[1])


def test_hostile_names_are_shown_and_not_run(class_html: str) -> None:
    assert HOSTILE not in class_html
    assert HOSTILE in Reader(class_html).text
    assert "<b>VERB</b>" in Reader(class_html).text
    assert "<b>VERB" not in class_html


def test_identifiers_are_unique(two_html: str, class_html: str) -> None:
    for html in (two_html, class_html):
        identifiers = [a["id"] for _, a in Reader(html).elements if "id" in a]
        assert len(identifiers) == len(set(identifiers))


def test_the_page_is_far_below_a_megabyte(two_html: str, class_html: str) -> None:
    assert len(two_html.encode()) < 500_000
    assert len(class_html.encode()) < 500_000


def test_the_page_is_the_same_each_time(two: Report, two_html: str) -> None:
    assert page(two).to_html() == two_html


def test_the_page_holds_headline_plug_in_figures_decomposition_recipe_and_command(
    two_page: Page, two_html: str
) -> None:
    text = " ".join(Reader(two_html).text.split())
    for card in two_page.sections[0].cards:
        for part in (card.error, card.interval, card.plug_in, card.verdict):
            assert part in text
    for part in (
        "the papers' CalibErr",
        "= calibration MSE",
        "+ refinement",
        "− resolution",
        "+ uncertainty",
    ):
        assert part in text
    assert "calibrant report first.csv second.csv -o 'a <report>.html'" in text
    assert "Squared errors: 0.0040, interval 0.0020 to 0.0060" in text
    assert two_html.count("<svg") == 8  # both curves, each with consistency bars, smooth, two pairs of bars


def test_every_number_that_is_shown_is_explained(two_page: Page, two_html: str) -> None:
    text = " ".join(Reader(two_html).text.split())
    for group in two_page.sections[0].numbers:
        for row in group.rows:
            assert " ".join(row.meaning.split()) in text


def test_the_bin_table_holds_every_bin(two: Report, two_html: str) -> None:
    text = Reader(two_html).text
    for model in two.models:
        for row in model.measured["binary"].bins:
            assert f"{row.frequency.estimate:.4f}" in text


@pytest.mark.parametrize("which", ["two", "classes"])
def test_each_number_of_a_view_with_a_section_is_as_it_is_printed_as_text(
    which: str, request: pytest.FixtureRequest
) -> None:
    found = request.getfixturevalue(which)
    made = page(found)
    shown = decimals_of_page(made.to_html())
    views = [each for model in found.models for each in model.measured.views]
    views = [each for each in views if each.view in [section.view for section in made.sections]]
    assert views
    for view in views:
        for table in view.to_tables():
            printed = decimals(replace(table, most=None).to_text())
            assert printed
            assert printed <= shown


def test_the_class_table_holds_each_class(classes: Report, class_html: str) -> None:
    measured = classes.models[0].measured
    text = Reader(class_html).text
    assert "Each interval is for that class alone" in text
    for name in ("NOUN", "<b>VERB</b>", "$x$"):
        assert f"{measured[f'class:{name}'].ece:.4f}" in text
    assert f"{defined(measured.mean).plug_in_calibration_error:.4f}" in text


def test_scores_that_crowd_near_zero_are_also_drawn_on_axes_of_log_odds(two_html: str) -> None:
    rng = np.random.default_rng(20261121)
    score = rng.beta(0.05, 1, 3000)
    table = pd.DataFrame({"score": score, "label": (rng.random(3000) < score).astype(int)})
    assert "On log-odds axes" in page(report([table], names=["skewed"])).to_html()
    assert "On log-odds axes" not in two_html


def test_the_style_knows_dark_pages_and_paper(two_html: str) -> None:
    assert "prefers-color-scheme: dark" in two_html
    assert "@media print" in two_html
    assert 'name="viewport"' in two_html


def test_every_colour_of_a_figure_is_a_variable_of_the_style_in_each_theme(two_html: str) -> None:
    used = set(re.findall(r"var\(--([a-z0-9-]+), #[0-9a-f]{6}\)", two_html))
    style = two_html[two_html.index("<style>") : two_html.index("</style>")]
    themes = style.split("@media")
    for theme in [themes[0]] + [t for t in themes if t.startswith((" (prefers", " print"))]:
        assert used <= set(re.findall(r"--([a-z0-9-]+):", theme))


def test_a_report_is_written_whole(tmp_path: Path, one_page: Page) -> None:
    write(tmp_path / "report.html", one_page)
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == one_page.to_html()
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_a_folder_that_does_not_exist_is_an_error(tmp_path: Path, one_page: Page) -> None:
    with pytest.raises(InputError, match="cannot write"):
        write(tmp_path / "no" / "report.html", one_page)


def test_a_failure_leaves_the_old_report(
    tmp_path: Path, one_page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> str:
        raise MemoryError

    path = tmp_path / "report.html"
    path.write_text("old")
    monkeypatch.setattr("calibrant.pages.html.render", fail)
    with pytest.raises(MemoryError):
        write(path, one_page)
    assert path.read_text() == "old"


@pytest.mark.parametrize(
    ("models", "svgs", "note"),
    [
        (8, 8 * 3 + 1, ""),
        (12, 12, "Smooth curves and histograms are left out"),
        (40, 0, "Figures are left out"),
    ],
)
def test_a_page_of_many_models_stays_below_a_megabyte_and_says_what_it_leaves_out(
    one: Report, models: int, svgs: int, note: str
) -> None:
    many = Report(tuple(structs.replace(one.models[0], name=f"model {number}") for number in range(models)))
    html = page(many).to_html()
    assert len(html.encode()) < 1_000_000
    assert html.count("<svg") == svgs
    assert note in html


def test_a_long_table_of_classes_goes_by_error_and_is_searched_by_one_script_that_the_policy_names() -> None:
    rng = np.random.default_rng(5)
    names = [HOSTILE, *(f"class {place}" for place in range(19))]
    score = rng.dirichlet([0.4] * 20, 800)
    table = pd.DataFrame(score, columns=[f"p_{name}" for name in names])
    table.insert(0, "label", [names[place] for place in rng.integers(0, 20, 800)])
    found = page(report([table], names=["many"]))
    errors = [row[0].calibration_error.estimate or 0.0 for _, row in defined(found.classes).rows]
    assert errors == sorted(errors, reverse=True)
    html = found.to_html()
    scripts = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    assert len(scripts) == 1
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    policy = defined(re.search(r'Content-Security-Policy" content="([^"]*)"', html))
    assert policy[1].endswith(f"script-src 'sha256-{digest}'")
    assert HOSTILE not in html
    assert Reader(html).faults == []


def test_every_entry_of_the_contents_is_a_section(class_html: str) -> None:
    elements = Reader(class_html).elements
    identifiers = {attributes.get("id") for _, attributes in elements}
    links = {
        (attributes["href"] or "#")[1:]
        for tag, attributes in elements
        if tag == "a" and "download" not in attributes
    }
    assert {"view-1", "classes", "recipe"} <= links <= identifiers


def test_without_matplotlib_a_page_has_all_numbers_and_says_how_to_get_figures(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    content = report(predictions("dated", "naive-bayes"))
    whole = page(content).to_html()
    monkeypatch.setattr("calibrant.pages.sections.is_here", lambda package: package != "matplotlib")
    plain = unescape(page(content).to_html())
    assert "<svg" in whole
    assert "<svg" not in plain
    assert f"Figures need matplotlib: {installing('plots')}" in plain
    assert plain.count('class="value"') == whole.count('class="value"')
