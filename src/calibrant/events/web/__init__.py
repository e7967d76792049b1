"""The explorer: a store of events as pages of a local web server.

`Explorer` keeps a store in memory and makes pages; a page is a record that is served as HTML, JSON or CSV.
`serve` serves them to a browser on the same machine, or, with a token, on another one.
"""

from __future__ import annotations

from calibrant.events.web.explorer import Explorer
from calibrant.events.web.serving import application, serve

__all__ = ["Explorer", "application", "serve"]
