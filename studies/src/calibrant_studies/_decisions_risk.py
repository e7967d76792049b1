"""Decisions of the decisions study: best tags, tokens passed on to a person, and best expected F."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from calibrant.evaluation import expected_f_decision, f_of
from calibrant.recalibrate import Isotonic
from calibrant.structures.posterior import ChainPosterior, Spans, gold_spans, likely_spans
from calibrant_studies._decisions_compare import (
    Results,
    Statistic,
    by_sentence,
    gold_codes,
    independent,
    saved,
    share,
    top_error,
)
from calibrant_studies._decisions_data import Task
from calibrant_studies._tagging_data import Part
from calibrant_studies.arrays import Floats, Integers

COST = 0.1  # of passing a token on to a person, where a wrong tag costs 1
FREQUENT = 50  # smallest number of training tokens of a tag whose F counts
NOTHING = "none"


def decide_tags(task: Task, results: Results) -> None:
    """Compare decisions about single tags from the model's probabilities with those from better ones."""
    lengths, gold = task.on_test.lengths, gold_codes(task.on_test.tags, task.texts.test)
    plain = task.on_test.marginals()
    counted = _frequent(task)
    sequence = by_sentence((task.on_test.viterbi() == gold).astype(float), lengths)
    base = _decided(plain, gold, lengths, counted)
    row = {"task": task.title, "recalibration": NOTHING, "temperature": None}
    values = {name: float(statistic(sums.sum(axis=0)[None])[0]) for name, (sums, statistic) in base.items()}
    values |= {"Viterbi": float(share(sequence.sum(axis=0)[None])[0])}
    results.add("tags", **row, **values, **top_error(task.on_test, task.texts.test))
    gain = results.gain(base["accuracy"][0], sequence, share)
    text = f"{task.title}: accuracy of the most probable tags minus that of the most probable sequence"
    results.claim(f"mbr/{task.key}", text, gain, "without recalibration; by sentence")
    for method, marginal in task.marginals():
        found = _decided(marginal, gold, lengths, counted)
        values = {name: float(of(sums.sum(axis=0)[None])[0]) for name, (sums, of) in found.items()}
        temperature = task.temperature if method == "temperature" else None
        about = {"task": task.title, "recalibration": method}
        error = top_error(independent(marginal, task.on_test), task.texts.test)
        results.add("tags", **about, temperature=temperature, Viterbi=None, **values, **error)
        for name, (sums, statistic) in found.items():
            gain = results.gain(sums, base[name][0], statistic)
            key = f"{name.replace(' ', '-')}/{task.key}/{method.replace(' ', '-')}"
            text = f"{task.title}, {method}: gain in {name}"
            results.claim(key, text, gain, "paired, by sentence")


def _decided(
    marginal: Floats, gold: Integers, lengths: Integers, counted: Integers
) -> dict[str, tuple[Floats, Statistic]]:
    """Return each sentence's summands for the value of each decision, and the function from sums to value."""
    best = marginal.argmax(axis=1)
    wrong = (best != gold).astype(float)
    kept = marginal.max(axis=1) >= 1 - COST
    return {
        "accuracy": (by_sentence(1.0 - wrong, lengths), share),
        "cost saved": (by_sentence(np.where(kept, wrong, COST), lengths), saved),
        "expected F": (_f_sums(marginal, gold, lengths, counted), mean_f),
    }


def _frequent(task: Task) -> Integers:
    """Return the codes of the tags that are frequent enough in training to count in the mean F."""
    counts = np.bincount(
        [code for code in gold_codes(task.on_test.tags, task.texts.train).tolist() if code >= 0],
        minlength=task.on_test.tag_count,
    )
    return np.flatnonzero(counts >= FREQUENT)


def _f_sums(marginal: Floats, gold: Integers, lengths: Integers, counted: Integers) -> Floats:
    """For each tag: tokens chosen for the best expected F over the whole text, and how many are right."""
    starts = np.cumsum(lengths) - lengths
    columns = []
    for code in counted.tolist():
        chosen = expected_f_decision(np.minimum(marginal[:, code], 1.0))
        there = gold == code
        parts = np.stack([chosen & there, chosen, there], axis=1).astype(float)
        columns.append(np.add.reduceat(parts, starts))
    return np.concatenate(columns, axis=1)


def mean_f(totals: Floats) -> Floats:
    """Mean F of the tags that occur or are chosen, from three sums each."""
    each = [f_of(totals[:, place : place + 3]) for place in range(0, totals.shape[1], 3)]
    return np.asarray(np.nanmean(each, axis=0))


def decide_spans(task: Task, results: Results) -> None:
    """Compare sets of spans of the best expected F, before and after recalibration, and the best sequence."""
    test = task.texts.test
    gold = gold_spans(test.tags)
    fitted = Isotonic().fit(*_labeled(task.on_dev, task.texts.dev))
    plain, warm = likely_spans(task.on_test), likely_spans(task.tempered)
    assert plain.probability is not None
    assert warm.probability is not None
    tags = [task.on_test.tags[code] for code in task.on_test.viterbi().tolist()]
    edges = pairwise(task.on_test.offsets.tolist())
    sequence = gold_spans([tags[start:stop] for start, stop in edges])
    sums = {"most probable sequence": _counted(sequence, gold, len(test.tags))}
    scored = {
        NOTHING: (plain, plain.probability),
        "temperature": (warm, warm.probability),
        "map of spans": (plain, fitted.transform(np.minimum(plain.probability, 1.0))),
    }
    for name, (spans, probability) in scored.items():
        probability = np.clip(probability, 0.0, 1.0)
        for rule, kept in (("half", probability >= 0.5), ("expected F", expected_f_decision(probability))):
            sums[f"{rule}, {name}"] = _counted(_some(spans, kept), gold, len(test.tags))
    for name, counts in sums.items():
        right, found, there = counts.sum(axis=0).tolist()
        about = {"task": task.title, "decision": name, "spans": int(found)}
        scores = {"precision": right / found, "recall": right / there, "F1": 2 * right / (found + there)}
        results.add("spans", **about, **scores)
    base = sums[f"expected F, {NOTHING}"]
    for name, text in (
        ("most probable sequence", "F1 of spans of the best expected F minus that of the best sequence"),
        (f"half, {NOTHING}", "F1 of spans of the best expected F minus that of spans from one half"),
    ):
        gain = results.gain(base, sums[name], f_of)
        results.claim(
            f"expected-f-spans/{task.key}/{name.split(',')[0].replace(' ', '-')}",
            f"{task.title}: {text}",
            gain,
            "without recalibration; by sentence",
        )
    for method in ("temperature", "map of spans"):
        gain = results.gain(sums[f"expected F, {method}"], base, f_of)
        results.claim(
            f"expected-f-spans/{task.key}/{method.replace(' ', '-')}",
            f"{task.title}, {method}: gain in F1 of spans of the best expected F",
            gain,
            "paired, by sentence",
        )


def _keys(spans: Spans) -> list[tuple[int, int, int, str]]:
    return list(
        zip(spans.sentence.tolist(), spans.first.tolist(), spans.last.tolist(), spans.names, strict=True)
    )


def _labeled(posterior: ChainPosterior, part: Part) -> tuple[Floats, Floats]:
    """Return the probabilities of likely spans, with labels that mark the gold ones."""
    found, there = likely_spans(posterior), set(_keys(gold_spans(part.tags)))
    assert found.probability is not None
    return np.minimum(found.probability, 1.0), np.array([key in there for key in _keys(found)], np.uint8)


def _some(spans: Spans, kept: np.ndarray) -> Spans:
    return Spans(spans.sentence[kept], spans.first[kept], spans.last[kept], spans.type[kept], spans.types)


def _counted(found: Spans, gold: Spans, sentences: int) -> Floats:
    """Right, found and gold spans of each sentence."""
    there = set(_keys(gold))
    right = np.array([key in there for key in _keys(found)], bool)
    columns = (found.sentence[right], found.sentence, gold.sentence)
    return np.stack([np.bincount(column, minlength=sentences) for column in columns], axis=1).astype(float)
