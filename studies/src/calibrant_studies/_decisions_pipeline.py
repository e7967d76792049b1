"""Pipelines of the decisions study: a tagger's parts of speech are the chunker's features."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from calibrant.evaluation import entity_sums, f_of
from calibrant.structures.models.crf import CRFTagger
from calibrant.structures.posterior import ChainPosterior, tempered
from calibrant_studies._base import Row
from calibrant_studies._decisions_compare import (
    Results,
    by_sentence,
    error_columns,
    error_gain,
    gold_codes,
    independent,
    log_losses,
    named,
    saved,
)
from calibrant_studies._decisions_data import MOST_SENTENCES, Texts, crf, hmm, temperature_of
from calibrant_studies._tagging_data import Part
from calibrant_studies.arrays import Floats, Integers

DRAWS = 10
EPOCHS = 15
SEPARATOR = "\t"
FEW = 300  # training sentences of the small tagger
ONE, BEST, DRAWN, WARM, GOLD = "1-best", f"{DRAWS}-best", "samples", "recalibrated samples", "gold tags"


@dataclass(frozen=True)
class Tagger:
    """The first step of a pipeline: distributions over parts of speech of dev and test."""

    title: str
    key: str
    on_dev: ChainPosterior
    on_test: ChainPosterior


def taggers(pos: Texts, web: Texts, seed: int) -> Iterator[Tagger]:
    """Train taggers that differ in their errors and in their calibration."""
    for title, key, model in (
        ("HMM of the same newspaper", "hmm", hmm(pos.train)),
        (f"CRF of {FEW} sentences", "crf-few", crf(pos.train.first(FEW), seed)),
        ("HMM of the web (EWT)", "hmm-web", hmm(web.train)),
    ):
        dev, test = pos.dev.sentences, pos.test.sentences
        yield Tagger(title, key, model.posterior(dev), model.posterior(test))


def joined(sentences: Sequence[Sequence[str]], tags: Sequence[Sequence[str]]) -> list[list[str]]:
    """Tokens as the chunker sees them: the part of speech and the word."""
    return [
        [f"{tag}{SEPARATOR}{word}" for word, tag in zip(words, of, strict=True)]
        for words, of in zip(sentences, tags, strict=True)
    ]


def attributes(sentence: Sequence[str]) -> list[list[str]]:
    """Return the chunker's features: words, parts of speech from two before to two after, and pairs."""
    parts = [token.split(SEPARATOR, 1) for token in sentence]
    tag = ["<<", "<", *(part[0] for part in parts), ">", ">>"]
    word = ["<", *(part[1] for part in parts), ">"]
    return [
        [
            f"w {word[t + 1]}",
            f"w- {word[t]}",
            f"w+ {word[t + 2]}",
            f"t-- {tag[t]}",
            f"t- {tag[t + 1]}",
            f"t {tag[t + 2]}",
            f"t+ {tag[t + 3]}",
            f"t++ {tag[t + 4]}",
            f"tt- {tag[t + 1]} {tag[t + 2]}",
            f"tt+ {tag[t + 2]} {tag[t + 3]}",
        ]
        for t in range(len(sentence))
    ]


def chunker(pos: Texts, chunk: Texts, seed: int) -> CRFTagger:
    """Train the second step on words and their parts of speech."""
    words, tags = pos.train.first(MOST_SENTENCES), chunk.train.first(MOST_SENTENCES).tags
    train = Part(joined(words.sentences, words.tags), tags)
    return crf(train, seed, epochs=EPOCHS, features=attributes)


def run_pipelines(pos: Texts, chunk: Texts, web: Texts, results: Results) -> None:
    """Compare the chunker's results for one best, several best and sampled tag sequences."""
    second, first_gold = chunker(pos, chunk, results.seed), pos.test.tags
    gold = gold_codes(second.tags, chunk.test)
    known = _chunks(second, pos.test.sentences, [first_gold], None)
    _add(results, "(none)", GOLD, None, known, chunk.test, gold)
    for tagger in taggers(pos, web, results.seed):
        temperature = temperature_of(tagger.on_dev, pos.dev.tags)
        accuracy = float(np.mean(tagger.on_test.viterbi() == gold_codes(tagger.on_test.tags, pos.test)))
        found = {
            name: _chunks(second, pos.test.sentences, sequences, weights)
            for name, sequences, weights in _sequences(tagger, temperature, results.seed)
        }
        about: Row = {"accuracy of tags": accuracy, "temperature": temperature}
        sums = {
            name: _add(results, tagger.title, name, about, posterior, chunk.test, gold)
            for name, posterior in found.items()
        }
        for better, base in ((BEST, ONE), (DRAWN, ONE), (WARM, DRAWN)):
            key = f"pipeline/{tagger.key}/{better.replace(' ', '-')}-{base}"
            text = f"{tagger.title}, {better} instead of {base}"
            note = "by sentence; the chunker's most probable tags"
            gain = results.gain(sums[better][0], sums[base][0], f_of)
            results.claim(f"{key}/f1", f"{text}: gain in F1 of chunks", gain, note)
            gain = results.gain(sums[better][1], sums[base][1], saved)
            results.claim(
                f"{key}/log-loss", f"{text}: log loss of chunk tags that is saved", gain, "by sentence"
            )
            gain = error_gain(found[better], found[base], chunk.test)
            text = f"{text}: squared calibration error of chunk tags that is saved"
            results.claim(f"{key}/error", text, gain, "debiased; by sentence")


def _sequences(
    tagger: Tagger, temperature: float, seed: int
) -> Iterator[tuple[str, list[list[list[str]]], Floats | None]]:
    """Yield each way of passing on: tag sequences of the text, and their weights by sentence."""
    posterior = tagger.on_test
    yield ONE, [named(posterior, posterior.viterbi())], None
    best = posterior.k_best(DRAWS)
    first = best.codes[0]
    weights = np.exp(best.log_probability)
    sequences = [named(posterior, np.where(codes < 0, first, codes)) for codes in best.codes]
    yield BEST, sequences, weights / weights.sum(axis=0)
    for name, chain in ((DRAWN, posterior), (WARM, tempered(posterior, temperature))):
        yield name, [named(posterior, codes) for codes in chain.sample(DRAWS, seed=seed)], None


def _chunks(
    second: CRFTagger,
    sentences: Sequence[Sequence[str]],
    sequences: Sequence[list[list[str]]],
    weights: Floats | None,
) -> ChainPosterior:
    """Return the mixture of the chunker's probabilities over tag sequences, sentences by their weights."""
    total, last = None, None
    for place, tags in enumerate(sequences):
        last = second.posterior(joined(sentences, tags))
        weight = 1 / len(sequences) if weights is None else np.repeat(weights[place], last.lengths)[:, None]
        found = last.marginals() * weight
        total = found if total is None else total + found
    assert total is not None
    assert last is not None
    return independent(np.minimum(total, 1.0), last)


def _add(
    results: Results,
    tagger: str,
    name: str,
    about: Row | None,
    posterior: ChainPosterior,
    part: Part,
    gold: Integers,
) -> tuple[Floats, Floats]:
    """Add a row on one way of passing on; return the sums behind its F1 and its log loss."""
    marginal = posterior.marginals()
    decided = np.array(posterior.tags, object)[marginal.argmax(axis=1)].tolist()
    truth = [tag for tags in part.tags for tag in tags]
    sentence = np.repeat(np.arange(len(posterior.lengths)), posterior.lengths)
    entities = entity_sums(truth, decided, sentence)
    starts = posterior.offsets[:-1]
    f_sums = np.add.reduceat(entities, starts)
    losses = by_sentence(log_losses(marginal, gold), posterior.lengths)
    row = about or {"accuracy of tags": 1.0, "temperature": None}
    found = {
        "F1": float(f_of(f_sums.sum(axis=0)[None])[0]),
        "log loss": -float(saved(losses.sum(axis=0)[None])[0]),
    }
    errors = error_columns(posterior, part)
    results.add("pipelines", **{"tagger": tagger, **row, "passed on": name, **found, **errors})
    return f_sums, losses
