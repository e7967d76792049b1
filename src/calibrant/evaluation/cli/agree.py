"""`calibrant agree`: agreement between annotators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from calibrant.cli.made import Command, options_of
from calibrant.cli.options import Printing, printing

if TYPE_CHECKING:
    from calibrant.evaluation.results.agreement import Agreement
    from calibrant.evaluation.results.candidates import CandidateTest


@click.command(
    "agree",
    cls=Command,
    short_help="Measure agreement between annotators: kappa, alpha and others, with intervals.",
    epilog="Example: calibrant agree labels.csv --distance ordinal --labels low,middle,high",
)
@click.argument("file", metavar="FILE")
@options_of(
    "calibrant.evaluation.verbs.evaluating:agree",
    leave=("source", "labels"),
    cluster="NAME",
    disputed=click.IntRange(min=0),
)
@click.option(
    "--labels",
    metavar="A,B,...",
    help="Labels of the task, in order; any other label is an error.  [default: all]",
)
@click.option(
    "--candidate",
    multiple=True,
    metavar="NAME",
    help="Test if this annotator, such as a model, may take the place of one of the others. All who are not "
    "named so count as people. May be repeated.",
)
@click.option(
    "--margin",
    type=float,
    help="Difference that the advantages of a candidate outweigh: 0.2 in place of experts, 0.15 of skilled "
    "annotators, 0.1 of crowd workers.  [default: 0.1]",
)
@printing
def command(
    file: str,
    labels: str | None,
    candidate: tuple[str, ...],
    margin: float | None,
    printing: Printing,
    **options: Any,
) -> None:
    """Measure how far annotators (people or systems) agree on the items of FILE.

    FILE is a table with one row per label: columns item, annotator and label. An item need not have labels
    of all annotators. The format is .csv, .tsv, .jsonl, .parquet or .arrow; text formats may be compressed,
    as .csv.gz. With - calibrant reads standard input.

    With --candidate, test if a model may take the place of an annotator (the alternative annotator test):
    each annotator is left out in turn, and compared with the candidate by the labels of the others.
    """
    from calibrant.evaluation.verbs.evaluating import agree, may_replace

    names = None if labels is None else [name.strip() for name in labels.split(",")]
    if not candidate:
        if margin is not None:
            raise click.UsageError("--margin requires --candidate.")
        record: Agreement | CandidateTest = agree(file, labels=names, **options)
    else:
        context = click.get_current_context()
        for option in ("weights", "disputed"):
            if context.get_parameter_source(option) is click.core.ParameterSource.COMMANDLINE:
                raise click.UsageError(f"--{option} and --candidate exclude each other: give one of them.")
            del options[option]
        if margin is not None:
            options["margin"] = margin
        record = may_replace(file, list(candidate), labels=names, **options)
    printing.show(record, lambda lines: [f"{file}:", "", *lines])
