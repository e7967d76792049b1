"""Files that `estimate` writes: figures, and tables with the corrected outcome."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Floats, Integers
from calibrant.estimation.contrasts import Groups
from calibrant.estimation.designs import combine_rounds
from calibrant.estimation.files import check_output
from calibrant.estimation.results import CorrectedCounts, CorrectedMean
from calibrant.estimation.sampling import EQUAL
from calibrant.estimation.selection import checked_sample, codes_of
from calibrant.estimation.shifted_shares import SHIFTS
from calibrant.estimation.verbs.outcomes import INCLUSION, Outcome
from calibrant.exceptions import InputError
from calibrant.io.variables import write_columns

FIGURES = (".svg", ".png", ".pdf")
CORRECTED = "corrected"


def check_written(output: str | None, *sources: Any) -> None:
    """Raise at once if the output cannot be written."""
    if output is None:
        return
    kind = Path(os.fspath(output)).suffix.lower()
    if kind in FIGURES:
        from calibrant.verbs.figures import figure_kind

        figure_kind(output)
    else:
        check_output(output, *(source for source in sources if source is not None))


def write_output(
    output: str, result: CorrectedCounts, found: Outcome, groups: Groups | None, rows: Integers
) -> None:
    """Write a figure or a table, by the ending of the name.

    Parameters
    ----------
    output
        The file.
    result
        The estimates.
    found, groups, rows
        Scores and labels, the groups of the documents, and places of the labeled ones.
    """
    kind = Path(os.fspath(output)).suffix.lower()
    if kind in FIGURES:
        from calibrant.estimation.plots import estimates_by_group
        from calibrant.verbs.figures import save_figure

        save_figure(estimates_by_group(result), output)
    else:
        columns: dict[str, Any] = {}
        for part in ("item", "date", *sorted(one for one in found.scored.roles if one[2:].isdigit())):
            if part in found.scored:
                columns[found.scored.roles[part].name] = found.scored.texts(part)
        if "weight" in found.scored:
            columns[found.scored.roles["weight"].name] = found.scored["weight"]
        write_columns(output, found.scored.table.name, {**columns, **corrected(result, found, groups, rows)})


def corrected(
    result: CorrectedCounts, found: Outcome, groups: Groups | None, rows: Integers
) -> dict[str, Floats]:
    """Return the corrected outcome of all documents, one column per class.

    The corrected outcome is the weighted score, plus label minus weighted score of a labeled document, over
    its probability of being labeled. Its mean over a group, or over all documents without groups, is the
    estimate of the reported method (Egami et al. 2023).

    Raises
    ------
    InputError
        If the method has no corrected outcome of a document.
    """
    method = result.reported or result.estimates[-1].method
    if method in ("uncorrected", *SHIFTS):
        hint = "write a figure, or choose another method, such as ppi++"
        raise InputError(f"{method} has no corrected outcome of a document", hint, code="parameter")
    code = np.zeros(len(found.scored.rows), np.int64) if groups is None else groups.code
    names = ("all",) if groups is None else groups.names
    survey = found.scored.get("weight")
    survey = np.ones(len(code)) if survey is None else survey
    chance = found.labeled.get(INCLUSION)
    sample = checked_sample(np.zeros(len(code)), rows, np.zeros(len(rows)), chance, None)
    turn = None if chance is None else codes_of(found.labeled.get("round"), "rounds", len(rows))
    sample = sample if turn is None else combine_rounds(sample, turn)
    estimates = {(one.period, one.outcome): one for one in result.estimates if one.method == method}
    columns = {}
    for number, name in enumerate(found.classes or (None,)):
        score = found.score if name is None else found.score[:, number]
        label = found.label if name is None else found.label == number
        own = [estimates[group, name] for group in names]
        weight = np.array([0.0 if one.weight is None else one.weight for one in own])
        scale = _scales(own, sample.weight, survey, code, rows, equal=sample.equal)
        values: Floats = weight[code] * score
        values[rows] += scale[code[rows]] * sample.weight * (label - values[rows])
        columns[CORRECTED if name is None else f"{CORRECTED}_{name}"] = values
    return columns


def _scales(
    estimates: list[CorrectedMean],
    weight: Floats,
    survey: NDArray[np.float64],
    code: Integers,
    rows: Integers,
    *,
    equal: bool,
) -> Floats:
    """Return by what the weights of each group's labels are multiplied to represent all its documents."""
    count = len(estimates)
    total = np.bincount(code, survey, count)
    own = np.bincount(code[rows], weight * survey[rows], count)
    scale = total / np.where(own > EQUAL, own, 1)
    if equal or (survey != 1).any() or estimates[0].method != "dsl":
        return scale
    # The weights of independent draws are used as they are, but where all of a group are equal.
    least, most = np.full(count, np.inf), np.zeros(count)
    np.minimum.at(least, code[rows], weight)
    np.maximum.at(most, code[rows], weight)
    return np.where(most - least > EQUAL, 1.0, scale)
