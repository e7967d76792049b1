"""`calibrant coref pairs`: write the probabilities of pairs of mentions."""

from __future__ import annotations

from typing import Any

import click

from calibrant.cli.options import WRITES_OR_PRINTS, Printing, printing
from calibrant.cli.progress import ProgressLine


@click.command(
    "pairs",
    short_help="Write the probability that two mentions are of one entity, for all pairs.",
    epilog="Example: calibrant coref pairs posteriors.jsonl -o pairs.parquet",
)
@click.argument("posteriors", metavar="POSTERIORS")
@click.option(
    "-o",
    "--output",
    metavar="PRED",
    required=True,
    help=WRITES_OR_PRINTS,
)
@click.option(
    "--samples",
    type=click.IntRange(min=1),
    help="Shares of so many sampled clusterings, as in the paper.  [default: exact probabilities]",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Seed of the samples.",
)
@click.option(
    "--window", type=click.IntRange(min=1), help="Only pairs at most so many mentions apart.  [default: all]"
)
@click.option(
    "--threshold",
    type=float,
    default=0.0,
    show_default=True,
    help="Leave out scores below it; the table says so. In [0, 1).",
)
@click.option(
    "--labels/--no-labels",
    default=True,
    help="Without labels all pairs are written, also of mentions without a gold entity.",
)
@printing
def command(posteriors: str, output: str, printing: Printing, **options: Any) -> None:
    """Write the probability that two mentions are of one entity, for all pairs of each document.

    POSTERIORS is a file of JSON lines, by `calibrant coref predict` or of another system; - is standard
    input. The table's columns are score, label (has gold the two in one entity?; only where there is gold),
    cluster (the document), first and second (the mentions' numbers in it, from 0).
    """
    from calibrant.structures.cli._tagging import STDOUT
    from calibrant.structures.cli.coreference_options import pairs_lines
    from calibrant.structures.verbs.coreference_pairs import export_pairs

    with ProgressLine() as progress:
        found = export_pairs(posteriors, output, progress=progress, **options)
    printing.show(found, lambda: pairs_lines(found), err=output == STDOUT)
