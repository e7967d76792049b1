"""Measure and recalibrate the probabilities of NLP models, and use their remaining uncertainty.

Each command has a function of the same name: `measure`, `slices`, `fit`, `apply`, `report` and others. They
take a table or a file and return a record.

Modules and names in ``__all__`` are imported on first use, so ``import calibrant`` is fast.

Examples
--------
>>> import calibrant
>>> calibrant.metrics.plug_in_calibration_error([0, 1, 1, 1], [0.25, 0.25, 1.0, 1.0], bin_size=2)
0.1767766952966369
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from calibrant._version import __version__
from calibrant.lazy import lazily

if TYPE_CHECKING:
    from calibrant import (
        data,
        estimation,
        evaluation,
        events,
        exceptions,
        io,
        metrics,
        pages,
        plots,
        recalibrate,
        records,
        results,
        structures,
        synthetic,
        testing,
        verbs,
    )
    from calibrant.estimation.verbs import estimate
    from calibrant.estimation.verbs.judge_plans import plan_judge
    from calibrant.estimation.verbs.judging import judge
    from calibrant.estimation.verbs.label_plans import plan_estimate
    from calibrant.estimation.verbs.regressing import regress
    from calibrant.estimation.verbs.regression_plans import plan_regress
    from calibrant.estimation.verbs.sampling import sample
    from calibrant.evaluation.verbs.evaluating import agree, compare
    from calibrant.evaluation.verbs.monitoring import monitor
    from calibrant.evaluation.verbs.protocol_steps import protocol
    from calibrant.exceptions import CalibrantError, FormatError, InputError, MissingExtraError
    from calibrant.io.opening import open_predictions
    from calibrant.io.saved import load_tally, save_tally
    from calibrant.metrics.tally import Tally
    from calibrant.recalibrate.calibrated import Calibrated
    from calibrant.verbs.converting import convert
    from calibrant.verbs.displays import ReliabilityDisplay
    from calibrant.verbs.figures import plot
    from calibrant.verbs.measuring import measure
    from calibrant.verbs.planning import plan
    from calibrant.verbs.recalibrating import apply, fit
    from calibrant.verbs.reporting import report
    from calibrant.verbs.slicing import slices
    from calibrant.verbs.tallying import tally
else:
    __getattr__, __dir__ = lazily(__name__)

__all__ = [
    "CalibrantError",
    "Calibrated",
    "FormatError",
    "InputError",
    "MissingExtraError",
    "ReliabilityDisplay",
    "Tally",
    "__version__",
    "agree",
    "apply",
    "compare",
    "convert",
    "data",
    "estimate",
    "estimation",
    "evaluation",
    "events",
    "exceptions",
    "fit",
    "io",
    "judge",
    "load_tally",
    "measure",
    "metrics",
    "monitor",
    "open_predictions",
    "pages",
    "plan",
    "plan_estimate",
    "plan_judge",
    "plan_regress",
    "plot",
    "plots",
    "protocol",
    "recalibrate",
    "records",
    "regress",
    "report",
    "results",
    "sample",
    "save_tally",
    "slices",
    "structures",
    "synthetic",
    "tally",
    "testing",
    "verbs",
]
