"""`calibrant demo`: the main job end to end, on predictions that ship with the package."""

from __future__ import annotations

import click

from calibrant.cli._options import Printing, command_line, printing
from calibrant.cli._progress import Progress

TEXT_SET = "dated"
COUNTRIES = ("USA", "ISR")
MODELS = {"naive Bayes": "naive-bayes", "logistic regression": "logistic-regression"}


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
    """Measure two classifiers of tweets and write a report: no network, no arguments, some seconds.

    The predictions ship with the package: the probability that a tweet is positive, by Bernoulli naive
    Bayes and by logistic regression, on the same 6,004 tweets of June 2009. Then countries that use force,
    counted by year with intervals, from a store of events that ships too.
    """
    from calibrant.data import event_labels, event_store, predictions
    from calibrant.report import page, write
    from calibrant.workflow import event_table, report

    sources = [predictions(TEXT_SET, model) for model in MODELS.values()]
    with Progress() as progress:
        found = report(sources, names=list(MODELS), progress=progress, command=command_line())
        progress("drawing")
        write(output, page(found))
    from calibrant.cli._demo import lines_of

    def lines() -> list[str]:
        events = event_table(event_store(), by="year", countries=COUNTRIES, dev=event_labels())
        return lines_of(found, output, events)

    printing.show(found, lines)
