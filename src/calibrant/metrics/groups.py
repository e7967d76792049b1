"""Calibration of sparse tagsets: tag frequency groups; errors of each class, of all, and of each group.

Kranzlein, Liu & Schneider (2021). Scores are those of many tokens and many tags, one row each; scores below
a threshold are left out, since nearly all scores of a tagger are close to 0 and would hide the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec
from numpy.typing import ArrayLike

from calibrant._checks import positive_integer, shown
from calibrant.exceptions import InputError
from calibrant.metrics.class_scores import (
    NO_SCORE,
    Arguments,
    Method,
    Recipe,
    Subject,
    error_of,
    residuals_of,
    subjects,
)
from calibrant.metrics.classes import Groups
from calibrant.metrics.compare import difference_of
from calibrant.metrics.multiplicity import adjusted_p_values
from calibrant.records import Quantity
from calibrant.results.groups import MarginalChange, MarginalError, Verdict
from calibrant.results.intervals import ErrorDifference
from calibrant.seeds import Seed

THRESHOLD = 0.01
BIN_COUNT = 10
FEW = 50  # positives, negatives or clusters; verdicts on fewer carry a warning


def by_frequency(train_counts: Mapping[str, int], groups: int) -> list[list[str]]:
    """Group tags of similar frequency: tag frequency grouping (TFG).

    Tags are sorted by decreasing frequency, ties by name. A group is complete when it contains at least 1/G
    of all training instances (``count * G >= total``, in integers). The remaining tags are the last group.

    Parameters
    ----------
    train_counts
        How often each tag occurs in the training data. Tags that never occur may be listed: they join the
        last group, as do tags that are not listed at all where the groups are used.
    groups
        G, the number of groups asked for. There can be fewer, since groups overflow: look at the length.

    Returns
    -------
    list of list of str
        Groups by falling frequency, none of them empty.

    Raises
    ------
    InputError
        If there are no counts, or they are not whole numbers of at least 0.

    References
    ----------
    M. Kranzlein, N. F. Liu and N. Schneider (2021), Making heads and tails of models with marginal
    calibration for sparse tagsets, Findings of EMNLP 2021, section 3.3.

    Examples
    --------
    >>> by_frequency({"DT": 4, "NN": 9, "VB": 3, "UH": 1, "FW": 1}, 3)
    [['NN'], ['DT', 'VB'], ['FW', 'UH']]
    """
    asked = positive_integer(groups, "groups")
    counts = {
        str(tag): positive_integer(count, f"train_counts[{tag!r}]", least=0)
        for tag, count in train_counts.items()
    }
    total = sum(counts.values())
    if not total:
        raise InputError("no tag occurs in the training data", "pass the tags' counts", code="empty")
    tag_groups: list[list[str]] = []
    group: list[str] = []
    held = 0
    for tag in sorted((tag for tag in counts if counts[tag]), key=lambda tag: (-counts[tag], tag)):
        group.append(tag)
        held += counts[tag]
        if held * asked >= total:
            tag_groups.append(group)
            group, held = [], 0
    if group:
        tag_groups.append(group)
    tag_groups[-1] += sorted(tag for tag in counts if not counts[tag])
    return tag_groups


def by_part(tags: Iterable[str], separator: str = "|") -> dict[str, list[str]]:
    """Group tags by their first part, such as the UPOS of ``UPOS|FEATS``.

    Parameters
    ----------
    tags
        All tags of the tag set; other tags are an error when the groups are used.
    separator
        Text that ends the first part; a tag without it is one part.

    Returns
    -------
    dict of str to list of str
        Tags by first part, both sorted.

    Raises
    ------
    InputError
        If there are no tags, or the separator is empty.

    Examples
    --------
    >>> by_part(["NOUN|Number=Sing", "NOUN|Number=Plur", "ADP"])
    {'ADP': ['ADP'], 'NOUN': ['NOUN|Number=Plur', 'NOUN|Number=Sing']}
    """
    given: object = separator
    if not (isinstance(given, str) and given):
        raise InputError("the separator is empty or not text", 'give one, such as "|"', code="parameter")
    try:
        names = set() if isinstance(tags, str) else {str(tag) for tag in tags}
    except TypeError as error:
        raise InputError(f"tags is {shown(tags)}", "pass a list of tags", code="parameter") from error
    tags_of: dict[str, list[str]] = {}
    for tag in sorted(names):
        tags_of.setdefault(tag.split(separator, 1)[0], []).append(tag)
    if not tags_of:
        raise InputError("there are no tags", "pass the tags of the tag set", code="empty")
    return dict(sorted(tags_of.items()))


def marginal_calibration_error(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    classes: ArrayLike,
    *,
    names: Sequence[str] | None = None,
    sample_weight: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    threshold: float = THRESHOLD,
    n_bins: int = BIN_COUNT,
    min_scores: int = 1,
    method: Method = "inverted",
    level: float = 0.95,
    seed: Seed = 0,
) -> MarginalError:
    """Return the marginal calibration error (MCE): the root mean over classes of squared errors.

    0 when every class's scores are calibrated by themselves. Rare classes count as much as frequent ones, so
    that it takes many scores of each: with few, noise decides the plug-in (look at ``calibration_error``).

    Parameters
    ----------
    y_true
        (n,) 0 / 1: whether the class of the row is the true one.
    y_prob
        (n,) its predicted probability, in [0, 1]. One row for each item and class.
    classes
        (n,) the class of the row: a name, or with ``names`` an index into them.
    names
        Class names, where ``classes`` are indices.
    sample_weight
        (n,) non-negative weights; within the mean over classes all classes weigh the same.
    clusters
        (n,) what is dependent (sentence, document). Name at least the token: its scores share one gold tag.
    threshold
        Scores below it are left out; 0 keeps all. A score of exactly 0.01 stays at 0.01.
    n_bins
        Adaptive bins of the plug-in, a class.
    min_scores
        Smallest number of scores per class; classes with fewer are left out and counted. The paper uses
        1,000.
    method
        Method of the interval: ``"inverted"``, ``"wald"``, or ``"bootstrap"`` (resamples clusters), as in
        `calibration_error`.
    level
        Nominal coverage of the interval.
    seed
        Seed of the bootstrap.

    Returns
    -------
    MarginalError
        The plug-in on adaptive bins, and the debiased error with its interval.

    Raises
    ------
    InputError
        If no score reaches the threshold.

    References
    ----------
    A. Kumar, P. Liang and T. Ma (2019), Verified uncertainty calibration, NeurIPS. arXiv:1909.10155

    M. Kranzlein, N. F. Liu and N. Schneider (2021), Making heads and tails of models with marginal
    calibration for sparse tagsets, Findings of EMNLP 2021, Eq. 1.

    Examples
    --------
    >>> y, tags = [0, 1] * 100, ["N"] * 100 + ["V"] * 100
    >>> error = marginal_calibration_error(y, [0.5] * 100 + [0.3] * 100, tags)
    >>> round(error.plug_in_calibration_error, 4), error.classes
    (0.1414, 2)
    """
    recipe = Recipe.of(n_bins, method, level, seed)
    given = Arguments(y_true, classes, names, sample_weight, clusters, threshold)
    scores, left_out = given.scores(y_prob).with_at_least(positive_integer(min_scores, "min_scores"))
    return error_of(scores, recipe, "mce", left_out=left_out)


def shared_calibration_error(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    classes: ArrayLike,
    *,
    names: Sequence[str] | None = None,
    sample_weight: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    threshold: float = THRESHOLD,
    n_bins: int = BIN_COUNT,
    method: Method = "inverted",
    level: float = 0.95,
    seed: Seed = 0,
) -> MarginalError:
    """Return the shared marginal calibration error (SMCE) of all classes' scores on one set of bins.

    Errors of opposite sign of two classes can cancel: 0 does not mean that each class is calibrated.
    Parameters, result and errors are those of `marginal_calibration_error`.

    References
    ----------
    M. Kranzlein, N. F. Liu and N. Schneider (2021), Making heads and tails of models with marginal
    calibration for sparse tagsets, Findings of EMNLP 2021, Eq. 2.

    Examples
    --------
    >>> y, tags = [0, 1] * 100, ["N"] * 100 + ["V"] * 100
    >>> error = shared_calibration_error(y, [0.5] * 100 + [0.3] * 100, tags)
    >>> round(error.plug_in_calibration_error, 4), error.n
    (0.1414, 200)
    """
    recipe = Recipe.of(n_bins, method, level, seed)
    given = Arguments(y_true, classes, names, sample_weight, clusters, threshold)
    return error_of(given.scores(y_prob), recipe, "smce")


def grouped_calibration_errors(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    classes: ArrayLike,
    groups: Groups,
    *,
    names: Sequence[str] | None = None,
    sample_weight: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    threshold: float = THRESHOLD,
    n_bins: int = BIN_COUNT,
    method: Method = "inverted",
    level: float = 0.95,
    seed: Seed = 0,
) -> tuple[MarginalError, ...]:
    """Return the grouped marginal calibration error (GMCE) of each group of classes.

    Parameters, errors and records are those of `marginal_calibration_error`, and:

    Parameters
    ----------
    groups
        Lists of tags, as from `by_frequency`: the last one takes tags that are in none. Or a mapping from
        names to lists of tags: it has to name every tag.

    References
    ----------
    M. Kranzlein, N. F. Liu and N. Schneider (2021), Making heads and tails of models with marginal
    calibration for sparse tagsets, Findings of EMNLP 2021, Eq. 3.

    Examples
    --------
    >>> y, tags = [0, 1] * 100, ["N"] * 100 + ["V"] * 100
    >>> errors = grouped_calibration_errors(y, [0.5] * 100 + [0.3] * 100, tags, [["N"], ["V"]])
    >>> [round(error.plug_in_calibration_error, 4) for error in errors]
    [0.0, 0.2]
    """
    recipe = Recipe.of(n_bins, method, level, seed)
    given = Arguments(y_true, classes, names, sample_weight, clusters, threshold)
    parts = given.scores(y_prob).by_group(groups)
    return tuple(error_of(part, recipe, "gmce", name) for name, part in parts.items())


def calibration_changes(
    y_true: ArrayLike,
    y_prob_before: ArrayLike,
    y_prob_after: ArrayLike,
    classes: ArrayLike,
    groups: Groups = (),
    *,
    names: Sequence[str] | None = None,
    sample_weight: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    threshold: float = THRESHOLD,
    n_bins: int = BIN_COUNT,
    min_scores: int = 1,
    class_mean: bool = True,
    level: float = 0.95,
    seed: Seed = 0,
) -> tuple[MarginalChange, ...]:
    """Return MCE, SMCE, and GMCE of each group before and after recalibration, with paired intervals.

    The scores that count are those that reach the threshold *before*: the same ones on both sides.

    Parameters
    ----------
    y_true
        (n,) 0 / 1: whether the class of the row is the true one.
    y_prob_before, y_prob_after
        (n,) its probability before and after recalibration, in [0, 1].
    groups
        As in `grouped_calibration_errors`; none if left out.
    classes, names, sample_weight, clusters, threshold, n_bins, min_scores, level
        As in `marginal_calibration_error`.
    class_mean
        True to compute the MCE too, which takes most of the time.
    seed
        Seed of the sign flips behind the paired interval, as in `error_difference`.

    Returns
    -------
    tuple of MarginalChange
        The intervals of ``difference`` treat the calibration map as fixed: they ignore the sampling error of
        the dev set, which `calibrant.recalibrate.resampled_changes` includes. Where the interval of the error
        before reaches 0, the relative change without bins is None, with the reason. `with_verdicts` adds
        verdicts that are adjusted for the number of comparisons.

    Raises
    ------
    InputError
        If no score reaches the threshold.

    Examples
    --------
    >>> y, tags = [0, 1] * 100, ["N"] * 100 + ["V"] * 100
    >>> changes = calibration_changes(y, [0.5] * 100 + [0.3] * 100, [0.5] * 200, tags, [["N"], ["V"]])
    >>> [(change.before.measure, change.before.group, change.relative_change.estimate) for change in changes]
    [('mce', None, -1.0), ('smce', None, -1.0), ('gmce', '1', None), ('gmce', '2', -1.0)]
    """
    recipe = Recipe.of(n_bins, "inverted", level, seed)
    given = Arguments(y_true, classes, names, sample_weight, clusters, threshold)
    least = positive_integer(min_scores, "min_scores")
    first = subjects(given.scores(y_prob_before), groups, least, class_mean=class_mean)
    second = subjects(
        given.scores(y_prob_after, reference=y_prob_before), groups, least, class_mean=class_mean
    )
    return changes_between(first, second, recipe)


def changes_between(
    first: Sequence[Subject], second: Sequence[Subject], recipe: Recipe
) -> tuple[MarginalChange, ...]:
    """Return the change of each error of the same scores before and after."""
    return tuple(_change(before, after, recipe) for before, after in zip(first, second, strict=True))


def _change(first: Subject, second: Subject, recipe: Recipe) -> MarginalChange:
    before, after = (
        error_of(side.scores, recipe, side.measure, side.group, side.left_out) for side in (first, second)
    )
    if before.plug_in_calibration_error is None or after.plug_in_calibration_error is None:
        nothing = Quantity(None, reason=NO_SCORE)
        return MarginalChange(before=before, after=after, relative_change=nothing, difference=None)
    alone = [residuals_of(side.scores, side.measure) for side in (first, second)]
    paired = [
        residuals_of(one.scores, one.measure, units=True, other=other.scores)
        for one, other in ((first, second), (second, first))
    ]
    change = Quantity(None, reason="the error before is 0")
    if before.plug_in_calibration_error > 0:
        change = Quantity(after.plug_in_calibration_error / before.plug_in_calibration_error - 1)
    difference = difference_of(paired, alone, recipe.level, recipe.seed)
    return MarginalChange(
        before=before,
        after=after,
        relative_change=change,
        difference=msgspec.structs.replace(difference, calibration_map="fixed"),
    )


def with_verdicts(changes: Sequence[MarginalChange]) -> tuple[MarginalChange, ...]:
    """Add a verdict to each change, adjusted by Holm's method for the number of changes.

    The probability of even one false "better" or "worse" among them is at most 1 - level, whichever of the
    errors change.

    Parameters
    ----------
    changes
        All changes that are read together, such as those of one table. Those without a p-value do not count.

    Returns
    -------
    tuple of MarginalChange
        The same changes with ``adjusted_p_value`` and ``verdict``. If a change rests on fewer than 50
        positives, negatives or clusters, it has a ``verdict_warning``: in simulations, false verdicts were up
        to five times as frequent as stated.

    References
    ----------
    .. [1] Holm (1979). A simple sequentially rejective multiple test procedure. Scandinavian Journal of
       Statistics 6, 65-70.

    Examples
    --------
    >>> y, tags = [0, 1] * 200, ["N"] * 200 + ["V"] * 200
    >>> changes = calibration_changes(y, [0.5] * 200 + [0.3] * 200, [0.5] * 400, tags, [["N"], ["V"]])
    >>> [change.verdict for change in with_verdicts(changes)]
    ['better', 'better', 'inconclusive', 'better']
    """
    p_values = [None if change.difference is None else change.difference.p_value for change in changes]
    return tuple(
        msgspec.structs.replace(
            change,
            adjusted_p_value=p,
            verdict=verdict_of(change.difference, p),
            verdict_warning=_few(change.before),
        )
        for change, p in zip(changes, adjusted_p_values(p_values), strict=True)
    )


def _few(error: MarginalError) -> str | None:
    """Warn where p-values near 0 are too small: the variance rests on few pairs or clusters."""
    counts = {"positives": error.positives, "negatives": error.n - error.positives}
    if error.clusters is not None:
        counts["clusters"] = error.clusters
    name = min(counts, key=counts.__getitem__)
    if not error.n or counts[name] >= FEW:
        return None
    return f"only {counts[name]} {name}: false verdicts are more frequent than stated"


def verdict_of(difference: ErrorDifference | None, adjusted: float | None) -> Verdict:
    """Return what an adjusted p-value says about the second model (or the scores after recalibration)."""
    improvement = None if difference is None else difference.mse_difference.estimate
    if difference is None or improvement is None or adjusted is None or adjusted > 1 - difference.level:
        return "inconclusive"
    return "better" if improvement > 0 else "worse"
