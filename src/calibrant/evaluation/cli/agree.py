"""`calibrant agree`: how far annotators agree."""

from __future__ import annotations

from typing import Any

import click

from calibrant.cli.options import LEVEL, Printing, printing


@click.command(
    "agree",
    short_help="How far annotators agree: kappa, alpha and others, with intervals.",
    epilog="Example: calibrant agree labels.csv --distance ordinal --labels low,middle,high",
)
@click.argument("file", metavar="FILE")
@click.option("--item", default="item", show_default=True, help="Column that names the item.")
@click.option("--annotator", default="annotator", show_default=True, help="Column that names who labelled.")
@click.option("--label", default="label", show_default=True, help="Column of labels.")
@click.option(
    "--cluster",
    metavar="NAME",
    help="Column of what items belong to, such as a document; its items may depend on each other.  "
    "[default: cluster]",
)
@click.option(
    "--labels", metavar="A,B,...", help="Labels of the task, in order; any other is refused.  [default: all]"
)
@click.option(
    "--distance",
    type=click.Choice(["nominal", "ordinal", "interval", "ratio"]),
    default="nominal",
    show_default=True,
    help="Distance between labels in Krippendorff's alpha.",
)
@click.option(
    "--weights", type=click.Choice(["linear", "quadratic"]), help="Weights of Cohen's kappa, by order."
)
@click.option(
    "--disputed",
    type=click.IntRange(min=0),
    default=10,
    show_default=True,
    help="How many of the items with the least agreement to list.",
)
@LEVEL
@printing
def command(file: str, labels: str | None, printing: Printing, **options: Any) -> None:
    """Say how far annotators (people or systems) agree on the items of FILE.

    FILE is a table (.csv, .tsv, .jsonl, .parquet or .arrow, text also as .gz, or - for standard input) with a
    row a label: columns item, annotator and label. Items may lack labels of some annotators.
    """
    from calibrant.evaluation.verbs.evaluating import agree

    names = None if labels is None else [name.strip() for name in labels.split(",")]
    found = agree(file, labels=names, **options)
    printing.show(found, lambda: [f"{file}:", "", *found.to_text().splitlines()])
