"""Measure the change of each group of classes, such as rare tags, by a recalibrator."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from msgspec.structs import asdict

from calibrant.exceptions import InputError
from calibrant.io import Columns, Predictions, open_predictions
from calibrant.io.saved_recalibrators import SavedRecalibrator, load_recalibrator
from calibrant.metrics.classes import Groups, named_groups
from calibrant.metrics.groups import by_frequency, calibration_changes, with_verdicts
from calibrant.progress import Progress
from calibrant.recalibrate.methods import DRAWS
from calibrant.results.groups import (
    GroupChange,
    GroupedChanges,
    ResampledChange,
    label_of,
)
from calibrant.seeds import Seed
from calibrant.verbs._methods import (
    FEW_GROUPS,
    FREQUENCY,
    Grouping,
    Labelled,
    class_counts,
    counts_of,
    labelled_scores,
    members_of,
    named_groups_of,
)
from calibrant.verbs.applying import Recalibration


def group_changes(
    source: Any,
    model: SavedRecalibrator | str | os.PathLike[str],
    *,
    group: str | Mapping[str, str] | None = None,
    groups: int | None = None,
    counts: Mapping[str, int] | str | os.PathLike[str] | None = None,
    dev: Any = None,
    draws: int = DRAWS,
    level: float = 0.95,
    seed: Seed = 0,
    columns: Columns | Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> GroupedChanges:
    """Measure each group of classes before and after recalibration, on the same scores.

    Parameters
    ----------
    source
        Long prediction table with classes (see `calibrant.io.open_predictions`) of at most 10^7 scores, which
        was not used for the fit.
    model
        Recalibrator of such tables, or the path of its file.
    group
        ``"frequency"``: ``groups`` groups of similarly frequent classes. Or the group of each class: a
        mapping of names, or the path of a file (`calibrant.io.read_class_table`). None: the groups of the
        recalibrator.
    groups
        Requested number of groups by frequency, by default 5; there can be fewer.
    counts
        Number of occurrences of each class, for groups by frequency and for the proportions of groups: a
        mapping, or a file as for ``group``. None: counts in this table.
    dev
        Table to which the recalibrator was fitted. It is resampled, and the intervals of the changes
        include the sampling error of the map. None: they treat the map as fixed.
    draws
        Number of resamples of dev, at least 20.
    level
        Level of all intervals.
    seed
        Seed of the resamples, and of the sign flips behind the paired intervals.
    columns, progress
        As in `calibrant.verbs.measure`.

    Returns
    -------
    GroupedChanges
        Changes of the total and of all groups; their verdicts are adjusted together by Holm's method.

    Raises
    ------
    InputError
        If the table or the recalibrator has no classes, or there are no groups.

    References
    ----------
    M. Kranzlein, N. F. Liu and N. Schneider (2021), Making heads and tails of models with marginal
    calibration for sparse tagsets, Findings of EMNLP 2021, table 1.

    Examples
    --------
    >>> from calibrant.data import tag_counts, tagger_predictions
    >>> from calibrant import fit
    >>> asked = {"group": "frequency", "groups": 2, "counts": tag_counts()}
    >>> model = fit(tagger_predictions("dev"), method="histogram", **asked)
    >>> changes = group_changes(tagger_predictions(), model, counts=tag_counts())
    >>> [(len(group.classes), round(group.share, 2)) for group in changes.groups]
    [(7, 0.54), (42, 0.46)]
    """
    saved = load_recalibrator(model)
    table = open_predictions(source, columns)
    again = None if dev is None else open_predictions(dev, columns)
    grouping = Grouping(group, groups, counts, draws, level, seed)
    return changes_by_group(table, saved, again, grouping, progress)[0]


def changes_by_group(
    table: Predictions,
    saved: SavedRecalibrator,
    dev: Predictions | None,
    grouping: Grouping,
    progress: Progress | None,
) -> tuple[GroupedChanges, tuple[ResampledChange, ...]]:
    """Return the result of `group_changes`, and the resampled changes if dev was given."""
    recalibration = Recalibration(saved, table)
    if saved.kind != "classes":
        raise InputError("the table has no classes to group", "give a long table with classes", code="view")
    data = labelled_scores(table, saved.threshold, joint=False, units=True, progress=progress)
    if not isinstance(data, Labelled):
        message = "groups cannot be measured in tables of more than 10^7 scores"
        raise InputError(message, "give fewer rows", code="parameter", file=table.name)
    counts = grouping.counts
    known = class_counts(data, table.classes) if counts is None else counts_of(counts)
    members = _groups(saved, grouping.group, grouping.groups, known)
    resampled: tuple[ResampledChange, ...] = ()
    if dev is not None:
        from calibrant.verbs._refitting import refitted  # it loads scikit-learn

        resampled = refitted(saved, dev, table, members, grouping, progress)
        changes = tuple(row.change for row in resampled)
    else:
        changes = calibration_changes(
            data.label,
            data.score,
            recalibration(data.score.astype("float64", copy=False), data.code),
            data.code if data.code is not None else (),
            members,
            names=table.classes,
            sample_weight=data.weight,
            clusters=data.unit,
            threshold=saved.threshold or table.threshold or 0.0,
            class_mean=False,
            level=grouping.level,
            seed=grouping.seed,
        )
    whole, *parts = with_verdicts(changes)
    total = max(1, sum(known.values()))
    result = GroupedChanges(
        whole,
        tuple(
            GroupChange(
                label=label_of(names),
                classes=tuple(names),
                share=sum(known.get(name, 0) for name in names) / total,
                **asdict(change),
            )
            for names, change in zip(named_groups(members).values(), parts, strict=True)
        ),
    )
    return result, resampled


def has_groups(saved: SavedRecalibrator) -> bool:
    """Return True if a recalibrator has maps for groups of classes."""
    return getattr(saved.recalibrator, "groups", None) is not None


def _groups(
    saved: SavedRecalibrator,
    group: str | Mapping[str, str] | None,
    groups: int | None,
    counts: Mapping[str, int],
) -> Groups:
    if group is None:
        own: Groups | None = getattr(saved.recalibrator, "groups", None)
        if own is None:
            message = "the recalibrator has no groups of classes"
            raise InputError(message, "choose groups to measure (`group='frequency'`)", code="parameter")
        return own
    homes, _ = named_groups_of(group)
    if homes == FREQUENCY:
        return by_frequency(counts, FEW_GROUPS if groups is None else groups)
    if isinstance(homes, str):
        hint = "give frequency, or a file with one line per class: the class, a tab, its group"
        raise InputError(f"groups of {homes!r} cannot be measured", hint, code="parameter")
    return members_of(homes)
