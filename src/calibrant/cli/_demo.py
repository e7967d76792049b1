"""The demonstration's page of text."""

from __future__ import annotations

from textwrap import wrap

from calibrant.cli import text
from calibrant.pages import StoryPage, StoryStep

WIDTH = 100
INDENT = 3


def lines_of(page: StoryPage, output: str) -> list[str]:
    """Word the demonstration."""
    lines = wrap(f"{page.title} {page.lead}", WIDTH)
    for number, step in enumerate(page.steps, 1):
        lines += ["", f"{number}. {step.heading}", *_step(step)]
    lines += ["", f"Wrote {output}: the same with figures; open it in a browser.", "", "What to type next"]
    for what, commands in page.next:
        lines += _paragraph(what)
        lines += text.table([[f"  {command}", remark] for command, remark in commands], left=2, indent=INDENT)
    return lines


def _step(step: StoryStep) -> list[str]:
    lines = [line for paragraph in step.before for line in _paragraph(paragraph)]
    if step.table is not None:
        lines += text.table([step.table.head, *step.table.rows], indent=INDENT + 2)
    return lines + [line for paragraph in step.after for line in _paragraph(paragraph)]


def _paragraph(words: str) -> list[str]:
    return [" " * INDENT + line for line in wrap(words, WIDTH - INDENT)]
