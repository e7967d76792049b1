"""Frozen records of every result: rows, dictionary, JSON."""

from calibrant.results._base import Result
from calibrant.results.bins import Bins
from calibrant.results.choice import RecalibratorCandidate, RecalibratorChoice
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
from calibrant.results.drawing import BinIntervals, Drawing, ModelDifference, Report, ReportedModel
from calibrant.results.error_curve import ErrorCurve
from calibrant.results.errors import (
    CalibrationInTheLarge,
    ClassErrors,
    ConsistencyBars,
    CoxCalibration,
    Estimate,
    NoiseFloor,
    PlugInErrors,
    SmoothCurve,
    SmoothError,
)
from calibrant.results.estimates import CorrectedCounts, CorrectedMean
from calibrant.results.groups import MarginalChange, MarginalError, ResampledChange
from calibrant.results.intervals import CalibrationTest, ErrorDifference, ErrorInterval, LabelPlan
from calibrant.results.measurement import (
    Binning,
    ClassMean,
    EqualWidthError,
    Measured,
    Measurement,
    Recipe,
    SmoothedError,
)
from calibrant.results.ordering import OrderEffect
from calibrant.results.propagation import (
    CentralSets,
    CountInterval,
    Exceedance,
    Propagated,
    QuantileCalibration,
)
from calibrant.results.recalibration import AppliedRecalibrator, ChainTemperature, FittedRecalibrator
from calibrant.results.scores import (
    BrierDecomposition,
    CorpDecomposition,
    LogDecomposition,
    ProperScoreDecomposition,
    Scores,
)
from calibrant.results.tagging import TagEvaluation, TaggerCandidate, TrainedTagger, WrittenPredictions

__all__ = [
    "AntecedentTemperature",
    "AppliedRecalibrator",
    "BinIntervals",
    "Binning",
    "Bins",
    "BrierDecomposition",
    "CalibrationInTheLarge",
    "CalibrationTest",
    "CentralSets",
    "ChainTemperature",
    "ClassErrors",
    "ClassMean",
    "ConsistencyBars",
    "CoreferenceCandidate",
    "CoreferenceEvaluation",
    "CoreferenceScores",
    "CorpDecomposition",
    "CorrectedCounts",
    "CorrectedMean",
    "CountInterval",
    "CoxCalibration",
    "DocumentCoreference",
    "Drawing",
    "EqualWidthError",
    "ErrorCurve",
    "ErrorDifference",
    "ErrorInterval",
    "Estimate",
    "Exceedance",
    "FittedRecalibrator",
    "LabelPlan",
    "LogDecomposition",
    "MarginalChange",
    "MarginalError",
    "Measured",
    "Measurement",
    "ModelDifference",
    "NoiseFloor",
    "OrderEffect",
    "PlugInErrors",
    "PrecisionRecall",
    "Propagated",
    "ProperScoreDecomposition",
    "QuantileCalibration",
    "RecalibratorCandidate",
    "RecalibratorChoice",
    "Recipe",
    "Report",
    "ReportedModel",
    "ResampledChange",
    "Result",
    "Scores",
    "SmoothCurve",
    "SmoothError",
    "SmoothedError",
    "TagEvaluation",
    "TaggerCandidate",
    "TrainedCoreference",
    "TrainedTagger",
    "WrittenPairs",
    "WrittenPosteriors",
    "WrittenPredictions",
]
