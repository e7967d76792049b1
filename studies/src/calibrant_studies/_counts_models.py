"""The counts study's models: ten splits of each corpus, so that no model has seen its test documents."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from calibrant.io.atomic import writing
from calibrant.structures.documents import Document
from calibrant.structures.posterior import AntecedentPosterior
from calibrant_studies._coreference_data import FOLD_COUNT, SPLITS, Texts, folds
from calibrant_studies._coreference_models import WORKERS, Setting, fitted

PENALTY = 3e-5  # the study of coreference chose it on LitBank's dev documents, and uses it in all folds


@dataclass(frozen=True)
class Predicted:
    """One model's distributions for the documents of its dev and test folds.

    Attributes
    ----------
    dev_documents, test_documents
        With gold entities.
    dev, test
        Antecedents of their mentions, at temperature 1.
    seconds_saved
        Training time that was saved because a kept model was used.
    """

    dev_documents: Sequence[Document]
    test_documents: Sequence[Document]
    dev: AntecedentPosterior
    test: AntecedentPosterior
    seconds_saved: float


def splits_of(texts: Texts, data: Path) -> list[Texts]:
    """Ten splits: LitBank's own folds; of GUM every tenth document by name, so that genres are spread."""
    if texts.corpus == "litbank":
        return folds(data, texts)
    documents = sorted((each for part in SPLITS for each in texts.split[part]), key=lambda one: one.name)
    tenths = [documents[start::FOLD_COUNT] for start in range(FOLD_COUNT)]
    found = []
    for test in range(FOLD_COUNT):
        dev = (test - 1) % FOLD_COUNT
        train = [each for number, tenth in enumerate(tenths) if number not in (test, dev) for each in tenth]
        split = {"train": train, "dev": tenths[dev], "test": tenths[test]}
        found.append(replace(texts, split=split, gold=split))
    return found


def predictions(splits: Sequence[Texts], store: Path | None) -> Iterator[Predicted]:
    """Train on each split, two at a time, or load the predictions that an earlier run stored."""
    files = [None if store is None else store / f"{texts.corpus}-{k}.npz" for k, texts in enumerate(splits)]
    with ThreadPoolExecutor(WORKERS) as pool:
        yield from pool.map(_predicted, splits, files)


def _predicted(texts: Texts, file: Path | None) -> Predicted:
    if file is not None and file.exists():
        return _loaded(file, texts)
    start = time.perf_counter()
    found = fitted(texts, [Setting(texts.features, PENALTY)])[0]
    if file is not None:
        _save(file, found.dev, found.test, (time.perf_counter() - start) / WORKERS)
    return Predicted(texts.split["dev"], texts.split["test"], found.dev, found.test, 0.0)


def _save(file: Path, dev: AntecedentPosterior, test: AntecedentPosterior, seconds: float) -> None:
    with writing(file) as out:
        np.savez_compressed(
            out,
            window=np.array(dev.window),
            seconds=np.array(seconds),
            dev=dev.log_probabilities,
            test=test.log_probabilities,
        )


def _loaded(file: Path, texts: Texts) -> Predicted:
    with np.load(file, allow_pickle=False) as saved:
        window, seconds = int(saved["window"]), float(saved["seconds"])
        dev, test = (
            AntecedentPosterior(
                saved[part],
                [len(document.mentions or ()) for document in texts.split[part]],
                window=window,
                names=[document.name for document in texts.split[part]],
            )
            for part in ("dev", "test")
        )
    return Predicted(texts.split["dev"], texts.split["test"], dev, test, seconds)
