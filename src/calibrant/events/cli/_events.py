"""Options and printed results that the commands on events share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from calibrant.cli.made import options_of
from calibrant.exceptions import InputError

if TYPE_CHECKING:
    from calibrant.events.results.events import EventTable, UncertainDocuments

MOST_EVIDENCE = 3
MOST_COUNTRIES = 10
SCREEN, FEWEST = 24, 10  # rows of a table on a screen, and of its periods at least

RULES = click.Choice(["default", "paper"])
tabulating = options_of(
    "calibrant.events.verbs.tables:event_table",
    leave=("store",),
    countries="CODE",
    labels="FILE",
    seed=click.IntRange(min=0),
    drift="SD",
    since="PERIOD",
    until="PERIOD",
)


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
    return {**options, "labels": labels, "drift": drift}


def store_lines(*about: Any) -> list[str]:
    """Return the printed notes on a store, from the arguments of `store_notes`."""
    from calibrant.events.results.events import store_notes

    return [f"note: {note}" for note in store_notes(*about)]


def table_lines(table: EventTable, *, full: bool, most: int | None = None) -> list[str]:
    """Return the printed lines of a table of counts: all periods together, then periods that may count.

    Only the first ``most`` countries that may count are shown; None: all. Without ``full``, the rows fit a
    screen: of the periods, those with the largest counts are shown.
    """
    from msgspec.structs import replace

    from calibrant.cli import text

    overall = tuple(row for row in table.overall if row.matched or row.best)[:most]
    if not overall:
        return ["No document may count for these countries.", *store_lines(table.finished, table.problems)]
    countries = {row.country for row in overall}
    shown = [row for row in table.counts if row.country in countries and (row.matched or row.best)]
    largest = sorted(shown, key=lambda row: -(row.count.estimate or 0.0))
    kept = {id(row) for row in (largest if full else largest[: max(SCREEN - len(overall), FEWEST)])}
    chosen = tuple(row for row in shown if id(row) in kept)
    lines = replace(table, counts=chosen, overall=overall).to_text(full=full).splitlines()
    if len(chosen) < len(shown):
        lines.append(
            f"The {len(chosen)} periods with the largest counts are shown, of {text.count(len(shown))} in "
            "which a document may count; --full shows all"
        )
    count = sum(1 for row in table.overall if row.matched or row.best)
    if len(overall) < count:
        lines.append(
            f"{count - len(overall):,} of {count:,} countries are omitted, which count in fewer documents; "
            f"--most {count} shows them, and --json prints all"
        )
    empty = [row for row in table.counts if not row.matched and not row.best]
    gaps = len({row.period for row in empty if not row.documents})
    if empty:
        lines.append(
            f"{text.count(len(empty))} cells without a document that may count are omitted; "
            "--json prints them"
        )
    if gaps:
        without = "1 period has no documents" if gaps == 1 else f"{gaps:,} periods have no documents"
        lines.append(f"{without}, so that their counts are unknown, not 0")
    return lines


def uncertain_lines(uncertain: UncertainDocuments) -> list[str]:
    """Return the printed lines of documents with their evidence."""
    from msgspec.structs import replace

    if not uncertain.documents:
        return ["No document may count.", *store_lines(uncertain.finished, uncertain.problems)]
    rows = tuple(replace(row, evidence=row.evidence[:MOST_EVIDENCE]) for row in uncertain.documents)
    lines = replace(uncertain, documents=rows).to_text().splitlines()
    if rows != uncertain.documents:
        lines.append(f"At most {MOST_EVIDENCE} pairs of mentions per document are shown; --json prints all")
    return lines
