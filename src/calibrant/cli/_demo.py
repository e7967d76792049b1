"""The demonstration's page of text."""

from __future__ import annotations

from calibrant.cli import _text as text
from calibrant.cli._report import lines_of as report_lines
from calibrant.results.drawing import Report, ReportedModel

OPENING = """\
Two classifiers say how probable it is that a tweet is positive. Can their probabilities be trusted?
Where a calibrated model says 0.8, eight of ten tweets are positive."""

READING = """\
error     the typical distance between a probability and the true share (RMS), free of the bias of bins;
          its interval is for the population; one that begins at 0 does not exclude calibration
CalibErr  the papers' binned error, biased upward; ECE: its mean absolute cousin on 15 equal-width bins
Brier     the mean squared error of the probabilities, which counts sharpness too"""

NEXT = """\
Next, for your own predictions (a column score in [0, 1] and a column label in {0, 1}):
  calibrant measure predictions.csv
  calibrant report predictions.csv -o report.html
  calibrant report one-model.parquet other-model.parquet -o report.html
  calibrant plan --error 0.02
A model of several classes: a column label with the class, and a column p_<class> for each class."""


def lines_of(report: Report, output: str) -> list[str]:
    """Word the demonstration."""
    verdicts = [_verdict(model) for model in report.models]
    wrote = f"Wrote {output}: the curves behind these numbers; open it in a browser."
    parts = [
        OPENING.splitlines(),
        report_lines(report),
        verdicts,
        READING.splitlines(),
        [wrote],
        NEXT.splitlines(),
    ]
    return [line for part in parts for line in ["", *part]][1:]


def _verdict(model: ReportedModel) -> str:
    found = model.measured.events[0]
    low = found.interval.low or 0.0
    off = f"off by about {100 * (found.debiased_rms or 0):.1f} percentage points"
    slope = found.cox_slope.estimate
    how = ""
    if slope is not None and found.cox_slope.high is not None and found.cox_slope.high < 1:
        how = f", too extreme (Cox slope {text.number(slope, 2)}; 1 if calibrated)"
    elif slope is not None and found.cox_slope.low is not None and found.cox_slope.low > 1:
        how = f", too timid (Cox slope {text.number(slope, 2)}; 1 if calibrated)"
    if low > 0:
        return f"{model.name}: not calibrated ({text.p_value(found.test.p_value)}); {off}{how}."
    return f"{model.name}: in keeping with calibration; {off}{how}."
