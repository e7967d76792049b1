"""The command line: each command parses, calls one verb, and prints."""

from __future__ import annotations

from calibrant.cli.group import CommandGroup

main = CommandGroup(
    name="calibrant",
    help="How far can the probabilities of a model be trusted? Calibration errors with honest intervals.\n\n"
    "Start with `calibrant demo`, then `calibrant measure PREDICTIONS` on your own.",
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
        "Structures: tags, spans, entities": {
            "tag": "calibrant.structures.cli.tag",
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
            "monitor": "calibrant.evaluation.cli.monitor",
            "protocol": "calibrant.evaluation.cli.protocol",
        },
        "Estimation: counts and shares": {
            "estimate": "calibrant.estimation.cli",
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
