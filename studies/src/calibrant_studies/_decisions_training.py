"""Learning in the decisions study: self-training, a penalty during training, and the trainer of a CRF."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.stats import t

from calibrant.metrics.compare import error_difference
from calibrant.metrics.intervals import error_interval
from calibrant.seeds import generator_of
from calibrant.structures.models import Penalty
from calibrant.structures.models.crf import Algorithm, CRFTagger
from calibrant.structures.posterior import ChainPosterior, tempered
from calibrant_studies._decisions_compare import (
    Interval,
    Results,
    error_columns,
    error_gain,
    gold_codes,
    log_losses,
    named,
    top_error,
    top_pairs,
)
from calibrant_studies._decisions_data import Texts, hmm, temperature_of
from calibrant_studies._tagging_data import Part
from calibrant_studies.arrays import Floats, Integers

REPEATS = 10
LABELED, HELD, POOL, TESTED = 200, 100, 2_000, 1_000
SURE = 0.9  # least expected accuracy of a selected sentence
ALONE, ALL, CHOSEN, DRAWN = "labeled sentences alone", "1-best", "confident sentences", "samples"
RECALIBRATED = ", recalibrated"

SENTENCES = 1_500  # training sentences for the penalty
EPOCHS = 20
L2 = 0.1
WEIGHTS = (3.0, 30.0)
WIDTH = 0.4  # of the kernel, as in Kumar et al.


def train_themselves(texts: Texts, results: Results) -> None:
    """Compare HMMs that learn from their own tags of further sentences, with and without recalibration."""
    test = texts.test.first(TESTED)
    lengths = np.array([len(sentence) for sentence in test.sentences])
    starts = np.cumsum(lengths) - lengths
    right: dict[str, list[Floats]] = {}
    taken: dict[str, list[int]] = {}
    temperatures = []
    for repeat in range(REPEATS):
        random = generator_of(results.seed, f"{texts.name} {repeat}")
        order = random.permutation(len(texts.train.sentences))
        cuts = np.cumsum([LABELED, HELD, POOL])
        labeled, held, pool = (_some(texts.train, part) for part in np.split(order, cuts)[:3])
        first = hmm(labeled)
        temperature = temperature_of(first.posterior(held.sentences), held.tags)
        temperatures.append(temperature)
        for name, further in _taught(first.posterior(pool.sentences), pool, temperature, repeat):
            sentences, tags = labeled.sentences + further.sentences, labeled.tags + further.tags
            model = hmm(Part(sentences, tags)) if further.sentences else first
            posterior = model.posterior(test.sentences)
            found = posterior.viterbi() == gold_codes(posterior.tags, test)
            right.setdefault(name, []).append(np.add.reduceat(found.astype(float), starts))
            taken.setdefault(name, []).append(len(further.sentences))
    for name, found in right.items():
        gain, low, high = crossed_interval(np.array(found) - np.array(right[ALONE]), lengths)
        results.add(
            "self-training",
            task=texts.title,
            learns=name,
            sentences=float(np.mean(taken[name])),
            accuracy=float(np.mean([each.sum() for each in found]) / lengths.sum()),
            gain=gain,
            low=low,
            high=high,
            temperature=float(np.mean(temperatures)),
        )
    note = f"{REPEATS} draws of {LABELED} labeled sentences; of draws and test sentences"
    for key, text, better, base in (
        ("1-best", "1-best tags of further sentences", ALL, ALONE),
        ("samples-1-best", "samples instead of 1-best tags", DRAWN, ALL),
        ("recalibrated-samples", "recalibrated samples instead of samples", DRAWN + RECALIBRATED, DRAWN),
        (
            "recalibrated-confident",
            "confident sentences chosen after recalibration instead of before",
            CHOSEN + RECALIBRATED,
            CHOSEN,
        ),
    ):
        gain_of = crossed_interval(np.array(right[better]) - np.array(right[base]), lengths)
        name = f"self-training/{texts.name}/{key}"
        results.claim(name, f"{texts.title}: {text}: gain in accuracy", gain_of, note)


def _taught(
    posterior: ChainPosterior, pool: Part, temperature: float, seed: int
) -> Iterator[tuple[str, Part]]:
    """Yield the model's own labels of the pool."""
    best = named(posterior, posterior.viterbi())
    yield ALONE, Part([], [])
    yield ALL, Part(pool.sentences, best)
    for suffix, chain in (("", posterior), (RECALIBRATED, tempered(posterior, temperature))):
        expected = np.add.reduceat(chain.marginals().max(axis=1), chain.offsets[:-1]) / chain.lengths
        chosen = np.flatnonzero(expected >= SURE)
        yield CHOSEN + suffix, _some(Part(pool.sentences, best), chosen)
        yield DRAWN + suffix, Part(pool.sentences, named(chain, chain.sample(1, seed=seed)[0]))


def _some(part: Part, places: Integers) -> Part:
    return Part([part.sentences[i] for i in places.tolist()], [part.tags[i] for i in places.tolist()])


def crossed_interval(gains: Floats, lengths: Integers) -> Interval:
    """Return the mean gain per token and its interval over draws of training data and test sentences.

    The variance is the sum of that over draws, with Student's quantile, and that over sentences.

    Parameters
    ----------
    gains
        (draws, sentences) tokens that one way of training tags right, less those of the other.
    lengths
        (sentences,) tokens of each sentence.
    """
    draws, tokens = len(gains), lengths.sum()
    each = gains.sum(axis=1) / tokens
    mean = float(each.mean())
    by_draw = float(t.ppf(0.975, draws - 1)) * float(each.std(ddof=1)) / np.sqrt(draws)
    by_sentence = 1.96 * float(np.sqrt(np.sum((gains.mean(axis=0) - mean * lengths) ** 2))) / tokens
    half = float(np.hypot(by_draw, by_sentence))
    return mean, mean - half, mean + half


def mmce_slope(marginal: Floats, gold: Integers) -> Floats:
    """Return the derivative of the squared maximum mean calibration error of a batch's most probable tags.

    The error is the mean over pairs of tokens of e_i e_j exp(-|r_i - r_j| / 0.4), where r is the
    probability of the most probable tag, and e is r less 1 if that tag is right (Kumar, Sarawagi and Jain
    2018). Sums over
    sorted scores take one pass.
    """
    place, top = np.arange(len(gold)), marginal.argmax(axis=1)
    score = marginal[place, top]
    residual = score - (top == gold)
    order = np.argsort(score, kind="stable")
    r, e = score[order], residual[order]
    grown, shrunk = np.exp(r / WIDTH), np.exp(-r / WIDTH)
    before = shrunk * (np.cumsum(e * grown) - e * grown)
    after = grown * (np.cumsum((e * shrunk)[::-1])[::-1] - e * shrunk)
    found = np.zeros_like(marginal)
    derivative = 2 / len(gold) ** 2 * (before + e + after + e * (after - before) / WIDTH)
    found[order, top[order]] = derivative
    return found


def _trained(
    texts: Texts, seed: int, algorithm: Algorithm = "adagrad", penalty: Penalty | None = None
) -> CRFTagger:
    train = texts.train.first(SENTENCES)
    most = EPOCHS if algorithm == "adagrad" else 200
    model = CRFTagger(algorithm=algorithm, l2=L2, max_iterations=most, seed=seed)
    return model.fit(train.sentences, train.tags, penalty=penalty)


def _halves(part: Part) -> Sequence[Part]:
    places = np.arange(len(part.sentences))
    return [_some(part, places[start::2]) for start in (0, 1)]


def _penalized(texts: Texts, halves: Sequence[Part], seed: int) -> Iterator[tuple[str, float, CRFTagger]]:
    """Yield, for each place of the penalty, the model of the weight that is best on the other half of dev."""
    for where, part in (("training sentences", None), ("half of dev", halves[0])):
        tried = []
        for weight in WEIGHTS:
            other = (None, None) if part is None else (part.sentences, part.tags)
            model = _trained(texts, seed, penalty=Penalty(mmce_slope, weight, *other))
            found = error_interval(top_pairs(model.posterior(halves[1].sentences), halves[1]))
            tried.append((found.estimate, weight, model))
        _, weight, model = min(tried, key=lambda each: each[:2])
        yield where, weight, model


def train_with_penalty(texts: Texts, results: Results) -> None:
    """Compare trainers, a penalty during training, and recalibration afterwards, of one CRF."""
    test, halves = texts.test, _halves(texts.dev)
    plain = _trained(texts, results.seed)
    before, wide = plain.posterior(test.sentences), _trained(texts, results.seed, "lbfgs")
    temperature = temperature_of(plain.posterior(texts.dev.sentences), texts.dev.tags)
    after = tempered(before, temperature)
    found = {
        "L-BFGS": (None, wide.posterior(test.sentences)),
        "AdaGrad": (None, before),
        "AdaGrad, then temperature": (temperature, after),
    }
    for where, weight, model in _penalized(texts, halves, results.seed):
        name = f"AdaGrad with penalty on {where}"
        found[name] = weight, model.posterior(test.sentences)
        difference = error_difference(top_pairs(after, test), top_pairs(found[name][1], test)).mse_difference
        results.claim(
            f"penalty/{texts.name}/{where.replace(' ', '-')}",
            f"{texts.title}: squared error of the top tag that a penalty on {where} saves over a temperature",
            (difference.estimate, difference.low, difference.high),
            "debiased; by sentence",
        )
    for name, (setting, posterior) in found.items():
        gold = gold_codes(posterior.tags, test)
        results.add(
            "penalty",
            task=texts.title,
            training=name,
            setting=setting,
            accuracy=float(np.mean(posterior.viterbi() == gold)),
            **{"log loss": float(log_losses(posterior.marginals(), gold).mean())},
            **top_error(posterior, test),
            **error_columns(posterior, test),
        )
    recalibrated = error_difference(top_pairs(before, test), top_pairs(after, test)).mse_difference
    results.claim(
        f"penalty/{texts.name}/temperature",
        f"{texts.title}: squared error of the top tag that a temperature saves",
        (recalibrated.estimate, recalibrated.low, recalibrated.high),
        "debiased; by sentence",
    )
    gain = error_gain(found["AdaGrad"][1], found["L-BFGS"][1], test)
    results.note(
        f"trainer/{texts.name}",
        f"{texts.title}: squared error of all tags, L-BFGS minus AdaGrad",
        gain,
        "debiased; by sentence; the same objective",
    )
