"""Section 5 of the 2015 paper: calibration of the probabilities of a coreference model.

A locally normalized model gives each mention a distribution over antecedents, and so each pair of mentions a
probability of being one entity. The paper samples this probability; the study computes it exactly, and
compares it with samples.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calibrant.exceptions import InputError
from calibrant_studies import _coreference_parts as parts
from calibrant_studies._base import Row, Study, digest
from calibrant_studies._coreference_data import (
    PIPELINE,
    Texts,
    detected,
    folds,
    parsed,
    read,
    read_ontonotes,
    sources,
)
from calibrant_studies._coreference_findings import find
from calibrant_studies._coreference_models import L1_PENALTIES
from calibrant_studies._coreference_page import arrange
from calibrant_studies._kept_parts import KeptPart
from calibrant_studies.datasets._folders import real_data
from calibrant_studies.licensed import digest_of_folder
from calibrant_studies.models import FOLDER, find_model

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SEED = 2015
Tables = dict[str, list[Row]]


@dataclass(frozen=True)
class Sources:
    """The study's texts, each read or parsed once, when a part asks for it."""

    data: Path
    pipeline: Path | None
    folder: Path | None = None

    @cached_property
    def gum(self) -> Texts:
        """GUM with gold mentions and trees."""
        return read(self.data, "gum")

    @cached_property
    def litbank(self) -> Texts:
        """LitBank with gold mentions, without trees."""
        return read(self.data, "litbank")

    @cached_property
    def ontonotes(self) -> Texts:
        """CoNLL-2011 with gold mentions, and trees from its constituents."""
        assert self.folder is not None
        return read_ontonotes(self.folder)

    @cached_property
    def gum_parsed(self) -> Texts:
        """GUM with predicted trees."""
        return parsed(self.gum, self._needed())

    @cached_property
    def litbank_parsed(self) -> Texts:
        """LitBank with predicted trees."""
        return parsed(self.litbank, self._needed())

    def _needed(self) -> Path:
        if self.pipeline is None:
            hint = f"run `calibrant data train`, or set {FOLDER} to a folder that has {PIPELINE}"
            raise InputError("the study coreference needs a parser", hint, code="file-missing")
        return self.pipeline


PARTS: dict[str, Callable[[Sources, int], Tables]] = {
    "gum": lambda of, seed: parts.main(of.gum, seed),
    "litbank": lambda of, seed: parts.main(of.litbank, seed),
    "costs-gum": lambda of, seed: parts.costs(of.gum, seed),
    "costs-litbank": lambda of, seed: parts.costs(of.litbank, seed),
    "detected-gum": lambda of, seed: parts.condition(detected(of.gum), seed),
    "detected-litbank": lambda of, seed: parts.condition(detected(of.litbank_parsed), seed),
    "parsed-gum": lambda of, seed: parts.condition(of.gum_parsed, seed),
    "parsed-litbank": lambda of, seed: parts.condition(of.litbank_parsed, seed),
    "detected-parsed-gum": lambda of, seed: parts.condition(detected(of.gum_parsed), seed),
    "folds": lambda of, seed: parts.all_folds(folds(of.data, of.litbank), seed),
    "ablation-litbank": lambda of, seed: parts.ablation(of.litbank, seed),
    "ablation-gum": lambda of, seed: parts.ablation(of.gum, seed),
}
# Licensed texts; with them the study runs on these texts only.
ONTONOTES: dict[str, Callable[[Sources, int], Tables]] = {
    "ontonotes": lambda of, seed: parts.main(of.ontonotes, seed),
    "detected-ontonotes": lambda of, seed: parts.condition(detected(of.ontonotes), seed),
}
PARSED = frozenset({"detected-litbank", "parsed-gum", "parsed-litbank", "detected-parsed-gum"})


def run(*, data: Path | None = None, seed: int = SEED, ontonotes: Path | None = None) -> Study:
    """Train and measure on GUM and LitBank; takes about half an hour on two processors.

    The parser is that of `calibrant_studies.models.models_folder`; without it the parts with predicted trees
    are left out.

    Parameters
    ----------
    data
        Folder that has ``ud-english-gum/`` and ``litbank-coref/``.
    seed
        Seed of samples, resampled documents, and the search for clusterings.
    ontonotes
        Folder of CoNLL-2011 or CoNLL-2012, on which the paper measures. With it the study runs on these texts
        alone.

    Returns
    -------
    Study

    Raises
    ------
    InputError
        If there is no folder, or it lacks a file.

    Examples
    --------
    >>> run()
    Traceback (most recent call last):
    calibrant.exceptions.InputError: the study coreference needs real data: run `calibrant data fetch ...
    """
    if ontonotes is not None:
        return coreference(data, names=tuple(ONTONOTES), seed=seed, ontonotes=ontonotes)
    return coreference(data, pipeline=find_model(PIPELINE), seed=seed)


def coreference(
    data: Path | None,
    *,
    pipeline: Path | None = None,
    names: Sequence[str] = tuple(PARTS),
    store: Path | None = None,
    seed: int = SEED,
    ontonotes: Path | None = None,
) -> Study:
    """Run some parts of the study; see `run`.

    Parameters
    ----------
    data, seed, ontonotes
        As in `run`.
    pipeline
        Folder of the parser. None: without the parts that need it.
    names
        Names of parts, from `PARTS` or `ONTONOTES`.
    store
        Folder in which each part's tables are saved. Saved tables of the same seed are used again, so an
        interrupted study continues where it was.

    Returns
    -------
    Study
    """
    if ontonotes is None:
        data = real_data("coreference", data)
        files = {path.name: digest(path) for path in sources(data)}
    else:
        data, files = ontonotes, {"ontonotes": digest_of_folder(ontonotes)}
    texts = Sources(data, pipeline, ontonotes)
    wanted = [name for name in names if pipeline is not None or name not in PARSED]
    tables: Tables = {}
    seconds = 0.0
    for name in wanted:
        found = _part(name, texts, store, seed)
        seconds += found["seconds"]
        for key, rows in found["tables"].items():
            tables.setdefault(key, []).extend(rows)
    return Study(
        name="coreference" if ontonotes is None else "coreference-ontonotes",
        title="Coreference: sampled entities, exact pair probabilities (2015 paper, section 5)",
        command="calibrant study coreference" + ("" if ontonotes is None else " --ontonotes PATH"),
        seed=seed,
        wall_seconds=seconds,
        data=files,
        parameters={
            "parts": ", ".join(wanted),
            "L1 penalty": f"the best of {', '.join(f'{l1:g}' for l1 in L1_PENALTIES)}, by CoNLL F1 on dev",
            "bin size of plug-in errors": "min(5000, max(200, n // 20))",
            "bin size of debiased errors": "n^(1/3), at least 20",
            "clusters": "documents",
            "F1": "singletons count unless the table says no",
        },
        findings=tuple(find(tables)),
        tables=tables | arrange(tables),
    )


def _part(name: str, texts: Sources, store: Path | None, seed: int) -> dict[str, Any]:
    """Return a part's tables and its seconds, computed now or saved by an earlier run."""

    def make() -> dict[str, Any]:
        start = time.perf_counter()
        tables = (PARTS | ONTONOTES)[name](texts, seed)
        return {"tables": tables, "seconds": time.perf_counter() - start}

    return make() if store is None else KeptPart(f"{name}.json", {"seed": seed}).take(store, make)


def figures(study: Study) -> dict[str, Figure]:
    """Draw the study's figures from its record alone."""
    from calibrant_studies._coreference_figures import draw

    return draw(study)
