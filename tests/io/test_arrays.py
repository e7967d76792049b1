from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.datasets import load_wine
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from calibrant import Calibrated, InputError, measure
from calibrant.io import Columns
from calibrant.io.arrays import array_predictions
from calibrant.metrics import calibration_error
from calibrant.metrics.views import by_label
from calibrant.recalibrate import Platt

RNG = np.random.default_rng(3)
P = RNG.random(300)
Y = (RNG.random(300) < P).astype(int)
GROUP = np.arange(300) // 3
WEIGHT = RNG.random(300) + 0.5
EXPECTED = measure(pa.table({"score": P, "label": Y, "cluster": GROUP, "weight": WEIGHT}))["binary"]
ROWS = np.column_stack([1 - P, P])
WINE, KIND = load_wine(return_X_y=True)
NAMES = np.array(["red", "white", "amber"])[KIND]
BAYES = GaussianNB().fit(WINE[::2], NAMES[::2])


@pytest.mark.parametrize("of", [np.asarray, list, pd.Series, pl.Series, pa.array], ids=lambda of: of.__name__)
def test_arrays_and_columns_are_measured_like_the_table_of_them(of: Any) -> None:
    found = measure(of(Y.tolist()), of(P.tolist()), clusters=of(GROUP), sample_weight=of(WEIGHT))["binary"]
    assert found.to_dict() == EXPECTED.to_dict()


@pytest.mark.parametrize(
    ("labels", "score", "classes"),
    [
        (Y, ROWS, None),
        (np.where(Y, "yes", "no"), ROWS, None),
        (np.where(Y, "ham", "spam"), ROWS, ["spam", "ham"]),
        (np.where(Y, "ham", "spam"), P, ["spam", "ham"]),
        (np.where(Y, "yes", "no"), P, None),
        (np.where(Y, "True", "False"), P, None),
        (Y == 1, P[:, None], None),
    ],
)
def test_two_classes_are_one_event(labels: Any, score: Any, classes: list[str] | None) -> None:
    found = measure(labels, score, classes=classes, clusters=GROUP, sample_weight=WEIGHT)["binary"]
    assert found.to_dict() == EXPECTED.to_dict()


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_the_column_of_clusters_that_a_model_names_is_used(library: Any) -> None:
    items = library({"document": GROUP, "size": P})
    model = Calibrated(GaussianNB(), clusters="document").fit(items, Y)
    found = measure(model, items, Y)["binary"]
    assert found.clusters == 100
    assert found.to_dict() == measure(Y, model.predict_proba(items), clusters=GROUP)["binary"].to_dict()


def test_the_event_of_two_named_classes_is_named() -> None:
    stays = np.where(Y, "stay", "churn")
    for found in (measure(stays, ROWS), measure(stays, P, classes=["churn", "stay"])):
        assert "The event is 'stay': scores are its probabilities." in found.to_text()
    assert "The event is" not in measure(Y, ROWS).to_text()


def test_the_order_of_columns_is_stated_where_texts_sort_otherwise_than_their_numbers() -> None:
    rows = np.full((len(Y), 12), 1 / 12)
    label = np.arange(len(Y)) % 12
    for given in (rows, pd.DataFrame(rows)):
        assert "the order of texts (0, 1, 10, 11, 2, ...)" in measure(label.astype(str), given).to_text()
    named = list(map(str, range(12)))
    for found in (measure(label, rows), measure(label.astype(str), rows, classes=named)):
        assert "order of texts" not in found.to_text()
    for found in (
        measure(label.astype(str), pd.DataFrame(rows, columns=named)),
        measure(label[:10], rows[:10]),
    ):
        assert "order of texts" not in found.to_text()


@pytest.mark.parametrize("kind", [bool, int, float])
def test_labels_of_objects_that_are_all_numbers_are_these_numbers(kind: type) -> None:
    objects = Y.astype(kind).astype(object)
    assert measure(objects, P.astype(object))["binary"].to_dict() == measure(Y, P)["binary"].to_dict()
    label, rows = np.arange(len(Y)) % 12, np.tile(np.eye(12), (len(Y), 1))[: len(Y)] * 0.9 + 0.1 / 12
    assert measure(label.astype(object), rows)["top"].positives == len(Y)


@pytest.mark.parametrize("of", [measure, calibration_error])
def test_series_of_the_same_index_in_another_order_are_refused(of: Any) -> None:
    truth, score, words = pd.Series(Y), pd.Series(P), "the same index in different orders: pair them by index"
    for given, more in (((truth[::-1], score), {}), ((truth, P), {"clusters": pd.Series(GROUP)[::-1]})):
        with pytest.raises(InputError, match=words):
            of(*given, **more)
    of(truth[::-1], score[::-1])  # the same order
    of(truth[:150], score[150:])  # other indices: by position
    with pytest.raises(InputError, match="the same index in different orders"):
        of(truth[::-1], score.set_axis(range(500, 500 + len(score))), clusters=pd.Series(GROUP))


@pytest.mark.parametrize("of", [measure, calibration_error])
def test_series_whose_indexes_overlap_are_refused(of: Any) -> None:
    truth, score = pd.Series(Y), pd.Series(P)
    with pytest.raises(InputError, match="share only 50 of 100 rows: pass the same rows"):
        of(truth[10:110], score[60:160])
    of(truth[10:110], score[60:160].reset_index(drop=True))  # counted from 0: by position


def test_indexes_that_are_mostly_the_same_at_other_places_have_a_note() -> None:
    truth, score, note = pd.Series(Y), pd.Series(P), "different indexes, and were paired by position"
    found = array_predictions(truth[1:], score[:-1])
    assert note in found.notes[0]
    numbered = score.sample(frac=0.25, random_state=1)  # as after a random split
    found = array_predictions(truth[numbered.index], pd.Series(numbered.to_numpy()))
    assert not found.notes


def test_columns_of_a_dataframe_name_their_classes() -> None:
    score = pd.DataFrame(BAYES.predict_proba(WINE[1::2]), columns=BAYES.classes_)
    turned, given = score[score.columns[::-1]], NAMES[1::2]
    expected = {each.view: each.calibration_error for each in measure(given, score.to_numpy()).views}
    for frame in (score, turned, pl.from_pandas(turned)):
        assert {each.view: each.calibration_error for each in measure(given, frame).views} == expected
    with pytest.raises(
        InputError, match="classes and the columns of p have the same names in different orders"
    ):
        measure(given, turned, classes=list(score.columns))
    some = np.asarray(given) != "red"  # a class without items is named too
    assert "class:red" in [each.view for each in measure(np.asarray(given)[some], turned[some]).views]


def test_a_label_without_a_column_of_its_name_is_refused_if_others_have_one() -> None:
    score = pd.DataFrame(BAYES.predict_proba(WINE[1::2]), columns=["amber", "Red", "white"])
    for frame in (score, score.add_prefix("p_"), score.add_prefix("score_"), score.add_suffix(")")):
        with pytest.raises(InputError, match="p has columns with names, but no column 'red': rename"):
            measure(NAMES[1::2], frame)
    unrelated = score.set_axis(["gold", "Pink", "silver"], axis=1)  # no name is a label: the order counts
    other = measure(NAMES[1::2], unrelated)["top"]
    assert other.calibration_error == measure(NAMES[1::2], score.to_numpy())["top"].calibration_error


def test_columns_are_matched_to_labels_inside_their_names() -> None:
    score = pd.DataFrame(BAYES.predict_proba(WINE[1::2]), columns=BAYES.classes_)
    turned, given = score[score.columns[::-1]], NAMES[1::2]
    expected = measure(given, score)["top"].calibration_error
    levels = pd.MultiIndex.from_product([["model"], turned.columns])
    for frame in (turned.add_prefix("P("), turned.add_suffix("_prob"), turned.set_axis(levels, axis=1)):
        assert measure(given, frame)["top"].calibration_error == expected


@pytest.mark.parametrize("name", ["p_{}".format, "prob_{}".format, "{}_prob".format, "P({})".format])
@pytest.mark.parametrize(
    ("classes", "met"),
    [
        (["unknown", "no"], ["no"]),  # unk-no-wn contains the only label
        (["very good", "good", "bad"], ["good"]),
        ([10, 100, 1], [1, 10]),
        ([True, False], [False, True]),
        ([10, 1, 2], [1, 2]),
    ],
)
def test_a_label_inside_another_is_matched_to_its_own_column(name: Any, classes: Any, met: Any) -> None:
    score = np.eye(len(classes)) * 0.8 + 0.2 / len(classes)  # the label of each row has the largest score
    frame = pd.DataFrame(score, columns=[name(each) for each in classes])
    rows = [classes.index(each) for each in met]
    top = measure(met * 2, frame.iloc[rows * 2], view="top")["top"]
    assert top.positives == top.n == 2 * len(met)


def test_an_empty_label_has_a_column() -> None:
    frame = pd.DataFrame({"p_a": P, "p_": 1 - np.asarray(P)})
    found = measure(np.where(Y, "a", ""), frame)["binary"]
    assert found.brier == pytest.approx(measure(Y, P)["binary"].brier)


def test_generated_names_of_columns_go_by_position() -> None:
    score = np.random.default_rng(0).dirichlet(np.ones(5), 60)
    stars = [1, 2, 3, 4] * 15  # no 5: columns 0 to 4 or 1 to 5?
    for generated in (score, pd.DataFrame(score), pl.DataFrame(score)):
        with pytest.raises(InputError, match="y has whole numbers but no 0"):
            measure(stars, generated)


def test_truth_values_are_matched_as_names() -> None:
    expected = pytest.approx(measure(Y, P)["binary"].brier)
    score = np.c_[P, 1 - np.asarray(P)]
    for names in ([True, False], ["True", "False"], ["1", "0"], ["p_1.0", "p_0.0"]):
        assert measure(np.asarray(Y, bool), pd.DataFrame(score, columns=names))["binary"].brier == expected
    with pytest.raises(InputError, match="no column 'False': rename the columns"):
        measure(np.asarray(Y, bool), pd.DataFrame(score, columns=["yes", "no"]))


def test_other_names_of_columns_that_are_not_sorted_are_refused_unless_classes_are_given() -> None:
    truth = np.where(Y, "yes", "no")
    score = pd.DataFrame({"positive": P, "negative": 1 - np.asarray(P)})
    for call in (measure, lambda labels, frame: Platt().fit(frame, labels)):
        with pytest.raises(InputError, match="columns with names, but no column 'no': rename the columns"):
            call(truth, score)
    expected = pytest.approx(measure(Y, P)["binary"].brier)
    assert measure(truth, score[["negative", "positive"]])["binary"].brier == expected
    assert measure(truth, score, classes=["yes", "no"])["binary"].brier == expected


def test_columns_of_an_arrow_table_are_matched_to_labels_by_name() -> None:
    truth, score = np.where(Y, "yes", "no"), {"p_yes": P, "p_no": 1 - np.asarray(P)}
    for table in (pa.table(score), pa.RecordBatch.from_pydict(score)):
        assert measure(truth, table)["binary"].brier == pytest.approx(measure(Y, P)["binary"].brier)


def test_columns_of_other_names_are_in_order_without_case_and_by_the_numbers_in_them() -> None:
    truth, score = np.where(Y, "Yes", "no"), np.c_[P, 1 - np.asarray(P)]
    with pytest.raises(InputError, match="no column 'Yes'"):  # "Yes" sorts before "no" in the labels only
        measure(truth, pd.DataFrame(score[:, ::-1], columns=["prob_no", "prob_yes"]))
    many = np.random.default_rng(0).dirichlet(np.ones(12), 60)
    names = [f"class {number:02}" for number in range(12)] * 5
    found = measure(names, pl.DataFrame(many))["top"]  # column_0 to column_11
    assert found.brier == measure(names, many)["top"].brier


def test_probabilities_of_two_classes_have_the_views_of_more() -> None:
    found = measure(Y, ROWS, view=["top", "class:0"])
    assert list(found) == ["top", "class:0"]
    assert "binary" not in found
    assert found["top"].brier == pytest.approx(measure(Y, ROWS)["binary"].brier)
    right = (ROWS[:, 1] > 0.5) == Y
    assert found["top"].ece == pytest.approx(measure(right, ROWS.max(axis=1))["binary"].ece)
    assert list(measure(Y, ROWS)) == ["binary"]


@pytest.mark.parametrize("label", [int, float, str])
@pytest.mark.parametrize("column", [int, float, str, "p_{}".format])
def test_columns_are_matched_to_numbers_in_any_type_and_after_p(label: Any, column: Any) -> None:
    rng = np.random.default_rng(0)
    score, order = rng.dirichlet(np.full(12, 0.5), 400), rng.permutation(12)
    truth = (rng.random((400, 1)) > score.cumsum(1)).sum(1).clip(0, 11)
    turned = pd.DataFrame(score[:, order], columns=[column(each) for each in order])
    given = truth.astype(label)
    found, expected = (measure(*each, view=["top", "pooled"]) for each in ((given, turned), (truth, score)))
    assert [each.brier for each in found.views] == pytest.approx([each.brier for each in expected.views])
    assert np.array_equal(by_label(turned, given, [label(each) for each in range(12)]), score)


@pytest.mark.parametrize("names", [["no", "yes"], [False, True], [0, 1]])
def test_the_event_of_two_named_columns_is_the_last_in_sorted_order(names: list[Any]) -> None:
    truth = np.array(names)[np.asarray(Y, int)]
    score = pd.DataFrame({names[0]: 1 - np.asarray(P), names[1]: P})
    expected = measure(Y, P)["binary"].calibration_error
    assert measure(truth, score)["binary"].calibration_error == expected
    assert measure(truth, score.iloc[:, ::-1])["binary"].calibration_error == expected


def test_a_missing_label_among_objects_is_named() -> None:
    for kind in (object, "boolean"):
        truth = pd.Series(np.asarray(Y, bool)).astype(kind)
        truth[7] = None
        with pytest.raises(InputError, match=r"row 7: y\[7\] is missing: drop rows without a label"):
            measure(truth, P)


def test_more_classes_have_a_view_each_under_their_names() -> None:
    score = BAYES.predict_proba(WINE[1::2])
    alone = measure(NAMES[1::2], score)
    assert [each.view for each in alone.views] == ["top", "class:amber", "class:red", "class:white"]
    of_model = measure(BAYES, WINE[1::2], NAMES[1::2])
    assert of_model.to_dict() == alone.to_dict()
    turned = measure(NAMES[1::2], score[:, [1, 2, 0]], classes=["red", "white", "amber"])
    assert turned["class:red"].to_dict() == alone["class:red"].to_dict()
    assert measure(KIND, BAYES.predict_proba(WINE)).views[1].view == "class:0"


def test_a_classifier_of_two_classes_is_measured_for_the_second() -> None:
    model = GaussianNB().fit(WINE[::2], KIND[::2] > 0)
    found = measure(model, WINE[1::2], KIND[1::2] > 0)["binary"]
    assert found.to_dict() == measure(KIND[1::2] > 0, model.predict_proba(WINE[1::2]))["binary"].to_dict()


class OneColumn:
    """A classifier of three classes whose probabilities have one column."""

    classes_ = np.unique(NAMES)

    def predict_proba(self, X: Any) -> Any:
        return np.full((len(X), 1), 0.5)


@pytest.mark.parametrize(
    ("given", "options", "words"),
    [
        ((np.where(Y, "spam", "ham"), P), {}, r"name both .*, the event last: classes=\['ham', 'spam'\]"),
        ((NAMES, np.full(178, 0.5)), {}, "pass one column of probabilities per class"),
        ((P, Y), {}, "y has probabilities, and p has labels: pass the labels first"),
        ((P, np.where(Y, "yes", "no")), {}, r"y has probabilities, and p has names: .*: \(y, p\)"),
        ((ROWS, Y), {}, r"pass the labels first: \(y, p\)"),
        ((Y, np.full((300, 3), 0.5)), {}, r"^row 0: p\[0\] sums to 1.5"),
        ((Y, ROWS * 3), {}, r"^row \d+: p\[:, \d\]\[\d+\] is "),
        ((BAYES, NAMES, [f"wine {n}" for n in range(178)]), {}, r"pass the items before .*: \(model, X, y\)"),
        ((BAYES, NAMES, WINE), {}, r"pass the items before their labels: \(model, X, y\)"),
        ((Y[1:], P), {}, "y has 299 values and p has 300"),
        ((Y, np.where(P > 0.5, np.nan, P)), {}, r"p\[\d+\] is nan"),
        ((2 * Y - 1, P), {}, r"y\[\d+\] is -1, not 0 or 1"),
        ((NAMES, ROWS[:178]), {}, "y has 3 different labels .* there are 2 columns"),
        ((Y, ROWS * 0.4), {}, "sums to 0.4"),
        ((Y, np.zeros((300, 2, 2))), {}, "shape"),
        ((Y, P), {"clusters": [None] * 300}, r"clusters\[0\] is missing"),
        ((Y, P), {"columns": Columns(score="p")}, "columns are named"),
        ((Y, P, Y), {}, "three arguments are given"),
        ((pa.table({"score": P, "label": Y}),), {"clusters": GROUP}, "clusters is given without"),
        ((BAYES,), {}, "without the labels of its items"),
        ((BAYES, WINE), {}, "without the labels of its items"),
        ((BAYES, WINE, KIND), {}, "y has the class 0, which the classifier was not trained on"),
        ((OneColumn(), WINE, NAMES), {}, r"shape \(178, 1\), and it has 3 classes: pass a classifier with"),
        ((BAYES, WINE, NAMES), {"classes": ["a"]}, "leave classes out"),
        ((GaussianNB(), WINE, NAMES), {}, "is not fitted: it has no classes_: fit it to other items first"),
        ((LinearRegression(), WINE, NAMES), {}, "has no predict_proba: give a classifier"),
        ((["a", "b", "a"], np.full((3, 4), 0.25)), {}, r"2 different labels .* classes=\[...\], which"),
        ((LinearSVC(), WINE, NAMES), {}, r"has no predict_proba: wrap it: calibrant.Calibrated\(model\)"),
    ],
)
def test_bad_input_is_refused_in_one_line(given: Any, options: Any, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        measure(*given, **options)
    assert "\n" not in str(caught.value)


def test_whole_numbers_without_a_zero_need_the_names_of_the_columns() -> None:
    prob = np.array([[0.6, 0.3, 0.1], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]])
    with pytest.raises(
        InputError,
        match=r"whole numbers but no 0: they may be column numbers, which start at 0, or the classes 1",
    ):
        array_predictions([1, 2, 1], prob)
    first = array_predictions([1, 2, 1], prob, classes=[1, 2, 3])
    second = array_predictions([1, 2, 1], prob, classes=[0, 1, 2])
    assert (first.classes, second.classes) == (("1", "2", "3"), ("0", "1", "2"))
    assert first.read().label.tolist() == [0, 1, 0]
    assert second.read().label.tolist() == [1, 2, 1]


@pytest.mark.parametrize("labels", [[10, 20, 30], ["10", "20", "30"]])
def test_numbers_are_names_of_classes(labels: list[object]) -> None:
    prob = np.array([[0.6, 0.3, 0.1], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]])
    # Whole numbers that are no places of columns may be marks, such as 255, of rows that do not count.
    for classes in (None, ["10", "20", "30"]) if labels[0] == "10" else (["10", "20", "30"], [10, 20, 30]):
        found = array_predictions(labels, prob, classes=classes)
        assert found.classes == ("10", "20", "30")
        assert found.read().label.tolist() == [0, 1, 2]
    with pytest.raises(InputError, match=r"an unknown class: classes are 10, 20, 40"):
        array_predictions(labels, prob, classes=["10", "20", "40"])
