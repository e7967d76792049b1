"""Prediction tables: tables of any format, read in batches and checked."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from calibrant._checks import shown
from calibrant.exceptions import InputError
from calibrant.io.columns import class_name
from calibrant.io.origin import reads_once
from calibrant.io.readers import (
    SECOND,
    Batch,
    Reader,
    TableReader,
    class_names,
    has_tokens,
    joined,
    note_on_ignored,
    prediction_roles,
    threshold_of,
)
from calibrant.io.readers import Form as Form
from calibrant.io.roles import ROWS, Role, open_table
from calibrant.io.table_formats import format_of, locate, parquet_parts
from calibrant.io.tables import RECALIBRATED_KEY, TALLY_KEY, Table
from calibrant.io.tables import listed as listed

if TYPE_CHECKING:
    from calibrant.io._list_tables import ListReader
    from calibrant.io._log_table import LogTable
    from calibrant.io.log_rows import Normalise

Engine = Literal["kernel", "duckdb"]
NO_LOGS = (".csv", ".tsv", ".parquet", ".arrow", ".npz")  # endings of tables that no log has
Gold = Mapping[str, str] | str | os.PathLike[str] | None
BATCH_ROWS = ROWS
INCLUSION = "inclusion_probability"
INCLUSION_NOTE = (
    f"The column {INCLUSION} is not used: all numbers are those of the drawn rows. To estimate those of all "
    f"rows, write 1 / {INCLUSION} to the column weight."
)
ITEMS_NOTE = (
    "The rows of an item are one cluster ({} with several rows). If items are in larger units, such as "
    "documents, name their column as the column of clusters. If annotators label several items each, name "
    "both as clusters: items and annotators. If the rows are of several models, write one file per model."
)


class Predictions:
    """Predictions that can be read again and again, in batches; made by `open_predictions`.

    Attributes
    ----------
    name
        The file, as errors name it.
    form
        ``long``: one (score, label) per row; ``wide``: one row per item, one score per class.
    rows
        Number of rows, or None if it is unknown before reading.
    threshold
        Threshold below which scores were not written; None if all were.
    has_classes, clustered, weighted, has_items
        True if the table has these columns (a wide table always has classes).
    crossed
        True if two columns of clusters are named.
    items_repeat
        True if an item has several rows, which are one cluster in all views; False until they were read.
    notes
        Sentences on how the source was read, for a reader of the results.
    source_notes
        Those on files and columns, which apply to all results.
    log
        The log of the table, with one row per option; None for any other table.
    """

    notes: tuple[str, ...] = ()
    source_notes: tuple[str, ...] = ()
    log: LogTable | None = None
    items_repeat: bool = False
    crossed: bool = False
    _tops: Callable[[], Reader] | None = None
    _again: Callable[[LogTable], Predictions] | None = None

    def __init__(
        self,
        reader: Reader,
        *,
        name: str,
        form: Form,
        rows: int | None = None,
        threshold: float | None = None,
        classes: tuple[str, ...] | None = None,
        clustered: bool = False,
        weighted: bool = False,
        has_classes: bool = True,
        has_items: bool = False,
    ) -> None:
        self._reader = reader
        self._classes = classes
        self.name = name
        self.form: Form = form
        self.rows = rows
        self.threshold = threshold
        self.clustered = clustered
        self.weighted = weighted
        self.has_classes = has_classes
        self.has_items = has_items

    @property
    def classes(self) -> tuple[str, ...]:
        """Class names by code; of a long table, those met so far."""
        return self._classes or tuple(map(class_name, self._reader.class_codes.names))

    @property
    def clusters(self) -> list[Any]:
        """Names of the clusters met so far, by code."""
        return self._reader.cluster_codes.names

    @property
    def items(self) -> list[Any]:
        """Names of the items met so far, by code."""
        return self._reader.item_codes.names

    @property
    def reader(self) -> Reader:
        """Reader of the rows."""
        return self._reader

    @property
    def told(self) -> tuple[str, ...]:
        """The notes on the table or the log; complete after all rows were read."""
        if self.log is not None:
            return tuple(dict.fromkeys([*self.log.notes, *self.notes]))
        ignored = 0 if self.table_reader is None else self.table_reader.ignored
        return (*self.notes, note_on_ignored(ignored)) if ignored else self.notes

    @property
    def table_reader(self) -> TableReader | None:
        """Reader of the table, if it has named columns."""
        return self._reader if isinstance(self._reader, TableReader) else None

    @property
    def is_long_with_classes(self) -> bool:
        """True if an item has one row per class, so that its rows are of different classes."""
        return self.form == "long" and self.has_classes

    @property
    def is_lazy(self) -> bool:
        """True for a lazy frame, whose engine can compute without sending rows."""
        return self.table_reader is not None and self.table_reader.lazy is not None

    @property
    def frame_on_workers(self) -> Any | None:
        """The long frame of Dask or PySpark, whose workers can sum it; None for other sources."""
        reader = self.table_reader
        if reader is None or reader.lazy is None or "score" not in reader.roles:
            return None
        from calibrant.io.engines import has_workers  # of all engines, which files do not need

        return reader.lazy if has_workers(reader.lazy) else None

    def met_classes(self, names: Sequence[str]) -> None:
        """Set the classes of a long table that was summed elsewhere, in this order."""
        import pyarrow as pa

        if self.table_reader is not None:
            self.table_reader.class_codes.of(pa.array(names, pa.string()))

    def through(self, reader: Reader, name: str) -> Predictions:
        """Return the same table under another name, read through another reader."""
        new = copy(self)
        new._reader = reader
        new.name = name
        new.log = None
        return new

    def batches(self, size: int = BATCH_ROWS, *, items: bool = False) -> Iterator[Batch]:
        """Read from the start, at most about ``size`` rows at a time.

        Raises
        ------
        InputError
            Naming the file, the row (the first row of data is row 1) and the column.
        """
        return self._reader.batches(size, items and self.has_items)

    def by_item(self) -> Predictions:
        """Return a long table with classes and items as a wide one: one row per item, one score per class.

        Reading it raises an `InputError` unless the rows of each item are adjacent, with one row per class. A
        row without a gold class has the label -1.

        Examples
        --------
        >>> import pyarrow as pa
        >>> columns = {"score": [0.2, 0.8, 0.6, 0.4], "label": [0, 1, 0, 0], "class": ["N", "V", "N", "V"]}
        >>> found = open_predictions(pa.table({**columns, "item": [1, 1, 2, 2]})).by_item().read()
        >>> found.score.tolist(), found.label.tolist()
        ([[0.2, 0.8], [0.6, 0.4]], [1, -1])
        """
        from calibrant.io.readers import ItemReader

        new = self.through(ItemReader(self.name, self._reader), self.name)
        new.form, new.rows, new._classes = "wide", None, None
        new.has_classes = new.has_items = True
        return new

    def check_one_model(self) -> None:
        """Raise `InputError` if this is a log of several models."""
        if self.log is not None:
            self.log.check_one_model()

    def check_one_cluster(self, doing: str) -> None:
        """Raise `InputError` if two columns of clusters are named, and what is done takes one."""
        if self.crossed:
            hint = "name one of them (`columns={'cluster': NAME}`); of items and annotators, the items"
            raise InputError(
                f"{doing} takes one column of clusters, not two", hint, code="cluster", file=self.name
            )

    def of_model(self, model: str) -> Predictions:
        """Return the part of a log that is of one model."""
        assert self.log is not None
        assert self._again is not None
        return self._again(self.log.of_model(model))

    def of_top_labels(self) -> Predictions:
        """Return the top labels of a log: one row per item with its largest score, and 1 if it is right.

        Items need not have the same number of options. The classes of its batches are the right options.
        """
        assert self._tops is not None
        new = copy(self)
        new._reader = self._tops()
        new.log, new.has_classes = None, False
        return new

    def read(self, *, items: bool = False) -> Batch:
        """Read all rows at once."""
        return joined(list(self.batches(items=items)))


@dataclass(frozen=True)
class Columns:
    """How to read a table of predictions: names of columns that are called otherwise, and what else there is.

    Attributes
    ----------
    form
        ``long`` or ``wide``; needed only when the columns fit both.
    score, label, class_column, cluster, item, weight
        Names of columns that are called otherwise. A column named here must be there. ``cluster`` may name
        two columns that are crossed, such as items and annotators.
    log_format, normalise, gold, scorer, allow_dropped
        For logs, as `calibrant.io.logs.open_log` has them; ``gold`` may be a file of lines with a name, a
        tab and the answer.
    engine
        ``duckdb`` opens Parquet files as a lazy frame of DuckDB, whose rows are then summed; by default they
        are read in batches.

    Examples
    --------
    >>> Columns(score="p", cluster="document").score
    'p'
    """

    form: Form | None = None
    score: str | None = None
    label: str | None = None
    class_column: str | None = None
    cluster: str | Sequence[str] | None = None
    item: str | None = None
    weight: str | None = None
    log_format: str | None = None
    normalise: Normalise = "none"
    gold: Gold = None
    scorer: str | None = None
    allow_dropped: bool = False
    engine: Engine = "kernel"

    @classmethod
    def of(cls, given: Columns | Mapping[str, Any] | None) -> Columns:
        """Return the columns that a mapping names, such as ``{'score': 'p'}``; None names none.

        The keys are the attributes; ``class`` is another name of ``class_column``.

        Raises
        ------
        InputError
            ``given`` is not a mapping, or has an unknown key.

        Examples
        --------
        >>> Columns.of({"class": "tag"}) == Columns(class_column="tag")
        True
        """
        if given is None or isinstance(given, Columns):
            return given or cls()
        if not isinstance(given, Mapping):
            raise InputError(
                f"`columns` is {shown(given)}", "pass a mapping: {'score': NAME}", code="parameter"
            )
        names = {"class_column" if name == "class" else name: value for name, value in given.items()}
        known = [each.name for each in fields(cls)]
        for name in names:
            if name not in known:
                hint = f"the keys are {', '.join(known)}"
                raise InputError(f"`columns` has the unknown key {shown(name)}", hint, code="parameter")
        return cls(**names)

    @property
    def named(self) -> dict[str, str | None]:
        """The names of columns by what they are for."""
        clusters = [self.cluster] if self.cluster is None or isinstance(self.cluster, str) else self.cluster
        if not 1 <= len(clusters) <= 2 or len(set(clusters)) < len(clusters):
            message, hint = f"cluster names {len(clusters)} columns", "name one column, or two that differ"
            raise InputError(message, hint, code="column")
        return {
            "score": self.score,
            "label": self.label,
            "class": self.class_column,
            "cluster": clusters[0],
            "item": self.item,
            "weight": self.weight,
            **({SECOND: clusters[1]} if len(clusters) == 2 else {}),
        }


def open_predictions(source: Any, columns: Columns | Mapping[str, Any] | None = None) -> Predictions:
    """Open a prediction table: a file, or a dataframe of any library that Narwhals reads.

    A *long* table has ``score`` in [0, 1] and ``label`` in {0, 1}, and may have ``class``,
    ``cluster``, ``item`` and ``weight``. A *wide* table has ``label`` (a class name) and one
    ``p_<class>`` (or one ``logit_<class>``) column per class. An ``.npz`` archive has exactly one of
    ``probs`` and ``logits`` (n, K), ``labels`` (n,) as class positions, and may have ``classes``
    (K,), ``clusters`` and ``weights`` (n,).

    Parameters
    ----------
    source
        Path of a ``.parquet``, ``.csv``, ``.tsv``, ``.jsonl``, ``.arrow`` or ``.npz`` file (text
        also as ``.gz``), a folder or a pattern (``parts/*.parquet``) of Parquet files with the same columns,
        ``-`` for standard input, a frame, lazy or not, or a log (`calibrant.io.logs`). `Predictions`, which
        are already open, are returned unchanged.
    columns
        Names of columns and form, if they differ from the defaults: `Columns`, or a mapping such as
        ``{'score': 'p'}``.

    Returns
    -------
    Predictions
        Nothing but the names of the columns has been read yet.

    Raises
    ------
    InputError
        A column is missing, or the columns fit both forms.
    FormatError
        The file is truncated or not what its name says.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"p": [0.2, 0.9], "label": [0, 1]})
    >>> open_predictions(table, Columns(score="p")).read().score
    array([0.2, 0.9])
    """
    if isinstance(source, Predictions):
        return source
    columns = Columns.of(columns)
    table: Table
    if isinstance(source, (str, os.PathLike)):
        parts = parquet_parts(source)
        if parts is not None or columns.engine != "kernel":
            from calibrant.io._parts import notes_on_copies

            found = predictions_of(_files(source, parts, columns.engine), columns)
            found.notes = found.source_notes = found.notes + notes_on_copies(parts or ())
            return found
        log = _log(source, columns)
        if log is not None:
            return predictions_of(log, columns, log=log)
        if Path(source, "state.json").is_file():
            from calibrant.io._list_tables import open_dataset

            return _lists(open_dataset(Path(source)))
        origin = locate(source)
        of_file = format_of(origin.format)
        if of_file.reader is None:
            return _archive(origin, columns.named)
        if (
            origin.path is not None
            and origin.format in ("arrow", "parquet")
            and not (columns.score or columns.label)
        ):
            from calibrant.io._list_tables import open_lists

            lists = open_lists(origin.path)
            if lists is not None:
                return _lists(lists)
        table = _tokens(of_file.table(origin))
    else:
        table = open_table(source)
    of_logs = {
        name: getattr(columns, name)
        for name in ("log_format", "normalise", "gold", "scorer", "allow_dropped")
    }
    if any(value != getattr(Columns, name) for name, value in of_logs.items()):
        message = f"{', '.join(f'`{name}`' for name in of_logs)} apply to logs, and this is a table"
        raise InputError(message, "leave them out", code="parameter", file=table.name)
    return predictions_of(table, columns)


def _files(source: str | os.PathLike[str], parts: tuple[Path, ...] | None, engine: Engine) -> Table:
    """Parquet files as a table, or as a lazy frame of DuckDB."""
    from calibrant.io._parts import PartsTable

    files, name = parts or (Path(source),), os.fspath(source)
    if engine == "kernel":
        return PartsTable(files, name)
    if engine != "duckdb":
        raise InputError(f"there is no engine {engine!r}", "give kernel or duckdb", code="parameter")
    if files[0].suffix.lower() != ".parquet" or reads_once(files[0]):
        if not (files[0].exists() or reads_once(source)):
            raise InputError("no such file", "check the path", code="file-missing", file=name)
        hint = "write Parquet, or leave the engine out"
        raise InputError("DuckDB reads only Parquet files", hint, code="file-kind", file=name)
    from calibrant.io.engines import relation_of
    from calibrant.io.frames import FrameTable

    found = PartsTable(files, os.fspath(Path(files[0]).parent) if parts is None else name)
    if found.in_both:
        message = f"column {found.in_both[0]!r} is in the files and in the names of their folders"
        hint = "leave it out of the files, or leave the engine out"
        raise InputError(message, hint, code="partition", file=name)
    stored = found.types(column for column in found.columns if column not in found.partitions)
    kinds = {"int64": "BIGINT", "double": "DOUBLE", "string": "VARCHAR"}
    types = {column: kinds[str(values.type)] for column, values in found.partitions.items()}
    zones = {column: kind.tz for column, kind in stored.items() if getattr(kind, "tz", None)}
    return FrameTable(relation_of(files, types), name, zones)


def predictions_of(table: Table, asked: Columns, *, log: LogTable | None = None) -> Predictions:
    """Return predictions of an open table; for a log, its table is also given as ``log``."""
    if TALLY_KEY in table.metadata:
        message, hint = "this is a tally, which contains sums and no single scores", "give the table itself"
        raise InputError(message, hint, code="file-kind", file=table.name)
    roles = prediction_roles(table, None if log is not None else asked.form, asked.named)
    wide, threshold = class_names(roles), threshold_of(table)
    # Rows were dropped by their scores before recalibration, which may have moved below the threshold.
    least = None if RECALIBRATED_KEY in table.metadata and not wide else threshold
    reader = TableReader(table, roles, {name: place for place, name in enumerate(wide)}, least)
    found = Predictions(
        reader,
        name=table.name,
        form="wide" if wide else "long",
        rows=table.rows,
        threshold=threshold,
        classes=wide or None,
        clustered="cluster" in roles,
        weighted="weight" in roles,
        has_classes=bool(wide) or "class" in roles,
        has_items="item" in roles,
    )
    found.crossed = SECOND in roles
    if INCLUSION in table.columns and "weight" not in roles and INCLUSION not in asked.named.values():
        found.notes = found.source_notes = (INCLUSION_NOTE,)
    if log is None:
        return found
    if asked.form == "wide":
        log.check_one_model()
        side_by_side = found.by_item()
        next(side_by_side.batches())  # names the classes
        return side_by_side
    found.log = log
    found._again = lambda log: predictions_of(log, asked, log=log)
    found._tops = lambda: TableReader(log.seen_as("top"), {**roles, "class": Role("class")})
    return found


def _log(path: str | os.PathLike[str], columns: Columns) -> LogTable | None:
    """A path that is a log, as a table; None for any other."""
    if columns.log_format is None and Path(path).suffix in NO_LOGS and Path(path).is_file():
        return None
    from calibrant.io.log_formats import recognise_log

    kind = recognise_log(path, columns.log_format)
    if kind is None:
        return None
    from calibrant.io._log_table import LogTable

    answers: Mapping[str, str] | None = None
    if isinstance(columns.gold, (str, os.PathLike)):
        from calibrant.io.text import read_class_table

        answers = read_class_table(columns.gold)
    else:
        answers = columns.gold
    return LogTable(
        path,
        kind,
        normalise=columns.normalise,
        gold=answers,
        scorer=columns.scorer,
        allow_dropped=columns.allow_dropped,
    )


def _tokens(table: Table) -> Table:
    """A log of tokens as a table of predictions; any other table stays as it is."""
    if not has_tokens(table):
        return table
    from calibrant.io._token_tables import TokenTable

    return TokenTable(table)


def _lists(reader: ListReader) -> Predictions:
    from calibrant.io._list_tables import class_names

    return Predictions(
        reader,
        name=reader.name,
        form="wide",
        classes=class_names(reader),
        clustered=reader.columns.by_token,
        has_items=reader.columns.item is not None and not reader.columns.by_token,
    )


def _archive(origin: Any, named: dict[str, str | None]) -> Predictions:
    from calibrant.io._archive import open_archive

    for part, name in named.items():
        if name is not None:
            hint = "the arrays of an .npz archive have fixed names"
            raise InputError(f"{part} cannot be renamed here", hint, code="column", file=origin.name)
    reader, classes, threshold = open_archive(origin)
    found = Predictions(
        reader,
        name=origin.name,
        form="wide",
        rows=len(reader.label),
        threshold=threshold,
        classes=classes,
        clustered=reader.cluster is not None,
        weighted=reader.weight is not None,
        has_items=reader.item is not None,
    )
    if reader.ignored:
        found.notes = found.source_notes = (note_on_ignored(reader.ignored),)
    return found
