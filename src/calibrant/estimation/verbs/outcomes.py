"""The outcome that is estimated: 0 and 1, grades, one class, or all classes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from calibrant._checks import shown
from calibrant.estimation.classes import class_scores, codes_of_classes, corrected_classes
from calibrant.estimation.estimating import corrected_counts
from calibrant.estimation.means import corrected_means
from calibrant.estimation.results import CorrectedCounts
from calibrant.estimation.shifted_shares import SHIFTS
from calibrant.exceptions import InputError
from calibrant.io.roles import FoundColumns, Role, read, read_table
from calibrant.io.tables import Table, listed
from calibrant.records.words import closest

INCLUSION = "inclusion_probability"
CLASSES = "; if both columns contain class names, count one class with `view='class:NAME'`"
HOW = "name it with `label`"
MOST_NAMES = 20  # classes that an error lists; more are numbers or texts


class Asked(NamedTuple):
    """Arguments of `estimate` that tell the outcome."""

    view: str | None
    label_range: tuple[float, float] | None
    score: str
    label: str
    confidence: str | None
    inclusion: str | None


@dataclass(frozen=True)
class Outcome:
    """Scores of all documents and labels of some.

    Attributes
    ----------
    outcome
        ``binary``, ``grades`` or ``classes``.
    scored, labeled
        Columns of the documents and of the labels.
    score
        (N,) scores, or (N, K) of the classes.
    label
        (n,) labels, or codes of classes.
    classes
        Names of the K classes; empty if there is one outcome.
    label_range
        Range of grades.
    """

    outcome: Literal["binary", "grades", "classes"]
    scored: FoundColumns
    labeled: FoundColumns
    score: Any
    label: Any
    classes: tuple[str, ...] = ()
    label_range: tuple[float, float] = (0.0, 1.0)

    def estimate(self, methods: Any, weights: Any, given: dict[str, Any]) -> CorrectedCounts:
        """Return the estimates by the methods of this outcome."""
        if weights is not None:
            _check_methods(methods, "weighted documents")
            given = {name: value for name, value in given.items() if name != "document_clusters"}
        if self.outcome == "classes":
            return corrected_classes(
                self.score, labels=self.label, classes=self.classes, methods=methods, weights=weights, **given
            )
        if self.outcome == "binary" and weights is None:
            return corrected_counts(self.score, labels=self.label, methods=methods, **given)
        if self.outcome == "grades":
            _check_methods(methods, "graded labels")
            given = {name: value for name, value in given.items() if name != "document_clusters"}
        return corrected_means(
            self.score,
            labels=self.label,
            label_range=self.label_range,
            weights=weights,
            methods=methods,
            **given,
        )


def _check_methods(methods: Any, what: str) -> None:
    for method in [methods] if isinstance(methods, str) else list(methods or ()):
        if method in SHIFTS:
            raise InputError(f"{method} has no estimate for {what}", f"leave out {method}", code="parameter")


def read_outcome(
    table: Table, labels: Any, asked: Asked, documents: Sequence[Role], about: Sequence[Role]
) -> Outcome:
    """Read scores and labels of the outcome that is asked for.

    Parameters
    ----------
    table, labels
        The table of all documents, and that of the labels; None if they are in the first.
    asked
        Arguments of `estimate`.
    documents, about
        Roles of the other columns of both tables.

    Raises
    ------
    InputError
        If a score or a label is not of the kind of the outcome.
    """
    label_how = HOW + (", or give a table of labels (`labels`)" if labels is None else "")
    if asked.label_range is not None:
        if asked.view is not None:
            raise InputError("classes have no range", "leave out `label_range`", code="parameter")
        scored = read_table(table, [Role("score", "finite", asked.score), *documents])
        role = Role("label", "finite", asked.label, gaps=True, how=label_how)
        labeled = read_table(table, [role, *about]) if labels is None else read(labels, [role, *about])
        return Outcome(
            "grades", scored, labeled, scored["score"], labeled["label"], label_range=asked.label_range
        )
    if asked.view == "classes" or (asked.view is None and _has_classes(asked)):
        return _all_classes(table, labels, asked, documents, about, label_how)
    kind: Any = "score" if asked.view is None else "name"
    role = Role("label", "label" if asked.view is None else "name", asked.label, gaps=True, how=label_how)
    try:
        scored = read_table(table, [Role("score", kind, asked.score), *documents])
        labeled = read_table(table, [role, *about]) if labels is None else read(labels, [role, *about])
    except InputError as error:
        if asked.view is None and (error.code, error.column) == ("column-type", asked.score):
            return _all_classes(table, labels, asked, documents, about, label_how)  # scores are names
        _explain(error, asked)
        raise
    if asked.view is None:
        return Outcome("binary", scored, labeled, scored["score"], labeled["label"])
    score, label = (is_class(one, part, asked.view) for one, part in ((scored, "score"), (labeled, "label")))
    return Outcome("binary", scored, labeled, score.astype(np.float64), label)


def _explain(error: InputError, asked: Asked) -> None:
    """Improve the hint of an error about values of another kind."""
    if error.code == "label-value":
        error.hint = (
            "write 1 or 0, or leave the field of a missing label empty; give the range of grades with "
            "`label_range`" + CLASSES
        )
        if re.search(r"label '?0?\.\d", error.message):
            error.hint = (
                "give the range of grades (`label_range`) to estimate their mean; or cut labels between 0 "
                "and 1 at a threshold: write 1 for 0.5 or more, and 0 for less"
            )
    elif (error.code, error.column) == ("score-range", asked.inclusion or INCLUSION):
        error.hint = "write the probability of being labeled (1 / weight, if these are sampling weights)"


def _has_classes(asked: Asked) -> bool:
    """Return whether there is a column of scores per class, or scores have a confidence."""
    return asked.confidence is not None or "*" in asked.score


def _all_classes(
    table: Table,
    labels: Any,
    asked: Asked,
    documents: Sequence[Role],
    about: Sequence[Role],
    label_how: str,
) -> Outcome:
    role = Role("label", "name", asked.label, gaps=True, how=label_how)
    per_class = "*" in asked.score
    if per_class:
        columns, classes = _columns_of_classes(table, asked.score)
        roles = [Role(f"score {number}", "score", one) for number, one in enumerate(columns)]
    else:
        roles = [Role("score", "name", asked.score)]
        if asked.confidence is not None:
            how = "name it with `confidence_column`"
            roles.append(Role("confidence", "score", asked.confidence, how=how))
    scored = read_table(table, [*roles, *documents])
    labeled = read_table(table, [role, *about]) if labels is None else read(labels, [role, *about])
    labeled.check_spelling("label", "write each class in one way")
    labeled.check_gaps("label", "leave the field of a missing label empty")
    if per_class:
        score = np.stack([scored[one.part] for one in roles], axis=1)
        _check_sums(scored, score, columns)
    else:
        scored.check_spelling("score", "write each class in one way")
        predicted = scored.names["score"]
        classes = tuple(sorted({*predicted, *_never_predicted(labeled, predicted)}))
        code = np.array([classes.index(name) for name in predicted], np.int64)
        score = class_scores(code[scored["score"]], len(classes), scored.get("confidence"))
    try:
        code = codes_of_classes(labeled.names["label"], classes, "predictions")
    except InputError as error:
        raise _placed(error, labeled) from None
    return Outcome("classes", scored, labeled, score, code[labeled["label"]], classes)


def _placed(error: InputError, labeled: FoundColumns) -> InputError:
    """Return an error about a name of a class with the row of the first label that has it."""
    error.row = int(np.flatnonzero(labeled["label"] == error.row)[0])
    return labeled.placed(error, part="label")


def _columns_of_classes(table: Table, pattern: str) -> tuple[list[str], tuple[str, ...]]:
    """Return the columns of a pattern such as ``p_*``, and the classes that they name."""
    before, _, after = pattern.partition("*")
    columns = [
        one
        for one in table.columns
        if one.startswith(before) and one.endswith(after) and len(one) > len(before + after)
    ]
    if len(columns) < 2:
        message = f"there are {len(columns)} columns {shown(pattern)}"
        hint = "write one column of probabilities per class, such as p_health for the class health"
        raise InputError(message, hint, code="column-missing", file=table.name)
    return columns, tuple(one[len(before) : len(one) - len(after)] for one in columns)


def _never_predicted(labeled: FoundColumns, predicted: Sequence[str]) -> list[str]:
    """Return the classes that only labels have; raise if they are misspelled, or no class is in both."""
    names = labeled.names["label"]
    only = [name for name in names if name not in predicted]
    for name in only:
        near = closest(name, list(predicted))
        if near is not None or len(only) == len(names):
            message = f"{shown(name)} is no class of the predictions"
            hint = f"write one of {listed(list(predicted))}" if near is None else f"did you mean {near!r}?"
            error = InputError(message, hint, code="class-unknown", row=names.index(name))
            raise _placed(error, labeled)
    return only


def _check_sums(scored: FoundColumns, score: Any, columns: Sequence[str]) -> None:
    """Raise if the probabilities of a document do not add up to 1."""
    bad = np.flatnonzero(np.abs(score.sum(axis=1) - 1) > 0.01)
    if len(bad):
        row = int(bad[0])
        message = f"the probabilities of its classes add up to {score[row].sum():.3g}: {listed(columns)}"
        hint = "give the probabilities of all classes"
        raise scored.error(row, message, hint, "parameter", part="score 0")


def is_class(columns: FoundColumns, part: str, view: str) -> Any:
    """Return (n,) which names of classes are the class of a view."""
    columns.check_spelling(part, "write each class in one way")
    if part == "label":
        columns.check_gaps(part, "leave the field of a missing label empty")
    names, name = columns.names[part], view.removeprefix("class:")
    if name not in names:
        column = columns.roles[part].name
        hint = "write each class alike in both columns; if no row is of this class, write 0 and 1 in both"
        message = f"no value is {shown(name)}, only {listed(names)}"
        if len(names) > MOST_NAMES:
            other = shown(names[0])
            message = f"no value is {shown(name)}, and there are {len(names):,} others, such as {other}"
            hint = "name a column of classes; leave `view` out if it has the probabilities of one event"
        raise InputError(message, hint, code="class-unknown", file=columns.table.name, column=column)
    return columns[part] == names.index(name)
