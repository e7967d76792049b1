"""The command line: each command parses its options, calls one verb and prints the result."""

from __future__ import annotations

from calibrant.cli.group import CommandGroup

main = CommandGroup(
    name="calibrant",
    help="Measure how far the probabilities of a model can be trusted, recalibrate them, and estimate counts "
    "from them.\n\nStart with `calibrant demo`, then run `calibrant measure` on a file of predictions.",
    commands={
        "Start": {
            "demo": "calibrant.demo.cli",
        },
        "Measure": {
            "measure": "calibrant.cli.measure",
            "slices": "calibrant.cli.slices",
            "report": "calibrant.cli.report",
            "plot": "calibrant.cli.plot",
            "plan": "calibrant.cli.plan",
        },
        "Recalibrate": {
            "fit": "calibrant.cli.fit",
            "apply": "calibrant.cli.apply",
        },
        "Structures: tags, trees, spans, entities": {
            "tag": "calibrant.structures.cli.tag",
            "parse": "calibrant.structures.cli.parse",
            "spans": "calibrant.structures.cli.spans",
            "coref": "calibrant.structures.cli.coref",
        },
        "Events in dated texts": {
            "events": "calibrant.events.cli.events",
            "explore": "calibrant.events.cli.explore",
        },
        "Evaluation": {
            "agree": "calibrant.evaluation.cli.agree",
            "compare": "calibrant.evaluation.cli.compare",
            "plan-runs": "calibrant.evaluation.cli.plan_runs",
            "monitor": "calibrant.evaluation.cli.monitor",
            "protocol": "calibrant.evaluation.cli.protocol",
            "threshold": "calibrant.evaluation.cli.threshold",
        },
        "Estimation: counts and fractions": {
            "sample": "calibrant.estimation.cli.sample",
            "estimate": "calibrant.estimation.cli",
            "plan-estimate": "calibrant.estimation.cli.plan_estimate",
            "plan-judge": "calibrant.estimation.cli.plan_judge",
            "regress": "calibrant.estimation.cli.regress",
            "plan-regress": "calibrant.estimation.cli.plan_regress",
            "judge": "calibrant.estimation.cli.judge",
        },
        "Studies": {
            "study": "calibrant_studies.cli.study",
            "data": "calibrant_studies.cli.data",
        },
        "Outputs": {
            "convert": "calibrant.cli.convert",
            "schema": "calibrant.cli.schema",
        },
    },
)

__all__ = ["main"]
