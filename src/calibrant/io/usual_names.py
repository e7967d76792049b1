"""Tables as people have them: columns with usual names of other tools, and columns named like the labels."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import SUM_TOLERANCE
from calibrant.exceptions import InputError
from calibrant.io.columns import IGNORED, Column, as_numpy, class_name, distinct
from calibrant.io.roles import Block, blocks
from calibrant.io.tables import PEEK, Table

# By role: names that are looked for if the table has no column of the role's own name.
USUAL = {
    "score": (
        "prob", "probability", "proba", "y_prob", "y_proba", "y_score", "p", "confidence", "conf",
        "max_prob", "top_prob",
    ),
    "label": (
        "gold", "true", "truth", "y_true", "target", "ground_truth", "actual", "gold_label", "true_label",
        "correct", "y",
    ),
    "prediction": (
        "prediction", "predicted", "pred", "y_pred", "predicted_label", "predicted_class", "pred_label",
    ),
}  # fmt: skip
CONFIDENCE = ("confidence", "conf", "max_prob", "top_prob")  # scores of the predicted class, not of an event
MOST_COLUMNS = 1000


def usual_name(part: str, columns: Collection[str], file: str) -> str | None:
    """Return the column with a usual name of a role, without regard to case; None if there is none.

    Raises
    ------
    InputError
        If several columns have such names.

    Examples
    --------
    >>> usual_name("label", ["text", "Gold", "probability"], "dev.csv")
    'Gold'
    """
    named = [name for name in columns if name.strip().lower() in USUAL[part]]
    if len(named) < 2:
        return named[0] if named else None
    message = f"{' and '.join(map(repr, named))} may both be the {part}"
    hint = f"name one: `columns={{'{part}': '{named[0]}'}}`"
    raise InputError(message, hint, code="column-ambiguous", file=file)


def named_like_labels(table: Table, label: str, others: Collection[str]) -> tuple[str, ...]:
    """Return the columns of scores of a wide table whose columns are named like its labels.

    The labels of the first rows have to be names of columns. If their scores add up to less than 1, the other
    columns of probabilities are the scores of classes that no label is of, if the sum is then 1.

    Parameters
    ----------
    table
        The table.
    label
        Its column of labels.
    others
        Columns for something else.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from calibrant.io.roles import open_table
    >>> scores = {"neg": [0.7, 0.1], "neu": [0.2, 0.1], "pos": [0.1, 0.8]}
    >>> named_like_labels(open_table(pa.table({**scores, "gold": ["neg", "pos"]})), "gold", ())
    ('neg', 'neu', 'pos')
    """
    own = [name for name in table.columns if name != label and name not in others]
    if not own or len(own) > MOST_COLUMNS:
        return ()
    block = _first(table, [label])
    if block is None:
        return ()
    words, _ = distinct(block.column(label).values.drop_null())
    names = {class_name(word).strip() for word in words} - {str(IGNORED)}
    chosen = [name for name in own if name in names]
    if not names or len(chosen) < len(names):
        return ()
    block = _first(table, own)
    assert block is not None  # the labels have rows
    values = {name: _probabilities(block.column(name)) for name in own}
    total = np.sum([row for name in chosen if (row := values[name]) is not None], axis=0)
    rest = [name for name in own if name not in chosen and values[name] is not None]
    whole = np.sum([total, *(values[name] for name in rest)], axis=0)
    if rest and not _is_one(total) and _is_one(whole):
        chosen = [name for name in own if name in chosen or name in rest]
    return tuple(chosen) if len(chosen) > 1 else ()


def _first(table: Table, columns: Sequence[str]) -> Block | None:
    """Return the first rows of some columns; None if there are no rows."""
    kinds: Mapping[str, str] = dict.fromkeys(columns, "name")
    with suppress(InputError):  # of an empty table, which the reader refuses
        return next(blocks(table, kinds, PEEK))  # type: ignore[arg-type]
    return None


def _probabilities(column: Column) -> NDArray[np.float64] | None:
    """Return the first numbers of a column; None if one is no probability."""
    import pyarrow as pa

    values, kind = column.values[:PEEK], column.values.type
    if values.null_count:
        return None
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        numbers = as_numpy(values).astype(np.float64)
    else:
        try:
            numbers = np.array([float(str(text).replace(",", ".")) for text in values.to_pylist()])
        except ValueError:
            return None
    return numbers if ((numbers >= 0) & (numbers <= 1)).all() else None


def _is_one(total: NDArray[np.float64]) -> bool:
    return bool(np.all(np.abs(total - 1) <= SUM_TOLERANCE))
