"""A query is measured as the table of its pairs is, by clusters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import jsonschema
import numpy as np
import pytest

from calibrant.exceptions import InputError
from calibrant.io import Columns
from calibrant.metrics.compare import error_difference
from calibrant.outputs import schema
from calibrant.records import Quantity
from calibrant.results.measurement import Measurement
from calibrant.structures import TaggedText, evaluate_tagger, read_tagged
from calibrant.structures.models import HMMTagger
from calibrant.structures.posterior import ChainPosterior
from calibrant.structures.posterior.queries import all_tags, spans, tag_is, tag_pairs, top_label
from calibrant.verbs import measure, report

ASK: dict[str, Any] = {
    "all tags": all_tags,
    "tag:V": lambda posterior, gold: tag_is(posterior, gold, "V"),
    "top label": top_label,
    "tag pairs": tag_pairs,
}


@pytest.fixture(scope="module")
def text() -> TaggedText:
    """Sentences of one to eight words, each of which two tags may have."""
    rng = np.random.default_rng(5)
    tags = [rng.choice(["D", "N", "V"], rng.integers(1, 9)).tolist() for _ in range(300)]
    sentences = [[f"{tag if rng.random() < 0.6 else '?'}{rng.integers(3)}" for tag in of] for of in tags]
    return TaggedText(sentences, tags, [f"s{row}" for row in range(300)], None, "text")


def posterior_of(text: TaggedText, pseudocount: float = 3.0) -> ChainPosterior:
    assert text.tags is not None
    return HMMTagger(pseudocount=pseudocount).fit(text.sentences, text.tags).posterior(text.sentences)


def numbers(found: Measurement) -> dict[str, Any]:
    # Sums over clusters in another order differ in their last digits.
    record: dict[str, Any] = json.loads(found.to_json(), parse_float=lambda text: f"{float(text):.9g}")
    del record["view"]
    return record


@pytest.mark.parametrize("interval", ["inverted", "sampling", "bootstrap"])
@pytest.mark.parametrize(
    ("view", "ask"),
    [("pooled", all_tags), ("top", top_label), ("class:NOUN", tag_is)],
    ids=["pooled", "top", "class"],
)
def test_a_query_measures_as_the_tagger_does(
    tagged: Path, view: str, ask: Any, interval: Literal["inverted", "sampling", "bootstrap"]
) -> None:
    train, test = read_tagged(tagged / "train.conllu"), read_tagged(tagged / "test.conllu")
    assert train.tags is not None
    assert test.tags is not None
    model = HMMTagger(pseudocount=0.5).fit(train.sentences, train.tags)
    view = view.replace("NOUN", model.tags[0])
    asked = (model.tags[0],) if ask is tag_is else ()
    query = ask(model.posterior(test.sentences), test.tags, *asked, clusters=test.clusters("sentence"))
    found = measure(query, interval=interval, seed=3)
    expected = evaluate_tagger(model, test, view=view, interval=interval, seed=3).measured[view]
    assert numbers(found[query.view]) == numbers(expected)
    assert (found.recipe.form, found.recipe.rows) == ("query", len(query))


@pytest.mark.parametrize("view", ASK)
def test_many_pairs_are_tallied_and_give_nearly_the_same(
    view: str, text: TaggedText, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = ASK[view](posterior_of(text), text.tags)
    few = measure(query, bin_size=300)[view]
    monkeypatch.setattr("calibrant.verbs.sources.IN_MEMORY", 100)
    many, exact = measure(query)[view], measure(query, bin_size=300, exact=True)[view]
    assert (few.tally, many.tally, exact.tally) == ("exact", "compressed", "exact")
    assert few.clusters == many.clusters
    assert many.brier == pytest.approx(few.brier, rel=1e-9)
    assert many.log_loss.estimate == pytest.approx(few.log_loss.estimate, rel=1e-5)
    assert many.ece == pytest.approx(few.ece, rel=1e-9)
    assert many.mean_error.low == pytest.approx(few.mean_error.low, rel=1e-6)
    assert many.cox_slope.high == pytest.approx(few.cox_slope.high, rel=1e-3)
    assert exact.plug_in_calibration_error == pytest.approx(few.plug_in_calibration_error, rel=1e-9)
    assert exact.sums.n.tolist() == few.sums.n.tolist()


def test_only_the_query_itself_knows_its_clusters(text: TaggedText) -> None:
    query = all_tags(posterior_of(text), text.tags or [])
    assert measure(query)["all tags"].clusters == len(text.sentences)
    assert measure(query.tally(by_cluster=True))["binary"].clusters == len(text.sentences)
    assert measure(query.tally())["binary"].clusters is None


def test_spans_are_measured_above_their_threshold() -> None:
    rng = np.random.default_rng(1)
    tags = ["B", "I", "O"]
    posterior = ChainPosterior(2 * rng.normal(size=(400, 3)), lengths=[8] * 50, tags=tags)
    gold = [[tags[code] for code in row] for row in posterior.sample(1, seed=2)[0].reshape(50, 8)]
    found = measure(spans(posterior, gold, threshold=0.05))
    assert found.recipe.threshold == 0.05
    assert found["spans"].log_loss == Quantity(None, reason="scores below the threshold were dropped")
    assert found["spans"].calibration_error.estimate is not None


def test_the_record_of_a_query_fits_the_schema(text: TaggedText) -> None:
    for view, ask in ASK.items():
        found = measure(ask(posterior_of(text), text.tags))
        jsonschema.validate(json.loads(found.to_json()), schema("measure"))
        assert found[view].view == view


def test_two_models_are_compared_by_their_queries(text: TaggedText) -> None:
    one, other = (all_tags(posterior_of(text, each), text.tags or []) for each in (0.1, 30.0))
    found = report([one, other]).differences
    assert [each.view for each in found] == ["all tags"]
    assert found[0].difference == error_difference(one.pairs(), other.pairs(), seed=0)


def test_what_only_a_table_could_give_is_refused_of_a_query(text: TaggedText) -> None:
    query = all_tags(posterior_of(text), text.tags or [])
    with pytest.raises(InputError, match="the query has the view all tags, not pooled"):
        measure(query, view="pooled")
    with pytest.raises(InputError, match="a query has no columns"):
        measure(query, columns=Columns(score="p"))
    assert measure(query, view="all tags")["all tags"].n == len(query)
