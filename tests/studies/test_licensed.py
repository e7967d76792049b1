"""The licensed corpora are read in the layout of the LDC; the files here are made up in the same formats."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from calibrant.events import default_lexicon
from calibrant.events.files.dated import iter_dated
from calibrant.exceptions import InputError
from calibrant_studies._events_data import NYT, write_world_news
from calibrant_studies.licensed import (
    NewsArticle,
    news_articles,
    ontonotes_documents,
    ontonotes_newswire,
    treebank,
    world_news,
)

GOLD = """#begin document ({name}); part 000
{name} 0 0 Ann  NNP (TOP(S(NP*) -    -  - - (PERSON) * (1)
{name} 0 1 left VBD (VP*))      leave 01 - - *        * -

#end document
"""


def gold(folder: Path, split: str, name: str, language: str = "english") -> None:
    place = folder / "data" / split / "data" / language / "annotations" / f"{name}.v2_gold_conll"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(GOLD.format(name=name).replace("(VP*))", "(VP*)))"))


@pytest.fixture
def ontonotes(tmp_path: Path) -> Path:
    for split, number in (("train", 1), ("dev", 2), ("test", 3)):
        gold(tmp_path, split, f"nw/wsj/00/wsj_000{number}")
        gold(tmp_path, split, f"bc/cctv/00/cctv_000{number}")
        gold(tmp_path, split, f"nw/xinhua/00/chtb_000{number}", "chinese")
    return tmp_path


def test_documents_of_ontonotes_come_in_the_splits_of_the_folders(ontonotes: Path) -> None:
    found = ontonotes_documents(ontonotes)
    assert {split: [each.name for each in documents] for split, documents in found.items()} == {
        "train": ["bc/cctv/00/cctv_0001", "nw/wsj/00/wsj_0001"],
        "dev": ["bc/cctv/00/cctv_0002", "nw/wsj/00/wsj_0002"],
        "test": ["bc/cctv/00/cctv_0003", "nw/wsj/00/wsj_0003"],
    }
    (tree,) = found["dev"][0].trees or ()
    assert (tree.heads, tree.relations) == ([2, 0], ["nsubj", "root"])


def test_the_newswire_of_ontonotes_is_the_wall_street_journal(ontonotes: Path) -> None:
    found = ontonotes_newswire(ontonotes)
    assert found["test"].document_ids == ["nw/wsj/00/wsj_0003"]
    assert found["test"].sentences == [["Ann", "left"]]
    assert found["test"].tags == [["NNP", "VBD"]]


def test_merged_files_carry_their_split_in_their_names(tmp_path: Path) -> None:
    for split in ("train", "development", "test"):
        text = GOLD.format(name=f"nw/wsj/{split}").replace("(VP*))", "(VP*)))")
        (tmp_path / f"{split}.english.v4_gold_conll").write_text(text)
    assert [split for split, texts in ontonotes_newswire(tmp_path).items() if texts.sentences] == [
        "train",
        "dev",
        "test",
    ]


def test_a_missing_split_or_newswire_is_named(tmp_path: Path) -> None:
    gold(tmp_path, "train", "bc/cctv/00/cctv_0001")
    with pytest.raises(InputError, match=r"gold_conll .* \(it lacks dev, test\)"):
        ontonotes_documents(tmp_path)
    gold(tmp_path, "dev", "bc/cctv/00/cctv_0002")
    gold(tmp_path, "test", "bc/cctv/00/cctv_0003")
    with pytest.raises(InputError, match=r"the split train of .* has no document nw/wsj/"):
        ontonotes_newswire(tmp_path)


TREE = """( (S
    (NP-SBJ-1 (NNP Ann) (-LRB- -LRB-) (NNP B.) (-RRB- -RRB-))
    (VP (VBD left) (NP (-NONE- *-1)))
    (. .) ))
( (INTJ (UH Yes)))
"""


def mrg(folder: Path, section: int, text: str = TREE) -> Path:
    place = folder / "combined" / "wsj" / f"{section:02}" / f"wsj_{section:02}01.mrg"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)
    return place


def test_the_treebank_has_standard_sections_and_no_traces(tmp_path: Path) -> None:
    for section in (0, 18, 19, 21, 22, 24):
        mrg(tmp_path, section)
    found = treebank(tmp_path)
    assert found["train"].sentences[:2] == [["Ann", "(", "B.", ")", "left", "."], ["Yes"]]
    assert found["train"].tags is not None
    assert found["train"].tags[0] == ["NNP", "-LRB-", "NNP", "-RRB-", "VBD", "."]
    assert {split: text.document_ids for split, text in found.items()} == {
        "train": ["wsj_0001"] * 2 + ["wsj_1801"] * 2,
        "dev": ["wsj_1901"] * 2 + ["wsj_2101"] * 2,
        "test": ["wsj_2201"] * 2 + ["wsj_2401"] * 2,
    }


def test_names_in_capitals_are_those_of_the_same_files(tmp_path: Path) -> None:
    for section in (0, 19, 22):
        path = mrg(tmp_path, section)
        path.rename(path.with_name(path.name.upper()))
    assert treebank(tmp_path)["train"].document_ids == ["wsj_0001"] * 2


def test_a_treebank_without_a_section_or_a_bracket_is_named(tmp_path: Path) -> None:
    mrg(tmp_path, 0)
    with pytest.raises(InputError, match=r"no files wsj_NNNN.mrg of the sections 19 to 21 \(dev\)"):
        treebank(tmp_path)
    for section in (19, 22):
        mrg(tmp_path, section)
    mrg(tmp_path, 0, TREE[:-3])
    with pytest.raises(InputError, match=r"wsj_0001\.mrg: the brackets do not balance"):
        treebank(tmp_path)


NOT_TREES = {
    "nothing": (b"", "the file is empty"),
    "words": (b"Ann left .\n", r"line 1: 'Ann' is outside the brackets"),
    "tagged words": (b"[ Ann/NNP ]\nleft/VBD\n", r"line 1: '\[' is outside the brackets"),
    "columns after trees": (
        TREE.encode() + b"#begin document (a)\n",
        r"line 6: '#begin' is outside the brackets",
    ),
    "a page of the web": (b"<html>Not found</html>", "'<html>Not' is outside the brackets"),
    "another encoding": ("( (NN caf\xe9))".encode("latin-1"), "the byte 0xe9 is not UTF-8"),
    "an archive": (b"\x1f\x8b" + bytes(40), "wsj_0001.mrg: "),
    "bytes": (bytes(range(256)), "something else, not text"),
    "a word without a tag": (b"( (NP (NNP Ann)) left)", r"the word 'left' has no tag|'left' is outside"),
    "traces alone": (b"( (NP (-NONE- *)))", "there is no tree with words"),
}


@pytest.mark.parametrize("case", NOT_TREES)
def test_a_file_of_the_treebank_that_is_something_else_is_refused_in_one_line(
    tmp_path: Path, case: str
) -> None:
    content, message = NOT_TREES[case]
    for section in (0, 19, 22):
        mrg(tmp_path, section)
    path = mrg(tmp_path, 0)
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as raised:
        treebank(tmp_path)
    assert "\n" not in str(raised.value)
    assert str(path) in str(raised.value)


TREES = "1\tAnn\tAnn\tPROPN\tNNP\t_\t2\tnsubj\t_\t_\n2\tleft\tleave\tVERB\tVBD\t_\t0\troot\t_\t_\n\n"
NOT_GOLD = {
    "nothing": ("", "the file is empty"),
    "CoNLL-U": (TREES, "no columns of CoNLL-2011"),
    "words": ("Ann left .\n", "CoNLL-20"),
    "words and tags": ("Ann NNP\nleft VBD\n", "CoNLL-20"),
    "trees": (TREE, "CoNLL-20|columns, and"),
    "without the words": (
        GOLD.replace("Ann ", "[WORD] ").replace("left", "[WORD]").replace("(VP*))", "(VP*)))"),
        r"every word is \[WORD\]",
    ),
    "cut short": (GOLD[:-20].replace("(VP*))", "(VP*)))"), "has no '#end document'|columns, and"),
    "two formats": (GOLD.replace("(VP*))", "(VP*)))") + TREES, "outside a document"),
}


@pytest.mark.parametrize("case", NOT_GOLD)
@pytest.mark.parametrize("read", [ontonotes_documents, ontonotes_newswire])
def test_a_file_of_ontonotes_that_is_something_else_is_refused_in_one_line(
    ontonotes: Path, read: Callable[[Path], object], case: str
) -> None:
    content, message = NOT_GOLD[case]
    (path,) = ontonotes.rglob("wsj_0001*")
    path.write_text(content.replace("{name}", "nw/wsj/1"))
    with pytest.raises(InputError, match=message) as raised:
        read(ontonotes)
    assert "\n" not in str(raised.value)
    assert str(path) in str(raised.value)


ARTICLE = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE nitf SYSTEM "http://www.nitf.org/IPTC/NITF/3.3/specification/dtd/nitf-3-3.dtd">
<nitf><head><title>A</title><docdata><doc-id id-string="{id}"/><identified-content>
<classifier class="online_producer" type="taxonomic_classifier">{category}</classifier>
<classifier class="indexing_service" type="descriptor">Top/News/World</classifier>
</identified-content></docdata><pubdata date.publication="19900803T000000" name="The New York Times"/></head>
<body><body.head><hedline><hl1>Troops
 march</hl1></hedline></body.head><body.content><block class="lead_paragraph"><p>LEAD</p></block>
<block class="full_text"><p>{text}</p><p>Second   <i>paragraph</i>.</p></block></body.content></body></nitf>
"""


def article(
    identity: str = "7", category: str = "Top/News/World/Africa", text: str = "Iraq attacked."
) -> str:
    return ARTICLE.format(id=identity, category=category, text="Iraq attacked.")


def test_articles_have_number_day_title_paragraphs_and_categories(tmp_path: Path) -> None:
    (tmp_path / "1990").mkdir()
    (tmp_path / "1990" / "0000007.xml").write_text(article())
    (found,) = news_articles(tmp_path)
    text = "Iraq attacked.\n\nSecond paragraph."
    assert found == NewsArticle("7", date(1990, 8, 3), "Troops march", text, ("Top/News/World/Africa",))
    assert json.loads(found.line()) == {
        "id": "7",
        "date": "1990-08-03",
        "title": "Troops march",
        "text": text,
    }


def test_archives_are_read_as_they_are(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "03.tgz", "w:gz") as archive:
        for number in ("1", "2"):
            data = article(number).encode()
            member = tarfile.TarInfo(f"03/{number}.xml")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    assert [each.id for each in news_articles(tmp_path)] == ["1", "2"]
    whole = (tmp_path / "03.tgz").read_bytes()
    (tmp_path / "03.tgz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"03\.tgz.*(cut short|not well-formed)"):
        list(news_articles(tmp_path))


def test_world_news_has_a_category_and_a_country_and_is_no_sports() -> None:
    def of(category: str, text: str) -> NewsArticle:
        return NewsArticle(category, date(1990, 8, 3), "", text, (category, "Top/Features"))

    given = [
        of("Top/News/World/Africa", "Egyptian troops"),
        of("Top/News/World", "It rained."),
        of("Top/News/World/Sports", "Egypt won."),
        of("Top/Opinion/Egypt", "Egypt"),
        of("Top/News", "Egypt"),
    ]
    assert [each.id for each in world_news(given, default_lexicon())] == ["Top/News/World/Africa"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("</nitf>", ""), "0000007.xml: the article is not well-formed XML"),
        (('<doc-id id-string="7"/>', ""), r"has no number \(doc-id\)"),
        (("19900803T000000", "19901303"), r"has no date \(pubdata"),
        (("<nitf>", '<!DOCTYPE x [<!ENTITY a "b">]><nitf>'), "declares entities"),
    ],
)
def test_broken_articles_are_named(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    (tmp_path / "0000007.xml").write_text(article().replace(*change))
    with pytest.raises(InputError, match=message):
        list(news_articles(tmp_path))


def archive_of(data: bytes) -> bytes:
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w:gz") as archive:
        member = tarfile.TarInfo("1.xml")
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
    return sink.getvalue()


NOT_NEWS = {
    "nothing": ("1.tgz", b"", "this is no tar archive"),
    "an article": ("1.tgz", article().encode(), "this is no tar archive"),
    "another archive": ("1.tgz", gzip.compress(b"text"), "this is no tar archive"),
    "half an archive": ("1.tgz", archive_of(article().encode())[:-60], "cut short"),
    "a page of the web in an archive": ("1.tgz", archive_of(b"<html></html>"), r"1\.xml: .* no number"),
    "an archive as an article": ("1.xml", archive_of(article().encode()), "not well-formed XML"),
    "trees": ("1.xml", TREE.encode(), "not well-formed XML"),
    "two articles": ("1.xml", article().encode() * 2, "not well-formed XML"),
    "entities in UTF-16": (
        "1.xml",
        '<!DOCTYPE x [<!ENTITY a "b">]><nitf>&a;</nitf>'.encode("utf-16"),
        "declares entities",
    ),
}


@pytest.mark.parametrize("case", NOT_NEWS)
def test_a_file_of_the_news_that_is_something_else_is_refused_in_one_line(tmp_path: Path, case: str) -> None:
    name, content, message = NOT_NEWS[case]
    (tmp_path / "folder.xml").mkdir()
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message) as raised:
        list(news_articles(tmp_path))
    assert "\n" not in str(raised.value)
    assert name in str(raised.value)


def test_world_news_is_written_once_as_the_lines_that_events_run_reads(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "1.xml").write_text(article("1"))
    (corpus / "2.xml").write_text(article("2", category="Top/News/Sports"))
    assert write_world_news(corpus, tmp_path) == 1
    (found,) = iter_dated(NYT.file(tmp_path))
    assert (found.id, str(found.date), found.title) == ("1", "1990-08-03", "Troops march")
    (corpus / "1.xml").unlink()
    assert write_world_news(corpus, tmp_path) == 1


def test_a_corpus_without_world_news_is_refused_and_leaves_no_file(tmp_path: Path) -> None:
    (tmp_path / "2.xml").write_text(article("2", category="Top/News/Sports"))
    with pytest.raises(InputError, match="has no article about world news that names a country"):
        write_world_news(tmp_path, tmp_path / "store")
    assert not list((tmp_path / "store").rglob("*.gz"))


def test_an_article_without_a_body_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "1.xml").write_text(article().replace('class="full_text"', 'class="other"'))
    assert list(news_articles(tmp_path)) == []
