"""Export of the probabilities of pairs of mentions to a table."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import Any

import numpy as np

from calibrant._checks import positive_integer, sample_count
from calibrant.exceptions import InputError
from calibrant.io.atomic import keep_sources
from calibrant.progress import Progress
from calibrant.seeds import number
from calibrant.structures.files.coreference_posteriors import PosteriorDocument, read_posteriors
from calibrant.structures.files.writing_coreference import PairWriter
from calibrant.structures.posterior.coreference_queries import each_pair
from calibrant.structures.results.coreference import WrittenPairs

NONE = -1  # code of mentions without a gold entity


def export_pairs(
    posteriors: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    samples: int | None = None,
    seed: int = 0,
    window: int | None = None,
    drop_below: float = 0.0,
    labels: bool = True,
    progress: Progress | None = None,
) -> WrittenPairs:
    """Write the probability that two mentions corefer, for all pairs of each document.

    The table's columns are ``score``, ``label`` (1 if the two are in one gold entity), ``cluster`` (the
    document), ``first`` and ``second`` (the mentions' numbers in the document, from 0). Documents are read
    and written one by one.

    Parameters
    ----------
    posteriors
        Path of JSON lines, as for `calibrant.structures.read_posteriors`; ``-`` is standard input.
    output
        Table to write, a name in ``.parquet``, ``.arrow``, ``.csv``, ``.tsv`` or ``.jsonl``; ``-`` writes CSV
        to standard output.
    samples
        Estimate probabilities from this many sampled clusterings, as Nguyen & O'Connor (2015) do. None: exact
        probabilities.
    seed
        Seed of the samples.
    window
        Write only pairs at most this many mentions apart. None: all.
    drop_below
        As in `calibrant.structures.verbs.tagging.predict_tags`.
    labels
        Write only pairs of mentions that are in gold entities, with labels; if not, all pairs, without
        labels.
    progress
        Called with a stage, the number of documents done, and None.

    Returns
    -------
    WrittenPairs

    Raises
    ------
    InputError
        If the posteriors or an argument are invalid, the table cannot be written, only some documents have
        gold entities, or there are no pairs.

    Examples
    --------
    >>> import tempfile
    >>> from calibrant.structures.documents import Mention
    >>> from calibrant.structures.files.coreference_posteriors import PosteriorDocument, PosteriorWriter
    >>> from calibrant import measure
    >>> mentions = [Mention(0, 0, 1), Mention(1, 0, 1), Mention(2, 0, 1)]
    >>> rows = [[1], [0.75, 0.25], [0.5, 0.25, 0.25]]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with PosteriorWriter(f"{folder}/a.jsonl") as writer:
    ...         writer.write(PosteriorDocument("d1", mentions, rows, ["x", "x", "y"]))
    ...     written = export_pairs(f"{folder}/a.jsonl", f"{folder}/a.csv")
    ...     view = measure(f"{folder}/a.csv")["binary"]
    >>> written.rows, view.n, view.positives
    (3, 3, 1)
    """
    keep_sources(output, posteriors)
    if window is not None:
        positive_integer(window, "window")
    if samples is not None:
        sample_count(samples)
    used_seed = number(seed)
    documents = mentions = left_out = 0
    with ExitStack() as stack:
        writer: PairWriter | None = None
        labelled = False
        for document in read_posteriors(posteriors, progress=progress):
            documents += 1
            if not document.mentions:  # a document without mentions has no pairs
                continue
            if writer is None:
                labelled = labels and document.clusters is not None
                writer = stack.enter_context(PairWriter(output, labelled=labelled, threshold=drop_below))
            if labels and labelled != (document.clusters is not None):
                has = "gold entities" if document.clusters is not None else "no gold entities"
                message = f"document {document.name!r} has {has} (clusters), unlike the documents before it"
                hint = "give gold entities to all documents, or write no labels (`labels=False`)"
                raise InputError(message, hint, code="missing-value", file=os.fspath(posteriors))
            left_out += _write(writer, document, labelled, window=window, samples=samples, seed=used_seed)
            mentions += len(document.mentions)
        if writer is not None and left_out and writer.rows + writer.dropped == 0:
            message = "no document has two mentions with a gold entity"
            hint = "write no labels (`labels=False`)"
            raise InputError(message, hint, code="empty", file=os.fspath(posteriors))
    if writer is None:
        message, hint = "no document has mentions", "give documents with two or more mentions"
        raise InputError(message, hint, code="empty", file=os.fspath(posteriors))
    return WrittenPairs(
        source=os.fspath(posteriors),
        output=os.fspath(output),
        rows=writer.rows,
        dropped=writer.dropped,
        left_out=left_out,
        threshold=drop_below,
        documents=documents,
        mentions=mentions,
        labelled=labelled,
        window=window,
        samples=samples,
        seed=None if samples is None else used_seed,
    )


def _write(writer: PairWriter, document: PosteriorDocument, labelled: bool, **asked: Any) -> int:
    """Write the pairs of a document; return the number of pairs without a label, which are left out."""
    entities = document.clusters if labelled and document.clusters is not None else ()
    place: dict[str, int] = {}
    codes = [NONE if entity is None else place.setdefault(entity, len(place)) for entity in entities]
    code = np.array(codes, np.int64)
    left_out = 0
    for _, first, second, score in each_pair(document.posterior(), **asked):
        if not labelled:
            writer.write(document.name, first, second, score)
            continue
        known = (code[first] != NONE) & (code[second] != NONE)
        first, second, score = first[known], second[known], score[known]
        writer.write(document.name, first, second, score, code[first] == code[second])
        left_out += len(known) - len(first)
    return left_out
