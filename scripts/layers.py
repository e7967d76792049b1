"""Draw docs/images/layers.svg: the layers of the code, from the list that tests/test_layers.py enforces."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "images" / "layers.svg"
ENFORCED = ROOT / "tests" / "test_layers.py"

# What a layer is for, by one of its blocks.
NOTES = {
    "cli": "parse, call the workflow, print",
    "web": "a store of events as pages in a browser",
    "pages": "one HTML file",
    "verbs": "one function a command: records out",
    "plots": "figures from records",
    "io": "files and dataframes, in and out",
    "events": "which country does what in a document",
    "models": "taggers, coreference",
    "evaluate": "agreement, scores, significance",
    "propagate": "counts of uncertain structures",
    "posterior": "distributions over structures",
    "recalibrate": "maps from scores to better ones",
    "metrics": "tallies, bins, errors, intervals, tests",
    "results": "one record for each result",
    "records": "declared fields and their renderers; made-up predictions; what ships; texts",
    "exceptions": "the floor: errors, checks at the edge, compiled loops",
}
VERBS = {"metrics", "recalibrate", "propagate", "evaluate"}
# The order of blocks that share a layer; those not named here follow.
FIRST = ["records", "synthetic", "data", "documents", "exceptions", "_checks", "seeds", "lazy", "_parallel"]

WIDTH, ROW, GAP = 460, 30, 5
STYLE = """
  .page { fill: #ffffff } .block { fill: #f0f1f3; stroke: #c9ccd1 } .verb { fill: #dbe8f6; stroke: #7aa3cf }
  text { font: 12px system-ui, sans-serif; fill: #1c1e21 } .name { font: 11.5px ui-monospace, monospace }
  .note { fill: #4d525a }
  @media (prefers-color-scheme: dark) {
    .page { fill: #131416 } .block { fill: #23262b; stroke: #4a4f57 } .verb { fill: #1d3550; stroke: #5a87b8 }
    text { fill: #e6e8eb } .note { fill: #b3b8c0 }
  }
"""


def layers() -> list[list[str]]:
    """The blocks of each layer, from the floor up."""
    tree = ast.parse(ENFORCED.read_text(encoding="utf-8"))
    for node in tree.body:
        if (
            isinstance(node, ast.AnnAssign)
            and ast.unparse(node.target) == "LAYERS"
            and node.value is not None
        ):
            found: list[set[str]] = ast.literal_eval(node.value)
            return [sorted(blocks - {"__main__"}, key=place) for blocks in found]
    raise ValueError(f"{ENFORCED} has no LAYERS")


def place(block: str) -> tuple[int, str]:
    """Where a block stands among those of its layer."""
    return (FIRST.index(block) if block in FIRST else len(FIRST), block)


def row(blocks: list[str], top: int) -> Iterator[str]:
    """One layer: a box a block; the note stands in the box of a single one, else under the boxes."""
    note = NOTES[blocks[0]]
    width = (WIDTH - GAP * (len(blocks) + 1)) / len(blocks)
    for column, name in enumerate(blocks):
        left = GAP + column * (width + GAP)
        kind = "verb" if name in VERBS else "block"
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
    for blocks in reversed(layers()):
        lines += row(blocks, top)
        top += ROW + GAP + (18 if len(blocks) > 1 else 0)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top}" width="{WIDTH}">',
            "<title>The layers of calibrant, from the command line down to the floor</title>",
            f"<style>{STYLE}</style>",
            f'<rect class="page" width="{WIDTH}" height="{top}"/>',
            *lines,
            "</svg>",
            "",
        ]
    )


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
