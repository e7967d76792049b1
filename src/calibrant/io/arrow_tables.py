"""Dataframes in memory as Arrow tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from calibrant.exceptions import InputError

if TYPE_CHECKING:
    import pyarrow as pa


def arrow_table(frame: Any, name: str) -> pa.Table:
    """Return a dataframe in Narwhals as an Arrow table; ``name`` is its name in errors.

    Examples
    --------
    >>> import narwhals as nw
    >>> import pandas as pd
    >>> arrow_table(nw.from_native(pd.DataFrame({"score": [0.5]})), "the dataframe").num_rows
    1
    """
    import pyarrow as pa

    try:
        found: pa.Table = _spelled_out(frame).to_arrow()
    except (pa.ArrowException, OverflowError) as error:
        reason = " ".join(str(error).split())[:160]
        mixed = isinstance(error, (pa.ArrowInvalid, pa.ArrowTypeError))
        message = f"a column {'mixes types' if mixed else 'cannot be read'} ({reason})"
        raise InputError(message, "give each column one type", code="column-type", file=name) from error
    return found


def _spelled_out(frame: Any) -> Any:
    """Return a dataframe whose columns Arrow reads.

    Intervals of pandas (of `pandas.cut`) and periods become texts, sparse columns dense, and the bytes of
    numbers get the machine's order.
    """
    if not frame.implementation.is_pandas():
        return frame
    import narwhals as nw
    import numpy as np
    import pandas as pd

    new = {}
    native = frame.to_native()
    for name, values in native.items():
        if isinstance(values.dtype, pd.SparseDtype):
            new[name] = values.sparse.to_dense()
        if isinstance(values.dtype, np.dtype) and not values.dtype.isnative:
            new[name] = values.astype(values.dtype.newbyteorder("="))
        coded = isinstance(values.dtype, pd.CategoricalDtype)
        if isinstance(
            values.dtype.categories.dtype if coded else values.dtype, pd.IntervalDtype | pd.PeriodDtype
        ):
            new[name] = values.cat.rename_categories(str) if coded else values.map(str, na_action="ignore")
    return nw.from_native(native.assign(**new)) if new else frame
