"""Decisions, pipelines and learning on made-up texts; the record and its page."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calibrant.evaluation import f_of
from calibrant.structures.posterior import ChainPosterior
from calibrant_studies import _decisions_data as sources
from calibrant_studies import _decisions_pipeline as pipeline
from calibrant_studies import _decisions_risk as risk
from calibrant_studies import _decisions_training as training
from calibrant_studies import decisions
from calibrant_studies._base import Study
from calibrant_studies._decisions_compare import Results, independent, share
from calibrant_studies._decisions_page import COUNTED, QUESTIONS, question
from tests.quantities import defined

TAGS = {"N": "B-NP", "V": "B-VP", "D": "O"}
SIZES = {"train": 340, "dev": 60, "test": 60}


def sentences(count: int, seed: int) -> list[list[tuple[str, str]]]:
    """Words and tags; some words have several tags."""
    random = np.random.default_rng(seed)
    drawn = []
    for _ in range(count):
        tags = random.choice(list(TAGS), random.integers(2, 7)).tolist()
        drawn.append([(f"{tag if random.random() < 0.7 else 'X'}{random.integers(5)}", tag) for tag in tags])
    return drawn


def line(kind: str, number: int, word: str, tag: str) -> str:
    if kind == "upos":
        return "\t".join([str(number), word, "_", tag, tag, *["_"] * 5])
    if kind == "lextag":
        return "\t".join([str(number), word, *["_"] * 16, f"O-{tag}"])
    if kind == "pos":
        return f"{word} {tag} {TAGS[tag]}"
    name = {"N": "B-person", "V": "O", "D": "O"}[tag]
    return f"{word}\t{name if kind == 'names' else tag}"


@pytest.fixture(scope="module")
def made_up(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of every data set of the study, in their formats."""
    folder = tmp_path_factory.mktemp("texts")
    for seed, kind in enumerate(("twitter", "upos", "lextag", "pos", "names")):
        names = sources.SOURCES[kind][0]
        for split, name in zip(("train", "test") if len(names) == 2 else SIZES, names, strict=True):
            (folder / name).parent.mkdir(exist_ok=True)
            drawn = sentences(SIZES[split], 10 * seed + len(split))
            text = "\n\n".join(
                "\n".join(line(kind, place, *pair) for place, pair in enumerate(of, 1)) for of in drawn
            )
            if kind == "names":
                text = text.replace("\n\n", "\n\t\n")
            with gzip.open(folder / name, "wt", encoding="utf-8") as file:
                file.write(text + "\n\n")
    return folder


@pytest.fixture(scope="module")
def found(made_up: Path) -> Study:
    steps: list[tuple[str, int, int | None]] = []
    study = decisions.decisions(made_up, seed=1, progress=lambda *step: steps.append(step))
    assert [done for _, done, _ in steps] == list(range(len(steps)))
    return study


def test_every_question_is_asked_of_made_up_texts(found: Study) -> None:
    asked = {question(each) for each in found.findings if each.claim}
    assert asked == set(QUESTIONS)
    assert len({each.name for each in found.findings}) == len(found.findings)
    for each in found.findings:
        assert each.low is None or (each.high is not None and each.low <= each.high)


def test_the_summary_counts_each_comparison_once(found: Study) -> None:
    rows = found.tables["page-summary"]
    assert [row["comparison"] for row in rows] == list(COUNTED)
    counted = sum(sum(value for value in row.values() if isinstance(value, int)) for row in rows)
    assert counted == sum(each.claim is not None for each in found.findings)


def test_figures_are_drawn_from_the_record(found: Study) -> None:
    drawn = decisions.figures(Study.from_dict(json.loads(found.to_json())))
    assert set(drawn) == {"tags", "spans", "pipelines", "learning"}
    assert all(figure.axes for figure in drawn.values())


def test_a_temperature_changes_no_accuracy_of_independent_tags(made_up: Path) -> None:
    texts = sources.read_texts(made_up, "twitter")
    model = sources.hmm(texts.train)
    dev, test = (
        independent(chain.marginals(), chain)
        for chain in (model.posterior(part.sentences) for part in (texts.dev, texts.test))
    )
    task = sources.Task(texts, "HMM", dev, test)
    found = dict(task.marginals())
    assert list(found) == list(sources.METHODS)
    assert np.array_equal(found["temperature"].argmax(axis=1), test.marginals().argmax(axis=1))
    for marginal in found.values():
        assert marginal.sum(axis=1) == pytest.approx(1.0)


def test_names_of_wnut_end_at_lines_with_a_tab(made_up: Path) -> None:
    assert len(sources.read_texts(made_up, "names").test.sentences) == SIZES["test"]


def test_the_mean_f_is_that_of_each_tag() -> None:
    totals = np.array([[1.0, 2.0, 2.0, 0.0, 0.0, 0.0, 3.0, 3.0, 3.0]])
    assert risk.mean_f(totals)[0] == pytest.approx((0.5 + 1.0) / 2)  # one tag is nowhere
    assert f_of(totals[:, :3])[0] == 0.5


def test_a_chunker_sees_words_and_tags_apart() -> None:
    (tokens,) = pipeline.joined([["a|b", "c"]], [["X", "Y"]])
    first, second = pipeline.attributes(tokens)
    assert {"w a|b", "t X", "t+ Y", "tt+ X Y"} <= set(first)
    assert {"w c", "t- X", "w+ >"} <= set(second)


def test_the_slope_of_the_penalty_is_its_derivative() -> None:
    random = np.random.default_rng(0)
    marginal, gold = random.dirichlet(np.ones(4), 30), random.integers(0, 4, 30)

    def penalty(changed: Any) -> float:
        score = changed.max(axis=1)
        residual = score - (changed.argmax(axis=1) == gold)
        kernel = np.exp(-np.abs(score[:, None] - score) / training.WIDTH)
        return float(residual @ kernel @ residual) / len(gold) ** 2

    found = training.mmce_slope(marginal, gold)
    for place in range(30):
        step = np.zeros_like(marginal)
        step[place, marginal[place].argmax()] = 1e-6
        expected = (penalty(marginal + step) - penalty(marginal - step)) / 2e-6
        assert found[place].sum() == pytest.approx(expected, abs=1e-7)


def test_the_interval_over_draws_and_sentences_covers() -> None:
    """Cells that were not used to choose it: few draws, unequal sentences, either part alone."""
    random = np.random.default_rng(7)
    for by_draw, by_sentence in ((0.02, 0.0), (0.0, 0.3), (0.02, 0.3)):
        covered = 0
        for _ in range(400):
            lengths = random.integers(5, 40, 200)
            draw = random.normal(0.01, by_draw, (10, 1)) if by_draw else np.full((10, 1), 0.01)
            sentence = random.normal(0, by_sentence, 200) + random.normal(0, 0.05, (10, 200))
            _, low, high = training.crossed_interval((draw + sentence) * lengths, lengths)
            covered += defined(low) <= 0.01 <= defined(high)
        assert covered >= 0.925 * 400


def test_equal_decisions_gain_exactly_nothing() -> None:
    sums = np.array([[1.0, 2.0], [3.0, 4.0]] * 20)
    assert Results(0).gain(sums, sums.copy(), share) == (0.0, 0.0, 0.0)


def test_independent_tags_have_the_given_probabilities() -> None:
    chain = ChainPosterior(np.zeros((2, 3)), np.eye(3), lengths=[2])
    given = np.array([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5]])
    assert independent(given, chain).marginals() == pytest.approx(given)
