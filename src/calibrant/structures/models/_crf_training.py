"""Training with CRFsuite, and reading of its weights."""

from __future__ import annotations

import ctypes
import re
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from calibrant.exceptions import CalibrantError
from calibrant.lazy import from_extra
from calibrant.progress import Progress, tell
from calibrant.structures.models._vocabulary import Integers
from calibrant.structures.models.crfsuite_file import ModelFile, parse_model

Floats = NDArray[np.float64]
Setting = float | int | str

_ITERATION = re.compile(r"\*{5} (?:Iteration|Epoch) #(\d+) \*{5}")
# Log lines of the algorithms after convergence.
_CONVERGED = re.compile("L-BFGS resulted in convergence|.*[Tt]erminated with the stopping criteri")
_one_at_a_time = Lock()  # CRFsuite shuffles with the global generator of the C library


@dataclass(frozen=True)
class Trained:
    """Result of a training.

    Attributes
    ----------
    row, tag, weight
        Weights of (attribute, tag) that are not 0, in no particular order.
    transition
        (K, K) weights ``[from, to]``.
    iterations
        Number of iterations.
    converged
        True if training converged.
    """

    row: Integers
    tag: Integers
    weight: Floats
    transition: Floats
    iterations: int
    converged: bool


def train(
    items: Iterable[list[list[str]]],
    tags: Iterable[Integers],
    tag_count: int,
    *,
    algorithm: str,
    settings: Mapping[str, Setting],
    seed: int,
    progress: Progress | None = None,
) -> Trained:
    """Train a chain CRF on attributes and tags that are decimal numbers.

    Names of digits avoid characters that CRFsuite treats specially.

    Parameters
    ----------
    items
        Attributes of each token of each sentence.
    tags
        Codes of each sentence's tags.
    tag_count
        Number K of tags.
    algorithm, settings
        Names and values of CRFsuite.
    seed
        Seed for algorithms that shuffle the sentences.
    progress
        Called with ``"train"``, the iteration, and the largest number of iterations.

    Returns
    -------
    Trained

    Raises
    ------
    CalibrantError
        If CRFsuite fails.
    """
    pycrfsuite = from_extra("pycrfsuite", "training a CRF needs python-crfsuite", "structures")

    iterations, converged = 0, False

    def message(line: str) -> None:
        nonlocal iterations, converged
        converged = converged or _CONVERGED.match(line) is not None
        found = _ITERATION.match(line)
        if found:
            iterations = int(found.group(1))
            tell(progress, "train", iterations, int(settings["max_iterations"]))

    trainer = pycrfsuite.Trainer(algorithm, settings, verbose=False)
    trainer.message = message
    names = [str(code) for code in range(tag_count)]
    for sentence, codes in zip(items, tags, strict=True):
        trainer.append(sentence, [names[code] for code in codes.tolist()])
    with tempfile.TemporaryDirectory(prefix="calibrant-") as folder, _one_at_a_time:
        path = Path(folder) / "model"
        _seed_shuffling(seed)
        try:
            trainer.train(str(path))
        except pycrfsuite.CRFSuiteError as error:
            raise CalibrantError(f"CRFsuite failed: {error}", "try other settings") from error
        model = parse_model(path.read_bytes())
    return _weights(model, tag_count, iterations, converged)


def _weights(model: ModelFile, tag_count: int, iterations: int, converged: bool) -> Trained:
    """Return weights by row and tag instead of by CRFsuite's numbers."""
    row, tag = np.array(model.attributes, np.int64), np.array(model.labels, np.int64)
    transition = np.zeros((tag_count, tag_count))
    edges = model.transition
    transition[tag[edges["source"]], tag[edges["target"]]] = edges["weight"]
    weight = model.state["weight"].astype(np.float64)
    if not (np.isfinite(weight).all() and np.isfinite(transition).all()):
        hint = "change the settings, or use lbfgs"
        raise CalibrantError("training diverged: CRFsuite returned weights that are not finite", hint)
    return Trained(
        row[model.state["source"]], tag[model.state["target"]], weight, transition, iterations, converged
    )


def _seed_shuffling(seed: int) -> None:
    """Seed the C library's generator, with which CRFsuite shuffles sentences."""
    ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None).srand(ctypes.c_uint(seed))
