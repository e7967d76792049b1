"""Prediction and evaluation with a dependency parser."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, Literal, Unpack

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Integers, Pairs, one_of
from calibrant.exceptions import InputError
from calibrant.io.atomic import check_place, keep_sources
from calibrant.metrics.compare import accuracy
from calibrant.progress import Progress
from calibrant.records import Quantity
from calibrant.structures.files.arc_scores import Rows, Scale, is_arc_scores
from calibrant.structures.files.dependency_trees import write_trees
from calibrant.structures.posterior.dependency import DependencyPosterior
from calibrant.structures.posterior.tree_tempering import fit_tree_temperature
from calibrant.structures.results.parsing import ParserEvaluation, TreeTemperature, WrittenTrees
from calibrant.structures.verbs.tree_source import (
    LABELED,
    QUERIES,
    TreeQuery,
    TreeRows,
    TreeSource,
    chosen_trees,
    open_source,
    potentials_of,
)
from calibrant.verbs.measuring import measured, read
from calibrant.verbs.options import MeasuringOptions, settings_of, takes
from calibrant.verbs.sources import asked_names

Cluster = Literal["sentence", "document"]
Column = str | int
NO_RELATIONS = "scores of arcs have no relations"


def predict_trees(
    model: Any,
    text: Any,
    output: str | os.PathLike[str],
    *,
    tagger: Any = None,
    column: Column | None = None,
    progress: Progress | None = None,
) -> WrittenTrees:
    r"""Write CoNLL-U with a parser's trees and the probability of each arc.

    HEAD and DEPREL are those of the tree with the most expected correct arcs, and MISC gets ``ArcProb``, the
    probability of the arc. Other columns, comments and multiword tokens are kept; a tagger's tags replace
    those of its column.

    Parameters
    ----------
    model
        Path of a parser that `train_parser` saved, or a `calibrant.structures.models.DependencyModel`.
    text
        Path of CoNLL-U; its trees, if there are any, are ignored.
    output
        CoNLL-U to write; ``-`` is standard output.
    tagger
        Path of a tagger that predicts the tags, or a trained tagger. None: the tags of the text are used.
    column
        Column of the tags: ``"upos"``, ``"xpos"``, ``"upos+feats"`` or a number. None: that of the training.
    progress
        Called with a stage, the work done and the total work.

    Returns
    -------
    WrittenTrees

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from calibrant.structures.models import DependencyModel
    >>> model = DependencyModel(bits=10, label_bits=8, epochs=9)
    >>> model = model.fit([["I", "see"]], [["PRON", "VERB"]], [[2, 0]], [["nsubj", "root"]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "text.conllu")
    ...     rest = "_\t_\t_\t_\t_\t_"
    ...     _ = file.write_text(f"1\tI\tI\tPRON\t{rest}\n2\tsee\tsee\tVERB\t{rest}\n\n")
    ...     written = predict_trees(model, file, f"{folder}/trees.conllu")
    ...     lines = pathlib.Path(folder, "trees.conllu").read_text().splitlines()
    >>> written.sentences, lines[0].split("\t")[6:8]
    (1, ['2', 'nsubj'])
    """
    keep_sources(output, model, text, tagger)
    if os.fspath(output) != "-":
        check_place(output)
    if is_arc_scores(model):
        message, hint = "scores of arcs have no relations to write", "give a parser"
        raise InputError(message, hint, code="parameter", file=os.fspath(model))
    source, called = open_source(
        model, text, tagger=tagger, column=column, trees=False, keep_lines=True, progress=progress
    )
    if not source.text.lines:
        message = "the text has no lines to write trees into"
        raise InputError(message, "give the path of a CoNLL-U file", code="parameter", file=source.text.name)
    chosen = chosen_trees(source)
    ends = np.cumsum([0, *map(len, source.text.sentences)]).tolist()
    names = [source.relations[label] for label in chosen.labels.tolist()]

    def sentences() -> Iterator[tuple[Sequence[str], Sequence[int], Sequence[str], Sequence[float]]]:
        for place, lines in enumerate(source.text.lines):
            words = slice(ends[place], ends[place + 1])
            yield lines, chosen.heads[words].tolist(), names[words], chosen.arc[words].tolist()

    new = None if tagger is None else iter(source.tags)
    write_trees(output, sentences(), tags=new, column=str(column or "upos"))
    assert source.model is not None
    return WrittenTrees(
        output=os.fspath(output),
        model=called,
        tagger=None if tagger is None else _named(tagger),
        trained_on=source.model.trained_on,
        sentences=len(source.text.sentences),
        tokens=source.text.token_count,
        expected=float(chosen.arc.mean()),
    )


@takes(MeasuringOptions)
def evaluate_parser(
    model: Any,
    text: Any,
    *,
    name: str | None = None,
    tagger: Any = None,
    column: Column | None = None,
    query: TreeQuery = "head",
    cluster: Cluster = "sentence",
    dev: Any = None,
    dev_arcs: str | os.PathLike[str] | None = None,
    scores: Scale = "log",
    rows: Rows = "heads",
    view: str | Sequence[str] | None = None,
    **options: Unpack[MeasuringOptions],
) -> ParserEvaluation:
    """Measure the attachment of a parser and the calibration of its probabilities.

    Parameters
    ----------
    model
        As in `predict_trees`, or the path of any parser's scores of arcs, as for
        `calibrant.structures.read_arc_scores`.
    text
        Path of CoNLL-U with gold trees, or a `calibrant.structures.TreeText`.
    name
        Name of the model in the record; None for its path.
    tagger, column
        As in `predict_trees`.
    query
        Probabilities to measure. ``head``: the head of each word in the tree with the most expected correct
        arcs. ``relation``: this head and its relation. ``arcs``: all arcs. ``labeled``: all arcs with their
        relations, from probability 0.01.
    cluster
        Unit that intervals treat as independent: ``"sentence"`` or ``"document"``.
    dev
        Text with gold trees, on which a temperature is fitted; results before and after it are given.
    dev_arcs
        Scores of arcs of ``dev``, if ``model`` is a file of scores.
    scores
        Scale of the scores of arcs: ``"log"`` for log-potentials, ``"probability"`` for probabilities of the
        heads of a word.
    rows
        Rows of square matrices of scores: ``"heads"`` or ``"words"``.
    view
        View to measure: ``pooled`` (all rows together), ``class:NAME`` or ``classwise`` (each class). Classes
        are relations for ``relation`` and ``labeled``, and distances for ``head`` and ``arcs``. None:
        ``pooled``.
    **options
        As in `calibrant.verbs.options.MeasuringOptions`.

    Returns
    -------
    ParserEvaluation

    Examples
    --------
    >>> from calibrant.structures import TreeText
    >>> from calibrant.structures.models import DependencyModel
    >>> words, tags = [["I", "see"], ["we", "go"]], [["PRON", "VERB"]] * 2
    >>> text = TreeText(words, tags, [[2, 0]] * 2, [["nsubj", "root"]] * 2, ["1", "2"], None, "small")
    >>> model = DependencyModel(bits=10, label_bits=8, epochs=9)
    >>> model = model.fit(words, tags, text.heads, text.relations)
    >>> evaluation = evaluate_parser(model, text)
    >>> evaluation.unlabeled.estimate, evaluation.tokens
    (1.0, 4)
    """
    one_of(query, QUERIES, "query")
    asked = asked_names(view) or ["pooled"]
    settings, run = settings_of(asked, options)
    shared: dict[str, Any] = {
        "tagger": tagger,
        "column": column,
        "scores": scores,
        "rows": rows,
        "progress": run.progress,
    }
    if is_arc_scores(model):
        _refuse_for_scores(query, dev, dev_arcs)
    source, called = open_source(model, text, **shared)
    source.text.clusters(cluster)  # raises an error without documents
    fitted = None
    rows_before = None
    quiet = replace(run, progress=None)
    if dev is not None:
        fitted = fit_temperature(open_source(model, dev, arcs=dev_arcs, **shared)[0])
        rows_before = TreeRows(source, chosen_trees(source), query, cluster)
        source = replace(source, temperature=fitted.temperature)
    tree_rows = TreeRows(source, chosen_trees(source), query, cluster)
    gold, labels = tree_rows.gold
    chosen = tree_rows.chosen
    right = chosen.heads == gold
    of_word = np.repeat(tree_rows.clusters(), [len(sentence) for sentence in source.text.sentences])
    labeled = Quantity(None, reason=NO_RELATIONS)
    if source.relations:
        labeled = _attachment(right & (chosen.labels == labels), of_word, settings.level)
    loss = float(chosen.log_loss.mean())
    return ParserEvaluation(
        model=name or called,
        unlabeled=_attachment(right, of_word, settings.level),
        labeled=labeled,
        log_loss=loss if np.isfinite(loss) else None,
        tokens=len(right),
        sentences=len(source.text.sentences),
        unseen_relations=tree_rows.unseen if source.relations else {},
        cluster=cluster,
        level=settings.level,
        query=query,
        temperature=fitted,
        measured=measured(*read(tree_rows.predictions, settings, quiet), settings, run),
        before=None
        if rows_before is None
        else measured(*read(rows_before.predictions, settings, quiet), settings, run),
    )


def fit_temperature(source: TreeSource) -> TreeTemperature:
    """Return the temperature that maximizes the likelihood of a text's gold trees."""
    heads = list(chain.from_iterable(source.text.heads or []))
    return fit_tree_temperature(DependencyPosterior(potentials_of(source)), heads)


def _attachment(right: NDArray[np.bool_], cluster: Integers, level: float) -> Quantity:
    zeros = np.zeros(len(right))
    return accuracy(right, Pairs(zeros, zeros, None, cluster, int(cluster.max()) + 1), level)


def _refuse_for_scores(query: TreeQuery, dev: Any, dev_arcs: Any) -> None:
    """Raise `InputError` for options that need a parser, or scores of the development text."""
    if query in LABELED:
        message = f"the query is {query!r}, and {NO_RELATIONS}"
        raise InputError(message, "choose head or arcs (`query`)", code="parameter")
    if (dev is None) != (dev_arcs is None):
        message = "a temperature for scores of arcs needs a text and its scores"
        raise InputError(message, "give both `dev` and `dev_arcs`, or neither", code="parameter")


def _named(tagger: Any) -> str:
    return os.fspath(tagger) if isinstance(tagger, (str, os.PathLike)) else type(tagger).__name__
