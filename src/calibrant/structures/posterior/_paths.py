"""Sequences of tags: entropy, windows, the k best, and samples."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant import seeds
from calibrant._checks import Floats, Integers, as_array, positive_integer
from calibrant._parallel import slices
from calibrant.exceptions import InputError
from calibrant.structures._kernels import chain, paths
from calibrant.structures.posterior._potentials import ChainPotentials, each_block, no_path
from calibrant.structures.posterior.blocks import Block, blocks

Codes = NDArray[np.int32]

LARGEST = 1 << 30  # tags of the k best sequences, 4 GiB
DRAWS = 1 << 18  # random numbers per batch


@dataclass(frozen=True)
class BestSequences:
    """Most probable k tag sequences of each sentence, best first.

    Attributes
    ----------
    codes
        (k, N) codes of tags; -1 if a sentence has fewer sequences.
    log_probability
        (k, S) logarithm of each sequence's probability; -inf if a sentence has fewer sequences.
    """

    codes: Codes
    log_probability: Floats


def entropies(chains: ChainPotentials, threads: int | None) -> Floats:
    """Return the entropy of each sentence's tag sequences."""
    entropy = np.empty(chains.sentence_count)

    part, tables = np.zeros_like(chains.steps.plain), chains.steps
    np.multiply(tables.plain, tables.logarithm, where=tables.plain > 0, out=part)

    def work(block: Block) -> None:
        sent = chains.messages(block)
        place = entropy[block.first : block.last]
        values = chains.unary[block.tokens]
        paths.entropies(chains.as_block(sent), values, part, tables.top, sent.log_partition, place)

    each_block(chains.offsets, work, threads)
    return entropy


def window_probabilities(chains: ChainPotentials, first: ArrayLike, windows: ArrayLike) -> Floats:
    """Return the probability of each window; only blocks with windows are computed."""
    hint = "use one call per length of windows"
    token, tags = as_array(first, "first", "give one token per window"), as_array(windows, "windows", hint)
    if token.ndim != 1 or tags.ndim != 2 or len(token) != len(tags) or not tags.shape[1]:
        message = f"first has shape {token.shape} and windows have shape {tags.shape}"
        raise InputError(message, "expected (q,) and (q, m)", code="shape")
    if not len(token):
        return np.empty(0)
    if token.dtype.kind not in "iu" or tags.dtype.kind not in "iu":
        message = f"first has dtype {token.dtype} and windows have dtype {tags.dtype}"
        raise InputError(message, "give integers", code="dtype")
    token, tags = token.astype(np.int64), tags.astype(np.int64)
    _check_windows(chains, token, tags)
    probability = np.empty(len(token))
    order = np.argsort(token, kind="stable")
    for block in blocks(chains.offsets):
        low, high = np.searchsorted(token[order], (block.tokens.start, block.tokens.stop))
        if low < high:
            here = order[low:high]
            inside = token[here] - block.tokens.start
            sentence = np.searchsorted(block.offsets, inside, side="right") - 1
            products = np.empty(len(here))
            paths.window_probabilities(chains.block_messages(block), sentence, inside, tags[here], products)
            probability[here] = products
    return probability


def _check_windows(chains: ChainPotentials, token: Integers, tags: Integers) -> None:
    known = (token >= 0) & (token < chains.token_count)
    sentence = np.searchsorted(chains.offsets, np.where(known, token, 0), side="right")
    wrong = np.flatnonzero(~known | (token + tags.shape[1] > chains.offsets[sentence]))
    if len(wrong):
        row = int(wrong[0])
        message = f"window {row} has the tokens {token[row]} to {token[row] + tags.shape[1] - 1}"
        hint = f"the last token of sentence {sentence[row] - 1} is {chains.offsets[sentence[row]] - 1}"
        hint = hint if known[row] else f"the batch has tokens 0 to {chains.token_count - 1}"
        raise InputError(message, hint, code="parameter", row=row)
    wrong = np.flatnonzero(((tags < 0) | (tags >= chains.tag_count)).any(axis=1))
    if len(wrong):
        row = int(wrong[0])
        message = f"window {row} has the codes {tags[row].tolist()}"
        raise InputError(message, f"give codes from 0 to {chains.tag_count - 1}", code="parameter", row=row)


def k_best(chains: ChainPotentials, k: int, log_partition: Floats, threads: int | None) -> BestSequences:
    """Return the k best sequences of each sentence."""
    positive_integer(k, "k")
    if k * chains.token_count > LARGEST:
        message = f"k is {k}, for {chains.token_count} tokens"
        raise InputError(message, "ask for fewer sequences, or draw samples", code="parameter")
    codes = np.empty((k, chains.token_count), np.int32)
    score = np.empty((k, chains.sentence_count))
    transition = chains.transitions()

    def work(block: Block) -> None:
        best = codes[:, block.tokens], score[:, block.first : block.last]
        paths.k_best(chains.unary[block.tokens], transition, block.offsets, *best)

    each_block(chains.offsets, work, threads)
    forbidden = np.flatnonzero(score[0] == -np.inf)
    if len(forbidden):
        raise no_path(int(forbidden[0]))
    return BestSequences(codes, np.minimum(score - log_partition, 0.0))


def sample(
    chains: ChainPotentials, size: int, seed: seeds.Seed, ids: Iterable[object] | None, threads: int | None
) -> Codes:
    """Return sampled tag sequences, with a separate generator per sentence."""
    positive_integer(size, "size")
    if not (ids is None or isinstance(ids, Iterable)):
        raise InputError(f"ids is {ids!r:.40}", "give one id per sentence", code="dtype")
    names = list(range(chains.sentence_count)) if ids is None else [str(name) for name in ids]
    if len(names) != chains.sentence_count or len(set(names)) != len(names):
        message = f"there are {len(set(names))} distinct ids for {chains.sentence_count} sentences"
        raise InputError(message, "give each sentence a unique id", code="length")
    number = seeds.number(seed)
    codes = np.empty((size, chains.token_count), np.int32)
    backward = chains.steps.plain.T.copy(), chains.steps.logarithm.T.copy()

    def work(block: Block) -> None:
        sent = chains.messages(block)
        for s, (first, last) in enumerate(zip(block.offsets, block.offsets[1:], strict=False)):
            rng = seeds.generator_of(number, names[block.first + s])
            logarithms = bool(sent.state[s] == chain.LOGARITHMS)
            place = codes[:, block.tokens][:, first:last]
            for piece in slices(size, max(1, DRAWS // int(last - first))):
                uniform = rng.random((piece.stop - piece.start, last - first))
                paths.sample(sent.alpha[first:last], backward[logarithms], logarithms, uniform, place[piece])

    each_block(chains.offsets, work, threads)
    return codes
