"""`calibrant events`: extract and count events in dated documents, with uncertainty."""

from __future__ import annotations

from calibrant.cli.group import CommandGroup

command = CommandGroup(
    name="events",
    short_help="Extract events from dated documents, count them by period, draw and inspect them.",
    help="Extract events from dated documents and count them by country and period, with intervals.\n\n"
    "A document counts for a country if an entity is described as the country and is the agent of a verb of "
    "force. `run` samples each document's entities, so that every document gets a probability.\n\n"
    "Documents are text files in a folder, tables or JSON lines of raw text, or CoNLL-U with dates in "
    "comments. Each command takes --json.",
    epilog="Example: calibrant events run news -o store",
    commands={
        "run": "calibrant.events.cli.run",
        "lexicon": "calibrant.events.cli.lexicon",
        "relations": "calibrant.events.cli.relations",
        "table": "calibrant.events.cli.table",
        "plot": "calibrant.events.cli.plot",
        "uncertain": "calibrant.events.cli.uncertain",
        "sample": "calibrant.events.cli.sample",
    },
)
