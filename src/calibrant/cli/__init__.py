"""The command line: each command parses, calls the workflow once, and prints."""

from __future__ import annotations

from calibrant.cli.group import CommandGroup

main = CommandGroup(
    name="calibrant",
    help="How far can the probabilities of a model be trusted? Calibration errors with honest intervals.\n\n"
    "Start with `calibrant demo`, then `calibrant measure PREDICTIONS` on your own.",
    commands={
        "demo": "calibrant.cli.demo",
        "measure": "calibrant.cli.measure",
        "monitor": "calibrant.cli.monitor",
        "plan": "calibrant.cli.plan",
        "estimate": "calibrant.cli.estimate",
        "slices": "calibrant.cli.slices",
        "report": "calibrant.cli.report",
        "plot": "calibrant.cli.plot",
        "fit": "calibrant.cli.fit",
        "apply": "calibrant.cli.apply",
        "agree": "calibrant.cli.agree",
        "compare": "calibrant.cli.compare",
        "protocol": "calibrant.cli.protocol",
        "study": "calibrant_studies.cli.study",
        "data": "calibrant_studies.cli.data",
        "tag": "calibrant.cli.tag",
        "coref": "calibrant.cli.coref",
        "explore": "calibrant.cli.explore",
        "events": "calibrant.cli.events",
        "schema": "calibrant.cli.schema",
    },
)

__all__ = ["main"]
