"""Matching of predicted spans with gold spans, written as a prediction table."""

from __future__ import annotations

import os
from typing import Any

from calibrant.io.atomic import keep_sources
from calibrant.progress import Progress, tell
from calibrant.records import Quantity
from calibrant.structures.files.span_tables import SpanColumns, SpanWriter, read_spans
from calibrant.structures.posterior.span_pairs import Match, Repeats, Types
from calibrant.structures.results.spans import MatchedSpans


def match_spans(
    predicted: Any,
    gold: Any = None,
    output: str | os.PathLike[str] = "-",
    *,
    match: Match = "exact",
    type_scores: Types = "exclusive",
    repeats: Repeats = "refuse",
    drop_below: float = 0.0,
    columns: SpanColumns | None = None,
    progress: Progress | None = None,
) -> MatchedSpans:
    """Match predicted spans with gold spans, and write a long prediction table of the predicted spans.

    The table's columns are ``score``, ``label`` (1 if the span is gold), ``class`` (the type), ``cluster``
    (the document), ``start`` and ``end``. Gold spans that the model does not output are counted, not written.

    Parameters
    ----------
    predicted, gold
        As in `calibrant.structures.read_spans`.
    match
        Parts of a span that must match. ``exact``: boundary and type. ``boundary``: boundary only. ``type``:
        type only; spans whose boundary is not gold are left out.
    type_scores
        How to combine the scores of several types at one boundary, with `match` ``boundary`` or ``type``.
        ``exclusive``: p + q, for softmax scores. ``independent``: 1 - (1 - p)(1 - q), for sigmoid scores.
    repeats
        How to treat a span with different scores, for example from overlapping windows. ``refuse``: report an
        error. ``largest``: use the largest score. ``mean``: use the mean of the scores.
    drop_below
        Leave out pairs with scores below this number in [0, 1), which the table records as its threshold.
    columns
        As in `calibrant.structures.read_spans`.
    output
        Table to write, a name in ``.parquet``, ``.arrow``, ``.csv``, ``.tsv`` or ``.jsonl``; ``-`` writes CSV
        to standard output.
    progress
        Called with each stage; the work of a stage is unknown.

    Returns
    -------
    MatchedSpans

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow as pa
    >>> from calibrant import measure
    >>> places = {"document": ["d1", "d1"], "start": [0, 10], "end": [5, 12]}
    >>> spans = pa.table({**places, "type": ["PER", "LOC"], "score": [0.75, 0.5], "gold": [1, 0]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     matched = match_spans(spans, output=f"{folder}/pairs.parquet")
    ...     measured = measure(f"{folder}/pairs.parquet", view="pooled")["pooled"]
    >>> matched.rows, matched.missed, measured.positives
    (2, 0, 1)
    """
    keep_sources(output, predicted, gold)
    tell(progress, "reading")
    pairs = read_spans(
        predicted,
        gold,
        match=match,
        type_scores=type_scores,
        repeats=repeats,
        drop_below=drop_below,
        columns=columns,
    )
    tell(progress, "writing")
    with SpanWriter(output, pairs) as writer:
        writer.write()
    missed = sum(pairs.missed.values()) + sum(pairs.unseen.values())
    recall = Quantity(None, reason="there are no gold spans")
    if pairs.gold:
        recall = Quantity((pairs.gold - missed) / pairs.gold)
    return MatchedSpans(
        predicted=_named(predicted),
        gold_source=None if gold is None else _named(gold),
        output=os.fspath(output),
        match=match,
        type_scores=type_scores,
        rows=len(pairs.score),
        positives=int(pairs.label.sum()),
        repeated=pairs.repeated,
        documents=len(pairs.documents),
        without_gold=pairs.without_gold,
        gold=pairs.gold,
        missed=missed,
        recall=recall,
        repeated_gold=pairs.repeated_gold,
        missed_types=pairs.missed,
        unseen_types=pairs.unseen,
        threshold=pairs.threshold,
    )


def _named(source: Any) -> str:
    if isinstance(source, (str, os.PathLike)):
        return "stdin" if os.fspath(source) == "-" else os.fspath(source)
    return "a dataframe"
