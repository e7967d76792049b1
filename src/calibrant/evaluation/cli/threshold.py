"""`calibrant threshold`: the confidence above which answers are kept, with or without a guarantee."""

from __future__ import annotations

import shlex
from typing import Any

import click

from calibrant.cli.made import Command, options_of
from calibrant.cli.options import Printing, columns, columns_of, command_line, printing, spelled

WITHOUT_RISK = ("coverage", "confidence", "level")
WITH_RISK = ("delta", "missed", "two_sided", "loss", "by", "cluster_size", "save")


@click.command(
    "threshold",
    cls=Command,
    short_help="Find which answers are confident enough, and which go to a person.",
    epilog="Example: calibrant threshold predictions.parquet --coverage 0.8 -o to_a_person.parquet",
)
@click.argument("predictions", metavar="PRED")
@options_of(
    "calibrant.evaluation.verbs.thresholding:threshold",
    leave=("source", "output"),
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Also write the rows that go to a person, with all their columns, to this table.",
)
@click.option(
    "--risk",
    type=float,
    metavar="ALPHA",
    help="Guarantee that at most this fraction of the accepted answers is wrong, such as 0.05; options are "
    "under Guarantees.",
)
@options_of(
    "calibrant.evaluation.verbs.guaranteeing:guaranteed_threshold",
    *WITH_RISK,
    loss="NAME",
    by="NAME",
    save="FILE",
    cluster_size=click.IntRange(min=1),
)
@columns
@printing
def command(
    predictions: str, output: str | None, risk: float | None, printing: Printing, **options: Any
) -> None:
    """Find the confidence above which the answers in PRED are kept, and how accurate these are.

    PRED is a table or a log as for calibrant measure: answers with their confidence and whether they are
    right, or the probabilities of all classes, of which the largest is the answer. Confidence may be any
    number that orders answers: see --score-kind ranking.

    With --risk, find the lowest threshold for which the error rate of new answers is guaranteed, or learn
    how many labels it takes. calibrant apply decides with the saved file: accept, refuse or person.
    """
    named = columns_of(options)
    wrote = [] if output is None else [f"{output}: the answers for a person"]
    context = click.get_current_context()

    def refuse(names: tuple[str, ...], told: str) -> None:
        for name in names:
            if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
                raise click.UsageError(told.format(f"--{name.replace('_', '-')}"))
            options.pop(name)

    if risk is None:
        from calibrant.evaluation.verbs.thresholding import threshold

        refuse(WITH_RISK, "{} requires --risk.")
        selection = threshold(predictions, output=output, columns=named, **options)
        printing.show(selection, lambda lines: [f"{predictions}:", "", *lines], wrote=wrote)
        return
    from calibrant.evaluation.verbs.guaranteeing import guaranteed_threshold

    refuse(WITHOUT_RISK, "{} and --risk exclude each other: give one of them.")
    record = guaranteed_threshold(
        predictions, risk=risk, output=output, columns=named, command=command_line(), **options
    )
    steps = []
    if record.saved is not None:
        wrote.append(f"{record.saved}: the thresholds")
        scores = spelled(named, ("form", "score"))
        steps = [f"calibrant apply {shlex.quote(record.saved)} NEW{scores} -o OUT    decide on new rows"]
    printing.show(record, lambda lines: [f"{predictions}:", "", *lines], steps=steps, wrote=wrote)
