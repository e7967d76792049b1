"""Draw documents to label from a table, with known inclusion probabilities."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from calibrant._checks import one_of, positive_integer, shown
from calibrant.estimation.drawing import ALLOCATIONS, DESIGNS, Population, draw
from calibrant.estimation.files import check_output, kept_columns, sample_table, write_sample
from calibrant.estimation.results.designs import DrawnSample, SampledStratum
from calibrant.estimation.selection import check_inclusion
from calibrant.estimation.verbs.outcomes import INCLUSION
from calibrant.exceptions import InputError
from calibrant.io.roles import FoundColumns, Role, open_table, read_table
from calibrant.io.tables import Table
from calibrant.seeds import Seed
from calibrant.seeds import number as number_of

ALL = "all"
MOST_STRATA = 1000  # a column with more values is no column of strata


def sample(
    documents: Any,
    output: str | os.PathLike[str] | None = None,
    *,
    size: int,
    design: str | None = None,
    by: str | None = None,
    allocation: str | None = None,
    floor: float = 0.25,
    cluster: str | None = None,
    previous: Any = None,
    round: int | None = None,
    score: str | None = None,
    item: str = "item",
    keep: Sequence[str] | None = None,
    seed: Seed = 0,
) -> DrawnSample:
    """Draw documents to label, and store the probability with which each was drawn.

    The draw depends on the seed and the names of the items, but not on the order of the rows.

    Parameters
    ----------
    documents
        Table (a file or a dataframe) of all documents, with a column ``item``, and ``score`` for designs that
        use the model's uncertainty.
    output
        Table to write: ``item``, ``inclusion_probability``, ``stratum``, with clusters ``cluster``, with
        rounds ``round``, and the columns of `keep`. None: it is only returned.
    size
        Number of documents to draw; with the design ``cluster``, number of clusters.
    design
        How documents are drawn. ``simple``: all with the same probability. ``stratified``: a fixed number
        from each stratum of the column `by`. ``uncertainty``: with probabilities proportional to
        sqrt(p (1 - p)) of the score p. ``cluster``: all documents of some clusters. None: ``stratified`` with
        `by`, ``cluster`` with `cluster`, else ``simple``.
    by
        Column of strata, such as the class that a model predicts.
    allocation
        Labels per stratum. ``proportional``: to its documents. ``neyman``: to its documents times the square
        root of their mean p (1 - p), but at least 2. ``equal``: the same number from each. None: ``neyman``
        if the table has scores that state uncertainty, else ``proportional``.
    floor
        With ``uncertainty``: lower limit of the probabilities, as a fraction of size / documents.
    cluster
        Column of clusters, such as authors, of which all documents are to be labeled.
    previous
        Table of earlier rounds, as written for them, with or without labels. Their documents are not drawn
        again, and the output repeats their rows.
    round
        Number of this round. None: one more than the last of `previous`.
    score
        Column of predicted probabilities. None: ``score``, if there is one.
    item
        Column of document names.
    keep
        Further column to write, such as the text.
    seed
        Seed of the draw.

    Returns
    -------
    DrawnSample
        Its ``table`` is the Arrow table that is written.

    Raises
    ------
    InputError
        If the size is larger than the table or too small for the strata, an item is in two rows, a score is
        outside [0, 1], or a column is missing.

    References
    ----------
    Neyman (1934), "On the two different aspects of the representative method"; Hartley and Rao (1962),
    "Sampling with unequal probabilities and without replacement"; Ohlsson (1995), "Coordination of samples
    using permanent random numbers".

    Examples
    --------
    >>> import pyarrow as pa
    >>> scores = pa.table({"item": range(8), "score": [0.9] * 4 + [0.2] * 4, "party": ["a", "b"] * 4})
    >>> drawn = sample(scores, size=4, by="party", seed=1)
    >>> [(stratum.stratum, stratum.documents, stratum.drawn) for stratum in drawn.strata]
    [('a', 4, 2), ('b', 4, 2)]
    >>> drawn.table.column_names
    ['item', 'inclusion_probability', 'stratum']
    """
    size = positive_integer(size, "size")
    design = _design(design, by, cluster)
    if allocation is not None:
        one_of(allocation, ALLOCATIONS, "allocation")
        if design != "stratified":
            message = f"allocation is {allocation!r}, but documents are not drawn from strata"
            raise InputError(message, "give the column of strata (`by`)", code="parameter")
    if not 0 < floor <= 1:
        hint = "give a number above 0 and at most 1: without a floor, certain scores are never checked"
        raise InputError(f"floor is {floor:g}", hint, code="parameter")
    check_output(output, documents, previous)
    table = open_table(documents)
    scored = score is not None or "score" in table.columns
    needed = design == "uncertainty" or allocation == "neyman"
    used = needed or (design == "stratified" and allocation is None and scored)
    used = used and not (by is not None and by == (score or "score"))
    how = "name the column of scores with `score`, or choose another design"
    roles = [
        Role("item", column=item, once=True),
        *([Role("score", "score", score or "score", how=how)] if used else []),
        *([Role("stratum", column=by, how="name it with `by`")] if by is not None else []),
        *([Role("cluster", column=cluster)] if design == "cluster" else []),
    ]
    columns = read_table(table, roles)
    if "stratum" in columns:
        columns.check_spelling("stratum", "write each stratum in one way")
        if len(columns.names["stratum"]) > MOST_STRATA:
            message = f"there are {len(columns.names['stratum']):,} different values, too many for strata"
            hint = "name a column with fewer values, such as the model's class"
            raise InputError(message, hint, code="parameter", file=table.name, column=by)
    if design == "stratified" and allocation is None:
        allocation = "neyman" if used and _uncertain(columns) else "proportional"
    earlier = None if previous is None else open_table(previous)
    number, rest = _rest(columns, earlier, round)
    population = _population(columns, rest)
    start = number_of(seed)
    stage = "" if number == 1 else f"round {number}"
    rows, chance = draw(
        population,
        size,
        design,
        allocation=allocation or "proportional",
        floor=floor,
        seed=start,
        stage=stage,
    )
    places = rest[rows]
    new: dict[str, Any] = {
        "item": [population.names[row] for row in rows],
        "inclusion_probability": chance[rows],
        "stratum": [population.strata[code] for code in population.stratum[rows]],
    }
    if population.cluster is not None:
        new["cluster"] = [population.clusters[code] for code in population.cluster[rows]]
    if number > 1:
        new["round"] = np.full(len(rows), number)
    for name, values in kept_columns(table, list(keep or ()), places).items():
        if name in new and name not in (item, by, cluster):
            message = f"a column {shown(name)} to keep has the name of a column of the output"
            raise InputError(message, "rename it", code="parameter", file=table.name)
        new.setdefault(name, values)
    result = sample_table(new, earlier)
    if output is not None:
        write_sample(result, output)
    drawn = np.bincount(population.stratum[rows], minlength=len(population.strata))
    ratio = None
    if population.score is not None and design != "cluster":
        variance = population.spread**2
        simple = (len(chance) / len(rows) - 1) * float(variance.sum())
        ratio = float(np.sqrt((1 / chance - 1) @ variance / simple)) if simple else None
    return DrawnSample(
        design=design,
        documents=len(rest),
        drawn=len(rows),
        clusters=size if design == "cluster" else None,
        round=number,
        earlier=result.num_rows - len(rows),
        allocation=allocation,
        floor=floor if design == "uncertainty" else None,
        relative_width=ratio,
        seed=start,
        output=None if output is None else os.fspath(output),
        strata=tuple(
            SampledStratum(
                stratum=name,
                documents=int((population.stratum == code).sum()),
                drawn=int(drawn[code]),
                smallest=float(chance[population.stratum == code].min()),
                largest=float(chance[population.stratum == code].max()),
            )
            for code, name in enumerate(population.strata)
        ),
        table=result,
    )


def _design(design: str | None, by: str | None, cluster: str | None) -> str:
    """Return the design, and raise if an option does not belong to it."""
    if design is None:
        design = "stratified" if by is not None else "cluster" if cluster is not None else "simple"
    one_of(design, DESIGNS, "design")
    columns = ("by", by, "stratified", "strata"), ("cluster", cluster, "cluster", "clusters")
    for name, value, owner, what in columns:
        if design == owner and value is None:
            message = f"design is {design!r}, which needs a column of {what}"
            raise InputError(message, f"name it with `{name}`", code="parameter")
        if design != owner and value is not None:
            message = f"design is {design!r}, which has no {what}"
            raise InputError(message, f"leave `{name}` out, or choose {owner}", code="parameter")
    return design


def _uncertain(columns: FoundColumns) -> bool:
    """Return True if some score is neither 0 nor 1."""
    return bool((columns["score"] % 1).any())


def _rest(columns: FoundColumns, earlier: Table | None, asked: int | None) -> tuple[int, Any]:
    """Return the number of the round, and the places of documents without an earlier one."""
    every = np.arange(len(columns["item"]))
    if earlier is None:
        if asked not in (None, 1):
            message = f"round is {asked}, but there is no table of earlier rounds"
            raise InputError(message, "give it with `previous`", code="parameter")
        return 1, every
    roles = (
        Role("item", once=True),
        Role("round", "finite", needed=False),
        Role(INCLUSION, "score"),
    )
    before = read_table(earlier, roles)
    try:
        check_inclusion(before[INCLUSION], "the inclusion probability of a drawn document is {probability:g}")
    except InputError as error:
        raise before.placed(error, part=INCLUSION) from None
    last = 1 if "round" not in before else int(before["round"].max())
    number = last + 1
    if asked is not None and asked != number:
        message = f"round is {asked}, but the last round of {earlier.name} is {last}"
        raise InputError(message, f"give {number}, or leave it out", code="parameter")
    place = {name: row for row, name in enumerate(columns.names["item"])}
    known = np.zeros(len(every), np.bool_)
    for row, name in enumerate(before.names["item"]):
        if name not in place:
            message = f"{shown(name)} is not in {columns.table.name}"
            raise before.error(row, message, "draw all rounds from one table", "parameter", part="item")
        known[place[name]] = True
    if known.all():
        raise InputError("all documents were drawn in earlier rounds", "draw no more", code="parameter")
    return number, np.flatnonzero(~known)


def _population(columns: FoundColumns, rest: Any) -> Population:
    """Return the documents to draw from."""
    names = columns.names["item"]

    def part(name: str) -> tuple[Any, tuple[str, ...]]:
        codes, new = np.unique(columns[name][rest], return_inverse=True)
        order = np.argsort(np.array([columns.names[name][code] for code in codes], object), kind="stable")
        rank = np.empty(len(codes), np.int64)
        rank[order] = np.arange(len(codes))
        return rank[new], tuple(columns.names[name][codes[place]] for place in order)

    stratum, strata = part("stratum") if "stratum" in columns else (np.zeros(len(rest), np.int64), (ALL,))
    cluster, clusters = part("cluster") if "cluster" in columns else (None, ())
    return Population(
        names=[names[code] for code in columns["item"][rest].tolist()],
        score=columns["score"][rest] if "score" in columns else None,
        stratum=stratum,
        strata=strata,
        cluster=cluster,
        clusters=clusters,
    )
