"""Files: predictions, tagged text, tallies and models, in and out; what is written is whole or absent."""

from __future__ import annotations

from calibrant.io._batch import Batch
from calibrant.io.class_table import read_class_table
from calibrant.io.predictions import Predictions, open_predictions
from calibrant.io.saved import load_tally, save_tally
from calibrant.io.saved_models import load_model, save_model
from calibrant.io.saved_recalibrators import SavedRecalibrator, load_recalibrator, save_recalibrator
from calibrant.io.tagged import TaggedText, read_tagged
from calibrant.io.writing_pairs import PairWriter
from calibrant.io.writing_predictions import PredictionWriter

__all__ = [
    "Batch",
    "PairWriter",
    "PredictionWriter",
    "Predictions",
    "SavedRecalibrator",
    "TaggedText",
    "load_model",
    "load_recalibrator",
    "load_tally",
    "open_predictions",
    "read_class_table",
    "read_tagged",
    "save_model",
    "save_recalibrator",
    "save_tally",
]
