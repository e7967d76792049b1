"""Records that the commands print as JSON."""

from calibrant.events.results.events import EventTable, ExtractedEvents, UncertainDocuments
from calibrant.events.results.exploring import ServedStore
from calibrant.events.results.reading import ComparedLexicons, RelationCounts
from calibrant.records import Record

OUTPUTS: dict[str, type[Record]] = {
    "events lexicon": ComparedLexicons,
    "events plot": EventTable,
    "events relations": RelationCounts,
    "events run": ExtractedEvents,
    "events table": EventTable,
    "events uncertain": UncertainDocuments,
    "explore": ServedStore,
}
