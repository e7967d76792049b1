"""Training of a coreference model, with penalties chosen by CoNLL F1 on a dev set."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Literal

import numpy as np

from calibrant._checks import one_of
from calibrant._version import __version__
from calibrant.exceptions import InputError
from calibrant.progress import Progress
from calibrant.structures.documents import Document
from calibrant.structures.entity_scores import coreference_scores
from calibrant.structures.files.saved_models import check_model_place, save_model
from calibrant.structures.models.coreference import CoreferenceModel, FeatureSet
from calibrant.structures.posterior import antecedent_losses, fit_antecedent_temperature
from calibrant.structures.results.coreference import CoreferenceCandidate, TrainedCoreference
from calibrant.structures.verbs.coreference import entities_by_document
from calibrant.structures.verbs.coreference_source import (
    Mentions,
    Prediction,
    asked_mentions,
    check_trees,
    file_of,
    gold_of,
    predicted,
    texts,
)

L1_PENALTIES = (1e-5, 3e-5, 1e-4)  # default candidates
SETTINGS = ("l1", "l2", "epochs", "window")
KINDS = ("gold", "detected")


def train_coreference(
    train: Any,
    dev: Any = None,
    *,
    features: FeatureSet = "surface",
    mentions: Literal["gold", "detected"] = "gold",
    possessive_endings: bool = True,
    parser: str | os.PathLike[str] | None = None,
    l1: float | Sequence[float] | None = None,
    l2: float | Sequence[float] | None = None,
    epochs: int | None = None,
    window: int | None = None,
    temperature: bool = True,
    output: str | os.PathLike[str] | None = None,
    about: str | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> tuple[CoreferenceModel, TrainedCoreference]:
    """Train a coreference model; with development data, choose its penalties and fit its temperature.

    Parameters
    ----------
    train
        Path or paths of files with gold entities, as for `calibrant.structures.read_documents`, or documents.
    dev
        Path or documents. Without it, the given or default penalties are used.
    features
        ``surface``: features of words. ``syntax``: also features of dependency trees.
    mentions
        Mentions to learn from: those annotated in the texts (``gold``), or those ``detected`` in their trees.
    possessive_endings
        As in `calibrant.structures.verbs.coreference.predict_coreference`.
    parser
        spaCy pipeline that parses the texts.
    l1
        L1 penalty on the weights, or several values to choose from. None: 0.00001, 0.00003 and 0.0001;
        0.00003 without `dev`.
    l2
        L2 penalty on the weights, or several values to choose from. None: 0.
    epochs
        Passes over the training texts. None: 8.
    window
        Number of preceding mentions that are candidate antecedents. None: all.
    temperature
        Divide log-scores by a temperature that maximizes the likelihood of `dev`, if it is given.
    output
        Path of the saved model; None to save nothing.
    about
        Description of the training texts (genre, years), saved with the model and shown when it is used.
        None: names of the files.
    seed
        Seed of the random order of documents.
    progress
        Called with a stage, the work done and the total work.

    Returns
    -------
    model : CoreferenceModel
        Model trained on ``train`` only.
    record : TrainedCoreference
        Candidates and chosen settings.

    Raises
    ------
    InputError
        If a file or a setting is invalid, there are several penalties and no ``dev``, or the model cannot be
        written.

    Examples
    --------
    >>> from calibrant.structures.documents import Mention
    >>> words = [["Ann", "sleeps"], ["She", "snores"], ["Bob", "left"]]
    >>> spans = [Mention(0, 0, 1), Mention(1, 0, 1), Mention(2, 0, 1)]
    >>> text = [Document("d", words, spans, ["ann", "ann", "bob"])]
    >>> model, record = train_coreference(text, text, l1=[1e-5, 1e-2], epochs=4)
    >>> len(record.candidates), record.hyperparameters["l1"] in (1e-5, 1e-2)
    (2, True)
    """
    start = time.perf_counter()
    one_of(mentions, KINDS, "mentions")
    sources = _sources(train)
    if output is not None:
        check_model_place(output, dev, *sources)
    given = (("epochs", epochs), ("window", window))
    shared: dict[str, Any] = {name: value for name, value in given if value is not None}
    settings = _settings(l1, l2, several=dev is not None)
    models = [CoreferenceModel(features=features, seed=seed, **setting, **shared) for setting in settings]
    how = Mentions(mentions == "detected", possessive_endings)
    documents = _training_documents(sources, parser, progress, how, features)
    held_out = None if dev is None else list(texts(dev, parser, progress))
    attempts = []
    for number, (model, values) in enumerate(zip(models, settings, strict=True), 1):
        stage = f"training with {_worded(values)}" + (
            f" ({number} of {len(models)})" if len(models) > 1 else ""
        )
        model.fit(documents, progress=_staged(progress, stage))
        attempts.append(_Attempt.of(model, values, held_out, how, file_of(dev)))
    best = max(attempts, key=lambda attempt: attempt.rank)
    chosen = best.tempered() if temperature and dev is not None else best
    chosen.model.trained_on = about or _described(sources, len(documents))
    if output is not None:
        save_model(chosen.model, output)
    state = chosen.model.to_state()
    record = TrainedCoreference(
        features=features,
        mentions=mentions,
        train=[file_of(source) or "documents" for source in sources],
        dev=None if dev is None else file_of(dev) or "documents",
        about=chosen.model.trained_on,
        documents=len(documents),
        mention_count=sum(len(document.mentions or ()) for document in documents),
        hyperparameters={name: state[name] for name in SETTINGS},
        temperature=chosen.temperature,
        conll_f1=chosen.conll_f1,
        log_loss=chosen.log_loss,
        log_loss_before=best.log_loss,
        candidates=tuple(
            CoreferenceCandidate(attempt.settings, attempt.conll_f1, attempt.log_loss, attempt.reason)
            for attempt in attempts
            if attempt.log_loss is not None
        ),
        output=None if output is None else os.fspath(output),
        seconds=time.perf_counter() - start,
        seed=seed,
        version=__version__,
        reason=chosen.reason,
        temperature_warning=chosen.temperature_warning,
        impossible_warning=chosen.impossible_warning,
    )
    return chosen.model, record


@dataclass(frozen=True)
class _Attempt:
    """Model with some settings, and its scores on the development data; None without data or if undefined."""

    model: CoreferenceModel
    settings: dict[str, Any]
    held_out: Prediction | None
    conll_f1: float | None
    log_loss: float | None
    temperature: float = 1.0
    reason: str | None = None
    temperature_warning: str | None = None
    impossible_warning: str | None = None

    @classmethod
    def of(
        cls,
        model: CoreferenceModel,
        settings: dict[str, Any],
        documents: Sequence[Document] | None,
        how: Mentions,
        file: str | None,
    ) -> _Attempt:
        """Measure a model on the development data."""
        if documents is None:
            return cls(model, settings, None, None, None, reason="there is no development data")
        prediction = predicted(model, documents, how, file)
        scores = coreference_scores(
            [gold.mentions for gold in prediction.gold],
            [gold.clusters for gold in prediction.gold],
            prediction.mentions,
            entities_by_document(prediction.posterior, "probable"),
            samples=1,
        )
        losses = antecedent_losses(prediction.posterior, prediction.clusters)
        used = losses[np.isfinite(losses)]
        if not len(used):
            message = "no mention of the development text has a gold entity"
            hint = "give another text (`dev`)"
            raise InputError(message, hint, code="empty", file=file)
        impossible = int(np.isposinf(losses).sum())
        return cls(
            model,
            settings,
            prediction,
            scores.conll_f1.estimate,
            float(used.mean()),
            reason=scores.conll_f1.reason if scores.conll_f1.estimate is None else None,
            impossible_warning=f"{impossible} mentions whose correct antecedents have probability 0 are left "
            "out"
            if impossible
            else None,
        )

    @property
    def rank(self) -> tuple[float, float]:
        """Return F1 and, for ties, the likelihood; higher is better."""
        f1 = -1.0 if self.conll_f1 is None else self.conll_f1
        return f1, -np.inf if self.log_loss is None else -self.log_loss

    def tempered(self) -> _Attempt:
        """Return the model with the best temperature for the development data, if there is one."""
        assert self.held_out is not None
        try:
            fitted = fit_antecedent_temperature(self.held_out.posterior, self.held_out.clusters)
        except InputError as error:
            return replace(self, temperature_warning=error.message)
        state = self.model.to_state()
        # Log-scores are sums of weights, so dividing the weights by the temperature divides the log-scores.
        state["weight"] = (state["weight"] / fitted.temperature).astype(np.float32)
        model = CoreferenceModel.from_state(state)
        return replace(self, model=model, log_loss=fitted.after, temperature=fitted.temperature)


def _sources(train: Any) -> list[Any]:
    """Return the sources: each file, or all documents at once."""
    if isinstance(train, (str, os.PathLike)):
        return [train]
    given = list(train)
    if given and all(isinstance(source, Document) for source in given):
        return [given]
    if not given or not all(isinstance(source, (str, os.PathLike)) for source in given):
        raise InputError("there are no training texts", "give paths or documents", code="parameter")
    return given


def _training_documents(
    sources: Sequence[Any],
    parser: Any,
    progress: Progress | None,
    how: Mentions,
    features: FeatureSet,
) -> list[Document]:
    """Return all documents of all sources; raise `InputError` for a repeated name."""
    documents: dict[str, Document] = {}
    for source in sources:
        for document in texts(source, parser, progress):
            if document.name in documents:
                message, hint = f"there are two documents named {document.name!r}", "give each document once"
                raise InputError(message, hint, code="duplicate", file=file_of(source))
            gold_of(document, file_of(source))
            check_trees(document, features, file_of(source))
            documents[document.name] = asked_mentions(document, how, file_of(source))
    return list(documents.values())


def _settings(
    l1: float | Sequence[float] | None, l2: float | Sequence[float] | None, several: bool
) -> list[dict[str, Any]]:
    first = _values(l1, L1_PENALTIES if several and l2 is None else None)
    grid = [
        {name: value for name, value in (("l1", one), ("l2", two)) if value is not None}
        for one, two in product(first, _values(l2, None))
    ]
    if len(grid) > 1 and not several:
        message = f"there are {len(grid)} combinations of penalties, but no development data to choose one"
        raise InputError(message, "give one `l1` and one `l2`, or `dev`", code="parameter")
    return grid


def _values(given: float | Sequence[float] | None, default: Sequence[float] | None) -> list[float | None]:
    if given is None:
        return [None] if default is None else list(default)
    values: list[float | None] = [given] if isinstance(given, (int, float)) else list(dict.fromkeys(given))
    return values or [None]


def _described(sources: Sequence[Any], documents: int) -> str:
    names = ", ".join(os.path.basename(file) for source in sources if (file := file_of(source)))
    return f"{names or 'texts without a name'} ({documents:,} documents)"


def _worded(settings: dict[str, Any]) -> str:
    return " and ".join(f"{name} {value:g}" for name, value in settings.items()) or "default penalties"


def _staged(progress: Progress | None, stage: str) -> Progress | None:
    """Report training under another stage name."""
    if progress is None:
        return None

    def report(_: str, done: int, total: int | None) -> None:
        progress(stage, done, total)

    return report
