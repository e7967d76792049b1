"""Replications of the coverage study: calibrant's results for each draw of the designs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from multiprocessing import get_context

import numpy as np
from numpy.typing import NDArray

from calibrant_studies import _peers
from calibrant_studies._designs import Design, PairsDesign
from calibrant_studies.arrays import Floats

Done = Callable[[int, int], None]
PAIRS_PER_PIECE = 4_000_000


@dataclass(frozen=True)
class Replications:
    """Results of the replications of one design.

    Attributes
    ----------
    values
        (targets, replications, columns): the numbers of `Outcome`, NaN if undefined.
    warned
        (targets, replications) whether a warning was given.
    warnings
        For each target how many replications gave a warning, by its name.
    peers
        (methods, replications, 2) limits of the RMS error by `_peers.METHODS`.
    """

    values: Floats
    warned: NDArray[np.bool_]
    warnings: list[Counter[str]]
    peers: Floats

    @classmethod
    def joined(cls, parts: Sequence[Replications]) -> Replications:
        """All replications of several pieces."""
        return cls(
            np.concatenate([part.values for part in parts], axis=1),
            np.concatenate([part.warned for part in parts], axis=1),
            [sum(found, Counter()) for found in zip(*(part.warnings for part in parts), strict=True)],
            np.concatenate([part.peers for part in parts], axis=1),
        )


def replicated(design: Design, seed: np.random.SeedSequence, replications: int, peers: int) -> Replications:
    """Outcomes of fresh draws."""
    rng = np.random.default_rng(seed)
    found = [design.outcomes(rng) for _ in range(replications)]
    targets = list(zip(*found, strict=True))
    limits = np.empty((len(_peers.METHODS), peers, 2))
    if isinstance(design, PairsDesign):
        for place in range(peers):
            limits[:, place] = _peers.limits(design.draw(rng), rng, own=design.wald)
    return Replications(
        np.array([[(*each[:4], *each.extra) for each in target] for target in targets]),
        np.array([[bool(each.warnings) for each in target] for target in targets]),
        [Counter(name for each in target for name in each.warnings) for target in targets],
        limits,
    )


def simulate(
    designs: Sequence[Design],
    *,
    seed: int,
    processes: int = 1,
    progress: Done | None = None,
) -> Iterator[tuple[int, Replications]]:
    """Run the designs, and yield the index and the replications of each as soon as it is done.

    The result of a design depends neither on the designs around it nor on ``processes``.
    """
    tasks = [(place, task) for place, design in enumerate(designs) for task in _pieces(design, seed)]
    missing = Counter(place for place, _ in tasks)
    parts: dict[int, dict[int, Replications]] = {place: {} for place in missing}
    for done, (number, part) in enumerate(_results([task for _, task in tasks], processes), 1):
        place = tasks[number][0]
        parts[place][number] = part
        if progress is not None:
            progress(done, len(tasks))
        if len(parts[place]) == missing[place]:
            found = parts.pop(place)
            yield place, Replications.joined([found[key] for key in sorted(found)])


Task = tuple[Design, np.random.SeedSequence, int, int]


def _results(tasks: Sequence[Task], processes: int) -> Iterator[tuple[int, Replications]]:
    if processes <= 1:
        for number, task in enumerate(tasks):
            yield number, replicated(*task)
        return
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        futures: dict[Future[Replications], int] = {
            pool.submit(replicated, *task): number for number, task in enumerate(tasks)
        }
        for future in as_completed(futures):
            yield futures.pop(future), future.result()


def key_of(design: Design) -> str:
    """Settings on which the draws of a design depend, besides the seed.

    Examples
    --------
    >>> from calibrant_studies._situations import designs
    >>> one, other = designs("sawteeth", replications=3)[0], designs("sawteeth")[0]
    >>> key_of(one) == key_of(other)
    True
    """
    plain = replace(design, replications=0)
    return repr(replace(plain, peers=0, wald=False) if isinstance(plain, PairsDesign) else plain)


def _pieces(design: Design, seed: int) -> Iterator[Task]:
    """Pieces of about 4 million pairs; a piece's seed depends on its design and its number alone."""
    step = max(1, PAIRS_PER_PIECE // design.pairs_drawn)
    peers = design.peers if isinstance(design, PairsDesign) else 0
    key = key_of(design).encode()
    starts = range(0, design.replications, step)
    for number, start in enumerate(starts):
        drawn = min(step, design.replications - start)
        share = peers * (number + 1) // len(starts) - peers * number // len(starts)
        yield design, np.random.SeedSequence([seed, *key, number]), drawn, share
