"""Counts of events from drawn trees and entities, against those of gold trees and entities of GUM.

The models are those of calibrant-english, which has seen neither the dev nor the test documents of GUM, but
for one temperature of its coreference model. Sentences and words are gold.
"""

from __future__ import annotations

import gzip
import re
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.events import Candidates, Rules, candidates, count
from calibrant.events.lexicon import Entry, Lexicon
from calibrant.progress import Progress, tell
from calibrant.structures import (
    load_coreference_model,
    load_dependency_model,
    load_tagger,
    read_documents,
    read_trees,
)
from calibrant.structures.documents import Document, Mention
from calibrant.structures.files import english
from calibrant.structures.models import CoreferenceModel, CRFTagger, DependencyModel, HMMTagger
from calibrant.structures.models.english import EnglishParser
from calibrant.structures.models.mentions import detect_mentions, head_of
from calibrant.structures.verbs.parsing import fit_temperature
from calibrant.structures.verbs.tree_source import TreeSource
from calibrant_studies._base import Row
from calibrant_studies._counts_numbers import any_verb, gold_labels
from calibrant_studies._kept_parts import KeptPart
from calibrant_studies.arrays import Integers
from calibrant_studies.datasets._folders import required

GUM = "ud-english-gum/en_gum-ud-{}.conllu.gz"
CLASSES = ("person", "place", "organization")
ROLES = ("agent", "target", "dyad")
MOST_VERBS = 10  # each alone, the most frequent of the training documents
LEAST_TIMES, LEAST_PURE = 2, 0.9  # of a word of the lexicon in the training documents, and of its class
TREES, ENTITIES = 10, 10  # draws of trees, and of entities for each
OPENED = re.compile(r"\((\d+)-([a-z]+)-")
PARAMETERS = {
    "counts": f"{TREES} draws of trees, {ENTITIES} of entities each; 95 % intervals",
    "models of the counts": "calibrant-english",
}
TRUTH, BY_TYPE = "truth", "truth by entity types"
ONE, ENTITIES_DRAWN, TREES_DRAWN, BOTH = "nothing", "entities", "trees", "trees and entities"
TEMPERED, TAGS_TOO = "trees and entities, recalibrated", "tags, trees and entities, recalibrated"
"""Parts that are drawn; the others are the most probable ones."""

ANY, MENTIONS = "any verb", "mentions"

Labels = NDArray[np.int32]


@dataclass(frozen=True)
class Models:
    """Models of calibrant-english.

    Attributes
    ----------
    tagger, model
        Tagger, and parser of its tags.
    english
        Parser of texts, which has these two.
    coreference
        Coreference model.
    """

    tagger: CRFTagger | HMMTagger
    model: DependencyModel
    english: EnglishParser
    coreference: CoreferenceModel

    @classmethod
    def load(cls) -> Models:
        """Load the models."""
        folder = english.english_folder()
        return cls(
            load_tagger(folder / english.TAGS),
            load_dependency_model(folder / english.TREES),
            english.load_english_parser(folder),
            load_coreference_model(folder / english.COREFERENCE),
        )


@dataclass(frozen=True)
class Counting:
    """Lexicon, rules and verbs of the counts.

    Attributes
    ----------
    lexicon
        Words of persons, places and organizations.
    rules
        The default rules with every verb of the training documents.
    verbs
        Verbs that are also counted alone.
    """

    lexicon: Lexicon
    rules: Rules
    verbs: tuple[str, ...]

    @property
    def cells(self) -> list[tuple[str, str, str]]:
        """Return verb, role and class of each number.

        First entities of any verb; then mentions, whatever their entities are: those with a role, and those
        described as one class; then, for each verb, 1 if the document has an entity of the class.
        """
        roles = [(role, each) for role in ROLES[:2] for each in CLASSES]
        every = [(ANY, role, each) for role, each in [*roles, (ROLES[2], "any")]]
        parts = [(MENTIONS, role, "any") for role in ROLES[:2]]
        parts += [(MENTIONS, "described", each) for each in CLASSES]
        return [*every, *parts, *((verb, *pair) for verb in self.verbs for pair in roles)]


def counting_of(train: Iterable[Document], types: Mapping[tuple[str, str], str]) -> Counting:
    """Return the lexicon and the verbs that training documents have.

    A word is in the lexicon if it heads two mentions or more, and 90 % of them are of the same class.

    Parameters
    ----------
    train
        Documents with gold trees, mentions and entities.
    types
        Type of each entity, by document and entity.
    """
    documents = list(train)
    seen: dict[str, Counter[str]] = {}
    verbs: Counter[str] = Counter()
    for document in documents:
        trees = document.trees or ()
        for tree in trees:
            verbs.update(
                lemma.lower()
                for lemma, tag in zip(tree.lemmas, tree.tags, strict=True)
                if tag == "VERB" and len(lemma.split()) == 1
            )
        for mention, entity in zip(document.mentions or (), document.clusters or (), strict=True):
            head = head_of(trees[mention.sentence], mention)
            if trees[mention.sentence].tags[head] in ("NOUN", "PROPN"):
                word = document.sentences[mention.sentence][head].lower()
                seen.setdefault(word, Counter())[types[document.name, entity or ""]] += 1
    entries = [
        Entry(kind, word)
        for word, counted in sorted(seen.items())
        for kind, times in counted.most_common(1)
        if kind in CLASSES and times >= max(LEAST_TIMES, LEAST_PURE * counted.total())
    ]
    most = tuple(verb for verb, _ in sorted(verbs.items(), key=lambda one: (-one[1], one[0]))[:MOST_VERBS])
    return Counting(Lexicon(entries, stemmed="capitalised"), replace(any_verb(documents), places=False), most)


def entity_types(path: Path) -> dict[tuple[str, str], str]:
    """Return the type of each entity of a file of GUM, by document and entity."""
    found: dict[tuple[str, str], str] = {}
    document = ""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("# newdoc id = "):
                document = line.removeprefix("# newdoc id = ").strip()
            elif "Entity=" in line and not line.startswith("#"):
                for entity, kind in OPENED.findall(line.partition("Entity=")[2]):
                    found.setdefault((document, entity), kind)
    return found


def found_in(document: Document, counting: Counting) -> list[Candidates]:
    """Return the mentions that can count, for each role."""
    return [candidates(document, counting.lexicon, replace(counting.rules, role=role)) for role in ROLES]


def by_type(eligible: Candidates, kinds: Sequence[str | None]) -> Candidates:
    """Return the same mentions described by their gold types instead of the lexicon."""
    place = {kind: number for number, kind in enumerate(CLASSES)}
    named = np.array([place.get(kind or "", -1) for kind in kinds], np.int64)
    described = np.flatnonzero(named >= 0)
    return replace(eligible, countries=CLASSES, described=described, country=named[described], named=named)


def numbers(eligible: Sequence[Candidates], labels: NDArray[Any], counting: Counting) -> Integers:
    """Return (S, K) the numbers of a document for each clustering, as `Counting.cells` orders them."""
    clusterings = np.atleast_2d(labels)
    columns = []
    for one in eligible:
        totals = count(one, clusterings)
        if one.is_dyadic or one is eligible[-1]:
            columns.append(totals.sum(axis=1)[:, None])
        else:
            columns.append(_by_class(one, totals))
    parts = [len(set(eligible[0].agents.tolist())), len(set(eligible[1].targets.tolist()))]
    described, kinds = eligible[0].described, np.array(eligible[0].countries)
    alone = np.bincount(described, minlength=1)[described] == 1
    parts += [int((kinds[eligible[0].country[alone]] == kind).sum()) for kind in CLASSES]
    columns.append(np.tile(parts, (len(clusterings), 1)))
    for verb in counting.verbs:
        for one in eligible[:-1]:
            kept = np.array([own == verb for own in one.verbs], bool)
            if not kept.any():
                columns.append(np.zeros((len(clusterings), len(CLASSES)), np.int64))
                continue
            part = replace(
                one, agents=one.agents[kept], targets=one.targets[kept], verbs=(verb,) * int(kept.sum())
            )
            columns.append(_by_class(part, count(part, clusterings)) > 0)
    return np.concatenate(columns, axis=1).astype(np.int64)


def _by_class(eligible: Candidates, counts: NDArray[np.int32]) -> Integers:
    values = np.zeros((len(counts), len(CLASSES)), np.int64)
    for place, kind in enumerate(eligible.countries):
        values[:, CLASSES.index(kind)] = counts[:, place]
    return values


def gold_entities(document: Document, gold: Document) -> Integers:
    """Return the entity of each mention: that of the gold mention with the same words, or the same head.

    Other mentions are alone. Heads are those of each document's own trees.
    """
    exact = dict(zip(gold.mentions or (), gold.clusters or (), strict=True))
    heads: dict[tuple[int, int], str | None] = {}
    for mention, entity in exact.items():
        heads.setdefault(_head(gold, mention), entity)
    named = [exact.get(mention) or heads.get(_head(document, mention)) for mention in document.mentions or ()]
    return gold_labels(replace(document, clusters=named))


def _head(document: Document, mention: Mention) -> tuple[int, int]:
    return mention.sentence, head_of((document.trees or ())[mention.sentence], mention)


def detected(document: Document) -> Document:
    """Return a document with the mentions that are detected in its trees."""
    return replace(document, mentions=detect_mentions(document), clusters=None)


def counted(
    gold: Document,
    kinds: Mapping[str, str],
    models: Models,
    temperature: float,
    counting: Counting,
    seed: int,
    sizes: tuple[int, int] = (TREES, ENTITIES),
) -> dict[str, list[list[int]]]:
    """Return (draws, K) the numbers of a document by what is drawn, or which layers are gold.

    Parameters
    ----------
    gold
        Document with gold trees, mentions and entities.
    kinds
        Type of each gold entity.
    models
        Models of English.
    temperature
        Temperature of arcs of the recalibrated draws.
    counting
        Lexicon, rules and verbs.
    seed
        Seed of the draws.
    sizes
        Draws of trees, and of entities for each.
    """
    draws, size = sizes
    found: dict[str, list[Integers]] = {}

    def add(name: str, eligible: Sequence[Candidates], labels: NDArray[Any]) -> None:
        found.setdefault(name, []).append(numbers(eligible, labels, counting))

    def sampled(document: Document, own: int, number: int) -> tuple[Labels, Labels]:
        posterior = models.coreference.posterior([document])
        best = posterior.clusters_of(posterior.best_antecedents())
        return posterior.sample(own, seed=seed + 1 + number, threads=1), best

    entities, eligible = gold_labels(gold), found_in(gold, counting)
    add(TRUTH, eligible, entities)
    add(
        BY_TYPE,
        [by_type(one, [kinds.get(each or "") for each in gold.clusters or ()]) for one in eligible],
        entities,
    )
    add("gold: trees and mentions", eligible, sampled(gold, draws * size, 0)[0])
    document = detected(replace(gold, clusters=None))
    eligible = found_in(document, counting)
    add("gold: trees", eligible, sampled(document, draws * size, 0)[0])
    add("gold: trees and entities", eligible, gold_entities(document, gold))

    best_trees, drawn_trees = models.english.draws(gold, draws, seed=seed)
    document = detected(best_trees)
    eligible = found_in(document, counting)
    labels, best = sampled(document, draws * size, 0)
    add(ENTITIES_DRAWN, eligible, labels)
    add(ONE, eligible, best)
    for number, drawn in enumerate(drawn_trees):
        document = detected(drawn)
        eligible = found_in(document, counting)
        labels, best = sampled(document, size, number)
        add(BOTH, eligible, labels)
        add(TREES_DRAWN, eligible, best)
    tempered = models.english.tempered(temperature)
    for number, drawn in enumerate(tempered.draws(gold, draws, seed=seed)[1]):
        document = detected(drawn)
        eligible = found_in(document, counting)
        add(TEMPERED, eligible, sampled(document, size, number)[0])
        add("gold: entities", eligible, gold_entities(document, gold))
        add("gold: mentions and entities", found_in(drawn, counting), entities)
    for number, drawn in enumerate(tempered.draws(gold, draws, seed=seed, tags=True)[1]):
        document = detected(drawn)
        add(TAGS_TOO, found_in(document, counting), sampled(document, size, number)[0])
    return {name: np.concatenate(parts).tolist() for name, parts in found.items()}


def temperature_of(models: Models, path: Path) -> dict[str, float]:
    """Return the temperature of arcs that fits a file's gold trees."""
    text = read_trees(path)
    source = TreeSource(text, models.model, models.tagger.predict(text.sentences))
    return {"temperature": fit_temperature(source).temperature}


@dataclass(frozen=True)
class Collected:
    """Numbers of all documents of GUM's dev and test sets.

    Attributes
    ----------
    numbers
        (draws, K) numbers by document and what is drawn.
    development
        Names of the documents of the dev set.
    cells
        Verb, role and class of each of the K numbers.
    temperatures
        Rows of the temperatures of arcs. The one for the documents of one set is fitted on the other.
    seconds
        Time that the numbers took, also if they were kept.
    """

    numbers: Mapping[str, Mapping[str, Integers]]
    development: frozenset[str]
    cells: Sequence[tuple[str, str, str]]
    temperatures: list[Row]
    seconds: float


def collected(
    models: Models, folder: Path, store: Path, seed: int, progress: Progress | None = None
) -> Collected:
    """Count in each document, or take what the store has.

    Parameters
    ----------
    models
        Models of English.
    folder, store
        Folders of the data sets, and of what is kept.
    seed
        Seed of the draws.
    progress
        Called with a stage, the work done and the whole work.
    """
    paths = {part: required(folder, GUM.format(part)) for part in ("train", "dev", "test")}
    counting = counting_of(read_documents(paths["train"]), entity_types(paths["train"]))
    settings = {
        "seed": seed,
        "trees": TREES,
        "entities": ENTITIES,
        "cells": [list(cell) for cell in counting.cells],
        "models": english.english_about()["version"],
    }
    place = store / f"trees-numbers-{seed}"
    place.mkdir(exist_ok=True)
    found: dict[str, dict[str, Integers]] = {}
    rows: list[Row] = []
    seconds = 0.0
    development: frozenset[str] = frozenset()
    for part, other in (("dev", "test"), ("test", "dev")):
        kept = KeptPart(f"temperatures-{part}.json", {"fitted on": other})
        temperature = kept.take(place, partial(temperature_of, models, paths[other]))["temperature"]
        rows.append({"documents": part, "fitted on": other, "temperature": temperature})
        types = entity_types(paths[part])
        documents = read_documents(paths[part])
        for number, document in enumerate(documents):
            tell(progress, f"counting ({part})", number, len(documents))
            kinds = {entity: kind for (name, entity), kind in types.items() if name == document.name}
            own = KeptPart(f"{document.name}.json", {**settings, "temperature": temperature})
            values = own.take(place, partial(_timed, document, kinds, models, temperature, counting, seed))
            seconds += values["seconds"]
            found[document.name] = {name: np.array(one, np.int64) for name, one in values["numbers"].items()}
        development = development or frozenset(found)
    return Collected(found, development, counting.cells, rows, seconds)


def _timed(*arguments: Any) -> dict[str, Any]:
    began = time.perf_counter()
    return {"numbers": counted(*arguments), "seconds": time.perf_counter() - began}
