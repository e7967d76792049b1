"""Draws of three judged systems, and the intervals of calibrant and of other libraries on them."""

from __future__ import annotations

import logging
import math
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import combinations, product
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from run_coverage_draws import center

from calibrant.estimation import JudgedTable, judged_systems
from calibrant.evaluation.significance import mean_interval
from calibrant.exceptions import InputError

DRAWS = 300
SLOW_DRAWS = 60  # of methods that resample, in a loop or 20,000 times
SYSTEMS = ("A", "B", "C")
PAIRS = tuple(combinations(range(3), 2))
SPREAD, SHARED, BETWEEN = 1.5, 0.5, 0.4  # of the log-odds: deviation, between prompts, between clusters
GAP = 0.08  # by which C is worse than A and B, which are equal
ABOUT = {"right or wrong": (0.0, 1.0), "graded": (0.0, 1.0), "grades 1 to 5": (1.0, 5.0)}

Floats = NDArray[np.float64]
Ends = tuple[float, float] | None


@dataclass(frozen=True)
class Cell:
    """One situation."""

    kind: str
    judge: str
    labels: int  # per system
    design: str = "same prompts"
    mean: float = 0.7  # of A and B

    @property
    def name(self) -> str:
        """Name, of which the seed is made."""
        return "/".join(str(value) for value in vars(self).values())

    @property
    def prompts(self) -> int:
        """Number of prompts."""
        return max(400, 2 * self.labels)

    @property
    def clustered(self) -> bool:
        """True if prompts are in clusters."""
        return "cluster" in self.design

    @property
    def paired(self) -> bool:
        """True if the labels of all systems are those of the same prompts."""
        return self.clustered or self.design == "same prompts"


def cells() -> Iterator[Cell]:
    """Yield the cells of the grid."""
    kinds, two = tuple(ABOUT), ("good", "biased")
    for judge, kind, labels in product(two, kinds[:2], (30, 100, 300)):
        yield Cell(kind, judge, labels)
    for judge, kind in product(("useless", "saturated"), kinds[:2]):
        yield Cell(kind, judge, 100)
    for judge in (*two, "saturated"):
        yield Cell(kinds[2], judge, 100)
    for kind, judge, labels in product(kinds[:2], two, (30, 100)):
        yield Cell(kind, judge, labels, "other prompts")
    for kind, mean, labels in product(kinds[:2], (0.03, 0.97), (50, 200)):
        yield Cell(kind, "good", labels, mean=mean)
    for kind, design, labels in product(kinds[:2], ("whole clusters", "some of each cluster"), (100, 300)):
        yield Cell(kind, "biased", labels, design)
    for judge, labels in zip(two, (60, 160), strict=True):
        yield Cell(kinds[0], judge, labels, "by outcome")
    for kind, labels in zip(kinds[:2], (60, 100), strict=True):
        yield Cell(kind, "good", labels, "by score")
    for kind, judge in zip(kinds[:2], two, strict=True):
        yield Cell(kind, judge, 1000)


SMALL = (
    Cell("right or wrong", "good", 100),
    Cell("graded", "biased", 30, "other prompts"),
    Cell("grades 1 to 5", "saturated", 100),
    Cell("graded", "biased", 100, "whole clusters"),
    Cell("right or wrong", "good", 200, mean=0.97),
    Cell("graded", "good", 100, "by score"),
)


@dataclass(frozen=True)
class Draw:
    """Judge scores (3, prompts), labels with NaN, probabilities of a label, clusters; and the true means."""

    judge: Floats
    label: Floats
    chance: Floats | None
    cluster: NDArray[np.int64] | None
    truth: Floats
    low: float
    high: float

    @property
    def known(self) -> NDArray[np.bool_]:
        """(3, prompts) True where there is a label."""
        return ~np.isnan(self.label)

    @property
    def binary(self) -> bool:
        """True if labels and scores are 0 or 1."""
        return bool(np.isin(self.judge, (0, 1)).all() and np.isin(self.label[self.known], (0, 1)).all())

    @property
    def paired(self) -> bool:
        """True if the same prompts are labeled for all systems."""
        return bool((self.known == self.known[0]).all())


def draw(cell: Cell, rng: np.random.Generator) -> Draw:
    """Return new prompts, answers, scores and labels."""
    shape = (3, cell.prompts)
    gap = min(GAP, cell.mean / 2, (1 - cell.mean) / 2) if cell.mean in (0.03, 0.97) else GAP
    means = np.array([cell.mean, cell.mean, cell.mean - gap])
    prompt, cluster = rng.normal(size=cell.prompts), None
    if cell.clustered:
        sizes = np.ceil(np.exp(rng.normal(math.log(6), 0.7, cell.prompts))).astype(np.int64)
        cluster = np.repeat(np.arange(cell.prompts), sizes)[: cell.prompts]
        of_cluster = rng.normal(size=cell.prompts)[cluster]
        prompt = math.sqrt(BETWEEN / SHARED) * of_cluster + math.sqrt(1 - BETWEEN / SHARED) * prompt
    latent = math.sqrt(SHARED) * prompt + math.sqrt(1 - SHARED) * rng.normal(size=shape)
    middle = np.array([center(mean) for mean in means])[:, None]
    chance = 1 / (1 + np.exp(-(middle + SPREAD * latent)))
    low, high = ABOUT[cell.kind]
    if cell.kind == "right or wrong":
        quality = (rng.random(shape) < chance).astype(np.float64)
    elif cell.kind == "graded":
        quality = rng.beta(4 * chance, 4 * (1 - chance))
    else:
        quality = rng.binomial(4, chance) / 4
    judge = judged(cell, quality, rng)
    known, probability = chosen(cell, quality, judge, cluster, rng)
    width = high - low
    return Draw(
        low + width * judge,
        np.where(known, low + width * quality, np.nan),
        probability,
        cluster,
        low + width * means,
        low,
        high,
    )


def judged(cell: Cell, quality: Floats, rng: np.random.Generator) -> Floats:
    """Return the scores of the judge in [0, 1]."""
    binary, shape = cell.kind == "right or wrong", quality.shape
    uniform = rng.random(shape)
    if cell.judge == "useless":
        scores = (uniform < 0.6).astype(np.float64) if binary else uniform
    elif cell.judge == "saturated":
        lenient = 1 - 0.3 * (1 - quality) * (uniform < 0.4)
        scores = (uniform < np.where(quality == 1, 0.98, 0.9)).astype(np.float64) if binary else lenient
    elif binary:
        scores = (uniform < np.where(quality == 1, 0.9, 0.15)).astype(np.float64)
    else:
        scores = np.clip(0.15 + 0.8 * quality + 0.15 * rng.normal(size=shape), 0, 1)
    if cell.judge == "biased":  # it is lenient to B
        lenient_to = rng.random(shape[1]) < 0.4
        scores[1] = np.maximum(scores[1], lenient_to) if binary else np.clip(scores[1] + 0.2, 0, 1)
    if cell.kind == "grades 1 to 5":
        scores = np.round(4 * scores) / 4
    return scores


def chosen(
    cell: Cell,
    quality: Floats,
    judge: Floats,
    cluster: NDArray[np.int64] | None,
    rng: np.random.Generator,
) -> tuple[NDArray[np.bool_], Floats | None]:
    """Return which answers have labels, and with which probability if it differs between answers."""
    known = np.zeros(quality.shape, np.bool_)
    if cell.design == "whole clusters" and cluster is not None:
        order = rng.permutation(cluster[-1] + 1)
        sizes = np.bincount(cluster)[order].cumsum()
        known[:, np.isin(cluster, order[: int(np.searchsorted(sizes, cell.labels)) + 1])] = True
    elif cell.paired:
        known[:, rng.choice(cell.prompts, cell.labels, replace=False)] = True
    elif cell.design == "other prompts":
        for row in known:
            row[rng.choice(cell.prompts, cell.labels, replace=False)] = True
    elif cell.design == "by outcome":  # half right, half wrong
        for row, own in zip(known, quality, strict=True):
            for kind in (0, 1):
                row[rng.choice(np.flatnonzero(own == kind), cell.labels // 2, replace=False)] = True
    else:  # low scores more often
        probability = 1.4 - judge
        probability *= cell.labels / probability.sum(axis=1, keepdims=True)
        known = rng.random(known.shape) < probability
        return known, probability
    return known, None


@dataclass(frozen=True)
class Answer:
    """Ends of intervals: of the three means, and of the three differences; None without one."""

    means: tuple[Ends, ...] | None = None
    differences: tuple[Ends, ...] | None = None
    warned: tuple[float, float] = (0.0, 0.0)  # fraction of both with a warning
    errors: tuple[str, ...] = ()


def attempt(call: Callable[[], Ends], errors: list[str]) -> Ends:
    """Return the ends, or None if the call raises or gives ends that are not finite."""
    try:
        ends = call()
    except Exception as error:  # every library has other ones
        errors.append(f"{type(error).__name__}: {str(error).splitlines()[0][:90]}" if str(error) else "error")
        return None
    if ends is None or not all(math.isfinite(end) for end in ends):
        errors.append("no finite ends")
        return None
    return float(ends[0]), float(ends[1])


def each(
    one: Draw,
    mean: Callable[[int], Ends] | None,
    difference: Callable[[int, int], Ends] | None,
) -> Answer:
    """Return the answer of a method that is called per system and per pair."""
    errors: list[str] = []
    means = None if mean is None else tuple(attempt(lambda s=s: mean(s), errors) for s in range(3))  # type: ignore[misc]
    pairs = None
    if difference is not None:
        pairs = tuple(attempt(lambda p=p: difference(*p), errors) for p in PAIRS)  # type: ignore[misc]
    return Answer(means, pairs, errors=tuple(errors))


def of_calibrant(one: Draw) -> dict[str, Answer]:
    """Return calibrant's intervals: corrected, by Rogan and Gladen, of the labels, and of the judge alone."""
    number = one.judge.shape[1]
    table = JudgedTable(
        SYSTEMS,
        np.repeat(np.arange(3), number),
        np.tile(np.arange(number), 3),
        one.judge.ravel(),
        one.label.ravel(),
        None if one.cluster is None else np.tile(one.cluster, 3),
        None if one.chance is None else one.chance.ravel(),
        low=one.low,
        high=one.high,
    )
    names = ("calibrant", "calibrant, rogan-gladen", "labels alone", "judge alone")
    try:
        found = judged_systems(table, methods="rogan-gladen")
    except InputError as error:
        refused = Answer((None,) * 3, (None,) * 3, errors=(str(error).splitlines()[0][:90],))
        return dict.fromkeys(names, refused)
    rows = {row.system: row for row in found.systems}
    ordered = [rows[name] for name in SYSTEMS]
    rates = {row.system: row.mean for row in found.methods}

    def ends(quantity: Any) -> Ends:
        return None if quantity.low is None else (quantity.low, quantity.high)

    warned = (
        sum(row.mean_warning is not None for row in ordered) / 3,
        sum(pair.difference_warning is not None for pair in found.differences) / 3,
    )
    reasons = [row.corrected.reason for row in ordered if row.corrected.low is None]
    reasons += [row.difference.reason for row in found.differences if row.difference.low is None]
    return {
        "calibrant": Answer(
            tuple(ends(row.corrected) for row in ordered),
            tuple(ends(pair.difference) for pair in found.differences),
            warned,
            tuple(str(reason)[:90] for reason in reasons),
        ),
        "calibrant, rogan-gladen": Answer(
            tuple(ends(rates[name]) for name in SYSTEMS) if one.binary and one.chance is None else None,
            errors=tuple(str(rates[s].reason)[:90] for s in SYSTEMS if one.binary and rates[s].low is None),
        ),
        "labels alone": Answer(tuple(ends(row.labels_alone) for row in ordered), labels_alone(one)),
        "judge alone": Answer(tuple(ends(row.judge_alone) for row in ordered), judge_alone(one)),
    }


def student(one: Draw, first: Floats, second: Floats) -> Ends:
    """Return the paired interval of two systems; values are NaN for prompts that do not count."""
    both = ~np.isnan(first) & ~np.isnan(second)
    gap = (first - second)[both]
    if not len(gap) or np.ptp(gap) == 0:
        return None
    clusters = None if one.cluster is None else np.unique(one.cluster[both], return_inverse=True)[1]
    ends = mean_interval(gap, clusters=clusters).mean
    return None if ends.low is None or ends.high is None else (ends.low, ends.high)


def labels_alone(one: Draw) -> tuple[Ends, ...] | None:
    """Return the intervals of the differences of the labels: paired, or Welch's."""
    from scipy.stats import ttest_ind

    if one.chance is not None:
        return None
    if one.paired:
        return tuple(student(one, one.label[i], one.label[j]) for i, j in PAIRS)
    known = [row[~np.isnan(row)] for row in one.label]
    found: list[Ends] = []
    for i, j in PAIRS:
        if np.ptp(known[i]) == 0 and np.ptp(known[j]) == 0:
            found.append(None)
            continue
        ends = ttest_ind(known[i], known[j], equal_var=False).confidence_interval(0.95)
        found.append((float(ends.low), float(ends.high)))
    return tuple(found)


def judge_alone(one: Draw) -> tuple[Ends, ...]:
    """Return the intervals of the differences of the judge's scores."""
    return tuple(student(one, one.judge[i], one.judge[j]) for i, j in PAIRS)


Method = Callable[[Draw], Answer]
PEERS = ("CJE", "truescore", "truescore, rogan-gladen", "glide", "glide, PTD", "ppi_py", "judgy", "evalstats")
SLOW = ("glide, PTD", "judgy", "CJE")


@cache
def peers() -> dict[str, Method]:
    """Return the other libraries' intervals, by name; without those that are not installed."""
    found: dict[str, Method] = {}
    for make in (of_cje, of_truescore, of_glide, of_ppi_py, of_judgy, of_evalstats):
        try:
            found |= make()
        except ImportError:
            continue
    return found


def of_cje() -> dict[str, Method]:
    """CJE: all systems at once."""
    from cje import analyze_dataset

    logging.getLogger("cje").setLevel(logging.CRITICAL)

    def run(one: Draw) -> Answer:
        data = {
            name: [
                {
                    "prompt_id": f"p{number if one.cluster is None else one.cluster[number]}",
                    "row_id": f"{name}{number}",
                    "judge_score": float(score),
                    "oracle_label": None if math.isnan(label) else float(label),
                }
                for number, (score, label) in enumerate(zip(one.judge[s], one.label[s], strict=True))
            ]
            for s, name in enumerate(SYSTEMS)
        }
        design: dict[str, Any] = {}
        if one.chance is not None:
            design["label_design"] = "known_propensity"
            design["label_propensities"] = dict(zip(SYSTEMS, one.chance, strict=True))
        scale = (one.low, one.high)
        try:
            found = analyze_dataset(
                fresh_draws_data=data, fresh_judge_scale=scale, fresh_oracle_scale=scale, **design
            )
        except Exception as error:
            text = f"{type(error).__name__}: {str(error).splitlines()[0][:90]}"
            return Answer((None,) * 3, (None,) * 3, errors=(text,))
        order = list(found.metadata["target_policies"])
        ends = found.ci()
        errors: list[str] = []

        def difference(i: int, j: int) -> Ends:
            pair = found.compare_policies(SYSTEMS[i], SYSTEMS[j])
            return pair["ci_lower"], pair["ci_upper"]

        return Answer(
            tuple(attempt(lambda s=s: ends[order.index(s)], errors) for s in SYSTEMS),  # type: ignore[misc]
            tuple(attempt(lambda p=p: difference(*p), errors) for p in PAIRS),  # type: ignore[misc]
            errors=tuple(errors),
        )

    return {"CJE": run}


def of_truescore() -> dict[str, Method]:
    """truescore: `ppi_estimate`, `ppi_compare` and `rogan_gladen_estimate`."""
    from truescore.compare import ppi_compare
    from truescore.correct import ppi_estimate, rogan_gladen_estimate

    def powered(one: Draw) -> Answer:
        def mean(s: int) -> Ends:
            place = np.flatnonzero(one.known[s])
            ends = ppi_estimate(one.judge[s], one.label[s, place], place, clusters=one.cluster)
            return ends.low, ends.high

        def difference(i: int, j: int) -> Ends:
            place = np.flatnonzero(one.known[i])
            labels = one.label[i, place], one.label[j, place]
            ends = ppi_compare(one.judge[i], one.judge[j], *labels, place, clusters=one.cluster)
            return ends.low, ends.high

        if one.chance is not None:
            return Answer()
        return each(one, mean, difference if one.paired else None)

    def rates(one: Draw) -> Answer:
        def mean(s: int) -> Ends:
            place = np.flatnonzero(one.known[s])
            ends = rogan_gladen_estimate(one.judge[s], one.label[s, place], place)
            return ends.low, ends.high

        return each(one, mean, None) if one.binary and one.chance is None else Answer()

    return {"truescore": powered, "truescore, rogan-gladen": rates}


def of_glide() -> dict[str, Method]:
    """glide: PPI++, by whole clusters or with probabilities of a label, and predict-then-debias."""
    from glide.estimators import (
        ASIMeanEstimator,
        ClusteredPPIMeanEstimator,
        ClusteredPTDMeanEstimator,
        IPWPTDMeanEstimator,
        PPIMeanEstimator,
        PTDMeanEstimator,
    )

    def method(plain: Any, clustered: Any, weighted: Any, **options: Any) -> Method:
        def run(one: Draw) -> Answer:
            def ends(label: Floats, judge: Floats, chance: Floats | None) -> Ends:
                if chance is not None:
                    found = weighted().estimate(label, judge, chance, **options)
                elif one.cluster is not None:
                    found = clustered().estimate(label, judge, one.cluster, **options)
                else:
                    found = plain().estimate(label, judge, **options)
                interval = found.confidence_interval
                return interval.lower_bound, interval.upper_bound

            def mean(s: int) -> Ends:
                return ends(one.label[s], one.judge[s], None if one.chance is None else one.chance[s])

            def difference(i: int, j: int) -> Ends:
                return ends(one.label[i] - one.label[j], one.judge[i] - one.judge[j], None)

            return each(one, mean, difference if one.paired else None)

        return run

    return {
        "glide": method(PPIMeanEstimator, ClusteredPPIMeanEstimator, ASIMeanEstimator),
        "glide, PTD": method(PTDMeanEstimator, ClusteredPTDMeanEstimator, IPWPTDMeanEstimator, random_seed=0),
    }


def of_ppi_py() -> dict[str, Method]:
    """ppi_py: `ppi_mean_ci`, of means and of differences within prompts."""
    from ppi_py import ppi_mean_ci

    def run(one: Draw) -> Answer:
        def ends(label: Floats, judge: Floats, chance: Floats | None = None) -> Ends:
            known = ~np.isnan(label)
            weights: dict[str, Floats] = {}
            if chance is not None:  # neither part is a random sample
                weights = {"w": 1 / chance[known], "w_unlabeled": 1 / (1 - chance[~known])}
            low, high = ppi_mean_ci(label[known], judge[known], judge[~known], alpha=0.05, **weights)
            return float(np.squeeze(low)), float(np.squeeze(high))

        def mean(s: int) -> Ends:
            return ends(one.label[s], one.judge[s], None if one.chance is None else one.chance[s])

        def difference(i: int, j: int) -> Ends:
            return ends(one.label[i] - one.label[j], one.judge[i] - one.judge[j])

        return each(one, mean, difference if one.paired else None)

    return {"ppi_py": run}


def of_judgy() -> dict[str, Method]:
    """judgy: `estimate_success_rate`, with its 20,000 resamples."""
    from judgy import estimate_success_rate

    def run(one: Draw) -> Answer:
        def mean(s: int) -> Ends:
            known = one.known[s]
            np.random.seed(0)  # noqa: NPY002 - its only source of randomness
            return estimate_success_rate(  # type: ignore[no-any-return]
                one.label[s, known], one.judge[s, known], one.judge[s, ~known], bootstrap_iterations=1000
            )[1:]

        return each(one, mean, None) if one.binary and one.chance is None else Answer()

    return {"judgy": run}


def of_evalstats() -> dict[str, Method]:
    """evalstats: `ppi.correct` of means and of differences within prompts; `tests.ttest` of two samples."""
    import evalstats

    # Its t-test also makes a report of several seconds on the judge, which no interval depends on.
    evalstats.tests._run_alignment_report = lambda *_: SimpleNamespace(n_labeled=0, n_total=0)

    def ends(label: Floats, judge: Floats) -> Ends:
        known = ~np.isnan(label)
        found = evalstats.ppi.correct(
            np.mean,
            Y_lab=label[known],
            Y_hat_lab=judge[known],
            Y_hat_unlab=judge[~known],
            backend="analytic",
        )
        return found.ci_low, found.ci_high

    def run(one: Draw) -> Answer:
        def difference(i: int, j: int) -> Ends:
            if one.paired:
                return ends(one.label[i] - one.label[j], one.judge[i] - one.judge[j])
            found = evalstats.tests.ttest(
                one.judge[i], one.judge[j], a_lab=one.label[i], b_lab=one.label[j], print_result=False
            )
            low, high = found.corrected_ci
            return low, high

        if one.chance is not None:
            return Answer()
        return each(one, lambda s: ends(one.label[s], one.judge[s]), difference)

    return {"evalstats": run}


def measured(cell: Cell, draws: int, slow_draws: int, *, own: bool = False) -> dict[str, Any]:
    """Return coverage, width and refusals of every method in a cell; of calibrant's alone with ``own``."""
    rng = np.random.default_rng(zlib.crc32(cell.name.encode()))
    rows: dict[str, list[tuple[Draw, Answer]]] = {}
    seconds: dict[str, float] = {}
    for number in range(draws):
        one = draw(cell, rng)
        started = time.process_time()
        answers = of_calibrant(one)
        seconds["calibrant"] = seconds.get("calibrant", 0.0) + time.process_time() - started
        for name, method in () if own else peers().items():
            if name in SLOW and number >= slow_draws:
                continue
            started = time.process_time()
            answers[name] = method(one)
            seconds[name] = seconds.get(name, 0.0) + time.process_time() - started
        for name, answer in answers.items():
            rows.setdefault(name, []).append((one, answer))
    found = {name: summary(of) for name, of in rows.items()}
    few = {name: summary(rows[name][:slow_draws]) for name in ("calibrant", "labels alone")}
    return {
        "name": cell.name,
        "cell": vars(cell),
        "draws": draws,
        "slow_draws": slow_draws,
        "methods": found,
        "few": few,
        "call_seconds": {name: round(spent, 2) for name, spent in seconds.items()},
    }


def summary(rows: list[tuple[Draw, Answer]]) -> dict[str, Any]:
    """Return the numbers of a method: percentages, and mean widths in units of the labels' range."""
    width = rows[0][0].high - rows[0][0].low
    found: dict[str, Any] = {}
    for part in ("means", "differences"):
        ends = [getattr(answer, part) for _, answer in rows]
        if ends[0] is None:
            continue
        hits, widths = [], []
        for (one, _), three in zip(rows, ends, strict=True):
            limits, truth = (one.low, one.high), list(one.truth)
            if part == "differences":
                limits, truth = (-width, width), [one.truth[i] - one.truth[j] for i, j in PAIRS]
            for pair, of in zip(three, truth, strict=True):
                if pair is None:
                    continue
                low, high = (min(limits[1], max(limits[0], end)) for end in pair)
                hits.append(low - 1e-12 <= of <= high + 1e-12)
                widths.append((high - low) / width)
        found[part] = {
            "coverage": 100 * float(np.mean(hits)) if hits else None,
            "width": float(np.mean(widths)) if widths else None,
            "none": 100 * (1 - len(hits) / (3 * len(rows))),
            "warned": 100 * float(np.mean([answer.warned[part == "differences"] for _, answer in rows])),
        }
        if part == "differences":
            equal = [three[0] for three in ends if three[0] is not None]
            worse = [three[1] for three in ends if three[1] is not None]
            found["false"] = (
                100 * float(np.mean([not low <= 0 <= high for low, high in equal])) if equal else None
            )
            found["found"] = 100 * float(np.mean([low > 0 for low, _ in worse])) if worse else None
    errors = Counter(text for _, answer in rows for text in answer.errors)
    found["errors"] = dict(errors.most_common(2))
    return found
