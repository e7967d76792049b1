"""Every query of every structure, a function that returns a `Query`, obeys the same laws."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calibrant.structures.posterior
from calibrant.exceptions import InputError
from calibrant.metrics.tally import Tally
from calibrant.structures.posterior import AntecedentPosterior, ChainPosterior, DependencyPosterior
from calibrant.structures.posterior.queries import Query
from calibrant.verbs import measure

API = Path(__file__).parents[3] / "docs" / "api"
MODULES = [
    importlib.import_module(f"calibrant.structures.posterior.{module.name}")
    for module in pkgutil.iter_modules(calibrant.structures.posterior.__path__)
    if module.name.endswith("queries")
]
QUERIES: dict[str, Callable[..., Query]] = {
    f"{module.__name__.rpartition('.')[2]}.{name}": getattr(module, name)
    for module in MODULES
    for name in module.__all__
    if inspect.isfunction(getattr(module, name))
    and inspect.signature(getattr(module, name)).return_annotation == "Query"
}
RNG = np.random.default_rng(4)
TAGS = ["B-PER", "I-PER", "O"]
CHAIN = ChainPosterior(RNG.normal(size=(60, 3)), lengths=[6] * 10, tags=TAGS)
GOLD_TAGS = [[TAGS[code] for code in RNG.integers(0, 3, 6)] for _ in range(10)]
ANTECEDENTS = AntecedentPosterior(RNG.normal(size=5 * 10), [4] * 5)
GOLD_ENTITIES = [["a", "b", "a", None], ["a", "a", "b", "b"]] * 2 + [["a", "b", "c", "d"]]
SIZES = (5, 1, 7, 3) * 3
TREES = DependencyPosterior(
    [RNG.normal(size=(n, n + 1)) for n in SIZES], [RNG.normal(size=(n, n + 1, 3)) for n in SIZES]
)

# A posterior and its gold for each module, and what a function must be given besides.
EXAMPLES: dict[str, tuple[Any, ...]] = {
    "queries": (CHAIN, GOLD_TAGS),
    "coreference_queries": (ANTECEDENTS, GOLD_ENTITIES),
    "dependency_queries": (TREES, TREES.sample(1, seed=3)[0]),
}
MORE: dict[str, dict[str, Any]] = {
    "queries.tag_is": {"tag": "O"},
    "dependency_queries.labeled_arcs": {"labels": ["1", "2", "0", "0"] * 12},
}
each = pytest.mark.parametrize("name", QUERIES)


def asked(name: str) -> Query:
    return QUERIES[name](*EXAMPLES[name.partition(".")[0]], **MORE.get(name, {}))


@each
def test_the_pairs_are_those_of_the_batches(name: str) -> None:
    query = asked(name)
    pairs, batches = query.pairs(), list(query)
    assert len(query) == len(pairs) > 0
    assert ((pairs.score >= 0) & (pairs.score <= 1)).all()
    for part in ("score", "label", "cluster"):
        found = np.concatenate([getattr(batch, part) for batch in batches])
        np.testing.assert_array_equal(found, getattr(pairs, part))
    assert pairs.cluster_count == len(query.clusters)
    code = np.concatenate([batch.class_code for batch in batches])
    for place in np.unique(code):
        assert len(query.pairs_of(query.classes[place])) == (code == place).sum()


@each
@pytest.mark.parametrize("by_cluster", [False, True], ids=["whole", "by-cluster"])
def test_the_tally_is_that_of_the_pairs(name: str, by_cluster: bool) -> None:
    query = asked(name)
    pairs = query.pairs()
    for exact in (True, False):
        tally = query.tally(by_cluster=by_cluster, exact=exact)
        assert (tally.total_n, tally.total_positives) == (len(pairs), pairs.label.sum())
        assert tally.sum_score.sum() == pytest.approx(pairs.score.sum())
    if not by_cluster:
        whole = Tally.from_arrays(y_true=pairs.label, y_prob=pairs.score, exact=True)
        assert query.tally(exact=True).n.tolist() == whole.n.tolist()


@each
def test_it_is_measured_like_a_table_and_has_a_page(name: str) -> None:
    query = asked(name)
    (found,) = measure(query).views
    used = np.unique(np.concatenate([batch.cluster for batch in query]))
    assert (found.n, found.clusters) == (len(query), len(used))
    module, _, function = name.partition(".")
    assert function in (API / f"structures_posterior_{module}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"score": [0.1, 1.2]}, "score-range"),
        ({"label": [0, 2]}, "label-value"),
        ({"label": [0, 1, 1]}, "length"),
        ({"structure": [0]}, "length"),
        ({"structure": [1, 0]}, "parameter"),
        ({"structure": [0, 2]}, "parameter"),
        ({"structure": [-1, 0]}, "parameter"),
        ({"structure": [0.5, 1.5]}, "parameter"),
        ({"clusters": ["a"]}, "length"),
    ],
)
def test_parts_that_do_not_fit_together_are_refused(changed: dict[str, Any], code: str) -> None:
    good: dict[str, Any] = {"score": [0.1, 0.2], "label": [0, 1], "structure": [0, 1], "count": 2}
    assert len(Query.of_parts("head", **good)) == 2
    with pytest.raises(InputError) as caught:
        Query.of_parts("head", **good | changed)
    assert caught.value.code == code
