"""Frozen records of every result: rows, dictionary, JSON, tables."""

from typing import Any

from calibrant.records import Record
from calibrant.records import schema as schema_of
from calibrant.results._base import Result
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
    CentralSets,
    CountInterval,
    Exceedance,
    Propagated,
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
    CorrectedTest,
    Detectable,
    McNemarTest,
    MeanInterval,
    PairedTest,
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
    "CorrectedTest",
    "CountInterval",
    "CoveragePoint",
    "CoxCalibration",
    "Demonstration",
    "Detectable",
    "DisputedItem",
    "DocumentCoreference",
    "Drawing",
    "ErrorCurve",
    "ErrorDifference",
    "ErrorInterval",
    "Estimate",
    "Exceedance",
    "Finding",
    "FittedRecalibrator",
    "GroupChange",
    "GroupedChanges",
    "IntervalEstimate",
    "LabelPlan",
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
    "PlugInErrors",
    "PrecisionRecall",
    "Propagated",
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
    "Result",
    "RiskCoverage",
    "Scores",
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
    "WrittenPairs",
    "WrittenPosteriors",
    "WrittenPredictions",
    "schema",
]

# The records that commands print as JSON.
OUTPUTS: dict[str, type[Record]] = {
    "agree": Agreement,
    "apply": AppliedRecalibrator,
    "compare": Comparison,
    "coref eval": CoreferenceEvaluation,
    "estimate": CorrectedCounts,
    "fit": FittedRecalibrator,
    "measure": Measured,
    "monitor": Monitoring,
    "plan": LabelPlan,
    "plot": Report,
    "protocol": Protocol,
    "report": Report,
    "slices": SliceTables,
    "tag eval": TagEvaluation,
}


def schema(command: str) -> dict[str, Any]:
    """Return the JSON Schema of what a command prints with ``--json``, generated from its record.

    Raises
    ------
    KeyError
        If no record with declared fields is printed by a command of this name.

    Examples
    --------
    >>> schema("agree")["properties"]["annotators"]["description"]
    'Number of annotators.'
    """
    return schema_of(OUTPUTS[command], title=f"calibrant {command} --json")
