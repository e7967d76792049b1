"""The counts study's numbers: counts of a document, in gold and in samples of its entities."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calibrant.events import RULES, Candidates, Rules, candidates, count, default_lexicon
from calibrant.structures.documents import Document
from calibrant.structures.posterior import AntecedentPosterior, antecedent_losses, fit_antecedent_temperature
from calibrant_studies._coreference_data import clusters_of
from calibrant_studies._counts_models import Predicted
from calibrant_studies.arrays import Floats, Integers

SAMPLES = 1_000
DEV_SAMPLES = 200
REFITS = 50
# Temperatures at which refits know the loss; between them they interpolate.
TRIED = np.geomspace(1 / 2, 2, 31)
SHAPES = ("entities", "singletons", "largest entity")
ACTING = "acting countries"
WHENS = ("before", "after")


@dataclass(frozen=True)
class Counts:
    """One count in every document of a corpus, with what a model says of it.

    Attributes
    ----------
    name, when
        Name of the count; ``before`` or ``after`` the temperature.
    documents
        Names.
    gold
        (D,) by gold entities.
    samples
        (D, L) under the fitted model.
    total
        (D, L) under refitted temperatures; the refit of a column is that of a whole fold. None before.
    factor
        (D,) by what to widen the stated sd, so that it is right on the fold's dev documents; at least 1.
    starts
        For each document the probability of each mention that it starts an entity: exact for ``entities``.
    refitted_starts
        The same under each refit.
    """

    name: str
    when: str
    documents: tuple[str, ...]
    gold: Integers
    samples: Integers
    total: Integers | None
    factor: Floats
    starts: tuple[Floats, ...] = ()
    refitted_starts: tuple[Floats, ...] = ()


def joined(parts: Sequence[Counts]) -> Counts:
    """The same count in the documents of several folds or corpora."""
    totals = [part.total for part in parts if part.total is not None]
    return replace(
        parts[0],
        documents=tuple(name for part in parts for name in part.documents),
        gold=np.concatenate([part.gold for part in parts]),
        samples=np.concatenate([part.samples for part in parts]),
        total=np.concatenate(totals) if totals else None,
        factor=np.concatenate([part.factor for part in parts]),
        starts=tuple(each for part in parts for each in part.starts),
        refitted_starts=tuple(each for part in parts for each in part.refitted_starts),
    )


def shapes(labels: NDArray[np.integer]) -> dict[str, Integers]:
    """Entities, singletons and mentions of the largest entity, in each of (S, n) clusterings."""
    size, mentions = labels.shape
    place = labels + np.arange(size)[:, None] * mentions
    sizes = np.bincount(place.ravel(), minlength=size * mentions).reshape(size, mentions)
    found = ((sizes > 0).sum(axis=1), (sizes == 1).sum(axis=1), sizes.max(axis=1, initial=0))
    return dict(zip(SHAPES, found, strict=True))


def gold_labels(document: Document) -> NDArray[np.int64]:
    """The first mention of each mention's gold entity; a mention without one is alone."""
    first: dict[str, int] = {}
    clusters = document.clusters or ()
    return np.array(
        [place if name is None else first.setdefault(name, place) for place, name in enumerate(clusters)],
        np.int64,
    )


def any_verb(documents: Iterable[Document]) -> Rules:
    """The default rules with every verb of the documents, since verbs of force are too few to be checked.

    Places count too: what is checked is coreference, by the same rules for the model and for gold.
    """
    lemmas = {
        lemma.lower()
        for document in documents
        for tree in document.trees or ()
        for lemma, tag in zip(tree.lemmas, tree.tags, strict=True)
        if tag == "VERB" and len(lemma.split()) == 1
    }
    return replace(RULES["default"], name="any verb", verbs=tuple(sorted(lemmas)), places=True)


def acting(documents: Sequence[Document], rules: Rules) -> dict[str, Candidates]:
    """For each document with trees the mentions that may make a country act in it."""
    lexicon = default_lexicon()
    return {each.name: candidates(each, lexicon, rules) for each in documents if each.trees is not None}


def numbers(labels: NDArray[np.integer], found: Candidates | None) -> dict[str, Integers]:
    """All counts of one document, in each of its clusterings."""
    result = shapes(labels)
    if found is not None:
        result[ACTING] = (count(found, labels) > 0).sum(axis=1)
    return result


def refitted_temperatures(
    posterior: AntecedentPosterior, clusters: Sequence[Sequence[str | None]], refits: int, seed: int
) -> Floats:
    """The temperatures that as many draws of the documents, with replacement, would have given.

    The loss of each document is computed once at each of `TRIED`; between them a parabola is put through the
    lowest three.
    """
    count = posterior.document_count
    document = np.repeat(np.arange(count), posterior.mention_counts)
    losses = np.empty((len(TRIED), count))
    for place, temperature in enumerate(TRIED):
        each = antecedent_losses(posterior.tempered(float(temperature)), clusters)
        losses[place] = np.bincount(document, np.nan_to_num(each), minlength=count)
    weight = np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), size=refits)
    total = losses @ weight.T
    best = total.argmin(axis=0).clip(1, len(TRIED) - 2)
    left, middle, right = (total[best + step, np.arange(refits)] for step in (-1, 0, 1))
    step = (left - right) / (2 * (left - 2 * middle + right))
    logarithm = np.log(TRIED)
    found: Floats = np.exp(logarithm[best] + step * (logarithm[1] - logarithm[0]))
    return found


@dataclass(frozen=True)
class Fold:
    """Predictions of one model for its test documents.

    Attributes
    ----------
    temperature
        Chosen on dev.
    refits
        (R,) those of resampled dev documents.
    counts
        Counts by name and time.
    """

    temperature: float
    refits: Floats
    counts: list[Counts]


def counted(predicted: Predicted, possible: Mapping[str, Candidates], seed: int) -> Fold:
    """Count in gold, and in samples before and after the temperature that dev chooses."""
    clusters = clusters_of(predicted.dev_documents)
    temperature = fit_antecedent_temperature(predicted.dev, clusters).temperature
    refits = refitted_temperatures(predicted.dev, clusters, REFITS, seed)
    posteriors = [predicted.test.tempered(float(one)) for one in refits]
    share = SAMPLES // REFITS
    total = np.concatenate([one.sample(share, seed + 1 + place) for place, one in enumerate(posteriors)])
    starts = np.stack([one.new_probabilities() for one in posteriors])
    counts = []
    for when, of in zip(WHENS, (1.0, temperature), strict=True):
        dev, test = predicted.dev.tempered(of), predicted.test.tempered(of)
        on_dev = _Drawn(dev, dev.sample(DEV_SAMPLES, seed), None, starts)
        factors = {
            one.name: max(1.0, spread(one)) for one in on_dev.counts(when, predicted.dev_documents, possible)
        }
        drawn = _Drawn(test, test.sample(SAMPLES, seed), total if when == "after" else None, starts)
        counts += [
            replace(one, factor=np.full(len(one.gold), factors[one.name]))
            for one in drawn.counts(when, predicted.test_documents, possible)
        ]
    return Fold(temperature, refits, counts)


def spread(part: Counts) -> float:
    """Root mean square of the errors of documents, over that of the sds stated for them."""
    error = part.gold - part.samples.mean(axis=1)
    return float(np.sqrt((error**2).sum() / part.samples.var(axis=1, ddof=1).sum()))


@dataclass(frozen=True)
class _Drawn:
    """Samples of the entities of all mentions of a fold."""

    posterior: AntecedentPosterior
    labels: NDArray[np.int32]
    total: NDArray[np.int32] | None
    refitted_starts: Floats

    def counts(
        self, when: str, documents: Sequence[Document], possible: Mapping[str, Candidates]
    ) -> list[Counts]:
        """Every count, document by document."""
        starts = self.posterior.new_probabilities()
        found: dict[str, list[Counts]] = {}
        for number, document in enumerate(documents):
            mentions = self.posterior.mentions_of(number)
            candidates_here = possible.get(document.name)
            gold = numbers(gold_labels(document)[None], candidates_here)
            samples = numbers(self.labels[:, mentions], candidates_here)
            total = {} if self.total is None else numbers(self.total[:, mentions], candidates_here)
            for name in gold:
                one = Counts(
                    name,
                    when,
                    (document.name,),
                    gold[name],
                    samples[name][None],
                    total[name][None] if total else None,
                    np.ones(1),
                )
                if name == "entities":
                    refitted = (self.refitted_starts[:, mentions],) if total else ()
                    one = replace(one, starts=(starts[mentions],), refitted_starts=refitted)
                found.setdefault(name, []).append(one)
        return [joined(parts) for parts in found.values()]
