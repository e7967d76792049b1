"""Kranzlein, Liu & Schneider (2021): recalibrating taggers of hundreds of tags, down to the rarest.

Most scores of such a tagger are close to 0 and most of its tags are too rare to be recalibrated one by one.
The study compares one map for all tags with one map for each group of similarly frequent tags.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from calibrant.metrics.groups import THRESHOLD
from calibrant_studies import _sparse_measure as measuring
from calibrant_studies._base import Finding, Row, Study, digest
from calibrant_studies._sparse_ablation import SPLITS, affected_rows, effect_rows, rule_rows
from calibrant_studies._sparse_authors import TASKS, group_rows, has_scores, result_rows
from calibrant_studies._sparse_authors import sources as authors_files
from calibrant_studies._sparse_balanced import arrange_balanced, balanced_tables, find_balanced
from calibrant_studies._sparse_choice import choice_rows
from calibrant_studies._sparse_findings import find
from calibrant_studies._sparse_maps import BINS
from calibrant_studies._sparse_page import arrange
from calibrant_studies._sparse_published import arrange_published, find_published
from calibrant_studies._sparse_scores import BALANCED, GROUPS, KINDS, Tagset
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
    renormalized: list[Row] = field(default_factory=list)
    rest: list[Row] = field(default_factory=list)
    bins: list[Row] = field(default_factory=list)
    choice: list[Row] = field(default_factory=list)
    rules: list[Row] = field(default_factory=list)
    effects: list[Row] = field(default_factory=list)
    affected: list[Row] = field(default_factory=list)


def run(*, data: Path | None = None, seed: int = SEED) -> Study:
    """Recalibrate three taggers on dev and measure them on test; about twenty minutes, mostly training.

    Then follow the authors' published numbers, the rules of their code, and two balanced tagsets.

    The study uses two models of `calibrant_studies.models.models_folder`. ``en_ud_ewt_gum`` is a spaCy
    pipeline with a morphologizer; if it is missing, that tagger is skipped. ``streusle-lextag.model`` is the
    CRF as `calibrant.structures.save_model` writes it; if it is missing, the CRF is trained.

    Parameters
    ----------
    data
        Folder that has ``sparse-tags/``, ``ud-english-ewt/``, ``conll2000/`` and ``tfg-authors/``; and
        ``tfg-scores/``, without which the authors' numbers are not computed again.
    seed
        Seed of the resampled dev texts.

    Returns
    -------
    Study
        Tables of `Tables`, by name, and those of the authors' files and of the balanced tagsets.

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
        Number of epochs of the CRF's training.
    draws
        Number of resampled dev texts.

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
    more = added_tables(data)
    loaded = "lextag" in wanted and models is not None and (models / SAVED).exists()
    return Study(
        name="sparse",
        title="Recalibrating taggers with sparse tagsets (Kranzlein, Liu & Schneider 2021)",
        command="calibrant study sparse",
        seed=seed,
        wall_seconds=time.perf_counter() - start,
        data={_name(path): digest(path) for path in _files(data, models, wanted)},
        parameters={
            "threshold": THRESHOLD,
            "bins": BINS,
            "G": GROUPS,
            "clusters": "sentences",
            "LEXTAG's CRF": f"penalty {PENALTY:g}, "
            + ("trained before" if loaded else f"{epochs} epochs of stochastic gradients"),
            "HMM": f"pseudocount {PSEUDOCOUNT:g}, unseen words in classes",
            "dev resampled": f"{draws} times",
            **added_parameters(data),
            **({"skipped for want of a model": skipped} if skipped else {}),
        },
        findings=(*find(found, vars(tables)), *find_added(vars(tables) | more)),
        tables=vars(tables) | more | arrange(vars(tables)) | arrange_added(vars(tables) | more),
    )


def added_tables(data: Path) -> dict[str, list[Row]]:
    """Return the tables of the authors' files and of the balanced tagsets, which need no sparse tagset."""
    published = {"authors": result_rows(data), "author-groups": group_rows(data)}
    return published | balanced_tables(list(tagsets(data, None, tuple(BALANCED), EPOCHS)))


def added_parameters(data: Path) -> dict[str, str]:
    """Return the tasks without the authors' scores, and the number of draws of halves."""
    lacking = [title for title, task in TASKS.items() if not has_scores(data, task)]
    return {"random halves": f"{SPLITS} draws"} | (
        {"authors' scores not available": ", ".join(lacking)} if lacking else {}
    )


def find_added(tables: Mapping[str, list[Row]]) -> Iterator[Finding]:
    """Findings about the authors' files, the rules of their code, and the balanced tagsets."""
    yield from find_published(tables)
    yield from find_balanced(tables)


def arrange_added(tables: Mapping[str, list[Row]]) -> dict[str, list[Row]]:
    """Tables of the same parts for the page."""
    return arrange_published(tables) | arrange_balanced(tables)


def _files(data: Path, models: Path | None, kinds: Sequence[str]) -> list[Path]:
    found = [*sources(data, models, (*kinds, *BALANCED)), *authors_files(data)]
    return list(dict.fromkeys(found))


def _name(path: Path) -> str:
    """A file's name; its folder's too if that alone tells files apart."""
    if path.parent.name in ("conll2000", "tfg-authors", "tfg-scores"):
        return "/".join(path.parts[-2:])
    return path.name if path.name != "model" else "/".join(path.parts[-3:])


def _measure(tagset: Tagset, tables: Tables, draws: int, seed: int) -> None:
    after = measuring.all_recalibrated(tagset)
    of_paper = {condition: after[condition] for condition in measuring.CONDITIONS}
    tables.errors += measuring.error_rows(tagset, after)
    tables.rivals += measuring.rival_rows(tagset, of_paper, "SCW", "TFG")
    tables.groups += measuring.group_rows(tagset)
    tables.resampled += measuring.resampled_rows(tagset, draws, seed)
    tables.renormalized += measuring.renormalized_rows(tagset, of_paper)
    tables.rest.append(measuring.rest_row(tagset))
    tables.bins += measuring.bin_rows(tagset, of_paper)
    tables.choice += choice_rows(tagset, seed)
    add_rules(tagset, tables)


def add_rules(tagset: Tagset, tables: Tables) -> None:
    """Measure a tagger by the rules of the authors' code."""
    tables.rules += rule_rows(tagset)
    tables.effects += effect_rows(tagset)
    tables.affected += affected_rows(tagset)


def figures(study: Study) -> dict[str, Figure]:
    """Draw the study's figures from its record alone."""
    from calibrant_studies._sparse_figures import draw

    return draw(study)
