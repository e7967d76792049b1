"""Find errors of a lazy frame: in its columns before a query, in its values after a failed query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calibrant._checks import LARGEST_RATIO, LARGEST_WEIGHT, SMALLEST_WEIGHT, range_hint, too_unequal
from calibrant.exceptions import InputError
from calibrant.io._engine_frames import collected
from calibrant.io.tables import one_column


def check_columns(
    frame: Any, score: str, label: str, weight: str | None, names: Sequence[str], name: str
) -> None:
    """Raise unless all columns are there and those of numbers hold numbers."""
    import narwhals as nw

    schema = frame.collect_schema()
    for column in (score, label, *([] if weight is None else [weight]), *names):
        one_column(name, schema.names(), column)
    for column in names:
        if schema[column].is_nested() or schema[column] == nw.Object:
            message, hint = "a column of lists or objects names nothing", "choose one of texts or numbers"
            raise InputError(message, hint, code="column-type", file=name, column=column)
    for column in (score, *([] if weight is None else [weight])):
        if not schema[column].is_numeric():
            message, hint = f"a column of type {schema[column]} holds no numbers", "write numbers"
            raise InputError(message, hint, code="column-type", file=name, column=column)
    kind = schema[label]
    words = (nw.String, nw.Categorical, nw.Enum, nw.Boolean)
    if not (kind.is_numeric() or kind in words):
        message, hint = f"a column of type {kind} holds no labels", "write 0 and 1, or true and false"
        raise InputError(message, hint, code="column-type", file=name, column=label)


def raise_fault(frame: Any, score: str, label: str, weight: str | None, name: str) -> None:
    """Count what is missing or out of range, in one query, and raise for the first kind; or do nothing."""
    row = _counts(frame, score, label, weight)

    def fault(message: str, hint: str, code: str, column: str | None) -> InputError:
        return InputError(message, hint, code=code, file=name, column=column)

    rows = int(row["rows"])
    for key, column in (("q_null", score), ("y_null", label), ("w_null", weight)):
        if row.get(key):
            message = f"the value is missing in {int(row[key]):,} of {rows:,} rows"
            raise fault(message, "fill it in or drop the rows", "missing-value", column)
    if row["outside"]:
        message = (
            f"{int(row['outside']):,} of {rows:,} rows are not probabilities in [0, 1]; the smallest is "
            f"{row['least']!r}, the largest {row['most']!r}"
        )
        raise fault(message, range_hint(row["least"], row["most"], "them"), "score-range", score)
    if row["inside"] < rows:
        message = f"{int(rows - row['inside']):,} of {rows:,} rows are not finite"
        raise fault(message, "drop the rows or repair the model's output", "score-range", score)
    if row["y_bad"]:
        message = f"the label is not 0 or 1 in {int(row['y_bad']):,} of {rows:,} rows"
        raise fault(
            message,
            "write 1, true or yes where the event happened, and 0, false or no elsewhere",
            "label-value",
            label,
        )
    least, most = SMALLEST_WEIGHT, LARGEST_WEIGHT
    if weight is not None and row["w_outside"]:
        message = f"{int(row['w_outside']):,} of {rows:,} rows have weights outside {least:g} to {most:g}"
        hint = "scale the weights so that they are near 1; only their ratios matter"
        raise fault(message, hint, "weight-value", weight)
    if weight is not None and row["w_good"] < rows:
        message = f"{int(rows - row['w_good']):,} of {rows:,} rows have no finite weight >= 0"
        raise fault(message, "drop the rows or repair the weights", "weight-value", weight)
    if weight is not None and rows and row["w_zero"] == rows:
        hint = "leave the column out to count every row once"
        raise fault("every weight is zero", hint, "weight-value", weight)
    if weight is not None and row["heaviest"] > LARGEST_RATIO * row["lightest"]:
        what, hint = too_unequal(row["lightest"], row["heaviest"])
        raise fault(f"some weights are {what}", hint, "weight-value", weight)


def _counts(frame: Any, score: str, label: str, weight: str | None) -> dict[str, Any]:
    """How many rows there are of each kind, and the smallest and largest finite score."""
    import narwhals as nw

    from calibrant.io._engine_frames import outcome

    q = nw.col(score).cast(nw.Float64)
    columns = [q.alias("q"), nw.col(score).is_null().alias("q_null"), nw.col(label).is_null().alias("y_null")]
    columns.append(outcome(frame, label).alias("y"))
    if weight is not None:
        columns += [nw.col(weight).cast(nw.Float64).alias("w"), nw.col(weight).is_null().alias("w_null")]
    found = frame.select(*columns)

    def count(condition: Any) -> Any:
        return nw.when(condition).then(nw.lit(1)).otherwise(nw.lit(0))

    # DuckDB decides comparisons, and whether there is NaN, by the extremes of a file, which leave NaN out.
    finite = (nw.col("q") - nw.col("q")) == 0
    inside = (nw.col("q") >= 0) & (nw.col("q") <= 1) & finite
    outside = ((nw.col("q") < 0) | (nw.col("q") > 1)) & finite
    flags = {
        "rows": nw.lit(1),
        "q_null": count(nw.col("q_null")),
        "inside": count(inside),
        "outside": count(outside),
        "y_null": count(nw.col("y_null")),
        "y_bad": count(nw.col("y") < 0),
    }
    if weight is not None:
        flags["w_null"] = count(nw.col("w_null"))
        flags["w_good"] = count((nw.col("w") >= 0) & ((nw.col("w") - nw.col("w")) == 0))
        flags["w_zero"] = count(nw.col("w") == 0)
        small, large = nw.col("w") < SMALLEST_WEIGHT, nw.col("w") > LARGEST_WEIGHT
        positive = (nw.col("w") > 0) & ((nw.col("w") - nw.col("w")) == 0)
        flags["w_outside"] = count(positive & (small | large))
    extremes = {"least": nw.when(finite).then(nw.col("q"))}
    extremes["most"] = extremes["least"]
    if weight is not None:
        extremes["lightest"] = extremes["heaviest"] = nw.when(positive).then(nw.col("w"))
    found = found.select(
        *(flag.alias(column) for column, flag in flags.items()),
        *(value.alias(column) for column, value in extremes.items()),
    )
    found = found.select(
        *(nw.col(column).sum() for column in flags),
        *(
            nw.col(column).min() if column in ("least", "lightest") else nw.col(column).max()
            for column in extremes
        ),
    )
    return {key: value or 0 for key, value in collected(found, "an aggregation").to_pylist()[0].items()}
