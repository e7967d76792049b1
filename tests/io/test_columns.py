"""Names of rows as codes: those of dictionaries come out as those of text."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from calibrant.exceptions import InputError
from calibrant.io.columns import Codes, Column, dictionary, distinct

RNG = np.random.default_rng(4)


def encoded(index: list[int], names: list[str | None], kind: pa.DataType | None = None) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(index, kind or pa.int32()), pa.array(names, pa.string()))


ARRAYS = {
    "names that do not occur": encoded([2, 0, 2, 2], ["a", "b", "c"]),
    "one name": encoded([0, 0, 0], ["a"]),
    "a name twice in the dictionary": encoded([1, 0, 2, 1], ["a", "b", "a"]),
    "more names than rows": encoded([4, 1], list("abcdef")),
    "no rows": encoded([], ["a"]),
    "small numbers": encoded([1, 0, 1], ["a", "b"], pa.uint8()),
    "a part of an array": encoded([0, 1, 2, 2, 1, 0, 2], list("abc")).slice(2, 4),
    "many": encoded(RNG.integers(0, 300, 5000).tolist(), [f"T{place}" for place in range(400)]),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_a_dictionary_is_encoded_as_its_text_is(name: str) -> None:
    values = ARRAYS[name]
    expected = values.cast(pa.string()).dictionary_encode()
    found = dictionary(values)
    assert found.dictionary.to_pylist() == expected.dictionary.to_pylist()
    assert found.indices.to_pylist() == expected.indices.to_pylist()


def test_codes_of_batches_do_not_hang_on_how_each_is_stored() -> None:
    text, stored = Codes(), Codes()
    for values in (ARRAYS["names that do not occur"], ARRAYS["more names than rows"], ARRAYS["one name"]):
        plain = values.cast(pa.string())
        np.testing.assert_array_equal(stored.of(values), text.of(plain))
        assert distinct(values)[0] == distinct(plain)[0]
    assert stored.names == text.names == ["c", "a", "e", "b"]


@pytest.mark.parametrize(
    ("names", "read"),
    [
        (pa.array(["1", None]), "labels"),
        (pa.array([1.0, None]), "scores"),
        (pa.array(["a", None]), "names"),
        (pa.array([1.0, float("nan")]), "names"),
    ],
    ids=["labels", "scores", "names", "nan"],
)
def test_a_missing_value_among_the_names_of_a_dictionary_is_missing_in_its_rows(
    names: pa.Array, read: str
) -> None:
    column = Column(pa.DictionaryArray.from_arrays(pa.array([0, 1]), names), "a.arrow", "x", 1)
    with pytest.raises(InputError, match=r"a\.arrow, row 2, column x: (the value is missing|nan is not)"):
        column.codes(Codes()) if read == "names" else getattr(column, read)()
    assert column.present().tolist() == [True, False]


def test_an_empty_column_has_no_names_whatever_its_type() -> None:
    values = pa.array([], pa.large_list(pa.string()))
    assert Column(values, "a.arrow", "x", 1).codes(Codes()).tolist() == []


@pytest.mark.parametrize("kind", ["decimal32", "decimal64", "decimal128"])
def test_decimals_of_every_width_are_names(kind: str) -> None:
    if not hasattr(pa, kind):
        pytest.skip("this pyarrow has no such type")
    values = pa.array([Decimal("1.5"), Decimal("2.5"), Decimal("1.5")], getattr(pa, kind)(5, 2))
    assert Column(values, "a.arrow", "x", 1).codes(Codes()).tolist() == [0, 1, 0]
