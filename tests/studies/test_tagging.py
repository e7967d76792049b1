from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import false_discovery_control

from calibrant.metrics import pairs as checked_pairs
from calibrant.metrics.binning import adaptive, uniform
from calibrant.structures.models import CRFTagger, HMMTagger
from calibrant.structures.posterior import ChainPosterior
from calibrant.structures.posterior.queries import all_tags
from calibrant_studies import _tagging_compare as compare
from calibrant_studies import _tagging_measure as measuring
from calibrant_studies import _tagging_models as models
from calibrant_studies import tagging
from calibrant_studies._base import Study
from calibrant_studies._tagging_binnings import (
    ADAPTIVE,
    SIZE,
    WIDTHS,
    binning_comparison,
    binning_rows,
    find_binnings,
    widths,
)
from calibrant_studies._tagging_data import FILES, TITLE, Part, TextSet, read_set
from calibrant_studies._tagging_findings import find
from calibrant_studies._tagging_measure import Evaluated
from calibrant_studies._verdicts import above
from tests.quantities import defined

WORDS = {"N": ["dog", "cat", "sun"], "V": ["ran", "saw", "dog"], "D": ["the", "a", "cat"]}


def part(sentences: int, seed: int) -> Part:
    """Sentences of tags drawn at random, with words that two tags share."""
    rng = np.random.default_rng(seed)
    tags = [[str(tag) for tag in rng.choice(list(WORDS), 4)] for _ in range(sentences)]
    texts = [[str(rng.choice(WORDS[tag])) for tag in sentence] for sentence in tags]
    return Part(texts, tags)


def posterior(seed: int, tokens: int, tags: str) -> ChainPosterior:
    return ChainPosterior(np.random.default_rng(seed).normal(0, 2, (tokens, len(tags))), tags=list(tags))


def test_every_set_and_model_is_in_the_record_with_its_accuracy(record: dict[str, Any]) -> None:
    rows = record["tables"]["errors"]
    assert {row["set"] for row in rows} == {TITLE[name] for name in FILES}
    assert len(rows) == len(FILES) * 5 * 2
    for row in rows:
        assert 0.5 < row["accuracy"] < 1
        assert row["low"] <= row["debiased"] <= row["high"]
        assert row["b"] == min(5_000, max(200, row["pairs"] // 20))


def test_wins_and_undecided_classes_add_up(record: dict[str, Any]) -> None:
    tables = record["tables"]
    assert {row["models"] for row in tables["wins"]} == set(measuring.COMPARISONS.values())
    for row in tables["wins"]:
        decided = row["classes"] - row["too few"]
        assert row["CRF better, by sign"] + row["HMM better, by sign"] == decided
        for model in ("CRF", "HMM"):
            counts = [row[f"{model} better, {label}"] for label in ("by sign", "p < 0.05", "BH", "Holm")]
            assert counts == sorted(counts, reverse=True)
    few = [row for row in tables["tags"] if min(row["positives"], row["n"] - row["positives"]) < 10]
    assert few
    assert not any(row["decided"] for row in few)


def test_the_figures_come_from_the_record_alone(record: dict[str, Any]) -> None:
    study = Study.from_dict(record)
    drawn = tagging.figures(study)
    wanted = {"curves-twitter", "tags-wsj", "pairs-conll2000", "pseudocounts", "binnings", "ablation"}
    assert wanted <= set(drawn)
    assert all(figure.axes for figure in drawn.values())


def test_the_twitter_hmm_is_measured_again(data: Path, record: dict[str, Any]) -> None:
    texts = read_set(data, "twitter")
    row = next(r for r in record["tables"]["pseudocounts"] if (r["set"], r["model"]) == ("Twitter", "HMM"))
    model = HMMTagger(pseudocount=float(row["pseudocount"])).fit(texts.train.sentences, texts.train.tags)
    tagger = models.Tagger("hmm", model, float(row["pseudocount"]), len(texts.train.sentences), 0.0)
    now = measuring.pseudocount_row(measuring.evaluated(texts, tagger), row["accuracy on dev"])
    assert now.keys() == row.keys()
    for key, value in row.items():
        assert now[key] == (value if isinstance(value, str) else pytest.approx(value, rel=1e-6)), key


def test_one_tag_of_the_record_is_compared_again(data: Path, record: dict[str, Any]) -> None:
    chosen = {
        row["model"]: row for row in record["tables"]["chosen"] if row["set"] == "Twitter" and row["chosen"]
    }
    texts = read_set(data, "twitter")
    train, test = texts.train, texts.test
    hmm = HMMTagger(pseudocount=float(chosen["HMM"]["setting"])).fit(train.sentences, train.tags)
    crf = CRFTagger(features="basic", l2=float(chosen["CRF-basic"]["setting"]))
    crf.fit(train.sentences, train.tags)
    then = next(
        row
        for row in record["tables"]["tags"]
        if (row["set"], row["comparison"], row["class"]) == ("twitter", "full", "V")
    )
    pairs = [{"V": compare.tags_of(model.posterior(test.sentences), test)["V"]} for model in (hmm, crf)]
    now = compare.compare_classes(*pairs)[0]
    assert now["positives"] == then["positives"]
    # Training on another machine rounds otherwise, a little. The ends contain Monte Carlo error.
    for key, near in {"first": 1e-3, "second": 1e-3, "difference": 1e-3, "low": 0.05, "high": 0.05}.items():
        assert now[key] == pytest.approx(then[key], rel=near, abs=1e-6), key


def test_dev_is_the_last_tenth_of_training_where_there_is_no_file(tmp_path: Path) -> None:
    import gzip

    folder = tmp_path / "conll2000"
    folder.mkdir()
    for name, count in (("train", 25), ("test", 2)):
        with gzip.open(folder / f"{name}.txt.gz", "wt", encoding="utf-8") as file:
            file.writelines(f"w{number} NN B-NP\n\n" for number in range(count))
    texts = read_set(tmp_path, "conll2000")
    assert [len(split.sentences) for split in (texts.train, texts.dev, texts.test)] == [23, 2, 2]
    assert texts.dev.sentences == [["w23"], ["w24"]]


def test_classes_of_a_query_are_its_pairs_class_by_class() -> None:
    query = all_tags(posterior(1, 7, "ABC"), [["A", "B", "C", "C", "B", "A", "A"]])
    classes = compare.by_class(query)
    assert list(classes) == ["A", "B", "C"]
    for name, pairs in classes.items():
        expected = query.pairs_of(name)
        np.testing.assert_array_equal(pairs.score, expected.score)
        np.testing.assert_array_equal(pairs.label, expected.label)
        np.testing.assert_array_equal(np.asarray(pairs.cluster), np.asarray(expected.cluster))


def test_a_tag_that_one_model_has_never_seen_has_probability_0_there() -> None:
    gold = Part([["a", "b", "c"]], [["A", "B", "C"]])
    one, other = compare.aligned(
        compare.tags_of(posterior(1, 3, "AC"), gold), compare.tags_of(posterior(2, 3, "ABC"), gold)
    )
    assert list(one) == list(other) == ["A", "C", "B"]
    assert one["B"].score.tolist() == [0, 0, 0]
    assert one["B"].label.tolist() == [False, True, False]
    assert len(compare.pooled(one)) == len(compare.pooled(other)) == 9


def test_adjusted_p_values_are_those_of_the_definitions() -> None:
    p = np.array([0.012, 0.0004, 0.3, 0.02, 0.011, 0.9])
    rejected = {  # step down: the smallest against level / 6, the next against level / 5, ...
        level: {
            int(i)
            for rank, i in enumerate(np.argsort(p))
            if all(p[j] <= level / (len(p) - k) for k, j in enumerate(np.argsort(p)[: rank + 1]))
        }
        for level in (0.01, 0.05, 0.1)
    }
    for level, expected in rejected.items():
        assert set(np.flatnonzero(compare.holm(p) <= level).tolist()) == expected
    np.testing.assert_allclose(compare.benjamini_hochberg(p), false_discovery_control(p))
    assert compare.holm(np.array([])).tolist() == []


def test_fewer_than_ten_positives_are_undecided_and_not_tested() -> None:
    rng = np.random.default_rng(0)
    tags = [["A" if rng.random() < 0.5 else "B" for _ in range(5)] for _ in range(60)]
    for sentence in tags[:9]:
        sentence[0] = "C"
    gold = Part([["w"] * 5] * 60, tags)
    one, other = (
        ChainPosterior(np.random.default_rng(seed).normal(0, 1, (300, 3)), lengths=[5] * 60, tags=list("ABC"))
        for seed in (1, 2)
    )
    rows = {
        row["class"]: row
        for row in compare.compare_classes(compare.tags_of(one, gold), compare.tags_of(other, gold))
    }
    assert [rows[tag]["decided"] for tag in "ABC"] == [True, True, False]
    assert rows["C"]["holm"] is None
    assert rows["A"]["holm"] >= rows["A"]["p"]
    assert compare.count_wins(rows.values(), "HMM", "CRF")["too few"] == 1


def test_bisection_finds_the_number_of_sentences_that_gives_an_accuracy() -> None:
    dev = Part([["w"] * 1_000], [["A"] * 1_000])

    class Learner(HMMTagger):
        def __init__(self, count: int) -> None:
            super().__init__()
            self.right = count

        def predict(self, sentences: Any) -> list[list[str]]:
            return [["A"] * self.right + ["B"] * (1_000 - self.right)]

    _, count, accuracy = models.closest(Learner, 1_000, dev, 0.3)
    assert accuracy == count / 1_000
    assert abs(count - 300) < 30


def test_a_job_returns_the_chosen_model_and_its_twin_of_equal_accuracy() -> None:
    job = models.Job(part(40, 1), part(20, 2), "basic", (1.0, 0.1), target=0.6, iterations=30)
    (state, about), (_, twin) = models.train_crf(job)
    assert about["sentences"] == 40
    assert [row["setting"] for row in about["candidates"]] == [1.0, 0.1]
    assert twin["sentences"] < 40
    assert abs(twin["dev_accuracy"] - 0.6) <= abs(about["dev_accuracy"] - 0.6)
    assert CRFTagger.from_state(state).tags == ("D", "N", "V")


def test_findings_of_a_small_set_compare_the_models_as_the_paper_does() -> None:
    texts = TextSet("conll2000", *(part(count, seed) for seed, count in ((1, 80), (2, 30), (3, 120))))
    for split in (texts.train, texts.dev, texts.test):
        for sentence in split.tags:
            sentence[:] = ["NN" if tag == "N" else tag for tag in sentence]
    hidden = models.hidden_markov_models(texts)
    crf = models.train_crf(models.Job(texts.train, texts.dev, "basic", (0.1,), iterations=30))
    tagger = models.Tagger("crf-basic", CRFTagger.from_state(crf[0][0]), **crf[0][1])
    found = {key: measuring.evaluated(texts, each) for key, each in hidden.items()}
    found |= {
        "crf-basic": measuring.evaluated(texts, tagger),
        "crf-advanced": measuring.evaluated(texts, tagger),
    }
    tables = tagging.Tables()
    queries = (texts.tag, measuring.ALL_TAGS)
    tables.errors += [measuring.error_row(model, query) for model in found.values() for query in queries]
    twin = models.Tagger("crf-basic", tagger.model, 0.1, 40, 0.8)
    found["equal-hmm"], found["equal-crf"] = tagging._equal(texts, found, [twin], tables)
    one, other = (found[key].classes for key in ("hmm", "crf-basic"))
    wins = compare.count_wins(compare.compare_classes(*compare.aligned(one, other)), "HMM", "CRF")
    name = {"set": texts.title, "models": measuring.COMPARISONS["equal"]}
    tables.wins += [{**name, "events": events, **wins} for events in ("tags", "tag pairs")]
    tables.pseudocounts.append(measuring.pseudocount_row(found["hmm"], 0.5))
    tables.binnings += binning_rows(found["hmm"])
    made = {finding.name: finding for finding in find({"conll2000": found}, tables)}
    assert made["conll2000/equal/sentences"].value == "80 and 40 of 80"
    assert made["conll2000/equal/hmm/slope"].paper == "underconfident"
    assert made["conll2000/hmm-ml/accuracy"].note == "0 of 120 test sentences have probability 0"
    assert made["conll2000/NN/difference"].claim == above(0)
    assert made["conll2000/hmm/pseudocount"].value == pytest.approx(tables.pseudocounts[0]["error"])


def skewed(pairs: int) -> Evaluated:
    """A tagger whose scores of one tag are nearly all near 0, and right on average."""
    rng = np.random.default_rng(5)
    score = rng.beta(0.05, 0.4, pairs)
    sentence = np.arange(pairs)
    checked = checked_pairs(rng.random(pairs) < score, score, clusters=sentence)
    texts = TextSet("wsj", part(1, 1), part(1, 2), part(1, 3))
    tagger = models.Tagger("hmm", HMMTagger(), 0.1, 1, 0.5)
    return Evaluated(texts, tagger, (0.5, 0.4, 0.6), {"NN": checked})


def test_adaptive_bins_have_narrower_intervals_than_equal_widths_on_skewed_scores() -> None:
    rows = binning_rows(skewed(8_000))
    by_bins = {name: [row for row in rows if row["bins"] == name] for name in (*WIDTHS, ADAPTIVE)}
    for name in (*WIDTHS, ADAPTIVE):
        assert sum(row["n"] for row in by_bins[name]) == 8_000
    assert min(row["n"] for row in by_bins[ADAPTIVE]) == SIZE
    # The normal interval of n pairs is at most 1 / sqrt(n) to either side, and Wilson's is narrower.
    assert max(widths(by_bins[ADAPTIVE])) <= 2 / SIZE**0.5
    verdicts = [found.verdict for found in find_binnings("wsj", TITLE["wsj"], rows)]
    assert verdicts == ["agrees", "agrees"]


def test_fewer_tokens_than_an_adaptive_bin_holds_are_one_bin() -> None:
    rows = [row for row in binning_rows(skewed(SIZE - 1)) if row["bins"] == ADAPTIVE]
    assert [row["n"] for row in rows] == [SIZE - 1]


def test_binnings_stand_side_by_side_after_the_distribution_of_the_scores() -> None:
    found = checked_pairs([0, 1, 1, 1], [0.2, 0.3, 0.8, 0.9])
    wide, narrow = uniform(found, 2), adaptive(found, size=1)
    figure = binning_comparison([("wide", wide, None), ("adaptive", narrow, None)], histogram=wide)
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["(a) the scores", "(b) wide", "(c) adaptive"]
    assert [bar.get_height() for bar in figure.axes[0].containers[0]] == [0.5, 0.5]
    (line,) = [line for line in figure.axes[1].get_lines() if line.get_gid() == "line-0"]
    np.testing.assert_allclose(np.asarray(line.get_xydata()), [[0.25, 0.5], [0.85, 1.0]])


@pytest.mark.parametrize(("panels", "with_scores", "grid"), [(3, True, (2, 2)), (3, False, (1, 3))])
def test_up_to_three_binnings_share_one_row(panels: int, with_scores: bool, grid: tuple[int, int]) -> None:
    wide = uniform(checked_pairs([0, 1, 1, 1], [0.2, 0.3, 0.8, 0.9]), 2)
    histogram = wide if with_scores else None
    figure = binning_comparison([(str(number), wide, None) for number in range(panels)], histogram=histogram)
    spec = defined(figure.axes[0].get_subplotspec())
    assert spec.get_gridspec().get_geometry() == grid
