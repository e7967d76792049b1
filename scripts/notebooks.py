"""Run the pages of docs/notebooks and docs/gallery.md: draw their figures, and write the notebooks.

python scripts/notebooks.py [PAGE...]      of each page: docs/images/PAGE-N.svg, and docs/notebooks/PAGE.ipynb

A page has blocks of Python with their outputs, which the tests run. A block whose last line returns a
figure is followed by the figure. The notebook has the same texts, code and outputs.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import doctest
import io
import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from calibrant.plots import render

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGES = [DOCS / "gallery.md", *sorted((DOCS / "notebooks").glob("*.md"))]
BLOCK = re.compile(r"^```pycon\n(.*?)^```$", re.MULTILINE | re.DOTALL)
IMAGE = re.compile(r"^!\[[^\]]*\]\(\S+?\)\n*", re.MULTILINE)


def code_of(block: str) -> str:
    """Return the code of a block of Python, without prompts and outputs."""
    return "".join(example.source for example in doctest.DocTestParser().get_examples(block))


def run(code: str, names: dict[str, Any]) -> tuple[str, Any]:
    """Run code as a notebook does; return what it prints, and the value of a last expression."""
    tree = ast.parse(code)
    last = tree.body[-1]
    if isinstance(last, ast.Expr):
        kept = ast.Assign([ast.Name("_", ast.Store())], last.value)
        tree.body[-1] = ast.copy_location(ast.fix_missing_locations(kept), last)
    names["_"] = None
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(ast.fix_missing_locations(tree), "page", "exec"), names)
    return out.getvalue(), names["_"] if isinstance(last, ast.Expr) else None


def cell(kind: str, number: int, text: str, outputs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a cell of a notebook."""
    own: dict[str, Any] = {"id": f"cell-{number}", "cell_type": kind, "metadata": {}}
    own["source"] = text.strip("\n").splitlines(keepends=True)
    return own | ({"execution_count": None, "outputs": outputs} if kind == "code" else {})


def draw(page: Path) -> list[dict[str, Any]]:
    """Run a page, write its figures, and return the cells of its notebook."""
    names: dict[str, Any] = {"__name__": "__main__"}
    text, figures, end = page.read_text(encoding="utf-8"), 0, 0
    cells: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for match in BLOCK.finditer(text):
            between = IMAGE.sub("", text[end : match.start()])
            cells += [cell("markdown", len(cells), between, [])] if between.strip() else []
            code, end = code_of(match[1]), match.end()
            printed, value = run(code, names)
            outputs: list[dict[str, Any]] = []
            if printed:
                lines = printed.splitlines(keepends=True)
                outputs.append({"output_type": "stream", "name": "stdout", "text": lines})
            figure = getattr(value, "figure_", None)
            if figure is not None:
                figures += 1
                (DOCS / "images" / f"{page.stem}-{figures}.svg").write_bytes(render(figure, "svg"))
                data: dict[str, Any] = {"image/png": base64.b64encode(render(figure, "png")).decode()}
                outputs.append({"output_type": "display_data", "data": data, "metadata": {}})
            elif value is not None:
                data = {"text/plain": repr(value).splitlines(keepends=True)}
                outputs.append({"output_type": "display_data", "data": data, "metadata": {}})
            cells.append(cell("code", len(cells), code, outputs))
    rest = IMAGE.sub("", text[end:])
    return cells + ([cell("markdown", len(cells), rest, [])] if rest.strip() else [])


def main(pages: list[Path]) -> None:
    """Write figures and notebooks of pages."""
    for page in pages:
        cells = draw(page)
        if page.parent.name == "notebooks":
            kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
            notebook = {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
            text = json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
            page.with_suffix(".ipynb").write_text(text, encoding="utf-8")
        print(f"{page.name}: {len(cells)} cells")


if __name__ == "__main__":
    main([Path(name).resolve() for name in sys.argv[1:]] or PAGES)
