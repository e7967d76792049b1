"""Options that the commands on taggers share, and the commands to run after an evaluation."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import click

from calibrant.cli.options import added

if TYPE_CHECKING:
    from calibrant.structures.results.tagging import TagEvaluation

Function = TypeVar("Function", bound=Callable[..., Any])
SPACY_COLUMNS = ("upos", "xpos", "upos+feats")


def column(default: str) -> Callable[[Function], Function]:
    return click.option(
        "--column",
        metavar="COLUMN",
        help="Column of the tags: upos, xpos or upos+feats in CoNLL-U; pos or names in CoNLL-2012; the "
        f"column's number in other files, where the token is column 1.  [default: {default}]",
    )


_TAGGING = (
    click.argument("sources", metavar="MODEL FILE", nargs=-1, required=True),
    click.option(
        "--spacy",
        metavar="PIPELINE",
        help="Name or folder of a spaCy pipeline, instead of MODEL. --column chooses its component: upos "
        "(the default) and upos+feats use the morphologizer; xpos and column numbers use the tagger.",
    ),
    column("the column of training; else upos, pos, or 2"),
    click.option(
        "--cluster",
        type=click.Choice(["sentence", "document"]),
        default="sentence",
        help="Unit whose tokens may be dependent; intervals treat units as independent.",
    ),
)
tagging = partial(added, options=_TAGGING)


def tagger_and_file(sources: Sequence[str], spacy: str | None, column: str | None) -> tuple[Any, str, str]:
    """Return the model (a path, or a loaded pipeline), its name, and the file."""
    if spacy is None:
        if len(sources) != 2:
            raise click.UsageError("Give MODEL and FILE, or --spacy PIPELINE and FILE.")
        return sources[0], sources[0], sources[1]
    if len(sources) != 1:
        raise click.UsageError("Give either MODEL or --spacy PIPELINE, then one FILE.")
    from calibrant.structures.models.spacy_tagger import SpacyTagger

    kind: Any = column or "upos"
    if kind not in SPACY_COLUMNS and kind.isdecimal():
        kind = "xpos"
    return SpacyTagger(spacy, column=kind), spacy, sources[0]


def steps_after(record: TagEvaluation, spacy: bool, column: str | None, views: Sequence[str]) -> list[str]:
    recipe = record.measured.recipe
    model = f"--spacy {shlex.quote(record.model)}" if spacy else shlex.quote(record.model)
    file = "FILE" if recipe.file == "stdin" else shlex.quote(recipe.file)
    chosen = "" if column is None else f" --column {shlex.quote(column)}"
    chosen += "" if record.cluster == "sentence" else f" --cluster {record.cluster}"
    asked = "".join(f" --view {shlex.quote(view)}" for view in views or ["pooled"])
    return [
        f"calibrant tag predict {model} {file}{chosen} -o pred.parquet",
        f"calibrant report pred.parquet{asked} -o report.html    the same as a page with figures",
    ]
