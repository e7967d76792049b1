"""Find words in documents, docstrings and messages that `words.toml` replaces by standard terms.

Usage: ``python scripts/words.py [PATH ...]`` prints one line per use and exits with 1 if there is any.
``--count`` prints one line per file. Code (fenced blocks, code spans, doctest lines, identifiers) and
quotations are not compared. `EXEMPT` lists the files that are not read.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACES = (
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "docs",
    "src",
    "studies",
    "scripts",
    "benchmarks",
    "crosscheck",
    "fuzz",
    "tests",
)
"""Files and folders that are read if no path is given."""
EXEMPT = (
    "docs/_build/",
    "scripts/events_corpus.py",
    "docs/api/_generated/",
    "scripts/words.toml",
    "scripts/words.py",
    "tests/test_words.py",
    "/shipped/",
    "/_mention_words.py",
)
"""Parts of paths that are not read."""
ENDINGS = (".md", ".py", ".html", ".j2", ".jinja", ".svg")
LETTERING = re.compile(r"<text[^>]*>([^<]*)</text>")
"""The texts of a figure."""

FENCE = re.compile(r"^(`{3,}|~{3,}).*?^\1\s*$", re.MULTILINE | re.DOTALL)
SPAN = re.compile(
    r"``[^`]*``|`[^`\n]*`|:\w+:`[^`]*`|\]\([^)]*\)|https?://\S+|<[^>\n]*>|\{\{.*?\}\}|\{%.*?%\}"
)
DOCTEST = re.compile(r"^[ \t]*(>>>|\.\.\.).*(\n(?![ \t]*(>>>|\.\.\.|$)).*)*", re.MULTILINE)
NAMES = re.compile(r"^([ \t]*)\**\w+(?:, \**\w+)*(?=\n\1[ \t]+\S)", re.MULTILINE)
"""Lines of a docstring that contain only names, such as those of parameters."""
QUOTED = re.compile(r"[\"“][^\"“”\n]{1,200}[\"”]")
STARTS = "|".join(
    (
        r"\A",
        r"(?<=[.!?:;] )",
        r"(?<=[.!?]\n)",
        r"(?<=\n)[ \t]*\n",  # after a blank line
        r"(?<=\n)[ \t]*(?:[-*#>|]+|\d+\.)",  # an item of a list, a heading, a cell
        r"(?<=\| )",
        r"^[ \t]*[\w*~]+(?:, [\w*]+)*(?: : [^\n]*)?\n",  # the description of a parameter
    )
)
"""Pattern of the places where a sentence begins."""


def blank(match: re.Match[str]) -> str:
    """Return the match's text with every character but line ends replaced by `~`: offsets stay."""
    return re.sub(r"[^\n]", "~", match.group())


def prose(text: str) -> str:
    """Return the text without code, quotations and names of parameters."""
    for pattern in (FENCE, DOCTEST, SPAN, QUOTED):
        text = pattern.sub(blank, text)
    return NAMES.sub(lambda names: re.sub(r"\w", "x", names.group()), text)


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Yield each piece of prose with its line: a page, a figure's texts, or strings and comments of code."""
    source = path.read_text("utf-8")
    if path.suffix == ".svg":
        for match in LETTERING.finditer(source):
            yield 1 + source.count("\n", 0, match.start()), match.group(1)
        return
    if path.suffix != ".py":
        yield 1, source
        return
    for number, line in enumerate(source.splitlines(), 1):
        if line.lstrip().startswith("# "):
            yield number, line.lstrip()[2:]
    inside: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.JoinedStr):
            inside.update(id(part) for part in ast.walk(node) if part is not node)
            if id(node) not in inside:
                parts = [part.value if isinstance(part, ast.Constant) else "~" for part in node.values]
                yield node.lineno, "".join(str(part) for part in parts)
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in inside
            and " " in node.value
        ):
            yield node.lineno, node.value


Rules = list[tuple[re.Pattern[str], str]]


def compiled() -> Rules:
    """Return the pattern of each rule of `words.toml`, with the term to use instead."""
    listed = tomllib.loads((ROOT / "scripts" / "words.toml").read_text("utf-8"))
    words = {rf"\b(?<!-)(?:{pattern})(?![\w-])": instead for pattern, instead in listed["words"].items()}
    begin, end = rf"(?:{STARTS})[ \t]*", r"\b[^.?!|]*?(?:[.!|]|\n[ \t]*\n|\Z)"
    first = {rf"{begin}(?-i:{pattern}){end}": instead for pattern, instead in listed["sentences"].items()}
    flags = re.IGNORECASE | re.MULTILINE
    return [(re.compile(pattern, flags), instead) for pattern, instead in (words | first).items()]


def uses(text: str, rules: Rules) -> Iterator[tuple[int, str, str]]:
    """Yield the offset, the first words found and the term to use for each use in a text."""
    text = prose(text)
    for pattern, instead in rules:
        for match in pattern.finditer(text):
            found = match.group().lstrip(" \t\n|>*#-0123456789.")
            yield match.end() - len(found), " ".join(found.split()[:5]), instead


def files(paths: list[str]) -> Iterator[Path]:
    """Yield the files to read."""
    for name in paths or PLACES:
        path = (ROOT / name) if not Path(name).exists() else Path(name)
        found = (
            [path] if path.is_file() else sorted(each for each in path.rglob("*") if each.suffix in ENDINGS)
        )
        yield from (each for each in found if not any(part in each.as_posix() for part in EXEMPT))


def main() -> int:
    """Print the uses and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="*", metavar="PATH")
    parser.add_argument("--count", action="store_true", help="print one line per file")
    asked = parser.parse_args()
    rules = compiled()
    counts: Counter[str] = Counter()
    for path in files(asked.paths):
        for first, text in texts(path):
            for offset, found, instead in sorted(uses(text, rules)):
                counts[str(path)] += 1
                if not asked.count:
                    print(f'{path}:{first + text[:offset].count(chr(10))}: "{found}": write {instead}')
    if asked.count:
        for name, count in counts.most_common():
            print(f"{count:6} {name}")
    print(f"{counts.total()} uses in {len(counts)} files", file=sys.stderr)
    return 1 if counts else 0


if __name__ == "__main__":
    sys.exit(main())
