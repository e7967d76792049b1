"""Decide on the rows of a table by saved thresholds: accept, refuse, or ask a person."""

from __future__ import annotations

import os
from typing import Any

from calibrant.io import Columns
from calibrant.io.deciding import Decisions
from calibrant.io.saved_thresholds import SavedThresholds, load_thresholds
from calibrant.progress import Progress, tell
from calibrant.records.formats import library_of, session_library
from calibrant.results.decisions import AppliedThresholds


def decide(
    model: SavedThresholds | str | os.PathLike[str],
    source: Any,
    output: str | os.PathLike[str] | None = None,
    *,
    columns: Columns | None = None,
    progress: Progress | None = None,
) -> Any:
    """Write the rows of a table with a column ``decision``: ``accept``, ``refuse`` or ``person``.

    Rows without a score or a group, and rows of groups without a threshold, go to a person.

    Parameters
    ----------
    model
        Thresholds, or the path of their file.
    source
        Table or dataframe, which needs no labels.
    output
        Path of the table to write; None: the table is returned, in memory.
    columns
        Name of the column of scores, and form, if they differ from the defaults.
    progress
        Function that is called with the stage, the work done and the whole work (or None).

    Returns
    -------
    AppliedThresholds
        With ``output``, the record of the table that was written; otherwise a dataframe.

    Raises
    ------
    InputError
        The table is of another kind, has a column ``decision``, or cannot be read or written.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from calibrant.io.saved_thresholds import GroupThresholds
    >>> saved = SavedThresholds("errors", 0.1, 0.1, 500, (GroupThresholds(accept_from=0.8, refuse_to=0.1),))
    >>> decide(saved, pa.table({"score": [0.8, 0.5, 0.05, None]}))["decision"].to_pylist()
    ['accept', 'person', 'refuse', 'person']
    """
    saved = load_thresholds(model)
    decisions = Decisions(saved, source, columns or Columns())
    if output is None:
        return decisions.frame(library_of(source) or session_library())
    name = os.fspath(output)
    rows = decisions.write(name, lambda rows: tell(progress, "writing", rows, decisions.table.rows))
    person, accepted, refused = decisions.count.tolist()
    return AppliedThresholds(
        model=None if isinstance(model, SavedThresholds) else os.fspath(model),
        source=decisions.name,
        output=name,
        rows=rows,
        accepted=accepted,
        refused=refused,
        to_person=person,
        missing=decisions.missing,
        unseen=decisions.unseen,
        unseen_groups=decisions.unseen_groups,
        risk=saved.risk,
        alpha=saved.alpha,
        delta=saved.delta,
    )
