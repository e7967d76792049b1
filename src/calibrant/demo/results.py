"""The record of `calibrant demo`: a tagger before and after recalibration, and counts with intervals."""

from __future__ import annotations

from dataclasses import dataclass, replace

from calibrant.events.results.events import EventTable
from calibrant.records import Printed, Table
from calibrant.results.bins import BinIntervals, Bins
from calibrant.results.groups import GroupedChanges
from calibrant.results.measurement import Measurement


@dataclass(frozen=True)
class TaggerStory:
    """Calibration of a tagger's probabilities before and after recalibration.

    Attributes
    ----------
    words, sentences, classes, dev_words
        Numbers of words and sentences of the test text, of tags, and of words of the dev text.
    threshold
        Smallest score in the tables; None if the tables contain all scores.
    first
        Measurement of each word's most probable tag.
    before, shared, grouped
        Measurements of the probabilities of all tags: before recalibration, after one map for all tags, and
        after one map per group of tags.
    ranges, range_intervals
        Bins of equal width of the probabilities before recalibration, with intervals.
    shared_changes, grouped_changes
        Changes of the errors of all scores and of each group of tags, by the two recalibrators.
    """

    words: int
    sentences: int
    classes: int
    dev_words: int
    threshold: float | None
    first: Measurement
    before: Measurement
    shared: Measurement
    grouped: Measurement
    ranges: Bins
    range_intervals: BinIntervals
    shared_changes: GroupedChanges
    grouped_changes: GroupedChanges


@dataclass(frozen=True)
class Demonstration:
    """Record of `calibrant demo`.

    Attributes
    ----------
    tagger
        Calibration of the tagger.
    events
        Counts over time, with intervals.
    right, read
        Number of documents that were checked by hand among those about which the model of events is certain
        (``read``), and how many of them are right (``right``).
    version
        Version of calibrant.
    command
        Command line; None if there is none.
    """

    tagger: TaggerStory
    events: EventTable
    right: int
    read: int
    version: str
    command: str | None = None

    def to_tables(self) -> tuple[Table, ...]:
        """Return tables of the changes of each group of tags by each recalibrator, and of the counts."""
        named: dict[str, Printed] = {
            "one-map": self.tagger.shared_changes,
            "map-a-group": self.tagger.grouped_changes,
            "counts": self.events,
        }
        return tuple(replace(story.to_tables()[0], name=name) for name, story in named.items())
