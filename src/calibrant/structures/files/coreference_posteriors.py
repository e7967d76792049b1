"""Antecedent distributions in files: a document a line, as JSON, from any coreference system."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import InitVar, dataclass, field
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import closest, positive_integer, repeated
from calibrant.exceptions import FormatError, InputError
from calibrant.io.atomic import writing
from calibrant.io.text import open_lines
from calibrant.progress import Progress
from calibrant.structures.documents import Document, Mention, check_mentions

if TYPE_CHECKING:
    from calibrant.structures.posterior import AntecedentPosterior

Floats = NDArray[np.float64]

KEYS = ("doc", "mentions", "antecedents", "clusters")
NEEDED = KEYS[:3]
NEW = "new"
TOO_LARGE = 1 << 31


class Line(NamedTuple):
    """What a line holds; rows have an entry for each candidate in the window and one for a new entity."""

    name: str
    mentions: list[Mention]
    rows: list[Floats]
    clusters: list[str | None] | None


def parse_line(text: str, window: int | None) -> Line:
    """Read a line; errors do not know its file and number."""
    record = _record(text)
    name = record["doc"]
    if isinstance(name, bool) or not isinstance(name, str | int) or name == "":
        raise _broken(f"doc is {_short(name)}", "give the name of the document, a text")
    name = str(name)
    if any("\ud800" <= letter <= "\udfff" for letter in name):
        raise _broken(f"doc is {_short(name)}, half a character", "give the name of the document, a text")
    keys = KEYS[1:] if record.get("clusters") is not None else NEEDED[1:]
    for key in keys:
        if not isinstance(record[key], list):
            message = f"document {name!r}: {key} is {_short(record[key])}"
            raise _broken(message, "give a list, an entry a mention")
        if len(record[key]) != len(record["mentions"]):
            message = f"document {name!r} has {len(record['mentions'])} mentions and {len(record[key])} {key}"
            raise _broken(message, "give one a mention", "length")
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


def format_line(name: str, mentions: Iterable[Mention], rows: Iterable[Floats], clusters: object) -> str:
    """Write a line: a row with zeros as pairs of index and probability, others as they are."""
    record: dict[str, Any] = {"doc": name, "mentions": [[int(at) for at in mention] for mention in mentions]}
    record["antecedents"] = [_formatted(number, np.asarray(row)) for number, row in enumerate(rows)]
    if clusters is not None:
        record["clusters"] = clusters
    return json.dumps(record, separators=(",", ":"))


def _formatted(number: int, row: Floats) -> list[Any]:
    first = number + 1 - len(row)  # what lies before the window has no entry
    if not first and row.all():
        return list(row.tolist())
    pairs = [[first + at, row[at].item()] for at in np.flatnonzero(row[:-1]).tolist()]
    return [*pairs, [NEW, row[-1].item()]]


def _broken(message: str, hint: str, code: str = "file-row") -> FormatError:
    return FormatError(message, hint, code=code)


def _short(value: object) -> str:
    """A value as JSON, cut where it is long."""
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:40]}..."


def _record(text: str) -> dict[str, Any]:
    try:
        record = json.loads(text, object_pairs_hook=_unique)
    except json.JSONDecodeError as error:
        message = f"this is no JSON ({error.msg.lower()} at character {error.colno})"
        raise _broken(message, "write one whole object a line") from None
    except (RecursionError, ValueError) as error:
        reason = (
            str(error) if isinstance(error, _RepeatedKeyError) else "nested too deep or a number too long"
        )
        raise _broken(f"this cannot be read: {reason}", "write one object a line") from None
    if not isinstance(record, dict):
        raise _broken(f"this is no object but {_short(record)}", "write one object a line")
    missing = [key for key in NEEDED if key not in record]
    for key in record:
        # A key that is not known is left alone, unless it is one that is missing, spelled wrongly.
        near = None if key in KEYS else closest(key, [each for each in KEYS if each not in record])
        if near is not None:
            raise _broken(f"there is no key {key!r}", f"did you mean {near!r}?", "column")
    if missing:
        message = f"there is no key {missing[0]!r}"
        raise _broken(message, f"every line needs {', '.join(NEEDED)}", "column-missing")
    return record


class _RepeatedKeyError(ValueError):
    """A key is twice in an object."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        names = [key for key, _ in pairs]
        raise _RepeatedKeyError(f"the key {repeated(names)!r} is there twice")
    return record


def _mention(value: Any, place: str) -> Mention:
    if not isinstance(value, list) or len(value) != 3 or not all(type(at) is int for at in value):
        hint = "give [sentence, start, end], from 0, end exclusive; a mention lies in one sentence"
        raise _broken(f"{place} is {_short(value)}", hint)
    if max(value) >= TOO_LARGE:
        raise _broken(f"{place} is {_short(value)}", "count sentences and words from 0")
    return Mention(*value)


def _entity(value: Any, place: str) -> str | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, str | int)):
        raise _broken(f"{place} has the cluster {_short(value)}", "give a text, a number or null")
    return None if value is None else str(value)


def _row(value: Any, number: int, window: int | None, place: str) -> Floats:
    """Antecedent probabilities of a mention: of those in the window, in order, then of a new entity."""
    if not isinstance(value, list) or not value:
        hint = "give probabilities, or pairs of index and probability"
        raise _broken(f"{place} has the antecedents {_short(value)}", hint)
    if any(isinstance(entry, list) for entry in value):
        indices, scores = _pairs(value, number, place)
    elif len(value) == number + 1:
        indices, scores = list(range(number + 1)), value
    else:
        message = f"{place} has {len(value)} probabilities"
        hint = f"give {number + 1}: of each mention before it, in order, then of a new entity"
        raise _broken(message, hint, "length")
    first = 0 if window is None else max(0, number - window)
    given, at = _numbers(scores, place), np.array(indices)
    outside = np.flatnonzero((at < first) & (given != 0))
    if len(outside):
        message = f"{place}: antecedent {at[outside[0]]} lies outside the window of {window} mentions"
        raise _broken(message, "widen the window, or leave it out")
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
    """Indices and probabilities of a sparse row; a new entity has the mention's own number as index."""
    indices: list[int] = []
    for entry in entries:
        if not isinstance(entry, list) or len(entry) != 2:
            message = f"{place} has the antecedent {_short(entry)}"
            raise _broken(message, "give pairs of index and probability, or probabilities, not both")
        index = number if entry[0] == NEW else entry[0]
        if type(index) is not int or (entry[0] != NEW and not 0 <= index < number):
            message = f"{place} has the antecedent {_short(entry[0])}"
            earlier = f"a mention before it, 0 to {number - 1}, or {NEW!r}" if number else f"{NEW!r}"
            raise _broken(message, f"give {earlier}")
        indices.append(index)
    if len(set(indices)) < len(indices):
        twice = repeated(indices)
        message = f"{place} has the antecedent {json.dumps(NEW if twice == number else twice)} twice"
        raise _broken(message, "give its probability once")
    return indices, [entry[1] for entry in entries]


REPORT_EVERY = 16
STDOUT = "-"
TABLES = (".parquet", ".csv", ".tsv", ".arrow", ".npz")  # names that promise what the lines are not
TOLERANCE = 1e-6


@dataclass(frozen=True)
class PosteriorDocument:
    """The mentions of a document, and each one's distribution over antecedents.

    Attributes
    ----------
    name
        What the document is called.
    mentions
        In any order. It is the order of the antecedents: each mention picks one that stands before it here.
    rows
        For mention i ``min(i, window) + 1`` probabilities: of its candidates, the mentions right before it,
        in order, then of starting an entity.
    clusters
        The gold entity of each mention, None for a mention without one. None: not known.
    window
        How many mentions back an antecedent may be; None: all.
    tolerance
        How much the sum of a row may differ from 1.

    Raises
    ------
    InputError
        With the document and the mention: a mention is empty or repeated, a row has a wrong length or does
        not add up to 1, a probability is outside [0, 1] or missing; or numbers of mentions differ.

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
                raise InputError(message, "give one a mention", code="length")
        from calibrant.structures.posterior import AntecedentPosterior

        posterior = AntecedentPosterior.from_probabilities(
            [self.rows], window=self.window, names=[self.name], tolerance=tolerance
        )
        object.__setattr__(self, "_posterior", posterior)

    def posterior(self) -> AntecedentPosterior:
        """The distribution over the document's entities; each row is divided by its sum."""
        return self._posterior


def read_posteriors(
    path: str | os.PathLike[str],
    *,
    window: int | None = None,
    tolerance: float = TOLERANCE,
    progress: Progress | None = None,
) -> Iterator[PosteriorDocument]:
    r"""Read antecedent distributions, one document after another: JSON lines, an object a document.

    - ``doc``: the document's name, each once.
    - ``mentions``: a list of ``[sentence, start, end]``, from 0, the end exclusive. In any order; none twice.
    - ``antecedents``: a list with a row a mention. Mention i has i + 1 probabilities, of each mention before
      it in the list, then of starting an entity; or, without zeros, pairs of the mention's index and its
      probability, with ``"new"`` as an index: ``[[3, 0.25], ["new", 0.75]]``. Both may be in one document.
    - ``clusters``, if known: the gold entity of each mention, a text or a number, or null.

    Other keys are left alone, unless one looks like a misspelt name of a key that is not there. Blank lines
    are skipped.

    Parameters
    ----------
    path
        The file, packed by gzip or not; ``-`` for standard input.
    window
        How many mentions back an antecedent may be; None: all. It saves memory where documents are long; a
        candidate further back that has a probability is an error.
    tolerance
        How much the sum of a row may differ from 1.
    progress
        Called now and then with a stage, the documents read, and None.

    Yields
    ------
    PosteriorDocument

    Raises
    ------
    InputError
        The file is missing or empty; or, with file, line, document and mention: probabilities do not add up
        to 1, are negative or missing, antecedents point forward or outside the window, mentions are empty or
        repeated, a row has a wrong length, two documents have one name.
    FormatError
        A line is no JSON object of this kind, or the file is cut short or no UTF-8.

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
    """Writes antecedent distributions as JSON lines, whole or not at all, document by document.

    Used as a context manager: the file appears under its name when the block ends well. Probabilities are
    written so that exactly the same numbers are read back. Of a row with zeros only the others are written,
    as pairs. A name that ends in ``.gz`` is compressed; ``-`` is standard output.

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    InputError
        If the place cannot be written or has the name of a table, a document is written twice, or none is.

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
            hint = "name it .jsonl or .jsonl.gz; `calibrant coref pairs` makes a table of it"
            raise InputError("posteriors are written as JSON lines", hint, code="output", file=self._name)

    def __enter__(self) -> PosteriorWriter:
        with ExitStack() as stack:
            if self._name == STDOUT:
                self._file: IO[bytes] = sys.stdout.buffer
                stack.callback(self._file.flush)
            else:
                self._file = stack.enter_context(writing(self._name))
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
        """Write a document that `line_of` has put into words, perhaps elsewhere."""
        if name in self._documents:
            message = f"document {name!r} is written twice"
            raise InputError(message, "give every document another name", file=self._name)
        self._documents.add(name)
        self._file.write(f"{line}\n".encode())


def line_of(document: PosteriorDocument) -> str:
    """The line of a document, which takes longer than to find its probabilities."""
    rows = [np.asarray(row) for row in document.rows]
    return format_line(document.name, document.mentions, rows, document.clusters)


def posterior_documents(
    posterior: AntecedentPosterior, documents: Sequence[Document]
) -> Iterator[PosteriorDocument]:
    """Take a batch apart: each document of a posterior, with its mentions and gold entities.

    Parameters
    ----------
    posterior
        Distributions over the antecedents of the documents' mentions.
    documents
        The documents of the batch, in its order.

    Raises
    ------
    InputError
        If names or numbers of mentions differ.

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
        message = f"the posterior has the documents {_list(posterior.names)}, and given are {_list(names)}"
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
    """Write a batch of documents as `read_posteriors` reads them; see `PosteriorWriter`.

    Parameters
    ----------
    path
        The file; its name may end in ``.gz``. ``-`` is standard output.
    posterior, documents
        As in `posterior_documents`.

    Raises
    ------
    InputError
        If posterior and documents do not fit, or the place cannot be written.

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
            message, hint = (
                f"document {document.name!r} is also in line {other}",
                "give every document one line",
            )
            raise InputError(message, hint, file=name, line=number)
        if progress is not None and len(first_lines) % REPORT_EVERY == 0:
            progress("reading", len(first_lines), None)
        yield document


def _list(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f", ... ({len(names)})" if len(names) > 3 else "") or "none"
