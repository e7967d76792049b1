"""A whole evaluation: every step says what `calibrant.evaluation` says, and bad input is named."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import f1_score, precision_score, recall_score

from calibrant.data import example, predictions
from calibrant.evaluation import (
    Protocol,
    Ratings,
    agreement,
    classification_scores,
    compare_systems,
    f_of,
    f_sums,
    minimum_detectable_difference,
    paired_permutation,
    protocol,
    risk_coverage,
    write_example,
)
from calibrant.exceptions import InputError
from calibrant.verbs import measure
from tests.quantities import defined, limits

Write = Callable[..., Path]
TASK = '[task]\nlabels = ["keep", "drop"]\n'
SYSTEM = '[[systems]]\nname = "one"\nfile = "one.csv"\n'


@pytest.fixture(scope="module")
def summaries() -> Protocol:
    """The shipped evaluation."""
    return protocol(example("summaries"))


@pytest.fixture
def evaluation(tmp_path: Path) -> Write:
    """Write a small evaluation: eight items of two documents, two annotators, and what a test changes."""

    def write(text: str | None = None, **files: str) -> Path:
        kept = {"ann": "11100000", "bob": "11010000"}
        rows = [
            f"{item},{name},{'keep' if labels[item] == '1' else 'drop'},{'xy'[item // 4]}"
            for name, labels in kept.items()
            for item in range(8)
        ]
        tables = {"annotations": "\n".join(["item,annotator,label,document", *rows])}
        for name, labels in (("one", "11100000"), ("two", "10100001")):
            rows = [f"{item},{'keep' if label == '1' else 'drop'}" for item, label in enumerate(labels)]
            tables[name] = "\n".join(["item,label", *rows])
        for name, content in (tables | files).items():
            (tmp_path / f"{name}.csv").write_text(content + "\n", encoding="utf-8")
        usual = f'{TASK}[annotators]\nfile = "annotations.csv"\n[reference]\nties = "drop"\n{SYSTEM}'
        usual += SYSTEM.replace("one", "two") + "[evaluation]\nsamples = 200\n"
        path = tmp_path / "eval.toml"
        path.write_text(usual if text is None else text, encoding="utf-8")
        return path

    return write


def rows(name: str) -> list[dict[str, str]]:
    with (example("summaries").parent / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def kept(name: str) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.array([row["label"] == "keep" for row in rows(name)])


def documents() -> list[int]:
    names = [row["document"] for row in rows("sentences.csv")]
    order = list(dict.fromkeys(names))
    return [order.index(name) for name in names]


def test_the_reference_is_what_both_say_or_else_the_adjudicator(summaries: Protocol) -> None:
    by_item: dict[str, set[str]] = {}
    for row in rows("annotations.csv"):
        by_item.setdefault(row["item"], set()).add(row["label"])
    tied = [item for item, labels in by_item.items() if len(labels) > 1]
    assert sorted(tied) == sorted(row["item"] for row in rows("adjudicated.csv"))
    found = summaries.reference
    assert (found.tied, found.adjudicated, found.left_out) == (len(tied), len(tied), 0)
    assert found.by_label["keep"] == int(gold().sum())
    assert (found.over_budget, found.annotators_over_budget) == (0, {"first pass": 0, "second pass": 0})


def gold() -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """The reference by another way: kept by the first pass, unless the adjudicator was asked."""
    asked = {row["item"]: row["label"] for row in rows("adjudicated.csv")}
    first = [row for row in rows("annotations.csv") if row["annotator"] == "first pass"]
    return np.array([asked.get(row["item"], row["label"]) == "keep" for row in first])


def test_agreement_is_that_of_the_library(summaries: Protocol) -> None:
    table = rows("annotations.csv")
    columns = [[row[name] for row in table] for name in ("item", "annotator", "label")]
    ratings = Ratings.from_table(*columns, order=["keep", "not keep"])
    assert summaries.agreement == agreement(ratings, clusters=documents())


def test_scores_are_those_of_the_library_and_of_scikit_learn(summaries: Protocol) -> None:
    system = kept("first-sentences.csv")
    names = np.array(["not keep", "keep"])
    direct = classification_scores(
        names[gold().astype(int)],
        names[system.astype(int)],
        labels=["keep", "not keep"],
        clusters=documents(),
    )
    assert summaries.systems[0].scores == direct
    value = summaries.systems[0].values["f1:keep"]
    assert value.estimate == pytest.approx(f1_score(gold(), system))
    assert None not in (value.low, value.high)
    assert (value.low or 1) < f1_score(gold(), system) < (value.high or 0)


def test_probabilities_keep_the_best_three_of_each_document(summaries: Protocol) -> None:
    score = np.array([float(row["probability"]) for row in rows("logistic.csv")])
    label = np.zeros(len(score), bool)
    for document in dict.fromkeys(documents()):
        own = np.flatnonzero(np.array(documents()) == document)
        label[own[np.argsort(-score[own], kind="stable")[:3]]] = True
    found = summaries.systems[2]
    assert found.values["accuracy"].estimate == pytest.approx(np.mean(label == gold()))
    assert found.over_budget == 0
    sure = np.where(label, score, 1 - score)
    assert found.selective == risk_coverage(label == gold(), sure, clusters=documents())


def test_what_an_evaluation_lacks_has_a_reason(summaries: Protocol) -> None:
    labels, probabilities = summaries.systems[0], summaries.systems[2]
    assert (labels.decision, labels.selective) == (None, None)
    assert labels.reason == "the system gives labels instead of probabilities"
    assert probabilities.reason is None
    reasons = {each.metric: {pair.mcnemar_reason for pair in each.pairs} for each in summaries.comparisons}
    assert reasons["f1:keep"] == {"the test is for accuracy"}
    assert reasons["accuracy"] == {"items of a document depend on each other"}


def test_calibration_is_that_of_measure(summaries: Protocol) -> None:
    import pyarrow as pa

    score = [float(row["probability"]) for row in rows("logistic.csv")]
    table = pa.table({"score": score, "label": gold().astype(int), "cluster": documents()})
    direct = measure(table, bin_size=12)["binary"]
    found = defined(summaries.calibration).models[0].measured.views[0]
    assert (found.interval.low, found.interval.high) == pytest.approx(
        (direct.interval.low, direct.interval.high)
    )
    assert found.brier == pytest.approx(direct.brier)


def test_pairs_are_tested_as_the_library_does_and_adjusted_together(summaries: Protocol) -> None:
    one, other = (f_sums(gold(), kept(name)) for name in ("first-sentences.csv", "centroid.csv"))
    direct = paired_permutation(one, other, statistic=f_of, clusters=documents())
    pairs = summaries.comparisons[0].pairs
    assert pairs[0].permutation == direct
    p_values = sorted(pair.permutation.p_value or 0 for pair in pairs)
    assert min(pair.holm_p_value or 0 for pair in pairs) == pytest.approx(min(1, 3 * p_values[0]))


def test_folds_are_compared_by_the_corrected_test(summaries: Protocol) -> None:
    fold = np.array([int(row["fold"]) for row in rows("folds.csv")])
    systems = [kept("first-sentences.csv"), kept("centroid.csv")]
    scores = [
        [f1_score(gold()[fold == each], system[fold == each]) for each in range(1, 5)] for system in systems
    ]
    direct = compare_systems(["a", "b"], scores, unit="fold", test_train_ratio=1 / 3).pairs[0]
    assert summaries.folds is not None
    assert summaries.folds.pairs[0].difference == direct.difference
    assert summaries.folds.pairs[0].plain == direct.plain
    assert summaries.fold_metric == "f1:keep"


def test_on_independent_items_accuracy_is_detectable_as_a_t_test_has_it() -> None:
    found = protocol(example("sentiment"))
    pair = found.comparisons[0].pairs[0]
    right = []
    for name in ("naive-bayes", "logistic-regression"):
        measured = measure(predictions("dated", name))["binary"]
        own = next(m for m in defined(found.calibration).models if m.name.lower().replace(" ", "-") == name)
        assert own.measured["binary"].interval == measured.interval
        import pyarrow.parquet as pq

        table = pq.read_table(predictions("dated", name))
        right.append((table["score"].to_numpy() > 0.5) == (table["label"].to_numpy() == 1))
    gap = right[0].astype(float) - right[1]
    direct = minimum_detectable_difference(gap.std(ddof=1), len(gap), difference=float(gap.mean()))
    assert defined(pair.detectable).detectable == pytest.approx(direct.detectable)
    assert pair.mcnemar_reason is None
    assert defined(pair.mcnemar).first_only == int(np.sum(gap > 0))
    assert found.agreement is None
    assert found.agreement_reason == "the file names no annotators"


def test_systems_are_compared_by_the_metrics_of_their_scores(evaluation: Write) -> None:
    rng = np.random.default_rng(20261121)
    names = np.array(["a", "b", "c"])
    true, *systems = (names[rng.integers(0, 3, 200)] for _ in range(3))
    metrics = ["f1_macro", "precision_macro", "recall_macro", "accuracy", "f1:b", "recall:c"]
    text = (
        f'[task]\nlabels = ["a", "b", "c", "never"]\n[annotators]\nfile = "annotations.csv"\n'
        f'[reference]\nrule = "annotator"\nannotator = "ann"\n'
        f"{SYSTEM}{SYSTEM.replace('one', 'two')}"
        f"[evaluation]\nsamples = 200\nmetrics = {json.dumps(metrics)}\n"
    )
    rows = [f"{item},ann,{label}" for item, label in enumerate(true)]
    files = {"annotations": "\n".join(["item,annotator,label", *rows])}
    for name, pred in zip(("one", "two"), systems, strict=True):
        files[name] = "\n".join(["item,label", *(f"{item},{label}" for item, label in enumerate(pred))])
    found = protocol(evaluation(text, **files))
    peers = {"f1_macro": f1_score, "precision_macro": precision_score, "recall_macro": recall_score}
    assert [each.metric for each in found.comparisons] == metrics
    for each in found.comparisons:
        kind, _, label = each.metric.partition(":")
        values = []
        for system, pred in zip(found.systems, systems, strict=True):
            scores = classification_scores(true, pred, labels=["a", "b", "c", "never"])
            values.append(getattr(scores[label] if label else scores, kind).estimate)
            assert system.values[each.metric].estimate == pytest.approx(values[-1])
            if each.metric in peers:
                assert values[-1] == pytest.approx(peers[each.metric](true, pred, average="macro"))
        (pair,) = each.pairs
        assert pair.difference.estimate == pytest.approx(values[0] - values[1], abs=1e-12)


def test_every_number_is_in_the_json(summaries: Protocol) -> None:
    record = json.loads(summaries.to_json())
    assert record["systems"][2]["values"]["f1:keep"]["estimate"] == pytest.approx(25 / 36)
    assert record["comparisons"][0]["pairs"][0]["detectable"]["needed"] > 100
    assert [each["about"] for each in record["findings"]][-1] == "scope"


def test_ties_are_left_out_unless_somebody_settles_them(evaluation: Write) -> None:
    found = protocol(evaluation()).reference
    assert (found.items, found.tied, found.by_ties, found.left_out) == (8, 2, 2, 0)
    text = evaluation().read_text(encoding="utf-8").replace('ties = "drop"\n', "")
    found = protocol(evaluation(text)).reference
    assert (found.items, found.tied, found.by_ties, found.left_out) == (6, 2, 0, 2)
    text = text.replace("[reference]\n", '[reference]\nrule = "annotator"\nannotator = "bob"\n')
    assert protocol(evaluation(text)).reference.by_label == {"keep": 3, "drop": 5}


def test_one_annotator_gives_a_reference_and_no_agreement(evaluation: Write) -> None:
    lines = ["item,annotator,label", *(f"{item},ann,{'keep' if item < 3 else 'drop'}" for item in range(8))]
    found = protocol(evaluation(annotations="\n".join(lines)))
    assert found.agreement is None
    assert "one annotator" in (found.agreement_reason or "")
    assert found.reference.documents is None
    assert found.comparisons[0].unit == "item"
    assert not found.findings[0].concluded


def test_missing_labels_of_an_annotator_are_counted(evaluation: Write) -> None:
    lines = ["item,annotator,label", *(f"{item},ann,{'keep' if item < 3 else 'drop'}" for item in range(8))]
    lines += [f"{item},bob,{'keep' if item < 3 else 'drop'}" for item in range(6)] + ["6,bob,"]
    found = protocol(evaluation(annotations="\n".join(lines)))
    assert (defined(found.agreement).missing, found.reference.single) == (2, 2)
    assert found.notes[0].startswith("2 labels of annotators are missing")


def test_kappa_of_annotators_who_use_one_label_is_undefined(evaluation: Write) -> None:
    lines = ["item,annotator,label", *(f"{i},{name},drop" for i in range(8) for name in ("ann", "bob"))]
    found = protocol(evaluation(annotations="\n".join(lines)))
    assert found.agreement is not None
    assert found.agreement.cohen_kappa.estimate is None
    assert found.agreement.cohen_kappa.reason
    assert not found.findings[0].concluded


def test_a_system_equal_to_another_is_not_better(evaluation: Write) -> None:
    same = "item,label\n" + "\n".join(f"{i},{'keep' if i < 3 else 'drop'}" for i in range(8))
    pair = protocol(evaluation(one=same, two=same)).comparisons[0].pairs[0]
    assert (pair.difference.estimate, pair.better, pair.holm_p_value) == (0.0, None, 1.0)
    assert pair.difference.reason == "the systems do not differ on any unit"


def test_no_system_is_better_if_the_interval_contains_0(tmp_path: Path) -> None:
    # One system is right on one more item in 32 documents, and the other on three more in 4 documents.
    wrong = {"one": [0] * 32 + [3] * 4, "two": [1] * 32 + [0] * 4}
    for name, counts in {"gold": [0] * 36, **wrong}.items():
        lines = [
            f"{20 * document + item},{'drop' if item < count else 'keep'},{document}\n"
            for document, count in enumerate(counts)
            for item in range(20)
        ]
        (tmp_path / f"{name}.csv").write_text("item,label,document\n" + "".join(lines), encoding="utf-8")
    text = f'{TASK}[reference]\nrule = "adjudicated"\nfile = "gold.csv"\n{SYSTEM}'
    text += SYSTEM.replace("one", "two") + '[evaluation]\nmetrics = ["accuracy"]\n'
    (tmp_path / "eval.toml").write_text(text, encoding="utf-8")
    found = protocol(tmp_path / "eval.toml")
    pair = found.comparisons[0].pairs[0]
    low, _, high = limits(pair.difference)
    assert pair.holm_p_value is not None
    assert (pair.holm_p_value < 0.05, low < 0 < high, pair.better) == (True, True, None)
    assert not any(finding.concluded for finding in found.findings)


def test_a_system_that_keeps_nothing_has_no_precision(evaluation: Write) -> None:
    nothing = "item,label\n" + "\n".join(f"{item},drop" for item in range(8))
    text = evaluation().read_text(encoding="utf-8") + 'metrics = ["precision:keep", "accuracy"]\n'
    found = protocol(evaluation(text, one=nothing))
    assert found.systems[0].values["precision:keep"].estimate is None
    assert found.comparisons[0].pairs[0].difference.estimate is None
    assert "cannot be compared" in found.findings[1].text


def test_a_budget_that_is_exceeded_is_said(evaluation: Write) -> None:
    text = evaluation().read_text(encoding="utf-8").replace("[annotators]", "budget = 1\n[annotators]")
    found = protocol(evaluation(text))
    assert [system.over_budget for system in found.systems] == [1, 1]
    assert found.reference.annotators_over_budget == {"ann": 1, "bob": 1}
    assert any("one gives keep more than 1 times in 1 documents" in each.text for each in found.findings)


CHANCES = (0.6, 0.5, 0.9, 0.8, 0.7, 0.6, 0.1, 0.2)
PROBABILITIES = "\n".join(["item,probability", *(f"{item},{chance}" for item, chance in enumerate(CHANCES))])


@pytest.mark.parametrize(("decision", "kept"), [("top", (2, 1)), ("expected-f", (6, 4))])
def test_items_without_a_reference_label_are_decided_with_the_others_of_their_document(
    evaluation: Write, decision: str, kept: tuple[int, int]
) -> None:
    text = evaluation().read_text(encoding="utf-8").replace("[annotators]", "budget = 1\n[annotators]")
    text = text.replace('file = "one.csv"\n', f'file = "one.csv"\ndecision = "{decision}"\n')
    # The annotators disagree on items 2 and 3, which are the most probable of their document.
    for content, number in zip((text, text.replace('ties = "drop"', "")), kept, strict=True):
        system = protocol(evaluation(content, one=PROBABILITIES)).systems[0]
        assert system.scores["keep"].predicted == number
        assert system.over_budget == (0 if decision == "top" else 2)


def test_the_budget_of_a_system_of_labels_includes_items_without_a_reference_label(evaluation: Write) -> None:
    text = evaluation().read_text(encoding="utf-8").replace("[annotators]", "budget = 2\n[annotators]")
    assert protocol(evaluation(text)).systems[0].over_budget == 1
    assert protocol(evaluation(text.replace('ties = "drop"', ""))).systems[0].over_budget == 1


def test_items_of_unknown_documents_that_a_decision_ignores_are_counted(evaluation: Write) -> None:
    gold = "\n".join(["item,label,document", *(f"{item},keep,x" for item in range(6))])
    text = TASK + f'budget = 1\n[reference]\nfile = "gold.csv"\n{SYSTEM}'
    found = protocol(evaluation(text, gold=gold, one=PROBABILITIES))
    assert "one decides by document without 2 items of unknown documents." in found.notes


def test_a_document_without_any_reference_label_is_known_and_has_a_budget(evaluation: Write) -> None:
    rows = [
        f"{item},{name},{'keep' if item < 2 or name == 'ann' else 'drop'},{'xy'[item // 4]}"
        for name in ("ann", "bob")
        for item in range(8)
    ]
    text = evaluation().read_text(encoding="utf-8").replace('ties = "drop"', "")
    text = text.replace("[annotators]", "budget = 1\n[annotators]")
    found = protocol(
        evaluation(
            text,
            annotations="\n".join(["item,annotator,label,document", *rows]),
            one=PROBABILITIES,
            two="\n".join(["item,label", *(f"{item},{'keep' if item > 4 else 'drop'}" for item in range(8))]),
        )
    )
    assert (found.reference.items, found.reference.documents) == (2, 1)
    assert [system.over_budget for system in found.systems] == [0, 1]
    assert not any("unknown documents" in note for note in found.notes)


def test_a_reference_of_one_item_has_no_most_confident_half(evaluation: Write) -> None:
    text = f'{TASK}[reference]\nfile = "gold.csv"\n{SYSTEM}'
    found = protocol(evaluation(text, gold="item,label\n0,keep", one=PROBABILITIES))
    assert "selective" not in [each.about for each in found.findings]


@pytest.mark.parametrize("setting", ['decision = "expected-f"', "decision = 'threshold'\nthreshold = 0.9"])
def test_a_decision_for_a_system_of_labels_is_an_error(evaluation: Write, setting: str) -> None:
    text = evaluation().read_text(encoding="utf-8")
    text = text.replace('file = "one.csv"\n', f'file = "one.csv"\n{setting}\n')
    with pytest.raises(
        InputError, match=r"one gives labels, so there is nothing to decide: leave out decision"
    ):
        protocol(evaluation(text))


def test_an_item_has_one_document_in_all_files(evaluation: Write) -> None:
    text = evaluation().read_text(encoding="utf-8").replace("ties =", 'file = "gold.csv"\nties =')
    assert protocol(evaluation(text, gold="item,label,document\n2,keep,x")).reference.documents == 2
    with pytest.raises(InputError, match=r"item 2 is in document 'z', and for the annotators in 'x'"):
        protocol(evaluation(text, gold="item,label,document\n2,keep,z"))


@pytest.mark.parametrize(
    ("alternative", "asked"),
    [
        ("two-sided", "a difference between one and two"),
        ("greater", "that one is better than two"),
        ("less", "that two is better than one"),
    ],
)
def test_a_conclusion_states_only_the_direction_that_the_test_asks_about(
    evaluation: Write, alternative: str, asked: str
) -> None:
    text = evaluation().read_text(encoding="utf-8") + f'alternative = "{alternative}"\n'
    assert f"The data do not show {asked}: " in protocol(evaluation(text)).findings[1].text


def test_scores_of_repeated_folds_are_compared_as_they_are(evaluation: Write) -> None:
    first = [67, 63, 68, 65, 69, 61, 64, 67, 68, 65]
    second = [65, 66, 67, 68, 61, 62, 63, 66, 69, 60]
    lines = ["system,repeat,fold,score"]
    lines += [
        f"{name},{place // 5},{place % 5},{score}"
        for name, scores in (("one", first), ("two", second))
        for place, score in enumerate(scores)
    ]
    text = evaluation().read_text(encoding="utf-8") + 'alternative = "greater"\n[folds]\nfile = "folds.csv"\n'
    found = protocol(evaluation(text, folds="\n".join(lines)))
    test = defined(found.folds).pairs[0]
    assert (round(defined(test.plain).t or 0, 3), round(test.t or 0, 4)) == (0.921, 0.4925)
    unequal = protocol(evaluation(text, folds="\n".join(line for line in lines if ",1,4," not in line))).folds
    assert unequal is not None
    assert unequal.pairs[0].plain is None
    assert "different numbers of folds" in (unequal.folds_warning or "")


BAD = [
    pytest.param(
        {"one": "item,label\n0,keep\n1,kept"}, "one.csv, row 2, column label: label 'kept'", id="label"
    ),
    pytest.param(
        {"one": "item,label\n0,keep\n1,keep"},
        "one has no output for 6 of the reference's 8 items, such as 2",
        id="items",
    ),
    pytest.param(
        {"one": "item,label\n0,keep\n0,keep"},
        "one.csv, row 2, column item: item '0' is also in row 1",
        id="twice",
    ),
    pytest.param({"one": "item,label"}, "one.csv: there are no rows", id="empty"),
    pytest.param({"one": "item,answer\n0,keep"}, "there is no column 'label'", id="column"),
    pytest.param({"one": "item,probability\n0,1.5"}, "one.csv, row 1, column probability", id="score"),
    pytest.param({"one": "item,p_keep,p_drop\n0,0.5,0.6"}, "add up to 1.1", id="sum"),
    pytest.param({"one": "item,p_keep\n0,0.5"}, "one.csv: there is no column 'p_drop'", id="one-of-two"),
    pytest.param({"annotations": "item,annotator,label\n0,ann,kept"}, "row 1: label 'kept'", id="annotator"),
    pytest.param(
        {"annotations": "item,annotator,label,document\n0,ann,keep,x\n0,bob,keep,y"},
        "in two documents",
        id="document",
    ),
]


@pytest.mark.parametrize(("files", "said"), BAD)
def test_what_is_wrong_in_a_table_is_named(evaluation: Write, files: dict[str, str], said: str) -> None:
    with pytest.raises(InputError) as caught:
        protocol(evaluation(**files))
    assert said in str(caught.value)


FOLDS = '[folds]\nfile = "folds.csv"\n'


@pytest.mark.parametrize(
    ("folds", "said"),
    [
        ([f"{item},1" for item in range(8)], "folds.csv: there is one fold: write two or more"),
        ([f"{item},{item % 2}" for item in range(7)], "item 7 has no fold (1 of 8 items of the reference)"),
    ],
)
def test_folds_that_cannot_be_compared_are_named(evaluation: Write, folds: list[str], said: str) -> None:
    text = evaluation().read_text(encoding="utf-8") + FOLDS
    with pytest.raises(InputError) as caught:
        protocol(evaluation(text, folds="\n".join(["item,fold", *folds])))
    assert said in str(caught.value)


def test_scores_of_folds_are_those_of_the_systems(evaluation: Write) -> None:
    text = evaluation().read_text(encoding="utf-8") + FOLDS
    lines = [f"{name},{fold},0.{fold + 5}" for name in ("one", "other") for fold in range(3)]
    with pytest.raises(
        InputError, match=r"system 'other' is only in the table of folds, or only in .*: use the same names"
    ):
        protocol(evaluation(text, folds="\n".join(["system,fold,score", *lines])))


def test_a_reference_needs_a_known_annotator_and_an_item(evaluation: Write) -> None:
    text = evaluation().read_text(encoding="utf-8")
    named = text.replace('ties = "drop"', 'rule = "annotator"\nannotator = "cyd"')
    with pytest.raises(InputError, match="there is no annotator 'cyd': the annotators are ann, bob"):
        protocol(evaluation(named))
    split = "item,annotator,label\n0,ann,keep\n0,bob,drop"
    with pytest.raises(InputError, match="no item gets a reference label: add an adjudicated file, or set"):
        protocol(evaluation(text.replace('ties = "drop"\n', ""), annotations=split))


def test_one_probability_is_not_enough_for_three_labels(evaluation: Write) -> None:
    text = evaluation().read_text(encoding="utf-8").replace('"drop"]', '"drop", "move"]')
    with pytest.raises(
        InputError, match=r"one column of probabilities .* is not enough for 3 labels: write one"
    ):
        protocol(evaluation(text, one="item,probability\n0,0.5"))


def test_scores_above_a_threshold_are_not_probabilities_of_all_labels(evaluation: Write) -> None:
    rows = [f"{item},{name},0.5,{label}" for item in range(8) for name, label in (("keep", 1), ("drop", 0))]
    one = "\n".join(["# calibrant threshold=0.1", "item,class,score,label", *rows])
    with pytest.raises(
        InputError, match=r"scores below 0.1 were dropped: write the table without a threshold"
    ):
        protocol(evaluation(one=one))


def test_a_budget_needs_documents(evaluation: Write) -> None:
    lines = ["item,annotator,label", *(f"{item},ann,keep" for item in range(8))]
    text = evaluation().read_text(encoding="utf-8").replace("[annotators]", "budget = 1\n[annotators]")
    with pytest.raises(InputError, match="a budget needs documents"):
        protocol(evaluation(text, annotations="\n".join(lines)))


def test_an_example_is_written_once_and_runs(tmp_path: Path) -> None:
    written = write_example("summaries", tmp_path / "new")
    assert len(written) == 8
    assert protocol(tmp_path / "new" / "eval.toml").reference.items == 125
    with pytest.raises(InputError, match="this folder or file exists"):
        write_example("summaries", tmp_path / "new")


def test_the_shipped_outputs_are_what_the_script_makes(tmp_path: Path) -> None:
    from calibrant_studies._summaries import write_outputs

    write_example("summaries", tmp_path / "new")
    before = {path.name: path.read_text(encoding="utf-8") for path in (tmp_path / "new").glob("*.csv")}
    write_outputs(tmp_path / "new")
    for name in ("first-sentences.csv", "centroid.csv", "folds.csv"):
        assert (tmp_path / "new" / name).read_text(encoding="utf-8") == before[name], name
    old, new = (
        [float(line.split(",")[1]) for line in text.split()[1:]]
        for text in (before["logistic.csv"], (tmp_path / "new" / "logistic.csv").read_text(encoding="utf-8"))
    )
    assert new == pytest.approx(old, abs=2e-3)


def test_conclusions_without_rows_have_a_sentence_and_comparisons_are_left_out(evaluation: Write) -> None:
    found = protocol(
        evaluation(f'{TASK}[annotators]\nfile = "annotations.csv"\n[reference]\nties = "drop"\n{SYSTEM}')
    )
    assert [table.name for table in found.to_tables()] == ["scores", "concluded", "open"]
    assert found.to_tables()[1].notes == ("There is no such conclusion.",)
    assert "There is one system, so nothing is compared." in [each.text for each in found.findings]


@pytest.mark.parametrize(("column", "values"), [("label", ("keep", "drop")), ("probability", ("0.9", "0.2"))])
def test_documents_that_only_a_system_names_are_noted(
    evaluation: Write, column: str, values: tuple[str, str]
) -> None:
    gold = "\n".join(["item,label", *(f"{item},{('keep', 'drop')[item % 2]}" for item in range(8))])
    rows = [f"{item},{values[item % 3 == 0]},{'xy'[item // 4]}" for item in range(8)]
    text = f'{TASK}[reference]\nrule = "adjudicated"\nfile = "gold.csv"\n{SYSTEM}'
    found = protocol(evaluation(text, gold=gold, one="\n".join([f"item,{column},document", *rows])))
    assert found.reference.documents is None
    assert found.notes == (
        "one names documents and the reference does not, so intervals ignore that items of a document depend "
        "on each other; add the documents to the reference.",
    )
