"""Check every link of the built documentation, and of the pages that are read on their own.

python scripts/check_links.py              after `make docs`: a line for each link that leads nowhere
python scripts/check_links.py --external   also lists the links that leave, which nothing here follows
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "docs" / "_build" / "html"
READ_ALONE = [
    ROOT / name
    for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "CODE_OF_CONDUCT.md")
]
MARKDOWN_LINK = re.compile(r"\]\(([^()\s]+)\)")
HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)
FENCE = re.compile(r"^(```+).*?^\1", re.MULTILINE | re.DOTALL)


class Page(HTMLParser):
    """Links of a page, and its anchors."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the links and anchors of one element."""
        given = dict(attrs)
        self.anchors |= {value for name in ("id", "name") if (value := given.get(name))}
        self.links += [value for name in ("href", "src") if (value := given.get(name))]


def markdown_links(text: str) -> list[str]:
    """Targets of a Markdown page's links and pictures; code is ignored."""
    return MARKDOWN_LINK.findall(FENCE.sub("", text))


def markdown_anchors(text: str) -> set[str]:
    """Anchors of a Markdown page's headings, as hosts of source code and MyST make them."""
    headings = HEADING.findall(FENCE.sub("", text))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def is_external(link: str) -> bool:
    """Return True if a link is external: it names a scheme or a host."""
    parts = urlsplit(link)
    return bool(parts.scheme or parts.netloc)


def inside(page: Path, link: str) -> tuple[Path, str]:
    """The file that a link leads to, and the place in it."""
    parts = urlsplit(link)
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    return target, unquote(parts.fragment)


def broken(links: Mapping[Path, list[str]], anchors: Mapping[Path, set[str]]) -> Iterator[tuple[Path, str]]:
    """Each link within the tree that leads to no file, or to no place in a page whose anchors are known."""
    for page, targets in links.items():
        for link in dict.fromkeys(targets):
            if is_external(link):
                continue
            target, anchor = inside(page, link)
            if not target.exists() or (anchor and anchor not in anchors.get(target, {anchor})):
                yield page, link


def site_links(site: Path) -> tuple[dict[Path, list[str]], dict[Path, set[str]]]:
    """Links and anchors of every page of a built site."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.resolve().rglob("*.html"))}
    return {p: page.links for p, page in pages.items()}, {p: page.anchors for p, page in pages.items()}


def markdown_tree(pages: list[Path]) -> tuple[dict[Path, list[str]], dict[Path, set[str]]]:
    """Links of some Markdown pages, and anchors of these and of the pages they lead to."""
    links = {page: markdown_links(page.read_text(encoding="utf-8")) for page in pages}
    linked = {inside(page, link)[0] for page in pages for link in links[page]}
    known = {path for path in {*pages, *linked} if path.suffix == ".md" and path.is_file()}
    return links, {path: markdown_anchors(path.read_text(encoding="utf-8")) for path in known}


def main(site: Path = SITE) -> int:
    """Print what is broken; return the exit code."""
    if not (site / "index.html").exists():
        sys.exit(f"{site} has no index.html: run `make docs` first")
    found = [site_links(site), markdown_tree(READ_ALONE)]
    wrong = [pair for links, anchors in found for pair in broken(links, anchors)]
    for page, link in wrong:
        print(f"{page.relative_to(ROOT)}: {link} leads nowhere")
    every = {link: page for links, _ in found for page, targets in links.items() for link in targets}
    external = sorted(link for link in every if is_external(link) and not link.startswith("data:"))
    if "--external" in sys.argv[1:]:
        print("\n".join(f"{link}  ({every[link].relative_to(ROOT)})" for link in external))
    pages = sum(len(links) for links, _ in found)
    print(f"{pages} pages, {len(every)} links, {len(wrong)} of them broken; {len(external)} leave the site")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
