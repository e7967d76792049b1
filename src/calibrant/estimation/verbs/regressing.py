"""Regressions with predicted variables, from tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from calibrant._checks import one_of, proportion
from calibrant.estimation.proxies import error_rates
from calibrant.estimation.regression import adjusted_outcome, few_labels, fit
from calibrant.estimation.regression_variance import Fit
from calibrant.estimation.results.regressions import ProxyErrors, Regression, RegressionTerm
from calibrant.estimation.verbs.formulas import parsed
from calibrant.estimation.verbs.margins import Model, effects_of, means_at
from calibrant.estimation.verbs.regression_tables import Prepared, prepare, read_columns
from calibrant.exceptions import InputError
from calibrant.io.variables import write_columns
from calibrant.metrics.tails import critical_value, few_clusters, tail
from calibrant.records import Quantity

FAMILIES = ("linear", "logistic", "poisson")
CORRECTED = "corrected"
MOST_VALUES = 20  # of a variable that has classes


def regress(
    predictions: Any,
    formula: str,
    labels: Any = None,
    *,
    predicted: Sequence[str] | str | None = None,
    family: Literal["linear", "logistic", "poisson"] = "linear",
    fixed: str | None = None,
    method: Literal["recalibrated", "ppi++", "dsl"] = "recalibrated",
    effects: bool = False,
    at: Sequence[str] | str | None = None,
    output: str | None = None,
    sampling: Literal["detect", "fixed", "independent"] = "detect",
    level: float = 0.95,
    item: str = "item",
    inclusion_probability: str | None = None,
    cluster: str | None = None,
    weight: str | None = None,
    command: str | None = None,
) -> Regression:
    """Fit a regression in which a model predicted the outcome, covariates or both.

    Gold values of a random subsample correct the coefficients, so that errors of the model do not bias them,
    even if these errors depend on the other variables. Standard errors are robust.

    Parameters
    ----------
    predictions
        Table (a file or a dataframe) with one row per document: the predictions and all other variables.
    formula
        Formula such as ``"topic ~ year + C(party)"``, with the names of the gold columns.
    labels
        Table of the labeled rows, with columns ``item``, the gold values, and ``inclusion_probability`` if
        rows had unequal probabilities of being labeled. None: these are columns of the table of predictions,
        whose gold values are empty for the other rows.
    predicted
        Variable of the formula that is predicted, and the column of its predictions: ``topic=gpt_topic``;
        several columns, ``topic=gpt,keywords``, are weighted by how much they help. A name alone stands for
        ``NAME=pred_NAME``. None: the variables with a column ``pred_NAME``.
    family
        ``linear``, ``logistic`` for outcomes 0 and 1, or ``poisson`` for counts.
    fixed
        Column whose fixed effects are absorbed, in linear regressions with the method ``recalibrated``. In
        other regressions, write ``C(NAME)`` in the formula.
    method
        ``recalibrated``: predictions enter by their residuals from the naive regression, with a tuned weight.
        ``ppi++``: prediction-powered inference with a tuned weight. ``dsl``: design-based supervised
        learning, with the weight 1.
    effects
        Also estimate the average marginal effect of each variable on the mean outcome: the mean derivative by
        a number, and the mean difference of a category from the first one.
    at
        Also estimate the mean outcome if variables had these values, and the others were as observed:
        ``age=20,40``; a name alone stands for all categories. Several are crossed.
    output
        Table to write, with the variables and the column ``corrected``: the outcome that other programs
        regress to get these coefficients.
    sampling
        Design of a sample with unequal inclusion probabilities. ``fixed``: a fixed number of rows per group
        of equal probability. ``independent``: each row independently. ``detect``: inferred from the
        probabilities.
    level
        Confidence level of all intervals, between 0 and 1.
    item
        Column of document names, which a separate table of labels needs.
    inclusion_probability
        Column of the probability with which a row was chosen to be labeled. None: ``inclusion_probability``,
        if there is one; otherwise a simple random sample is assumed.
    cluster
        Column of clusters of dependent rows. None: ``cluster``, if there is one.
    weight
        Column of survey weights of all rows.
    command
        The command line to record.

    Raises
    ------
    InputError
        If a table or the formula cannot be read, a labeled item is not in the table, covariates are
        collinear or separate a logistic outcome, or there are too few labels or clusters.
    MissingExtraError
        If formulaic is not installed.

    Examples
    --------
    >>> import pyarrow as pa
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=400)
    >>> y = 1 + 2 * x + rng.normal(size=400)
    >>> gold = [value if row < 80 else None for row, value in enumerate(y)]
    >>> posts = pa.table({"y": gold, "pred_y": y - 0.5 * x, "x": x})
    >>> result = regress(posts, "y ~ x")
    >>> [(one.term, round(one.corrected.estimate, 1), round(one.naive.estimate, 1)) for one in result.terms]
    [('Intercept', 1.0, 1.0), ('x', 2.1, 1.6)]
    """
    one_of(family, FAMILIES, "family")
    one_of(method, ("recalibrated", "ppi++", "dsl"), "method")
    one_of(sampling, ("detect", "fixed", "independent"), "sampling")
    proportion(level, "level")
    _check_fixed(fixed, family, method, margins=effects or at is not None)
    read, variables = parsed(formula)
    data = read_columns(
        predictions, labels, variables, predicted, item, cluster, fixed, inclusion_probability, weight
    )
    made = prepare(formula, data, read, family, sampling, fixed is not None)
    problem = made.problem
    if output is not None and made.in_covariates:
        message = "there is no adjusted outcome if covariates are predicted"
        raise InputError(message, "leave out `output`", code="parameter")
    naive, unfitted = None, None
    try:
        naive = fit(problem, "naive")
    except InputError as error:
        # Only the recalibrated estimate starts from the predictions alone.
        if method == "recalibrated" or effects or at is not None:
            if method == "recalibrated":
                error.hint += "; or choose `method='ppi++'`, which does not use this regression"
            raise
        unfitted = error.message
    alone, best = (fit(problem, one) for one in ("labels", method))
    share = np.ones(1) if made.proxies is None else made.proxies.weight
    fits = {method: best, "labels": alone} | ({} if naive is None else {"naive": naive})
    model = Model(problem, made.spec, formula, made.frames, share, made.gold_frame, fits, level)
    adjusted = None
    if not made.in_covariates:
        start = best.coefficients if naive is None else naive.coefficients
        adjusted = adjusted_outcome(problem, method, start, best)
        adjusted = adjusted if made.means is None else adjusted + made.means
    if output is not None:
        assert adjusted is not None  # because covariates are not predicted
        columns: dict[str, Any] = dict(data.groups)
        for place, frame in enumerate(made.frames):
            for name in frame.columns:
                columns[data.pairs[name][place] if name in data.pairs else name] = frame[name].to_numpy()
        if weight is not None:
            columns[weight] = data.survey
        write_columns(output, data.table.name, {**columns, CORRECTED: adjusted})
    clusters = problem.cluster
    few = None if clusters is None else few_clusters(np.bincount(problem.units[0], problem.weight))
    return Regression(
        formula=formula,
        family=family,
        predicted=", ".join(f"{name}={','.join(proxies)}" for name, proxies in data.pairs.items()),
        method=method,
        documents=data.count,
        labelled=len(data.rows),
        clusters=None if clusters is None else int(clusters.max()) + 1,
        fixed=fixed,
        sampling=made.design.name,
        level=level,
        few_warning=few_labels(problem, best),
        clusters_warning=few,
        selection_warning=made.design.warning,
        command=command,
        terms=tuple(
            _term(j, name, best, alone, naive or str(unfitted), level) for j, name in enumerate(problem.names)
        ),
        effects=effects_of(model) if effects else (),
        means=means_at(model, at) if at is not None else (),
        relative_variance=None if made.proxies is None else made.proxies.together,
        proxies=_proxies(made),
        adjusted=adjusted,
    )


def _check_fixed(fixed: str | None, family: str, method: str, *, margins: bool) -> None:
    """Raise if fixed effects cannot be absorbed."""
    if fixed is None:
        return
    hint = f"leave out `fixed`, and write C({fixed}) in the formula"
    if margins:
        message = "effects and means cannot be estimated with absorbed fixed effects"
        raise InputError(message, hint, code="parameter")
    if family != "linear" or method != "recalibrated":
        what = f"a {family} regression" if family != "linear" else f"the method {method}"
        raise InputError(f"fixed effects cannot be absorbed with {what}", hint, code="parameter")


def _proxies(made: Prepared) -> tuple[ProxyErrors, ...]:
    """Return the weights and the error rates of several proxies."""
    if made.proxies is None:
        return ()
    found, weight = [], made.problem.weight
    for name, proxies in made.columns.pairs.items():
        if len(proxies) == 1:
            continue
        for place, column in enumerate(proxies):
            gold, guess = made.gold_frame[name], made.frames[place][name].take(made.columns.rows)
            names = None
            if hasattr(gold, "cat"):  # all categories of the frames are in the same order
                names = [str(one) for one in made.frames[place][name].cat.categories]
                gold = gold.cat.set_categories(made.frames[place][name].cat.categories)
            values, own = (
                np.asarray(one if names is None else one.cat.codes, np.float64) for one in (gold, guess)
            )
            rates: list[Any] = [(None, len(values), None)]
            if len(np.unique(values)) <= MOST_VALUES:
                rates = error_rates(values, own, weight)
            for value, count, rate in rates:
                text = None if value is None else f"{value:g}" if names is None else names[int(value)]
                found.append(
                    ProxyErrors(
                        proxy=column,
                        variable=name,
                        value=text,
                        labels=count,
                        error=rate,
                        weight=float(made.proxies.weight[place]),
                        relative_variance=float(made.proxies.alone[place]),
                    )
                )
    return tuple(found)


def _term(j: int, name: str, best: Fit, alone: Fit, naive: Fit | str, level: float) -> RegressionTerm:
    """Return a row; ``naive`` is the reason why there is no such fit, or the fit."""
    estimate, spread = float(best.coefficients[j]), float(np.sqrt(best.covariance[j, j]))
    t = estimate / spread if spread else 0.0
    return RegressionTerm(
        term=name,
        corrected=_quantity(best, j, level),
        standard_error=spread,
        t=t,
        freedom=float(best.freedom[j]),
        p_value=tail(t, float(best.freedom[j]), "two-sided") or 1.0,
        weight=1.0 if best.weight is None else float(best.weight[j]),
        labels=_quantity(alone, j, level),
        naive=Quantity(None, reason=naive) if isinstance(naive, str) else _quantity(naive, j, level),
    )


def _quantity(result: Fit, j: int, level: float) -> Quantity:
    estimate, error = float(result.coefficients[j]), float(np.sqrt(result.covariance[j, j]))
    half = critical_value(level, float(result.freedom[j]), "two-sided") * error
    return Quantity(estimate, estimate - half, estimate + half, error)
