"""Errors of the sparse study before and after each map, of all tags and of each group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.metrics import pairs
from calibrant.metrics.binning import adaptive
from calibrant.metrics.groups import BIN_COUNT, calibration_changes
from calibrant.metrics.noise_floor import noise_floors
from calibrant.metrics.plug_in import plug_in_calibration_error
from calibrant.recalibrate import resampled_changes
from calibrant.results.groups import MarginalChange, MarginalError
from calibrant_studies._base import Row
from calibrant_studies._gap import gap_columns
from calibrant_studies._sparse_maps import (
    PAPER_SHARING,
    TECHNIQUES,
    Sharing,
    fitted,
    labelled,
    recalibrated,
    recalibrated_rest,
    renormalized,
    rest,
    unfitted,
)
from calibrant_studies._sparse_scores import Tagset
from calibrant_studies.arrays import Floats

MCE_FEWEST = 200  # scores of a tag, below which it is left out of the MCE
DRAWS = 60
MORE_BINS = (10, 30, 100)


class Condition(NamedTuple):
    """Technique, and the tags that share a map."""

    technique: str
    sharing: Sharing


CONDITIONS = tuple(Condition(technique, sharing) for technique in TECHNIQUES for sharing in PAPER_SHARING)
BY_CATEGORY = tuple(Condition(technique, "category") for technique in TECHNIQUES)
Recalibrated = Mapping[Condition, Floats]


def all_recalibrated(tagset: Tagset) -> dict[Condition, Floats]:
    """Test scores after each map."""
    return {
        condition: recalibrated(fitted(tagset, *condition), tagset)
        for condition in (*CONDITIONS, *BY_CATEGORY)
    }


def changes(tagset: Tagset, before: Floats, after: Floats) -> tuple[MarginalChange, ...]:
    """Compare MCE, SMCE and GMCE of two versions of the test scores."""
    test = tagset.test
    return calibration_changes(
        test.label,
        before,
        after,
        test.code,
        tagset.groups(),
        names=tagset.tags,
        clusters=test.sentence,
        threshold=0.0,  # that of the scores before any map has been applied
        min_scores=MCE_FEWEST,
    )


def measure_name(error: MarginalError) -> str:
    """Return the name of a measure, such as ``"GMCE 5"``."""
    return error.measure.upper() + (f" {error.group}" if error.group else "")


def change_row(change: MarginalChange) -> Row:
    """Errors before and after, their change, and the intervals of all of these."""
    before, after, paired = change.before, change.after, change.difference
    row: Row = {"measure": measure_name(before), "n": before.n, "tags": before.classes}
    for key, error in (("before", before), ("after", after)):
        row[f"plug-in {key}"] = error.plug_in_calibration_error
        row[f"debiased {key}"] = error.calibration_error.estimate
        row[f"{key}, low"] = error.calibration_error.low
        row[f"{key}, high"] = error.calibration_error.high
    row["change"] = change.relative_change.estimate
    squares = None if paired is None else paired.mse_difference
    row["mse_difference"] = None if squares is None else squares.estimate
    row["mse_low"] = None if squares is None else squares.low
    row["mse_high"] = None if squares is None else squares.high
    row["p_value"] = None if paired is None else paired.p_value
    return row


def error_rows(tagset: Tagset, after: Recalibrated) -> list[Row]:
    """Every measure of every condition; the debiased difference is before minus after."""
    return [
        {"tagger": tagset.title, **condition._asdict(), **change_row(change)}
        for condition, scores in after.items()
        for change in changes(tagset, tagset.test.score, scores)
    ]


def rival_rows(tagset: Tagset, after: Recalibrated, first: Sharing, second: Sharing) -> list[Row]:
    """Compare two ways of sharing maps for each technique; the difference is first minus second."""
    rows: list[Row] = []
    for technique in TECHNIQUES:
        scores = [after[Condition(technique, sharing)] for sharing in (first, second)]
        name = {"tagger": tagset.title, "technique": technique, "first": first, "second": second}
        rows += [{**name, **change_row(change)} for change in changes(tagset, *scores)]
    return rows


def subset(tagset: Tagset, measure: str) -> NDArray[np.bool_]:
    """Return the rows of the test scores that a measure includes."""
    if not measure.startswith("GMCE"):
        return np.ones(len(tagset.test), bool)
    inside: NDArray[np.bool_] = tagset.homes()[tagset.test.code] == int(measure.split()[1]) - 1
    return inside


def group_rows(tagset: Tagset) -> list[Row]:
    """Return sizes and errors of all tags and of each group, as in the paper's table 1."""
    rows: list[Row] = []
    trained = sum(tagset.counts.values())
    homes = tagset.homes()
    for change in changes(tagset, tagset.test.score, tagset.test.score):
        error = change.before
        if error.measure == "mce":
            continue
        measure = measure_name(error)
        part = tagset.test.part(subset(tagset, measure))
        floor = noise_floors(adaptive(pairs(part.label, part.score), n_bins=BIN_COUNT), seed=0)
        members = [
            tag for tag, home in zip(tagset.tags, homes, strict=True) if error.group in (None, str(home + 1))
        ]
        shares = [tagset.counts.get(tag, 0) / trained for tag in members]
        rows.append(
            {
                "tagger": tagset.title,
                "measure": measure,
                "N": error.n,
                "tag types": error.classes,
                "types of the tagger": len(members),
                "lowest share": min(shares),
                "highest share": max(shares),
                "share": sum(shares),
                "tokens": len(np.unique(part.token)),
                "positives": error.positives,
                "plug-in": error.plug_in_calibration_error,
                "debiased": error.calibration_error.estimate,
                "low": error.calibration_error.low,
                "high": error.calibration_error.high,
                "floor": floor["plug_in_calibration_error"].mean,
                "floor, high": floor["plug_in_calibration_error"].high,
                **gap_columns(pairs(part.label, part.score, clusters=part.sentence), "gap"),
            }
        )
    return rows


def resampled_rows(tagset: Tagset, draws: int, seed: int) -> list[Row]:
    """Errors after maps that were fitted to resampled sentences of dev, and the wider intervals."""
    rows: list[Row] = []
    dev, test = labelled(tagset, tagset.dev), labelled(tagset, tagset.test)
    for condition in CONDITIONS:
        found = resampled_changes(
            unfitted(tagset, *condition),
            dev,
            test,
            tagset.groups(),
            min_scores=MCE_FEWEST,
            draws=draws,
            seed=seed,
        )
        for each in found:
            row = {"tagger": tagset.title, **condition._asdict(), **change_row(each.change)}
            numbers = {"map deviation": each.map_deviation.estimate, "draws": each.draws - each.failed}
            ends = {"after, low": each.after.low, "after, high": each.after.high}
            rows.append(row | ends | numbers)
    return rows


def renormalized_rows(tagset: Tagset, after: Recalibrated) -> list[Row]:
    """Return the effect of dividing by each token's sum on the error: the error without minus with it."""
    rows: list[Row] = []
    test = tagset.test
    others = {"kept": test.other, "recalibrated": recalibrated_rest(tagset)}
    _, first = np.unique(test.token, return_index=True)
    for condition, scores in after.items():
        sums = np.bincount(test.token, scores)[test.token]
        for treatment, other in others.items():
            off = {"mean distance of sums from 1": float(np.abs(sums + other - 1)[first].mean())}
            name = {"tagger": tagset.title, **condition._asdict(), "below the threshold": treatment}
            divided = renormalized(test, scores, other)
            rows += [{**name, **off, **change_row(change)} for change in changes(tagset, scores, divided)]
    return rows


def bin_rows(tagset: Tagset, after: Recalibrated) -> list[Row]:
    """SMCE on few and on many bins, beside that of a calibrated model with the same scores."""
    rows: list[Row] = []
    isotonic = {sharing: after[Condition("isotonic regression", sharing)] for sharing in PAPER_SHARING}
    for name, scores in (("none", tagset.test.score), *isotonic.items()):
        row: Row = {"tagger": tagset.title, "isotonic regression": name}
        checked = pairs(tagset.test.label, scores)
        for count in MORE_BINS:
            bins = adaptive(checked, n_bins=count)
            floor = noise_floors(bins, resamples=200, seed=0)["plug_in_calibration_error"]
            row[f"{count} bins"] = plug_in_calibration_error(bins)
            row[f"{count} bins, calibrated"] = floor.mean
        rows.append(row)
    return rows


def rest_row(tagset: Tagset) -> Row:
    """Return the mass below the threshold, and the frequency of gold tags there."""
    row: Row = {"tagger": tagset.title}
    _, mass, missed = rest(tagset.test)
    row |= {"mass below the threshold": float(mass.mean()), "gold tag there": float(missed.mean())}
    unseen = np.array([tagset.counts.get(tag, 0) == 0 for tag in tagset.tags])
    lost = tagset.test.part(unseen[tagset.test.code])
    return row | {
        "scores of tags that train lacks": len(lost),
        "their sum": float(lost.score.sum()),
        "gold among them": int(lost.label.sum()),
    }
