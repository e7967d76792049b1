"""Feed-forward networks with rectified linear units, trained by JAX.

JAX and optax are the extra ``networks`` of this package; only training needs them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.exceptions import MissingExtraError
from calibrant_studies._networks_trained_data import Vectors

Logits = NDArray[np.float32]
EPOCHS = 25
BATCH = 100
RATE = 0.05
DROPS = (0.5, 0.75)  # fractions of the epochs after which the learning rate falls to a tenth, as in the paper
MOMENTUM = 0.9
NORM = 1.0  # longest step of the gradient: without it, deep and narrow networks may never start to learn
KEPT = 0.9  # of the running means and variances of batch normalization, per step


class Network(NamedTuple):
    """Architecture and regularization of a network.

    Attributes
    ----------
    depth
        Hidden layers.
    width
        Units per hidden layer.
    batch_norm
        True if the layers are normalized over the batch.
    weight_decay
        Factor of the L2 penalty on the weights of the layers.
    """

    depth: int
    width: int
    batch_norm: bool
    weight_decay: float

    def __str__(self) -> str:
        norm = "-bn" if self.batch_norm else ""
        return f"d{self.depth}-w{self.width}{norm}-wd{self.weight_decay:g}"


@dataclass(frozen=True)
class Epoch:
    """The network after one epoch.

    Attributes
    ----------
    training_loss
        Mean log loss of the epoch's batches, while learning from them.
    logits
        By name of the split.
    """

    training_loss: float
    logits: dict[str, Logits]


def train(
    splits: Mapping[str, Vectors],
    network: Network,
    rng: np.random.Generator,
    *,
    classes: int,
    epochs: int = EPOCHS,
    rate: float = RATE,
) -> list[Epoch]:
    """Train one network by stochastic gradient descent with momentum.

    Parameters
    ----------
    splits
        Vectors by name of the split; those of ``"train"`` are learned from, the others predicted.
    network
        Architecture to train.
    rng
        Generator of the first weights and of the order of the texts in each epoch.
    classes
        Number of classes.
    epochs
        Passes over the training texts.
    rate
        Learning rate of the first half of the epochs.

    Returns
    -------
    list of Epoch
        In order.

    Raises
    ------
    MissingExtraError
        If JAX or optax is not installed.
    """
    run_epoch, predict, start = _compiled()
    inputs, labels = splits["train"].inputs, splits["train"].labels.astype(np.int32)
    state = start(_first_weights(rng, inputs.shape[1], classes, network))
    batch = min(BATCH, len(labels))
    steps = len(labels) // batch
    found = []
    for epoch in range(epochs):
        now = rate * 0.1 ** sum(epoch >= drop * epochs for drop in DROPS)
        order = rng.permutation(len(labels))[: steps * batch].reshape(steps, batch)
        state, loss = run_epoch(
            state, inputs, labels, order, np.float32(now), np.float32(network.weight_decay)
        )
        logits = {
            name: np.asarray(predict(state, split.inputs))
            for name, split in splits.items()
            if name != "train"
        }
        found.append(Epoch(float(loss), logits))
    return found


def _first_weights(
    rng: np.random.Generator, dimensions: int, classes: int, network: Network
) -> list[dict[str, NDArray[np.float32]]]:
    """Draw weights as He et al. (2015) do; biases are 0 and scales 1."""
    sizes = [dimensions, *[network.width] * network.depth, classes]
    layers = []
    for before, after in pairwise(sizes):
        weight = rng.standard_normal((before, after)) * np.sqrt(2 / before)
        layer = {"weight": weight.astype(np.float32), "bias": np.zeros(after, dtype=np.float32)}
        layers.append(layer)
    if network.batch_norm:
        for layer in layers[:-1]:
            layer["scale"] = np.ones(network.width, dtype=np.float32)
    return layers


def _optimizer(rate: Any, decay: Any) -> Any:
    """Stochastic gradient descent with momentum, clipped gradients, and decay of the weights alone."""
    import jax
    import optax

    def weights(layers: Any) -> Any:
        return jax.tree.map(lambda values: values.ndim > 1, layers)

    return optax.chain(
        optax.clip_by_global_norm(NORM),
        optax.add_decayed_weights(decay, mask=weights),
        optax.sgd(rate, momentum=MOMENTUM, nesterov=True),
    )


@cache
def _compiled() -> tuple[Any, Any, Any]:
    """Functions that train one epoch, predict, and make the first state; compiled per architecture."""
    try:
        import jax
        import optax
        from jax import numpy as jnp
    except ImportError as error:
        hint = 'pip install "calibrant-studies[networks]", or leave --train out and use what ships'
        raise MissingExtraError("training networks needs jax and optax", hint) from error

    def outputs(layers: Any, running: Any, values: Any, learning: bool) -> tuple[Any, Any]:
        moved = []
        for layer, (mean, variance) in zip(layers[:-1], running, strict=True):
            values = values @ layer["weight"]
            if "scale" in layer:
                if learning:
                    here = values.mean(axis=0), values.var(axis=0)
                    mean, variance = (
                        KEPT * old + (1 - KEPT) * new for old, new in zip((mean, variance), here, strict=True)
                    )
                else:
                    here = mean, variance
                values = (values - here[0]) * jax.lax.rsqrt(here[1] + 1e-5) * layer["scale"]
            moved.append((mean, variance))
            values = jax.nn.relu(values + layer["bias"])
        return values @ layers[-1]["weight"] + layers[-1]["bias"], moved

    def run_epoch(state: Any, inputs: Any, labels: Any, order: Any, rate: Any, decay: Any) -> tuple[Any, Any]:
        chosen = _optimizer(rate, decay)

        def step(state: Any, batch: Any) -> tuple[Any, Any]:
            layers, running, memory = state

            def loss(layers: Any) -> tuple[Any, Any]:
                logits, moved = outputs(layers, running, inputs[batch], True)
                losses = optax.softmax_cross_entropy_with_integer_labels(logits, labels[batch])
                return losses.mean(), moved

            (value, running), gradient = jax.value_and_grad(loss, has_aux=True)(layers)
            update, memory = chosen.update(gradient, memory, layers)
            return (optax.apply_updates(layers, update), running, memory), value

        state, losses = jax.lax.scan(step, state, order)
        return state, losses.mean()

    def start(layers: Any) -> Any:
        layers = jax.tree.map(jnp.asarray, layers)
        widths = [layer["bias"].shape for layer in layers[:-1]]
        running = [(jnp.zeros(width), jnp.ones(width)) for width in widths]
        return layers, running, _optimizer(0.0, 0.0).init(layers)

    return (
        jax.jit(run_epoch),
        jax.jit(lambda state, inputs: outputs(state[0], state[1], inputs, False)[0]),
        start,
    )
