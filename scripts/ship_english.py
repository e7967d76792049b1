"""Train the models of calibrant-english: english/src/calibrant_english/models.

Texts: the English Web Treebank, the documents of GUM's five genres with free licenses (news, interview,
voyage, academic, bio). Settings are fixed; the temperature of the coreference model is fitted on the dev
documents of these genres. Nothing is fitted on test splits. `CALIBRANT_DATA` names the folder of the data.
Each model is trained only if its file does not exist, so an interrupted run continues; delete the files to
train again. It takes about half an hour of processor time.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from calibrant._version import __version__
from calibrant.structures import TreeText, read_documents, save_model
from calibrant.structures.documents import Document
from calibrant.structures.files import english as names
from calibrant.structures.models import CoreferenceModel, CRFTagger, DependencyModel, english
from calibrant.structures.posterior import fit_antecedent_temperature
from calibrant.structures.verbs.coreference_source import Mentions, asked_mentions
from calibrant.structures.verbs.parser_training import jackknifed

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "english" / "src" / "calibrant_english" / "models"
GENRES = ("news", "interview", "voyage", "academic", "bio")
EWT, GUM = "ud-english-ewt/en_ewt-ud-{}.conllu.gz", "ud-english-gum/en_gum-ud-{}.conllu.gz"
NEWS_AND_WEB = (
    "UD English EWT (web: blogs, mail, reviews, answers) and 79 documents of UD English GUM (news, "
    "interviews, travel guides, academic texts, biographies)"
)
ABOUT = {
    "version": __version__,
    "parser": NEWS_AND_WEB,
    "coref": "79 documents of UD English GUM (news, interviews, travel guides, academic texts, biographies)",
}
FOLDS = 5
FREQUENT = {"feature.minfreq": 2}
COSTS = (0.1, 3.0, 1.0)  # of Durrett and Klein


def treebanks(data: Path, split: str) -> list[Document]:
    """Return the documents of both treebanks whose texts are free."""
    gum = read_documents(data / GUM.format(split))
    return [*read_documents(data / EWT.format(split)), *(each for each in gum if is_free(each.name))]


def is_free(name: str) -> bool:
    """Return True for a document of GUM in one of the free genres, and for one of EWT."""
    return not name.startswith("GUM_") or name.split("_")[1] in GENRES


def raw_texts(path: Path) -> Iterator[list[str]]:
    """Yield the sentences of each document as raw text."""
    sentences: list[str] = []
    free = True
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("# newdoc id = "):
                if sentences and free:
                    yield sentences
                sentences, free = [], is_free(line.removeprefix("# newdoc id = "))
            elif line.startswith("# text = "):
                sentences.append(line.removeprefix("# text = ").strip())
    if sentences and free:
        yield sentences


def sentence_tags(words: Sequence[str], sentences: Sequence[str]) -> list[str]:
    """Return a tag per word: S starts a sentence, E ends it, O is a sentence of one word, I is inside."""
    lengths = [len("".join(sentence.split())) for sentence in sentences]
    ends = set(np.cumsum(lengths).tolist())
    places = np.cumsum([len(word) for word in words]).tolist()
    last = [place in ends for place in places]
    first = [True, *last[:-1]]
    return [
        "O" if begins and stops else "S" if begins else "E" if stops else "I"
        for begins, stops in zip(first, last, strict=True)
    ]


def train_splitter(data: Path) -> CRFTagger:
    """Train the splitter on documents whose sentences are separated by one blank."""
    tokenizer = english.blank_tokenizer()
    words, tags = [], []
    for path in (data / EWT.format("train"), data / GUM.format("train")):
        for sentences in raw_texts(path):
            words.append([token.text for token in tokenizer(" ".join(sentences)) if not token.is_space])
            tags.append(sentence_tags(words[-1], sentences))
    return CRFTagger(l2=0.3, max_iterations=120, settings=FREQUENT).fit(words, tags)


def columns(documents: Sequence[Document]) -> tuple[list[Any], list[Any], list[Any], list[Any]]:
    """Return the words, tags, heads and relations of all sentences."""
    found: tuple[list[Any], list[Any], list[Any], list[Any]] = ([], [], [], [])
    for document in documents:
        for words, tree in zip(document.sentences, document.trees or (), strict=True):
            tags = [english.compact_tag(*pair) for pair in zip(tree.tags, tree.features, strict=True)]
            for column, values in zip(
                found, (list(words), tags, list(tree.heads), list(tree.relations)), strict=True
            ):
                column.append(values)
    return found


def train_tagger(documents: Sequence[Document], iterations: int) -> CRFTagger:
    """Train a tagger with compact tags."""
    words, tags, _, _ = columns(documents)
    return CRFTagger(l2=0.1, max_iterations=iterations, settings=FREQUENT).fit(words, tags)


def train_parser(documents: Sequence[Document]) -> DependencyModel:
    """Train the parser on tags of taggers that were trained on four fifths of the documents each."""
    words, tags, heads, relations = columns(documents)
    ids = [document.name for document in documents for _ in document.sentences]
    sentence_ids = [f"{name} {place}" for place, name in enumerate(ids)]
    text = TreeText(words, tags, heads, relations, sentence_ids, ids, "texts of the English models")
    model = DependencyModel(bits=21, label_bits=15)
    return model.fit(words, jackknifed(text, FOLDS), heads, relations)


def lemmas_of(documents: Sequence[Document]) -> dict[str, Any]:
    """Return the table of lemmas."""
    rows = (
        row
        for document in documents
        for words, tree in zip(document.sentences, document.trees or (), strict=True)
        for row in zip(words, tree.tags, tree.lemmas, strict=True)
        if row[2] not in ("", "_")
    )
    lemmas = english.Lemmas.learn(rows)
    return {"exceptions": lemmas.exceptions, "endings": lemmas.endings}


def train_coreference(data: Path) -> CoreferenceModel:
    """Train on mentions that are detected in trees of the parser, which have its errors."""
    parser = names.load_english_parser(FOLDER)
    train, dev = (
        [
            asked_mentions(parser.trees(document), Mentions(detect=True), None)
            for document in read_documents(data / GUM.format(split))
            if is_free(document.name)
        ]
        for split in ("train", "dev")
    )
    model = CoreferenceModel(features="syntax", l1=3e-5, epochs=8, costs=COSTS).fit(train)
    clusters = [document.clusters or () for document in dev]
    temperature = fit_antecedent_temperature(model.posterior(dev), clusters).temperature
    state = model.to_state()
    state["weight"] = (state["weight"] / temperature).astype(np.float32)
    model = CoreferenceModel.from_state(state)
    model.trained_on = ABOUT["coref"]
    return model


def ship(data: Path) -> str:
    """Train what is missing, save it, and return the sizes."""
    documents = treebanks(data, "train")

    def parser() -> DependencyModel:
        return train_parser(documents)

    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, train in (
        (names.SENTENCES, lambda: train_splitter(data)),
        (names.TAGS, lambda: train_tagger(documents, 70)),
        (names.TREES, parser),
    ):
        if not (FOLDER / name).exists():
            model: Any = train()
            model.trained_on = ABOUT["parser"]
            save_model(model, FOLDER / name)
    _write(names.LEMMAS, lemmas_of(documents))
    _write(names.ABOUT, ABOUT)
    if not (FOLDER / names.COREFERENCE).exists():
        save_model(train_coreference(data), FOLDER / names.COREFERENCE)
    return "\n".join(f"{path.name}: {path.stat().st_size:,} bytes" for path in sorted(FOLDER.iterdir()))


def _write(name: str, content: Any) -> None:
    text = json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    (FOLDER / name).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.stdout.write(ship(Path(os.environ["CALIBRANT_DATA"])) + "\n")
