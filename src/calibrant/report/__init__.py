"""The report: one self-contained HTML page about one or several models.

`page` words the records that `calibrant.workflow` returns; the page is rendered by its
``to_html()`` and ``to_dict()``, and `write` puts it into a file. `TERMS` says what each number
means, for the report, the command line and the documentation.
"""

from calibrant.report._page import Page, page, write
from calibrant.report.glossary import TERMS, Term, term

__all__ = ["TERMS", "Page", "Term", "page", "term", "write"]
