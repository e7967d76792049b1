"""krippendorff, and statsmodels' agreement."""

from __future__ import annotations

from functools import partial

import numpy as np

from calibrant.evaluation import Ratings, agreement, pair_agreement
from calibrant.evaluation.coefficients import Distance, Weights
from crosscheck import inputs
from crosscheck.comparison import Case, Comparison, compare
from crosscheck.inputs import LabelInput

ONE_LABEL = (
    "With only one label, chance agreement is 1, and agreement beyond it is undefined. The peer "
    "returns NaN, an error or a fixed value."
)


def ratings_of(one: LabelInput) -> Ratings:
    """Return the labels in calibrant's form; -1 means a missing label."""
    item, annotator = np.nonzero(one.table >= 0)
    return Ratings.from_table(item, annotator, one.table[item, annotator], order=one.labels)


def single(one: LabelInput) -> bool:
    """Return True if all labels are equal."""
    return len(np.unique(one.table)) == 1


def alpha(one: LabelInput, distance: Distance) -> Comparison:
    import krippendorff

    table = np.where(one.table < 0, np.nan, one.table.astype(float)).T
    return compare(
        agreement(ratings_of(one), distance=distance).krippendorff_alpha.estimate,
        lambda: krippendorff.alpha(table, level_of_measurement=distance, value_domain=list(one.labels)),
        ONE_LABEL,
        lambda: single(one),
    )


def fleiss(one: LabelInput) -> Comparison:
    from statsmodels.stats import inter_rater

    table = np.array([[np.sum(row == label) for label in one.labels] for row in one.table])
    return compare(
        agreement(ratings_of(one)).fleiss_kappa.estimate,
        lambda: inter_rater.fleiss_kappa(table),
        ONE_LABEL,
        lambda: single(one),
    )


def cohen(one: LabelInput, weights: Weights | None) -> Comparison:
    from statsmodels.stats import inter_rater

    table = np.zeros((len(one.labels), len(one.labels)))
    np.add.at(table, (one.table[:, 0] - 1, one.table[:, 1] - 1), 1)
    return compare(
        pair_agreement(ratings_of(one), weights=weights).cohen_kappa.estimate,
        lambda: inter_rater.cohens_kappa(table, wt=weights, return_results=False),
        ONE_LABEL,
        lambda: single(one),
    )


def _complete() -> tuple[LabelInput, ...]:
    return inputs.annotated()[:-1]


CASES = (
    *(
        Case(
            "krippendorff",
            f'alpha(labels, level_of_measurement="{distance}")',
            f'agreement(ratings, distance="{distance}").krippendorff_alpha',
            inputs.annotated,
            partial(alpha, distance=distance),
        )
        for distance in ("nominal", "ordinal", "interval", "ratio")
    ),
    Case("statsmodels", "fleiss_kappa(table)", "agreement(ratings).fleiss_kappa", _complete, fleiss),
    *(
        Case(
            "statsmodels",
            f"cohens_kappa(table, wt={weights!r})",
            f"pair_agreement(ratings, weights={weights!r})",
            inputs.labels,
            partial(cohen, weights=weights),
        )
        for weights in (None, "linear", "quadratic")
    ),
)
