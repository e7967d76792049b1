"""The coverage study's cells, arranged as the tables of its page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from math import sqrt

from calibrant.studies._base import Row

LOWEST, HIGHEST = 93.0, 97.0


def within_bar(row: Row) -> bool:
    """Whether coverage lies in 93-97 %, two Monte Carlo standard errors allowed.

    Examples
    --------
    >>> [within_bar({"coverage": value, "replications": 4000}) for value in (92.5, 90.0)]
    [True, False]
    """

    def allowed(edge: float) -> float:
        return 2 * sqrt(edge * (100 - edge) / row["replications"])

    return bool(LOWEST - allowed(LOWEST) <= row["coverage"] <= HIGHEST + allowed(HIGHEST))


def by_transform(names: Iterable[str], values: Sequence[float]) -> Row:
    """One column a transform, in percent."""
    return {name: f"{value:.1f}" for name, value in zip(names, values, strict=True)}


def arrange(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Tables of the grid: a row a number of pairs and dependence, a column a distribution of scores."""
    wrong = [row for row in rows if row["transform"] != "calibrated"]
    right = [row for row in rows if row["transform"] == "calibrated"]
    keys = ("n", "dependence")
    return {
        "coverage": _pivot(rows, keys, lambda row: f"{row['coverage']:.1f}"),
        "misses": _pivot(wrong, keys, lambda row: f"{row['below']:.1f}+{row['above']:.1f}"),
        "width": _pivot(rows, keys, lambda row: f"{row['width_ratio']:.2f}"),
        "mean-width": _pivot(rows, keys, lambda row: f"{row['mean_width']:.4f}"),
        "calibrated": _pivot(
            right,
            keys,
            lambda row: f"{row['low_is_zero']:.1f} / {row['rejected']:.1f} / {row['rejected_normal']:.1f}",
        ),
        "power": _pivot(wrong, keys, lambda row: f"{row['rejected']:.0f}"),
        "wald": _pivot(rows, keys, lambda row: f"{row['wald_coverage']:.1f}"),
    }


def compact(rows: Sequence[Row], *keys: str) -> list[Row]:
    """Coverage of all transforms and size of the test, a row a combination of ``keys`` and scores."""

    def entry(row: Row) -> str:
        size = f" (size {row['rejected']:.1f})" if row["transform"] == "calibrated" else ""
        return f"{row['coverage']:.1f}{size}"

    return _pivot(rows, keys, entry)


def _pivot(rows: Sequence[Row], keys: Sequence[str], entry: Callable[[Row], str]) -> list[Row]:
    """Entries of all transforms, joined by slashes, in the column of their scores."""

    def design(row: Row) -> tuple[object, ...]:
        return tuple(row[key] for key in keys)

    table: dict[tuple[object, ...], Row] = {}
    for (where, scores), group in groupby(rows, key=lambda row: (design(row), row["scores"])):
        line = table.setdefault(where, dict(zip(keys, where, strict=True)))
        line[scores] = " / ".join(entry(row) for row in group)
    return list(table.values())
