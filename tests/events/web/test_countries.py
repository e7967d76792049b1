"""Countries are found by code, by name, and by what their people are called."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from calibrant.events import country_names
from calibrant.events.files.store import StoredCount, StoredDocument
from calibrant.events.web import Explorer
from calibrant.exceptions import InputError

Make = Callable[..., Path]
PageOf = Callable[[Explorer, str], str]
CODES = ("USA", "IRQ", "GIN", "GNB", "IGONAT", "CIV", "X9", "KOR", "PRK")


def naming(*codes: str) -> StoredDocument:
    """A document that counts for these countries."""
    counts = [StoredCount(code, 0.5, True, b"\x0f") for code in codes]
    return StoredDocument("d", date(2001, 9, 11), counts=counts)


@pytest.fixture
def many(make_store: Make) -> Explorer:
    """A store with a document of all the codes."""
    return Explorer(make_store([naming(*CODES)]))


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ("IRQ", "IRQ"),
        ("irq", "IRQ"),
        ("Iraq", "IRQ"),
        ("  united   STATES ", "USA"),
        ("Americans", "USA"),
        ("nato", "IGONAT"),
        ("ivoire", "CIV"),
        ("Cote d'Ivoire", "CIV"),
        ("côte d’ivoire", "CIV"),
        ("guinea", "GIN"),
        ("bissau", "GNB"),
        ("north korea", "PRK"),
        ("x9", "X9"),
    ],
)
def test_a_country_is_found_by_what_people_call_it(many: Explorer, given: str, code: str) -> None:
    assert many.country(given, by="year").series.country == code


def test_each_name_that_is_shown_finds_its_code(make_store: Make) -> None:
    codes = sorted(country_names())
    explorer = Explorer(make_store([naming(*codes)]))
    assert sorted(explorer.countries) == codes
    for code in codes:
        shown = explorer.country(code, by="year").series.name
        assert explorer.country(shown, by="year").series.country == code


def test_what_may_be_several_is_said_and_what_is_none_refused(many: Explorer) -> None:
    with pytest.raises(InputError, match=r"'ea' may be Guinea \(GIN\), Guinea-Bissau \(GNB\), North Korea"):
        many.country("ea")
    for none in ("Atlantis", "", "   ", "\x00", "<script>", "a" * 10_000, "the Iraq war"):
        with pytest.raises(InputError, match="the store has no document"):
            many.country(none)


def test_countries_to_choose_from_are_in_the_order_of_their_names(make_store: Make, page_of: PageOf) -> None:
    html = page_of(Explorer(make_store([naming("IRQ", "USA", "CIV", "X9")])), "/")
    choices = re.search(r"<datalist.*?</datalist>", html, re.DOTALL)
    assert choices is not None
    assert re.findall(r"<option>(.+?)</option>", choices[0]) == [
        "Côte d’Ivoire",
        "Iraq",
        "United States",
        "X9",
    ]


def test_pages_show_names_and_take_them(explorer: Explorer, page_of: PageOf) -> None:
    page = explorer.country("united states", by="year")
    assert (page.series.country, page.series.name) == ("USA", "United States")
    html = page_of(explorer, "/country?country=united+states&by=year")
    assert "<h1><bdi>United States</bdi></h1>" in html
    assert "USA" not in re.sub("<[^>]*>", "", html)
    both = explorer.compare("Americans", "Iraq", by="year")
    assert (both.first.country, both.second.country) == ("USA", "IRQ")
    with pytest.raises(InputError, match="the same"):
        explorer.compare("USA", "United States")
    assert explorer.documents("Iraq").name == "Iraq"
    overview = page_of(explorer, "/?by=year")
    assert "<option>United States</option>" in overview
    assert "USA" not in re.sub("<[^>]*>", "", overview)
