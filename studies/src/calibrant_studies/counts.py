"""Intervals of counts under a calibrated model: entities in gold and in samples, by document.

The 2015 paper propagates the uncertainty of coreference into counts, and asks about the validity of the
intervals if calibration is perfect. Here every document is predicted by a model that has not seen it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from calibrant_studies import _counts_checks as checks
from calibrant_studies import _counts_example, _counts_simulated
from calibrant_studies._base import Row, Study, digest
from calibrant_studies._coreference_data import TITLE, read, sources
from calibrant_studies._counts_findings import find
from calibrant_studies._counts_models import PENALTY, predictions, splits_of
from calibrant_studies._counts_numbers import (
    ACTING,
    REFITS,
    SAMPLES,
    SHAPES,
    WHENS,
    Counts,
    acting,
    any_verb,
    counted,
    joined,
)
from calibrant_studies._counts_page import arrange
from calibrant_studies.datasets._folders import real_data

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SEED = 2015
CORPORA = ("litbank", "gum")
BOTH = "both"
Tables = dict[str, list[Row]]


def run(*, data: Path | None = None, seed: int = SEED) -> Study:
    """Train on ten splits of LitBank and GUM, and count; takes ten minutes on two free processors.

    Parameters
    ----------
    data
        Folder that has ``ud-english-gum/`` and ``litbank-coref/``.
    seed
        Seed of samples, resampled documents and simulations.

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
    calibrant.exceptions.InputError: the study counts needs real data: run `calibrant data fetch ...
    """
    return counts(data, seed=seed)


def counts(data: Path | None, *, store: Path | None = None, seed: int = SEED) -> Study:
    """Run the study; see `run`.

    Parameters
    ----------
    data, seed
        As in `run`.
    store
        Folder in which the predictions of each trained model are saved. Saved predictions are used again, so
        an interrupted study continues where it was.

    Returns
    -------
    Study
    """
    data = real_data("counts", data)
    start = time.perf_counter()
    found = {corpus: _corpus(data, corpus, store, seed) for corpus in CORPORA}
    trained_before = sum(each.seconds_saved for each in found.values())
    tables = measured({TITLE[corpus]: each.counts for corpus, each in found.items()}, seed)
    tables["temperatures"] = [row for each in found.values() for row in each.temperatures]
    tables |= _counts_example.tables() | _counts_simulated.tables(seed)
    return Study(
        name="counts",
        title="Intervals of counts under a calibrated coreference model (2015 paper, section 6)",
        command="calibrant study counts",
        seed=seed,
        wall_seconds=time.perf_counter() - start + trained_before,
        data={path.name: digest(path) for path in sources(data)},
        parameters={
            "L1 penalty": f"{PENALTY:g}",
            "folds": "ten of each corpus: one for test, the one before it for dev",
            "mentions": "gold",
            "samples": SAMPLES,
            "refits of the temperature": f"{REFITS}, on dev documents drawn with replacement",
            "rules for acting countries": "default, with every verb that occurs",
            "clusters": "documents",
            "groups of 10 and of 100 documents": f"{checks.GROUPS:,}, drawn at random",
        },
        findings=tuple(find(tables)),
        tables=tables | arrange(tables),
    )


@dataclass
class _Corpus:
    """Counts of all documents of a corpus, by name and when."""

    seconds_saved: float = 0.0
    temperatures: list[Row] = field(default_factory=list)
    counts: list[Counts] = field(default_factory=list)


def _corpus(data: Path, corpus: str, store: Path | None, seed: int) -> _Corpus:
    texts = read(data, corpus)
    documents = [document for split in texts.split.values() for document in split]
    possible = acting(documents, any_verb(documents)) if corpus == "gum" else {}
    found = _Corpus()
    parts: dict[tuple[str, str], list[Counts]] = {}
    for number, predicted in enumerate(predictions(splits_of(texts, data), store)):
        fold = counted(predicted, possible, seed)
        found.seconds_saved += predicted.seconds_saved
        low, high = checks.ends(fold.refits)
        found.temperatures.append(
            {
                "set": TITLE[corpus],
                "fold": number,
                "documents": predicted.test.document_count,
                "mentions": predicted.test.mention_count,
                "dev documents": predicted.dev.document_count,
                "temperature": fold.temperature,
                "refits, low": low,
                "refits, high": high,
            }
        )
        for one in fold.counts:
            parts.setdefault((one.name, one.when), []).append(one)
    found.counts = [joined(each) for each in parts.values()]
    return found


def measured(found: dict[str, list[Counts]], seed: int) -> Tables:
    """Compute all checks of each corpus, and of both corpora together for their common counts."""
    names = (*SHAPES, ACTING)
    tables: Tables = {}
    every = {**found, BOTH: _both(list(found.values()))}
    for title, counts_of in every.items():
        for when in WHENS:
            by_name = {each.name: each for each in counts_of if each.when == when}
            parts = [by_name[name] for name in names if name in by_name]
            rows = checks.check_rows({"set": title}, parts, seed)
            rows["sums"] = [row for part in parts for row in checks.sum_rows({"set": title}, part, seed)]
            rows["intervals"] = [checks.interval_row({"set": title}, part) for part in parts]
            if when == "after" and title != BOTH:
                rows["sizes"] = checks.size_rows({"set": title}, parts, seed)
            for key, some_rows in rows.items():
                tables.setdefault(key, []).extend(some_rows)
    return tables


def _both(corpora: list[list[Counts]]) -> list[Counts]:
    """Shapes of entities in all documents; a document's name tells its corpus."""
    found = []
    for name in SHAPES:
        for when in WHENS:
            found.append(
                joined([each for of in corpora for each in of if (each.name, each.when) == (name, when)])
            )
    return found


def figures(study: Study) -> dict[str, Figure]:
    """Draw the study's figures from its record alone."""
    from calibrant_studies._counts_figures import draw

    return draw(study)
