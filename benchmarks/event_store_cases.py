"""Cases of events from documents: parsed newswire in one process, few and many, and raw newswire in two.

The stories are those of Reuters-21578, parsed by the pipeline that CALIBRANT_MODELS names.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

Call = Callable[[], Any]
PARSED = 300  # stories
RAW = 2400  # so many that seconds in which a process starts do not decide what two are worth
SAMPLES = 100


def corpus() -> Path:
    """The stories; they need not be there."""
    return Path(os.environ.get("CALIBRANT_DATA") or "missing", "reuters-21578", "documents.jsonl.gz")


def parser() -> Path:
    """The pipeline; it need not be there."""
    return Path(os.environ.get("CALIBRANT_MODELS") or "missing", "en_ud_ewt_gum")


def available() -> bool:
    """Return True if both exist, and the pipeline."""
    return corpus().exists() and parser().exists() and find_spec("spacy") is not None


def _stories(number: int) -> Iterator[Any]:
    from calibrant.events import iter_dated

    return islice((item for item in iter_dated(corpus()) if item.text), number)


def _model(folder: Path, documents: list[Any]) -> Path:
    """A model that takes as long as any: scoring does, whatever the weights are."""
    from dataclasses import replace

    from calibrant.structures import save_model
    from calibrant.structures.models import CoreferenceModel
    from calibrant.structures.models.mentions import detect_mentions

    found = [replace(each, mentions=detect_mentions(each)) for each in documents]
    gold = [replace(each, clusters=["a" for _ in each.mentions or ()]) for each in found]
    save_model(CoreferenceModel(epochs=1).fit(gold), folder / "bench.model")
    return folder / "bench.model"


def _parsed(number: int) -> list[Any]:
    from dataclasses import replace

    from calibrant.structures.models.parsing import TextParser

    nlp = TextParser(parser())
    return [replace(item, document=nlp.parse(item.id, item.text, item.date)[0]) for item in _stories(number)]


def event_documents(**_: Any) -> Call:
    """All that is done with parsed stories, and coreference for every one, whether it can count or not."""
    from dataclasses import replace

    from calibrant.events import RULES, candidates
    from calibrant.events.verbs.worker import Extraction, Extractor
    from calibrant.structures.models.mentions import detect_mentions

    items = _parsed(PARSED)
    folder = Path(tempfile.mkdtemp())
    model = _model(folder, [item.document for item in items[:8]])
    extractor = Extractor(Extraction(str(model), None, None, RULES["default"], SAMPLES, 0, False))
    shutil.rmtree(folder)

    def call() -> int:
        for item in items:
            extractor.stored(replace(item, text=""))
            document = replace(item.document, mentions=detect_mentions(item.document))
            candidates(document, extractor.lexicon, RULES["default"])
            extractor.model.posterior([document]).sample(SAMPLES, seed=0, threads=1)
        return len(items)

    return call


def event_run(workers: int, **_: Any) -> Call:
    """A whole run over raw stories, each of which has a name and a verb of force."""
    from calibrant.events import extract_events

    folder = Path(tempfile.mkdtemp())
    model = _model(folder, [item.document for item in _parsed(8)])
    texts = folder / "docs.jsonl"
    with texts.open("w", encoding="utf-8") as file:
        for item in _stories(RAW):
            values = {"id": item.id, "date": str(item.date), "text": f"{item.text}\n\nIraq attacked."}
            file.write(json.dumps(values) + "\n")

    def call() -> int:
        shutil.rmtree(folder / "store", ignore_errors=True)
        found = extract_events(texts, folder / "store", coref=model, parser=parser(), workers=workers)
        return found.documents

    return call


def event_memory(documents: int, **_: Any) -> Call:
    """A whole run over so many parsed stories in CoNLL-U: the same ones under other names."""
    from calibrant.events import extract_events

    folder = Path(tempfile.mkdtemp())
    items = _parsed(PARSED)
    model = _model(folder, [item.document for item in items[:8]])
    texts = folder / "docs.conllu"
    with texts.open("w", encoding="utf-8") as file:
        for number in range(documents):
            item = items[number % len(items)]
            file.write(f"# newdoc id = {number}\n# date = {item.date}\n")
            file.writelines(_lines(item.document))
    del items

    def call() -> int:
        shutil.rmtree(folder / "store", ignore_errors=True)
        return extract_events(texts, folder / "store", coref=model).documents

    return call


def _lines(document: Any) -> Iterator[str]:
    for words, tree in zip(document.sentences, document.trees, strict=True):
        rows = zip(words, tree.lemmas, tree.tags, tree.features, tree.heads, tree.relations, strict=True)
        for number, (word, lemma, tag, features, head, relation) in enumerate(rows, 1):
            columns = (number, word, lemma or "_", tag or "_", "_", features or "_", head, relation, "_", "_")
            yield "\t".join(map(str, columns)) + "\n"
        yield "\n"


CASES: tuple[Callable[..., Call], ...] = (event_documents, event_memory, event_run)
