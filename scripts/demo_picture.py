"""Draw docs/images/rare-tags.svg: what `calibrant demo` says of frequent and of rare tags."""

from __future__ import annotations

from pathlib import Path

from calibrant.demo import demonstrate
from calibrant.demo.pages import changes_of
from calibrant.pages.figures import group_axes
from calibrant.plots import render
from calibrant.plots.style import figure_of

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "images" / "rare-tags.svg"


def picture() -> bytes:
    """Draw the errors of the groups of tags, from the record of the demonstration."""
    axes = group_axes(changes_of(demonstrate().tagger))
    assert axes is not None
    return render(figure_of(axes), "svg")


if __name__ == "__main__":
    PICTURE.write_bytes(picture())
