"""Files of antecedent distributions from any coreference system: JSON with one document per line."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import InitVar, dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from calibrant._checks import Floats, positive_integer, repeated
from calibrant.exceptions import FormatError, InputError
from calibrant.io.atomic import writing_or_printing
from calibrant.io.text import open_lines
from calibrant.progress import Progress
from calibrant.records.words import closest
from calibrant.structures.documents import Document, Mention, check_mentions

if TYPE_CHECKING:
    from calibrant.structures.posterior import AntecedentPosterior


KEYS = ("doc", "mentions", "antecedents", "clusters")
NEEDED = KEYS[:3]
NEW = "new"
TOO_LARGE = 1 << 31


class Line(NamedTuple):
    """Content of a line; rows have one entry per candidate in the window and one for a new entity."""

    name: str
    mentions: list[Mention]
    rows: list[Floats]
    clusters: list[str | None] | None


def parse_line(text: str, window: int | None) -> Line:
    """Return the content of a line; errors lack its file and number."""
    record = _record(text)
    name = record["doc"]
    if isinstance(name, bool) or not isinstance(name, str | int) or name == "":
        raise _broken(f"doc is {_short(name)}", "give the name of the document as a string")
    name = str(name)
    if any("\ud800" <= letter <= "\udfff" for letter in name):
        raise _broken(f"doc is {_short(name)}, half a character", "give the name of the document as a string")
    keys = KEYS[1:] if record.get("clusters") is not None else NEEDED[1:]
    for key in keys:
        if not isinstance(record[key], list):
            message = f"document {name!r}: {key} is {_short(record[key])}"
            raise _broken(message, "give a list with one entry per mention")
        if len(record[key]) != len(record["mentions"]):
            message = f"document {name!r} has {len(record['mentions'])} mentions and {len(record[key])} {key}"
            raise _broken(message, "give one per mention", "length")
    places = [f"document {name!r}, mention {number}" for number in range(len(record["mentions"]))]
    mentions = [_mention(value, place) for value, place in zip(record["mentions"], places, strict=True)]
    rows = [
        _row(value, number, window, place)
        for number, (value, place) in enumerate(zip(record["antecedents"], places, strict=True))
    ]
    clusters = record.get("clusters")
    if clusters is not None:
        clusters = [_entity(value, place) for value, place in zip(clusters, places, strict=True)]
    return Line(name, mentions, rows, clusters)


def _formatted(number: int, row: Floats) -> list[Any]:
    """Return a row, or, if it contains zeros, pairs of index and probability."""
    first = number + 1 - len(row)  # mentions before the window have no entry
    if not first and row.all():
        return list(row.tolist())
    pairs = [[first + at, row[at].item()] for at in np.flatnonzero(row[:-1]).tolist()]
    return [*pairs, [NEW, row[-1].item()]]


def _broken(message: str, hint: str, code: str = "file-row") -> FormatError:
    return FormatError(message, hint, code=code)


def _short(value: object) -> str:
    """Return a value as JSON, truncated if it is long."""
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:40]}..."


def _record(text: str) -> dict[str, Any]:
    try:
        record = json.loads(text, object_pairs_hook=_unique)
    except json.JSONDecodeError as error:
        message = f"the line is not valid JSON ({error.msg.lower()} at character {error.colno})"
        raise _broken(message, "write one complete object per line") from None
    except (RecursionError, ValueError) as error:
        reason = (
            str(error)
            if isinstance(error, _RepeatedKeyError)
            else "it is nested too deeply, or a number is too long"
        )
        raise _broken(f"the line cannot be read: {reason}", "write one object per line") from None
    if not isinstance(record, dict):
        raise _broken(f"the line is {_short(record)} instead of an object", "write one object per line")
    missing = [key for key in NEEDED if key not in record]
    for key in record:
        # Unknown keys are ignored, unless one looks like a misspelled required key.
        near = None if key in KEYS else closest(key, [known for known in KEYS if known not in record])
        if near is not None:
            raise _broken(f"there is no key {key!r}", f"did you mean {near!r}?", "column")
    if missing:
        message = f"there is no key {missing[0]!r}"
        raise _broken(message, f"every line needs {', '.join(NEEDED)}", "column-missing")
    return record


class _RepeatedKeyError(ValueError):
    """Error for a repeated key of an object."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        names = [key for key, _ in pairs]
        raise _RepeatedKeyError(f"the key {repeated(names)!r} is repeated")
    return record


def _mention(value: Any, place: str) -> Mention:
    if not isinstance(value, list) or len(value) != 3 or not all(type(at) is int for at in value):
        hint = "give [sentence, start, end], from 0, end exclusive; a mention must be within one sentence"
        raise _broken(f"{place} is {_short(value)}", hint)
    if max(value) >= TOO_LARGE:
        raise _broken(f"{place} is {_short(value)}", "count sentences and words from 0")
    return Mention(*value)


def _entity(value: Any, place: str) -> str | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, str | int)):
        raise _broken(f"{place} has the cluster {_short(value)}", "give a string, a number or null")
    return None if value is None else str(value)


def _row(value: Any, number: int, window: int | None, place: str) -> Floats:
    """Return antecedent probabilities of a mention: of mentions in the window, then of a new entity."""
    if not isinstance(value, list) or not value:
        hint = "give probabilities, or pairs of index and probability"
        raise _broken(f"{place} has the antecedents {_short(value)}", hint)
    if any(isinstance(entry, list) for entry in value):
        indices, scores = _pairs(value, number, place)
    elif len(value) == number + 1:
        indices, scores = list(range(number + 1)), value
    else:
        message = f"{place} has {len(value)} probabilities"
        hint = f"give {number + 1}: one per preceding mention, in order, then one for a new entity"
        raise _broken(message, hint, "length")
    first = 0 if window is None else max(0, number - window)
    given, at = _numbers(scores, place), np.array(indices)
    outside = np.flatnonzero((at < first) & (given != 0))
    if len(outside):
        message = f"{place}: antecedent {at[outside[0]]} is outside the window of {window} mentions"
        raise _broken(message, "use a larger window, or no window")
    row = np.zeros(number + 1)
    row[at] = given
    return row[first:]


def _numbers(scores: list[Any], place: str) -> Floats:
    if not set(map(type, scores)) <= {int, float}:
        wrong = next(score for score in scores if type(score) not in (int, float))
        raise _broken(f"{place}: a probability is {_short(wrong)}", "give numbers", "column-type")
    try:
        return np.array(scores, np.float64)
    except OverflowError:
        raise _broken(f"{place}: a probability is above 1", "give probabilities", "score-range") from None


def _pairs(entries: Sequence[Any], number: int, place: str) -> tuple[list[int], list[Any]]:
    """Return indices and probabilities of a sparse row; a new entity has the mention's number as index."""
    indices: list[int] = []
    for entry in entries:
        if not isinstance(entry, list) or len(entry) != 2:
            message = f"{place} has the antecedent {_short(entry)}"
            raise _broken(message, "give pairs of index and probability, or probabilities, not both")
        index = number if entry[0] == NEW else entry[0]
        if type(index) is not int or (entry[0] != NEW and not 0 <= index < number):
            message = f"{place} has the antecedent {_short(entry[0])}"
            earlier = f"a preceding mention, 0 to {number - 1}, or {NEW!r}" if number else f"{NEW!r}"
            raise _broken(message, f"give {earlier}")
        indices.append(index)
    if len(set(indices)) < len(indices):
        twice = repeated(indices)
        message = f"{place} has the antecedent {json.dumps(NEW if twice == number else twice)} twice"
        raise _broken(message, "give its probability once")
    return indices, [entry[1] for entry in entries]


REPORT_EVERY = 16
TABLES = (".parquet", ".csv", ".tsv", ".arrow", ".npz")  # endings of other formats
TOLERANCE = 1e-6


@dataclass(frozen=True)
class PosteriorDocument:
    """Mentions of a document, with the distribution over antecedents of each.

    Attributes
    ----------
    name
        Name of the document.
    mentions
        Mentions in any order; the antecedent of a mention precedes it in this order.
    rows
        ``min(i, window) + 1`` probabilities for mention i: of its candidates, the directly preceding
        mentions, in order, then of starting an entity.
    clusters
        Gold entity of each mention, None for a mention without one. None: unknown.
    window
        Largest distance of an antecedent, in mentions; None: unlimited.
    tolerance
        Largest deviation of the sum of a row from 1.

    Raises
    ------
    InputError
        If a mention is empty or repeated, a row has a wrong length or does not sum to 1, a probability is
        missing or outside [0, 1], or numbers of mentions differ. The message names document and mention.

    Examples
    --------
    >>> document = PosteriorDocument("d1", [Mention(0, 0, 1), Mention(1, 0, 1)], [[1.0], [0.8, 0.2]])
    >>> document.posterior().pair_probabilities()[0, 1].round(3).item()
    0.8
    """

    name: str
    mentions: Sequence[Mention]
    rows: Sequence[Floats | Sequence[float]]
    clusters: Sequence[str | None] | None = None
    window: int | None = None
    tolerance: InitVar[float] = TOLERANCE
    _posterior: AntecedentPosterior = field(init=False, repr=False, compare=False)

    def __post_init__(self, tolerance: float) -> None:
        check_mentions(self.mentions, None, self.name, ordered=False)
        for what, values in (("rows", self.rows), ("clusters", self.clusters)):
            if values is not None and len(values) != len(self.mentions):
                message = f"document {self.name!r} has {len(self.mentions)} mentions and {len(values)} {what}"
                raise InputError(message, "give one per mention", code="length")
        from calibrant.structures.posterior import AntecedentPosterior

        posterior = AntecedentPosterior.from_probabilities(
            [self.rows], window=self.window, names=[self.name], tolerance=tolerance
        )
        object.__setattr__(self, "_posterior", posterior)

    def posterior(self) -> AntecedentPosterior:
        """Return the distribution over the document's entities; each row is divided by its sum."""
        return self._posterior


def read_posteriors(
    path: str | os.PathLike[str],
    *,
    window: int | None = None,
    tolerance: float = TOLERANCE,
    progress: Progress | None = None,
) -> Iterator[PosteriorDocument]:
    r"""Yield antecedent distributions from JSON lines, one object per document.

    - ``doc``: the document's name, unique in the file.
    - ``mentions``: a list of ``[sentence, start, end]``, from 0, the end exclusive, in any order without
      repeats.
    - ``antecedents``: a list with one row per mention. Mention i has i + 1 probabilities, of each preceding
      mention in the list, then of starting an entity; or, without zeros, pairs of a mention's index and its
      probability, with ``"new"`` as an index: ``[[3, 0.25], ["new", 0.75]]``. A document may contain both
      forms.
    - ``clusters``, if known: the gold entity of each mention, a string, a number or null.

    Other keys are ignored, unless one looks like a misspelled name of a missing key. Blank lines are skipped.

    Parameters
    ----------
    path
        Path of the file, with or without gzip; ``-`` for standard input.
    window
        Largest distance of an antecedent, in mentions; None: unlimited. A window saves memory for long
        documents; a probability of a candidate outside the window is an error.
    tolerance
        Largest deviation of the sum of a row from 1.
    progress
        Called with a stage, the number of documents read, and None.

    Yields
    ------
    PosteriorDocument

    Raises
    ------
    InputError
        If the file is missing or empty, probabilities do not sum to 1, are negative or missing, antecedents
        point forward or outside the window, mentions are empty or repeated, a row has a wrong length, or two
        documents have the same name. The message names file, line, document and mention.
    FormatError
        If a line is not a JSON object of this kind, or the file is truncated or not UTF-8.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> line = '{"doc": "d1", "mentions": [[0, 0, 1], [1, 0, 1]], "antecedents": [[1], [[0, 1]]]}'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "system.jsonl")
    ...     _ = file.write_text(line)
    ...     for document in read_posteriors(file):
    ...         print(document.name, [row.tolist() for row in document.rows])
    d1 [[1.0], [1.0, 0.0]]
    """
    if window is not None:
        positive_integer(window, "window")
    with open_lines(path) as (name, lines):
        yield from _documents(name, lines, window, tolerance, progress)


class PosteriorWriter:
    """Writer of antecedent distributions as JSON lines, written atomically.

    It is used as a context manager: the file appears when the block ends without an error. Probabilities are
    written so that exactly the same numbers are read back. A row with zeros is written as pairs without the
    zeros. A name in ``.gz`` is compressed; ``-`` is standard output.

    Parameters
    ----------
    path
        File to write.

    Raises
    ------
    InputError
        If the file cannot be written or has the ending of a table, a document is written twice, or no
        document is written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> mentions = [Mention(0, 0, 1), Mention(0, 3, 4), Mention(1, 0, 1)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "system.jsonl")
    ...     with PosteriorWriter(file) as writer:
    ...         writer.write(PosteriorDocument("d1", mentions, [[1], [0.5, 0.5], [0, 0.75, 0.25]]))
    ...     print(file.read_text().strip())
    {"doc":"d1","mentions":[[0,0,1],[0,3,4],[1,0,1]],"antecedents":[[1],[0.5,0.5],[[1,0.75],["new",0.25]]]}
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._name = os.fspath(path)
        self._documents: set[str] = set()
        if self._name.lower().endswith(TABLES):
            hint = "use a name in .jsonl or .jsonl.gz; `calibrant coref pairs` converts posteriors to a table"
            message = "posteriors can only be written as JSON lines"
            raise InputError(message, hint, code="output", file=self._name)

    def __enter__(self) -> PosteriorWriter:
        with ExitStack() as stack:
            self._file = stack.enter_context(writing_or_printing(self._name))
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self._stack.__exit__(kind, error, trace)
            return
        with self._stack:
            if not self._documents:
                raise InputError("there are no documents", "write one", code="empty", file=self._name)

    def write(self, document: PosteriorDocument) -> None:
        """Write a document."""
        self.write_line(document.name, line_of(document))

    def write_line(self, name: str, line: str) -> None:
        """Write a line from `line_of`, which another process may have computed."""
        if name in self._documents:
            message = f"document {name!r} is written twice"
            raise InputError(message, "give every document a unique name", file=self._name)
        self._documents.add(name)
        self._file.write(f"{line}\n".encode())


def line_of(document: PosteriorDocument) -> str:
    """Return the line of a document; formatting takes longer than computing the probabilities."""
    record: dict[str, Any] = {
        "doc": document.name,
        "mentions": [[int(at) for at in mention] for mention in document.mentions],
        "antecedents": [_formatted(number, np.asarray(row)) for number, row in enumerate(document.rows)],
    }
    if document.clusters is not None:
        record["clusters"] = document.clusters
    return json.dumps(record, separators=(",", ":"))


def posterior_documents(
    posterior: AntecedentPosterior, documents: Sequence[Document]
) -> Iterator[PosteriorDocument]:
    """Yield each document of a batch, with its mentions, posterior and gold entities.

    Parameters
    ----------
    posterior
        Distributions over the antecedents of the documents' mentions.
    documents
        Documents of the batch, in its order.

    Examples
    --------
    >>> from calibrant.structures.posterior import AntecedentPosterior
    >>> text = Document("d1", [["Ann", "met", "Eve"]], [Mention(0, 0, 1), Mention(0, 2, 3)])
    >>> batch = AntecedentPosterior.from_probabilities([[[1.0], [0.25, 0.75]]], names=["d1"])
    >>> next(posterior_documents(batch, [text])).rows[1].round(9).tolist()
    [0.25, 0.75]
    """
    names = tuple(document.name for document in documents)
    if names != posterior.names:
        message = f"the posterior has the documents {_list(posterior.names)}, but {_list(names)} are given"
        raise InputError(message, "give the documents of the posterior, in its order", code="length")
    for number, document in enumerate(documents):
        probabilities, offsets, _ = posterior.rows_of(number)
        yield PosteriorDocument(
            document.name,
            document.mentions or (),
            np.split(probabilities, offsets[1:-1]) if len(offsets) > 1 else [],
            document.clusters,
            posterior.window,
        )


def write_posteriors(
    path: str | os.PathLike[str], posterior: AntecedentPosterior, documents: Sequence[Document]
) -> None:
    """Write a batch of documents in the format of `read_posteriors`; see `PosteriorWriter`.

    Parameters
    ----------
    path
        File to write; a name in ``.gz`` is compressed; ``-`` is standard output.
    posterior, documents
        As in `posterior_documents`.

    Examples
    --------
    >>> import tempfile
    >>> from calibrant.structures.posterior import AntecedentPosterior
    >>> text = Document("d1", [["Ann", "met", "Eve"]], [Mention(0, 0, 1), Mention(0, 2, 3)], ["a", "e"])
    >>> batch = AntecedentPosterior.from_probabilities([[[1.0], [0.25, 0.75]]], names=["d1"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_posteriors(f"{folder}/d.jsonl.gz", batch, [text])
    ...     [document.clusters for document in read_posteriors(f"{folder}/d.jsonl.gz")]
    [['a', 'e']]
    """
    with PosteriorWriter(path) as writer:
        for document in posterior_documents(posterior, documents):
            writer.write(document)


def _documents(
    name: str, lines: Iterable[str], window: int | None, tolerance: float, progress: Progress | None
) -> Iterator[PosteriorDocument]:
    first_lines: dict[str, int] = {}
    for number, text in enumerate(lines, 1):
        if not text.strip():
            continue
        try:
            line = parse_line(text, window)
            document = PosteriorDocument(*line, window, tolerance)
        except InputError as error:
            raise error.at(file=name, line=number) from None
        other = first_lines.setdefault(document.name, number)
        if other != number:
            message = f"document {document.name!r} also occurs in line {other}"
            hint = "give every document one line"
            raise InputError(message, hint, file=name, line=number)
        if progress is not None and len(first_lines) % REPORT_EVERY == 0:
            progress("reading", len(first_lines), None)
        yield document


def _list(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f", ... ({len(names)})" if len(names) > 3 else "") or "none"
