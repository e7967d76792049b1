"""Open questions of section 7 of the 2015 paper: the inferences that calibration helps.

"It may also assist calculations that rely on expectations, such as inference methods like minimum Bayes risk
decoding, or learning methods like EM". "Does calibration help joint inference in NLP pipelines?" "Another
approach might be to directly constrain calibration during training."
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from calibrant.cli.progress import Bar
from calibrant.progress import Progress
from calibrant_studies import _decisions_training as training
from calibrant_studies._base import Study, digest
from calibrant_studies._decisions_compare import SAMPLES, Results
from calibrant_studies._decisions_data import GROUPS, SOURCES, files, read_texts, task
from calibrant_studies._decisions_page import arrange
from calibrant_studies._decisions_pipeline import DRAWS, FEW, run_pipelines
from calibrant_studies._decisions_risk import COST, FREQUENT, decide_spans, decide_tags
from calibrant_studies.datasets._folders import real_data

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SEED = 2015
TAGGED = (("twitter", "HMM"), ("twitter", "CRF"), ("upos", "HMM"), ("pos", "HMM"), ("lextag", "HMM"))
SPANS = (("names", "CRF"), ("chunk", "CRF"))
TAUGHT = ("twitter", "upos", "pos")
PENALIZED = ("twitter", "upos", "names")
PARTS = ("tags", "spans", "pipelines", "self-training", "penalty")


def run(*, data: Path | None = None, seed: int = SEED) -> Study:
    """Decide, pass on and learn with and without recalibration; about a quarter of an hour.

    Parameters
    ----------
    data
        Folder that has ``twitter-pos/``, ``ud-english-ewt/``, ``conll2000/``, ``wnut17/`` and
        ``sparse-tags/``.
    seed
        Seed of training, of samples, of the draws of labeled sentences, and of the bootstrap.

    Returns
    -------
    Study
        With tables ``tags``, ``spans``, ``pipelines``, ``self-training`` and ``penalty``.

    Raises
    ------
    InputError
        If there is no folder, or it lacks a file.

    Examples
    --------
    >>> run()
    Traceback (most recent call last):
    calibrant.exceptions.InputError: the study decisions needs real data: run `calibrant data fetch ...
    """
    with Bar() as progress:
        return decisions(real_data("decisions", data), seed=seed, progress=progress)


def decisions(
    data: Path, *, parts: Sequence[str] = PARTS, seed: int = SEED, progress: Progress | None = None
) -> Study:
    """Run some parts of the study; see `run`.

    Parameters
    ----------
    data
        As in `run`.
    parts
        Among `PARTS`.
    seed
        As in `run`.
    progress
        Called with the part and the data set, how many are done, and how many there are.

    Returns
    -------
    Study
    """
    start = time.perf_counter()
    results = Results(seed)
    work = [
        *(("tags", *of) for of in TAGGED),
        *(("spans", *of) for of in SPANS),
        ("pipelines", "pos", "HMM"),
        *(("self-training", name, "HMM") for name in TAUGHT),
        *(("penalty", name, "CRF") for name in PENALIZED),
    ]
    work = [each for each in work if each[0] in parts]
    for done, (part, name, model) in enumerate(work):
        if progress is not None:
            progress(f"{part}, {name}", done, len(work))
        _run_part(part, name, model, data, results)
    return Study(
        name="decisions",
        title="Which inferences does calibration help? (2015 paper, open questions of section 7)",
        command="calibrant study decisions",
        seed=seed,
        wall_seconds=time.perf_counter() - start,
        data={path.name: digest(path) for path in files(data)},
        parameters={
            "data sets": ", ".join(SOURCES),
            "groups of tags": f"{GROUPS}, by frequency in training",
            "cost per token that is passed on": COST,
            "tags that count in mean F": f"at least {FREQUENT} training tokens",
            "sequences passed on": DRAWS,
            "labeled sentences of the small tagger": FEW,
            "draws of labeled sentences": training.REPEATS,
            "penalty": f"squared MMCE, weights {training.WEIGHTS}, width {training.WIDTH}",
            "training of CRFs": "AdaGrad, unless said otherwise",
            "bootstrap": f"{SAMPLES} draws of sentences",
        },
        findings=tuple(results.findings),
        tables=results.tables | arrange(results.tables, results.findings),
    )


def _run_part(part: str, name: str, model: str, data: Path, results: Results) -> None:
    texts = read_texts(data, name)
    if part == "tags":
        decide_tags(task(texts, model, results.seed), results)
    elif part == "spans":
        decide_spans(task(texts, model, results.seed), results)
    elif part == "pipelines":
        run_pipelines(texts, read_texts(data, "chunk"), read_texts(data, "xpos"), results)
    elif part == "self-training":
        training.train_themselves(texts, results)
    else:
        training.train_with_penalty(texts, results)


def figures(study: Study) -> dict[str, Figure]:
    """Draw the study's figures from its record alone."""
    from calibrant_studies._decisions_figures import draw

    return draw(study)
