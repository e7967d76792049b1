"""The record behind `calibrant demo`: a tagger measured, mended and measured again, and counts with doubt."""

from __future__ import annotations

from dataclasses import dataclass, replace

from calibrant.events.results.events import EventTable
from calibrant.records import Printed, Table
from calibrant.results.bins import BinIntervals, Bins
from calibrant.results.groups import GroupedChanges
from calibrant.results.measurement import Measurement


@dataclass(frozen=True)
class TaggerStory:
    """How far a tagger's probabilities can be trusted, before and after recalibration.

    Attributes
    ----------
    words, sentences, classes, dev_words
        Of the test text, the tags that the tagger gives, and of the text that maps were fitted on.
    threshold
        Scores below it are not in the tables; None where all are.
    first
        Of each word's most probable tag: how often it is right, and the mean of its probability.
    before, shared, grouped
        Of the probabilities of all tags: as they are, after one map for all, after a map a group of tags.
    ranges, range_intervals
        The probabilities before, in ranges of equal width.
    shared_changes, grouped_changes
        What the two recalibrators do to all scores, and to each group of tags.
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
    """What `calibrant demo` tells.

    Attributes
    ----------
    tagger
        The tagger's part of the story.
    events
        Counts over time, with and without the doubt.
    right, read
        Of so many documents that the model of events is sure of, so many were right.
    version
        Of calibrant.
    command
        The command line; None where there is none.
    """

    tagger: TaggerStory
    events: EventTable
    right: int
    read: int
    version: str
    command: str | None = None

    def to_tables(self) -> tuple[Table, ...]:
        """Return what each recalibrator does to groups of tags, and the counts over time."""
        named: dict[str, Printed] = {
            "one-map": self.tagger.shared_changes,
            "map-a-group": self.tagger.grouped_changes,
            "counts": self.events,
        }
        return tuple(replace(found.to_tables()[0], name=name) for name, found in named.items())
