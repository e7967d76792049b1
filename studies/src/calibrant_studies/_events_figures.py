"""The events study's figures, drawn from its record alone: countries over time, as the paper's figure 6."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from calibrant.events.lexicon import display_name
from calibrant.events.plots import event_series
from calibrant.events.results.events import EventCount, EventTable
from calibrant.records import Quantity
from calibrant_studies._base import Row, Study
from calibrant_studies._events_data import CORPORA, NYT, SAMPLES
from calibrant_studies._events_numbers import LEVEL, MOST

COLUMNS = 4
RATES = "current-events"
MISSING = Quantity(None, reason="the period has no documents")


def draw(study: Study) -> dict[str, Figure]:
    """Draw one figure per corpus, one of rates, and one by the paper's rules."""
    series = study.tables["series"]
    found = {}
    for corpus in (*CORPORA, NYT):
        rows = [row for row in series if row["corpus"] == corpus.title and row["rules"] == "default"]
        if not rows:
            continue
        table = _table(rows, corpus.by, named=False)
        found[corpus.name] = event_series(table, columns=COLUMNS, most=MOST, own_scales=True)
        if corpus.name == RATES:
            found[f"{corpus.name}-rates"] = event_series(
                table, columns=COLUMNS, most=8, rates=True, own_scales=True
            )
    paper = [row for row in series if row["rules"] == "paper"]
    found["paper"] = event_series(
        _table(paper, "year", named=True), columns=COLUMNS, most=MOST, own_scales=True
    )
    return found


def _table(rows: Sequence[Row], by: str, *, named: bool) -> EventTable:
    """Return a table for the figures of event stores; with ``named``, the corpus follows the country.

    Counts of periods without documents are unknown, not 0.
    """
    counts = tuple(
        EventCount(
            country=f"{row['country']}, {row['corpus']}" if named else row["country"],
            name=display_name(row["country"]) + (f", {row['corpus']}" if named else ""),
            period=row["period"],
            documents=row["documents"],
            matched=row["matched"],
            count=Quantity(row["mean"], row["low"], row["high"]) if row["documents"] else MISSING,
            sd=None,
            total=Quantity(row["mean"], row["low_total"], row["high_total"]) if row["documents"] else MISSING,
            rate=Quantity(row["mean"] / row["documents"]) if row["documents"] else MISSING,
            best=row["best"] if row["documents"] else None,
        )
        for row in rows
    )
    return EventTable(
        store="",
        by=by,
        interval="poisson-binomial",
        level=LEVEL,
        samples=SAMPLES,
        sampled="entities",
        recalibrated=True,
        finished=True,
        counts=counts,
    )
