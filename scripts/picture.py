"""Draw docs/images/demo.svg: the calibration curves of the two models that `calibrant demo` measures."""

from __future__ import annotations

from pathlib import Path

from calibrant.data import predictions
from calibrant.plots import calibration_curves, render
from calibrant.results.drawing import BinIntervals
from calibrant.workflow import measure

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "images" / "demo.svg"
MODELS = {"naive Bayes": "naive-bayes", "logistic regression": "logistic-regression"}


def picture() -> bytes:
    """Draw the curves, with each bin's interval."""
    curves = []
    for name, model in MODELS.items():
        found = measure(predictions("dated", model))["binary"]
        intervals = BinIntervals(found.bin_low, found.bin_high, found.level, found.bin_interval)
        curves.append((name, found.bins, intervals))
    axes = calibration_curves(curves)
    figure = axes.get_figure(root=True)
    assert figure is not None
    return render(figure, "svg")


if __name__ == "__main__":
    PICTURE.write_bytes(picture())
