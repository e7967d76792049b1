"""`calibrant coref predict`: write a coreference model's posteriors."""

from __future__ import annotations

from typing import Literal

import click

from calibrant.cli._coreference import coreference
from calibrant.cli._options import AS_JSON, EXECUTOR, WORKERS
from calibrant.cli._progress import Progress


@click.command(
    "predict",
    short_help="Write a model's distribution over each mention's antecedents.",
    epilog="Example: calibrant coref predict litbank test.conll -o posteriors.jsonl",
)
@click.argument("model", metavar="MODEL")
@click.argument("text", metavar="FILE")
@coreference
@click.option(
    "-o",
    "--output",
    metavar="POSTERIORS",
    required=True,
    help="The JSON lines to write, one document a line; .gz compresses. -: standard output; what else is "
    "said goes to standard error.",
)
@click.option(
    "--clusters",
    metavar="CONLL",
    help="Also write the entities found, in the columns of CoNLL-2012.",
)
@WORKERS
@EXECUTOR
@AS_JSON
def command(
    model: str,
    text: str,
    detect: bool,
    possessive_endings: bool,
    parser: str | None,
    clustering: Literal["probable", "expected", "antecedents"],
    output: str,
    clusters: str | None,
    workers: int,
    executor: str | None,
    as_json: bool,
) -> None:
    """Write, for each mention of FILE, the probability of each antecedent and of starting a new entity.

    MODEL is a file by `calibrant coref train`, or the name of a model that ships: litbank. Mentions are those
    of FILE, or are detected in its trees.
    """
    from calibrant.cli._coreference import writing_lines
    from calibrant.cli._tagging import STDOUT
    from calibrant.cli._text import show
    from calibrant.workflow import predict_coreference

    with Progress() as progress:
        found = predict_coreference(
            model,
            text,
            output,
            detect=detect,
            possessive_endings=possessive_endings,
            parser=parser,
            clusters=clusters,
            clustering=clustering,
            workers=workers,
            executor=executor,
            progress=progress,
        )
    lines = [found.to_json(indent=2)] if as_json else writing_lines(found)
    show("\n".join(lines).split("\n"), err=output == STDOUT)
