"""Frozen records of all results, with rows, dictionary, JSON and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calibrant.lazy import lazily

if TYPE_CHECKING:
    from calibrant.results.bins import BinIntervals, Bins
    from calibrant.results.conversion import ConvertedTable
    from calibrant.results.decisions import AppliedThresholds
    from calibrant.results.drawing import (
        AccuracyDifference,
        Drawing,
        ModelDifference,
        Report,
        ReportedModel,
        TaskErrors,
    )
    from calibrant.results.errors import (
        CalibrationInTheLarge,
        ClassErrors,
        ClassPlugInErrors,
        ConsistencyBars,
        CoxCalibration,
        Estimate,
        NoiseFloor,
        PlugInErrors,
        SmoothCurve,
        SmoothError,
    )
    from calibrant.results.groups import (
        GroupChange,
        GroupedChanges,
        MarginalChange,
        MarginalError,
        ResampledChange,
    )
    from calibrant.results.intervals import CalibrationTest, ErrorDifference, ErrorInterval, LabelPlan
    from calibrant.results.measurement import Bin, Binning, ClassMean, Measured, Measurement, Recipe
    from calibrant.results.recalibration import (
        AppliedRecalibrator,
        ChainTemperature,
        FittedRecalibrator,
        OrderEffect,
        RecalibratorCandidate,
        RecalibratorChoice,
        TriedMap,
    )
    from calibrant.results.scores import (
        BrierDecomposition,
        CorpDecomposition,
        ProperScoreDecomposition,
        Scores,
    )
    from calibrant.results.slices import SliceErrors, SliceEstimate, SliceSpread, SliceTable, SliceTables
else:
    __getattr__, __dir__ = lazily(__name__)

__all__ = [
    "AccuracyDifference",
    "AppliedRecalibrator",
    "AppliedThresholds",
    "Bin",
    "BinIntervals",
    "Binning",
    "Bins",
    "BrierDecomposition",
    "CalibrationInTheLarge",
    "CalibrationTest",
    "ChainTemperature",
    "ClassErrors",
    "ClassMean",
    "ClassPlugInErrors",
    "ConsistencyBars",
    "ConvertedTable",
    "CorpDecomposition",
    "CoxCalibration",
    "Drawing",
    "ErrorDifference",
    "ErrorInterval",
    "Estimate",
    "FittedRecalibrator",
    "GroupChange",
    "GroupedChanges",
    "LabelPlan",
    "MarginalChange",
    "MarginalError",
    "Measured",
    "Measurement",
    "ModelDifference",
    "NoiseFloor",
    "OrderEffect",
    "PlugInErrors",
    "ProperScoreDecomposition",
    "RecalibratorCandidate",
    "RecalibratorChoice",
    "Recipe",
    "Report",
    "ReportedModel",
    "ResampledChange",
    "Scores",
    "SliceErrors",
    "SliceEstimate",
    "SliceSpread",
    "SliceTable",
    "SliceTables",
    "SmoothCurve",
    "SmoothError",
    "TaskErrors",
    "TriedMap",
]
