"""Section 4.2 of the 2015 paper and chapter 4 of the thesis: part-of-speech tags of HMMs and CRFs.

Both models are chains over tags; one is trained to generate words and tags, the other to predict the tags
alone. The study compares the calibration of their probabilities of single tags and of consecutive tags.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from calibrant.structures.models.crf import CRFTagger
from calibrant.structures.models.hmm import UNSEEN, HMMTagger
from calibrant.structures.models.tuning import PSEUDOCOUNTS, token_accuracy
from calibrant_studies import _tagging_findings as findings
from calibrant_studies import _tagging_measure as measuring
from calibrant_studies._base import Row, Study, digest
from calibrant_studies._tagging_binnings import binning_rows
from calibrant_studies._tagging_compare import count_wins
from calibrant_studies._tagging_data import FILES, TextSet, read_licensed, read_set, sources
from calibrant_studies._tagging_measure import ALL_TAGS, COMPARISONS, DRAWN, Evaluated
from calibrant_studies._tagging_models import (
    ABLATION_PENALTIES,
    STEPS,
    SWEEP,
    Tagger,
    Training,
    hidden_markov_models,
    hmm_like,
    training,
)
from calibrant_studies._tagging_page import arrange
from calibrant_studies.datasets._folders import real_data
from calibrant_studies.licensed import digest_of_folder

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SEED = 2015
ITERATIONS = 200
SWEPT = ("query", "accuracy", "debiased", "low", "high", "slope", "slope, low", "slope, high")


@dataclass
class Tables:
    """The study's tables, filled set by set."""

    errors: list[Row] = field(default_factory=list)
    matched: list[Row] = field(default_factory=list)
    wins: list[Row] = field(default_factory=list)
    means: list[Row] = field(default_factory=list)
    pseudocounts: list[Row] = field(default_factory=list)
    penalties: list[Row] = field(default_factory=list)
    ablation: list[Row] = field(default_factory=list)
    clusters: list[Row] = field(default_factory=list)
    chosen: list[Row] = field(default_factory=list)
    tags: list[Row] = field(default_factory=list)
    pairs: list[Row] = field(default_factory=list)
    curves: list[Row] = field(default_factory=list)
    binnings: list[Row] = field(default_factory=list)


def run(
    *, data: Path | None = None, seed: int = SEED, ontonotes: Path | None = None, ptb: Path | None = None
) -> Study:
    """Train and measure every model on every data set; about half an hour on two processors.

    Parameters
    ----------
    data
        Folder that has ``twitter-pos/``, ``wsj-pos/``, ``conll2000/`` and ``ud-english-ewt/``.
    ontonotes
        Folder of CoNLL-2011, whose Wall Street Journal the paper and the thesis use. With it or ``ptb`` the
        study runs on these sentences alone.
    ptb
        Folder of the Penn Treebank; sections 0 to 18 train, 19 to 21 tune and 22 to 24 test.
    seed
        Recorded only: the signs for the standard errors of differences have their own seed.

    Returns
    -------
    Study
        Record with the tables of `Tables`, by name.

    Raises
    ------
    InputError
        If there is no folder, or it lacks a file.

    Examples
    --------
    >>> run()
    Traceback (most recent call last):
    calibrant.exceptions.InputError: the study tagging needs real data: run `calibrant data fetch ...
    """
    given = {"ontonotes": ontonotes, "ptb": ptb}
    licensed = {name: folder for name, folder in given.items() if folder is not None}
    return tagging(data, licensed=licensed, names=() if licensed else tuple(FILES), seed=seed)


def tagging(
    data: Path | None,
    *,
    names: Sequence[str] = tuple(FILES),
    licensed: Mapping[str, Path] = MappingProxyType({}),
    iterations: int = ITERATIONS,
    seed: int = SEED,
) -> Study:
    """Run the study on some of its data sets; see `run`.

    Parameters
    ----------
    data
        As in `run`.
    names
        Among ``twitter``, ``wsj``, ``conll2000`` and ``ewt``.
    licensed
        Folders of ``ontonotes`` and ``ptb``.
    iterations
        Largest number of iterations of CRFsuite.
    seed
        Recorded.

    Returns
    -------
    Study
    """
    start = time.perf_counter()
    sets = {name: read_set(real_data("tagging", data), name) for name in names}
    sets |= {name: read_licensed(name, folder) for name, folder in licensed.items()}
    hidden = {name: hidden_markov_models(texts) for name, texts in sets.items()}
    tables, found = Tables(), {}
    with training(iterations) as under_way:
        for name, texts in sets.items():
            under_way.start(texts, hidden[name]["hmm"].dev_accuracy)
        for name in ABLATION_PENALTIES:
            if name in sets:
                under_way.start_ablation(sets[name])
                under_way.start_sweep(sets[name])
        for texts in sets.values():
            _pseudocounts(texts, tables)
        for name, texts in sets.items():
            found[name] = _measure(texts, hidden[name], under_way, tables)
        for name in ABLATION_PENALTIES:
            if name in sets:
                _ablation(sets[name], under_way, tables)
                _penalties(sets[name], under_way, tables)
    return Study(
        name="-".join(["tagging", *licensed]),
        title="Hidden Markov models against conditional random fields (2015 paper, section 4.2; thesis, 4.1)",
        command=" ".join(["calibrant study tagging", *(f"--{name} PATH" for name in licensed)]),
        seed=seed,
        wall_seconds=time.perf_counter() - start,
        data={path.name: digest(path) for path in (sources(data, tuple(names)) if data else ())}
        | {name: digest_of_folder(folder) for name, folder in licensed.items()},
        parameters={
            "hyperparameters": "best accuracy on dev",
            "bin size of plug-in errors": "min(5000, max(200, n // 20))",
            "bin size of debiased errors": "n^(1/3), at least 20",
            "clusters": "sentences",
            "training of CRFs": f"L-BFGS with L2, at most {iterations} iterations",
        },
        findings=tuple(findings.find(found, tables)),
        tables=vars(tables) | arrange(vars(tables)),
    )


def _measure(
    texts: TextSet, hidden: Mapping[str, Tagger], under_way: Training, tables: Tables
) -> dict[str, Evaluated]:
    """Measure one set's models: by key, and ``equal-hmm``, ``equal-crf`` of equal accuracy."""
    basic, *twin = under_way.taggers(texts.name, "basic")
    advanced = under_way.taggers(texts.name, "advanced")[0]
    taggers = {**hidden, "crf-basic": basic, "crf-advanced": advanced}
    models = {key: measuring.evaluated(texts, tagger) for key, tagger in taggers.items()}
    tables.chosen += measuring.candidate_rows(texts, list(taggers.values()))
    for query in (texts.tag, ALL_TAGS):
        tables.errors += [measuring.error_row(model, query) for model in models.values()]
        for key in DRAWN:
            tables.curves += measuring.curve_rows(models[key], query)
    tables.binnings += binning_rows(models["hmm"])
    compared = {
        "full": (models["hmm"], models["crf-basic"]),
        "strong": (models["hmm-classes"], models["crf-advanced"]),
    }
    if texts.name != "twitter":
        compared["equal"] = _equal(texts, models, twin, tables)
        models["equal-hmm"], models["equal-crf"] = compared["equal"]
    for comparison in sorted(compared, key=list(COMPARISONS).index):
        _compare(*compared[comparison], comparison, tables)
    if texts.test.documents is not None:
        tables.clusters += measuring.cluster_rows(models["hmm"], models["crf-basic"])
    return models


def _equal(
    texts: TextSet, models: Mapping[str, Evaluated], twin: Sequence[Tagger], tables: Tables
) -> tuple[Evaluated, Evaluated]:
    """Two models of the same accuracy on dev: the better one is trained on fewer sentences."""
    hmm, crf = models["hmm"], models["crf-basic"]
    if twin:
        crf = measuring.evaluated(texts, twin[0])
    else:
        hmm = measuring.evaluated(texts, hmm_like(texts, hmm.tagger, crf.tagger.dev_accuracy))
    for model in (hmm, crf):
        rows = [measuring.error_row(model, query) for query in (texts.tag, ALL_TAGS)]
        unseen = measuring.unseen_tokens(texts.test, model.tagger.model.tags)
        dev = {"accuracy on dev": model.tagger.dev_accuracy, "test tokens of unseen tags": unseen}
        tables.matched += [{**row, **dev} for row in rows]
    return hmm, crf


def _compare(first: Evaluated, second: Evaluated, comparison: str, tables: Tables) -> None:
    tags, pairs = measuring.class_rows(first, second, comparison)
    tables.tags += tags
    tables.pairs += pairs
    frequent = sorted(tags, key=lambda row: -row["positives"])
    for event, rows in (("tags", frequent), ("tag pairs", pairs)):
        name = {"set": first.texts.title, "models": COMPARISONS[comparison], "events": event}
        tables.wins.append({**name, **count_wins(rows, "HMM", "CRF")})
        for top in (measuring.FEW_PAIRS, len(rows)):
            errors = {
                "HMM": measuring.mean_error(rows, "first", top),
                "CRF": measuring.mean_error(rows, "second", top),
            }
            tables.means.append({**name, "most frequent": top, **errors})


def _pseudocounts(texts: TextSet, tables: Tables) -> None:
    """Accuracy and error of the HMM with every pseudocount."""
    train, dev = texts.train, texts.dev
    for unseen in UNSEEN:
        for value in PSEUDOCOUNTS:
            model = HMMTagger(pseudocount=value, unseen=unseen).fit(train.sentences, train.tags)
            accuracy = token_accuracy(dev.tags, model.predict(dev.sentences))
            key = "hmm" if unseen == "uniform" else "hmm-classes"
            found = measuring.evaluated(texts, Tagger(key, model, value, len(train.sentences), accuracy))
            tables.pseudocounts.append(measuring.pseudocount_row(found, accuracy))


def _penalties(texts: TextSet, under_way: Training, tables: Tables) -> None:
    """Accuracy and error of CRF-basic with every penalty."""
    for l2 in SWEEP:
        tagger = under_way.taggers(texts.name, f"{l2:g}")[0]
        found = measuring.evaluated(texts, tagger)
        for query in (texts.tag, ALL_TAGS):
            row = measuring.error_row(found, query)
            about = {"set": texts.title, "l2": f"{l2:g}", "accuracy on dev": tagger.dev_accuracy}
            about |= {"converged": "yes" if _converged(tagger) else "no"}
            tables.penalties.append({**about, **{key: row[key] for key in SWEPT}})


def _converged(tagger: Tagger) -> bool:
    assert isinstance(tagger.model, CRFTagger)
    return tagger.model.iterations < tagger.model.arguments.max_iterations


def _ablation(texts: TextSet, under_way: Training, tables: Tables) -> None:
    """Accuracy and error of the CRF as groups of features are added."""
    for step, groups in STEPS.items():
        tagger = under_way.taggers(texts.name, *groups)[0]
        found = measuring.evaluated(texts, tagger)
        for query in (texts.tag, ALL_TAGS):
            row = measuring.error_row(found, query)
            kept = {key: row[key] for key in ("query", "accuracy", "plug-in", "debiased", "low", "high")}
            name = {"set": texts.title, "features": step}
            tables.ablation.append({**name, "l2": f"{tagger.setting:g}", **kept, "slope": row["slope"]})


def figures(study: Study) -> dict[str, Figure]:
    """Draw the study's figures from its record alone."""
    from calibrant_studies._tagging_figures import draw

    return draw(study)
