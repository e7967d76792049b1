"""Compute the record of one view from its pairs, with the documented defaults."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from msgspec.structs import replace as struct_replace

from calibrant import __version__
from calibrant._checks import positive_integer, proportion, sample_count
from calibrant._parallel import check_threads
from calibrant.exceptions import InputError
from calibrant.metrics.binning import Cuts, Source, Ties, adaptive_ranks, at_ranks, display_cuts, uniform
from calibrant.metrics.decompositions import brier_decomposition
from calibrant.metrics.frequencies import bin_intervals
from calibrant.metrics.intervals import calibration_test, error_interval
from calibrant.metrics.logistic import calibration_in_the_large_of, cox_calibration_of
from calibrant.metrics.noise_floor import noise_floors, smooth_noise_floor
from calibrant.metrics.plug_in import plug_in_errors
from calibrant.metrics.proper_scores import scores_of
from calibrant.metrics.residuals import Residuals, residuals
from calibrant.progress import Progress
from calibrant.records import Quantity
from calibrant.records.words import counted
from calibrant.results.bins import BinIntervals, Bins
from calibrant.results.errors import Estimate
from calibrant.results.intervals import ErrorInterval
from calibrant.results.measurement import Bin, Binning, Measurement, Recipe
from calibrant.seeds import Seed
from calibrant.verbs.sources import ViewSource

IntervalMethod = Literal["inverted", "sampling", "bootstrap"]
MOST_ECE_BINS = 10_000
FEWEST = 200  # smallest number of pairs in a bin in the papers
SMOOTH_RESAMPLES = 200  # each takes some milliseconds
FEWER = "{:,} bins instead of {:,}: rows of the fixed grid are kept whole (exact bins are made on request)"
CANCEL = (
    "CalibErr ({:.4f}) is below the interval of the debiased error ({:.4f}): gaps of opposite sign cancel "
    "within the plotted bins, so CalibErr and the plot understate the error; use smaller bins to see more "
    "of it. If an item has several rows with the same score, name the item as its cluster"
)
DROPPED = "scores below the threshold were dropped"


@dataclass(frozen=True)
class Settings:
    """Settings of a measurement, checked; the defaults are those of `calibrant.verbs.measure`."""

    views: Sequence[str] | None = None
    bin_size: int | None = None
    n_bins: int | None = None
    n_ece_bins: int = 15
    level: float = 0.95
    interval: IntervalMethod = "inverted"
    samples: int | None = None
    seed: Seed = 0
    smooth: bool = False
    exact: bool = False

    def __post_init__(self) -> None:
        proportion(self.level, "level")
        if positive_integer(self.n_ece_bins, "n_ece_bins") > MOST_ECE_BINS:
            message = f"n_ece_bins is {self.n_ece_bins}"
            raise InputError(message, f"give at most {MOST_ECE_BINS} (`n_ece_bins`)", code="parameter")
        for value, name in (
            (self.bin_size, "bin_size"),
            (self.n_bins, "n_bins"),
        ):
            if value is not None:
                positive_integer(value, name)
        if self.samples is not None:
            sample_count(self.samples)
        if self.bin_size is not None and self.n_bins is not None:
            message = "both a bin size and a number of bins are given"
            raise InputError(message, "give one of them", code="parameter")
        if self.interval not in ("inverted", "sampling", "bootstrap"):
            hint = "give inverted, sampling or bootstrap"
            raise InputError(f"interval is {self.interval!r}", hint, code="parameter")


@dataclass(frozen=True)
class Run:
    """Settings that do not change numbers: threads, progress and the command line."""

    threads: int | None = None
    progress: Progress | None = None
    command: str | None = None

    def __post_init__(self) -> None:
        check_threads(self.threads)

    def say(self, stage: str, done: int = 0, whole: int | None = None) -> None:
        """Report progress."""
        if self.progress is not None:
            self.progress(stage, done, whole)

    def recipe(self, file: str, form: str, rows: int, **known: Any) -> Recipe:
        """Return the recipe of a measurement; ``known`` are further fields of `Recipe`."""
        known = {"classes": None, "threshold": None, **known}
        return Recipe(file, form, rows, version=__version__, command=self.command, **known)


def measurement_of(
    view: ViewSource, settings: Settings, bins: Bins, widths: Bins, *, partial: bool = False
) -> Measurement:
    """Measure one view on its adaptive and equal-width bins.

    ``partial``: scores below a threshold were dropped, so the log loss is unknown.
    """
    source, level, seed = view.source, settings.level, settings.seed
    plug_in = plug_in_errors(bins)
    parts = brier_decomposition(bins)
    scores = scores_of(view.alone, threads=view.threads)
    clustered = view.by_cluster
    summed = view.summed
    floor = noise_floors(widths, clustered=clustered, level=level, seed=seed)["expected_calibration_error"]
    table = residuals(source)
    interval, debiased = _interval(source, table, settings)
    large = calibration_in_the_large_of(summed, level=level)
    cox = cox_calibration_of(summed, level=level)
    limits = bin_intervals(bins, level=level, clustered=clustered)
    if partial:
        dropped = Quantity(None, reason=DROPPED)
        scores = struct_replace(scores, log_loss=dropped, log_skill=dropped)
    return Measurement(
        view=view.view,
        n=view.n,
        positives=view.positives,
        weight_sum=scores.weight_sum,
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
        brier=scores.brier,
        brier_skill=scores.brier_skill,
        log_loss=scores.log_loss,
        log_loss_skill=scores.log_skill,
        refinement=parts.refinement,
        remainder=parts.remainder,
        reliability=parts.reliability,
        resolution=parts.resolution,
        uncertainty=parts.uncertainty,
        calibration_in_the_large=_quantity(large.difference),
        cox_intercept=_quantity(cox.intercept),
        cox_slope=_quantity(cox.slope),
        level=level,
        seed=seed if isinstance(seed, int) else None,
        bins=tuple(_bins(bins, limits)),
        bin_interval=limits.method,
        bins_warning=_bin_warning(view, bins),
        plug_in_calibration_error_warning=_cancelling(plug_in.plug_in_calibration_error, debiased),
        plotted=bins,
        **_error(interval, debiased),
        **(_smooth(summed, settings) if settings.smooth else {}),
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
    # A row of the grid is one unit. Two bins that shared it would have less noise than their counts suggest.
    ties: Ties = "shared" if view.is_exact else "whole"
    if settings.bin_size is None and count is None:
        cuts, ties = display_cuts(view.alone), "whole"
    else:
        ranks = adaptive_ranks(n, size=settings.bin_size, n_bins=count)
        cuts = Cuts("adaptive", settings.bin_size, ranks)
    tally = view.with_cuts(cuts.ranks, np.arange(settings.n_ece_bins + 1) / settings.n_ece_bins)
    return at_ranks(tally, cuts, ties), uniform(tally, settings.n_ece_bins)


def _error(interval: ErrorInterval, debiased: ErrorInterval) -> dict[str, Any]:
    """Return the debiased error with the requested interval, and its square."""
    square = debiased.debiased_squared_error
    undefined = debiased.reason if square is None else None
    error = None if square is None else max(0.0, square) ** 0.5
    return {
        "calibration_error": Quantity(
            error, interval.low, interval.high, reason=undefined or interval.reason
        ),
        "debiased_squared_error": Quantity(square, standard_error=debiased.standard_error, reason=undefined),
    }


def _quantity(found: Estimate) -> Quantity:
    """Return an estimate at the level of the whole measurement."""
    return Quantity(found.estimate, found.low, found.high, found.standard_error, found.reason, found.warning)


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


def _interval(source: Source, table: Residuals, settings: Settings) -> tuple[ErrorInterval, ErrorInterval]:
    """Return the requested interval, and the default interval of the debiased error."""
    default = error_interval(table, level=settings.level, seed=settings.seed)
    if settings.interval == "inverted":
        return default, default
    size = None
    if settings.interval == "sampling" and settings.n_bins is None:
        size = settings.bin_size
    asked = error_interval(
        source if settings.interval == "sampling" else table,
        method=settings.interval,
        level=settings.level,
        seed=settings.seed,
        samples=settings.samples,
        bin_size=size,
    )
    return asked, default


def _smooth(source: Source, settings: Settings) -> dict[str, Any]:
    from calibrant.metrics.smooth import smooth_calibration_error_of

    found = smooth_calibration_error_of(source)
    floor = smooth_noise_floor(source, resamples=SMOOTH_RESAMPLES, level=settings.level, seed=settings.seed)
    return {
        "smooth_ece": found.value,
        "smooth_ece_bandwidth": found.bandwidth,
        "smooth_ece_noise_floor": floor,
    }
