"""Evaluation from tables: agreement between annotators, and differences between systems."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from calibrant.evaluation.candidates import MARGIN, candidate_test
from calibrant.evaluation.coefficients import Distance, Weights, agreement
from calibrant.evaluation.comparison import compare_systems
from calibrant.evaluation.files.tables import RatingTable, read_ratings, read_results
from calibrant.evaluation.ratings import Ratings
from calibrant.evaluation.results.agreement import Agreement
from calibrant.evaluation.results.candidates import CandidateTest
from calibrant.evaluation.results.runs import RunComparison
from calibrant.evaluation.results.significance import Comparison
from calibrant.evaluation.verbs.comparing_runs import compare_logs, compare_predictions, compare_table, is_run
from calibrant.exceptions import InputError
from calibrant.io.predictions import listed
from calibrant.io.roles import open_table
from calibrant.metrics.resampling import SAMPLES
from calibrant.metrics.tails import Alternative
from calibrant.seeds import Seed

INCLUSION_UNUSED = (
    "agreement does not use the column inclusion_probability: if it is the probability with which items were "
    "drawn, all numbers describe the drawn items, and agreement in all items may be far lower"
)


def agree(
    source: Any,
    *,
    item: str = "item",
    annotator: str = "annotator",
    label: str = "label",
    cluster: str | None = None,
    labels: Sequence[str] | None = None,
    distance: Distance = "nominal",
    weights: Weights | None = None,
    disputed: int = 10,
    level: float = 0.95,
) -> Agreement:
    """Measure how far the annotators of a table agree.

    Parameters
    ----------
    source
        A table (see `calibrant.evaluation.read_ratings`), or `calibrant.evaluation.Ratings`.
    item
        Column that names the item.
    annotator
        Column that names the annotator.
    label
        Column of labels.
    cluster
        Column of clusters, such as documents; items of one cluster may depend on each other. None:
        ``cluster``, if there is one.
    labels
        Labels of the task, in order; any other label is an error. None: all.
    distance
        Distance between labels in Krippendorff's alpha.
    weights
        Weights of Cohen's kappa, by the order of the labels.
    disputed
        Number of items to list, those with the least agreement first.
    level
        Confidence level of all intervals, between 0 and 1.

    Raises
    ------
    InputError
        The table cannot be read or has one annotator; or the result depends on the order of three or more
        labels that are not numbers, and ``labels`` is not given.

    Examples
    --------
    >>> import pyarrow as pa
    >>> columns = {"item": [1, 1, 2, 2], "annotator": ["ann", "bob"] * 2, "label": ["x", "x", "x", "y"]}
    >>> agree(pa.table(columns)).raw_agreement.estimate
    0.5
    """
    if isinstance(source, Ratings):
        table = RatingTable("the labels", source, None)
    else:
        names: dict[str, Any] = {"item": item, "annotator": annotator, "label": label, "cluster": cluster}
        table = read_ratings(source, **names, order=labels, numbers=distance in ("interval", "ratio"))
        if labels is None and (weights is not None or distance == "ordinal"):
            _check_order(table)
    try:
        record = agreement(
            table.ratings,
            distance=distance,
            weights=weights,
            clusters=table.clusters,
            disputed=disputed,
            level=level,
        )
    except InputError as error:
        raise _of_file(error, table.name) from None
    inclusion_warning = INCLUSION_UNUSED if table.has_inclusion else None
    return replace(record, unlabeled=table.unlabeled, inclusion_warning=inclusion_warning)


def may_replace(
    source: Any,
    candidate: str | Sequence[str],
    *,
    margin: float = MARGIN,
    item: str = "item",
    annotator: str = "annotator",
    label: str = "label",
    cluster: str | None = None,
    labels: Sequence[str] | None = None,
    distance: Distance = "nominal",
    level: float = 0.95,
) -> CandidateTest:
    """Test if candidates, such as models, may take an annotator's place.

    This is the alternative annotator test: each annotator is left out in turn, and the candidate wins if it
    is about as close to the others as this annotator is. See `calibrant.evaluation.candidate_test`.

    Parameters
    ----------
    source, item, annotator, label, cluster, labels
        As in `calibrant.evaluation.agree`. Candidates are annotators of the table.
    candidate
        Name of a candidate, or several. All other annotators count as people.
    margin, distance
        As in `calibrant.evaluation.candidate_test`.
    level
        Confidence level of all intervals, between 0 and 1.

    Raises
    ------
    InputError
        The table cannot be read, or as in `calibrant.evaluation.candidate_test`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> names = {"ann": 0, "bob": 1, "cem": 2, "gpt": 3}
    >>> rows = [(item, name, (item + (item % 7 == wrong)) % 3)
    ...     for name, wrong in names.items() for item in range(90)]
    >>> item, annotator, label = zip(*rows, strict=True)
    >>> table = pa.table({"item": item, "annotator": annotator, "label": label})
    >>> may_replace(table, "gpt", margin=0.2).candidates[0].verdict
    'passes'
    """
    if isinstance(source, Ratings):
        table = RatingTable("the labels", source, None)
    else:
        names: dict[str, Any] = {"item": item, "annotator": annotator, "label": label, "cluster": cluster}
        table = read_ratings(source, **names, order=labels, numbers=distance == "interval")
        if labels is None and distance == "ordinal":
            _check_order(table)
    try:
        return candidate_test(
            table.ratings, candidate, margin=margin, distance=distance, clusters=table.clusters, level=level
        )
    except InputError as error:
        raise _of_file(error, table.name) from None


def compare(
    source: Any,
    *,
    system: str = "system",
    fold: str | None = None,
    item: str | None = None,
    score: str | None = None,
    task: str | None = None,
    run: str | None = None,
    repeat: str | None = None,
    cluster: str | None = None,
    gold: str | os.PathLike[str] | None = None,
    margin: float | None = None,
    alternative: Alternative = "two-sided",
    test_train_ratio: float | None = None,
    higher_is_better: bool = True,
    baseline: str | None = None,
    power: float = 0.8,
    level: float = 0.95,
    samples: int = SAMPLES,
    seed: Seed = 0,
) -> Comparison | RunComparison:
    """Compare systems by their scores on the same folds or items, from a table or from logs of evaluations.

    Logs, and tables with several tasks or several runs of an item, give paired differences by task and over
    all tasks. The runs of an item are averaged.

    Parameters
    ----------
    source
        A table (see `calibrant.evaluation.read_results`); logs of lm-evaluation-harness, inspect_ai,
        lighteval, promptfoo, alpaca_eval, HELM, DeepEval or openai/evals, or responses in OpenAI's format:
        one folder with several models, or a list of logs and folders; or a list of tables of predictions, one
        per system, whose items are paired by a column ``item`` or by their order.
    system
        Column that names the system.
    fold
        Column of the fold of cross-validation. None: ``fold``, if there is one.
    item
        Column of the item, if each score belongs to one item. None: ``item``, if there is one.
    score
        Column of scores, or the metric or scorer of logs (with its filter after a comma). None: ``score``;
        for logs the only metric of a task, or ``acc``, ``accuracy`` or ``exact_match``. For tables of
        predictions: ``accuracy`` (the default), ``brier`` or ``log-loss``.
    task
        Column of tasks. None: ``task``, if there is one.
    run
        Column that numbers the runs of an item. None: ``run`` or ``epoch``, if there is one.
    repeat
        Column with the number of the cross-validation repeat; the folds per repeat give the ratio of test to
        training data. None: ``repeat``, if there is one.
    cluster
        Column of clusters, such as documents. None: ``cluster``, if there is one. For logs: a field of the
        samples that names the cluster within their task, such as one of the ``metadata`` of inspect_ai or of
        the ``doc`` of lm-evaluation-harness; without it, samples are independent.
    gold
        For logs of responses in OpenAI's format: file of right answers, one line per response: ``custom_id``,
        a tab, the answer. None: they are in the log.
    margin
        Difference that does not matter, such as 0.01, for tasks, runs and logs: an interval within it is a
        tie.
    alternative
        Alternative hypothesis of each test. ``two-sided``: the two systems have different scores.
        ``greater``, ``less``: the first system of a pair (in the order of the table; the baseline is second)
        has the greater or the lower score.
    test_train_ratio
        Size of a fold's test data divided by the size of its training data: 1 / (k - 1) for k folds. Without
        it and without `repeat`, intervals of folds ignore that folds share training data, and there is a
        warning.
    higher_is_better
        As in `calibrant.evaluation.compare_systems`.
    baseline
        Compare each system with this system only. None: all pairs.
    power
        Power at which the smallest detectable difference is computed, in (0, 1).
    level
        Confidence level of all intervals, between 0 and 1.
    samples
        Resamples of each test.
    seed
        Seed of all random draws.

    Raises
    ------
    InputError
        As `calibrant.evaluation.read_results`; the table has one system; or logs have no task in common.

    Examples
    --------
    >>> import pyarrow as pa
    >>> columns = {"system": ["a"] * 3 + ["b"] * 3, "fold": [1, 2, 3] * 2, "score": [3, 4, 6, 2, 3, 4]}
    >>> comparison = compare(pa.table(columns), test_train_ratio=1 / 2)
    >>> round(comparison.pairs[0].difference.estimate, 2), round(comparison.pairs[0].p_value, 2)
    (1.33, 0.13)
    """
    several = list(source) if isinstance(source, (list, tuple)) else [source]
    given: dict[str, Any] = {"baseline": baseline, "margin": margin, "level": level, "power": power}
    logs = any(map(is_run, several))
    if logs or len(several) > 1:
        columns = {"fold": fold, "task": task, "run": run, "repeat": repeat}
        unused = {**columns, "test_train_ratio": test_train_ratio}
        unused |= {"item": item} if logs else {"higher_is_better": higher_is_better}
        for name, value in unused.items():
            if value is not None and value is not True:
                what = "logs" if logs else "tables of predictions"
                message = f"`{name}` has no meaning for {what}"
                raise InputError(message, "leave it out", code="parameter")
        _check_two_sided(alternative)
    if gold is not None and not logs:
        message = "`gold` is for logs of responses"
        raise InputError(message, "leave it out: tables have labels or scores", code="parameter")
    if len(several) > 1 and not logs:
        return compare_predictions(several, score, item=item, cluster=cluster, **given)
    given["higher_is_better"] = higher_is_better
    if len(several) > 1 or is_run(several[0]):
        return compare_logs(several, score, cluster, gold, **given)
    source, score = several[0], "score" if score is None else score
    opened = open_table(source) if "judge" in score.lower() else None
    if opened is not None and any("label" in name.lower() for name in opened.columns):
        message = "these are a judge's scores, whose errors may favor a system, and the table has labels"
        hint = "compare the systems by `calibrant judge`, which corrects the scores; or remove the labels"
        raise InputError(message, hint, code="parameter", file=opened.name, column=score)
    if fold is None and repeat is None:
        named: dict[str, Any] = {"system": system, "item": item, "score": score, "task": task, "run": run}
        compared = compare_table(source, **named, cluster=cluster, **given)
        if compared is not None:
            _check_two_sided(alternative)
            return compared
    if margin is not None:
        hint = "leave it out, or name the columns of tasks or of runs (`task`, `run`)"
        raise InputError("`margin` is for logs, tasks and runs", hint, code="parameter")
    table = read_results(
        source, system=system, fold=fold, item=item, score=score, repeat=repeat, cluster=cluster
    )
    if len(table.systems) < 2:
        message = f"there is one system, {table.systems[0]}, and nothing to compare it with"
        hint = "add the scores of another system, or name the column of systems (`system`)"
        raise InputError(message, hint, code="empty", file=table.name)
    try:
        comparison = compare_systems(
            table.systems,
            table.scores,
            unit=table.unit,
            repeat=table.repeat,
            test_train_ratio=test_train_ratio,
            clusters=table.clusters,
            alternative=alternative,
            higher_is_better=higher_is_better,
            baseline=baseline,
            power=power,
            level=level,
            samples=samples,
            seed=seed,
        )
    except InputError as error:
        raise _of_file(error, table.name) from None
    return replace(comparison, items_warning=table.note)


def _check_two_sided(alternative: str) -> None:
    if alternative != "two-sided":
        message, hint = f"alternative is {alternative!r}", "tests of runs are two-sided: leave it out"
        raise InputError(message, hint, code="parameter")


def _check_order(table: RatingTable) -> None:
    """Raise `InputError` if the result depends on the order of labels that are words."""
    names = table.ratings.labels
    if len(names) < 3:
        return
    try:
        table.ratings.numbers()
    except InputError:
        message = f"the order of the labels ({listed(names)}) is not known"
        hint = "name all labels in order (`labels`)"
        raise InputError(message, hint, code="parameter", file=table.name) from None


def _of_file(error: InputError, name: str) -> InputError:
    """Add the name of the file to an error, unless the error is about an argument."""
    return error if error.code == "parameter" else error.at(file=name)
