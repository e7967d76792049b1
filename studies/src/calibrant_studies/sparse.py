"""Kranzlein, Liu & Schneider (2021): recalibrating taggers of hundreds of tags, down to the rarest.

Most scores of such a tagger are close to 0 and most of its tags are too rare to be mended one by one. Is one
map for all tags enough, or does it take one for each group of similarly frequent tags?
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from calibrant.metrics.groups import THRESHOLD
from calibrant_studies import _sparse_measure as measuring
from calibrant_studies._base import Row, Study, digest
from calibrant_studies._sparse_choice import choice_rows
from calibrant_studies._sparse_findings import find
from calibrant_studies._sparse_maps import BINS
from calibrant_studies._sparse_page import arrange
from calibrant_studies._sparse_scores import GROUPS, KINDS, Tagset
from calibrant_studies._sparse_taggers import (
    EPOCHS,
    PENALTY,
    PSEUDOCOUNT,
    SAVED,
    has_pipeline,
    sources,
    tagsets,
)
from calibrant_studies.datasets._folders import real_data
from calibrant_studies.models import models_folder

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SEED = 2021


@dataclass
class Tables:
    """The study's tables, filled tagger by tagger."""

    errors: list[Row] = field(default_factory=list)
    rivals: list[Row] = field(default_factory=list)
    groups: list[Row] = field(default_factory=list)
    resampled: list[Row] = field(default_factory=list)
    renormalised: list[Row] = field(default_factory=list)
    rest: list[Row] = field(default_factory=list)
    bins: list[Row] = field(default_factory=list)
    choice: list[Row] = field(default_factory=list)


def run(*, data: Path | None = None, seed: int = SEED) -> Study:
    """Recalibrate three taggers on dev and measure them on test; about ten minutes, most of them training.

    Of the models in `calibrant_studies.models.models_folder` the study uses
    ``en_ud_ewt_gum``, a spaCy pipeline with a morphologizer, without which that tagger is skipped; and
    ``streusle-lextag.model``, the CRF as `calibrant.structures.save_model` writes it, without which it is
    trained.

    Parameters
    ----------
    data
        Folder that has ``sparse-tags/`` and ``ud-english-ewt/``.
    seed
        Of the resampled dev texts.

    Returns
    -------
    Study
        With the tables of `Tables`, by name.

    Raises
    ------
    InputError
        If there is no folder, or it lacks a file.

    Examples
    --------
    >>> run()
    Traceback (most recent call last):
    calibrant.exceptions.InputError: the study sparse needs real data: run `calibrant data fetch ...
    """
    return sparse(data, models=models_folder(), seed=seed)


def sparse(
    data: Path | None,
    *,
    models: Path | None = None,
    kinds: Sequence[str] = KINDS,
    epochs: int = EPOCHS,
    draws: int = measuring.DRAWS,
    seed: int = SEED,
) -> Study:
    """Run the study on some of its taggers; see `run`.

    Parameters
    ----------
    data, seed
        As in `run`.
    models
        Folder of models.
    kinds
        Among ``lextag``, ``hmm`` and ``spacy``.
    epochs
        Of the CRF's training.
    draws
        Resampled dev texts.

    Returns
    -------
    Study
    """
    data = real_data("sparse", data)
    start = time.perf_counter()
    wanted = [kind for kind in kinds if kind != "spacy" or has_pipeline(models)]
    skipped = ", ".join(set(kinds) - set(wanted))
    found: list[Tagset] = []
    tables = Tables()
    for tagset in tagsets(data, models, wanted, epochs):
        _measure(tagset, tables, draws, seed)
        found.append(tagset)
    loaded = "lextag" in wanted and models is not None and (models / SAVED).exists()
    return Study(
        name="sparse",
        title="Recalibrating taggers with sparse tagsets (Kranzlein, Liu & Schneider 2021)",
        command="calibrant study sparse",
        seed=seed,
        wall_seconds=time.perf_counter() - start,
        data={_name(path): digest(path) for path in sources(data, models, wanted)},
        parameters={
            "threshold": THRESHOLD,
            "bins": BINS,
            "G": GROUPS,
            "clusters": "sentences",
            "LEXTAG's CRF": f"penalty {PENALTY:g}, "
            + ("trained before" if loaded else f"{epochs} epochs of stochastic gradients"),
            "HMM": f"pseudocount {PSEUDOCOUNT:g}, unseen words in classes",
            "dev resampled": f"{draws} times",
            **({"skipped for want of a model": skipped} if skipped else {}),
        },
        findings=tuple(find(found, vars(tables))),
        tables=vars(tables) | arrange(vars(tables)),
    )


def _name(path: Path) -> str:
    """A file's name; of a pipeline's parts, which are all called model, their folder's too."""
    return path.name if path.name != "model" else "/".join(path.parts[-3:])


def _measure(tagset: Tagset, tables: Tables, draws: int, seed: int) -> None:
    after = measuring.all_mended(tagset)
    of_paper = {condition: after[condition] for condition in measuring.CONDITIONS}
    tables.errors += measuring.error_rows(tagset, after)
    tables.rivals += measuring.rival_rows(tagset, of_paper, "SCW", "TFG")
    tables.groups += measuring.group_rows(tagset)
    tables.resampled += measuring.resampled_rows(tagset, draws, seed)
    tables.renormalised += measuring.renormalised_rows(tagset, of_paper)
    tables.rest.append(measuring.rest_row(tagset))
    tables.bins += measuring.bin_rows(tagset, of_paper)
    tables.choice += choice_rows(tagset, seed)


def figures(study: Study) -> dict[str, Figure]:
    """Draw the study's figures from its record alone."""
    from calibrant_studies._sparse_figures import draw

    return draw(study)
