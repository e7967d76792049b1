"""How far the probabilities of a model can be trusted.

Modules and names listed in ``__all__`` load on first use, so that ``import calibrant`` stays quick.

Examples
--------
>>> import calibrant
>>> calibrant.measure.rms_calibration_error([0, 1, 1, 1], [0.25, 0.25, 1.0, 1.0], bin_size=2)
0.1767766952966369
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from calibrant.lazy import lazily

if TYPE_CHECKING:
    from calibrant import (
        data,
        evaluate,
        exceptions,
        io,
        measure,
        models,
        plots,
        posterior,
        recalibrate,
        report,
        results,
        synthetic,
        workflow,
    )
    from calibrant.exceptions import CalibrantError, FormatError, InputError, MissingExtraError
    from calibrant.io.predictions import open_predictions
    from calibrant.io.saved import load_tally, save_tally
    from calibrant.measure.tally import Tally

__version__ = "0.1.0"

__all__ = [
    "CalibrantError",
    "FormatError",
    "InputError",
    "MissingExtraError",
    "Tally",
    "__version__",
    "data",
    "evaluate",
    "exceptions",
    "io",
    "load_tally",
    "measure",
    "models",
    "open_predictions",
    "plots",
    "posterior",
    "recalibrate",
    "report",
    "results",
    "save_tally",
    "synthetic",
    "workflow",
]

__getattr__, __dir__ = lazily(__name__)
