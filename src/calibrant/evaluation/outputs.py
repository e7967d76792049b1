"""The records that the commands print as JSON."""

from calibrant.evaluation.results.agreement import Agreement
from calibrant.evaluation.results.candidates import CandidateTest
from calibrant.evaluation.results.guarantees import ThresholdGuarantee
from calibrant.evaluation.results.monitoring import Monitoring
from calibrant.evaluation.results.planned import RunPlan
from calibrant.evaluation.results.protocol import Protocol
from calibrant.evaluation.results.runs import RunComparison
from calibrant.evaluation.results.selective import AnswerSelection
from calibrant.evaluation.results.significance import Comparison
from calibrant.records import Record

OUTPUTS: dict[str, type[Record]] = {
    "agree": Agreement,
    "agree candidate": CandidateTest,  # agree, with a candidate
    "compare": Comparison,
    "compare runs": RunComparison,  # compare, for logs, tasks and runs
    "monitor": Monitoring,
    "plan-runs": RunPlan,
    "protocol": Protocol,
    "threshold": AnswerSelection,
    "threshold risk": ThresholdGuarantee,  # threshold, with a limit of the risk
}
