"""`calibrant events`: which countries do what in dated documents, with the doubt that is left."""

from __future__ import annotations

from calibrant.cli.group import CommandGroup

command = CommandGroup(
    name="events",
    short_help="Events in dated documents: extract, count by period, draw, look at the doubtful ones.",
    help="Find out for which countries dated documents count (some entity is described as the country, and "
    "is the agent of a verb of force), in samples of their entities; count them by period with intervals.\n\n"
    'Documents are JSON lines of raw text ({"id", "date", "text"}) or CoNLL-U with dates in comments. '
    "Each command takes --json.",
    epilog="Example: calibrant events run news.jsonl -o store --parser en_core_web_sm",
    commands={
        "run": "calibrant.events.cli.run",
        "lexicon": "calibrant.events.cli.lexicon",
        "relations": "calibrant.events.cli.relations",
        "table": "calibrant.events.cli.table",
        "plot": "calibrant.events.cli.plot",
        "uncertain": "calibrant.events.cli.uncertain",
    },
)
