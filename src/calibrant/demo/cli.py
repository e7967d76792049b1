"""`calibrant demo`: show calibrant's main steps on predictions that ship with the package."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

import click

from calibrant.cli.made import Command
from calibrant.cli.options import Printing, command_line, printing
from calibrant.cli.progress import ProgressLine

if TYPE_CHECKING:
    from calibrant.demo.pages import StoryPage, StoryStep

WIDTH = 100
INDENT = 3


@click.command(
    "demo",
    cls=Command,
    short_help="See the main steps on data that ships with the package.",
    epilog="Example: calibrant demo",
)
@click.option("-o", "--output", metavar="FILE", default="calibrant-demo.html", help="File of the report.")
@printing
def command(output: str, printing: Printing) -> None:
    """Show calibrant's main steps on real predictions, and write a report.

    The demo measures the calibration of a part-of-speech tagger, recalibrates its probabilities on other
    text, also for rare tags, and shows the uncertainty of counts over time. It takes some seconds and needs
    no network: predictions and counts ship with the package.
    """
    from calibrant.demo.pages import story_page
    from calibrant.demo.verbs import demonstrate
    from calibrant.pages import write
    from calibrant.pages.report_page import check_page

    check_page(output)
    with ProgressLine() as progress:
        page = story_page(demonstrate(progress=progress, command=command_line()))
        progress("drawing")
        write(output, page)
    printing.show(page, lambda _: _lines_of(page, output), whole=True)


def _lines_of(page: StoryPage, output: str) -> list[str]:
    from calibrant.cli import text

    lines = wrap(f"{page.title} {page.lead}", WIDTH)
    for number, step in enumerate(page.steps, 1):
        lines += ["", f"{number}. {step.heading}", *_step(step)]
    lines += ["", f"Wrote {output}: the same with figures. Open it in a browser.", "", "Next"]
    for what, commands in page.next:
        lines += _paragraph(what)
        lines += text.table([[f"  {command}", remark] for command, remark in commands], left=2, indent=INDENT)
    return lines


def _step(step: StoryStep) -> list[str]:
    from calibrant.cli import text

    lines = [line for paragraph in step.before for line in _paragraph(paragraph)]
    if step.table is not None:
        lines += text.table([step.table.head, *step.table.rows], indent=INDENT + 2)
    return lines + [line for paragraph in step.after for line in _paragraph(paragraph)]


def _paragraph(words: str) -> list[str]:
    return [" " * INDENT + line for line in wrap(words, WIDTH - INDENT)]
