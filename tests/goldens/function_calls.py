"""Calls of every public function and class that computes, on fixed inputs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from types import ModuleType
from typing import Any

import numpy as np

from calibrant import estimation, evaluation, metrics, recalibrate, structures
from calibrant.recalibrate.methods import METHODS
from calibrant.structures import posterior
from calibrant.structures.posterior import coreference_queries, dependency_queries, queries

Calls = dict[str, Callable[[], Any]]
CLASSES = ("red", "green", "blue")
FEW: dict[str, Any] = {"samples": 60, "resamples": 40}


@dataclass(frozen=True)
class Inputs:
    """Pairs of n scores and labels with weights and clusters, and of 30 items with three classes."""

    score: Any
    other: Any
    label: Any
    weight: Any
    cluster: Any
    code: Any
    prob: Any
    answer: Any

    @property
    def more(self) -> dict[str, Any]:
        """Arguments of functions besides scores and labels."""
        return {"sample_weight": self.weight, "clusters": self.cluster}


def bound(function: Callable[[Any], Any], value: Any) -> Callable[[], Any]:
    """Return a call of a function with a value, so that loops can make calls."""
    return lambda: function(value)


def inputs(n: int = 60, seed: int = 7) -> Inputs:
    """Draw the inputs; scores have three digits, so that some are equal."""
    random = np.random.default_rng(seed)
    score = random.beta(0.8, 0.8, n).round(3)
    label = (random.random(n) < 0.2 + 0.5 * score).astype(int)
    other = (0.5 * score + 0.5 * random.random(n)).round(3)
    prob = random.dirichlet([2, 1, 0.5], 30)
    answer = np.array([random.choice(3, p=each) for each in prob])
    weight = random.integers(1, 4, n).astype(float)
    return Inputs(score, other, label, weight, np.arange(n) // 3, np.arange(n) % 3, prob, answer)


def calls() -> dict[str, Calls]:
    """Return the calls by package; the text after a colon distinguishes the calls of one function."""
    given = inputs()
    return {
        "metrics": {
            **_of_pairs(given),
            **_of_sources(given),
            **_of_classes(given),
            **_tallies(given),
            **_periods(),
        },
        "recalibrate": {**_recalibrators(given), **_recalibrating(given)},
        "structures": _entities(),
        "posterior": {**_chains(), **_antecedents(), **_trees()},
        "queries": _queries(),
        "coreference_queries": _entity_queries(),
        "dependency_queries": _tree_queries(),
        "estimation": {**_propagating(given), **_counting(given), **_judging()},
        "evaluation": {
            **_agreeing(),
            **_comparing(given),
            **_deciding(given),
            **_spans_of_systems(),
            **_monitoring(given),
        },
    }


def _spans_of_systems() -> Calls:
    """Entities and surface forms of twenty sentences."""
    gold = ["B-x", "I-x", "O", "B-y", "O", "O"] * 20
    found = ["B-x", "I-x", "O", "O", "O", "B-y", "B-x", "O", "O", "B-y", "I-y", "O"] * 10
    words = [f"word {place % 7}" for place in range(len(gold))]
    sentences = np.arange(len(gold)) // 6
    sums = evaluation.entity_sums(gold, found, sentences)
    return {
        "entity_sums": lambda: sums,
        "surface_sums": lambda: evaluation.surface_sums(gold, found, sentences, words),
        "form_clusters": lambda: evaluation.form_clusters([gold, found], sentences, words),
        "entity_scores": lambda: evaluation.entity_scores(sums, clusters=sentences),
    }


def _variants(module: ModuleType, name: str, given: Inputs, *args: Any, **options: Any) -> Calls:
    """Call a function of labels and scores without, with weights, and with clusters, where it takes them."""
    function = getattr(module, name)
    taken = inspect.signature(function).parameters
    options |= {key: value for key, value in {**FEW, "seed": 1}.items() if key in taken}
    found: Calls = {name: lambda: function(given.label, given.score, *args, **options)}
    for key, value in given.more.items():
        if key in taken:
            more = {**options, key: value}
            found[f"{name}:{key}"] = bound(
                lambda more: function(given.label, given.score, *args, **more), more
            )
    return found


def _of_pairs(given: Inputs) -> Calls:
    names = (
        "brier_score",
        "calibration_in_the_large",
        "cox_calibration",
        "debiased_squared_error",
        "expected_calibration_error",
        "isotonic_bins",
        "kumar_debiased_squared_error",
        "log_loss",
        "max_calibration_error",
        "plug_in_calibration_error",
        "scores",
        "smooth_calibration_error",
        "uniform_bins",
    )
    found: Calls = {}
    for name in names:
        found |= _variants(metrics, name, given)
    for method in ("inverted", "sampling", "bootstrap"):
        part = _variants(metrics, "calibration_error", given, method=method)
        found |= {f"{key}:{method}": call for key, call in part.items()}
    found |= _variants(metrics, "calibration_difference", given, given.other)
    found |= _variants(metrics, "adaptive_bins", given, size=20)
    ones, half = np.ones(60), np.full(60, 0.5)
    found |= {
        "scores:one label": lambda: metrics.scores(ones, given.score),
        "calibration_error:one label": lambda: metrics.calibration_error(ones, given.score),
        "cox_calibration:one label": lambda: metrics.cox_calibration(ones, given.score),
        "cox_calibration:constant": lambda: metrics.cox_calibration(given.label, half),
        "log_loss:infinite": lambda: metrics.log_loss([0, 1], [1.0, 0.5]),
        "smooth_curve": lambda: _thinned(
            metrics.smooth_curve(given.label, given.score, resamples=40, seed=1)
        ),
        "smooth_curve:clusters": lambda: _thinned(
            metrics.smooth_curve(given.label, given.score, clusters=given.cluster, resamples=40, seed=1)
        ),
        "labels_needed": lambda: metrics.labels_needed(error=0.05),
        "labels_needed:difference": lambda: metrics.labels_needed(
            error=0.06, difference=0.03, beta=(2.0, 1.0)
        ),
        "labels_needed:scores": lambda: metrics.labels_needed(
            error=0.05, scores=given.score, cluster_size=4, label_correlation=0.2
        ),
    }
    return found


def _thinned(record: Any) -> dict[str, Any]:
    """Keep every 25th entry of long arrays."""
    from tests.goldens.functions import plain

    found = plain(record)
    return {
        key: value[::25] if isinstance(value, list) and len(value) > 100 else value
        for key, value in found.items()
    }


def _only(part: str, record: Any) -> dict[str, Any]:
    """Keep the fields whose names have a part."""
    from tests.goldens.functions import plain

    return {key: value for key, value in plain(record).items() if part in key}


OF_TALLY = (
    "brier_score",
    "calibration_in_the_large",
    "cox_calibration",
    "debiased_squared_error",
    "isotonic",
    "scores",
    "smooth_error",
    "error_interval",
)
OF_BINS = (
    "brier_decomposition",
    "plug_in_squared_error",
    "consistency_bars",
    "expected_calibration_error",
    "kumar_debiased_squared_error",
    "max_calibration_error",
    "plug_in_errors",
    "plug_in_calibration_error",
)


def _of_sources(given: Inputs) -> Calls:
    tally = metrics.Tally.from_arrays(y_true=given.label, y_prob=given.score)
    clustered = metrics.Tally.from_arrays(y_true=given.label, y_prob=given.score, clusters=given.cluster)
    bins, wide = metrics.adaptive(tally, size=20), metrics.uniform(tally, 5)
    pairs, other = binary(given, 0), binary(given, 1)
    found: Calls = {}
    for kind, names, source in (
        ("tally", OF_TALLY, tally),
        ("clustered tally", OF_TALLY, clustered),
        ("bins", OF_BINS, bins),
    ):
        for name in names:
            found[f"{name}:{kind}"] = bound(getattr(metrics, name), source)
    for rule in ("brier", "log"):
        found[f"corp_decomposition:{rule}"] = bound(
            lambda rule: metrics.corp_decomposition(tally, rule=rule), rule
        )
        rules = getattr(metrics, f"{rule}_rule")
        found[f"{rule}_rule"] = bound(
            lambda rules: [each(np.array([0.1, 0.5, 0.8])) for each in rules()], rules
        )
        found[f"proper_score_decomposition:{rule}"] = bound(
            lambda rules: metrics.proper_score_decomposition(tally, bins, *rules()), rules
        )
    for method in ("gamma", "normal", "redraw", "sign-flip"):
        found[f"calibration_test:{method}"] = bound(
            lambda method: metrics.calibration_test(tally, method=method, seed=1), method
        )
    found |= {
        "adaptive": lambda: bins,
        "adaptive:count": lambda: metrics.adaptive(tally, n_bins=3),
        "uniform": lambda: wide,
        "at_edges": lambda: metrics.at_edges(tally, [0.0, 0.3, 0.6, 1.0]),
        "bin_intervals": lambda: metrics.bin_intervals(bins),
        "bin_intervals:clusters": lambda: metrics.bin_intervals(bins, clustered=clustered),
        "noise_floors": lambda: metrics.noise_floors(wide, resamples=40, seed=1),
        "noise_floors:clusters": lambda: metrics.noise_floors(
            wide, clustered=clustered, resamples=40, seed=1
        ),
        "smooth_noise_floor": lambda: metrics.smooth_noise_floor(tally, resamples=20, seed=1),
        "smooth_curve:tally": lambda: _thinned(metrics.smooth_curve(tally, resamples=40, seed=1)),
        "error_difference": lambda: metrics.error_difference(pairs, other, seed=1),
        "slice_errors": lambda: metrics.slice_errors(_slices(given), by=["part"], least=10),
        "slice_errors:fcr": lambda: metrics.slice_errors(
            _slices(given), adjust="fcr", rank="signed", least=25
        ),
    }
    return found


def binary(given: Inputs, column: int) -> Any:
    """Return pairs of whether the first class is right, and the probability of a column."""
    score = given.prob[:, column]
    return metrics.binary_view(metrics.class_predictions(1 * (given.answer == 0), np.c_[1 - score, score]))


def _slices(given: Inputs) -> dict[tuple[str, ...], metrics.Tally]:
    found: dict[tuple[str, ...], metrics.Tally] = {}
    for name, rows in {"a": slice(0, 30), "b": slice(30, 50), "c": slice(50, 60)}.items():
        found[(name,)] = metrics.Tally.from_arrays(y_true=given.label[rows], y_prob=given.score[rows])
    return found


def _of_classes(given: Inputs) -> Calls:
    made = metrics.class_predictions(given.answer, given.prob, classes=CLASSES)
    flat, hit = given.prob.ravel(), (given.answer[:, None] == np.arange(3)).ravel()
    codes = np.tile(np.arange(3), 30)
    table: tuple[Any, ...] = (hit, flat, codes)
    after = np.clip(flat * 0.9 + 0.02, 0, 1)
    groups = [["red"], ["green", "blue"]]
    named: dict[str, Any] = {"names": CLASSES, "n_bins": 3, "seed": 1}
    changes = metrics.calibration_changes(hit, flat, after, codes, groups[1:], class_mean=False, **named)
    return {
        "ClassPredictions": lambda: made,
        "class_predictions": lambda: made,
        "class_errors": lambda: metrics.class_errors(given.answer, given.prob, classes=CLASSES),
        "binary_view": lambda: binary(given, 0),
        "top_view": lambda: metrics.top_view(made),
        "pooled_view": lambda: metrics.pooled_view(made),
        "class_view": lambda: metrics.class_view(made, "green"),
        "classwise_views": lambda: metrics.classwise_views(made),
        "named_views": lambda: metrics.named_views(made, "top"),
        "by_frequency": lambda: metrics.by_frequency({"a": 90, "b": 40, "c": 30, "d": 1}, 2),
        "by_part": lambda: metrics.by_part(["N|Sg", "N|Pl", "V"]),
        "marginal_calibration_error": lambda: metrics.marginal_calibration_error(*table, **named),
        "shared_calibration_error": lambda: metrics.shared_calibration_error(*table, **named),
        "grouped_calibration_errors": lambda: metrics.grouped_calibration_errors(
            hit, flat, codes, groups, **named
        ),
        "calibration_changes": lambda: changes,
        "with_verdicts": lambda: metrics.with_verdicts(changes),
    }


def _tallies(given: Inputs) -> Calls:
    def tally(rows: slice = slice(None), **more: Any) -> metrics.Tally:
        return metrics.Tally.from_arrays(y_true=given.label[rows], y_prob=given.score[rows], **more)

    def accumulated() -> metrics.TallyAccumulator:
        found = metrics.TallyAccumulator()
        found.update(given.label[:30], given.score[:30])
        other = metrics.TallyAccumulator()
        other.update(given.label[30:], given.score[30:])
        found.merge(other)
        return found

    def windows() -> metrics.TallyWindows:
        found = metrics.TallyWindows(keep=2)
        for day in range(3):
            found.update(f"2026-01-0{day + 1}", given.label[day::3], given.score[day::3])
        return found

    clustered = tally(clusters=given.cluster)
    pairs = metrics.top_view(metrics.class_predictions(given.answer, given.prob))
    sums = ("sum_score", "sum_score2", "sum_score_positive", "score", "total_n", "total_positives")
    shapes = (*sums, "total_weight", "cluster_names", "cluster_count", "effective_clusters")

    def emptied() -> int:
        found = accumulated()
        found.reset()
        return found.n

    few = tally(slice(0, 12), clusters=given.cluster[:12], sample_weight=given.weight[:12])
    return {
        "Tally": lambda: tally(slice(0, 12)),
        "Tally.from_arrays": lambda: few,
        "Tally.from_pairs": lambda: metrics.Tally.from_pairs(pairs, exact=True),
        "Tally.from_batches": lambda: metrics.Tally.from_batches([pairs, pairs]).total_weight,
        "Tally.merge": lambda: tally(slice(0, 6)).merge(tally(slice(6, 12))),
        "Tally.compress": lambda: tally(slice(0, 12)).compress(),
        "Tally.without_clusters": lambda: clustered.without_clusters().total_weight,
        **{f"Tally.{name}": bound(lambda name: getattr(few, name), name) for name in shapes},
        "TallyAccumulator": lambda: accumulated().n,
        "TallyAccumulator.n": lambda: accumulated().n,
        "TallyAccumulator.update": lambda: metrics.scores(accumulated().result()),
        "TallyAccumulator.merge": lambda: metrics.brier_score(accumulated().result()),
        "TallyAccumulator.result": lambda: accumulated().result().total_positives,
        "TallyAccumulator.reset": emptied,
        "TallyAccumulator.to_state": lambda: sorted(accumulated().to_state()),
        "TallyAccumulator.from_state": lambda: metrics.brier_score(
            metrics.TallyAccumulator.from_state(accumulated().to_state()).result()
        ),
        "TallyWindows": lambda: windows().windows,
        "TallyWindows.windows": lambda: windows().windows,
        "TallyWindows.update": lambda: metrics.brier_score(windows().result()),
        "TallyWindows.result": lambda: metrics.brier_score(windows().result(last=1)),
    }


def _periods() -> Calls:
    return {
        "parse_date": lambda: metrics.parse_date("2026-02-28"),
        "period_of": lambda: [
            metrics.period_of(date(2026, 2, 28), by) for by in ("week", "month", "quarter", "year")
        ],
        "periods_between": lambda: list(
            metrics.periods_between(date(2025, 11, 1), date(2026, 2, 1), "month")
        ),
    }


def _recalibrators(given: Inputs) -> Calls:
    made: dict[str, Any] = {
        method.estimator: getattr(recalibrate, method.estimator)()
        for method in METHODS.values()
        if method.maps != "rows"
    }
    made |= {
        "Beta:am": recalibrate.Beta("am"),
        "HistogramBinning": recalibrate.HistogramBinning(4),
        "HistogramBinning:uniform": recalibrate.HistogramBinning(4, strategy="uniform"),
        "Isotonic:steps": recalibrate.Isotonic(between="steps"),
        "Platt:smoothing": recalibrate.Platt(smoothing=True),
        "ScalingBinning": recalibrate.ScalingBinning(n_bins=3, seed=1),
    }
    found: Calls = {}
    tally = metrics.Tally.from_arrays(y_true=given.label, y_prob=given.score)
    for name, estimator in made.items():
        short, _, kind = name.partition(":")
        kind = f":{kind}" if kind else ""

        def fitted(estimator: Any = estimator, weight: Any = None) -> Any:
            return estimator.fit(given.score, given.label, weight)

        found |= {
            f"{short}{kind}": bound(lambda fitted: fitted().to_state(), fitted),
            f"{short}.fit{kind}": bound(lambda fitted: fitted(weight=given.weight).transform(GRID), fitted),
            f"{short}.transform{kind}": bound(lambda fitted: fitted().transform(GRID), fitted),
            f"{short}.to_state{kind}": bound(lambda fitted: sorted(fitted().to_state()), fitted),
            f"{short}.from_state{kind}": bound(
                lambda fitted: type(fitted()).from_state(fitted().to_state()).transform(GRID), fitted
            ),
        }
        found[f"{short}.fit_tally{kind}"] = bound(
            lambda each: each.fit_tally(tally).transform(GRID), estimator
        )
    found["VennAbers.intervals"] = lambda: (
        recalibrate.VennAbers().fit(given.score, given.label).intervals(GRID)
    )
    for name in ("Temperature", "VectorScaling", "MatrixScaling"):
        whole = getattr(recalibrate, name)(classes=CLASSES)

        def wide(whole: Any = whole, weight: Any = None) -> Any:
            return whole.fit(given.prob, given.answer, weight)

        found |= {
            f"{name}:wide": bound(lambda wide: wide().to_state(), wide),
            f"{name}.transform:wide": bound(lambda wide: wide().transform(given.prob[:4]), wide),
            f"{name}.fit:wide": bound(
                lambda wide: wide(weight=given.weight[:30]).transform(given.prob[:4]), wide
            ),
            f"{name}.to_state:wide": bound(lambda wide: sorted(wide().to_state()), wide),
            f"{name}.from_state:wide": bound(
                lambda wide: type(wide()).from_state(wide().to_state()).transform(given.prob[:4]), wide
            ),
        }
    return found


GRID = np.array([0.0, 0.05, 0.3, 0.5, 0.8, 1.0])


def _recalibrating(given: Inputs) -> Calls:
    platt = recalibrate.Platt()
    groups = [["red"], ["green", "blue"]]
    made: dict[str, Any] = {
        "Shared": recalibrate.Shared(platt),
        "PerClass": recalibrate.PerClass(platt, min_scores=10),
        "PerGroup": recalibrate.PerGroup(platt, groups),
    }
    names = np.array(CLASSES)[given.code]
    found: Calls = {}
    tallies = {
        name: metrics.Tally.from_arrays(y_true=given.label[names == name], y_prob=given.score[names == name])
        for name in CLASSES
    }
    for name, estimator in made.items():

        def fitted(estimator: Any = estimator, weight: Any = None) -> Any:
            return estimator.fit(given.score, given.label, names, weight)

        def shown(estimator: Any) -> Any:
            return estimator.transform(given.score[:6], names[:6])

        found |= {
            name: bound(lambda fitted: fitted().to_state(), fitted),
            f"{name}.fit": bound(lambda fitted: shown(fitted(weight=given.weight)), fitted),
            f"{name}.fit_tallies": bound(lambda each: shown(each.fit_tallies(tallies)), estimator),
            f"{name}.transform": bound(lambda fitted: shown(fitted()), fitted),
            f"{name}.to_state": bound(lambda fitted: sorted(fitted().to_state()), fitted),
            f"{name}.from_state": bound(
                lambda fitted: shown(type(fitted()).from_state(fitted().to_state())), fitted
            ),
        }
    data = recalibrate.LabelledScores(given.score, given.label, names)
    candidates = recalibrate.frequency_candidates(platt, {"red": 70, "green": 20, "blue": 9}, groups=(1, 2))
    histograms: dict[str, Any] = {f"{count}": recalibrate.HistogramBinning(count) for count in (2, 4)}
    found |= {
        "LabelledScores": lambda: data,
        "choose_recalibrator": lambda: recalibrate.choose_recalibrator(candidates, data, folds=3, seed=1),
        "choose_recalibrator:bins": lambda: recalibrate.choose_recalibrator(
            histograms, recalibrate.LabelledScores(given.score, given.label), folds=3, objective="calibration"
        ),
        "frequency_candidates": lambda: {name: repr(each) for name, each in candidates.items()},
        "order_effect": lambda: recalibrate.order_effect(given.label, given.score, given.score.round(1)),
        "renormalize": lambda: recalibrate.renormalize(given.score[:12], np.arange(12) // 3),
        "resampled_changes": lambda: recalibrate.resampled_changes(
            recalibrate.Shared(platt), data, data, groups[1:], n_bins=3, class_mean=False, draws=20, seed=1
        ),
    }
    return found


def chain() -> posterior.ChainPosterior:
    """Return a chain of three sentences and four tags in the BIO scheme."""
    random = np.random.default_rng(3)
    unary = [random.normal(size=(length, 4)).round(2) for length in (4, 1, 3)]
    tags = ["B-PER", "I-PER", "B-LOC", "O"]
    return posterior.ChainPosterior(unary, random.normal(size=(4, 4)).round(2), tags=tags)


BEST = chain().viterbi().tolist()
TAGS = np.array(chain().tags)[BEST].tolist()
GOLD = [[*TAGS[:3], "O"], TAGS[4:5], ["B-LOC", *TAGS[6:]]]


def _chains() -> Calls:
    made = chain()
    codes = [0, 1, 3, 2, 3, 2, 3, 0]
    plain = ("log_partition", "tag_count", "token_count", "sentence_count", "lengths")
    called = ("marginals", "entropy", "viterbi", "minimum_bayes_risk", "transitions")
    spans = posterior.gold_spans(GOLD)
    objectives: tuple[Any, ...] = ("likelihood", "calibration")
    return {
        "ChainPosterior": lambda: made.marginals(),
        **{f"ChainPosterior.{name}": bound(lambda name: getattr(made, name), name) for name in plain},
        **{f"ChainPosterior.{name}": bound(lambda name: getattr(made, name)(), name) for name in called},
        "ChainPosterior.pair_marginals": lambda: made.pair_marginals(0),
        "ChainPosterior.window_probabilities": lambda: made.window_probabilities([0, 5], [[0, 1], [2, 3]]),
        "ChainPosterior.log_probability": lambda: made.log_probability(codes),
        "ChainPosterior.k_best": lambda: made.k_best(3),
        "ChainPosterior.sample": lambda: made.sample(3, seed=1),
        "ChainPosterior.sentence_tokens": lambda: made.sentence_tokens(2),
        "Spans": lambda: spans,
        "Spans.names": lambda: spans.names,
        "gold_spans": lambda: posterior.gold_spans(GOLD, strict=True),
        "likely_spans": lambda: posterior.likely_spans(made, threshold=0.1),
        "span_probabilities": lambda: posterior.span_probabilities(
            made, spans.sentence, spans.first, spans.last, spans.names
        ),
        "tempered": lambda: posterior.tempered(made, 2.0).marginals(),
        **{
            f"fit_temperature:{each}": bound(
                lambda each: posterior.fit_temperature(made, GOLD, objective=each), each
            )
            for each in objectives
        },
    }


def antecedents() -> posterior.AntecedentPosterior:
    """Return the posterior of two documents with five and three mentions."""
    random = np.random.default_rng(4)
    return posterior.AntecedentPosterior(random.normal(size=21).round(2), [5, 3], names=["one", "two"])


ENTITIES = [["a", "a", "b", "a", "b"], ["x", "y", "x"]]


def _antecedents() -> Calls:
    made = antecedents()
    shapes = ("document_count", "mention_count", "probabilities", "mention_numbers")
    called = (
        "new_probabilities",
        "best_antecedents",
        "pair_probabilities",
        "entity_count_distribution",
        "singleton_probabilities",
        "entropy",
        "linked_probabilities",
    )
    rows = [[[1.0], [0.5, 0.5], [0.2, 0.6, 0.2]]]
    return {
        "AntecedentPosterior": lambda: made.probabilities,
        **{f"AntecedentPosterior.{name}": bound(lambda name: getattr(made, name), name) for name in shapes},
        **{f"AntecedentPosterior.{name}": bound(lambda name: getattr(made, name)(), name) for name in called},
        "AntecedentPosterior.sample": lambda: made.sample(3, seed=1),
        "AntecedentPosterior.sample_antecedents": lambda: made.sample_antecedents(3, seed=1),
        "AntecedentPosterior.clusters_of": lambda: made.clusters_of([-1, 0, -1, 1, -1, -1, 0, 0]),
        "AntecedentPosterior.expected_pairwise_f": lambda: made.expected_pairwise_f(
            [0, 0, 1, 0, 1], samples=50, seed=1
        ),
        "AntecedentPosterior.best_clustering": lambda: made.best_clustering(50, seed=1),
        "AntecedentPosterior.from_probabilities": lambda: (
            posterior.AntecedentPosterior.from_probabilities(rows).probabilities
        ),
        "AntecedentPosterior.document": lambda: made.document("two").probabilities,
        "AntecedentPosterior.tempered": lambda: made.tempered(2.0).probabilities,
        "AntecedentPosterior.document_number": lambda: made.document_number("two"),
        "AntecedentPosterior.mentions_of": lambda: str(made.mentions_of(1)),
        "AntecedentPosterior.entries_of": lambda: str(made.entries_of(1)),
        "antecedent_losses": lambda: posterior.antecedent_losses(made, ENTITIES),
        "fit_antecedent_temperature": lambda: posterior.fit_antecedent_temperature(made, ENTITIES),
        "probable_entities": lambda: posterior.probable_entities(made),
    }


def trees() -> posterior.DependencyPosterior:
    """Return the posterior of two sentences with four and two words, and three labels."""
    random = np.random.default_rng(5)
    sizes = (4, 2)
    arcs = [random.normal(size=(n, n + 1)).round(2) for n in sizes]
    labels = [random.normal(size=(n, n + 1, 3)).round(2) for n in sizes]
    return posterior.DependencyPosterior(arcs, labels, names=["nsubj", "obj", "root"])


HEADS = [2, 0, 2, 3, 0, 1]


def _trees() -> Calls:
    made = trees()
    called = ("marginals", "entropy", "best", "minimum_bayes_risk")
    return {
        "DependencyPosterior": lambda: made.marginals(),
        **{f"DependencyPosterior.{name}": bound(lambda name: getattr(made, name)(), name) for name in called},
        "DependencyPosterior.log_partition": lambda: made.log_partition,
        "DependencyPosterior.sentence_count": lambda: made.sentence_count,
        "DependencyPosterior.label_marginals": lambda: made.label_marginals(1),
        "DependencyPosterior.log_probability": lambda: made.log_probability(HEADS),
        "DependencyPosterior.best_labels": lambda: made.best_labels(HEADS),
        "DependencyPosterior.arc_probabilities": lambda: made.arc_probabilities(
            HEADS, made.best_labels(HEADS)
        ),
        "DependencyPosterior.sample": lambda: made.sample(3, seed=1),
        "DependencyPosterior.sample_labels": lambda: made.sample_labels(HEADS, seed=1),
        "DependencyPosterior.subtree_probability": lambda: made.subtree_probability(0, [2, 3]),
        "DependencyPosterior.check_heads": lambda: made.check_heads(HEADS),
        "DependencyPosterior.potentials": lambda: made.potentials(1),
        "tempered_trees": lambda: posterior.tempered_trees(made, 2.0, 3.0).marginals(),
        "fit_tree_temperature": lambda: posterior.fit_tree_temperature(made, HEADS),
        "fit_label_temperature": lambda: posterior.fit_label_temperature(
            np.log([[0.9, 0.1], [0.8, 0.2], [0.6, 0.4], [0.7, 0.3]]), np.array([0, 0, 1, 0])
        ),
    }


def _tree_queries() -> Calls:
    made, relations = trees(), ["nsubj", "root", "obj", "obj", "root", "det"]
    return {
        "arcs": lambda: _asked(dependency_queries.arcs(made, HEADS)),
        "head_of": lambda: _asked(dependency_queries.head_of(made, HEADS, clusters=["a", "a"])),
        "labeled_arcs": lambda: _asked(
            dependency_queries.labeled_arcs(made, HEADS, relations, threshold=0.1)
        ),
    }


def _asked(query: Any) -> dict[str, Any]:
    names = ("view", "classes", "clusters", "unseen", "missed", "threshold")
    return {"pairs": query.pairs(), **{name: getattr(query, name) for name in names}}


def _entities() -> Calls:
    mentions = [[(0, 0, 1), (0, 2, 3), (1, 0, 0)], [(0, 0, 0), (0, 3, 3)]]
    gold, found = [["a", "a", "b"], ["c", "c"]], [["x", "y", "y"], ["z", "z"]]
    return {
        "coreference_scores": lambda: structures.coreference_scores(
            mentions, gold, None, found, samples=50, seed=1
        ),
        "coreference_scores:detected": lambda: structures.coreference_scores(
            mentions, gold, mentions, found, singletons=False, samples=50, seed=1
        ),
    }


def _queries() -> Calls:
    made = chain()
    return {
        "all_tags": lambda: _asked(queries.all_tags(made, GOLD)),
        "top_label": lambda: _asked(queries.top_label(made, GOLD)),
        "tag_is": lambda: _asked(queries.tag_is(made, GOLD, "O")),
        "tag_pairs": lambda: _asked(queries.tag_pairs(made, GOLD, top=2)),
        "spans": lambda: _asked(queries.spans(made, GOLD, threshold=0.1)),
    }


def _entity_queries() -> Calls:
    made, module = antecedents(), coreference_queries
    return {
        "mention_pairs": lambda: _asked(module.mention_pairs(made, ENTITIES)),
        "mention_pairs:samples": lambda: _asked(module.mention_pairs(made, ENTITIES, samples=20, seed=1)),
        "is_new": lambda: _asked(module.is_new(made, ENTITIES)),
        "is_singleton": lambda: _asked(module.is_singleton(made, ENTITIES)),
        "each_pair": lambda: list(module.each_pair(made, window=2)),
        "sampling_noise": lambda: module.sampling_noise(module.mention_pairs(made, ENTITIES), 100),
    }


def _propagating(given: Inputs) -> Calls:
    made = chain()

    def counted() -> Any:
        return estimation.propagate(
            lambda codes: {"B": int((codes == 0).sum()), "O": int((codes == 3).sum())}, made, 50, seed=1
        )

    def stages() -> estimation.Stages:
        return estimation.Stages(made, lambda codes: chain() if codes[0] else made)

    random = np.random.default_rng(5)
    drawn, true = random.poisson(4, (40, 30)), random.poisson(4, 40)
    return {
        "propagate": counted,
        "exceedance": lambda: estimation.exceedance(counted(), "B", "O"),
        "Stages": lambda: estimation.propagate(
            lambda both: int(both[0][0] == both[1][0]), stages(), 20, seed=1
        ),
        "Stages.sample": lambda: stages().sample(2, seed=1),
        "summary": lambda: estimation.summary(drawn[:6, :2], ["a", "b"], seed=1),
        "quantile_calibration": lambda: estimation.quantile_calibration(drawn, true),
        "central_set_hits": lambda: estimation.central_set_hits(drawn, true, clusters=np.arange(40) // 4),
        "joint_probabilities": lambda: estimation.joint_probabilities([[0, 1], [1, 1]], [[1, 1], [0, 1]]),
        "compare_counts": lambda: estimation.compare_counts(given.score[:9] / 2, given.other[:9] / 2),
    }


def _counting(given: Inputs) -> Calls:
    distribution = estimation.poisson_binomial(given.score[:12])
    data = recalibrate.LabelledScores(given.score, given.label)
    periods = np.arange(60) // 15

    def refitted(**more: Any) -> estimation.RefittedRecalibrator:
        return estimation.RefittedRecalibrator(recalibrate.Platt(), data, refits=20, seed=1, **more)

    kinds: tuple[Any, ...] = ("poisson-binomial", "normal")
    labelled = np.arange(0, 60, 2)
    return {
        "poisson_binomial": lambda: distribution,
        "CountDistribution": lambda: distribution,
        "CountDistribution.values": lambda: distribution.values,
        "CountDistribution.mean": lambda: distribution.mean,
        "CountDistribution.sd": lambda: distribution.sd,
        "CountDistribution.interval": lambda: distribution.interval(0.9),
        **{
            f"count_interval:{each}": bound(
                lambda each: estimation.count_interval(given.score, interval=each), each
            )
            for each in kinds
        },
        "number_interval": lambda: estimation.number_interval(
            np.random.default_rng(2).integers(0, 4, (30, 12))
        ),
        "count_interval:samples": lambda: estimation.count_interval(
            bits=np.random.default_rng(1).random((30, 12)) < given.score[:12], interval="samples"
        ),
        "total_interval": lambda: estimation.total_interval([given.score, given.other]),
        "corrected_counts": lambda: estimation.corrected_counts(given.score, labelled, given.label[labelled]),
        "corrected_counts:periods": lambda: estimation.corrected_counts(
            given.score, labelled, given.label[labelled], periods=[f"{each}" for each in periods // 2]
        ),
        "corrected_counts:clusters": lambda: estimation.corrected_counts(
            given.score, labelled, given.label[labelled], clusters=labelled // 6, population="superpopulation"
        ),
        "corrected_counts:shift": lambda: estimation.corrected_counts(
            given.score,
            labelled,
            given.label[labelled],
            periods=periods // 2,
            methods=["prior-shift", "em"],
        ),
        "maximum_likelihood_shares": lambda: estimation.maximum_likelihood_shares(
            given.prob / given.prob.mean(axis=0)
        ),
        "combine_proxies": lambda: estimation.combine_proxies(
            np.stack([given.score, given.other], axis=1), np.arange(30), given.label[:30]
        )[0],
        "corrected_counts:compare": lambda: estimation.corrected_counts(
            given.score, labelled, given.label[labelled], periods=periods // 2, methods="ppi++", compare=True
        ),
        "corrected_means": lambda: estimation.corrected_means(
            5 * given.score, labelled, given.score[labelled], periods=periods // 2, weights=1 + given.other
        ),
        "class_scores": lambda: estimation.class_scores(np.array([0, 2, 1]), 3, [0.8, 0.6, 0.9]),
        "corrected_classes": lambda: estimation.corrected_classes(
            np.stack([given.score, 1 - given.score], axis=1), labelled, 1 - given.label[labelled], ["a", "b"]
        ),
        "corrected_classes:shift": lambda: estimation.corrected_classes(
            given.prob,
            np.arange(20),
            given.answer[:20],
            ["a", "b", "c"],
            clusters=np.arange(20) // 2,
            document_clusters=np.arange(30) // 2,
            methods=["prior-shift", "em"],
        ),
        "estimate_drift": lambda: estimation.estimate_drift(given.label, given.score, periods),
        "RefittedRecalibrator": lambda: refitted(drift=0.2).count(given.other),
        "RefittedRecalibrator.probabilities": lambda: refitted().probabilities(GRID),
        "RefittedRecalibrator.refitted_probabilities": lambda: list(refitted().refitted_probabilities(GRID))[
            :3
        ],
        "RefittedRecalibrator.count": lambda: refitted().count(given.other),
        "RefittedRecalibrator.counts": lambda: refitted(periods=periods).counts([given.other, given.score]),
    }


def _judging() -> Calls:
    rng = np.random.default_rng(3)
    quality = rng.random((3, 60))
    judge = np.clip(quality + 0.2 * rng.normal(size=(3, 60)), 0, 1)
    judge[2] = np.clip(judge[2] + 0.5, 0, 1)
    label = np.where(np.arange(60) < np.array([[40], [25], [6]]), quality, np.nan)
    code, item = np.repeat([0, 1, 2], 60), np.tile(np.arange(60), 3)
    table = estimation.JudgedTable(("A", "B", "C"), code, item, judge.ravel(), label.ravel())
    length = rng.integers(1, 90, int((~np.isnan(label)).sum())).astype(str)
    right, known = (quality > 0.5).astype(float), ~np.isnan(label)
    binary = np.where(known, right, np.nan).ravel()
    said = np.where(rng.random((3, 60)) < 0.8, right, 1 - right).ravel()
    first, second = rng.permuted(np.tile([0, 1, 2], (90, 1)), axis=1)[:, :2].T
    wins = rng.integers(0, 3, 90) / 2
    compared = np.where(np.arange(90) < 40, wins, np.nan)
    preferences = estimation.preference_table(
        ("A", "B", "C"), first, second, rng.integers(0, 3, 90) / 2, compared, np.arange(90) // 2
    )
    return {
        "judged_systems": lambda: estimation.judged_systems(table, margin=0.2),
        "judged_systems:binary": lambda: estimation.judged_systems(
            estimation.JudgedTable(("A", "B", "C"), code, item, said, binary), methods="all"
        ),
        "judge_plan": lambda: estimation.judge_plan(table, width=0.1),
        "judged_classes": lambda: estimation.judged_classes(
            {
                name: estimation.JudgedTable(
                    ("A", "B", "C"),
                    code,
                    item,
                    (said == kind).astype(float),
                    np.where(known.ravel(), binary == kind, np.nan),
                )
                for kind, name in enumerate(("bad", "good"))
            }
        ),
        "judge_bias": lambda: list(estimation.judge_bias(table, {"length": length})),
        "rogan_gladen": lambda: estimation.rogan_gladen(said, binary, 0.95),
        "bradley_terry": lambda: list(estimation.bradley_terry(preferences)),
    }


def ratings() -> evaluation.Ratings:
    """Return the labels of three annotators of 20 items, some missing."""
    random = np.random.default_rng(6)
    truth = random.integers(0, 3, 20)
    by: dict[str, list[int | None]] = {}
    for name in ("ann", "bob", "cyd"):
        own = np.where(random.random(20) < 0.7, truth, random.integers(0, 3, 20))
        by[name] = [None if name == "cyd" and place % 6 == 0 else int(each) for place, each in enumerate(own)]
    return evaluation.Ratings.from_lists(by)


def candidates() -> evaluation.Ratings:
    """Return the labels of four annotators of 40 items, some missing."""
    random = np.random.default_rng(8)
    truth = random.integers(0, 3, 40)
    by: dict[str, list[int | None]] = {}
    for name in ("ann", "bob", "cyd", "dan"):
        own = np.where(random.random(40) < 0.7, truth, random.integers(0, 3, 40))
        by[name] = [None if name == "cyd" and place % 8 == 0 else int(each) for place, each in enumerate(own)]
    return evaluation.Ratings.from_lists(by)


def _agreeing() -> Calls:
    made = ratings()
    distances: tuple[Any, ...] = ("ordinal", "interval", "ratio")
    called = ("matrix", "numbers")
    two = evaluation.Ratings.from_lists({"ann": [0, 1, 2, 1, 0, 2, 1, 1], "bob": [0, 1, 1, 1, 2, 2, 0, 1]})
    return {
        **{
            f"agreement:{each}": bound(
                lambda each: _only("krippendorff", evaluation.agreement(made, distance=each)), each
            )
            for each in distances
        },
        "agreement": lambda: evaluation.agreement(made, disputed=2),
        "agreement:clusters": lambda: evaluation.agreement(two, clusters=np.arange(8) // 2, disputed=0),
        "agreement:two": lambda: evaluation.agreement(two, weights="linear", disputed=0),
        "candidate_test": lambda: evaluation.candidate_test(candidates(), "dan", margin=0.2),
        "candidate_test:interval": lambda: evaluation.candidate_test(
            candidates(), "dan", margin=0.2, distance="interval", clusters=np.arange(40) // 4
        ),
        "pair_agreement": lambda: evaluation.pair_agreement(made),
        "pair_agreement:weights": lambda: evaluation.pair_agreement(made, 0, 2, weights="quadratic"),
        "Ratings": lambda: made,
        "Ratings.from_lists": lambda: made.labels,
        "Ratings.from_table": lambda: evaluation.Ratings.from_table(
            [1, 1, 2], ["a", "b", "a"], ["x", "y", "x"]
        ),
        **{f"Ratings.{name}": bound(lambda name: getattr(made, name)(), name) for name in called},
        "Ratings.by": lambda: made.by(1),
        "Ratings.without": lambda: made.without(0).matrix(),
        "confusion": lambda: evaluation.confusion(["x", "y", "x"], ["x", "x", "x"]),
    }


def _comparing(given: Inputs) -> Calls:
    random = np.random.default_rng(8)
    folds = np.round(0.7 + random.normal(0, 0.02, (3, 10)) + [[0], [0.01], [0.03]], 3)
    first, second = (random.random((2, 40)) < [[0.6], [0.75]]).astype(float)
    clusters, few = np.arange(40) // 4, {"samples": 100, "seed": 1}
    names = ("a", "b", "c")
    tests = (evaluation.paired_bootstrap, evaluation.paired_permutation)
    return {
        "compare_systems": lambda: evaluation.compare_systems(names, folds, samples=100),
        "compare_systems:folds": lambda: evaluation.compare_systems(
            names, folds, unit="fold", test_train_ratio=0.25, baseline="a", samples=100
        ),
        "paired_t_test": lambda: evaluation.paired_t_test(first, second),
        "paired_t_test:clusters": lambda: evaluation.paired_t_test(first, second, clusters=clusters),
        "paired_t_test:ratio": lambda: evaluation.paired_t_test(folds[0], folds[1], test_train_ratio=0.25),
        "paired_t_test:equal": lambda: evaluation.paired_t_test(first, first),
        **{each.__name__: bound(lambda each: each(first, second, **few), each) for each in tests},
        **{
            f"{each.__name__}:clusters": bound(
                lambda each: each(first, second, clusters=clusters, **few), each
            )
            for each in tests
        },
        "compute_metrics": lambda: evaluation.compute_metrics((folds.T * 9, np.arange(10) % 3)),
        "compute_metrics:tokens": lambda: evaluation.compute_metrics(
            (folds.T.reshape(5, 2, 3) * 9, np.array([[0, 2], [1, -100], [2, 2], [0, 1], [2, 2]]))
        ),
        "mcnemar": lambda: evaluation.mcnemar(first, second),
        "mcnemar:asymptotic": lambda: evaluation.mcnemar(first, second, exact=False),
        "mean_interval": lambda: evaluation.mean_interval(folds[0], test_train_ratio=0.25),
        "mean_interval:clusters": lambda: evaluation.mean_interval(first, clusters=clusters),
        "adjusted_p_values": lambda: [
            evaluation.adjusted_p_values([0.01, 0.04, None, 0.3], each)
            for each in ("holm", "benjamini-hochberg")
        ],
        "adjusted_p_values:any dependence": lambda: evaluation.adjusted_p_values(
            [0.01, 0.04, None, 0.3], "benjamini-yekutieli"
        ),
        "minimum_detectable_difference": lambda: evaluation.minimum_detectable_difference(
            0.5, 40, difference=0.1
        ),
        "classification_scores": lambda: evaluation.classification_scores(
            given.code[:40], given.code[1:41] * 1
        ),
        "classification_scores:clusters": lambda: evaluation.classification_scores(
            first, second, clusters=clusters
        ),
        "f_sums": lambda: evaluation.f_sums(first, second, 1.0),
        "f_of": lambda: evaluation.f_of(evaluation.f_sums(first, second, 1.0).reshape(8, 5, 3).sum(axis=1)),
    }


def _deciding(given: Inputs) -> Calls:
    score, documents = given.score[:20], np.arange(20) // 5
    rules: tuple[Any, ...] = ("threshold", "expected-f")
    return {
        **{
            f"decide:{each}": bound(lambda each: evaluation.decide(score, each, documents=documents), each)
            for each in rules
        },
        "decide:top": lambda: evaluation.decide(score, "top", documents=documents, most=2),
        "expected_f_decision": lambda: evaluation.expected_f_decision(score, documents, beta=2.0),
        "guaranteed_thresholds": lambda: evaluation.guaranteed_thresholds(
            given.score, 1 - given.label, alpha=0.3
        ),
        "guaranteed_thresholds:clusters": lambda: evaluation.guaranteed_thresholds(
            given.score, 1 - given.label, alpha=0.4, clusters=given.cluster
        ),
        "guaranteed_thresholds:sides": lambda: evaluation.guaranteed_thresholds(
            given.score, 1 - given.label, alpha=0.3, two_sided=True
        ),
        "guaranteed_thresholds:missed": lambda: evaluation.guaranteed_thresholds(
            given.score, 1 - given.label, alpha=0.2, missed=True
        ),
        "guaranteed_thresholds:graded": lambda: evaluation.guaranteed_thresholds(
            given.score, (1 - given.label) / 2, alpha=0.2
        ),
        "keep_above": lambda: evaluation.keep_above(score, 0.4),
        "keep_top": lambda: evaluation.keep_top(score, documents, 1),
        "most_probable": lambda: evaluation.most_probable(given.prob[:6], CLASSES),
        "order_quality": lambda: evaluation.order_quality(given.label, given.score),
        "order_quality:clusters": lambda: evaluation.order_quality(
            given.label, given.score, clusters=given.cluster
        ),
        "risk_coverage": lambda: _thinned(evaluation.risk_coverage(given.label, given.score)),
        "risk_coverage:clusters": lambda: _thinned(
            evaluation.risk_coverage(given.label, given.score, clusters=given.cluster)
        ),
    }


def _monitoring(given: Inputs) -> Calls:
    units: tuple[Any, ...] = ("day", "item", "cluster", "dependent-day")

    def days() -> Iterator[tuple[str, slice]]:
        for day in range(6):
            yield f"2026-01-0{day + 1}", slice(10 * day, 10 * day + 10)

    def fed(made: evaluation.CalibrationMonitor, clustered: bool = False) -> evaluation.CalibrationMonitor:
        for day, rows in days():
            more: dict[str, Any] = {"clusters": given.cluster[rows]} if clustered else {}
            made.update(day, given.label[rows], given.score[rows], **more)
        return made

    def monitor(unit: Any = "item") -> evaluation.CalibrationMonitor:
        return fed(evaluation.CalibrationMonitor(unit=unit, alpha=0.2), unit == "cluster")

    def against() -> evaluation.CalibrationMonitor:
        return fed(
            evaluation.CalibrationMonitor.against_reference(given.label, given.other, unit="item", regions=2)
        )

    name = "CalibrationMonitor"
    return {
        name: lambda: monitor().result(),
        **{f"{name}.result:{each}": bound(lambda each: monitor(each).result(), each) for each in units},
        f"{name}.against_reference": lambda: against().result(),
        f"{name}.threshold": lambda: monitor().threshold,
        f"{name}.update": lambda: monitor().update("2026-02-01", [0, 1], [0.9, 0.1]),
        f"{name}.to_state": lambda: monitor().to_state(),
        f"{name}.from_state": lambda: (
            evaluation.CalibrationMonitor.from_state(monitor().to_state()).result().days[-1]
        ),
    }
