"""Rerun the examples of documentation pages, and write their new output into the pages.

python scripts/refill.py PAGE...       prints each page's number of changed blocks; then read `git diff`

Outputs that the tests accept stay as they are. An excerpt with `...` keeps its number of lines; the new
lines are those most similar to the old ones.
"""

from __future__ import annotations

import contextlib
import difflib
import doctest
import io
import itertools
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from unittest import mock

from calibrant.cli import main

FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
BLOCK = re.compile(r"^```(pycon|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^(\$ (?:.*\\\n)*.*\n)((?:(?!\$ ).*\n)*)", re.MULTILINE)


def accepted(shown: str, got: str) -> bool:
    """Return whether the tests accept the output that is shown."""
    return doctest.OutputChecker().check_output(shown, got, FLAGS)


def excerpt(shown: str, got: str) -> str:
    """Cut `got` to an excerpt like `shown`: after each `...`, the lines most like those that follow."""
    if "..." not in shown:
        return got
    rest, cut = got.splitlines(keepends=True), ""
    parts = re.split(r"^( *\.\.\.\n)", shown, flags=re.MULTILINE)
    for number, part in enumerate(parts):
        if part.strip() in ("", "..."):
            cut += part
            continue
        lines = part.splitlines(keepends=True)
        starts = range(len(rest) - len(lines) + 1) if cut else range(1)
        like = [
            sum(difflib.SequenceMatcher(None, a, b).ratio() for a, b in zip(lines, rest[at:], strict=False))
            for at in starts
        ]
        at = like.index(max(like)) if like else 0
        end = at + len(lines) if number < len(parts) - 1 else len(rest)
        kept = itertools.zip_longest(lines, rest[at:end], fillvalue="")
        cut += "".join(a if "..." in a and accepted(a, b) else b for a, b in kept)
        rest = rest[at + len(lines) :]
    return cut


def console(block: str) -> str:
    """Return a block of commands with their output now."""

    def run(match: re.Match[str]) -> str:
        line, shown = match[1], match[2]
        words = shlex.split(line.removeprefix("$ ").replace("\\\n", ""))
        if words[0] != "calibrant":
            return match[0]
        out, err = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True), io.StringIO()
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            mock.patch("sys.argv", words),
            contextlib.suppress(SystemExit),
        ):
            main(words[1:], prog_name="calibrant")
        printed, told = out.buffer.getvalue().decode(), err.getvalue()
        got = printed + told if told.startswith("calibrant: failed") else printed or told
        return match[0] if not shown or accepted(shown, got) else line + excerpt(shown, got)

    return COMMAND.sub(run, block)


class Refilling(doctest.DocTestRunner):
    """Collects the failed examples with their output."""

    def __init__(self) -> None:
        super().__init__(optionflags=FLAGS)
        self.failed: list[tuple[doctest.Example, str]] = []

    def report_failure(
        self, out: Callable[[str], object], test: doctest.DocTest, example: doctest.Example, got: str
    ) -> None:
        """Keep the example and its output."""
        self.failed.append((example, got))


def session(block: str, names: dict[str, object]) -> str:
    """Return a block of Python with its output now; `names` pass from block to block."""
    runner = Refilling()
    case = doctest.DocTestParser().get_doctest(block, names, "page", None, 0)
    runner.run(case, clear_globs=False)
    names.update(case.globs)
    lines = block.splitlines(keepends=True)
    for example, got in reversed(runner.failed):
        start = example.lineno + example.source.count("\n")
        end = start + example.want.count("\n")
        lines[start:end] = [excerpt(example.want, got.replace("\n\n", "\n<BLANKLINE>\n"))]
    return "".join(lines)


def refill(page: Path) -> int:
    """Refill the page; return the number of its changed blocks."""
    names: dict[str, object] = {}
    changed = 0

    def new(match: re.Match[str]) -> str:
        nonlocal changed
        block = console(match[2]) if match[1] == "console" else session(match[2], names)
        changed += block != match[2]
        return f"```{match[1]}\n{block}```"

    text = page.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        text = BLOCK.sub(new, text)
    page.write_text(text, encoding="utf-8")
    return changed


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "Agg")
    for name in map(Path, sys.argv[1:]):
        print(f"{name}: {refill(name.resolve())} blocks changed", flush=True)
