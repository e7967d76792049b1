"""Tallies of frames of Dask and PySpark, whose workers sum their parts and merge the tallies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

from calibrant._checks import Pairs
from calibrant.exceptions import InputError
from calibrant.io import Predictions
from calibrant.io.columns import JointCodes
from calibrant.io.engines import row_count
from calibrant.io.roles import Role
from calibrant.io.slice_columns import MOST_SLICES, Keys, SliceColumn, Slices
from calibrant.io.slicing import cluster_on_workers, slice_columns
from calibrant.io.tables import Table
from calibrant.io.workers import merged_tallies
from calibrant.metrics.tally import Tally
from calibrant.metrics.tally_parts import TallyParts
from calibrant.verbs.sliced_tallies import by_slice


def slices_on_workers(predictions: Predictions, by: Sequence[str], few: int) -> dict[Keys, Tally] | None:
    """Tally the slices of a frame of Dask or PySpark; return None if its rows are read here.

    Rows are read here for other sources, for at most ``few`` rows, and for classes and bands.
    """
    frame = predictions.frame_on_workers
    if frame is None or predictions.has_classes:
        return None
    banded = any(column.bands is not None for column in slice_columns(predictions, by))
    if banded or (few and row_count(frame) <= few):
        return None
    return tallies_on_workers(predictions, by, cluster=cluster_on_workers(predictions, by))


def tally_on_workers(predictions: Predictions, *, cluster: str | None) -> Tally:
    """Return the tally of all rows of a frame, whatever their classes are."""
    (tally,) = tallies_on_workers(predictions, (), cluster=cluster).values()
    return tally


def tallies_on_workers(
    predictions: Predictions, by: Sequence[str], *, cluster: str | None
) -> dict[Keys, Tally]:
    """Return the tallies of the slices of a frame, whatever the classes of its rows are."""
    parts = ("score", "label", "weight")
    roles = {part: predictions.roles[part] for part in parts if part in predictions.roles}
    if cluster is not None:
        roles["cluster"] = Role("cluster", column=cluster)
    work = partial(_tallied, roles=roles, by=tuple(by))
    columns = [*(role.name for role in roles.values()), *by]
    tallies = merged_tallies(predictions.lazy, columns, work, predictions.name)
    if len(tallies) > MOST_SLICES:
        message = f"there are {len(tallies):,} slices"
        hint = f"choose columns that make at most {MOST_SLICES:,}"
        raise InputError(message, hint, code="parameter", file=predictions.name)
    return tallies


def _tallied(table: Table, roles: Mapping[str, Role], by: Sequence[str]) -> dict[Keys, Tally]:
    """Return the tallies of a part of a frame, on one thread."""
    slices = Slices([SliceColumn(name) for name in by]) if by else None
    part = Predictions(table, roles)
    part.slices = slices
    batches = part.batches()
    if not (by or part.clustered):
        pairs = (Pairs(batch.score, batch.label, batch.weight) for batch in batches)
        return {(): Tally.from_batches(pairs, threads=1)}
    units = JointCodes() if part.clustered else None
    with ThreadPoolExecutor(1) as pool:
        parts = TallyParts(pool)
        for batch in batches:
            code = np.zeros(len(batch), np.int64) if batch.slice_code is None else batch.slice_code
            if units is not None:
                assert batch.cluster is not None
                code = units.of(code, batch.cluster)
            parts.add(Pairs(batch.score, batch.label, batch.weight, code, int(code.max()) + 1))
        whole = parts.tally()
    assert whole is not None
    return by_slice(whole, [()] if slices is None else slices.keys(), units, part, "binary")
