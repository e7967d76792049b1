"""Tables and findings of the study of conclusions from predicted labels."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from calibrant_studies._base import Finding, Row
from calibrant_studies._hacking_data import Population
from calibrant_studies._hacking_simulation import (
    CORRECTED,
    FIELDS,
    LABELS,
    NAIVE,
    REFERENCE,
    SCENARIOS,
    columns,
)
from calibrant_studies.arrays import Floats

NULLS = [place for place, one in enumerate(SCENARIOS) if not one.effect]
EFFECTS = [place for place, one in enumerate(SCENARIOS) if one.effect]
DIFFERENT, SMALL, MEDIUM, AGAINST = 2, 3, 4, 6
QUALITY = {"weak": (-1.0, 0.2), "fair": (0.2, 0.5), "good": (0.5, 1.01)}
"""Lowest and highest correlation of a model's labels with gold labels, by quality."""
BEST = {"shares": "ppi++", "logistic": "recalibrated", "covariate": "recalibrated"}
METHODS = (NAIVE, "labels", "dsl", "ppi++", "recalibrated", REFERENCE)
AT = LABELS.index(200)
_QUANTILE = 1.959963984540054  # of the normal distribution, for a level of 95 %


def place(analysis: str, method: str) -> int:
    """Return the column of a tally."""
    return columns().index((analysis, method))


def field(notes: Floats, name: str) -> Floats:
    """Return one field of the notes."""
    found: Floats = notes[..., FIELDS.index(name)]
    return found


def of_quality(items: Sequence[Population], quality: str) -> NDArray[np.bool_]:
    """Return the items whose model is of a quality."""
    low, high = QUALITY[quality]
    return np.array([low <= one.correlation < high for one in items])


def share(part: Floats, whole: Floats) -> float | None:
    """Return a percentage of sums; None of nothing."""
    every = float(whole.sum())
    return round(100 * float(part.sum()) / every, 1) if every else None


def arranged(items: Sequence[Population], notes: Floats) -> dict[str, list[Row]]:
    """Arrange the notes (populations, scenarios, labels, columns, fields) in tables.

    Parameters
    ----------
    items
        The populations.
    notes
        Their notes, summed over corpora.
    """
    right, wrong = _signs(notes)
    runs = field(notes, "runs")
    either = field(notes, "above") + field(notes, "below")
    return {
        "false": _by_method(NULLS, either, runs),
        "power": _by_method(EFFECTS, right, runs),
        "signs": _by_method([SMALL, AGAINST], wrong, right + wrong),
        "magnitudes": _by_method([SMALL, MEDIUM], field(notes, "exaggeration") / 100, right),
        "coverage": _coverage(notes),
        "quality": _quality(items, notes),
        "reference": _against_reference(notes),
        "points": _points(items, notes),
    }


def tasks(items: Sequence[Population]) -> list[Row]:
    """Return a row per task."""
    rows: list[Row] = []
    for task in dict.fromkeys(one.task for one in items):
        own = [one for one in items if one.task == task]
        correlation = [one.correlation for one in own]
        rows.append(
            {
                "task": task,
                "items": len(own[0].gold),
                "models": len({one.model for one in own}),
                "classes": len({one.label for one in own}),
                "pairs of model and class": len(own),
                "lowest correlation": round(min(correlation), 2),
                "median": round(float(np.median(correlation)), 2),
                "highest": round(max(correlation), 2),
            }
        )
    return rows


def _signs(notes: Floats) -> tuple[Floats, Floats]:
    """Return how often an effect is found with the right sign (all are positive), and with the wrong one."""
    return field(notes, "above"), field(notes, "below")


def _by_method(scenarios: Sequence[int], part: Floats, whole: Floats) -> list[Row]:
    """Return rows by analysis, scenario and labels, with percentages by method."""
    rows: list[Row] = []
    for analysis in CORRECTED:
        for scenario in scenarios:
            for number, labels in enumerate(LABELS):
                row: Row = {"analysis": analysis, "scenario": SCENARIOS[scenario].name, "n": labels}
                for method in METHODS:
                    row[method] = None
                    if (analysis, method) in columns():
                        at = (slice(None), scenario, number, place(analysis, method))
                        row[method] = share(part[at], whole[at])
                rows.append(row)
    return rows


def _coverage(notes: Floats) -> list[Row]:
    rows: list[Row] = []
    runs, refused, covered, warned, silent = (
        field(notes, name) for name in ("runs", "refused", "covered", "warned", "covered without warning")
    )
    for analysis, methods in CORRECTED.items():
        for method in (NAIVE, *methods):
            for number, labels in enumerate(LABELS[:1] if method == NAIVE else LABELS):
                at = (slice(None), slice(None), number, place(analysis, method))
                defined = runs[at] - refused[at]
                by_scenario = [
                    share(covered[at][:, scenario], defined[:, scenario])
                    for scenario in range(len(SCENARIOS))
                ]
                without = share(silent[at], defined - warned[at])
                rows.append(
                    {
                        "analysis": analysis,
                        "method": method,
                        "n": None if method == NAIVE else labels,
                        "coverage": share(covered[at], defined),
                        "lowest scenario": min(one for one in by_scenario if one is not None),
                        "without warning": without,
                        "warned": share(warned[at], defined),
                        "refused": share(refused[at], runs[at]),
                    }
                )
    return rows


def _quality(items: Sequence[Population], notes: Floats) -> list[Row]:
    """Return power and relative width by quality of the model, for the medium effect."""
    rows: list[Row] = []
    right, runs = _signs(notes)[0], field(notes, "runs")
    ratio, compared = field(notes, "ratio"), field(notes, "compared")
    for analysis, best in BEST.items():
        for quality in QUALITY:
            inside = of_quality(items, quality)
            if not inside.any():
                continue
            for number, labels in enumerate(LABELS):
                width = (slice(None), slice(None), number, place(analysis, best))
                total = float(compared[width][inside].sum())
                relative = float(ratio[width][inside].sum()) / total
                row: Row = {
                    "analysis": analysis,
                    "model": quality,
                    "n": labels,
                    "width": round(relative, 3),
                    "worth": round(labels / relative**2),
                }
                for method in ("labels", best, REFERENCE):
                    at = (inside, MEDIUM, number, place(analysis, method))
                    row[f"power, {'corrected' if method == best else method}"] = share(right[at], runs[at])
                rows.append(row)
    return rows


def _against_reference(notes: Floats) -> list[Row]:
    """Return errors of both kinds if the conclusion from all gold labels is taken as the truth."""
    rows: list[Row] = []
    runs = field(notes, "runs")
    found, missed = field(notes, "found without reference"), field(notes, "missed with reference")
    either = field(notes, "above") + field(notes, "below")
    for analysis, methods in CORRECTED.items():
        for number, labels in enumerate(LABELS):
            row: Row = {"analysis": analysis, "n": labels}
            told = either[:, :, number, place(analysis, REFERENCE)]
            for method in METHODS[:-1]:
                row[method] = None
                if method in (NAIVE, *methods):
                    at = (slice(None), slice(None), number, place(analysis, method))
                    first = share(found[at], runs[at] - told)
                    second = share(missed[at], told)
                    row[method] = f"{first:.0f} / {second:.0f}"
            rows.append(row)
    return rows


def _points(items: Sequence[Population], notes: Floats) -> list[Row]:
    """Return the relative width of the corrected interval with 200 labels, per model and class."""
    ratio, compared = field(notes, "ratio"), field(notes, "compared")
    rows: list[Row] = []
    for number, one in enumerate(items):
        row: Row = {
            "task": one.task,
            "model": one.model,
            "class": one.label,
            "correlation": round(one.correlation, 3),
        }
        for analysis, best in BEST.items():
            at = (number, slice(None), AT, place(analysis, best))
            total = float(compared[at].sum())
            row[analysis] = round(float(ratio[at].sum()) / total, 3) if total else None
        rows.append(row)
    return rows


def rate(items: Sequence[Population], part: Floats, whole: Floats) -> tuple[float, float, float]:
    """Return a percentage of sums over populations, with an interval; classes of a model are a cluster."""
    names = [(one.task, one.model) for one in items]
    code = np.unique([" ".join(name) for name in names], return_inverse=True)[1]
    x, n = (np.bincount(code, values) for values in (part, whole))
    middle, count = float(x.sum() / n.sum()), len(x)
    if count == 1:
        return 100 * middle, 0.0, 100.0
    error = math.sqrt(float(((x - middle * n) ** 2).sum()) * count / (count - 1)) / float(n.sum())
    low, high = middle - _QUANTILE * error, middle + _QUANTILE * error
    return 100 * middle, 100 * max(0.0, low), 100 * min(1.0, high)


def findings(items: Sequence[Population], notes: Floats) -> tuple[Finding, ...]:
    """Return the numbers that answer the question."""
    runs, right, wrong = field(notes, "runs"), *_signs(notes)
    either = right + wrong
    found = []

    def add(name: str, text: str, part: Floats, whole: Floats, where: NDArray[np.bool_], note: str) -> None:
        chosen = [one for one, inside in zip(items, where, strict=True) if inside]
        if not chosen:
            return
        value, low, high = rate(chosen, part[where], whole[where])
        found.append(Finding(name, text, round(value, 2), round(low, 2), round(high, 2), note=note))

    every = np.ones(len(items), np.bool_)
    for analysis, best in BEST.items():
        for method in (NAIVE, "labels", best):
            column = place(analysis, method)
            many = "" if method == NAIVE else ", 200 labels"
            for scenario, text in (
                (0, "a true null is rejected, %"),
                (DIFFERENT, "a true null is rejected if errors differ by 0.2, %"),
            ):
                add(
                    f"false {analysis} {method} {scenario}",
                    f"{analysis}, {method}{many}: {text}",
                    either[:, scenario, AT, column],
                    runs[:, scenario, AT, column],
                    every,
                    "nominal 5",
                )
            add(
                f"power {analysis} {method}",
                f"{analysis}, {method}{many}: a medium effect is found, %",
                right[:, MEDIUM, AT, column],
                runs[:, MEDIUM, AT, column],
                every,
                "",
            )
            good = of_quality(items, "good")
            add(
                f"power {analysis} {method} good",
                f"{analysis}, {method}{many}, good models: a medium effect is found, %",
                right[:, MEDIUM, AT, column],
                runs[:, MEDIUM, AT, column],
                good,
                "correlation with gold labels at least 0.5",
            )
        add(
            f"sign {analysis}",
            f"{analysis}, naive: an effect has the wrong sign if errors are against it, %",
            wrong[:, AGAINST, AT, place(analysis, NAIVE)],
            runs[:, AGAINST, AT, place(analysis, NAIVE)],
            every,
            "",
        )
    naive = [place(analysis, NAIVE) for analysis in CORRECTED]
    disagree = field(notes, "found without reference") + field(notes, "missed with reference")
    value, low, high = rate(
        items,
        disagree[:, :, AT, naive].sum(axis=(1, 2)),
        runs[:, :, AT, naive].sum(axis=(1, 2)),
    )
    found.append(
        Finding(
            "naive wrong",
            "naive conclusions that differ from those of all gold labels, %",
            round(value, 2),
            round(low, 2),
            round(high, 2),
            paper="31 to 50",
            verdict="not comparable",
            note="other hypotheses, tasks, models and prompts",
        )
    )
    return tuple(found)
