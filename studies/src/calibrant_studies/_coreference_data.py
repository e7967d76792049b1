"""The coreference study's texts: two corpora, with gold or detected mentions, gold or predicted trees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from calibrant.exceptions import InputError
from calibrant.structures.documents import Document, Mention
from calibrant.structures.files.coreference import read_documents
from calibrant.structures.models.coreference import FeatureSet
from calibrant.structures.models.mentions import detect_mentions
from calibrant_studies._base import Row
from calibrant_studies.datasets._folders import required
from calibrant_studies.licensed import ontonotes_documents
from calibrant_studies.models import PARSER

FILES = {
    "gum": "ud-english-gum/en_gum-ud-{}.conllu.gz",
    "litbank": "litbank-coref/litbank-coref.{}.conll.gz",
}
FOLDS = "litbank-coref/folds.tsv"
SPLITS = ("train", "dev", "test")
TITLE = {"gum": "GUM", "litbank": "LitBank", "ontonotes": "OntoNotes"}
PIPELINE = PARSER
FOLD_COUNT = 10
Documents = list[Document]


@dataclass(frozen=True)
class Texts:
    """A corpus under one condition.

    Attributes
    ----------
    corpus
        ``gum``, ``litbank`` or ``ontonotes``.
    mentions
        ``gold`` or ``detected``.
    trees
        ``gold``, ``predicted`` or ``none``: where heads, traits and detected mentions come from.
    features
        Features of the model.
    split
        The documents of ``train``, ``dev`` and ``test``. A detected mention that gold has not has no cluster.
    gold
        The same with gold mentions.
    """

    corpus: str
    mentions: str
    trees: str
    features: FeatureSet
    split: Mapping[str, Documents]
    gold: Mapping[str, Documents]

    @property
    def name(self) -> Row:
        """Name of the condition, as the first columns of a table."""
        return {"set": TITLE[self.corpus], "mentions": self.mentions, "trees": self.trees}


def sources(data: Path) -> list[Path]:
    """Every file that the study reads."""
    return [data / FILES[corpus].format(part) for corpus in FILES for part in SPLITS] + [data / FOLDS]


def read(data: Path, corpus: str) -> Texts:
    """Read a corpus with its gold mentions and its trees, if any."""
    split = {part: list(read_documents(required(data, FILES[corpus].format(part)))) for part in SPLITS}
    if corpus == "gum":
        return Texts(corpus, "gold", "gold", "syntax", split, split)
    return Texts(corpus, "gold", "none", "surface", split, split)


def read_ontonotes(folder: Path) -> Texts:
    """Read CoNLL-2011 or CoNLL-2012, with gold mentions, and trees from the constituents.

    The paper measures on the development section. It takes the place of the test set, and the test section
    that of dev, on which penalties are chosen.
    """
    found = ontonotes_documents(folder)
    split = {"train": found["train"], "dev": found["test"], "test": found["dev"]}
    return Texts("ontonotes", "gold", "gold", "syntax", split, split)


def parsed(texts: Texts, pipeline: Path) -> Texts:
    """Return the same texts with predicted trees."""
    from calibrant.structures.models.parsing import parse

    split = {part: list(parse(documents, pipeline)) for part, documents in texts.split.items()}
    return replace(texts, trees="predicted", features="syntax", split=split)


def detected(texts: Texts) -> Texts:
    """Return the same texts with the mentions that are detected in their trees."""
    split = {
        part: [
            _with_detected(document, possessive_endings=texts.corpus != "litbank") for document in documents
        ]
        for part, documents in texts.split.items()
    }
    return replace(texts, mentions="detected", split=split)


def _with_detected(document: Document, *, possessive_endings: bool) -> Document:
    known: dict[Mention, str | None] = dict(
        zip(document.mentions or (), document.clusters or (), strict=True)
    )
    mentions = detect_mentions(document, possessive_endings=possessive_endings)
    return replace(document, mentions=mentions, clusters=[known.get(mention) for mention in mentions])


def recall_rows(texts: Texts) -> list[Row]:
    """Return recall and precision of the detected mentions, per split."""
    rows = []
    for part in SPLITS:
        found = mention_recall(texts.gold[part], [document.mentions or () for document in texts.split[part]])
        rows.append(
            {
                "set": TITLE[texts.corpus],
                "trees": texts.trees,
                "split": part,
                "gold": found.gold,
                "detected": found.detected,
                "recall": found.recall,
                "precision": found.precision,
            }
        )
    return rows


def folds(data: Path, texts: Texts) -> list[Texts]:
    """Ten splits of LitBank: fold k is the test set, the fold before it the dev set."""
    documents = [document for part in SPLITS for document in texts.split[part]]
    lines = required(data, FOLDS).read_text(encoding="utf-8").splitlines()
    fold = {name: int(number) for name, number in (line.split("\t")[:2] for line in lines[1:])}
    missing = [document.name for document in documents if document.name not in fold]
    if missing:
        raise InputError(f"{FOLDS} lacks {missing[0]!r}", "take the data's own files", code="file-broken")
    found = []
    for test in range(FOLD_COUNT):
        of = {test: "test", (test - 1) % FOLD_COUNT: "dev"}
        split: dict[str, Documents] = {part: [] for part in SPLITS}
        for document in documents:
            split[of.get(fold[document.name], "train")].append(document)
        found.append(replace(texts, split=split, gold=split))
    return found


def clusters_of(documents: Sequence[Document]) -> list[Sequence[str | None]]:
    """Return the gold entity of each mention, per document."""
    return [document.clusters or () for document in documents]


class MentionRecall(NamedTuple):
    """Numbers of gold and detected mentions, compared by exact words.

    Attributes
    ----------
    gold, detected, both
        Number of gold mentions, of detected mentions, and of mentions in both.
    """

    gold: int
    detected: int
    both: int

    @property
    def recall(self) -> float | None:
        """Return the fraction of gold mentions that were detected; None without gold mentions."""
        return self.both / self.gold if self.gold else None

    @property
    def precision(self) -> float | None:
        """Return the fraction of detected mentions that are gold; None without detected mentions."""
        return self.both / self.detected if self.detected else None


def mention_recall(gold: Sequence[Document], detected: Sequence[Sequence[Mention]]) -> MentionRecall:
    """Compare detected mentions with the gold mentions of documents.

    Parameters
    ----------
    gold
        Documents with mentions.
    detected
        Detected mentions of each document.

    Returns
    -------
    MentionRecall

    Raises
    ------
    InputError
        If the two differ in length.

    Examples
    --------
    >>> gold = [Document("d", [["We", "saw", "them"]], [Mention(0, 0, 1), Mention(0, 2, 3)])]
    >>> mention_recall(gold, [[Mention(0, 0, 1)]]).recall
    0.5
    """
    if len(gold) != len(detected):
        message = f"there are {len(gold)} documents, but mentions of {len(detected)}"
        raise InputError(message, "give the mentions of each document", code="length")
    both = sum(len(set(of.mentions or ()) & set(found)) for of, found in zip(gold, detected, strict=True))
    return MentionRecall(sum(len(of.mentions or ()) for of in gold), sum(map(len, detected)), both)
