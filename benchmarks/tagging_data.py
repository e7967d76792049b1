"""The tagged text and the models that chains are measured on: real ones, made once, kept in the cache folder.

CRFs with 45 tags, trained on `wsj-pos`, and text of `conll2000`. Both are in the folder that CALIBRANT_DATA
names.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from data import FOLDER
from numpy.typing import NDArray

LENGTHS = range(20, 31)  # tokens a sentence: 25 on average
ITERATIONS = 60
BRACKETS = {"(": "-LRB-", ")": "-RRB-"}  # what conll2000 and wsj-pos call them
Text = tuple[list[list[str]], list[list[str]]]


def available() -> bool:
    """Return True if the text exists."""
    return all(path.exists() for path in (_train(), *_tests()))


def train() -> Text:
    """Sentences that models are trained on, and their tags."""
    return _read([_train()])


def test() -> Text:
    """Sentences of 20 to 30 tokens that are tagged, and their tags."""
    sentences, tags = _read(_tests())
    kept = [row for row, sentence in enumerate(sentences) if len(sentence) in LENGTHS]
    return [sentences[row] for row in kept], [tags[row] for row in kept]


def file_to_tag() -> Path:
    """The text that a command reads: 2,012 sentences."""
    return _tests()[1]


def crfsuite_model(features: str) -> Path:
    """A model file of CRFsuite."""
    path = FOLDER / f"wsj-{features}.crfsuite"
    if not path.exists():
        import pycrfsuite

        from calibrant.structures.models.features import attribute_lists

        FOLDER.mkdir(parents=True, exist_ok=True)
        sentences, tags = train()
        trainer = pycrfsuite.Trainer(verbose=False)
        for items, labels in zip(attribute_lists(sentences, features), tags, strict=True):
            trainer.append(items, labels)
        trainer.set_params({"c2": 1.0, "max_iterations": ITERATIONS})
        unfinished = path.with_suffix(".part")
        trainer.train(str(unfinished))
        unfinished.rename(path)
    return path


def tagger_model(features: str) -> Path:
    """Return a saved calibrant tagger, trained on the same text."""
    path = FOLDER / f"wsj-{features}.crf"
    if not path.exists():
        from calibrant.structures.files.saved_models import save_model
        from calibrant.structures.models.crf import CRFTagger

        FOLDER.mkdir(parents=True, exist_ok=True)
        save_model(CRFTagger(features=features, max_iterations=ITERATIONS).fit(*train()), path)
    return path


def potentials(features: str) -> Path:
    """Potentials of the test sentences by CRFsuite's model: unary, transition, lengths, tags, gold codes."""
    path = FOLDER / f"wsj-{features}-potentials.npz"
    if not path.exists():
        sentences, tags = test()
        unary, transition, names = _scores(crfsuite_model(features), sentences, features)
        code = {name: row for row, name in enumerate(names)}
        gold = [code[BRACKETS.get(tag, tag)] for sentence in tags for tag in sentence]
        lengths = [len(sentence) for sentence in sentences]
        np.savez(path, unary=unary, transition=transition, lengths=lengths, tags=names, gold=gold)
    return path


def _scores(
    model: Path, sentences: Sequence[Sequence[str]], features: str
) -> tuple[NDArray[np.float64], NDArray[np.float64], list[str]]:
    """Unary and transition potentials from the weights in a model file, and the names of the tags."""
    from calibrant.structures.models.crfsuite import parse_model
    from calibrant.structures.models.features import attribute_lists

    found = parse_model(model.read_bytes())
    weight = np.zeros((len(found.attributes), len(found.labels)))
    weight[found.state["source"], found.state["target"]] = found.state["weight"]
    transition = np.zeros((len(found.labels), len(found.labels)))
    transition[found.transition["source"], found.transition["target"]] = found.transition["weight"]
    row = {name: number for number, name in enumerate(found.attributes)}
    tokens = (token for items in attribute_lists(sentences, features) for token in items)
    unary = np.array([weight[[row[name] for name in token if name in row]].sum(axis=0) for token in tokens])
    return unary, transition, found.labels


def paper_size(tokens: int = 33_306) -> dict[str, Any]:
    """Potentials of as many tokens and tags as in the paper: two frequent tags are split in equal halves."""
    found = dict(np.load(potentials("basic")))
    last = int(np.searchsorted(np.cumsum(found["lengths"]), tokens)) + 1
    lengths = found["lengths"][:last].copy()
    lengths[-1] -= lengths.sum() - tokens
    names = found["tags"].tolist()
    column = [*range(len(names)), names.index("NN"), names.index("IN")]
    halved = np.log([0.5 if column.count(code) == 2 else 1.0 for code in column])
    return {
        "unary": found["unary"][:tokens, column] + halved,
        "transition": found["transition"][np.ix_(column, column)],
        "lengths": lengths,
        "tags": [*names, "NN'", "IN'"],
        "gold": found["gold"][:tokens],
    }


def _folder() -> Path:
    return Path(os.environ.get("CALIBRANT_DATA", "/nonexistent"))


def _train() -> Path:
    return _folder() / "wsj-pos" / "wsj-pos.train.tsv.gz"


def _tests() -> list[Path]:
    return [_folder() / "conll2000" / f"{part}.txt.gz" for part in ("train", "test")]


def _read(paths: Sequence[Path]) -> Text:
    from calibrant.structures.files.tagged import read_tagged

    texts = [read_tagged(path) for path in paths]
    tags = [sentence for text in texts for sentence in text.tags or []]
    return [sentence for text in texts for sentence in text.sentences], tags
