"""Dependency trees of CoNLL-U files: sentences with tags, heads and relations, read and written."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from calibrant.exceptions import InputError
from calibrant.io.atomic import writing_or_printing
from calibrant.io.text import open_lines
from calibrant.progress import Progress, tell
from calibrant.structures.files.column_documents import first_lines
from calibrant.structures.files.sentences import UPOS, XPOS, Column, ConlluReader, is_conllu
from calibrant.structures.posterior.dependency import check_tree

HEAD, RELATION, DEPS, MISC = 7, 8, 9, 10  # columns, from 1
REPORT_EVERY = 1 << 14
PROBABILITY = "ArcProb"  # key in MISC
LONGEST = 10_000  # words of a sentence
NUMBER = 6  # digits of a head, at most


@dataclass(frozen=True)
class TreeText:
    """Sentences of a CoNLL-U file with their tags and trees.

    Attributes
    ----------
    sentences, tags
        Words of each sentence, and their tags; tags are None if the file has none.
    heads, relations
        Head of each word (0 for the root, h for the h-th word, from 1) and its label; None if the file has no
        trees.
    sentence_ids, document_ids
        As in `calibrant.structures.TaggedText`.
    name
        Name of the file.
    lines
        Lines of each sentence, kept for `write_trees`.

    Examples
    --------
    >>> text = TreeText([["I", "see"]], None, [[2, 0]], [["nsubj", "root"]], ["1"], None, "dev.conllu")
    >>> text.token_count, text.clusters()
    (2, ['1'])
    """

    sentences: list[list[str]]
    tags: list[list[str]] | None
    heads: list[list[int]] | None
    relations: list[list[str]] | None
    sentence_ids: list[str]
    document_ids: list[str] | None
    name: str
    lines: list[list[str]] = field(default_factory=list, repr=False)

    @property
    def token_count(self) -> int:
        """Return the number of words in all sentences."""
        return sum(map(len, self.sentences))

    def clusters(self, by: str = "sentence") -> list[str]:
        """Return the cluster of each sentence: the sentence or its document, as of `TaggedText`."""
        from calibrant.structures.files.tagged import TaggedText

        text = TaggedText(self.sentences, self.tags, self.sentence_ids, self.document_ids, self.name)
        return text.clusters(by)


class TreeReader(ConlluReader):
    """Reader of CoNLL-U that also keeps heads, relations, and optionally lines."""

    def __init__(
        self, name: str, lines: Sequence[str], column: Column | None, *, trees: bool, keep: bool
    ) -> None:
        super().__init__(name, lines, column, require_tags=False)
        self.heads: list[list[int]] = []
        self.relations: list[list[str]] = []
        self.kept: list[list[str]] = []
        self._trees, self._keep = trees, keep
        self._words: list[tuple[int, str, str]] = []
        self._lines: list[str] = []

    def add(self, number: int, line: str) -> None:
        """Process a line."""
        if self._keep and line.strip(" "):
            self._lines.append(line)
        super().add(number, line)

    def node(self, number: int, fields: list[str], *, is_word: bool) -> None:
        """Process a word; multiword tokens and empty nodes are not words."""
        super().node(number, fields, is_word=is_word)
        if is_word and self._trees:
            relation = fields[RELATION - 1]
            self._words.append((number, fields[HEAD - 1], self.known.setdefault(relation, relation)))
        if len(self.tokens) > LONGEST:
            message, hint = f"the sentence has more than {LONGEST:,} words", "split it into sentences"
            raise self.broken(number, message, hint)

    def end_sentence(self) -> None:
        """End the current sentence, if there is one."""
        if self.tokens and self._trees:
            self._take_tree()
        if self.tokens and self._keep:
            self.kept.append(self._lines)
        if self.tokens:
            self._lines, self._words = [], []
        super().end_sentence()

    def _take_tree(self) -> None:
        """Add the tree of a sentence; it must be a tree with one root."""
        heads = []
        for number, text, relation in self._words:
            if not (text.isascii() and text.isdecimal() and len(text) <= NUMBER):
                what = "the word has no head" if text == "_" else f"the head is {text!r:.40}"
                raise self.broken(number, what, "give the id of a word of the sentence, or 0 for the root")
            if relation == "_" or not relation.strip():
                hint = "give the word's relation to its head"
                raise self.broken(number, "the word has no relation", hint, "missing-value")
            heads.append(int(text))
        try:
            check_tree(np.array(heads), 0)
        except InputError as error:
            name = self.sentence_id or str(len(self.sentences) + 1)
            message = f"sentence {name}{error.message.removeprefix('sentence 0')}"
            raise self.broken(self._words[0][0], message, error.hint or "", "tree") from None
        self.heads.append(heads)
        self.relations.append([relation for _, _, relation in self._words])


def read_trees(
    path: str | os.PathLike[str],
    *,
    column: Column | None = None,
    require_tags: bool = False,
    require_trees: bool = True,
    keep_lines: bool = False,
    progress: Progress | None = None,
) -> TreeText:
    r"""Read sentences, tags and dependency trees from CoNLL-U.

    Parameters
    ----------
    path
        Path of the file, with or without gzip; ``-`` for standard input.
    column
        Column of the tags: ``"upos"`` (the default), ``"xpos"``, ``"upos+feats"`` or a number.
    require_tags, require_trees
        True if a file without tags, or a sentence without a tree, is an error. Without ``require_trees``,
        trees are not read.
    keep_lines
        Keep the lines of each sentence, for `write_trees`.
    progress
        Called with a stage, the number of lines read, and None.

    Returns
    -------
    TreeText

    Raises
    ------
    InputError
        If the file is missing, empty or not CoNLL-U, or has no tags.
    FormatError
        If the file is truncated or not UTF-8, a line is invalid, or the heads of a sentence form no tree with
        one root (a cycle, no root, or several); the message names the line.

    References
    ----------
    The format CoNLL-U: https://universaldependencies.org/format.html

    Examples
    --------
    >>> import pathlib, tempfile
    >>> words = "1\tI\tI\tPRON\t_\t_\t2\tnsubj\t_\t_\n2\tsee\tsee\tVERB\t_\t_\t0\troot\t_\t_\n"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "dev.conllu")
    ...     _ = file.write_text(words + "\n")
    ...     text = read_trees(file)
    >>> text.heads, text.relations
    ([[2, 0]], [['nsubj', 'root']])
    """
    with open_lines(path) as (name, lines):
        head = first_lines(lines)
        if not any(map(str.strip, head)):
            raise InputError("the file has no sentence", "write the file again", code="empty", file=name)
        if not is_conllu(name, head):
            hint = "convert it to CoNLL-U, which has ten columns between tabs"
            raise InputError("the file is not CoNLL-U", hint, code="file-kind", file=name)
        reader = TreeReader(name, head, column, trees=require_trees, keep=keep_lines)
        for number, line in enumerate(chain(head, lines), 1):
            if number % REPORT_EVERY == 0:
                tell(progress, "reading", number)
            reader.add(number, line)
    reader.finish()
    reader.require_tags = require_tags
    return TreeText(
        reader.sentences,
        reader.tags if reader.has_tags() else None,
        reader.heads if require_trees else None,
        reader.relations if require_trees else None,
        reader.sentence_ids,
        reader.documents if reader.document_count else None,
        name,
        reader.kept,
    )


def write_trees(
    path: str | os.PathLike[str],
    sentences: Iterator[tuple[Sequence[str], Sequence[int], Sequence[str], Sequence[float]]],
    *,
    tags: Iterator[Sequence[str]] | None = None,
    column: str = "upos",
) -> None:
    r"""Write CoNLL-U with new trees, atomically; other columns, comments and multiword tokens are kept.

    MISC gets ``ArcProb``, the probability of the arc to the word's head. Empty nodes keep their lines, and
    DEPS becomes ``_``.

    Parameters
    ----------
    path
        File to write; ``-`` is standard output.
    sentences
        Lines, heads, relations and probabilities of arcs of each sentence.
    tags
        New tags of each sentence. None: tags are kept.
    column
        Column of the new tags, ``"upos"``, ``"xpos"`` or ``"upos+feats"``.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> trees = [(["1\tGo\tgo\tVERB\t_\t_\t_\t_\t_\t_"], [0], ["root"], [0.9])]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_trees(f"{folder}/a.conllu", iter(trees))
    ...     pathlib.Path(folder, "a.conllu").read_text().split("\t")[6:]
    ['0', 'root', '_', 'ArcProb=0.9000\n\n']
    """
    with writing_or_printing(path) as file:
        for lines, heads, relations, probabilities in sentences:
            own = None if tags is None else next(tags)
            word = 0
            for line in lines:
                fields = line.split("\t")
                if fields[0].isdecimal() and not line.startswith("#"):
                    fields[HEAD - 1], fields[RELATION - 1] = str(heads[word]), relations[word]
                    fields[DEPS - 1] = "_"
                    kept = [
                        entry
                        for entry in fields[MISC - 1].split("|")
                        if entry != "_" and not entry.startswith(f"{PROBABILITY}=")
                    ]
                    fields[MISC - 1] = "|".join([*kept, f"{PROBABILITY}={probabilities[word]:.4f}"])
                    if own is not None:
                        _set_tag(fields, own[word], column)
                    word += 1
                    line = "\t".join(fields)
                file.write(f"{line}\n".encode())
            file.write(b"\n")


def _set_tag(fields: list[str], tag: str, column: str) -> None:
    if column == "upos+feats":
        fields[UPOS - 1], _, features = tag.partition("|")
        fields[UPOS + 1] = features or "_"
    else:
        fields[(XPOS if column == "xpos" else UPOS) - 1] = tag
