from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calibrant.events import RULES, candidates, default_lexicon
from calibrant.structures import read_documents
from calibrant.structures.documents import Document, Mention
from calibrant.structures.posterior import AntecedentPosterior, fit_antecedent_temperature
from calibrant_studies import _counts_checks as checks
from calibrant_studies import _counts_example as example
from calibrant_studies import _counts_models as models
from calibrant_studies import _counts_numbers as numbers
from calibrant_studies import _counts_simulated as simulated
from calibrant_studies import counts
from calibrant_studies._base import Study
from calibrant_studies._coreference_data import Texts
from calibrant_studies._counts_findings import find
from calibrant_studies._counts_models import Predicted
from calibrant_studies._counts_page import arrange

EXAMPLES = [pytest.param(one, id=one.name.replace(" ", "-")) for one in example.EXAMPLES]


def posterior(documents: int, mentions: int, seed: int, prefix: str = "d") -> AntecedentPosterior:
    rng = np.random.default_rng(seed)
    size = documents * mentions * (mentions + 1) // 2
    names = [f"{prefix}{number}" for number in range(documents)]
    return AntecedentPosterior(rng.normal(0, 2, size), [mentions] * documents, names=names)


def drawn(found: AntecedentPosterior, seed: int) -> list[Document]:
    """Documents whose gold entities are a sample of the posterior."""
    labels = found.sample(1, seed)[0]
    documents = []
    for number, name in enumerate(found.names):
        here = labels[found.mentions_of(number)]
        spans = [Mention(place, 0, 1) for place in range(len(here))]
        documents.append(Document(name, [["x"]] * len(here), spans, [str(each) for each in here]))
    return documents


def predicted(seed: int, prefix: str) -> Predicted:
    dev, test = posterior(30, 8, seed, f"{prefix}dev"), posterior(25, 8, seed + 1, prefix)
    return Predicted(drawn(dev, seed), drawn(test, seed), dev, test, 0.0)


@pytest.fixture(scope="module")
def measured() -> dict[str, list[dict[str, Any]]]:
    """All tables, of two small corpora whose gold entities are samples."""
    found = {}
    for seed, title in ((1, "LitBank"), (5, "GUM")):
        found[title] = numbers.counted(predicted(seed, title), {}, seed).counts
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checks, "REPLICATIONS", 3)
        patch.setattr(checks, "GROUPS", 100)
        tables = counts.measured(found, 1)
    return tables | example.tables() | simulated.tables(1, replications=3)


def test_the_figures_come_from_the_record_alone(record: dict[str, Any]) -> None:
    study = Study.from_dict(record)
    assert set(counts.figures(study)) == {"coverage", "ranks", "sums", "example"}


def test_the_examples_are_the_record_s(record: dict[str, Any]) -> None:
    for key, rows in example.tables().items():
        for row, there in zip(rows, record["tables"][key], strict=True):
            assert row == pytest.approx(there)


def test_gold_counts_of_litbank_are_the_record_s(data: Path, record: dict[str, Any]) -> None:
    total = dict.fromkeys(numbers.SHAPES, 0)
    for part in ("train", "dev", "test"):
        for document in read_documents(data / f"litbank-coref/litbank-coref.{part}.conll.gz"):
            for name, value in numbers.numbers(numbers.gold_labels(document)[None], None).items():
                total[name] += int(value[0])
    rows = record["tables"]["errors"]
    there = {row["count"]: row["gold"] for row in rows if (row["set"], row["when"]) == ("LitBank", "after")}
    assert total == there


@pytest.mark.parametrize("one", EXAMPLES)
def test_pairs_of_an_example_are_calibrated_and_its_counts_are_not(one: example.Example) -> None:
    """The answer to the paper's question: calibrated pairs do not make calibrated counts."""
    assert sum(one.truth.values()) == pytest.approx(1)
    assert one.posterior.pair_probabilities() == pytest.approx(one.true_pairs())
    assert np.abs(one.posterior.entity_count_distribution() - one.true_counts()).max() >= 0.2
    row = example.interval_rows(one)[2]
    assert row["documents"] == 100
    assert row["mass, stated"] >= 0.95
    assert row["mass, true"] < 0.9


def test_the_second_example_has_calibrated_starts_and_the_right_mean_too() -> None:
    one = example.EXAMPLES[1]
    assert one.posterior.new_probabilities() == pytest.approx(one.true_starts())
    row = example.interval_rows(one)[0]
    assert row["expected, stated"] == pytest.approx(row["expected, true"])
    assert row["sd, true"] > 1.4 * row["sd, stated"]


def test_sums_of_an_example_are_those_of_all_its_outcomes() -> None:
    one = example.EXAMPLES[0]
    row = example.interval_rows(one)[1]
    chance = one.true_counts()
    held = sum(
        np.prod(chance[list(each)])
        for each in product((1, 3), repeat=10)
        if row["low"] <= sum(each) <= row["high"]
    )
    assert row["mass, true"] == pytest.approx(held)


def test_shapes_are_counted_in_each_clustering() -> None:
    labels = np.array([[0, 0, 0, 3], [0, 1, 2, 3], [0, 0, 2, 2]])
    found = {name: values.tolist() for name, values in numbers.shapes(labels).items()}
    assert found == {"entities": [2, 4, 2], "singletons": [1, 4, 0], "largest entity": [3, 1, 2]}


def test_samples_have_the_exact_number_of_entities() -> None:
    one = numbers.counted(predicted(3, "x"), {}, 1).counts[0]
    assert (one.name, one.when) == ("entities", "before")
    exact = np.array([starts.sum() for starts in one.starts])
    assert one.samples.mean(axis=1) == pytest.approx(exact, abs=0.25)
    assert one.total is None


def test_a_document_without_trees_has_no_acting_countries() -> None:
    tree_less = drawn(posterior(1, 4, 1), 1)
    assert numbers.acting(tree_less, RULES["paper"]) == {}


def test_any_verb_makes_more_countries_act(data: Path) -> None:
    documents = read_documents(data / "ud-english-gum/en_gum-ud-test.conllu.gz")[:6]
    rules = numbers.any_verb(documents)
    assert set(rules.verbs) > {"have", "make"}
    assert rules.compounds
    lexicon = default_lexicon()
    found = [
        numbers.numbers(numbers.gold_labels(each)[None], candidates(each, lexicon, rules))[numbers.ACTING]
        for each in documents
    ]
    assert np.sum(found) > 0


def test_refits_of_the_temperature_lie_about_it() -> None:
    found = posterior(60, 8, 1)
    gold = [document.clusters or () for document in drawn(found.tempered(1.3), 2)]
    fitted = fit_antecedent_temperature(found, gold).temperature
    refits = numbers.refitted_temperatures(found, gold, 200, 1)
    assert np.median(refits) == pytest.approx(fitted, rel=0.03)
    assert 0.02 < refits.std() < 0.3
    alone = found.document("d3")
    once = numbers.refitted_temperatures(alone, gold[3:4], 2, 1)  # of one document all draws are alike
    assert once[0] == once[1]


def test_a_refit_to_all_documents_is_the_fitted_temperature() -> None:
    found = posterior(1, 40, 4)
    gold = [document.clusters or () for document in drawn(found.tempered(1.2), 3)]
    fitted = fit_antecedent_temperature(found, gold).temperature
    assert numbers.refitted_temperatures(found, gold, 1, 1)[0] == pytest.approx(fitted, rel=1e-3)


def test_exact_hits_and_those_of_samples_agree(measured: dict[str, list[dict[str, Any]]]) -> None:
    rows = [row for row in measured["hits"] if row["count"] == "entities" and row["when"] == "before"]
    assert {row["mass"] for row in rows} == {"samples", "exact"}
    exact = {(row["set"], row["level"]): row for row in rows if row["mass"] == "exact"}
    for row in rows:
        other = exact[row["set"], row["level"]]
        assert abs(row["hits"] - other["hits"]) <= 0.12 * row["n"]
        assert abs(row["stated"] - other["stated"]) <= 0.12 * row["n"]
        assert other["stated"] >= other["level"] * other["n"] - 1e-9


def test_where_gold_is_a_sample_nothing_is_rejected(measured: dict[str, list[dict[str, Any]]]) -> None:
    for row in measured["ranks"]:
        assert row["p_value"] > 0.001, row
    for row in measured["hits"]:
        assert row["p_value"] > 0.001, row
    for row in measured["errors"]:
        assert 0.6 < row["spread"] < 1.5


def test_where_gold_is_of_another_model_it_is_rejected() -> None:
    one = numbers.counted(predicted(1, "x"), {}, 1).counts[0]
    shifted = replace(one, gold=one.gold + 2)
    rows = checks.check_rows({"set": "x"}, [shifted], 1)
    assert rows["ranks"][0]["p_value"] < 1e-4
    assert rows["errors"][0]["error, low"] > 0
    sums = checks.sum_rows({}, shifted, 1)
    assert sums[-1]["narrow"] == 0
    assert sums[-1]["error in sds"] > sums[0]["error in sds"]


def test_total_intervals_are_wider_than_narrow_ones(measured: dict[str, list[dict[str, Any]]]) -> None:
    rows = [row for row in measured["intervals"] if row["when"] == "after" and row["count"] == "entities"]
    for row in rows:
        assert row["total, high"] - row["total, low"] >= row["narrow, high"] - row["narrow, low"]
        assert row["widened, high"] - row["widened, low"] >= 0.98 * (row["narrow, high"] - row["narrow, low"])


def test_tests_have_their_size_where_the_posterior_is_known() -> None:
    rows = simulated.tables(3, replications=20, flatter=(1.0,))
    for row in rows["simulated"]:
        assert row["rejected"] <= 0.25, row
    for row in rows["simulated-sums"]:
        assert row["held"] >= 0.75, row


def test_findings_page_and_figures_are_made_of_the_tables(
    measured: dict[str, list[dict[str, Any]]],
) -> None:
    findings = tuple(find(measured))
    names = [finding.name for finding in findings]
    assert len(names) == len(set(names))
    assert {"example/wrong-mean", "LitBank/after/coverage", "GUM/entities/all"} <= set(names)
    tables = measured | arrange(measured)
    study = Study(
        name="counts",
        title="t",
        command="c",
        seed=1,
        wall_seconds=0.0,
        data={},
        parameters={},
        findings=findings,
        tables=tables,
    )
    assert all(figure.axes for figure in counts.figures(study).values())


def test_what_models_say_is_stored_and_taken_from_there(tmp_path: Path) -> None:
    one = predicted(1, "x")
    split = {"train": [], "dev": list(one.dev_documents), "test": list(one.test_documents)}
    texts = Texts("litbank", "gold", "none", "surface", split, split)
    windowed = AntecedentPosterior(
        one.test.log_probabilities, one.test.mention_counts, window=150, names=one.test.names
    )
    dev = AntecedentPosterior(
        one.dev.log_probabilities, one.dev.mention_counts, window=150, names=one.dev.names
    )
    models._save(tmp_path / "litbank-0.npz", dev, windowed, 7.0)
    (again,) = models.predictions([texts], tmp_path)
    assert again.seconds_saved == 7
    assert again.test.log_probabilities == pytest.approx(windowed.log_probabilities)
    assert again.test.names == windowed.names


def test_every_document_of_gum_is_tested_once(tmp_path: Path) -> None:
    documents = [Document(f"GUM_{number:02}", [["x"]], [], []) for number in range(25)]
    split = {"train": documents[:20], "dev": documents[20:23], "test": documents[23:]}
    splits = models.splits_of(Texts("gum", "gold", "gold", "syntax", split, split), tmp_path)
    tested = [each.name for one in splits for each in one.split["test"]]
    assert sorted(tested) == [each.name for each in documents]
    for one in splits:
        names = [each.name for part in one.split.values() for each in part]
        assert len(set(names)) == len(names) == 25
