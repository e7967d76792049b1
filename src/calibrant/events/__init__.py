"""Which country does what in a text: a lexicon, rules over trees, and counts over sampled entities."""

from __future__ import annotations

from calibrant.events.count import Candidates, DocumentSamples, Evidence, candidates, count, document_samples
from calibrant.events.extraction import DocumentEvents, extract
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
from calibrant.events.rules import RULES, VERBS_OF_FORCE, Rules, label_scheme, may_count

__all__ = [
    "RULES",
    "VERBS_OF_FORCE",
    "Candidates",
    "Conflict",
    "DocumentEvents",
    "DocumentSamples",
    "Entry",
    "Evidence",
    "Lexicon",
    "Match",
    "Rules",
    "candidates",
    "code_named",
    "count",
    "country_names",
    "default_lexicon",
    "document_samples",
    "extract",
    "label_scheme",
    "may_count",
    "parse_lexicon",
]
