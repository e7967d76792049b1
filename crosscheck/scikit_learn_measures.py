"""scikit-learn's scores, curves and kappas."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from calibrant.evaluation import Ratings, classification_scores, confusion, pair_agreement
from calibrant.evaluation.coefficients import Weights
from calibrant.metrics import adaptive, at_edges, brier_score, log_loss, scores, uniform
from calibrant.metrics.tally import Tally
from calibrant.recalibrate import order_effect
from calibrant.results import Bins
from crosscheck import inputs
from crosscheck.comparison import Case, Comparison, compare
from crosscheck.inputs import ClassInput, Input, LabelInput

SINGLE = (
    "The peer computes in float32 for float32 input; with the same values in float64 the numbers are equal."
)
CLIPPED = (
    "A score is 0 for an outcome that occurred: the peer clips scores and returns a large "
    "number; calibrant reports the loss as undefined and counts such pairs. With clipped "
    "scores, the numbers are equal."
)
CONSTANT = (
    "If all labels are equal, the loss of the base rate is 0: the peer divides by 0, and "
    "calibrant reports the skill as undefined."
)
LINSPACE = (
    "The peer's edges are those of numpy.linspace, of which some are one unit in the last place "
    "above k / n; a score between the two belongs to another bin. With the peer's edges, the "
    "numbers are equal."
)
TIES = (
    "Edges at quantiles keep equal scores together, so bins have unequal sizes and there are "
    "fewer than requested, without a warning. calibrant's bins have equally many pairs, and "
    "share a tie in proportion. With the peer's edges, the numbers are equal."
)
RANKS = (
    "The peer interpolates edges between two scores; calibrant cuts at ranks, and n is not a "
    "multiple of the number of bins. With the peer's edges, the numbers are equal."
)
ABSENT = (
    "A label that never occurs or is never predicted has no recall or no precision: the peer "
    "counts it as 0, and calibrant leaves it out. Over the labels that have both, the numbers "
    "are equal."
)


def arguments(one: Input) -> dict[str, Any]:
    return {"y_true": one.label, "y_prob": one.score, "sample_weight": one.weight}


def score_of(one: Input, name: str, ours: Any, **options: Any) -> Comparison:
    """One of scikit-learn's metrics of binary scores."""
    from sklearn import metrics

    def theirs(score: Any) -> Any:
        return getattr(metrics, name)(one.label, score, sample_weight=one.weight, **options)

    double = one.score.astype(np.float64)
    if one.score.dtype == np.float32:
        return compare(ours, lambda: theirs(one.score), SINGLE, lambda: (ours, theirs(double)))
    if name == "log_loss":
        inside = np.clip(double, np.finfo(np.float64).eps, 1 - np.finfo(np.float64).eps)
        return compare(
            ours,
            lambda: theirs(one.score),
            CLIPPED,
            lambda: (theirs(one.score), log_loss(one.label, inside)),
        )
    return compare(ours, lambda: theirs(one.score), CONSTANT, lambda: len(np.unique(one.label)) == 1)


def brier(one: Input) -> Comparison:
    return score_of(one, "brier_score_loss", brier_score(**arguments(one)), pos_label=1)


def log_losses(one: Input) -> Comparison:
    return score_of(one, "log_loss", log_loss(**arguments(one)), labels=[0, 1])


def brier_skill(one: Input) -> Comparison:
    return score_of(one, "d2_brier_score", scores(**arguments(one)).brier_skill.estimate, pos_label=1)


def log_skill(one: Input) -> Comparison:
    ours = scores(**arguments(one)).log_skill.estimate
    if scores(**arguments(one)).certain_and_wrong:
        inside = np.clip(one.score, np.finfo(np.float64).eps, 1 - np.finfo(np.float64).eps)
        clipped = scores(one.label, inside).log_skill.estimate
        return compare(ours, partial(_log_skill, one), CLIPPED, lambda: (_log_skill(one), clipped))
    return score_of(one, "d2_log_loss_score", ours, labels=[0, 1])


def _log_skill(one: Input) -> float:
    from sklearn.metrics import d2_log_loss_score

    return float(d2_log_loss_score(one.label, one.score, labels=[0, 1]))


def brier_of_classes(one: ClassInput) -> Comparison:
    from sklearn.metrics import brier_score_loss

    classes = list(range(one.prob.shape[1]))

    def theirs(prob: Any) -> Any:
        return brier_score_loss(one.label, prob, labels=classes, scale_by_half=False)

    ours = sum(brier_score(one.label == k, one.prob[:, k]) for k in classes)
    return compare(
        ours, lambda: theirs(one.prob), SINGLE, lambda: (ours, theirs(one.prob.astype(np.float64)))
    )


def curve(one: Input, strategy: str, count: int) -> Comparison:
    """Mean score and frequency of every bin that is not empty, one below the other."""
    from sklearn.calibration import calibration_curve

    tally = Tally.from_arrays(y_true=one.label, y_prob=one.score, exact=True)
    double = one.score.astype(np.float64)

    def theirs() -> Any:
        return np.array(calibration_curve(one.label, double, n_bins=count, strategy=strategy, pos_label=1))

    if strategy == "uniform":
        edges = np.linspace(0, 1, count + 1)
        return compare(
            _curve(uniform(tally, count)), theirs, LINSPACE, lambda: (_cut(tally, edges), theirs())
        )
    edges = np.percentile(double, np.linspace(0, 1, count + 1) * 100)
    tied = len(np.unique(double)) < len(double)
    ours = _curve(adaptive(tally, n_bins=count))
    return compare(ours, theirs, TIES if tied else RANKS, lambda: (_cut(tally, edges), theirs()))


def _curve(bins: Bins) -> Any:
    return np.array([bins.frequency, bins.score])


def _cut(tally: Tally, edges: Any) -> Any:
    return _curve(at_edges(tally, np.unique([0.0, *edges[1:-1], 1.0])))


def auc(one: Input) -> Comparison:
    from sklearn.metrics import roc_auc_score

    ours = order_effect(one.label, one.score, one.score, sample_weight=one.weight).auc_before
    return compare(
        ours,
        lambda: roc_auc_score(one.label, one.score, sample_weight=one.weight),
        (
            "If all labels are equal, there is no order to predict: the peer returns NaN, and calibrant "
            "reports the number as undefined."
        ),
        lambda: len(np.unique(one.label)) == 1,
    )


def kappa(one: LabelInput, weights: Weights | None) -> Comparison:
    from sklearn.metrics import cohen_kappa_score

    first, second = one.table[:, 0], one.table[:, 1]
    ratings = Ratings.from_lists({"a": first.tolist(), "b": second.tolist()}, order=one.labels)
    return compare(
        pair_agreement(ratings, weights=weights).cohen_kappa.estimate,
        lambda: cohen_kappa_score(first, second, weights=weights, labels=one.labels),
        (
            "Both annotators used only one label, so chance agreement is 1: the peer returns NaN, and "
            "calibrant reports the coefficient as undefined."
        ),
        lambda: len(np.unique(one.table[:, :2])) == 1,
    )


def classification(one: LabelInput, average: str) -> Comparison:
    """Precision, recall and F1."""
    from sklearn.metrics import precision_recall_fscore_support

    gold, said = one.table[:, 0], one.table[:, 1]
    found = classification_scores(gold.tolist(), said.tolist(), labels=one.labels)
    names = (f"{name}_{average}" for name in ("precision", "recall", "f1"))
    ours = [getattr(found, name).estimate for name in names]

    def theirs(kept: list[int]) -> Any:
        return list(precision_recall_fscore_support(gold, said, labels=kept, average=average)[:3])

    kept = [k for k in one.labels if k in gold and k in said]
    return compare(ours, lambda: theirs(list(one.labels)), ABSENT, lambda: (ours, theirs(kept)))


def confusions(one: LabelInput) -> Comparison:
    from sklearn.metrics import confusion_matrix

    gold, said = one.table[:, 0], one.table[:, 1]
    ours = confusion(gold.tolist(), said.tolist(), labels=tuple(map(str, one.labels)))[1]
    return compare(ours, lambda: confusion_matrix(gold, said, labels=one.labels))


def _case(theirs: str, ours: str, made: Any, run: Any, *options: Any) -> Case:
    return Case("scikit-learn", theirs, ours, made, partial(run, **dict(options)))


CASES = (
    _case("brier_score_loss(y, q)", "brier_score(y, q)", inputs.pairs, brier),
    _case("log_loss(y, q)", "log_loss(y, q)", inputs.pairs, log_losses),
    _case("d2_brier_score(y, q)", "scores(y, q).brier_skill", inputs.pairs, brier_skill),
    _case("d2_log_loss_score(y, q)", "scores(y, q).log_skill", inputs.pairs, log_skill),
    _case(
        "brier_score_loss(y, Q, scale_by_half=False)",
        "sum(brier_score(y == k, Q[:, k]) for k in range(K))",
        inputs.classes,
        brier_of_classes,
    ),
    *(
        _case(
            f"calibration_curve(y, q, n_bins={count})",
            f"uniform_bins(y, q, n_bins={count})",
            inputs.binary,
            curve,
            ("strategy", "uniform"),
            ("count", count),
        )
        for count in (10, 15)
    ),
    *(
        _case(
            f'calibration_curve(y, q, n_bins={count}, strategy="quantile")',
            f"adaptive_bins(y, q, n_bins={count})",
            inputs.binary,
            curve,
            ("strategy", "quantile"),
            ("count", count),
        )
        for count in (7, 10)
    ),
    _case("roc_auc_score(y, q)", "order_effect(y, q, q).auc_before", inputs.pairs, auc),
    *(
        _case(
            f"cohen_kappa_score(a, b, weights={weights!r})",
            f"pair_agreement(ratings, weights={weights!r})",
            inputs.labels,
            kappa,
            ("weights", weights),
        )
        for weights in (None, "linear", "quadratic")
    ),
    *(
        _case(
            f'precision_recall_fscore_support(y, p, average="{average}")',
            f"classification_scores(y, p).*_{average}",
            inputs.labels,
            classification,
            ("average", average),
        )
        for average in ("micro", "macro")
    ),
    _case("confusion_matrix(y, p)", "confusion(y, p)", inputs.labels, confusions),
)
