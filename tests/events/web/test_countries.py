"""Countries are found by code, by name, and by what their people are called."""

from __future__ import annotations

import pytest

from calibrant.events import country_names
from calibrant.events.web import Explorer
from calibrant.events.web._countries import by_name, find, name_of
from calibrant.events.web._html import render
from calibrant.exceptions import InputError

CODES = ("USA", "IRQ", "GIN", "GNB", "IGONAT", "CIV", "X9", "KOR", "PRK")


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
def test_a_country_is_found_by_what_people_call_it(given: str, code: str) -> None:
    assert find(given, CODES) == code


def test_each_name_that_is_shown_finds_its_code() -> None:
    codes = sorted(country_names())
    assert [find(name_of(code), codes) for code in codes] == codes


def test_what_may_be_several_is_said_and_what_is_none_refused() -> None:
    with pytest.raises(InputError, match=r"'ea' may be Guinea \(GIN\), Guinea-Bissau \(GNB\), North Korea"):
        find("ea", CODES)
    for none in ("Atlantis", "", "   ", "\x00", "<script>", "a" * 10_000, "the Iraq war"):
        with pytest.raises(InputError, match="the store has no document"):
            find(none, CODES)


def test_codes_are_in_the_order_of_their_names() -> None:
    assert by_name(["IRQ", "USA", "CIV", "X9"]) == ["CIV", "IRQ", "USA", "X9"]


def test_pages_show_names_and_take_them(explorer: Explorer) -> None:
    page = explorer.country("united states", by="year")
    assert (page.series.country, page.series.name) == ("USA", "United States")
    assert '<bdi>United States</bdi> <bdi class="note">USA</bdi>' in render(page)
    both = explorer.compare("Americans", "Iraq", by="year")
    assert (both.first.country, both.second.country) == ("USA", "IRQ")
    with pytest.raises(InputError, match="the same"):
        explorer.compare("USA", "United States")
    assert explorer.documents("Iraq").name == "Iraq"
    overview = render(explorer.overview(by="year"))
    assert '<option value="United States">USA</option>' in overview
    assert "Iraq (IRQ)</option>" in overview
