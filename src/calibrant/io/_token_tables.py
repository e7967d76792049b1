"""Tables of a language model's tokens, with the reference and the probability of each token.

Columns: ``token`` (the model's token), ``reference`` (the token of the text), and ``logprob`` or ``score``
(its log-probability or probability). Classes are groups of tokens that are similarly frequent as references.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from calibrant.exceptions import InputError
from calibrant.io.columns import Column, as_numpy, dictionary
from calibrant.io.roles import Block, blocks
from calibrant.io.tables import Kind, Table
from calibrant.metrics.groups import by_frequency

if TYPE_CHECKING:
    import pyarrow as pa

TOKEN, REFERENCE = "token", "reference"
TOKEN_SCORES = ("logprob", "score", "probability")
GROUPS = 5
ROUNDING = 1e-3
MADE: tuple[str, ...] = ("score", "label", "class")


class TokenTable:
    """Tokens as a long table: its label is whether the token is the reference, its class a frequency group.

    Groups are made by `calibrant.metrics.groups.by_frequency` from the references of the whole table, which
    is read once for it; a token that is never a reference belongs to the last group.

    Parameters
    ----------
    table
        A table of tokens with references and scores, without labels.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self._group: dict[str, int] | None = None
        self._names: list[str] = []
        self.name = table.name
        self.rows = table.rows
        self.first_row = table.first_row
        self.metadata: Mapping[bytes, bytes] = {}
        self._score = next(name for name in TOKEN_SCORES if name in table.columns)
        own = [name for name in table.columns if name not in (*MADE, *TOKEN_SCORES)]
        self.columns: tuple[str, ...] = (*own, *MADE)

    def batches(self, columns: Mapping[str, Kind], size: int) -> Iterator[pa.RecordBatch]:
        """Yield record batches of the columns asked for, in file order."""
        import pyarrow as pa

        group = self._groups(size)
        wanted: dict[str, Kind] = {name: kind for name, kind in columns.items() if name not in MADE}
        wanted |= {TOKEN: "name", REFERENCE: "name", self._score: "number"}
        for block in blocks(self._table, wanted, size):
            made = self._made(block, group)
            values = [made[name] if name in made else block.rows.column(name) for name in columns]
            yield pa.RecordBatch.from_arrays(values, list(columns))

    def _made(self, block: Block, group: dict[str, int]) -> dict[str, pa.Array]:
        import pyarrow as pa
        from pyarrow import compute

        token, reference = (_text(block.column(name)) for name in (TOKEN, REFERENCE))
        encoded = dictionary(token)
        last = len(self._names) - 1
        codes = [group.get(name, last) for name in encoded.dictionary.to_pylist()]
        code = np.array(codes, np.int32)[as_numpy(encoded.indices)]
        return {
            "score": pa.array(self._scores(block.column(self._score))),
            "label": compute.equal(token, reference),
            "class": pa.DictionaryArray.from_arrays(pa.array(code), pa.array(self._names)),
        }

    def _scores(self, column: Column) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        if self._score != "logprob":
            return column.scores().astype(np.float64)
        numbers = column.numbers().astype(np.float64)
        bad = np.flatnonzero(~(numbers <= ROUNDING))
        if len(bad):
            message = f"the log-probability {numbers[bad[0]].item()!r} is not a number of at most 0"
            raise column.error(int(bad[0]), message, "drop the row or repair it", "score-range")
        return np.minimum(1.0, np.exp(numbers))

    def _groups(self, size: int) -> dict[str, int]:
        """Return the group of each reference, by its frequency."""
        if self._group is not None:
            return self._group
        counts: Counter[str] = Counter()
        for block in blocks(self._table, {REFERENCE: "name"}, size):
            encoded = dictionary(_text(block.column(REFERENCE)))
            count = np.bincount(as_numpy(encoded.indices), minlength=len(encoded.dictionary))
            counts.update(dict(zip(encoded.dictionary.to_pylist(), count.tolist(), strict=True)))
        if not counts:
            raise InputError("there are no rows", "write at least one", code="empty", file=self.name)
        groups = by_frequency(counts, GROUPS)
        self._names = [f"frequency {place} of {len(groups)}" for place in range(1, len(groups) + 1)]
        self._group = {token: place for place, tokens in enumerate(groups) for token in tokens}
        return self._group


def token_table(table: Table) -> Table:
    """Return a log of tokens as a table of predictions, and any other table as it is."""
    columns = set(table.columns)
    if "label" in columns or not {TOKEN, REFERENCE} <= columns or columns.isdisjoint(TOKEN_SCORES):
        return table
    return TokenTable(table)


def _text(column: Column) -> pa.Array:
    """Tokens as text, also where they are numbers."""
    import pyarrow as pa

    column.check_names("contains no tokens")
    column.complete()
    return column.values if pa.types.is_string(column.values.type) else column.values.cast(pa.string())
