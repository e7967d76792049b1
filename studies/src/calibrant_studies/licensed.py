"""Readers of the licensed corpora that the papers used, in the layout in which the LDC distributes them."""

from __future__ import annotations

import hashlib
import io
import json
import re
import tarfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import date
from itertools import chain
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from calibrant.events import Lexicon
from calibrant.exceptions import FormatError, InputError
from calibrant.io.origin import reading
from calibrant.io.text import read_lines
from calibrant.structures import TaggedText, read_documents, read_tagged
from calibrant.structures.documents import Document
from calibrant_studies._base import digest

__all__ = [
    "NewsArticle",
    "digest_of_folder",
    "news_articles",
    "ontonotes_documents",
    "ontonotes_newswire",
    "treebank",
    "world_news",
]

SPLITS = ("train", "dev", "test")
SPLIT_OF = {"train": "train", "development": "dev", "dev": "dev", "test": "test"}
NEWSWIRE = "nw/wsj/"
# The sections of the Wall Street Journal on which taggers are trained, tuned and tested.
SECTIONS = {"train": range(19), "dev": range(19, 22), "test": range(22, 25)}
MRG = re.compile(r"wsj_(\d\d)\d\d\.(?:mrg|parse)", re.IGNORECASE)  # in capitals on the older discs
BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}
LARGEST = 1 << 24  # bytes of an article
WORD = re.compile(r"\w+(?:[-'’.]\w+)*", re.UNICODE)
NO_WORD = "[WORD]"  # in files that the shared tasks distribute without the words


def ontonotes_documents(folder: Path) -> dict[str, list[Document]]:
    """Read the documents of CoNLL-2011 or CoNLL-2012 in their splits.

    Parameters
    ----------
    folder
        A folder with files ``*gold_conll`` below folders ``train``, ``development`` (or ``dev``) and
        ``test``, as the shared tasks distribute them. Arabic and Chinese files are left out.

    Returns
    -------
    dict
        The documents of ``train``, ``dev`` and ``test``.

    Raises
    ------
    InputError
        If the folder has no such files, or a split is missing.
    FormatError
        If a file cannot be read; the error names file and line.

    Examples
    --------
    >>> ontonotes_documents(Path("nowhere"))
    Traceback (most recent call last):
    calibrant.exceptions.InputError: nowhere has no files *gold_conll below train, development ...
    """
    return {
        split: list(chain.from_iterable(map(_documents, files)))
        for split, files in _gold_files(folder).items()
    }


def ontonotes_newswire(folder: Path) -> dict[str, TaggedText]:
    """Read the tagged sentences of the Wall Street Journal in the splits of CoNLL-2011 or CoNLL-2012.

    Parameters
    ----------
    folder
        As in `ontonotes_documents`.

    Returns
    -------
    dict
        The sentences of ``train``, ``dev`` and ``test`` whose documents begin with ``nw/wsj/``.

    Raises
    ------
    InputError
        As `ontonotes_documents`; or there are no documents of the Wall Street Journal.

    Examples
    --------
    >>> ontonotes_newswire(Path("nowhere"))
    Traceback (most recent call last):
    calibrant.exceptions.InputError: nowhere has no files *gold_conll below train, development ...
    """
    found = {}
    for split, files in _gold_files(folder).items():
        rows = [row for file in files for row in _sentences(file) if row[2].startswith(NEWSWIRE)]
        if not rows:
            message = f"the split {split} of {folder} has no document {NEWSWIRE}..."
            raise InputError(message, "give the folder of the English data", code="empty")
        found[split] = _text([list(column) for column in zip(*rows, strict=True)], f"{folder}, {split}")
    return found


def treebank(folder: Path) -> dict[str, TaggedText]:
    """Read the tagged sentences of the Penn Treebank: sections 0 to 18, 19 to 21 and 22 to 24.

    Parameters
    ----------
    folder
        A folder with the files ``wsj_0001.mrg`` to ``wsj_2454.mrg``, at any depth.

    Returns
    -------
    dict
        The sentences of ``train``, ``dev`` and ``test``. Traces are left out.

    Raises
    ------
    InputError
        If files of one of the splits are missing.
    FormatError
        If a file is no text of trees: brackets do not balance, text is outside them, or a word has
        no tag; the error names the file.

    Examples
    --------
    >>> treebank(Path("nowhere"))
    Traceback (most recent call last):
    calibrant.exceptions.InputError: nowhere has no files wsj_NNNN.mrg of the sections 0 to 18 (train): ...
    """
    named = [(MRG.fullmatch(file.name), file) for file in sorted(folder.rglob("[wW][sS][jJ]_*"))]
    found = {}
    for split, sections in SECTIONS.items():
        files = [file for match, file in named if match and int(match[1]) in sections]
        if not files:
            which = f"{sections[0]} to {sections[-1]} ({split})"
            message = f"{folder} has no files wsj_NNNN.mrg of the sections {which}"
            raise InputError(message, "give the folder of the Penn Treebank", code="file-missing")
        columns: list[list[list[str]]] = [[], []]
        documents = []
        for file in files:
            for words, tags in _bracketed(file):
                columns[0].append(words)
                columns[1].append(tags)
                documents.append(file.stem.lower())
        found[split] = _text([*columns, documents], f"{folder}, {split}")
    return found


@dataclass(frozen=True)
class NewsArticle:
    """An article of the New York Times Annotated Corpus.

    Attributes
    ----------
    id
        The number of the article.
    date
        The day of its publication.
    title
        Its headline; empty if it has none.
    text
        The paragraphs of its body, with blank lines between them.
    categories
        The labels of the online producer, such as ``Top/News/World/Africa``.
    """

    id: str
    date: date
    title: str
    text: str
    categories: tuple[str, ...]

    def line(self) -> str:
        """Return the article as the JSON line that `calibrant events run` reads."""
        record = {"id": self.id, "date": self.date.isoformat(), "title": self.title, "text": self.text}
        return json.dumps(record, ensure_ascii=False)


def news_articles(path: Path) -> Iterator[NewsArticle]:
    """Read the articles of the New York Times Annotated Corpus (LDC2008T19), one after another.

    Parameters
    ----------
    path
        The corpus, or a part of it: a folder with ``.tgz`` archives or ``.xml`` files at any depth, or one
        such file. Archives are read without unpacking them.

    Yields
    ------
    NewsArticle
        In the order of the files' names. An article without a body is left out.

    Raises
    ------
    InputError
        If there is no article.
    FormatError
        If an article is not well-formed XML, declares entities, is larger than 16 MiB, or lacks its number or
        date; the error names the file.

    Examples
    --------
    >>> next(news_articles(Path("nowhere")))
    Traceback (most recent call last):
    calibrant.exceptions.InputError: nowhere has no article: neither .xml files nor .tgz archives of them: ...
    """
    empty = True
    for name, data in _article_files(path):
        empty = False
        article = _article(name, data)
        if article is not None:
            yield article
    if empty:
        message = f"{path} has no article: neither .xml files nor .tgz archives of them"
        raise InputError(message, "give the folder `data` of the corpus", code="file-missing")


def world_news(articles: Iterable[NewsArticle], lexicon: Lexicon) -> Iterator[NewsArticle]:
    """Keep the articles about world news, as the appendix of the 2015 paper has it.

    Parameters
    ----------
    articles
        From `news_articles`.
    lexicon
        The names of countries.

    Yields
    ------
    NewsArticle
        An article with a category that starts with ``Top/News/World``, none that contains ``/Sports`` or
        ``/Opinion``, and the name of a country in its body.

    References
    ----------
    Nguyen and O'Connor (2015), appendix 3.

    Examples
    --------
    >>> from calibrant.events import default_lexicon
    >>> categories = ("Top/News/World/Middle East", "Top/News")
    >>> kept = NewsArticle("1", date(1990, 8, 3), "", "Troops entered Kuwait.", categories)
    >>> other = NewsArticle("2", date(1990, 8, 3), "", "It rained.", categories)
    >>> [each.id for each in world_news([kept, other], default_lexicon())]
    ['1']
    """
    for article in articles:
        world = any(label.startswith("Top/News/World") for label in article.categories)
        other = any(re.search("/(Sports|Opinion)", label) for label in article.categories)
        if world and not other and lexicon.matches(WORD.findall(article.text)):
            yield article


def digest_of_folder(folder: Path) -> str:
    """Return one SHA-256 of all files of a folder and their names.

    Examples
    --------
    >>> digest_of_folder(Path("nowhere"))[:8]
    'e3b0c442'
    """
    whole = hashlib.sha256()
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            whole.update(f"{file.relative_to(folder).as_posix()} {digest(file)}\n".encode())
    return whole.hexdigest()


def _gold_files(folder: Path) -> dict[str, list[Path]]:
    files: dict[str, list[Path]] = {split: [] for split in SPLITS}
    for file in sorted(folder.rglob("*gold_conll")):
        parts = file.relative_to(folder).parts
        split = next((SPLIT_OF[part] for part in parts if part in SPLIT_OF), None)
        # Merged files carry the split in their own name: train.english.v4_gold_conll.
        split = split or SPLIT_OF.get(file.name.partition(".")[0])
        if split is not None and not {"arabic", "chinese"} & {*parts, *file.name.split(".")}:
            files[split].append(file)
    missing = [split for split, found in files.items() if not found]
    if missing:
        message = f"{folder} has no files *gold_conll below train, development and test"
        lacking = f" (it lacks {', '.join(missing)})" if len(missing) < len(SPLITS) else ""
        hint = "give the folder of CoNLL-2011 or CoNLL-2012 with the words filled in"
        raise InputError(message + lacking, hint, code="file-missing")
    return files


def _text(columns: list[list[Any]], name: str) -> TaggedText:
    sentences, tags, documents = columns
    return TaggedText(sentences, tags, [str(number + 1) for number in range(len(sentences))], documents, name)


def _documents(file: Path) -> list[Document]:
    """Documents of one file of CoNLL-2011 or CoNLL-2012."""
    documents = read_documents(file)
    for document in documents:
        if document.clusters is None:  # a file of another format that has documents, such as CoNLL-U
            raise _not_gold(file)
        _check_words(file, document.sentences)
    return documents


def _sentences(file: Path) -> Iterator[tuple[list[str], list[str], str]]:
    """Words, tags and name of the document of each sentence of one such file."""
    text = read_tagged(file)
    if text.tags is None or text.document_ids is None:
        raise _not_gold(file)
    _check_words(file, text.sentences)
    yield from zip(text.sentences, text.tags, text.document_ids, strict=True)


def _not_gold(file: Path) -> FormatError:
    message = "these are no columns of CoNLL-2011 or CoNLL-2012"
    hint = "begin each document by '#begin document (NAME); part 000'"
    return FormatError(message, hint, code="file-mislabelled", file=str(file))


def _check_words(file: Path, sentences: Sequence[Sequence[str]]) -> None:
    if sentences and all(word == NO_WORD for sentence in sentences for word in sentence):
        hint = "fill them in from OntoNotes (LDC2013T19) by the script of the shared task"
        raise FormatError(f"every word is {NO_WORD}", hint, code="file-mislabelled", file=str(file))


def _bracketed(file: Path) -> Iterator[tuple[list[str], list[str]]]:
    """Words and tags of each tree of a file."""
    from nltk.tokenize import SExprTokenizer
    from nltk.tree import Tree

    name, lines = read_lines(file)
    again = "give a file of the Penn Treebank with brackets, or copy it again"
    empty = True
    try:
        trees = [each.strip() for each in SExprTokenizer().tokenize("\n".join(lines)) if each.strip()]
        outside = next((each.split()[0] for each in trees if each[0] != "("), None)
        if outside is None:
            found = [Tree.fromstring(each, remove_empty_top_bracketing=True).pos() for each in trees]
    except (ValueError, RecursionError) as error:
        raise FormatError("the brackets do not balance", again, code="file-row", file=name) from error
    if outside is not None:
        line = next((number for number, text in enumerate(lines, 1) if outside in text.split()), None)
        message = f"{outside[:40]!r} is outside the brackets of a tree"
        raise FormatError(message, again, code="file-mislabelled", file=name, line=line)
    for leaves in found:
        kept = [leaf for leaf in leaves if leaf[1] != "-NONE-"]
        untagged = [word for word, tag in kept if not tag]
        if untagged:
            raise FormatError(f"the word {untagged[0][:40]!r} has no tag", again, code="file-row", file=name)
        if kept:
            empty = False
            yield [BRACKETS.get(word, word) for word, _ in kept], [tag for _, tag in kept]
    if empty:
        raise FormatError("there is no tree with words", again, code="file-row", file=name)


def _article_files(path: Path) -> Iterator[tuple[str, bytes]]:
    """Name and content of each article."""
    for file in [path] if path.is_file() else sorted(path.rglob("*")):
        if not file.is_file():
            continue
        with reading(str(file)):
            if file.suffix == ".xml":
                with file.open("rb") as content:
                    yield str(file), content.read(LARGEST + 1)
            elif file.suffix in (".tgz", ".tar") or file.name.endswith(".tar.gz"):
                yield from _members(file)


def _members(file: Path) -> Iterator[tuple[str, bytes]]:
    """Name and content of each article of an archive."""
    try:
        with tarfile.open(file) as archive:
            for member in archive:
                if member.isfile() and member.name.endswith(".xml"):
                    content = archive.extractfile(member)
                    assert content is not None
                    with closing(content):
                        yield f"{file}: {member.name}", content.read(LARGEST + 1)
    except tarfile.TarError as error:
        message = "this is no tar archive, or it is cut short or damaged"
        raise FormatError(message, "copy it again", code="file-broken", file=str(file)) from error


def _article(name: str, data: bytes) -> NewsArticle | None:
    """Read one article; None if it has no body."""
    if len(data) > LARGEST:
        message = f"the article is larger than {LARGEST >> 20} MiB"
        raise FormatError(message, "take it out", code="file-broken", file=name)
    if b"<!ENTITY" in data.replace(b"\0", b""):  # in UTF-16 every other byte is 0
        message = "the article declares entities, which no article of the corpus does"
        raise FormatError(message, "take it out", code="file-broken", file=name)
    try:
        root = ElementTree.parse(io.BytesIO(data)).getroot()
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        message = f"the article is not well-formed XML ({error})"
        raise FormatError(message, "copy the file again", code="file-broken", file=name) from error
    number, day = root.find("./head/docdata/doc-id"), root.find("./head/pubdata")
    identity = "" if number is None else number.get("id-string", "")
    try:
        published = date.fromisoformat("" if day is None else day.get("date.publication", "")[:8])
    except ValueError:
        published = None
    if not identity or published is None:
        lacking = "number (doc-id)" if not identity else "date (pubdata, date.publication)"
        message = f"the article has no {lacking}"
        raise FormatError(message, "give articles in NITF, as the LDC does", code="file-broken", file=name)
    paragraphs = [
        " ".join("".join(paragraph.itertext()).split())
        for block in root.iterfind("./body/body.content/block")
        if block.get("class") == "full_text"
        for paragraph in block.iterfind("p")
    ]
    text = "\n\n".join(filter(None, paragraphs))
    title = root.find("./body/body.head/hedline/hl1")
    labels = root.iterfind("./head/docdata/identified-content/classifier")
    categories = tuple(label.text or "" for label in labels if label.get("class") == "online_producer")
    headline = "" if title is None else " ".join("".join(title.itertext()).split())
    return NewsArticle(identity, published, headline, text, categories) if text else None
