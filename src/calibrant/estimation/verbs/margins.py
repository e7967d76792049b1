"""Marginal effects and predicted means of regressions, by the variables of a formula."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant._checks import Floats, is_list, shown
from calibrant.estimation.regression_margins import Covariates, Estimate, Margin, margin
from calibrant.estimation.regression_problems import Problem
from calibrant.estimation.regression_variance import Fit
from calibrant.estimation.results.regressions import PredictedMean, RegressionEffect
from calibrant.estimation.verbs.formulas import categories, covariates_at
from calibrant.exceptions import InputError
from calibrant.io.tables import listed
from calibrant.metrics.tails import critical_value, tail
from calibrant.records import Quantity

if TYPE_CHECKING:
    import pandas as pd

STEP = 1e-4  # standard deviations between the values of which the difference is a derivative
MOST = 100  # predicted means, and categories of which effects are compared
METHODS = ("labels", "naive")


@dataclass(frozen=True)
class Model:
    """A regression with the frames that its covariates are made from.

    Attributes
    ----------
    problem
        The regression.
    spec, formula
        Its covariates, as formulaic describes them, and the formula.
    frames, share, gold_frame
        All rows with the predictions of each proxy, their weights, and the labeled rows with gold values.
    fits
        Fits by method: the corrected one, ``labels`` and ``naive``.
    level
        Level of the intervals.
    """

    problem: Problem
    spec: Any
    formula: str
    frames: Sequence[pd.DataFrame]
    share: Floats
    gold_frame: pd.DataFrame
    fits: Mapping[str, Fit]
    level: float

    @property
    def frame(self) -> pd.DataFrame:
        """All rows with the predictions of the first proxy."""
        return self.frames[0]

    def at(self, change: Callable[[pd.DataFrame], Mapping[str, Any]]) -> Covariates:
        """Return the covariates with other values of some variables, which a function makes from a frame."""
        chosen = list(zip(self.share, self.frames, strict=True))
        if not self.problem.covariates_are_predicted:
            chosen = [(1.0, self.frame)]
        every = [
            part * covariates_at(self.spec, self.formula, frame, change(frame)) for part, frame in chosen
        ]
        gold = covariates_at(self.spec, self.formula, self.gold_frame, change(self.gold_frame))
        return Covariates(every[0] if len(every) == 1 else np.sum(every, axis=0), gold)

    def constant(self, values: Mapping[str, Any]) -> Covariates:
        """Return the covariates if variables had one value in all rows."""
        return self.at(lambda frame: {name: _constant(frame, name, value) for name, value in values.items()})

    def moved(self, name: str, step: float) -> Covariates:
        """Return the covariates if a number was larger by a step."""
        return self.at(lambda frame: {name: frame[name].to_numpy(np.float64) + step})

    def estimates(self, wanted: Margin) -> dict[str, Estimate]:
        """Return a margin by each method."""
        return {method: margin(self.problem, one, wanted, method) for method, one in self.fits.items()}


def effects_of(model: Model) -> tuple[RegressionEffect, ...]:
    """Return the average marginal effects of all variables of the formula.

    A number has the mean derivative, and a category the mean difference from the first one.
    """
    return tuple(_effect(name, model.estimates(wanted), model.level) for name, wanted in _effects(model))


def _effects(model: Model) -> Iterator[tuple[str, Margin]]:
    for name, levels in categories(model.spec, model.frame).items():
        if len(levels) > MOST:
            message = f"{shown(name)} has {len(levels):,} categories, too many for effects"
            raise InputError(message, f"merge them to at most {MOST}", code="parameter")
        if levels:
            first = model.constant({name: levels[0]})
            for level in levels[1:]:
                yield (
                    f"{name}: {_text(level)} - {_text(levels[0])}",
                    Margin(model.constant({name: level}), first),
                )
            continue
        step = STEP * (float(np.std(model.frame[name].to_numpy(np.float64))) or 1.0)
        up, down = model.moved(name, step), model.moved(name, -step)
        yield name, Margin(up, down, 2 * step)


def _constant(frame: pd.DataFrame, name: str, value: Any) -> Any:
    """Return a column with one value in all rows."""
    import pandas as pd

    kind = frame[name].dtype
    if isinstance(kind, pd.CategoricalDtype):
        return pd.Categorical([value], dtype=kind).repeat(len(frame))
    return np.full(len(frame), value)


def means_at(model: Model, at: Sequence[str] | str) -> tuple[PredictedMean, ...]:
    """Return mean outcomes of all rows if variables had these values, and the others were as observed.

    Raises
    ------
    InputError
        If a name is no variable of the formula, or a value is not one of its values.
    """
    levels = categories(model.spec, model.frame)
    texts = list(at) if is_list(at) else [at]
    grid: dict[str, list[Any]] = {}
    for text in map(str, texts):
        name, _, words = text.partition("=")
        if name in grid:
            message = f"{shown(name)} is in `at` twice"
            raise InputError(message, "write all its values once, separated by commas", code="parameter")
        grid[name] = _values(name, words, levels)
    count = math.prod(map(len, grid.values()))
    if count > MOST:
        message = f"`at` has {count:,} combinations of values"
        raise InputError(message, f"give at most {MOST}", code="parameter")
    means = []
    for values in itertools.product(*grid.values()):
        chosen = dict(zip(grid, values, strict=True))
        found = model.estimates(Margin(model.constant(chosen)))
        best = next(one for method, one in found.items() if method not in METHODS)
        family = model.problem.family
        means.append(
            PredictedMean(
                at=", ".join(f"{name}={_text(value)}" for name, value in chosen.items()),
                corrected=mean_interval(best, model.level, family),
                standard_error=best.error,
                labels=mean_interval(found["labels"], model.level, family),
                naive=mean_interval(found["naive"], model.level, family),
            )
        )
    return tuple(means)


def _values(name: str, text: str, levels: Mapping[str, list[Any]]) -> list[Any]:
    if name not in levels:
        message = f"{shown(name)} is no variable to the right of the tilde"
        raise InputError(message, f"these are {listed(list(levels))}", code="parameter")
    known = levels[name]
    if not text and known:
        return known
    words = [word.strip() for word in text.split(",")] if text else []
    if not words or "" in words:
        hint = f"write {name}=VALUE, or several values separated by commas"
        raise InputError(f"{shown(name)} has no value at which to predict", hint, code="parameter")
    found: list[Any] = []
    for word in words:
        if known and isinstance(known[0], str):
            value: Any = word
        else:
            try:
                value = float(word)
            except ValueError:
                value = math.nan
        if known and value not in known:
            message = f"{shown(word)} is no value of {name} in the table"
            raise InputError(
                message, f"its values are {listed([_text(one) for one in known])}", code="parameter"
            )
        if isinstance(value, float) and not math.isfinite(value):
            message = f"{shown(word)} is no number, and the values of {name} are numbers"
            raise InputError(message, f"write {name}=NUMBER", code="parameter")
        found.append(value)
    return found


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _effect(name: str, found: Mapping[str, Estimate], level: float) -> RegressionEffect:
    best = next(one for method, one in found.items() if method not in METHODS)
    t = best.value / best.error if best.error else 0.0
    return RegressionEffect(
        effect=name,
        corrected=_symmetric(best, level),
        standard_error=best.error,
        p_value=tail(t, best.freedom, "two-sided") or 1.0,
        labels=_symmetric(found["labels"], level),
        naive=_symmetric(found["naive"], level),
    )


def _symmetric(one: Estimate, level: float) -> Quantity:
    half = critical_value(level, one.freedom, "two-sided") * one.error
    return Quantity(one.value, one.value - half, one.value + half, one.error)


def mean_interval(one: Estimate, level: float, family: str) -> Quantity:
    """Return the interval of a mean, on the scale of the linear predictor, so that it is in the range."""
    value, half = one.value, critical_value(level, one.freedom, "two-sided") * one.error
    if family == "logistic" and 0 < value < 1:
        odds, half = math.log(value / (1 - value)), half / (value * (1 - value))
        low, high = (1 / (1 + math.exp(-min(700.0, max(-700.0, end)))) for end in (odds - half, odds + half))
        return Quantity(value, low, high, one.error)
    if family == "poisson" and value > 0:
        factor = math.exp(min(700.0, half / value))
        return Quantity(value, value / factor, value * factor, one.error)
    return _symmetric(one, level)
