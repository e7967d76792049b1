"""Coreference scores against the reference scorer's published cases, definitions spelt out, and counting."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from calibrant.exceptions import InputError
from calibrant.records import Quantity
from calibrant.structures import coreference_scores
from calibrant.structures.documents import Mention
from calibrant.structures.results.coreference import CoreferenceScores
from tests.quantities import defined

FIGURES = ("recall", "precision", "f1")
METRICS = ("muc", "b_cubed", "ceaf_e", "lea", "blanc")

# The test cases of the CoNLL reference scorer, https://github.com/conll/reference-coreference-scorers,
# test/TestCases.README and test/CorefMetricTestConfig.pm (version 8.01), and for LEA those of
# https://github.com/ns-moosavi/coval, unittests.py. A letter is a mention, a word is an entity; expected are
# recall, precision and F1 as they are there. A7 to A9 repeat mentions, which both take out before scoring:
# what is left is A4.
A = "a bc def"


def harmonic(recall: float, precision: float) -> tuple[float, float, float]:
    """Return the score by the formula of the paper."""
    return recall, precision, 2 * recall * precision / (recall + precision)


CASES: dict[str, tuple[str, str, dict[str, tuple[float, float, float]]]] = {
    "A1": (A, "a bc def", dict.fromkeys(METRICS, (1, 1, 1))),
    "A2": (
        A,
        "a de",
        {
            "muc": (1 / 3, 1, 0.5),
            "b_cubed": (7 / 18, 1, 14 / 25),
            "ceaf_e": (0.6, 0.9, 0.72),
            "lea": (1 / 3, 1, 0.5),
            "blanc": (0.21591, 1, 0.35385),
        },
    ),
    "A3": (
        A,
        "a bcx defy z",
        {
            "muc": (1, 3 / 5, 0.75),
            "b_cubed": (1, 55 / 108, 110 / 163),
            "ceaf_e": (0.88571, 0.66429, 0.75918),
            "lea": (1, 4 / 9, 8 / 13),
            "blanc": (1, 0.42593, 0.59717),
        },
    ),
    "A4": (
        A,
        "a bcx dy z",
        {
            "muc": (1 / 3, 1 / 3, 1 / 3),
            "b_cubed": harmonic(5 / 9, 17 / 42),
            "ceaf_e": (0.73333, 0.55, 0.62857),
            "lea": (0.5, 2 / 7, 4 / 11),
            "blanc": (0.35227, 0.27206, 0.30357),
        },
    ),
    "A5": (
        A,
        "a bcxB dy z",
        {
            "muc": (1 / 3, 1 / 4, 2 / 7),
            "b_cubed": harmonic(5 / 9, 5 / 16),
            "ceaf_e": (0.68889, 0.51667, 0.59048),
            "lea": (0.5, 5 / 24, 5 / 17),
            "blanc": (0.35227, 0.19048, 0.24716),
        },
    ),
    "A6": (
        A,
        "a bcx dy Bz",
        {
            "muc": (1 / 3, 1 / 4, 2 / 7),
            "b_cubed": harmonic(5 / 9, 17 / 48),
            "ceaf_e": (0.73333, 0.55, 0.62857),
            "lea": (0.5, 1 / 4, 1 / 3),
            "blanc": (0.35227, 0.20870, 0.25817),
        },
    ),
    "A10": (
        A,
        "a b c d e f",
        {
            "muc": (0, 0, 0),
            "b_cubed": (0.5, 1, 2 / 3),
            "lea": (1 / 6, 1 / 6, 1 / 6),
            "blanc": (0.5, 0.36667, 0.42308),
        },
    ),
    "A11": (
        A,
        "abcdef",
        {
            "muc": (1, 3 / 5, 6 / 8),
            "b_cubed": (1, 7 / 18, 14 / 25),
            "lea": (5 / 6, 4 / 15, 40 / 99),
            "blanc": (0.5, 0.13333, 0.21053),
        },
    ),
    "A12": (
        A,
        "a x y c d e z",
        {
            "muc": (0, 0, 0),
            "b_cubed": harmonic(13 / 36, 4 / 7),
            "lea": (1 / 6, 1 / 7, 2 / 13),
            "blanc": (0.22727, 0.11905, 0.15625),
        },
    ),
    "A13": (
        A,
        "axycdez",
        {
            "muc": (1 / 3, 1 / 6, 2 / 9),
            "b_cubed": harmonic(17 / 36, 6 / 49),
            "lea": (1 / 6, 1 / 21, 2 / 27),
            "blanc": (0.125, 0.02381, 0.04),
        },
    ),
    "B1": ("ab cde", "bcx de", {"blanc": (7 / 24, 7 / 24, 7 / 24), "lea": (1 / 5, 2 / 5, 4 / 15)}),
    "C1": (
        "ab cde fg",
        "bcx de fg",
        {"blanc": (0.5125, 0.5125, 0.5125), "lea": (3 / 7, 4 / 7, 24 / 49)},
    ),
    "D1": (
        "12345 67 89ABC",
        "12345 6789ABC",
        {
            "muc": harmonic(1, 9 / 10),
            "b_cubed": harmonic(1, 16 / 21),
            "lea": harmonic(1, (5 + 7 * 11 / 21) / 12),
        },
    ),
    "E1": (
        "12345 67 89ABC",
        "1234589ABC 67",
        {
            "muc": harmonic(1, 9 / 10),
            "b_cubed": harmonic(1, 7 / 12),
            "lea": harmonic(1, (10 * 20 / 45 + 2) / 12),
        },
    ),
    "F1": ("ABCD", "AB CD", {"muc": (2 / 3, 1, 0.8), "lea": (1 / 3, 1, 0.5)}),
    "G1": ("AB CD", "ABCD", {"muc": (1, 2 / 3, 0.8), "lea": (1, 1 / 3, 0.5)}),
    "H1": ("ABCD", "ABCD", {"muc": (1, 1, 1), "lea": (1, 1, 1)}),
    "I1": ("ABCD", "AB CD", {"muc": (2 / 3, 1, 0.8), "lea": (1 / 3, 1, 0.5)}),
    "J1": ("ABC", "AC", {"muc": (1 / 2, 1, 2 / 3), "lea": (1 / 3, 1, 0.5)}),
    "K1": ("BCDEGHJ", "ABC DEF GHI", {"muc": (0.5, 0.5, 0.5), "lea": (1 / 7, 1 / 3, 0.2)}),
    "L1": ("ABC DEFG", "AB CD FGH", {"muc": (2 / 5, 2 / 4, 4 / 9), "lea": (5 / 21, 3 / 7, 15 / 49)}),
    "M1": ("abcdef", "abcdef", dict.fromkeys(METRICS, (1, 1, 1))),
    "M2": ("abcdef", "a b c d e f", {"muc": (0, 0, 0), "lea": (0, 0, 0), "blanc": (0, 0, 0)}),
    "M3": ("abcdef", "ab cde f", {"lea": harmonic(4 / 15, 5 / 6), "blanc": (0.26667, 1, 0.42105)}),
    "M4": ("abcdef", "abcxyz", {"lea": (0.2, 0.2, 0.2), "blanc": (0.2, 0.2, 0.2)}),
    "M5": ("abcdef", "a b c x y z", {"muc": (0, 0, 0), "lea": (0, 0, 0), "blanc": (0, 0, 0)}),
    "M6": ("abcdef", "ab cxy z", {"lea": (1 / 15, 1 / 3, 1 / 9), "blanc": (0.06667, 0.25, 0.10526)}),
    "N1": (
        "a b c d e f",
        "a b c d e f",
        {"muc": (0, 0, 0), "b_cubed": (1, 1, 1), "ceaf_e": (1, 1, 1), "lea": (1, 1, 1), "blanc": (1, 1, 1)},
    ),
    "N2": ("a b c d e f", "abcdef", {"muc": (0, 0, 0), "lea": (0, 0, 0), "blanc": (0, 0, 0)}),
    "N3": ("a b c d e f", "ab cde f", {"lea": (1 / 6, 1 / 6, 1 / 6), "blanc": (0.73333, 1, 0.84615)}),
    "N4": (
        "a b c d e f",
        "a b c x y z",
        {"muc": (0, 0, 0), "lea": (0.5, 0.5, 0.5), "blanc": (0.2, 0.2, 0.2)},
    ),
    "N5": ("a b c d e f", "abcxyz", {"lea": (0, 0, 0), "blanc": (0, 0, 0)}),
    "N6": ("a b c d e f", "ab cxy z", {"lea": (0, 0, 0), "blanc": (0.13333, 0.18182, 0.15385)}),
}
# Here the reference scorer says 0 for a ratio without a denominator, and we that it is undefined.
UNDEFINED = {
    ("A10", "muc", "precision"),
    ("A12", "muc", "precision"),
    ("M2", "muc", "precision"),
    ("M5", "muc", "precision"),
    *((case, "muc", part) for case in ("N1", "N4") for part in FIGURES),
    ("N2", "muc", "recall"),
}


def chains(entities: str) -> tuple[list[str], list[int]]:
    """Mentions and their entities: ``"a bc"`` is a alone, and b with c."""
    words = entities.split()
    return [letter for word in words for letter in word], [
        number for number, word in enumerate(words) for _ in word
    ]


def scored(*pairs: tuple[str, str], **options: Any) -> CoreferenceScores:
    gold, predicted = [chains(key) for key, _ in pairs], [chains(response) for _, response in pairs]
    return coreference_scores(
        [mentions for mentions, _ in gold],
        [clusters for _, clusters in gold],
        [mentions for mentions, _ in predicted],
        [clusters for _, clusters in predicted],
        **({"samples": 10} | options),
    )


def value(found: CoreferenceScores, metric: str, part: str) -> float | None:
    return quantity(found, metric, part).estimate


def quantity(found: CoreferenceScores, metric: str, part: str) -> Quantity:
    number: Quantity = getattr(found[metric], part)
    return number


def interval(found: CoreferenceScores) -> tuple[float, float, float]:
    """Low, estimate and high of the CoNLL F1."""
    conll = found.conll_f1
    return defined(conll.low), defined(conll.estimate), defined(conll.high)


@pytest.mark.parametrize("case", CASES)
def test_the_cases_of_the_reference_scorer(case: str) -> None:
    gold, predicted, expected = CASES[case]
    found = scored((gold, predicted))
    for metric, numbers in expected.items():
        for part, number in zip(FIGURES, numbers, strict=True):
            got = value(found, metric, part)
            if (case, metric, part) in UNDEFINED:
                assert (number, got) == (0, None)
                assert quantity(found, metric, part).reason
            else:
                assert got == pytest.approx(number, abs=1e-5), (metric, part)


def test_documents_add_up_before_they_are_divided() -> None:
    found = scored((A, "a bc def"), (A, "abcdef"), ("ABCD", "AB CD"))
    # Links: 3 + 3 + 3 of gold, 3 + 3 + 2 found; 3 + 5 + 2 predicted.
    assert value(found, "muc", "recall") == pytest.approx(8 / 9)
    assert value(found, "muc", "precision") == pytest.approx(8 / 10)
    recall, precision = (6 + 6 + 2) / 16, (6 + 14 / 6 + 4) / 16
    assert value(found, "b_cubed", "f1") == pytest.approx(2 * recall * precision / (recall + precision))
    singles = [scored(pair) for pair in [(A, "a bc def"), (A, "abcdef"), ("ABCD", "AB CD")]]
    rows = found.documents
    assert [row.scores["muc"]["f1"] for row in rows] == [value(single, "muc", "f1") for single in singles]
    assert [row.conll_f1 for row in rows] == [single.conll_f1.estimate for single in singles]


def spelt_out(gold: dict[str, int], predicted: dict[str, int]) -> Iterator[tuple[str, float, float]]:
    """Recall and precision of each metric, straight from its definition, by sets and loops."""

    def sets(clusters: dict[str, int]) -> list[set[str]]:
        return [{m for m, c in clusters.items() if c == code} for code in sorted(set(clusters.values()))]

    def links(clusters: list[set[str]]) -> set[frozenset[str]]:
        return {frozenset(pair) for each in clusters for pair in combinations(sorted(each), 2)}

    key, response = sets(gold), sets(predicted)

    def muc(one: list[set[str]], other: list[set[str]]) -> float:
        parts = [{next((n for n, o in enumerate(other) if m in o), m) for m in each} for each in one]
        missing = sum(map(len, parts)) - len(one)
        whole = sum(map(len, one)) - len(one)
        return (whole - missing) / whole if whole else math.nan

    def b_cubed(one: list[set[str]], other: list[set[str]]) -> float:
        total = [len(each & match) / len(each) for each in one for m in each for match in other if m in match]
        count = sum(map(len, one))
        return sum(total) / count if count else math.nan

    def lea(one: list[set[str]], other: list[set[str]]) -> float:
        total = 0.0
        for each in one:
            if len(each) == 1:
                total += each in other
            else:
                total += len(each) * len(links([each]) & links(other)) / len(links([each]))
        count = sum(map(len, one))
        return total / count if count else math.nan

    def similarity() -> float:
        few, many = sorted((key, response), key=len)
        return max(
            (
                sum(2 * len(a & b) / (len(a) + len(b)) for a, b in zip(few, chosen, strict=True))
                for chosen in permutations(many, len(few))
            ),
            default=0.0,
        )

    yield "muc", muc(key, response), muc(response, key)
    yield "b_cubed", b_cubed(key, response), b_cubed(response, key)
    yield "lea", lea(key, response), lea(response, key)
    best = similarity()
    yield "ceaf_e", best / len(key) if key else math.nan, best / len(response) if response else math.nan
    common = len(links(key) & links(response))
    ratios = [common / len(links(side)) if links(side) else math.nan for side in (key, response)]
    yield "pairwise", ratios[0], ratios[1]
    apart = [links([set(side)]) - links(sets(side)) for side in (gold, predicted)]
    both = len(apart[0] & apart[1])
    kinds = [(common, links(key), links(response)), (both, apart[0], apart[1])]
    kinds = [kind for kind in kinds if kind[1]]
    if kinds:
        yield (
            "blanc",
            sum(count / len(one) for count, one, _ in kinds) / len(kinds),
            sum(count / len(other) if other else 0 for count, _, other in kinds) / len(kinds),
        )
    else:
        yield "blanc", math.nan, math.nan


CLUSTERING = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 4))


@given(CLUSTERING, CLUSTERING)
def test_metrics_are_their_definitions(gold: dict[str, int], predicted: dict[str, int]) -> None:
    found = coreference_scores(
        [list(gold)], [list(gold.values())], [list(predicted)], [list(predicted.values())], samples=1
    )
    for metric, recall, precision in spelt_out(gold, predicted):
        for part, expected in (("recall", recall), ("precision", precision)):
            got = value(found, metric, part)
            assert (got is None) == math.isnan(expected), (metric, part)
            assert got is None or got == pytest.approx(expected), (metric, part)


@given(CLUSTERING, CLUSTERING)
def test_swapping_the_sides_swaps_precision_and_recall(
    gold: dict[str, int], predicted: dict[str, int]
) -> None:
    one, other = (list(gold), list(gold.values())), (list(predicted), list(predicted.values()))
    forward = coreference_scores([one[0]], [one[1]], [other[0]], [other[1]], samples=1)
    back = coreference_scores([other[0]], [other[1]], [one[0]], [one[1]], samples=1)
    for metric in ("muc", "b_cubed", "ceaf_e", "lea", "pairwise", "mentions"):
        assert value(forward, metric, "recall") == pytest.approx(value(back, metric, "precision"))
        assert value(forward, metric, "f1") == pytest.approx(value(back, metric, "f1"))


def test_singletons_can_be_left_out_on_both_sides() -> None:
    with_them, without = scored(("a bc d", "a bc dx")), scored(("a bc d", "a bc dx"), singletons=False)
    assert (with_them.gold_mentions, without.gold_mentions, without.gold_entities) == (4, 2, 1)
    assert (with_them.predicted_entities, without.predicted_entities) == (3, 2)
    assert value(without, "b_cubed", "recall") == 1
    assert value(without, "b_cubed", "precision") == 0.5
    assert (value(with_them, "muc", "f1"), value(without, "muc", "f1")) == (2 / 3, 2 / 3)


def test_a_mention_without_an_entity_is_as_if_it_were_not_there() -> None:
    found = coreference_scores([["a", "b", "c"]], [[1, 1, None]], None, [["x", "x", "x"]])
    assert (found.gold_mentions, found.predicted_mentions) == (2, 3)
    assert value(found, "mentions", "precision") == pytest.approx(2 / 3)
    same = coreference_scores([["a", "b"]], [[1, 1]], [["a", "b", "c"]], [["x", "x", "x"]])
    assert found == same


def test_spans_are_mentions_and_entities_have_any_names() -> None:
    mentions = [Mention(0, 0, 1), Mention(0, 2, 4), Mention(1, 0, 1)]
    found = coreference_scores([mentions], [["e1", "e1", "e2"]], [[(0, 0, 1), (0, 2, 4)]], [[7, 7]])
    assert value(found, "muc", "f1") == 1


@pytest.mark.parametrize("sides", [("", ""), ("a", ""), ("", "a"), ("ab", ""), ("", "ab")], ids=str)
def test_empty_documents_give_no_nan_and_no_made_up_number(sides: tuple[str, str]) -> None:
    found = scored(sides)
    assert found.to_json()  # which refuses NaN
    for metric in (*METRICS, "pairwise", "mentions"):
        for part in FIGURES:
            own = quantity(found, metric, part)
            assert own.estimate is not None or own.reason
    one_sided = bool(sides[0]) != bool(sides[1])
    assert value(found, "b_cubed", "f1") == (0 if one_sided else None)


def test_an_empty_document_changes_nothing_for_the_others() -> None:
    alone, beside = scored((A, "a bc dey")), scored((A, "a bc dey"), ("", ""))
    for metric in METRICS:
        assert value(alone, metric, "f1") == value(beside, metric, "f1")
    assert beside.documents[1].conll_f1 is None


def test_conll_is_the_mean_of_three() -> None:
    found = scored((A, "a bcx dy z"))
    three = [value(found, metric, "f1") for metric in ("muc", "b_cubed", "ceaf_e")]
    assert found.conll_f1.estimate == pytest.approx(np.mean(np.array(three, float)))
    undefined = scored(("a b", "a b"))
    assert undefined.conll_f1.estimate is None
    assert undefined.conll_f1.reason == "MUC, B-cubed or CEAF-e is undefined"
    assert undefined["muc"].recall.reason == "gold has no entities of two or more mentions"


def joined(letters: list[str], codes: NDArray[np.int64]) -> str:
    """Entities as words."""
    members = ["".join(np.array(letters)[codes == entity]) for entity in range(4)]
    return " ".join(members)


def random_documents(count: int, seed: int) -> list[tuple[str, str]]:
    random = np.random.default_rng(seed)
    documents = []
    for _ in range(count):
        letters = list("abcdefghijkl")[: random.integers(4, 12)]
        quality = random.random()
        gold = random.integers(4, size=len(letters))
        noise = random.integers(4, size=len(letters))
        predicted = np.where(random.random(len(letters)) < quality, gold, noise)
        documents.append((joined(letters, gold), joined(letters, predicted)))
    return documents


def test_intervals_depend_on_the_seed_alone_and_shrink_with_documents() -> None:
    few, many = random_documents(12, 1), random_documents(300, 2)
    first, again, other = (scored(*few, samples=500, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first.conll_f1 != other.conll_f1
    wide, narrow = interval(first), interval(scored(*many, samples=500))
    assert wide[0] < wide[1] < wide[2]
    assert narrow[2] - narrow[0] < 0.4 * (wide[2] - wide[0])


def test_the_order_of_documents_changes_nothing() -> None:
    documents = random_documents(12, 1)
    forward, back = interval(scored(*documents, samples=50)), interval(scored(*documents[::-1], samples=50))
    assert forward == pytest.approx(back, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("count", [10, 40])
def test_intervals_cover_the_score_of_all_documents(count: int) -> None:
    pool = random_documents(3000, 5)
    truth = interval(scored(*pool))[1]
    random = np.random.default_rng(6)
    hits = 0
    for trial in range(300):
        chosen = [pool[place] for place in random.integers(len(pool), size=count)]
        low, _, high = interval(scored(*chosen, samples=400, seed=trial))
        hits += low <= truth <= high
    assert 0.91 <= hits / 300 <= 0.985


@pytest.mark.slow
@pytest.mark.parametrize(("count", "rate"), [(30, 0.04), (45, 0.1), (60, 0.03), (100, 0.02)])
def test_intervals_of_scores_near_1_contain_the_true_score_or_have_a_warning(count: int, rate: float) -> None:
    right, wrong = ("ab cd ef gh", "ab cd ef gh"), ("ab cd ef gh", "ab cd ef g h")
    many = round(1000 * rate)
    truth = defined(scored(*[wrong] * many, *[right] * (1000 - many), samples=1).conll_f1.estimate)
    random, missed = np.random.default_rng(8), 0
    for trial in range(150):
        bad = int(random.binomial(count, rate))
        found = scored(*[wrong] * bad, *[right] * (count - bad), samples=200, seed=trial).conll_f1
        if found.low is not None and found.warning is None:
            missed += not found.low <= truth <= defined(found.high)
    assert missed <= 0.06 * 150


def test_scores_of_1_in_all_documents_have_no_interval_and_few_errors_a_warning() -> None:
    right, wrong = ("ab cd", "ab cd"), ("ab cd", "ab c d")
    found = scored(*[right] * 40, samples=200).conll_f1
    assert (found.estimate, found.low, found.high) == (1.0, None, None)
    assert "variance between documents is unknown" in (found.reason or "")
    few, more = (scored(*[wrong] * bad, *[right] * (40 - bad), samples=200).conll_f1 for bad in (2, 6))
    assert "few documents" in (few.warning or "")
    assert more.warning is None


def test_one_document_has_no_interval_and_says_why() -> None:
    found = scored((A, "a bcx dy z"))
    assert (found.conll_f1.low, found.conll_f1.standard_error) == (None, None)
    assert "one document" in (found.conll_f1.reason or "")
    rare = scored(("ab", "ab"), ("c", "c"), ("d", "d"), samples=200)
    assert value(rare, "muc", "f1") == 1
    assert "resamples" in (rare["muc"].f1.reason or "")


def test_json_has_every_document() -> None:
    found = scored((A, "a bcx dy z"), (A, "a"), names=["d1", "d2"])
    record = found.to_dict()
    assert [document["name"] for document in record["documents"]] == ["d1", "d2"]
    assert record["documents"][1]["scores"]["muc"] == {"precision": None, "recall": 0.0, "f1": 0.0}
    assert found.to_json().startswith('{"schema_version": 1, "metrics"')


def test_bad_input_is_refused() -> None:
    one = [["a", "b"]]
    with pytest.raises(InputError, match=r"document 'd1', predicted: mention 1 'b' is repeated"):
        coreference_scores(one, [[1, 1]], [["b", "b"]], [[1, 2]], names=["d1"])
    twice = [Mention(0, 1, 2), Mention(0, 1, 2)]
    with pytest.raises(InputError, match=r"gold: mention 1 \[0, 1, 2\] is repeated: give each"):
        coreference_scores([twice], [[1, 1]], None, [[1, 1]])
    with pytest.raises(InputError, match="gold: 1 clusters for 2 mentions"):
        coreference_scores(one, [[1]], None, [[1, 1]])
    with pytest.raises(InputError, match="predicted_clusters has 2 documents and gold_mentions has 1"):
        coreference_scores(one, [[1, 1]], None, [[1, 1], []])
    with pytest.raises(InputError, match="names has 2 documents"):
        coreference_scores(one, [[1, 1]], None, [[1, 1]], names=["a", "b"])
    with pytest.raises(InputError, match="there are no documents"):
        coreference_scores([], [], None, [])
    with pytest.raises(InputError, match="level is 95"):
        coreference_scores(one, [[1, 1]], None, [[1, 1]], level=95)
    with pytest.raises(InputError, match="samples is 0"):
        coreference_scores(one, [[1, 1]], None, [[1, 1]], samples=0)


def test_documents_of_unequal_size_widen_intervals_and_few_have_a_warning() -> None:
    def scores(sizes: list[int]) -> Quantity:
        mentions = [[(document, place) for place in range(n)] for document, n in enumerate(sizes)]
        gold = [[place // 2 for place in range(n)] for n in sizes]
        predicted = [[place // (2 + number % 2) for place in range(n)] for number, n in enumerate(sizes)]
        return coreference_scores(mentions, gold, None, predicted).conll_f1

    few, many = scores([60] + [6] * 11), scores([12] * 12)
    assert few.warning is not None
    assert "fewer than 10" in few.warning
    assert many.warning is None
    low, high = defined(few.low), defined(few.high)
    assert high - low > 3 * defined(few.standard_error) * 1.3
