"""Tallies of slices, from one tally whose clusters are the slices or parts of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from calibrant.io import Predictions
from calibrant.io.columns import JointCodes, sortable
from calibrant.io.slice_columns import Keys
from calibrant.metrics.grouping import sorted_by
from calibrant.metrics.tally import COLUMNS, Tally


def by_slice(
    whole: Tally, keys: Sequence[Keys], units: JointCodes | None, predictions: Predictions, view: str
) -> dict[Keys, Tally]:
    """Split a tally whose clusters are slices, or parts of clusters in one slice."""
    assert whole.cluster is not None
    assert whole.clusters is not None
    code = whole.clusters[whole.cluster]
    rank, names = np.zeros(len(code), np.int64), np.empty(0)
    if units is not None:
        slice_of, cluster_of = units.parts()
        used, rank = np.unique(cluster_of[code], return_inverse=True)
        code = slice_of[code]
        names = cluster_names(predictions, used)
        order = np.argsort(names, kind="stable")
        names, rank = names[order], np.argsort(order)[rank]
    new_score = (np.diff(whole.low, prepend=-1) > 0) | (np.diff(whole.high, prepend=-1) > 0)
    rows = sorted_by(code, np.cumsum(new_score, dtype=np.int64), rank)
    columns = {name: getattr(whole, name)[rows] for name in COLUMNS}
    code, rank = code[rows], rank[rows]
    ends = np.append(np.flatnonzero(np.diff(code)) + 1, len(code))
    tallies: dict[Keys, Tally] = {}
    for start, end in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True):
        part = Tally(whole.kind, **{name: column[start:end] for name, column in columns.items()})
        part = replace(part, weighted=whole.weighted, view=view)
        if units is not None:
            present, cluster = np.unique(rank[start:end], return_inverse=True)
            part = replace(part, cluster=cluster, clusters=names[present])
        key = keys[code[start]]
        tallies[key] = tallies[key] + part if key in tallies else part
    return tallies


def cluster_names(predictions: Predictions, code: NDArray[Any]) -> NDArray[Any]:
    """Name clusters by their codes; rows without names must differ from rows of another table."""
    known = predictions.clusters or predictions.items
    if known:
        names: NDArray[Any] = sortable(known)[code]
        return names
    table = uuid4().hex
    return np.array([f"{table}#{place}" for place in code])
