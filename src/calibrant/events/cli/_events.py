"""What the commands on events share: options, and their results as text."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click
from msgspec.structs import replace

from calibrant.cli import text
from calibrant.cli.options import LEVEL, SEED, added
from calibrant.exceptions import InputError

if TYPE_CHECKING:
    from calibrant.events.results.events import EventTable, ExtractedEvents, UncertainDocuments

Function = TypeVar("Function", bound=Callable[..., Any])
MOST_EVIDENCE = 3

COUNTRY = click.option(
    "--country",
    "countries",
    multiple=True,
    metavar="CODE",
    help="Code of a country, as in the lexicon (IRQ), or its name; may be repeated.  [default: all]",
)
PARSER = click.option(
    "--parser", metavar="PIPELINE", help="A spaCy pipeline, for raw text and documents without trees."
)
COREF = click.option(
    "--coref",
    metavar="MODEL",
    default="litbank",
    show_default=True,
    help="A model by `calibrant coref train`, or the name of one that ships: litbank is for fiction.",
)
SAMPLES = click.option(
    "--samples", type=click.IntRange(min=1), default=100, show_default=True, help="Samples a document."
)
RULES_OPTION = click.option(
    "--rules",
    type=click.Choice(["default", "paper"]),
    default="default",
    show_default=True,
    help="paper: agents of the verb attack; default: verbs of force, compounds, coordination, no places.",
)
LEXICON = click.option(
    "--lexicon",
    metavar="FILE",
    help="Names of countries: a CSV with code and name, or a list as country_igos.txt.  [default: the one "
    "that ships]",
)
_TABLE = (
    click.option(
        "--by",
        type=click.Choice(["week", "month", "quarter", "year"]),
        default="month",
        show_default=True,
        help="Length of a period; weeks are those of ISO 8601.",
    ),
    COUNTRY,
    click.option(
        "--count",
        type=click.Choice(["documents", "entities"]),
        default="documents",
        show_default=True,
        help="Documents with an entity that counts, or all such entities of all documents.",
    ),
    click.option(
        "--interval",
        type=click.Choice(["poisson-binomial", "normal", "samples"]),
        default="poisson-binomial",
        show_default=True,
        help="Exact quantiles of the sum; the paper's normal approximation; or quantiles of sampled sums.",
    ),
    LEVEL,
    click.option(
        "--dev",
        metavar="PRED",
        help="Predictions for documents with gold entities (score, label, cluster): recalibrate by them, and "
        "show how far counts are in doubt by that.  [default: for a store that ships, those that ship]",
    ),
    SEED,
    click.option(
        "--drift",
        metavar="SD",
        help="Standard deviation, in log-odds, by which probabilities shift from period to period, or "
        "estimate: from the column period or date of --dev. Widens the interval with shared doubt.",
    ),
)


def store_of(name: str) -> str:
    """The path of a store: a folder, or else one of those that ship."""
    from pathlib import Path

    from calibrant.data import STORES, event_store

    return str(event_store(name)) if name in STORES and not Path(name).exists() else name


def labels_of(name: str, dev: str | None) -> str | None:
    """Labelled documents: those given, or those that ship with a store that ships."""
    from calibrant.data import event_labels

    return str(event_labels()) if dev is None and store_of(name) != name else dev


def tabulating(function: Function) -> Function:
    """Add how documents are counted."""
    return added(function, _TABLE)


def table_settings(store: str, options: dict[str, Any]) -> dict[str, Any]:
    """Turn parsed options into arguments of `calibrant.events.event_table`."""
    dev = options["dev"]
    if options["interval"] != "samples" and options["count"] == "documents":  # others are not recalibrated
        dev = labels_of(store, dev)
    drift = options["drift"]
    if drift not in (None, "estimate"):
        try:
            drift = float(drift)
        except ValueError:
            message = f"drift is {drift!r}"
            hint = "give a number of log-odds such as 0.2, or estimate"
            raise InputError(message, hint, code="parameter") from None
    return {**options, "countries": options["countries"] or None, "dev": dev, "drift": drift}


def run_lines(found: ExtractedEvents) -> list[str]:
    """Word what a run did."""
    store = shlex.quote(found.store)
    return text.printed(
        found,
        steps=[
            f"calibrant events table {store} --by year    counts with intervals",
            f"calibrant events uncertain {store}    documents near 50 %",
        ],
    )


def table_lines(found: EventTable) -> list[str]:
    """Show counts; periods in which nothing may count are left out here, not in JSON."""
    shown = tuple(row for row in found.counts if row.matched or row.best)
    if not shown:
        return ["No document counts for these countries.", *(f"note: {each}" for each in found.problems)]
    lines = replace(found, counts=shown).to_text().splitlines()
    empty = len(found.counts) - len(shown)
    if empty:
        lines.append(
            f"{text.count(empty)} cells without a document that may count are left out: --json has them"
        )
    return lines


def uncertain_lines(found: UncertainDocuments) -> list[str]:
    """Show documents with the evidence."""
    if not found.documents:
        return ["No document may count.", *(f"note: {each}" for each in found.problems)]
    rows = tuple(replace(row, evidence=row.evidence[:MOST_EVIDENCE]) for row in found.documents)
    lines = replace(found, documents=rows).to_text().splitlines()
    if rows != found.documents:
        lines.append(f"Of each document at most {MOST_EVIDENCE} pairs of mentions are shown: --json has all")
    return lines
