"""The SGML files of Reuters-21578 as lines of JSON."""

from __future__ import annotations

import json
import re
from typing import Any

from calibrant.exceptions import FormatError

STORY = re.compile(
    r'<REUTERS TOPICS="?(?P<topics>\w+)"? LEWISSPLIT="(?P<split>[\w-]+)"[^>]* NEWID="(?P<id>\d+)">'
    r"(?P<body>.*?)</REUTERS>",
    re.DOTALL,
)
TEXT = re.compile(r'<TEXT(?: TYPE="(?P<kind>\w+)")?>(?P<text>.*?)</TEXT>', re.DOTALL)
# Codes of the wire may follow. One story has a digit too many in front of its hour.
DATE = re.compile(r"\s*(\d+)-([A-Z]{3})-(\d{4}) +6?(\d\d:\d\d:\d\d\.\d+)")
CODE = re.compile(r"<D>(.*?)</D>")
CONTROL = re.compile(r"&#\d+;")
MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")


def stories(content: bytes) -> bytes:
    r"""Turn the collection's files, joined, into lines of JSON.

    Parameters
    ----------
    content
        ASCII but for one byte, which is noise and left out.

    Returns
    -------
    bytes
        Objects of ``id``, ``date``, ``title``, ``dateline``, ``places``, ``topics``, ``lewissplit``,
        ``topics_attr``, ``text_type`` and ``text``.

    Examples
    --------
    >>> head = '<REUTERS TOPICS="NO" LEWISSPLIT="TEST" CGISPLIT="A" OLDID="5" NEWID="7">'
    >>> date = "<DATE>26-FEB-1987 15:01:01.79</DATE>"
    >>> text = "<TEXT>&#2;<TITLE>A &lt;B></TITLE><BODY>One.\n&#3;</BODY></TEXT></REUTERS>"
    >>> found = json.loads(stories((head + date + text).encode()))
    >>> found["id"], found["date"], found["title"], found["text"]
    (7, '1987-02-26T15:01:01.79', 'A <B>', 'One.')
    """
    text = content.decode("ascii", errors="ignore")
    return "".join(json.dumps(_story(match)) + "\n" for match in STORY.finditer(text)).encode("ascii")


def _story(match: re.Match[str]) -> dict[str, Any]:
    body = match["body"]
    written = TEXT.search(body)
    if written is None:
        raise FormatError(
            f"story {match['id']} has no text", "take the collection as it is", code="file-broken"
        )
    kind, text = written["kind"] or "NORM", written["text"]
    return {
        "id": int(match["id"]),
        "date": _date(_element(body, "DATE"), match["id"]),
        "title": " ".join(_plain(_element(text, "TITLE")).split()),
        "dateline": " ".join(_plain(_element(text, "DATELINE")).split()).rstrip(" -"),
        "places": CODE.findall(_element(body, "PLACES")),
        "topics": CODE.findall(_element(body, "TOPICS")),
        "lewissplit": match["split"],
        "topics_attr": match["topics"],
        "text_type": kind,
        "text": _plain(text if kind == "UNPROC" else _element(text, "BODY")),
    }


def _element(text: str, name: str) -> str:
    """Return the content of the first element of a name; empty without such an element."""
    found = re.search(rf"<{name}>(.*?)</{name}>", text, re.DOTALL)
    return found[1] if found else ""


def _plain(text: str) -> str:
    """References resolved or, to control characters, left out; no blanks at the ends of lines."""
    text = CONTROL.sub("", text).replace("&lt;", "<").replace("&amp;", "&").replace("\t", " ")
    return "\n".join(line.rstrip() for line in text.split("\n")).strip("\n")


def _date(text: str, story: str) -> str:
    found = DATE.match(text)
    if found is None or found[2] not in MONTHS:
        raise FormatError(f"story {story} has no date", "take the collection as it is", code="date")
    day, month, year, time = found.groups()
    return f"{year}-{MONTHS.index(month) + 1:02}-{int(day):02}T{time}"
