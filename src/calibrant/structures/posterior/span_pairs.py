"""Matching of predicted spans with gold spans."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import SUM_TOLERANCE, Floats, Integers, one_of
from calibrant.exceptions import InputError
from calibrant.structures.posterior._query import Query

Match = Literal["exact", "boundary", "type"]
Types = Literal["exclusive", "independent"]
Repeats = Literal["refuse", "largest", "mean"]
MATCHES, TYPES, REPEATS = get_args(Match), get_args(Types), get_args(Repeats)


@dataclass(frozen=True)
class SpanRows:
    """Spans of documents, one per row, in any order; spans may be nested and may cross.

    Attributes
    ----------
    document, type
        (n,) codes of document and type.
    start, end
        (n,) first position of the span, and first position after it.
    score
        (n,) probability that the span is gold; None for gold spans.
    """

    document: Integers
    start: Integers
    end: Integers
    type: Integers
    score: Floats | None = None


@dataclass(frozen=True)
class SpanPairs:
    """Scores and labels of the spans that a model outputs, and numbers of missed gold spans.

    Attributes
    ----------
    match
        ``exact``, ``boundary`` or ``type``; see `pair_spans`.
    score, label
        (n,) probability of each span, and True if it is gold.
    document, start, end, type
        (n,) values of each span, sorted by document; ``type`` contains codes, all 0 for ``boundary``.
    documents, types
        Names of documents and types.
    gold
        Number of gold spans that the model could have found: distinct spans, distinct boundaries, or distinct
        spans whose boundary it outputs.
    missed
        Gold spans without a pair, by type.
    unseen
        Gold spans whose type the model never outputs, by type.
    repeated, repeated_gold
        Rows that repeat the span of another row.
    without_gold
        Number of documents with predicted spans but without gold spans.
    threshold
        Smallest score of a pair; None without a threshold.
    """

    match: Match
    score: Floats
    label: NDArray[np.bool_]
    document: Integers
    start: Integers
    end: Integers
    type: Integers
    documents: tuple[str, ...]
    types: tuple[str, ...]
    gold: int
    missed: dict[str, int]
    unseen: dict[str, int]
    repeated: int
    repeated_gold: int
    without_gold: int
    threshold: float | None

    @property
    def query(self) -> Query:
        """Return the pairs as a query for `calibrant.measure`, with documents as clusters."""
        return Query.of_parts(
            f"spans, {self.match}",
            self.score,
            self.label,
            self.document,
            count=len(self.documents),
            clusters=np.array(self.documents),
            classes=self.types,
            class_code=self.type,
            unseen=self.unseen,
            missed=self.missed,
            threshold=self.threshold,
        )


def pair_spans(
    predicted: SpanRows,
    gold: SpanRows,
    documents: tuple[str, ...],
    types: tuple[str, ...],
    *,
    match: Match = "exact",
    type_scores: Types = "exclusive",
    repeats: Repeats = "refuse",
    threshold: float | None = None,
) -> SpanPairs:
    """Match predicted spans with gold spans, as pairs of a score and a label.

    Calibration of these pairs is conditional on the model's output. A gold span that the model does not
    output has no pair, like the many spans that are neither gold nor predicted; it is counted in ``missed``.

    Parameters
    ----------
    predicted, gold
        Spans, with codes of the same documents and types.
    documents, types
        Names of documents and types, by code.
    match
        ``exact``: one pair per predicted span, correct if gold has its boundary with its type. ``boundary``:
        one pair per predicted boundary, correct if gold has it with any type. ``type``: one pair per
        predicted span whose boundary is gold, with the probability of its type given the boundary.
    type_scores
        Combination of the scores of several types at one boundary: the probability of the boundary is the sum
        for ``exclusive`` types (softmax, CRF), and 1 - (1 - p)(1 - q)... for ``independent`` types
        (sigmoids).
    repeats
        Treatment of a span that is predicted with different scores: ``refuse``, or use the ``largest`` score
        or the ``mean``. Rows with the same score are one span.
    threshold
        Smallest score of a pair: of a boundary, for ``boundary``, and of a type given it, for ``type``.

    Raises
    ------
    InputError
        If a span has two scores, exclusive types sum to more than 1, or, for ``type``, no boundary has scores
        of several types. ``row`` is the index of the predicted row.

    Examples
    --------
    >>> zero, one = np.array([0, 0]), np.array([0])
    >>> predicted = SpanRows(zero, np.array([0, 4]), np.array([3, 7]), np.array([0, 0]), np.array([0.9, 0.4]))
    >>> gold = SpanRows(zero, np.array([0, 8]), np.array([3, 9]), np.array([0, 0]))
    >>> pairs = pair_spans(predicted, gold, ("d1",), ("PER",))
    >>> pairs.score.tolist(), pairs.label.tolist(), pairs.gold, pairs.missed
    ([0.9, 0.4], [True, False], 2, {'PER': 1})
    """
    one_of(match, MATCHES, "match")
    one_of(type_scores, TYPES, "type_scores")
    one_of(repeats, REPEATS, "repeats")
    assert predicted.score is not None
    spans, boundaries = _codes(predicted, gold)
    count = len(predicted.score)
    score, row = _once(spans[:count], predicted, repeats)
    row = row[np.argsort(predicted.document[row], kind="stable")]
    true, true_row = np.unique(spans[count:], return_index=True)
    true_boundary = boundaries[count:][true_row]
    type_of_true = gold.type[true_row]
    unit, true_unit = spans[:count], true
    kind = predicted.type
    output_types = kind[row]
    if match == "boundary":
        unit, (true_unit, place) = boundaries[:count], np.unique(true_boundary, return_index=True)
        type_of_true = np.zeros(len(place), np.int64)
        score, row = _joined(score, row, unit, type_scores)
        kind, output_types, types = np.zeros_like(kind), np.zeros(1, np.int64), ("boundary",)
    elif match == "type":
        total, _ = _joined(score, row, boundaries[:count], type_scores)
        _check_several(row, boundaries[:count])
        kept = np.isin(true_boundary, boundaries[row])
        true_unit, type_of_true = true[kept], type_of_true[kept]
        row = row[np.isin(boundaries[row], true_boundary)]
        known = total[row]
        score = score.copy()
        score[row] = np.divide(score[row], known, out=np.zeros(len(row)), where=known > 0)
    if threshold is not None:  # of the pair: the sum of a boundary needs the small scores too
        row = row[score[row] >= threshold]
    lost = ~np.isin(true_unit, unit[row])
    known_type = np.isin(type_of_true, output_types)
    return SpanPairs(
        match,
        np.minimum(score[row], 1.0),
        np.isin(unit[row], true_unit),
        predicted.document[row],
        predicted.start[row],
        predicted.end[row],
        kind[row],
        documents,
        types,
        len(true_unit),
        _count(type_of_true[lost & known_type], types),
        _count(type_of_true[lost & ~known_type], types),
        count - len(np.unique(spans[:count])),
        len(gold.type) - len(true),
        len(np.setdiff1d(predicted.document, gold.document)),
        threshold,
    )


def _codes(predicted: SpanRows, gold: SpanRows) -> tuple[Integers, Integers]:
    """Return codes of the spans and of their boundaries, for predicted rows, then gold rows."""
    boundary = [
        np.concatenate([getattr(predicted, part), getattr(gold, part)])
        for part in ("document", "start", "end")
    ]
    boundaries = _distinct(boundary)
    return _distinct([boundaries, np.concatenate([predicted.type, gold.type])]), boundaries


def _distinct(columns: list[Integers]) -> Integers:
    """Return one code per row, equal for rows that are equal in all columns."""
    order = np.lexsort(columns)
    differs = np.zeros(len(order), np.bool_)
    for column in columns:
        ordered = column[order]
        differs[1:] |= ordered[1:] != ordered[:-1]
    codes = np.empty(len(order), np.int64)
    codes[order] = np.cumsum(differs)
    return codes


def _once(spans: Integers, predicted: SpanRows, repeats: Repeats) -> tuple[Floats, Integers]:
    """Return (n,) scores, and the first row of each span, with the score of all its rows."""
    assert predicted.score is not None
    _, first, index = np.unique(spans, return_index=True, return_inverse=True)
    given = predicted.score
    differs = np.flatnonzero(given != given[first[index]])
    if len(differs) and repeats == "refuse":
        row = int(differs[0])
        message = (
            f"the span {predicted.start[row]} to {predicted.end[row]} has the score {given[row].item()!r} "
            f"here and {given[first[index[row]]].item()!r} in an earlier row"
        )
        hint = "keep one row per span and type, or use `repeats='largest'` or `repeats='mean'`"
        raise InputError(message, hint, code="duplicate", row=row)
    score = given.copy()
    if repeats == "mean":
        score[first] = np.bincount(index, given) / np.bincount(index)
    else:
        np.maximum.at(score, first[index], given)
    return score, np.sort(first)


def _joined(score: Floats, row: Integers, unit: Integers, types: Types) -> tuple[Floats, Integers]:
    """Return the probability of any type at each row's boundary, and the first row of each boundary."""
    _, first, index = np.unique(unit[row], return_index=True, return_inverse=True)
    if types == "exclusive":
        total = np.bincount(index, score[row])
        above = np.flatnonzero(total > 1 + SUM_TOLERANCE)
        if len(above):
            place = first[above].min()
            message = (
                f"the scores of the types at this boundary sum to {total[index[place]]:.6g}, more than 1"
            )
            hint = "use `type_scores='independent'` for types that do not exclude each other"
            raise InputError(message, hint, code="class-sum", row=int(row[place]))
    else:
        with np.errstate(divide="ignore"):
            total = -np.expm1(np.bincount(index, np.log1p(-score[row])))
    joined = np.zeros(len(score))
    joined[row] = np.minimum(total, 1.0)[index]
    return joined, row[np.sort(first)]


def _check_several(row: Integers, boundary: Integers) -> None:
    if len(np.unique(boundary[row])) == len(row):
        message = (
            "every boundary has the score of one type only, so probabilities given the boundary are unknown"
        )
        hint = "write the scores of all entity types for each start and end, one row per type"
        raise InputError(message, hint, code="view")


def _count(codes: Integers, types: tuple[str, ...]) -> dict[str, int]:
    """Return the number of spans of each type, the most frequent first."""
    return {types[code]: count for code, count in Counter(codes.tolist()).most_common()}
