"""Figure files of events over time."""

from __future__ import annotations

import os
from typing import Any

from calibrant._checks import positive_integer
from calibrant.events.files.store import EventStore
from calibrant.events.results.corrected import CorrectedEvents
from calibrant.events.results.events import EventTable
from calibrant.events.verbs.reading import counted_events
from calibrant.verbs.figures import figure_kind, save_figure

LEAST_PANEL = 2.2  # inches of a panel's width


def draw_events(
    store: str | os.PathLike[str] | EventStore,
    output: str | os.PathLike[str],
    *,
    columns: int = 3,
    most: int = 20,
    rates: bool = False,
    own_scales: bool = False,
    width: float | None = None,
    **table: Any,
) -> EventTable | CorrectedEvents:
    """Draw the counts of countries over time: mean, interval and 1-best counts.

    With readings as ``labels``, draw the corrected counts of their country beside the uncorrected ones.

    Parameters
    ----------
    store
        Folder of the store, or an `EventStore`.
    output
        Figure to write, a name in ``.svg``, ``.pdf`` or ``.png``.
    columns, most, rates, own_scales
        As in `calibrant.events.plots.event_series`. There are fewer columns if panels would be narrower than
        2.2 inches.
    width
        As in `calibrant.verbs.save_figure`.
    **table
        As in `event_table`; ``labels`` may also be the readings that `corrected_events` takes.

    Returns
    -------
    EventTable or CorrectedEvents
        Numbers in the figure.

    Examples
    --------
    >>> import tempfile
    >>> from calibrant.data import event_store
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = draw_events(event_store("reuters-21578"), f"{folder}/countries.svg", by="year")
    >>> table.counts[0].country
    'IRN'
    """
    figure_kind(output)
    counted = counted_events(store, **table)
    from calibrant.events.plots import corrected_series, event_series

    if isinstance(counted, CorrectedEvents):
        save_figure(corrected_series(counted, rates=rates), output, width=width)
        return counted
    if width is not None:
        columns = min(positive_integer(columns, "columns"), max(1, int(width / LEAST_PANEL)))
    figure = event_series(counted, columns=columns, most=most, rates=rates, own_scales=own_scales)
    save_figure(figure, output, width=width)
    return counted
