"""Training of a dependency parser on predicted tags, with temperatures fitted on a dev set."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any

import numpy as np

from calibrant._checks import positive_integer
from calibrant._version import __version__
from calibrant.exceptions import InputError
from calibrant.progress import Progress, tell
from calibrant.structures.files.dependency_trees import TreeText, read_trees
from calibrant.structures.files.saved_models import check_model_place, save_model
from calibrant.structures.models.crf import CRFTagger
from calibrant.structures.models.dependency import DependencyModel
from calibrant.structures.posterior.tree_tempering import fit_label_temperature
from calibrant.structures.results.parsing import TrainedParser, TreeTemperature
from calibrant.structures.verbs.parsing import fit_temperature
from calibrant.structures.verbs.tree_source import TreeRows, TreeSource, chosen_trees

Column = str | int
Tags = list[list[str]]
TAGGER_EPOCHS = 15
FEWEST_FOLDS = 2


def train_parser(
    train: Any,
    dev: Any = None,
    *,
    column: Column | None = None,
    folds: int = 5,
    tagger: str | os.PathLike[str] | None = None,
    output: str | os.PathLike[str] | None = None,
    epochs: int | None = None,
    bits: int | None = None,
    l1: float | None = None,
    l2: float | None = None,
    temperature: bool = True,
    about: str | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> tuple[DependencyModel, TrainedParser]:
    """Train a dependency parser; with development data, fit the temperatures of its probabilities.

    Parameters
    ----------
    train
        Path or paths of CoNLL-U files with trees, or a `calibrant.structures.TreeText`.
    dev
        Path of CoNLL-U with trees, or a text. Without it, temperatures are 1.
    column
        Column of the tags: ``"upos"`` (the default), ``"xpos"``, ``"upos+feats"`` or a number.
    folds
        Number of folds of the training text; the tags of each are predicted by a CRF trained on the others,
        so that they are as noisy as those of new texts. 0: the tags of the files are used, for parsing texts
        whose tags come from elsewhere.
    tagger
        Path to write the CRF that is trained on all training texts, which predicts the tags of new texts.
    output
        Path of the saved parser; None to save nothing.
    epochs
        Passes over the training texts. None: the default of `calibrant.structures.models.DependencyModel`.
    bits
        Logarithm of the number of weights. None: the default of the model.
    l1, l2
        Penalties on the weights. None: the defaults of the model.
    temperature
        Divide log-potentials by temperatures that maximize the likelihood of `dev`, if it is given.
    about
        Description of the training texts, saved with the model. None: names of the files.
    seed
        Seed of the random order of sentences.
    progress
        Called with a stage, the work done and the total work.

    Returns
    -------
    model : DependencyModel
        Model trained on ``train`` only.
    record : TrainedParser

    Raises
    ------
    InputError
        If a file or a setting is invalid, or a model cannot be written.

    Examples
    --------
    >>> words, tags = [["I", "see"], ["we", "go"]] * 4, [["PRON", "VERB"]] * 8
    >>> names = [str(number) for number in range(8)]
    >>> text = TreeText(words, tags, [[2, 0]] * 8, [["nsubj", "root"]] * 8, names, None, "small")
    >>> parser, record = train_parser(text, folds=2, bits=10, epochs=2)
    >>> record.tag_accuracy, parser.predict([["we", "see"]], [["PRON", "VERB"]])[0]
    (1.0, [[2, 0]])
    """
    start = time.perf_counter()
    sources = [train] if isinstance(train, (str, os.PathLike, TreeText)) else list(train)
    if not sources:
        raise InputError("there are no training texts", "give paths", code="parameter")
    positive_integer(folds, "folds", least=0)
    if tagger is not None and not folds:
        message, hint = "no tagger is trained without folds", "leave `tagger` out, or give `folds`"
        raise InputError(message, hint, code="parameter")
    for path in (output, tagger):
        if path is not None:
            check_model_place(path, dev, *sources)
    given: dict[str, Any] = {"epochs": epochs, "bits": bits, "l1": l1, "l2": l2, "seed": seed}
    model = DependencyModel(**{name: value for name, value in given.items() if value is not None})
    texts = [_read(source, column, progress) for source in sources]
    text = together(texts)
    held_out = None if dev is None else _read(dev, column, progress)
    assert text.tags is not None
    tags, dev_tags = text.tags, None if held_out is None else held_out.tags
    if folds:
        model, crf, tags = trained_on_predicted_tags(model, text, folds, seed, progress)
        if tagger is not None:
            save_model(crf, tagger, column=column)
        if held_out is not None:
            dev_tags = crf.predict(held_out.sentences)
    else:
        model.fit(text.sentences, tags, text.heads or [], text.relations or [], progress=progress)
    result = _Result(model)
    if held_out is not None:
        assert dev_tags is not None
        result = _evaluated(model, held_out, dev_tags, temperature)
    result.model.trained_on = about or _described(texts)
    if output is not None:
        save_model(result.model, output, column=column)
    record = TrainedParser(
        train=[own.name for own in texts],
        dev=None if held_out is None else held_out.name,
        about=result.model.trained_on,
        column=column,
        folds=folds,
        sentences=len(text.sentences),
        tokens=text.token_count,
        relations=len(model.relations),
        tag_accuracy=_accuracy(tags, text.tags) if folds else None,
        hyperparameters=asdict(model.settings),
        unlabeled=result.unlabeled,
        labeled=result.labeled,
        temperature=result.temperature,
        label_temperature=result.label_temperature,
        output=None if output is None else os.fspath(output),
        tagger=None if tagger is None else os.fspath(tagger),
        seconds=time.perf_counter() - start,
        seed=seed,
        version=__version__,
        temperature_warning=result.warning,
    )
    return result.model, record


def trained_on_predicted_tags(
    model: DependencyModel, text: TreeText, folds: int, seed: int = 0, progress: Progress | None = None
) -> tuple[DependencyModel, CRFTagger, Tags]:
    """Train a parser on jackknifed tags; also return the tagger of all sentences, and the tags.

    Examples
    --------
    >>> words, tags = [["I", "see"], ["we", "go"]] * 4, [["PRON", "VERB"]] * 8
    >>> names = [str(number) for number in range(8)]
    >>> text = TreeText(words, tags, [[2, 0]] * 8, [["nsubj", "root"]] * 8, names, None, "small")
    >>> parser, tagger, _ = trained_on_predicted_tags(DependencyModel(bits=10, epochs=2), text, 2)
    >>> parser.predict([["we", "see"]], tagger.predict([["we", "see"]]))[0]
    [[2, 0]]
    """
    assert text.tags is not None
    tags = jackknifed(text, folds, seed, progress)
    tagger = _tagger(text.sentences, text.tags, seed, progress, "training the tagger")
    model.fit(text.sentences, tags, text.heads or [], text.relations or [], progress=progress)
    return model, tagger, tags


def jackknifed(text: TreeText, folds: int, seed: int = 0, progress: Progress | None = None) -> Tags:
    """Return tags of each sentence, predicted by a CRF that was trained on the other folds.

    Documents stay together if the file marks them and there are enough; otherwise each fold has every
    ``folds``-th sentence.

    Examples
    --------
    >>> words, tags = [["I", "see"], ["we", "go"]] * 4, [["PRON", "VERB"]] * 8
    >>> names = [str(number) for number in range(8)]
    >>> text = TreeText(words, tags, None, None, names, None, "small")
    >>> jackknifed(text, 2)[0]
    ['PRON', 'VERB']
    """
    assert text.tags is not None
    units = text.document_ids or text.sentence_ids
    code = {name: place for place, name in enumerate(dict.fromkeys(units))}
    if len(code) < folds:
        code, units = {name: place for place, name in enumerate(text.sentence_ids)}, text.sentence_ids
    if folds < FEWEST_FOLDS or len(code) < folds:
        message = f"{len(text.sentences)} sentences cannot have {folds} folds"
        raise InputError(message, "give 2 or more folds, or 0 (`folds`)", code="parameter", file=text.name)
    fold = [code[name] % folds for name in units]
    tags: Tags = [[] for _ in text.sentences]
    for number in range(folds):
        others = [place for place, own in enumerate(fold) if own != number]
        own = [place for place, of in enumerate(fold) if of == number]
        model = _tagger(
            [text.sentences[place] for place in others],
            [text.tags[place] for place in others],
            seed,
            progress,
            f"training taggers ({number + 1} of {folds})",
        )
        predicted = model.predict([text.sentences[place] for place in own])
        for place, given in zip(own, predicted, strict=True):
            tags[place] = given
    return tags


def _tagger(
    sentences: Sequence[Sequence[str]],
    tags: Sequence[Sequence[str]],
    seed: int,
    progress: Progress | None,
    stage: str,
) -> CRFTagger:
    tell(progress, stage)
    return CRFTagger(algorithm="adagrad", max_iterations=TAGGER_EPOCHS, seed=seed).fit(sentences, tags)


@dataclass(frozen=True)
class _Result:
    """Model, and what was measured on the development data."""

    model: DependencyModel
    unlabeled: float | None = None
    labeled: float | None = None
    temperature: TreeTemperature | None = None
    label_temperature: float | None = None
    warning: str | None = None


def _evaluated(model: DependencyModel, text: TreeText, tags: Tags, fit: bool) -> _Result:
    """Return attachment on the development text, and the model with its temperatures."""
    try:
        model.check_tags(tags)
    except InputError as error:
        raise InputError(error.message, error.hint, code=error.code, file=text.name) from None
    source = TreeSource(text, model, tags)
    rows = TreeRows(source, chosen_trees(source), "head", "sentence")
    heads, labels = rows.gold
    right = rows.chosen.heads == heads
    both = right & (rows.chosen.labels == labels)
    scores = float(right.mean()), float(both.mean())
    if not fit:
        return _Result(model, *scores)
    fitted = of_labels = None
    reasons = []
    try:
        fitted = fit_temperature(source)
    except InputError as error:
        reasons.append(error.message)
    try:
        of_labels = label_temperature(source)
    except InputError as error:
        reasons.append(error.message)
    tempered = model.tempered(1.0 if fitted is None else fitted.temperature, of_labels or 1.0)
    return _Result(tempered, *scores, fitted, of_labels, "; ".join(reasons) or None)


def label_temperature(source: TreeSource) -> float:
    """Return the temperature of labels that maximizes the likelihood of gold labels, given gold arcs.

    Parameters
    ----------
    source
        Distributions over the trees of a text with gold trees. Labels that the parser lacks do not count.

    Raises
    ------
    InputError
        If there is no such temperature; see `fit_label_temperature`.

    Examples
    --------
    >>> words, tags = [["I", "see"]] * 4, [["PRON", "VERB"]] * 4
    >>> relations = [["nsubj", "root"]] * 3 + [["obj", "root"]]
    >>> text = TreeText(words, tags, [[2, 0]] * 4, relations, ["1", "2", "3", "4"], None, "small")
    >>> parser = DependencyModel(bits=10, label_bits=8, least=1).fit(words, tags, text.heads, relations)
    >>> round(label_temperature(TreeSource(text, parser, tags)), 1)  # underconfident after few examples
    0.8
    """
    text = source.text
    code = {name: place for place, name in enumerate(source.relations)}
    heads = np.array(list(chain.from_iterable(text.heads or [])), np.int64)
    labels = np.array([code.get(name, -1) for name in chain.from_iterable(text.relations or [])], np.int64)
    parts, start = [], 0
    for _, posterior in source.blocks(labels=True):
        for own in posterior.labels:
            parts.append(own[np.arange(len(own)), heads[start : start + len(own)]])
            start += len(own)
    known = labels >= 0
    return fit_label_temperature(np.concatenate(parts)[known], labels[known])


def _read(source: Any, column: Column | None, progress: Progress | None) -> TreeText:
    text = source
    if not isinstance(source, TreeText):
        text = read_trees(source, column=column, require_tags=True, progress=progress)
    for what, values in (("tags", text.tags), ("trees", text.heads)):
        if values is None:
            message = f"the text has no {what}"
            raise InputError(message, f"give a text with {what}", code="missing-value", file=text.name)
    read: TreeText = text
    return read


def together(texts: Sequence[TreeText]) -> TreeText:
    """Return all texts as one; names of sentences and documents get the number of their text."""
    if len(texts) == 1:
        return texts[0]

    def named(names: str) -> list[str]:
        return [f"{place} {name}" for place, text in enumerate(texts) for name in getattr(text, names)]

    def joined(name: str) -> list[Any]:
        return list(chain.from_iterable(getattr(text, name) for text in texts))

    marked = all(text.document_ids is not None for text in texts)
    return TreeText(
        joined("sentences"),
        joined("tags"),
        joined("heads"),
        joined("relations"),
        named("sentence_ids"),
        named("document_ids") if marked else None,
        ", ".join(text.name for text in texts),
    )


def _accuracy(tags: Tags, gold: Sequence[Sequence[str]]) -> float:
    pairs = zip(chain.from_iterable(tags), chain.from_iterable(gold), strict=True)
    return float(np.mean([one == other for one, other in pairs]))


def _described(texts: Sequence[TreeText]) -> str:
    names = ", ".join(os.path.basename(text.name) for text in texts)
    return f"{names} ({sum(len(text.sentences) for text in texts):,} sentences)"
