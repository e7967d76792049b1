"""Files: predictions, tagged text, tallies and models, in and out; what is written is whole or absent."""

from __future__ import annotations

from calibrant.io._batch import Batch
from calibrant.io.predictions import Predictions, open_predictions
from calibrant.io.saved import load_tally, save_tally
from calibrant.io.tagged import TaggedText, read_tagged

__all__ = [
    "Batch",
    "Predictions",
    "TaggedText",
    "load_tally",
    "open_predictions",
    "read_tagged",
    "save_tally",
]
