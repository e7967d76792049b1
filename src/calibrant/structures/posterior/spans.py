"""Spans of BIO and BIOES tags, with the probability that exactly these tokens are an entity of a type."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant import _checks
from calibrant._checks import Floats, Integers
from calibrant.exceptions import InputError
from calibrant.structures._kernels import spans as kernels
from calibrant.structures.posterior._potentials import each_block
from calibrant.structures.posterior.blocks import Block, blocks
from calibrant.structures.posterior.chain import ChainPosterior

OUTSIDE = "O"
LETTERS = {"BIO": "BI", "BIOES": "BIES"}  # of tags inside entities


@dataclass(frozen=True)
class Spans:
    """Labeled spans of a batch of sentences, in the order of sentences and first tokens.

    Attributes
    ----------
    sentence
        (n,) number of the sentence, from 0.
    first, last
        (n,) bounds of the span: tokens ``first`` to ``last - 1`` of its sentence, counted from 0.
    type
        (n,) code of the type.
    types
        Names of the types.
    probability
        (n,) probability that exactly this span is an entity of this type; None for gold spans.
    """

    sentence: Integers
    first: Integers
    last: Integers
    type: Integers
    types: tuple[str, ...]
    probability: Floats | None = None

    def __len__(self) -> int:
        return len(self.sentence)

    @property
    def names(self) -> list[str]:
        """Return the name of each span's type."""
        return [self.types[code] for code in self.type.tolist()]


def likely_spans(
    posterior: ChainPosterior,
    *,
    scheme: str = "BIO",
    strict: bool = False,
    threshold: float = 0.01,
    threads: int | None = None,
) -> Spans:
    """Return all labeled spans whose probability is at least a threshold.

    The probability of a span is the sum over all tag sequences in which exactly these tokens are an entity of
    this type. At most 1 / threshold spans cover a token.

    Parameters
    ----------
    posterior
        Distribution over tags named ``O``, ``B-PER``, ``I-PER``, ...; or ``B``, ``I`` for a single type,
        named "".
    scheme
        ``"BIO"`` (IOB1 and IOB2), or ``"BIOES"``, which marks an entity's end (E) and an entity of one
        token (S).
    strict
        Reading of sequences that break the scheme. False: as conlleval and seqeval do, every tag except O
        belongs to an entity, and an I after O or after another type begins one. True: tags that do not begin
        (and, in BIOES, end) an entity correctly are ignored.
    threshold
        Smallest probability of a returned span, between 0 and 1.
    threads
        Threads to use; by default all processors, at most 8. The result does not depend on it.

    Returns
    -------
    Spans
        Spans with probabilities, sorted by sentence, first token, type and last token.

    Raises
    ------
    InputError
        If a tag does not belong to the scheme (the message names the tag), or a sentence forbids every tag
        sequence.

    References
    ----------
    Tjong Kim Sang and Buchholz (2000), "Introduction to the CoNLL-2000 shared task: chunking"; Culotta and
    McCallum (2004), "Confidence estimation for information extraction", sum over the same sequences by
    constrained forward-backward.

    Examples
    --------
    >>> unary = np.log([[0.9, 0.05, 0.05], [0.2, 0.2, 0.6]])
    >>> spans = likely_spans(ChainPosterior(unary, tags=["B-PER", "I-PER", "O"]))
    >>> for span in zip(spans.first, spans.last, spans.names, spans.probability.round(2)):
    ...     print(*span)
    0 1 PER 0.76
    0 2 PER 0.19
    1 2 PER 0.21
    """
    threshold = _checks.proportion(threshold, "threshold", such_as=0.01)
    reading, types = _reading(posterior.tags, scheme, strict)
    parts: dict[int, tuple[Integers, Floats]] = {}

    def work(block: Block) -> None:
        place, probability = kernels.likely_spans(posterior.block_messages(block), reading, threshold)
        place[:, 0] += block.first
        parts[block.first] = place, probability

    each_block(posterior.offsets, work, threads)
    place = np.concatenate([parts[first][0] for first in sorted(parts)])
    probability = np.concatenate([parts[first][1] for first in sorted(parts)])
    return _spans(place, types, probability)


def span_probabilities(
    posterior: ChainPosterior,
    sentence: ArrayLike,
    first: ArrayLike,
    last: ArrayLike,
    types: Sequence[str],
    *,
    scheme: str = "BIO",
    strict: bool = False,
) -> Floats:
    """Return the probability of each given span.

    Parameters
    ----------
    posterior, scheme, strict
        As in `likely_spans`.
    sentence, first, last
        (n,) integers: tokens ``first`` to ``last - 1`` of the sentence, counted from 0.
    types
        n names of types; a type that no tag has gets probability 0.

    Returns
    -------
    ndarray of float64, shape (n,)

    Examples
    --------
    >>> posterior = ChainPosterior(np.log([[0.9, 0.05, 0.05], [0.2, 0.2, 0.6]]), tags=["B-PER", "I-PER", "O"])
    >>> gold = gold_spans([["B-PER", "I-PER"]])
    >>> span_probabilities(posterior, gold.sentence, gold.first, gold.last, gold.names).round(2).tolist()
    [0.19]
    """
    reading, known = _reading(posterior.tags, scheme, strict)
    if not _checks.is_list(types):
        raise InputError(f"types is {types!r:.40}", "give a list of names", code="dtype")
    code = {name: number for number, name in enumerate(known)}
    codes = [code.get(name, -1) for name in types]
    named = {"sentence": sentence, "first": first, "last": last, "types": codes}
    given = [_checks.as_array(values, name, "give one integer per type") for name, values in named.items()]
    places = _places(posterior, given)
    probability = np.zeros(len(places))
    asked = np.flatnonzero(places[:, 3] >= 0)
    asked = asked[np.argsort(places[asked, 0], kind="stable")]
    sentences = places[asked, 0]
    for block in blocks(posterior.offsets):
        low, high = np.searchsorted(sentences, (block.first, block.last))
        if low < high:
            here = asked[low:high]
            of_block = np.empty(high - low)
            inside = places[here] - np.array([block.first, 0, 0, 0])
            kernels.span_probabilities(posterior.block_messages(block), reading, inside, of_block)
            probability[here] = of_block
    return probability


def gold_spans(
    tags: Sequence[Sequence[str]], *, scheme: str = "BIO", strict: bool = False, types: Sequence[str] = ()
) -> Spans:
    """Return the entities of tag sequences, with the reading of `likely_spans`.

    Parameters
    ----------
    tags
        Tags of each sentence.
    scheme, strict
        As in `likely_spans`.
    types
        Names of types that get the first codes, such as those of a posterior's spans; other types follow.

    Returns
    -------
    Spans
        Spans without probabilities.

    Raises
    ------
    InputError
        If ``tags`` is not a list of lists of strings, or a tag does not belong to the scheme. The message
        names the tag, the sentence and the token.

    Examples
    --------
    >>> gold = gold_spans([["B-PER", "I-PER", "O", "I-LOC"]])
    >>> list(zip(gold.first.tolist(), gold.last.tolist(), gold.names))
    [(0, 2, 'PER'), (3, 4, 'LOC')]
    >>> len(gold_spans([["B-PER", "I-PER", "O", "I-LOC"]], strict=True))
    1
    """
    _check_tags(tags)
    code: dict[str, int] = {}
    codes = np.array([code.setdefault(tag, len(code)) for sentence in tags for tag in sentence], np.int64)
    lengths = np.array([len(sentence) for sentence in tags], np.int64)
    reading, known = _reading(list(code), scheme, strict, types, sentences=tags)
    kind = np.full(len(code), -1)
    kind[reading.members] = np.repeat(np.arange(len(known)), np.diff(reading.bounds))
    number = np.repeat(np.arange(len(tags)), lengths)
    joined = np.zeros(len(codes) + 1, bool)  # True if a token belongs to the entity of the token before it
    joined[1:-1] = reading.joins[codes[:-1], codes[1:]] & (number[:-1] == number[1:])
    inside = kind[codes] >= 0
    first = np.flatnonzero(inside & ~joined[:-1])
    last = np.flatnonzero(inside & ~joined[1:])
    whole = reading.opens[codes[first]] & reading.closes[codes[last]]
    first, last = first[whole], last[whole]
    offsets = np.cumsum(lengths) - lengths
    start = offsets[number[first]]
    return _spans(np.stack([number[first], first - start, last + 1 - start, kind[codes[first]]], 1), known)


def _check_tags(sentences: object) -> None:
    if not _checks.is_list(sentences):
        raise InputError(f"tags is {sentences!r:.40}", "give the tags of each sentence", code="dtype")
    assert isinstance(sentences, Iterable)
    for number, tags in enumerate(sentences):
        if not _checks.is_list(tags):
            message, hint = f"tags[{number}] is {tags!r:.40}", "give a list with the tags of each sentence"
            raise InputError(message, hint, code="dtype", row=number)
        for token, tag in enumerate(tags):
            if not isinstance(tag, str):
                message = f"tags[{number}][{token}] is {tag!r:.40}"
                raise InputError(message, "give names of tags", code="dtype", row=number)


def _spans(place: Integers, types: tuple[str, ...], probability: Floats | None = None) -> Spans:
    sentence, first, last, kind = np.ascontiguousarray(place.T)
    return Spans(sentence, first, last, kind, types, probability)


def _places(posterior: ChainPosterior, columns: Sequence[NDArray[Any]]) -> Integers:
    """Return (n, 4) checked sentences, first and last tokens and types of requested spans."""
    count = len(columns[-1])
    for name, values in zip(("sentence", "first", "last"), columns, strict=False):
        if values.shape != (count,) or (count and values.dtype.kind not in "iu"):
            message = f"{name} has shape {values.shape} and dtype {values.dtype}"
            raise InputError(message, f"give one integer per type, shape ({count},)", code="shape")
    place = np.stack([values.astype(np.int64) for values in columns], axis=1)
    sentence, first, last, _ = place.T
    known = (sentence >= 0) & (sentence < posterior.sentence_count)
    length = posterior.lengths[np.where(known, sentence, 0)]
    wrong = np.flatnonzero(~known | (first < 0) | (last <= first) | (last > length))
    if len(wrong):
        row = int(wrong[0])
        there = (
            f"the sentence has {length[row]} tokens"
            if known[row]
            else f"there are {posterior.sentence_count} sentences"
        )
        message = f"span {row} has the tokens {first[row]} to {last[row]} of sentence {sentence[row]}"
        hint = f"{there}; last is the number of the first token after the span"
        raise InputError(message, hint, code="parameter", row=row)
    return place


def _reading(
    tags: Sequence[str],
    scheme: str,
    strict: bool,
    types: Sequence[str] = (),
    sentences: Sequence[Sequence[str]] = (),
) -> tuple[kernels.Reading, tuple[str, ...]]:
    """Return the tables that turn tags into entities, and names of types: given types, then others sorted."""
    _checks.one_of(scheme, LETTERS, "scheme")
    parts = [_parts(tag, scheme, sentences) for tag in tags]
    letters = np.array([letter for letter, _ in parts], dtype="U1")
    known = list(dict.fromkeys(types))
    known += sorted({kind for letter, kind in parts if letter != OUTSIDE} - set(known))
    kinds = np.array([-1 if letter == OUTSIDE else known.index(kind) for letter, kind in parts], np.int64)
    inside = kinds >= 0
    same = (kinds[:, None] == kinds) & inside
    joins = same & ~np.isin(letters, ["E", "S"])[:, None] & ~np.isin(letters, ["B", "S"])
    opens = np.isin(letters, ["B", "S"]) if strict else inside
    closes = np.isin(letters, ["E", "S"]) if strict and scheme == "BIOES" else inside
    members = np.argsort(kinds, kind="stable")[np.count_nonzero(~inside) :]
    bounds = np.searchsorted(kinds[members], np.arange(len(known) + 1))
    return kernels.Reading(joins, opens, closes, members, bounds), tuple(known)


def _parts(tag: str, scheme: str, sentences: Sequence[Sequence[str]]) -> tuple[str, str]:
    """Return the letter and the type of a tag."""
    if tag == OUTSIDE:
        return tag, ""
    letter, _, kind = tag.partition("-")
    if len(letter) != 1 or letter not in LETTERS[scheme]:
        places = ((s, row.index(tag)) for s, row in enumerate(sentences) if tag in row)
        place = next((f" (sentence {s}, token {token})" for s, token in places), "")
        expected = ", ".join(f"{letter}-TYPE" for letter in LETTERS[scheme])
        message = f"the tag {tag!r}{place} does not belong to the scheme {scheme}"
        raise InputError(message, f"use the tags {expected} and {OUTSIDE}", code="parameter")
    return letter, kind
