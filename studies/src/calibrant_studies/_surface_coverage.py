"""Coverage of the interval of surface F1, and error rates of its test, on simulated sentences.

Forms recur: some entities have a unique form, the others one of `COMMON` forms with Zipf's weights. A
system finds a form with a probability that is fixed per form, so all sentences with a form depend on it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibrant.evaluation import entity_scores, f_of, form_clusters, paired_permutation, surface_sums
from calibrant_studies._base import Row
from calibrant_studies.arrays import Floats, Integers

COMMON = 200  # forms that recur
ENTITIES = 0.84  # per sentence, as in the test text of WNUT 2017
SPURIOUS = 0.35  # per sentence and system
EASE = (0.6, 0.8)  # of the Beta distribution of the probability that a system finds a form
LEVEL = 0.05
DRAWS = 300  # behind the true value


@dataclass(frozen=True)
class Drawn:
    """Sentences with the tags of the reference and of two equally good systems."""

    sentence: Integers
    token: NDArray[np.object_]
    reference: NDArray[np.object_]
    systems: tuple[NDArray[np.object_], NDArray[np.object_]]


def coverage_rows(
    seed: int, replications: int, sizes: tuple[int, ...], recurring: tuple[float, ...]
) -> list[Row]:
    """Simulate; percentages, one row per number of sentences and proportion of recurring forms."""
    rows: list[Row] = []
    for place, share in enumerate(recurring):
        rng = np.random.default_rng([seed, place])
        ease = rng.beta(*EASE, (2, COMMON))
        for size in sizes:
            truth = float(
                f_of(np.mean([_totals(draw(rng, size, share, ease)) for _ in range(DRAWS)], axis=0)[None])[0]
            )
            covers, largest, rejected = 0, 0.0, 0
            alike = np.repeat(ease[:1], 2, axis=0)
            for _ in range(replications):
                drawn = draw(rng, size, share, ease)
                groups = _groups(drawn)
                sums = surface_sums(drawn.reference, drawn.systems[0], drawn.sentence, drawn.token)
                found = entity_scores(sums, clusters=groups)["f1"]
                covers += (
                    found.low is not None and found.high is not None and found.low <= truth <= found.high
                )
                in_group = np.unique(np.column_stack([groups, drawn.sentence]), axis=0)[:, 0]
                largest += float(np.bincount(in_group).max()) / size / replications
                rejected += _rejected(draw(rng, size, share, alike), rng)
            rows.append(
                {
                    "sentences": size,
                    "recurring forms, %": 100 * share,
                    "largest group, %": 100 * largest,
                    "surface F1": truth,
                    "covers, %": 100 * covers / replications,
                    "false differences, %": 100 * rejected / replications,
                }
            )
    return rows


def draw(rng: np.random.Generator, size: int, recurring: float, ease: Floats) -> Drawn:
    """Draw sentences; a token is an entity of the reference, or one that a system invents, or neither."""
    parts = [(rng.poisson(ENTITIES, size), True), *((rng.poisson(SPURIOUS, size), False) for _ in range(2))]
    sentence, words, reference = (
        [np.arange(size)],
        [np.full(size, "the", object)],
        [np.full(size, "O", object)],
    )
    outputs: list[list[NDArray[np.object_]]] = [[np.full(size, "O", object)] for _ in range(2)]
    weights = 1 / np.arange(1, COMMON + 1)
    for place, (counts, real) in enumerate(parts):
        n = int(counts.sum())
        common = rng.random(n) < recurring
        form = rng.choice(COMMON, n, p=weights / weights.sum())
        kind = "" if real else "not "
        words.append(
            np.array(
                [f"{kind}{form[i]}" if common[i] else f"{kind}own {place} {i}" for i in range(n)], object
            )
        )
        sentence.append(np.repeat(np.arange(size), counts))
        reference.append(np.full(n, "B-x" if real else "O", object))
        for system in range(2):
            chance = (
                np.where(common, ease[system][form], rng.beta(*EASE, n))
                if real
                else float(place == system + 1)
            )
            outputs[system].append(np.where(rng.random(n) < chance, "B-x", "O").astype(object))
    order = np.argsort(np.concatenate(sentence), kind="stable")
    first, second = (np.concatenate(output)[order] for output in outputs)
    return Drawn(
        np.concatenate(sentence)[order],
        np.concatenate(words)[order],
        np.concatenate(reference)[order],
        (first, second),
    )


def _totals(drawn: Drawn) -> Floats:
    totals: Floats = surface_sums(drawn.reference, drawn.systems[0], drawn.sentence, drawn.token).sum(axis=0)
    return totals


def _groups(drawn: Drawn) -> Integers:
    return form_clusters([drawn.reference, *drawn.systems], drawn.sentence, drawn.token)


def _rejected(drawn: Drawn, rng: np.random.Generator) -> bool:
    """Return True if the permutation test rejects for two systems that are equally good at each form."""
    one, other = (
        surface_sums(drawn.reference, system, drawn.sentence, drawn.token) for system in drawn.systems
    )
    test = paired_permutation(
        one, other, statistic=f_of, clusters=_groups(drawn), samples=400, seed=int(rng.integers(2**31))
    )
    return test.p_value is not None and test.p_value <= LEVEL
