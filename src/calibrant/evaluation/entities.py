"""Entities in tagged tokens: sums for entity F1 and for F1 of distinct surface forms.

An entity is a sequence of tokens with a type, marked by B- and I- tags. I- continues an entity of the same
type and otherwise begins one, as in the evaluation script of the WNUT 2017 shared task. The surface F1 of
that task counts each pair of words and type once, in the reference and in the system's output. A pair is
correct if the system finds at least one of its occurrences, with its place and type.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from calibrant import _checks
from calibrant._checks import Floats, Integers
from calibrant.evaluation.coefficient_sums import quotient
from calibrant.evaluation.results.interval_estimate import IntervalEstimate
from calibrant.evaluation.score_interval import Cells, cells_of, estimates
from calibrant.exceptions import InputError

Entity = tuple[int, int, str]  # the first token, the token behind the last one, the type
Form = tuple[tuple[str, ...], str]

NO_ENTITY = "there is no entity"
SCORES = {"precision": ([0], [1]), "recall": ([0], [2]), "f1": ([0, 0], [1, 2])}

__all__ = ["entity_scores", "entity_sums", "form_clusters", "surface_sums"]


def entity_scores(
    sums: Floats, *, clusters: ArrayLike | None = None, level: float = 0.95
) -> dict[str, IntervalEstimate]:
    """Estimate precision, recall and F1 of entities or surface forms, with intervals.

    Parameters
    ----------
    sums
        (n, 3) from `entity_sums` or `surface_sums`.
    clusters
        (n,) cluster of each token: sentences for entities, `form_clusters` for surface forms.
    level
        Nominal coverage of the intervals.

    Returns
    -------
    dict of str to IntervalEstimate
        ``precision``, ``recall`` and ``f1``.

    Examples
    --------
    >>> gold, pred = ["B-x", "O", "B-x", "O"] * 20, ["B-x", "O", "O", "O"] * 20
    >>> sentences = np.arange(80) // 4
    >>> scores = entity_scores(entity_sums(gold, pred, sentences), clusters=sentences)
    >>> scores["precision"].estimate, scores["recall"].estimate, round(scores["f1"].estimate, 2)
    (1.0, 0.5, 0.67)
    """
    # A correct, a spurious and a missed entity are always possible, even if the data contain no such entity.
    possible = np.array([[0, 0, 0], [1, 1, 1], [0, 1, 0], [0, 0, 1]], np.float64)
    cells = cells_of(np.concatenate([possible, sums]), None)
    assert cells.item is not None
    item = cells.item[len(possible) :]
    code, _ = _checks.clusters_of(clusters, "sums", len(sums))
    cells = Cells(cells.rows, np.bincount(item, minlength=len(cells.rows)), item, code)
    return estimates(cells, {name: quotient(*of, NO_ENTITY) for name, of in SCORES.items()}, level)


def entity_sums(y_true: ArrayLike, y_pred: ArrayLike, sentences: ArrayLike) -> Floats:
    """Return each token's contribution to the counts of entity F1.

    Parameters
    ----------
    y_true, y_pred
        (n,) tags of the tokens in order: ``O``, ``B-TYPE`` or ``I-TYPE``.
    sentences
        (n,) sentence of each token. Tokens of a sentence are consecutive.

    Returns
    -------
    ndarray
        (n, 3): correct, predicted and reference entities that begin at the token; for
        `calibrant.evaluation.f_of` and the tests of `calibrant.evaluation.paired_bootstrap`, with sentences
        as clusters.

    Examples
    --------
    >>> gold, pred = ["B-person", "I-person", "O"], ["B-person", "O", "B-group"]
    >>> entity_sums(gold, pred, [0, 0, 0]).tolist()
    [[0.0, 1.0, 1.0], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    true, pred, sentence = _aligned(y_true, y_pred, sentences)
    predicted, there = set(_entities(pred, sentence)), set(_entities(true, sentence))
    sums = np.zeros((len(sentence), 3))
    for column, entities in enumerate((predicted & there, predicted, there)):
        sums[[start for start, _, _ in entities], column] = 1.0
    return sums


def surface_sums(y_true: ArrayLike, y_pred: ArrayLike, sentences: ArrayLike, tokens: ArrayLike) -> Floats:
    """Return each token's contribution to the counts of F1 of distinct surface forms.

    Errors are those of `entity_sums`.

    Parameters
    ----------
    y_true, y_pred, sentences
        As in `entity_sums`.
    tokens
        (n,) words.

    Returns
    -------
    ndarray
        (n, 3): correct, predicted and reference forms whose first occurrence begins at the token. Forms
        recur in several sentences, so use `form_clusters` as clusters instead of sentences.

    Examples
    --------
    >>> gold, pred = ["B-person", "O", "B-person"], ["B-person", "O", "O"]
    >>> surface_sums(gold, pred, [0, 0, 1], ["Ada", "met", "Ada"]).sum(axis=0).tolist()
    [1.0, 1.0, 1.0]
    """
    true, pred, sentence = _aligned(y_true, y_pred, sentences)
    words = _texts(tokens, "tokens", len(sentence))
    predicted, there = set(_entities(pred, sentence)), set(_entities(true, sentence))
    home: dict[Form, int] = {}
    for entity in sorted(predicted | there):
        home.setdefault(_form(entity, words), entity[0])
    sums = np.zeros((len(sentence), 3))
    for column, entities in enumerate((predicted & there, predicted, there)):
        forms = sorted({_form(entity, words) for entity in entities})
        np.add.at(sums[:, column], [home[form] for form in forms], 1.0)
    return sums


def form_clusters(
    outputs: Sequence[ArrayLike], sentences: ArrayLike, tokens: ArrayLike, documents: ArrayLike | None = None
) -> Integers:
    """Group sentences (or documents) that share a surface form, in the reference or in any system's output.

    A form counts once, so the contribution of one sentence depends on the other sentences with the same form.
    Groups that share no form do not depend on each other in this way. Errors are those of `entity_sums`.

    Parameters
    ----------
    outputs
        Tags of the reference and of each system, (n,) each.
    sentences, tokens
        As in `surface_sums`.
    documents
        (n,) document of each token, whose sentences stay in one group; None if sentences are independent.

    Returns
    -------
    ndarray
        (n,) group of each token, from 0.

    Examples
    --------
    >>> form_clusters([["B-person", "O", "B-person"]], [0, 1, 2], ["Ada", "met", "Ada"]).tolist()
    [0, 1, 0]
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    sentence, _ = _checks.cluster_codes(sentences)
    unit = sentence if documents is None else _checks.cluster_codes(documents)[0]
    _checks.same_length("documents", len(unit), "sentences", len(sentence))
    words = _texts(tokens, "tokens", len(sentence))
    first: dict[Form, int] = {}
    edges: set[tuple[int, int]] = set()
    for place, output in enumerate(outputs):
        tags = _texts(output, f"outputs[{place}]", len(sentence))
        for entity in _entities(tags, sentence):
            here = int(unit[entity[0]])
            edges.add((first.setdefault(_form(entity, words), here), here))
    count = int(unit.max()) + 1 if len(unit) else 0
    pairs = np.array(sorted(edges), np.int64).reshape(-1, 2)
    graph = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(count, count))
    groups: Integers = connected_components(graph, directed=False)[1].astype(np.int64)
    return groups[unit]


def _entities(tags: Sequence[str], sentence: Integers) -> list[Entity]:
    entities: list[Entity] = []
    kind, where = "", -1  # of the entity that goes on
    for place, (tag, here) in enumerate(zip(tags, sentence.tolist(), strict=True)):
        mark, dash, own = tag.partition("-")
        if tag == "O":
            kind = ""
        elif not dash or mark not in ("B", "I") or not own:
            hint = "write O, B-TYPE or I-TYPE"
            raise InputError(f"{tag!r} is not an entity tag", hint, code="class-unknown", row=place)
        elif mark == "I" and own == kind and here == where:
            entities[-1] = (entities[-1][0], place + 1, own)
        else:
            kind, where = own, here
            entities.append((place, place + 1, own))
    return entities


def _form(entity: Entity, words: Sequence[str]) -> Form:
    start, end, kind = entity
    return tuple(words[start:end]), kind


def _aligned(
    y_true: ArrayLike, y_pred: ArrayLike, sentences: ArrayLike
) -> tuple[list[str], list[str], Integers]:
    sentence, _ = _checks.cluster_codes(sentences)
    return _texts(y_true, "y_true", len(sentence)), _texts(y_pred, "y_pred", len(sentence)), sentence


def _texts(values: ArrayLike, name: str, length: int) -> list[str]:
    texts = [str(value) for value in _checks.one_dimensional(values, name).tolist()]
    _checks.same_length(name, len(texts), "sentences", length)
    return texts
