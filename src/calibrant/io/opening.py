"""Open prediction tables: files, frames, logs and archives become `Predictions`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from calibrant._checks import one_of, shown
from calibrant.exceptions import InputError
from calibrant.io.batches import SECOND
from calibrant.io.origin import reads_once
from calibrant.io.predictions import LISTS, PARTS, Form, Predictions, class_names, class_scores_of
from calibrant.io.roles import Role, What, find, open_table
from calibrant.io.table_formats import format_of, locate, parquet_parts
from calibrant.io.tables import TALLY_KEY, Table, listed, threshold_of

if TYPE_CHECKING:
    from calibrant.io._log_table import LogTable
    from calibrant.io.log_rows import Normalise
    from calibrant.io.score_kinds import ScoreKind

Engine = Literal["kernel", "duckdb"]
NO_LOGS = (".csv", ".tsv", ".parquet", ".arrow", ".npz")  # endings of tables that no log has
Gold = Mapping[str, str] | str | os.PathLike[str] | None
PREFIXES = ("p_", "logit_")
HOLD: dict[str, What] = {"label": "label", "weight": "finite"}  # others hold names
SPANS = ("document", "start", "end")  # a table of spans, which have no labels before they are matched
INCLUSION = "inclusion_probability"
INCLUSION_NOTE = (
    f"The column {INCLUSION} is not used: all numbers are those of the drawn rows. To estimate those of all "
    f"rows, write 1 / {INCLUSION} to the column weight."
)


@dataclass(frozen=True)
class Columns:
    """How to read a table of predictions: names of columns that are called otherwise, and what else there is.

    Attributes
    ----------
    form
        ``long`` or ``wide``; needed only when the columns fit both.
    score, label, prediction, class_column, cluster, item, weight
        Names of columns that are called otherwise. A column named here must be there. ``cluster`` may name
        two columns that are crossed, such as items and annotators. ``prediction`` is the column of the
        model's answers, of which the scores are the confidence: a label is right if it is the answer.
    event
        Label that counts as 1, if the labels of a long table are neither 0 and 1 nor words such as yes and
        no.
    score_kind
        Meaning of the scores: ``probability``; ``percent``, from 0 to 100, also as text such as ``90%``;
        ``logit``, log-odds of the event, or of the classes of a wide table; ``logprob``, logarithms of
        probabilities; ``ranking``, numbers that order the answers of a long table, the surest highest; or
        ``uncertainty``, a ranking with the surest lowest.
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
    prediction: str | None = None
    class_column: str | None = None
    cluster: str | Sequence[str] | None = None
    item: str | None = None
    weight: str | None = None
    event: str | None = None
    score_kind: ScoreKind = "probability"
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
        known = [field.name for field in fields(cls)]
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
            "prediction": self.prediction,
            "class": self.class_column,
            "cluster": clusters[0],
            "item": self.item,
            "weight": self.weight,
            **({SECOND: clusters[1]} if len(clusters) == 2 else {}),
        }


def open_predictions(
    source: Any, columns: Columns | Mapping[str, Any] | None = None, *, rankings: bool = False
) -> Predictions:
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
    rankings
        True if scores may be rankings, which are read as numbers in [0, 1] of the same order
        (`calibrant.io.score_kinds`); otherwise they are refused.

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
    if columns.score_kind != "probability":
        _check_kind(source, columns.score_kind, rankings=rankings)
    table: Table
    if isinstance(source, (str, os.PathLike)):
        parts = table_parts(source)
        if parts is not None or columns.engine != "kernel":
            from calibrant.io._parts import notes_on_copies

            predictions = predictions_of(_files(source, parts, columns.engine), columns)
            predictions.notes += notes_on_copies(parts or ())
            predictions.source_notes = predictions.notes
            return predictions
        log = _log(source, columns)
        if log is not None:
            _check_probabilities(columns, log.name, "the scores of a log are probabilities")
            return predictions_of(log, columns, log=log)
        if Path(source, "state.json").is_file():
            from calibrant.io._list_tables import open_dataset

            _check_probabilities(columns, os.fspath(source), LISTED)
            return open_dataset(Path(source))
        origin = locate(source)
        if format_of(origin.format).reader is None:
            from calibrant.io._archive import open_archive

            _check_probabilities(columns, origin.name, LISTED)
            for part, name in columns.named.items():
                if name is not None:
                    hint = "the arrays of an .npz archive have fixed names"
                    raise InputError(f"{part} cannot be renamed here", hint, code="column", file=origin.name)
            return open_archive(origin)
        table = format_of(origin.format).table(origin)
        stored = origin.path is not None and origin.format in ("arrow", "parquet")
        if stored and not (columns.score or columns.label):
            from calibrant.io._list_tables import open_lists

            lists = open_lists([table], table.name)
            if lists is not None:
                _check_probabilities(columns, table.name, LISTED)
                return lists
        if "label" not in table.columns:
            from calibrant.io._token_tables import token_table

            of_tokens = token_table(table)
            if of_tokens is not table:
                _check_probabilities(columns, table.name, "the scores of tokens are named score or logprob")
                table = of_tokens
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


def _check_kind(source: Any, kind: ScoreKind, *, rankings: bool) -> None:
    """Raise if there is no such kind of scores, or it is a ranking where probabilities are needed."""
    from calibrant.io.score_kinds import RANKINGS, SCORE_KINDS  # which most tables do not need

    one_of(kind, SCORE_KINDS, "score_kind")
    if kind in RANKINGS and not rankings:
        name = os.fspath(source) if isinstance(source, (str, os.PathLike)) else None
        message = "a ranking has no calibration, since its scores are not probabilities"
        hint = (
            "measure its order by `calibrant threshold`, or turn it into probabilities by `calibrant fit` "
            "and `calibrant apply`"
        )
        raise InputError(message, hint, code="parameter", file=name)


LISTED = "arrays and lists of scores are named probs or logits"


def _check_probabilities(columns: Columns, name: str, why: str) -> None:
    """Raise if a kind of scores is named for a source that tells its kind itself."""
    if columns.score_kind != "probability":
        message = f"the scores are read as {columns.score_kind}, but {why}"
        raise InputError(message, "leave `score_kind` out", code="parameter", file=name)


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

    table = PartsTable(files, os.fspath(Path(files[0]).parent) if parts is None else name)
    if table.in_both:
        message = f"column {table.in_both[0]!r} is in the files and in the names of their folders"
        hint = "leave it out of the files, or leave the engine out"
        raise InputError(message, hint, code="partition", file=name)
    stored = table.types(column for column in table.columns if column not in table.partitions)
    kinds = {"int64": "BIGINT", "double": "DOUBLE", "string": "VARCHAR"}
    types = {column: kinds[str(values.type)] for column, values in table.partitions.items()}
    zones = {column: kind.tz for column, kind in stored.items() if getattr(kind, "tz", None)}
    return FrameTable(relation_of(files, types), name, zones)


def predictions_of(table: Table, asked: Columns, *, log: LogTable | None = None) -> Predictions:
    """Return predictions of an open table; for a log, its table is also given as ``log``."""
    if TALLY_KEY in table.metadata:
        message, hint = "this is a tally, which contains sums and no single scores", "give the table itself"
        raise InputError(message, hint, code="file-kind", file=table.name)
    form = None if log is not None else asked.form
    roles = prediction_roles(table, form, asked.named, asked.score_kind)
    threshold, classes = threshold_of(table), class_names(roles)
    if asked.event is not None and (not {"score", "label"} <= roles.keys() or "prediction" in roles):
        message = "the labels of this table are classes, so that no label is an event"
        hint = "leave the event out; to measure one class, name the view class:NAME"
        raise InputError(message, hint, code="parameter", file=table.name)
    predictions = Predictions(table, roles, classes=classes, threshold=threshold, event=asked.event)
    predictions.score_kind = asked.score_kind
    predictions.notes = predictions.source_notes = tuple(_usual_names(roles, asked.named))
    if asked.score_kind != "probability":
        told = f"The scores were read as {asked.score_kind}."
        predictions.notes = predictions.source_notes = (*predictions.notes, told)
    if INCLUSION in table.columns and "weight" not in roles and INCLUSION not in asked.named.values():
        predictions.notes = predictions.source_notes = (*predictions.notes, INCLUSION_NOTE)
    if log is not None and asked.form == "wide":
        log.check_one_model()
        predictions = predictions.by_item()
        next(predictions.batches())  # names the classes
    else:
        predictions.log = log
    return predictions


def _usual_names(roles: Mapping[str, Role], named: Mapping[str, str | None]) -> Iterator[str]:
    """Yield notes on columns that were recognized by usual names."""
    parts = ("score", "label", "prediction")
    chosen = [
        f"{role.name} as the {part}"
        for part, role in roles.items()
        if part in parts and role.name != part and role.name != named.get(part)
    ]
    classes = [role.name for role in class_scores_of(roles) if not role.name.startswith(PREFIXES)]
    if classes and roles.keys().isdisjoint({LISTS}):
        chosen.append(f"{listed(classes)} as the scores of classes")
    if chosen:
        yield f"By their names, columns were read as follows: {'; '.join(chosen)}."
    if "prediction" in roles:
        yield (
            f"A pair is an answer ({roles['prediction'].name}): its confidence ({roles['score'].name}), and "
            f"whether it is the label ({roles['label'].name})."
        )


def prediction_roles(
    table: Table, form: Form | None, named: Mapping[str, str | None], kind: ScoreKind = "probability"
) -> dict[str, Role]:
    """Return the roles of the columns of a prediction table.

    Parameters
    ----------
    table
        Opened table.
    form
        As in `calibrant.io.open_predictions`.
    named
        Columns by `PARTS`, None for the usual one; a part that is left out is not looked for.
    kind
        Meaning of the scores.

    Returns
    -------
    dict
        Roles by part; a wide table has its columns of scores in place of ``score``.

    Examples
    --------
    >>> from calibrant.io.roles import open_table
    >>> import pyarrow as pa
    >>> table = open_table(pa.table({"p_a": [0.2], "p_b": [0.8], "gold": ["a"]}))
    >>> list(prediction_roles(table, None, {"score": None, "label": "gold", "item": None}))
    ['p_a', 'p_b', 'label']
    """
    there = table.columns
    score_what: What = "percent" if kind == "percent" else "score"
    scores = [name for prefix in PREFIXES for name in there if name.startswith(prefix)]
    named = _with_usual_names(table, named, prefixed=bool(scores))
    score = named.get("score")
    if form is None and score is None and "score" in there and scores:
        message = f"the columns fit both a long table (score) and a wide table ({scores[0]}, ...)"
        hint = "choose one: `columns={'form': 'long'}` or `columns={'form': 'wide'}`"
        raise InputError(message, hint, code="column-ambiguous", file=table.name)
    wide = form == "wide" or (form is None and score is None and "score" not in there and bool(scores))
    roles: list[Role] = []
    if not scores and score is None and "score" not in there and form != "long":
        from calibrant.io.usual_names import named_like_labels, usual_name  # which most tables do not need

        label = named.get("label") or "label"
        if "label" not in named and label not in there:  # scores are read alone
            label = usual_name("label", there, table.name) or label
        others = {*PARTS, *filter(None, named.values()), *SPANS}
        classes = named_like_labels(table, label, others) if label in there else ()
        roles = [Role(f"p_{name}", score_what, name) for name in classes]
        wide = wide or bool(classes)
    log = ""
    if table.name.lower().endswith((".jsonl", ".jsonl.gz")):
        from calibrant.io.log_formats import KNOWN

        log = f"nor is this a log that is known ({KNOWN}); "
        log = log if "label" in named else "if this is a log, make a table with `calibrant convert`; else "
    if "label" in named and named["label"] is None and set(SPANS) <= set(there) and "label" not in there:
        message = "this is a table of spans (document, start, end) without labels"
        hint = "match them with gold spans first: `calibrant spans`, or calibrant.structures.match_spans"
        raise InputError(message, hint, code="column-missing", file=table.name)
    roles = roles or (_class_scores(table, scores, kind) if wide else [])
    if roles and kind in ("ranking", "uncertainty"):
        message = f"a {kind} orders answers, and this table has a score of each class"
        hint = "write one row per answer: its score, and whether it is right as the label"
        raise InputError(message, hint, code="parameter", file=table.name)
    for part in PARTS:
        if part == "prediction" and named.get(part) is None:
            continue
        if part in named and not (wide and part in ("score", "class", "prediction")):
            what = score_what if part == "score" else HOLD.get(part, "name")
            how = f"{log}name it with `columns={{'{part.removeprefix('second ')}': ...}}`"
            roles.append(Role(part, what, named[part], part in ("score", "label"), how=how))
    return find(table, roles)


def _with_usual_names(
    table: Table, named: Mapping[str, str | None], *, prefixed: bool
) -> Mapping[str, str | None]:
    """Return the names of columns, those of scores and labels by usual names if no own name is there.

    With ``prefixed``, columns of a wide table are there. A column of answers is one only beside a column of
    their confidence, or if it is named: scores may be those of an event that answers were cut from.
    """
    names = dict(named)
    wanted = ("label",) if prefixed else ("score", "label")
    missing = [part for part in wanted if part in names and part not in table.columns and not names[part]]
    if not missing and names.get("score") is None:
        return names
    from calibrant.io.usual_names import CONFIDENCE, usual_name  # which most tables do not need

    for part in missing:
        names[part] = usual_name(part, table.columns, table.name)
    score = str(names.get("score") or "score").strip().lower()
    if "prediction" in names and names["prediction"] is None and score in CONFIDENCE:
        names["prediction"] = usual_name("prediction", table.columns, table.name)
    return names


def _class_scores(table: Table, names: Sequence[str], kind: ScoreKind) -> list[Role]:
    """The columns of scores of a wide table."""
    kinds = {name.split("_", 1)[0] for name in names}
    if len(kinds) > 1:
        message, hint = "the table has p_ and logit_ columns", "keep one kind of column"
        raise InputError(message, hint, code="column-ambiguous", file=table.name)
    if len(names) < 2:
        own = "".join(f", or name the score by `columns={{'score': '{name}'}}`" for name in names)
        hint = (
            f"write one p_<class> column per class, two or more{own}; the columns are {listed(table.columns)}"
        )
        raise InputError("this is not a wide table", hint, code="column-missing", file=table.name)
    if (unnamed := next((name for name in names if name in PREFIXES), None)) is not None:
        hint = "name the class after the underscore"
        raise InputError("the class has no name", hint, code="column", file=table.name, column=unnamed)
    if kinds == {"logit"} and kind not in ("probability", "logit"):
        message, hint = f"columns logit_<class> are read as {kind}", "leave `score_kind` out"
        raise InputError(message, hint, code="parameter", file=table.name)
    return [
        Role(name, "finite" if kinds == {"logit"} else "percent" if kind == "percent" else "score")
        for name in names
    ]


def table_parts(path: str | os.PathLike[str]) -> tuple[Path, ...] | None:
    """Return the Parquet files of a folder or a pattern that are one table; None for other paths and logs.

    Examples
    --------
    >>> table_parts("dev.csv") is None
    True
    """
    parts = parquet_parts(path)
    return None if parts is None or _details(parts) else parts


def _details(files: Sequence[Path]) -> bool:
    """Return True if Parquet files are the details of lighteval, which are logs."""
    if not all(file.name.startswith("details") and file.suffix == ".parquet" for file in files):
        return False
    from calibrant.io._logs_lighteval import holds

    return all(holds(file, {}) for file in files)


def _log(path: str | os.PathLike[str], columns: Columns) -> LogTable | None:
    """A path that is a log, as a table; None for any other."""
    file = Path(path)
    if columns.log_format is None and file.suffix in NO_LOGS and file.is_file() and not _details([file]):
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
