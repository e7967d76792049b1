"""Rules that find mentions described as a country, and agents of verbs of force."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple

from calibrant._checks import one_of
from calibrant.events.lexicon import Lexicon, Match
from calibrant.exceptions import InputError
from calibrant.structures.documents import Document, Mention, Tree
from calibrant.structures.models.mentions import head_of

UNIVERSAL = "universal"
CLEARNLP = "clearnlp"
AGENT, TARGET, DYAD = ROLES = ("agent", "target", "dyad")
NOUN, VERB = USES = ("NOUN", "VERB")


@dataclass(frozen=True, slots=True)
class Words:
    """Dependency tree with the dependents of each word, numbered from 0."""

    tree: Tree
    words: Sequence[str]
    children: list[list[int]]

    @classmethod
    def of(cls, tree: Tree, words: Sequence[str]) -> Words:
        """Find the dependents of each word."""
        children: list[list[int]] = [[] for _ in words]
        for word, head in enumerate(tree.heads):
            if head > 0:
                children[head - 1].append(word)
        return cls(tree, words, children)

    def head(self, word: int) -> int:
        """Return the number of a word's head, -1 for the root."""
        return self.tree.heads[word] - 1

    def relation(self, word: int) -> str:
        """Return the relation of a word to its head."""
        return self.tree.relations[word]

    def related(self, word: int, relations: frozenset[str]) -> Iterator[int]:
        """Yield the dependents with one of these labels."""
        return (child for child in self.children[word] if self.relation(child) in relations)


def base(relation: str) -> str:
    """Return a label of Universal Dependencies without its subtype."""
    return relation.partition(":")[0]


UNIVERSAL_MODIFIERS = {"nmod", "amod"}
CLEARNLP_MODIFIERS = frozenset({"nmod", "amod", "poss"})
CLEARNLP_COMPOUNDS = frozenset({"compound", "nn"})
PREPOSITION = frozenset({"prep"})
OBJECT = frozenset({"pobj"})
CONJUNCT = frozenset({"conj"})
PASSIVE = frozenset({"nsubj:pass", "csubj:pass", "aux:pass", "nsubjpass", "csubjpass", "auxpass"})
CASE = frozenset({"case"})
COPULA = frozenset({"cop"})
NAMES = frozenset({"compound"})  # compound:prt is a particle, not a noun
SUBJECTS = frozenset({"nsubj", "nsubj:pass", "nsubjpass"})
AFFECTED_UNIVERSAL = frozenset({"obj", "nsubj:pass"})
AFFECTED_CLEARNLP = frozenset({"dobj", "nsubjpass"})
OPENERS = frozenset({"case", "mark", "advmod"})
LINKS = frozenset({"CCONJ", "DET"})  # tags of a list's words that are not names
BELONGING = frozenset(
    {"of", "from", "by", "'s", "’s", "'", "’"}
)  # other prepositions indicate a place or a target


def modifiers(
    words: Words, head: int, scheme: str, *, compounds: bool, coordination: bool, places: bool
) -> Iterator[int]:
    """Return a noun's modifiers: adjectives, nouns with a preposition, possessors, preceding names."""
    if scheme == UNIVERSAL:
        reached = [
            child
            for child in words.children[head]
            if (base(words.relation(child)) in UNIVERSAL_MODIFIERS and (places or _belongs(words, child)))
            or (compounds and words.relation(child) in NAMES)
        ]
    else:
        reached = list(words.related(head, CLEARNLP_MODIFIERS))
        reached += words.related(head, CLEARNLP_COMPOUNDS) if compounds else ()
        for preposition in words.related(head, PREPOSITION):
            if places or words.words[preposition].lower() in BELONGING:
                reached += words.related(preposition, OBJECT)
    if coordination:
        for word in reached:  # the list grows during iteration, to reach conjuncts of conjuncts
            reached += words.related(word, CONJUNCT)
    yield from reached


def _belongs(words: Words, noun: int) -> bool:
    """Return True if a noun has no preposition, or one of possession or origin."""
    return all(words.words[case].lower() in BELONGING for case in words.related(noun, CASE))


def agent_of(words: Words, word: int, scheme: str, *, coordination: bool) -> int:
    """Return the verb whose active subject or passive agent a noun is, or -1."""
    steps = 0
    while coordination and words.relation(word) == "conj" and steps < len(words.words):
        word = words.head(word)
        steps += 1
    relation, head = words.relation(word), words.head(word)
    if head < 0:
        return -1
    if scheme == CLEARNLP:
        if relation == "pobj" and words.relation(head) == "agent":
            return words.head(head)
        return head if relation == "nsubj" else -1
    if base(relation) == "nsubj" and relation != "nsubj:pass":
        return head
    if relation in ("obl:agent", "nmod:agent"):
        return head
    by = any(words.words[child].lower() == "by" for child in words.related(word, CASE))
    return head if relation == "obl" and by and is_passive(words, head) else -1


def verbs_acting_on(words: Words, word: int, scheme: str, *, coordination: bool) -> list[int]:
    """Return the verbs whose object or passive subject a noun is, and passive participles that modify it.

    "Troops attacked by rebels" has the participle "attacked", which acts on "troops".
    """
    acting = [
        child
        for child in words.children[word]
        if base(words.relation(child)) == "acl" and is_passive(words, child)
    ]
    steps = 0
    while coordination and words.relation(word) == "conj" and steps < len(words.words):
        word = words.head(word)
        steps += 1
    affected = AFFECTED_CLEARNLP if scheme == CLEARNLP else AFFECTED_UNIVERSAL
    return [words.head(word), *acting] if words.relation(word) in affected else acting


def is_passive(words: Words, verb: int) -> bool:
    """Return True if a verb has a passive subject or auxiliary, or is a participle after a noun."""
    if next(words.related(verb, PASSIVE), None) is not None:
        return True
    features = words.tree.features[verb].split("|")
    return "Voice=Pass" in features or (base(words.relation(verb)) == "acl" and "VerbForm=Part" in features)


def is_verb(words: Words, word: int) -> bool:
    """Return True if a word is tagged as a verb, or has no tag and no copula."""
    tag = words.tree.tags[word]
    return tag == VERB if tag not in ("", "_") else next(words.related(word, COPULA), None) is None


def names_a_place(words: Words, head: int, names: Mapping[int, Match], verb: int) -> bool:
    """Return True if a name parsed as a verb's agent indicates a place, as the last name of "Lyon, France".

    Signs of a place are a second subject ("A bomb in Lyon, France kills"), a colon after the name ("France:
    Gunmen attack"), and a comma between the name and another name. A name after a phrase of place ("In Lyon,
    Americans attacked"), or in a list of names, is an agent, also if the list was parsed as two subjects.

    Parameters
    ----------
    words
        Sentence.
    head
        Head word of the agent.
    names
        Names of the sentence, by each of their words.
    verb
        Verb whose agent the word was parsed as.
    """
    name = names.get(head)
    if name is None:
        return False
    relation = words.relation(head)
    if relation == "nsubj":
        others = [other for other in words.related(verb, SUBJECTS) if other != head]
        if others:
            return not all(_are_listed(words, names, head, other) for other in others)
        if words.words[name.end : name.end + 1] == [":"]:
            return True
    start = name.start
    while words.tree.tags[start - 1] == "ADJ" and start > 0:  # "central France"
        start -= 1
    before = start - 2
    if before < 0 or words.words[before + 1] != "," or words.tree.tags[before] != "PROPN":
        return False
    if relation == "nsubj":
        return not _opens(words, before, verb)
    if relation == "conj":
        return words.relation(before) != "conj" and words.head(head) != before
    return base(relation) == "obl" and next(words.related(head, CASE), None) is None


def _are_listed(words: Words, names: Mapping[int, Match], one: int, other: int) -> bool:
    """Return True if two words and all words between them form a list of names."""
    return all(
        word in names or words.words[word] == "," or words.tree.tags[word] in LINKS
        for word in range(min(one, other), max(one, other) + 1)
    )


def _opens(words: Words, word: int, verb: int) -> bool:
    """Return True if a word ends an opening phrase of a clause: a time, or a phrase with a preposition."""
    top, steps = word, 0
    while words.head(top) != verb and words.head(top) >= 0 and steps < len(words.words):
        top = words.head(top)
        steps += 1
    if words.head(top) != verb or words.relation(top) in SUBJECTS:
        return False
    opens = words.relation(top) in PREPOSITION or next(words.related(top, OPENERS), None) is not None
    return opens or top == word


VERBS_OF_FORCE = (
    "ambush",
    "assault",
    "attack",
    "besiege",
    "blockade",
    "bomb",
    "bombard",
    "destroy",
    "invade",
    "kill",
    "massacre",
    "murder",
    "raid",
    "seize",
    "shell",
    "shoot",
    "storm",
    "torpedo",
)
"""Verbs of the rules ``default``. "Strike", "fire" and "occupy" are left out, since workers strike, employers
fire, and students occupy."""

# Labels that only one of the schemes has.
_MARKS = {
    UNIVERSAL: frozenset({"obl", "obj", "iobj", "fixed", "flat", "cop", "discourse", "list", "orphan"}),
    CLEARNLP: frozenset(
        {
            "prep",
            "pobj",
            "dobj",
            "nsubjpass",
            "auxpass",
            "poss",
            "acomp",
            "attr",
            "pcomp",
            "npadvmod",
            "relcl",
        }
        | {"dative", "agent", "neg", "prt", "oprd", "predet", "quantmod", "intj", "meta", "num", "nn"}
    ),
}
_SHARED = frozenset(
    {"nsubj", "csubj", "ccomp", "xcomp", "advcl", "advmod", "acl", "amod", "appos", "aux", "case", "cc"}
    | {"compound", "conj", "dep", "det", "expl", "mark", "nmod", "nummod", "parataxis", "punct", "root"}
)
MIXED = 0.1  # proportion of the rarer scheme's labels above which trees mix both, as version 1 of UD does
_ONSET = "aeiouy"
NO_LEMMAS = {"", "_"}
PARTS_OF_SPEECH = frozenset(
    {"ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN", "PUNCT"}
    | {"SCONJ", "SYM", "VERB", "X", "SPACE", "EOL"}  # the last two of spaCy
)


@dataclass(frozen=True)
class Rules:
    """Rules that decide which mentions are described as a country, and which are agents.

    A mention is *described as* a country if its head word is in the lexicon, or if a noun or adjective that
    modifies the head word is in the lexicon (``nmod`` or ``amod``; in ClearNLP labels ``nmod``, ``amod``,
    ``poss``, or the object of a preposition). A mention is an *agent* if its head word is the active subject
    or the passive agent of a verb in the list.

    Attributes
    ----------
    name
        Name of the rules, for messages and manifests.
    verbs
        Lemmas of the verbs, in lower case.
    compounds
        True if names before the head word count, as in "NATO forces".
    coordination
        True if conjuncts count: "Russia and its allies attacked" has two agents, and "Israeli and Egyptian
        troops" are described as two countries, and therefore count for neither.
    places
        True if a name that indicates a place counts, as Pakistan in "a bomb in Pakistan kills". If False, a
        noun after a preposition counts only after "of", "from" and "by", and the end of a place that was
        parsed as an agent ("A bomb in Lahore, Pakistan kills") does not count.
    named
        True if an agent or target that is itself described as one country ("Israeli troops") counts for this
        country in every sample. If False, its entity must be described as exactly one country, so that a
        document loses probability where coreference merges "Israel" with a mention of another country.
    role
        ``agent``: a document counts for the countries that act. ``target``: for those that are acted on: the
        object, the passive subject, or a noun that a passive participle modifies. ``dyad``: for pairs of two
        entities, agent and target of the same verb, written ``"USA -> IRQ"``.

    Raises
    ------
    InputError
        If there is no verb, or a verb is not a single word in lower case.

    References
    ----------
    Nguyen and O'Connor (2015), section 6.1.

    Examples
    --------
    >>> RULES["default"].with_verbs(["attack", "strike"]).verbs
    ('attack', 'strike')
    """

    name: str
    verbs: tuple[str, ...]
    compounds: bool = False
    coordination: bool = False
    places: bool = True
    named: bool = False
    role: str = AGENT

    def __post_init__(self) -> None:
        one_of(self.role, ROLES, "role")
        if not self.verbs:
            raise InputError("the rules have no verbs", "give at least one", code="empty")
        for verb in self.verbs:
            if not verb or verb != verb.lower() or len(verb.split()) != 1:
                hint = "give lemmas in lower case, one word each"
                raise InputError(f"{verb!r:.40} is not a valid verb", hint, code="parameter")

    def with_verbs(self, verbs: Iterable[str]) -> Rules:
        """Return the same rules with other verbs, which the name lists."""
        chosen = tuple(dict.fromkeys(verbs))
        return replace(self, name=f"{self.name} with {', '.join(chosen)}", verbs=chosen)

    @cached_property
    def triggers(self) -> tuple[str, ...]:
        """Return prefixes common to all forms of the verbs, to filter text before it is parsed."""
        return tuple(sorted({_beginning(verb) for verb in self.verbs}))


RULES: Mapping[str, Rules] = MappingProxyType(
    {
        "paper": Rules("paper", ("attack",)),
        "default": Rules(
            "default", VERBS_OF_FORCE, compounds=True, coordination=True, places=False, named=True
        ),
    }
)
"""Rules by name. ``paper``: the verb "attack" only. ``default``: verbs of force, with compounds and
coordination, without places; agents that name a country count for it."""


def _beginning(verb: str) -> str:
    """Return the prefix of all forms of a verb; for a verb that may be irregular, its initial consonants."""
    if verb in VERBS_OF_FORCE and verb != "shoot":
        return verb.removesuffix("e").removesuffix("y")
    vowel = next((place for place, letter in enumerate(verb) if letter in _ONSET), len(verb))
    return verb[: max(1, vowel)]


def check_parts_of_speech(trees: Sequence[Tree]) -> None:
    """Raise `InputError` if most tags are no universal parts of speech, so that no word would be a verb.

    Examples
    --------
    >>> check_parts_of_speech([Tree([0], ["root"], ["see"], ["VBD"], [""])])
    Traceback (most recent call last):
    calibrant.exceptions.InputError: the tags (VBD) are not ...
    """
    times = Counter(tag for tree in trees for tag in tree.tags if tag not in ("", "_"))
    strange = Counter({tag: count for tag, count in times.items() if tag not in PARTS_OF_SPEECH})
    if 2 * strange.total() > times.total():
        most = ", ".join(tag for tag, _ in strange.most_common(5))
        message = f"the tags ({most}) are not the parts of speech of Universal Dependencies"
        hint = "write VERB, NOUN, ... into the column UPOS, or _ in each row"
        raise InputError(message, hint, code="label-scheme")


def label_scheme(trees: Iterable[Tree]) -> str:
    """Return the scheme of a text's dependency labels: ``"universal"`` or ``"clearnlp"``.

    Parameters
    ----------
    trees
        Trees of one document.

    Returns
    -------
    str
        ``"universal"`` for Universal Dependencies, ``"clearnlp"`` for the labels of spaCy's English
        pipelines. Labels that fit both are treated as universal.

    Raises
    ------
    InputError
        If the labels fit neither scheme, or mix both, or the tags are of another scheme (code
        ``label-scheme``).

    Examples
    --------
    >>> label_scheme([Tree([2, 0, 2], ["nsubj", "root", "dobj"], [""] * 3, [""] * 3, [""] * 3)])
    'clearnlp'
    """
    trees = list(trees)
    counts = dict.fromkeys([*_MARKS, "shared"], 0)
    unknown: dict[str, int] = {}
    pairs = (pair for tree in trees for pair in zip(tree.relations, tree.tags, strict=True))
    for (relation, tag), times in Counter(pairs).items():
        # In ClearNLP labels, "case" is the possessive ending, and prepositions are "prep".
        if ":" in relation or relation in _MARKS[UNIVERSAL] or (relation, tag) == ("case", "ADP"):
            counts[UNIVERSAL] += times
        elif relation in _MARKS[CLEARNLP]:
            counts[CLEARNLP] += times
        elif relation in _SHARED or relation == "ROOT":
            counts["shared"] += times
        else:
            unknown[relation] = unknown.get(relation, 0) + times
    known_count = sum(counts.values())
    if sum(unknown.values()) > known_count:
        most = ", ".join(sorted(unknown, key=lambda name: (-unknown[name], name))[:5])
        hint = "parse with Universal Dependencies, or with a spaCy pipeline for English"
        raise InputError(f"the dependency labels ({most}) fit no known scheme", hint, code="label-scheme")
    check_parts_of_speech(trees)
    fewer, more = sorted(counts[scheme] for scheme in _MARKS)
    if fewer > MIXED * (fewer + more):
        message = "the dependency labels mix Universal Dependencies and those of spaCy's English pipelines"
        hint = "convert the trees to version 2 of Universal Dependencies, or parse the texts again"
        raise InputError(message, hint, code="label-scheme")
    return CLEARNLP if counts[CLEARNLP] > counts[UNIVERSAL] else UNIVERSAL


class Arc(NamedTuple):
    """An arc of a dependency tree between two words, with its label.

    Attributes
    ----------
    word, relation, head
        The dependent, the label, and the head.
    probability
        Probability of the arc with its label under the parser.
    """

    word: str
    relation: str
    head: str
    probability: float


def arcs_between(parsed: Words, word: int, verb: int) -> tuple[Arc, ...]:
    """Return the arcs that make a noun a participant of a verb; none if their probabilities are unknown.

    They are those from the noun up to the verb, or from a participle up to the noun that it modifies.

    Examples
    --------
    >>> tree = Tree([2, 0], ["nsubj", "root"], ["they", "attack"], ["", ""], ["", ""], [0.62, 0.9])
    >>> arcs_between(Words.of(tree, ["They", "attacked"]), 0, 1)
    (Arc(word='They', relation='nsubj', head='attacked', probability=0.62),)
    """
    probabilities = parsed.tree.probabilities
    if probabilities is None:
        return ()
    path = [verb]
    if parsed.head(verb) != word:
        path = [word]
        while parsed.head(path[-1]) not in (verb, -1):
            path.append(parsed.head(path[-1]))
    return tuple(
        Arc(
            parsed.words[place],
            parsed.relation(place),
            parsed.words[parsed.head(place)],
            float(probabilities[place]),
        )
        for place in path
    )


class Participant(NamedTuple):
    """A mention that takes part in what a verb states.

    Attributes
    ----------
    mention
        Number of the mention.
    verb
        Lemma of the verb.
    sentence, word
        Place of the verb, from 0.
    arcs
        Arcs between the mention's head and the verb, if their probabilities are known.
    """

    mention: int
    verb: str
    sentence: int
    word: int
    arcs: tuple[Arc, ...]


@dataclass(frozen=True)
class Roles:
    """Mentions of a document to which the rules apply.

    Attributes
    ----------
    described
        Pairs of a mention's number and a country code, one per country of the mention.
    agents
        Mentions that are agents of the verbs.
    targets
        Mentions that the verbs act on.
    """

    described: list[tuple[int, str]]
    agents: list[Participant]
    targets: list[Participant]


def find(document: Document, lexicon: Lexicon, rules: Rules) -> Roles:
    """Apply the rules to the mentions of a parsed document, sentence by sentence."""
    if document.trees is None or document.mentions is None:
        what = "trees" if document.trees is None else "mentions"
        message = f"document {document.name!r} has no {what}"
        hint = "parse it" if document.trees is None else "detect them"
        raise InputError(message, hint, code="missing-value")
    scheme: str | None = None
    verbs = frozenset(rules.verbs)
    roles = Roles([], [], [])
    by_sentence: dict[int, list[int]] = {}
    for number, mention in enumerate(document.mentions):
        by_sentence.setdefault(mention.sentence, []).append(number)
    for sentence, numbers in by_sentence.items():
        tree, words = document.trees[sentence], document.sentences[sentence]
        matches = lexicon.matches(words)
        triggers = {word for word, lemma in enumerate(tree.lemmas) if lemma.lower() in verbs}
        if not matches and not triggers:
            continue
        _check_lemmas(tree, document.name, sentence)
        scheme = scheme or _scheme(document)
        parsed = Words.of(tree, words)
        triggers = {word for word in triggers if is_verb(parsed, word)}
        mentions = [(number, document.mentions[number]) for number in numbers]
        _apply(parsed, mentions, matches, triggers, scheme, rules, roles)
    return roles


def acts(document: Document, rules: Rules) -> bool:
    """Return True if a parsed document has a verb of the rules, or a sentence without lemmas."""
    verbs = frozenset(rules.verbs)
    return any(
        not verbs.isdisjoint(map(str.lower, tree.lemmas)) or set(tree.lemmas) <= NO_LEMMAS
        for tree in document.trees or ()
    )


def uses_of(document: Document, rules: Rules) -> Counter[tuple[str, str]]:
    """Return how often each verb of the rules is tagged as a noun and as a verb in a parsed document.

    Only verbs have agents, so a rule for "strike" says little if its lemma is mostly a noun.

    Examples
    --------
    >>> tree = Tree([2, 0], ["det", "root"], ["a", "strike"], ["DET", "NOUN"], ["", ""])
    >>> uses_of(Document("d", [["A", "strike"]], trees=[tree]), RULES["default"].with_verbs(["strike"]))
    Counter({('strike', 'NOUN'): 1})
    """
    verbs = frozenset(rules.verbs)
    return Counter(
        (lemma.lower(), tag)
        for tree in document.trees or ()
        for lemma, tag in zip(tree.lemmas, tree.tags, strict=True)
        if tag in USES and lemma.lower() in verbs
    )


def _scheme(document: Document) -> str:
    try:
        return label_scheme(document.trees or ())
    except InputError as error:
        raise InputError(
            f"document {document.name!r}: {error.message}", error.hint, code=error.code
        ) from None


def _check_lemmas(tree: Tree, document: str, sentence: int) -> None:
    if set(tree.lemmas) <= NO_LEMMAS:
        message = f"document {document!r}, sentence {sentence} (from 0) has no lemmas"
        raise InputError(
            message, "parse it with a lemmatizer; the rules find verbs by lemma", code="missing-value"
        )


def _apply(
    parsed: Words,
    mentions: Sequence[tuple[int, Mention]],
    matches: Sequence[Match],
    triggers: set[int],
    scheme: str,
    rules: Rules,
    roles: Roles,
) -> None:
    name_of = {word: match for match in matches for word in range(match.start, match.end)}
    ways = {"compounds": rules.compounds, "coordination": rules.coordination, "places": rules.places}
    for number, mention in mentions:
        head = head_of(parsed.tree, mention)
        if name_of:
            looked_at = [head, *modifiers(parsed, head, scheme, **ways)]
            countries = dict.fromkeys(name_of[word].code for word in looked_at if word in name_of)
            roles.described.extend((number, country) for country in countries)
        if triggers:
            agreed = {"coordination": rules.coordination}
            verb = agent_of(parsed, head, scheme, **agreed)
            if verb in triggers and (rules.places or not names_a_place(parsed, head, name_of, verb)):
                roles.agents.append(_participant(parsed, number, mention, head, verb))
            for verb in triggers.intersection(verbs_acting_on(parsed, head, scheme, **agreed)):
                roles.targets.append(_participant(parsed, number, mention, head, verb))


def _participant(parsed: Words, number: int, mention: Mention, head: int, verb: int) -> Participant:
    lemma, arcs = parsed.tree.lemmas[verb].lower(), arcs_between(parsed, head, verb)
    return Participant(number, lemma, mention.sentence, verb, arcs)


def may_count(sentences: Iterable[Sequence[str]], lexicon: Lexicon, rules: Rules) -> bool:
    """Return True if a text that is not parsed yet can count, because it has a name and a possible verb.

    Parameters
    ----------
    sentences
        Words of each sentence.
    lexicon, rules
        As in `document_samples`.

    Returns
    -------
    bool
        False only if `document_samples` finds nothing for any trees. The filter assumes that forms of a verb
        begin like its lemma (``went`` does not begin like ``go``).

    Examples
    --------
    >>> from calibrant.events.lexicon import Entry
    >>> lexicon = Lexicon([Entry("IRQ", "Iraq")])
    >>> may_count([["They", "bombed", "Iraq"]], lexicon, RULES["default"])
    True
    >>> may_count([["They", "left", "Iraq"]], lexicon, RULES["default"])
    False
    """
    held = [list(words) for words in sentences]
    if not any(word.lower().startswith(rules.triggers) for words in held for word in words):
        return False
    return any(lexicon.matches(words) for words in held)
