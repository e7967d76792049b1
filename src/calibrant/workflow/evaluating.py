"""Evaluation from tables: how far annotators agree, and how systems differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calibrant._rng import Seed
from calibrant.evaluate._resampling import SAMPLES
from calibrant.evaluate.agreement import Distance, Weights, agreement
from calibrant.evaluate.ratings import Ratings
from calibrant.exceptions import InputError
from calibrant.io.evaluation_tables import RatingTable, read_ratings
from calibrant.results.agreement import Agreement


def agree(
    source: Any,
    *,
    item: str = "item",
    annotator: str = "annotator",
    label: str = "label",
    cluster: str | None = None,
    labels: Sequence[str] | None = None,
    distance: Distance = "nominal",
    weights: Weights | None = None,
    disputed: int = 10,
    level: float = 0.95,
    samples: int = SAMPLES,
    seed: Seed = 0,
) -> Agreement:
    """Say how far the annotators of a table agree.

    Parameters
    ----------
    source
        A table (see `calibrant.io.read_ratings`), or `calibrant.evaluate.Ratings`.
    item, annotator, label, cluster
        Names of its columns.
    labels
        The labels of the task, in order; others are refused.
    distance, weights, disputed, level, samples, seed
        As in `calibrant.evaluate.agreement`.

    Raises
    ------
    InputError
        The table cannot be read, or has one annotator.

    Examples
    --------
    >>> import pyarrow as pa
    >>> columns = {"item": [1, 1, 2, 2], "annotator": ["ann", "bob"] * 2, "label": ["x", "x", "x", "y"]}
    >>> agree(pa.table(columns)).raw_agreement.estimate
    0.5
    """
    if isinstance(source, Ratings):
        table = RatingTable("the labels", source, None)
    else:
        table = read_ratings(
            source, item=item, annotator=annotator, label=label, cluster=cluster, order=labels
        )
    try:
        return agreement(
            table.ratings,
            distance=distance,
            weights=weights,
            clusters=table.clusters,
            disputed=disputed,
            level=level,
            samples=samples,
            seed=seed,
        )
    except InputError as error:
        raise InputError(error.message, error.hint, code=error.code, file=table.name) from error
