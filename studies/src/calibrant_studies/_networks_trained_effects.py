"""Effects of depth, width, batch normalization and weight decay on calibration, with intervals.

An effect is a weighted sum of the networks' values, such as the slope of the calibration error by the
logarithm of the depth. Its interval covers both another training (other first weights, and another order
of the texts) and other test texts of the same kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import log2, log10, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from calibrant.metrics import debiased_squared_error, expected_calibration_error
from calibrant.progress import Progress
from calibrant.recalibrate import Temperature
from calibrant.records import Quantity
from calibrant.seeds import generator_of
from calibrant_studies._networks_trained_files import BINS, DECAY, DEPTH, NETWORKS, WIDTH, Run, Trained, top
from calibrant_studies._networks_trained_fit import Network

Floats = NDArray[np.float64]
GROUPS = 20  # of test texts, left out one at a time
LEVEL = 0.95
WITHOUT, WITH = "without batch normalization", "with batch normalization"


@dataclass(frozen=True)
class Effect:
    """A weighted sum over networks.

    Attributes
    ----------
    name, text
        Name for findings, and text for readers.
    weights
        Weight of each network that counts.
    """

    name: str
    text: str
    weights: Mapping[Network, float]

    def of(self, networks: Sequence[Network], values: Floats) -> Floats:
        """Sum values (networks, ...) over the networks."""
        weights = np.array([self.weights.get(network, 0.0) for network in networks])
        return np.tensordot(weights, values, axes=1)


def slope(
    name: str, text: str, networks: Sequence[Network], along: Callable[[Network], float], *same: str
) -> Effect:
    """Mean least-squares slope along one factor, over the groups of networks that are equal in the others.

    Examples
    --------
    >>> networks = [Network(depth, 16, False, 0.0) for depth in (1, 2, 4)]
    >>> found = slope("depth", "", networks, lambda network: log2(network.depth), "width")
    >>> found.of(networks, np.array([0.1, 0.3, 0.5])).round(12).tolist()
    0.2
    """
    groups: dict[tuple[object, ...], list[Network]] = {}
    for network in networks:
        groups.setdefault(tuple(getattr(network, key) for key in same), []).append(network)
    weights: dict[Network, float] = {}
    for group in groups.values():
        place = np.array([along(network) for network in group])
        centered = place - place.mean()
        parts = centered / (centered**2).sum() / len(groups)
        weights |= dict(zip(group, parts.tolist(), strict=True))
    return Effect(name, text, weights)


def _along_shapes(networks: Sequence[Network]) -> list[Effect]:
    """Effects of depth, width and weight decay, each over the networks that vary it."""
    grid = [network for network in networks if network.weight_decay == DECAY]
    line = [network for network in networks if network[:2] == (DEPTH, WIDTH)]

    def depth(network: Network) -> float:
        return log2(network.depth)

    def width(network: Network) -> float:
        return log2(network.width)

    def less_decay(network: Network) -> float:
        return -log10(network.weight_decay)

    return [
        slope("depth", "per doubling of the depth", grid, depth, "width", "batch_norm"),
        slope("width", "per doubling of the width", grid, width, "depth", "batch_norm"),
        slope("weight_decay", "per division of the weight decay by ten", line, less_decay, "batch_norm"),
    ]


def effects() -> list[Effect]:
    """Effects of the four factors, each over all networks that vary it."""

    def norm(network: Network) -> float:
        return float(network.batch_norm)

    text = "with batch normalization minus without"
    others = ("depth", "width", "weight_decay")
    return [*_along_shapes(NETWORKS), slope("batch_norm", text, NETWORKS, norm, *others)]


def effects_by_norm() -> list[Effect]:
    """The effects of depth, width and weight decay, without batch normalization and with it."""
    return [
        Effect(effect.name, f"{effect.text}, {title}", effect.weights)
        for norm, title in ((False, WITHOUT), (True, WITH))
        for effect in _along_shapes([network for network in NETWORKS if network.batch_norm == norm])
    ]


def levels() -> list[tuple[str, float, str, Effect]]:
    """Means over the networks that share a depth, a width or a weight decay, with and without normalization.

    Returns
    -------
    list of tuple
        The factor, its value, with or without batch normalization, and the mean.
    """
    grid = [network for network in NETWORKS if network.weight_decay == DECAY]
    line = [network for network in NETWORKS if network[:2] == (DEPTH, WIDTH)]
    found = []
    for factor, networks in (("depth", grid), ("width", grid), ("weight_decay", line)):
        shared: dict[tuple[bool, float], list[Network]] = {}
        for network in networks:
            shared.setdefault((network.batch_norm, getattr(network, factor)), []).append(network)
        for (norm, value), group in sorted(shared.items()):
            mean = Effect(factor, "", dict.fromkeys(group, 1 / len(group)))
            found.append((factor, value, WITH if norm else WITHOUT, mean))
    return found


@dataclass(frozen=True)
class Measured:
    """Numbers of several networks on the test texts of one set.

    Attributes
    ----------
    networks
        N networks, S trainings of each.
    values
        By name, of shape (N, S, 1 + G): on all test texts, then without each of G groups of them. ``error``,
        ``loss``, ``mse`` (debiased squared calibration error), and ``loss_after`` and ``mse_after``
        temperature scaling on dev.
    ece, ece_after, temperature
        (N, S), on all test texts.
    """

    networks: tuple[Network, ...]
    values: dict[str, Floats]
    ece: Floats
    ece_after: Floats
    temperature: Floats

    def rms(self, after: str = "") -> Floats:
        """Calibration errors, the roots of the debiased squares; 0 where the estimate is negative."""
        return np.sqrt(np.maximum(self.values[f"mse{after}"], 0))


def measure(
    trained: Trained,
    networks: Sequence[Network],
    stage: str,
    *,
    seed: int,
    progress: Progress | None = None,
) -> Measured:
    """Measure the networks of one set, on all test texts and without each group of them in turn."""
    labels = trained.labels["test"]
    order = generator_of(seed, f"{trained.name}/groups").permutation(len(labels))
    group = np.empty(len(labels), dtype=np.int64)
    group[order] = np.arange(len(labels)) % GROUPS
    seeds = sorted({run.seed for run in trained.packed})
    found = []
    for done, network in enumerate(networks):
        if progress is not None:
            progress(f"measuring networks of {trained.name}", done, len(networks))
        found.append([_measured(trained, Run(network, s, stage), group) for s in seeds])
    names = ("error", "loss", "mse", "loss_after", "mse_after")
    values = {name: np.array([[each[0][name] for each in row] for row in found]) for name in names}
    ece, after, temperature = np.moveaxis(np.array([[each[1] for each in row] for row in found]), -1, 0)
    return Measured(tuple(networks), values, ece, after, temperature)


def _measured(
    trained: Trained, run: Run, group: NDArray[np.int64]
) -> tuple[dict[str, Floats], tuple[float, float, float]]:
    labels, logits = trained.labels["test"], trained.logits(run, "test")
    map_ = Temperature(logits=True).fit(trained.logits(run, "dev"), trained.labels["dev"])
    values, eces = {}, []
    for suffix, factor in (("", 1.0), ("_after", map_.temperature_)):
        confidence, right, losses = top(logits / factor, labels)
        # Sorted once: the estimator sorts again, which is then quick.
        sort = np.argsort(confidence, kind="stable")
        confidence, right, part = confidence[sort], right[sort], group[sort]
        masks = [np.ones(len(labels), dtype=bool), *(part != g for g in range(GROUPS))]
        values[f"mse{suffix}"] = np.array([debiased_squared_error(right[m], confidence[m]) for m in masks])
        values[f"loss{suffix}"] = np.array([losses[sort][m].mean() for m in masks])
        values["error"] = np.array([1 - right[m].mean() for m in masks])
        eces.append(expected_calibration_error(right, confidence, n_bins=BINS))
    return values, (eces[0], eces[1], map_.temperature_)


def over_seeds_and_texts(values: Floats) -> Quantity:
    """Mean over trainings, with an interval for other trainings and other test texts.

    The variance is the sum of two: that of the trainings, divided by their number, and that of the texts, by
    a jackknife that leaves out one group of them at a time. The quantile is Student's, with the degrees of
    freedom of Satterthwaite. The fitted temperatures count as a part of the trainings.

    Parameters
    ----------
    values
        (S, 1 + G): of S trainings, on all texts, then without each of G groups.

    Examples
    --------
    >>> values = np.array([[0.1, 0.1, 0.1], [0.2, 0.2, 0.2], [0.3, 0.3, 0.3]])
    >>> print(over_seeds_and_texts(values))
    0.2000 [-0.0484, 0.4484]
    """
    full, left_out = values[:, 0], values[:, 1:].mean(axis=0)
    seeds, groups = len(full), values.shape[1] - 1
    trainings = float(full.var(ddof=1)) / seeds
    texts = (groups - 1) / groups * float(((left_out - left_out.mean()) ** 2).sum())
    variance = trainings + texts
    estimate = float(full.mean())
    if variance == 0:
        return Quantity(estimate, estimate, estimate)
    freedom = variance**2 / (trainings**2 / (seeds - 1) + texts**2 / (groups - 1))
    half = float(stdtrit(freedom, (1 + LEVEL) / 2)) * sqrt(variance)
    return Quantity(estimate, estimate - half, estimate + half)


def root(found: Quantity) -> Quantity:
    """Root of a debiased squared error and of the ends of its interval; 0 where they are negative."""
    estimate, low, high = (
        None if end is None else sqrt(max(0.0, end)) for end in (found.estimate, found.low, found.high)
    )
    return Quantity(estimate, low, high)
