"""Which country attacks? Counts of documents over time, with the uncertainty of coreference.

The 2015 paper counts articles of the New York Times; this study counts documents of three dated corpora, by
the paper's verb and by a list of verbs of force.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from calibrant.estimation.total import RefittedRecalibrator
from calibrant.exceptions import InputError
from calibrant_studies._base import Row, Study, digest
from calibrant_studies._coreference_data import FILES as COREFERENCE_FILES
from calibrant_studies._coreference_data import PIPELINE, SPLITS, read
from calibrant_studies._counts_models import PENALTY, splits_of
from calibrant_studies._events_data import (
    CORPORA,
    MODEL,
    NYT,
    RULES,
    SAMPLES,
    Corpus,
    Extracted,
    extractions,
    seconds_of,
    store_name,
    trained_model,
    write_world_news,
)
from calibrant_studies._events_dev import labelled
from calibrant_studies._events_differences import difference_tables
from calibrant_studies._events_findings import find
from calibrant_studies._events_names import LEXICON, lexicons, relations
from calibrant_studies._events_numbers import (
    Counted,
    country_rows,
    fewer_rows,
    overview_row,
    series_rows,
    total_row,
    verb_rows,
)
from calibrant_studies._events_page import arrange
from calibrant_studies._events_parts import (
    all_parts,
    labels_part,
    lexicons_part,
    relations_part,
    skipping_part,
    states,
)
from calibrant_studies._events_readings import doubtful_rows, sure_rows
from calibrant_studies._events_skipping import skipping
from calibrant_studies._events_total import REFITS, bin_rows, label_rows, map_rows, recalibrator
from calibrant_studies.datasets._folders import real_data, required
from calibrant_studies.models import FOLDER, find_model

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SEED = 2015
STORE = "CALIBRANT_STORE"
PAPER_COUNTRIES = 4  # by the paper's rules few countries have more than a handful
READ = ("skipping", "lexicons", "lexicon-words", "relations")  # tables of samples of the corpora
Tables = dict[str, list[Row]]


def run(*, data: Path | None = None, seed: int = SEED, nyt: Path | None = None) -> Study:
    """Extract from three corpora and count; about an hour on two free processors.

    The parser is that of `calibrant_studies.models.models_folder`. ``CALIBRANT_STORE`` names a
    folder that keeps the slow parts, so that an interrupted study continues from them.

    Parameters
    ----------
    data
        Folder that has ``ud-english-gum/`` and the corpora.
    seed
        Seed of the labeled documents' samples, and of those drawn with replacement.
    nyt
        Folder of the New York Times Annotated Corpus, which the paper uses. With it the study runs on its
        world news alone, and takes days; name a folder by ``CALIBRANT_STORE`` to continue an interrupted run.

    Returns
    -------
    Study

    Raises
    ------
    InputError
        If there is no folder or no parser, or a file is missing.

    Examples
    --------
    >>> run()
    Traceback (most recent call last):
    calibrant.exceptions.InputError: the study events needs real data: run `calibrant data fetch ...
    """
    kept = os.environ.get(STORE)
    pipeline = find_model(PIPELINE)
    if kept:
        return events(data, pipeline=pipeline, store=Path(kept), seed=seed, nyt=nyt)
    with TemporaryDirectory() as folder:
        return events(data, pipeline=pipeline, store=Path(folder), seed=seed, nyt=nyt)


def events(
    data: Path | None, *, pipeline: Path | None, store: Path, seed: int = SEED, nyt: Path | None = None
) -> Study:
    """Run the study; see `run`.

    Parameters
    ----------
    data, seed, nyt
        As in `run`.
    pipeline
        Folder of the parser.
    store
        Folder of the model, the stores of events and the labeled documents. Existing parts are reused if they
        were made with the same settings; interrupted parts are continued.

    Returns
    -------
    Study
    """
    data = real_data("events", data)
    if pipeline is None or not pipeline.exists():
        hint = f"run `calibrant data train`, or set {FOLDER} to a folder that has {PIPELINE}"
        raise InputError("the study events needs a parser", hint, code="file-missing")
    start = time.perf_counter()
    store.mkdir(parents=True, exist_ok=True)
    if nyt is None:
        files = {corpus: corpus.file(data) for corpus in CORPORA}
        others = [required(data, LEXICON)]
    else:
        write_world_news(nyt, store)
        files, others = {NYT: NYT.file(store)}, []
    before = _seconds_before(store, seed, files)
    known = labels_part(seed).take(
        store, lambda: asdict(labelled(splits_of(read(data, "gum"), data), PENALTY, seed))
    )
    model = trained_model(data, store)
    found = list(extractions(files, pipeline, model, store))
    # Skipping, lexicons and relations are measured on the corpora that everyone has.
    more = read_tables(data, pipeline, model, store) if nyt is None else {key: [] for key in READ}
    recalibrated = recalibrator(known["rows"], seed)
    tables = measured(found, recalibrated)
    tables |= {
        "labels": label_rows(known["rows"]),
        "bins": bin_rows(known["rows"]),
        "map": map_rows(recalibrated),
        **more,
    }
    return Study(
        name="events" if nyt is None else "events-nyt",
        title="Events: which country attacks, and how uncertain are the counts? (2015 paper, section 6)",
        command="calibrant study events" + ("" if nyt is None else " --nyt PATH"),
        seed=seed,
        wall_seconds=time.perf_counter() - start + before,
        data={
            f"{path.parent.name}/{path.name}": digest(path)
            for path in (*gum_files(data), *files.values(), *others)
        },
        parameters={
            "samples": SAMPLES,
            "coreference model": "GUM, syntax features, detected mentions, penalty and temperature by dev",
            "parser": PIPELINE,
            "recalibrator": f"Platt, refitted to {REFITS} draws of GUM's documents",
            "temperatures of GUM's ten models": f"{min(known['temperatures']):.2f} to "
            f"{max(known['temperatures']):.2f}",
            "seconds of parts made in earlier runs": round(before),
        },
        findings=tuple(find(tables)),
        tables=tables | arrange(tables),
    )


def sources(data: Path) -> list[Path]:
    """Every file that the study reads."""
    return [*gum_files(data), *(corpus.file(data) for corpus in CORPORA), required(data, LEXICON)]


def gum_files(data: Path) -> list[Path]:
    """Files that the coreference model is trained on and labels are from."""
    return [data / COREFERENCE_FILES["gum"].format(part) for part in SPLITS]


def read_tables(data: Path, pipeline: Path, model: Path, store: Path) -> Tables:
    """Return the tables of samples of the corpora; kept parts are reused."""
    skipped = skipping_part().take(store, lambda: skipping(data, pipeline, model))
    names = lexicons_part().take(store, lambda: lexicons(data, pipeline))
    found = relations_part().take(store, lambda: relations(data, pipeline, model))
    rows = skipped["rows"], names["rows"], names["words"], found["rows"]
    return dict(zip(READ, rows, strict=True))


def measured(found: Sequence[Extracted], recalibrated: RefittedRecalibrator) -> Tables:
    """All tables that follow from stores."""
    counted = {(each.corpus.name, each.rules): Counted(each, recalibrated) for each in found}
    main = [each for (_, rules), each in counted.items() if rules == "default"]
    paper = {name: each for (name, rules), each in counted.items() if rules == "paper"}
    stores = {each.source.corpus.name: each.source.store for each in main}
    tables: Tables = {
        "overview": [overview_row(each) for each in counted.values()],
        "totals": [total_row(each) for each in counted.values()],
        "countries": [row for each in main for row in country_rows(each, paper[each.source.corpus.name])],
        "series": [row for each in main for row in series_rows(each, each.frequent)],
        "verbs": [row for each in main for row in verb_rows(each)],
        "fewer": [row for each in counted.values() for row in fewer_rows(each)],
        "doubtful": doubtful_rows(stores),
        "sure": sure_rows(stores),
    }
    for one in paper.values():
        tables["series"] += series_rows(one, one.frequent[:PAPER_COUNTRIES])
    for one in counted.values():
        for key, rows in difference_tables(one).items():
            tables.setdefault(key, []).extend(rows)
    return tables


def _seconds_before(store: Path, seed: int, corpora: Iterable[Corpus]) -> float:
    """Return the seconds of the parts that earlier runs have made."""
    kept = [part.there(store) or {"seconds": 0.0} for part in all_parts(seed)]
    names = [store_name(corpus.name, rules) for corpus in corpora for rules in RULES]
    times = [seconds_of(store / name) for name in (MODEL, *names)]
    return sum(times) + sum(float(part["seconds"]) for part in kept)


def plan(seed: int = SEED) -> list[str]:
    """Describe the slow parts that the next run reuses, and those that it computes again."""
    kept = os.environ.get(STORE)
    if not kept:
        return [f"All parts are computed again and none is kept: set {STORE} to a folder to keep them."]
    found = states(Path(kept), seed)
    width = max(len(name) for name, _ in found)
    return [f"In {kept} ({STORE}):", *(f"  {name:<{width}}  {state}" for name, state in found)]


def figures(study: Study) -> dict[str, Figure]:
    """Draw the study's figures from its record alone."""
    from calibrant_studies._events_figures import draw

    return draw(study)
