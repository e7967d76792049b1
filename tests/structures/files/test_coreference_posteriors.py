"""Antecedent distributions come back as they were written, and what is wrong in them is named."""

from __future__ import annotations

import gzip
import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.exceptions import FormatError, InputError
from calibrant.structures import (
    PosteriorDocument,
    PosteriorWriter,
    posterior_documents,
    read_documents,
    read_posteriors,
    write_posteriors,
)
from calibrant.structures.documents import Document, Mention
from calibrant.structures.posterior import AntecedentPosterior

MENTIONS = [[0, 0, 1], [0, 2, 4], [1, 0, 1]]
DENSE = [[1.0], [0.25, 0.75], [0.0, 0.9, 0.1]]
LINE: dict[str, Any] = {"doc": "d1", "mentions": MENTIONS, "antecedents": DENSE}


def written(folder: Path, *records: object, name: str = "a.jsonl") -> Path:
    """Write a file with one record per line; texts are written unchanged."""
    path = folder / name
    lines = [record if isinstance(record, str) else json.dumps(record) for record in records]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def broken(path: Path, message: str | None = None, **options: Any) -> InputError:
    with pytest.raises(InputError, match=message) as caught:
        list(read_posteriors(path, **options))
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)
    return caught.value


def rows(document: PosteriorDocument) -> list[list[float]]:
    return [np.asarray(row).tolist() for row in document.rows]


# Valid files.


def test_dense_and_sparse_rows_say_the_same(tmp_path: Path) -> None:
    sparse = [[["new", 1]], [["new", 0.75], [0, 0.25]], [[1, 0.9], ["new", 0.1]]]
    records = [LINE, {**LINE, "doc": "d2", "antecedents": sparse}]
    first, second = read_posteriors(written(tmp_path, *records))
    assert rows(first) == rows(second) == DENSE
    assert (first.name, first.mentions, first.clusters) == ("d1", [Mention(*m) for m in MENTIONS], None)
    pairs = first.posterior().pair_probabilities()
    np.testing.assert_allclose(pairs[[0, 0, 1], [1, 2, 2]], [0.25, 0.225, 0.9], rtol=1e-12)
    assert second.posterior().names == ("d2",)


def test_clusters_are_texts_numbers_or_unknown(tmp_path: Path) -> None:
    records = [{**LINE, "clusters": ["a", None, 3]}, {**LINE, "doc": 2, "clusters": None}]
    first, second = read_posteriors(written(tmp_path, *records))
    assert (first.clusters, second.clusters, second.name) == (["a", None, "3"], None, "2")


def test_mentions_may_stand_in_any_order(tmp_path: Path) -> None:
    (document,) = read_posteriors(written(tmp_path, {**LINE, "mentions": MENTIONS[::-1]}))
    assert document.mentions == [Mention(*mention) for mention in MENTIONS[::-1]]
    assert rows(document) == DENSE


def test_a_document_without_mentions_is_legal(tmp_path: Path) -> None:
    (document,) = read_posteriors(written(tmp_path, {"doc": "d", "mentions": [], "antecedents": []}))
    assert document.posterior().mention_count == 0


def test_other_keys_blank_lines_and_a_byte_order_mark_are_left_alone(tmp_path: Path) -> None:
    line = json.dumps({**LINE, "system": "neural", "cluster": [1], "clusters": None})
    (document,) = read_posteriors(written(tmp_path, "\ufeff" + line, "", " "))
    assert document.clusters is None


def test_a_window_leaves_out_what_lies_before_it(tmp_path: Path) -> None:
    path = written(tmp_path, LINE)
    (document,) = read_posteriors(path, window=1)
    assert rows(document) == [[1.0], [0.25, 0.75], [0.9, 0.1]]
    assert document.posterior().first.tolist() == [0, 0, 1]
    (whole,) = read_posteriors(path)
    np.testing.assert_allclose(
        document.posterior().pair_probabilities(), whole.posterior().pair_probabilities(), rtol=1e-12
    )


def test_a_tolerance_lets_rounded_probabilities_pass(tmp_path: Path) -> None:
    path = written(tmp_path, {**LINE, "antecedents": [[1], [0.33, 0.66], [0.33, 0.33, 0.33]]})
    assert broken(path).code == "class-sum"
    (document,) = read_posteriors(path, tolerance=0.02)
    np.testing.assert_allclose(document.posterior().new_probabilities(), [1, 2 / 3, 1 / 3])


def test_documents_come_before_an_error_further_down(tmp_path: Path) -> None:
    found = read_posteriors(written(tmp_path, LINE, "{"))
    assert next(found).name == "d1"
    with pytest.raises(FormatError, match="line 2"):
        next(found)


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    data = gzip.compress(json.dumps(LINE).encode())
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))
    assert [document.name for document in read_posteriors("-")] == ["d1"]


def test_progress_is_reported(tmp_path: Path) -> None:
    calls: list[tuple[str, int, int | None]] = []
    path = written(tmp_path, *[{**LINE, "doc": f"d{number}"} for number in range(40)])
    list(read_posteriors(path, progress=lambda *call: calls.append(call)))
    assert calls == [("reading", 16, None), ("reading", 32, None)]


# Writing.


@given(data=st.data())
def test_what_is_written_is_read_back_to_the_last_bit(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    count = data.draw(st.integers(0, 6))
    window = data.draw(st.none() | st.integers(1, 4))
    random = np.random.default_rng(data.draw(st.integers(0, 999)))
    kept = []
    for number in range(count):
        size = (number if window is None else min(number, window)) + 1
        row = random.dirichlet(np.full(size, 0.05))
        kept.append(row / row.sum())
    clusters = data.draw(st.none() | st.lists(st.none() | st.text(), min_size=count, max_size=count))
    mentions = [Mention(number // 2, number, number + 2) for number in range(count)]
    document = PosteriorDocument(data.draw(st.text(min_size=1)), mentions, kept, clusters, window)
    path = tmp_path_factory.mktemp("posterior") / data.draw(st.sampled_from(["a.jsonl", "a.jsonl.gz"]))
    with PosteriorWriter(path) as writer:
        writer.write(document)
    (found,) = read_posteriors(path, window=window)
    assert (found.name, found.mentions, found.clusters) == (document.name, mentions, clusters)
    assert rows(found) == rows(document)


def test_rows_with_zeros_are_written_as_pairs(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with PosteriorWriter(path) as writer:
        writer.write(PosteriorDocument("d1", [Mention(*m) for m in MENTIONS], DENSE))
    record = json.loads(path.read_text())
    assert record["antecedents"] == [[1.0], [0.25, 0.75], [[1, 0.9], ["new", 0.1]]]
    assert "clusters" not in record


def test_a_batch_is_written_with_its_mentions_and_entities(tmp_path: Path) -> None:
    texts = [
        Document(
            "a", [["x", "y", "z"]], [Mention(0, 0, 1), Mention(0, 1, 2), Mention(0, 2, 3)], ["1", "1", None]
        ),
        Document("b", [["x"]], []),
        Document("c", [["x"]], [Mention(0, 0, 1)]),
    ]
    scores = np.random.default_rng(1).normal(size=6)
    for window, size in ((None, 7), (1, 6)):
        batch = AntecedentPosterior(np.resize(scores, size), [3, 0, 1], window=window, names=["a", "b", "c"])
        write_posteriors(tmp_path / "a.jsonl", batch, texts)
        found = list(read_posteriors(tmp_path / "a.jsonl", window=window))
        assert [document.clusters for document in found] == [["1", "1", None], None, None]
        flat = np.concatenate([document.posterior().log_probabilities for document in found])
        np.testing.assert_allclose(flat, batch.log_probabilities, rtol=1e-12, atol=1e-15)


def test_a_batch_goes_with_its_documents_only() -> None:
    batch = AntecedentPosterior([0.0], [1], names=["a"])
    with pytest.raises(InputError, match="the posterior has the documents a, but b are given"):
        list(posterior_documents(batch, [Document("b", [["x"]], [Mention(0, 0, 1)])]))
    with pytest.raises(InputError, match="document 'a' has 0 mentions and 1 rows"):
        list(posterior_documents(batch, [Document("a", [["x"]], [])]))


def write_twice(path: Path, document: PosteriorDocument) -> None:
    with PosteriorWriter(path) as writer:
        writer.write(document)
        writer.write(document)


def test_nothing_is_left_of_a_file_that_is_not_written_to_its_end(tmp_path: Path) -> None:
    document = PosteriorDocument("d", [Mention(0, 0, 1)], [[1.0]])
    with pytest.raises(InputError, match="document 'd' is written twice"):
        write_twice(tmp_path / "a.jsonl", document)
    with pytest.raises(InputError, match="there are no documents"), PosteriorWriter(tmp_path / "a.jsonl"):
        pass
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["x.parquet", "x.CSV"])
def test_a_file_with_the_name_of_a_table_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="JSON lines"):
        PosteriorWriter(tmp_path / name)


def test_standard_output_is_written(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    with PosteriorWriter("-") as writer:
        writer.write(PosteriorDocument("d", [Mention(0, 0, 1)], [[1.0]]))
    assert json.loads(capfdbinary.readouterr().out)["doc"] == "d"


def test_posteriors_of_real_documents_keep_their_pair_probabilities(data: Path, tmp_path: Path) -> None:
    texts = read_documents(data / "litbank-coref" / "litbank-coref.dev.conll.gz")[:2]
    counts = [len(text.mentions or ()) for text in texts]
    entries = sum(min(number, 20) + 1 for count in counts for number in range(count))
    scores = np.random.default_rng(3).normal(size=entries)
    batch = AntecedentPosterior(scores, counts, window=20, names=[text.name for text in texts])
    write_posteriors(tmp_path / "a.jsonl.gz", batch, texts)
    for number, document in enumerate(read_posteriors(tmp_path / "a.jsonl.gz")):
        assert (document.mentions, document.clusters) == (texts[number].mentions, texts[number].clusters)
        wanted = batch.pair_probabilities(number)
        np.testing.assert_allclose(document.posterior().pair_probabilities(), wanted, rtol=1e-9)


# Invalid files.


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param({"doc": ""}, 'doc is ""', id="doc-empty"),
        pytest.param({"doc": True}, "doc is true", id="doc-true"),
        pytest.param({"mentions": 3}, "document 'd1': mentions is 3", id="mentions-number"),
        pytest.param({"mentions": None}, "document 'd1': mentions is null", id="mentions-null"),
        pytest.param({"antecedents": {}}, "document 'd1': antecedents is {}", id="antecedents-object"),
        pytest.param({"antecedents": DENSE[:2]}, "has 3 mentions and 2 antecedents", id="rows-too-few"),
        pytest.param({"clusters": ["a"]}, "has 3 mentions and 1 clusters", id="clusters-too-few"),
        pytest.param({"clusters": ["a", [], "b"]}, r"mention 1 has the cluster \[\]", id="cluster-list"),
    ],
)
def test_a_line_whose_parts_do_not_fit_is_refused(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    assert broken(written(tmp_path, "", {**LINE, **change}), message).line == 2


@pytest.mark.parametrize(
    ("mention", "message"),
    [
        pytest.param([0, 2, 2], "is empty", id="empty"),
        pytest.param([0, 3, 2], "runs backwards", id="backwards"),
        pytest.param([-1, 0, 1], "runs backwards", id="negative"),
        pytest.param([0, 0, 1], "repeats mention 0", id="repeated"),
        pytest.param([0, 5, 1, 2], "a mention must be within one sentence", id="across-sentences"),
        pytest.param([0, 1.0, 2], r"give \[sentence, start, end\]", id="fraction"),
        pytest.param([0, True, 2], r"give \[sentence, start, end\]", id="true"),
        pytest.param("king", r"give \[sentence, start, end\]", id="text"),
        pytest.param([0, 1, 10**30], "count sentences and words from 0", id="huge"),
    ],
)
def test_a_mention_that_cannot_be_is_refused(tmp_path: Path, mention: object, message: str) -> None:
    path = written(tmp_path, {**LINE, "mentions": [MENTIONS[0], mention, MENTIONS[2]]})
    assert broken(path, f"line 1: document 'd1', mention 1 .*{message}").line == 1


@pytest.mark.parametrize(
    ("row", "code", "message"),
    [
        pytest.param([0.2, 0.2, 0.5], "class-sum", "the probabilities sum to 0.9", id="sum"),
        pytest.param([-0.2, 0.2, 1.0], "score-range", "a probability is -0.2", id="negative"),
        pytest.param([0.0, 0.0, 1.5], "score-range", "a probability is 1.5", id="above-1"),
        pytest.param([np.nan, 0.5, 0.5], "score-range", "a probability is nan", id="nan"),
        pytest.param([np.inf, 0.5, 0.5], "score-range", "a probability is inf", id="infinite"),
        pytest.param([10**400, 0, 0], "score-range", "a probability is above 1", id="huge"),
        pytest.param(["0.5", 0.5, 0], "column-type", 'a probability is "0.5"', id="text"),
        pytest.param([True, 0, 0], "column-type", "a probability is true", id="true"),
        pytest.param([None, 0.5, 0.5], "column-type", "a probability is null", id="null"),
        pytest.param([0.5, 0.5], "length", "has 2 probabilities: give 3", id="too-short"),
        pytest.param([0.1, 0.2, 0.3, 0.4], "length", "has 4 probabilities: give 3", id="too-long"),
        pytest.param([], "file-row", r"has the antecedents \[\]", id="empty"),
        pytest.param(0.5, "file-row", "has the antecedents 0.5", id="number"),
        pytest.param(
            [[2, 0.5], ["new", 0.5]], "file-row", "has the antecedent 2: give .* 0 to 1", id="itself"
        ),
        pytest.param([[5, 0.5], ["new", 0.5]], "file-row", "has the antecedent 5", id="forward"),
        pytest.param([[-1, 0.5], ["new", 0.5]], "file-row", "has the antecedent -1", id="before-all"),
        pytest.param([["old", 0.5], ["new", 0.5]], "file-row", 'has the antecedent "old"', id="old"),
        pytest.param([[True, 1.0]], "file-row", "has the antecedent true", id="index-true"),
        pytest.param([[0, 0.5], [0, 0.5]], "file-row", "has the antecedent 0 twice", id="twice"),
        pytest.param(
            [["new", 0.5], ["new", 0.5]], "file-row", 'has the antecedent "new" twice', id="new-twice"
        ),
        pytest.param([[0, 0.5], 0.5], "file-row", "pairs of index and probability", id="mixed"),
        pytest.param([[0, 0.5, 1]], "file-row", "pairs of index and probability", id="triple"),
        pytest.param([[0, 0.5], ["new", 0.4]], "class-sum", "sum to 0.9", id="sparse-sum"),
        pytest.param([[0, "1"]], "column-type", 'a probability is "1"', id="sparse-text"),
    ],
)
def test_a_row_that_is_no_distribution_is_refused(
    tmp_path: Path, row: object, code: str, message: str
) -> None:
    path = written(tmp_path, {**LINE, "antecedents": [*DENSE[:2], row]})
    error = broken(path, f"line 1: document 'd1', mention 2.*{message}")
    assert (error.line, error.code) == (1, code)


def test_an_antecedent_outside_the_window_is_refused(tmp_path: Path) -> None:
    for row in ([0.1, 0.8, 0.1], [[0, 0.1], [1, 0.9]]):
        path = written(tmp_path, {**LINE, "antecedents": [*DENSE[:2], row]})
        error = broken(path, "mention 2: antecedent 0 is outside the window of 1", window=1)
        assert type(error) is FormatError
    with pytest.raises(InputError, match="window"):
        list(read_posteriors(written(tmp_path, LINE), window=0))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("{", "the line is not valid JSON", id="cut"),
        pytest.param("[1, 2]", "instead of an object", id="list"),
        pytest.param("3", "instead of an object", id="number"),
        pytest.param('{"doc": "d"}', "there is no key 'mentions'", id="key-missing"),
        pytest.param('{"doc": "d", "mention": []}', "there is no key 'mention': did you mean", id="misspelt"),
        pytest.param('{"Clusters": []}', "there is no key 'Clusters': did you mean 'clusters'", id="capital"),
        pytest.param('{"doc": 1, "doc": 2}', "the key 'doc' is repeated", id="key-twice"),
        pytest.param("[" * 100_000, "cannot be read|not valid JSON", id="deep"),
        pytest.param('{"doc": ' + "1" * 5000 + "}", "cannot be read", id="long-number"),
    ],
)
def test_a_line_that_is_no_such_object_is_refused(tmp_path: Path, text: str, message: str) -> None:
    error = broken(written(tmp_path, LINE, text), message)
    assert (error.line, type(error)) == (2, FormatError)


def test_a_name_is_given_once(tmp_path: Path) -> None:
    error = broken(written(tmp_path, LINE, "", LINE))
    assert (error.line, error.message) == (3, "document 'd1' also occurs in line 1")


@pytest.mark.parametrize(
    ("content", "name", "code"),
    [
        pytest.param(b"", "a.jsonl", "empty", id="empty"),
        pytest.param(b"\n \n", "a.jsonl", "empty", id="blank"),
        pytest.param(gzip.compress(json.dumps(LINE).encode())[:-10], "a.gz", "file-truncated", id="gz-cut"),
        pytest.param(json.dumps(LINE).encode(), "a.jsonl.gz", "file-mislabelled", id="not-packed"),
        pytest.param(b'{"doc": "\xff"}', "a.jsonl", "file-broken", id="not-utf8"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, content: bytes, name: str, code: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert broken(path).code == code


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["new", "a", ""]),
    lambda inner: st.lists(inner, max_size=4),
    max_leaves=8,
)


@given(
    change=st.dictionaries(st.sampled_from(["doc", "mentions", "antecedents", "clusters", "x"]), VALUES),
    row=VALUES,
)
def test_any_line_is_read_or_refused_by_line(
    tmp_path_factory: pytest.TempPathFactory, change: dict[str, object], row: object
) -> None:
    path = written(tmp_path_factory.mktemp("lines"), {**LINE, "antecedents": [*DENSE[:2], row], **change})
    try:
        (document,) = read_posteriors(path)
        found = str(document.posterior().mention_count)
    except InputError as error:
        found = str(error)
    assert found in ("0", "3") or found.startswith(f"{path}, line 1: ")


def test_half_a_character_is_no_name(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"doc": "\\ud800", "mentions": [], "antecedents": []}')
    with pytest.raises(FormatError, match=r"line 1: doc is .*half a character"):
        list(read_posteriors(path))
