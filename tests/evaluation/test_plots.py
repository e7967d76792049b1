"""The figure of a monitored stream."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant import plots
from calibrant.evaluation import CalibrationMonitor
from calibrant.evaluation.plots import evidence_over_time
from calibrant.exceptions import InputError
from tests.figures import misplaced


def test_the_figure_shows_the_numbers_of_the_record() -> None:
    random = np.random.default_rng(0)
    monitor = CalibrationMonitor(unit="item")
    for day in range(90):
        score = random.random(50)
        monitor.update(f"2026-{day:03}", random.random(50) < score**1.3, score)
    record = monitor.result()
    above, below = evidence_over_time(record).axes
    assert np.array(above.lines[0].get_ydata()) == pytest.approx([day.log10_e for day in record.days])
    assert np.array(above.lines[1].get_ydata())[0] == record.threshold
    assert np.array(above.lines[2].get_xdata()).tolist() == [
        [day.day for day in record.days].index(record.alarms[0])
    ]
    assert np.array(below.lines[0].get_ydata()) == pytest.approx([day.frequency for day in record.days])
    assert len(above.get_xticks()) <= 5


def test_a_monitor_that_has_seen_nothing_has_no_figure() -> None:
    with pytest.raises(InputError, match="no monitored window"):
        evidence_over_time(CalibrationMonitor().result())


def test_dates_of_a_monitored_model_do_not_overlap() -> None:
    monitor = CalibrationMonitor(unit="item")
    for day in range(1, 25):
        monitor.update(f"2026-11-{day:02}", [0, 1] * 20, [0.3] * 40)
    figure = evidence_over_time(monitor.result())
    plots.render(figure, "svg", width=3.3)
    assert misplaced(figure) == []
