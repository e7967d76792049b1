from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calibrant.structures import coreference_scores
from calibrant.structures.documents import Document, Mention
from calibrant.structures.models.coreference import COREFERENCE_GROUPS, CoreferenceModel
from calibrant.structures.posterior import AntecedentPosterior
from calibrant_studies import _coreference_pairs as pairing
from calibrant_studies import _coreference_parts as parts
from calibrant_studies import _coreference_scores as scoring
from calibrant_studies import coreference
from calibrant_studies._base import Study
from calibrant_studies._coreference_data import FILES, Texts, clusters_of, detected, read, recall_rows
from calibrant_studies._coreference_findings import find
from calibrant_studies._coreference_models import BUNDLES, Setting, ablation_settings
from calibrant_studies._coreference_page import arrange

NAMES = ["Ann", "Bob", "she", "he", "it", "ship"]


def documents(count: int, mentions: int, seed: int) -> list[Document]:
    """Documents of one-word mentions; most women are one entity, most men another."""
    rng = np.random.default_rng(seed)
    found = []
    for number in range(count):
        words = [str(word) for word in rng.choice(NAMES, mentions)]
        entity = {"Ann": "a", "she": "a", "Bob": "b", "he": "b"}
        clusters = [entity.get(word, f"{place}") for place, word in enumerate(words)]
        for place in rng.choice(mentions, mentions // 4, replace=False):
            clusters[place] = f"{place}"  # some that no model can know
        sentences = [[word, "slept"] for word in words]
        spans = [Mention(place, 0, 1) for place in range(mentions)]
        genre = "letter" if number % 2 else "novel"
        found.append(Document(f"d{seed}-{number}", sentences, spans, clusters, genre=genre))
    return found


def texts(mentions: int = 12) -> Texts:
    split = {part: documents(8, mentions, seed) for seed, part in enumerate(("train", "dev", "test"))}
    return Texts("litbank", "gold", "none", "surface", split, split)


def posterior(count: int, mentions: int, seed: int) -> AntecedentPosterior:
    rng = np.random.default_rng(seed)
    size = count * mentions * (mentions + 1) // 2
    return AntecedentPosterior(rng.normal(0, 2, size), [mentions] * count)


def test_the_figures_come_from_the_record_alone(record: dict[str, Any]) -> None:
    study = Study.from_dict(record)
    assert set(coreference.figures(study)) == {"curves", "costs", "distance", "ablation"}


def test_f1_of_the_rules_on_litbank_is_the_record_s(data: Path, record: dict[str, Any]) -> None:
    litbank = read(data, "litbank")
    test = litbank.split["test"]
    labels = {"rules": scoring.rule_labels(test, trees=False)}
    rows = parts.f1_of(litbank.name, test, test, labels, coreference.SEED)
    kept = [row for row in record["tables"]["f1"] if row["set"] == "LitBank" and row["trees"] == "none"]
    for row in rows:
        wanted = [row["singletons"], "rules"]
        there = next(each for each in kept if [each["singletons"], each["model"]] == wanted)
        assert row["CoNLL F1"] == pytest.approx(there["CoNLL F1"], abs=1e-9)
        assert row["low"] == pytest.approx(there["low"], abs=1e-9)


def test_recall_with_gold_trees_is_the_record_s(data: Path, record: dict[str, Any]) -> None:
    from calibrant.structures.files.coreference import read_documents

    test = list(read_documents(data / FILES["gum"].format("test")))
    split = {"train": test[:1], "dev": test[:1], "test": test}
    row = recall_rows(detected(Texts("gum", "gold", "gold", "syntax", split, split)))[-1]
    assert row in record["tables"]["recall"]


def test_scores_are_those_of_the_library() -> None:
    gold = documents(6, 10, 5)
    labels = scoring.rule_labels(gold, trees=False)
    for singletons in (True, False):
        table = scoring.counted(gold, gold, labels, singletons=singletons)
        row = scoring.f1_row({}, "rules", table, None, 1)
        spans = [document.mentions or () for document in gold]
        scores = coreference_scores(spans, clusters_of(gold), None, labels, singletons=singletons, seed=1)
        assert scores.conll_f1.estimate is not None
        assert row["CoNLL F1"] == pytest.approx(100 * scores.conll_f1.estimate)
        assert row["low"] == pytest.approx(100 * (scores.conll_f1.low or 0), abs=2)  # other draws
        same = scoring.f1_row({}, "rules", table, table, 1)
        assert [same[key] for key in ("above the rules", "above, low", "above, high")] == [0, 0, 0]


def test_listed_pairs_are_those_of_the_matrices() -> None:
    found = posterior(3, 5, 1)
    spans = [Mention(number, 0, 1) for number in range(5)]
    gold = [Document(str(number), [["x"]] * 5, spans, list("aabbc")) for number in range(3)]
    gold[1] = Document("1", gold[1].sentences, gold[1].mentions, ["a", None, "a", None, "b"])
    listed = pairing.listed(found, gold)
    assert [int((listed.document == number).sum()) for number in range(3)] == [10, 3, 10]
    for number, one, other, score, label in zip(
        listed.document, listed.first, listed.second, listed.score, listed.label, strict=True
    ):
        assert score == pytest.approx(found.pair_probabilities(int(number))[one, other])
        clusters = gold[number].clusters or ()
        assert label == (clusters[one] == clusters[other])
    every = pairing.listed(found, gold, spurious=True)
    assert len(every.score) == 30
    assert every.label.sum() == listed.label.sum()
    both = pairing.together([listed, every])
    assert both.count == 6
    assert set(both.document.tolist()) == set(range(6))
    assert len(both.pairs()) == 53


def test_every_pair_has_one_distance_and_one_pair_of_types() -> None:
    gold = documents(4, 30, 2)
    listed = pairing.listed(posterior(4, 30, 2), gold)
    for masks in pairing.strata(listed, gold, trees=False).values():
        assert (np.sum(list(masks.values()), axis=0) == 1).all()


def test_noise_of_samples_is_as_predicted() -> None:
    gold = documents(6, 20, 3)
    found = posterior(6, 20, 3)
    exact = pairing.listed(found, gold)
    for samples in (100, 1_000):
        sampled = pairing.listed(found, gold, samples=samples, seed=1)
        row = pairing.sampled_row(exact, sampled, samples)
        assert row["noise variance, seen"] == pytest.approx(row["noise variance, predicted"], rel=0.25)
    assert pairing.noise_error(exact, exact) == 0


def test_rates_of_the_rules_are_counted_shares() -> None:
    gold = documents(10, 20, 4)
    listed = pairing.listed(posterior(10, 20, 4), gold)
    labels = scoring.rule_labels(gold, trees=False)
    rates = pairing.RuleRates.learn(listed, labels)
    scores = rates.scores(listed, labels)
    assert scores.sum() == pytest.approx(listed.label.sum(), rel=0.02)
    row = pairing.skill_columns(listed, scores, seed=1)
    assert row["Brier skill to rules"] < row["Brier skill"]
    assert row["Brier skill, low"] <= row["Brier skill"] <= row["Brier skill, high"]
    own = pairing.skill_columns(listed, listed.score, seed=1)
    assert own["Brier skill to rules"] == own["log skill to rules"] == 0


def test_parts_fill_their_tables() -> None:
    tables = parts.main(texts(), seed=1)
    models = {"rules", "best antecedents", "probable entities", "best clustering"}
    assert {row["model"] for row in tables["f1"]} == models
    assert len(tables["chosen"]) == 3
    assert {row["scores"] for row in tables["samples"]} == {"exact", "1,000 samples", "100 samples"}
    for key, rows in parts.costs(texts(), seed=1).items():
        tables.setdefault(key, []).extend(rows)
    names = [finding.name for finding in find(tables)]
    assert len(names) == len(set(names))
    assert "LitBank/f1/all/above" in names
    assert {"page-f1", "page-costs", "literature"} <= set(arrange(tables))


def test_parts_are_taken_from_where_they_are_stored(tmp_path: Path) -> None:
    row = {"set": "LitBank", "trees": "none", "split": "test", "gold": 1, "detected": 1, "recall": 1.0}
    part = {
        "settings": {"seed": coreference.SEED},
        "seconds": 5.0,
        "tables": {"recall": [{**row, "precision": 1.0}]},
    }
    (tmp_path / "detected-gum.json").write_text(json.dumps(part), encoding="utf-8")
    for corpus in FILES:
        for split in ("train", "dev", "test"):
            file = tmp_path / FILES[corpus].format(split)
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(b"")
    (tmp_path / "litbank-coref/folds.tsv").write_bytes(b"")
    found = coreference.coreference(tmp_path, names=["detected-gum", "parsed-gum"], store=tmp_path)
    assert found.wall_seconds == 5
    assert found.parameters["parts"] == "detected-gum"
    assert found.findings[0].value == 1


def test_every_group_of_features_is_ablated_once() -> None:
    bundled = [group for groups in BUNDLES.values() for group in groups]
    assert sorted(bundled) == sorted(COREFERENCE_GROUPS)
    surface = ablation_settings(Setting("surface", 1e-5))
    assert len(surface) == 1 + len(BUNDLES) - 3  # relations, arcs and parallel roles need trees
    for setting in surface.values():
        CoreferenceModel(features="surface", without=setting.without)


@pytest.mark.slow
def test_on_novels_it_beats_the_rules_by_far(data: Path) -> None:
    from calibrant.structures.entity_scores import coreference_scores
    from calibrant.structures.files.coreference import read_documents
    from calibrant_studies._coreference_baseline import rule_antecedents

    folder = data / "litbank-coref"
    train, dev = (
        list(read_documents(folder / f"litbank-coref.{part}.conll.gz")) for part in ("train", "dev")
    )
    model = CoreferenceModel(epochs=3).fit(train)
    posterior = model.posterior(dev)
    antecedents = np.concatenate([rule_antecedents(document, trees=False) for document in dev])
    f1 = []
    for chosen in (posterior.best_antecedents(), antecedents):
        labels = np.split(posterior.clusters_of(chosen), posterior.document_offsets[1:-1])
        scores = coreference_scores(
            [document.mentions or () for document in dev],
            [document.clusters or () for document in dev],
            None,
            [label.tolist() for label in labels],
            samples=2,
        )
        f1.append(scores.conll_f1.estimate or 0.0)
    assert f1[0] > f1[1] + 0.08
