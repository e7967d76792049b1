"""Measure a prediction table, for the command line, the report and the library."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, Unpack, runtime_checkable

import numpy as np
from msgspec.structs import replace as struct_replace
from numpy.typing import ArrayLike, NDArray

from calibrant._checks import Pairs
from calibrant.exceptions import InputError
from calibrant.io import Columns, open_predictions
from calibrant.io.table_formats import parquet_parts
from calibrant.metrics.binning import Cuts, Source, Ties, adaptive_ranks, at_ranks, display_cuts, uniform
from calibrant.metrics.crossed import CrossedPairs
from calibrant.metrics.decompositions import brier_decomposition
from calibrant.metrics.frequencies import bin_intervals
from calibrant.metrics.intervals import calibration_test, error_interval
from calibrant.metrics.logistic import cox_calibration, mean_error
from calibrant.metrics.noise_floor import noise_floors, smooth_noise_floor
from calibrant.metrics.plug_in import plug_in_errors
from calibrant.metrics.proper_scores import scores
from calibrant.metrics.residuals import Residuals, residuals
from calibrant.metrics.resolutions import Resolutions, resolutions_of
from calibrant.metrics.rows import rows_of
from calibrant.metrics.tally import Tally
from calibrant.metrics.tally_parts import compact
from calibrant.records import Quantity
from calibrant.records.words import counted
from calibrant.results.bins import BinIntervals, Bins
from calibrant.results.errors import CoxCalibration, Estimate, NoiseFloor
from calibrant.results.intervals import ErrorInterval
from calibrant.results.measurement import Bin, Binning, ClassMean, Measured, Measurement, Recipe
from calibrant.verbs import sources as held
from calibrant.verbs.options import MeasuringOptions, Run, Settings, settings_of, takes
from calibrant.verbs.sources import (
    CLASS,
    Rows,
    ViewSource,
    asked_names,
    asked_views,
    view_sources,
)

if TYPE_CHECKING:
    from calibrant.records.fields import Library

FEWEST = 200  # smallest number of pairs in a bin in the papers
SMOOTH_RESAMPLES = 200  # each takes some milliseconds
FEWER = "{:,} bins instead of {:,}: rows of the fixed grid are kept whole (exact bins are made on request)"
CANCEL = (
    "CalibErr ({:.4f}) is below the interval of the debiased error ({:.4f}). Either rows depend on each "
    "other, as several rows of an item do, and the debiased error is too high: name the item as their "
    "cluster. Or gaps of opposite sign cancel within the plotted bins, and CalibErr and the plot understate "
    "the error: use smaller bins"
)
DROPPED = "scores below the threshold were dropped"
QUERY = "a query"


@takes(MeasuringOptions)
def measure(
    source: Any,
    p: Any = None,
    y: Any = None,
    *,
    classes: Sequence[str | int] | None = None,
    clusters: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    view: str | Sequence[str] | None = None,
    columns: Columns | Mapping[str, Any] | None = None,
    **options: Unpack[MeasuringOptions],
) -> Measured:
    """Measure the calibration of predictions: of a table, of arrays, or of a fitted classifier.

    ``measure(table)`` reads a file or a dataframe, ``measure(y, p)`` takes labels and probabilities, and
    ``measure(model, X, y)`` a fitted classifier with items that it was not trained on.

    Parameters
    ----------
    source
        Path of a prediction table or of a saved tally, ``-`` for standard input, a dataframe of any library
        (see `calibrant.io.open_predictions`), a `Tally`, or a `calibrant.structures.posterior.queries.Query`,
        whose clusters are the units of intervals and tests. With ``p``: (n,) labels, or a classifier.
    p
        (n,) probabilities of an event, (n, 2) of two classes or (n, K) of K classes: arrays, lists, columns
        of a dataframe, tensors. With a classifier: the n items.
    y
        (n,) labels of a classifier's items.
    classes
        Names of the columns of ``p``, or of both outcomes, the event last. None: ``p`` is a dataframe whose
        columns have the names of the labels; otherwise labels are 0 and 1, or 0 to K - 1, or the columns are
        in the sorted order of the labels, as in scikit-learn.
    clusters, sample_weight
        (n,) clusters and weights, for ``p``; clusters of two kinds that are crossed, such as items and
        annotators, are (n, 2), or a pair of arrays. A table has columns of clusters and weights, and the
        items of a `calibrant.Calibrated` the column of clusters that it names.
    view
        Probabilities to measure: ``binary``, ``top`` (the top label is right), ``class:NAME``, ``classwise``
        (each class, then their mean) or ``pooled`` (all classes together). A tally or a query has one view.
        None: ``binary`` for a long table; ``pooled`` and ``classwise`` for a long table with classes; ``top``
        and ``classwise`` for a wide table.
    columns
        Names of columns that differ from the defaults, such as ``{'score': 'p'}``.
    **options
        As in `calibrant.verbs.options.MeasuringOptions`.

    Returns
    -------
    Measured
        One `Measurement` per view.

    Raises
    ------
    InputError
        If the table or a setting cannot be used; the error names file, row and column.

    Examples
    --------
    >>> from calibrant.data import predictions
    >>> result = measure(predictions("dated", "naive-bayes"))
    >>> result["binary"].n, result["binary"].calibration_error.low > 0.05
    (6004, True)
    >>> measure([0, 1, 1, 0] * 50, [0.2, 0.9, 0.6, 0.3] * 50)["binary"].n
    200
    """
    asked = asked_names(view)
    arrays = {"classes": classes, "clusters": clusters, "sample_weight": sample_weight}
    source = _as_table(source, p, y, columns, wide=asked is not None and "binary" not in asked, **arrays)
    settings, run = settings_of(asked, options)
    return measured(*read(source, settings, run, columns), settings, run)


def _as_table(
    source: Any, p: Any, y: Any, columns: Columns | Mapping[str, Any] | None, *, wide: bool, **arrays: Any
) -> Any:
    """Return the table, or a table of the arrays."""
    if p is None and y is None and not hasattr(source, "predict_proba"):
        alone = [name for name, value in arrays.items() if value is not None]
        if alone:
            hint = "pass probabilities, or name a column: columns={'cluster': 'document', 'weight': 'weight'}"
            raise InputError(f"{alone[0]} is given without probabilities", hint, code="parameter")
        return source
    from calibrant.io.arrays import array_predictions

    if Columns.of(columns) != Columns():
        message = "columns are named although labels and probabilities are given as arrays"
        raise InputError(message, "leave `columns` out", code="column")
    return array_predictions(source, p, y, wide=wide, **arrays)


def read(
    source: Any,
    settings: Settings,
    run: Run,
    columns: Columns | Mapping[str, Any] | None = None,
    *,
    items: bool = False,
) -> tuple[list[ViewSource], Recipe]:
    """Read a table, and return a source for each view and the recipe."""
    asked, exact, threads = settings.views, settings.exact, run.threads
    if isinstance(source, PairStream):
        _check_view(source.view, QUERY, "query", asked, columns)
        recipe = run.recipe(QUERY, "query", len(source), threshold=source.threshold)
        return [stream_source(source, exact=exact, threads=threads)], recipe
    opened = _tally(source, asked)
    if opened is not None:
        name, view, tally, copied = opened
        _check_view(view, name, "tally", asked, columns)
        if exact and tally.kind != "exact":
            message = "the scores were summed on a fixed grid, so there are no exact bins"
            raise InputError(message, "measure the predictions themselves", code="parameter", file=name)
        return [ViewSource(view, tally, threads)], run.recipe(name, "tally", tally.total_n, notes=copied)
    predictions = open_predictions(source, columns)
    views = asked_views(asked, predictions)
    sources, rows = view_sources(
        predictions, views, exact=exact, items=items, threads=threads, progress=run.progress
    )
    return sources, run.recipe(
        predictions.name,
        predictions.form,
        rows if predictions.rows is None else predictions.rows,
        classes=list(predictions.classes) if predictions.has_classes else None,
        threshold=predictions.threshold,
        event=predictions.event_name,
        notes=predictions.told,
        library=_library(source),
    )


def _library(source: Any) -> Library | None:
    if isinstance(source, (str, os.PathLike)):
        return None
    from calibrant.records.formats import library_of

    return library_of(source)


def measured(sources: Sequence[ViewSource], recipe: Recipe, settings: Settings, run: Run) -> Measured:
    """Measure each view; with ``classwise`` among the views, also the mean over classes."""
    measurements = []
    for done, source in enumerate(sources):
        run.say("measuring", done, len(sources))
        bins = bins_of(source, settings, several=len(sources) > 1)
        measurements.append(measurement_of(source, settings, *bins, partial=recipe.threshold is not None))
    return together(recipe, measurements, settings.views)


def together(recipe: Recipe, measurements: Sequence[Measurement], asked: Sequence[str] | None) -> Measured:
    """Return the measurements of a table, with the mean over classes if ``classwise`` was requested."""
    has_classes = any(measurement.view.startswith(CLASS) for measurement in measurements)
    classwise = recipe.classes is not None and has_classes and (not asked or "classwise" in asked)
    return Measured(recipe, tuple(measurements), class_mean(measurements) if classwise else None)


def class_mean(measurements: Sequence[Measurement]) -> ClassMean:
    """Return the mean over classes: the root of the mean of signed squared errors."""
    classes = [measurement for measurement in measurements if measurement.view.startswith(CLASS)]
    squares = [measurement.debiased_squared_error for measurement in classes]
    known = [square.estimate for square in squares if square.estimate is not None]
    debiased = sum(known) / len(known) if len(known) == len(classes) else None
    plug_in = sum(measurement.plug_in_squared_error for measurement in classes) / len(classes)
    reason = next((square.reason for square in squares if square.estimate is None), None)
    return ClassMean(
        classes=len(classes),
        debiased_squared_error=Quantity(debiased, reason=reason),
        calibration_error=Quantity(None if debiased is None else max(0.0, debiased) ** 0.5, reason=reason),
        plug_in_calibration_error=plug_in**0.5,
        ece=sum(measurement.ece for measurement in classes) / len(classes),
    )


def _tally(source: Any, asked: Sequence[str] | None) -> tuple[str, str, Tally, tuple[str, ...]] | None:
    """Return name, view, content and notes of a tally, saved or in memory; None for a table."""
    if isinstance(source, Tally):
        return "a tally", source.view or (asked[0] if asked else "binary"), source, ()
    if not isinstance(source, (str, os.PathLike)):
        return None
    if not os.fspath(source).endswith(".parquet") and parquet_parts(source) is None:
        return None  # text is measured without loading what reads tallies
    from calibrant.io.saved import copied_tallies, load_tally, tally_view

    view = tally_view(source)
    if view is None:
        return None
    return os.fspath(source), view, load_tally(source), copied_tallies(source)


def _check_view(
    view: str, name: str, kind: str, asked: Sequence[str] | None, columns: Columns | Mapping[str, Any] | None
) -> None:
    """Raise an error if a tally or query has another view than requested, or columns are named."""
    if asked and list(asked) != [view]:
        message = f"the {kind} has the view {view}, not {', '.join(asked)}"
        raise InputError(message, "leave the view out", code="view", file=name)
    if Columns.of(columns) != Columns():
        message = f"columns are named, and a {kind} has no columns"
        raise InputError(message, "leave the names of columns out", code="column", file=name)


def measurement_of(
    view: ViewSource, settings: Settings, bins: Bins, widths: Bins, *, partial: bool = False
) -> Measurement:
    """Measure one view on its adaptive and equal-width bins.

    ``partial``: scores below a threshold were dropped, so the log loss is unknown.
    """
    source, level, seed = view.source, settings.level, settings.seed
    plug_in = plug_in_errors(bins)
    parts = brier_decomposition(bins)
    proper = scores(view.alone, threads=view.threads)
    floor, mean_error, cox, limits = _by_rows(source, bins, widths, settings)
    sums = residuals(source)
    table = resolutions_of(sums) or sums  # computed once for interval and test
    interval = error_interval(table, level=level, seed=seed)
    if partial:
        dropped = Quantity(None, reason=DROPPED)
        proper = struct_replace(proper, log_loss=dropped, log_skill=dropped)
    return Measurement(
        view=view.view,
        n=view.n,
        positives=view.positives,
        weight_sum=proper.weight_sum,
        clusters=source.cluster_count or None,
        tally="exact" if view.is_exact else "compressed",
        binning=Binning(bins.kind, bins.size, bins.asked, bins.used),
        plug_in_calibration_error=plug_in.plug_in_calibration_error,
        plug_in_squared_error=plug_in.plug_in_squared_error,
        max_calibration_error=plug_in.max_calibration_error,
        ece=plug_in_errors(widths).expected_calibration_error,
        n_ece_bins=settings.n_ece_bins,
        ece_noise_floor=floor,
        interval=interval,
        test=calibration_test(table, seed=seed),
        brier=proper.brier,
        brier_skill=proper.brier_skill,
        log_loss=proper.log_loss,
        log_loss_skill=proper.log_skill,
        refinement=parts.refinement,
        remainder=parts.remainder,
        reliability=parts.reliability,
        resolution=parts.resolution,
        uncertainty=parts.uncertainty,
        mean_error=_quantity(mean_error),
        cox_intercept=_quantity(cox.intercept),
        cox_slope=_quantity(cox.slope),
        level=level,
        seed=seed if isinstance(seed, int) else None,
        bins=tuple(_bins(bins, limits)),
        bin_interval=limits.method,
        bins_warning=_bin_warning(view, bins),
        plug_in_calibration_error_warning=_cancelling(plug_in.plug_in_calibration_error, interval),
        plotted=bins,
        **_error(interval),
        **_other_interval(table, bins, settings),
        **(_smooth(view.summed, settings) if settings.smooth else {}),
    )


def _by_rows(
    source: Source, bins: Bins, widths: Bins, settings: Settings
) -> tuple[NoiseFloor, Estimate, CoxCalibration, BinIntervals]:
    """Return what is computed from pairs in the order of their clusters, which are then freed."""
    rows, level = rows_of(source), settings.level
    clustered = rows if source.cluster_count else None
    both = source if isinstance(source, CrossedPairs) else rows
    return (
        noise_floors(widths, clustered=clustered, level=level, seed=settings.seed)[
            "expected_calibration_error"
        ],
        mean_error(both, level=level),
        cox_calibration(both, level=level),
        bin_intervals(bins, level=level, clustered=clustered),
    )


def bins_of(view: ViewSource, settings: Settings, *, several: bool = False) -> tuple[Bins, Bins]:
    """Return the adaptive and the equal-width bins; one exact pass computes both.

    ``several``: the view is one of several, which may have fewer pairs than the requested bins.
    """
    n = view.n
    if several:
        count = None if settings.n_bins is None else min(settings.n_bins, n)
        settings = replace(settings, n_bins=count)
    count = settings.n_bins
    if count is not None and count > n:
        message = f"n_bins is {count}, more than the {counted(n, 'pair')} of view {view.view}"
        raise InputError(message, f"give at most {n} (`n_bins`)", code="parameter")
    # A row of the grid is one unit, and Algorithm 2 draws once per tie. Two bins that shared one would have
    # less noise than their counts suggest.
    ties: Ties = "shared" if view.is_exact and settings.interval != "sampling" else "whole"
    if settings.bin_size is None and count is None:
        cuts, ties = display_cuts(view.alone), "whole"
    else:
        ranks = adaptive_ranks(n, size=settings.bin_size, n_bins=count)
        cuts = Cuts("adaptive", settings.bin_size, ranks)
    tally = view.with_cuts(cuts.ranks, np.arange(settings.n_ece_bins + 1) / settings.n_ece_bins)
    return at_ranks(tally, cuts, ties), uniform(tally, settings.n_ece_bins)


def _error(interval: ErrorInterval) -> dict[str, Any]:
    """Return the calibration error with its interval, and its square."""
    square = interval.debiased_squared_error
    undefined = interval.reason if square is None else None
    return {
        "calibration_error": Quantity(interval.estimate, interval.low, interval.high, reason=interval.reason),
        "debiased_squared_error": Quantity(square, standard_error=interval.standard_error, reason=undefined),
    }


def _quantity(estimate: Estimate) -> Quantity:
    """Return an estimate at the level of the whole measurement."""
    return Quantity(
        estimate.estimate,
        estimate.low,
        estimate.high,
        estimate.standard_error,
        estimate.reason,
        estimate.warning,
    )


def _bins(bins: Bins, limits: BinIntervals) -> Iterator[Bin]:
    for row, end in zip(bins.to_rows(), limits.to_rows(), strict=True):
        frequency = Quantity(row.pop("frequency"), end["low"], end["high"])
        yield Bin(frequency=frequency, **row)


def _bin_warning(view: ViewSource, bins: Bins) -> str | None:
    if view.n < FEWEST:
        return f"only {counted(view.n, 'pair')}, so bins have few pairs and their intervals are wide"
    if not view.is_exact and bins.asked is not None and bins.used < 0.9 * bins.asked:
        return FEWER.format(bins.used, bins.asked)
    return None


def _cancelling(plug_in: float, debiased: ErrorInterval) -> str | None:
    """Return a warning if gaps of opposite sign cancel within the plotted bins."""
    if debiased.low is None or debiased.estimate is None or plug_in >= debiased.low:
        return None
    return CANCEL.format(plug_in, debiased.estimate)


def _other_interval(table: Residuals | Resolutions, bins: Bins, settings: Settings) -> dict[str, Any]:
    """Return the interval of another method, if one is requested, with the number that it is for."""
    if settings.interval == "inverted":
        return {}
    interval = error_interval(
        bins if settings.interval == "sampling" else table,
        method=settings.interval,
        level=settings.level,
        seed=settings.seed,
        samples=settings.samples,
    )
    return {settings.interval: interval}


def _smooth(source: Source, settings: Settings) -> dict[str, Any]:
    from calibrant.metrics.smooth import smooth_error

    error = smooth_error(source)
    floor = smooth_noise_floor(source, resamples=SMOOTH_RESAMPLES, level=settings.level, seed=settings.seed)
    return {
        "smooth_ece": error.value,
        "smooth_ece_bandwidth": error.bandwidth,
        "smooth_ece_noise_floor": floor,
    }


class PairBatch(Protocol):
    """A batch of pairs."""

    @property
    def score(self) -> NDArray[np.float64]:
        """Predicted probabilities."""
        ...

    @property
    def label(self) -> NDArray[np.bool_]:
        """Outcomes, 0 or 1."""
        ...


@runtime_checkable
class PairStream(Protocol):
    """Pairs of one view with clusters, computed on request.

    The queries of `calibrant.structures.posterior.queries` are such streams.
    """

    @property
    def view(self) -> str:
        """Name of the view."""
        ...

    @property
    def threshold(self) -> float | None:
        """Threshold below which scores were left out; None if no scores were left out."""
        ...

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[PairBatch]: ...

    def pairs(self) -> Pairs:
        """Return all pairs."""
        ...

    def tally(
        self, *, by_cluster: bool = False, exact: bool | None = None, threads: int | None = None
    ) -> Tally:
        """Return sums of the pairs by score, or by score and cluster."""
        ...


def stream_source(stream: PairStream, *, exact: bool = False, threads: int | None = None) -> ViewSource:
    """Return the pairs of a stream with their clusters, or its tallies if there are many pairs.

    Bins and scores use all pairs; intervals and tests use the sums of clusters. ``exact``: bins are computed
    from the scores themselves for any number of pairs.
    """
    if len(stream) <= held.IN_MEMORY:
        pairs, codes = compact(stream.pairs())
        rows = Rows(pairs.outcome, None) if stream.threshold is None else None
        return ViewSource(stream.view, pairs, threads, rows=rows, codes=codes)
    clustered = stream.tally(by_cluster=True, exact=False, threads=threads)
    total = stream.tally(exact=False, threads=threads)
    chunks = (lambda: ((batch.score, batch.label) for batch in stream)) if exact else None
    return ViewSource(stream.view, _without_gaps(clustered), threads, chunks, total=total)


def _without_gaps(tally: Tally) -> Tally:
    """Return the tally without clusters that have no pairs, which are not units of the measurement."""
    assert tally.cluster is not None
    assert tally.clusters is not None
    used, cluster = np.unique(tally.cluster, return_inverse=True)
    return replace(tally, cluster=cluster, clusters=tally.clusters[used])
