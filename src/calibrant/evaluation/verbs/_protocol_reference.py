"""Step 2 of an evaluation: one label per item, from annotators, an adjudicated file, or both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from calibrant._checks import Integers
from calibrant.evaluation.files.protocol_file import LEAVE_OUT, ProtocolFile
from calibrant.evaluation.files.protocol_tables import ItemLabels, read_annotations, read_item_labels
from calibrant.evaluation.ratings import Ratings
from calibrant.evaluation.results.protocol import Reference
from calibrant.exceptions import InputError
from calibrant.io.predictions import listed

UNKNOWN_DOCUMENT = "set the key document to the name of the column of documents"


@dataclass(frozen=True)
class Gold:
    """Reference labels.

    Attributes
    ----------
    items
        Names of the items that have a label.
    label
        (items,) codes of the task's labels.
    documents
        (items,) codes; None if documents are not known.
    ratings
        Labels of the annotators; None without annotators.
    rated_documents
        Codes of the documents of ``ratings.items``; None if documents are not known.
    record
        Record of the reference for the report.
    tokens
        (items,) words, of a reference in CoNLL columns; otherwise None.
    others
        Code of the document of each item without a label; documents without any label have further codes.
    """

    items: tuple[str, ...]
    label: Integers
    documents: Integers | None
    ratings: Ratings | None
    rated_documents: Integers | None
    record: Reference
    tokens: tuple[str, ...] | None = None
    others: Mapping[str, int] = field(default_factory=dict)

    @property
    def sentences(self) -> list[str]:
        """(items,) sentence of each token of a reference in CoNLL columns."""
        return [item.partition("-")[0] for item in self.items]

    @property
    def unit(self) -> str:
        """Name of the unit: sentence if the reference has CoNLL columns without documents, else document."""
        return "sentence" if self.tokens and self.record.documents == len(set(self.sentences)) else "document"


def reference_of(plan: ProtocolFile) -> Gold:
    """Read annotators' and adjudicated labels, and apply the rule.

    Raises
    ------
    InputError
        A table cannot be read, there is no such annotator, no item gets a label, two tables name different
        documents of an item, or a budget lacks documents.
    """
    ratings: Ratings | None = None
    documents: dict[str, str] = {}
    tokens: dict[str, str] | None = None
    if plan.annotators is not None:
        ratings, documents = read_annotations(plan.annotators, plan.labels)
    chosen: dict[str, str] = {}
    unlabelled = 0
    if plan.reference.file is not None:
        adjudicated = read_item_labels(plan.reference, plan.labels)
        chosen, documents = adjudicated.names, _joined(adjudicated, documents)
        tokens = adjudicated.tokens
        unlabelled = adjudicated.unlabelled if plan.rule == "adjudicated" else 0
    counts: Counter[str] = Counter()
    if plan.rule == "adjudicated":
        names = chosen
    elif plan.rule == "annotator":
        assert ratings is not None
        names = _of_annotator(ratings, plan)
    else:
        assert ratings is not None
        names, counts = _majority(ratings, chosen, plan.reference.ties or LEAVE_OUT)
    if not names:
        hint = "add an adjudicated file, or set the label that ties receive: ties = 'LABEL' in [reference]"
        raise InputError("no item gets a reference label", hint, code="empty", file=plan.path)
    code = {label: place for place, label in enumerate(plan.labels)}
    label = np.array([code[name] for name in names.values()], np.int64)
    of_item, document_code = _codes(list(names), documents, plan)
    rated = None
    if ratings is not None and of_item is not None:
        rated, _ = _codes(ratings.items, documents, plan)
    annotated = set() if ratings is None else set(ratings.items)
    given = Counter() if ratings is None else Counter(ratings.item.tolist())
    record = Reference(
        rule=plan.rule,
        items=len(names),
        documents=None if of_item is None else len(document_code),
        by_label={name: int(np.sum(label == place)) for place, name in enumerate(plan.labels)},
        annotated=len(annotated),
        single=sum(number == 1 for number in given.values()),
        tied=counts["tied"],
        adjudicated=len(chosen) if plan.rule == "adjudicated" else counts["adjudicated"],
        by_ties=counts["ties"],
        left_out=len(annotated - set(names)) + unlabelled,
        over_budget=over_budget(label, of_item, plan),
        annotators_over_budget=_annotators_over_budget(ratings, rated, plan),
    )
    words = (
        tuple(tokens[item] for item in names) if tokens is not None and set(names) <= set(tokens) else None
    )
    others = {
        item: document_code.setdefault(name, len(document_code))
        for item, name in documents.items()
        if item not in names
    }
    return Gold(tuple(names), label, of_item, ratings, rated, record, words, others)


def _joined(reference: ItemLabels, documents: Mapping[str, str]) -> dict[str, str]:
    """Return the document of each item in the reference's file and in that of the annotators."""
    for item, document in reference.documents.items():
        if documents.get(item, document) != document:
            message = (
                f"item {item} is in document {document!r}, and for the annotators in {documents[item]!r}"
            )
            hint = "give each item the same document in both files"
            raise InputError(message, hint, code="cluster", file=reference.file)
    return {**reference.documents, **documents}


def over_budget(label: Integers, documents: Integers | None, plan: ProtocolFile) -> int:
    """Count documents with more positive labels than the task allows."""
    if plan.task.budget is None or documents is None or plan.positive is None:
        return 0
    positive = documents[label == plan.labels.index(plan.positive)]
    return int(np.sum(np.bincount(positive) > plan.task.budget)) if len(positive) else 0


def _annotators_over_budget(
    ratings: Ratings | None, documents: Integers | None, plan: ProtocolFile
) -> dict[str, int]:
    if ratings is None or plan.task.budget is None:
        return {}
    return {
        name: over_budget(ratings.by(place), documents, plan) for place, name in enumerate(ratings.annotators)
    }


def _of_annotator(ratings: Ratings, plan: ProtocolFile) -> dict[str, str]:
    annotator = plan.reference.annotator
    if annotator not in ratings.annotators:
        hint = f"the annotators are {listed(ratings.annotators)}"
        raise InputError(f"there is no annotator {annotator!r}", hint, code="setting", file=plan.path)
    codes = ratings.by(ratings.annotators.index(annotator)).tolist()
    return {item: ratings.labels[code] for item, code in zip(ratings.items, codes, strict=True) if code >= 0}


def _majority(ratings: Ratings, chosen: Mapping[str, str], ties: str) -> tuple[dict[str, str], Counter[str]]:
    """Return the label of each item, and the numbers of ties found and settled."""
    votes = np.zeros((len(ratings.items), len(ratings.labels)), np.int64)
    np.add.at(votes, (ratings.item, ratings.label), 1)
    most = votes.max(axis=1)
    tied = (votes == most[:, None]).sum(axis=1) > 1
    names: dict[str, str] = {}
    counts: Counter[str] = Counter(tied=int(tied.sum()))
    for item, code, tie in zip(ratings.items, votes.argmax(axis=1).tolist(), tied.tolist(), strict=True):
        if not tie:
            names[item] = ratings.labels[code]
        elif item in chosen:
            names[item] = chosen[item]
            counts["adjudicated"] += 1
        elif ties != LEAVE_OUT:
            names[item] = ties
            counts["ties"] += 1
    return names, counts


def _codes(
    items: Sequence[str], documents: Mapping[str, str], plan: ProtocolFile
) -> tuple[Integers | None, dict[str, int]]:
    """Return document codes of items, and of names; None if no document is known."""
    if not documents:
        if plan.task.budget is not None:
            raise InputError("a budget needs documents", UNKNOWN_DOCUMENT, code="cluster", file=plan.path)
        return None, {}
    lost = [item for item in items if item not in documents]
    if lost:
        message = f"the document of item {lost[0]} is not known ({len(lost)} such)"
        raise InputError(message, UNKNOWN_DOCUMENT, code="cluster", file=plan.path)
    code: dict[str, int] = {}
    return np.array([code.setdefault(documents[item], len(code)) for item in items], np.int64), code
