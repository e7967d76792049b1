"""Files: prediction tables in, tallies in and out, all of them whole or absent."""

from __future__ import annotations

from calibrant.io._batch import Batch
from calibrant.io.predictions import Predictions, open_predictions
from calibrant.io.saved import load_tally, save_tally

__all__ = ["Batch", "Predictions", "load_tally", "open_predictions", "save_tally"]
