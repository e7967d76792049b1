"""Arrow columns to checked NumPy arrays; errors name file, row and column."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from calibrant import _checks
from calibrant._checks import Floats, Integers, check_not_merged, shown
from calibrant.exceptions import InputError

if TYPE_CHECKING:
    import pyarrow as pa

FEW = 1000  # texts that are compared in Python
LONG = 500  # characters of a name
LONG_LABEL = 60  # characters of a label that is no class
FEW_CLASSES = 20  # labels that an error may list
NUMBER = re.compile(r"[+-]?[\d.,]+", re.ASCII)
WHOLE = re.compile("0|-?[1-9][0-9]{0,17}")  # a number that is written in one way
IGNORED = -100  # label of tokens that do not count
BLANK = frozenset({""})
MISSING = frozenset({"na", "nan", "n/a", "#n/a", "none", "null", "<na>", "-", ".", "?"})  # without case
# Words of labels: those of the event, and of its absence.
EVENT = frozenset({"1", "1.0", "1,0", "true", "yes", "pos", "positive"})
NO_EVENT = frozenset({"0", "0.0", "0,0", "false", "no", "neg", "negative"})


class Event:
    """Which labels count as 1: those of a class, or else 1 and words such as true, yes and pos.

    Parameters
    ----------
    chosen
        Name of the class. None: labels are 0 and 1, or such words.

    Attributes
    ----------
    words
        Labels met so far, as text, and whether they are the event.

    Examples
    --------
    >>> Event("spam").of(["ham", "spam"]), Event().of(["Yes", "no", "maybe"])
    ([False, True], [True, False, None])
    """

    def __init__(self, chosen: str | None = None) -> None:
        self.chosen = chosen
        self.words: dict[str, bool] = {}

    def of(self, labels: Sequence[Any]) -> list[bool | None]:
        """Return True for the event, False for its absence, None for a label that says neither."""
        values: list[bool | None] = []
        for name in map(class_name, labels):
            word = name.strip(" \t\r")
            value: bool | None = word == self.chosen
            if self.chosen is None:
                plain = word if word in (word.lower(), word.upper(), word.title()) else ""
                value = True if plain.lower() in EVENT else False if plain.lower() in NO_EVENT else None
            if value or (value is not None and len(self.words) < FEW_CLASSES):
                self.words[word] = value
            values.append(value)
        return values

    @property
    def name(self) -> str:
        """The label that counts as 1, as the table writes it; 1 if none was met as a word."""
        return self.chosen or " or ".join(word for word, value in self.words.items() if value) or "1"


class Column:
    """One column of one batch, with its place in the file.

    Parameters
    ----------
    values
        The Arrow array.
    file, column
        Names for errors.
    first_row
        Row number of the first value; rows of files count from 1.
    rows
        (n,) places of the values after the first row, if some rows between them were left out.
    """

    def __init__(
        self, values: pa.Array, file: str, column: str, first_row: int, rows: Integers | None = None
    ) -> None:
        self.values = _plain(values)
        self.file = file
        self.column = column
        self.first_row = first_row
        self.rows = rows
        self._check_texts()
        self._check_zone()

    def error(self, row: int, message: str, hint: str, code: str) -> InputError:
        """Make an error about the value at ``row`` of this batch."""
        place = self.first_row + (row if self.rows is None else int(self.rows[row]))
        return InputError(message, hint, code=code, file=self.file, row=place, column=self.column)

    def _check_texts(self) -> None:
        """Raise if a text is not UTF-8, which Parquet and Arrow files promise and do not check."""
        import pyarrow as pa

        coded = pa.types.is_dictionary(self.values.type)
        texts = self.values.dictionary if coded else self.values
        if not (pa.types.is_string(texts.type) or pa.types.is_large_string(texts.type)):
            return
        try:
            texts.validate(full=True)
        except pa.ArrowInvalid as error:
            if "utf8" not in str(error).lower():  # lengths that are wrong: values cannot be looked at
                raise
            large = pa.types.is_large_string(texts.type)
            data = texts.view(pa.large_binary() if large else pa.binary()).to_pylist()
            bad = next((place for place, text in enumerate(data) if not _is_utf8(text)), 0)
            used = np.flatnonzero(as_numpy(self.values.indices.fill_null(0)) == bad) if coded else [bad]
            message, hint = "the text is not UTF-8", "write the file again with texts in UTF-8"
            raise self.error(int(used[0]) if len(used) else 0, message, hint, "text") from error

    def _check_zone(self) -> None:
        """Raise if times are in a zone that nobody knows, so that no place and no date follows from them."""
        import pyarrow as pa
        from pyarrow import compute

        kind = self.values.type
        if pa.types.is_timestamp(kind) and kind.tz is not None:
            try:
                compute.local_timestamp(self.values[:1])
            except pa.ArrowInvalid:
                message, hint = f"the time zone {shown(kind.tz)} is not known", "store the times in UTC"
                raise self.error(0, message, hint, "column-type") from None

    def take(self, rows: Integers) -> Column:
        """Return the values at some rows of the batch."""
        import pyarrow as pa

        values = self.values.take(pa.array(rows, pa.int64()))
        places = rows if self.rows is None else self.rows[rows]
        return Column(values, self.file, self.column, self.first_row, places)

    def present(self) -> NDArray[np.bool_]:
        """Return True for each value; NaN and a blank text are missing."""
        import pyarrow as pa

        values = self.values
        valid = as_numpy(values.is_valid()).astype(bool)
        if pa.types.is_floating(values.type):
            valid[valid] = ~np.isnan(as_numpy(values.drop_null()))
        elif pa.types.is_dictionary(values.type):
            blank = _among(values.dictionary, BLANK)
            if blank.any():
                valid[valid] = ~blank[as_numpy(values.indices.drop_null())]
        else:
            valid[valid] = ~_among(values.drop_null(), BLANK)
        return valid

    def check_names(self, what: str = "names nothing") -> None:
        """Raise unless values are texts, numbers, truth values or times, which can tell rows apart."""
        import pyarrow as pa

        kind = self.values.type
        if pa.types.is_nested(kind) or pa.types.is_interval(kind):
            of = "lists or objects" if pa.types.is_nested(kind) else str(kind)
            hint = "choose one of texts or numbers"
            raise self.error(0, f"a column of {of} {what}", hint, "column-type")

    def complete(self, *, nan_is_null: bool = False) -> None:
        """Raise if a value is missing."""
        if self.values.null_count or nan_is_null:
            missing = np.flatnonzero(as_numpy(self.values.is_null(nan_is_null=nan_is_null)))
            if len(missing):
                hint = "fill it in or drop the row"
                raise self.error(int(missing[0]), "the value is missing", hint, "missing-value")

    def numbers(self) -> NDArray[Any]:
        """Return the values as numbers, without a copy where Arrow allows it."""
        import pyarrow as pa

        values = self.values.dictionary_decode() if pa.types.is_dictionary(self.values.type) else self.values
        kind = values.type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
            if len(self.values) == 0:
                return np.empty(0)
            message = f"{shown(objects(values[:1])[0])} is not a number"
            raise self.error(0, message, "write numbers", "column-type")
        self.complete()
        if pa.types.is_decimal(kind):  # by its text: Arrow's own conversion is off by the last bit
            values = values.cast(pa.string()).cast(pa.float64())
        array = as_numpy(values)
        return array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)

    def lists(self, width: int) -> Floats:
        """Return lists of ``width`` numbers as a matrix (n, width)."""
        from pyarrow import compute

        self.complete()
        lengths = as_numpy(compute.list_value_length(self.values))
        wrong = np.flatnonzero(lengths != width)
        if len(wrong):
            message = f"{lengths[wrong[0]]} scores for {width} classes"
            raise self.error(int(wrong[0]), message, "write a score for every class", "length")
        try:
            numbers = Column(self.values.flatten(), self.file, self.column, 0).numbers()
        except InputError as error:
            row = (error.row or 0) // width
            raise self.error(row, error.message, error.hint, error.code) from None
        return numbers.astype(np.float64, copy=False).reshape(-1, width)

    def scores(self) -> NDArray[np.floating[Any]]:
        """Probabilities in [0, 1]."""
        array = self.numbers()
        if not len(array):
            return array
        try:
            return _checks.scores(array)
        except InputError as error:
            row = error.row or 0
            message = f"{array[row].item()!r} is not a probability in [0, 1]"
            raise self.error(row, message, error.hint, error.code) from None

    def finite(self) -> Floats:
        """Finite numbers: logits."""
        array = self.numbers().astype(np.float64, copy=False)
        bad = np.flatnonzero(~np.isfinite(array))
        if len(bad):
            row = int(bad[0])
            raise self.error(row, f"{array[row].item()!r} is not a finite number", "repair it", "score-range")
        return array

    def weights(self, seen: _checks.WeightRange) -> Floats:
        """Return non-negative weights that are not too unequal to those ``seen`` in other batches."""
        array = self.numbers().astype(np.float64, copy=False)
        try:
            seen.add(array)
        except InputError as error:
            raise self.error(error.row or 0, error.message, error.hint, error.code) from None
        return array

    def labels(self, event: Event | None = None) -> NDArray[np.bool_]:
        """Return labels 0 and 1, true and false, yes and no, or pos and neg, as bool.

        ``event`` may choose another label that counts as 1; all others count as 0.
        """
        import pyarrow as pa

        self.complete()
        if not len(self.values):
            return np.empty(0, np.bool_)
        kind = self.values.type
        texts = pa.types.is_dictionary(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind)
        if texts or (event is not None and event.chosen is not None):
            return self._worded_labels(event)
        is_decimal = pa.types.is_decimal(kind)
        numbers = pa.types.is_integer(kind) or pa.types.is_floating(kind) or is_decimal
        if not (numbers or pa.types.is_boolean(kind)):
            raise self._not_a_label(0, objects(self.values[:1])[0])
        array = as_numpy(self.values.cast(pa.float64()) if is_decimal else self.values)
        try:
            return _checks.labels(array)
        except InputError as error:
            raise self._not_a_label(error.row or 0, array[error.row or 0].item()) from None

    def _worded_labels(self, event: Event | None) -> NDArray[np.bool_]:
        self.check_names("contains no labels")
        words, index = distinct(self.values)
        known = (event or Event()).of(words)
        if None in known:
            code = known.index(None)
            row = int(np.flatnonzero(index == code)[0])
            raise self._not_a_label(row, words[code], named=event is not None)
        return np.array(known, np.bool_)[index]

    def _not_a_label(self, row: int, value: object, *, named: bool = False) -> InputError:
        """Make the error for a label; if classes are ``named``, one of them may be the event."""
        hint = "write 1, true or yes where the event happened, and 0, false or no elsewhere"
        name = class_name(value)
        if named and len(name) <= LONG_LABEL and name.isprintable() and not NUMBER.fullmatch(name):
            hint += (
                f", or name the label of the event (`columns={{'event': '{name}'}}`); scores of several "
                "classes need one p_<class> column per class"
            )
        return self.error(row, f"label {shown(value)} is not 0 or 1", hint, "label-value")

    def equals(self, other: Column) -> NDArray[np.bool_]:
        """Return where this column and another name the same class."""
        self.complete()
        other.complete()
        codes: dict[str, int] = {}
        both = []
        for column in (self, other):
            column.check_names("names no classes")
            words, index = distinct(column.values)
            code = [codes.setdefault(class_name(word).strip(), len(codes)) for word in words]
            both.append(np.array(code, np.int64)[index])
        return np.asarray(both[0] == both[1])

    def codes(self, codes: Codes, *, words: bool = True) -> Integers:
        """Return codes of the values, equal for equal names over all batches.

        A blank text is missing. A word for a missing value is refused, unless ``words`` is false, for tags
        such as a full stop.
        """
        self.complete(nan_is_null=True)
        if not len(self.values):
            return np.empty(0, np.int64)
        self.check_names()
        known = len(codes)
        code = codes.of(self.values)
        new = codes.since(known)
        if str(new.type) in ("float", "double"):
            try:
                check_not_merged(as_numpy(new))
            except InputError as error:
                row = int(np.flatnonzero(code == known + (error.row or 0))[0])
                raise self.error(row, error.message, error.hint, error.code) from None
        for marked in (BLANK, MISSING) if words else (BLANK,):
            among = _among(new, marked)
            if among.any():
                row = int(np.flatnonzero(code == known + int(among.argmax()))[0])
                message, hint = "the value is missing", "fill it in or drop the row"
                if marked is MISSING:
                    message = f"{shown(objects(new)[int(among.argmax())])} may be a missing value"
                    hint += "; if it is a name, write it in another way"
                raise self.error(row, message, hint, "missing-value")
        return code

    def class_index(self, classes: dict[str, int]) -> Integers:
        """Return the positions of class names among the classes with scores; `IGNORED` stays as it is."""
        self.complete()
        if not len(self.values):
            return np.empty(0, np.int64)
        self.check_names("names no classes")
        words, index = distinct(self.values)
        ignored = {str(IGNORED): IGNORED}
        positions = [classes.get(name, ignored.get(name, -1)) for name in map(class_name, words)]
        if -1 in positions:
            row = int(np.flatnonzero(np.array(positions)[index] == -1)[0])
            known = ", ".join(list(classes)[:12]) + (", ..." if len(classes) > 12 else "")
            message = f"label {shown(class_name(words[index[row]]))} is not one of the classes {known}"
            hint = "add its score column, or repair the label (a class name, not its position)"
            raise self.error(row, message, hint, "class-unknown")
        return np.array(positions, np.int64)[index]

    def class_positions(self, count: int) -> Integers:
        """Return positions of classes, from 0 to ``count`` - 1; `IGNORED` stays as it is."""
        self.complete()
        label = as_numpy(self.values)
        bad = np.flatnonzero(((label < 0) | (label >= count)) & (label != IGNORED))
        if len(bad):
            row = int(bad[0])
            message = f"label {label[row].item()} is not a class position from 0 to {count - 1}"
            raise self.error(row, message, "repair it", "class-unknown")
        return label.astype(np.int64, copy=False)


class Codes:
    """Numbers for names of any type, in order of first appearance over all batches.

    Parameters
    ----------
    names
        Different names that have the first codes.

    Examples
    --------
    >>> import pyarrow as pa
    >>> codes = Codes()
    >>> codes.of(pa.array(["b", "a", "b"])), codes.of(pa.array(["a", "c"])), codes.names
    (array([0, 1, 0]), array([1, 2]), ['b', 'a', 'c'])
    """

    def __init__(self, names: Sequence[Any] = ()) -> None:
        self._known: pa.Array | None = None
        if len(names):
            import pyarrow as pa

            self._known = pa.array(names)

    def of(self, values: pa.Array) -> Integers:
        """Return codes of values; new values get the next codes."""
        import pyarrow as pa
        from pyarrow import compute

        if str(values.type) in ("float", "double"):
            values = as_arrow(as_numpy(values) + 0)  # -0.0 and 0.0 are one name
        encoded = dictionary(values)
        names = encoded.dictionary
        if self._known is None:
            self._known = names
            return as_numpy(encoded.indices).astype(np.int64)
        known = compute.index_in(names, value_set=self._known)
        new = as_numpy(known.is_null()).astype(bool)
        code = np.empty(len(names), np.int64)
        code[~new] = as_numpy(known.drop_null())
        code[new] = len(self._known) + np.arange(int(new.sum()))
        self._known = pa.concat_arrays([self._known, names.filter(known.is_null())])
        codes: Integers = code[as_numpy(encoded.indices)]
        return codes

    def __len__(self) -> int:
        return 0 if self._known is None else len(self._known)

    def since(self, first: int) -> pa.Array:
        """Return the names that have a code from ``first`` on."""
        assert self._known is not None
        return self._known[first:]

    def named(self, codes: Integers) -> pa.Array:
        """Return the names of some codes, of the type that they were read as."""
        assert self._known is not None
        return self._known.take(as_arrow(codes))

    @property
    def names(self) -> list[Any]:
        """The names, by code."""
        return [] if self._known is None else objects(self._known)


class JointCodes:
    """Codes of pairs of codes, in order of first appearance over all batches.

    Examples
    --------
    >>> joint = JointCodes()
    >>> joint.of(np.array([1, 0, 1]), np.array([5, 5, 5])).tolist(), [part.tolist() for part in joint.parts()]
    ([0, 1, 0], [[1, 0], [5, 5]])
    """

    def __init__(self) -> None:
        self._codes = Codes()

    def __len__(self) -> int:
        return len(self._codes)

    def of(self, first: Integers, second: Integers) -> Integers:
        """Return codes of the pairs of a batch; both parts are below 2^31."""
        import pyarrow as pa

        return self._codes.of(pa.array((first << 32) | second))

    def parts(self) -> tuple[Integers, Integers]:
        """Return the two codes of each joint code."""
        both = np.array(self._codes.names, np.int64)
        return both >> 32, both & ((1 << 32) - 1)


def _among(values: pa.Array, words: Collection[str]) -> NDArray[np.bool_]:
    """Return True for each text that is one of some words, but for case and blanks at its ends."""
    import pyarrow as pa

    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        return np.zeros(len(values), np.bool_)
    if len(values) <= FEW:  # Arrow's functions load slowly
        texts = values.to_pylist()
        return np.array([text is not None and text.strip().casefold() in words for text in texts], np.bool_)
    from pyarrow import compute

    plain = compute.utf8_lower(compute.utf8_trim_whitespace(values))
    return as_numpy(compute.is_in(plain, value_set=pa.array(list(words), plain.type))).astype(bool)


def _plain(values: pa.Array) -> pa.Array:
    """The same values without views, runs and extension types, with which Arrow computes little."""
    import pyarrow as pa

    kind = values.type
    if isinstance(kind, pa.BaseExtensionType):
        return _plain(values.storage)
    if pa.types.is_run_end_encoded(kind):
        from pyarrow import compute

        return _plain(compute.run_end_decode(values))
    if pa.types.is_dictionary(kind):
        names = _plain(values.dictionary)
        if names.null_count or pa.types.is_floating(names.type):  # missing in each row that has their code
            return names.take(values.indices)
        if names.type != kind.value_type:
            return pa.DictionaryArray.from_arrays(values.indices, names)
    return values if _plain_type(kind) == kind else values.cast(_plain_type(kind))


def _plain_type(kind: pa.DataType) -> pa.DataType:
    """Views of texts and bytes as single pieces, half-precision numbers and short decimals as longer ones."""
    import pyarrow as pa

    if pa.types.is_string_view(kind):
        return pa.large_string()
    if pa.types.is_float16(kind):
        return pa.float32()
    if pa.types.is_decimal(kind) and kind.bit_width < 128:
        return pa.decimal128(kind.precision, kind.scale)
    return pa.large_binary() if pa.types.is_binary_view(kind) else kind


def _is_utf8(data: bytes | None) -> bool:
    try:
        (data or b"").decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def distinct(values: pa.Array) -> tuple[list[Any], Integers]:
    """Return distinct values in order of appearance, and the index of each row's value."""
    encoded = dictionary(values)
    return objects(encoded.dictionary), as_numpy(encoded.indices).astype(np.int64)


def objects(values: pa.Array) -> list[Any]:
    """Return values as Python's; times that Python cannot hold, such as those in nanoseconds, as text."""
    import pyarrow as pa

    try:
        return list(values.to_pylist())
    except (ValueError, OverflowError):
        return list(values.cast(pa.string()).to_pylist())


def dictionary(values: pa.Array) -> pa.DictionaryArray:
    """Return values with a dictionary of only the values that occur, in order of appearance."""
    import pyarrow as pa

    if not pa.types.is_dictionary(values.type):
        return values.dictionary_encode()
    names = values.dictionary
    small = 0 < len(names) <= len(values) and not values.null_count and not names.null_count
    if not small or not _are_distinct(names):
        return values.cast(values.type.value_type).dictionary_encode()
    # Only the names are looked at, not those of every row.
    index = as_numpy(values.indices)
    first = np.full(len(names), len(index))
    first[index[::-1]] = np.arange(len(index))[::-1]  # of equal indices the last assignment stays
    order = np.argsort(first)[: np.count_nonzero(first < len(index))]
    if np.array_equal(order, np.arange(len(names))):
        return values
    place = np.zeros(len(names), np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    return pa.DictionaryArray.from_arrays(as_arrow(place[index]), names.take(as_arrow(order)))


def _are_distinct(names: pa.Array) -> bool:
    """Return True if all values are distinct; a few texts are compared without Arrow, which loads slowly."""
    import pyarrow as pa

    if len(names) <= FEW and (pa.types.is_string(names.type) or pa.types.is_large_string(names.type)):
        return len(set(names.to_pylist())) == len(names)
    from pyarrow import compute

    return bool(compute.count_distinct(names).as_py() == len(names))


def as_numpy(values: pa.Array) -> NDArray[Any]:
    """Return an Arrow array of numbers without nulls as a NumPy view; bool becomes uint8.

    Arrow's own conversion loads pandas where it is installed, which takes longer than most tables.
    """
    import pyarrow as pa

    if pa.types.is_boolean(values.type):
        values = values.cast(pa.uint8())
    kind = str(values.type)
    dtype = np.dtype({"double": "float64", "float": "float32", "halffloat": "float16"}.get(kind, kind))
    if not len(values):
        return np.empty(0, dtype)
    return np.frombuffer(values.buffers()[1], dtype, len(values), values.offset * dtype.itemsize)


def as_arrow(values: NDArray[np.integer[Any] | np.floating[Any]]) -> pa.Array:
    """Return a NumPy array of numbers as an Arrow view; Arrow's conversion imports pandas."""
    import pyarrow as pa

    kind = pa.type_for_alias(str(values.dtype))
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(np.ascontiguousarray(values))])


def class_name(value: object) -> str:
    """Write a class as text; whole numbers stored as floats lose their ``.0``."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def array_of_names(names: Sequence[Any]) -> NDArray[Any]:
    """Return names as an array, long texts as Python's: each of NumPy's takes the space of the longest."""
    long = any(isinstance(name, str) and len(name) > LONG for name in names)
    return np.array(names, object if long else None)


def sortable(names: Sequence[Any]) -> NDArray[Any]:
    """Return names as an array whose order, and so whose random draws, are the same in every format.

    Whole numbers are texts in a text format, and numbers in others.

    Examples
    --------
    >>> np.sort(sortable(["10", "9"])).tolist(), np.sort(sortable(["10", "09"])).tolist()
    ([9, 10], ['09', '10'])
    """
    whole = all(isinstance(name, str) and WHOLE.fullmatch(name) for name in names)
    return np.array([*map(int, names)], np.int64) if whole and names else array_of_names(names)
