"""Trees of raw English text, from the models of the distribution calibrant-english."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant import seeds
from calibrant.lazy import from_extra
from calibrant.seeds import Seed
from calibrant.structures.documents import Document, Tree
from calibrant.structures.models.parsing import LINE_BREAKS, PARAGRAPH

if TYPE_CHECKING:
    from calibrant.structures.models._tagger import ChainTagger
    from calibrant.structures.models.dependency import DependencyModel

START = ("S", "O")  # tags of words that start a sentence
LONGEST_WRAPPED = 120  # characters; in a text with a longer line, each line is a paragraph
LINE = re.compile(r"\s*\n\s*")
LONGEST_SENTENCE = 200  # words; longer ones are cut, since memory grows with the square
BATCH = 64  # sentences whose scores are in memory together
SQUARES = 40_000  # words squared per batch
SHORTEST_KNOWN, FEWEST_WORDS = 4, 20  # letters and words that tell whether a text is English
LONGEST_SUFFIX = 5  # characters of a word that decide its lemma
KEPT_TAGS = frozenset({"PROPN", "X", "SYM", "PUNCT", "NUM"})  # words with themselves as lemma
Allowed = tuple[str, ...] | None
KEPT_FEATURES: dict[str, tuple[Allowed, Allowed]] = {  # parts of speech and values; None: all
    "Voice": (None, None),
    "VerbForm": (("VERB", "AUX"), None),
    "PronType": (("PRON",), ("Prs", "Rel")),
    "Number": (("NOUN", "PROPN", "PRON"), ("Sing", "Plur")),
}

Place = tuple[int, int]
Paragraph = tuple[list[str], list[Place]]


def compact_tag(tag: str, features: str) -> str:
    """Return the part of speech with the features that rules, mentions and coreference use.

    Examples
    --------
    >>> compact_tag("VERB", "Tense=Past|VerbForm=Part|Voice=Pass"), compact_tag("ADJ", "Degree=Pos")
    ('VERB|VerbForm=Part|Voice=Pass', 'ADJ')
    """
    kept = [tag]
    for feature in features.split("|"):
        name, _, value = feature.partition("=")
        tags, values = KEPT_FEATURES.get(name, ((), None))
        if (tags is None or tag in tags) and (values is None or value in values):
            kept.append(feature)
    return "|".join(kept)


@dataclass(frozen=True)
class Lemmas:
    """Lemmas of words by their tags: exceptions, and replacements of endings.

    Attributes
    ----------
    exceptions
        Lemma of words in lower case, by part of speech.
    endings
        Number of characters to cut and text to add, by part of speech and the end of the word.
    """

    exceptions: Mapping[str, Mapping[str, str]]
    endings: Mapping[str, Mapping[str, tuple[int, str]]]

    @classmethod
    def learn(cls, words: Iterable[tuple[str, str, str]]) -> Lemmas:
        """Learn from words, parts of speech and lemmas.

        Examples
        --------
        >>> words = [("walked", "VERB", "walk"), ("talked", "VERB", "talk"), ("went", "VERB", "go")]
        >>> lemmas = Lemmas.learn(words)
        >>> lemmas.of("balked", "VERB"), lemmas.of("went", "VERB"), lemmas.of("Iran", "PROPN")
        ('balk', 'go', 'Iran')
        """
        seen: dict[str, dict[str, Counter[str]]] = {}
        for word, tag, lemma in words:
            if tag not in KEPT_TAGS:
                seen.setdefault(tag, {}).setdefault(word.lower(), Counter())[lemma.lower()] += 1
        exceptions: dict[str, dict[str, str]] = {}
        endings: dict[str, dict[str, tuple[int, str]]] = {}
        for tag, forms in seen.items():
            best = {form: min(lemmas, key=lambda x: (-lemmas[x], x)) for form, lemmas in forms.items()}
            endings[tag] = _endings(best)
            plain = cls({}, {tag: endings[tag]})
            exceptions[tag] = {
                form: lemma for form, lemma in sorted(best.items()) if plain.of(form, tag) != lemma
            }
        return cls(exceptions, endings)

    def of(self, word: str, tag: str) -> str:
        """Return the lemma of a word with a part of speech."""
        if tag in KEPT_TAGS:
            return word
        form = word.lower()
        known = self.exceptions.get(tag, {}).get(form)
        if known is not None:
            return known
        endings = self.endings.get(tag, {})
        for length in range(min(LONGEST_SUFFIX, len(form) - 1), -1, -1):
            edit = endings.get(form[len(form) - length :])
            if edit is not None and edit[0] < len(form):
                return form[: len(form) - edit[0]] + edit[1]
        return form


def _endings(lemma_of: Mapping[str, str]) -> dict[str, tuple[int, str]]:
    edits: dict[str, Counter[tuple[int, str]]] = {}
    for form, lemma in lemma_of.items():
        same = 0
        while same < min(len(form), len(lemma)) and form[same] == lemma[same]:
            same += 1
        edit = len(form) - same, lemma[same:]
        for length in range(min(LONGEST_SUFFIX, len(form) - 1) + 1):
            edits.setdefault(form[len(form) - length :], Counter())[edit] += 1
    kept: dict[str, tuple[int, str]] = {}
    for ending in sorted(edits, key=lambda text: (len(text), text)):
        edit, times = min(edits[ending].items(), key=lambda pair: (-pair[1], pair[0]))
        shorter = next((kept[ending[k:]] for k in range(1, len(ending) + 1) if ending[k:] in kept), None)
        if not ending or (times > 1 and edit != shorter):
            kept[ending] = edit
    return kept


def blank_tokenizer() -> Callable[[str], Any]:
    """Return spaCy's tokenizer for English, which consists of rules."""
    spacy: Any = from_extra("spacy", "the English models split words with spaCy", "events")
    tokenizer: Callable[[str], Any] = spacy.blank("en").tokenizer
    return tokenizer


def paragraphs(text: str, tokenizer: Callable[[str], Any]) -> Iterator[Paragraph]:
    r"""Yield the words of each paragraph, and their places in the text.

    A paragraph begins after a blank line, or with a line that begins with blanks. In a text with a line of
    more than 120 characters, lines are not wrapped, so each line is a paragraph.

    Examples
    --------
    >>> [words for words, _ in paragraphs("I see\nyou.\n\nGood.", blank_tokenizer())]
    [['I', 'see', 'you', '.'], ['Good', '.']]
    """
    wrapped = all(len(line) <= LONGEST_WRAPPED for line in text.split("\n"))
    place = 0
    for match in [*(PARAGRAPH if wrapped else LINE).finditer(text), None]:
        end = len(text) if match is None else match.start()
        words, places = [], []
        for token in tokenizer(text[place:end].translate(LINE_BREAKS)) if text[place:end].strip() else ():
            if not token.is_space:
                start = place + token.idx
                words.append(token.text)
                places.append((start, start + len(token.text)))
        if words:
            yield words, places
        place = end if match is None else match.end()


@dataclass(frozen=True)
class Reading:
    """A tag sequence of a sentence.

    Attributes
    ----------
    sentence
        Number of the sentence.
    number
        Number of the tag sequence: 0 for the most probable one, then in the order of the draws.
    tags, lemmas
        Tag of each word in the form of `compact_tag`, and its lemma.
    draws
        Draws that have these tags.
    """

    sentence: int
    number: int
    tags: list[str]
    lemmas: list[str]
    draws: tuple[int, ...]

    @property
    def lower(self) -> list[str]:
        """Return the lemmas in lower case."""
        return [lemma.lower() for lemma in self.lemmas]

    def tree(self, heads: list[int], relations: list[str], probabilities: list[float]) -> Tree:
        """Return a tree of the sentence with these tags."""
        parts = [tag.partition("|") for tag in self.tags]
        tags, features = [part[0] for part in parts], [part[2] for part in parts]
        return Tree(heads, relations, self.lemmas, tags, features, probabilities)


class EnglishParser:
    """Parser of raw English text, with the interface of `calibrant.structures.models.parsing.TextParser`.

    A conditional random field finds the first words of sentences, another one the tags, and a
    `DependencyModel` the trees. Texts are parsed one by one, so results do not depend on other texts.

    Parameters
    ----------
    splitter
        Tagger with the tags S, E, O and I of words that start a sentence, end it, are one, or are inside.
    tagger
        Tagger with the tags of `compact_tag`.
    parser
        Parser that was trained with these tags.
    lemmas
        Table of lemmas.
    """

    def __init__(
        self, splitter: ChainTagger, tagger: ChainTagger, parser: DependencyModel, lemmas: Lemmas
    ) -> None:
        self._tokenizer = blank_tokenizer()
        self._splitter, self._tagger, self._parser, self._lemmas = splitter, tagger, parser, lemmas

    @property
    def vocabulary(self) -> frozenset[str]:
        """Return the words of the training texts, in lower case."""
        return frozenset(map(str.lower, getattr(self._tagger, "vocabulary", None) or ()))

    def words(self, text: str) -> Iterator[list[str]]:
        """Yield the words of each paragraph, equal to the words of the trees.

        Parameters
        ----------
        text
            Text of a document.
        """
        for words, _ in paragraphs(text, self._tokenizer):
            yield words

    def sentences(self, text: str) -> tuple[list[list[str]], list[list[Place]]]:
        """Return the words of each sentence of a text, and their places.

        Parameters
        ----------
        text
            Text of a document.
        """
        parts = list(paragraphs(text, self._tokenizer))
        sentences, places = [], []
        starts = self._splitter.predict([words for words, _ in parts]) if parts else []
        for (words, where), tags in zip(parts, starts, strict=True):
            edges = [k for k, tag in enumerate(tags) if k and tag in START]
            for first, last in zip([0, *edges], [*edges, len(words)], strict=True):
                for begin, end in _pieces(words, first, last):
                    sentences.append(words[begin:end])
                    places.append(where[begin:end])
        return sentences, places

    def parse(self, name: str, text: str, day: date | None = None) -> tuple[Document, list[list[Place]]]:
        """Return a text with words, sentences and trees, and the places of its words.

        Parameters
        ----------
        name, day
            Name and day of the document.
        text
            Text of the document.
        """
        sentences, places = self.sentences(text)
        when = None if day is None else day.isoformat()
        return self.trees(Document(name, sentences, date=when)), places

    def trees(self, document: Document) -> Document:
        """Return a document with trees for its sentences.

        Parameters
        ----------
        document
            Document with sentences; its trees are replaced.
        """
        return self.draws(document, 0)[0]

    def tempered(self, temperature: float) -> EnglishParser:
        """Return a parser whose log-potentials of arcs are divided by a temperature.

        Parameters
        ----------
        temperature
            Positive number, in addition to the temperature that was fitted when the model was trained.
        """
        return EnglishParser(self._splitter, self._tagger, self._parser.tempered(temperature), self._lemmas)

    def draws(
        self,
        document: Document,
        size: int,
        *,
        seed: Seed = 0,
        tags: bool = False,
        trees: bool = True,
        lemmas: Collection[str] | None = None,
    ) -> tuple[Document, tuple[Document, ...]]:
        """Return a document with its 1-best trees, and with sampled tags and trees.

        The tags of a sentence are drawn from the tagger's distribution, and its tree with labels from the
        parser's distribution given these tags. Each tag sequence of a sentence is parsed once. Equal trees of
        a sentence are the same object.

        Parameters
        ----------
        document
            Document with sentences; its trees are replaced.
        size
            Number of draws, 0 or more.
        seed
            Seed of the draws, which is combined with the document's name.
        tags
            Sample tags; otherwise they are the most probable ones.
        trees
            Sample trees; otherwise they have the most expected correct arcs, given the tags.
        lemmas
            Draw only if a word has one of these lemmas with its most probable or a sampled tag. None: always.

        Returns
        -------
        best : Document
        draws : tuple of Document
            ``size`` documents, or none if no word has one of the lemmas.
        """
        sentences = [list(words) for words in document.sentences]
        if not sentences:
            best = replace(document, trees=())
            return best, (best,) * size
        number = seeds.number(seed)
        readings = self._readings(document.name, sentences, size, number, tags)
        if lemmas is not None and not any(map(set(lemmas).intersection, (own.lower for own in readings))):
            readings, size = [replace(own, draws=()) for own in readings if own.number == 0], 0
        readings.sort(key=lambda own: len(own.draws))  # a batch then draws few trees that it does not use
        best_trees: dict[int, Tree] = {}
        trees_of: list[dict[int, Tree]] = [{} for _ in range(size)]
        for first, last in _batches([sentences[own.sentence] for own in readings]):
            batch = readings[first:last]
            posterior = self._parser.posterior(
                [sentences[own.sentence] for own in batch], [own.tags for own in batch]
            )
            heads = posterior.minimum_bayes_risk()[None]
            labels = posterior.best_labels(heads[0])[None]
            count = len(batch[-1].draws) if trees else 0
            if count:
                ids = [f"{document.name} {own.sentence} {own.number}" for own in batch]
                drawn = posterior.sample(count, seed=number, ids=ids)
                of_drawn = posterior.sample_labels(drawn, seed=number, ids=ids)
                heads, labels = np.concatenate([heads, drawn]), np.concatenate([labels, of_drawn])
            probabilities = posterior.arc_probabilities(heads, labels)
            for place, own in enumerate(batch):
                words = slice(posterior.offsets[place], posterior.offsets[place + 1])
                made: dict[bytes, Tree] = {}
                # The first row is the 1-best tree, and those after it are the samples.
                for row, draw in enumerate([None, *own.draws]):
                    row = row if trees else 0
                    key = heads[row, words].tobytes() + labels[row, words].tobytes()
                    if key not in made:
                        names = [posterior.names[label] for label in labels[row, words].tolist()]
                        shares = probabilities[row, words].tolist()
                        made[key] = own.tree(heads[row, words].tolist(), names, shares)
                    if draw is not None:
                        trees_of[draw][own.sentence] = made[key]
                    elif own.number == 0:
                        best_trees[own.sentence] = made[key]
        best, *others = (
            replace(document, trees=tuple(of[place] for place in range(len(sentences))))
            for of in (best_trees, *trees_of)
        )
        return best, tuple(others)

    def _readings(
        self, name: str, sentences: Sequence[Sequence[str]], size: int, seed: int, sampled: bool
    ) -> list[Reading]:
        """Return the tag sequences of each sentence, the most probable one first, with their draws."""
        posterior = self._tagger.posterior(sentences)
        codes = posterior.viterbi().astype(np.int32)[None]
        if sampled and size:
            ids = [f"{name} {place}" for place in range(len(sentences))]
            codes = np.concatenate([codes, posterior.sample(size, seed=seed, ids=ids)])
        readings = []
        for place, words in enumerate(sentences):
            own = codes[:, posterior.offsets[place] : posterior.offsets[place + 1]]
            draws: dict[bytes, list[int]] = {own[0].tobytes(): [] if sampled else list(range(size))}
            for draw, row in enumerate(own[1:]):
                draws.setdefault(row.tobytes(), []).append(draw)
            for number, (row, chosen) in enumerate(draws.items()):
                tags = [self._tagger.tags[code] for code in np.frombuffer(row, np.int32).tolist()]
                lemmas = [
                    self._lemmas.of(word, tag.partition("|")[0])
                    for word, tag in zip(words, tags, strict=True)
                ]
                readings.append(Reading(place, number, tags, lemmas, tuple(chosen)))
        return readings


def _pieces(words: Sequence[str], first: int, last: int) -> Iterator[Place]:
    """Yield a sentence whole, or a very long one in pieces, if possible after a semicolon or comma."""
    while last - first > LONGEST_SENTENCE:
        latest = first + LONGEST_SENTENCE
        marks = (
            k + 1 for k in range(latest - 1, first + LONGEST_SENTENCE // 2, -1) if words[k] in (";", ",", ":")
        )
        end = next(marks, latest)
        yield first, end
        first = end
    yield first, last


def _batches(sentences: Sequence[Sequence[str]]) -> Iterator[Place]:
    first = squares = 0
    for place, words in enumerate(sentences):
        squares += len(words) ** 2
        if place > first and (squares > SQUARES or place - first >= BATCH):
            yield first, place
            first, squares = place, len(words) ** 2
    yield first, len(sentences)


def known_fraction(words: Iterable[str], vocabulary: frozenset[str]) -> float | None:
    """Return the fraction of the first 300 words of four letters or more that are in a vocabulary.

    Shorter words are often the same in several languages. The result is None for fewer than 20 words.

    Examples
    --------
    >>> known_fraction(["welche"] * 20 + ["which"] * 20, frozenset({"which"}))
    0.5
    """
    letters = (word.lower() for word in words if word.isalpha() and len(word) >= SHORTEST_KNOWN)
    found = list(islice(letters, 300))
    if len(found) < FEWEST_WORDS:
        return None
    return sum(word in vocabulary for word in found) / len(found)
