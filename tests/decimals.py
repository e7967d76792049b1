"""Numbers with four decimals or more: those of a text, of a record, and of a page."""

from __future__ import annotations

import re
from typing import Any

from calibrant.records import Record


def decimals(text: str) -> set[str]:
    """Return the numbers of a text that have four decimals or more.

    Examples
    --------
    >>> sorted(decimals("0.0432 [0.0351, 0.0514]; n 1,200, level 0.95"))
    ['0.0351', '0.0432', '0.0514']
    """
    return set(re.findall(r"(?<![\w.])\d+\.\d{4,}(?:e-\d+)?", text))


def decimals_in(value: Any) -> set[str]:
    """Return the numbers with four decimals or more in the texts of a record and of all records in it."""
    if isinstance(value, Record):
        inside = (getattr(value, name) for name in value.__struct_fields__)
        return decimals(value.to_text()).union(*map(decimals_in, inside))
    return set().union(*map(decimals_in, value)) if isinstance(value, list | tuple) else set()


def decimals_of_page(html: str) -> set[str]:
    """Return the numbers with four decimals or more that a page shows outside figures."""
    shown = re.sub(r"(?s)<(style|svg).*?</\1>", " ", html)
    return decimals(re.sub(r"<[^>]*>", " ", shown))
