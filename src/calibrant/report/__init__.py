"""The reports: one self-contained HTML page about one or several models, or about a whole evaluation.

`page`, `protocol_page` and `story_page` word the records that `calibrant.workflow` returns. A page is
rendered by its ``to_html()`` and ``to_dict()``, and `write` puts it into a file. `TERMS` says what each
number means, for the report, the command line and the documentation.
"""

from calibrant.report._page import Page, page, write
from calibrant.report._protocol_page import ProtocolPage, protocol_page
from calibrant.report._story import StoryPage, StoryStep, story_page
from calibrant.report.glossary import TERMS, Term, term

__all__ = [
    "TERMS",
    "Page",
    "ProtocolPage",
    "StoryPage",
    "StoryStep",
    "Term",
    "page",
    "protocol_page",
    "story_page",
    "term",
    "write",
]
