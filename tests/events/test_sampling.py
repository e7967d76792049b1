"""Events with sampled tags and trees, against enumeration of all tags and trees of a short sentence."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from calibrant.events import RULES, Entry, Lexicon, extract
from calibrant.exceptions import InputError
from calibrant.structures.documents import Document, Tree
from calibrant.structures.models import DependencyModel, HMMTagger
from calibrant.structures.models.english import EnglishParser, Lemmas
from calibrant.structures.posterior import AntecedentPosterior

SENTENCES = [
    ["Iraq", "attacked", "Iran"],
    ["Iran", "bombed", "Iraq"],
    ["Iraq", "Iran", "attacked", "it"],
    ["attacked", "Iran", "bombed", "Iraq"],
]
TAGS = [[{"attacked": "VERB", "bombed": "VERB"}.get(word, "PROPN") for word in row] for row in SENTENCES]
HEADS = [[2, 0, 2], [2, 0, 2], [3, 1, 0, 3], [3, 1, 0, 3]]
RELATIONS = [["root" if head == 0 else "nsubj" for head in heads] for heads in HEADS]
LEXICON = Lexicon([Entry("IRQ", "Iraq"), Entry("IRN", "Iran")])
SIZE = 3_000


@pytest.fixture(scope="module")
def parser() -> EnglishParser:
    """A parser that is unsure of everything."""
    pytest.importorskip("spacy")
    tagger = HMMTagger(pseudocount=1.0).fit(SENTENCES, TAGS)
    model = DependencyModel(bits=10, label_bits=8, least=1, epochs=2).fit(SENTENCES, TAGS, HEADS, RELATIONS)
    lemmas = Lemmas({"VERB": {"attacked": "attack", "bombed": "bomb"}}, {})
    return EnglishParser(tagger, tagger, model.tempered(2.0, 2.0), lemmas)


def alone(document: Document) -> AntecedentPosterior:
    """Each mention is an entity alone."""
    count = len(document.mentions or ())
    scores = np.full(count * (count + 1) // 2, -np.inf)
    scores[np.cumsum(np.arange(1, count + 1)) - 1] = 0
    return AntecedentPosterior(scores, [count], names=[document.name])


def by_enumeration(parser: EnglishParser, words: list[str], *, tags: bool) -> dict[str, float]:
    """The probability that a sentence counts for each country, over all tags, trees and labels."""
    n = len(words)
    chain = parser._tagger.posterior([words])
    every = list(product(range(len(parser._tagger.tags)), repeat=n))
    total, sums = dict.fromkeys(("IRN", "IRQ"), 0.0), 0.0
    for codes in map(np.array, every if tags else [chain.viterbi()]):
        own = [parser._tagger.tags[code] for code in codes]
        posterior = parser._parser.posterior([words], [own])
        lemmas = [parser._lemmas.of(word, tag) for word, tag in zip(words, own, strict=True)]
        shares = np.exp(posterior.labels[0] - np.logaddexp.reduce(posterior.labels[0], axis=2)[:, :, None])
        of_tags = float(np.exp(chain.log_probability(codes)[0])) if tags else 1.0
        for heads in product(range(n + 1), repeat=n):
            try:
                of_tree = of_tags * float(np.exp(posterior.log_probability(heads)[0]))
            except InputError:  # no tree
                continue
            for labels in product(range(len(posterior.names)), repeat=n):
                share = of_tree * float(shares[np.arange(n), heads, labels].prod())
                tree = Tree(heads, [posterior.names[label] for label in labels], lemmas, own, [""] * n)
                document = Document("d", [words], trees=[tree])
                found = extract(document, alone, LEXICON, RULES["default"], samples=1, seed=0)
                for country in () if found is None else found.countries:
                    total[country] += share
                sums += share
    assert sums == pytest.approx(1)
    return total


@pytest.mark.parametrize(
    ("words", "tags"),
    [(["Iraq", "attacked", "and", "Iran"], False), (["Iran", "bombed", "Iraq"], True)],
    ids=["trees", "tags and trees"],
)
def test_samples_count_as_all_tags_and_trees_do(parser: EnglishParser, words: list[str], tags: bool) -> None:
    best, draws = parser.draws(Document("d", [words]), SIZE, seed=1, tags=tags)
    assert len({id((draw.trees or ())[0]) for draw in draws}) > 20
    found = extract(best, alone, LEXICON, RULES["default"], samples=SIZE, seed=2, draws=draws)
    assert found is not None
    for country, expected in by_enumeration(parser, words, tags=tags).items():
        assert 0.02 < expected < 0.98
        estimate = found.bits[:, found.countries.index(country)].mean()
        assert abs(estimate - expected) < 4 * np.sqrt(expected * (1 - expected) / SIZE)


def test_trees_without_uncertainty_give_the_samples_of_one_tree(parser: EnglishParser) -> None:
    cold = EnglishParser(
        parser._splitter, parser._tagger, parser._parser.tempered(1 / 1024, 1 / 1024), parser._lemmas
    )
    document = Document("d", [["Iraq", "attacked", "Iran"], ["Iran", "bombed", "Iraq"]])
    best, draws = cold.draws(document, 10)
    assert all(draw.trees == best.trees for draw in draws)

    def merged(of: Document) -> AntecedentPosterior:
        count = len(of.mentions or ())
        return AntecedentPosterior(np.zeros(count * (count + 1) // 2), [count], names=[of.name])

    rules = RULES["paper"]
    found, plain = (
        extract(best, merged, LEXICON, rules, samples=50, seed=3, draws=drawn) for drawn in (draws, ())
    )
    assert found is not None
    assert plain is not None
    assert 0 < found.bits.mean() < 1
    assert (found.countries, found.evidence) == (plain.countries, plain.evidence)
    assert found.entities.tolist() == plain.entities.tolist()


def test_draws_depend_on_the_seed_and_the_name_alone(parser: EnglishParser) -> None:
    document = Document("d", [["Iraq", "attacked", "Iran"], ["Iran", "slept"]])

    def heads(name: str, seed: int, sentences: int = 2, size: int = 10) -> list[list[object]]:
        text = Document(name, document.sentences[:sentences])
        draws = parser.draws(text, size, seed=seed, tags=True)[1]
        return [[(*tree.heads, *tree.tags) for tree in (draw.trees or ())[:1]] for draw in draws]

    assert heads("d", 0) == heads("d", 0, sentences=1) != heads("d", 1)
    assert heads("d", 0) != heads("e", 0)
    assert heads("d", 0, size=4) == heads("d", 0)[:4]


def test_trees_are_drawn_only_for_texts_with_a_verb_of_the_rules(parser: EnglishParser) -> None:
    document = Document("d", [["Iraq", "attacked", "Iran"]])
    assert len(parser.draws(document, 3, lemmas=("attack",))[1]) == 3
    best, draws = parser.draws(document, 3, lemmas=("bomb",))
    assert (best.trees, draws) == (parser.trees(document).trees, ())
    empty = Document("d", [])
    assert parser.draws(empty, 2)[1] == (empty_of := parser.trees(empty), empty_of)
    assert extract(empty_of, alone, LEXICON, RULES["paper"], samples=2, seed=0, draws=[empty_of]) is None
