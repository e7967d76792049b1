"""Scores of arcs have one meaning in every shape, and damaged files are refused with the sentence."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from calibrant.exceptions import InputError
from calibrant.structures import read_arc_scores

RANDOM = np.random.default_rng(5)
ARCS = [RANDOM.normal(size=(n, n + 1)) for n in (1, 2, 5)]
NAMES = ["b", "a", "c"]


def shaped(arcs: np.ndarray, shape: str) -> np.ndarray:
    square = np.vstack([np.full((1, arcs.shape[1]), 9.0), arcs])  # the scores of the root's heads are ignored
    return {"words": arcs, "heads": arcs.T, "square words": square, "square heads": square.T}[shape]


@pytest.mark.parametrize("ending", ["npz", "jsonl"])
@pytest.mark.parametrize("shape", ["words", "heads", "square words", "square heads"])
def test_every_shape_is_read(tmp_path: Path, ending: str, shape: str) -> None:
    path = tmp_path / f"arcs.{ending}"
    given = {name: shaped(arcs, shape) for name, arcs in zip(NAMES, ARCS, strict=True)}
    if ending == "npz":
        np.savez(path, **given)  # type: ignore[arg-type]
    else:
        lines = [json.dumps({"id": name, "scores": own.tolist()}) for name, own in given.items()]
        path.write_text("\n".join(lines), encoding="utf-8")
    read = read_arc_scores(path, rows="words" if shape == "square words" else "heads")
    assert read.names == NAMES
    for found, arcs in zip(read.arcs, ARCS, strict=True):
        own = np.arange(len(arcs))
        assert (found[own, own + 1] == -np.inf).all()
        found[own, own + 1] = arcs[own, own + 1]
        np.testing.assert_allclose(found, arcs)
    ordered = read.in_order(["a", "b", "c"], [2, 1, 5], "dev.conllu")
    assert [len(arcs) for arcs in ordered] == [2, 1, 5]
    by_place = read.in_order(["x", "y", "z"], [1, 2, 5], "dev.conllu")
    assert [len(arcs) for arcs in by_place] == [1, 2, 5]


def test_probabilities_become_potentials(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", np.array([[0.4, 1.0], [0.0, 0.0], [0.6, 0.0]]))
    read = read_arc_scores(tmp_path / "a.npz", scores="probability")
    assert not read.named
    np.testing.assert_allclose(np.exp(read.arcs[0]), [[0.4, 0.0, 0.6], [1.0, 0.0, 0.0]])


def test_scores_must_fit_the_text(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", a=ARCS[0], b=ARCS[1])
    read = read_arc_scores(tmp_path / "a.npz")
    for ids, lengths, message in (
        (["a"], [1], "there are scores of 2 sentences, and dev has 1"),
        (["a", "x"], [1, 2], "no scores of the sentence 'x'"),
        (["a", "b"], [1, 3], "the scores of the sentence 'b' are of 2 words, and in dev it has 3"),
        (["x", "y"], [2, 1], "the scores of the sentence 'a' are of 1 words"),
    ):
        with pytest.raises(InputError, match=message):
            read.in_order(ids, lengths, "dev")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 1: the line is not valid JSON"),
        ("[]", "the line has no scores"),
        ('{"scores": 3}', "the line has no scores"),
        ('{"scores": []}', "the scores are no matrix"),
        ('{"scores": [[]]}', "the scores are no matrix"),
        ('{"scores": [[1, 2], [3]]}', "the scores are no matrix"),
        ('{"scores": [["1", "2"]]}', "a score is not a number"),
        ('{"scores": [[true, false]]}', "a score is not a number"),
        ('{"scores": [[1, 2, 3, 4]]}', r"sentence '1': the scores have shape \(1, 4\)"),
        ('{"scores": [[NaN, 0]]}', "the score of word 1 with head 0 is nan"),
        ('{"scores": [[Infinity, 0]]}', "the score of word 1 with head 0 is inf"),
        ('{"scores": [[1' + "0" * 400 + ", 0]]}", "a score is too large"),
        ('{"id": "", "scores": [[0, 0]]}', "the id is"),
        ('{"id": "a", "scores": [[0, 0]]}\n{"id": "a", "scores": [[0, 0]]}', "two sentences named 'a'"),
        ("[" * 100_000, "the line is not valid JSON"),
        ("", "no sentence|empty"),
        ("\n\n", "no sentence|empty"),
    ],
    ids=range(17),
)
def test_bad_lines_are_refused(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(line, encoding="utf-8")
    with pytest.raises(InputError, match=message) as error:
        read_arc_scores(path)
    assert str(path) in str(error.value)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[0.4, 0.5], [0.0, 0.0], [0.6, 0.0]], "the heads of word 2 sum to 0.5"),
        ([[1.4, 1.0], [0.0, 0.0], [0.6, 0.0]], "the score of word 1 with head 0 is 1.4"),
        ([[np.nan, 1.0], [0.0, 0.0], [0.6, 0.0]], "the score of word 1 with head 0 is nan"),
    ],
    ids=["sum", "above", "missing"],
)
def test_bad_probabilities_are_refused(tmp_path: Path, matrix: list[list[float]], message: str) -> None:
    np.savez(tmp_path / "a.npz", s1=np.array(matrix))
    with pytest.raises(InputError, match=f"sentence 's1': .*{message}"):
        read_arc_scores(tmp_path / "a.npz", scores="probability")


def test_damaged_archives_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, *ARCS)
    whole = path.read_bytes()
    for size in (0, 3, 40, len(whole) // 2, len(whole) - 30):
        path.write_bytes(whole[:size])
        with pytest.raises(InputError):
            read_arc_scores(path)
    broken = bytearray(whole)
    broken[120] ^= 255
    path.write_bytes(bytes(broken))
    with pytest.raises(InputError, match="damaged"):
        read_arc_scores(path)
    np.savez(path, np.array([object()]))
    with pytest.raises(InputError, match="damaged"):
        read_arc_scores(path)
    path.write_bytes(b"text")
    with pytest.raises(InputError, match="no NumPy archive"):
        read_arc_scores(path)
