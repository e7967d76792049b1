"""SciPy's and statsmodels' tests, intervals and regressions."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from calibrant.evaluation import (
    adjusted_p_values,
    mcnemar,
    mean_interval,
    minimum_detectable_difference,
    paired_bootstrap,
    paired_permutation,
    paired_t_test,
)
from calibrant.metrics import bin_intervals, cox_calibration, uniform_bins
from crosscheck import inputs
from crosscheck.comparison import TOLERANCE, Case, Comparison, compare
from crosscheck.inputs import Input, Paired, PValues
from crosscheck.maps import log_odds

DRAWS = 20_000
FEW_UNITS = (
    "Resampled differences of fewer than 30 items vary too little, so calibrant uses Student's t interval."
)
OTHER_DRAWS = (
    "Both are percentiles of 20,000 draws; the draws differ, and those of calibrant are further out, as "
    "Student's t is, and on the side of the skewness. No end is further in by a twentieth of the width."
)
EQUAL = "All values are equal: the peer's interval has no width; calibrant gives none."
SKEWED = "On the side of the skewness, calibrant's interval is longer than Student's (Hall 1992)."
ALIKE = (
    "The systems do not differ on any unit: the peer returns NaN, 0 or 1; calibrant reports the "
    "test as undefined."
)


def same_throughout(one: Paired) -> bool:
    """Return True if the two systems have the same scores."""
    return bool((one.first == one.second).all())


def t_test(one: Paired, alternative: Any) -> Comparison:
    from scipy.stats import ttest_rel

    found = paired_t_test(one.first, one.second, alternative=alternative)

    def theirs() -> Any:
        test = ttest_rel(one.first, one.second, alternative=alternative)
        return [float(test.statistic), float(test.pvalue)]

    ours = None if found.t is None else [found.t, found.p_value]
    return compare(ours, theirs, ALIKE, lambda: same_throughout(one))


def interval_of_mean(one: Paired) -> Comparison:
    from statsmodels.stats.weightstats import DescrStatsW

    found = mean_interval(one.first)
    ours = found.mean.low, found.mean.high

    def theirs() -> Any:
        return list(DescrStatsW(one.first).tconfint_mean())

    if ours[0] is None:
        return compare(None, theirs, EQUAL, lambda: bool(np.ptp(one.first) == 0))
    return compare(ours, theirs, SKEWED, lambda: contains(ours, theirs()))


def contains(ours: Any, theirs: Any, slack: float = TOLERANCE) -> bool:
    """Return True if an interval contains another one."""
    return bool(ours[0] <= theirs[0] + slack and theirs[1] - slack <= ours[1])


def permutation(one: Paired) -> Comparison:
    from scipy.stats import permutation_test

    found = paired_permutation(one.first, one.second)

    def difference(first: Any, second: Any, axis: int) -> Any:
        return np.mean(first - second, axis=axis)

    def theirs() -> Any:
        pair = (one.first, one.second)
        return permutation_test(pair, difference, permutation_type="samples", n_resamples=np.inf).pvalue

    return compare(found.p_value, theirs)


def bootstrap(one: Paired) -> Comparison:
    from scipy.stats import bootstrap as peer
    from scipy.stats import ttest_rel

    found = paired_bootstrap(one.first, one.second, samples=DRAWS)

    def theirs() -> Any:
        random = np.random.default_rng(0)
        gap, settings = one.first - one.second, {"n_resamples": DRAWS, "method": "percentile", "rng": random}
        interval = peer((gap,), np.mean, **settings).confidence_interval
        return [float(interval.low), float(interval.high)]

    def because() -> bool:
        if same_throughout(one):
            return True
        if found.method == "t":
            expected = ttest_rel(one.first, one.second).confidence_interval(0.95)
            return contains(ours, [expected.low, expected.high], 1e-4)
        return contains(ours, theirs(), float(np.ptp(theirs())) / 20)

    ends = found.difference
    ours = None if ends.low is None else [ends.low, ends.high]
    reason = FEW_UNITS if found.method == "t" else OTHER_DRAWS
    return compare(ours, theirs, ALIKE if same_throughout(one) else reason, because)


def mcnemar_test(one: Paired, exact: bool) -> Comparison:
    from statsmodels.stats.contingency_tables import mcnemar as peer

    found = mcnemar(one.first, one.second, exact=exact)
    table = [[found.both, found.first_only], [found.second_only, found.neither]]

    def theirs() -> Any:
        test = peer(table, exact=exact)
        return [float(test.statistic), float(test.pvalue)]

    ours = None if found.p_value is None else [found.statistic, found.p_value]
    return compare(ours, theirs, ALIKE, lambda: same_throughout(one))


def adjusted(one: PValues, method: Any) -> Comparison:
    from statsmodels.stats.multitest import multipletests

    name = {"holm": "holm", "benjamini-hochberg": "fdr_bh"}[method]
    return compare(
        adjusted_p_values(list(one.values), method), lambda: multipletests(one.values, method=name)[1]
    )


def discoveries(one: PValues) -> Comparison:
    from scipy.stats import false_discovery_control

    ours = adjusted_p_values(list(one.values), "benjamini-hochberg")
    return compare(ours, lambda: false_discovery_control(one.values))


def detectable(one: Paired) -> Comparison:
    from statsmodels.stats.power import TTestPower

    n = len(one.first)
    found = minimum_detectable_difference(1.0, n).detectable
    assert found is not None
    power = float(TTestPower().power(found, n, 0.05))
    return compare(0.8, power)


def proportions(one: Input, method: Any) -> Comparison:
    """Intervals of the frequencies of ten bins."""
    from statsmodels.stats.proportion import proportion_confint

    bins = uniform_bins(one.label, one.score, n_bins=10)
    found = bin_intervals(bins, method=method)
    name = {"wilson": "wilson", "normal": "normal"}[method]
    return compare([found.low, found.high], lambda: proportion_confint(bins.positives, bins.n, method=name))


def logit(one: Input) -> Comparison:
    """Intercept and slope, and their standard errors: the larger ones of the model's and the robust ones."""
    from statsmodels.genmod import families
    from statsmodels.genmod.generalized_linear_model import GLM

    found = cox_calibration(one.label, one.score)
    inside = (one.score > 0) & (one.score < 1)  # ours leaves the others out: they have no log-odds
    model = GLM(
        one.label[inside],
        np.column_stack([np.ones(inside.sum()), log_odds(one.score[inside])]),
        families.Binomial(),
    )
    theirs, robust = (model.fit(tol=1e-14, maxiter=100, cov_type=each) for each in ("nonrobust", "HC0"))
    slope, intercept = found.slope, found.intercept
    errors = [intercept.standard_error, slope.standard_error]
    ours = np.array([intercept.estimate, slope.estimate, *errors], np.float64)
    return compare(ours, [*theirs.params, *np.maximum(theirs.bse, robust.bse)])


def _case(peer: str, theirs: str, ours: str, made: Any, run: Any, **options: Any) -> Case:
    return Case(peer, theirs, ours, made, partial(run, **options))


def _eight() -> tuple[Paired, ...]:
    return tuple(one for one in inputs.paired() if len(one.first) <= 8)


CASES = (
    *(
        _case(
            "scipy",
            f'ttest_rel(a, b, alternative="{side}")',
            f'paired_t_test(a, b, alternative="{side}")',
            inputs.paired,
            t_test,
            alternative=side,
        )
        for side in ("two-sided", "greater", "less")
    ),
    _case("scipy", "permutation_test((a, b), mean)", "paired_permutation(a, b)", _eight, permutation),
    _case("scipy", "bootstrap((a - b,), mean)", "paired_bootstrap(a, b)", inputs.paired, bootstrap),
    _case(
        "scipy",
        "false_discovery_control(p)",
        'adjusted_p_values(p, "benjamini-hochberg")',
        inputs.p_values,
        discoveries,
    ),
    _case(
        "statsmodels",
        "DescrStatsW(a).tconfint_mean()",
        "mean_interval(a)",
        inputs.paired,
        interval_of_mean,
    ),
    *(
        _case(
            "statsmodels",
            f"mcnemar(table, exact={exact})",
            f"mcnemar(a, b, exact={exact})",
            lambda: tuple(one for one in inputs.paired() if len(one.first) == 80),
            mcnemar_test,
            exact=exact,
        )
        for exact in (True, False)
    ),
    *(
        _case(
            "statsmodels",
            f'multipletests(p, method="{name}")',
            f'adjusted_p_values(p, "{ours}")',
            inputs.p_values,
            adjusted,
            method=ours,
        )
        for name, ours in (("holm", "holm"), ("fdr_bh", "benjamini-hochberg"))
    ),
    _case(
        "statsmodels",
        "TTestPower().power(d, n, 0.05)",
        "minimum_detectable_difference(1, n).detectable",
        inputs.paired,
        detectable,
    ),
    *(
        _case(
            "statsmodels",
            f'proportion_confint(k, n, method="{method}")',
            f'bin_intervals(bins, method="{method}")',
            inputs.binary,
            proportions,
            method=method,
        )
        for method in ("wilson", "normal")
    ),
    _case(
        "statsmodels",
        'larger errors of GLM(y, logit(q), Binomial()).fit() and .fit(cov_type="HC0")',
        "cox_calibration(y, q)",
        lambda: inputs.fits()[:5],
        logit,
    ),
)
