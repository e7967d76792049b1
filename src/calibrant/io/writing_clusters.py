"""Documents with the entities found in them, in the columns of CoNLL-2012."""

from __future__ import annotations

import os
import re
from collections.abc import Hashable, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from calibrant.documents import Document, Mention
from calibrant.exceptions import InputError
from calibrant.io._atomic import writing

PART = re.compile(r"(.*); part ([0-9]+)", re.DOTALL)
NOTHING = "-"


class ClusterWriter:
    """Writes documents word by word, with a number for each entity, whole or not at all.

    Used as a context manager. Columns are those of CoNLL-2012 with tabs between them: document, part, number,
    word, five that are not known, speaker, one that is not known, and entities. Scorers read them, as does
    `calibrant.io.read_documents`.

    Parameters
    ----------
    path
        The file; ``.gz`` compresses.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> document = Document("d", [["She", "left"]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with ClusterWriter(f"{folder}/d.conll") as writer:
    ...         writer.write(document, [Mention(0, 0, 1)], ["e7"])
    ...     lines = pathlib.Path(folder, "d.conll").read_text().splitlines()
    >>> lines[0], lines[1].split()
    ('#begin document (d); part 000', ['d', '0', '0', 'She', '-', '-', '-', '-', '-', '-', '-', '(0)'])
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._name = os.fspath(path)

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._file = stack.enter_context(writing(self._name))
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    def write(
        self, document: Document, mentions: Sequence[Mention], clusters: Sequence[Hashable | None]
    ) -> None:
        """Write a document.

        Parameters
        ----------
        document
            Its words.
        mentions, clusters
            Mentions and the entity of each; those without one (None) are left out.

        Raises
        ------
        InputError
            If a word or the name holds a tab or a line end.
        """
        match = PART.fullmatch(document.name)
        name, part = (match[1], int(match[2])) if match else (document.name, 0)
        brackets = _brackets(document, mentions, clusters)
        lines = [f"#begin document ({name}); part {part:03}"]
        for number, words in enumerate(document.sentences):
            speaker = (document.speakers[number] if document.speakers is not None else "") or NOTHING
            for place, word in enumerate(words):
                fields = [name, str(part), str(place), word, *[NOTHING] * 5, speaker, NOTHING]
                if any(mark in field for field in fields for mark in "\t\n\r"):
                    message = (
                        f"document {document.name!r}, sentence {number}: {word!r} cannot stand in columns"
                    )
                    raise InputError(message, "take out tabs and line ends", code="column", file=self._name)
                lines.append("\t".join([*fields, "|".join(brackets[number][place]) or NOTHING]))
            lines.append("")
        lines.append("#end document\n")
        self._file.write("\n".join(lines).encode())


def _brackets(
    document: Document, mentions: Sequence[Mention], clusters: Sequence[Hashable | None]
) -> list[list[list[str]]]:
    """What opens and closes at each word: long mentions open first, and close last."""
    found: list[list[list[str]]] = [[[] for _ in words] for words in document.sentences]
    code: dict[Hashable, int] = {}
    entities = [
        (mention, code.setdefault(cluster, len(code)))
        for mention, cluster in zip(mentions, clusters, strict=True)
        if cluster is not None
    ]
    longest_first = sorted(entities, key=lambda entity: entity[0].start - entity[0].end)
    for mention, number in longest_first:
        if mention.end - mention.start > 1:
            found[mention.sentence][mention.start].append(f"({number}")
    for mention, number in reversed(longest_first):
        place = found[mention.sentence][mention.end - 1]
        place.append(f"({number})" if mention.end - mention.start == 1 else f"{number})")
    return found
