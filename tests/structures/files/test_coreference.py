"""Documents are read as the files' own counts say, and what is broken is named by file, line and entity."""

from __future__ import annotations

import gzip
import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.exceptions import FormatError, InputError
from calibrant.structures import iter_documents, read_documents, read_folds
from calibrant.structures.documents import Document, Mention


def word(identity: int | str, form: str, head: int | str = 0, misc: str = "_") -> str:
    relation = "_" if head == "_" else "root" if head == 0 else "dep"
    return "\t".join([str(identity), form, form.lower(), "NOUN", "NN", "_", str(head), relation, "_", misc])


def entities(*rows: str, first: str = "# newdoc id = d") -> str:
    """One sentence, a word for each value of ``Entity``."""
    words = [word(n, f"w{n}", n - 1, f"Entity={row}" if row else "_") for n, row in enumerate(rows, 1)]
    return "\n".join([first, *words, "", ""])


def columns(*cells: str, name: str = "d") -> str:
    """One document of one sentence, a word for each cell; an empty text as cell ends a sentence."""
    lines, number = [f"#begin document ({name}); part 000"], 0
    for cell in cells:
        lines.append(f"{name} 0 {number} w {cell}" if cell else "")
        number = number + 1 if cell else 0
    return "\n".join([*lines, "#end document", ""])


def written(folder: Path, text: str | bytes, name: str = "a.txt") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def read(folder: Path, text: str | bytes, changed: Counter[str] | None = None) -> list[Document]:
    return read_documents(written(folder, text), changed=changed)


def broken(folder: Path, text: str | bytes, name: str = "a.txt", message: str | None = None) -> InputError:
    path = written(folder, text, name)
    with pytest.raises(InputError, match=message) as caught:
        read_documents(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)
    return caught.value


def spans(document: Document) -> list[tuple[tuple[int, ...], str | None]]:
    assert document.mentions is not None
    assert document.clusters is not None
    return [(tuple(m), entity) for m, entity in zip(document.mentions, document.clusters, strict=True)]


# Real data: the counts of the sources.

GUM = [("train", 177, 10224, 177410, 49649, 25758), ("dev", 30, 1575, 28119, 7897, 3940)]
GUM += [("test", 30, 1464, 28397, 7927, 4319)]
LITBANK = [("train", 80, 6755, 169456, 23218, 6344, 4635), ("dev", 10, 927, 20438, 3053, 776, 563)]
LITBANK += [("test", 10, 880, 20638, 2832, 807, 565)]


def counts(documents: list[Document]) -> tuple[int, ...]:
    sizes = [Counter(document.clusters) for document in documents]
    return (
        len(documents),
        sum(len(document.sentences) for document in documents),
        sum(len(words) for document in documents for words in document.sentences),
        sum(len(document.mentions or ()) for document in documents),
        sum(map(len, sizes)),
        sum(size == 1 for each in sizes for size in each.values()),
    )


@pytest.mark.parametrize(("part", "wanted"), [pytest.param(p, w, id=p) for p, *w in GUM])
def test_gum_has_the_counts_of_its_source(data: Path, part: str, wanted: list[int]) -> None:
    changed: Counter[str] = Counter()
    documents = read_documents(data / "ud-english-gum" / f"en_gum-ud-{part}.conllu.gz", changed=changed)
    assert list(counts(documents)[:5]) == wanted
    assert not changed
    assert all(document.trees and document.date and document.genre for document in documents)
    assert any(document.speakers for document in documents)


@pytest.mark.parametrize(("part", "wanted"), [pytest.param(p, w, id=p) for p, *w in LITBANK])
def test_litbank_has_the_counts_of_its_source(data: Path, part: str, wanted: list[int]) -> None:
    changed: Counter[str] = Counter()
    documents = read_documents(data / "litbank-coref" / f"litbank-coref.{part}.conll.gz", changed=changed)
    assert list(counts(documents)) == wanted
    assert not changed
    assert all(document.trees is None and document.speakers is None for document in documents)


def test_litbanks_folds_are_those_of_its_documents(data: Path) -> None:
    folder = data / "litbank-coref"
    folds = read_folds(folder / "folds.tsv")
    assert Counter(folds.values()) == dict.fromkeys(range(10), 10)
    for part, fold in (("test", 0), ("dev", 9)):
        documents = iter_documents(folder / f"litbank-coref.{part}.conll.gz")
        assert {document.name for document in documents} == {name for name in folds if folds[name] == fold}


def test_litbanks_mentions_are_those_of_its_other_layer(data: Path) -> None:
    with gzip.open(data / "litbank-coref" / "litbank-coref.mentions.tsv.gz", "rt", encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    documents = read_documents(data / "litbank-coref" / "litbank-coref.dev.conll.gz")
    for document in documents:
        mine = [row for row in rows if row[0] == document.name and row[1] == "MENTION"]
        # Sentence, first and last word; the other layer has one sentence number and two word numbers.
        wanted = sorted(Mention(int(row[3]), int(row[4]), int(row[6]) + 1) for row in mine)
        assert document.mentions == wanted


# CoNLL-U.

EXAMPLE = "\n".join(
    [
        "# newdoc id = first",
        "# global.Entity = GRP-etype-head-other",
        "# meta::genre = news",
        "# meta::dateCreated = 2012-03-28",
        "# speaker = Ann",
        word("1-2", "I'm", "_"),
        word(1, "I", 2, "Entity=(e1-person-1-)"),
        word(2, "am", 0),
        word("2.1", "gone", "_"),
        word(3, "king", 2, "SpaceAfter=No|Entity=(e2-person-1-(e3-place-1-"),
        word(4, "here", 3, "Entity=e3)e2)"),
        "",
        word(1, "Yes", 0),
        "",
        "# newdoc id = second",
        "# date = 2020",
        word(1, "No", 0),
        "",
    ]
)


def test_trees_entities_and_comments_are_read(tmp_path: Path) -> None:
    first, second = read(tmp_path, EXAMPLE)
    assert first.name == "first"
    assert first.sentences == [["I", "am", "king", "here"], ["Yes"]]
    assert first.trees is not None
    assert list(first.trees[0].heads) == [2, 0, 2, 3]
    assert first.trees[0].lemmas == ["i", "am", "king", "here"]
    assert first.trees[0].tags == ["NOUN"] * 4
    assert first.trees[0].features == [""] * 4
    assert (first.genre, first.date, first.speakers) == ("news", "2012-03-28", ["Ann", ""])
    # Two mentions have the same words: the one whose bracket opens first stays.
    assert spans(first) == [((0, 0, 1), "e1"), ((0, 2, 4), "e2")]
    assert (second.name, second.genre, second.date, second.speakers) == ("second", None, None, None)


def test_a_file_without_documents_is_one_that_is_called_like_it(tmp_path: Path) -> None:
    path = written(
        tmp_path, gzip.compress(f"# date = 2001-02-03\n{word(1, 'Yes')}\n".encode()), "a.conllu.gz"
    )
    (document,) = read_documents(path)
    assert (document.name, document.date) == ("a", "2001-02-03")


def test_mentions_are_unknown_only_where_the_file_does_not_speak_of_them(tmp_path: Path) -> None:
    assert [d.mentions for d in read(tmp_path, f"# newdoc id = d\n{word(1, 'Yes')}\n")] == [None]
    text = f"# newdoc id = d\n# global.Entity = GRP\n{word(1, 'Yes')}\n\n# newdoc id = e\n{word(1, 'Yes')}\n"
    assert [(d.mentions, d.clusters) for d in read(tmp_path, text)] == [([], []), ([], [])]


def test_a_document_without_heads_has_no_trees(tmp_path: Path) -> None:
    (document,) = read(tmp_path, f"{word(1, 'Yes', '_')}\n\n{word(1, 'No', '_')}\n")
    assert document.trees is None


@pytest.mark.parametrize(
    ("rows", "wanted"),
    [
        pytest.param(["(3-a-new(4-b-new", "4)", "3)"], [((0, 0, 2), "4"), ((0, 0, 3), "3")], id="nested"),
        pytest.param(["(7-a(6-a", "", "7)6)"], [((0, 0, 3), "7")], id="same-words"),
        pytest.param(["(1-a", "(1-a", "1)", "1)"], [((0, 0, 4), "1"), ((0, 1, 3), "1")], id="one-in-itself"),
        pytest.param(["(1-a", "(2-b", "1)", "2)"], [((0, 0, 3), "1"), ((0, 1, 4), "2")], id="crossing"),
        pytest.param(["(1-a", "1)(2-b", "2)"], [((0, 0, 2), "1"), ((0, 1, 3), "2")], id="meeting"),
        pytest.param(["(1)(2)"], [((0, 0, 1), "1")], id="two-of-one-word"),
    ],
)
def test_brackets_nest_by_entity(
    tmp_path: Path, rows: list[str], wanted: list[tuple[tuple[int, ...], str]]
) -> None:
    (document,) = read(tmp_path, entities(*rows))
    assert spans(document) == wanted


def test_an_older_order_of_fields_has_the_type_first(tmp_path: Path) -> None:
    first = "# newdoc id = d\n# global.Entity = entity-GRP-infstat"
    for closing in ("person-1)", "1)"):
        (document,) = read(tmp_path, entities("(person-1-new", closing, first=first))
        assert spans(document) == [((0, 0, 2), "1")]


@pytest.mark.parametrize(
    ("fields", "rows", "wanted"),
    [
        pytest.param("-head", ["(e[1/2]--3", "e[1/2])", "", "(e[2/2])"], (0, 3, 4), id="head-in-second"),
        pytest.param("-head", ["(e[1/2]--1)", "", "(e[2/2]", "e[2/2])"], (0, 0, 1), id="head-in-first"),
        pytest.param("-other", ["(e[1/2]--1)", "", "(e[2/2]", "e[2/2])"], (0, 2, 4), id="longest"),
        pytest.param("-head", ["(e[1/2]--x)", "", "(e[2/2])"], (0, 0, 1), id="first-of-equals"),
        pytest.param("-head", ["(e[1/3]--3)", "(e[2/3])", "(e[3/3])"], (0, 2, 3), id="three"),
    ],
)
def test_of_a_mention_in_parts_that_with_the_head_is_kept(
    tmp_path: Path, fields: str, rows: list[str], wanted: tuple[int, ...]
) -> None:
    changed: Counter[str] = Counter()
    first = f"# newdoc id = d\n# global.Entity = eid-etype{fields}"
    (document,) = read(tmp_path, entities(*rows, first=first), changed)
    assert spans(document) == [(wanted, "e")]
    assert changed == {"discontinuous": 1}


def test_empty_nodes_are_no_words_of_mentions(tmp_path: Path) -> None:
    rows = [
        word("0.1", "she", "_", "Entity=(e1-x)"),
        word(1, "a", 0, "Entity=(e2-x"),
        word("1.1", "b", "_", "Entity=e2)(e3-x"),
        word(2, "c", 1, "Entity=e3)"),
    ]
    changed: Counter[str] = Counter()
    (document,) = read(tmp_path, "\n".join([*rows, ""]), changed)
    assert spans(document) == [((0, 0, 1), "e2"), ((0, 1, 2), "e3")]
    assert changed == {"zero": 1}


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        pytest.param(entities("", "(1-a", ""), 3, "'1' is opened but not closed", id="never-closed"),
        pytest.param(entities("", "", "1)"), 4, "'1' is closed but was not opened", id="never-opened"),
        pytest.param(
            entities("(1-a") + entities("", "1)", first=""),
            6,
            "a mention of entity '1', opened in line 2, crosses the end of its sentence",
            id="crosses-a-sentence",
        ),
        pytest.param(entities("(1-a|x"), 2, "'1' is opened but not closed", id="cut-by-a-bar"),
        pytest.param(entities("1"), 2, "the brackets '1' cannot be read", id="no-bracket"),
        pytest.param(entities("(1-a)x"), 2, "cannot be read", id="rest"),
        pytest.param(entities("()"), 2, "cannot be read", id="nothing-in-brackets"),
        pytest.param(entities("(-person)"), 2, "the entity '' has no name", id="no-name"),
        pytest.param(
            entities("(1-a)", first="# global.Entity = etype-head-GRP"), 2, "has no name", id="field-missing"
        ),
        pytest.param(
            "# global.Entity = etype\n" + word(1, "a"),
            1,
            "global.Entity has no field GRP or eid",
            id="no-field",
        ),
        pytest.param(entities("(1[1/2]-a)"), 2, "has 1 of 2 parts", id="part-missing"),
        pytest.param(
            entities("(1[2/2]-a)"), 2, r"part \[2/2\] of entity '1' follows no part", id="part-first"
        ),
        pytest.param(entities("(1[3/2]-a)"), 2, r"has the part \[3/2\]", id="part-beyond"),
        pytest.param(entities("(1[x]-a)"), 2, r"has the part \[x\]", id="part-no-number"),
        pytest.param(word(1, "a", 2) + "\n" + word(2, "b", 1), 1, "heads form a cycle", id="circle"),
        pytest.param(word(1, "a") + "\n" + word(2, "b", 3), 2, "the head 3 is not a word", id="head-beyond"),
        pytest.param(word(1, "a") + "\n" + word(2, "b", "x"), 2, "the head 'x'", id="head-no-number"),
        pytest.param(word(1, "a") + "\n" + word(2, "b", "_"), 2, "the head '_'", id="one-head-missing"),
        pytest.param(word(1, "a") + "\n\n" + word(1, "b", "_"), 3, "has no tree", id="tree-missing"),
        pytest.param(word(1, "b", "_") + "\n\n" + word(1, "a"), 1, "has no tree", id="tree-missing-before"),
        pytest.param(
            f"# newdoc id = d\n{word(1, 'a')}\n\n# newdoc id = d\n{word(1, 'a')}",
            4,
            "document 'd' also begins in line 1",
            id="name-twice",
        ),
        pytest.param(
            word(1, "a") + "\n" + "2\tb", 2, "the line has 2 columns, and CoNLL-U has 10", id="columns"
        ),
        pytest.param(word("0.1", "a") + "\n\n", 2, "the sentence has no words", id="only-an-empty-node"),
        pytest.param(word(1, "a") + "\n\n# newdoc", 3, "ends in a comment", id="cut"),
        pytest.param("hello\n", 1, "neither CoNLL-U nor CoNLL-2012", id="other-text"),
        pytest.param('\n{"doc": "d"}\n', 2, "neither CoNLL-U nor CoNLL-2012", id="json"),
    ],
)
def test_what_is_wrong_in_conllu_is_named_by_line(tmp_path: Path, text: str, line: int, message: str) -> None:
    error = broken(tmp_path, text, message=message)
    assert (error.line, type(error)) == (line, FormatError)


def test_a_long_text_where_brackets_should_be_is_refused_at_once(tmp_path: Path) -> None:
    start = time.process_time()
    broken(tmp_path, entities("a" * 100_000), message="the brackets 'a{200}")
    assert time.process_time() - start < 2


# Columns.

CONLL_2012 = """#begin document (bc/cctv/00/cctv_0000); part 000
bc/cctv/00/cctv_0000   0   0      In    IN  (TOP(S(PP*  -   -   -   Speaker#1   *   *   -
bc/cctv/00/cctv_0000   0   1     the    DT       (NP*   -   -   -   Speaker#1   *   *   (5|(7
bc/cctv/00/cctv_0000   0   2  summer    NN        *)))) -   -   1   Speaker#1   *   *   7)|5)

bc/cctv/00/cctv_0000   0   0      It   PRP    (TOP*)    -   -   -   -   *   (5)

#end document
#begin document (bc/cctv/00/cctv_0000); part 001
bc/cctv/00/cctv_0000   1   0      It   PRP    (TOP*)    -   -   -   -   *   (5)
#end document
"""


def test_parts_of_conll_2012_are_documents_with_speakers(tmp_path: Path) -> None:
    changed: Counter[str] = Counter()
    first, second = read(tmp_path, CONLL_2012, changed)
    assert (first.name, second.name) == ("bc/cctv/00/cctv_0000", "bc/cctv/00/cctv_0000; part 1")
    assert first.sentences == [["In", "the", "summer"], ["It"]]
    assert spans(first) == [((0, 1, 3), "5"), ((1, 0, 1), "5")]
    assert changed == {"repeated": 1}
    assert (first.speakers, second.speakers, first.genre) == (["Speaker#1", ""], None, "bc")
    assert first.trees is not None
    assert [tree.heads for tree in first.trees] == [[3, 3, 0], [0]]
    assert [tree.relations for tree in first.trees] == [["case", "det", "root"], ["root"]]
    assert first.date is None


def test_columns_without_parse_bits_have_no_trees(tmp_path: Path) -> None:
    (document,) = read(tmp_path, columns("(1", "1)"))
    assert document.trees is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("*)))) ", "*)) "), r"line 2: the constituent S is opened but not closed"),
        (("*)))) ", "*))))) "), r"line 4: the parse bit \*\)\)\)\)\) closes a constituent that is not open"),
        (
            ("    (TOP*)    -", "    *    -"),
            r"line 6: the sentence has no tree, but other sentences of its document",
        ),
    ],
)
def test_broken_parse_bits_name_the_line(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read(tmp_path, CONLL_2012.replace(*change, 1))


@pytest.mark.parametrize("nothing", ["-", "_", "*"])
def test_words_without_entities_have_one_of_several_marks(tmp_path: Path, nothing: str) -> None:
    (document,) = read(tmp_path, columns("(1", "1)|(2)", nothing, "", "(1)"))
    assert spans(document) == [((0, 0, 2), "1"), ((0, 1, 2), "2"), ((1, 0, 1), "1")]


def test_an_empty_last_column_counts_between_tabs(tmp_path: Path) -> None:
    text = "#begin document (a); part 0\na\t0\t0\tOne two\t_\t\na\t0\t1\tb\t_\t(1)\n#end document\n"
    (document,) = read(tmp_path, text)
    assert document.sentences == [["One two", "b"]]
    assert spans(document) == [((0, 1, 2), "1")]


def test_documents_without_words_and_without_mentions_are_legal(tmp_path: Path) -> None:
    text = "#begin document (a); part 0\n#end document\n" + columns("-", name="b")
    assert [(d.name, d.sentences, d.mentions) for d in read(tmp_path, text)] == [
        ("a", [], []),
        ("b", [["w"]], []),
    ]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        pytest.param(columns("(1", "-"), 2, "'1' is opened but not closed", id="never-closed"),
        pytest.param(columns("-", "1)"), 3, "'1' is closed but was not opened", id="never-opened"),
        pytest.param(
            columns("(1", "", "1)"), 4, "opened in line 2, crosses the end of its sentence", id="crosses"
        ),
        pytest.param(columns("(1)(2)"), 2, r"the brackets '\(1\)\(2\)' cannot be read", id="no-bar"),
        pytest.param(columns("1"), 2, "cannot be read", id="no-bracket"),
        pytest.param(columns("(1)|"), 2, "cannot be read", id="bar-and-nothing"),
        pytest.param(columns("-") + columns("-"), 4, "document 'd' also begins in line 1", id="name-twice"),
        pytest.param(
            columns("-", "- -"), 3, "the line has 6 columns, and the sentence began with 5", id="columns"
        ),
        pytest.param("#begin document (d)\nd 0 0 w\n", 2, "only 4 columns", id="too-few-columns"),
        pytest.param("#begin document (d)\nd 0 x w -\n", 2, "the number of the word is 'x'", id="number"),
        pytest.param(
            "#begin document (d)\nd 0 0 w -\nd 0 0 w -\n", 3, "word 0 follows word 0", id="no-blank"
        ),
        pytest.param("#begin document (d)\nd\t0\t0\t\t-\n", 2, "the word is empty", id="empty-word"),
        pytest.param("#begin document (d)\nd 0 0 w -\n", 3, "of line 1 has no '#end document'", id="cut"),
        pytest.param(
            "#begin document (d)\n#begin document (e)\n",
            2,
            "before the document of line 1 has ended",
            id="begin",
        ),
        pytest.param("#begin document (d)\n#end document\n#end document", 3, "has not begun", id="end"),
        pytest.param(columns("-") + "d 0 0 w -\n", 4, "outside a document", id="outside"),
        pytest.param("#begin document\n", 1, "the document has no name", id="no-name"),
    ],
)
def test_what_is_wrong_in_columns_is_named_by_line(
    tmp_path: Path, text: str, line: int, message: str
) -> None:
    error = broken(tmp_path, text, message=message)
    assert (error.line, type(error)) == (line, FormatError)


# Files.


@pytest.mark.parametrize(
    ("content", "name", "code"),
    [
        pytest.param(b"", "a.conllu", "empty", id="empty"),
        pytest.param(b" \n\n", "a.conllu", "empty", id="blank"),
        pytest.param(b"# only\n# comments\n\n", "a.conllu", "empty", id="comments"),
        pytest.param(b"#begin document (d)\n\xff\n", "a.conll", "file-broken", id="not-utf8"),
        pytest.param(gzip.compress(CONLL_2012.encode())[:-20], "a.conll.gz", "file-truncated", id="gz-cut"),
        pytest.param(CONLL_2012.encode(), "a.conll.gz", "file-mislabelled", id="not-packed"),
        pytest.param(b"PAR1\x00\x00", "a.conll", "file-mislabelled", id="parquet"),
        pytest.param(b"#begin document (d)\nd 0 0 a\rb -\n", "a.conll", "file-broken", id="carriage-return"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, content: bytes, name: str, code: str) -> None:
    assert broken(tmp_path, content, name).code == code


def test_a_missing_file_is_named() -> None:
    with pytest.raises(InputError, match=r"no/such.conllu: no such file"):
        read_documents("no/such.conllu")


def test_a_byte_order_mark_and_line_ends_of_windows_are_no_part_of_the_text(tmp_path: Path) -> None:
    plain = read(tmp_path, EXAMPLE)
    assert read(tmp_path, b"\xef\xbb\xbf" + EXAMPLE.replace("\n", "\r\n").encode()) == plain


def test_documents_come_before_an_error_further_down(tmp_path: Path) -> None:
    documents = iter_documents(written(tmp_path, columns("-", name="a") + columns("(1", name="b")))
    assert next(documents).name == "a"
    with pytest.raises(FormatError, match="line 5"):
        next(documents)


def test_progress_is_reported(tmp_path: Path) -> None:
    calls: list[tuple[str, int, int | None]] = []
    text = columns(*["-", ""] * (1 << 13))
    read_documents(written(tmp_path, text), progress=lambda *call: calls.append(call))
    assert calls == [("reading", 1 << 14, None)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("a\t1\n", "line 1: the first line is", id="no-header"),
        pytest.param(
            "document\ttest_fold\na 1\n", "line 2: the line is not a document and its fold", id="no-tab"
        ),
        pytest.param(
            "document\ttest_fold\na\tx\n", "line 2: the line is not a document and its fold", id="no-number"
        ),
        pytest.param("document\ttest_fold\na\t1\na\t2\n", "line 3: document 'a' is repeated", id="twice"),
    ],
)
def test_a_list_of_folds_that_is_broken_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_folds(written(tmp_path, text))


# Every file gives documents, or an error with its name.

MARKS = st.text(alphabet="(()))[]12/-|_ae", max_size=12)


def outcome(path: Path) -> list[Document] | InputError:
    """Return the documents of a file, or the error."""
    try:
        return read_documents(path)
    except InputError as error:
        return error


@given(cells=st.lists(MARKS, min_size=1, max_size=6))
def test_brackets_are_read_or_refused_by_line(
    tmp_path_factory: pytest.TempPathFactory, cells: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("brackets")
    rows = ["\t".join(["d", "0", str(number), "w", cell]) for number, cell in enumerate(cells)]
    table = "\n".join(["#begin document (d); part 0", *rows, "#end document", ""])
    for text in (entities(*cells), table):
        path = written(folder, text)
        found = outcome(path)
        if isinstance(found, InputError):
            assert str(found).startswith(f"{path}, line ")
        else:
            assert [len(words) for document in found for words in document.sentences] == [len(cells)]


@given(text=st.text(alphabet=st.sampled_from("#begin document(d);part\n\t 0123_-|()."), max_size=80))
def test_text_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = written(tmp_path_factory.mktemp("text"), "#begin document (d)\n" + text)
    found = outcome(path)
    assert isinstance(found, list) or str(found).startswith(str(path))


def test_documents_without_sentences_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.conllu").write_text("# newdoc id = a\n\n", encoding="utf-8")
    with pytest.raises(InputError, match="the file has no sentence: write the file again"):
        read_documents(tmp_path / "a.conllu")


@pytest.mark.parametrize(
    "second", ["# date = 2001-02-04\n# newdoc id = b", "# newdoc id = b\n# date = 2001-02-04"]
)
def test_a_date_before_its_newdoc_is_refused_if_the_document_has_another(tmp_path: Path, second: str) -> None:
    text = f"# newdoc id = a\n# date = 2001-02-03\n{word(1, 'Yes')}\n\n{second}\n{word(1, 'No')}\n"
    file = written(tmp_path, text.encode(), "a.conllu")
    if second.startswith("# date"):
        with pytest.raises(FormatError, match="the document has the dates 2001-02-03 and 2001-02-04"):
            read_documents(file)
    else:
        assert [each.date for each in read_documents(file)] == ["2001-02-03", "2001-02-04"]
