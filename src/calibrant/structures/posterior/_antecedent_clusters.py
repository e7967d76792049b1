"""Samples of entities, and entities with high expected pairwise F."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from calibrant import seeds
from calibrant._checks import positive_integer, sample_count
from calibrant._parallel import check_threads, fold, slices
from calibrant.structures._kernels import antecedent as kernels
from calibrant.structures._kernels import entity_search
from calibrant.structures.posterior._antecedent_rows import AntecedentRows

Labels = NDArray[np.int32]

DRAWS = 1 << 20  # uniform numbers per batch
CANDIDATES = 100  # samples from which a search may start; the start has little influence


def sampled(
    posterior: AntecedentRows, size: int, seed: seeds.Seed, threads: int | None, *, as_entities: bool
) -> Labels:
    """Return samples of antecedents or entities, with a separate generator per document."""
    positive_integer(size, "size")
    result = np.empty((size, posterior.mention_count), np.int32)
    draw = _sampler(posterior, seed)

    def work(_: None, number: int) -> None:
        place = result[:, posterior.mentions_of(number)]
        draw(number, place)
        if as_entities:
            kernels.entities(place, place)

    fold(range(posterior.document_count), lambda: None, work, check_threads(threads))
    return result


def _sampler(posterior: AntecedentRows, seed: seeds.Seed) -> Callable[[int, Labels], None]:
    """Return a function that writes (size, n) sampled antecedents of a document."""
    number_of_seed = seeds.number(seed)
    cumulated = np.empty(len(posterior.probabilities))
    kernels.cumulate(posterior.probabilities, posterior.row_offsets, cumulated)

    def draw(number: int, out: Labels) -> None:
        _, offsets, first = posterior.rows_of(number)
        values = cumulated[posterior.entries_of(number)]
        rng = seeds.generator_of(number_of_seed, posterior.names[number])
        size, count = out.shape
        for piece in slices(size, max(1, DRAWS // max(1, count))):
            uniform = rng.random((piece.stop - piece.start, count))
            kernels.draw_antecedents(values, offsets, first, uniform, out[piece])

    return draw


def best_clustering(posterior: AntecedentRows, samples: int, seed: seeds.Seed, threads: int | None) -> Labels:
    """Return the best of samples and best antecedents of each document, improved by moves."""
    sample_count(samples)
    draw = _sampler(posterior, seed)
    best = np.empty(posterior.mention_count, np.int64)
    kernels.best_antecedents(posterior.log_probabilities, posterior.row_offsets, posterior.first, best)
    result = np.empty(posterior.mention_count, np.int32)

    def work(_: None, number: int) -> None:
        mentions = posterior.mentions_of(number)
        candidates = np.empty((samples + 1, mentions.stop - mentions.start), np.int32)
        draw(number, candidates[:samples])
        candidates[samples] = best[mentions]
        kernels.entities(candidates, candidates)
        drawn = candidates[:samples]
        start = candidates[-1 - CANDIDATES :]
        labels = start[entity_search.mean_f(start, drawn).argmax()].copy()
        entity_search.improve(labels, drawn)
        result[mentions] = labels

    fold(range(posterior.document_count), lambda: None, work, check_threads(threads))
    return result
