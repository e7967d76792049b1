"""The record of `calibrant explore`."""

from __future__ import annotations

from typing import Annotated

from calibrant.records import Record, setting


class ServedStore(Record, frozen=True, kw_only=True):
    """Store of events that is served to a browser."""

    store: Annotated[str, setting("Store", "Store of events, as named in the call.", headline=True)]
    address: Annotated[
        str,
        setting("Address", "Address to open in a browser, with the token if there is one.", headline=True),
    ]
