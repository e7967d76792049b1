"""Every branch of the rules, in both label schemes, on sentences checked by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from calibrant.events import (
    RULES,
    Entry,
    Lexicon,
    Rules,
    candidates,
    default_lexicon,
    label_scheme,
    may_count,
)
from calibrant.exceptions import InputError
from calibrant.structures import read_documents
from calibrant.structures.documents import Document, Mention, Tree

Found = set[tuple[int, str]]
Make = Callable[..., Document]


class Case(NamedTuple):
    """A sentence in both schemes, its mentions, and what is found: by both rules, and by only one of them."""

    name: str
    universal: str
    clearnlp: str
    mentions: list[tuple[int, int]]
    described: Found
    agents: set[int]
    more_described: Found | None = None
    more_agents: set[int] | None = None
    paper_described: Found | None = None
    paper_agents: set[int] | None = None


ATTACKED = "attacked/attack/VERB"
CASES = [
    Case(
        "the head is a country, and an active subject",
        f"Americans/2/nsubj {ATTACKED}/0/root Baghdad/2/obj",
        f"Americans/2/nsubj {ATTACKED}/0/ROOT Baghdad/2/dobj",
        [(0, 1), (2, 3)],
        {(0, "USA")},
        {0},
    ),
    Case(
        "an adjective modifies the head",
        f"Iraqi/2/amod forces/3/nsubj {ATTACKED}/0/root them/3/obj",
        f"Iraqi/2/amod forces/3/nsubj {ATTACKED}/0/ROOT them/3/dobj",
        [(0, 2), (3, 4)],
        {(0, "IRQ")},
        {0},
    ),
    Case(
        "a noun with a preposition modifies the head",
        f"forces/5/nsubj of/4/case the/4/det U.S./1/nmod {ATTACKED}/0/root",
        f"forces/5/nsubj of/1/prep the/4/det U.S./2/pobj {ATTACKED}/0/ROOT",
        [(0, 4), (2, 4)],
        {(0, "USA"), (1, "USA")},
        {0},
    ),
    Case(
        "a possessor modifies the head",
        f"Russia/3/nmod:poss 's/1/case army/4/nsubj {ATTACKED}/0/root it/4/obj",
        f"Russia/3/poss 's/1/case army/4/nsubj {ATTACKED}/0/ROOT it/4/dobj",
        [(0, 1), (0, 3)],
        {(0, "RUS"), (1, "RUS")},
        {1},
    ),
    Case(
        "a compound modifies the head by default only",
        "NATO/NATO/PROPN/2/compound forces/3/nsubj attacked/attack/VERB/0/root it/3/obj",
        "NATO/NATO/PROPN/2/compound forces/3/nsubj attacked/attack/VERB/0/ROOT it/3/dobj",
        [(0, 2)],
        set(),
        {0},
        more_described={(0, "IGONAT")},
    ),
    Case(
        "a name of several words is the head",
        f"South/2/compound Koreans/3/nsubj {ATTACKED}/0/root it/3/obj",
        f"South/2/compound Koreans/3/nsubj {ATTACKED}/0/ROOT it/3/dobj",
        [(0, 2)],
        {(0, "KOR")},
        {0},
    ),
    Case(
        "a particle of a compound verb is no name",
        f"They/2/nsubj {ATTACKED}/0/root Iraq/2/compound:prt it/2/obj",
        f"They/2/nsubj {ATTACKED}/0/ROOT Iraq/2/prt it/2/dobj",
        [(0, 1), (1, 2)],
        set(),
        {0},
    ),
    Case(
        "a passive subject is no agent, its by-phrase is",
        "Iraq/3/nsubj:pass was/3/aux:pass attacked/attack/VERB/0/root by/5/case rebels/3/obl:agent",
        "Iraq/3/nsubjpass was/3/auxpass attacked/attack/VERB/0/ROOT by/3/agent rebels/4/pobj",
        [(0, 1), (4, 5)],
        {(0, "IRQ")},
        {1},
    ),
    Case(
        "an oblique with by under a passive verb is an agent, in Universal Dependencies",
        "It/3/nsubj:pass was/3/aux:pass attacked/attack/VERB/0/root by/5/case Iraq/3/obl",
        "It/3/nsubjpass was/3/auxpass attacked/attack/VERB/0/ROOT by/3/agent Iraq/4/pobj",
        [(0, 1), (4, 5)],
        {(1, "IRQ")},
        {1},
    ),
    Case(
        "an oblique with by under an active verb is not an agent",
        f"They/2/nsubj {ATTACKED}/0/root by/4/case sea/2/obl",
        f"They/2/nsubj {ATTACKED}/0/ROOT by/2/prep sea/3/pobj",
        [(0, 1), (3, 4)],
        set(),
        {0},
    ),
    Case(
        "another oblique under a passive verb is not an agent",
        "It/3/nsubj:pass was/3/aux:pass attacked/attack/VERB/0/root in/5/case Iraq/3/obl",
        "It/3/nsubjpass was/3/auxpass attacked/attack/VERB/0/ROOT in/3/prep Iraq/4/pobj",
        [(0, 1), (4, 5)],
        {(1, "IRQ")},
        set(),
    ),
    Case(
        "the noun attack has no agent",
        "This/4/nsubj was/4/cop an/4/det attack/attack/NOUN/0/root by/6/case Iraq/4/nmod",
        "This/2/nsubj was/0/ROOT an/4/det attack/attack/NOUN/2/attr by/4/prep Iraq/5/pobj",
        [(0, 1), (2, 6), (5, 6)],
        {(1, "IRQ"), (2, "IRQ")},
        set(),
    ),
    Case(
        "an object is no agent",
        f"Rebels/2/nsubj {ATTACKED}/0/root Iraq/2/obj",
        f"Rebels/2/nsubj {ATTACKED}/0/ROOT Iraq/2/dobj",
        [(0, 1), (2, 3)],
        {(1, "IRQ")},
        {0},
    ),
    Case(
        "a joined subject is an agent by default only",
        f"Russia/5/nsubj and/4/cc its/4/nmod:poss allies/1/conj {ATTACKED}/0/root it/5/obj",
        f"Russia/5/nsubj and/1/cc its/4/poss allies/1/conj {ATTACKED}/0/ROOT it/5/dobj",
        [(0, 4), (2, 4)],
        {(0, "RUS")},
        {0},
        more_agents={1},
    ),
    Case(
        "joined modifiers are two countries by default",
        f"British/4/amod and/3/cc French/1/conj troops/5/nsubj {ATTACKED}/0/root it/5/obj",
        f"British/4/amod and/1/cc French/1/conj troops/5/nsubj {ATTACKED}/0/ROOT it/5/dobj",
        [(0, 4)],
        {(0, "GBR")},
        {0},
        more_described={(0, "FRA")},
    ),
    Case(
        "a joined agent of the passive is one by default only",
        "It/2/nsubj:pass attacked/attack/VERB/0/root by/4/case Iran/2/obl:agent and/6/cc Iraq/4/conj",
        "It/2/nsubjpass attacked/attack/VERB/0/ROOT by/2/agent Iran/3/pobj and/4/cc Iraq/4/conj",
        [(3, 4), (5, 6)],
        {(0, "IRN"), (1, "IRQ")},
        {0},
        more_agents={1},
    ),
    Case(
        "another verb of force counts by default only",
        "Iraq/2/nsubj invaded/invade/VERB/0/root Kuwait/2/obj",
        "Iraq/2/nsubj invaded/invade/VERB/0/ROOT Kuwait/2/dobj",
        [(0, 1), (2, 3)],
        {(0, "IRQ"), (1, "KWT")},
        set(),
        more_agents={0},
    ),
    Case(
        "a noun that says where modifies the head by the paper's rules only",
        f"bomb/4/nsubj in/3/case Pakistan/1/nmod {ATTACKED}/0/root it/4/obj",
        f"bomb/4/nsubj in/1/prep Pakistan/2/pobj {ATTACKED}/0/ROOT it/4/dobj",
        [(0, 3), (2, 3)],
        {(1, "PAK")},
        {0},
        paper_described={(0, "PAK")},
    ),
    Case(
        "whose forces they are is known where they are not",
        f"Turkish/2/amod forces/5/nsubj across/4/case Syria/2/nmod {ATTACKED}/0/root it/5/obj",
        f"Turkish/2/amod forces/5/nsubj across/2/prep Syria/3/pobj {ATTACKED}/0/ROOT it/5/dobj",
        [(0, 4)],
        {(0, "TUR")},
        {0},
        paper_described={(0, "SYR")},
    ),
    Case(
        "where forces are from modifies the head",
        f"rebels/4/nsubj From/3/case Sudan/1/nmod {ATTACKED}/0/root it/4/obj",
        f"rebels/4/nsubj From/1/prep Sudan/2/pobj {ATTACKED}/0/ROOT it/4/dobj",
        [(0, 3)],
        {(0, "SDN")},
        {0},
    ),
    Case(
        "who does a noun modifies it",
        f"raid/4/nsubj by/3/case Chad/1/nmod {ATTACKED}/0/root it/4/obj",
        f"raid/4/nsubj by/1/prep Chad/2/pobj {ATTACKED}/0/ROOT it/4/dobj",
        [(0, 3)],
        {(0, "TCD")},
        {0},
    ),
    Case(
        "a second subject that is the end of a place is an agent by the paper's rules only",
        "Rebels/6/nsubj in/3/case Lyon/1/nmod ,/6/punct France/6/nsubj "
        "attacked/attack/VERB/0/root it/6/obj by/9/case sea/6/obl",
        "Rebels/6/nsubj in/1/prep Lyon/2/pobj ,/6/punct France/6/nsubj attacked/attack/VERB/0/ROOT it/6/dobj",
        [(0, 3), (4, 5)],
        {(1, "FRA")},
        {0},
        paper_agents={1},
    ),
    Case(
        "the end of a place outside of the clause is an agent by the paper's rules only",
        "crash/0/root near/3/case Nashik/Nashik/PROPN/1/nmod ,/6/punct India/6/nsubj "
        "attacked/attack/VERB/1/acl it/6/obj",
        "crash/0/ROOT near/1/prep Nashik/Nashik/PROPN/2/pobj ,/6/punct India/6/nsubj "
        "attacked/attack/VERB/1/acl it/6/dobj",
        [(0, 3), (4, 5)],
        {(1, "IND")},
        set(),
        paper_agents={1},
    ),
    Case(
        "a name after a place at the front of its clause is an agent",
        "In/2/case Gaza/Gaza/PROPN/5/obl ,/5/punct Israel/5/nsubj attacked/attack/VERB/0/root it/5/obj",
        "In/5/prep Gaza/Gaza/PROPN/1/pobj ,/5/punct Israel/5/nsubj attacked/attack/VERB/0/ROOT it/5/dobj",
        [(3, 4)],
        {(0, "ISR")},
        {0},
    ),
    Case(
        "a place that the parser joined to the subject is an agent in neither",
        "attack/7/nsubj in/3/case Abidjan/Abidjan/PROPN/1/nmod ,/6/punct central/central/ADJ/6/amod "
        "Chad/1/conj attacked/attack/VERB/0/root it/7/obj",
        "attack/7/nsubj in/1/prep Abidjan/Abidjan/PROPN/2/pobj ,/6/punct central/central/ADJ/6/amod "
        "Chad/1/conj attacked/attack/VERB/0/ROOT it/7/dobj",
        [(0, 3), (4, 6)],
        {(1, "TCD")},
        {0},
    ),
    Case(
        "in a list of names each is an agent by default",
        "France/France/PROPN/6/nsubj ,/3/punct Iran/Iran/PROPN/1/conj ,/5/punct Iraq/1/conj "
        "attacked/attack/VERB/0/root it/6/obj",
        "France/France/PROPN/6/nsubj ,/1/punct Iran/Iran/PROPN/1/conj ,/3/punct Iraq/3/conj "
        "attacked/attack/VERB/0/ROOT it/6/dobj",
        [(0, 1), (2, 3), (4, 5)],
        {(0, "FRA"), (1, "IRN"), (2, "IRQ")},
        {0},
        more_agents={1, 2},
    ),
    Case(
        "in a list that was parsed as two subjects each is an agent",
        "France/France/PROPN/6/nsubj ,/3/punct Iran/Iran/PROPN/1/conj and/and/CCONJ/5/cc "
        "Iraq/Iraq/PROPN/6/nsubj attacked/attack/VERB/0/root it/6/obj",
        "France/France/PROPN/6/nsubj ,/3/punct Iran/Iran/PROPN/1/conj and/and/CCONJ/1/cc "
        "Iraq/Iraq/PROPN/6/nsubj attacked/attack/VERB/0/ROOT it/6/dobj",
        [(0, 1), (4, 5)],
        {(0, "FRA"), (1, "IRQ")},
        {0, 1},
    ),
    Case(
        "a name that was parsed as a second subject beyond a place is an agent by the paper's rules only",
        "Americans/6/nsubj in/3/case Lyon/Lyon/PROPN/1/nmod ,/5/punct France/France/PROPN/6/nsubj "
        "attacked/attack/VERB/0/root it/6/obj",
        "Americans/6/nsubj in/1/prep Lyon/Lyon/PROPN/2/pobj ,/5/punct France/France/PROPN/6/nsubj "
        "attacked/attack/VERB/0/ROOT it/6/dobj",
        [(4, 5)],
        {(0, "FRA")},
        set(),
        paper_agents={0},
    ),
    Case(
        "a place with what happened there under it is an agent by the paper's rules only",
        "Fires/5/compound in/3/case Siberia/Siberia/PROPN/1/nmod ,/5/punct Russia/6/nsubj "
        "attacked/attack/VERB/0/root it/6/obj",
        "Fires/5/compound in/1/prep Siberia/Siberia/PROPN/2/pobj ,/5/punct Russia/6/nsubj "
        "attacked/attack/VERB/0/ROOT it/6/dobj",
        [(4, 5)],
        {(0, "RUS")},
        set(),
        paper_agents={0},
    ),
    Case(
        "a name after a day is an agent",
        f"Monday/Monday/PROPN/4/obl:unmarked ,/4/punct Israel/4/nsubj {ATTACKED}/0/root it/4/obj",
        f"Monday/Monday/PROPN/4/npadvmod ,/4/punct Israel/4/nsubj {ATTACKED}/0/ROOT it/4/dobj",
        [(2, 3)],
        {(0, "ISR")},
        {0},
    ),
    Case(
        "a name after a comma and a common noun is an agent",
        f"yesterday/4/obl ,/4/punct Israel/4/nsubj {ATTACKED}/0/root it/4/obj",
        f"yesterday/4/npadvmod ,/4/punct Israel/4/nsubj {ATTACKED}/0/ROOT it/4/dobj",
        [(2, 3)],
        {(0, "ISR")},
        {0},
    ),
    Case(
        "a name with a colon is an agent by the paper's rules only",
        f"South/2/compound Korea/4/nsubj :/4/punct {ATTACKED}/0/root it/4/obj",
        f"South/2/compound Korea/4/nsubj :/4/punct {ATTACKED}/0/ROOT it/4/dobj",
        [(0, 2)],
        {(0, "KOR")},
        set(),
        paper_agents={0},
    ),
    Case(
        "a subject of the whole sentence is no second subject",
        "fact/4/nsubj:outer is/4/cop Israel/4/nsubj attacked/attack/VERB/0/root it/4/obj",
        "fact/2/nsubj is/0/ROOT Israel/4/nsubj attacked/attack/VERB/2/ccomp it/4/dobj",
        [(2, 3)],
        {(0, "ISR")},
        {0},
    ),
    Case(
        "any other verb counts for neither",
        "Iraq/2/nsubj left/leave/VERB/0/root Kuwait/2/obj",
        "Iraq/2/nsubj left/leave/VERB/0/ROOT Kuwait/2/dobj",
        [(0, 1)],
        {(0, "IRQ")},
        set(),
    ),
]


def found(text: Document, rules: Rules) -> tuple[Found, set[int]]:
    seen = candidates(text, default_lexicon(), rules)
    pairs = zip(seen.described.tolist(), seen.country.tolist(), strict=True)
    return {(mention, seen.countries[place]) for mention, place in pairs}, set(seen.agents.tolist())


TARGETS = [
    (
        "Iraq/2/nsubj attacked/attack/VERB/0/root Kuwait/2/obj",
        "Iraq/2/nsubj attacked/attack/VERB/0/ROOT Kuwait/2/dobj",
        {2},
    ),
    (
        "Kuwait/3/nsubj:pass was/3/aux:pass attacked/attack/VERB/0/root",
        "Kuwait/3/nsubjpass was/3/auxpass attacked/attack/VERB/0/ROOT",
        {0},
    ),
    (
        "Iraq/2/nsubj attacked/attack/VERB/0/root Iran/2/obj and/5/cc Kuwait/3/conj",
        "Iraq/2/nsubj attacked/attack/VERB/0/ROOT Iran/2/dobj and/3/cc Kuwait/3/conj",
        {2, 4},
    ),
    (
        "Iraq/2/nsubj attacked/attack/VERB/0/root in/4/case Kuwait/2/obl",
        "Iraq/2/nsubj attacked/attack/VERB/0/ROOT in/2/prep Kuwait/3/pobj",
        set(),
    ),
]


@pytest.mark.parametrize("scheme", [0, 1], ids=["universal", "clearnlp"])
@pytest.mark.parametrize("case", TARGETS, ids=["object", "passive-subject", "conjunct", "place"])
def test_targets_are_objects_and_passive_subjects(
    case: tuple[str, str, set[int]], scheme: int, document: Make
) -> None:
    words = f"{case[0]} x/1/obl" if scheme == 0 else f"{case[1]} x/1/prep"
    places = range(len(words.split()))
    text = document([words], [(0, place, place + 1) for place in places])
    seen = candidates(text, default_lexicon(), replace(RULES["default"], role="target"))
    assert set(seen.targets.tolist()) == case[2]


def test_a_participle_acts_on_the_noun_that_it_modifies() -> None:
    words = ["Iraqis", "attacked", "by", "Iran"]
    tree = Tree(
        [0, 1, 4, 2],
        ["root", "acl", "case", "obl"],
        ["Iraqi", "attack", "by", "Iran"],
        ["PROPN", "VERB", "ADP", "PROPN"],
        ["", "VerbForm=Part", "", ""],
    )
    text = Document("d", [words], [Mention(0, 0, 1), Mention(0, 3, 4)], trees=[tree])
    seen = candidates(text, default_lexicon(), replace(RULES["default"], role="dyad"))
    assert (seen.agents.tolist(), seen.targets.tolist()) == ([1], [0])


@pytest.mark.parametrize("scheme", ["universal", "clearnlp"])
@pytest.mark.parametrize("case", CASES, ids=[case.name.replace(" ", "-") for case in CASES])
def test_a_sentence_is_read_as_by_hand(case: Case, scheme: str, document: Make) -> None:
    marks = {"universal": " x/1/obl", "clearnlp": " x/1/prep"}  # so that each sentence shows its scheme
    text = document([getattr(case, scheme) + marks[scheme]], [(0, *place) for place in case.mentions])
    assert text.trees is not None
    assert label_scheme(text.trees) == scheme
    for rules, described, agents in (
        ("paper", case.paper_described, case.paper_agents),
        ("default", case.more_described, case.more_agents),
    ):
        expected = case.described | (described or set()), case.agents | (agents or set())
        assert found(text, RULES[rules]) == expected


@pytest.mark.parametrize(
    ("preposition", "belongs"),
    [(word, True) for word in ("of", "from", "by", "Of")]
    + [(word, False) for word in ("in", "near", "against", "on", "to", "with", "for", "off of")],
)
def test_by_default_few_prepositions_say_whose_a_thing_is(
    preposition: str, belongs: bool, document: Make
) -> None:
    first, *rest = preposition.split()
    noun = 3 + len(rest)
    fixed = "".join(f" {word}/2/fixed" for word in rest)
    universal = f"raid/{noun + 1}/nsubj {first}/{noun}/case{fixed} Iraq/1/nmod fell/0/root x/{noun + 1}/obl"
    texts = [document([universal], [(0, 0, noun)])]
    if not rest:
        texts.append(document([f"raid/4/nsubj {first}/1/prep Iraq/2/pobj fell/0/ROOT"], [(0, 0, 3)]))
    for text in texts:
        assert found(text, RULES["default"])[0] == ({(0, "IRQ")} if belongs else set())


def test_an_agent_of_the_passive_after_a_comma_is_the_end_of_a_place_by_default(document: Make) -> None:
    killed = "It/3/nsubj:pass was/3/aux:pass killed/kill/VERB/0/root by/5/case fire/3/obl:agent"
    place = "in/7/case Bor/Bor/PROPN/5/nmod ,/9/punct Sudan/3/obl:agent"
    text = document([f"{killed} {place}"], [(0, 8, 9)])
    assert found(text, RULES["paper"].with_verbs(["kill"]))[1] == {0}
    assert found(text, RULES["default"])[1] == set()


@pytest.mark.parametrize("feature", ["VerbForm=Part", "Tense=Past|Voice=Pass"])
def test_a_participle_after_a_noun_is_passive(feature: str) -> None:
    words = ["towns", "attacked", "by", "Iraq"]
    tree = Tree(
        [0, 1, 4, 2],
        ["root", "acl", "case", "obl"],
        ["town", "attack", "by", "Iraq"],
        ["NOUN", "VERB", "ADP", "PROPN"],
        ["", feature, "", ""],
    )
    text = Document("d", [words], [Mention(0, 3, 4)], trees=[tree])
    assert found(text, RULES["paper"]) == ({(0, "IRQ")}, {0})


def test_without_tags_a_word_with_a_copula_is_no_verb() -> None:
    tree = Tree([3, 3, 0], ["nsubj", "cop", "root"], ["it", "be", "attack"], [""] * 3, [""] * 3)
    text = Document("d", [["It", "was", "attack"]], [Mention(0, 0, 1)], trees=[tree])
    assert found(text, RULES["paper"]) == (set(), set())


def test_the_verbs_can_be_the_users_own(document: Make) -> None:
    rules = RULES["paper"].with_verbs(["leave"])
    text = document(["Iraq/2/nsubj left/leave/VERB/0/root Kuwait/2/obj"], [(0, 0, 1)])
    assert found(text, rules)[1] == {0}
    assert rules.name == "paper with leave"


@pytest.mark.parametrize(
    "verbs", [[], ["Attack"], ["blow up"], [""]], ids=["none", "capital", "two", "empty"]
)
def test_what_is_no_verb_is_refused(verbs: list[str]) -> None:
    with pytest.raises(InputError, match="verb"):
        RULES["paper"].with_verbs(verbs)


def test_labels_of_no_known_scheme_are_refused_with_the_document(document: Make) -> None:
    text = document(["Iraq/2/SBJ attacked/attack/VERB/0/ROOT-S it/2/OBJ-A"], [(0, 0, 1)], name="d9")
    with pytest.raises(InputError, match=r"document 'd9'.*SBJ.* fit no known scheme") as error:
        candidates(text, default_lexicon(), RULES["paper"])
    assert error.value.code == "label-scheme"


@pytest.mark.parametrize(
    "sentence",
    [
        "town/3/nsubjpass was/3/auxpass attacked/attack/VERB/0/root by/by/ADP/5/case Iraq/3/nmod",
        "Police/4/nsubj in/in/ADP/3/case Iraq/1/nmod killed/kill/VERB/0/root men/4/dobj",
    ],
)
def test_labels_of_universal_dependencies_1_are_refused(document: Make, sentence: str) -> None:
    with pytest.raises(InputError, match=r"document 'd'.*mix Universal Dependencies and.*version 2") as error:
        candidates(document([sentence], [(0, 0, 1)]), default_lexicon(), RULES["default"])
    assert error.value.code == "label-scheme"


def test_one_wrong_label_does_not_hide_the_scheme(document: Make) -> None:
    right = "Police/3/nsubj in/1/prep killed/kill/VERB/0/ROOT men/3/dobj to/3/prep it/5/pobj"
    text = document([right] * 3 + ["by/by/ADP/2/case killed/kill/VERB/0/ROOT"], [(0, 0, 1)])
    assert label_scheme(text.trees or ()) == "clearnlp"


def test_labels_in_capitals_are_refused(document: Make) -> None:
    with pytest.raises(InputError, match=r"NSUBJ.* fit no known scheme"):
        label_scheme(document(["Iraq/2/NSUBJ attacked/attack/VERB/0/ROOT it/2/OBJ"], []).trees or ())


@pytest.mark.parametrize("missing", ["trees", "mentions", "lemmas"])
def test_what_the_rules_need_is_asked_for(missing: str) -> None:
    tree = Tree([2, 0], ["nsubj", "root"], ["", ""], ["", ""], ["", ""])
    trees, mentions = [tree], [Mention(0, 0, 1)]
    text = Document(
        "d9",
        [["Iraq", "attacked"]],
        None if missing == "mentions" else mentions,
        trees=None if missing == "trees" else trees,
    )
    with pytest.raises(InputError, match=f"document 'd9'.* has no {missing}") as error:
        candidates(text, default_lexicon(), RULES["paper"])
    assert error.value.code == "missing-value"


def test_a_text_that_may_not_count_is_known_before_parsing() -> None:
    lexicon, default = Lexicon([Entry("IRQ", "Iraq")]), RULES["default"]
    for form in ("shot", "Shooting", "besieging", "destroyed", "seizes", "torpedoed", "raids"):
        assert may_count([["Iraq"], ["They", form]], lexicon, default)
    assert not may_count([["Iraq"], ["They", "left"]], lexicon, default)
    assert not may_count([["They", "attacked"]], lexicon, default)
    assert may_count([["Iraq", "broke", "it"]], lexicon, default.with_verbs(["break"]))


def test_on_real_text_the_look_before_parsing_loses_nothing(data: Path) -> None:
    documents = read_documents(data / "ud-english-gum" / "en_gum-ud-dev.conllu.gz")
    possible = 0
    for rules in (*RULES.values(), RULES["default"].with_verbs(["win", "take", "write"])):
        for text in documents:
            counts = candidates(text, default_lexicon(), rules).can_count
            possible += counts
            assert may_count(text.sentences, default_lexicon(), rules) or not counts
    assert possible


@pytest.mark.parametrize(
    ("sentence", "mention", "role", "arcs"),
    [
        ("Rebels/2/nsubj attacked/attack/VERB/0/root", (0, 0, 1), "agent", ["Rebels nsubj attacked 0.1"]),
        (
            "Rebels/4/nsubj and/3/cc Americans/1/conj attacked/attack/VERB/0/root",
            (0, 2, 3),
            "agent",
            ["Americans conj Rebels 0.3", "Rebels nsubj attacked 0.1"],
        ),
        (
            "Americans/2/nsubj attacked/attack/VERB/0/root Iraq/2/obj",
            (0, 0, 1),
            "dyad",
            ["Americans nsubj attacked 0.1", "Iraq obj attacked 0.3"],
        ),
        (
            "Troops/0/root attacked/attack/VERB/1/acl:relcl by/4/case Iraq/2/obl",
            (0, 0, 1),
            "target",
            ["attacked acl:relcl Troops 0.2"],
        ),
    ],
)
def test_arcs_between_a_verb_and_its_participants(
    document: Make, sentence: str, mention: tuple[int, int, int], role: str, arcs: list[str]
) -> None:
    others = [(0, 2, 3)] if role == "dyad" else []
    made = document([sentence], sorted([mention, *others]))
    tree = (made.trees or ())[0]
    features = ["Voice=Pass" if relation.startswith("acl") else "" for relation in tree.relations]
    shares = [(word + 1) / 10 for word in range(len(tree.heads))]
    rules = replace(RULES["default"], role=role)
    for probabilities, expected in ((shares, arcs), (None, [])):
        text = replace(made, trees=[replace(tree, features=features, probabilities=probabilities)])
        (found,) = candidates(text, default_lexicon(), rules).arcs
        assert [f"{arc.word} {arc.relation} {arc.head} {arc.probability:.1f}" for arc in found] == expected
