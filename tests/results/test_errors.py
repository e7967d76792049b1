from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import pytest

from calibrant._checks import pairs
from calibrant.measure.binning import adaptive, uniform
from calibrant.measure.calibration_error import class_errors, plug_in_errors
from calibrant.measure.decompositions import (
    brier_decomposition,
    brier_rule,
    corp_decomposition,
    log_decomposition,
    proper_score_decomposition,
)
from calibrant.measure.logistic import calibration_in_the_large_of, cox_calibration_of
from calibrant.measure.noise_floor import consistency_bars, noise_floors, smooth_noise_floor
from calibrant.measure.scores import scores_of
from calibrant.measure.smooth import smooth_calibration_error_of
from calibrant.measure.smooth_curve import smooth_curve_of
from calibrant.records import Printed
from calibrant.results import Result, errors, scores

ORDINARY = pairs([0, 0, 1, 0, 1, 1, 0, 1], [0.1, 0.2, 0.3, 0.45, 0.55, 0.7, 0.8, 0.95])
ONE_CLASS = pairs([0, 0, 0], [0.1, 0.4, 0.4])
CERTAIN = pairs([0, 1, 0], [0.0, 1.0, 1.0])
ONE_PAIR = pairs([1], [0.3])


def records(source: Any) -> list[Printed]:
    bins = uniform(source, 15)
    return [
        plug_in_errors(bins),
        class_errors([0, 1], [[0.6, 0.4], [0.3, 0.7]]),
        *noise_floors(adaptive(source, count=1), seed=0, resamples=20).values(),
        smooth_noise_floor(source, seed=0, resamples=20),
        consistency_bars(bins),
        smooth_calibration_error_of(source),
        smooth_curve_of(source, seed=0, resamples=20),
        calibration_in_the_large_of(source),
        calibration_in_the_large_of(source).difference,
        cox_calibration_of(source),
        scores_of(source),
        brier_decomposition(bins),
        log_decomposition(source, bins),
        proper_score_decomposition(source, bins, *brier_rule()),
        corp_decomposition(source),
        corp_decomposition(source, rule="log"),
    ]


@pytest.mark.parametrize("source", [ORDINARY, ONE_CLASS, CERTAIN, ONE_PAIR])
def test_every_record_is_json_whatever_the_pairs(source: Any) -> None:
    for record in records(source):
        read = json.loads(record.to_json())
        assert read["schema_version"] == 1
        assert record.to_tables()


@pytest.mark.parametrize("source", [ONE_CLASS, CERTAIN, ONE_PAIR])
def test_what_is_undefined_has_a_reason(source: Any) -> None:
    for record in records(source):
        values = record.to_dict()
        missing = {name for name, value in values.items() if value is None} - {
            "seed",
            "size",
            "asked",
            "clusters",
        }
        missing |= {name for name, value in values.items() if isinstance(value, dict) and undefined(value)}
        if isinstance(record, errors.Estimate):
            assert (record.reason is None) == (record.low is not None)
            continue
        assert missing <= set(values.get("reasons", {})), record


def undefined(estimate: dict[str, Any]) -> bool:
    return "estimate" in estimate and estimate["estimate"] is None


@pytest.mark.parametrize("module", [errors, scores])
def test_every_field_is_described(module: Any) -> None:
    for record in vars(module).values():
        if isinstance(record, type) and issubclass(record, Result) and record is not Result:
            text = record.__doc__ or ""
            assert not [field.name for field in fields(record) if field.name not in text], record
