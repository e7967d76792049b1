"""Guo, Pleiss, Sun & Weinberger (2017): calibration and recalibration of neural networks.

The study has two halves. The first reads published logits of fine-tuned transformers; the second
trains text classifiers of many sizes.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from calibrant.progress import Progress
from calibrant_studies._base import Study
from calibrant_studies._networks_given import given
from calibrant_studies._networks_half import Half
from calibrant_studies._networks_trained import trained
from calibrant_studies.datasets._folders import real_data

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SEED = 2017


def run(
    *, data: Path | None = None, seed: int = SEED, train: bool = False, progress: Progress | None = None
) -> Study:
    """Measure and recalibrate neural networks.

    Parameters
    ----------
    data
        Folder that has ``nli-logits/`` and, if networks are trained, ``reuters-21578/`` and ``sentiment/``.
    seed
        Seed of all random draws.
    train
        True to train the networks again, which needs the extra ``networks`` and 10 to 20 minutes;
        False to read the predictions that ship with the package.
    progress
        Called with the number of networks that have been trained or measured.

    Returns
    -------
    Study
        The names of its findings and tables begin with ``given`` or ``trained``, after the halves.

    Raises
    ------
    InputError
        If there is no folder, or it lacks a file.

    Examples
    --------
    >>> run()
    Traceback (most recent call last):
    calibrant.exceptions.InputError: the study networks needs real data: run `calibrant data fetch ...
    """
    data = real_data("networks", data)
    start = time.perf_counter()
    halves = [given(data, seed), trained(data, seed, anew=train, progress=progress)]
    return _joined(halves, seed, start, "calibrant study networks" + " --train" * train)


def _joined(halves: list[Half], seed: int, start: float, command: str) -> Study:
    """One record of both halves."""
    return Study(
        name="networks",
        title="Calibration of neural networks (Guo, Pleiss, Sun & Weinberger 2017)",
        command=command,
        seed=seed,
        wall_seconds=time.perf_counter() - start,
        data={name: value for half in halves for name, value in half.data.items()},
        parameters={name: value for half in halves for name, value in half.parameters.items()},
        findings=tuple(finding for half in halves for finding in half.findings),
        tables={name: rows for half in halves for name, rows in half.tables.items()},
    )


def figures(study: Study) -> dict[str, Figure]:
    """Draw the study's figures from its record alone."""
    from calibrant_studies import _networks_figures, _networks_trained_figures

    return _networks_figures.draw(study) | _networks_trained_figures.draw(study)
