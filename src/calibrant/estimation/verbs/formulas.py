"""Formulas of regressions, read by formulaic: covariates and outcomes from columns."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Floats, Integers, shown
from calibrant.estimation.regression_design import Matrices
from calibrant.exceptions import InputError
from calibrant.io.tables import listed
from calibrant.io.variables import Variable
from calibrant.lazy import from_extra

if TYPE_CHECKING:
    import pandas as pd

COLORS = re.compile(r"\x1b\[[\d;]*m")  # formulaic marks the wrong part of a formula
LARGEST = 1e100  # whose square and sums of squares are finite
WHOLE = re.compile(r"(\[(?:T\.)?-?\d+)\.0\]")  # a category of whole numbers, which are read as floats


def parsed(formula: str) -> tuple[Any, list[str]]:
    """Return a formula of formulaic, and the names of its variables.

    Raises
    ------
    InputError
        If it is no formula.
    MissingExtraError
        If formulaic is not installed.

    Examples
    --------
    >>> parsed("topic ~ log(age) + C(party)")[1]
    ['age', 'party', 'topic']
    """
    formulaic = from_extra("formulaic", "regressions need formulaic", "estimation")
    if "~" not in str(formula):
        hint = 'write the outcome, a tilde and the covariates, such as "topic ~ year"'
        raise InputError(f"{shown(formula)} is not a formula", hint, code="parameter")
    try:
        read = formulaic.Formula(formula)
        return read, sorted(map(str, read.required_variables))
    except Exception as error:  # formulaic raises errors of several libraries
        raise _unreadable(formula, error) from None


def _unreadable(formula: str, error: Exception) -> InputError:
    text = "".join(sign for sign in COLORS.sub("", str(error)) if sign not in "⧛⧚")
    reason = " ".join(text.split())[:160] or type(error).__name__
    hint = 'write a formula such as "topic ~ year + C(party)"'
    return InputError(f"the formula {shown(formula)} cannot be used: {reason}", hint, code="parameter")


def frames(
    values: Mapping[str, Variable],
    guesses: Mapping[str, Variable],
    gold: Mapping[str, Variable],
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
            word = own.first_word()
            if word is not None:
                message += f", but {shown(word[1])} is no number"
            raise own.error(word and word[0], message, "write both in the same way", "column-type")
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


def matrices(read: Any, formula: str, frame: pd.DataFrame, gold_frame: pd.DataFrame) -> Matrices:
    """Return the covariates and outcomes of all rows and of the labeled rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            made = read.get_model_matrix(frame, output="numpy", na_action="raise", context={})
            own = made.model_spec.get_model_matrix(gold_frame, context={})
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
    if any(one.size and np.abs(one).max() > LARGEST for one in arrays):
        message = f"a term of {shown(formula)} has values above {LARGEST:g}"
        raise InputError(message, "write the column in larger units", code="parameter")
    if not names:
        raise InputError(f"{shown(formula)} has no covariate", "add one, or an intercept", code="parameter")
    spec = made.rhs.model_spec
    alike = [str(term) for term, columns in spec.term_indices.items() if not columns]
    if alike:
        message = f"the term {alike[0]} is a category with one value in all rows"
        raise InputError(message, "leave it out of the formula", code="parameter")
    return Matrices(names, arrays[0], arrays[1][:, 0], arrays[2], arrays[3][:, 0], spec)


def covariates_at(spec: Any, formula: str, frame: pd.DataFrame, values: Mapping[str, Any]) -> Floats:
    """Return the covariates (N, p) of the rows of a frame, of which some variables have other values."""
    changed = frame.assign(**values)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            made: Floats = np.asarray(spec.get_model_matrix(changed, context={}), np.float64)
        except Exception as error:  # formulaic raises errors of several libraries
            raise _unreadable(formula, error) from None
    if not np.isfinite(made).all():
        message = f"a term of {shown(formula)} is infinite or undefined where {listed(list(values))} changes"
        raise InputError(message, "leave these values out", code="parameter")
    return made


def categories(spec: Any, frame: pd.DataFrame) -> dict[str, list[Any]]:
    """Return the values of the variables of a formula that are categories; numbers have none.

    Raises
    ------
    InputError
        If a function of a variable is a category.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"y": [0.0, 1, 0], "x": [2.0, 3, 5], "k": ["a", "b", "a"]})
    >>> made = parsed("y ~ x + k")[0].get_model_matrix(frame)
    >>> categories(made.rhs.model_spec, frame)
    {'x': [], 'k': ['a', 'b']}
    """
    import pandas as pd

    known = set(map(str, spec.required_variables))
    order = [str(name) for variables in spec.term_variables.values() for name in sorted(map(str, variables))]
    found: dict[str, list[Any]] = {name: [] for name in order if name in known}
    for factor, variables in spec.factor_variables.items():
        kind = spec.encoder_state.get(factor.expr, (None,))[0]
        for name in map(str, variables):
            if name not in found or "CATEGORICAL" not in str(kind):
                continue
            plain = (
                rf"(C\()?\s*`?{re.escape(name)}`?\s*([,)].*)?"  # the variable itself, not a function of it
            )
            if not re.fullmatch(plain, factor.expr):
                message = f"{shown(name)} has no values to compare, because {factor.expr} is a function of it"
                hint = "write the categories into a column, and name this one in the formula"
                raise InputError(message, hint, code="parameter")
            column = frame[name]
            if isinstance(column.dtype, pd.CategoricalDtype):
                found[name] = list(column.cat.categories)
            else:
                found[name] = sorted(column.unique().tolist())
    return found
