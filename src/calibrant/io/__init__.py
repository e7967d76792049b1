"""Files: predictions, tagged text, tallies and models, in and out; what is written is whole or absent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calibrant.lazy import lazily

if TYPE_CHECKING:
    from calibrant.io.batches import Batch
    from calibrant.io.logs import LogKind, NoOptionsError, open_log, recognise_log
    from calibrant.io.opening import Columns, open_predictions
    from calibrant.io.predictions import Predictions
    from calibrant.io.saved import load_tally, save_tally
    from calibrant.io.saved_recalibrators import SavedRecalibrator, load_recalibrator, save_recalibrator
    from calibrant.io.text import read_class_table
    from calibrant.io.writing_predictions import PredictionWriter
else:
    __getattr__, __dir__ = lazily(__name__)

__all__ = [
    "Batch",
    "Columns",
    "LogKind",
    "NoOptionsError",
    "PredictionWriter",
    "Predictions",
    "SavedRecalibrator",
    "load_recalibrator",
    "load_tally",
    "open_log",
    "open_predictions",
    "read_class_table",
    "recognise_log",
    "save_recalibrator",
    "save_tally",
]
