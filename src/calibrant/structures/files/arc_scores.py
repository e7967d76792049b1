"""Scores of arcs from any parser: NumPy archives and JSON lines, one matrix per sentence."""

from __future__ import annotations

import io
import json
import os
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Floats, one_of, shown
from calibrant.exceptions import FormatError, InputError
from calibrant.io.envelope import file_bytes
from calibrant.io.origin import array_of, members, reading, truncated
from calibrant.io.text import open_lines
from calibrant.progress import Progress, tell

Scale = Literal["log", "probability"]
Rows = Literal["heads", "words"]
ZIP = b"PK\x03\x04"
NPY = ".npy"
TOLERANCE = 1e-3
AGAIN = "write the file again"
SHAPES = "expected (n + 1, n) with a row per head, (n, n + 1) with a row per word, or (n + 1, n + 1)"
REPORT_EVERY = 256


@dataclass(frozen=True)
class ArcScores:
    """Log-potentials of arcs of several sentences.

    Attributes
    ----------
    names
        Unique name of each sentence; its number, from 1, if the file does not name it.
    arcs
        (n, n + 1) log-potentials of each sentence, as `DependencyPosterior` takes them.
    named
        True if the file names its sentences.
    file
        Name of the file.

    Examples
    --------
    >>> ArcScores(["s1"], [np.zeros((2, 3))], True, "arcs.npz").arcs[0].shape
    (2, 3)
    """

    names: list[str]
    arcs: list[Floats]
    named: bool
    file: str

    def in_order(self, ids: Sequence[str], lengths: Sequence[int], text: str) -> list[Floats]:
        """Return the potentials of the sentences of a text, by their ids, or else by their order.

        Parameters
        ----------
        ids, lengths
            Name and number of words of each sentence of the text.
        text
            Name of the text's file, for messages.

        Raises
        ------
        InputError
            If numbers of sentences or words differ, or a sentence of the text has no scores.

        Examples
        --------
        >>> scores = ArcScores(["s2", "s1"], [np.zeros((1, 2)), np.zeros((2, 3))], True, "arcs.npz")
        >>> [len(own) for own in scores.in_order(["s1", "s2"], [2, 1], "dev.conllu")]
        [2, 1]
        """
        if len(self.arcs) != len(ids):
            message = f"there are scores of {len(self.arcs):,} sentences, and {text} has {len(ids):,}"
            raise InputError(message, "give the scores of each sentence", code="length", file=self.file)
        place = {name: row for row, name in enumerate(self.names)}
        by_name = self.named and any(name in place for name in ids)
        rows = [place.get(name, -1) for name in ids] if by_name else list(range(len(ids)))
        for name, row, length in zip(ids, rows, lengths, strict=True):
            if row < 0:
                message = f"there are no scores of the sentence {name!r} of {text}"
                raise InputError(message, "name sentences by their sent_id", code="length", file=self.file)
            if len(self.arcs[row]) != length:
                message = (
                    f"the scores of the sentence {self.names[row]!r} are of {len(self.arcs[row])} words, "
                    f"and in {text} it has {length}"
                )
                hint = "score the words of the file, without multiword tokens and empty nodes"
                raise InputError(message, hint, code="length", file=self.file)
        return [self.arcs[row] for row in rows]


def is_arc_scores(path: Any) -> bool:
    """Return True for the path of arc scores, by its name: ``.npz``, ``.jsonl`` or ``.jsonl.gz``."""
    if not isinstance(path, (str, os.PathLike)):
        return False
    return os.fspath(path).removesuffix(".gz").endswith((".npz", ".jsonl"))


def read_arc_scores(
    path: str | os.PathLike[str],
    *,
    scores: Scale = "log",
    rows: Rows = "heads",
    progress: Progress | None = None,
) -> ArcScores:
    r"""Read scores of arcs of any parser, one matrix per sentence.

    A matrix of a sentence of n words has the shape (n + 1, n), with a row per head (the root first) and a
    column per word; (n, n + 1), with a row per word; or (n + 1, n + 1), in which the root is also a word,
    whose scores are ignored. The score of a word as its own head is ignored.

    - ``.npz``: one array per sentence, named by its ``sent_id``, or in the order of the text.
    - JSON lines: ``{"id": "s1", "scores": [[...], ...]}`` per sentence, ``id`` optional; ``null`` forbids an
      arc.

    Parameters
    ----------
    path
        Path of the file; JSON lines with or without gzip, ``-`` for standard input.
    scores
        ``"log"``: log-potentials, such as the scores of a biaffine parser; minus infinity forbids an arc.
        ``"probability"``: of each head of a word, summing to 1; their logarithms are the log-potentials.
    rows
        Rows of a square matrix: ``"heads"`` or ``"words"``.
    progress
        Called with a stage, the number of sentences read, and None.

    Returns
    -------
    ArcScores

    Raises
    ------
    InputError
        If the file is missing or empty, a matrix has another shape, a score is NaN or plus infinity, or a
        probability is outside [0, 1]; the message names the sentence.
    FormatError
        If the file is truncated or damaged, or a line is no such object.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "arcs.jsonl")
    ...     _ = file.write_text('{"id": "s1", "scores": [[0.4, 1], [0, 0], [0.6, 0]]}')
    ...     read_arc_scores(file, scores="probability").arcs[0].round(2).tolist()
    [[-0.92, -inf, -0.51], [0.0, -inf, -inf]]
    """
    one_of(scores, ("log", "probability"), "scores")
    one_of(rows, ("heads", "words"), "rows")
    name = os.fspath(path)
    given = _archived(name) if name.endswith(".npz") else _lines(name)
    names: dict[str, None] = {}
    arcs, named = [], True
    for number, (own, matrix, line) in enumerate(given, 1):
        named = named and own is not None
        called = str(number) if own is None else own
        if called in names:
            message, hint = f"there are two sentences named {called!r:.60}", "give each sentence one name"
            raise InputError(message, hint, code="duplicate", file=name, row=line)
        names[called] = None
        try:
            arcs.append(_potentials(matrix, scores, rows))
        except InputError as error:
            message = f"sentence {called!r:.60}: {error.message}"
            raise InputError(message, error.hint, code=error.code, file=name, row=line) from None
        if number % REPORT_EVERY == 0:
            tell(progress, "reading", number)
    if not arcs:
        raise InputError("the file has no sentence", AGAIN, code="empty", file=name)
    return ArcScores(list(names), arcs, named, name)


def _potentials(matrix: NDArray[Any], scores: Scale, rows: Rows) -> Floats:
    """Return (n, n + 1) log-potentials of a matrix in any of the shapes."""
    shape = matrix.shape
    if matrix.ndim != 2 or matrix.dtype.kind not in "fiu" or min(shape, default=0) < 1:
        raise InputError(f"the scores have shape {shape} and dtype {matrix.dtype}", SHAPES, code="shape")
    if shape[0] == shape[1]:
        own = matrix.T[1:] if rows == "heads" else matrix[1:]
    elif shape[0] == shape[1] + 1:
        own = matrix.T
    else:
        own = matrix
    if own.shape[1] != len(own) + 1 or not len(own):
        raise InputError(f"the scores have shape {shape}", SHAPES, code="shape")
    arcs = np.array(own, np.float64)
    words = np.arange(len(arcs))
    itself = arcs[words, words + 1].copy()
    arcs[words, words + 1] = 0.0
    if scores == "log":
        wrong = np.argwhere(~(arcs < np.inf))
        hint = "give finite log-potentials, or minus infinity to forbid an arc"
    else:
        wrong = np.argwhere(~((arcs >= 0) & (arcs <= 1)))
        hint = "give probabilities in [0, 1], or log-potentials (`scores`)"
    if len(wrong):
        word, head = (int(place) for place in wrong[0])
        message = f"the score of word {word + 1} with head {head} is {arcs[word, head]}"
        raise InputError(message, hint, code="potential" if scores == "log" else "score-range")
    if scores == "probability":
        total = arcs.sum(axis=1) + np.where(np.isfinite(itself), itself, 0.0)
        far = np.flatnonzero(np.abs(total - 1) > TOLERANCE)
        if len(far):
            message = f"the probabilities of the heads of word {far[0] + 1} sum to {total[far[0]]:.4g}"
            raise InputError(message, "give probabilities that sum to 1 (see `rows`)", code="score-range")
        with np.errstate(divide="ignore"):
            arcs = np.log(arcs)
    arcs[words, words + 1] = -np.inf
    return arcs


def _archived(name: str) -> Iterator[tuple[str | None, NDArray[Any], int | None]]:
    """Yield the name and the matrix of each member of an archive."""
    data = file_bytes(name)
    if not data:
        raise InputError("the file is empty", AGAIN, code="empty", file=name)
    if not data.startswith(ZIP):
        hint = "write it with numpy.savez, one array per sentence"
        raise FormatError("the file is no NumPy archive", hint, code="file-kind", file=name)
    if b"PK\x05\x06" not in data[-(1 << 16) :]:
        raise truncated(name)
    try:
        with reading(name), zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = archive.namelist()
            # numpy.savez names arrays without a name arr_0, arr_1, ...
            plain = names == [f"arr_{place}{NPY}" for place in range(len(names))]
            for member, content in members(archive, names, len(data), name):
                yield None if plain else member.removesuffix(NPY), array_of(content), None
    except InputError:
        raise
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        OSError,
        ValueError,
        KeyError,
        TypeError,
        MemoryError,
        RuntimeError,
        NotImplementedError,
    ) as error:
        raise FormatError("the archive is damaged", AGAIN, code="file-broken", file=name) from error


def _lines(path: str) -> Iterator[tuple[str | None, NDArray[Any], int | None]]:
    """Yield the id and the matrix of each line, and its number."""
    with open_lines(path) as (name, lines):
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                own, matrix = _parsed(line)
            except FormatError as error:
                raise FormatError(
                    error.message, error.hint, code=error.code, file=name, line=number
                ) from None
            yield own, matrix, number


def _parsed(line: str) -> tuple[str | None, NDArray[Any]]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        reason = error.msg.lower() if isinstance(error, json.JSONDecodeError) else "it cannot be read"
        raise _broken(
            f"the line is not valid JSON ({reason})", "write one complete object per line"
        ) from None
    if not isinstance(record, dict) or not isinstance(record.get("scores"), list):
        raise _broken("the line has no scores", 'write {"id": "...", "scores": [[...], ...]}')
    own = record.get("id")
    if own is not None and (isinstance(own, bool) or not isinstance(own, (str, int)) or own == ""):
        raise _broken(f"the id is {shown(json.dumps(own), 40)}", "give a string")
    rows = record["scores"]
    widths = {len(row) if isinstance(row, list) else -1 for row in rows}
    if len(widths) != 1 or -1 in widths or widths == {0}:
        raise _broken("the scores are no matrix", "give lists of numbers of equal lengths")
    cells = {type(cell) for row in rows for cell in row}
    if not cells <= {int, float, type(None)}:
        raise _broken("a score is not a number", "give numbers, or null to forbid an arc", "column-type")
    try:
        matrix = np.array([[-np.inf if cell is None else cell for cell in row] for row in rows], np.float64)
    except OverflowError:
        raise _broken("a score is too large", "give smaller numbers", "column-type") from None
    return None if own is None else str(own), matrix


def _broken(message: str, hint: str, code: str = "file-row") -> FormatError:
    return FormatError(message, hint, code=code)
