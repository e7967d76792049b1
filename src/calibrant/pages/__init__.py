"""The reports: one self-contained HTML page about one or several models, or about a whole evaluation.

`page`, `protocol_page` and `story_page` word the records that `calibrant.verbs` returns. A page is
rendered by its ``to_html()`` and ``to_dict()``, and `write` puts it into a file.
"""

from calibrant.pages.report_page import Page, page, write

__all__ = [
    "Page",
    "page",
    "write",
]
