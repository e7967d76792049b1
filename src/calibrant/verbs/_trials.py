"""Compare the maps of a fit with the unchanged scores, by cross-fitting on the data of the fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np

from calibrant._checks import Integers, pairs
from calibrant.exceptions import InputError
from calibrant.io.predictions import listed
from calibrant.metrics.tails import quantile
from calibrant.metrics.tally import Tally
from calibrant.metrics.views import class_predictions
from calibrant.recalibrate.auto import Auto
from calibrant.recalibrate.crossfit import NO_MAP, Source, cross_fitted
from calibrant.records import Quantity
from calibrant.results.recalibration import TriedMap
from calibrant.verbs._methods import Labelled

LEVEL = 0.95
WORSE = "in five-fold cross-fitting, {} worse than no map{}; the method auto compares several maps with none"


def tried_maps(
    recalibrator: Any, method: str, data: Labelled | Mapping[int, Tally], classes: Sequence[str]
) -> tuple[TriedMap, ...]:
    """Return the losses of each map that was compared; those of a named method are compared with no map."""
    parts = getattr(recalibrator, "parts_", ())
    sources = _by_part(recalibrator, data, classes) if parts else [(None, recalibrator, _source(data))]
    tried: list[TriedMap] = []
    for part, fitted, source in sources:
        called = part if len(parts) > 1 else None
        if isinstance(fitted, Auto):
            tried += _records(called, fitted.chosen_name_, fitted.tried_, fitted.clusters_)
            continue
        try:
            losses = cross_fitted({method: fitted}, source)
        except InputError:  # fewer than two clusters
            continue
        chosen = method if method in losses.by_map else NO_MAP
        tried += _records(called, chosen, losses.compared(chosen), losses.clusters)
    return tuple(tried)


def harm_warning(tried: Sequence[TriedMap]) -> str | None:
    """Return a warning if maps have a higher log loss or Brier score than no map in cross-fitting."""
    none = {record.part: record for record in tried if record.name == NO_MAP}
    losses = {record.part: _higher(record, none[record.part]) for record in tried if record.chosen}
    worse = {part: text for part, text in losses.items() if text}
    if not worse:
        return None
    if None in worse:
        return WORSE.format("the map is", f" ({worse[None]})")
    return WORSE.format(f"the maps of {listed([str(part) for part in worse], most=5)} are", "")


def _higher(tried: TriedMap, none: TriedMap) -> str:
    """Return the losses of a map that are higher than without it."""
    zeros = f"; {tried.impossible:,} labels have probability 0" if tried.impossible else ""
    losses = (
        ("log loss", tried.log_loss, none.log_loss, zeros),
        ("Brier score", tried.brier, none.brier, ""),
    )
    return ", ".join(
        f"{name} {own.estimate:.4f}, without a map {other.estimate:.4f}{more}"
        for name, own, other, more in losses
        if own.estimate is not None and other.estimate is not None and own.estimate > other.estimate
    )


def _records(
    part: str | None, chosen: str, tried: Mapping[str, Mapping[str, Any]], clusters: float
) -> Iterator[TriedMap]:
    for name, result in tried.items():
        reason = result.get("reason")

        def loss(key: str, result: Mapping[str, Any] = result, reason: str | None = reason) -> Quantity:
            return Quantity(result.get(key), reason=reason)

        def difference(key: str, result: Mapping[str, Any] = result, reason: str | None = reason) -> Quantity:
            if reason is not None:
                return Quantity(None, reason=reason)
            gap, error = result[f"{key}_gap"], result[f"{key}_error"]
            half = quantile(LEVEL, clusters) * error if error > 0 else 0.0
            return Quantity(gap, gap - half, gap + half, standard_error=error)

        yield TriedMap(
            name=name,
            part=part,
            log_loss=loss("log_loss"),
            log_loss_difference=difference("log_loss"),
            brier=loss("brier"),
            brier_difference=difference("brier"),
            impossible=result.get("impossible"),
            chosen=name == chosen,
        )


def _source(data: Labelled | Mapping[int, Tally], rows: Integers | None = None) -> Source:
    """Return all labeled scores, or those of some rows, as cross-fitting takes them."""
    if not isinstance(data, Labelled):
        return data[0]
    score, label = data.score, data.label
    weight, unit = data.weight, data.unit
    if rows is not None:
        score, label = score[rows], label[rows]
        weight = None if weight is None else weight[rows]
        unit = None if unit is None else unit[rows]
    if score.ndim == 2:
        return class_predictions(label, score, sample_weight=weight, clusters=unit)
    return pairs(label, score, sample_weight=weight, clusters=unit)


def _by_part(
    recalibrator: Any, data: Labelled | Mapping[int, Tally], classes: Sequence[str]
) -> Iterator[tuple[str, Any, Source]]:
    """Yield the name, the fitted map and the scores of each part of the classes."""
    parts = dict(zip(recalibrator.part_names_, recalibrator.parts_, strict=True))
    codes = data.code if isinstance(data, Labelled) else np.array(list(data))
    assert codes is not None
    for name, rows in recalibrator.rows_by_part(codes, classes).items():
        if name is None:
            continue
        if isinstance(data, Labelled):
            yield name, parts[name], _source(data, rows)
        else:
            yield name, parts[name], reduce(Tally.merge, (data[code] for code in codes[rows].tolist()))
