"""Names in sentences, and lexicons from text."""

from __future__ import annotations

import csv
import importlib.util
import unicodedata
from pathlib import Path

import pytest

from calibrant.events import Conflict, Entry, Lexicon, Match, country_names, default_lexicon, parse_lexicon
from calibrant.events.lexicon import DEFAULT
from calibrant.exceptions import InputError
from tests.quantities import defined


def codes(lexicon: Lexicon, text: str) -> list[str]:
    return [match.code for match in lexicon.matches(text.split())]


def test_case_does_not_matter_and_the_longest_name_wins() -> None:
    lexicon = Lexicon([Entry("KOR", "Korea"), Entry("PRK", "NORTH_KOREA")])
    assert lexicon.matches(["north", "KOREA", "and", "korea"]) == [Match(0, 2, "PRK"), Match(3, 4, "KOR")]


def test_a_word_is_stemmed_by_one_and_then_by_two_characters() -> None:
    lexicon = Lexicon([Entry("A", "abcd"), Entry("B", "abc")])
    assert codes(lexicon, "abcd abcdx abcdxy abcx abcxyz") == ["A", "A", "A", "B"]  # abcx: one off is B


def test_the_last_word_of_a_longer_name_is_stemmed() -> None:
    assert codes(Lexicon([Entry("KOR", "South Korea")]), "South Koreans South Koreanss Souths Korea") == [
        "KOR"
    ]


@pytest.mark.parametrize("text", ["Guinea-Bissau", "Guinea - Bissau", "guinea bissau"])
def test_hyphens_match_however_the_text_is_cut(text: str) -> None:
    assert codes(Lexicon([Entry("GIN", "Guinea"), Entry("GNB", "Guinea-Bissau")]), text) == ["GNB"]


@pytest.mark.parametrize("text", ["Cote d'Ivoire", "Cote d' Ivoire", "Cote d 'Ivoire"])
def test_apostrophes_match_however_the_text_is_cut(text: str) -> None:
    assert codes(default_lexicon(), text) == ["CIV"]


def test_abbreviations_count_as_they_are_written() -> None:
    assert codes(default_lexicon(), "Let us see US and U.S. and UN and Polish polish") == [
        "USA",
        "USA",
        "IGOUNO",
        "POL",
    ]


def test_the_default_stems_only_words_with_a_capital() -> None:
    assert codes(default_lexicon(), "malice peruse Malians Iraqis chador") == ["MLI", "IRQ"]


def test_a_name_of_two_codes_keeps_the_first_and_is_reported() -> None:
    lexicon = parse_lexicon("code,name\nCOD,Congolese\nCOG,congolese\nCOD,Congolese\n")
    assert lexicon.conflicts == (Conflict("congolese", "COD", "COG", 3),)
    assert codes(lexicon, "Congolese") == ["COD"]


def test_the_default_has_no_conflicts_and_names_all_kinds() -> None:
    lexicon = default_lexicon()
    assert lexicon.conflicts == ()
    text = (
        "Soviet ; Yugoslav ; East Germans ; West German ; Czechoslovakia ; Burmese ; Iran ; EU ; Warsaw Pact"
    )
    assert codes(lexicon, text) == ["SUN", "YUG", "DDR", "DEU", "CSK", "MMR", "IRN", "IGOEEC", "IGOWAR"]


def test_the_list_of_the_paper_is_read_as_it_is(data: Path) -> None:
    path = data / "lexicons" / "country_igos.txt"
    lexicon = parse_lexicon(path.read_text(encoding="utf-8"), file=path.name)
    assert len(lexicon.codes) == 235
    assert {conflict.name for conflict in lexicon.conflicts} == {
        "CONGOLESE",
        "DOMINICAN",
        "GRENADINES",
        "SAMOAN",
    }
    assert codes(lexicon, "the Afghans and U.S. and united arab emirates") == ["AFG", "USA", "ARE"]


@pytest.mark.parametrize(
    ("text", "message", "code"),
    [
        ("", "no column 'code'", "column-missing"),
        ("code,names\n", "no column 'name'", "column-missing"),
        ("code,name\n", "no names", "empty"),
        ("code,name\nUSA\n", "line 2: the line has 1 fields", "file-row"),
        ("code,name\nUSA,\n", "line 2: an entry has the code 'USA' and the name ''", "missing-value"),
        ("code,name,cased\nUSA,US,maybe\n", "line 2, column cased|line 2: cased is 'maybe'", "column-type"),
        ("===\nUSA AMERICA\n", "line 2: the line 'USA AMERICA' has no tab", "file-row"),
        ("USA\tAMERICA\nUSA\t \n", "line 2: an entry has the code", "missing-value"),
    ],
    ids=["nothing", "column", "no-names", "fields", "no-name", "cased", "no-tab", "tab-no-name"],
)
def test_a_broken_lexicon_is_named_with_its_line(text: str, message: str, code: str) -> None:
    with pytest.raises(InputError, match=message) as error:
        parse_lexicon(text, file="own.csv")
    assert error.value.code == code
    assert str(error.value).startswith("own.csv")


def test_the_file_that_ships_has_the_names_of_the_projects_own_list() -> None:
    script = Path(__file__).resolve().parents[2] / "scripts" / "lexicon.py"
    spec = defined(importlib.util.spec_from_file_location("lexicon_script", script))
    module = importlib.util.module_from_spec(spec)
    defined(spec.loader).exec_module(module)
    with DEFAULT.open(encoding="utf-8", newline="") as file:
        shipped = {(row["code"], row["name"], row["cased"]) for row in csv.DictReader(file)}
    assert not set(module.own_names()) - shipped


def test_each_code_has_a_name_for_people_and_the_lexicon_knows_it_by_that() -> None:
    lexicon, names = default_lexicon(), country_names()
    assert set(names) == set(lexicon.codes)
    assert len(set(names.values())) == len(names)
    found = {
        code: {match.code for match in lexicon.matches(name.replace("’", "'").split())}
        for code, name in names.items()
    }
    strange = {"BES", "COD", "GGY", "HKG", "MAC", "MMR", "PSE", "VIR", "VGB"}  # "Congo - Kinshasa"
    assert {code for code, codes in found.items() if code not in codes} <= strange


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("the People ’s Republic of China", ["CHN"]),
        ("Democratic People’s Republic of Korea", ["PRK"]),
        (unicodedata.normalize("NFD", "Côte d'Ivoire and Türkiye"), ["CIV", "TUR"]),
    ],
)
def test_curly_apostrophes_and_decomposed_letters_are_those_of_the_names(text: str, found: list[str]) -> None:
    assert codes(default_lexicon(), text) == found


def test_places_that_contain_the_name_of_a_country_are_not_the_country() -> None:
    text = "Indiana , New Mexico , New Jersey and New South Wales ; the Indian Ocean and Mexico"
    assert codes(default_lexicon(), text) == ["AUS", "MEX"]


def test_a_name_of_no_country_is_no_code_and_hides_shorter_names() -> None:
    lexicon = Lexicon([Entry("MEX", "Mexico"), Entry("-", "New Mexico")])
    assert (lexicon.codes, codes(lexicon, "New Mexico Mexico")) == (("MEX",), ["MEX"])


def test_cased_names_of_several_words_match_as_they_are_written_and_before_others() -> None:
    text = "code,name,cased\nUSA,United States,1\nUSA,US,1\nXXX,us,\nPRK,N_K,1\nPRK,D-K,1\n"
    lexicon = parse_lexicon(text)
    assert codes(lexicon, "The United States , united states , US , us , N K , n k , D - K") == [
        "USA",
        "USA",
        "XXX",
        "PRK",
        "PRK",
    ]
