"""Fit a recalibrator to a prediction table, and write tables with recalibrated scores."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, overload

import numpy as np

from calibrant._version import __version__
from calibrant.exceptions import InputError
from calibrant.io import Columns, Predictions, load_tally, open_predictions
from calibrant.io.frames import is_frame
from calibrant.io.origin import reads_once
from calibrant.io.predictions import listed
from calibrant.io.rewriting import open_scores
from calibrant.io.saved import tally_view
from calibrant.io.saved_recalibrators import SavedRecalibrator, file_digest, load_recalibrator
from calibrant.io.saved_thresholds import SavedThresholds, are_thresholds
from calibrant.io.score_kinds import RANKINGS, to_number
from calibrant.metrics.tally import Tally
from calibrant.progress import Progress, tell
from calibrant.recalibrate import (
    Auto,
    BinaryRecalibrator,
    LabelledScores,
    MatrixScaling,
    Temperature,
    VectorScaling,
    VennAbers,
)
from calibrant.recalibrate.choosing import BINS, GROUPS, choose_recalibrator
from calibrant.recalibrate.crossfit import NO_MAP
from calibrant.recalibrate.methods import method_named
from calibrant.records.formats import library_of, session_library
from calibrant.records.words import counted
from calibrant.results.decisions import AppliedThresholds
from calibrant.results.recalibration import AppliedRecalibrator, FittedRecalibrator
from calibrant.verbs._methods import (
    FEW_GROUPS,
    FREQUENCY,
    SHARED,
    Labelled,
    check_grouping,
    class_counts,
    composed,
    counts_of,
    estimator_of,
    fit_to,
    labelled_scores,
    map_count,
    named_groups_of,
)
from calibrant.verbs._trials import harm_warning, tried_maps
from calibrant.verbs.applying import Recalibration, array_scores, digest_of, kind_of, of_file

POINTS = 1001
EQUAL = "all scores are equal, so the map is constant: it only contains the fraction of positives"
CONSTANT = "the map is constant: the fraction of positives does not increase with the score"
ONE_LABEL = "all labels are {}, so the map cannot determine the probability of the label"
FALLING = "the map decreases: higher scores have fewer positives"


def map_notes(recalibrator: Any) -> tuple[str, ...]:
    """Return sentences on unusual maps of a fitted recalibrator, and on the temperature of a single map.

    Examples
    --------
    >>> from calibrant.recalibrate import Isotonic, Platt, Temperature
    >>> map_notes(Temperature().fit([0.1] * 4 + [0.9] * 4, [0, 0, 0, 1, 1, 1, 1, 0]))
    ('the temperature is 2',)
    >>> map_notes(Isotonic().fit([0.1, 0.2, 0.8, 0.9], [1, 1, 0, 0])) == (CONSTANT,)
    True
    >>> map_notes(Platt().fit([0.1, 0.2, 0.8, 0.9], [0, 1, 0, 1]))
    ()
    """
    if isinstance(recalibrator, Auto):
        used = recalibrator.chosen_
        return (choice_note([recalibrator], ["all"]), *(() if used is None else map_notes(used)))
    if isinstance(recalibrator, VectorScaling | MatrixScaling):
        vector = isinstance(recalibrator, VectorScaling)
        scale = recalibrator.scale_ if vector else np.diag(recalibrator.matrix_)
        negative = np.flatnonzero(scale < 0)
        names = recalibrator.classes or [str(place) for place in range(len(scale))]
        turned = listed([names[place] for place in negative.tolist()], most=5)
        falls = f"the scale is negative for {turned}: higher scores have fewer positives"
        chosen = not vector and recalibrator.penalty is None
        penalty = (f"the penalty is {recalibrator.penalty_:g}",) if chosen else ()
        return (*penalty, *_clipped([recalibrator]), *([falls] if turned else []))
    parts = getattr(recalibrator, "parts_", None)
    choice: tuple[str, ...] = ()
    if parts is not None and isinstance(parts[0], Auto):
        choice = (choice_note(parts, recalibrator.part_names_),)
        parts = [part if part.chosen_ is None else part.chosen_ for part in parts]
    only = recalibrator if parts is None else parts[0] if len(parts) == 1 else None
    if isinstance(only, Temperature):
        choice += (f"the temperature is {only.temperature_:.4g}",)
    if parts is None:
        single = isinstance(recalibrator, BinaryRecalibrator) and recalibrator.n_features_in_ == 1
        what = _behaviour(recalibrator) if single else None
        return (
            choice + _clipped([recalibrator]) + _rounding([recalibrator]) + (() if what is None else (what,))
        )
    unusual: dict[str, list[str]] = {}
    for name, part in zip(recalibrator.part_names_, parts, strict=True):
        what = _behaviour(part)
        if what is not None:
            unusual.setdefault(what, []).append(name)
    alone = len(parts) == 1
    return (
        choice
        + _clipped(parts)
        + _rounding(parts)
        + tuple(what if alone else f"{listed(names, most=5)}: {what}" for what, names in unusual.items())
    )


def choice_note(parts: Sequence[Auto], names: Sequence[str]) -> str:
    """Return a sentence on the maps that `Auto` chose."""
    how = f"by five-fold cross-fitting over {'clusters' if parts[0].clusters_ else 'pairs'}"
    if len(parts) == 1:
        name, tried = parts[0].chosen_name_, parts[0].tried_
        losses = ", ".join(
            f"{other} {result['log_loss']:.4f}" for other, result in tried.items() if "log_loss" in result
        )
        what = "no map is used, since none is better" if name == NO_MAP else f"the map is {name}"
        return f"{what}, {how} (log loss: {losses})"
    homes: dict[str, list[str]] = {}
    for name, part in zip(names, parts, strict=True):
        homes.setdefault(part.chosen_name_, []).append(name)
    maps = "; ".join(f"{chosen}: {listed(some, most=5)}" for chosen, some in homes.items())
    return f"the maps, {how}, are {maps}"


def _behaviour(part: BinaryRecalibrator) -> str | None:
    """Return what is unusual about a map in the range of its fit, beyond the effect of one pair."""
    low, high = part.score_range_
    if low == high:
        return EQUAL
    if isinstance(part, VennAbers) and (part.p1_[0] == 1 or part.p0_[-1] == 0):
        return ONE_LABEL.format(int(part.p1_[0] == 1))
    mapped = part.transform(np.linspace(low, high, POINTS))
    if np.ptp(mapped) <= 1 / part.pair_count_:
        return CONSTANT
    return FALLING if mapped[-1] < mapped[0] else None


def _clipped(parts: Any) -> tuple[str, ...]:
    """Return a note on scores of 0 and 1, whose log-odds are infinite."""
    clipped = sum(getattr(part, "clipped_count_", 0) for part in parts)
    if not clipped:
        return ()
    what = "scores are" if clipped > 1 else "score is"
    clip = f"{next(part.clip for part in parts if hasattr(part, 'clip')):.2g}"
    near = f"closer to 0 or 1 than {clip}, and moved to this distance"
    near = f"0, and moved to {clip} or less" if parts[0].n_features_in_ > 1 else near
    return (f"{clipped:,} {what} {near}, on which the map depends",)


def _rounding(parts: Any) -> tuple[str, ...]:
    """Return a note on the largest difference of Venn-Abers maps of a compressed tally from exact maps."""
    rounded = [part for part in parts if isinstance(part, VennAbers) and part.grid_error_]
    if not rounded:
        return ()
    most, mean = max(part.grid_error_ for part in rounded), max(part.mean_grid_error_ for part in rounded)
    what = "p0 and p1 of the exact fit differ by at most"
    return (f"fitted to sums on a grid: {what} {most:.2g}, and by {mean:.2g} on average",)


AUTO = "auto"
OF_RANKINGS = "isotonic-smoothed"  # the map of rankings, unless one is chosen


@dataclass(frozen=True)
class Asked:
    """Requested estimator and grouping, with their numbers and the counts of classes."""

    estimator: Any
    group: str | Mapping[str, str]
    groups: int | Literal["auto"]
    n_bins: int | Literal["auto"] | None
    min_scores: int | None
    counts: Mapping[str, int]
    classes: Sequence[str]

    def made(self, groups: int | Literal["auto"], n_bins: int | Literal["auto"] | None) -> Any:
        """Return an estimator with these numbers of groups and bins."""
        numbers = {"n_bins": n_bins} if isinstance(n_bins, int) else {}
        alone = type(self.estimator)(**self.estimator.get_params(deep=False) | numbers)
        number = groups if isinstance(groups, int) else 1
        if not self.classes:
            return alone
        return composed(alone, self.group, number, self.counts, self.min_scores)


def chosen(
    request: Asked, data: Labelled | dict[int, Tally], name: str, progress: Progress | None
) -> tuple[Any, str]:
    """Return the best candidate by the Brier score in five-fold cross-validation, and a note on it."""
    if isinstance(data, dict) or data.weight is not None:
        why = "more than 10^7 scores" if isinstance(data, dict) else "scores with weights"
        hint = "give the numbers of bins and groups (`n_bins`, `groups`)"
        message = f"bins and groups cannot be chosen by cross-validation for {why}"
        raise InputError(message, hint, code="parameter", file=name)
    candidates: dict[str, Any] = {}
    seen: list[Any] = []
    for groups in GROUPS if request.groups == AUTO and request.group == FREQUENCY else (request.groups,):
        first = request.made(groups, None)
        parts = getattr(first, "groups", None)
        if parts is not None and parts in seen:
            continue
        seen.append(parts)
        for bins in BINS if request.n_bins == AUTO else (request.n_bins,):
            numbers = [counted(groups, "group")] if request.groups == AUTO and isinstance(groups, int) else []
            numbers += [f"{bins} bins"] if request.n_bins == AUTO else []
            candidates[", ".join(numbers)] = request.made(groups, bins)
    scores = LabelledScores(data.score, data.label, data.code, data.unit, request.classes or None)
    choice = choose_recalibrator(candidates, scores, progress=progress)
    loss = next(candidate.loss.estimate for candidate in choice.candidates if candidate.name == choice.chosen)
    units = "scores" if choice.clusters is None else counted(choice.clusters, "cluster")
    return candidates[choice.chosen], (
        f"{choice.chosen}: the best of {len(candidates)} by the Brier score ({loss:.4g}) in five-fold "
        f"cross-validation over {units}"
    )


def fit(
    source: Any,
    *,
    method: str = "auto",
    group: str | Mapping[str, str] = SHARED,
    groups: int | Literal["auto"] | None = None,
    counts: Mapping[str, int] | str | os.PathLike[str] | None = None,
    min_scores: int | None = None,
    n_bins: int | Literal["auto"] | None = None,
    drop_below: float | None = None,
    columns: Columns | Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    command: str | None = None,
    **settings: bool | float | None,
) -> SavedRecalibrator:
    """Fit a recalibrator to the labeled scores of a table.

    A long table without classes gets one map. A long table with classes gets one map for all classes, one per
    class, or one per group. A wide table gets one map of whole rows (``auto``, ``temperature``, ``vector``,
    ``matrix``), or maps of its single scores as for a long table with classes; rows are then divided by their
    sums. With groups, ``auto`` maps single scores.

    Every map is compared with the unchanged scores by five-fold cross-fitting, which divides no cluster (else
    no item): ``tried`` has the log losses and Brier scores, and ``warning`` is set if the map is worse than
    no map.

    A ranking (`calibrant.io.Columns.score_kind`) becomes a probability by a map that uses its order:
    ``auto`` is then ``isotonic-smoothed``, and there is no map to compare it with.

    Tables of more than 10^7 scores are tallied on a fixed grid as they are read.

    Parameters
    ----------
    source
        Prediction table (see `calibrant.io.open_predictions`), saved tally, or dataframe.
    method
        One of `calibrant.recalibrate.methods.METHODS`: ``auto`` (the simplest map that cross-fitting cannot
        tell from the best, or none: `calibrant.recalibrate.Auto`), ``histogram``, ``bbq``, ``isotonic``,
        ``isotonic-smoothed`` (values are never 0 or 1), ``scaling-binning``, ``platt``, ``platt-smoothed``
        (Platt's targets, finite for separable labels), ``temperature``, ``beta``, ``venn-abers``, or
        ``vector`` or ``matrix`` (wide tables only).
    group
        ``"shared"``: one map for all classes. ``"class"``: one per class. ``"frequency"``: one for each of
        ``groups`` groups of similarly frequent classes. Or the group of each class: a mapping of names, or
        the path of a file (`calibrant.io.read_class_table`).
    groups
        Requested number of groups for ``"frequency"``, by default 5; there can be fewer.
    counts
        Number of occurrences of each class in the training data, for ``"frequency"``: a mapping, or a file as
        for ``group``. None: counts in this table.
    min_scores
        Smallest number of scores of a class, for ``"class"``; by default 200.
    n_bins
        Number of bins of ``histogram`` and ``scaling-binning``; None for the method's default. ``"auto"``,
        here and for ``groups``, chooses by the Brier score in five-fold cross-validation over clusters (else
        items), from the candidates of `calibrant.recalibrate.frequency_candidates`; ``notes`` name it.
    drop_below
        Scores below this number, in [0, 1), are left out; a table's threshold applies too. Not for a wide
        table.
    columns
        Names of columns that differ from the defaults, such as ``{'score': 'p'}``.
    progress
        Function that is called with the stage, the work done and the whole work (or None).
    command
        Command line to record.
    **settings
        Settings of the method's estimator: ``penalty`` of ``vector`` and ``matrix``.

    Returns
    -------
    SavedRecalibrator
        Recalibrator for `apply` and `calibrant.io.save_recalibrator`.

    Raises
    ------
    InputError
        If the table cannot be used, has only one label or too few scores (of a class), or a setting does not
        apply to it.

    Examples
    --------
    >>> from calibrant.data import predictions
    >>> model = fit(predictions("dated", "naive-bayes"), method="histogram", n_bins=10)
    >>> model.kind, model.pairs, len(model.recalibrator.values_)
    ('binary', 6004, 10)
    """
    alone = estimator_of(method, n_bins, **settings)
    homes, called = named_groups_of(group)
    check_grouping(called, {"groups": groups, "counts": counts, "min_scores": min_scores})
    view = tally_view(source)
    if view is not None:
        return _of_tally(
            alone, (view, load_tally(source)), method, n_bins, called, os.fspath(source), command
        )
    predictions = open_predictions(source, columns, rankings=True)
    predictions.check_one_model()
    is_ranking = predictions.score_kind in RANKINGS
    if is_ranking:
        method = OF_RANKINGS if method == AUTO else method
        if method == "temperature":
            message = "a temperature divides log-odds, and a ranking has none"
            hint = "choose another method, such as isotonic or platt"
            raise InputError(message, hint, code="parameter", file=predictions.name)
        alone = estimator_of(method, n_bins, **settings)
    kind = kind_of(predictions)
    alone_in_groups = method == AUTO and homes != SHARED
    joint = kind == "wide" and method_named(method).maps != "scores" and not alone_in_groups
    _check(predictions, method, called, joint=joint)
    least = _threshold(predictions, drop_below)
    choosing = AUTO in (groups, n_bins)
    data = labelled_scores(predictions, least, joint=joint, units=True, progress=progress)
    tell(progress, "fitting")
    classes = predictions.classes if predictions.has_classes else ()
    count_here = counts is None and homes == FREQUENCY
    seen = class_counts(data, classes) if count_here else counts_of(counts or {})
    number = FEW_GROUPS if groups is None else groups
    request = Asked(alone, homes, number, n_bins, min_scores, seen, () if joint else classes)
    choice: list[str] = []
    with of_file(predictions.name):
        if choosing:
            recalibrator, *choice = chosen(request, data, predictions.name, progress)
        else:
            recalibrator = request.made(number, n_bins)
        fit_to(recalibrator, data, classes)
        tried = () if is_ranking else tried_maps(recalibrator, method, data, classes)
    path = isinstance(source, (str, os.PathLike)) and not reads_once(source)
    return SavedRecalibrator(
        recalibrator,
        method,
        None if kind == "binary" or joint else called,
        kind,
        classes,
        least,
        os.fspath(source) if path else None,
        digest_of(source, predictions),
        recalibrator.pair_count_,
        __version__,
        command,
        (*choice, *predictions.told, *map_notes(recalibrator)),
        harm_warning(tried),
        tried,
        predictions.score_kind,
    )


def summary(model: SavedRecalibrator, *, output: str | None, seconds: float) -> FittedRecalibrator:
    """Return the record of a fit."""
    recalibrator: Any = model.recalibrator
    low, high = recalibrator.score_range_
    if model.kind != "wide":
        low, high = sorted(to_number(score, model.score_kind) for score in (low, high))
    return FittedRecalibrator(
        method=model.method,
        group=model.group,
        kind=model.kind,
        source=model.source,
        digest=model.digest,
        pairs=model.pairs,
        classes=len(model.classes),
        score_range=(low, high),
        threshold=model.threshold,
        maps=map_count(recalibrator),
        output=output,
        seconds=seconds,
        version=model.version,
        notes=model.notes,
        tried=model.tried,
        harm_warning=model.warning,
    )


@overload
def apply(
    model: SavedRecalibrator | SavedThresholds | str | os.PathLike[str],
    source: Any,
    output: None = None,
    *,
    columns: Columns | Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Any: ...


@overload
def apply(
    model: SavedRecalibrator,
    source: Any,
    output: str | os.PathLike[str],
    *,
    columns: Columns | Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> AppliedRecalibrator: ...


@overload
def apply(
    model: SavedRecalibrator | SavedThresholds | str | os.PathLike[str],
    source: Any,
    output: str | os.PathLike[str],
    *,
    columns: Columns | Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> AppliedRecalibrator | AppliedThresholds: ...


def apply(
    model: SavedRecalibrator | SavedThresholds | str | os.PathLike[str],
    source: Any,
    output: str | os.PathLike[str] | None = None,
    *,
    columns: Columns | Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Any:
    """Recalibrate the scores of a table or an array; other columns stay unchanged, and labels are not needed.

    With thresholds (`calibrant.evaluation.guaranteed_threshold`) the scores stay too, and a column
    ``decision`` is added: ``accept``, ``refuse`` or ``person``. Rows without a score, and rows of groups
    without a threshold, go to a person.

    For classes that were not in the fit, a shared map is applied as for the others, and groups of similarly
    frequent classes use the map of the rarest group. Maps of single classes and named groups have no map for
    them, which is an error.

    Parameters
    ----------
    model
        Recalibrator from `fit`, thresholds, or the path of a file of either.
    source
        Prediction table of the same kind (see `calibrant.io.rewriting.open_scores`). Without ``output``
        also an array of scores: (n,) of one event, (n, 2) of two classes, or (n, K) with the recalibrator's
        classes in its order.
    output
        Path of the table: ``.parquet``, ``.arrow``, ``.csv``, ``.tsv`` or ``.jsonl``. None: the table or the
        array is returned, in memory.
    columns
        Names of the columns of scores and classes that differ from the defaults. Scores have the meaning
        that those of the fit had.
    progress
        Function that is called with the stage, the work done and the whole work (or None).

    Returns
    -------
    AppliedRecalibrator or AppliedThresholds
        With ``output``, the record of the table that was written. Without it, the dataframe or the array with
        new scores, of the library of ``source``; for a file, a dataframe of the library that the session has
        imported, or PyArrow.

    Raises
    ------
    InputError
        If the table is of another kind, has other classes, or cannot be read or written.

    Examples
    --------
    >>> import tempfile
    >>> from calibrant.data import predictions
    >>> from calibrant import measure
    >>> model = fit(predictions("dated", "naive-bayes"), method="isotonic")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done = apply(model, predictions("100k", "naive-bayes"), f"{folder}/new.parquet")
    ...     after = measure(f"{folder}/new.parquet")["binary"].calibration_error.estimate
    >>> done.rows, after < measure(predictions("100k", "naive-bayes"))["binary"].calibration_error.estimate
    (28902, True)

    Scores in memory:

    >>> apply(model, [0.2, 0.9]).round(2)
    array([0.28, 0.89])
    """
    named = Columns.of(columns)
    if are_thresholds(model):
        from calibrant.verbs.deciding import decide

        return decide(model, source, output, columns=named, progress=progress)
    assert not isinstance(model, SavedThresholds)
    saved = load_recalibrator(model)
    name = None if isinstance(model, SavedRecalibrator) else os.fspath(model)
    if output is None and not isinstance(source, (str, os.PathLike)) and not is_frame(source):
        if named != Columns():
            message = "columns are named, and an array is given"
            raise InputError(message, "leave `columns` out", code="column")
        return array_scores(saved, source)
    kind = saved.score_kind
    if named.score_kind not in ("probability", kind):
        message = f"the recalibrator is for scores of the kind {kind}, and {named.score_kind} is given"
        raise InputError(message, "leave `score_kind` out", code="parameter")
    table = open_scores(
        source, form=named.form, score=named.score, class_column=named.class_column, score_kind=kind
    )
    change = Recalibration(saved, table, every_row=True)

    def report(rows: int) -> None:
        tell(progress, "writing", rows, table.rows)

    note = {"by": saved.recalibrator.method, "fitted_on": saved.source, "sha256": saved.digest}
    if output is None:
        return table.frame(change, note=json.dumps(note), library=library_of(source) or session_library())
    rows = table.rewrite(output, change, note=json.dumps(note), progress=report)
    return AppliedRecalibrator(
        model=name,
        source=table.name,
        output=os.fspath(output),
        rows=rows,
        scores=change.scores,
        below=change.below,
        beyond=change.beyond,
        new_classes=change.new_classes,
        again=table.recalibrated is not None,
        threshold=table.threshold,
    )


def _of_tally(
    recalibrator: Any,
    kept: tuple[str, Tally],
    method: str,
    n_bins: object,
    group: str,
    name: str,
    command: str | None,
) -> SavedRecalibrator:
    view, tally = kept
    if view != "binary":
        message = f"the file is a tally of view {view}, which does not contain the classes of its scores"
        raise InputError(message, "give the table itself", code="view", file=name)
    if method_named(method).maps == "rows" or group != SHARED:
        message = "a tally without classes can only have one map of single scores"
        hint = "leave the group out, or choose another method"
        raise InputError(message, hint, code="parameter", file=name)
    if n_bins == AUTO:
        message, hint = "the number of bins cannot be chosen for a tally", "give it (`n_bins`)"
        raise InputError(message, hint, code="parameter", file=name)
    with of_file(name):
        recalibrator.fit_tally(tally)
        tried = tried_maps(recalibrator, method, {0: tally}, ())
    return SavedRecalibrator(
        recalibrator,
        method,
        None,
        "binary",
        (),
        None,
        name,
        file_digest(name),
        tally.total_n,
        __version__,
        command,
        map_notes(recalibrator),
        harm_warning(tried),
        tried,
    )


def _check(predictions: Predictions, method: str, group: str, *, joint: bool) -> None:
    """Raise an error if a table lacks what the method or the grouping needs."""
    name, whole = predictions.name, f"the method {method} maps all classes of a row at once"
    if method_named(method).maps == "rows" and not joint:
        raise InputError(whole, "give a wide table", code="parameter", file=name)
    if group != SHARED and (joint or not predictions.has_classes):
        message = whole if joint else "the table has no classes"
        raise InputError(message, "leave the group out", code="parameter", file=name)


def _threshold(predictions: Predictions, asked: float | None) -> float | None:
    """Return the threshold below which scores are left out."""
    if asked is not None and not 0 <= asked < 1:
        raise InputError(f"drop_below is {asked!r}", "give a number in [0, 1)", code="parameter")
    if predictions.form == "wide" and (asked or predictions.threshold is not None):
        message = "a threshold is not possible for a wide table, whose rows are mapped as a whole"
        hint = "write all scores, or a long table"
        raise InputError(message, hint, code="threshold", file=predictions.name)
    least = max(asked or 0.0, predictions.threshold or 0.0)
    return least if least > 0 else None
