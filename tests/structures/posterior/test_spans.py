from __future__ import annotations

import gzip
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from calibrant import InputError
from calibrant.structures.posterior import ChainPosterior
from calibrant.structures.posterior.spans import Spans, gold_spans, likely_spans, span_probabilities
from tests.quantities import defined

Span = tuple[int, int, str]
BIO = ["O", "B-X", "I-X", "B-Y", "I-Y"]
BIOES = ["B-X", "E-X", "O", "S-X", "I-X"]
TWO = ["E-Y", "B-X", "E-X", "I-Y", "O"]  # an incomplete set of tags, in no order


def conlleval(tags: Sequence[str]) -> set[Span]:
    """Chunks as the rules of conlleval.pl (version of 2004) and of seqeval's default mode find them."""
    found, first = set(), -1
    before, kind_before = "O", ""
    for t, tag in enumerate([*tags, "O"]):
        letter, _, kind = tag.partition("-")
        inside = letter != "O"
        end = (
            before in ("E", "S")
            or (before == "B" and letter in ("B", "S", "O"))
            or (before == "I" and letter in ("B", "S", "O"))
            or (before != "O" and kind_before != kind)
        )
        start = (
            letter in ("B", "S")
            or (before in ("E", "S", "O") and letter in ("E", "I"))
            or (inside and kind_before != kind)
        )
        if end and first >= 0:
            found.add((first, t, kind_before))
            first = -1
        if start:
            first = t
        before, kind_before = letter, kind
    return found


def by_the_book(tags: Sequence[str], scheme: str) -> set[Span]:
    """Entities that keep to the scheme, found by trying every span."""
    found = set()
    for first in range(len(tags)):
        for last in range(first + 1, len(tags) + 1):
            for kind in {tag[2:] for tag in tags if tag != "O"}:
                here = list(tags[first:last])
                inner = [f"I-{kind}"] * (len(here) - 2)
                if scheme == "BIO":
                    whole = here == [f"B-{kind}"] + [f"I-{kind}"] * (len(here) - 1)
                    whole &= last == len(tags) or tags[last] != f"I-{kind}"
                elif len(here) == 1:
                    whole = here == [f"S-{kind}"]
                else:
                    whole = here == [f"B-{kind}", *inner, f"E-{kind}"]
                if whole:
                    found.add((first, last, kind))
    return found


def read(tags: Sequence[str], scheme: str, strict: bool) -> set[Span]:
    return by_the_book(tags, scheme) if strict else conlleval(tags)


READINGS = [
    pytest.param(
        tags, scheme, strict, id=f"{scheme}-{'strict' if strict else 'lenient'}-{len(set(tags))}-{n}"
    )
    for n, (tags, scheme) in enumerate([(BIO, "BIO"), (BIOES, "BIOES"), (TWO, "BIOES")])
    for strict in (False, True)
]


def triples(sentence: int, spans: Any) -> list[Span]:
    here = np.flatnonzero(spans.sentence == sentence)
    return [(int(spans.first[i]), int(spans.last[i]), spans.names[i]) for i in here]


@pytest.mark.parametrize(("tags", "scheme", "strict"), READINGS)
def test_gold_spans_are_those_of_the_scheme_read_by_its_rules(
    tags: list[str], scheme: str, strict: bool
) -> None:
    rng = np.random.default_rng(1)
    sentences = [[tags[code] for code in rng.integers(5, size=rng.integers(1, 9))] for _ in range(300)]
    found = gold_spans(sentences, scheme=scheme, strict=strict)
    for number, sentence in enumerate(sentences):
        here = triples(number, found)
        assert len(here) == len(set(here))
        assert set(here) == read(sentence, scheme, strict)


@pytest.mark.parametrize("scale", [0.3, 3.0, 60.0, 500.0])
@pytest.mark.parametrize(("tags", "scheme", "strict"), READINGS)
def test_probabilities_are_sums_over_all_sequences_with_the_span(
    tags: list[str],
    scheme: str,
    strict: bool,
    scale: float,
    random_potentials: Callable[..., dict[str, Any]],
    all_paths: Callable[[dict[str, Any]], tuple[NDArray[np.int64], NDArray[np.float64], float]],
) -> None:
    rng = np.random.default_rng(2)
    chains = [
        random_potentials(rng, int(rng.integers(1, 6)), 5, scale, forbid, bare)
        for forbid in (0.0, 0.15)
        for bare in (False, True)
    ]
    for chain in chains:
        paths, probability, total = all_paths(chain)
        if not np.isfinite(total):
            continue
        expected: dict[Span, float] = {}
        for path, weight in zip(paths, probability, strict=True):
            for span in read([tags[code] for code in path], scheme, strict):
                expected[span] = expected.get(span, 0.0) + weight
        posterior = ChainPosterior(**chain, tags=tags)
        length = posterior.token_count
        spans = [(a, b, x) for a in range(length) for b in range(a + 1, length + 1) for x in ("X", "Y", "Z")]
        first, last, types = zip(*spans, strict=True)
        found = span_probabilities(
            posterior, np.zeros(len(spans), int), first, last, types, scheme=scheme, strict=strict
        )
        wanted = [expected.get(span, 0.0) for span in spans]
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-14)
        likely = likely_spans(posterior, scheme=scheme, strict=strict, threshold=0.02)
        assert dict(zip(triples(0, likely), defined(likely.probability), strict=True)) == pytest.approx(
            {span: value for span, value in expected.items() if value >= 0.02}, abs=1e-12
        )


# Batches, long sentences, thresholds.


@pytest.fixture(scope="module")
def many() -> ChainPosterior:
    """Four hundred sentences of 1 to 30 tokens, some of which need logarithms."""
    rng = np.random.default_rng(3)
    lengths = rng.integers(1, 31, 400)
    unary = rng.normal(size=(lengths.sum(), 5)) * 2
    unary[rng.random(len(unary)) < 0.01, 1] = -700.0
    transition = rng.normal(size=(5, 5))
    transition[0, 2] = -np.inf
    return ChainPosterior(unary, transition, lengths=lengths, tags=BIO)


def arrays(spans: Spans) -> list[NDArray[Any]]:
    return [spans.sentence, spans.first, spans.last, spans.type, defined(spans.probability)]


def test_spans_do_not_depend_on_threads_and_are_in_order(many: ChainPosterior) -> None:
    one, two = likely_spans(many, threads=1), likely_spans(many, threads=2)
    assert all(np.array_equal(*pair) for pair in zip(arrays(one), arrays(two), strict=True))
    order = np.lexsort((one.last, one.type, one.first, one.sentence))
    assert np.array_equal(order, np.arange(len(one)))
    assert len(one) > 1000


def test_spans_of_a_batch_are_those_of_its_sentences(many: ChainPosterior) -> None:
    together = likely_spans(many)
    for s in range(0, 400, 37):
        rows = many.unary[many.offsets[s] : many.offsets[s + 1]]
        alone = likely_spans(ChainPosterior(rows, many.transition, tags=BIO))
        here = together.sentence == s
        pairs = zip(arrays(together)[1:], arrays(alone)[1:], strict=True)
        assert all(np.array_equal(all_of[here], own) for all_of, own in pairs)


@pytest.mark.parametrize("threshold", [0.5, 0.05, 1e-4])
def test_a_threshold_leaves_out_what_lies_below_it_and_nothing_else(
    many: ChainPosterior, threshold: float
) -> None:
    everything, found = likely_spans(many, threshold=1e-6), likely_spans(many, threshold=threshold)
    keep = defined(everything.probability) >= threshold
    pairs = zip(arrays(everything), arrays(found), strict=True)
    assert all(np.array_equal(all_of[keep], some) for all_of, some in pairs)


def test_likely_spans_have_their_exact_probabilities_in_any_order(many: ChainPosterior) -> None:
    spans = likely_spans(many)
    order = np.random.default_rng(4).permutation(len(spans))
    names = np.array(spans.names)[order].tolist()
    found = span_probabilities(many, spans.sentence[order], spans.first[order], spans.last[order], names)
    np.testing.assert_allclose(found, defined(spans.probability)[order], rtol=1e-12)


def test_the_spans_expected_are_those_of_samples(many: ChainPosterior) -> None:
    drawn = many.sample(200, seed=5)
    cuts = many.offsets[1:-1]
    counts = []
    for codes in drawn:
        names = [[BIO[code] for code in part] for part in np.split(codes, cuts)]
        counts.append(len(gold_spans(names)))
    everything = likely_spans(many, threshold=1e-7)
    error = np.std(counts) / np.sqrt(len(counts))
    assert defined(everything.probability).sum() == pytest.approx(np.mean(counts), abs=4 * error)


def test_long_sentences_and_large_potentials_lose_no_span() -> None:
    # One entity of 1,000 tokens, whose every tag is certain.
    unary = np.full((1000, 3), -500.0)
    unary[0, 0] = unary[1:, 1] = 500.0
    posterior = ChainPosterior(unary, tags=["B-X", "I-X", "O"])
    found = likely_spans(posterior)
    assert [array.tolist() for array in arrays(found)] == [[0], [0], [1000], [0], [pytest.approx(1)]]
    # Where each token ends the entity with probability 0.1, its length is geometric.
    unary = np.log(np.tile([1e-300, 0.9, 0.1], (1000, 1)))
    unary[0] = np.log([1.0, 1e-300, 1e-300])
    posterior = ChainPosterior(unary, tags=["B-X", "I-X", "O"])
    last = np.array([1, 10, 500])
    found_at = span_probabilities(posterior, [0, 0, 0], [0, 0, 0], last, ["X"] * 3)
    np.testing.assert_allclose(found_at, 0.9 ** (last - 1) * 0.1, rtol=1e-10)


# Names and what is refused.


def test_types_keep_the_codes_given_and_new_ones_follow() -> None:
    found = gold_spans([["B-C", "O"], [], ["B-A"]], types=["B", "C"])
    assert found.types == ("B", "C", "A")
    assert found.type.tolist() == [1, 2]
    assert found.sentence.tolist() == [0, 2]
    assert len(gold_spans([])) == 0
    assert len(gold_spans([["O", "O"]])) == 0


def test_a_type_may_have_hyphens_or_no_name() -> None:
    assert triples(0, gold_spans([["B-a-b", "I-a-b", "B", "I"]])) == [(0, 2, "a-b"), (2, 4, "")]


def test_a_tag_that_is_not_of_the_scheme_is_named() -> None:
    posterior = ChainPosterior(np.zeros((1, 3)), tags=["O", "B-X", "NN"])
    with pytest.raises(
        InputError, match="the tag 'NN' does not belong to the scheme BIO: use the tags B-TYPE, I-TYPE"
    ):
        likely_spans(posterior)
    types: Any = 3
    with pytest.raises(InputError, match="types is 3: give a list of names"):
        span_probabilities(ChainPosterior(np.zeros((1, 2)), tags=["O", "B-X"]), [0], [0], [1], types)
    with pytest.raises(InputError, match="'NN'"):
        span_probabilities(posterior, [0], [0], [1], ["X"])
    with pytest.raises(
        InputError, match=r"the tag 'S-X' \(sentence 1, token 2\) does not belong to the scheme BIO"
    ):
        gold_spans([["O"], ["O", "B-X", "S-X"]])
    with pytest.raises(InputError, match="scheme is 'IOBES': use one of BIO, BIOES"):
        gold_spans([["O"]], scheme="IOBES")


@pytest.mark.parametrize(
    ("tags", "words"),
    [
        (None, "tags is None"),
        (["B", "O"], r"tags\[0\] is 'B': give a list with the tags of each sentence"),
        ([["B"], [None]], r"tags\[1\]\[0\] is None"),
    ],
)
def test_gold_tags_are_lists_of_lists_of_text(tags: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        gold_spans(tags)


@pytest.mark.parametrize("threshold", [0, 1, -0.1, "x", np.nan])
def test_a_threshold_lies_between_0_and_1(many: ChainPosterior, threshold: Any) -> None:
    with pytest.raises(InputError, match="threshold is"):
        likely_spans(many, threshold=threshold)


@pytest.mark.parametrize(
    ("sentence", "first", "last", "words"),
    [
        ([0], [1], [1], "span 0 has the tokens 1 to 1 of sentence 0"),
        ([0], [0], [3], "the sentence has 2 tokens"),
        ([0], [-1], [1], "span 0 has the tokens -1 to 1"),
        ([2], [0], [1], "there are 2"),
        ([-1], [0], [1], "of sentence -1"),
        ([0, 1], [0], [1], r"sentence has shape \(2,\)"),
        ([0], [0.0], [1], "first has shape .* dtype float64"),
        ([[0], [1, 2]], [0], [1], "sentence contains lists of different lengths"),
    ],
)
def test_spans_that_cannot_be_are_refused(sentence: Any, first: Any, last: Any, words: str) -> None:
    posterior = ChainPosterior(np.zeros((3, 2)), lengths=[2, 1], tags=["O", "B-X"])
    with pytest.raises(InputError, match=words):
        span_probabilities(posterior, sentence, first, last, ["X"])


def test_a_type_without_tags_has_probability_0_and_nothing_asked_is_nothing() -> None:
    posterior = ChainPosterior(np.zeros((3, 2)), lengths=[2, 1], tags=["O", "B-X"])
    assert span_probabilities(posterior, [1], [0], [1], ["Y"]).tolist() == [0]
    assert span_probabilities(posterior, [], [], [], []).shape == (0,)
    assert len(likely_spans(ChainPosterior(np.zeros((2, 1)), tags=["O"]))) == 0


def test_entities_of_real_chunks_are_as_many_as_conlleval_counts(data: Path) -> None:
    # conlleval prints for this test part: "processed 47377 tokens with 23852 phrases".
    lines = gzip.decompress((data / "conll2000" / "test.txt.gz").read_bytes()).decode().split("\n\n")
    tags = [[line.split()[2] for line in sentence.splitlines()] for sentence in lines if sentence.strip()]
    assert len(gold_spans(tags)) == 23_852
    assert len(gold_spans(tags, strict=True)) == 23_852
