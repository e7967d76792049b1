"""The events study's labeled documents: GUM, each scored by a model that was not trained on it.

The three corpora have no gold events. So every verb of GUM takes the place of "attack" in turn. For a
document, a country and a verb, the score is the probability that an entity described as the country is the
verb's agent, and the label is the answer of gold. Rules, gold trees and lexicon are the same on both sides;
mentions are detected for the score and gold for the label.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calibrant.events import VERBS_OF_FORCE, Candidates, Rules, candidates, count, default_lexicon
from calibrant.structures.documents import Document
from calibrant.structures.models.coreference import CoreferenceModel
from calibrant.structures.models.mentions import detect_mentions
from calibrant.structures.posterior import AntecedentPosterior
from calibrant.structures.verbs.coreference_training import train_coreference
from calibrant_studies._base import Row
from calibrant_studies._coreference_data import Texts
from calibrant_studies._coreference_models import WORKERS
from calibrant_studies._counts_numbers import any_verb, gold_labels

SAMPLES = 100
Key = tuple[str, str]


@dataclass(frozen=True)
class Labelled:
    """Answers of models and of gold.

    Attributes
    ----------
    rows
        One for each document, country and verb that the samples or gold have: ``document``, ``country``,
        ``verb``, ``score`` (fraction of the samples) and ``label``.
    temperatures
        Temperatures of the folds' models.
    seconds
        Duration.
    """

    rows: list[Row]
    temperatures: list[float]
    seconds: float


def labelled(splits: Sequence[Texts], l1: float, seed: int) -> Labelled:
    """Train on each split, and compare its model's answers on the test documents with gold."""
    start = time.perf_counter()
    rules = any_verb(document for part in splits[0].split.values() for document in part)

    def fold(texts: Texts) -> tuple[float, list[Row]]:
        model, record = train_coreference(
            texts.split["train"],
            texts.split["dev"],
            features="syntax",
            mentions="detected",
            l1=l1,
            seed=seed,
        )
        return record.temperature, list(rows_of(model, texts.split["test"], rules, seed))

    with ThreadPoolExecutor(WORKERS) as pool:
        found = list(pool.map(fold, splits))
    rows = [row for _, rows in found for row in rows]
    return Labelled(rows, [temperature for temperature, _ in found], time.perf_counter() - start)


def rows_of(model: CoreferenceModel, documents: Iterable[Document], rules: Rules, seed: int) -> Iterable[Row]:
    """Rows of some documents with gold entities and trees."""
    lexicon = default_lexicon()
    for gold in documents:
        detected = replace(gold, mentions=detect_mentions(gold), clusters=None)
        answer = _by_verb(candidates(gold, lexicon, rules), gold_labels(gold)[None])
        posterior = model.posterior([detected])
        said = _by_verb(candidates(detected, lexicon, rules), _sampled(posterior, seed))
        for country, verb in sorted(answer.keys() | said.keys()):
            yield {
                "document": gold.name,
                "country": country,
                "verb": verb,
                "score": said.get((country, verb), 0.0),
                "label": int(answer.get((country, verb), 0.0)),
            }


def _sampled(posterior: AntecedentPosterior, seed: int) -> NDArray[np.int32]:
    return posterior.sample(SAMPLES, seed=seed)


def _by_verb(found: Candidates, labels: NDArray[np.integer]) -> dict[Key, float]:
    """Return the fraction of the clusterings in which each country does something, without zeros."""
    verbs = np.array(found.verbs)
    shares: dict[Key, float] = {}
    for verb in dict.fromkeys(found.verbs):
        chosen = np.flatnonzero(verbs == verb)
        agents, targets = found.agents[chosen], found.targets[chosen]
        one = replace(found, agents=agents, targets=targets, verbs=(verb,) * len(chosen))
        for country, share in zip(one.countries, (count(one, labels) > 0).mean(axis=0), strict=True):
            if share > 0:
                shares[country, verb] = float(share)
    return shares


def dev_rows(rows: Sequence[Row]) -> list[Row]:
    """Return the rows that occur in the samples, as in a store."""
    return [row for row in rows if row["score"] > 0]


def of_force(rows: Sequence[Row]) -> list[Row]:
    """Return the rows of the verbs that are counted in the corpora."""
    return [row for row in rows if row["verb"] in VERBS_OF_FORCE]
