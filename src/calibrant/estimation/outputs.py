"""The records that the commands print as JSON."""

from calibrant.estimation.results import CorrectedCounts
from calibrant.estimation.results.designs import DrawnSample
from calibrant.estimation.results.judged_classes import JudgedClasses
from calibrant.estimation.results.judged_plans import JudgePlan
from calibrant.estimation.results.judging import JudgedSystems
from calibrant.estimation.results.plans import EstimatePlan, RegressionPlan
from calibrant.estimation.results.regressions import Regression
from calibrant.records import Record

OUTPUTS: dict[str, type[Record]] = {
    "estimate": CorrectedCounts,
    "plan-estimate": EstimatePlan,
    "plan-judge": JudgePlan,
    "plan-regress": RegressionPlan,
    "sample": DrawnSample,
    "regress": Regression,
    "judge": JudgedSystems,
    "judge classes": JudgedClasses,  # judge, of class names
}
