"""`calibrant study`: reproduce a paper's experiment."""

from __future__ import annotations

from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

import click

from calibrant.cli.made import Command
from calibrant.cli.options import Printing, printing
from calibrant.cli.progress import Bar


@click.command(
    "study",
    cls=Command,
    short_help="Reproduce a paper's experiment, and compare the numbers.",
    epilog="Example: calibrant study synthetic",
)
@click.argument("name", metavar="NAME")
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    envvar="CALIBRANT_DATA",
    help="Folder of the data that the study reads.  [default: what `calibrant data where` prints]",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Folder for NAME.json and the figures, created if necessary. If it contains NAME.md, the tables in "
    "NAME.md are updated.",
)
@click.option("--seed", type=click.IntRange(min=0), help="Seed of all random draws.  [default: the study's]")
@click.option(
    "--cells",
    metavar="NAMES",
    help="Run only these groups of cells, separated by commas (study coverage).  [default: all]",
)
@click.option(
    "--replications",
    type=click.IntRange(min=1),
    help="Draws per cell (studies coverage and hacking).  [default: the cell's own number]",
)
@click.option(
    "--ontonotes",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="PATH",
    help="For the studies coreference and tagging: folder of CoNLL-2011 or CoNLL-2012, the data of the "
    "papers. The study then uses these data only.",
)
@click.option(
    "--ptb",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="PATH",
    help="Folder of the Penn Treebank (files wsj_NNNN.mrg). The study runs on it alone (study tagging).",
)
@click.option(
    "--nyt",
    type=click.Path(path_type=Path, exists=True),
    metavar="PATH",
    help="Folder of the New York Times Annotated Corpus. The study runs on its world news alone (study "
    "events).",
)
@click.option(
    "--train",
    is_flag=True,
    help="For the study networks: train the networks again, in 10 to 20 minutes, instead of using the "
    "included predictions. Needs calibrant-studies[networks].",
)
@printing
def command(
    name: str,
    data: Path | None,
    output: Path | None,
    seed: int | None,
    cells: str | None,
    replications: int | None,
    ontonotes: Path | None,
    ptb: Path | None,
    nyt: Path | None,
    train: bool,
    printing: Printing,
) -> None:
    """Run the experiment NAME again and print the paper's numbers beside ours.

    Studies: sentiment, synthetic and others; a wrong name lists them all.
    """
    from calibrant_studies.datasets._folders import found_for

    study = _load(name)
    options: dict[str, Any] = {} if seed is None else {"seed": seed}
    given: dict[str, Any] = {"cells": cells and cells.split(","), "replications": replications}
    given |= {"ontonotes": ontonotes, "ptb": ptb, "nyt": nyt, "train": train or None}
    for option, value in given.items():
        if value is not None:
            if option not in signature(study.run).parameters:
                raise click.UsageError(f"The study {name} has no option --{option}.")
            options[option] = value
    if output is not None and output.exists() and not output.is_dir():
        raise click.UsageError(f"{output} is not a folder: name another.")
    if hasattr(study, "plan"):  # of what is slow, what is there already
        click.echo("\n".join(study.plan(**options)), err=True)
    with Bar() as progress:
        if "progress" in signature(study.run).parameters:
            options["progress"] = progress
        found = study.run(data=found_for(name) if data is None else data, **options)
    if output is not None:
        from calibrant_studies import _base

        for path in _base.save(found, study.figures(found), output):
            click.echo(f"Wrote {path}", err=True)
    printing.show(found, lambda _: _lines(found), whole=True)


def _load(name: str) -> Any:
    from calibrant_studies import NAMES

    if name not in NAMES:
        raise click.UsageError(f"There is no study {name!r}; there are {', '.join(NAMES)}.")
    return import_module(f"calibrant_studies.{name}")


def _lines(found: Any) -> list[str]:
    from calibrant.cli import text
    from calibrant_studies._base import interval, number

    rows = [["number", "paper", "here", "interval", "verdict"]]
    for each in found.findings:
        limits = interval(each.value, each.low, each.high)
        paper = "" if each.paper is None else number(each.paper)
        rows.append([each.text, paper, number(each.value), limits, each.verdict or ""])
    chosen = "; ".join(f"{name} {value}" for name, value in found.parameters.items())
    how = [
        f"  seed {found.seed}; {found.wall_seconds:.0f} seconds; {chosen}",
        *(f"  data {name} (SHA-256 {digest[:16]})" for name, digest in found.data.items()),
    ]
    return [found.title, "", *text.table(rows), "", "How", *how, "", "Again", f"  {found.command}"]
