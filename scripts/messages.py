"""Print the messages of the code, to read them in one sitting.

Usage: ``python scripts/messages.py [PATH ...]`` prints one line per message: the file, the line, and the
texts of a raised error, a warning, an output of a command, or an assignment to a name such as ``message``
and ``hint``. Expressions appear in braces. Without a path it reads `src/calibrant`.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CALLS = ("Error", "Parameter", "Warning", "warn", "echo", "_say", "progress", "hint", "note", "refuse")
"""Endings of the names of functions whose arguments are messages."""
NAMES = ("message", "hint", "why", "reason", "note", "notes", "problem", "said", "remark", "warning", "text")
"""Names of variables that contain messages."""


def name_of(node: ast.expr) -> str:
    """Return the last name of a function or a variable."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def texts(node: ast.AST) -> Iterator[str]:
    """Yield the strings in an expression, with the expressions of f-strings in braces."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        yield "".join(
            str(part.value)
            if isinstance(part, ast.Constant)
            else f"{{{ast.unparse(part).strip('f').strip(chr(39)).strip('{}')}}}"
            for part in node.values
        )
    else:
        for child in ast.iter_child_nodes(node):
            yield from texts(child)


def messages(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each message of a module."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.expr | ast.stmt):
            continue
        found: list[ast.AST] = []
        if isinstance(node, ast.Call) and name_of(node.func).endswith(CALLS):
            found = [*node.args, *(each.value for each in node.keywords if each.arg != "code")]
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found = [node.value] if any(name_of(each) in NAMES for each in targets) else []
        told = [text for each in found for text in texts(each) if " " in text.strip()]
        if told:
            yield node.lineno, " | ".join(told)


def main() -> int:
    """Print the messages and return the exit code."""
    places = [Path(each) for each in sys.argv[1:]] or [ROOT / "src" / "calibrant"]
    for place in places:
        for path in [place] if place.is_file() else sorted(place.rglob("*.py")):
            for line, text in sorted(set(messages(ast.parse(path.read_text("utf-8"))))):
                print(f"{path}:{line}: {' '.join(text.split())}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
