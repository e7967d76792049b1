"""Draw docs/images/layers.svg: the layers of the code, from the list that tests/test_layers.py enforces."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "images" / "layers.svg"
ENFORCED = ROOT / "tests" / "test_layers.py"

# Purpose of each layer, by one of its blocks.
NOTES = {
    "demo": "one story through core and wings",
    "events": "who did what in dated texts",
    "structures": "wings: each with separate files, records, verbs and commands",
    "cli": "parse, call a verb, print",
    "pages": "one HTML file",
    "verbs": "one function a command: records out",
    "plots": "figures from records",
    "io": "files and dataframes, in and out",
    "recalibrate": "maps from scores to better ones",
    "metrics": "tallies, bins, errors, intervals, tests",
    "results": "one record for each result; which command prints which",
    "records": "declared fields and their renderers; made-up predictions; what ships",
    "exceptions": "the floor: errors, checks at the edge, compiled loops",
}
# The order of blocks that share a layer; those not named here follow.
FIRST = [
    "records",
    "results",
    "synthetic",
    "data",
    "exceptions",
    "_checks",
    "seeds",
    "lazy",
    "parts",
    "_parallel",
]
FIRST += ["structures", "estimation", "evaluation"]

WIDTH, ROW, GAP = 540, 30, 5
STYLE = """
  .page { fill: #ffffff } .block { fill: #f0f1f3; stroke: #c9ccd1 } .wing { fill: #dbe8f6; stroke: #7aa3cf }
  text { font: 12px system-ui, sans-serif; fill: #1c1e21 } .name { font: 11.5px ui-monospace, monospace }
  .note { fill: #4d525a }
  @media (prefers-color-scheme: dark) {
    .page { fill: #131416 } .block { fill: #23262b; stroke: #4a4f57 } .wing { fill: #1d3550; stroke: #5a87b8 }
    text { fill: #e6e8eb } .note { fill: #b3b8c0 }
  }
"""


def enforced(name: str) -> Any:
    """The value of a name in the test of the layers."""
    tree = ast.parse(ENFORCED.read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == name and node.value is not None:
            return ast.literal_eval(ast.unparse(node.value).replace("set()", "[]"))
    raise ValueError(f"{ENFORCED} has no {name}")


WINGS = set(enforced("WINGS"))


def layers() -> list[list[str]]:
    """The blocks of each layer, from the floor up: the core, then the wings, each above those it imports."""
    core = [sorted(blocks - {"__main__"}, key=place) for blocks in enforced("LAYERS")]
    return core + [sorted(wings, key=place) for wings in wing_layers(enforced("WINGS"))]


def wing_layers(imports: dict[str, Iterable[str]]) -> Iterator[tuple[str, ...]]:
    """The wings in layers, from what each imports.

    Examples
    --------
    >>> list(wing_layers({"a": [], "b": ["a"]}))
    [('a',), ('b',)]
    """
    order: TopologicalSorter[str] = TopologicalSorter(imports)
    order.prepare()
    while order.is_active():
        ready = order.get_ready()
        yield ready
        order.done(*ready)


def place(block: str) -> tuple[int, str]:
    """Return the position of a block in its layer."""
    return (FIRST.index(block) if block in FIRST else len(FIRST), block)


def row(blocks: list[str], top: int) -> Iterator[str]:
    """Draw one layer with one box per block; the note is in the box of a single block, or under the boxes."""
    note = NOTES[blocks[0]]
    width = (WIDTH - GAP * (len(blocks) + 1)) / len(blocks)
    for column, name in enumerate(blocks):
        left = GAP + column * (width + GAP)
        kind = "wing" if name in WINGS else "block"
        yield f'<rect class="{kind}" x="{left:.1f}" y="{top}" width="{width:.1f}" height="{ROW}" rx="4"/>'
        text = left + 10 if len(blocks) == 1 else left + width / 2
        anchor = "start" if len(blocks) == 1 else "middle"
        yield f'<text class="name" x="{text:.1f}" y="{top + 20}" text-anchor="{anchor}">{name}</text>'
    if len(blocks) == 1:
        yield f'<text class="note" x="{WIDTH - 15}" y="{top + 20}" text-anchor="end">{note}</text>'
    else:
        yield f'<text class="note" x="{WIDTH / 2}" y="{top + ROW + 16}" text-anchor="middle">{note}</text>'


def picture() -> str:
    """The picture as SVG: the command line on top, the floor at the bottom."""
    lines: list[str] = []
    top = GAP
    below: set[str] = set()
    for blocks in reversed(layers()):
        if below & WINGS and not set(blocks) & WINGS:
            top += 3 * GAP  # the core begins
        lines += row(blocks, top)
        top += ROW + GAP + (18 if len(blocks) > 1 else 0)
        below = set(blocks)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top}" width="{WIDTH}">',
            "<title>The layers of calibrant, the wings above the core</title>",
            f"<style>{STYLE}</style>",
            f'<rect class="page" width="{WIDTH}" height="{top}"/>',
            *lines,
            "</svg>",
            "",
        ]
    )


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
