"""The visible text of a page and a digest of its structure, instead of the page with its figures."""

from __future__ import annotations

import hashlib
import re
from html.parser import HTMLParser

TOLD = ("title", "aria-label", "alt", "data-tip", "data-meaning")
VOID = ("meta", "link", "br", "img", "input", "hr", "col")
BLOCKS = (
    "p", "div", "h1", "h2", "h3", "h4", "tr", "li", "section", "figcaption", "summary", "table", "dt", "dd",
    "title", "header", "footer", "pre", "nav", "main", "figure", "caption", "br",
)  # fmt: skip
HIDDEN = ("script", "style")


class _Reader(HTMLParser):
    """Collects the text of blocks, the tags outside figures, and the words inside figures."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = [""]
        self.structure: list[str] = []
        self.words: list[str] = []
        self.shapes = 0
        self.inside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self.inside:
            self.shapes += 1
            if tag == self.inside[0]:
                self.inside.append(tag)
            return
        if tag in (*HIDDEN, "svg"):
            self.inside, self.words, self.shapes = [tag], [], 0
        values = dict(attrs)
        self.structure.append(f"{tag}.{values.get('class') or ''}")
        if tag in BLOCKS:
            self.lines.append("")
        if tag == "span" and self.lines[-1]:
            self.lines[-1] += " "
        if tag in ("td", "th") and self.lines[-1]:
            self.lines[-1] += " | "
        told = [f"{{{name}: {' '.join((values[name] or '').split())}}}" for name in TOLD if values.get(name)]
        self.lines[-1] += "".join(told)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if self.inside:
            if tag == self.inside[-1]:
                self.inside.pop()
                if not self.inside and tag == "svg":
                    self.lines += [f"[figure of {self.shapes} elements: {', '.join(self.words)}]", ""]
            return
        if tag in BLOCKS:
            self.lines.append("")

    def handle_data(self, data: str) -> None:
        text = re.sub(r"\s+", " ", data)
        if not self.inside:
            self.lines[-1] += text
        elif self.inside[0] == "svg" and re.search(r"[A-Za-z]{2}", text):
            self.words.append(text.strip())


def text_of_page(page: str) -> str:
    """Return a digest of a page's tags and classes, then its visible text and tooltips, a line a block.

    A figure is a line with the number of its elements and its words; script and style are left out.

    Examples
    --------
    >>> print(text_of_page("<p>One <b title='not two'>number</b></p><script>x</script>"), end="")
    [structure 89646a5b: 3 tags]
    One {title: not two}number
    """
    reader = _Reader()
    reader.feed(page)
    reader.close()
    digest = hashlib.sha256("\n".join(reader.structure).encode()).hexdigest()[:8]
    lines = [" ".join(line.split()) for line in reader.lines if line.strip()]
    return "\n".join([f"[structure {digest}: {len(reader.structure)} tags]", *lines]) + "\n"
