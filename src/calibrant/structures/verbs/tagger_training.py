"""Training of a tagger, with hyperparameters chosen by accuracy on a dev set."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any, Literal

from calibrant._checks import one_of
from calibrant._version import __version__
from calibrant.exceptions import InputError
from calibrant.io.predictions import listed
from calibrant.progress import Progress, tell
from calibrant.structures.files.saved_models import check_model_place, save_model
from calibrant.structures.files.tagged import TaggedText
from calibrant.structures.models import L2_PENALTIES, PSEUDOCOUNTS, Candidate, CRFTagger, HMMTagger, choose
from calibrant.structures.models.crf import Algorithm
from calibrant.structures.models.features import Features
from calibrant.structures.models.hmm import Unseen
from calibrant.structures.results.tagging import TaggerCandidate, TrainedTagger
from calibrant.structures.verbs.tagging import Column, read_gold

Trained = CRFTagger | HMMTagger
Sentences = Sequence[Sequence[str]]

DEFAULT_FEATURES = "advanced"
DEFAULT_PENALTY = 0.1
DEFAULT_PSEUDOCOUNT = 0.01
MOST_ITERATIONS = 200


def train_tagger(
    train: Any,
    dev: Any = None,
    *,
    model: Literal["crf", "hmm"] = "crf",
    features: Features | None = None,
    column: Column | None = None,
    output: str | os.PathLike[str] | None = None,
    l2: float | Sequence[float] | None = None,
    max_iterations: int | None = None,
    algorithm: Algorithm | None = None,
    seed: int | None = None,
    pseudocount: float | Sequence[float] | None = None,
    unseen: Unseen | None = None,
    progress: Progress | None = None,
    executor: Executor | None = None,
) -> tuple[Trained, TrainedTagger]:
    """Train a tagger; with development data, choose its hyperparameters by accuracy.

    Parameters
    ----------
    train, dev
        Paths of files with tags (see `calibrant.structures.read_tagged`), or `TaggedText`. Without ``dev``,
        the given or default hyperparameters are used.
    model
        ``crf``: conditional random field (`CRFTagger`). ``hmm``: hidden Markov model (`HMMTagger`).
    features
        Features of a CRF: ``"basic"``, ``"advanced"`` (the default), names of feature groups, or a function.
    column
        Column of the tags; None for the default of the file format.
    output
        Path of the saved model; None to save nothing.
    l2
        L2 penalty of a CRF, or several values to choose from. None: 7 values from 10 to 0.01; 0.1 without
        `dev`.
    max_iterations
        Largest number of iterations of a CRF's training. None: 200.
    algorithm
        Trainer of a CRF (`CRFTagger`); lbfgs, l2sgd and adagrad maximize the same penalized likelihood. None:
        ``lbfgs``.
    seed
        Seed of the order of sentences in the training of a CRF; lbfgs does not use it. None: 0.
    pseudocount
        Pseudocount of an HMM, or several values to choose from. None: 15 values from 10 to 0.000001; 0.01
        without `dev`.
    unseen
        Model of words that an HMM has not seen. ``classes``: rare words of the same suffix and shape.
        ``uniform``: one probability for all, as in Nguyen & O'Connor (2015). None: ``classes``.
    progress
        Called with a stage, the work done and the total work.
    executor
        Executor that tries hyperparameters in parallel, such as a ``ProcessPoolExecutor`` with two workers;
        None: one after another. The result does not depend on it.

    Returns
    -------
    model : CRFTagger or HMMTagger
        Tagger trained on ``train`` only.
    record : TrainedTagger
        Candidates and chosen hyperparameters.

    Raises
    ------
    InputError
        If a file or a setting is invalid, there are several settings and no ``dev``, or the model cannot be
        written.

    References
    ----------
    Nguyen and O'Connor (2015), section 4.2: hyperparameters by accuracy on development data.

    Examples
    --------
    >>> text = TaggedText([["dogs", "bark"], ["cats"]], [["N", "V"], ["N"]], ["1", "2"], None, "small")
    >>> tagger, record = train_tagger(text, text, model="hmm", pseudocount=[1.0, 0.1])
    >>> tagger.tags, record.hyperparameters, len(record.candidates)
    (('N', 'V'), {'pseudocount': 1.0, 'unseen': 'classes'}, 2)
    """
    start = time.perf_counter()
    if output is not None:
        check_model_place(output, train, dev)
    chosen = {"max_iterations": max_iterations, "algorithm": algorithm, "seed": seed}
    family = _family(model, features, l2, chosen, pseudocount, unseen)
    values = family.values(several=dev is not None)
    text = read_gold(train, column, progress)
    assert text.tags is not None
    candidates: list[TaggerCandidate] = []
    held_out: TaggedText | None = None
    if dev is None:
        trained = _Attempt(family, progress, (values[0], ""))
        trained.fit(text.sentences, text.tags)
    else:
        held_out = read_gold(dev, column, progress)
        _share_tags(text, held_out)
        trained, candidates = _chosen(family, values, text, held_out, progress, executor)
    if output is not None:
        save_model(trained.tagger, output, column=column)
    tagger = trained.tagger
    record = TrainedTagger(
        model=model,
        features=_worded(features or DEFAULT_FEATURES) if isinstance(tagger, CRFTagger) else None,
        column=column,
        train=text.name,
        dev=None if held_out is None else held_out.name,
        sentences=len(text.sentences),
        tokens=text.token_count,
        words=len({token for sentence in text.sentences for token in sentence}),
        tags=tagger.tags,
        hyperparameters={family.name: trained.value, **family.shared},
        accuracy=max((candidate.accuracy for candidate in candidates), default=None),
        candidates=tuple(candidates),
        iterations=tagger.iterations if isinstance(tagger, CRFTagger) else None,
        output=None if output is None else os.fspath(output),
        seconds=time.perf_counter() - start,
        version=__version__,
    )
    return tagger, record


@dataclass(frozen=True)
class _Family:
    """Taggers that differ in one hyperparameter, ``name``.

    Without requested values (``given``), ``several`` are tried on development data; without these, the
    ``default``. ``shared`` are the other hyperparameters, and ``make`` returns a tagger for a value.
    """

    name: str
    given: float | Sequence[float] | None
    default: float
    several: tuple[float, ...]
    shared: dict[str, Any]
    make: Callable[..., Trained]

    def values(self, several: bool) -> list[float]:
        """Return the values to try; more than one needs development data."""
        if self.given is None:
            return list(self.several) if several else [self.default]
        given = [self.given] if isinstance(self.given, (int, float)) else self.given
        values = list(dict.fromkeys(given))
        if not values or (len(values) > 1 and not several):
            message = f"there are {len(values)} values of {self.name}, but no development data to choose one"
            raise InputError(message, f"give one `{self.name}`, or `dev`", code="parameter")
        for value in values:
            self.tagger(value)  # raises an error for a value out of range before any training
        return values

    def tagger(self, value: float) -> Trained:
        """Return an untrained tagger with a value."""
        return self.make(**{self.name: value})


def _family(
    model: str,
    features: Features | None,
    l2: float | Sequence[float] | None,
    chosen: Mapping[str, Any],
    pseudocount: float | Sequence[float] | None,
    unseen: Unseen | None,
) -> _Family:
    """Return the taggers to try; ``chosen`` are a CRF's further hyperparameters, None for the defaults."""
    if model == "crf":
        _refuse("HMM", {"pseudocount": pseudocount, "unseen": unseen})
        given = {name: value for name, value in chosen.items() if value is not None}
        shared = {"max_iterations": MOST_ITERATIONS, **given}
        crf = partial(CRFTagger, features=features or DEFAULT_FEATURES, **shared)
        return _Family("l2", l2, DEFAULT_PENALTY, L2_PENALTIES, shared, crf)
    one_of(model, ("crf", "hmm"), "model")
    _refuse("CRF", {"features": features, "l2": l2, **chosen})
    kind: Unseen = unseen or "classes"
    hmm = partial(HMMTagger, unseen=kind)
    return _Family("pseudocount", pseudocount, DEFAULT_PSEUDOCOUNT, PSEUDOCOUNTS, {"unseen": kind}, hmm)


def _refuse(model: str, options: dict[str, Any]) -> None:
    """Raise `InputError` if an option of the other model is given."""
    for name, value in options.items():
        if value is not None:
            message, hint = f"{name} is an option of the {model}", f"leave `{name}` out, or choose that model"
            raise InputError(message, hint, code="parameter")


class _Attempt:
    """Tagger with one value of the hyperparameter, which reports the progress of its training."""

    def __init__(self, family: _Family, progress: Progress | None, setting: tuple[float, str]) -> None:
        self.value, place = setting
        self.tagger = family.tagger(self.value)
        self._stage = f"training with {family.name} {self.value:g}{place}"
        self._progress = progress

    def fit(self, sentences: Sentences, tags: Sentences) -> object:
        self._report("", 0, None)
        if isinstance(self.tagger, CRFTagger):
            return self.tagger.fit(sentences, tags, progress=self._report)
        return self.tagger.fit(sentences, tags)

    def predict(self, sentences: Sentences) -> list[list[str]]:
        return self.tagger.predict(sentences)

    def _report(self, stage: str, done: int, total: int | None) -> None:
        tell(self._progress, self._stage, done, total)


def _chosen(
    family: _Family,
    values: Sequence[float],
    text: TaggedText,
    dev: TaggedText,
    progress: Progress | None,
    executor: Executor | None,
) -> tuple[_Attempt, list[TaggerCandidate]]:
    """Train with each value; return the best on the development data, and all candidates."""
    assert text.tags is not None
    assert dev.tags is not None
    attempts = [
        (value, f" ({place} of {len(values)})" if len(values) > 1 else "")
        for place, value in enumerate(values, 1)
    ]
    done = count(1)

    def tried(_: Candidate) -> None:
        if progress is not None and executor is not None:
            progress(f"training with {len(values)} values of {family.name}", next(done), len(values))

    make = partial(_Attempt, family, progress if executor is None else None)
    texts = text.sentences, text.tags, dev.sentences, dev.tags
    choice = choose(make, attempts, *texts, progress=tried, executor=executor)
    candidates = [
        TaggerCandidate({family.name: candidate.setting[0]}, candidate.accuracy)
        for candidate in choice.candidates
    ]
    return choice.model, candidates


def _share_tags(text: TaggedText, dev: TaggedText) -> None:
    """Raise `InputError` if training and development data share no tag."""
    assert text.tags is not None
    assert dev.tags is not None
    tags = {tag for sentence in dev.tags for tag in sentence}
    if tags.isdisjoint(tag for sentence in text.tags for tag in sentence):  # every accuracy would be 0
        message = f"none of the tags ({listed(sorted(tags), most=3)}) occurs in {text.name}"
        raise InputError(message, "give a text with the same tags", code="class-unknown", file=dev.name)


def _worded(features: Features) -> str | list[str]:
    if isinstance(features, str):
        return features
    return "own" if callable(features) else list(features)
