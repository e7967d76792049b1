"""An interval is beside the number that it is for, and the mean error beside the calibration error."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.naive_bayes import GaussianNB

from calibrant import Calibrated, measure, report
from calibrant.pages.report_page import page
from calibrant.records import Quantity
from calibrant.results import Measurement
from calibrant.testing import assert_calibrated
from tests.command_line import Run
from tests.quantities import defined


def drawn(off: float = 0.04, n: int = 2000) -> dict[str, Any]:
    """Return scores with ties, ``off`` too high on average, and their labels."""
    random = np.random.default_rng(1)
    score = random.beta(0.5, 0.5, n).round(2)
    return {"score": score, "label": (random.random(n) < np.clip(score - off, 0, 1)).astype(int)}


def quantities(found: Measurement) -> dict[str, Quantity]:
    """Return the quantities of a measurement that have an interval."""
    values = {name: getattr(found, name) for name in found.__struct_fields__}
    return {
        name: each for name, each in values.items() if isinstance(each, Quantity) and each.low is not None
    }


def squeezed(text: str) -> str:
    """Return a text without repeated spaces."""
    return " ".join(text.split())


@pytest.mark.parametrize("method", ["sampling", "bootstrap"])
@pytest.mark.parametrize("bins", [{}, {"n_bins": 7}, {"bin_size": 100}])
def test_an_interval_by_another_method_has_its_own_number(method: Any, bins: dict[str, Any]) -> None:
    plain = measure(pa.table(drawn()), **bins)["binary"]
    found = measure(pa.table(drawn()), interval=method, samples=200, **bins)["binary"]
    assert found.calibration_error == plain.calibration_error
    assert found.interval == plain.interval
    other = getattr(found, method)
    assert other.method == method
    assert (plain.sampling, plain.bootstrap) == (None, None)
    finest = max(0.0, defined(found.debiased_squared_error.estimate)) ** 0.5
    of = found.plug_in_calibration_error if method == "sampling" else finest
    assert other.estimate == pytest.approx(of, rel=1e-12)
    for name, each in quantities(found).items():
        inside = defined(each.low) <= defined(each.estimate) <= defined(each.high)
        assert inside or name == "sampling"  # whose draws add noise a second time


@pytest.mark.parametrize("method", ["sampling", "bootstrap"])
def test_every_output_shows_the_other_interval_with_its_number(method: Any) -> None:
    found = measure(pa.table(drawn()), interval=method, samples=200)
    one = found["binary"]
    number, error = getattr(one, method), one.calibration_error
    label = {"sampling": "CalibErr by sampling", "bootstrap": "Error by bootstrap"}[method]
    views, _, numbers = found.to_text().partition("Calibration for")
    html = squeezed(re.sub("<[^>]*>", " ", found.to_html()))
    for own, name in ((number, label), (error, "Calibration error")):
        shown = f"{own.estimate:.4f} [{own.low:.4f}, {own.high:.4f}]"
        assert shown in squeezed(views)
        assert f"{name} {shown}" in squeezed(numbers)
        assert html.count(shown) == 2  # in the table of views and in that of the view
    assert json.loads(found.to_json())["views"][0][method]["high"] == number.high
    (row,) = found.to_rows()
    assert (row[f"{method}_low"], row[f"{method}_high"]) == (number.low, number.high)
    (card,) = page(report(found)).sections[0].cards
    assert card.interval == f"{error.low:.4f} to {error.high:.4f}"


@pytest.mark.parametrize(("off", "remark"), [(0.04, "too high"), (-0.04, "too low")])
def test_the_mean_error_is_beside_the_calibration_error(off: float, remark: str) -> None:
    columns = drawn(off)
    found = measure(pa.table(columns))
    error = found["binary"].mean_error
    assert error.estimate == pytest.approx(columns["score"].mean() - columns["label"].mean())
    assert defined(error.low) < defined(error.estimate) < defined(error.high)
    assert np.sign([defined(error.low), defined(error.high)]).tolist() == [np.sign(off)] * 2
    shown = f"{error.estimate:+.4f} [{error.low:.4f}, {error.high:.4f}]"
    views, _, numbers = found.to_text().partition("Calibration for")
    assert [each for each in map(str.strip, views.splitlines()[1].split("  ")) if each][3:7] == [
        "error",
        "95 % interval",
        "mean error",
        "95 % interval",
    ]
    assert shown in squeezed(views)
    (line,) = (line for line in numbers.splitlines() if line.startswith("  Mean error "))
    assert shown in squeezed(line)
    assert line.endswith(f"scores are {remark} on average")
    assert "mean error" in found._repr_html_()
    assert "mean_error=" in repr(found["binary"])
    made = page(report(found))
    (card,) = made.sections[0].cards
    assert card.mean_error == f"{error.estimate:+.4f}".replace("-", "−")
    assert card.mean_interval == f"{error.low:.4f} to {error.high:.4f}".replace("-", "−")
    head = made.to_html().partition("<h3>Calibration</h3>")[0]
    assert card.mean_error in head
    assert card.mean_interval in head


def test_gates_tell_the_direction(run: Run, tmp_path: Path) -> None:
    table = tmp_path / "scores.csv"
    rows = zip(*drawn().values(), strict=True)
    table.write_text("score,label\n" + "".join(f"{score},{label}\n" for score, label in rows))
    assert run("measure", str(table), "--fail-if", "mean_error.low > 0.02").code == 3
    assert run("measure", str(table), "--fail-if", "mean_error.high < -0.02").code == 0
    shown = run("report", str(table), "-o", str(tmp_path / "page.html")).out
    error = measure(table)["binary"].mean_error
    assert f"{error.estimate:+.4f}  [{error.low:.4f}, {error.high:.4f}]" in shown


def test_a_calibrated_classifier_has_a_mean_error_and_is_asserted_on() -> None:
    random = np.random.default_rng(0)
    items = random.normal(size=(2000, 2))
    label = random.random(2000) < 1 / (1 + np.exp(-items[:, 0]))
    model = Calibrated(GaussianNB(), "platt").fit(items[:1000], label[:1000])
    rarer = label[1000:] & (random.random(1000) < 0.8)
    error = measure(model, items[1000:], rarer)["binary"].mean_error
    assert 0.02 < defined(error.low) < defined(error.high) < 0.15
    assert_calibrated(model, items[1000:], rarer, max_error=1, max_mean_error=0.15, strict=True)
    with pytest.raises(AssertionError, match=r"binary: the mean error is 0\.0.* shows? an error above 0\.02"):
        assert_calibrated(model, items[1000:], rarer, max_error=1, max_mean_error=0.02)
