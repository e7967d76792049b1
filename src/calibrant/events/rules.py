"""Which mention is described as a country, and which is the agent of a verb of force."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType

from calibrant.events._trees import (
    CLEARNLP,
    UNIVERSAL,
    Words,
    agent_of,
    is_verb,
    modifiers,
    names_a_place,
)
from calibrant.events.lexicon import Lexicon, Match
from calibrant.exceptions import InputError
from calibrant.structures.documents import Document, Mention, Tree
from calibrant.structures.models.mentions import head_of

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
"""The verbs of the rules ``default``. "Strike", "fire" and "occupy" are left out: workers strike, employers
fire, and students occupy."""

# Labels that one scheme has and the other has not.
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
_ONSET = "aeiouy"
NO_LEMMAS = {"", "_"}


@dataclass(frozen=True)
class Rules:
    """What counts as being described as a country, and as doing something.

    A mention is *described as* a country if its head word is in the lexicon, or if a noun or adjective that
    modifies the head word is (``nmod`` or ``amod``; in ClearNLP labels ``nmod``, ``amod``, ``poss``, or the
    object of a preposition). A mention is an *agent* if its head word is the active subject of a verb in the
    list, or its agent in the passive.

    Attributes
    ----------
    name
        For messages and manifests.
    verbs
        Lemmas, in lower case.
    compounds
        Names that stand before the head word count too: "NATO forces".
    coordination
        What is joined by "and" counts too: both of "Russia and its allies attacked" attack, and "Israeli
        and Egyptian troops" are of two countries (and so of none).
    places
        Whether a name that says where counts like one that says who: Pakistan, where "a bomb in Pakistan
        kills". Without, a noun after a preposition counts only after "of", "from" and "by", and what was
        parsed as an agent, but is the end of a place ("A bomb in Lahore, Pakistan kills"), is none.

    Raises
    ------
    InputError
        If there is no verb, or one is not a word in lower case.

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

    def __post_init__(self) -> None:
        if not self.verbs:
            raise InputError("the rules have no verbs", "give at least one", code="empty")
        for verb in self.verbs:
            if not verb or verb != verb.lower() or len(verb.split()) != 1:
                hint = "give lemmas in lower case, one word each"
                raise InputError(f"{verb!r:.40} is no verb", hint, code="parameter")

    def with_verbs(self, verbs: Iterable[str]) -> Rules:
        """The same rules with other verbs; the name says so."""
        chosen = tuple(dict.fromkeys(verbs))
        return replace(self, name=f"{self.name} with {', '.join(chosen)}", verbs=chosen)

    @cached_property
    def triggers(self) -> tuple[str, ...]:
        """Beginnings that every form of the verbs has, for a look at text that is not parsed yet."""
        return tuple(sorted({_beginning(verb) for verb in self.verbs}))


RULES: Mapping[str, Rules] = MappingProxyType(
    {
        "paper": Rules("paper", ("attack",)),
        "default": Rules("default", VERBS_OF_FORCE, compounds=True, coordination=True, places=False),
    }
)
"""``paper``: the verb "attack" alone. ``default``: compounds, coordination, verbs of force, no places."""


def _beginning(verb: str) -> str:
    """What all forms of a verb begin with; of a verb that may be irregular the consonants at its start."""
    if verb in VERBS_OF_FORCE and verb != "shoot":
        return verb.removesuffix("e").removesuffix("y")
    vowel = next((place for place, letter in enumerate(verb) if letter in _ONSET), len(verb))
    return verb[: max(1, vowel)]


def label_scheme(trees: Iterable[Tree]) -> str:
    """The scheme of a text's dependency labels: ``"universal"`` or ``"clearnlp"``.

    Parameters
    ----------
    trees
        Of one document.

    Returns
    -------
    str
        Universal Dependencies, or the labels of spaCy's English pipelines; what all labels fit in is taken as
        universal.

    Raises
    ------
    InputError
        If no label, or labels of both, are known (code ``label-scheme``).

    Examples
    --------
    >>> label_scheme([Tree([2, 0, 2], ["nsubj", "root", "dobj"], [""] * 3, [""] * 3, [""] * 3)])
    'clearnlp'
    """
    counts = dict.fromkeys([*_MARKS, "shared"], 0)
    unknown: dict[str, int] = {}
    for relation, times in Counter(relation for tree in trees for relation in tree.relations).items():
        lower = relation.lower()
        if ":" in lower or lower in _MARKS[UNIVERSAL]:
            counts[UNIVERSAL] += times
        elif lower in _MARKS[CLEARNLP]:
            counts[CLEARNLP] += times
        elif lower in _SHARED:
            counts["shared"] += times
        else:
            unknown[relation] = times
    known_count = sum(counts.values())
    if sum(unknown.values()) > known_count:
        most = ", ".join(sorted(unknown, key=lambda name: (-unknown[name], name))[:5])
        hint = "parse with Universal Dependencies, or with a spaCy pipeline for English"
        raise InputError(f"the dependency labels ({most}) are of no known scheme", hint, code="label-scheme")
    return CLEARNLP if counts[CLEARNLP] > counts[UNIVERSAL] else UNIVERSAL


@dataclass(frozen=True)
class Found:
    """What the rules find in a document.

    Attributes
    ----------
    described
        A mention's number and a country, for each of its countries.
    agents
        A mention's number and the lemma of what it does.
    """

    described: list[tuple[int, str]]
    agents: list[tuple[int, str]]


def find(document: Document, lexicon: Lexicon, rules: Rules) -> Found:
    """Apply the rules to the mentions of a parsed document, sentence by sentence."""
    if document.trees is None or document.mentions is None:
        what = "trees" if document.trees is None else "mentions"
        message = f"document {document.name!r} has no {what}"
        hint = "parse it" if document.trees is None else "detect them"
        raise InputError(message, hint, code="missing-value")
    scheme: str | None = None
    verbs = frozenset(rules.verbs)
    found = Found([], [])
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
        _apply(parsed, mentions, matches, triggers, scheme, rules, found)
    return found


def acts(document: Document, rules: Rules) -> bool:
    """Whether a parsed document has a verb of the rules, or a sentence without lemmas."""
    verbs = frozenset(rules.verbs)
    return any(
        not verbs.isdisjoint(map(str.lower, tree.lemmas)) or set(tree.lemmas) <= NO_LEMMAS
        for tree in document.trees or ()
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
            message, "parse it with a lemmatizer: verbs are found by lemma", code="missing-value"
        )


def _apply(
    parsed: Words,
    mentions: Sequence[tuple[int, Mention]],
    matches: Sequence[Match],
    triggers: set[int],
    scheme: str,
    rules: Rules,
    found: Found,
) -> None:
    name_of = {word: match for match in matches for word in range(match.start, match.end)}
    ways = {"compounds": rules.compounds, "coordination": rules.coordination, "places": rules.places}
    for number, mention in mentions:
        head = head_of(parsed.tree, mention)
        if name_of:
            looked_at = [head, *modifiers(parsed, head, scheme, **ways)]
            countries = dict.fromkeys(name_of[word].code for word in looked_at if word in name_of)
            found.described.extend((number, country) for country in countries)
        if triggers:
            verb = agent_of(parsed, head, scheme, coordination=rules.coordination)
            if verb not in triggers or (not rules.places and _is_place(parsed, head, name_of, verb)):
                continue
            found.agents.append((number, parsed.tree.lemmas[verb].lower()))


def _is_place(parsed: Words, head: int, name_of: Mapping[int, Match], verb: int) -> bool:
    match = name_of.get(head)
    return match is not None and names_a_place(parsed, head, range(match.start, match.end), verb)


def may_count(sentences: Iterable[Sequence[str]], lexicon: Lexicon, rules: Rules) -> bool:
    """Whether a text that is not parsed yet can count: it has a name and what may be such a verb.

    Parameters
    ----------
    sentences
        Their words.
    lexicon, rules
        As in `document_samples`.

    Returns
    -------
    bool
        False only where `document_samples` finds nothing, whatever the trees are, for forms of verbs that
        begin as their lemma does (``went`` does not begin as ``go``).

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
