"""Vector output: the same bytes for the same figure, and SVG that follows a page's light or dark theme."""

from __future__ import annotations

import io
import re
import warnings
from typing import Any, Literal
from xml.etree import ElementTree

import matplotlib
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from calibrant.plots.style import ROLES, resize

Kind = Literal["svg", "pdf", "png"]
SVG = "http://www.w3.org/2000/svg"
XLINK = "http://www.w3.org/1999/xlink"
FONTS = "'DejaVu Sans', Verdana, sans-serif"
FONT_LIST = re.compile(r"'DejaVu Sans'(?:, (?:'[^']*'|[\w-]+))*")
LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}(?![\d.]*e)")
GEOMETRY = ("d", "x", "y", "transform", "points", "width", "height")
REMOVED = {f"{{{SVG}}}{tag}" for tag in ("metadata", "title", "style")}
COLOR = re.compile(r"#[0-9a-f]{6}\b")
NO_TURN = re.compile(r"rotate\(-?0(?: [^)]*)?\)\s*")
NUMBERED = re.compile(r"[\w.]*_\d+")  # the identifiers that matplotlib gives to what has no name
REFERENCE = re.compile(r"url\(#([^)]*)\)")
NOT_XML = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]|\xef\xbf[\xbe\xbf]")  # in UTF-8; names come from data
SETTINGS: dict[Any, Any] = {"svg.hashsalt": "calibrant", "svg.fonttype": "none", "pdf.fonttype": 42}


def render(figure: Figure, kind: Kind, *, dpi: int = 150, width: float | None = None) -> bytes:
    """Return a figure as the bytes of a file, equal for equal figures: no date, no random names.

    Parameters
    ----------
    figure
        Any matplotlib figure.
    kind
        ``"svg"`` (text stays text), ``"pdf"`` (fonts embedded) or ``"png"``.
    dpi
        Dots per inch of a PNG.
    width
        Width in inches: 3.3 fits one column of a two-column page, 6.9 the full page. None: as it
        is.

    Returns
    -------
    bytes
        Content of the file; the caller writes it.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> render(Figure(), "svg") == render(Figure(), "svg")
    True
    """
    metadata: dict[str, None] = {
        "svg": {"Date": None, "Creator": None},
        "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
        "png": {"Software": None},
    }[kind]
    buffer = io.BytesIO()
    if width is not None:
        resize(figure, width)
    _forget_layout(figure)
    with matplotlib.rc_context(SETTINGS), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from", category=UserWarning)
        if kind == "svg":
            _draw_once(figure, buffer, metadata)
        else:
            figure.savefig(buffer, format=kind, dpi=dpi, metadata=metadata)
    content = buffer.getvalue()
    if kind == "svg":
        return NOT_XML.sub(lambda match: match[0].decode().encode("unicode_escape"), content)
    return content


def _draw_once(figure: Figure, buffer: io.BytesIO, metadata: dict[str, None]) -> None:
    """Do what `savefig` does for SVG, which draws a figure twice if it has a layout."""
    canvas, dpi = figure.canvas, figure.dpi
    try:
        svg: Any = FigureCanvasSVG(figure)
        svg.print_svg(buffer, metadata=metadata)
    finally:
        figure.set_canvas(canvas)
        figure.set_dpi(dpi)


def _forget_layout(figure: Figure) -> None:
    """Put axes back to where their grid has them: constrained layout goes on from where it last stopped."""
    if isinstance(figure.get_layout_engine(), ConstrainedLayoutEngine):
        for ax in figure.axes:
            spec = ax.get_subplotspec()
            if spec is not None and ax.get_in_layout():
                ax.set_subplotspec(spec)


def inline_svg(figure: Figure, *, name: str, description: str) -> str:
    """Return a figure as an ``<svg>`` element for a web page.

    Colors become CSS variables (``--ink``, ``--muted``, ``--faint``, ``--shade``, ``--paper``,
    ``--series-1`` ...) with the printed color as fallback, so that the page's theme decides;
    identifiers begin with ``name``, so that several figures share a page; the size is left to the
    page.

    Parameters
    ----------
    figure
        A figure in the house style.
    name
        Name of the figure, unique in the page; letters, digits and hyphens.
    description
        Description of the figure for readers who cannot see it.

    Returns
    -------
    str
        Markup whose texts are escaped.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> inline_svg(Figure(), name="empty", description="nothing").startswith("<svg")
    True
    """
    root = ElementTree.fromstring(render(figure, "svg"))
    for parent in root.iter():
        for child in list(parent):
            if child.tag in REMOVED:
                parent.remove(child)
    for element in root.iter():
        element.tag = element.tag.removeprefix(f"{{{SVG}}}")
        element.text = None if (element.text or "").isspace() else element.text
        element.tail = None if (element.tail or "").isspace() else element.tail
        for key, value in list(element.attrib.items()):
            del element.attrib[key]
            written = _rewritten(key, value, name)
            if written:
                element.attrib[key.replace(f"{{{XLINK}}}", "")] = written
    for key in ("width", "height", "version"):
        root.attrib.pop(key, None)
    root.attrib.update({"role": "img", "aria-label": description, "class": "figure"})
    root.attrib.update({"stroke-linejoin": "round", "stroke-linecap": "butt", "font-family": FONTS})
    return ElementTree.tostring(root, encoding="unicode")


def _rewritten(key: str, value: str, name: str) -> str:
    """Return an attribute's new value; an empty one is left out."""
    if key == "id":
        return "" if NUMBERED.fullmatch(value) else f"{name}-{value}"
    if key.endswith("href") and value.startswith("#"):
        return f"#{name}-{value[1:]}"
    if key in ("style", "fill", "stroke", "clip-path"):
        value = FONT_LIST.sub(FONTS, value).replace(f"font-family: {FONTS}; ", "")
        value = REFERENCE.sub(rf"url(#{name}-\1)", value)
        return COLOR.sub(lambda match: _variable(match.group()), value)
    if key in GEOMETRY:
        value = NO_TURN.sub("", value) if key == "transform" else value
        value = LONG_NUMBER.sub(lambda match: f"{float(match.group()):.2f}", value)
        return " ".join(value.split())
    return value


def _variable(color: str) -> str:
    return f"var(--{ROLES[color]}, {color})" if color in ROLES else color
