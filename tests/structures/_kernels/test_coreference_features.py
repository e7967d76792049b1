"""Features, gradient and steps of coreference models, against definitions that are written slowly."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from calibrant.structures._kernels import coreference_features as features
from calibrant.structures._kernels.coreference_training import BLOCK_BITS, adagrad, add_gradient
from calibrant.structures.documents import Document, Mention, Tree
from calibrant.structures.models import COREFERENCE_GROUPS, PAPER_COSTS, CoreferenceModel
from calibrant.structures.models.coreference import Features
from calibrant.structures.models.coreference_encoding import OWN, Lexicon, code_of, encode
from tests.ship import DOCUMENT, ENTITIES, MENTIONS

SMALL: dict[str, Any] = {"bits": 14, "least": 1, "epochs": 12, "batch": 4, "window": 6}


def wrapped(value: int) -> int:
    return (value + 2**63) % 2**64 - 2**63


def slow_mixed(value: int) -> int:
    """The end of splitmix64 on signed numbers, in Python's integers."""
    value = wrapped((value ^ (value >> 30)) * wrapped(0xBF58476D1CE4E5B9))
    value = wrapped((value ^ (value >> 27)) * wrapped(0x94D049BB133111EB))
    return value ^ (value >> 31)


def slow_mix(first: int, second: int) -> int:
    return slow_mixed(wrapped(slow_mixed(first) * 3 + second + wrapped(0x9E3779B97F4A7C15)))


def slow_place(code: int, conjoined: int, bits: int) -> int:
    product = wrapped((code ^ conjoined) * wrapped(0x9E3779B97F4A7C15))
    return (product >> (63 - bits)) & ((1 << bits) - 1)


def bucket(distance: int) -> int:
    return next((b for b, end in enumerate([*range(1, 11), 15, 20, 30, 50, 100]) if distance < end), 15)


def inside(words: list[int], others: list[int]) -> int:
    return int(any(others[t : t + len(words)] == words for t in range(len(others) - len(words) + 1)))


def slow_pair(this: Any, other: Any, distance: int, tokens: list[int]) -> Iterator[tuple[int, int]]:
    """(template, value) of a pair, from the definitions."""
    f = features
    yield f.LINK, 0
    yield f.MENTION_DISTANCE, bucket(distance)
    yield f.SENTENCE_DISTANCE, bucket(this[f.SENTENCE] - other[f.SENTENCE])
    span, span_of_other = (range(of[f.START], of[f.END]) for of in (this, other))
    within, around = set(span) <= set(span_of_other), set(span) >= set(span_of_other)
    yield f.NESTING, 1 if within else 2 if around else 0
    yield f.GENDERS, 8 * this[f.GENDER] + other[f.GENDER]
    yield f.NUMBERS, 8 * this[f.NUMBER] + other[f.NUMBER]
    if this[f.SPEAKER] >= 0 and other[f.SPEAKER] >= 0:
        yield f.SPEAKERS, int(this[f.SPEAKER] == other[f.SPEAKER])
    quoted, other_quoted = this[f.QUOTATION], other[f.QUOTATION]
    if quoted and other_quoted:
        yield f.QUOTATIONS, 1 if quoted == other_quoted else 3 + min(quoted - other_quoted, 4)
    else:
        yield f.QUOTATIONS, 2 if quoted else 3 if other_quoted else 0
    if this[f.RELATION] >= 0:
        yield f.RELATIONS, slow_mix(this[f.RELATION], other[f.RELATION]) & (2**63 - 1)
        yield f.ARC, slow_arc(this, other)
        away = min(this[f.SENTENCE] - other[f.SENTENCE], 3)
        yield f.PARALLEL, 16 * away + 4 * this[f.ROLE] + other[f.ROLE]
    if this[f.TYPE] != f.PRONOUN:
        words, other_words = ([tokens[t] for t in places] for places in (span, span_of_other))
        yield f.STRING_MATCH, int(words == other_words)
        yield f.HEAD_MATCH, int(this[f.HEAD] == other[f.HEAD])
        yield f.CONTAINED, inside(words, other_words)
        yield f.CONTAINS, inside(other_words, words)
        yield f.HEAD_CONTAINED, inside([this[f.HEAD]], other_words)
        yield f.CONTAINS_HEAD, inside([other[f.HEAD]], words)
        if this[f.HEAD_WORD] > 0 and other[f.HEAD_WORD] > 0 and other[f.TYPE] != f.PRONOUN:
            yield f.HEAD_WORDS, slow_mix(this[f.HEAD_WORD], other[f.HEAD_WORD]) & (2**63 - 1)


def slow_arc(this: Any, other: Any) -> int:
    f = features
    if this[f.GOVERNOR_PLACE] == other[f.TOP_PLACE]:
        return slow_mix(1, this[f.RELATION]) & (2**63 - 1)
    if other[f.GOVERNOR_PLACE] == this[f.TOP_PLACE]:
        return slow_mix(2, other[f.RELATION]) & (2**63 - 1)
    if this[f.GOVERNOR_PLACE] == other[f.GOVERNOR_PLACE] != -1:
        both = slow_mix(slow_mix(3, this[f.RELATION]), other[f.RELATION])
        return both & (2**63 - 1)
    return 0


def slow_agree(this: Any, other: Any) -> bool:
    """Unknown values agree with all, and a person of unknown gender with both genders of persons."""
    f = features
    if len({this[f.NUMBER], other[f.NUMBER]} - {f.UNKNOWN_NUMBER}) > 1:
        return False
    if len({this[f.PERSON], other[f.PERSON]} - {0}) > 1:
        return False
    genders = {this[f.GENDER], other[f.GENDER]} - {f.UNKNOWN_GENDER}
    return len(genders) < 2 or (f.PERSON_GENDER in genders and f.NEUTER not in genders)


def slow_ranks(mentions: Any, i: int, j: int, window: int) -> Iterator[tuple[int, int]]:
    """(template, value) of the candidates that are closer to a mention and agree with it."""
    f, this = features, mentions[i]

    def fits(other: Any) -> bool:
        return slow_agree(this, other) and other[f.END] <= this[f.START]

    if this[f.RELATION] < 0:
        return
    closer = [mentions[k] for k in range(j + 1, i) if fits(mentions[k])]
    subjects = [other for other in closer if other[f.ROLE] == f.SUBJECT]
    if this[f.TYPE] == f.PRONOUN:
        agrees = fits(mentions[j])
        rank, of_subjects = (min(len(some), 6) if agrees else 7 for some in (closer, subjects))
        yield f.RANK, rank
        yield f.SUBJECT_RANK, 8 * of_subjects + mentions[j][f.ROLE]
    same = [k for k in range(max(0, i - window), j) if mentions[k][f.STRING] == mentions[j][f.STRING]]
    yield f.REPEATED, min(len(same), 4)


def slow_features(document: Any, i: int, j: int, on: Any, bits: int) -> list[int]:
    """The features of mention i and candidate j (i itself: new), from the definitions."""
    mentions, own, tokens = (part.tolist() for part in (document.mentions, document.own, document.tokens))
    form = slow_mix(0x243F6A8885A308D3, mentions[i][features.FORM])
    both = slow_mix(form, mentions[j][features.FORM])
    if i == j:
        codes = [code ^ features.OF_NEW for code in own[i] if code] + [slow_mix(features.LINK, 1)]
        return sorted(slow_place(code, with_, bits) for code in codes for with_ in (0, form))
    codes = [code ^ features.OF_LINK for code in own[i] if code]
    codes += [code ^ features.OF_CANDIDATE for code in own[j] if code]
    pairs = [
        *slow_pair(mentions[i], mentions[j], i - j, tokens),
        *slow_ranks(mentions, i, j, SMALL["window"]),
    ]
    codes += [slow_mix(template, value) for template, value in pairs if on[template]]
    return sorted(slow_place(code, with_, bits) for code in codes for with_ in (0, form, both))


def coded(model: CoreferenceModel, document: Document = DOCUMENT) -> Any:
    """Return the input of the kernels, for a model that has learned its words from the document."""
    (encoded,) = model._encoded([document])
    return model._coded(encoded, Lexicon.learn([encoded], model.least))


@pytest.mark.parametrize("of", ["surface", "syntax"])
@pytest.mark.parametrize("without", [(), ("match", "quotation"), ("context", "distance")])
def test_features_are_those_of_a_slow_writer(of: Any, without: tuple[str, ...]) -> None:
    model = CoreferenceModel(features=of, without=without, **SMALL)
    document = coded(model)
    on = model._features.pairs
    row, count = np.zeros((7, 3 * (2 * len(OWN) + features.PAIR_TEMPLATES)), np.int32), np.zeros(7, np.int64)
    for i in range(len(MENTIONS)):
        first, parts = max(0, i - 6), (document.mentions, document.own, document.tokens)
        features.row_features(*parts, i, first, on, 14, row, count)
        for c in range(i - first + 1):
            found = sorted(row[c, : count[c]].tolist())
            assert found == slow_features(document, i, first + c, on, 14)


def test_appositions_and_predicates_hang_on_what_they_are_said_of() -> None:
    """In "Ann, a queen, met Bob; Bob is a king" arcs join Ann and a queen, Bob and a king."""
    words = ["Ann", "a", "queen", "met", "Bob"], ["Bob", "is", "a", "king"]
    trees = [
        Tree([4, 3, 1, 0, 4], ["nsubj", "det", "appos", "root", "obj"], [""] * 5, ["NOUN"] * 5, [""] * 5),
        Tree([4, 4, 4, 0], ["nsubj", "cop", "det", "root"], [""] * 4, ["NOUN"] * 4, [""] * 4),
    ]
    spans = [(0, 0, 1), (0, 1, 3), (0, 4, 5), (1, 0, 1), (1, 2, 4)]
    document = Document("d", words, [Mention(*span) for span in spans], list("aabbb"), trees)
    table = encode(document, trees=True).mentions
    arc = {(i, j): features.arc_value(table[i], table[j]) for i in range(5) for j in range(i)}
    appos, nsubj, obj = (code_of(name) for name in ("appos", "nsubj", "obj"))
    top = 2**63 - 1
    expected = {(1, 0): slow_mix(1, appos) & top, (4, 3): slow_mix(2, nsubj) & top}
    expected[2, 0] = slow_mix(slow_mix(3, obj), nsubj) & top
    assert {pair: value for pair, value in arc.items() if value} == expected


def test_own_features_are_mixtures_of_kind_and_value() -> None:
    values, kinds = np.array([[5, -1], [0, 7]]), np.array([2, 9])
    code = np.zeros((2, 2), np.int64)
    features.own_codes(values, kinds, code)
    base = features.OWN_TEMPLATES
    assert code.tolist() == [[slow_mix(base + 2, 5), 0], [slow_mix(base + 2, 0), slow_mix(base + 9, 7)]]


def loss_and_gradient(document: Any, weight: Any, costs: Any, window: int = 6) -> tuple[float, Any]:
    gradient = np.zeros(len(weight))
    number = {entity: row for row, entity in enumerate(ENTITIES)}
    entities = np.array([number[entity] for entity in ENTITIES])
    on = np.ones(features.PAIR_TEMPLATES, bool)
    bits = len(weight).bit_length() - 1
    arguments = (document.mentions, document.own, document.tokens, entities, 0, len(entities), window)
    touched = np.zeros(len(weight) >> BLOCK_BITS, bool)
    loss = add_gradient(*arguments, on, bits, np.array(costs), weight, gradient, touched)
    assert set(np.flatnonzero(gradient) >> BLOCK_BITS) == set(np.flatnonzero(touched))
    return loss, gradient


@pytest.mark.parametrize("costs", [(0.0, 0.0, 0.0), PAPER_COSTS], ids=["likelihood", "margin"])
def test_the_gradient_is_that_of_finite_differences(costs: tuple[float, float, float]) -> None:
    document = coded(CoreferenceModel(**SMALL))
    rng = np.random.default_rng(3)
    weight = rng.normal(size=1 << 10) / 10
    loss, gradient = loss_and_gradient(document, weight, costs)
    assert loss > 0
    for _ in range(20):
        direction = rng.normal(size=len(weight))
        step = 1e-6
        up, _ = loss_and_gradient(document, weight + step * direction, costs)
        down, _ = loss_and_gradient(document, weight - step * direction, costs)
        assert (up - down) / (2 * step) == pytest.approx(gradient @ direction, rel=1e-4, abs=1e-4)


def test_the_loss_is_the_log_likelihood_of_the_gold_antecedents_with_costs_added() -> None:
    model = CoreferenceModel(**SMALL).fit([DOCUMENT])
    document, weight = coded(model), model._trained()[1].astype(np.float64)
    posterior = model.posterior([DOCUMENT])
    for costs in ((0.0, 0.0, 0.0), PAPER_COSTS):
        expected = 0.0
        for i in range(len(MENTIONS)):
            row = posterior.log_probabilities[posterior.row_offsets[i] : posterior.row_offsets[i + 1]].copy()
            first = max(0, i - 6)
            right = np.array([ENTITIES[j] == ENTITIES[i] for j in range(first, i)] + [False])
            anaphoric = right.any()
            right[-1] = not anaphoric
            wrong = np.full(len(row), costs[2] if anaphoric else costs[0])
            wrong[-1] = costs[1]
            row = np.exp(row + np.where(right, 0.0, wrong))
            expected -= np.log(row[right].sum() / row.sum())
        assert loss_and_gradient(document, weight, costs)[0] == pytest.approx(expected, rel=1e-6)


def test_adagrad_takes_the_step_of_its_formula_in_the_blocks_that_were_touched() -> None:
    block = 1 << BLOCK_BITS
    state: Any = np.zeros((3, 3 * block))
    weight, squares, gradient = state
    weight[block - 2 : block + 2], squares[block - 2 : block + 2] = (0.5, -0.2, 0.0, 0.01), (1, 0, 0, 4)
    gradient[block - 2 : block + 2] = 2.0, -1.0, 0.0, 0.0
    expected = []
    for w, s, g in zip(weight, squares, gradient / 2, strict=True):
        if w == 0 and g == 0:
            expected.append(0.0)
            continue
        step = 0.1 / (np.sqrt(s + g * g) + 1e-8)
        value = w - step * g
        expected.append(np.sign(value) * max(abs(value) - step * 0.3, 0) / (1 + step * 0.7))
    adagrad(weight, squares, gradient, np.array([True, True, False]), 0.5, 0.1, 0.3, 0.7)
    np.testing.assert_allclose(weight, expected, rtol=1e-6)
    assert not gradient.any()


def test_templates_are_those_of_the_groups_left() -> None:
    every = Features.of(COREFERENCE_GROUPS, 10, 5)
    assert every.pairs.all()
    assert sorted(every.own) == list(range(len(OWN)))
    none = Features.of((), 10, 5)
    assert none.own == ()
    assert np.flatnonzero(none.pairs).tolist() == [features.LINK]
