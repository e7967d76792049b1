"""Counts over sampled entities, against the definition by brute force over all clusterings."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from calibrant.estimation import propagate
from calibrant.events import RULES, Candidates, candidates, count, default_lexicon, document_samples
from calibrant.events.verbs.extraction import rules_of
from calibrant.exceptions import InputError
from calibrant.seeds import Seed
from calibrant.structures.documents import Document
from calibrant.structures.posterior.antecedent import AntecedentPosterior

SENTENCES = [
    "Iraqi/2/amod troops/3/nsubj crossed/cross/VERB/0/root the/5/det border/3/obj",
    "Iranian/2/amod soldiers/3/nsubj watched/watch/VERB/0/root",
    "They/they/PRON/2/nsubj attacked/attack/VERB/0/root it/it/PRON/2/obj",
    "Iraq/2/nsubj attacked/attack/VERB/0/root",
]
MENTIONS = [(0, 0, 2), (0, 3, 5), (1, 0, 2), (2, 0, 1), (2, 2, 3), (3, 0, 1)]


def clusterings(mentions: int) -> Iterator[tuple[int, ...]]:
    """All ways of picking antecedents, as labels: the first mention of each entity."""
    for picks in itertools.product(*(range(number + 1) for number in range(mentions))):
        labels: list[int] = []
        for number, pick in enumerate(picks):
            labels.append(number if pick == number else labels[pick])
        yield tuple(labels)


def by_definition(found: Candidates, labels: tuple[int, ...]) -> dict[str, int]:
    """Entities, or pairs of two entities, of each code; a mention that names a country is of this country."""
    described = [
        (mention, found.countries[place])
        for mention, place in zip(found.described, found.country, strict=True)
    ]

    def country(mention: int) -> str | None:
        if found.named[mention] >= 0:
            return str(found.countries[found.named[mention]])
        codes = {code for other, code in described if labels[other] == labels[mention]}
        return str(codes.pop()) if len(codes) == 1 else None

    counted = set()
    for agent, target in zip(found.agents.tolist(), found.targets.tolist(), strict=True):
        sides = [mention for mention in (agent, target) if mention >= 0]
        codes = [country(mention) for mention in sides]
        entities = tuple(labels[mention] for mention in sides)
        if None not in codes and len(set(entities)) == len(sides):
            counted.add((" -> ".join(map(str, codes)), entities))
    return {unit: sum(code == unit for code, _ in counted) for unit in found.units}


class Every:
    """All clusterings once: exact probabilities under equally probable antecedents."""

    def __init__(self, mentions: int) -> None:
        self.labels = np.array(list(clusterings(mentions)), np.int32)

    def sample(self, size: int, *, seed: Seed = None) -> np.ndarray:
        return self.labels[:size]


@pytest.fixture
def text(document: Callable[..., Document]) -> Document:
    return document(SENTENCES, MENTIONS)


def test_counts_are_those_of_the_definition_for_every_clustering(text: Document) -> None:
    found = candidates(text, default_lexicon(), RULES["paper"])
    every = Every(len(MENTIONS)).labels
    assert len(every) == 720
    counts = count(found, every)
    expected = [list(by_definition(found, tuple(labels)).values()) for labels in every.tolist()]
    assert counts.tolist() == expected
    assert counts.max() == 2  # two entities of one country


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("role", ["agent", "target", "dyad"])
def test_random_documents_agree_with_the_definition(role: str, named: bool) -> None:
    rng = np.random.default_rng(0)
    for _ in range(10):
        mentions = int(rng.integers(1, 6))
        described = np.sort(rng.choice(mentions, rng.integers(0, mentions + 1), replace=False))
        described = np.sort(np.concatenate([described, described[:1]]))  # one mention with two countries
        countries = rng.integers(0, 2, len(described))
        sides = [rng.integers(0, mentions, rng.integers(0, 6)) for _ in range(2)]
        agents, targets = sides[0], np.resize(sides[1], len(sides[0])) if len(sides[1]) else sides[0]
        absent = np.full(len(agents), -1)
        self_named = np.full(mentions, -1)
        if named and len(described):
            self_named[described[-1]] = countries[-1]
        found = Candidates(
            ("A", "B"),
            described,
            countries,
            absent if role == "target" else agents,
            absent if role == "agent" else targets,
            ("attack",) * len(agents),
            ((),) * len(agents),
            self_named,
            np.zeros(mentions, np.int64),
        )
        assert found.units == (("A -> A", "A -> B", "B -> A", "B -> B") if found.is_dyadic else ("A", "B"))
        every = Every(mentions).labels
        expected = [list(by_definition(found, tuple(labels)).values()) for labels in every.tolist()]
        assert count(found, every).tolist() == expected


ATTACKS = ["Israel/2/nsubj attacked/attack/VERB/0/root Egypt/2/obj", "They/2/nsubj left/leave/VERB/0/root"]


def test_a_named_agent_keeps_its_country_where_two_countries_are_merged(
    document: Callable[..., Document],
) -> None:
    text = document(ATTACKS, [(0, 0, 1), (0, 2, 3), (1, 0, 1)])
    merged = [[0, 0, 0], [0, 1, 2]]
    for rules, expected in (("paper", [[0, 0], [0, 1]]), ("default", [[0, 1], [0, 1]])):
        assert count(candidates(text, default_lexicon(), RULES[rules]), merged).tolist() == expected


def test_who_attacked_whom_has_the_agent_and_the_target_as_evidence(
    document: Callable[..., Document],
) -> None:
    text = document(ATTACKS, [(0, 0, 1), (0, 2, 3), (1, 0, 1)])
    rules = rules_of("default", None, "dyad")
    found = document_samples(text, Every(3), default_lexicon(), rules, samples=6)
    assert found.countries == ("ISR -> EGY",)
    apart = [labels[0] != labels[1] for labels in clusterings(3)]  # nobody attacks oneself
    assert found.bits[:, 0].tolist() == apart
    assert [(item.mention, item.agent, item.probability) for item in found.evidence] == [
        (1, 0, sum(apart) / 6)
    ]
    targets = document_samples(
        text, Every(3), default_lexicon(), rules_of("default", None, "target"), samples=6
    )
    assert targets.countries == ("EGY",)


def test_a_document_counts_where_an_entity_does_and_says_why(text: Document) -> None:
    every = Every(len(MENTIONS))
    found = document_samples(text, every, default_lexicon(), RULES["paper"], samples=720)
    seen = candidates(text, default_lexicon(), RULES["paper"])
    assert found.countries == ("IRN", "IRQ")
    assert found.bits.tolist() == (count(seen, every.labels) > 0).tolist()
    together = float((every.labels[:, 0] == every.labels[:, 3]).mean())
    why = [item for item in found.evidence if (item.mention, item.agent) == (0, 3)]
    assert [(item.country, item.verb, item.mention_sentence, item.agent_sentence) for item in why] == [
        ("IRQ", "attack", 0, 2)
    ]
    assert why[0].probability == pytest.approx(together)
    itself = [item for item in found.evidence if item.mention == item.agent]
    assert [(item.mention, item.probability) for item in itself] == [(5, 1.0)]


def test_evidence_is_told_by_country_with_the_most_probable_first(text: Document) -> None:
    found = document_samples(text, Every(len(MENTIONS)), default_lexicon(), RULES["paper"], samples=720)
    order = [(item.country, -item.probability) for item in found.evidence]
    assert len({probability for _, probability in order}) > 1
    assert order == sorted(order)


def test_sampled_shares_are_the_probabilities_over_all_clusterings(text: Document) -> None:
    rng = np.random.default_rng(1)
    mentions = len(MENTIONS)
    posterior = AntecedentPosterior(rng.normal(size=mentions * (mentions + 1) // 2), [mentions], names=["d"])
    rows = np.split(np.exp(posterior.log_probabilities), posterior.row_offsets[1:-1])
    picks = itertools.product(*(range(number + 1) for number in range(mentions)))
    chances = [np.prod([row[place] for row, place in zip(rows, pick, strict=True)]) for pick in picks]
    found = candidates(text, default_lexicon(), RULES["paper"])
    exact = chances @ (count(found, Every(mentions).labels) > 0)
    sampled = document_samples(text, posterior, default_lexicon(), RULES["paper"], samples=4000, seed=2)
    assert sampled.countries == found.countries
    assert sampled.bits.mean(axis=0) == pytest.approx(exact, abs=4 * np.sqrt(0.25 / 4000))
    propagated = propagate(lambda labels: count(found, labels)[0] > 0, posterior, 4000, seed=2)
    means = [each.mean.estimate for each in propagated.quantities]
    assert means == sampled.bits.mean(axis=0).tolist()  # the same samples
    again = document_samples(text, posterior, default_lexicon(), RULES["paper"], samples=10, seed=2)
    assert again.bits.shape == (10, len(again.countries))


def test_a_document_without_agents_draws_nothing(document: Callable[..., Document]) -> None:
    class Never:
        def sample(self, size: int, *, seed: Seed = None) -> np.ndarray:
            raise AssertionError("nothing is to be sampled")

    text = document([SENTENCES[0]], MENTIONS[:2])
    found = document_samples(text, Never(), default_lexicon(), RULES["paper"], samples=3)
    assert found.countries == ()
    assert found.bits.shape == (3, 0)


@pytest.mark.parametrize(
    "labels",
    [[[0, 0]], [0, 1, 2, 3, 4, 6], [0, 1, 2, 3, 4, -1], [0.0] * 6],
    ids=["too-few", "too-high", "negative", "floats"],
)
def test_labels_that_are_no_entities_are_refused(text: Document, labels: object) -> None:
    found = candidates(text, default_lexicon(), RULES["paper"])
    with pytest.raises(InputError, match="labels"):
        count(found, np.array(labels))
