"""Compare the default calibration map with no map on small and large samples, for the documentation.

python scripts/map_choice.py [SAMPLES]     writes docs/studies/map_choice.md

SAMPLES (by default 200) is the number of dev sets per row of up to 1,000 pairs; larger ones have fewer. The
data in the folder CALIBRANT_DATA are used if they exist. Seed 0.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as parquet
from numpy.typing import NDArray
from scipy.special import expit, softmax

from calibrant.data import predictions, tagger_predictions
from calibrant.exceptions import InputError
from calibrant.recalibrate import Auto, Isotonic, Platt, VectorScaling

TARGET = Path(__file__).resolve().parent.parent / "docs" / "studies" / "map_choice.md"
SAMPLES = 200
SIZES = (50, 200, 1_000, 10_000, 100_000)
TEST = 20_000
BEYOND = 2.0  # standard errors of a mean difference

Floats = NDArray[np.float64]
Generator = np.random.Generator


@dataclass(frozen=True)
class Sample:
    """Scores (n,) or rows (n, K), their labels or true classes, and clusters."""

    score: Floats
    label: NDArray[Any]
    cluster: NDArray[np.int64] | None = None

    def at(self, rows: NDArray[Any]) -> Sample:
        """Return some of the pairs or rows."""
        return Sample(
            self.score[rows], self.label[rows], None if self.cluster is None else self.cluster[rows]
        )


@dataclass(frozen=True)
class Source:
    """Where dev sets come from, and what the losses are computed on."""

    name: str
    draw: Callable[[int, Generator], Sample]
    largest: int
    test: Sample
    truth: Floats | None = None  # probabilities of the labels of test, if they are known

    def losses(self, score: Floats) -> Floats:
        """Return the mean log loss and Brier score of scores of the test data."""
        if score.ndim == 2:
            right = score[np.arange(len(score)), self.test.label]
            return np.array([-np.log(right).mean(), ((score**2).sum(axis=1) - 2 * right + 1).mean()])
        truth = self.test.label.astype(np.float64) if self.truth is None else self.truth
        logs = np.where(truth > 0, truth * np.log(score), 0)
        logs += np.where(truth < 1, (1 - truth) * np.log1p(-score), 0)
        return np.array([-logs.mean(), (truth * (1 - score) ** 2 + (1 - truth) * score**2).mean()])


def shape(
    name: str, spread: Callable[[int, Generator], Floats], true: Callable[[Floats], Floats], size: int = 1
) -> Source:
    """Return simulated pairs: log-odds, and the true probability as a function of them; clusters of a size.

    The labels of a cluster share a uniform number with probability sqrt(0.3), so that they have correlation
    0.3 given equal scores; the scores of a cluster share half of the variance.
    """

    def draw(n: int, rng: Generator) -> Sample:
        if size == 1:
            odds = spread(n, rng)
            return Sample(expit(odds), rng.random(n) < true(odds))
        cluster = np.arange(n) // size
        odds = (spread(n, rng) + spread(cluster[-1] + 1, rng)[cluster]) / np.sqrt(2)
        own = np.where(rng.random(n) < 0.3**0.25, rng.random(cluster[-1] + 1)[cluster], rng.random(n))
        return Sample(expit(odds), own < true(odds), cluster)

    odds = spread(TEST, np.random.default_rng(1))
    return Source(name, draw, SIZES[-1], Sample(expit(odds), np.zeros(TEST, bool)), true(odds))


def normal(mean: float, deviation: float) -> Callable[[int, Generator], Floats]:
    """Return a function that draws normal log-odds."""
    return lambda n, rng: rng.normal(mean, deviation, n)


def simulated() -> Iterator[Source]:
    """Yield simulated shapes: common and rare events, independent and clustered."""
    common, rare = normal(0, 1.5), normal(-5, 2)
    yield shape("calibrated", common, expit)
    yield shape("calibrated, extreme scores", normal(0, 5), expit)
    yield shape("calibrated, clusters of 20", common, expit, 20)
    yield shape("overconfident", common, lambda z: expit(z / 1.5))
    yield shape("overconfident, clusters of 20", common, lambda z: expit(z / 1.5), 20)
    yield shape("slightly overconfident", common, lambda z: expit(z / 1.1))
    yield shape("all scores too low", common, lambda z: expit(z + 0.3))
    yield shape("wave", common, lambda z: np.clip(expit(z) + 0.1 * np.sin(3 * z), 0.01, 0.99))
    yield shape("two steps", common, lambda z: np.where(z < 0, 0.2, 0.7))
    yield shape("rare, calibrated", rare, expit)
    yield shape("rare, overconfident", rare, lambda z: expit(0.7 * z - 1))
    yield shape("rare, overconfident, clusters of 20", rare, lambda z: expit(0.7 * z - 1), 20)


def pool(name: str, whole: Sample) -> Source:
    """Return real pairs, half of them to draw from and half to test on; clusters stay whole."""
    rng = np.random.default_rng(2)
    units = np.arange(len(whole.score)) if whole.cluster is None else whole.cluster
    half = (rng.permutation(int(units.max()) + 1) % 2 == 0)[units]
    dev, test = whole.at(np.flatnonzero(half)), whole.at(np.flatnonzero(~half)[:TEST])
    own, code = np.unique(units[half], return_inverse=True)

    def draw(n: int, rng: Generator) -> Sample:
        rank = rng.permutation(len(own))[code]  # whole clusters, in a random order
        return dev.at(np.argsort(rank, kind="stable")[:n])

    return Source(name, draw, len(dev.score) // 2, test)


def real() -> Iterator[Source]:
    """Yield the shipped predictions, and those of the data folder."""
    for corpus in ("100k", "dated"):
        for model in ("naive-bayes", "logistic-regression"):
            table = parquet.read_table(predictions(corpus, model))
            columns = (table[name].to_numpy() for name in ("score", "label"))
            yield pool(f"tweets ({corpus}), {model}", Sample(*columns))
    table = parquet.read_table(tagger_predictions())
    _, cluster = np.unique(table["cluster"].to_numpy(), return_inverse=True)
    yield pool("tagger, all tags", Sample(table["score"].to_numpy(), table["label"].to_numpy(), cluster))
    folder = Path(os.environ.get("CALIBRANT_DATA", "")) / "nli-logits"
    for name in ("snli-test-roberta-base", "mnli-test-roberta-base", "snli-test-bert-base-uncased"):
        if (folder / f"{name}.npz").exists():
            arrays = np.load(folder / f"{name}.npz")
            prob, label = softmax(arrays["logits_0"].astype(np.float64), axis=1), arrays["labels"]
            top = prob.argmax(axis=1)
            yield pool(f"{name}, top label", Sample(prob.max(axis=1), top == label))
            yield pool(f"{name}, rows", Sample(prob, label))


def compared(source: Source, n: int, samples: int) -> str:
    """Return a row of the table: mean losses without a map, and differences from them."""
    rows = source.test.score.ndim == 2
    maps: dict[str, Any] = {
        "auto": Auto(),
        "line": VectorScaling() if rows else Platt(),
        "isotonic": Isotonic(),
    }
    with np.errstate(divide="ignore", invalid="ignore"):
        base = source.losses(source.test.score)
    gaps: dict[str, list[Floats]] = {name: [] for name in maps}
    chosen: Counter[str] = Counter()
    for number in range(samples):
        sample = source.draw(n, np.random.default_rng([0, number]))
        if (sample.label == sample.label[0]).all():  # no map can be fitted
            gaps["auto"].append(np.zeros(2))
            chosen["none"] += 1
            continue
        for name, estimator in maps.items():
            try:
                fitted = estimator.fit(sample.score, sample.label, clusters=sample.cluster)
            except InputError:  # one label, or labels that a threshold separates
                continue
            with np.errstate(divide="ignore", invalid="ignore"):  # a label has probability 0
                gaps[name].append(source.losses(fitted.transform(source.test.score)) - base)
            if name == "auto":
                chosen[fitted.chosen_name_] += 1
    cells = [source.name, f"{n:,}", *(f"{loss:.4f}" for loss in base)]
    harm = ""
    for loss in (0, 1):
        own = np.array(gaps["auto"])[:, loss] * 1e3
        error = own.std(ddof=1) / np.sqrt(len(own))
        cells.append(f"{round(own.mean(), 2) + 0.0:+.2f} ± {error:.2f}")
        harm = "yes" if harm or np.isinf(own.mean()) or own.mean() > BEYOND * error > 0 else ""
    for name in ("line", "isotonic"):
        mean = np.mean([gap[0] for gap in gaps[name]]) * 1e3 if gaps[name] else np.nan
        cells.append("-" if np.isnan(mean) else "infinite" if np.isinf(mean) else f"{mean:+.2f}")
    used = ", ".join(
        f"{name} {100 * count / sum(chosen.values()):.0f} %" for name, count in chosen.most_common(3)
    )
    return "| " + " | ".join([*cells, used, harm]) + " |"


def main(samples: int) -> None:
    """Write the page."""
    lines = []
    for source in (*simulated(), *real()):
        for n in SIZES:
            if n <= source.largest:
                times = max(5, samples * min(n, 1_000) // n if n > 1_000 else samples)
                times = max(5, times // 4) if source.test.score.ndim == 2 else times
                lines.append(compared(source, n, times))
                print(lines[-1], file=sys.stderr, flush=True)
    harmed = sum(line.endswith("| yes |") for line in lines)
    TARGET.write_text(
        PAGE.format(samples=samples, head=HEAD, table="\n".join(lines), rows=len(lines), harmed=harmed),
        "utf-8",
    )


PAGE = """\
# The default map and no map

By default, `calibrant fit` uses [the simplest map that is as good as the
best](../guide/recalibrate.md#the-default-map), or no map. The table compares it with the unchanged
scores. Each row has dev sets of n pairs: {samples} for n up to 1,000, and fewer for larger n (in
proportion to 1 / n, at least 5). Rows of several classes have a quarter of these numbers. The losses are
those of other data. In simulated data they are expectations over the labels.

The columns *log loss* and *Brier score* are without a map. The next two columns have the mean difference
of the default map from them, in thousandths, with a standard error: a negative number is an improvement.
The columns *line* and *isotonic* have the mean difference of the log loss of `platt` (`vector` for rows)
and of `isotonic`. It is infinite if a label of the test data has probability 0 after the map. The last
column marks rows in which a difference of the default map is more than two standard errors above 0:
{harmed} of {rows} rows.

`python scripts/map_choice.py {samples}` writes this page.

{head}
|---|---:|---:|---:|---:|---:|---:|---:|---|---|
{table}

Clusters of 20 have labels with correlation 0.3 given equal scores. Real data are divided into two halves: dev
sets are drawn from one half (whole clusters, if there are any), and the losses are those of the other.
"""

HEAD = (
    "| data | n | log loss | Brier score | default: log loss | default: Brier score | line | isotonic "
    "| maps used by the default | worse |"
)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else SAMPLES)
