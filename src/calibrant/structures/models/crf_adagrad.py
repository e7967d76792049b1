"""Train a chain CRF by AdaGrad, with or without a penalty on its marginals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Floats, Integers, non_negative
from calibrant.exceptions import CalibrantError
from calibrant.progress import Progress, tell
from calibrant.seeds import generator
from calibrant.structures._kernels.adagrad import add_slopes, step_all
from calibrant.structures._kernels.features import sum_weights
from calibrant.structures.models._tagger import Sentences
from calibrant.structures.models.crfsuite import Trained
from calibrant.structures.posterior import ChainPosterior

DEFAULTS = {"rate": 0.3, "batch": 100, "period": 10, "delta": 1e-4}
NUDGE = 1e-3  # in nats: how far potentials are moved to see how marginals answer


@dataclass(frozen=True)
class Penalty:
    """A differentiable function of the marginals that training keeps small, beside the loss.

    Its gradient by the weights is a product with the Hessian of the log-partition: how much marginals change
    when potentials are moved along ``slope``. That takes three more passes of forward-backward per
    batch, whatever the function is.

    Attributes
    ----------
    slope
        Takes the marginals (n, K) of a batch's tokens and the codes (n,) of their gold tags, and returns the
        derivative (n, K) of the penalty by each marginal. A gold tag that the model does not have is -1.
    weight
        0 or more: ``weight`` times the number of the batch's tokens times the penalty is added to the loss.
    sentences, tags
        Other sentences than those of training to compute it on, a batch of them at each step; None: on those
        of training.

    Examples
    --------
    >>> def brier(marginal, gold):
    ...     return 2 * (marginal - np.eye(marginal.shape[1])[gold]) / len(gold)
    >>> Penalty(brier, 0.5).weight
    0.5
    """

    slope: Callable[[Floats, Integers], Floats]
    weight: float
    sentences: Sentences | None = None
    tags: Sentences | None = None

    def __post_init__(self) -> None:
        non_negative(self.weight, "weight")


@dataclass(frozen=True)
class Text:
    """Sentences as numbers.

    Attributes
    ----------
    first, row
        Rows of each token's attributes, as `WordAttributes.token_rows` returns them.
    codes
        (N,) codes of the gold tags; -1 for one that the model does not have.
    offsets
        (S + 1,) where each sentence begins.
    """

    first: Integers
    row: Integers
    codes: Integers
    offsets: Integers

    def batches(self, size: int, random: np.random.Generator) -> list[Text]:
        """Cut the sentences, in random order, into batches."""
        order = random.permutation(len(self.offsets) - 1)
        parts = np.split(order, range(size, len(order), size))
        return [self._some(part) for part in parts]

    def _some(self, sentences: Integers) -> Text:
        tokens = np.concatenate([np.arange(self.offsets[s], self.offsets[s + 1]) for s in sentences.tolist()])
        lengths, widths = np.diff(self.offsets)[sentences], np.diff(self.first)[tokens]
        first = np.concatenate(([0], np.cumsum(widths)))
        rows = np.arange(first[-1]) + np.repeat(self.first[tokens] - first[:-1], widths)
        return Text(first, self.row[rows], self.codes[tokens], np.concatenate(([0], np.cumsum(lengths))))


class Weights:
    """Weights of the (attribute, tag) and (tag, next tag) that training has seen, and their slopes."""

    def __init__(self, text: Text, row_count: int, tag_count: int) -> None:
        row = text.row
        keys = row * tag_count + np.repeat(text.codes, np.diff(text.first))
        keys = np.unique(keys[row >= 0])
        self.row: Integers = keys // tag_count
        self.tag: NDArray[np.int32] = (keys % tag_count).astype(np.int32)
        self.first: Integers = np.searchsorted(self.row, np.arange(row_count + 1))
        inner = np.ones(len(text.codes), np.bool_)
        inner[text.offsets[1:] - 1] = False
        seen = np.zeros((tag_count, tag_count), np.bool_)
        seen[text.codes[:-1][inner[:-1]], text.codes[1:][inner[:-1]]] = True
        self.seen: NDArray[np.bool_] = seen
        size = len(keys) + int(seen.sum())
        self.value, self.squares, self.slope = np.zeros(size), np.zeros(size), np.zeros(size)

    @property
    def transition(self) -> Floats:
        """Weights of pairs of tags, (K, K)."""
        transition = np.zeros(self.seen.shape)
        transition[self.seen] = self.value[len(self.tag) :]
        return transition

    def unary(self, text: Text) -> Floats:
        """Scores of each tag at each token."""
        total = np.empty((len(text.codes), len(self.seen)))
        sum_weights(text.first, text.row, self.first, self.tag, self.value[: len(self.tag)], total)
        return total

    def add(self, text: Text, tokens: Floats, pairs: Floats) -> None:
        """Add slopes by the potentials of tokens (N, K) and of pairs of tags (K, K)."""
        count = len(self.tag)
        add_slopes(text.first, text.row, self.first, self.tag, tokens, self.slope[:count])
        self.slope[count:] += pairs[self.seen]


def train(
    text: Text,
    row_count: int,
    tag_count: int,
    *,
    l2: float,
    max_iterations: int,
    settings: Mapping[str, Any],
    seed: int,
    penalty: tuple[Penalty, Text | None] | None = None,
    progress: Progress | None = None,
) -> Trained:
    """Minimize the negative log-likelihood plus ``l2`` times the squared weights, the objective of L-BFGS.

    Parameters
    ----------
    text
        The sentences, with the codes of all their tags.
    row_count, tag_count
        Numbers of attributes and of tags.
    l2, max_iterations, settings, seed
        As in `CRFTagger`.
    penalty
        A penalty to minimize too, and the other sentences that it is computed on, if any.
    progress
        Called with ``"train"``, the epoch, and the largest number of epochs.

    Returns
    -------
    Trained

    Raises
    ------
    CalibrantError
        If the loss is not finite.
    """
    chosen = DEFAULTS | dict(settings)
    random, sentences = generator(seed), len(text.offsets) - 1
    weights, parts = Weights(text, row_count, tag_count), text.batches(int(chosen["batch"]), random)
    others = penalty[1].batches(int(chosen["batch"]), random) if penalty and penalty[1] else parts
    losses: list[float] = []
    converged = False
    for epoch in range(max_iterations):
        loss = 0.0
        for place in random.permutation(len(parts)).tolist():
            part = parts[place]
            loss += add_loss(weights, part)
            if penalty is not None and penalty[0].weight > 0:
                other = part if others is parts else others[place % len(others)]
                add_penalty(weights, other, penalty[0], len(part.codes) / len(other.codes))
            count = len(part.offsets) - 1
            weights.slope /= count
            step_all(weights.value, weights.squares, weights.slope, chosen["rate"], 2 * l2 / sentences)
        losses.append(loss + l2 * float(weights.value @ weights.value))
        if not np.isfinite(losses[-1]):
            hint = "give a smaller rate, or use lbfgs"
            raise CalibrantError("training diverged: the loss is not finite", hint)
        tell(progress, "train", epoch + 1, max_iterations)
        period = int(chosen["period"])
        if epoch >= period and losses[-1 - period] - losses[-1] < chosen["delta"] * losses[-1]:
            converged = True
            break
    count = len(weights.tag)
    return Trained(
        weights.row,
        weights.tag.astype(np.int64),
        weights.value[:count],
        weights.transition,
        len(losses),
        converged,
    )


def add_loss(weights: Weights, text: Text) -> float:
    """Return the negative log-likelihood of some sentences, and add its slopes."""
    posterior = _posterior(weights, text, weights.unary(text))
    marginal, pairs, log_partition = _expected(posterior)
    transition, tags = weights.transition, np.arange(len(text.codes))
    inner = np.ones(len(text.codes), np.bool_)
    inner[text.offsets[1:] - 1] = False
    before, after = text.codes[:-1][inner[:-1]], text.codes[1:][inner[:-1]]
    gold = float(posterior.unary[tags, text.codes].sum() + transition[before, after].sum())
    marginal[tags, text.codes] -= 1.0
    np.subtract.at(pairs, (before, after), 1.0)
    weights.add(text, marginal, pairs)
    return log_partition - gold


def add_penalty(weights: Weights, text: Text, penalty: Penalty, tokens: float = 1.0) -> None:
    """Add the slopes of a penalty on the marginals of some sentences, ``tokens`` times.

    The derivative of c . marginals by the potentials is the Hessian of the log-partition times c, for any
    constant c: how expected tags and pairs of tags change when the tokens' potentials are moved along c.
    """
    unary = weights.unary(text)
    marginal, _, _ = _expected(_posterior(weights, text, unary))
    slope = penalty.slope(marginal, text.codes)
    largest = float(np.abs(slope).max())
    if largest == 0.0:
        return
    reach = NUDGE / largest
    up, down = (_expected(_posterior(weights, text, unary + sign * reach * slope)) for sign in (1, -1))
    factor = penalty.weight * tokens * len(text.codes) / (2 * reach)
    weights.add(text, (up[0] - down[0]) * factor, (up[1] - down[1]) * factor)


def _posterior(weights: Weights, text: Text, unary: Floats) -> ChainPosterior:
    unary.setflags(write=False)  # so that it is not copied
    return ChainPosterior(unary, weights.transition, lengths=np.diff(text.offsets))


def _expected(posterior: ChainPosterior) -> tuple[Floats, Floats, float]:
    """Marginals (N, K), expected pairs of tags (K, K), and the sum of the log-partitions."""
    pairs = posterior.expected_pairs()
    return posterior.marginals().copy(), pairs, float(posterior.log_partition.sum())
