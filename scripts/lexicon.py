"""Write the lexicon of countries and organizations that ships with the package, and what people call them.

python scripts/lexicon.py          writes src/calibrant/events/lexicon.csv and country_names.csv

Needs pycountry (ISO 3166) and Babel (Unicode CLDR), which nothing else does: the file ships, so that
neither is needed to build, install, test or run calibrant. ``lexicon_names.txt`` beside this script holds
the project's own names.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

OWN = Path(__file__).with_name("lexicon_names.txt")
TARGET = Path(__file__).resolve().parent.parent / "src" / "calibrant" / "events" / "lexicon.csv"
SHOWN = TARGET.with_name("country_names.csv")
LOCALES = ("en", "en_GB")
# States that a country of today goes on from have its code; those that fell apart keep their own.
PRESENT = {"BUR": "MMR", "BYS": "BLR", "DHY": "BEN", "HVO": "BFA", "NHB": "VUT", "RHO": "ZWE", "TMP": "TLS"}
PRESENT |= {"VDR": "VNM", "ZAR": "COD"}
DISSOLVED = {"ANT", "CSK", "DDR", "SCG", "SUN", "YMD", "YUG"}
NO_STATE = {"ATA", "BVT", "HMD", "UMI", "ATF", "IOT"}  # nobody there does anything
NO_COUNTRY = "-"
OTHER_CODES = {"XK": "XKX"}

Row = tuple[str, str, str]


def own_names() -> Iterator[Row]:
    """The project's own names."""
    for line in OWN.read_text(encoding="utf-8").splitlines():
        if line.startswith("#") or not line.strip():
            continue
        code, _, names = line.partition(":")
        for name in names.split("|"):
            yield code.strip(), name.strip().removeprefix("="), "1" if name.strip().startswith("=") else ""


def iso_names() -> Iterator[Row]:
    """Names of ISO 3166-1, and of former states in ISO 3166-3."""
    pycountry: Any = import_module("pycountry")
    for country in pycountry.countries:
        for kind in ("common_name", "name", "official_name"):
            name = getattr(country, kind, None)
            if name and country.alpha_3 not in NO_STATE:
                yield country.alpha_3, name, ""
    for country in pycountry.historic_countries:
        code = PRESENT.get(country.alpha_3, country.alpha_3)
        if code in DISSOLVED or code != country.alpha_3:
            yield code, country.name, ""


def cldr_names() -> Iterator[Row]:
    """Names of territories in English, from CLDR."""
    pycountry: Any = import_module("pycountry")
    locale: Any = import_module("babel").Locale
    codes = {country.alpha_2: country.alpha_3 for country in pycountry.countries} | OTHER_CODES
    for language in LOCALES:
        for territory, name in sorted(locale.parse(language).territories.items()):
            if (code := codes.get(territory)) is not None and code not in NO_STATE:
                yield code, name, ""


def plain(name: str) -> Iterator[str]:
    """Return forms of a listed name in texts: "Iran, Islamic Republic of", "Congo (Kinshasa)"."""
    name = name.split(" (")[0].replace("’", "'").replace(" - ", "-").strip()
    head, comma, rest = name.partition(", ")
    ends_open = rest.endswith((" of", " of the", " the"))
    if not comma:
        yield name
    elif ends_open or rest in ("Republic of", "the"):
        yield f"{rest} {head}"
        yield head
    if "&" in name:
        yield name.replace("&", "and")


def rows() -> Iterator[Row]:
    """All names once, the project's own first; of a name with two codes the first."""
    seen: set[str] = set()
    for code, listed, cased in (*own_names(), *iso_names(), *cldr_names()):
        for name in [listed] if cased else plain(listed):
            key = name if cased else name.lower()
            if key not in seen and name.lower() not in seen:
                seen.add(key)
                yield code, name, cased


def shown_names() -> dict[str, str]:
    """The name of each code that people are shown: CLDR's in English, else the project's first."""
    pycountry: Any = import_module("pycountry")
    territories = import_module("babel").Locale.parse("en").territories
    codes = {country.alpha_2: country.alpha_3 for country in pycountry.countries} | OTHER_CODES
    found = {code: territories[short] for short, code in codes.items() if short in territories}
    for code, name, _ in own_names():
        if code != NO_COUNTRY:
            found.setdefault(code, name)
    return {code: found[code] for code in sorted({code for code, _, _ in rows()} - {NO_COUNTRY})}


def by_code(row: Row) -> tuple[str, str]:
    """The order of the file."""
    return row[0], row[1].lower()


if __name__ == "__main__":
    with TARGET.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("code", "name", "cased"))
        table: list[Row] = sorted(rows(), key=by_code)
        writer.writerows(table)
    with SHOWN.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("code", "name"))
        writer.writerows(shown_names().items())
