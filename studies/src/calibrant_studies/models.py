"""The models that the studies use, trained from fetched data: a parser, and a coreference model of GUM.

`train_models` makes them, and `models_folder` says where the studies look for them.
"""

from __future__ import annotations

import gzip
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, TYPE_CHECKING, Annotated, Any, Literal

from calibrant.exceptions import InputError, MissingExtraError
from calibrant.progress import Progress
from calibrant.records import Record, name, number, rows, setting
from calibrant_studies.datasets._folders import data_folder, required

if TYPE_CHECKING:
    from spacy.language import Language

__all__ = ["MODELS", "TrainedModel", "TrainedModels", "find_model", "models_folder", "train_models"]

FOLDER = "CALIBRANT_MODELS"
Model = Literal["en_ud_ewt_gum", "gum.model"]
PARSER: Literal["en_ud_ewt_gum"] = "en_ud_ewt_gum"
GUM: Literal["gum.model"] = "gum.model"
MODELS: tuple[Model, ...] = (PARSER, GUM)
"""The names of the models, which are their names in the folder."""
ABOUT_GUM = "GUM: 177 documents of 15 genres of English of today, news among them"
COMPONENTS = ["tagger", "morphologizer", "trainable_lemmatizer", "parser"]
TREEBANKS = ("ud-english-ewt/en_ewt-ud-{}.conllu.gz", "ud-english-gum/en_gum-ud-{}.conllu.gz")
STEPS = 12_000
EVALUATIONS = 24  # of the dev files, during training
PATIENCE = 3_000
TOGETHER = 10  # sentences per text, so that the parser learns where sentences end
META = {
    "name": "ud_ewt_gum",
    "description": "Tagger, morphologizer, lemmatizer and parser trained on UD English EWT and GUM",
    "license": "CC BY-NC-SA 4.0 (GUM is a part of the training data)",
}


class TrainedModel(Record, frozen=True, kw_only=True):
    """A model that was trained, or was there."""

    name: Annotated[str, name("Model", "Name of the model in its folder.")]
    there: Annotated[bool, setting("There before", "True if it was there and was not trained again.")]
    score: Annotated[
        float | None,
        number(
            "Score",
            "On the development files, from 0 to 1: labeled attachment (LAS) of the parser, CoNLL F1 of the "
            "coreference model on detected mentions; null if it was there before.",
            group="Model",
            best=1,
        ),
    ]
    seconds: Annotated[float, number("Seconds", "Seconds of its training.", group="Model")]


class TrainedModels(Record, frozen=True, kw_only=True):
    """Training of the models that the studies use."""

    folder: Annotated[str, setting("Folder", "Folder of the models.", headline=True)]
    models: Annotated[tuple[TrainedModel, ...], rows("Models", "One entry per model.")]


def models_folder() -> Path:
    """Folder of the models that the studies use; it need not exist.

    Returns
    -------
    Path
        Folder that the environment variable ``CALIBRANT_MODELS`` names; otherwise ``models`` in the folder of
        the data sets.

    Examples
    --------
    >>> from unittest.mock import patch
    >>> with patch.dict(os.environ, CALIBRANT_MODELS="trained"):
    ...     models_folder().name
    'trained'
    """
    named = os.environ.get(FOLDER)
    return Path(named) if named else data_folder() / "models"


def find_model(model: str) -> Path | None:
    """Return the path of a model in `models_folder`; None if it is not there.

    Parameters
    ----------
    model
        Its name.

    Examples
    --------
    >>> print(find_model("of nobody"))
    None
    """
    try:
        path = models_folder() / model
    except MissingExtraError:
        return None
    return path if path.exists() else None


def train_models(
    names: Sequence[Model] = MODELS,
    *,
    data: Path | None = None,
    output: str | os.PathLike[str] | None = None,
    steps: int = STEPS,
    epochs: int | None = None,
    seed: int = 0,
    log: IO[str] | None = None,
    progress: Progress | None = None,
) -> TrainedModels:
    """Train the parser and the coreference model of GUM, on the processor alone, from fetched data.

    The parser is a spaCy pipeline with tags, features, lemmas and Universal Dependencies, trained on UD
    English EWT and GUM and selected by their dev files. The coreference model has syntax features and learns
    from detected mentions of GUM. Test files are not read. On one machine the same data, steps and seed give
    the same models.

    Parameters
    ----------
    names
        Names from `MODELS`. An existing model is kept.
    data
        Folder of all data sets. None: `calibrant_studies.datasets.data_folder`.
    output
        Folder of the models. None: `models_folder`.
    steps
        Updates of the parser, at least 1; training ends earlier if 3,000 of them bring nothing.
    epochs
        Passes of the coreference model through its texts. None: its default.
    seed
        Seed of both trainings.
    log
        Takes spaCy's table of losses and scores. None: standard error.
    progress
        Called with a stage of the coreference model's training, what is done, and how much there is.

    Returns
    -------
    TrainedModels

    Raises
    ------
    InputError
        If there is no such model, or a file of the data sets is missing.
    MissingExtraError
        If spaCy is not installed.

    Examples
    --------
    >>> train_models(data=Path("nowhere"), output=Path("nowhere"))
    Traceback (most recent call last):
    calibrant.exceptions.InputError: nowhere/ud-english-ewt/... does not exist: run `calibrant data fetch ...
    """
    unknown = [each for each in names if each not in MODELS]
    if unknown or steps < 1:
        message = f"names has {unknown[0]!r}" if unknown else f"steps is {steps}"
        hint = f"the models are {', '.join(MODELS)}; steps are at least 1"
        raise InputError(message, hint, code="parameter")
    texts = data_folder() if data is None else data
    folder = models_folder() if output is None else Path(output)
    trained = []
    for each in names:
        path, start, score = folder / each, time.perf_counter(), None
        there = path.exists()
        if not there and each == PARSER:
            score = train_parser(texts, path, steps=steps, seed=seed, log=log or sys.stderr)
        elif not there:
            score = train_gum(texts, path, epochs=epochs, seed=seed, progress=progress)
        seconds = 0.0 if there else time.perf_counter() - start
        trained.append(TrainedModel(name=each, there=there, score=score, seconds=seconds))
    return TrainedModels(folder=str(folder), models=tuple(trained))


def train_gum(
    data: Path, path: Path, *, epochs: int | None = None, seed: int = 0, progress: Progress | None = None
) -> float | None:
    """Train the coreference model of GUM on detected mentions; return its CoNLL F1 on the dev file."""
    from calibrant.structures.verbs.coreference_training import train_coreference

    train, dev = (required(data, TREEBANKS[1].format(part)) for part in ("train", "dev"))
    path.parent.mkdir(parents=True, exist_ok=True)
    _, record = train_coreference(
        train,
        dev,
        features="syntax",
        mentions="detected",
        epochs=epochs,
        output=path,
        about=ABOUT_GUM,
        seed=seed,
        progress=progress,
    )
    return record.conll_f1


def train_parser(data: Path, path: Path, *, steps: int, seed: int, log: IO[str]) -> float | None:
    """Train a spaCy pipeline; the folder appears when it is whole. Return its LAS on the dev files."""
    files = {part: [required(data, each.format(part)) for each in TREEBANKS] for part in ("train", "dev")}
    try:
        from spacy.training.initialize import init_nlp
        from spacy.training.loop import train
    except ImportError as error:
        raise MissingExtraError("the parser needs spaCy", "pip install 'calibrant[spacy]'") from error
    path.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=path.parent, prefix=".training-") as kept:
        place = Path(kept)
        (place / "out").mkdir()
        for part, sources in files.items():
            _write_texts(sources, place / f"{part}.spacy")
        nlp = init_nlp(_config(place, steps, seed), use_gpu=-1)
        nlp.meta.update(META)
        train(nlp, place / "out", use_gpu=-1, stdout=log, stderr=log)
        best = place / "out" / "model-best"
        score = _attachment(best)
        os.replace(best, path)
    return score


def _write_texts(sources: Sequence[Path], path: Path) -> None:
    """Write treebanks as spaCy reads them in training."""
    from spacy.tokens import DocBin
    from spacy.training.converters.conllu_to_docs import conllu_to_docs

    texts = DocBin(store_user_data=False)
    for source in sources:
        with gzip.open(source, "rt", encoding="utf-8") as lines:
            read: Any = conllu_to_docs  # without types
            for doc in read(lines.read(), n_sents=TOGETHER, no_print=True):
                texts.add(doc)
    texts.to_disk(path)


def _config(place: Path, steps: int, seed: int) -> Any:
    """Return spaCy's own recipe for training on a processor, with our files, steps and seed."""
    from spacy.cli.init_config import init_config

    config = init_config(lang="en", pipeline=COMPONENTS, optimize="efficiency", gpu=False)
    config["paths"] |= {"train": str(place / "train.spacy"), "dev": str(place / "dev.spacy")}
    config["system"]["seed"] = seed
    frequency = max(1, steps // EVALUATIONS)
    config["training"] |= {"max_steps": steps, "eval_frequency": frequency, "patience": PATIENCE}
    return config


def _attachment(path: Path) -> float | None:
    """Return the LAS that training noted in a pipeline's folder, and take our paths out of its settings."""
    import spacy

    nlp: Language = spacy.load(path)
    nlp.config["paths"] |= {"train": None, "dev": None}
    nlp.to_disk(path)
    found = nlp.meta.get("performance", {}).get("dep_las")
    return None if found is None else float(found)
