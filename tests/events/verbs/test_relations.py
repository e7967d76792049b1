"""Relations of country entities are those of a plain loop over samples."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from calibrant.data import dated_documents
from calibrant.events import RULES, country_relations, default_lexicon
from calibrant.events.rules import find
from calibrant.structures import read_documents, save_model
from calibrant.structures.models import CoreferenceModel
from calibrant.structures.models.mentions import head_of

SAMPLES = 15


def test_relations_are_those_of_a_loop_over_samples(tmp_path: Path) -> None:
    documents = list(read_documents(dated_documents()))
    model = CoreferenceModel(bits=12, least=1, epochs=2).fit(documents)
    save_model(model, tmp_path / "small.model")
    found = country_relations(dated_documents(), coref=tmp_path / "small.model", samples=SAMPLES, seed=3)
    expected: Counter[str] = Counter()
    acting: Counter[str] = Counter()
    described_documents = 0
    for document in documents:
        described = find(document, default_lexicon(), RULES["default"]).described
        described_documents += bool(described)
        for labels in model.posterior([document]).sample(SAMPLES, seed=3) if described else ():
            countries: dict[int, set[str]] = {}
            for number, code in described:
                countries.setdefault(int(labels[number]), set()).add(code)
            for mention, entity in zip(document.mentions or (), labels.tolist(), strict=True):
                if len(countries.get(entity, ())) == 1:
                    assert document.trees is not None
                    tree = document.trees[mention.sentence]
                    head = head_of(tree, mention)
                    expected[tree.relations[head]] += 1
                    governor = tree.lemmas[tree.heads[head] - 1] if tree.heads[head] else ""
                    acting[tree.relations[head]] += governor in RULES["default"].verbs
    assert (found.documents, found.described) == (14, described_documents)
    assert found.relations[0].relation == "nsubj"
    for row in found.relations:
        assert row.mentions * SAMPLES == pytest.approx(expected[row.relation])
        assert row.acting * SAMPLES == pytest.approx(acting[row.relation])
    assert len(found.relations) == len(expected)
    assert sum(row.share for row in found.relations) == pytest.approx(1)
