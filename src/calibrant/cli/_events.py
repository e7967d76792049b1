"""What the commands on events share: options, and their results as text."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from calibrant.cli import _text as text
from calibrant.cli._options import LEVEL, SEED, added
from calibrant.exceptions import InputError

if TYPE_CHECKING:
    from calibrant.results.events import EventTable, ExtractedEvents, UncertainDocuments

Function = TypeVar("Function", bound=Callable[..., Any])
MOST_EVIDENCE = 3
LEFT_OUT = (
    "low and high hold what the documents' entities leave open under the model; errors of the parser, "
    "lexicon, rules, and those that all documents share are not in them"
)
TOTAL_LEFT_OUT = (
    "mean, sd and intervals are of probabilities that labelled documents recalibrated, 1-best is not; the "
    "interval with shared doubt (low_total, high_total) holds how well the recalibrator is known too; errors "
    "of the parser, lexicon and rules are in none"
)

COUNTRY = click.option(
    "--country",
    "countries",
    multiple=True,
    metavar="CODE",
    help="Code of a country, as in the lexicon (IRQ), or its name; may be repeated.  [default: all]",
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
    """Turn parsed options into arguments of `calibrant.workflow.event_table`."""
    dev = options["dev"]
    if options["interval"] != "samples":  # which cannot be recalibrated
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
    level = text.percent(found.level)
    head = ["country", "period", "documents", "matched", "mean", "sd", f"{level} interval"]
    head += ["with shared doubt"] if found.recalibrated else []
    rows = [[*head, "rate", "1-best"]]
    shown = [row for row in found.rows if row.matched or row.best]
    for row in shown:
        total = [_interval(row.low_total, row.high_total)] if found.recalibrated else []
        rows.append(
            [
                row.country,
                row.period,
                text.count(row.documents),
                text.count(row.matched),
                f"{row.mean:.2f}",
                f"{row.sd:.2f}",
                _interval(row.low, row.high),
                *total,
                text.decimal(row.rate),
                text.count(row.best),
            ]
        )
    lines = text.table(rows, left=2) if shown else ["No document counts for these countries."]
    empty = len(found.rows) - len(shown)
    if empty:
        lines.append(f"  and {text.count(empty)} cells without a document that may count (--json has them)")
    lines += ["", LEFT_OUT if not found.recalibrated else TOTAL_LEFT_OUT, *found.conditions]
    if not found.finished:
        lines.append("note: the run that made this store is not at its end")
    return lines + [f"note: {problem}" for problem in found.problems]


def _interval(low: float | None, high: float | None) -> str:
    return "-" if low is None or high is None else f"[{low:,.4g}, {high:,.4g}]"


def uncertain_lines(found: UncertainDocuments) -> list[str]:
    """Show documents with the evidence."""
    if not found.rows:
        return ["No document may count."]
    lines = []
    for row in found.rows:
        best = "counts" if row.best else "does not count"
        lines.append(f"{row.id}  {row.date}  {row.country}  {row.probability:.2f}  (1-best: {best})")
        for each in row.evidence[:MOST_EVIDENCE]:
            mention = f"{each.mention!r}, " if each.mention is not None else ""
            agent = f"{each.agent!r}, " if each.agent is not None else ""
            lines.append(
                f"    {each.probability:.2f}  {mention}sentence {each.mention_sentence}, is {agent}sentence "
                f"{each.agent_sentence}, agent of {each.verb}"
            )
    return lines + [f"note: {problem}" for problem in found.problems]
