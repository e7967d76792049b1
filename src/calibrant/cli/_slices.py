"""Slices as text: a table of the worst, and what its numbers promise."""

from __future__ import annotations

from calibrant.cli import _text as text
from calibrant.results.slices import SliceErrors, SliceTable, SliceTables, ranked, root

LONGEST = 40
MOST_NAMED = 5
PROMISES = {
    "simultaneous": "all of them hold together with {level} (Bonferroni; p-values after Holm)",
    "fcr": "of those of the slices found, {level} hold on average (Benjamini and Yekutieli; p-values after "
    "Benjamini and Hochberg)",
    "none": "each holds with {level} for its slice alone; of many slices some miss",
}


def lines_of(found: SliceTables, most: int) -> list[str]:
    """Word every way to slice."""
    lines: list[str] = []
    for table in found.tables:
        lines += [*([""] if lines else []), *_table(table, most)]
    return lines


def _table(table: SliceTable, most: int) -> list[str]:
    measured = [row for row in table.rows if row.reason is None]
    lines = [
        f"{table.file}: {text.counted(table.n, 'pair')} in {text.counted(len(table.rows), 'slice')} "
        f"by {', '.join(table.by)}, event {table.event}"
    ]
    if measured:
        lines += ["", *_rows(table, measured[:most])]
        if len(measured) > most:
            lines.append(f"  ({len(measured) - most:,} more slices; --most or --json shows them)")
        lines += ["", *_summary(table, measured)]
    return [*lines, *_left_out(table), *_notes(table, measured)]


def _rows(table: SliceTable, rows: list[SliceErrors]) -> list[str]:
    signed = table.rank == "signed"
    interval = f"{text.percent(table.level)} interval"
    first = ["slice", "n", "score", "frequency", "difference"]
    head = [*first, *([] if signed else ["error"]), "shrunken", interval, "test"]
    body = [
        [
            _short(row.name),
            text.count(row.n),
            text.number(row.mean_score),
            text.number(row.frequency),
            _signed(row.signed.estimate),
            *([] if signed else [text.number(root(row.squared.estimate))]),
            *_ranked(row, signed),
        ]
        for row in rows
    ]
    return text.table([head, *body])


def _ranked(row: SliceErrors, signed: bool) -> list[str]:
    if signed:
        found = row.signed
        low, high = _signed(found.low), _signed(found.high)
        between = "-" if found.low is None else f"[{low}, {high}]"
        return [_signed(found.shrunken), between, text.p_value(found.adjusted_p_value)]
    found = row.squared
    between = text.between(root(found.low), root(found.high))
    return [text.number(root(found.shrunken)), between, text.p_value(found.adjusted_p_value)]


def _signed(value: float | None) -> str:
    return "-" if value is None else f"{value:+.4f}"


def _short(name: str) -> str:
    return name if len(name) <= LONGEST else name[: LONGEST - 3] + "..."


def _summary(table: SliceTable, measured: list[SliceErrors]) -> list[str]:
    found = sum(ranked(row, table.rank).found is True for row in measured)
    share = text.percent(round(1 - table.level, 12))
    what = (
        "a calibration error" if table.rank == "error" else "scores that are too high or too low on average"
    )
    lines = [
        f"{found:,} of {text.counted(len(measured), 'slice')} found to have {what} (adjusted p <= {share})."
    ]
    lines.append(f"Intervals: {PROMISES[table.adjust].format(level=text.percent(table.level))}.")
    lines.append(
        "difference: mean score - frequency, positive where scores are too high; error: RMS, debiased."
    )
    lines.append(
        "shrunken: what to expect of the slice in new data; the raw error of the worst of many is too large."
    )
    spread = table.signed if table.rank == "signed" else table.squared
    if spread.mean is not None and spread.spread is not None:
        if table.rank == "signed":
            lines.append(
                f"Between slices the difference is {_signed(spread.mean)} on average, "
                f"with a standard deviation of {text.number(spread.spread)} beyond noise."
            )
        else:
            lines.append(
                f"The slices' RMS error is {text.number(root(spread.mean))} overall (root of the mean)."
            )
    return lines


def _left_out(table: SliceTable) -> list[str]:
    small = [row for row in table.rows if row.reason is not None]
    if not small:
        return []
    named = [f"{_short(row.name)} ({row.reason})" for row in small[:MOST_NAMED]]
    more = f" and {len(small) - MOST_NAMED:,} more" if len(small) > MOST_NAMED else ""
    return [f"Not measured: {'; '.join(named)}{more}."]


def _notes(table: SliceTable, measured: list[SliceErrors]) -> list[str]:
    slices: dict[str, list[str]] = {}
    for row in measured:
        for reason in dict.fromkeys(ranked(row, table.rank).reasons.values()):
            slices.setdefault(reason, []).append(_short(row.name))
    return [
        f"  note: {reason}" if len(names) > MOST_NAMED else f"  note: {', '.join(names)}: {reason}"
        for reason, names in slices.items()
    ]
