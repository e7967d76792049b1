"""Figures of result records, on the caller's matplotlib axes or on new ones.

Plots estimate nothing and open no file: they draw the content of a record, and the record's
``to_rows()`` has the same numbers. `render` returns a figure as the bytes of an SVG, PDF or PNG.
matplotlib loads on first use; pyplot never does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from calibrant.exceptions import MissingExtraError
from calibrant.lazy import lazily
from calibrant.parts import installing, is_here

if not is_here("matplotlib"):
    raise MissingExtraError("figures need matplotlib", installing("plots"))

if TYPE_CHECKING:
    from calibrant.plots._calibration import calibration_curve, calibration_curves, smooth_curve
    from calibrant.plots._confidence import confidence_and_reliability, confidence_histogram, reliability_bars
    from calibrant.plots._error_intervals import error_intervals
    from calibrant.plots._labels import label_histograms
    from calibrant.plots._log_odds import log_odds_curve
    from calibrant.plots._slices import slice_intervals
    from calibrant.plots.changes import error_changes
    from calibrant.plots.predictions import measured_curves, report_figure
    from calibrant.plots.svg import inline_svg, render
else:
    __getattr__, __dir__ = lazily(__name__)

__all__ = [
    "calibration_curve",
    "calibration_curves",
    "confidence_and_reliability",
    "confidence_histogram",
    "error_changes",
    "error_intervals",
    "inline_svg",
    "label_histograms",
    "log_odds_curve",
    "measured_curves",
    "reliability_bars",
    "render",
    "report_figure",
    "slice_intervals",
    "smooth_curve",
]
