"""Judge models on real answers: which system they prefer, and what labels say.

A small judge model scored answers of four systems to prompts of Chatbot Arena, and a large one some of them.
In SummEval, three experts and six models graded the summaries of 16 systems of the same 100 articles. In
AlpacaEval, cheap judges and a better one compared the answers of six systems with those of a reference.
"""

from __future__ import annotations

import csv
import gzip
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from calibrant.estimation import JudgedTable, judged_systems
from calibrant.estimation.results.judging import JudgedDifference, JudgedSystems
from calibrant.evaluation.significance import paired_t_test
from calibrant.metrics.multiplicity import adjusted_p_values
from calibrant.records import Quantity
from calibrant.seeds import generator_of
from calibrant_studies import _judges_preferences as preferred
from calibrant_studies._base import Finding, Row, Study, digest
from calibrant_studies._verdicts import below
from calibrant_studies.arrays import Floats, Integers
from calibrant_studies.datasets._folders import real_data, required

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SEED = 20261128
ARENA, GRADES = "judged-arena", "model-annotators/summeval.tsv.gz"
CANDIDATES = ("clone", "parallel-universe-prompt", "unhelpful")
MARGIN = 0.1  # of the transport test; a tenth of the range of grades is 0.4
ASPECTS = ("coherence", "consistency", "fluency", "relevance")
JUDGES = ("gemini_flash", "gemini_pro", "gpt-4o", "gpt-4o-mini", "llama-31", "mistral-v03")
EXPERTS = ("e0", "e1", "e2")
LOW, HIGH = 1.0, 5.0
DRAWN, LABELS, REPLICATIONS = 600, (30, 100, 300), 20
SHOWN = ("right", "wrong", "undecided")
METHODS = preferred.METHODS
LEVEL = 0.05
# Mean residual of `unhelpful` in the documentation of the data's source, whose map is another one.
PUBLISHED = "-0.331 [-0.403, -0.259]"


@dataclass(frozen=True)
class Grades:
    """Grades of one aspect: (systems, articles) of a judge, and the mean of three experts."""

    aspect: str
    judge_name: str
    systems: tuple[str, ...]
    judge: Floats
    label: Floats

    @property
    def pairs(self) -> tuple[list[int], list[int]]:
        """Places of the first and the second system of each pair."""
        first, second = np.triu_indices(len(self.systems), 1)
        return first.tolist(), second.tolist()


def run(*, data: Path | None = None, seed: int = SEED) -> Study:
    """Compare judges, labels and corrected means on real answers; takes some minutes.

    Parameters
    ----------
    data
        Folder that has ``judged-arena/``, ``model-annotators/`` and ``alpaca-eval/``.
    seed
        Seed of the articles and prompts that are drawn.

    Returns
    -------
    Study
        With the tables of its page.

    Raises
    ------
    InputError
        If there is no folder, or a file is missing.

    Examples
    --------
    >>> run()
    Traceback (most recent call last):
    calibrant.exceptions.InputError: the study judges needs real data: run `calibrant data fetch ...
    """
    data = real_data("judges", data)
    started = time.perf_counter()
    files = sources(data)
    found = arena(data)
    graded = grades(data)
    drawn = tallies(graded, seed, REPLICATIONS)
    tables = {
        "arena": arena_rows(found),
        "differences": difference_rows(found),
        "transport": transport_rows(found),
        "pairs": [pairs_row(one) for one in graded],
        "labels": labels_rows(drawn),
        "coverage": coverage_rows(drawn),
        "systems": [systems_row(one) for one in graded],
        **preferred.preference_tables(preferred.preferences(required(data, preferred.FILE)), seed),
    }
    return Study(
        name="judges",
        title="Judge models and labels on real answers",
        command="calibrant study judges",
        seed=seed,
        wall_seconds=time.perf_counter() - started,
        data={path.relative_to(data).as_posix(): digest(path) for path in files},
        parameters={
            "level": 1 - LEVEL,
            "replications": REPLICATIONS,
            "articles drawn": DRAWN,
            "margin": MARGIN,
            "draws of prompts": preferred.DRAWS,
        },
        findings=tuple(findings(tables)),
        tables=tables,
    )


def sources(data: Path) -> list[Path]:
    """Every file that the study reads."""
    parts = ["base.fresh", *(f"{name}.{part}" for name in CANDIDATES for part in ("fresh", "probe"))]
    return [
        required(data, file)
        for file in (*(f"{ARENA}/{part}.csv.gz" for part in parts), GRADES, preferred.FILE)
    ]


def arena(data: Path) -> JudgedSystems:
    """Compare the four systems as `calibrant judge` does; the probes are the labels of the candidates."""
    systems = ("base", *CANDIDATES)
    prompts: dict[str, int] = {}
    codes, items, scores, labels = [], [], [], []
    for code, name in enumerate(systems):
        probes = {} if name == "base" else {row["prompt_id"]: row for row in _rows(data, f"{name}.probe")}
        for row in _rows(data, f"{name}.fresh"):
            prompt = row["prompt_id"]
            label = probes.get(prompt, row)["oracle_label"]
            codes.append(code)
            items.append(prompts.setdefault(prompt, len(prompts)))
            scores.append(float(row["judge_score"]))
            labels.append(float(label) if label else np.nan)
    table = JudgedTable(systems, np.array(codes), np.array(items), np.array(scores), np.array(labels))
    return judged_systems(table, transport_margin=MARGIN)


def _rows(data: Path, part: str) -> list[dict[str, str]]:
    with gzip.open(data / ARENA / f"{part}.csv.gz", "rt", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _ends(name: str, quantity: Quantity) -> Row:
    return {name: quantity.estimate, f"{name}, low": quantity.low, f"{name}, high": quantity.high}


def arena_rows(found: JudgedSystems) -> list[Row]:
    """Return the means of the four systems."""
    return [
        {
            "system": row.system,
            "answers": row.answers,
            "labeled": row.labelled,
            **_ends("judge alone", row.judge_alone),
            **_ends("labels alone", row.labels_alone),
            **_ends("corrected", row.corrected),
            "gain": row.gain.estimate,
        }
        for row in found.systems
    ]


def difference_rows(found: JudgedSystems) -> list[Row]:
    """Return the differences of all pairs of the four systems."""
    return [
        {
            "first": row.first,
            "second": row.second,
            "judge says": row.judge_difference,
            **_ends("difference", row.difference),
            "p (Holm)": row.holm_p_value,
            "verdict": row.verdict,
        }
        for row in found.differences
    ]


def transport_rows(found: JudgedSystems) -> list[Row]:
    """Return whether the labels of `base` correct the judge's scores of the others."""
    return [
        {
            "system": row.system,
            "labels": row.labelled,
            **_ends("residual", row.residual),
            "smallest margin": row.least_margin,
            "verdict": row.verdict,
        }
        for row in found.transport
    ]


def grades(data: Path) -> list[Grades]:
    """Return the grades of each aspect by each judge, beside the experts' mean."""
    given: dict[tuple[str, str], dict[tuple[str, str], float]] = {}
    with gzip.open(data / GRADES, "rt", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            article, system, aspect = row["item"].split("__")
            given.setdefault((aspect, row["annotator"]), {})[system, article] = float(row["label"])
    keys = given[ASPECTS[0], EXPERTS[0]]
    systems = sorted({system for system, _ in keys}, key=lambda name: int(name[1:]))
    articles = sorted({article for _, article in keys})

    def table(aspect: str, annotator: str) -> Floats:
        found = given[aspect, annotator]
        return np.array([[found[system, article] for article in articles] for system in systems])

    return [
        Grades(
            aspect,
            judge,
            tuple(systems),
            table(aspect, judge),
            np.mean([table(aspect, expert) for expert in EXPERTS], axis=0),
        )
        for aspect in ASPECTS
        for judge in JUDGES
    ]


def verdicts(values: Floats, pairs: tuple[Sequence[int], Sequence[int]]) -> list[int]:
    """Return 1 for each pair whose first system is shown to be better, -1 for the second, 0 for neither.

    The tests are paired t-tests with Holm's correction.
    """
    tests = [paired_t_test(values[one], values[other]) for one, other in zip(*pairs, strict=True)]
    adjusted = adjusted_p_values([test.p_value for test in tests])
    return [
        0 if p_value is None or p_value > LEVEL else int(np.sign(test.difference.estimate or 0))
        for test, p_value in zip(tests, adjusted, strict=True)
    ]


def pairs_row(one: Grades) -> Row:
    """Return in how many pairs a judge and the experts show a difference, with all grades of both."""
    by_judge, by_label = (np.array(verdicts(values, one.pairs)) for values in (one.judge, one.label))
    agree = (by_judge == by_label) & (by_label != 0)
    opposite = by_judge * by_label < 0
    return {
        "aspect": one.aspect,
        "judge": one.judge_name,
        "correlation": float(np.corrcoef(one.judge.ravel(), one.label.ravel())[0, 1]),
        "of systems": float(np.corrcoef(one.judge.mean(1), one.label.mean(1))[0, 1]),
        "labels differ": int(np.count_nonzero(by_label)),
        "judge agrees": int(np.count_nonzero(agree)),
        "judge says the opposite": int(np.count_nonzero(opposite)),
        "judge alone differs": int(np.count_nonzero((by_judge != 0) & (by_label == 0))),
    }


def table_of(one: Grades, articles: Integers, labels: int) -> JudgedTable:
    """Return a table of these articles, of which the first have labels for all systems."""
    return preferred.drawn_table(one.systems, one.judge, one.label, articles, labels, low=LOW, high=HIGH)


def systems_row(one: Grades) -> Row:
    """Return for how many systems the labels of the first one correct the judge."""
    found = judged_systems(table_of(one, np.arange(one.label.shape[1]), one.label.shape[1])).transport
    margins = [row.least_margin for row in found if row.least_margin is not None]
    counts = {
        verdict: sum(row.verdict == verdict for row in found)
        for verdict in ("holds", "undecided", "does not hold")
    }
    return {
        "aspect": one.aspect,
        "judge": one.judge_name,
        **counts,
        "smallest margin, median": float(np.median(margins)),
        "largest": max(margins),
    }


@dataclass(frozen=True)
class Tally:
    """Sums over draws of articles.

    Attributes
    ----------
    pairs
        (3, 3) pairs of systems by method and verdict.
    covered
        (draws, 4) intervals, those that cover, those without a warning, and those of them that cover.
    gain
        Median gain of the pairs.
    """

    aspect: str
    judge_name: str
    labels: int
    pairs: Floats
    covered: Floats
    gain: float


def tallies(graded: Sequence[Grades], seed: int, replications: int) -> list[Tally]:
    """Return the verdicts and intervals with few labels, of articles drawn at random.

    Each draw takes articles with replacement, so that the means over all articles are the true values. All
    judges have the same articles.
    """
    found: list[Tally] = []
    for aspect in dict.fromkeys(one.aspect for one in graded):
        own = [one for one in graded if one.aspect == aspect]
        label, places = own[0].label, own[0].pairs
        first, second = places
        gaps = label.mean(axis=1)[first] - label.mean(axis=1)[second]
        rng = generator_of(seed, aspect)
        shape = len(own), len(LABELS)
        pairs, covered = np.zeros((*shape, 3, 3)), np.zeros((*shape, replications, 4))
        gains = np.full((*shape, replications), np.nan)
        for draw in range(replications):
            articles = rng.integers(0, label.shape[1], DRAWN)
            by_label = [_tally(verdicts(label[:, articles[:labels]], places), gaps) for labels in LABELS]
            for row, one in enumerate(own):
                by_judge = _tally(verdicts(one.judge[:, articles], places), gaps)
                for column, labels in enumerate(LABELS):
                    differences = judged_systems(table_of(one, articles, labels)).differences
                    at = row, column
                    pairs[at] += [by_judge, by_label[column], _tally(sides(differences), gaps)]
                    covered[at][draw] = coverage_of(differences, gaps)
                    gains[at][draw] = np.median([pair.gain or 1.0 for pair in differences])
        for at in np.ndindex(*shape):
            judge, labels = own[at[0]].judge_name, LABELS[at[1]]
            found.append(Tally(aspect, judge, labels, pairs[at], covered[at], float(np.median(gains[at]))))
    return found


def sides(differences: Sequence[JudgedDifference]) -> list[int]:
    """Return 1 for each pair whose first system is shown to be better, -1 for the second, 0 for neither."""
    return [(pair.verdict == pair.first) - (pair.verdict == pair.second) for pair in differences]


def coverage_of(differences: Sequence[JudgedDifference], gaps: Floats) -> list[int]:
    """Return the numbers of intervals, of those that cover, without a warning, and of both."""
    counts = [0, 0, 0, 0]
    for pair, gap in zip(differences, gaps, strict=True):
        ends = pair.difference
        if ends.low is None or ends.high is None:
            continue
        inside, silent = ends.low <= gap <= ends.high, pair.difference_warning is None
        counts = [old + new for old, new in zip(counts, (1, inside, silent, inside and silent), strict=True)]
    return counts


def labels_rows(found: Sequence[Tally]) -> list[Row]:
    """Return the percentages of pairs by verdict, by judge and number of labels."""
    rows: list[Row] = []
    for judge in dict.fromkeys(one.judge_name for one in found):
        for labels in LABELS:
            own = [one for one in found if (one.judge_name, one.labels) == (judge, labels)]
            pairs = sum((one.pairs for one in own), np.zeros((3, 3)))
            percent = 100 * pairs / pairs.sum(axis=1, keepdims=True)
            row: Row = {"judge": judge, "labels": labels}
            for place, method in enumerate(METHODS):
                row |= {f"{method}: {SHOWN[side]}": float(percent[place, side]) for side in (0, 1)}
            rows.append(row | {"gain": float(np.median([one.gain for one in own]))})
    return rows


def coverage_rows(found: Sequence[Tally]) -> list[Row]:
    """Return the coverage of the intervals of differences, by aspect and number of labels."""
    rows: list[Row] = []
    for aspect in dict.fromkeys(one.aspect for one in found):
        for labels in LABELS:
            own = [one.covered for one in found if (one.aspect, one.labels) == (aspect, labels)]
            by_draw = np.sum(own, axis=0)  # draws are independent; judges and pairs are not
            number, inside, silent, both = by_draw.sum(axis=0).tolist()
            coverages = 100 * by_draw[:, 1] / by_draw[:, 0]
            rows.append(
                {
                    "aspect": aspect,
                    "labels": labels,
                    "coverage": 100 * inside / number,
                    "standard error": float(coverages.std(ddof=1) / np.sqrt(len(coverages)))
                    if len(coverages) > 1
                    else None,
                    "without a warning": 100 * silent / number,
                    "coverage of these": 100 * both / silent if silent else None,
                }
            )
    return rows


def _tally(sides: Sequence[int], gaps: Floats) -> Floats:
    """Return the numbers of pairs whose verdict is right, wrong or undecided."""
    found = np.array(sides) * np.sign(gaps)
    return np.array([np.sum(found > 0), np.sum(found < 0), np.sum(found == 0)], np.float64)


def findings(tables: Mapping[str, Sequence[Row]]) -> Iterator[Finding]:
    """Yield the study's main numbers, from its tables."""
    for row in tables["transport"]:
        fails = row["system"] == "unhelpful"
        yield Finding(
            f"residual/{row['system']}",
            f"{row['system']}: mean label minus its prediction from the labels of base",
            row["residual"],
            row["residual, low"],
            row["residual, high"],
            "does not transfer" if fails else None,
            note=f"{row['labels']} labels; {row['verdict']}; smallest margin {row['smallest margin']:.3f}"
            + (f"; the source has {PUBLISHED}" if fails else ""),
            claim=below(0) if fails else None,
        )
    for row in tables["differences"]:
        if row["judge says"] * (row["difference"] or 0) < 0:
            yield Finding(
                f"difference/{row['first']}/{row['second']}",
                f"{row['first']} minus {row['second']}, where the judge prefers the other",
                row["difference"],
                row["difference, low"],
                row["difference, high"],
                note=f"the judge says {row['judge says']:+.3f}; {row['verdict']}",
            )
    pairs = tables["pairs"]
    differ = sum(row["labels differ"] for row in pairs)
    yield Finding(
        "summeval/opposite",
        f"pairs, of {differ:,} that the experts show to differ, in which the judge shows the opposite",
        sum(row["judge says the opposite"] for row in pairs),
        note="six judges, four aspects, 120 pairs each",
    )
    for labels in LABELS:
        rows = [row for row in tables["labels"] if row["labels"] == labels]
        for method in METHODS[:: 1 if labels == LABELS[0] else 2]:
            yield Finding(
                f"wrong/{labels}/{method.replace(' ', '-')}",
                f"verdicts for the wrong system, {labels} labeled articles, {method}, %",
                float(np.mean([row[f"{method}: wrong"] for row in rows])),
                note=f"right: {np.mean([row[f'{method}: right'] for row in rows]):.1f} %",
            )
    for row in tables["coverage"]:
        yield Finding(
            f"coverage/{row['aspect']}/{row['labels']}",
            f"{row['aspect']}, {row['labels']} labels: intervals that contain the true difference, %",
            row["coverage"],
            *apart_by(row["coverage"], row["standard error"]),
            note=f"{row['without a warning']:.0f} % of the intervals have no warning",
        )
    for table, what in (("preferences", "win rates"), ("preference_pairs", "differences of win rates")):
        for judge in dict.fromkeys(row["judge"] for row in tables[table]):
            for labels in preferred.LABELS:
                rows = [row for row in tables[table] if (row["judge"], row["labels"]) == (judge, labels)]
                covers = [row["corrected: covers"] for row in rows]
                alone = [row["judge alone: covers"] for row in rows]
                ratio = [row["corrected: width"] / row["labels alone: width"] for row in rows]
                yield Finding(
                    f"{table}/{judge.replace(' ', '-')}/{labels}",
                    f"{what}, judge {judge}, {labels} labels: intervals that contain the true value, %",
                    float(np.mean(covers)),
                    note=f"lowest {min(covers):.1f} %; judge alone {np.mean(alone):.1f} %; width "
                    f"{np.mean(ratio):.2f} times that of labels alone",
                )
    for row in tables["lengths"]:
        yield Finding(
            f"length/{row['judge'].replace(' ', '-')}",
            f"error of the judge {row['judge']} per standard deviation of the difference of lengths",
            row["error"],
            row["error, low"],
            row["error, high"],
            note=f"a standard deviation is {row['standard deviation of the difference, characters']:.0f} "
            "characters",
        )


def apart_by(value: float, error: float | None) -> tuple[float | None, float | None]:
    """Return two standard errors below and above a percentage."""
    return (None, None) if error is None else (value - 2 * error, min(100.0, value + 2 * error))


def figures(study: Study) -> dict[str, Figure]:
    """Draw the means of the four systems, and the verdicts by number of labels.

    Examples
    --------
    >>> sorted(figures(run(data=Path("data"))))  # doctest: +SKIP
    ['arena', 'labels']
    """
    from calibrant.plots import style

    rows = study.tables["arena"]
    figure, (ax,) = style.new_figure(6.4, 2.8)
    for place, method in enumerate(METHODS):
        look = style.series(place)
        height = np.arange(len(rows)) + 0.22 * (place - 1)
        low, value, high = (
            np.array([row[f"{method}{end}"] for row in rows]) for end in (", low", "", ", high")
        )
        errors = [value - low, high - value]
        ax.errorbar(value, height, xerr=errors, fmt=look.marker, color=look.color, label=method, markersize=4)
    ax.set_yticks(range(len(rows)), [row["system"] for row in rows])
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.set_xlabel("mean (95 % intervals)")
    style.grid(ax)
    style.legend_outside(ax)
    return {"arena": figure, "labels": _labels_figure(study.tables["labels"])}


def _labels_figure(rows: Sequence[Row]) -> Figure:
    from calibrant.plots import style

    figure, axes = style.new_figure(6.4, 3.0, columns=2)
    for ax, shown in zip(axes, ("right", "wrong"), strict=True):
        for place, method in enumerate(METHODS):
            look = style.series(place)
            means = [
                float(np.mean([row[f"{method}: {shown}"] for row in rows if row["labels"] == labels]))
                for labels in LABELS
            ]
            ax.plot(LABELS, means, marker=look.marker, color=look.color, label=method, markersize=4)
        ax.set_xscale("log")
        ax.set_xticks(LABELS, [str(labels) for labels in LABELS], minor=False)
        ax.minorticks_off()
        ax.set_ylim(-2, 80)
        ax.set_xlabel("labeled articles")
        ax.set_ylabel(f"pairs with a {shown} verdict, %")
        style.grid(ax)
    style.legend_outside(axes[0])
    return figure
