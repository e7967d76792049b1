"""Regressions with predicted variables, from tables."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Floats, Integers, is_list, one_of, proportion, shown
from calibrant.estimation.regression import Fit, Problem, adjusted_outcome, check, few_labels, fit
from calibrant.estimation.results.regressions import Regression, RegressionTerm
from calibrant.exceptions import CalibrantError, InputError
from calibrant.io.columns import MISSING, Codes, Column, as_numpy, class_name
from calibrant.io.rewriting import output_format, write_batches
from calibrant.io.roles import FoundColumns, Role, blocks, find, open_table, read_table
from calibrant.io.tables import Table, listed, one_column
from calibrant.lazy import from_extra
from calibrant.metrics.tails import critical_value, few_clusters, tail
from calibrant.records import Quantity

if TYPE_CHECKING:
    import pandas as pd

INCLUSION = "inclusion_probability"
FAMILIES = ("linear", "logistic", "poisson")
CORRECTED = "corrected"
EQUAL = 1e-9
COLORS = re.compile(r"\x1b\[[\d;]*m")  # formulaic marks the wrong part of a formula
WHOLE = re.compile(r"(\[(?:T\.)?-?\d+)\.0\]")  # a category of whole numbers, which are read as floats
FAR = 5.0  # standard errors between the number of rows and that which probabilities imply


def regress(
    predictions: Any,
    formula: str,
    labels: Any = None,
    *,
    predicted: Sequence[str] | str | None = None,
    family: Literal["linear", "logistic", "poisson"] = "linear",
    fixed: str | None = None,
    method: Literal["recalibrated", "ppi++", "dsl"] = "recalibrated",
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
        Column whose fixed effects are absorbed, in linear regressions without predicted covariates. For other
        regressions, write ``C(NAME)`` in the formula.
    method
        ``recalibrated``: predictions enter by their residuals from the naive regression, with a tuned weight.
        ``ppi++``: prediction-powered inference with a tuned weight. ``dsl``: design-based supervised
        learning, with the weight 1.
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
    formulaic = from_extra("formulaic", "regressions need formulaic", "estimation")
    if "~" not in str(formula):
        hint = 'write the outcome, a tilde and the covariates, such as "topic ~ year"'
        raise InputError(f"{shown(formula)} is not a formula", hint, code="parameter")
    try:
        parsed = formulaic.Formula(formula)
        variables = sorted(map(str, parsed.required_variables))
    except Exception as error:  # formulaic raises errors of several libraries
        raise _unreadable(formula, error) from None
    table = open_table(predictions)
    pairs = _pairs(predicted, variables, table)
    apart = None if labels is None else open_table(labels)
    gold_table = table if apart is None else apart
    for name in (name for name in variables if name not in pairs):
        one_column(table.name, table.columns, name, "correct the formula")
    for name, column in pairs.items():
        one_column(gold_table.name, gold_table.columns, name, "name the gold column in the formula")
        one_column(table.name, table.columns, column, f"name it with `predicted`, such as {name}=COLUMN")
    roles = [
        Role(
            "item",
            column=None if apart is None and item == "item" else item,
            needed=apart is not None,
            once=True,
        ),
        Role("cluster", column=cluster, needed=False),
        Role("fixed", column=fixed, needed=False),
    ]
    given = read_table(table, roles) if find(table, roles) else None
    values = _variables(table, [name for name in variables if name not in pairs])
    guesses = _variables(table, list(pairs.values()))
    for variable in (*values.values(), *guesses.values()):
        variable.check_complete()
    gold = _variables(gold_table, list(pairs))
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
        raise next(iter(gold.values())).error(
            None, "there is no gold value in any row", "fill in some", "empty"
        )
    rows = labeled if apart is None else _places(apart, item, labeled, given)
    count = len(next(iter(guesses.values())).known)
    chance = _chances(table, apart, inclusion_probability, labeled, rows)
    frame, gold_frame = _frames(values, guesses, gold, pairs, rows, labeled)
    names, design, outcome, gold_design, gold_outcome = _matrices(parsed, formula, frame, gold_frame)
    _check_outcome(family, outcome, gold_outcome)
    in_covariates = not np.array_equal(design[rows], gold_design)
    clusters = None if given is None or "cluster" not in given else given["cluster"]
    effects, absorbed = None, None
    if fixed is not None and given is not None:
        if family != "linear" or in_covariates:
            what = f"a {family} regression" if family != "linear" else "predicted covariates"
            hint = f"leave out `fixed`, and write C({fixed}) in the formula"
            raise InputError(f"fixed effects of {what} cannot be absorbed", hint, code="parameter")
        effects = given["fixed"]
        clusters = effects if clusters is None else clusters
        keep = [j for j in range(len(names)) if np.ptp(design[:, j])]
        names, design = [names[j] for j in keep], design[:, keep]
        level_of, weights = outcome, None if chance is None else 1 / chance
        gold_design = _within(design[rows], effects[rows], weights)
        gold_outcome = _within(gold_outcome[:, None], effects[rows], weights)[:, 0]
        absorbed = gold_design, _within(outcome[rows, None], effects[rows], weights)[:, 0]
        design = _within(design, effects, None)
        outcome = _within(outcome[:, None], effects, None)[:, 0]
        level_of = level_of - outcome
    stratum, design_name, selected = _design(chance, count, sampling, clusters is not None)
    problem = Problem(
        family=family,
        names=names,
        design=design,
        outcome=outcome,
        rows=rows,
        gold_design=gold_design,
        gold_outcome=gold_outcome,
        chance=np.full(len(rows), len(rows) / count) if chance is None else chance,
        stratum=stratum,
        cluster=clusters,
        absorbed=absorbed,
    )
    check(problem)
    naive, alone, best = (fit(problem, one) for one in ("naive", "labels", method))
    adjusted = None
    if not in_covariates:
        adjusted = adjusted_outcome(problem, method, naive.coefficients, best)
        if effects is not None:
            adjusted = adjusted + level_of
    if output is not None:
        if adjusted is None:
            message = "there is no adjusted outcome if covariates are predicted"
            raise InputError(message, "leave out `output`", code="parameter")
        _write(output, table, frame, pairs, given, adjusted)
    terms = []
    for j, name in enumerate(names):
        estimate, spread = float(best.coefficients[j]), float(np.sqrt(best.covariance[j, j]))
        t = estimate / spread if spread else 0.0
        terms.append(
            RegressionTerm(
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
        )
    return Regression(
        formula=formula,
        family=family,
        predicted=", ".join(f"{name}={column}" for name, column in pairs.items()),
        method=method,
        documents=count,
        labelled=len(rows),
        clusters=None if clusters is None else int(clusters.max()) + 1,
        fixed=fixed,
        sampling=design_name,
        level=level,
        few_warning=few_labels(problem, best),
        clusters_warning=None
        if clusters is None
        else few_clusters(np.bincount(problem.units[0], problem.weight)),
        selection_warning=selected,
        command=command,
        terms=tuple(terms),
        adjusted=adjusted,
    )


def _unreadable(formula: str, error: Exception) -> InputError:
    text = "".join(sign for sign in COLORS.sub("", str(error)) if sign not in "⧛⧚")
    reason = " ".join(text.split())[:160] or type(error).__name__
    hint = 'write a formula such as "topic ~ year + C(party)"'
    return InputError(f"the formula {shown(formula)} cannot be used: {reason}", hint, code="parameter")


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


class _Variable:
    """Values of one column: numbers, or codes of names."""

    def __init__(self, table: Table, name: str, parts: list[Column]) -> None:
        self.table, self.name = table, name
        self.known = np.concatenate([part.present() for part in parts])
        self.names: list[str] | None = None
        numbers = [_numbers(part) for part in parts]
        if all(part is not None for part in numbers):
            self.values: NDArray[Any] = np.concatenate([part for part in numbers if part is not None])
        else:
            codes, pieces = Codes(), []
            for part in parts:
                inside = np.flatnonzero(part.present())
                code = np.full(len(part.values), -1, np.int64)
                code[inside] = part.take(inside).codes(codes, words=False) if len(inside) else 0
                pieces.append(code)
            self.values, self.names = np.concatenate(pieces), [class_name(one) for one in codes.names]
            for place, word in enumerate(self.names):
                if word.strip().casefold() in MISSING:
                    row = int(np.flatnonzero(self.values == place)[0])
                    message = f"{shown(word)} may be a missing value"
                    hint = "leave the field empty if it is missing; otherwise write another name"
                    raise self.error(row, message, hint, "missing-value")
        if self.names is None:
            bad = np.flatnonzero(self.known & ~np.isfinite(self.values))
            if len(bad):
                message = f"{self.values[bad[0]].item()!r} is not a finite number"
                raise self.error(int(bad[0]), message, "repair it", "score-range")

    def error(self, row: int | None, message: str, hint: str, code: str) -> InputError:
        """Make an error about a value."""
        place = None if row is None else self.table.first_row + row
        return InputError(message, hint, code=code, file=self.table.name, row=place, column=self.name)

    def check_complete(self) -> None:
        """Raise if a value is missing."""
        if not self.known.all():
            row = int(np.flatnonzero(~self.known)[0])
            raise self.error(row, "the value is missing", "fill it in, or drop the row", "missing-value")


def _numbers(part: Column) -> Floats | None:
    """Return values as float64, NaN where they are missing; None if one is not a number."""
    import pyarrow as pa
    from pyarrow import compute

    values = part.values
    kind = values.type
    try:
        if pa.types.is_dictionary(kind):
            texts = values.dictionary
            if pa.types.is_string(texts.type) or pa.types.is_large_string(texts.type):
                trimmed = compute.utf8_trim_whitespace(texts)
                texts = compute.if_else(compute.equal(trimmed, ""), pa.scalar(None, trimmed.type), trimmed)
            values = pa.DictionaryArray.from_arrays(values.indices, texts.cast(pa.float64()))
            values = values.dictionary_decode()
        elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
            trimmed = compute.utf8_trim_whitespace(values)
            blank = compute.equal(trimmed, "")
            values = compute.if_else(blank, pa.scalar(None, kind), trimmed).cast(pa.float64())
        elif pa.types.is_boolean(kind):
            values = values.cast(pa.int8()).cast(pa.float64())
        elif pa.types.is_integer(kind) or pa.types.is_floating(kind):
            values = values.cast(pa.float64(), safe=False)
        elif pa.types.is_decimal(kind):
            values = values.cast(pa.string()).cast(pa.float64())
        elif pa.types.is_null(kind):
            return np.full(len(values), np.nan)
        else:
            return None
    except pa.ArrowInvalid:
        return None
    numbers: Floats = as_numpy(values.fill_null(np.nan)).astype(np.float64, copy=False)
    return numbers


def _variables(table: Table, names: Sequence[str]) -> dict[str, _Variable]:
    """Read columns as numbers, or as names if a value is not a number."""
    if not names:
        return {}
    parts: dict[str, list[Column]] = {name: [] for name in names}
    for block in blocks(table, dict.fromkeys(names, "name")):
        for name in parts:
            parts[name].append(block.column(name))
    return {name: _Variable(table, name, columns) for name, columns in parts.items()}


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
    variable = _variables(home, [name])[name]
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


def _frames(
    values: Mapping[str, _Variable],
    guesses: Mapping[str, _Variable],
    gold: Mapping[str, _Variable],
    pairs: Mapping[str, str],
    rows: Integers,
    labeled: Integers,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return all rows with predictions under the formula's names, and the labeled rows with gold values."""
    import pandas as pd

    whole: dict[str, Any] = {}
    part: dict[str, Any] = {}
    for name, variable in values.items():
        whole[name] = _series(variable.values, variable.names)
        part[name] = whole[name].take(rows) if variable.names is not None else whole[name][rows]
    for name, column in pairs.items():
        guess, own = guesses[column], gold[name]
        if own.names is None and guess.names is None:
            whole[name], part[name] = guess.values, own.values[labeled]
            continue
        if own.names is None or guess.names is None:
            kinds = ["numbers" if one.names is None else "names" for one in (own, guess)]
            message = f"gold values are {kinds[0]} and predictions in {column!r} are {kinds[1]}"
            raise own.error(None, message, "write both in the same way", "column-type")
        strange = [word for word in own.names if word not in guess.names]
        if strange:
            row = int(np.flatnonzero(own.values == own.names.index(strange[0]))[0])
            message = f"no prediction is the gold class {shown(strange[0])}, only {listed(guess.names)}"
            raise own.error(row, message, "correct the label, or merge classes", "class-unknown")
        order = np.array([guess.names.index(word) for word in own.names], np.int64)
        whole[name] = _series(guess.values, guess.names)
        part[name] = _series(order[own.values[labeled]], guess.names)
    return pd.DataFrame(whole), pd.DataFrame(part)


def _series(values: NDArray[Any], names: Sequence[str] | None) -> Any:
    """Return numbers as they are, and names as a categorical with sorted categories."""
    if names is None:
        return values
    import pandas as pd

    order = np.argsort(np.array(names, dtype=object), kind="stable")
    new = np.empty(len(names), np.int64)
    new[order] = np.arange(len(names))
    return pd.Categorical.from_codes(new[values], pd.Index([names[place] for place in order]))


def _matrices(
    parsed: Any, formula: str, frame: pd.DataFrame, gold_frame: pd.DataFrame
) -> tuple[list[str], Floats, Floats, Floats, Floats]:
    """Return the names of the terms, and covariates and outcome of all rows and of the labeled rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            made = parsed.get_model_matrix(frame, output="numpy", na_action="raise", context={})
            own = made.model_spec.get_model_matrix(gold_frame, context={})
        except CalibrantError:
            raise
        except Exception as error:  # formulaic raises errors of several libraries
            raise _unreadable(formula, error) from None
    if not hasattr(made, "lhs") or isinstance(made.rhs, tuple) or made.lhs.shape[1] != 1:
        message = f"{shown(formula)} is not one column of numbers before the tilde, and terms after it"
        hint = "write outcomes as numbers, such as 0 and 1, and a formula such as topic ~ year + C(party)"
        raise InputError(message, hint, code="parameter")
    names = [WHOLE.sub(r"\1]", str(name)) for name in made.rhs.model_spec.column_names]
    arrays = [np.asarray(one, np.float64) for one in (made.rhs, made.lhs, own.rhs, own.lhs)]
    if not all(np.isfinite(one).all() for one in arrays):
        message = f"a term of {shown(formula)} is infinite or undefined in a row"
        raise InputError(message, "correct the formula or the values", code="parameter")
    if not names:
        raise InputError(f"{shown(formula)} has no covariate", "add one, or an intercept", code="parameter")
    return names, arrays[0], arrays[1][:, 0], arrays[2], arrays[3][:, 0]


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


def _design(
    chance: Floats | None, count: int, sampling: str, clustered: bool
) -> tuple[Integers | None, str, str | None]:
    """Return the strata of the labels (n,) or None, the name of the design, and a warning."""
    if chance is None or np.ptp(chance) <= EQUAL:
        warning = None
        if chance is not None:
            warning = _implied(chance, count)
        return None, "simple", warning
    order = np.sort(chance)
    starts = order[np.concatenate([[True], np.diff(order) > EQUAL])]
    group = np.searchsorted(starts, chance, side="right") - 1
    sizes = np.bincount(group) / starts
    fixed = np.bincount(group).min() >= 2 and abs(sizes.sum() - count) <= max(0.5, 1e-4 * count)
    whole = bool((np.abs(sizes - np.rint(sizes)) <= np.maximum(1e-4 * sizes, 1e-6)).all())
    if sampling == "fixed" and not fixed:
        message = f"the probabilities imply {sizes.sum():,.0f} rows, and there are {count:,}"
        hint = "give the number of labels over the number of rows of each group, or state independent choices"
        raise InputError(message, hint, code="parameter")
    if sampling != "independent" and fixed and (whole or sampling == "fixed"):
        return (None if clustered else group), "fixed", None
    return None, "independent", _implied(chance, count)


def _implied(chance: Floats, count: int) -> str | None:
    """Return a warning if the probabilities imply another number of rows."""
    implied = float((1 / chance).sum())
    error = float(np.sqrt(((1 - chance) / chance**2).sum()))
    if abs(implied - count) <= max(FAR * error, 0.5):
        return None
    return (
        f"the inclusion probabilities imply {implied:,.0f} rows, and there are {count:,}: they may not be "
        "those with which the labeled rows were chosen"
    )


def _within(values: Floats, code: Integers, weight: Floats | None) -> Floats:
    """Return values (n, p) without the mean of their group."""
    total = np.bincount(code, weight)
    means = [np.bincount(code, column if weight is None else weight * column) for column in values.T]
    with np.errstate(invalid="ignore"):
        centered: Floats = values - (np.stack(means, axis=1) / total[:, None])[code]
    return centered


def _quantity(result: Fit, j: int, level: float) -> Quantity:
    estimate, error = float(result.coefficients[j]), float(np.sqrt(result.covariance[j, j]))
    half = critical_value(level, float(result.freedom[j]), "two-sided") * error
    return Quantity(estimate, estimate - half, estimate + half, error)


def _write(
    output: str,
    table: Table,
    frame: pd.DataFrame,
    pairs: Mapping[str, str],
    given: FoundColumns | None,
    adjusted: Floats,
) -> None:
    """Write the variables, with predictions under their own names, and the adjusted outcome."""
    import pyarrow as pa

    columns: dict[str, Any] = {}
    if given is not None:
        for part, role in given.roles.items():
            codes = pa.array(given[part], pa.int32())
            texts = pa.DictionaryArray.from_arrays(codes, pa.array(given.names[part]))
            columns[role.name] = texts.dictionary_decode()
    for name in frame.columns:
        values = frame[name]
        array = pa.array(values.astype(object) if values.dtype.name == "category" else values.to_numpy())
        columns[pairs.get(name, name)] = array
    columns[CORRECTED] = pa.array(adjusted)
    batch = pa.RecordBatch.from_arrays(
        [pa.array(one) if not isinstance(one, pa.Array) else one for one in columns.values()], list(columns)
    )
    write_batches(output, output_format(output, table.name), iter([batch]))
