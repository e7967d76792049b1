"""The computations of `calibrant demo`: a tagger before and after recalibration; counts with intervals."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant._checks import pairs
from calibrant._version import __version__
from calibrant.data import event_labels, event_reading, event_store, tag_counts, tagger_predictions
from calibrant.demo.results import Demonstration, TaggerStory
from calibrant.events.verbs.tables import event_table
from calibrant.io import Predictions, open_predictions
from calibrant.metrics.binning import uniform
from calibrant.metrics.frequencies import bin_intervals
from calibrant.metrics.tally import Tally
from calibrant.progress import Progress
from calibrant.results.measurement import Measurement
from calibrant.seeds import Seed
from calibrant.verbs.applying import recalibrated
from calibrant.verbs.grouping import group_changes
from calibrant.verbs.measuring import bins_of, measure, measurement_of
from calibrant.verbs.options import Settings
from calibrant.verbs.recalibrating import fit
from calibrant.verbs.sources import ViewSource

METHOD: str = "histogram"
GROUPS = 6
RANGES = 5
DRAWS = 50
STORE = "socialist-worker"
COUNTRIES = ("USA", "IRQ")


def demonstrate(
    *, seed: Seed = 0, progress: Progress | None = None, command: str | None = None
) -> Demonstration:
    """Compute the numbers of `calibrant demo` on data that ship with the package.

    Parameters
    ----------
    seed
        Seed of all random draws.
    progress
        Function that is called with a stage, the work done and the whole work (or None).
    command
        Command line to record.

    Returns
    -------
    Demonstration
        Record for `calibrant.demo.story_page`.

    Examples
    --------
    >>> demonstration = demonstrate()
    >>> demonstration.tagger.words, len(demonstration.tagger.grouped_changes.groups)
    (25094, 6)
    """
    tell: Progress = progress or (lambda stage, done, total: None)
    tagger = tagger_story(tagger_predictions(), tagger_predictions("dev"), tag_counts(), seed=seed, tell=tell)
    tell("counting events", 0, None)
    right, read = event_reading(STORE)
    dev = event_labels()
    return Demonstration(
        tagger=tagger,
        events=event_table(event_store(STORE), by="year", countries=COUNTRIES, labels=dev),
        right=right,
        read=read,
        version=__version__,
        command=command,
    )


def tagger_story(test: Any, dev: Any, counts: Any, *, seed: Seed, tell: Progress) -> TaggerStory:
    """Measure the tables of a tagger, recalibrate them in two ways, and measure them again."""
    tell("measuring", 0, None)
    table, learned = open_predictions(test), open_predictions(dev)
    batch = table.read(items=True)
    tally = Tally.from_arrays(y_true=batch.label, y_prob=batch.score, clusters=batch.cluster)
    ranges = uniform(tally, RANGES)
    tell("fitting", 0, None)
    shared = fit(dev, method=METHOD)
    asked: dict[str, Any] = {"group": "frequency", "groups": GROUPS, "counts": counts}
    grouped = fit(dev, method=METHOD, **asked)
    tell("measuring after recalibration", 0, None)
    resampled: dict[str, Any] = {"dev": dev, "draws": DRAWS, "seed": seed}
    return TaggerStory(
        words=len(np.unique(np.asarray(batch.item))),
        sentences=len(table.clusters),
        classes=len(table.classes),
        dev_words=len(np.unique(np.asarray(learned.read(items=True).item))),
        threshold=table.threshold,
        first=first_choices(table, seed),
        before=_pooled(table, seed),
        shared=_pooled(recalibrated(table, shared), seed),
        grouped=_pooled(recalibrated(table, grouped), seed),
        ranges=ranges,
        range_intervals=bin_intervals(ranges, clustered=tally),
        shared_changes=group_changes(test, shared, **resampled, **asked),
        grouped_changes=group_changes(test, grouped, **resampled, counts=counts),
    )


def first_choices(table: Predictions, seed: Seed) -> Measurement:
    """Measure the most probable class of each item; among equal probabilities, the first in the table.

    The table must contain the most probable class of every item.
    """
    batch = table.read(items=True)
    order = np.lexsort((-batch.score, np.asarray(batch.item)))
    item = np.asarray(batch.item)[order]
    best = order[np.append(True, item[1:] != item[:-1])]
    cluster = None if batch.cluster is None else batch.cluster[best]
    source = ViewSource("top", pairs(batch.label[best], batch.score[best], clusters=cluster))
    settings = Settings(seed=seed)
    return measurement_of(source, settings, *bins_of(source, settings))


def _pooled(table: Predictions, seed: Seed) -> Measurement:
    return measure(table, view="pooled", seed=seed)["pooled"]
