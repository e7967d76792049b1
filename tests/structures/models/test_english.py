"""The English models: words, tags and lemmas without them, and what the distribution contains."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest

from calibrant.exceptions import FormatError, MissingExtraError
from calibrant.structures.documents import Document
from calibrant.structures.files import english as files
from calibrant.structures.models import english
from calibrant.structures.models.english import EnglishParser, Lemmas, known_fraction, paragraphs

TEXT = (
    "Mr. Smith said U.S. forces attacked Iraq on Monday. They bombed three cities. "
    '"We won," he said. The men were shot by rebels.'
)
GERMAN = (
    "Der Präsident sagte am Montag, die Truppen hätten in der Nacht zwei Städte im Norden des Landes "
    "angegriffen und besetzt"
)


@pytest.fixture(scope="module")
def parser() -> EnglishParser:
    pytest.importorskip("calibrant_english")
    pytest.importorskip("spacy")
    return files.load_english_parser()


class Token:
    """A token as spaCy's tokenizer returns it."""

    is_space = False

    def __init__(self, text: str, idx: int) -> None:
        self.text, self.idx = text, idx


def split(text: str) -> list[Token]:
    return [Token(word, text.index(word)) for word in text.split()]


def test_a_long_line_means_that_lines_are_not_wrapped() -> None:
    wrapped = "one two\nthree\n\nfour\n  five"
    assert [words for words, _ in paragraphs(wrapped, split)] == [["one", "two", "three"], ["four"], ["five"]]
    long = "a" * 121 + "\nb\nc"
    found = list(paragraphs(long, split))
    assert [words for words, _ in found] == [["a" * 121], ["b"], ["c"]]
    assert [long[start:end] for _, places in found for start, end in places] == ["a" * 121, "b", "c"]


def test_a_very_long_sentence_is_cut_after_a_comma() -> None:
    words = ["w"] * 150 + [","] + ["w"] * 349
    pieces = list(english._pieces(words, 0, len(words)))
    assert pieces[0] == (0, 151)
    assert [start for start, _ in pieces[1:]] == [end for _, end in pieces[:-1]]
    assert max(end - start for start, end in pieces) <= english.LONGEST_SENTENCE
    assert pieces[-1][1] == len(words)


def test_lemmas_follow_endings_and_exceptions() -> None:
    rows = [
        ("tried", "VERB", "try"),
        ("cried", "VERB", "cry"),
        ("went", "VERB", "go"),
        ("men", "NOUN", "man"),
    ]
    rows += [("walked", "VERB", "walk"), ("talked", "VERB", "talk")]
    lemmas = Lemmas.learn(rows)
    assert all(lemmas.of(word, tag) == lemma for word, tag, lemma in rows)
    assert (lemmas.of("Fried", "VERB"), lemmas.of("stalked", "VERB")) == ("fry", "stalk")
    assert (lemmas.of("Iran", "PROPN"), lemmas.of("x", "ADJ")) == ("Iran", "x")


def test_few_words_tell_nothing_about_the_language() -> None:
    assert known_fraction(["these"] * 19 + ["7", "the"], frozenset({"these"})) is None
    assert known_fraction(["these", "7", "la"] * 20, frozenset({"these"})) == 1


def test_a_text_is_split_tagged_and_parsed(parser: EnglishParser) -> None:
    document, places = parser.parse("d", TEXT)
    words = [word for row in document.sentences for word in row]
    assert [" ".join(row[:2]) for row in document.sentences] == [
        "Mr. Smith",
        "They bombed",
        '" We',
        "The men",
    ]
    assert [TEXT[start:end] for row in places for start, end in row] == words
    assert [word for part in parser.words(TEXT) for word in part] == words
    assert document.trees is not None
    first, second, _, last = document.trees
    assert first.lemmas[document.sentences[0].index("attacked")] == "attack"
    assert first.relations[document.sentences[0].index("forces")] == "nsubj"
    assert second.relations[0] == "nsubj"
    assert "Voice=Pass" in last.features[3]
    assert last.relations[1] == "nsubj:pass"
    assert parser.trees(Document("d", document.sentences)).trees == document.trees
    shares = [share for tree in document.trees for share in tree.probabilities or ()]
    assert len(shares) == len(words)
    assert 0 < min(shares) < 0.9 < max(shares) <= 1


def test_an_empty_text_has_no_sentences(parser: EnglishParser) -> None:
    document, places = parser.parse("d", " \n\n")
    assert (list(document.sentences), list(document.trees or ()), places) == ([], [], [])


def test_another_language_is_mostly_unknown(parser: EnglishParser) -> None:
    unknown, known = (known_fraction(text.split(), parser.vocabulary) for text in (GERMAN * 3, TEXT * 3))
    assert unknown is not None
    assert known is not None
    assert unknown < 0.3 < 0.8 < known


def test_the_distribution_is_small_and_of_the_same_version(root: Path) -> None:
    folder = root / "english" / "src" / "calibrant_english" / "models"
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 12_000_000
    projects = [
        tomllib.loads((root / name).read_text(encoding="utf-8"))["project"]
        for name in ("pyproject.toml", "english/pyproject.toml")
    ]
    assert projects[0]["version"] == projects[1]["version"]
    assert f"calibrant-english=={projects[1]['version']}" in projects[0]["optional-dependencies"]["events"]


def test_a_missing_distribution_and_a_missing_model_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "calibrant_english", None)
    with pytest.raises(MissingExtraError, match=r"raw text needs the English models.*\[events\]"):
        files.english_folder()

    class Empty:
        FOLDER = tmp_path

    monkeypatch.setitem(sys.modules, "calibrant_english", Empty)
    with pytest.raises(FormatError, match=r"the English models lack sentences\.model"):
        files.english_folder()
