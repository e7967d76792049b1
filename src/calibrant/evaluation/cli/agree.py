"""`calibrant agree`: agreement between annotators."""

from __future__ import annotations

from typing import Any

import click

from calibrant.cli.options import LEVEL, Printing, printing


@click.command(
    "agree",
    short_help="Measure agreement between annotators: kappa, alpha and others, with intervals.",
    epilog="Example: calibrant agree labels.csv --distance ordinal --labels low,middle,high",
)
@click.argument("file", metavar="FILE")
@click.option("--item", default="item", help="Column that names the item.")
@click.option("--annotator", default="annotator", help="Column that names the annotator.")
@click.option("--label", default="label", help="Column of labels.")
@click.option(
    "--cluster",
    metavar="NAME",
    help="Column of clusters, such as documents; items of one cluster may depend on each other.  "
    "[default: cluster]",
)
@click.option(
    "--labels",
    metavar="A,B,...",
    help="Labels of the task, in order; any other label is an error.  [default: all]",
)
@click.option(
    "--distance",
    type=click.Choice(["nominal", "ordinal", "interval", "ratio"]),
    default="nominal",
    help="Distance between labels in Krippendorff's alpha.",
)
@click.option(
    "--weights",
    type=click.Choice(["linear", "quadratic"]),
    help="Weights of Cohen's kappa, by the order of the labels.",
)
@click.option(
    "--disputed",
    type=click.IntRange(min=0),
    default=10,
    help="Number of items to list, those with the least agreement first.",
)
@LEVEL
@printing
def command(file: str, labels: str | None, printing: Printing, **options: Any) -> None:
    """Measure how far annotators (people or systems) agree on the items of FILE.

    FILE is a table with one row per label: columns item, annotator and label. An item need not have labels
    of all annotators. The format is .csv, .tsv, .jsonl, .parquet or .arrow; text formats may be compressed,
    as .csv.gz. With - calibrant reads standard input.
    """
    from calibrant.evaluation.verbs.evaluating import agree

    names = None if labels is None else [name.strip() for name in labels.split(",")]
    agreement = agree(file, labels=names, **options)
    printing.show(agreement, lambda: [f"{file}:", "", *agreement.to_text().splitlines()])
