"""Train the weights of an antecedent model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibrant.progress import Progress
from calibrant.seeds import generator
from calibrant.structures._kernels.coreference_features import PAIR_TEMPLATES
from calibrant.structures._kernels.coreference_training import BLOCK_BITS, adagrad, add_gradient
from calibrant.structures.models.coreference_encoding import GROUPS, OWN

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Weights = NDArray[np.float32]


@dataclass(frozen=True)
class Features:
    """Which features there are, as the kernels want it.

    Attributes
    ----------
    own
        Columns of OWN.
    pairs
        For each template of pairs, whether it is on.
    bits
        There are 2^bits weights.
    window
        How many earlier mentions are candidates.
    """

    own: tuple[int, ...]
    pairs: NDArray[np.bool_]
    bits: int
    window: int

    @classmethod
    def of(cls, groups: Sequence[str], bits: int, window: int) -> Features:
        """Return the features of some groups; that a mention is no new entity is always one."""
        pairs = np.zeros(PAIR_TEMPLATES, bool)
        pairs[[0, *(template for group in groups for template in GROUPS[group][1])]] = True
        own = tuple(OWN.index(name) for group in groups for name in GROUPS[group][0])
        return cls(own, pairs, bits, window)


@dataclass(frozen=True)
class Coded:
    """A document ready for the kernels.

    Attributes
    ----------
    mentions, own, tokens
        As `row_features` takes them.
    """

    mentions: Integers
    own: Integers
    tokens: Integers


@dataclass(frozen=True)
class Objective:
    """What training minimizes, and how.

    Attributes
    ----------
    costs, l1, l2, rate, epochs, batch, seed
        As in `CoreferenceModel`.
    """

    costs: tuple[float, float, float]
    l1: float
    l2: float
    rate: float
    epochs: int
    batch: int
    seed: int


def train(
    documents: Sequence[Coded],
    entities: Sequence[Integers],
    features: Features,
    objective: Objective,
    progress: Progress | None = None,
) -> tuple[Weights, list[float]]:
    """Return the weights, and the mean loss of a mention in each epoch, as it was on the way.

    A batch is some mentions in a row of one document; batches come in random order.
    """
    weight = np.zeros(1 << features.bits, np.float32)
    squares = np.zeros_like(weight)
    gradient = np.zeros(len(weight))
    touched = np.zeros(len(weight) >> BLOCK_BITS, np.bool_)
    costs = np.array(objective.costs, dtype=np.float64)
    batches = [
        (number, start, min(start + objective.batch, len(entity)))
        for number, entity in enumerate(entities)
        for start in range(0, len(entity), objective.batch)
    ]
    total = sum(map(len, entities))
    random = generator(objective.seed)
    losses = []
    for epoch in range(objective.epochs):
        loss = 0.0
        for place in random.permutation(len(batches)).tolist():
            number, start, stop = batches[place]
            document = documents[number]
            loss += add_gradient(
                document.mentions,
                document.own,
                document.tokens,
                entities[number],
                start,
                stop,
                features.window,
                features.pairs,
                features.bits,
                costs,
                weight,
                gradient,
                touched,
            )
            adagrad(
                weight,
                squares,
                gradient,
                touched,
                1 / objective.batch,
                objective.rate,
                objective.l1,
                objective.l2,
            )
        losses.append(loss / total)
        if progress is not None:
            progress("train", epoch + 1, objective.epochs)
    return weight, losses
