"""Evaluation with statistics: agreement of annotators, scores of systems, and what differences mean.

A wing: the core of calibrant does not know it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from calibrant.lazy import lazily

if TYPE_CHECKING:
    from calibrant.evaluation.candidates import candidate_test
    from calibrant.evaluation.coefficients import agreement, confusion, pair_agreement
    from calibrant.evaluation.comparison import compare_systems
    from calibrant.evaluation.decisions import (
        decide,
        expected_f_decision,
        keep_above,
        keep_top,
        most_probable,
    )
    from calibrant.evaluation.detectable import minimum_detectable_difference
    from calibrant.evaluation.entities import entity_scores, entity_sums, form_clusters, surface_sums
    from calibrant.evaluation.files.tables import RatingTable, ResultTable, read_ratings, read_results
    from calibrant.evaluation.guarantees import guaranteed_thresholds
    from calibrant.evaluation.hugging_face import compute_metrics
    from calibrant.evaluation.monitoring import CalibrationMonitor
    from calibrant.evaluation.pages.page import ProtocolPage, protocol_page
    from calibrant.evaluation.paired import mcnemar, paired_bootstrap, paired_permutation
    from calibrant.evaluation.ratings import Ratings
    from calibrant.evaluation.results.agreement import (
        Agreement,
        AnnotatorAgreement,
        ClassAgreement,
        DisputedItem,
        PairAgreement,
    )
    from calibrant.evaluation.results.candidates import CandidateComparison, CandidateScore, CandidateTest
    from calibrant.evaluation.results.classification import Classification, ClassScore
    from calibrant.evaluation.results.guarantees import GuaranteedThreshold, ThresholdGuarantee
    from calibrant.evaluation.results.interval_estimate import IntervalEstimate
    from calibrant.evaluation.results.monitoring import MonitoredDay, Monitoring
    from calibrant.evaluation.results.planned import PilotVariance, PlannedRuns, RunPlan
    from calibrant.evaluation.results.protocol import (
        ControlTask,
        Finding,
        MetricComparison,
        MetricPair,
        MetricScore,
        Protocol,
        Reference,
        SystemEvaluation,
    )
    from calibrant.evaluation.results.runs import (
        OverallDifference,
        Reliability,
        RunComparison,
        RunScore,
        TaskDifference,
    )
    from calibrant.evaluation.results.selective import (
        AnswerSelection,
        CoveragePoint,
        KeptAnswers,
        OrderQuality,
        RiskCoverage,
    )
    from calibrant.evaluation.results.significance import (
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
    from calibrant.evaluation.scores import classification_scores, f_of, f_sums
    from calibrant.evaluation.selective import order_quality, risk_coverage
    from calibrant.evaluation.significance import adjusted_p_values, mean_interval, paired_t_test
    from calibrant.evaluation.verbs.evaluating import agree, compare, may_replace
    from calibrant.evaluation.verbs.guaranteeing import guaranteed_threshold
    from calibrant.evaluation.verbs.monitoring import monitor
    from calibrant.evaluation.verbs.planning_runs import plan_runs
    from calibrant.evaluation.verbs.protocol_steps import protocol, write_example
    from calibrant.evaluation.verbs.thresholding import threshold
else:
    __getattr__, __dir__ = lazily(__name__)

__all__ = [
    "Agreement",
    "AnnotatorAgreement",
    "AnswerSelection",
    "CalibrationMonitor",
    "CandidateComparison",
    "CandidateScore",
    "CandidateTest",
    "ClassAgreement",
    "ClassScore",
    "Classification",
    "Comparison",
    "ControlTask",
    "CoveragePoint",
    "Detectable",
    "DisputedItem",
    "Finding",
    "GuaranteedThreshold",
    "IntervalEstimate",
    "KeptAnswers",
    "McNemarTest",
    "MeanInterval",
    "MetricComparison",
    "MetricPair",
    "MetricScore",
    "MonitoredDay",
    "Monitoring",
    "OrderQuality",
    "OverallDifference",
    "PairAgreement",
    "PairedTest",
    "PilotVariance",
    "PlainTest",
    "PlannedRuns",
    "Protocol",
    "ProtocolPage",
    "RatingTable",
    "Ratings",
    "Reference",
    "Reliability",
    "ResampledTest",
    "ResultTable",
    "RiskCoverage",
    "RunComparison",
    "RunPlan",
    "RunScore",
    "SystemEvaluation",
    "SystemMean",
    "SystemPair",
    "TaskDifference",
    "ThresholdGuarantee",
    "adjusted_p_values",
    "agree",
    "agreement",
    "candidate_test",
    "classification_scores",
    "compare",
    "compare_systems",
    "compute_metrics",
    "confusion",
    "decide",
    "entity_scores",
    "entity_sums",
    "expected_f_decision",
    "f_of",
    "f_sums",
    "form_clusters",
    "guaranteed_threshold",
    "guaranteed_thresholds",
    "keep_above",
    "keep_top",
    "may_replace",
    "mcnemar",
    "mean_interval",
    "minimum_detectable_difference",
    "monitor",
    "most_probable",
    "order_quality",
    "pair_agreement",
    "paired_bootstrap",
    "paired_permutation",
    "paired_t_test",
    "plan_runs",
    "protocol",
    "protocol_page",
    "read_ratings",
    "read_results",
    "risk_coverage",
    "surface_sums",
    "threshold",
    "write_example",
]
