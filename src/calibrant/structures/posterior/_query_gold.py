"""Checked gold tags of a posterior's sentences, and their codes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant import _checks
from calibrant.exceptions import InputError
from calibrant.structures.posterior.chain import ChainPosterior

Integers = NDArray[np.int64]
GoldTags = Sequence[Sequence[str]] | Sequence[Sequence[int]] | NDArray[np.integer[Any]]

UNSEEN = -1


@dataclass(frozen=True)
class Gold:
    """Gold tags and clusters of a posterior's sentences.

    Attributes
    ----------
    tags
        Names of N tags.
    codes
        (N,) codes of the tags; `UNSEEN` for tags that the model does not know.
    cluster, clusters
        (S,) code of each sentence's cluster, and names of the clusters.
    """

    tags: list[str]
    codes: Integers
    cluster: Integers
    clusters: NDArray[Any]

    @classmethod
    def of(cls, posterior: ChainPosterior, gold: GoldTags, clusters: ArrayLike | None) -> Gold:
        """Return checked gold tags (names or codes) with clusters; default: each sentence is a cluster."""
        tags, codes = _tags(posterior, gold)
        count = posterior.sentence_count
        if clusters is None:
            return cls(tags, codes, np.arange(count), np.arange(count))
        cluster, names = _checks.cluster_codes(clusters)
        if len(cluster) != count:
            message = f"clusters has {len(cluster)} names for {count} sentences"
            raise InputError(message, "give one cluster per sentence", code="length")
        return cls(tags, codes, cluster, names)

    @property
    def unseen(self) -> dict[str, int]:
        """Return the number of tokens per tag that the model has never seen, the most frequent tag first."""
        count = Counter(self.tags[token] for token in np.flatnonzero(self.codes == UNSEEN))
        return dict(count.most_common())


def _tags(posterior: ChainPosterior, gold: GoldTags) -> tuple[list[str], Integers]:
    if isinstance(gold, np.ndarray) and gold.ndim == 1 and gold.dtype.kind in "iu":
        if len(gold) != posterior.token_count:
            message = f"gold has {len(gold)} codes for {posterior.token_count} tokens"
            raise InputError(message, "give one tag per token", code="length")
        return _of_codes(posterior, gold)
    if not _checks.is_list(gold):
        raise InputError(f"gold is {gold!r:.40}", "give a list with the tags of each sentence", code="dtype")
    if len(gold) != posterior.sentence_count:
        message = f"gold has {len(gold)} sentences, but the posterior has {posterior.sentence_count}"
        raise InputError(message, "give the tags of each sentence", code="length")
    flat: list[Any] = []
    for sentence, (tags, length) in enumerate(zip(gold, posterior.lengths.tolist(), strict=True)):
        if not _checks.is_list(tags) or len(tags) != length:
            found = f"has {len(tags)} tags" if _checks.is_list(tags) else f"is {tags!r:.40}"
            message = f"gold sentence {sentence} {found}, but has {length} tokens"
            raise InputError(message, "give a list with one tag per token", code="length", row=sentence)
        flat.extend(tags)
    if all(isinstance(tag, (int, np.integer)) for tag in flat):
        return _of_codes(posterior, np.array(flat, np.int64))
    if not all(map(isinstance, flat, repeat(str))):
        token = next(place for place, tag in enumerate(flat) if not isinstance(tag, str))
        sentence = int(np.searchsorted(posterior.offsets, token, side="right")) - 1
        message = f"gold sentence {sentence} has the tag {flat[token]!r:.40}"
        raise InputError(message, "give names of tags, or their codes", code="dtype", row=sentence)
    known = {tag: code for code, tag in enumerate(posterior.tags)}
    return flat, np.fromiter((known.get(tag, UNSEEN) for tag in flat), np.int64, len(flat))


def _of_codes(posterior: ChainPosterior, codes: NDArray[Any]) -> tuple[list[str], Integers]:
    wrong = np.flatnonzero((codes < 0) | (codes >= posterior.tag_count))
    if len(wrong):
        sentence = int(np.searchsorted(posterior.offsets, wrong[0], side="right")) - 1
        message = f"gold sentence {sentence} has the code {codes[wrong[0]]}"
        hint = f"give codes from 0 to {posterior.tag_count - 1}, or names if the model lacks a tag"
        raise InputError(message, hint, code="class-unknown", row=sentence)
    return [posterior.tags[code] for code in codes.tolist()], codes.astype(np.int64)


def tag_code(posterior: ChainPosterior, tag: str) -> int:
    """Return the code of a tag; raise `InputError` with known tags if the model lacks it."""
    if tag not in posterior.tags:
        known = ", ".join(posterior.tags[:20])
        raise InputError(f"the model has no tag {tag!r}", f"choose one of {known}", code="class-unknown")
    return posterior.tags.index(tag)
