"""The tagging study's texts: tweets, samples of the Wall Street Journal, and an English treebank."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from calibrant.structures.files.tagged import TaggedText, read_tagged
from calibrant_studies.datasets._folders import required
from calibrant_studies.licensed import ontonotes_newswire, treebank

SPLITS = ("train", "dev", "test")
FILES = {
    "twitter": tuple(f"twitter-pos/oct27.{split}.tsv.gz" for split in SPLITS),
    "wsj": tuple(f"wsj-pos/wsj-pos.{split}.tsv.gz" for split in SPLITS),
    "conll2000": ("conll2000/train.txt.gz", "conll2000/test.txt.gz"),
    "ewt": tuple(f"ud-english-ewt/en_ewt-ud-{split}.conllu.gz" for split in SPLITS),
}
TITLE = {
    "twitter": "Twitter",
    "wsj": "WSJ sample",
    "conll2000": "WSJ of CoNLL-2000",
    "ewt": "EWT",
    "ontonotes": "WSJ of CoNLL-2011",
    "ptb": "Penn Treebank",
}
PAPER_SET = "ontonotes"  # the sentences of the paper and the thesis
LICENSED = {PAPER_SET: ontonotes_newswire, "ptb": treebank}
DEV_SHARE = 10  # without a dev file, dev is the last 1 / DEV_SHARE of the training sentences


@dataclass(frozen=True)
class Part:
    """Tagged sentences of one split, and their documents where the file names them."""

    sentences: list[list[str]]
    tags: list[list[str]]
    documents: list[str] | None = None

    @property
    def tokens(self) -> int:
        """The number of tokens."""
        return sum(map(len, self.sentences))

    def first(self, count: int) -> Part:
        """Return the first sentences."""
        return Part(self.sentences[:count], self.tags[:count])


@dataclass(frozen=True)
class TextSet:
    """One data set."""

    name: str
    train: Part
    dev: Part
    test: Part

    @property
    def title(self) -> str:
        """Its name in tables."""
        return TITLE[self.name]

    @property
    def tag(self) -> str:
        """The tag that the thesis asks about."""
        return "V" if self.name == "twitter" else "NN"


def sources(data: Path, names: tuple[str, ...] = tuple(FILES)) -> list[Path]:
    """Files of some data sets."""
    return [data / file for name in names for file in FILES[name]]


def read_set(data: Path, name: str) -> TextSet:
    """Read one data set; without a dev file dev is the last tenth of the training sentences."""
    column = "xpos" if name == "ewt" else None
    paths = [required(data, file) for file in FILES[name]]
    parts = [_part(read_tagged(path, column=column)) for path in paths]
    if len(parts) == len(SPLITS):
        return TextSet(name, *parts)
    whole, test = parts
    count = len(whole.sentences) - len(whole.sentences) // DEV_SHARE
    dev = Part(whole.sentences[count:], whole.tags[count:])
    return TextSet(name, whole.first(count), dev, test)


def read_licensed(name: str, folder: Path) -> TextSet:
    """Read ``ontonotes`` or ``ptb`` from the folder of its licensee."""
    texts = LICENSED[name](folder)
    return TextSet(name, *(_part(texts[split]) for split in SPLITS))


def _part(text: TaggedText) -> Part:
    assert text.tags is not None
    return Part(text.sentences, text.tags, text.document_ids)
