"""Tagged text is read as the files' own counts say, and what is broken is named by file and line."""

from __future__ import annotations

import gzip
import io
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import conllu
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.exceptions import FormatError, InputError, MissingExtraError
from calibrant.parts import installing
from calibrant.structures import TaggedText, read_tagged


def word(identity: int | str, form: str, upos: str = "NOUN", xpos: str = "NN", feats: str = "_") -> str:
    return "\t".join([str(identity), form, form.lower(), upos, xpos, feats, "_", "_", "_", "_"])


CONLLU = "\n".join(
    [
        "# newdoc id = first",
        "# sent_id = s-a",
        "# text = I can't",
        word(1, "I", "PRON", "PRP", "Case=Nom|Number=Sing"),
        word("2-3", "can't", "_", "_"),
        word(2, "ca", "AUX", "MD", "VerbForm=Fin"),
        word(3, "n't", "PART", "RB"),
        word("3.1", "go", "VERB", "VB"),
        "",
        "# sent_id = s-b",
        word(1, "Odd  token", "X", "FW"),
        "",
        "",
        "# newdoc id = second",
        word("0.1", "Empty", "VERB", "VB"),
        word(1, "#", "SYM", "#"),
        "",
    ]
)


def written(folder: Path, text: str | bytes, name: str = "a.conllu") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def broken(
    folder: Path, text: str | bytes, name: str = "a.conllu", column: str | int | None = None
) -> InputError:
    path = written(folder, text, name)
    with pytest.raises(InputError) as caught:
        read_tagged(path, column=column)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)
    return caught.value


# CoNLL-U.


def test_words_are_read_and_multiword_tokens_and_empty_nodes_are_skipped(tmp_path: Path) -> None:
    text = read_tagged(written(tmp_path, CONLLU))
    assert text.sentences == [["I", "ca", "n't"], ["Odd  token"], ["#"]]
    assert text.tags == [["PRON", "AUX", "PART"], ["X"], ["SYM"]]
    assert text.token_count == 5


def test_sentences_have_the_names_of_the_file_or_their_number(tmp_path: Path) -> None:
    text = read_tagged(written(tmp_path, CONLLU))
    assert text.sentence_ids == text.clusters() == ["s-a", "s-b", "3"]
    assert text.document_ids == text.clusters("document") == ["first", "first", "second"]


@pytest.mark.parametrize(
    ("column", "tags"),
    [
        ("upos", ["PRON", "AUX", "PART"]),
        (4, ["PRON", "AUX", "PART"]),
        ("xpos", ["PRP", "MD", "RB"]),
        ("5", ["PRP", "MD", "RB"]),
        ("upos+feats", ["PRON|Case=Nom|Number=Sing", "AUX|VerbForm=Fin", "PART"]),
        (3, ["i", "ca", "n't"]),
        (6, ["Case=Nom|Number=Sing", "VerbForm=Fin", "_"]),
    ],
)
def test_a_column_is_chosen_by_name_or_number(tmp_path: Path, column: str | int, tags: list[str]) -> None:
    found = read_tagged(written(tmp_path, CONLLU), column=column).tags
    assert found is not None
    assert found[0] == tags


@pytest.mark.parametrize("name", ["a.txt", "a.tsv", "a", "A.CONLLU"])
def test_conllu_is_known_by_its_content(tmp_path: Path, name: str) -> None:
    path = written(tmp_path, CONLLU, name)
    assert read_tagged(path).sentences == read_tagged(written(tmp_path, CONLLU)).sentences


def test_packed_files_byte_order_marks_and_windows_line_ends_change_nothing(tmp_path: Path) -> None:
    plain = read_tagged(written(tmp_path, CONLLU))
    for data in (
        gzip.compress(CONLLU.encode()),
        b"\xef\xbb\xbf" + CONLLU.encode(),
        CONLLU.replace("\n", "\r\n").encode(),
        CONLLU.rstrip("\n").encode(),
    ):
        other = read_tagged(written(tmp_path, data, "b.conllu"))
        assert (other.sentences, other.tags, other.sentence_ids) == (
            plain.sentences,
            plain.tags,
            plain.sentence_ids,
        )


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = gzip.compress(CONLLU.encode())
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(packed)))
    text = read_tagged("-")
    assert (text.name, text.token_count) == ("stdin", 5)


def test_further_columns_are_chosen_by_number(tmp_path: Path) -> None:
    lines = [word(1, "a") + "\t_\tN", word(2, "b") + "\t_\t_"]
    text = read_tagged(written(tmp_path, "\n".join(lines), "a.conllulex"), column=12)
    assert text.tags == [["N", "_"]]


@pytest.mark.parametrize(
    ("lines", "line", "message"),
    [
        ([word(1, "a"), "2\tb\tb\tNOUN"], 2, "the line has 4 columns, and CoNLL-U has 10"),
        ([word(1, "a"), word(2, "b") + "\tmore"], 2, "11 columns"),
        (["# text = a b", word(1, "a"), word(3, "b")], 3, "the id is '3' instead of 2"),
        ([word(1, "a"), word(1, "b")], 2, "the id is '1' instead of 2"),
        ([word(0, "a")], 1, "the id is '0'"),
        ([word("x", "a")], 1, "the id is 'x'"),
        ([word("_", "a")], 1, "the id is '_'"),
        ([word(1, "a"), word("3-4", "b")], 2, "the id is '3-4'"),
        ([word("1-1", "a"), word(1, "a")], 1, "the id is '1-1'"),
        ([word("2-1", "a")], 1, "the id is '2-1'"),
        ([word("1-3", "a"), word(1, "a"), word("2-3", "b")], 3, "the id is '2-3'"),
        ([word("1-2", "ab"), word(1, "a"), "", word(1, "c")], 3, "ends before word 2"),
        ([word(1, "a"), word("2.1", "b")], 2, "the id is '2.1'"),
        ([word(1, "a"), "# sent_id = b", word(1, "b")], 2, "there is a comment inside a sentence"),
        (["# sent_id = a", word(1, "a"), "", "# sent_id = a", word(1, "b")], 4, "also occurs in line 1"),
        ([word(1, "a"), "", "# sent_id = 1", word(1, "b")], 3, "the number of a sentence without"),
        ([word(1, "")], 1, "the token is empty"),
        ([word(1, "a", upos="")], 1, "the tag is empty"),
        ([word(1, "a"), word(2, "b", upos="_")], 2, "the token has no upos"),
        (["# global.columns = ID FORM TAG", word(1, "a")], 1, "the columns are not the columns of CoNLL-U"),
    ],
)
def test_broken_conllu_is_named_by_its_line(
    tmp_path: Path, lines: list[str], line: int, message: str
) -> None:
    error = broken(tmp_path, "\n".join(lines) + "\n")
    assert isinstance(error, FormatError)
    assert (error.line, message in error.message) == (line, True), str(error)
    assert f"line {line}: " in str(error)


def test_a_file_that_ends_inside_a_multiword_token_is_broken(tmp_path: Path) -> None:
    error = broken(tmp_path, word("1-2", "ab") + "\n" + word(1, "a"))
    assert (error.line, error.code) == (2, "file-row")


def test_a_column_without_a_tag_anywhere_is_reported_as_missing(tmp_path: Path) -> None:
    text = word(1, "a", xpos="_") + "\n" + word(2, "b", xpos="_")
    error = broken(tmp_path, text, column="xpos")
    assert "the file has no xpos" in error.message
    assert error.hint == "choose another column"
    assert read_tagged(tmp_path / "a.conllu", column="xpos", require_tags=False).tags is None
    assert "column 6" in broken(tmp_path, text, column=6).message


@pytest.mark.parametrize("column", ["lemma", 0, 1, 2, 11, -1, ""])
def test_a_column_that_conllu_lacks_is_an_error_that_lists_those_it_has(
    tmp_path: Path, column: str | int
) -> None:
    error = broken(tmp_path, CONLLU, column=column)
    assert error.code == "column-missing"
    assert "upos, xpos, upos+feats, or a number from 3 to 10" in error.hint


# A token and its tags a line.


def test_tabs_or_spaces_separate_columns(tmp_path: Path) -> None:
    text = read_tagged(written(tmp_path, "a b\tX\t1\n\n\nc\tY\t2\n", "a.tsv"))
    assert (text.sentences, text.tags) == ([["a b"], ["c"]], [["X"], ["Y"]])
    text = read_tagged(written(tmp_path, "a  X 1\nb\u00a0b Z 1 \n \nc Y 2", "a.txt"), column=3)
    assert (text.sentences, text.tags) == ([["a", "b\u00a0b"], ["c"]], [["1", "1"], ["2"]])
    assert (text.sentence_ids, text.document_ids) == (["1", "2"], None)


def test_tokens_may_be_quotes_hashes_and_odd_blanks(tmp_path: Path) -> None:
    tokens = ['"', '""', "#", "# x", "#tag", ",", "\u00a0", "\u2028", "\x85", "-1", "NA", "1"]
    lines = "".join(f"{token}\tT\n" for token in tokens)
    assert read_tagged(written(tmp_path, lines, "a.tsv")).sentences == [tokens]


def test_a_document_may_start_with_a_line_of_its_own(tmp_path: Path) -> None:
    start = "-DOCSTART- -X- O\n\n"
    lines = f"{start}a A O\n\nb B O\n\n{start}c C O\n"
    text = read_tagged(written(tmp_path, lines, "eng.testa"))
    assert text.sentences == [["a"], ["b"], ["c"]]
    assert text.document_ids == ["1", "1", "2"]


def test_clusters_by_document_need_documents(tmp_path: Path) -> None:
    text = read_tagged(written(tmp_path, "a\tX\n", "a.tsv"))
    with pytest.raises(
        InputError, match=r"a\.tsv: the file does not mark documents: cluster by sentence"
    ) as caught:
        text.clusters("document")
    assert caught.value.code == "cluster"
    assert "in CoNLL-U by a line '# newdoc id = ...', elsewhere by a sentence of" in caught.value.hint
    with pytest.raises(InputError, match="there are no clusters by 'genre'"):
        text.clusters("genre")


@pytest.mark.parametrize(
    ("text", "line"), [("the\tD\rfish\tN\r", 1), ("the\tD\r\nfish\tN\r\r\n", 2), ("a\tX\nb\rc\tY\n", 2)]
)
def test_a_carriage_return_inside_a_line_is_no_part_of_a_token(tmp_path: Path, text: str, line: int) -> None:
    with pytest.raises(FormatError, match="a carriage return is inside the line") as caught:
        read_tagged(written(tmp_path, text, "a.tsv"))
    assert (caught.value.code, caught.value.line) == ("file-broken", line)
    assert "line ends LF or CRLF" in caught.value.hint


def test_a_space_beside_a_tag_would_make_another_tag(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="there is a space next to the tag 'N'") as caught:
        read_tagged(written(tmp_path, "the\tD\nfish\tN \n", "a.tsv"))
    assert caught.value.line == 2


def test_features_are_names_with_values_in_one_order(tmp_path: Path) -> None:
    lines = [word(place, "a", feats=feats) for place, feats in enumerate(("B=1|a=2", "a=2|B=1", "_"), 1)]
    text = read_tagged(written(tmp_path, "\n".join(lines), "a.conllu"), column="upos+feats")
    assert text.tags == [["NOUN|a=2|B=1", "NOUN|a=2|B=1", "NOUN"]]
    for feats in ("Number", "Number=", "=Sing", "Number=Sing|"):
        error = broken(tmp_path, word(1, "a", feats=feats), "a.conllu", column="upos+feats")
        assert (error.line, "has no name or no value" in error.message) == (1, True)


def test_a_file_that_ends_in_a_comment_is_cut_short(tmp_path: Path) -> None:
    error = broken(tmp_path, word(1, "a") + "\n\n# sent_id = 2\n# text = so", "a.conllu")
    assert (error.code, error.line) == ("file-truncated", 4)
    assert read_tagged(written(tmp_path, word(1, "a") + "\n\n# the end\n", "a.conllu")).token_count == 1


def test_bytes_that_are_no_text_are_not_called_text(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_bytes(b"a\tX\n" * 200 + b"\x00")
    with pytest.raises(FormatError, match="this is something else, not text"):
        read_tagged(path)


def test_a_file_of_tokens_has_no_tags(tmp_path: Path) -> None:
    error = broken(tmp_path, "a\nb\n", "a.txt")
    assert (error.code, "no tags" in error.message) == ("column-missing", True)
    text = read_tagged(tmp_path / "a.txt", require_tags=False)
    assert (text.sentences, text.tags) == ([["a", "b"]], None)
    assert read_tagged(tmp_path / "a.txt", column="upos", require_tags=False).tags is None


@pytest.mark.parametrize(
    ("text", "line", "message", "code"),
    [
        ("a\tX\n\nb\n", 3, "the line has 1 column, and the first line 2, separated by tabs", "file-row"),
        ("a\tX\nb\tY\tZ\n", 2, "3 columns", "file-row"),
        ("a X\nb\tY\n", 2, "the line has 1 column, and the first line 2, separated by spaces", "file-row"),
        ("a\tX\n\tY\n", 2, "the token is empty", "missing-value"),
        ("a\tX\n \tY\n", 2, "the token is empty", "missing-value"),
        ("a\tX\nb\t\n", 2, "the tag is empty", "missing-value"),
        ("a\tX\tI\n\t\tI\n", 2, "the token is empty", "missing-value"),
        (b"a\tX\n\nb\xff\tY\n", 3, "the byte 0xff is not UTF-8", "file-broken"),
    ],
)
def test_broken_columns_are_named_by_their_line(
    tmp_path: Path, text: str | bytes, line: int, message: str, code: str
) -> None:
    error = broken(tmp_path, text, "a.tsv")
    assert (error.line, error.code, message in error.message) == (line, code, True), str(error)


@pytest.mark.parametrize("text", ["a\tX\n\t\nb\tY\n", "\t\na X\n \t \nb Y\n", "a\nX\n\t\nb\nY\n"])
def test_a_line_of_tabs_and_spaces_ends_a_sentence(tmp_path: Path, text: str) -> None:
    path = saved_text(tmp_path, text)
    assert [each[0] for each in read_tagged(path, require_tags=False).sentences] == ["a", "b"]


def test_the_training_data_of_wnut_are_read_as_published(data: Path) -> None:
    path = data / "wnut17/train.conll.gz"
    text = read_tagged(path)
    assert (len(text.sentences), text.token_count) == (3_394, 62_730)


@pytest.mark.parametrize("column", [0, 1, 3, -1])
def test_a_column_that_the_file_lacks_is_an_error(tmp_path: Path, column: int) -> None:
    error = broken(tmp_path, "a\tX\n", "a.tsv", column)
    assert (error.code, f"no column {column}" in error.message) == ("column-missing", True)


def test_only_conllu_has_columns_with_names(tmp_path: Path) -> None:
    assert "the file is not CoNLL-U" in broken(tmp_path, "a\tX\n", "a.tsv", "upos").message


# Files that are no tagged text.


@pytest.mark.parametrize("text", ["", "\n\n", " \n", "# only = comments\n"])
def test_a_file_without_a_sentence_is_an_error(tmp_path: Path, text: str) -> None:
    assert broken(tmp_path, text).code == "empty"


def test_files_that_are_missing_cut_or_of_another_kind_are_errors(tmp_path: Path) -> None:
    packed = gzip.compress(CONLLU.encode())
    assert broken(tmp_path, packed[:-20], "a.conllu.gz").code == "file-truncated"
    assert broken(tmp_path, packed[:30] + b"xx" + packed[32:], "b.conllu.gz").code == "file-broken"
    assert broken(tmp_path, CONLLU, "c.conllu.gz").code == "file-mislabelled"
    assert broken(tmp_path, b"PAR1\x00\x00", "d.conllu").code == "file-mislabelled"
    assert broken(tmp_path, gzip.compress(b""), "e.tsv.gz").code == "empty"
    for path, reason in ((tmp_path / "none.tsv", "no such file"), (tmp_path, "is a directory")):
        with pytest.raises(InputError, match=reason) as caught:
            read_tagged(path)
        assert caught.value.code == "file-missing"


@given(
    st.lists(
        st.sampled_from(
            [
                "1",
                "2",
                "3",
                "1-2",
                "0.1",
                "_",
                "\t",
                "\n",
                "\n\n",
                " ",
                "#",
                "# sent_id = ",
                "x",
                word(1, "a") + "\n",
            ]
        )
    ),
    st.sampled_from(["a.conllu", "a.txt"]),
    st.booleans(),
)
def test_any_text_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, parts: list[str], name: str, required: bool
) -> None:
    path = written(tmp_path_factory.mktemp("any"), "".join(parts), name)
    try:
        text = read_tagged(path, require_tags=required)
    except InputError:
        return
    lengths = [len(tokens) for tokens in text.sentences]
    assert lengths
    assert min(lengths) > 0
    assert len(set(text.sentence_ids)) == len(lengths)
    assert text.tags is None or [len(tags) for tags in text.tags] == lengths
    assert required <= (text.tags is not None)


def test_progress_is_told(tmp_path: Path) -> None:
    calls: list[tuple[str, int, int | None]] = []
    lines = "a\tX\n" * 40_000
    read_tagged(written(tmp_path, lines, "a.tsv"), progress=lambda *call: calls.append(call))
    assert [call[0] for call in calls] == ["reading"] * 2
    assert 0 < calls[0][1] < calls[1][1] < 40_000
    assert {call[2] for call in calls} == {None}  # the file is read as a stream


# Real data: counts of the treebanks' own statistics and of the files' authors.


def types(text: TaggedText) -> int:
    assert text.tags is not None
    assert [len(tags) for tags in text.tags] == [len(tokens) for tokens in text.sentences]
    return len({tag for tags in text.tags for tag in tags})


@pytest.mark.parametrize(
    ("file", "column", "sentences", "tokens", "tags", "documents"),
    [
        ("ud-english-ewt/en_ewt-ud-dev.conllu.gz", "upos+feats", 2001, 25147, 217, 318),
        ("ud-english-ewt/en_ewt-ud-test.conllu.gz", "upos+feats", 2077, 25094, 201, 316),
        ("ud-english-gum/en_gum-ud-dev.conllu.gz", None, 1575, 28119, 17, 30),
        ("sparse-tags/streusle.ud_dev.conllulex.gz", 19, 554, 5396, 263, 192),
        ("twitter-pos/oct27.train.tsv.gz", None, 1000, 14619, 25, None),
        ("twitter-pos/oct27.dev.tsv.gz", None, 327, 4823, 23, None),
        ("twitter-pos/daily547.tsv.gz", None, 547, 7707, 25, None),
        ("conll2000/test.txt.gz", None, 2012, 47377, 43, None),
        ("wsj-pos/wsj-pos.test.tsv.gz", None, 245, 5964, 39, None),
    ],
)
def test_real_files_have_the_counts_that_their_authors_give(
    data: Path,
    file: str,
    column: str | int | None,
    sentences: int,
    tokens: int,
    tags: int,
    documents: int | None,
) -> None:
    text = read_tagged(data / file, column=column)
    found = None if text.document_ids is None else len(set(text.document_ids))
    assert (len(text.sentences), text.token_count, types(text), found) == (sentences, tokens, tags, documents)


def test_the_training_part_of_ewt_has_its_321_tags_with_features(data: Path) -> None:
    text = read_tagged(data / "ud-english-ewt/en_ewt-ud-train.conllu.gz", column="upos+feats")
    assert (len(text.sentences), text.token_count, types(text)) == (12544, 204577, 321)


def test_the_library_conllu_reads_the_same_words_and_tags(data: Path) -> None:
    path = data / "ud-english-ewt/en_ewt-ud-test.conllu.gz"
    text = read_tagged(path, column="xpos")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        theirs = list(conllu.parse_incr(file))
    words = [[token for token in sentence if isinstance(token["id"], int)] for sentence in theirs]
    assert text.sentences == [[token["form"] for token in sentence] for sentence in words]
    assert text.tags == [[token["xpos"] for token in sentence] for sentence in words]
    assert text.sentence_ids == [sentence.metadata["sent_id"] for sentence in theirs]


def test_without_its_library_conllu_is_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.conllu").write_text("1\tShe\tshe\tPRON\t_\t_\t2\tnsubj\t_\t_\n")
    monkeypatch.setitem(sys.modules, "conllu.parser", None)
    with pytest.raises(
        MissingExtraError, match=re.escape(f"reading CoNLL-U needs conllu: {installing('structures')}")
    ):
        read_tagged(tmp_path / "a.conllu")


ONTONOTES = """#begin document (nw/tale); part 000
nw/tale 0 0 The   DT  (TOP(S(NP* -     -  - Ann (PERSON* * (1
nw/tale 0 1 king  NN  *)         king  -  - Ann *)       * 1)
nw/tale 0 2 saw   VBD (VP*       see   01 1 Ann *        (V*) -
nw/tale 0 3 Paris NNP (NP*))))   Paris -  - Ann (GPE)    * -

#end document
#begin document (nw/tale); part 001
nw/tale 1 0 Yes   UH  (TOP(INTJ*)) -   -  - -   *        -

#end document
"""


def saved_text(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "a.conll"
    path.write_text(text)
    return path


def test_conll_2012_has_parts_of_speech_names_and_documents(tmp_path: Path) -> None:
    path = saved_text(tmp_path, ONTONOTES)
    found = read_tagged(path)
    assert found.sentences == [["The", "king", "saw", "Paris"], ["Yes"]]
    assert found.tags == [["DT", "NN", "VBD", "NNP"], ["UH"]]
    assert found.document_ids == ["nw/tale", "nw/tale; part 1"]
    assert read_tagged(path, column="names").tags == [["B-PERSON", "I-PERSON", "O", "B-GPE"], ["O"]]
    assert read_tagged(path, column=5).tags == found.tags
    assert read_tagged(path, column=6).tags == [["(TOP(S(NP*", "*)", "(VP*", "(NP*))))"], ["(TOP(INTJ*))"]]


@pytest.mark.parametrize(
    ("change", "column", "message"),
    [
        (("*)       * 1)", "*))      * 1)"), "names", r"line 3: the name '\*\)\)' cannot be read"),
        (("(PERSON*", "*)      "), "names", r"line 2: the name '\*\)' cannot be read"),
        (("(GPE)", "(GPE*"), "names", "line 5: the name GPE does not end in the sentence"),
        (("(GPE)", "(G(P)"), "names", r"line 5: the name '\(G\(P\)' cannot be read"),
        (("", ""), "upos", "there is no column 'upos' with tags"),
        (("", ""), 3, "there is no column 3 with tags"),
        (("", ""), 20, "line 2: there is no column 20 with tags: the line has 13 columns"),
        (("#end document\n#begin", "#begin"), None, "line 7: a document begins"),
    ],
)
def test_what_conll_2012_breaks_is_named(
    tmp_path: Path, change: tuple[str, str], column: str | int | None, message: str
) -> None:
    path = saved_text(tmp_path, ONTONOTES.replace(*change, 1) if change[0] else ONTONOTES)
    with pytest.raises(InputError, match=message):
        read_tagged(path, column=column)


def test_a_shorter_file_in_columns_has_no_parts_of_speech(tmp_path: Path) -> None:
    path = saved_text(tmp_path, "#begin document (tale); part 0\ntale 0 0 The (1)\n#end document\n")
    with pytest.raises(
        InputError, match="line 2: there is no column 'pos' with tags: the line has 5 columns"
    ):
        read_tagged(path)


def test_a_text_of_blanks_has_no_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the file has no sentence: write the file again"):
        read_tagged(saved_text(tmp_path, "\u00a0\n"))


def test_empty_features_are_named(tmp_path: Path) -> None:
    path = tmp_path / "a.conllu"
    path.write_text("1\tI\t_\tPRON\t_\t\t0\troot\t_\t_\n\n", encoding="utf-8")
    with pytest.raises(FormatError, match="line 1: FEATS is empty: write _ for no features"):
        read_tagged(path, column="upos+feats")
