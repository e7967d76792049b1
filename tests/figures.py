"""Texts of figures, as a reader sees them."""

from __future__ import annotations

from itertools import combinations

from matplotlib.figure import Figure
from matplotlib.text import Text


def misplaced(figure: Figure) -> list[str]:
    """Return the visible texts that leave the figure, and the pairs of them that overlap."""
    figure.draw_without_rendering()
    seen = [each for each in figure.findobj(Text) if each.get_visible() and each.get_text().strip()]
    hidden = {id(each) for ax in figure.axes if not ax.get_visible() for each in ax.findobj(Text)}
    for ax in figure.axes:
        for axis in (ax.xaxis, ax.yaxis):
            low, high = sorted(axis.get_view_interval())
            ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
            unseen = [tick for tick in ticks if not low <= tick.get_loc() <= high]
            hidden |= {id(label) for tick in unseen for label in (tick.label1, tick.label2)}
    page = figure.bbox.padded(0.5)
    boxes = [(text.get_text(), text.get_window_extent()) for text in seen if id(text) not in hidden]
    outside = [
        text for text, box in boxes if not (page.contains(box.x0, box.y0) and page.contains(box.x1, box.y1))
    ]
    close = [
        f"{one} / {other}"
        for (one, first), (other, second) in combinations(boxes, 2)
        if first.padded(-1).overlaps(second.padded(-1))
    ]
    return outside + close
