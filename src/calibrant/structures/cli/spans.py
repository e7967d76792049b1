"""`calibrant spans`: match predicted spans with gold spans."""

from __future__ import annotations

import shlex
from typing import Any

import click

from calibrant.cli.made import Command, options_of
from calibrant.cli.options import WRITES_OR_PRINTS, Printing, added, printing
from calibrant.cli.progress import ProgressLine

NAMES = (
    ("--document", "document", "document", "Column of the document."),
    ("--start", "start", "start", "Column of the first position of a span."),
    ("--end", "end", "end", "Column of the first position after a span."),
    ("--type", "type_column", "type", "Column of the type of a span."),
    ("--score", "score", "score", "Column of the probability of a span."),
    ("--gold", "gold", "gold", "Column that is 1 for gold spans, if there is no second table."),
)
COLUMNS = tuple(
    click.option(option, name, metavar="NAME", help=f"{help_text}  [default: {usual}]")
    for option, name, usual, help_text in NAMES
)


@click.command(
    "spans",
    cls=Command,
    short_help="Match predicted spans with gold spans, to measure their probabilities.",
    epilog="Example: calibrant spans predicted.csv gold.csv -o pairs.parquet",
)
@click.argument("predicted", metavar="PREDICTED")
@click.argument("gold_table", metavar="[GOLD]", required=False)
@click.option("-o", "--output", metavar="PRED", required=True, help=WRITES_OR_PRINTS)
@options_of("calibrant.structures.verbs.spans:match_spans", "match", "type_scores", "repeats", "drop_below")
@(lambda function: added(function, COLUMNS))
@printing
def command(predicted: str, gold_table: str | None, output: str, printing: Printing, **options: Any) -> None:
    """Match the spans in PREDICTED with gold spans, and write a long prediction table.

    PREDICTED and GOLD have the columns document, start, end and type; PREDICTED also has score. Without GOLD,
    PREDICTED needs a column gold, and gold spans that the model does not output have an empty score. The
    output has one row per predicted span: score, label (1 if the span is gold), class (the type), cluster
    (the document), start and end. Missed gold spans are not written, but their number is reported.
    """
    from calibrant.structures.files.span_tables import SpanColumns
    from calibrant.structures.verbs.spans import match_spans

    columns = SpanColumns(**{name: options.pop(name) for _, name, _, _ in NAMES})
    with ProgressLine() as progress:
        matched = match_spans(predicted, gold_table, output, columns=columns, progress=progress, **options)
    table = shlex.quote(output)
    view = " --view pooled" if matched.match != "boundary" else ""
    steps = [
        f"calibrant measure {table}{view}    calibration of the spans that the model outputs",
        f"calibrant report {table}{view} -o report.html    the same as a page with figures",
    ]
    printing.show(matched, steps=steps, wrote=[output], err=output == "-")
