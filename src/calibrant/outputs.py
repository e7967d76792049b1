"""The records that commands print as JSON; a wing lists its own in its module of the same name."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from calibrant.parts import PARTS, is_here
from calibrant.records import Record
from calibrant.records import schema as schema_of
from calibrant.results.conversion import ConvertedTable
from calibrant.results.decisions import AppliedThresholds
from calibrant.results.drawing import Report
from calibrant.results.intervals import LabelPlan
from calibrant.results.measurement import Measured
from calibrant.results.recalibration import AppliedRecalibrator, FittedRecalibrator
from calibrant.results.slices import SliceTables

OUTPUTS: dict[str, type[Record]] = {
    "apply": AppliedRecalibrator,
    "apply thresholds": AppliedThresholds,  # apply, with a file of thresholds
    "convert": ConvertedTable,
    "fit": FittedRecalibrator,
    "measure": Measured,
    "plan": LabelPlan,
    "plot": Report,
    "report": Report,
    "slices": SliceTables,
}


def outputs() -> dict[str, type[Record]]:
    """Return the record that each command prints with ``--json``, by the command's name.

    Examples
    --------
    >>> outputs()["measure"].__name__
    'Measured'
    """
    registered = dict(OUTPUTS)
    for part in PARTS:
        if is_here(part) and find_spec(f"{part}.outputs"):
            registered |= import_module(f"{part}.outputs").OUTPUTS
    return dict(sorted(registered.items()))


def outputs_of(command: str) -> tuple[type[Record], ...]:
    """Return the records that a command prints with ``--json``, of which some need an option.

    Examples
    --------
    >>> [kind.__name__ for kind in outputs_of("agree")], outputs_of("schema")
    (['Agreement', 'CandidateTest'], ())
    """
    known = OUTPUTS if command in OUTPUTS else outputs()
    if command not in known:
        return ()
    return tuple(kind for name, kind in known.items() if name == command or name.startswith(f"{command} "))


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
    return schema_of(outputs()[command], command=command)
