"""`calibrant demo`: the main job end to end, on predictions that ship with the package."""

from __future__ import annotations

import click

from calibrant.cli.options import Printing, command_line, printing
from calibrant.cli.progress import Progress


@click.command(
    "demo",
    short_help="The main job end to end, on data that ships with the package.",
    epilog="Example: calibrant demo",
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    default="calibrant-demo.html",
    show_default=True,
    help="The report to write.",
)
@printing
def command(output: str, printing: Printing) -> None:
    """Tell one story on real numbers and write a report: no network, no arguments, some seconds.

    A part-of-speech tagger looks good; how far its probabilities can be trusted; they are mended on other
    text, the rare tags too; and what doubt does to counts over time. The tagger's predictions and the counts
    ship with the package, as numbers.
    """
    from calibrant.pages import story_page, write
    from calibrant.pages.report_page import check_page
    from calibrant.verbs import demonstrate

    check_page(output)
    with Progress() as progress:
        page = story_page(demonstrate(progress=progress, command=command_line()))
        progress("drawing")
        write(output, page)
    from calibrant.cli._demo import lines_of

    printing.show(page, lambda: lines_of(page, output))
