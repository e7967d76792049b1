"""Records that the commands print as JSON."""

from calibrant.estimation.results.designs import DrawnSample
from calibrant.events.results.corrected import CorrectedEvents
from calibrant.events.results.events import EventTable, ExtractedEvents, UncertainDocuments
from calibrant.events.results.exploring import ServedStore
from calibrant.events.results.reading import ComparedLexicons, RelationCounts
from calibrant.records import Record

OUTPUTS: dict[str, type[Record]] = {
    "events lexicon": ComparedLexicons,
    "events plot": EventTable,
    "events relations": RelationCounts,
    "events run": ExtractedEvents,
    "events sample": DrawnSample,
    "events table": EventTable,
    "events table corrected": CorrectedEvents,  # events table, for readings
    "events uncertain": UncertainDocuments,
    "explore": ServedStore,
}
