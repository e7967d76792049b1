"""Pages that scripts write about estimates: the gathered simulations, and the articles of R's dsl."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.quantities import defined


def script(root: Path, name: str) -> ModuleType:
    """A module of the folder scripts."""
    spec = defined(importlib.util.spec_from_file_location(name, root / "scripts" / f"{name}.py"))
    found = importlib.util.module_from_spec(spec)
    sys.modules[name] = found  # for its dataclasses
    defined(spec.loader).exec_module(found)
    return found


@pytest.fixture(scope="module")
def gathered(root: Path) -> ModuleType:
    return script(root, "estimates_page")


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("92.3 (93)", (92.3, 93.0)),
        ("**90.0 (0.92)**", (90.0, 0.92)),
        ("99.0w (5.97)", (99.0, 5.97)),
        ("94.6 (94.2) 0.47", (94.6, 0.47)),
        ("97.8 (3209) *10 % none*", (97.8, 3209.0)),
        ("60", None),
        ("-", None),
    ],
)
def test_cells_of_all_pages_are_read(
    gathered: ModuleType, cell: str, expected: tuple[float, float] | None
) -> None:
    assert gathered.measured(cell) == expected


def test_failing_cells_are_named(
    gathered: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "one.md").write_text(
        "## Part\n\n| positive, % | labels | labels | dsl | ppi_py | warned, % |\n"
        "|---|---|---:|---:|---:|---:|\n"
        "| 5 | 60 | 95.0 (4) | 80.0 (2) | 90.0 (1) | 70 |\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(gathered, "STUDIES", tmp_path)
    page = gathered.Page("one", "all", 200)
    labels, dsl = gathered.cells(page)
    assert (labels.method, labels.labels, labels.coverage, labels.width) == ("labels", 60, 95.0, 4.0)
    assert (dsl.where, dsl.warned, dsl.peers) == (
        "Part; positive, %: 5, labels: 60",
        True,
        {"ppi_py": (90.0, 1.0)},
    )
    assert gathered.failing(page, [labels, dsl]) == [dsl]
    assert list(gathered.beside([labels, dsl], {"dsl": "ppi_py"})) == [
        "| `dsl` | `ppi_py` | 60 | 1 | 2.00 | 80.0 | 90.0 |"
    ]


def test_the_page_of_all_simulations_is_up_to_date(
    gathered: ModuleType, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gathered, "TARGET", tmp_path / "estimates.md")
    gathered.main()
    stored = (root / "docs/studies/estimates.md").read_text(encoding="utf-8")
    assert (tmp_path / "estimates.md").read_text(encoding="utf-8") == stored, (
        "run python scripts/estimates_page.py"
    )


def test_estimates_are_near_the_published_ones(root: Path, data: Path) -> None:
    articles = script(root, "dsl_articles")
    folder = data / "predicted-variables"
    for example in articles.EXAMPLES:
        if example.file == "states":  # whose labeled rows are no random sample
            continue
        distance, _ = articles.farthest(example, articles.fits(example, folder)["recalibrated"])
        assert distance < 0.8, example.title


@pytest.mark.slow
def test_the_page_of_the_rules_of_names_has_the_numbers_of_its_table(root: Path) -> None:
    page = (root / "docs/studies/named_rule.md").read_text(encoding="utf-8")
    for name, table in script(root, "named_rule").tables().items():
        assert f"<!-- table: {name} -->\n{table}\n<!-- end -->" in page, "run python scripts/named_rule.py"
