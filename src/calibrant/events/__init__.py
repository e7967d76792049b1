"""Events in dated texts: lexicon, rules, extraction, store, counts and explorer.

This package is a wing: the core of calibrant does not import it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from calibrant.lazy import lazily

if TYPE_CHECKING:
    from calibrant.events.counting import (
        Candidates,
        DocumentSamples,
        Evidence,
        candidates,
        count,
        document_samples,
    )
    from calibrant.events.extraction import DocumentEvents, extract
    from calibrant.events.files.dated import check_dated, iter_dated
    from calibrant.events.files.dated_text import DatedText
    from calibrant.events.files.lexicons import read_lexicon
    from calibrant.events.files.store import (
        Counts,
        EventStore,
        Manifest,
        StoredArc,
        StoredCount,
        StoredDocument,
        StoredEvidence,
    )
    from calibrant.events.files.store_writing import StoreWriter
    from calibrant.events.files.verb_lists import read_verbs
    from calibrant.events.lexicon import (
        Conflict,
        Entry,
        Lexicon,
        Match,
        code_named,
        country_names,
        default_lexicon,
        parse_lexicon,
    )
    from calibrant.events.results.corrected import CorrectedEvents, CorrectedPeriod
    from calibrant.events.results.events import (
        EventCount,
        EventTable,
        EvidencePair,
        ExtractedEvents,
        UncertainDocument,
        UncertainDocuments,
    )
    from calibrant.events.results.exploring import ServedStore
    from calibrant.events.results.reading import (
        ComparedLexicons,
        NameDifference,
        RelationCount,
        RelationCounts,
    )
    from calibrant.events.rules import RULES, VERBS_OF_FORCE, Arc, Rules, label_scheme, may_count
    from calibrant.events.verbs.comparing_lexicons import compare_lexicons
    from calibrant.events.verbs.extraction import extract_events
    from calibrant.events.verbs.figures import draw_events
    from calibrant.events.verbs.reading import corrected_events, document_scores, sample_readings
    from calibrant.events.verbs.relations import country_relations
    from calibrant.events.verbs.tables import event_table
    from calibrant.events.verbs.uncertain import uncertain_documents
else:
    __getattr__, __dir__ = lazily(__name__)

__all__ = [
    "RULES",
    "VERBS_OF_FORCE",
    "Arc",
    "Candidates",
    "ComparedLexicons",
    "Conflict",
    "CorrectedEvents",
    "CorrectedPeriod",
    "Counts",
    "DatedText",
    "DocumentEvents",
    "DocumentSamples",
    "Entry",
    "EventCount",
    "EventStore",
    "EventTable",
    "Evidence",
    "EvidencePair",
    "ExtractedEvents",
    "Lexicon",
    "Manifest",
    "Match",
    "NameDifference",
    "RelationCount",
    "RelationCounts",
    "Rules",
    "ServedStore",
    "StoreWriter",
    "StoredArc",
    "StoredCount",
    "StoredDocument",
    "StoredEvidence",
    "UncertainDocument",
    "UncertainDocuments",
    "candidates",
    "check_dated",
    "code_named",
    "compare_lexicons",
    "corrected_events",
    "count",
    "country_names",
    "country_relations",
    "default_lexicon",
    "document_samples",
    "document_scores",
    "draw_events",
    "event_table",
    "extract",
    "extract_events",
    "iter_dated",
    "label_scheme",
    "may_count",
    "parse_lexicon",
    "read_lexicon",
    "read_verbs",
    "sample_readings",
    "uncertain_documents",
]
