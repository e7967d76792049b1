"""Checked log-potentials of a batch of sentences, and their forward and backward messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant._checks import Floats, Integers
from calibrant._parallel import check_threads, fold
from calibrant.exceptions import InputError
from calibrant.structures._kernels import chain as kernels
from calibrant.structures._kernels.chain import BlockMessages
from calibrant.structures.posterior.blocks import Block, blocks, frozen, offsets_of

RUN = 8  # blocks per task of a thread, if there are many, to reduce overhead


@dataclass(frozen=True)
class Steps:
    """Transitions, padded to a multiple of 8 tags and shifted so that the largest is 0."""

    logarithm: Floats
    plain: Floats
    top: float
    spread: float
    forbids: bool
    independent: bool

    @classmethod
    def of(cls, transition: Floats | None, tags: int) -> Steps:
        """Return padded and shifted transitions; None means that tags are independent."""
        width = -(-tags // 8) * 8
        logarithm = np.full((width, width), -np.inf)
        values = np.zeros((tags, tags)) if transition is None else transition
        allowed = values[values > -np.inf]
        top, low = (float(allowed.max()), float(allowed.min())) if len(allowed) else (0.0, 0.0)
        logarithm[:tags, :tags] = values - top
        forbids = len(allowed) < values.size
        return cls(logarithm, np.exp(logarithm), top, top - low, forbids, transition is None)


@dataclass(frozen=True)
class Messages:
    """Messages of a block of sentences; W is the number of tags padded to a multiple of 8.

    Attributes
    ----------
    block
        Block of sentences.
    alpha, future
        (n, W) messages. The probability of tags i, j at consecutive tokens t, t + 1 of a sentence is
        ``alpha[t, i] * steps.plain[i, j] * future[t + 1, j]``, or, in a sentence in logarithms,
        ``exp(alpha[t, i] + steps.logarithm[i, j] + future[t + 1, j])``. alpha[t] is the distribution of tag t
        given the words up to t.
    marginal
        (n, K) probability of each tag at each token.
    log_partition
        (sentences,) logarithm of the partition function.
    state
        (sentences,) `kernels.PLAIN`, `kernels.LOGARITHMS`, or `kernels.FORBIDDEN`.
    """

    block: Block
    alpha: Floats
    future: Floats
    marginal: Floats
    log_partition: Floats
    state: NDArray[np.int8]


def messages(unary: Floats, steps: Steps, block: Block, marginal: Floats | None = None) -> Messages:
    """Return the messages of a block; ``unary`` contains the potentials of the whole batch."""
    values = unary[block.tokens]
    n, tags = values.shape
    width = len(steps.plain)
    future, top, low = np.empty((n, width)), np.empty(n), np.empty(n)
    kernels.shift_rows(values, future, top, low)
    np.exp(future, out=future)
    if marginal is None:
        marginal = np.empty((n, tags))
    sentences = block.last - block.first
    state = np.zeros(sentences, np.int8)
    if steps.independent:
        total = np.empty(n)
        kernels.normalise_rows(future, top, marginal, total)
        log_partition = np.add.reduceat(total, block.offsets[:-1])
        state[~np.isfinite(log_partition)] = kernels.FORBIDDEN
        return Messages(block, future, future, marginal, log_partition, state)
    log_partition = np.empty(sentences)
    alpha = np.empty((n, width))
    kernels.forward_backward(
        values,
        top,
        low,
        steps.logarithm,
        steps.plain,
        steps.spread,
        steps.forbids,
        block.offsets,
        alpha,
        future,
        marginal,
        log_partition,
        state,
    )
    log_partition += (np.diff(block.offsets) - 1) * steps.top
    return Messages(block, alpha, future, marginal, log_partition, state)


def each_block(offsets: Integers, work: Callable[[Block], None], threads: int | None) -> None:
    """Call ``work`` once per block of a batch, on several threads; blocks must write to separate places."""
    every = list(blocks(offsets))
    used = min(check_threads(threads), max(1, len(every)))
    size = max(1, min(RUN, len(every) // (4 * used)))

    def update(_: None, run: list[Block]) -> None:
        for block in run:
            work(block)

    fold((every[place : place + size] for place in range(0, len(every), size)), lambda: None, update, used)


class ChainPotentials:
    """Checked log-potentials of the sentences of a batch; see `ChainPosterior`."""

    def __init__(
        self,
        unary: ArrayLike | Sequence[ArrayLike],
        transition: ArrayLike | None = None,
        *,
        start: ArrayLike | None = None,
        end: ArrayLike | None = None,
        lengths: ArrayLike | None = None,
        tags: Sequence[str] | None = None,
    ) -> None:
        self.unary, self.offsets = _batch(unary, lengths)
        count = self.unary.shape[1]
        self.tags = _names(tags, count)
        self.transition = (
            None if transition is None else _potentials(transition, "transition", (count, count))
        )
        if start is not None or end is not None:
            values = self.unary.copy()
            for given, name, at in ((start, "start", self.offsets[:-1]), (end, "end", self.offsets[1:] - 1)):
                if given is not None:
                    values[at] += _potentials(given, name, (count,))
            self.unary = frozen(values)
        self.steps = Steps.of(self.transition, count)

    @property
    def tag_count(self) -> int:
        """Return the number K of tags."""
        return int(self.unary.shape[1])

    @property
    def token_count(self) -> int:
        """Return the number N of tokens of all sentences."""
        return int(self.unary.shape[0])

    @property
    def sentence_count(self) -> int:
        """Return the number S of sentences."""
        return len(self.offsets) - 1

    @property
    def lengths(self) -> Integers:
        """Return (S,) numbers of tokens per sentence."""
        return np.diff(self.offsets)

    def sentence_tokens(self, sentence: object) -> tuple[int, int]:
        """Return the token bounds of a sentence; raise `InputError` if it does not exist."""
        number = -1 if isinstance(sentence, bool) or not isinstance(sentence, (int, np.integer)) else sentence
        if not 0 <= number < self.sentence_count:
            message = f"there is no sentence {sentence!r:.40}"
            raise InputError(message, f"give 0 to {self.sentence_count - 1}", code="parameter")
        return int(self.offsets[number]), int(self.offsets[number + 1])

    def messages(self, block: Block, marginal: Floats | None = None) -> Messages:
        """Return forward and backward messages of a block; ``marginal`` is the array for its marginals."""
        sent = messages(self.unary, self.steps, block, marginal)
        forbidden = np.flatnonzero(sent.state == kernels.FORBIDDEN)
        if len(forbidden):
            raise no_path(block.first + int(forbidden[0]))
        return sent

    def block_messages(self, block: Block) -> BlockMessages:
        """Return the messages and transitions of a block for the kernels."""
        return self.as_block(self.messages(block))

    def as_block(self, sent: Messages) -> BlockMessages:
        """Return given messages and the transitions for the kernels."""
        return BlockMessages(
            sent.alpha,
            sent.future,
            sent.marginal,
            self.steps.plain,
            self.steps.logarithm,
            sent.state,
            sent.block.offsets,
        )

    def transitions(self) -> Floats:
        count = self.tag_count
        return frozen(np.zeros((count, count))) if self.transition is None else self.transition


def _names(tags: object, count: int) -> tuple[str, ...]:
    if tags is None:
        return tuple(str(code) for code in range(count))
    names = tuple(tags) if isinstance(tags, Iterable) and not isinstance(tags, str) else (None,)
    if not all(isinstance(name, str) for name in names):
        raise InputError(f"tags are {tags!r:.60}", "give a list of strings", code="dtype")
    if len(names) != count or len(set(names)) != count:
        message = f"there are {len(set(names))} distinct tags for {count} columns of potentials"
        raise InputError(message, "give each column a unique name", code="length")
    return tuple(map(str, names))


def _batch(unary: ArrayLike | Sequence[ArrayLike], lengths: ArrayLike | None) -> tuple[Floats, Integers]:
    """Return one array of all sentences' potentials, and the offsets of sentences."""
    listed = list(unary) if lengths is None and isinstance(unary, (list, tuple)) else []
    if listed and _array(listed[0], "sentence 0").ndim == 2:
        parts = [_array(part, f"sentence {sentence}") for sentence, part in enumerate(listed)]
        for sentence, part in enumerate(parts):
            if part.ndim != 2 or part.shape[1] != parts[0].shape[1]:
                message = f"the potentials of sentence {sentence} have shape {part.shape}"
                raise InputError(message, f"expected (n, {parts[0].shape[1]})", code="shape")
        sizes = np.array([len(part) for part in parts])
        values = frozen(np.concatenate(parts))
    else:
        values = _array(unary, "unary")
        sizes = np.array(values.shape[:1]) if lengths is None else _array(lengths, "lengths")
    if values.ndim != 2 or not values.shape[1]:
        message = f"unary potentials have shape {values.shape}"
        raise InputError(message, "expected (tokens, tags)", code="shape")
    if sizes.ndim != 1 or not len(sizes) or sizes.dtype.kind not in "iu":
        raise InputError("lengths is not a list of integers", "give the tokens per sentence", code="shape")
    if (sizes < 1).any():
        message = f"sentence {int(np.flatnonzero(sizes < 1)[0])} has no tokens"
        raise InputError(message, "remove empty sentences", code="empty")
    if sizes.sum() != len(values):
        message = f"the lengths sum to {int(sizes.sum())}, but there are {len(values)} rows of potentials"
        raise InputError(message, "give one row per token", code="length")
    offsets = offsets_of(sizes)
    return _potentials(values, "unary", values.shape, offsets), offsets


def _array(values: ArrayLike | Sequence[ArrayLike], name: str) -> NDArray[Any]:
    try:
        return np.asarray(values)
    except ValueError as error:
        message = f"{name}: the rows have different lengths"
        raise InputError(message, "give one potential per tag in each row", code="shape") from error


def _potentials(
    values: ArrayLike, name: str, shape: tuple[int, ...], offsets: Integers | None = None
) -> Floats:
    """Return log-potentials as float64; raise an error with the place of a NaN or plus infinity.

    They are copied, except for read-only arrays that are not views of another array.
    """
    array = _array(values, name)
    if array.dtype.kind not in "fiu" or array.shape != shape:
        message = f"{name} has shape {array.shape} and dtype {array.dtype}"
        raise InputError(message, f"expected numbers of shape {shape}", code="shape")
    kept = array.dtype == np.float64 and array.flags.c_contiguous and array.flags.owndata
    if not kept or array.flags.writeable:
        array = frozen(np.array(array, np.float64, order="C"))
    wrong = kernels.first_not_potential(array.ravel())
    if wrong >= 0:
        place = np.unravel_index(wrong, shape)
        where = f"{name}[{', '.join(str(int(index)) for index in place)}]"
        if offsets is not None:
            sentence = int(np.searchsorted(offsets, place[0], side="right")) - 1
            where += f" (sentence {sentence}, token {int(place[0] - offsets[sentence])})"
        message = f"{where} is {array[place]}"
        raise InputError(message, "give finite numbers, or -inf to forbid a tag", code="potential")
    return array


def no_path(sentence: int) -> InputError:
    message = f"sentence {sentence}: every tag sequence is forbidden"
    return InputError(message, "allow more tags or transitions", code="no-path", row=sentence)
