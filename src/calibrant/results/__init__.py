"""Frozen records of every result: rows, dictionary, JSON, tables."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from calibrant.lazy import lazily

if TYPE_CHECKING:
    from calibrant.records import Record
    from calibrant.results.agreement import (
        Agreement,
        AnnotatorAgreement,
        ClassAgreement,
        DisputedItem,
        PairAgreement,
    )
    from calibrant.results.bins import Bins
    from calibrant.results.choice import RecalibratorCandidate, RecalibratorChoice
    from calibrant.results.classification import Classification, ClassScore
    from calibrant.results.coreference import (
        AntecedentTemperature,
        CoreferenceCandidate,
        CoreferenceEvaluation,
        CoreferenceScores,
        DocumentCoreference,
        PrecisionRecall,
        TrainedCoreference,
        WrittenPairs,
        WrittenPosteriors,
    )
    from calibrant.results.demonstration import Demonstration, TaggerStory
    from calibrant.results.drawing import (
        BinIntervals,
        Drawing,
        ModelDifference,
        Report,
        ReportedModel,
        TaskErrors,
    )
    from calibrant.results.error_curve import ErrorCurve
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
    from calibrant.results.estimates import CorrectedCounts, CorrectedMean
    from calibrant.results.events import (
        EventCount,
        EventTable,
        EvidencePair,
        ExtractedEvents,
        UncertainDocument,
        UncertainDocuments,
    )
    from calibrant.results.exploring import ServedStore
    from calibrant.results.groups import (
        GroupChange,
        GroupedChanges,
        MarginalChange,
        MarginalError,
        ResampledChange,
    )
    from calibrant.results.interval_estimate import IntervalEstimate
    from calibrant.results.intervals import CalibrationTest, ErrorDifference, ErrorInterval, LabelPlan
    from calibrant.results.measured import ClassMean, Measured, Recipe
    from calibrant.results.measurement import Bin, Binning, Measurement
    from calibrant.results.monitoring import MonitoredDay, Monitoring
    from calibrant.results.ordering import OrderEffect
    from calibrant.results.propagation import (
        CentralSet,
        CentralSets,
        CountInterval,
        Drift,
        Exceedance,
        LevelCoverage,
        Propagated,
        PropagatedQuantity,
        QuantileCalibration,
    )
    from calibrant.results.protocol import (
        ControlTask,
        Finding,
        MetricComparison,
        MetricPair,
        MetricScore,
        Protocol,
        Reference,
        SystemEvaluation,
    )
    from calibrant.results.recalibration import AppliedRecalibrator, ChainTemperature, FittedRecalibrator
    from calibrant.results.scores import (
        BrierDecomposition,
        CorpDecomposition,
        LogDecomposition,
        ProperScoreDecomposition,
        Scores,
    )
    from calibrant.results.selective import CoveragePoint, RiskCoverage
    from calibrant.results.significance import (
        Comparison,
        Detectable,
        McNemarTest,
        MeanInterval,
        PairedTest,
        PlainTest,
        ResampledTest,
        SystemMean,
        SystemPair,
    )
    from calibrant.results.slices import SliceErrors, SliceEstimate, SliceSpread, SliceTable, SliceTables
    from calibrant.results.tagging import TagEvaluation, TaggerCandidate, TrainedTagger, WrittenPredictions

__all__ = [
    "Agreement",
    "AnnotatorAgreement",
    "AntecedentTemperature",
    "AppliedRecalibrator",
    "Bin",
    "BinIntervals",
    "Binning",
    "Bins",
    "BrierDecomposition",
    "CalibrationInTheLarge",
    "CalibrationTest",
    "CentralSet",
    "CentralSets",
    "ChainTemperature",
    "ClassAgreement",
    "ClassErrors",
    "ClassMean",
    "ClassPlugInErrors",
    "ClassScore",
    "Classification",
    "Comparison",
    "ConsistencyBars",
    "ControlTask",
    "CoreferenceCandidate",
    "CoreferenceEvaluation",
    "CoreferenceScores",
    "CorpDecomposition",
    "CorrectedCounts",
    "CorrectedMean",
    "CountInterval",
    "CoveragePoint",
    "CoxCalibration",
    "Demonstration",
    "Detectable",
    "DisputedItem",
    "DocumentCoreference",
    "Drawing",
    "Drift",
    "ErrorCurve",
    "ErrorDifference",
    "ErrorInterval",
    "Estimate",
    "EventCount",
    "EventTable",
    "EvidencePair",
    "Exceedance",
    "ExtractedEvents",
    "Finding",
    "FittedRecalibrator",
    "GroupChange",
    "GroupedChanges",
    "IntervalEstimate",
    "LabelPlan",
    "LevelCoverage",
    "LogDecomposition",
    "MarginalChange",
    "MarginalError",
    "McNemarTest",
    "MeanInterval",
    "Measured",
    "Measurement",
    "MetricComparison",
    "MetricPair",
    "MetricScore",
    "ModelDifference",
    "MonitoredDay",
    "Monitoring",
    "NoiseFloor",
    "OrderEffect",
    "PairAgreement",
    "PairedTest",
    "PlainTest",
    "PlugInErrors",
    "PrecisionRecall",
    "Propagated",
    "PropagatedQuantity",
    "ProperScoreDecomposition",
    "Protocol",
    "QuantileCalibration",
    "RecalibratorCandidate",
    "RecalibratorChoice",
    "Recipe",
    "Reference",
    "Report",
    "ReportedModel",
    "ResampledChange",
    "ResampledTest",
    "RiskCoverage",
    "Scores",
    "ServedStore",
    "SliceErrors",
    "SliceEstimate",
    "SliceSpread",
    "SliceTable",
    "SliceTables",
    "SmoothCurve",
    "SmoothError",
    "SystemEvaluation",
    "SystemMean",
    "SystemPair",
    "TagEvaluation",
    "TaggerCandidate",
    "TaggerStory",
    "TaskErrors",
    "TrainedCoreference",
    "TrainedTagger",
    "UncertainDocument",
    "UncertainDocuments",
    "WrittenPairs",
    "WrittenPosteriors",
    "WrittenPredictions",
    "output",
    "schema",
]

# Names of the records that commands print as JSON; those of other distributions are with them.
OUTPUTS = {
    "agree": "Agreement",
    "apply": "AppliedRecalibrator",
    "compare": "Comparison",
    "coref eval": "CoreferenceEvaluation",
    "coref pairs": "WrittenPairs",
    "coref predict": "WrittenPosteriors",
    "coref train": "TrainedCoreference",
    "estimate": "CorrectedCounts",
    "events plot": "EventTable",
    "events run": "ExtractedEvents",
    "events table": "EventTable",
    "events uncertain": "UncertainDocuments",
    "explore": "ServedStore",
    "fit": "FittedRecalibrator",
    "measure": "Measured",
    "monitor": "Monitoring",
    "plan": "LabelPlan",
    "plot": "Report",
    "protocol": "Protocol",
    "report": "Report",
    "slices": "SliceTables",
    "tag eval": "TagEvaluation",
    "tag predict": "WrittenPredictions",
    "tag train": "TrainedTagger",
}


def output(command: str) -> type[Record]:
    """Return the record that a command prints with ``--json``.

    Raises
    ------
    KeyError
        If no command of this name prints a record.

    Examples
    --------
    >>> output("tag eval").__name__
    'TagEvaluation'
    """
    found: type[Record] = getattr(import_module(__name__), OUTPUTS[command])
    return found


def schema(command: str) -> dict[str, Any]:
    """Return the JSON Schema of what a command prints with ``--json``, generated from its record.

    Raises
    ------
    KeyError
        If no command of this name prints a record.

    Examples
    --------
    >>> schema("agree")["properties"]["annotators"]["description"]
    'Number of annotators.'
    """
    from calibrant.records import schema

    return schema(output(command), command=command)


__getattr__, __dir__ = lazily(__name__)
