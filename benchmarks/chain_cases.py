"""Cases of tag sequences: posteriors, queries and features, and what CRFsuite and hmmlearn take for them.

Peers' numbers are compared with ours before anything is timed.
"""

from __future__ import annotations

import pydoc
import time
from collections.abc import Callable, Sequence
from functools import wraps
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import tagging_data
from numpy.typing import NDArray

Call = Callable[[], Any]
Floats = NDArray[np.float64]
AGREES_WITH_CRFSUITE = 1e-6
AGREES_WITH_HMMLEARN = 1e-9


def _basic() -> dict[str, Any]:
    return dict(np.load(tagging_data.potentials("basic")))


def _posterior(found: dict[str, Any]) -> Any:
    from calibrant.structures.posterior import ChainPosterior

    return ChainPosterior(found["unary"], found["transition"], lengths=found["lengths"], tags=found["tags"])


def chain_marginals(threads: int, paper_size: bool = False) -> Call:
    """All single-tag marginals from potentials, checks of the potentials included."""
    found = tagging_data.paper_size() if paper_size else _basic()
    return lambda: float(_posterior(found).marginals(threads=threads)[-1].sum())


def chain_viterbi(**_: Any) -> Call:
    found = _basic()
    return lambda: int(_posterior(found).viterbi()[-1])


def _crfsuite() -> tuple[Any, list[Any], dict[str, Any]]:
    """CRFsuite's tagger, the sentences as it takes them, and what our posterior needs."""
    import pycrfsuite

    from calibrant.structures.models.features import attribute_lists

    tagger = pycrfsuite.Tagger()
    tagger.open(str(tagging_data.crfsuite_model("basic")))
    sentences, _ = tagging_data.test()
    items = [pycrfsuite.ItemSequence(lists) for lists in attribute_lists(sentences, "basic")]
    return tagger, items, _basic()


def crfsuite_marginals(sentences: int, **_: Any) -> Call:
    """`Tagger.marginal` of each tag at each token of some sentences; returns how far we differ."""
    tagger, items, found = _crfsuite()
    names, lengths = found["tags"].tolist(), found["lengths"][:sentences].tolist()

    def call() -> list[list[float]]:
        table = []
        marginal = tagger.marginal
        for sequence, length in zip(items[:sentences], lengths, strict=True):
            tagger.set(sequence)
            for place in range(length):
                table.append([marginal(name, place) for name in names])
        return table

    theirs = np.array(call())
    difference = float(np.abs(theirs - _posterior(found).marginals()[: len(theirs)]).max())
    _agree(difference, AGREES_WITH_CRFSUITE, "python-crfsuite")
    return lambda: difference if call() else None


def crfsuite_set(marginal: bool, **_: Any) -> Call:
    """CRFsuite's lookup of each sentence, or that and its forward-backward, which one marginal sets off."""
    tagger, items, found = _crfsuite()
    name = str(found["tags"][0])

    def call() -> int:
        for sequence in items:
            tagger.set(sequence)
            if marginal:
                tagger.marginal(name, 0)
        return len(items)

    return call


def crfsuite_tag(**_: Any) -> Call:
    tagger, items, found = _crfsuite()

    def call() -> int:
        return sum(len(tagger.tag(sequence)) for sequence in items)

    codes = [found["tags"].tolist().index(name) for sequence in items for name in tagger.tag(sequence)]
    _agree(float((np.array(codes) != _posterior(found).viterbi()).mean()), 0.001, "python-crfsuite's tags")
    return call


def _hmm() -> tuple[dict[str, Floats], NDArray[np.int64], NDArray[np.int64]]:
    """An HMM of the training text with a pseudocount of 0.1, words of the test text as codes, and lengths."""
    sentences, tags = tagging_data.train()
    names = sorted(set(chain.from_iterable(tags)))
    tag_code = {name: row for row, name in enumerate(names)}
    word_code = {word: row for row, word in enumerate(dict.fromkeys(chain.from_iterable(sentences)))}
    start, step = np.full(len(names), 0.1), np.full((len(names), len(names)), 0.1)
    emission = np.full((len(names), len(word_code) + 1), 0.1)  # the last column is for unseen words
    for words, labels in zip(sentences, tags, strict=True):
        codes = [tag_code[label] for label in labels]
        start[codes[0]] += 1
        np.add.at(step, (codes[:-1], codes[1:]), 1)
        np.add.at(emission, (codes, [word_code[word] for word in words]), 1)
    tables = {
        name: table / table.sum(axis=-1, keepdims=True)
        for name, table in (("start", start), ("step", step), ("emission", emission))
    }
    text, _ = tagging_data.test()
    codes_of = np.array([word_code.get(word, len(word_code)) for word in chain.from_iterable(text)])
    return tables, codes_of, np.array([len(sentence) for sentence in text])


def _hmm_marginals(
    tables: dict[str, Floats], words: NDArray[np.int64], lengths: NDArray[np.int64], threads: int
) -> Callable[[], Floats]:
    from calibrant.structures.posterior import ChainPosterior

    emission = np.ascontiguousarray(np.log(tables["emission"]).T)
    start, step = np.log(tables["start"]), np.log(tables["step"])

    def call() -> Floats:
        posterior = ChainPosterior(emission[words], step, start=start, lengths=lengths)
        return posterior.marginals(threads=threads)

    return call


def hmm_marginals(threads: int) -> Call:
    """All single-tag marginals of an HMM from words as numbers: its table of emissions is looked up."""
    call = _hmm_marginals(*_hmm(), threads)
    return lambda: float(call()[-1].sum())


def hmmlearn_marginals(**_: Any) -> Call:
    """The same by hmmlearn's scaling implementation, lookup included; returns how far we differ."""
    from hmmlearn.hmm import CategoricalHMM

    tables, words, lengths = _hmm()
    model = CategoricalHMM(len(tables["start"]), implementation="scaling")
    model.startprob_, model.transmat_, model.emissionprob_ = (
        tables["start"],
        tables["step"],
        tables["emission"],
    )
    model.n_features = tables["emission"].shape[1]
    column = words[:, None]
    ours = _hmm_marginals(tables, words, lengths, 1)()
    difference = float(np.abs(model.predict_proba(column, lengths) - ours).max())
    _agree(difference, AGREES_WITH_HMMLEARN, "hmmlearn")
    return lambda: difference if len(model.predict_proba(column, lengths)) else None


def _agree(difference: float, tolerance: float, peer: str) -> None:
    if not difference <= tolerance:
        raise AssertionError(f"we differ from {peer} by {difference}, more than {tolerance}")


def tally(what: str, threads: int, by_cluster: bool = False, paper_size: bool = False) -> Call:
    """Probabilities of all tags, or of all pairs of tags, summed into a tally; returns how many."""
    from calibrant.structures.posterior import queries

    found = tagging_data.paper_size() if paper_size else _basic()
    ask = {"tags": queries.all_tags, "pairs": queries.tag_pairs}[what]

    def call() -> int:
        query = ask(_posterior(found), found["gold"])
        return int(query.tally(exact=False, by_cluster=by_cluster, threads=threads).n.sum())

    return call


def process_peak(**arguments: Any) -> Call:
    """The most memory of the whole process once it has tallied all pairs of tags at the paper's size."""
    call = tally("pairs", paper_size=True, **arguments)
    status = Path("/proc/self/status")

    def peak() -> int:
        call()
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024

    return peak


def potentials(features: str, forget: bool, **_: Any) -> Call:
    """From tokens to potentials; ``forget``: no word has been scored before."""
    from calibrant.structures.files.saved_models import load_model

    model: Any = load_model(tagging_data.tagger_model(features))
    sentences, _tags = tagging_data.test()

    def call() -> int:
        if forget:
            model._scores._forget()
        return len(model.potentials(sentences)[0])

    return call


def item_sequences(features: str, **_: Any) -> Call:
    """Return the input of python-crfsuite: ItemSequences, from ready lists of attributes."""
    import pycrfsuite

    from calibrant.structures.models.features import attribute_lists

    lists = attribute_lists(tagging_data.test()[0], features)
    return lambda: len([pycrfsuite.ItemSequence(tokens) for tokens in lists])


# Stages of `tag eval`: the place where each function is looked up, and its name.
STAGES = (
    ("calibrant.structures.verbs.tagging", "load_tagger", "loading the model"),
    ("calibrant.structures.verbs.tagging", "read_gold", "reading the text"),
    ("calibrant.structures.models.CRFTagger", "potentials", "features"),
    ("calibrant.structures.posterior.ChainPosterior", "marginals", "forward-backward"),
    ("calibrant.structures.posterior.ChainPosterior", "viterbi", "Viterbi"),
    ("calibrant.structures.verbs.tagging", "read", "tallying"),
    ("calibrant.structures.verbs.tagging", "measured", "measuring"),
    ("calibrant.structures.verbs.tagging", "evaluate_tagger", "the rest"),
)


def evaluation(features: str, threads: int) -> Call:
    """`calibrant tag eval` without the start of the process; returns each stage's own seconds."""
    from calibrant.structures.verbs import tagging

    spent: dict[str, float] = {}
    running: list[float] = []  # what the stages within each running stage have taken

    def timed(owner: Any, name: str, stage: str) -> None:
        function = getattr(owner, name)

        @wraps(function)
        def wrapper(*arguments: Any, **keywords: Any) -> Any:
            running.append(0.0)
            start = time.perf_counter()
            try:
                return function(*arguments, **keywords)
            finally:
                seconds = time.perf_counter() - start
                spent[stage] = spent.get(stage, 0.0) + seconds - running.pop()
                if running:
                    running[-1] += seconds

        setattr(owner, name, wrapper)

    for owner, name, stage in STAGES:
        timed(pydoc.locate(owner), name, stage)
    model, text = tagging_data.tagger_model(features), tagging_data.file_to_tag()

    def call() -> dict[str, float]:
        spent.clear()
        tagging.evaluate_tagger(str(model), str(text), threads=threads)
        return dict(spent)

    return call


CASES: Sequence[Callable[..., Call]] = (
    chain_marginals,
    chain_viterbi,
    crfsuite_marginals,
    crfsuite_set,
    crfsuite_tag,
    hmm_marginals,
    hmmlearn_marginals,
    tally,
    process_peak,
    potentials,
    item_sequences,
    evaluation,
)
