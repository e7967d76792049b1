"""Regressions with predicted variables, from tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from calibrant._checks import Floats, Integers, is_list, one_of, proportion, shown
from calibrant.estimation.regression import adjusted_outcome, check, few_labels, fit
from calibrant.estimation.regression_design import absorb, labels_design
from calibrant.estimation.regression_problems import Problem
from calibrant.estimation.regression_variance import Fit
from calibrant.estimation.results.regressions import Regression, RegressionTerm
from calibrant.estimation.verbs.formulas import frames, matrices, parsed
from calibrant.estimation.verbs.margins import Model, effects_of, means_at
from calibrant.exceptions import InputError
from calibrant.io.roles import FoundColumns, Role, find, open_table, read_table
from calibrant.io.tables import Table, listed, one_column
from calibrant.io.variables import Variable, read_variables, write_columns
from calibrant.metrics.tails import critical_value, few_clusters, tail
from calibrant.records import Quantity

INCLUSION = "inclusion_probability"
FAMILIES = ("linear", "logistic", "poisson")
CORRECTED = "corrected"


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
        Variable of the formula that is predicted, and the column of its predictions: ``topic=gpt_topic``; a
        name alone stands for ``NAME=pred_NAME``. None: the variables with a column ``pred_NAME``.
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
    read, variables = parsed(formula)
    data = _read(predictions, labels, variables, predicted, item, cluster, fixed, inclusion_probability)
    rows, count = data.rows, data.count
    frame, gold_frame = frames(data.values, data.guesses, data.gold, data.pairs, rows, data.labeled)
    made = matrices(read, formula, frame, gold_frame)
    spec = made.spec
    _check_outcome(family, made.outcome, made.gold_outcome)
    in_covariates = not np.array_equal(made.design[rows], made.gold_design)
    if output is not None and in_covariates:
        message = "there is no adjusted outcome if covariates are predicted"
        raise InputError(message, "leave out `output`", code="parameter")
    clusters, groups, absorbed, means = data.clusters, data.effects, None, None
    if groups is not None:
        if effects or at is not None:
            hint = f"leave out `fixed`, and write C({fixed}) in the formula"
            message = "effects and means cannot be estimated with absorbed fixed effects"
            raise InputError(message, hint, code="parameter")
        if family != "linear" or method != "recalibrated":
            what = f"a {family} regression" if family != "linear" else f"the method {method}"
            hint = f"leave out `fixed`, and write C({fixed}) in the formula"
            raise InputError(f"fixed effects cannot be absorbed with {what}", hint, code="parameter")
        clusters, outcome = groups if clusters is None else clusters, made.outcome
        made, absorbed = absorb(made, rows, groups, data.chance)
        means = outcome - made.outcome
    design = labels_design(data.chance, count, sampling, clustered=clusters is not None)
    problem = Problem(
        family=family,
        names=made.names,
        design=made.design,
        outcome=made.outcome,
        rows=rows,
        gold_design=made.gold_design,
        gold_outcome=made.gold_outcome,
        chance=np.full(len(rows), len(rows) / count) if data.chance is None else data.chance,
        stratum=design.stratum,
        cluster=clusters,
        absorbed=absorbed,
    )
    check(problem)
    naive, alone, best = (fit(problem, one) for one in ("naive", "labels", method))
    fits = {method: best, "labels": alone, "naive": naive}
    model = Model(problem, spec, formula, frame, gold_frame, fits, level)
    adjusted = None
    if not in_covariates:
        adjusted = adjusted_outcome(problem, method, naive.coefficients, best)
        adjusted = adjusted if means is None else adjusted + means
    if output is not None:
        assert adjusted is not None  # because covariates are not predicted
        columns: dict[str, Any] = dict(data.groups)
        for name in frame.columns:
            columns[data.pairs.get(name, name)] = frame[name].to_numpy()
        write_columns(output, data.table.name, {**columns, CORRECTED: adjusted})
    few = None if clusters is None else few_clusters(np.bincount(problem.units[0], problem.weight))
    return Regression(
        formula=formula,
        family=family,
        predicted=", ".join(f"{name}={column}" for name, column in data.pairs.items()),
        method=method,
        documents=count,
        labelled=len(rows),
        clusters=None if clusters is None else int(clusters.max()) + 1,
        fixed=fixed,
        sampling=design.name,
        level=level,
        few_warning=few_labels(problem, best),
        clusters_warning=few,
        selection_warning=design.warning,
        command=command,
        terms=tuple(_term(j, name, best, alone, naive, level) for j, name in enumerate(made.names)),
        effects=effects_of(model) if effects else (),
        means=means_at(model, at) if at is not None else (),
        adjusted=adjusted,
    )


def _term(j: int, name: str, best: Fit, alone: Fit, naive: Fit, level: float) -> RegressionTerm:
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
        naive=_quantity(naive, j, level),
    )


def _quantity(result: Fit, j: int, level: float) -> Quantity:
    estimate, error = float(result.coefficients[j]), float(np.sqrt(result.covariance[j, j]))
    half = critical_value(level, float(result.freedom[j]), "two-sided") * error
    return Quantity(estimate, estimate - half, estimate + half, error)


@dataclass(frozen=True)
class _Data:
    """Columns of the tables.

    Attributes
    ----------
    table
        The table of predictions.
    pairs
        Column of predictions of each predicted variable.
    values, guesses, gold
        Variables that are not predicted, predictions by column, and gold values.
    labeled
        (n,) rows of the gold values that have one.
    rows
        (n,) rows of the table of predictions to which these belong.
    chance
        (n,) inclusion probabilities; None if there are none.
    clusters, effects
        (N,) codes of clusters and of groups with fixed effects; None without.
    groups
        Names of items, clusters and these groups, by column.
    """

    table: Table
    pairs: Mapping[str, str]
    values: Mapping[str, Variable]
    guesses: Mapping[str, Variable]
    gold: Mapping[str, Variable]
    labeled: Integers
    rows: Integers
    chance: Floats | None
    clusters: Integers | None
    effects: Integers | None
    groups: Mapping[str, Any]

    @property
    def count(self) -> int:
        """Number of rows."""
        return len(next(iter(self.guesses.values())).known)


def _read(
    predictions: Any,
    labels: Any,
    variables: Sequence[str],
    predicted: Any,
    item: str,
    cluster: str | None,
    fixed: str | None,
    inclusion: str | None,
) -> _Data:
    """Read the columns, and find the labeled rows."""
    table = open_table(predictions)
    pairs = _pairs(predicted, variables, table)
    apart = None if labels is None else open_table(labels)
    gold_table = table if apart is None else apart
    for name in (name for name in variables if name not in pairs):
        one_column(table.name, table.columns, name, "correct the formula")
    for name, column in pairs.items():
        one_column(gold_table.name, gold_table.columns, name, "name the gold column in the formula")
        one_column(table.name, table.columns, column, f"name it with `predicted`, such as {name}=COLUMN")
    items = None if apart is None and item == "item" else item
    roles = [
        Role("item", column=items, needed=apart is not None, once=True),
        Role("cluster", column=cluster, needed=False),
    ]
    given = read_table(table, roles) if find(table, roles) else None
    grouped = None if fixed is None else read_table(table, [Role("fixed", column=fixed)])
    values = read_variables(table, [name for name in variables if name not in pairs])
    guesses = read_variables(table, list(pairs.values()))
    for variable in (*values.values(), *guesses.values()):
        variable.check_complete()
    gold = read_variables(gold_table, list(pairs))
    known = np.stack([column.known for column in gold.values()])
    some = np.flatnonzero(known.any(axis=0) & ~known.all(axis=0))
    if len(some):
        row = int(some[0])
        missing = next(column for column in gold.values() if not column.known[row])
        other = next(name for name, column in gold.items() if column.known[row])
        message = f"the row has a gold value of {other} and none of {missing.name}"
        raise missing.error(row, message, "fill in both, or leave both empty", "missing-value")
    labeled = np.flatnonzero(known.all(axis=0))
    if not len(labeled):
        first = next(iter(gold.values()))
        raise first.error(None, "there is no gold value in any row", "fill in some", "empty")
    rows = labeled if apart is None else _places(apart, item, labeled, given)
    groups: dict[str, Any] = {}
    for columns in (given, grouped):
        if columns is not None:
            groups |= {role.name: columns.texts(part) for part, role in columns.roles.items()}
    return _Data(
        table=table,
        pairs=pairs,
        values=values,
        guesses=guesses,
        gold=gold,
        labeled=labeled,
        rows=rows,
        chance=_chances(table, apart, inclusion, labeled, rows),
        clusters=None if given is None else given.get("cluster"),
        effects=None if grouped is None else grouped["fixed"],
        groups=groups,
    )


def _pairs(predicted: Any, variables: Sequence[str], table: Table) -> dict[str, str]:
    """Return the column of predictions of each predicted variable."""
    if predicted is None:
        pairs = {name: f"pred_{name}" for name in variables if f"pred_{name}" in table.columns}
    else:
        texts = list(predicted) if is_list(predicted) else [predicted]
        split = [str(text).partition("=") for text in texts]
        pairs = {name: column or f"pred_{name}" for name, _, column in split}
    for name in pairs:
        if name not in variables:
            message = f"the predicted variable {shown(name)} is not in the formula"
            hint = f"its variables are {listed(variables)}"
            raise InputError(message, hint, code="parameter")
    if not pairs:
        message = "no variable of the formula is predicted"
        hint = "name it and the column of its predictions with `predicted`, such as topic=gpt_topic"
        raise InputError(message, hint, code="parameter", file=table.name)
    return pairs


def _places(apart: Table, item: str, labeled: Integers, given: FoundColumns | None) -> Integers:
    """Return the positions of the labeled items among the rows of the predictions."""
    assert given is not None  # because a separate table of labels needs items
    named = read_table(apart, [Role("item", column=item, once=True)])
    place = {name: code for code, name in enumerate(given.names["item"])}  # each name is in one row
    rows = np.empty(len(labeled), np.int64)
    for number, row in enumerate(labeled.tolist()):
        name = named.names["item"][row]
        if name not in place:
            message = f"{shown(name)} has a label but is not in {given.table.name}"
            raise named.error(
                row, message, "add its row with predictions, or drop the label", "parameter", part="item"
            )
        rows[number] = place[name]
    return rows


def _chances(
    table: Table, apart: Table | None, column: str | None, labeled: Integers, rows: Integers
) -> Floats | None:
    """Return the inclusion probabilities of the labeled rows; None if there are none."""
    name = INCLUSION if column is None else column
    home = next((one for one in (apart, table) if one is not None and name in one.columns), None)
    if home is None:
        if column is not None:
            one_column(table.name, table.columns, name, "correct the name of the inclusion probabilities")
        return None
    variable = read_variables(home, [name])[name]
    at = labeled if home is apart else rows
    used = np.zeros(len(variable.known), np.bool_)
    used[at] = True
    wrong = np.flatnonzero(used & ~variable.known)
    if variable.names is not None or len(wrong):
        row = int(wrong[0]) if len(wrong) else 0
        message = "the inclusion probability of a labeled row is missing, or is not a number"
        raise variable.error(row, message, "write the probability of being labeled", "missing-value")
    outside = np.flatnonzero(variable.known & ((variable.values <= 0) | (variable.values > 1)))
    if len(outside):
        row = int(outside[0])
        message = f"the inclusion probability is {variable.values[row]:g}, outside (0, 1]"
        hint = "write the probability of being labeled; leave out rows that could not be labeled"
        raise variable.error(row, message, hint, "score-range")
    chance: Floats = variable.values[at]
    return chance


def _check_outcome(family: str, outcome: Floats, gold: Floats) -> None:
    """Raise if an outcome is impossible for the family."""
    for values, what in ((gold, "gold outcome"), (outcome, "predicted outcome")):
        if family == "logistic":
            wrong = (values < 0) | (values > 1) | ((values != np.round(values)) & (what[0] == "g"))
            hint = "write outcomes as 0 and 1, and predictions as these or as probabilities"
        elif family == "poisson":
            wrong, hint = values < 0, "write counts of at least 0"
        else:
            continue
        if wrong.any():
            message = f"a {what} of a {family} regression is {values[wrong][0]:g}"
            raise InputError(message, hint, code="label-value")
