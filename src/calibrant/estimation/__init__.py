"""Counts and shares from probabilities, and their correction by labels for some of the documents.

A wing: the core of calibrant does not know it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from calibrant.lazy import lazily

if TYPE_CHECKING:
    from calibrant.estimation.checking import central_set_hits, quantile_calibration
    from calibrant.estimation.classes import class_scores, corrected_classes
    from calibrant.estimation.contrasts import Groups
    from calibrant.estimation.counts import (
        CountDistribution,
        compare_counts,
        count_interval,
        joint_probabilities,
        number_interval,
        poisson_binomial,
    )
    from calibrant.estimation.estimating import METHODS, corrected_counts
    from calibrant.estimation.functions import Stages, exceedance, propagate, summary
    from calibrant.estimation.judged_means import JudgedTable, rogan_gladen
    from calibrant.estimation.judged_plans import judge_plan
    from calibrant.estimation.judging import judged_systems
    from calibrant.estimation.judging_bias import judge_bias
    from calibrant.estimation.judging_classes import judged_classes
    from calibrant.estimation.judging_preferences import bradley_terry, preference_table
    from calibrant.estimation.means import corrected_means
    from calibrant.estimation.proxies import ProxyWeights, combine_proxies
    from calibrant.estimation.results import (
        CentralSet,
        CentralSets,
        CorrectedCounts,
        CorrectedMean,
        CountInterval,
        Drift,
        Exceedance,
        LevelCoverage,
        Propagated,
        PropagatedQuantity,
        QuantileCalibration,
    )
    from calibrant.estimation.results.designs import DrawnSample, SampledStratum
    from calibrant.estimation.results.groups import GroupDifference, GroupTrend
    from calibrant.estimation.results.judged_classes import (
        JudgeConfusion,
        JudgedClasses,
        JudgedShare,
        JudgedShareDifference,
    )
    from calibrant.estimation.results.judged_plans import JudgePlan, PlannedJudgment
    from calibrant.estimation.results.judging import (
        JudgeBias,
        JudgedDifference,
        JudgedJudge,
        JudgedMean,
        JudgedMethod,
        JudgedStrength,
        JudgedSystem,
        JudgedSystems,
        JudgeErrors,
        TransportedSystem,
    )
    from calibrant.estimation.results.plans import EstimatePlan, PlannedLabels, RegressionPlan
    from calibrant.estimation.results.regressions import (
        PredictedMean,
        ProxyErrors,
        Regression,
        RegressionEffect,
        RegressionTerm,
    )
    from calibrant.estimation.shifted_shares import maximum_likelihood_shares
    from calibrant.estimation.total import RefittedRecalibrator, estimate_drift, total_interval
    from calibrant.estimation.verbs import estimate
    from calibrant.estimation.verbs.judge_plans import plan_judge
    from calibrant.estimation.verbs.judging import judge
    from calibrant.estimation.verbs.label_plans import plan_estimate
    from calibrant.estimation.verbs.regressing import regress
    from calibrant.estimation.verbs.regression_plans import plan_regress
    from calibrant.estimation.verbs.sampling import sample
else:
    __getattr__, __dir__ = lazily(__name__)

__all__ = [
    "METHODS",
    "CentralSet",
    "CentralSets",
    "CorrectedCounts",
    "CorrectedMean",
    "CountDistribution",
    "CountInterval",
    "DrawnSample",
    "Drift",
    "EstimatePlan",
    "Exceedance",
    "GroupDifference",
    "GroupTrend",
    "Groups",
    "JudgeBias",
    "JudgeConfusion",
    "JudgeErrors",
    "JudgePlan",
    "JudgedClasses",
    "JudgedDifference",
    "JudgedJudge",
    "JudgedMean",
    "JudgedMethod",
    "JudgedShare",
    "JudgedShareDifference",
    "JudgedStrength",
    "JudgedSystem",
    "JudgedSystems",
    "JudgedTable",
    "LevelCoverage",
    "PlannedJudgment",
    "PlannedLabels",
    "PredictedMean",
    "Propagated",
    "PropagatedQuantity",
    "ProxyErrors",
    "ProxyWeights",
    "QuantileCalibration",
    "RefittedRecalibrator",
    "Regression",
    "RegressionEffect",
    "RegressionPlan",
    "RegressionTerm",
    "SampledStratum",
    "Stages",
    "TransportedSystem",
    "bradley_terry",
    "central_set_hits",
    "class_scores",
    "combine_proxies",
    "compare_counts",
    "corrected_classes",
    "corrected_counts",
    "corrected_means",
    "count_interval",
    "estimate",
    "estimate_drift",
    "exceedance",
    "joint_probabilities",
    "judge",
    "judge_bias",
    "judge_plan",
    "judged_classes",
    "judged_systems",
    "maximum_likelihood_shares",
    "number_interval",
    "plan_estimate",
    "plan_judge",
    "plan_regress",
    "poisson_binomial",
    "preference_table",
    "propagate",
    "quantile_calibration",
    "regress",
    "rogan_gladen",
    "sample",
    "summary",
    "total_interval",
]
