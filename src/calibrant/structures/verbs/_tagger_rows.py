"""A tagger's probability of every tag at every token, read like the table that could be written of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, Protocol

import numpy as np

from calibrant.exceptions import InputError
from calibrant.io import Batch, Predictions
from calibrant.io.predictions import BATCH_ROWS, Form, listed
from calibrant.progress import Progress
from calibrant.structures.files.tagged import TaggedText
from calibrant.structures.posterior import ChainPosterior
from calibrant.structures.posterior.queries import all_tags
from calibrant.structures.verbs._tagger_batches import TaggerSource, tagged
from calibrant.verbs.executors import Workers

FEWEST_TOKENS = 1 << 12  # at once, however many tags there are: work in small pieces is slow
UNKNOWN = -1


class Tagger(Protocol):
    """What predicts: an HMM, a CRF, a spaCy pipeline, or a model of the user's own."""

    @property
    def tags(self) -> tuple[str, ...]:
        """Names of the tags."""

    def posterior(self, sentences: Sequence[Sequence[str]]) -> ChainPosterior:
        """Return the distribution over the tags of some sentences."""


@dataclass(frozen=True)
class Names:
    """Names by code."""

    names: list[Any]


@dataclass(frozen=True)
class Part:
    """Some consecutive sentences of a text: their places, those of their tokens, and their posterior."""

    sentences: slice
    tokens: slice
    posterior: ChainPosterior


class TaggerRows:
    """Reads the scores and labels of all tags at all tokens from a tagger, some sentences at a time.

    Parameters
    ----------
    tagger
        The model.
    text
        Sentences with gold tags.
    cluster
        ``sentence`` or ``document``.
    form
        ``long``: a row a token and tag; ``wide``: a row a token.
    progress
        Called with the tokens done.
    pool, source
        Who tags, and what others than this process load the tagger from.

    Attributes
    ----------
    gold
        (N,) code of each token's gold tag; `UNKNOWN` where the tagger has no such tag.
    unseen_tags
        Tokens by gold tag that the tagger has not.
    right
        (N,) bool: whether the best sequence has the token right; filled as sentences are read.
    cluster
        (S,) code of each sentence's cluster.
    cluster_codes, item_codes, class_codes
        Names of clusters and tags; there are no items.

    Raises
    ------
    InputError
        If the tagger knows none of the gold tags: they are of another kind.
    """

    def __init__(
        self,
        tagger: Tagger,
        text: TaggedText,
        cluster: str,
        form: Form = "long",
        progress: Progress | None = None,
        pool: Workers | None = None,
        source: TaggerSource | None = None,
    ) -> None:
        assert text.tags is not None
        self._pool = Workers() if pool is None else pool
        self._tag = tagger.posterior if source is None else partial(tagged, source)
        self.tagger, self.text, self.form, self.progress = tagger, text, form, progress
        places: dict[str, int] = {}
        codes = [places.setdefault(name, len(places)) for name in text.clusters(cluster)]
        self.cluster = np.array(codes, np.int64)
        self.cluster_codes, self.item_codes = Names(list(places)), Names([])
        self.class_codes = Names(list(tagger.tags))
        code = {tag: place for place, tag in enumerate(tagger.tags)}
        flat = chain.from_iterable(text.tags)
        self.gold = np.fromiter((code.get(tag, UNKNOWN) for tag in flat), np.int64, text.token_count)
        unseen = Counter(tag for tag in chain.from_iterable(text.tags) if tag not in code)
        self.unseen_tags = dict(unseen.most_common())
        if (self.gold == UNKNOWN).all():
            raise _other_tags(tagger, text)
        self.right = np.zeros(len(self.gold), bool)
        self._offsets = np.concatenate([[0], np.cumsum([len(each) for each in text.sentences])])

    @property
    def predictions(self) -> Predictions:
        """What `calibrant.io.open_predictions` would make of the table."""
        rows = len(self.gold) * (len(self.tagger.tags) if self.form == "long" else 1)
        return Predictions(
            self,
            name=self.text.name,
            form=self.form,
            rows=rows,
            threshold=None,
            classes=self.tagger.tags,
            clustered=True,
            weighted=False,
            has_classes=True,
            has_items=False,
        )

    def parts(self, size: int = BATCH_ROWS) -> Iterator[Part]:
        """Tag whole sentences, at a time about ``size`` scores and not fewer than some thousand tokens."""
        tokens = max(FEWEST_TOKENS, size // len(self.tagger.tags))
        offsets, sentences = self._offsets, list(self._slices(tokens))
        batches = (self.text.sentences[each] for each in sentences)
        with closing(self._pool.map(self._tag, batches, lambda _: "some sentences")) as found:
            for each, posterior in zip(sentences, found, strict=True):
                place = slice(int(offsets[each.start]), int(offsets[each.stop]))
                self.right[place] = posterior.viterbi() == self.gold[place]
                yield Part(each, place, posterior)
                if self.progress is not None:
                    self.progress("tagging", place.stop, len(self.gold))

    def _slices(self, tokens: int) -> Iterator[slice]:
        first, offsets = 0, self._offsets
        while first < len(offsets) - 1:
            last = int(np.searchsorted(offsets, offsets[first] + tokens, side="right")) - 1
            last = max(last, first + 1)
            yield slice(first, last)
            first = last

    def batches(self, size: int, items: bool) -> Iterator[Batch]:
        """Yield batches, some for each part."""
        assert self.text.tags is not None
        for part in self.parts(size):
            cluster = self.cluster[part.sentences]
            if self.form == "wide":
                score = np.minimum(part.posterior.marginals(), 1.0)
                each = np.repeat(cluster, part.posterior.lengths)
                yield Batch(score, self.gold[part.tokens], cluster=each)
                continue
            for pairs in all_tags(part.posterior, self.text.tags[part.sentences]):
                yield Batch(
                    pairs.score, pairs.label, cluster=cluster[pairs.cluster], class_code=pairs.class_code
                )


def _other_tags(tagger: Tagger, text: TaggedText) -> InputError:
    assert text.tags is not None
    other = dict.fromkeys(chain.from_iterable(text.tags))
    message = (
        f"the model knows none of the file's tags ({listed(list(other), most=3)}): "
        f"its own are {listed(tagger.tags, most=3)}"
    )
    return InputError(message, "choose their column (`column`)", code="class-unknown", file=text.name)
