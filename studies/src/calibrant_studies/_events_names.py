"""The events study's reading of names: two lexicons, and the dependency relations of country entities."""

from __future__ import annotations

import gzip
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from calibrant.events.verbs.comparing_lexicons import compare_lexicons
from calibrant.events.verbs.relations import country_relations
from calibrant_studies._base import Row
from calibrant_studies._events_data import CORPORA, SAMPLES, SEED, Corpus
from calibrant_studies.datasets._folders import required

LEXICON = "lexicons/country_igos.txt"
LEXICON_EVERY = 40  # every 40th document
RELATIONS_EVERY = 500  # every 500th, since these are parsed completely
MOST = 10  # rows per corpus of long tables


def lexicons(data: Path, pipeline: Path) -> dict[str, Any]:
    """Compare the lexicon that ships with the paper's, on some documents of each corpus."""
    start = time.perf_counter()
    rows: list[Row] = []
    words: list[Row] = []
    for corpus in CORPORA:
        with _some(corpus, data, LEXICON_EVERY) as documents:
            found = compare_lexicons(documents, required(data, LEXICON), parser=pipeline)
        numbers = {key: getattr(found, key) for key in ("same", "other_code", "only_first", "only_second")}
        rows.append({"corpus": corpus.title, "documents": found.documents, **numbers})
        for side in ("only_first", "only_second"):
            other = "second" if side == "only_first" else "first"
            alone = [each for each in found.differences if getattr(each, other) is None]
            words += [
                {"corpus": corpus.title, "side": side, "words": each.words, "times": each.times}
                for each in alone[:MOST]
            ]
    return {"rows": rows, "words": words, "seconds": time.perf_counter() - start}


def relations(data: Path, pipeline: Path, model: Path) -> dict[str, Any]:
    """Count the relations of country entities in some documents of each corpus."""
    start = time.perf_counter()
    rows: list[Row] = []
    for corpus in CORPORA:
        with _some(corpus, data, RELATIONS_EVERY) as documents:
            found = country_relations(documents, coref=model, parser=pipeline, samples=SAMPLES, seed=SEED)
        about = {"corpus": corpus.title, "documents": found.documents, "described": found.described}
        for each in found.relations[:MOST]:
            numbers = {key: getattr(each, key) for key in ("relation", "mentions", "share", "acting")}
            rows.append({**about, **numbers, "governors": each.governors})
    return {"rows": rows, "seconds": time.perf_counter() - start}


@contextmanager
def _some(corpus: Corpus, data: Path, every: int) -> Iterator[Path]:
    """Write every n-th document of a corpus, from the first on, to a temporary file."""
    with TemporaryDirectory() as folder, gzip.open(corpus.file(data), "rt", encoding="utf-8") as lines:
        path = Path(folder, f"{corpus.name}.jsonl")
        path.write_text("".join(islice(lines, 0, None, every)), encoding="utf-8")
        yield path
