"""Columns of regressions with predicted variables, and the regressions that they make."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calibrant._checks import Floats, Integers, is_list, shown
from calibrant.estimation.designs import WHOLE, combine_rounds
from calibrant.estimation.proxies import MOST as MOST_PROXIES
from calibrant.estimation.proxies import ProxyWeights, combined
from calibrant.estimation.regression import check
from calibrant.estimation.regression_design import Design, absorb, labels_design
from calibrant.estimation.regression_problems import Problem
from calibrant.estimation.sampling import Sample
from calibrant.estimation.verbs.formulas import frames, matrices
from calibrant.estimation.verbs.groups import check_strata
from calibrant.exceptions import InputError
from calibrant.io.roles import FoundColumns, Role, find, from_file, open_table, read_table
from calibrant.io.tables import Table, listed, one_column
from calibrant.io.variables import Variable, read_variables

INCLUSION, ROUND, STRATUM = "inclusion_probability", "round", "stratum"


@dataclass(frozen=True)
class Columns:
    """Columns of the tables.

    Attributes
    ----------
    table
        The table of predictions.
    pairs
        Columns of predictions of each predicted variable, one per proxy.
    values, guesses, gold
        Variables that are not predicted, predictions by column, and gold values.
    labeled
        (n,) rows of the gold values that have one.
    rows
        (n,) rows of the table of predictions to which these belong.
    chance
        (n,) inclusion probabilities; None if there are none. With rounds, one over the weights of all rounds.
    stratum
        (n,) codes of strata and rounds, of which fixed numbers were drawn; None if they are not known.
    survey
        (N,) survey weights, whose mean is 1; None without.
    clusters, effects
        (N,) codes of clusters and of groups with fixed effects; None without.
    groups
        Names of items, clusters and these groups, by column.
    """

    table: Table
    pairs: Mapping[str, tuple[str, ...]]
    values: Mapping[str, Variable]
    guesses: Mapping[str, Variable]
    gold: Mapping[str, Variable]
    labeled: Integers
    rows: Integers
    chance: Floats | None
    stratum: Integers | None
    survey: Floats | None
    clusters: Integers | None
    effects: Integers | None
    groups: Mapping[str, Any]

    @property
    def count(self) -> int:
        """Number of rows."""
        return len(next(iter(self.guesses.values())).known)


def read_columns(
    predictions: Any,
    labels: Any,
    variables: Sequence[str],
    predicted: Any,
    item: str,
    cluster: str | None,
    fixed: str | None,
    inclusion: str | None,
    weight: str | None,
) -> Columns:
    """Read the columns, and find the labeled rows."""
    table = open_table(predictions)
    pairs = _pairs(predicted, variables, table)
    apart = None if labels is None else open_table(labels)
    gold_table = table if apart is None else apart
    for name in (name for name in variables if name not in pairs):
        one_column(table.name, table.columns, name, "correct the formula")
    for name, proxies in pairs.items():
        one_column(gold_table.name, gold_table.columns, name, "name the gold column in the formula")
        for column in proxies:
            one_column(table.name, table.columns, column, f"name it with `predicted`, such as {name}=COLUMN")
    items = None if apart is None and item == "item" else item
    roles = [
        Role("item", column=items, needed=apart is not None, once=True),
        Role("cluster", column=cluster, needed=False),
    ]
    given = read_table(table, roles) if find(table, roles) else None
    grouped = None if fixed is None else read_table(table, [Role("fixed", column=fixed)])
    values = read_variables(table, [name for name in variables if name not in pairs])
    guesses = read_variables(table, list(dict.fromkeys(itertools.chain(*pairs.values()))))
    for variable in (*values.values(), *guesses.values()):
        variable.check_complete()
        variable.check_kind()
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
    chance = _chances(table, apart, inclusion, labeled, rows)
    chance, stratum = _draws(table, apart, variables, chance, labeled, rows)
    return Columns(
        table=table,
        pairs=pairs,
        values=values,
        guesses=guesses,
        gold=gold,
        labeled=labeled,
        rows=rows,
        chance=chance,
        stratum=stratum,
        survey=None if weight is None else _survey(table, weight),
        clusters=None if given is None else given.get("cluster"),
        effects=None if grouped is None else grouped["fixed"],
        groups=groups,
    )


def _pairs(predicted: Any, variables: Sequence[str], table: Table) -> dict[str, tuple[str, ...]]:
    """Return the columns of predictions of each predicted variable."""
    pairs: dict[str, tuple[str, ...]] = {}
    if predicted is None:
        pairs = {name: (f"pred_{name}",) for name in variables if f"pred_{name}" in table.columns}
    else:
        texts = list(predicted) if is_list(predicted) else [predicted]
        split = [str(text).partition("=") for text in texts]
        for name, _, columns in split:
            whole = columns in table.columns  # a comma may be in the name of a column
            proxies = (columns,) if whole else tuple(one.strip() for one in columns.split(","))
            pairs[name] = proxies if columns else (f"pred_{name}",)
    for name, proxies in pairs.items():
        if name not in variables:
            message = f"the predicted variable {shown(name)} is not in the formula"
            hint = f"its variables are {listed(variables)}"
            raise InputError(message, hint, code="parameter")
        if len(set(proxies)) < len(proxies) or "" in proxies or len(proxies) > MOST_PROXIES:
            message = f"the predictions of {shown(name)} are not 1 to {MOST_PROXIES} different columns"
            raise InputError(message, f"name each once, such as {name}=MODEL,KEYWORDS", code="parameter")
    numbers = sorted({len(proxies) for proxies in pairs.values()} - {1})
    if len(numbers) > 1:
        message = f"one variable has {numbers[0]} columns of predictions, and another one {numbers[1]}"
        hint = "give each one column, or as many as the others, in the same order"
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


def _draws(
    table: Table,
    apart: Table | None,
    variables: Sequence[str],
    chance: Floats | None,
    labeled: Integers,
    rows: Integers,
) -> tuple[Floats | None, Integers | None]:
    """Return the probabilities of all rounds together, and codes of draws of which the number was fixed."""
    codes: dict[str, Any] = {}
    for name in (ROUND, STRATUM):
        home = next((one for one in (apart, table) if one is not None and name in one.columns), None)
        if home is None or name in variables or chance is None:
            continue
        variable = read_variables(home, [name])[name]
        at = labeled if home is apart else rows
        gaps = at[~variable.known[at]]
        if len(gaps):
            message = f"the {name} of a labeled row is missing"
            raise variable.error(int(gaps[0]), message, "fill it in, or drop the column", "missing-value")
        codes[name] = np.unique(variable.values[at], return_inverse=True)[1]
        if name == STRATUM:
            places = [(one, own) for one, own in ((apart, labeled), (table, rows)) if one is not None]
            texts = [check_strata(one, name, own) for one, own in places if name in one.columns]
            differ = np.flatnonzero(texts[0] != texts[-1])
            if len(differ):
                message = f"the stratum is {shown(texts[-1][differ[0]])} in {table.name}"
                row, hint = int(at[differ[0]]), "write one stratum per document"
                raise variable.error(row, message, hint, "parameter")
    if chance is None or not codes:
        return chance, None
    own = chance
    if ROUND in codes and codes[ROUND].max():
        nothing = np.zeros(len(chance))
        chance = combine_rounds(Sample(nothing, rows, nothing, own, None), codes[ROUND]).chance
    draw = np.unique(np.stack(list(codes.values())), axis=1, return_inverse=True)[1].reshape(-1)
    count = np.bincount(draw)
    least, most = np.full(len(count), np.inf), np.zeros(len(count))
    np.minimum.at(least, draw, own)
    np.maximum.at(most, draw, own)
    fixed = len(count) > 1 and count.min() >= 2 and bool((most - least <= WHOLE * most).all())
    return chance, draw if fixed else None


def _survey(table: Table, column: str) -> Floats:
    """Return the survey weights of all rows, divided by their mean."""
    one_column(table.name, table.columns, column, "correct the name of the survey weights")
    variable = read_variables(table, [column])[column]
    variable.check_complete()
    if variable.names is not None:
        raise variable.error(0, "the survey weight is not a number", "write a number above 0", "column-type")
    wrong = np.flatnonzero(variable.values <= 0)
    if len(wrong):
        row = int(wrong[0])
        message = f"the survey weight is {variable.values[row]:g}"
        raise variable.error(row, message, "give weights above 0, or leave the row out", "weight-value")
    weight: Floats = variable.values / variable.values.mean()
    return weight


@dataclass(frozen=True)
class Prepared:
    """A regression made from tables.

    Attributes
    ----------
    columns
        The columns.
    problem
        The regression.
    spec
        Its covariates, as formulaic describes them.
    frames, gold_frame
        All rows with the predictions of each proxy, and the labeled rows with gold values.
    proxies
        Weights of the proxies; None for one.
    parts
        The regression with the predictions of each proxy alone.
    design
        Design of the labeled sample.
    means
        (N,) means of the outcome that fixed effects absorb; None without.
    """

    columns: Columns
    problem: Problem
    spec: Any
    frames: Sequence[Any]
    gold_frame: Any
    proxies: ProxyWeights | None
    parts: Sequence[Problem]
    design: Design
    means: Floats | None

    @property
    def in_covariates(self) -> bool:
        """True if a covariate is predicted."""
        return self.problem.covariates_are_predicted


def prepare(formula: str, columns: Columns, read: Any, family: Any, sampling: str, fixed: bool) -> Prepared:
    """Make a regression from columns, and check it."""
    rows, count = columns.rows, columns.count
    many = max(map(len, columns.pairs.values()))
    every = [
        {name: proxies[k if len(proxies) > 1 else 0] for name, proxies in columns.pairs.items()}
        for k in range(many)
    ]
    pairs = [
        frames(columns.values, columns.guesses, columns.gold, one, rows, columns.labeled) for one in every
    ]
    made = [matrices(read, formula, *pair) for pair in pairs]
    spec = made[0].spec
    for one, own in zip(made, every, strict=True):
        _check_outcome(family, one.outcome, one.gold_outcome, *_outcomes(read, columns, own))
        if one.names != made[0].names:
            message = "the columns of predictions do not have the same categories"
            raise InputError(message, "write classes in the same way in all of them", code="parameter")
    if all(np.array_equal(one.design, made[0].design) for one in made):
        made = [replace(one, design=made[0].design) for one in made]
    clusters, means = columns.clusters, None
    absorbed: list[Any] = [None] * many
    if fixed:
        assert columns.effects is not None  # because they were asked for
        clusters, before = columns.effects if clusters is None else clusters, [one.outcome for one in made]
        both = [absorb(one, rows, columns.effects, columns.chance, columns.survey) for one in made]
        made, absorbed = [one for one, _ in both], [own for _, own in both]
        means = [old - new.outcome for old, new in zip(before, made, strict=True)]
    design = labels_design(columns.chance, count, sampling, clustered=clusters is not None)
    if columns.stratum is not None and sampling != "independent":
        group = None if clusters is not None else columns.stratum
        design = Design(group, "fixed", design.warning if design.name != "fixed" else None)
    parts = [
        Problem(
            family=family,
            names=one.names,
            design=one.design,
            outcome=one.outcome,
            rows=rows,
            gold_design=one.gold_design,
            gold_outcome=one.gold_outcome,
            chance=np.full(len(rows), len(rows) / count) if columns.chance is None else columns.chance,
            stratum=design.stratum,
            cluster=clusters,
            absorbed=own,
            survey=columns.survey,
        )
        for one, own in zip(made, absorbed, strict=True)
    ]
    with from_file(next(iter(columns.gold.values())).table):
        for part in parts:
            check(part)
        problem, found = (parts[0], None) if many == 1 else combined(parts)
        if found is not None:
            check(problem)
    whole = None
    if means is not None:
        share = np.ones(1) if found is None else found.weight
        whole = np.sum([one * own for one, own in zip(share, means, strict=True)], axis=0)
    own_frames = [pair[0] for pair in pairs]
    return Prepared(columns, problem, spec, own_frames, pairs[0][1], found, parts, design, whole)


def _outcomes(read: Any, columns: Columns, proxy: dict[str, str]) -> tuple[Variable, Variable] | tuple[()]:
    """Return the columns of gold and of predicted outcomes; none if the outcome is of several columns."""
    names = sorted(map(str, read.lhs.required_variables))
    if len(names) != 1:
        return ()
    [name] = names
    if name in columns.gold:
        return columns.gold[name], columns.guesses[proxy[name]]
    return columns.values[name], columns.values[name]


def _check_outcome(family: str, outcome: Floats, gold: Floats, *columns: Variable) -> None:
    """Raise if an outcome is impossible for the family; name its row in the columns of both, if known."""
    for place, (values, what) in enumerate(((gold, "gold outcome"), (outcome, "predicted outcome"))):
        if family == "logistic":
            wrong = (values < 0) | (values > 1) | ((values != np.round(values)) & (what[0] == "g"))
            hint = "write outcomes as 0 and 1, and predictions as these or as probabilities"
        elif family == "poisson":
            wrong, hint = values < 0, "write counts of at least 0"
        else:
            continue
        if wrong.any():
            message = f"a {what} of a {family} regression is {values[wrong][0]:g}"
            if not columns:
                raise InputError(message, hint, code="label-value")
            same = np.flatnonzero(columns[place].values == values[wrong][0])
            raise columns[place].error(int(same[0]) if len(same) else None, message, hint, "label-value")
