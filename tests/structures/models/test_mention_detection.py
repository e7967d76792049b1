"""Mentions found in trees."""

from __future__ import annotations

from pathlib import Path

import pytest

from calibrant.exceptions import InputError
from calibrant.structures.documents import Document, Mention, Tree
from calibrant.structures.models.mentions import detect_mentions
from calibrant_studies._coreference_data import mention_recall
from tests.quantities import defined


def parsed(rows: str) -> Document:
    """A document of one sentence, a word a line: form, tag, head, relation, features."""
    words, tags, heads, relations, features = [], [], [], [], []
    for row in rows.strip().splitlines():
        form, tag, head, relation, *rest = row.split()
        words.append(form)
        tags.append(tag)
        heads.append(int(head))
        relations.append(relation)
        features.append(rest[0] if rest else "")
    return Document("d", [words], trees=[Tree(heads, relations, words, tags, features)])


def found(rows: str, **options: bool) -> list[str]:
    document = parsed(rows)
    return [" ".join(document.words(mention)) for mention in detect_mentions(document, **options)]


POSSESSIVE = """
Anna PROPN 3 nmod:poss
's PART 1 case
dog NOUN 4 nsubj
likes VERB 0 root
its PRON 6 nmod:poss PronType=Prs
bone NOUN 4 obj
. PUNCT 4 punct
"""


def test_possessives_are_mentions_inside_mentions() -> None:
    assert found(POSSESSIVE) == ["Anna 's", "Anna 's dog", "its", "its bone"]
    assert found(POSSESSIVE, possessive_endings=False) == ["Anna", "Anna 's dog", "its", "its bone"]


def test_coordinated_phrases_are_mentions_alone_and_together() -> None:
    rows = """
Tom PROPN 5 nsubj
and CCONJ 4 cc
his PRON 4 nmod:poss PronType=Prs
aunt NOUN 1 conj
left VERB 0 root
"""
    assert found(rows) == ["Tom", "Tom and his aunt", "his", "his aunt"]


def test_relative_clauses_belong_to_a_mention_and_relative_pronouns_are_none() -> None:
    rows = """
the DET 2 det
man NOUN 5 nsubj
who PRON 4 nsubj PronType=Rel
slept VERB 2 acl:relcl
woke VERB 0 root
"""
    assert found(rows) == ["the man who slept"]


def test_prepositions_and_the_clause_of_a_predicate_noun_stay_outside() -> None:
    rows = """
She PRON 5 nsubj PronType=Prs
is AUX 5 cop
now ADV 5 advmod
a DET 5 det
doctor NOUN 0 root
in ADP 7 case
Rome PROPN 5 obl
. PUNCT 5 punct
"""
    assert found(rows) == ["She", "a doctor", "Rome"]


def test_appositions_stay_outside_and_are_mentions_themselves() -> None:
    rows = """
Anna PROPN 6 nsubj
, PUNCT 4 punct
the DET 4 det
doctor NOUN 1 appos
, PUNCT 4 punct
slept VERB 0 root
"""
    assert found(rows) == ["Anna", "the doctor"]


def test_brackets_are_kept_whole_and_other_punctuation_is_cut() -> None:
    rows = """
Work NOUN 6 nsubj
on ADP 3 case
iron NOUN 1 nmod
( PUNCT 3 punct
) PUNCT 3 punct
helps VERB 0 root
"""
    assert found(rows) == ["Work on iron ( )", "iron"]


def test_expletives_are_no_mentions() -> None:
    assert found("It PRON 2 expl PronType=Prs\nrains VERB 0 root") == []


def test_a_document_without_trees_is_refused() -> None:
    with pytest.raises(InputError, match="'d' has no trees"):
        detect_mentions(Document("d", [["a"]]))


def test_recall_counts_exact_stretches() -> None:
    gold = [Document("d", [["a", "b", "c"]], [Mention(0, 0, 1), Mention(0, 1, 3)])]
    of = mention_recall(gold, [[Mention(0, 0, 1), Mention(0, 1, 2), Mention(0, 2, 3)]])
    assert (of.gold, of.detected, of.both) == (2, 3, 1)
    assert (of.recall, of.precision) == (1 / 2, 1 / 3)
    assert mention_recall([], []).recall is None
    with pytest.raises(InputError, match="1 documents, but mentions of 0"):
        mention_recall(gold, [])


def test_nine_of_ten_gold_mentions_of_gum_are_found(data: Path) -> None:
    from calibrant.structures.files.coreference import read_documents

    documents = list(read_documents(data / "ud-english-gum" / "en_gum-ud-test.conllu.gz"))
    of = mention_recall(documents, [detect_mentions(document) for document in documents])
    assert defined(of.recall) > 0.90
    assert defined(of.precision) > 0.77
