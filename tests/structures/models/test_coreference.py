from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from calibrant import FormatError, InputError
from calibrant.structures.documents import Document
from calibrant.structures.models import CoreferenceModel
from calibrant.structures.models.coreference_encoding import (
    LEXICAL,
    OWN,
    Lexicon,
    code_of,
    encode,
    quotations_of,
)
from tests.ship import DOCUMENT, ENTITIES, MENTIONS, SENTENCES

SMALL: dict[str, Any] = {"bits": 14, "least": 1, "epochs": 12, "batch": 4, "window": 6}


def test_training_lowers_the_loss_and_learns_the_document() -> None:
    model = CoreferenceModel(**SMALL).fit([DOCUMENT])
    assert model.losses[-1] < model.losses[1] / 2 < model.losses[0]
    posterior = model.posterior([DOCUMENT])
    best = posterior.best_antecedents().tolist()
    for i, j in enumerate(best):
        earlier = [k for k in range(max(0, i - 6), i) if ENTITIES[k] == ENTITIES[i]]
        assert (j in earlier) if earlier else j == -1


def test_equal_seeds_give_equal_weights_and_other_seeds_others() -> None:
    first, again, other = (CoreferenceModel(**SMALL, seed=seed).fit([DOCUMENT]) for seed in (1, 1, 2))
    one, same, another = (model.to_state() for model in (first, again, other))
    assert np.array_equal(one["place"], same["place"])
    assert np.array_equal(one["weight"], same["weight"])
    assert not np.array_equal(one["weight"], another["weight"])


def test_l1_makes_weights_vanish_and_l2_makes_them_small() -> None:
    plain = CoreferenceModel(**SMALL, l1=0).fit([DOCUMENT])
    sparse = CoreferenceModel(**SMALL, l1=1e-2).fit([DOCUMENT])
    small = CoreferenceModel(**SMALL, l1=0, l2=0.1).fit([DOCUMENT])
    assert len(sparse.to_state()["place"]) < len(plain.to_state()["place"]) / 2
    assert np.square(small.to_state()["weight"]).sum() < np.square(plain.to_state()["weight"]).sum() / 2


def test_scores_of_a_batch_are_those_of_its_documents() -> None:
    model = CoreferenceModel(**SMALL).fit([DOCUMENT])
    part = Document("part", SENTENCES[:2], [mention for mention in MENTIONS if mention.sentence < 2])
    none = Document("none", SENTENCES[:1], [])
    batch, counts = model.scores([part, none, DOCUMENT])
    alone = [model.scores([document])[0] for document in (part, none, DOCUMENT)]
    np.testing.assert_array_equal(batch, np.concatenate(alone))
    assert counts.tolist() == [len(part.mentions or ()), 0, len(MENTIONS)]
    assert model.posterior([part, none]).names == ("part", "none")


def test_a_smaller_window_drops_the_farthest_candidates() -> None:
    wide = CoreferenceModel(**{**SMALL, "window": 50}).fit([DOCUMENT])
    narrow = CoreferenceModel.from_state({**wide.to_state(), "window": 3})
    long, _ = wide.scores([DOCUMENT])
    short, _ = narrow.scores([DOCUMENT])
    rows = np.split(long, np.cumsum(np.arange(1, len(MENTIONS) + 1))[:-1])
    np.testing.assert_array_equal(short, np.concatenate([row[-4:] for row in rows]))


def test_state_and_model_are_equivalent() -> None:
    model = CoreferenceModel(features="syntax", without=["length"], **SMALL).fit([DOCUMENT])
    state = model.to_state()
    again = CoreferenceModel.from_state(state)
    assert again.groups == model.groups
    assert again.losses == model.losses
    np.testing.assert_array_equal(again.scores([DOCUMENT])[0], model.scores([DOCUMENT])[0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "crf"}, "is of kind"),
        ({"version": 7}, "version 7"),
        ({"weight": np.zeros(1, np.float32)}, "one finite number"),
        ({"place": np.array([3, 1])}, "out of order"),
        ({"place": np.array([1 << 20]), "weight": np.ones(1, np.float32)}, "out of range"),
        ({"frequent": []}, "words are missing"),
        ({"bits": 99}, "bits is 99"),
        ({"without": ["nothing"]}, "nothing"),
        ({"costs": None}, "costs"),
        ({"losses": "x"}, "damaged"),
    ],
    ids=[
        "kind",
        "version",
        "weights",
        "order",
        "out of range",
        "kinds",
        "bits",
        "without",
        "costs",
        "losses",
    ],
)
def test_a_damaged_state_is_refused(change: dict[str, Any], message: str) -> None:
    state = CoreferenceModel(**SMALL).fit([DOCUMENT]).to_state()
    with pytest.raises(FormatError, match=message):
        CoreferenceModel.from_state({**state, **change})
    for name in state:
        with pytest.raises(FormatError):
            CoreferenceModel.from_state({key: value for key, value in state.items() if key != name})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"features": "deep"}, "features is 'deep'"),
        ({"without": ["governor"]}, "no feature group 'governor'"),
        ({"bits": 40}, "bits is 40"),
        ({"costs": (1.0, 2.0)}, "costs is"),
        ({"costs": (1.0, -2.0, 0.0)}, "costs is -2.0"),
        ({"l1": -1}, "l1 is -1"),
        ({"epochs": 0}, "epochs is 0"),
        ({"seed": -1}, "seed is -1"),
    ],
    ids=["features", "without", "bits", "two-costs", "negative-cost", "l1", "epochs", "seed"],
)
def test_wrong_arguments_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        CoreferenceModel(**arguments)


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        ([], "no documents"),
        ([replace(DOCUMENT, mentions=None, clusters=None)], "'ship' has no mentions"),
        ([replace(DOCUMENT, trees=None)], "'ship' has no trees"),
        ([replace(DOCUMENT, clusters=None)], "'ship' has no gold entities"),
        ([replace(DOCUMENT, mentions=[], clusters=[])], "no mentions"),
        (DOCUMENT, "documents is"),
    ],
    ids=["none", "mentions", "trees", "entities", "empty", "one"],
)
def test_documents_that_lack_something_are_refused(documents: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        CoreferenceModel(features="syntax", **SMALL).fit(documents)


def test_an_untrained_model_says_so() -> None:
    with pytest.raises(InputError, match="not been trained"):
        CoreferenceModel().posterior([DOCUMENT])


def test_rare_words_share_the_code_of_their_class() -> None:
    encoded = encode(DOCUMENT, trees=False)
    lexicon = Lexicon.learn([encoded], 2)
    head = LEXICAL.index("head")
    assert code_of("ship") in lexicon.frequent[head]
    assert code_of("deck") not in lexicon.frequent[head]
    _, frequent_heads = lexicon.own_codes(encoded, [OWN.index("head")])
    words = [SENTENCES[mention.sentence][mention.end - 1].lower() for mention in MENTIONS]
    assert frequent_heads[words.index("ahab")] == code_of("ahab")
    assert code_of("deck") not in frequent_heads


def test_quotations_are_numbered_and_end_when_nobody_closes_them() -> None:
    assert quotations_of(["a", "“", "b", "”", "c", "``", "d", "''", "e"]).tolist() == [
        0,
        1,
        1,
        1,
        0,
        2,
        2,
        2,
        0,
    ]
    assert quotations_of(["“", *["w"] * 400]).sum() == 301
