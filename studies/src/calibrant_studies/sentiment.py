"""Section 4.1 of the 2015 paper: naive Bayes against logistic regression on tweets.

Naive Bayes and logistic regression have the same log-linear form; naive Bayes' independence
assumptions are wrong for text, so its probabilities should be worse calibrated at about the same F1.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from calibrant.data import SETS, SPLITS, predictions
from calibrant.metrics import Pairs, pairs
from calibrant.metrics.binning import adaptive
from calibrant.metrics.compare import error_difference
from calibrant.metrics.debiased import debiased_squared_error
from calibrant.metrics.frequencies import bin_intervals
from calibrant.metrics.intervals import error_interval
from calibrant.metrics.plug_in import plug_in_calibration_error
from calibrant.results import Bins
from calibrant.results.bins import BinIntervals
from calibrant.seeds import generator
from calibrant_studies._base import Finding, Row, Study, digest
from calibrant_studies._tweets import TITLE, Predicted, f1_score, shipped, source, trained
from calibrant_studies._verdicts import above, below

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SEED = 2015
SAMPLES = 10_000
BIN_SIZE = {"dated": 300, "100k": 5_000}
BIN_SIZES = {"dated": (50, 100, 200, 300, 500, 1_000), "100k": (50, 200, 500, 1_000, 2_000, 5_000)}
PAPER_F1 = {"naive-bayes": 0.738, "logistic-regression": 0.729}
PAPER_ERROR = {"naive-bayes": 0.105, "logistic-regression": 0.041}
OTHER_DATA = "other tweets: {n:,} of 2009, where the paper tests on tweets of 2015"


@dataclass(frozen=True)
class _Pair:
    """Both models' test predictions of one set, on the same items."""

    bayes: Predicted
    logistic: Predicted

    @property
    def both(self) -> tuple[Predicted, Predicted]:
        return self.bayes, self.logistic


def run(*, data: Path | None = None, seed: int = SEED) -> Study:
    """Measure both models on both sets of tweets.

    Parameters
    ----------
    data
        Folder that has ``sentiment/``; both models are then trained again (about a minute). None uses the
        predictions that ship with the package.
    seed
        Seed of Algorithm 2's draws and of the bootstrap of F1.

    Returns
    -------
    Study
        With tables ``sizes`` (error against bin size), ``models`` (the strengths that dev chose), ``sweeps``
        (F1 and error on dev by strength), ``curves`` (the calibration curves) and ``retrained`` (largest
        difference of the new predictions from those that ship).

    Raises
    ------
    InputError
        If the folder lacks a file.

    Examples
    --------
    >>> study = run()
    >>> study.finding("dated/naive-bayes/f1").paper
    0.738
    """
    start = time.perf_counter()
    found = list(shipped() if data is None else trained(data))
    test = {(p.text_set, p.model): p for p in found if p.split == "test"}
    sets = {name: _Pair(*(test[name, model] for model in TITLE)) for name in SETS}
    findings = [finding for name, pair in sets.items() for finding in _findings(name, pair, seed)]
    files = (
        [predictions(p.text_set, p.model, p.split) for p in found]
        if data is None
        else [source(data, name, split) for name in SETS for split in ("train", *SPLITS)]
    )
    return Study(
        name="sentiment",
        title="Naive Bayes against logistic regression on tweets (2015 paper, section 4.1)",
        command="calibrant study sentiment",
        seed=seed,
        wall_seconds=time.perf_counter() - start,
        data={path.name: digest(path) for path in files},
        parameters={
            "bin sizes": ", ".join(f"{size:,} ({name})" for name, size in BIN_SIZE.items()),
            "samples of Algorithm 2": SAMPLES,
            "tokens": "NLTK tweet tokenizer, lower case",
            "strength": "best F1 of the positive class on dev",
            "models": "shipped predictions" if data is None else "trained in this run",
        },
        findings=tuple(findings),
        tables={
            "models": [_model_row(p) for p in found if p.split == "dev"],
            "sizes": [row for name, pair in sets.items() for row in _size_rows(name, pair)],
            "sweeps": _sweep_rows(found),
            "curves": [row for p in test.values() for row in _curve_rows(p)],
            "retrained": _retrained(found),
        },
    )


def _findings(name: str, pair: _Pair, seed: int) -> list[Finding]:
    note = OTHER_DATA.format(n=len(pair.bayes.labels))
    found = [finding for p in pair.both for finding in _model_findings(p, note, seed)]
    return [*found, _f1_claim(name, pair, seed), *_error_claims(name, pair), *_shape_claims(name, pair)]


def _model_findings(p: Predicted, note: str, seed: int) -> list[Finding]:
    key, title = f"{p.text_set}/{p.model}", f"{p.text_set}, {TITLE[p.model]}"
    low, high = np.quantile(_bootstrap_f1([p], seed)[0], [0.025, 0.975])
    measured = _checked(p)
    size = BIN_SIZE[p.text_set]
    bins = adaptive(measured, size=size)
    sampled = error_interval(
        adaptive(measured, size=size, ties="whole"), method="sampling", samples=SAMPLES, seed=seed
    )
    debiased = error_interval(measured)
    return [
        Finding(
            f"{key}/f1",
            f"{title}: F1",
            f1_score(p.labels, p.scores),
            float(low),
            float(high),
            PAPER_F1[p.model],
            "not comparable",
            f"{note}; bootstrap interval",
        ),
        Finding(
            f"{key}/plug_in_calibration_error",
            f"{title}: calibration error (plug-in, b = {size:,})",
            plug_in_calibration_error(bins),
            sampled.low,
            sampled.high,
            PAPER_ERROR[p.model],
            "not comparable",
            f"{note}; b = 5,000 there; Algorithm 2's interval",
        ),
        Finding(
            f"{key}/debiased_rms",
            f"{title}: debiased calibration error",
            debiased.estimate,
            debiased.low,
            debiased.high,
            note="its target does not depend on bins; default interval",
        ),
    ]


def _f1_claim(name: str, pair: _Pair, seed: int) -> Finding:
    draws = _bootstrap_f1(pair.both, seed)
    low, high = np.quantile(draws[0] - draws[1], [0.025, 0.975])
    paper = PAPER_F1["naive-bayes"] - PAPER_F1["logistic-regression"]
    bayes, logistic = (f1_score(p.labels, p.scores) for p in pair.both)
    return Finding(
        f"{name}/f1_difference",
        f"{name}: F1 of naive Bayes minus logistic regression",
        bayes - logistic,
        float(low),
        float(high),
        f"naive Bayes slightly higher ({paper:+.3f})",
        note="paired bootstrap interval",
        claim=above(0),
    )


def _error_claims(name: str, pair: _Pair) -> list[Finding]:
    """Naive Bayes' error is larger, and logistic regression's less than half of it."""
    bayes, logistic = (_checked(p) for p in pair.both)
    difference = error_difference(bayes, logistic)
    plug_in = [plug_in_calibration_error(adaptive(p, size=BIN_SIZE[name])) for p in (bayes, logistic)]
    relative = difference.relative_change
    ratio, low, high = (
        None if change is None else 1 + change for change in (relative.estimate, relative.low, relative.high)
    )
    squares, roots = difference.mse_difference, difference.rms_difference
    return [
        Finding(
            f"{name}/mse_difference",
            f"{name}: debiased squared error, naive Bayes minus logistic regression",
            squares.estimate,
            squares.low,
            squares.high,
            note="paired interval",
        ),
        Finding(
            f"{name}/rms_difference",
            f"{name}: debiased error, naive Bayes minus logistic regression",
            roots.estimate,
            roots.low,
            roots.high,
            "naive Bayes larger",
            note="paired interval, conservative",
            claim=above(0),
        ),
        Finding(
            f"{name}/error_ratio",
            f"{name}: debiased error, logistic regression over naive Bayes",
            ratio,
            low,
            high,
            "less than half (0.39)",
            note=f"paired interval, conservative; plug-in errors: {plug_in[1] / plug_in[0]:.2f}",
            claim=below(0.5),
        ),
    ]


def _shape_claims(name: str, pair: _Pair) -> list[Finding]:
    """Both are underconfident for low scores and overconfident for high ones, naive Bayes more so."""
    found = []
    for side, words, claim, paper in (
        ("low", "below", above(0), "above 0 (underconfident)"),
        ("high", "from", below(0), "below 0 (overconfident)"),
    ):
        gaps = []
        for p in pair.both:
            chosen = p.scores < 0.5 if side == "low" else p.scores >= 0.5
            residual = p.labels - p.scores
            # n - 1/2 gives the usual variance of a mean, with n (n - 1) below the sum of squares.
            gap = float(residual[chosen].mean())
            gaps.append((gap, np.where(chosen, residual - gap, 0.0) / (chosen.sum() - 0.5)))
            found.append(
                Finding(
                    f"{name}/{p.model}/gap_{side}",
                    f"{name}, {TITLE[p.model]}: frequency minus score, scores {words} 0.5",
                    *_normal(*gaps[-1]),
                    paper,
                    note="normal interval",
                    claim=claim,
                )
            )
        (bayes, of_bayes), (logistic, of_logistic) = gaps
        found.append(
            Finding(
                f"{name}/more_pronounced_{side}",
                f"{name}: the same gap of naive Bayes minus that of logistic regression",
                *_normal(bayes - logistic, of_bayes - of_logistic),
                f"{paper.partition(' (')[0]} (more pronounced for naive Bayes)",
                note="the same tweets for both; normal interval",
                claim=claim,
            )
        )
    return found


def _normal(estimate: float, influence: NDArray[np.float64]) -> tuple[float, float, float]:
    """Return an estimate and its normal interval, from the influence of each item on the estimate."""
    half = 1.96 * float(np.sqrt(influence @ influence))
    return estimate, estimate - half, estimate + half


def _bootstrap_f1(predicted: Sequence[Predicted], seed: int) -> NDArray[np.float64]:
    """F1 of each model (models, draws) on resampled items; the same items for all models.

    Only the joint table of (label, each model's decision) matters, so the table is resampled.
    """
    cell = np.asarray(predicted[0].labels, dtype=np.int64)
    for p in predicted:
        cell = 2 * cell + (p.scores > 0.5)
    counts = np.bincount(cell, minlength=2 ** (len(predicted) + 1))
    draws = generator(seed).multinomial(len(cell), counts / counts.sum(), size=SAMPLES)
    bits = np.arange(len(counts))
    label = bits >> len(predicted) & 1
    f1 = []
    for place in range(len(predicted) - 1, -1, -1):
        decided = bits >> place & 1
        f1.append(2 * draws @ (decided * label) / (draws @ decided + draws @ label))
    return np.array(f1)


def _checked(p: Predicted) -> Pairs:
    return pairs(p.labels, p.scores)


def _size_rows(name: str, pair: _Pair) -> list[Row]:
    rows: list[Row] = []
    measured = [_checked(p) for p in pair.both]
    for size in BIN_SIZES[name]:
        errors = [plug_in_calibration_error(adaptive(p, size=size)) for p in measured]
        row: Row = {"set": name, "b": size, "bins": adaptive(measured[0], size=size).used}
        for model, error, p in zip(TITLE, errors, measured, strict=True):
            row[TITLE[model]] = error
            row[f"{TITLE[model]}, debiased"] = float(
                np.sqrt(max(0.0, debiased_squared_error(p, bin_size=size)))
            )
        row["ratio"] = errors[1] / errors[0]
        floors = [float(np.sqrt(np.mean(p.score * (1 - p.score)) / size)) for p in measured]
        rows.append({**row, "floor, naive Bayes": floors[0], "floor, logistic regression": floors[1]})
    return rows


def _model_row(p: Predicted) -> Row:
    return {
        "set": p.text_set,
        "model": TITLE[p.model],
        "training tweets": p.about["train_items"],
        "unigrams": p.about["vocabulary"],
        "strength": f"{p.about['strength']:g}",
        "F1 on dev": f1_score(p.labels, p.scores),
    }


def _sweep_rows(found: Sequence[Predicted]) -> list[Row]:
    """Return F1 and plug-in error on dev, one row per strength."""
    dev = [p for p in found if p.split == "dev"]
    rows = []
    for place, strength in enumerate(dev[0].about["strengths"]):
        row: Row = {"strength": f"{strength:g}"}
        for p in dev:
            name = f"{p.text_set}, {TITLE[p.model]}"
            row[f"{name}: F1"] = p.about["f1_on_dev"][place]
            row[f"{name}: error"] = p.about["error_on_dev"][place]
        rows.append(row)
    return rows


def _curve_bins(p: Predicted) -> tuple[Bins, BinIntervals]:
    bins = adaptive(_checked(p), size=BIN_SIZE[p.text_set] if p.text_set == "dated" else 1_000)
    return bins, bin_intervals(bins, method="normal")


def _curve_rows(p: Predicted) -> list[Row]:
    bins, intervals = _curve_bins(p)
    name = {"set": p.text_set, "model": p.model}
    return [{**name, **row, **ends} for row, ends in zip(bins.to_rows(), intervals.to_rows(), strict=True)]


def _retrained(found: Sequence[Predicted]) -> list[Row]:
    rows = []
    for p, old in zip(found, shipped(), strict=True):
        difference = float(np.abs(p.scores - old.scores).max())
        row: Row = {"set": p.text_set, "model": TITLE[p.model], "split": p.split, "items": len(p.labels)}
        rows.append({**row, "largest difference from the shipped scores": difference})
    return rows


def figures(study: Study) -> dict[str, Figure]:
    """Draw the calibration curves and the error against bin size, from the record alone.

    Examples
    --------
    >>> "sizes" in figures(run())
    True
    """
    from calibrant_studies._sentiment_figures import draw

    return draw(study)
