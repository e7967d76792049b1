"""Options and printed results that the commands on events share."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from calibrant.cli import text
from calibrant.cli.options import LEVEL, SEED, added
from calibrant.exceptions import InputError

if TYPE_CHECKING:
    from calibrant.events.results.events import EventTable, UncertainDocuments

MOST_EVIDENCE = 3

COUNTRY = click.option(
    "--country",
    "countries",
    multiple=True,
    metavar="CODE",
    help="Use only this country, given by its code in the lexicon (IRQ) or its name; may be repeated.  "
    "[default: all]",
)
PARSER = click.option(
    "--parser", metavar="PIPELINE", help="spaCy pipeline that parses raw text and documents without trees."
)
COREF = click.option(
    "--coref",
    metavar="MODEL",
    default="litbank",
    help="Coreference model: a file written by `calibrant coref train`, or litbank, which is included and "
    "was trained on fiction.",
)
SAMPLES = partial(click.option, "--samples", default=100, help="Sampled clusterings per document.")
RULES_OPTION = click.option(
    "--rules",
    type=click.Choice(["default", "paper"]),
    default="default",
    help="Rules that find agents. paper: agents of the verb attack, as in Nguyen & O'Connor (2015). default: "
    "agents of verbs of force, with compounds and coordination, without places.",
)
LEXICON = click.option(
    "--lexicon",
    metavar="FILE",
    help="Names of countries: a CSV with the columns code and name, or a list in the format of "
    "country_igos.txt.  [default: the included lexicon]",
)
_TABLE = (
    click.option(
        "--by",
        type=click.Choice(["week", "month", "quarter", "year"]),
        default="month",
        help="Length of a period. Weeks are ISO 8601 weeks.",
    ),
    COUNTRY,
    click.option(
        "--count",
        type=click.Choice(["documents", "entities"]),
        default="documents",
        help="Unit to count: documents with at least one entity that counts, or all entities that count.",
    ),
    click.option(
        "--interval",
        type=click.Choice(["poisson-binomial", "normal", "samples"]),
        default="poisson-binomial",
        help="Interval of a count: exact quantiles of the sum (poisson-binomial), the normal "
        "approximation of Nguyen & O'Connor (2015) (normal), or quantiles of sampled sums (samples).",
    ),
    LEVEL,
    click.option(
        "--labels",
        metavar="FILE",
        help="Predictions for labeled documents (columns score, label, cluster). They recalibrate the "
        "probabilities and add the total interval of each count.  [default: for an included store, the "
        "included labels]",
    ),
    SEED,
    click.option(
        "--drift",
        metavar="SD",
        help="Standard deviation, in log-odds, of the shift of probabilities between periods; it widens the "
        "total interval. With the value estimate, it is estimated from the column period or date of --labels."
        "  [default: none]",
    ),
)
tabulating = partial(added, options=_TABLE)


def store_of(name: str) -> str:
    """Return the path of a store: a folder, or the name of an included store."""
    from pathlib import Path

    from calibrant.data import STORES, event_store

    return str(event_store(name)) if name in STORES and not Path(name).exists() else name


def labels_of(name: str, labels: str | None) -> str | None:
    """Return the table of labeled documents: ``labels``, or the labels of an included store."""
    from calibrant.data import event_labels

    return str(event_labels()) if labels is None and store_of(name) != name else labels


def table_settings(store: str, options: dict[str, Any]) -> dict[str, Any]:
    """Turn parsed options into arguments of `calibrant.events.event_table`."""
    labels = options["labels"]
    if (
        options["interval"] != "samples" and options["count"] == "documents"
    ):  # other counts are not recalibrated
        labels = labels_of(store, labels)
    drift = options["drift"]
    if drift not in (None, "estimate"):
        try:
            drift = float(drift)
        except ValueError:
            message = f"drift is {drift!r}"
            hint = "give a number of log-odds such as 0.2, or estimate"
            raise InputError(message, hint, code="parameter") from None
    return {**options, "countries": options["countries"] or None, "labels": labels, "drift": drift}


def store_lines(*about: Any) -> list[str]:
    """Return the printed notes on a store, from the arguments of `store_notes`."""
    from calibrant.events.results.events import store_notes

    return [f"note: {each}" for each in store_notes(*about)]


def table_lines(found: EventTable) -> list[str]:
    """Return the printed lines of a table of counts, without periods in which no document may count."""
    shown = tuple(row for row in found.counts if row.matched or row.best)
    if not shown:
        return ["No document may count for these countries.", *store_lines(found.finished, found.problems)]
    lines = replace(found, counts=shown).to_text().splitlines()
    empty = len(found.counts) - len(shown)
    if empty:
        lines.append(
            f"{text.count(empty)} cells without a document that may count are omitted; --json prints them"
        )
    return lines


def uncertain_lines(found: UncertainDocuments) -> list[str]:
    """Return the printed lines of documents with their evidence."""
    if not found.documents:
        return ["No document may count.", *store_lines(found.finished, found.problems)]
    rows = tuple(replace(row, evidence=row.evidence[:MOST_EVIDENCE]) for row in found.documents)
    lines = replace(found, documents=rows).to_text().splitlines()
    if rows != found.documents:
        lines.append(f"At most {MOST_EVIDENCE} pairs of mentions per document are shown; --json prints all")
    return lines
