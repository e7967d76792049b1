"""`calibrant judge`: compare systems by a judge's scores, corrected by labels for some answers."""

from __future__ import annotations

from typing import Any

import click

from calibrant.cli.made import Command, options_of
from calibrant.cli.options import Printing, command_line, printing


@click.command(
    "judge",
    cls=Command,
    short_help="Compare systems by a judge's scores, corrected by labels for some answers.",
    epilog="Example: calibrant judge judged.csv --bias length",
)
@click.argument("source", metavar="FILE")
@options_of(
    "calibrant.estimation.verbs.judging:judge",
    leave=("source",),
    methods=click.Choice(
        ["all", "labels", "ppi", "ppi++", "map", "dsl", "prior-shift", "rogan-gladen", "rogan-gladen-pooled"]
    ),
    label_range=click.Tuple([float, float]),
    view="class:NAME",
    transport_from="SYSTEM",
    **dict.fromkeys(
        (
            "system",
            "system_a",
            "system_b",
            "item",
            "judge",
            "label",
            "annotator",
            "inclusion_probability",
            "cluster",
            "run",
            "bias",
        ),
        "NAME",
    ),
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Also write a page (.html), or draw the means (.pdf, .svg or .png).",
)
@printing
def command(source: str, output: str | None, printing: Printing, **options: Any) -> None:
    """Tell which system is better by the scores of a judge, such as a language model, that may be biased.

    FILE is a table with one row per answer: columns system, item (the prompt), judge (the judge's score) and
    label (from a person or a better judge), which is empty for most answers. The labeled answers must be a
    random sample; the same prompts for all systems are best.

    For preferences between two answers, it has one row per comparison: columns system_a, system_b, item, and
    a, b or tie as judge and label.

    The means and the paired differences are those of the labels, which the judge's scores make more precise
    if they follow the labels. The mean judge score is shown beside them; it is no estimate of the mean label.
    """
    from calibrant.estimation.verbs.judging import judge

    if output is None:
        printing.show(judge(source, command=command_line(), **options))
        return
    from calibrant.estimation.pages.judge_page import check_output, write_output
    from calibrant.io.atomic import keep_sources

    keep_sources(output, source)
    check_output(output)
    record = judge(source, command=command_line(), **options)
    write_output(output, record)
    printing.show(record, wrote=[output])
