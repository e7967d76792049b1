"""Estimate proportions and counts from a model's scores and a labeled subsample."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike

from calibrant._checks import Floats, Integers, one_of, proportion
from calibrant.estimation.cautions import cautions
from calibrant.estimation.contrasts import (
    Groups,
    Part,
    adjusted,
    adjusted_trends,
    differences,
    groups_of,
    part_of,
    trends,
)
from calibrant.estimation.designs import Design, combine_rounds, design_of, shift_of_draws
from calibrant.estimation.results import ALL, CorrectedCounts, CorrectedMean
from calibrant.estimation.results.groups import GroupDifference, GroupTrend
from calibrant.estimation.sampling import (
    ENOUGH,
    EQUAL,
    Classes,
    Sample,
    ShareModel,
    bands_of_chances,
    cluster_sums,
    design_effect,
    effective_clusters,
    likely_labels,
    moments_of,
    parts_of,
    variance_of,
)
from calibrant.estimation.selection import (
    checked_sample,
    codes_of,
    kind_of_score,
    mean_error_warning,
    rates_differ,
    selection_warning,
    weights_warning,
)
from calibrant.estimation.sharing import SharedIntervals, shared_intervals
from calibrant.estimation.shifted_shares import OUTSIDE, SHIFTS, own_rates, shifted_share, with_classes
from calibrant.exceptions import InputError
from calibrant.metrics.tails import (
    quantile,
)
from calibrant.records import Quantity
from calibrant.records.words import counted

CONTRADICTED = "labels of these documents contradict the whole interval, so the method's assumption is wrong"
METHODS = ("uncorrected", "labels", "ppi", "ppi++", "dsl", *SHIFTS)
POPULATIONS = ("corpus", "superpopulation")
SAMPLINGS = ("detect", "fixed", "independent")
FACTORS = {"labels": 0.0, "ppi": 1.0, "ppi++": 1.0, "dsl": 1.0}  # weights of scores; that of ppi++ is tuned
FEWEST = 2
DOUBT = 0.01  # significance from which labels contradict prior-shift
SLOPE_PRIOR = 5.0  # clusters that the slope of labels counts as in the weight of the scores
REASONS = {
    "ppi++": "the scores count as far as the labels show that they help, so its interval is about as wide as "
    "that of the labels alone, or narrower",
    "dsl": "it weights labels by one over the probability of being labeled, as their selection requires",
    "labels": "the labels alone determine it",
}
UNEQUAL = "documents were chosen to be labeled with unequal probabilities: see dsl and labels"
CERTAIN = "all scores are 0 or 1, so they state no uncertainty: read an estimate that labels correct"
SHIFTED = "labels contradict it: error rates of this period are not those of the others; read ppi++ (or dsl)"
ELSEWHERE = "labels show that error rates differ between periods, so this share may be far off"
UNCHECKED = "no labels show if periods without labels have the error rates of the others, as this assumes"
FORM = "; em also assumes that one temperature and one bias per class recalibrate scores: compare prior-shift"
DOUBTS = (SHIFTED, ELSEWHERE, UNCHECKED + FORM, UNCHECKED)
SOME_GROUPS = (
    "some groups have no labels, and this is not by chance: labels of the other groups tell nothing of them"
)
ONE_CLUSTER = "all labels are in one cluster, so the variation between clusters is unknown"


@dataclass(frozen=True)
class Study:
    """Data and settings that the estimates of all periods share."""

    whole: Sample  # all documents
    unequal: bool  # if selection probabilities differ, which periods do not account for
    everywhere: bool  # if documents of all periods were selected
    design: Design
    factor: float | None  # the weight of the scores that makes the variance least; None with few labels
    corpus: bool
    level: float
    lends: bool = False  # moments of all labels, to a period with few of one kind
    trust: float = 0.0  # in the uncertainty that the scores state, of unequal probabilities
    missing: str | None = None  # why the labels say nothing of all documents
    normal: bool = False  # intervals with the normal critical value, for comparisons of groups


def corrected_counts(
    scores: ArrayLike,
    labelled: ArrayLike,
    labels: ArrayLike,
    *,
    periods: ArrayLike | Groups | None = None,
    inclusion_probabilities: ArrayLike | None = None,
    strata: ArrayLike | None = None,
    rounds: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    document_clusters: ArrayLike | None = None,
    classes: Classes | None = None,
    methods: Sequence[str] | str | None = None,
    population: str = "corpus",
    sampling: str = "detect",
    level: float = 0.95,
    weight: float | None = None,
    compare: bool = False,
    baseline: str | None = None,
) -> CorrectedCounts:
    """Estimate the proportion and the number of positive documents, in total and by period.

    - ``uncorrected``: the mean score. Its interval treats the scores as correct.
    - ``labels``: only the labeled documents.
    - ``ppi``: prediction-powered inference: the mean score plus the mean of label minus score.
    - ``ppi++``: the same with scores multiplied by the factor that minimizes the variance (0: labels only).
    - ``dsl``: design-based supervised learning: label minus score is weighted by one over the selection
      probability, so documents may have unequal, known selection probabilities.
    - ``prior-shift``: adjusted counts: the mean score, rescaled by the labeled documents' mean scores of
      positives and of negatives. A period needs no labels, but the distributions of the scores of positives
      and of negatives must be the same in all periods. A period with 30 labels of each kind has its own.
    - ``em``: maximum likelihood by expectation-maximization, under the same condition, after a recalibration
      of the scores on the labels (one temperature, one bias per class), whose form must be right.

    ``shift_warning`` says if labels contradict the condition of the last two (1 % level): 0.5 % of estimates
    for 2 to 8 periods of 20 to 300 labels if it is true.

    Parameters
    ----------
    scores
        (N,) probabilities of all documents.
    labelled
        (n,) positions of the labeled documents, from 0.
    labels
        (n,) labels, 0 or 1.
    periods
        (N,) periods of the documents; None for one period. The total does not depend on them, unless periods
        were labeled at different rates (``rates_warning``).
    inclusion_probabilities
        (n,) known selection probabilities of the labeled documents. None: each document of a period had the
        same probability, n / N.
    strata
        (n,) strata of the labeled documents, of which a fixed number was drawn from each; the probabilities
        of a stratum may differ. None: see ``sampling``.
    rounds
        (n,) numbers of the rounds in which the labeled documents were drawn. Each round draws from documents
        without an earlier one, and its probabilities may depend on earlier labels. None: one round.
    clusters
        (n,) clusters of the labeled documents, if labels are dependent.
    document_clusters
        (N,) clusters of all documents, which ``prior-shift`` and ``em`` need if labels have clusters.
    classes
        Scores and labels of all classes, one of which ``scores`` and ``labels`` are, for ``prior-shift`` and
        ``em``. None: there are two classes.
    methods
        Methods to use, or one. None: all but ``prior-shift`` and ``em``; ``reported`` then names the one to
        report. ``"all"``: also these two if a period has fewer than 2 labels.
    population
        ``"corpus"``: the documents given are all that is asked about, and a document with a label is
        certain. ``"superpopulation"``: they are a sample of more.
    sampling
        How documents with unequal ``inclusion_probabilities`` were chosen, which decides the variance.
        ``"independent"``: each document by itself (Poisson sampling). ``"fixed"``: a fixed number of each
        group of documents with one probability (stratified sampling). ``"detect"``: fixed if the numbers of
        labels divided by their probabilities are whole and add up to the documents, else independent. With
        equal probabilities, labels are a simple random sample of each period.
    level
        Level of the intervals.
    weight
        Weight of the scores in ``ppi++``. None: that which minimizes the variance.
    compare
        Compare the periods, too: all pairs of up to 10 groups, or consecutive periods of time, and their
        linear trend.
    baseline
        Group with which each other one is compared; implies ``compare``.

    Returns
    -------
    CorrectedCounts
        In all periods together, then in each, by each method.

    Raises
    ------
    InputError
        For a document that is labeled twice.

    Notes
    -----
    An interval contains the proportions whose distance from the estimate is less than a critical number of
    standard errors, where the standard error is that *at this proportion*, not at the estimate. For labels
    alone in a simple random sample, this is Wilson's interval. With clusters, the variance is multiplied by
    the design effect and the critical value is Student's, as Korn and Graubard do with an effective sample
    size. Therefore an interval has width 0 only if all documents are labeled. Sums of clusters have the
    correction of Bell and McCaffrey (CR2). The interval of ``prior-shift`` is Fieller's, that of ``em``
    comes from the delta method.

    With unequal probabilities, scores are priors, as far as labels bear out the uncertainty that they state.
    With ``ppi++``, periods share the weight of the scores. From 5 periods on, those of a simple sample also
    share the variance, unless it differs significantly, see `shared_intervals`; they never share the mean.
    Intervals of differences and trends follow from those of the periods, see `combined`.

    ``ppi++`` gives the scores weight 0 with fewer than 5 positive or 5 negative labels. With clusters, its
    weight comes from the sums of clusters, and is from 0 to 1.

    References
    ----------
    Angelopoulos, Bates, Fannjiang, Jordan and Zrnic (2023), "Prediction-powered inference", Science 382;
    Angelopoulos, Duchi and Zrnic (2023), "PPI++: efficient prediction-powered inference"; Egami, Hinck,
    Stewart and Wei (2023), "Using imperfect surrogates for downstream inference: design-based supervised
    learning", NeurIPS; Forman (2008), "Quantifying counts and costs via classification"; Bella et al.
    (2010), "Quantification via probability estimators", for the adjusted count; Saerens, Latinne and
    Decaestecker (2002), "Adjusting the outputs of a classifier to new a priori probabilities"; Wilson
    (1927); Korn and Graubard (1998), "Confidence intervals for proportions with small expected number of
    positive counts estimated from survey data", Survey Methodology 24; Bell and McCaffrey (2002), "Bias
    reduction in standard errors for linear regression with multi-stage samples", Survey Methodology 28.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.random(2000) < 0.3
    >>> scores = np.where(truth, 0.6, 0.4)  # too high
    >>> counts = corrected_counts(scores, np.arange(200), truth[:200], methods=["uncorrected", "ppi++"])
    >>> [(one.method, round(one.count.estimate)) for one in counts.estimates], int(truth.sum())
    ([('uncorrected', 921), ('ppi++', 604)], 604)
    """
    every = methods is None or methods == "all" or list(methods) == ["all"]
    named = METHODS if every or methods is None else (methods,) if isinstance(methods, str) else methods
    for method in named:
        one_of(method, METHODS, "method")
    shifts = any(method in SHIFTS for method in named)
    one_of(population, POPULATIONS, "population")
    one_of(sampling, SAMPLINGS, "sampling")
    proportion(level, "level")
    whole = checked_sample(scores, labelled, labels, inclusion_probabilities, clusters)
    if shifts:
        whole = with_classes(whole, classes, document_clusters)
    groups = groups_of(periods, len(whole.score))
    code, names = groups.code, groups.names
    stratum, turn = (
        codes_of(codes, name, len(whole.rows)) for codes, name in ((strata, "strata"), (rounds, "rounds"))
    )
    if turn is not None:
        if inclusion_probabilities is None:
            hint = "give the probabilities with which each round drew its documents"
            raise InputError("rounds have no inclusion_probabilities", hint, code="parameter")
        whole = combine_rounds(whole, turn)
    unequal = inclusion_probabilities is not None and not whole.equal
    contradicted = None if inclusion_probabilities is None else weights_warning(whole)
    trust, stratified = 0.0, False
    if unequal:
        likely, trust = likely_labels(whole)
        whole = replace(whole, likely=likely)
        parts = parts_of(whole, code, len(names))
    else:  # the numbers of labels say more than equal probabilities that someone states
        parts = [_simple(one) for one in parts_of(whole, code, len(names))]
        counts = np.array([[len(one.score), len(one.rows)] for one in parts])
        dependent = len(whole.rows) / effective_clusters([whole])
        stratified = rates_differ(counts[:, 0], counts[:, 1], dependent)
        whole = replace(whole, chance=(counts[:, 1] / counts[:, 0])[code[whole.rows]])
        whole = whole if stratified else _simple(whole)
    known = [one for one in parts if len(one.rows)]
    sparse = any(len(one.rows) < FEWEST for one in parts)
    design = design_of(whole, sampling, stratum, turn) if unequal else Design("simple")
    study = Study(
        whole=whole,
        unequal=unequal,
        everywhere=unequal or not stratified or all(len(one.rows) for one in parts),
        design=design,
        factor=_tuned_factor(parts if stratified else [whole], whole) if weight is None else weight,
        corpus=population == "corpus",
        level=level,
        trust=trust,
        missing=SOME_GROUPS if stratified and sparse else None,
    )
    cells: list[tuple[str, Sample, list[Sample]]] = [(ALL, whole, parts if stratified else [whole])]
    if periods is not None:
        cells += [(name, one, [one]) for name, one in zip(names, parts, strict=True)]
    # The total does not depend on the groups, and groups share the weight that is best within them.
    inside = replace(study, factor=_tuned_factor(parts, whole)) if weight is None else study
    shared = _shared(whole, code, inside) if periods is not None and "ppi++" in named else None
    shifts = shifts and (not every or (methods is not None and sparse))
    doubts = _doubts(parts, code, study) if shifts else [None] * len(cells)
    estimates = [
        _estimate(period, one, own, method, inside if number else study, doubt, _ends(shared, number, method))
        for number, ((period, one, own), doubt) in enumerate(zip(cells, doubts, strict=False))
        for method in named
        if method not in SHIFTS or shifts
    ]
    reported = _reported(estimates, unequal) if methods is None else None
    compared: dict[str, Any] = {}
    if periods is not None and (compare or baseline is not None):
        used = [one for one in named if one in FACTORS and reported in (None, one)]
        compared = _compared(groups, estimates, parts, used, inside, shared, baseline)
    return CorrectedCounts(
        documents=len(whole.score),
        labelled=len(whole.rows),
        population=population,
        clusters=None if whole.cluster is None else len(np.unique(whole.cluster)),
        sampling=design.name,
        sampling_detected=design.name != "simple" and sampling == "detect",
        level=level,
        command=None,
        selection_warning=contradicted
        or (None if unequal else selection_warning(known if stratified else [_simple(whole)])),
        rates_warning=_of_rates(parts, names) if stratified and not set(named) <= set(SHIFTS) else None,
        score_warning=kind_of_score(whole),
        shared_variance=shared is not None,
        estimates=tuple(estimates),
        reported=reported,
        reported_because=None if reported is None else REASONS[reported],
        **compared,
    )


def _compared(
    groups: Groups,
    estimates: Sequence[CorrectedMean],
    samples: Sequence[Sample],
    methods: Sequence[str],
    study: Study,
    shared: SharedIntervals | None,
    baseline: str | None,
) -> dict[str, Any]:
    """Return the differences and trends of groups, by the fields of `CorrectedCounts`."""
    found: list[GroupDifference] = []
    lines: list[GroupTrend] = []
    for method in methods:
        rows = [one for one in estimates if one.method == method][1:]
        factor = (study.factor or 0.0) if method == "ppi++" else FACTORS[method]
        pooled = shared is not None and method == "ppi++"
        sums = _influences(samples, factor, study.whole)
        parts = []
        for number, (row, sums_of) in enumerate(zip(rows, sums, strict=True), 1):
            one, part = samples[number - 1], None
            if shared is not None and _ends(shared, number, method) is not None:
                arrays = shared.below, shared.above, shared.error, shared.freedom
                below, above, error, freedom = (float(values[number - 1]) for values in arrays)
                part = Part(float(row.share), below, above, error, freedom, sums_of)
            elif row.share.low is not None:
                share = _proportion(row.period, one, [one], method, replace(study, normal=True))
                part = part_of(share, study.level, row.effective or 2.0, sums_of)
                part = part._replace(value=float(row.share))
            parts.append(part)
        given: dict[str, Any] = {"level": study.level, "pooled": pooled}
        found += differences(groups, parts, method, baseline=baseline, **given)
        lines += trends(groups, parts, method, **given)
    return {"differences": adjusted(found, study.level), "trends": adjusted_trends(lines)}


def _influences(samples: Sequence[Sample], factor: float, whole: Sample) -> list[Floats | None]:
    """Return the influence of each cluster on the groups' estimates; None without clusters."""
    if whole.cluster is None:
        return [None] * len(samples)
    found: list[Floats | None] = []
    for one in samples:
        x, part = one.label - factor * one.scores, one.weight / max(one.weight.sum(), EQUAL)
        assert one.cluster is not None
        clusters = int(whole.cluster.max()) + 1
        found.append(np.bincount(one.cluster, part * (x - part @ x), clusters).astype(np.float64))
    return found


def _reported(estimates: Sequence[CorrectedMean], unequal: bool) -> str | None:
    """Return the method to report: the first in a fixed order that has an estimate."""
    defined = {one.method for one in estimates if one.share.estimate is not None}
    order = ("dsl", "labels") if unequal else ("ppi++", "labels")
    return next((method for method in order if method in defined), None)


def _of_rates(parts: Sequence[Sample], names: Sequence[str]) -> str:
    """Return a warning of groups that were labeled at different rates."""
    rates = np.array([len(one.rows) / len(one.score) for one in parts])
    least, most = int(rates.argmin()), int(rates.argmax())
    return (
        f"groups were labeled at different rates: {100 * rates[least]:.2g} % of {names[least]} and "
        f"{100 * rates[most]:.2g} % of {names[most]}. The total weights groups by their documents; give the "
        "probabilities (inclusion_probability) to estimate it without the groups"
    )


def _shared(whole: Sample, code: Integers, study: Study) -> SharedIntervals | None:
    """Return the groups' intervals of ppi++; None if labels are no simple sample, or scores do not help."""
    if study.unequal or whole.cluster is not None or not study.factor:
        return None
    count = int(code.max()) + 1
    found = shared_intervals(whole, code, count, study.factor, corpus=study.corpus, level=study.level)
    return found if found.shared else None


def _ends(shared: SharedIntervals | None, number: int, method: str) -> tuple[float, float] | None:
    """Return the shared interval of a group, counted from 1; None if it has none."""
    if shared is None or not number or method != "ppi++" or math.isnan(shared.low[number - 1]):
        return None
    return float(shared.low[number - 1]), float(shared.high[number - 1])


def _simple(sample: Sample) -> Sample:
    """Return the sample with equal probabilities of being labeled."""
    return replace(sample, chance=np.full(len(sample.rows), len(sample.rows) / len(sample.score)))


@dataclass(frozen=True)
class Piece:
    """A part of an estimate: its sample, the sample that lends it moments, and what its weights add up to."""

    part: Sample
    lender: Sample
    total: float

    @property
    def borrows(self) -> bool:
        """True if the part has too few labels of one kind for its own moments."""
        return self.lender is not self.part and min(self.part.effective_kinds()) < ENOUGH


def _tuned_factor(parts: Sequence[Sample], whole: Sample) -> float | None:
    """The weight of the scores that makes the variance least, within periods; one for all of them."""
    if whole.few:
        return None
    known = [one for one in parts if len(one.rows) >= FEWEST]
    score = np.concatenate([np.zeros(0), *(one.scores - one.scores.mean() for one in known)])
    label = np.concatenate([np.zeros(0), *(one.label - one.label.mean() for one in known)])
    if not score @ score > EQUAL**2 * len(whole.rows):
        return 0.0
    slope = float(score @ label / (score @ score))
    if whole.cluster is None:
        return slope
    # With clusters, the variance is that of the sums of clusters. The slope of few sums is uncertain, so it
    # is averaged with the slope of labels, and limited to weights between those of `labels` and `ppi`.
    sums, of_labels = (cluster_sums(known, deviations) for deviations in (score, label))
    units, spread = effective_clusters(known), float(sums @ sums)
    own = float(sums @ of_labels) / spread if spread > EQUAL**2 else slope
    return min(1.0, max(0.0, (units * own + SLOPE_PRIOR * slope) / (units + SLOPE_PRIOR)))


def _estimate(
    period: str,
    sample: Sample,
    parts: Sequence[Sample],
    method: str,
    study: Study,
    doubt: str | None = None,
    ends: tuple[float, float] | None = None,
) -> CorrectedMean:
    documents, labelled = len(sample.score), len(sample.rows)
    estimate, warnings = _proportion(period, sample, parts, method, study, ends), dict[str, str]()
    effective = effective_clusters([sample]) if method != "uncorrected" and labelled else None
    least, most = 0.0, 1.0
    if study.corpus and method != "uncorrected":  # labels that were seen are certain
        negative, positive = sample.kinds
        least, most = positive / documents, 1 - negative / documents
        outside = max((estimate.low or 0) - most, least - (1 if estimate.high is None else estimate.high))
        if method in SHIFTS and labelled < documents and outside > 1e-9:
            estimate = Quantity(None, reason=CONTRADICTED)
    rates = None if method not in SHIFTS else "own" if _own(sample, study) else "pooled"
    if estimate.estimate is not None and method != "uncorrected":
        if ends is None:  # groups that share their variance do not need it
            warnings |= cautions(
                study.whole if rates == "pooled" else sample,
                method,
                grouped=study.design.group is not None,
                corpus=study.corpus,
                untuned=method == "ppi++" and study.factor is None,
            )
        if doubt and rates == "pooled":
            form = FORM if (method, doubt) == ("em", UNCHECKED) else ""
            warnings |= {"shift_warning": doubt + form}
    if method == "uncorrected" and (text := mean_error_warning(sample)) is not None:
        warnings |= {"uncorrected_warning": text}
    values = estimate.estimate, estimate.low, estimate.high
    mean, low, high = (None if end is None else min(most, max(least, end)) for end in values)
    counts = [None if share is None else share * documents for share in (mean, low, high)]
    return CorrectedMean(
        period=period,
        method=method,
        documents=documents,
        labelled=labelled,
        effective=effective,
        count=Quantity(counts[0], counts[1], counts[2], reason=estimate.reason),
        share=Quantity(mean, low, high, reason=estimate.reason),
        weight=(study.factor or 0.0) if method == "ppi++" else FACTORS.get(method),
        rates=rates,
        **cast("dict[str, Any]", warnings),
    )


def _own(sample: Sample, study: Study) -> bool:
    """Return whether `prior-shift` and `em` use the error rates of the labels of these documents alone."""
    return sample is not study.whole and own_rates(sample)


def _doubts(strata: Sequence[Sample], code: Integers, study: Study) -> list[str | None]:
    """Return warnings of `SHIFTS` for all documents and for each period: error rates may differ."""
    known = [len(one.rows) >= FEWEST for one in strata]
    assert study.whole.classes is not None
    doubt = DOUBT / max(1, study.whole.classes.score.shape[1] - 1)
    places = code[study.whole.rows]

    def wrong(significance: float) -> list[bool]:
        wholes = (study.whole.labelled(places != number) for number in range(len(strata)))
        others = (replace(study, whole=one, level=1 - significance) for one in wholes)
        pairs = zip(strata, others, strict=True)
        return [one and _contradicts(*pair) for one, pair in zip(known, pairs, strict=True)]

    differ = any(wrong(doubt / max(1, sum(known))))
    general = ELSEWHERE if differ else UNCHECKED
    own = zip(known, wrong(doubt), strict=True)
    return [
        None if all(known) else general,  # labels of all periods have their error rates
        *(SHIFTED if bad else None if one and not differ else general for one, bad in own),
    ]


def _contradicts(sample: Sample, others: Study) -> bool:
    """Return whether labels of a period contradict its share by ``prior-shift`` with the other labels."""
    unlabeled = sample.labelled(np.zeros(len(sample.rows), np.bool_))
    shift = _estimate("", unlabeled, [], "prior-shift", others).share
    if shift.low is None:
        return shift.reason == OUTSIDE
    method = "dsl" if others.unequal else "ppi++"
    own = _estimate("", sample, [sample], method, replace(others, lends=True)).share
    ends = ((one.estimate or 0.0, one.low or 0.0, one.high or 0.0) for one in (shift, own))
    (less, _, high), (more, low, _) = sorted(ends)
    return own.low is not None and more - less > math.hypot(more - low, high - less)


def _proportion(
    period: str,
    sample: Sample,
    parts: Sequence[Sample],
    method: str,
    study: Study,
    ends: tuple[float, float] | None = None,
) -> Quantity:
    if method == "uncorrected":
        return _uncorrected(sample, study)
    if method in SHIFTS:
        own = _own(sample, study)
        source = sample if own else study.whole
        within = own or (sample is source and study.everywhere)
        place = "" if sample is study.whole else f"period {period}"
        given: dict[str, Any] = {"corpus": study.corpus, "level": study.level}
        return shifted_share(method, source, sample, place, within, **given)
    if len(sample.rows) < FEWEST:
        return Quantity(None, reason=f"{counted(len(sample.rows), 'label')}: at least {FEWEST} are needed")
    if study.missing is not None and sample is study.whole:
        return Quantity(None, reason=study.missing)
    equal = sample.equal if sample is not study.whole else not study.unequal
    if method == "dsl" and not equal:
        return _weighted(sample, study)
    factor = (study.factor or 0.0) if method == "ppi++" else FACTORS[method]
    if not equal and method == "labels" and study.design.group is not None and sample is study.whole:
        return _by_groups(sample, study, 0.0)
    if not equal:
        return (
            _by_bands(sample, study, 0.0, "whole") if method == "labels" else Quantity(None, reason=UNEQUAL)
        )
    if ends is not None:
        mean = factor * float(sample.score.mean()) + float((sample.label - factor * sample.scores).mean())
        return Quantity(mean, min(mean, ends[0]), max(mean, ends[1]))
    size = np.array([len(one.score) for one in parts]) / len(sample.score)
    # A period has its own errors; labels of the others tell of the total alone.
    lenders = [study.whole if study.lends or len(parts) > 1 else one for one in parts]
    pieces = [Piece(one, lent, float(one.weight.sum())) for one, lent in zip(parts, lenders, strict=True)]
    return _inverted(pieces, size, sample, factor, study)


def _uncorrected(sample: Sample, study: Study) -> Quantity:
    noise = sample.score * (1 - sample.score) if study.corpus else np.full(1, sample.score.var())
    scale = len(sample.score) ** 2 if study.corpus else len(sample.score)
    half = quantile(study.level, 0) * math.sqrt(float(noise.sum()) / scale)
    mean = float(sample.score.mean())
    if not (sample.score % 1).any():
        return Quantity(mean, reason=CERTAIN)
    return Quantity(mean, mean - half, mean + half)


def _weighted(sample: Sample, study: Study) -> Quantity:
    """Design-based supervised learning: the mean of pseudo-outcomes, with the variance of the design."""
    if study.design.group is not None and sample is study.whole:
        return _by_groups(sample, study, 1.0)
    # Independent draws; or a period of groups of fixed sizes, of which a random number is in the period.
    return _by_bands(sample, study, 1.0, "none")


def _by_groups(sample: Sample, study: Study, factor: float) -> Quantity:
    """An estimate from a fixed number of labels in each group of documents."""
    assert study.design.group is not None
    parts = [sample.labelled(study.design.group == number) for number in range(study.design.group.max() + 1)]
    totals = [float(one.weight.sum()) for one in parts]
    pieces = [Piece(one, one, total) for one, total in zip(parts, totals, strict=True)]
    return _inverted(pieces, np.array(totals) / sum(totals), sample, factor, study)


def _by_bands(sample: Sample, study: Study, factor: float, center: Literal["whole", "none"]) -> Quantity:
    """An estimate from independent draws with unequal probabilities, of which each band has its variance."""
    if center == "none" and study.design.draws is not None and sample is study.whole:
        residual = sample.label - factor * sample.scores
        sample = replace(sample, shift=shift_of_draws(sample, residual, study.design.draws))
    bands = bands_of_chances(sample)
    represented = float(sample.weight.sum())
    every = float(len(sample.score)) if center == "none" else represented
    size = np.array([one.weight.sum() / represented for one in bands])
    sure = np.array([one.chance.min() >= 0.5 for one in bands])  # labels tell their sizes
    known = float(size[sure].sum()) * represented / every
    if 0 < known < 1 and not sure.all():
        size = np.where(sure, size * represented / every, size * (1 - known) / size[~sure].sum())
    pieces = [Piece(one, one, every * fraction) for one, fraction in zip(bands, size.tolist(), strict=True)]
    return _inverted(pieces, size, sample, factor, study, center=center)


def _inverted(
    pieces: Sequence[Piece],
    size: Floats,
    sample: Sample,
    factor: float,
    study: Study,
    *,
    center: Literal["part", "whole", "none"] = "part",
) -> Quantity:
    """An estimate, and the shares that a test with the variance at that share does not reject."""
    offset = factor * float(sample.score.mean())
    x = [one.part.label - factor * one.part.scores for one in pieces]
    means = np.array([one.part.weight @ own / one.total for one, own in zip(pieces, x, strict=True)])
    estimate = offset + float(size @ means)
    parts = [one.part for one in pieces]
    tilt = size / [len(one.rows) for one in parts]
    if study.corpus:  # documents without a label per label: a part that is labeled as a whole is known
        tilt *= [1 - min(1, len(one.rows) / one.weight.sum()) for one in parts]
    unknown = np.sign(tilt)
    effective = effective_clusters(parts)
    if sample.cluster is not None and effective < 1 + 1e-9:
        return Quantity(estimate, reason=ONE_CLUSTER)
    middle = {"part": means, "whole": np.full(len(x), size @ means), "none": np.zeros(len(x))}[center]
    residuals = [
        own - one - (0.0 if part.shift is None else part.shift)
        for own, one, part in zip(x, middle, parts, strict=True)
    ]
    overall = (sample.kinds[1] + 0.5) / (len(sample.rows) + 1)
    prior = [
        overall if one.likely is None else float(np.average(one.likely, weights=one.weight)) for one in parts
    ]
    least, most = (sample.kinds[1], sample.kinds[0]) if study.corpus else (0, 0)
    model = ShareModel(
        estimate=min(1 - most / len(sample.score), max(least / len(sample.score), estimate)),
        parts=[moments_of(one.part, one.lender, factor, one.total) for one in pieces],
        size=size.tolist(),
        start=[
            (one.kinds[1] + expected * added) / (len(one.rows) + added)
            for one, expected, added in zip(parts, prior, unknown.tolist(), strict=True)
        ],
        tilt=((tilt / (tilt.max() or 1.0)) ** (1 - study.trust / 2) * unknown).tolist(),
        center=center,
    )
    lent = factor > 0 and not study.lends and any(one.borrows for one in pieces)
    own = [variance_of(one.part, error, one.total) for one, error in zip(pieces, residuals, strict=True)]
    if center == "none":
        seen = [float(np.average(one.label, weights=one.weight)) for one in parts]
        model = replace(model, offset=model.estimate - float(size @ seen))
    model = replace(
        model,
        inflation=design_effect(parts, residuals) * (model.excess(own) if lent else 1.0),
        extra=0.0 if study.corpus else 1 / len(sample.score),
    )
    fixed = len(parts) if center == "part" else 1
    units = effective if sample.cluster is not None else max(FEWEST, effective - fixed + 1)
    critical = quantile(study.level, 0 if study.normal else units)
    low, high = model.limits(critical)
    error = model.at(0)[1] * math.sqrt(effective / max(1.0, effective - 1))
    return Quantity(estimate, low, high, error)
