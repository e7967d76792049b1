"""Cases of judges, thresholds, estimates and regressions: tables that commands read, and what peers take."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import data
import numpy as np

Call = Callable[[], Any]
SEED = 20261128
SYSTEMS, GROUPS, COVARIATES, ANNOTATORS = 20, 200, 5, 4
ALPHA, DELTA = 0.3, 0.1
BETA = np.array([0.5, 0.2, 0.0, -0.3, 0.1])


def judged(n: int, labels: int) -> Path:
    """Answers of 20 systems to the same prompts, graded by a judge; the first prompts have labels 0 and 1."""
    prompts, labeled = n // SYSTEMS, labels // SYSTEMS
    rng = np.random.default_rng(SEED)
    shape = SYSTEMS, prompts
    quality = rng.normal(size=shape) + 0.2 * rng.normal(size=(SYSTEMS, 1)) + rng.normal(size=prompts)
    judge = 1 / (1 + np.exp(-quality - 0.5 * rng.normal(size=shape)))
    label = np.where(np.arange(prompts) < labeled, quality > 0, np.nan)
    columns = {
        "system": np.repeat([f"system {number}" for number in range(SYSTEMS)], prompts),
        "item": np.tile(np.arange(prompts), SYSTEMS),
        "judge": judge.ravel().round(4),
        "label": label.ravel(),
    }
    return _written(f"judged-{n}-{labels}.parquet", columns)


def answers(n: int) -> Path:
    """Answers with their confidence, and whether they are right: more often, the higher it is."""
    rng = np.random.default_rng(SEED)
    confidence = rng.random(n)
    correct = (rng.random(n) < 0.5 + 0.5 * confidence).astype(int)
    return _written(f"answers-{n}.parquet", {"confidence": confidence, "correct": correct})


def documents(n: int) -> Path:
    """Documents with a model's label, its score, 5 covariates and one of 200 groups."""
    covariates, group, _, model, score = _documents(n)
    columns = {
        "item": np.arange(n),
        "model": model,
        "score": score,
        "group": np.array([f"group {number}" for number in range(GROUPS)])[group],
        **{f"x{number}": column for number, column in enumerate(covariates.T)},
    }
    return _written(f"documents-{n}.parquet", columns)


def coded(n: int, labels: int) -> Path:
    """Labels of a random sample of these documents."""
    rows = np.random.default_rng(SEED + 1).choice(n, labels, replace=False)
    return _written(f"coded-{n}-{labels}.parquet", {"item": rows, "topic": _documents(n)[2][rows]})


def annotated(n: int) -> Path:
    """Labels of four annotators, each for every item: one of five grades."""
    items = n // ANNOTATORS
    rng = np.random.default_rng(SEED)
    grade = rng.integers(1, 6, items)
    given = np.where(rng.random((ANNOTATORS, items)) < 0.7, grade, rng.integers(1, 6, (ANNOTATORS, items)))
    columns = {
        "item": np.tile(np.arange(items), ANNOTATORS),
        "annotator": np.repeat([f"annotator {number}" for number in range(ANNOTATORS)], items),
        "label": given.ravel(),
    }
    return _written(f"annotated-{n}.parquet", columns)


def _documents(n: int) -> tuple[Any, ...]:
    """Return covariates, groups, true labels, the model's labels and its scores."""
    rng = np.random.default_rng(SEED)
    covariates = rng.normal(size=(n, COVARIATES))
    group = rng.integers(GROUPS, size=n)
    topic = (rng.random(n) < 1 / (1 + np.exp(-covariates @ BETA))).astype(int)
    model = np.where(rng.random(n) < 0.15, 1 - topic, topic)
    score = np.clip(0.5 + 0.35 * (2 * model - 1) + 0.1 * rng.normal(size=n), 0.01, 0.99)
    return covariates, group, topic, model, score


def _written(name: str, columns: dict[str, Any]) -> Path:
    """Write a table, once; it is kept in the cache folder."""
    import pyarrow as pa
    from pyarrow import parquet

    path = data.FOLDER / name
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".part")
        parquet.write_table(pa.table(columns), unfinished)
        unfinished.rename(path)
    return path


def statsmodels_ols(n: int, **_: Any) -> Call:
    """The naive regression of statsmodels, with robust standard errors; the result has its coefficients."""
    import statsmodels.api as sm

    covariates, _group, _topic, model, _score = _documents(n)

    def call() -> list[float]:
        fitted = sm.OLS(model, sm.add_constant(covariates)).fit(cov_type="HC1")
        return [float(value) for value in (*fitted.params, *fitted.bse)]

    return call


def mapie_threshold(n: int, **_: Any) -> Call:
    """MAPIE's threshold for the same guarantee, from a grid of 100; the result is the threshold."""
    from mapie.risk_control import BinaryClassificationController
    from mapie.risk_control.fwer_control import FWERFixedSequenceTesting

    rng = np.random.default_rng(SEED)
    confidence = rng.random(n)
    correct = (rng.random(n) < 0.5 + 0.5 * confidence).astype(int)

    def call() -> float | None:
        controller = BinaryClassificationController(
            predict_function=lambda score: np.column_stack([1 - score.ravel(), score.ravel()]),
            risk="precision",
            target_level=1 - ALPHA,
            confidence_level=1 - DELTA,
            best_predict_param_choice="recall",
            list_predict_params=np.linspace(0, 0.99, 100)[::-1],
            fwer_method=FWERFixedSequenceTesting(n_starts=5),
        )
        controller.calibrate(confidence[:, None], correct)
        best = controller.best_predict_param
        return None if best is None else float(best)

    return call


def sentences(most: int) -> Path | None:
    """The first sentences of EWT's test set, as one file; None if CALIBRANT_DATA names no such folder."""
    folder = Path(os.environ.get("CALIBRANT_DATA", "")) / "ud-english-ewt"
    source = next(iter(sorted(folder.glob("*test.conllu.gz"))), None)
    if not os.environ.get("CALIBRANT_DATA") or source is None:
        return None
    path = data.FOLDER / f"sentences-{most}.conllu"
    if not path.exists():
        with gzip.open(source, "rt", encoding="utf-8") as file:
            texts = file.read().split("\n\n")[:most]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n\n".join(texts).rstrip("\n") + "\n\n", encoding="utf-8")
    return path


def parser(path: str, **_: Any) -> Call:
    """The trees of a file by the English parser that ships, with tags by its tagger, both loaded before."""
    from calibrant.structures import load_dependency_model, load_tagger, predict_trees
    from calibrant_english import FOLDER

    model, tagger = load_dependency_model(FOLDER / "trees.model"), load_tagger(FOLDER / "tags.model")
    written = data.FOLDER / "predicted.conllu"
    return lambda: predict_trees(model, path, written, tagger=tagger).sentences


CASES: tuple[Callable[..., Call], ...] = (statsmodels_ols, mapie_threshold, parser)
