from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from calibrant.posterior import ChainPosterior
from calibrant.posterior.spans import gold_spans, likely_spans, span_probabilities

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
        assert likely.probability is not None
        assert dict(zip(triples(0, likely), likely.probability, strict=True)) == pytest.approx(
            {span: value for span, value in expected.items() if value >= 0.02}, abs=1e-12
        )
