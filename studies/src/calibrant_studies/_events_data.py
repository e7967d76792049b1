"""The events study's corpora and stores: slow parts, made once and continued after an interruption."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from calibrant.events import default_lexicon
from calibrant.events.files.store import EventStore
from calibrant.events.verbs.extraction import extract_events
from calibrant.exceptions import InputError
from calibrant.io.atomic import writing
from calibrant.metrics.periods import By
from calibrant_studies.datasets._folders import required
from calibrant_studies.licensed import news_articles, world_news
from calibrant_studies.models import GUM, train_gum

MODEL = GUM
SAMPLES = 100
SEED = 0  # the commands' default, so that a store made by hand equals the study's
RULES = ("default", "paper")


@dataclass(frozen=True)
class Corpus:
    """A dated corpus.

    Attributes
    ----------
    name
        Name of its folder and of its store.
    title
        Title for readers.
    by
        The period of its figures and comparisons.
    """

    name: str
    title: str
    by: By

    def file(self, data: Path) -> Path:
        """Its documents."""
        return required(data, f"{self.name}/documents.jsonl.gz")


CORPORA = (
    Corpus("socialist-worker", "Socialist Worker", "quarter"),
    Corpus("current-events", "Current events", "year"),
    Corpus("reuters-21578", "Reuters", "month"),
)


NYT = Corpus("nyt", "New York Times", "quarter")  # the paper's corpus, for those who have a license


def write_world_news(corpus: Path, folder: Path) -> int:
    """Write the world news of the New York Times as JSON lines where `Corpus.file` finds them.

    Returns the number of articles. An existing file is kept.
    """
    file = folder / NYT.name / "documents.jsonl.gz"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        with writing(file) as out:
            for article in world_news(news_articles(corpus), default_lexicon()):
                out.write(f"{article.line()}\n".encode())
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        count = sum(1 for _ in lines)
    if count == 0:
        file.unlink()
        message = f"{corpus} has no article about world news that names a country"
        raise InputError(message, "give the folder `data` of the corpus", code="empty")
    return count


@dataclass(frozen=True)
class Extracted:
    """Events extracted from a corpus by some rules.

    Attributes
    ----------
    corpus, rules
        The corpus and the rules.
    store
        The events.
    seconds
        Duration of the extraction, in all runs.
    """

    corpus: Corpus
    rules: str
    store: EventStore
    seconds: float


def store_name(corpus: str, rules: str) -> str:
    """The folder of a store."""
    return corpus if rules == "default" else f"{corpus}-{rules}"


def trained_model(data: Path, folder: Path) -> Path:
    """Return the coreference model; train it on GUM's detected mentions if it does not exist."""
    file = folder / MODEL
    if not file.exists():
        start = time.perf_counter()
        train_gum(data, file, seed=SEED)
        _write_seconds(file, time.perf_counter() - start)
    return file


def extractions(
    files: Mapping[Corpus, Path], pipeline: Path, model: Path, folder: Path
) -> Iterator[Extracted]:
    """Extract from each corpus by each set of rules, or reuse existing stores."""
    for corpus, file in files.items():
        for rules in RULES:
            yield _extracted(corpus, rules, file, pipeline, model, folder)


def _extracted(
    corpus: Corpus, rules: str, file: Path, pipeline: Path, model: Path, folder: Path
) -> Extracted:
    """Extract, or continue an interrupted run; a file beside the store contains the time of earlier runs."""
    place = folder / store_name(corpus.name, rules)
    before = seconds_of(place)
    found = extract_events(
        file,
        place,
        coref=model,
        parser=pipeline,
        rules=rules,
        samples=SAMPLES,
        seed=SEED,
    )
    if found.documents > found.kept:
        before += found.seconds
        _write_seconds(place, before)
    return Extracted(corpus, rules, EventStore(place), before)


def seconds_of(made: Path) -> float:
    """Return the seconds that a model or a store took, in all runs; 0 if it does not exist."""
    times = made.with_suffix(".json")
    return float(json.loads(times.read_text(encoding="utf-8"))["seconds"]) if times.exists() else 0.0


def _write_seconds(made: Path, seconds: float) -> None:
    with writing(made.with_suffix(".json")) as out:
        out.write(json.dumps({"seconds": seconds}).encode())
