from __future__ import annotations

import json
from typing import Any

import pytest

from calibrant.metrics import pairs, proper_scores
from calibrant.metrics.binning import adaptive, uniform
from calibrant.metrics.decompositions import (
    brier_decomposition,
    brier_rule,
    corp_decomposition,
    proper_score_decomposition,
)
from calibrant.metrics.logistic import calibration_in_the_large, cox_calibration
from calibrant.metrics.noise_floor import noise_floors, smooth_noise_floor
from calibrant.metrics.plug_in import class_errors, plug_in_errors
from calibrant.metrics.smooth import smooth_error
from calibrant.records import Quantity, Record, fields_of, numbers_of
from calibrant.results import errors, scores

ORDINARY = pairs([0, 0, 1, 0, 1, 1, 0, 1], [0.1, 0.2, 0.3, 0.45, 0.55, 0.7, 0.8, 0.95])
ONE_CLASS = pairs([0, 0, 0], [0.1, 0.4, 0.4])
CERTAIN = pairs([0, 1, 0], [0.0, 1.0, 1.0])
ONE_PAIR = pairs([1], [0.3])


def records(source: Any) -> list[Record]:
    bins = uniform(source, 15)
    return [
        plug_in_errors(bins),
        class_errors([0, 1], [[0.6, 0.4], [0.3, 0.7]]),
        *noise_floors(adaptive(source, n_bins=1), seed=0, resamples=20).values(),
        smooth_noise_floor(source, seed=0, resamples=20),
        smooth_error(source),
        calibration_in_the_large(source),
        calibration_in_the_large(source).mean_error,
        cox_calibration(source),
        proper_scores.scores(source),
        brier_decomposition(bins),
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
        for field in numbers_of(type(record)):
            value, reason = field.of(record)
            if field.role == "number" and isinstance(value, Quantity):
                assert value.estimate is not None or value.reason, (record, field.name)
            elif field.role == "number":
                assert value is not None or reason, (record, field.name)
        if isinstance(record, errors.Estimate):
            assert (record.reason is None) == (record.low is not None)


@pytest.mark.parametrize("module", [errors, scores])
def test_every_field_is_described(module: Any) -> None:
    for record in vars(module).values():
        if isinstance(record, type) and issubclass(record, Record) and record not in (Record, Quantity):
            assert not [field.name for field in fields_of(record) if not field.meaning], record
