"""Documents of a store to read, and counts corrected by what readers said."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from msgspec.structs import replace

from calibrant.estimation.results.designs import DrawnSample
from calibrant.estimation.verbs import estimate
from calibrant.estimation.verbs.sampling import sample
from calibrant.events.files.readings import ANSWER, DRAW, WRITTEN, Readings, table_of
from calibrant.events.files.store import EventStore
from calibrant.events.lexicon import display_name
from calibrant.events.results.corrected import CorrectedEvents, CorrectedPeriod
from calibrant.events.results.events import EventTable
from calibrant.events.verbs.tables import NO_DOCUMENTS, Calendar, country_codes, event_table
from calibrant.events.verbs.uncertain import texts_of
from calibrant.exceptions import InputError
from calibrant.io.roles import Role, open_table, read
from calibrant.metrics.periods import By
from calibrant.progress import Progress
from calibrant.records import Quantity
from calibrant.seeds import Seed

KEPT = ("country", "role", "date", "score")
EMPTY = Quantity(None, reason=NO_DOCUMENTS)
UNREAD = (
    "read the documents with `calibrant explore STORE --readings FILE`, or write yes, no or unclear into it"
)
WHOLE = "all"
OTHER_STORE = "give the readings of this store"


def document_scores(store: str | os.PathLike[str] | EventStore, country: str) -> Any:
    """Return the probability that each document of a store counts for a country, 0 if it never does.

    Parameters
    ----------
    store
        Folder of the store, or an `EventStore`.
    country
        Code or name of a country, or of a pair of countries.

    Returns
    -------
    pyarrow.Table
        Columns ``item``, ``date``, ``country`` and ``score``, one row per document, including those that were
        skipped because they cannot count. `calibrant.estimation` reads it: to sample documents, to correct
        counts by labels, or as the outcome of a regression.

    Examples
    --------
    >>> from calibrant.data import event_store
    >>> table = document_scores(event_store("reuters-21578"), "Iran")
    >>> table.num_rows, round(sum(table["score"].to_pylist()), 2)
    (21578, 14.47)
    """
    opened = store if isinstance(store, EventStore) else EventStore(store)
    counts = opened.counts()
    (code,) = country_codes([country], counts)
    rows = counts.rows_of(code)
    probability = dict(
        zip((counts.names[place] for place in counts.document[rows]), counts.probability[rows], strict=True)
    )
    names, days = opened.names_and_days()
    scores = np.array([probability.get(name, 0.0) for name in names])
    dates = np.datetime_as_string(days, unit="D").tolist()
    return table_of({"item": names, "date": dates, "country": [code] * len(names), "score": scores})


def sample_readings(
    store: str | os.PathLike[str] | EventStore,
    output: str | os.PathLike[str] | None = None,
    *,
    country: str,
    size: int,
    previous: Any = None,
    documents: str | os.PathLike[str] | None = None,
    seed: Seed = 0,
    progress: Progress | None = None,
) -> DrawnSample:
    """Draw a simple random sample of a store's documents to read, and write it with its probabilities.

    All documents have the same probability. Samples by the model's uncertainty need fewer readings if the
    model misses nothing, but their intervals covered as little as 55 % if it missed some.

    A reader then writes yes, no or unclear into a column ``label``: does the country do what is counted in
    this document, whatever the model says? Documents that the model counts for nothing are drawn, too, so
    that the corrected count includes what parser, lexicon and rules miss.

    Parameters
    ----------
    store
        Folder of the store, or an `EventStore`.
    output
        Table to write: ``item``, ``inclusion_probability``, ``stratum``, ``country``, ``role``, ``date``,
        ``score``, and ``text`` with `documents`.
    country
        Code or name of the country, or pair of countries, that the readings are about.
    size
        Number of documents to draw.
    previous
        Table of earlier rounds, as in `calibrant.estimation.sample`.
    documents
        Documents of the run, to write their texts.
    seed
        Seed of the draw.
    progress
        Called with a stage, the number of documents done, and their total (None if unknown).

    Returns
    -------
    DrawnSample
        Its ``table`` is the Arrow table that is written.

    Raises
    ------
    InputError
        If neither the store nor the lexicon has the country, or a number is invalid.

    Examples
    --------
    >>> from calibrant.data import event_store
    >>> drawn = sample_readings(event_store("reuters-21578"), country="Iran", size=100, seed=1)
    >>> drawn.drawn, drawn.table.column_names
    (100, ['item', 'inclusion_probability', 'stratum', 'country', 'role', 'date', 'score'])
    """
    opened = store if isinstance(store, EventStore) else EventStore(store)
    table = document_scores(opened, country)
    table = table.append_column("role", [[opened.role] * table.num_rows])
    keep = list(KEPT)
    if documents is not None:
        names = set(table["item"].to_pylist())
        texts = texts_of(opened, documents, names, progress=progress)
        given = [texts[name].text if name in texts else "" for name in table["item"].to_pylist()]
        table = table.append_column("text", [given])
        keep.append("text")
    drawn = sample(table, output, size=size, previous=previous, keep=keep, seed=seed)
    # The probabilities leave out the errors of parser and rules, so they promise too narrow an interval.
    return replace(drawn, relative_width=None)


def are_readings(labels: Any) -> bool:
    """Return True if a table of labels is about documents of a store, as `sample_readings` writes it."""
    columns = {*open_table(labels).columns}
    return "inclusion_probability" in columns or {"item", "country"} <= columns


def counted_events(
    store: str | os.PathLike[str] | EventStore, *, labels: Any = None, **table: Any
) -> EventTable | CorrectedEvents:
    """Count documents by country and period, corrected by readings if the labels are readings.

    Parameters
    ----------
    store
        Folder of the store, or an `EventStore`.
    labels
        Labeled documents as in `event_table`, or readings as in `corrected_events`.
    **table
        As in `event_table`. With readings, which are about documents of one country, only ``by``,
        ``countries``, ``level``, ``since`` and ``until``.

    Returns
    -------
    EventTable or CorrectedEvents

    Raises
    ------
    InputError
        As in the two functions, and if readings cannot correct what is counted.

    Examples
    --------
    >>> from calibrant.data import event_store
    >>> len(counted_events(event_store("reuters-21578"), by="year", countries=["Iran"]).counts)
    1
    """
    if labels is None or not are_readings(labels):
        return event_table(store, labels=labels, **table)
    countries = table.pop("countries", None) or [None]
    if len(countries) > 1:
        hint = "give one of the `countries`, or leave it out"
        raise InputError("readings are about one country", hint, code="parameter")
    if table.pop("count", "documents") != "documents":
        hint = "count documents, or leave `labels` out"
        raise InputError("readings of documents cannot correct counts of entities", hint, code="parameter")
    if table.pop("drift", None) is not None:
        hint = "leave `drift` out"
        raise InputError("readings correct each period, so there is no drift", hint, code="parameter")
    known = {name: table[name] for name in ("by", "level", "since", "until") if name in table}
    return corrected_events(store, labels, country=countries[0], **known)


def check_readings(store: EventStore, readings: Readings) -> None:
    """Raise `InputError` if readings are of documents that a store lacks, or of another role."""
    file = os.fspath(readings.path)
    check_role(store, readings.role, file)
    names = {*store.names_and_days()[0]}
    strange = next((item for item in readings.items if item not in names), None)
    if strange is not None:
        raise InputError(_unknown(strange), OTHER_STORE, code="parameter", file=file)


def check_role(store: EventStore, role: str | None, file: str) -> None:
    """Raise `InputError` if readings say what another kind of store counts."""
    if role not in (None, store.role):
        message = f"the readings are about the role {role}, and the store counts the role {store.role}"
        raise InputError(message, OTHER_STORE, code="parameter", file=file)


def _unknown(item: str) -> str:
    return f"the store has no document {item!r:.60}"


def corrected_events(
    store: str | os.PathLike[str] | EventStore,
    labels: Any,
    *,
    by: By = "year",
    country: str | None = None,
    level: float = 0.95,
    since: str | None = None,
    until: str | None = None,
) -> CorrectedEvents:
    """Correct the counts of a country by documents that people read.

    Counts are those of design-based supervised learning: the sum of the model's probabilities, plus the sum
    of the readers' corrections divided by the inclusion probabilities. So the interval includes the errors of
    the tagger, the parser, the mentions, coreference, the lexicon and the rules.

    Parameters
    ----------
    store
        Folder of the store, or an `EventStore`.
    labels
        Table written by `sample_readings` with a column ``label``: yes, no or unclear (or 1 and 0). Rows
        without a label are documents that were not read.
    by
        Length of a period.
    country
        Code or name of the country. None: that of the table's column ``country``.
    level
        Confidence level of the intervals. If some answers are unclear, the interval contains those of the
        counts with all of them as no and with all of them as yes.
    since, until
        First and last period to show, as in `event_table`; the row of all documents is then left out.

    Raises
    ------
    InputError
        If a label is no answer, the readings are about several or other countries, or the table has no
        inclusion probabilities.

    References
    ----------
    Egami, Hinck, Stewart and Wei (2023), "Using imperfect surrogates for downstream inference: design-based
    supervised learning for social science applications of large language models", NeurIPS.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from calibrant.data import event_store
    >>> store = event_store("reuters-21578")
    >>> drawn = sample_readings(store, country="Iran", size=100, seed=1).table
    >>> answers = ["yes" if score > 0.5 else "no" for score in drawn["score"].to_pylist()]
    >>> counts = corrected_events(store, drawn.append_column("label", pa.array(answers)))
    >>> counts.country, counts.counts[0].period, counts.counts[0].read
    ('IRN', 'all', 100)
    """
    roles = [
        Role("item", once=True, how=DRAW),
        Role("inclusion_probability", "score", how=DRAW),
        Role("label", "name", gaps=True, how=UNREAD),
        Role("country", needed=False),
        Role("role", "name", needed=False),
        Role("stratum", needed=False),
        Role("round", "finite", needed=False),
    ]
    columns = read(labels, roles)  # without the rows that have no label
    answers = np.array([WRITTEN.get(str(name).strip().lower(), -1.0) for name in columns.names["label"]])
    if (answers < 0).any():
        row = int(np.flatnonzero(answers[columns["label"]] < 0)[0])
        message = f"{columns.texts('label')[row]!r:.40} is no answer"
        raise columns.error(row, message, ANSWER, "label-value", part="label")
    values = answers[columns["label"]]
    unclear = np.isnan(values)
    named = sorted({str(code) for code in columns.texts("country")}) if "country" in columns else []
    if len(named) > 1 or (not named and country is None):
        message = (
            f"the readings are about {', '.join(named[:3])}" if named else "the readings name no country"
        )
        raise InputError(message, "give the readings of one country, and name it", code="parameter")
    opened = store if isinstance(store, EventStore) else EventStore(store)
    (code,) = country_codes([named[0] if country is None else country], opened.counts())
    if named and named[0] != code:
        message = f"the readings are about {named[0]}, not {code}"
        raise InputError(message, "leave the country out, or give other readings", code="parameter")
    if "role" in columns:
        for role in columns.names["role"]:
            check_role(opened, role, columns.table.name)
    periods = Calendar.of(opened, by, since, until).periods
    chosen = (WHOLE, *periods) if since is None and until is None else periods
    scores = document_scores(opened, code)
    names = {*scores["item"].to_pylist()}
    for row, item in enumerate(columns.texts("item")):
        if item not in names:
            raise columns.error(row, _unknown(item), OTHER_STORE, "parameter", part="item")
    kept = {
        "item": columns.texts("item").tolist(),
        "inclusion_probability": columns["inclusion_probability"],
        **({"stratum": columns.texts("stratum").tolist()} if "stratum" in columns else {}),
        **({"round": columns["round"]} if "round" in columns else {}),
    }
    ends = [
        estimate(
            scores,
            table_of({**kept, "label": np.where(unclear, filled, values)}),
            by=by,
            methods=("uncorrected", "dsl"),
            level=level,
        )
        for filled in ((0.0, 1.0) if unclear.any() else (0.0,))
    ]
    model = {row.period: row for row in ends[0].estimates if row.method == "uncorrected"}
    sides = [[row for row in end.estimates if row.method == "dsl"] for end in ends]
    rows = {
        rows_of[0].period: CorrectedPeriod(
            period=rows_of[0].period,
            documents=rows_of[0].documents,
            read=rows_of[0].labelled,
            count=_between([row.count for row in rows_of]),
            model=float(model[rows_of[0].period].count.estimate or 0.0),
            few_warning=next((row.few_warning for row in rows_of if row.few_warning), None),
        )
        for rows_of in zip(*sides, strict=True)
    }
    return CorrectedEvents(
        store=os.fspath(opened.path),
        country=str(code),
        name=display_name(str(code)),
        by=by,
        documents=scores.num_rows,
        read=len(values),
        unclear=int(unclear.sum()),
        level=level,
        counts=tuple(
            rows.get(period, CorrectedPeriod(period=period, documents=0, read=0, count=EMPTY))
            for period in chosen
        ),
        selection_warning=ends[0].selection_warning,
    )


def _between(counts: list[Quantity]) -> Quantity:
    """Return the middle of counts, with an interval that contains their intervals."""
    if len(counts) == 1 or any(None in (count.estimate, count.low, count.high) for count in counts):
        return counts[0]
    middle = sum(float(count) for count in counts) / len(counts)
    lows, highs = [count.low or 0.0 for count in counts], [count.high or 0.0 for count in counts]
    return Quantity(middle, min(lows), max(highs), warning=counts[0].warning)
