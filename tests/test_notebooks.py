"""The notebooks are their pages, whose examples `test_documentation` runs."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted((ROOT / "docs" / "notebooks").glob("*.md"))


def script() -> Any:
    spec = importlib.util.spec_from_file_location("notebooks", ROOT / "scripts" / "notebooks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_there_are_two() -> None:
    assert [page.stem for page in PAGES] == ["classifier", "evaluation-log"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_notebook_has_the_code_of_its_page_and_its_figures(page: Path) -> None:
    notebooks = script()
    text = page.read_text(encoding="utf-8")
    cells = json.loads(page.with_suffix(".ipynb").read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    blocks = notebooks.BLOCK.findall(text)
    assert code == [notebooks.code_of(block).strip("\n") for block in blocks], "run scripts/notebooks.py"
    drawn = sum("image/png" in output.get("data", {}) for cell in cells for output in cell.get("outputs", []))
    images = [ROOT / "docs" / "images" / f"{page.stem}-{number}.svg" for number in range(1, drawn + 1)]
    assert drawn >= 1
    assert all(image.is_file() and f"images/{image.name}" in text for image in images)
    for block, cell in zip(blocks, (cell for cell in cells if cell["cell_type"] == "code"), strict=True):
        printed = "".join(
            line for output in cell["outputs"] if output["output_type"] == "stream" for line in output["text"]
        )
        shown = block.replace("<BLANKLINE>", "").split()
        assert all(word in shown for word in printed.split())
