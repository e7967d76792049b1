"""The demonstration's page of text."""

from __future__ import annotations

from calibrant.cli import _text as text
from calibrant.cli._report import lines_of as report_lines
from calibrant.results.drawing import Report, ReportedModel
from calibrant.results.events import EventCount, EventTable

YEARS = 5  # the last ones, of each country

OPENING = """\
Two classifiers say how probable it is that a tweet is positive. Can their probabilities be trusted?
Where a calibrated model says 0.8, eight of ten tweets are positive."""

READING = """\
error     the typical distance between a probability and the true share (RMS), free of the bias of bins;
          its interval is for the population; one that begins at 0 does not exclude calibration
CalibErr  the papers' binned error, biased upward; ECE: its mean absolute cousin on 15 equal-width bins
Brier     the mean squared error of the probabilities, which counts sharpness too"""

EVENTS = """\
Doubt in what is counted: reports in which a country uses force, where a model that is not sure who "they"
are has drawn 100 samples of each. From the store current-events, which ships: numbers and dates, no texts."""

EVENTS_READING = """\
model     what the texts' entities leave open under the model
total     also how far the model's probabilities can be trusted, by labelled documents of another corpus
1-best    what a count of the one best guess says, without doubt
In neither: wrong parses and wrong rules. Of 50 documents that the model is sure of, 36 were right."""

NEXT = """\
Next, for your own predictions (a column score in [0, 1] and a column label in {0, 1}):
  calibrant measure predictions.csv
  calibrant report predictions.csv -o report.html
  calibrant report one-model.parquet other-model.parquet -o report.html
  calibrant plan --error 0.02
A model of several classes: a column label with the class, and a column p_<class> for each class.

Next, for counts over time:
  calibrant explore    the same store in a browser; needs pip install 'calibrant[web]'
  calibrant events table current-events --by quarter
  calibrant events run news.jsonl -o store --parser en_core_web_sm    needs pip install 'calibrant[spacy]'"""


def lines_of(report: Report, output: str, events: EventTable) -> list[str]:
    """Word the demonstration."""
    verdicts = [_verdict(model) for model in report.models]
    wrote = f"Wrote {output}: the curves behind these numbers; open it in a browser."
    parts = [
        OPENING.splitlines(),
        report_lines(report),
        verdicts,
        READING.splitlines(),
        [wrote],
        EVENTS.splitlines(),
        _event_lines(events),
        EVENTS_READING.splitlines(),
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


def _event_lines(events: EventTable) -> list[str]:
    """A row a year and country, the last years only."""
    rows = [["country", "year", "reports", "mean", "model", "total", "1-best"]]
    by_country: dict[str, list[EventCount]] = {}
    for row in events.rows:
        by_country.setdefault(row.country, []).append(row)
    for series in by_country.values():
        for row in series[-YEARS:]:
            total = (row.low_total, row.high_total)
            ends = (f"{low:.0f} to {high:.0f}" for low, high in ((row.low, row.high), total))
            mean = f"{row.mean:.1f}"
            rows.append(
                [row.country, row.period, text.count(row.documents), mean, *ends, text.count(row.best)]
            )
    return text.table(rows, left=2)
