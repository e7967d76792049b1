from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from msgspec import structs

from calibrant.exceptions import InputError
from calibrant.pages import Page, page
from calibrant.pages.text import number
from calibrant.records import Quantity
from calibrant.results.drawing import ModelDifference, Report
from calibrant.verbs import report


def test_the_headline_is_the_debiased_error_with_its_interval(one: Report, one_page: Page) -> None:
    measured = one.models[0].measured["binary"]
    card = one_page.sections[0].cards[0]
    error = measured.calibration_error
    assert card.error == number(error.estimate)
    assert card.interval == f"{error.low:.4f} to {error.high:.4f}"


def test_the_plug_in_stands_beside_it_with_its_bins(one: Report, one_page: Page) -> None:
    card = one_page.sections[0].cards[0]
    assert card.plug_in == f"{one.models[0].measured['binary'].plug_in_calibration_error:.4f}"
    assert card.bins == "14 bins of equal information"


def test_an_interval_that_excludes_zero_is_a_verdict(one: Report, one_page: Page) -> None:
    interval = one.models[0].measured["binary"].interval
    assert interval.estimate is not None
    verdict = one_page.sections[0].cards[0].verdict
    assert verdict.startswith(
        f"A predicted probability is typically off by {100 * interval.estimate:.1f} percentage points"
    )


def test_an_interval_that_holds_zero_is_no_verdict_against_the_model(two_page: Page) -> None:
    verdict = two_page.sections[0].cards[1].verdict
    assert verdict.startswith("The error's interval is compatible with perfect calibration")


def test_an_error_without_an_interval_says_why() -> None:
    certain = pd.DataFrame({"score": [0.0, 1.0] * 200, "label": [0, 1] * 200})
    card = page(report([certain], names=["certain"])).sections[0].cards[0]
    assert card.interval == "-"
    assert card.verdict.startswith("The error has no interval: every score is 0 or 1")


def test_a_handful_of_pairs_is_warned_of() -> None:
    tiny = pd.DataFrame({"score": [0.2, 0.9, 0.5], "label": [0, 1, 1]})
    made = page(report([tiny], names=["tiny"]))
    assert any("only 3 pairs" in each for each in made.sections[0].cards[0].warnings)
    assert "only 3 pairs" in made.to_html()


@pytest.mark.parametrize("label", [0, 1])
def test_one_class_alone_is_shown_with_what_is_undefined(label: int) -> None:
    table = pd.DataFrame({"score": np.linspace(0.1, 0.9, 300), "label": label})
    made = page(report([table], names=["one class"]))
    rows = {row.field: row for group in made.sections[0].numbers for row in group.rows}
    assert rows["cox_slope"].cells[0].text == "-"
    assert rows["cox_slope"].cells[0].note


def test_the_direction_is_told_where_the_interval_tells_it(two_page: Page) -> None:
    sharp, calibrated = two_page.sections[0].cards
    assert "overconfident: too close to 0 and 1." in sharp.direction
    assert calibrated.direction == ""


@pytest.mark.parametrize(
    ("mean", "sentence"),
    [
        ((0.031, 0.02, 0.04), "On average, its scores are 3.1 percentage points too high."),
        ((-0.0003, -0.0004, -0.0002), "On average, its scores are 0.03 percentage points too low."),
        ((0.002, -0.001, 0.005), "do not show whether its scores are too high or too low"),
        ((1e-17, 1e-18, 2e-17), "On average, its scores are neither too high nor too low."),
    ],
)
def test_scores_are_not_called_zero_points_too_low(
    two: Report, mean: tuple[float, float, float], sentence: str
) -> None:
    off = structs.replace(two.models[0].measured.views[0], mean_error=Quantity(*mean))
    assert sentence in off.direction()
    assert " 0.0 points" not in off.direction()


def test_a_card_tells_what_shows_an_error_where_the_interval_contains_0(two: Report) -> None:
    calibrated = two.models[1].measured.views[0]
    assert calibrated.calibration_error.low == 0
    off = structs.replace(calibrated, cox_slope=Quantity(0.8, 0.6, 0.9))
    assert off.direction() == "But the Cox slope shows miscalibration."


def test_a_page_about_a_recalibrator_has_a_title_that_reads_well(two: Report) -> None:
    models = tuple(
        structs.replace(model, name=name) for model, name in zip(two.models, ("before", "after"), strict=True)
    )
    recalibrated = structs.replace(two, models=models, recalibrator="platt.json", differences=())
    assert page(recalibrated).title == "Before and after recalibration"
    assert page(structs.replace(recalibrated, recalibrator=None)).title == "Calibration of before and after"


@pytest.mark.parametrize(
    ("change", "adjusted", "verdict"),
    [
        (0.004, 0.03, "calibrated is better calibrated than sharp."),
        (-0.004, 0.03, "sharp is better calibrated than calibrated."),
        (0.004, 0.06, "The comparison of the calibration errors of sharp and calibrated is inconclusive."),
    ],
)
def test_the_better_model_is_named_only_if_the_adjusted_p_value_is_small(
    two: Report, change: float, adjusted: float, verdict: str
) -> None:
    found = structs.replace(two.differences[0].difference, mse_difference=Quantity(change, -0.1, 0.1))
    difference = ModelDifference("binary", "sharp", "calibrated", found, adjusted)
    contrast = page(structs.replace(two, differences=(difference,))).sections[0].contrasts[0]
    assert contrast.verdict == verdict


def test_a_difference_without_an_interval_says_why(two: Report) -> None:
    unknown = Quantity(0.1, reason="one cluster")
    found = structs.replace(two.differences[0].difference, mse_difference=unknown)
    difference = ModelDifference("binary", "sharp", "calibrated", found, None)
    contrast = page(structs.replace(two, differences=(difference,))).sections[0].contrasts[0]
    assert contrast.verdict == "The difference has no interval: one cluster."
    assert contrast.interval == "-"


def test_every_number_has_a_label_and_a_sentence(two_page: Page) -> None:
    rows = [row for group in two_page.sections[0].numbers for row in group.rows]
    assert {
        "calibration_error",
        "plug_in_calibration_error",
        "ece",
        "smooth_ece",
        "test.p_value",
        "brier",
    } <= {row.field for row in rows}
    for row in rows:
        assert row.label
        assert row.meaning.endswith(".")
        assert len(row.cells) == 2


def test_a_p_value_is_worded(two_page: Page) -> None:
    (row,) = [
        row for group in two_page.sections[0].numbers for row in group.rows if row.field == "test.p_value"
    ]
    assert row.cells[0].text == "< 0.0001"
    assert row.cells[1].text.startswith("0.")


def test_what_is_undefined_says_why(one: Report) -> None:
    model = one.models[0]
    measured = model.measured["binary"]
    undefined = Quantity(None, reason="2 pairs were certain and wrong")
    changed = structs.replace(measured, log_loss=undefined)
    altered = structs.replace(model, measured=structs.replace(model.measured, views=(changed,)))
    numbers = page(structs.replace(one, models=(altered,))).sections[0].numbers
    (row,) = [row for group in numbers for row in group.rows if row.field == "log_loss"]
    assert (row.cells[0].text, row.cells[0].note) == ("-", "2 pairs were certain and wrong")


def test_a_warning_stands_in_the_headline(one: Report) -> None:
    model = one.models[0]
    measured = model.measured["binary"]
    interval = structs.replace(measured.interval, few_clusters_warning="only 12 clusters")
    warned = structs.replace(measured, interval=interval)
    altered = structs.replace(model, measured=structs.replace(model.measured, views=(warned,)))
    made = page(structs.replace(one, models=(altered,)))
    assert made.sections[0].cards[0].warnings == ("only 12 clusters",)
    assert "only 12 clusters" in made.to_html()


def test_the_recipe_has_what_is_needed_to_do_it_again(one_page: Page) -> None:
    ((name, recipe),) = one_page.recipes
    lines = dict(recipe)
    assert name == "sharp"
    assert (lines["Rows"], lines["Views"], lines["Level"]) == ("2,000", "binary", "95 %")
    assert (lines["Bins used"], lines["Bins"]) == ("14", "information")
    assert (lines["Seed"], lines["ECE bins"], lines["Interval method"]) == ("0", "15", "inverted")
    assert one_page.command == "calibrant report first.csv second.csv -o 'a <report>.html'"


def test_classes_stand_in_a_table_and_the_top_label_in_a_section(class_page: Page) -> None:
    assert [section.view for section in class_page.sections] == ["top"]
    assert class_page.classes is not None
    assert [name for name, _ in class_page.classes.rows] == ["$x$", "NOUN", "<b>VERB</b>"]  # by error


def test_models_of_different_classes_have_no_table_of_classes() -> None:
    score, other = {"p_a": [0.7, 0.4], "p_b": [0.3, 0.6]}, {"p_c": [0.7, 0.4], "p_d": [0.3, 0.6]}
    tables = [pd.DataFrame(score | {"label": ["a", "b"]}), pd.DataFrame(other | {"label": ["c", "d"]})]
    made = page(report(tables, names=["one", "two"]))
    assert made.classes is None
    assert "<h2>Classes</h2>" not in made.to_html()


def test_the_page_as_json_holds_the_same_texts_and_the_numbers_behind_them(
    two: Report, two_page: Page
) -> None:
    found = json.loads(json.dumps(two_page.to_dict(), allow_nan=False))
    assert found["sections"][0]["cards"][0]["error"] == two_page.sections[0].cards[0].error
    measured = found["report"]["models"][0]["measured"]
    (view,) = measured["views"]
    assert view["calibration_error"] == two.models[0].measured["binary"].calibration_error.to_dict()


def test_models_that_share_a_name_are_refused(two: Report) -> None:
    first = two.models[0]
    with pytest.raises(InputError, match="two models have the same name"):
        page(structs.replace(two, models=(first, first)))


def test_a_report_without_models_is_refused() -> None:
    with pytest.raises(InputError, match="at least one model"):
        page(Report(()))


def test_the_title_can_be_given(one: Report) -> None:
    assert page(one, title="Tweets").title == "Tweets"
    assert page(one).title == "Calibration of sharp"
