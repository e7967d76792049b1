"""Trees of CoNLL-U come back as they were written; whatever is no tree is refused with its line."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from calibrant.exceptions import InputError
from calibrant.structures import read_trees, write_trees
from tests.structures.treebank import as_conllu, treebank

WORD = "{}\t{}\t_\tNOUN\t_\t_\t{}\t{}\t_\t_\n"


def lines_of(*words: tuple[object, str]) -> str:
    return "".join(
        WORD.format(number, f"w{number}", head, name) for number, (head, name) in enumerate(words, 1)
    )


def test_trees_come_back(tmp_path: Path) -> None:
    text = treebank(7)
    (tmp_path / "a.conllu.gz").write_bytes(gzip.compress(as_conllu(text).encode()))
    again = read_trees(tmp_path / "a.conllu.gz")
    for name in ("sentences", "tags", "heads", "relations", "sentence_ids", "document_ids"):
        assert getattr(again, name) == getattr(text, name)
    assert again.clusters("document") == text.document_ids
    assert read_trees(tmp_path / "a.conllu.gz", require_trees=False).heads is None


def test_new_trees_replace_old_ones_and_other_lines_stay(tmp_path: Path) -> None:
    text = treebank(3)
    assert text.heads
    assert text.relations
    path, out = tmp_path / "a.conllu", tmp_path / "b.conllu"
    path.write_text(as_conllu(text), encoding="utf-8")
    kept = read_trees(path, require_trees=False, keep_lines=True)
    half = [[0.5] * len(sentence) for sentence in text.sentences]
    trees = list(zip(kept.lines, text.heads, text.relations, half, strict=True))
    write_trees(out, iter(trees), tags=iter([["X"] * len(own) for own in text.sentences]), column="xpos")
    before = path.read_text(encoding="utf-8").splitlines()
    after = out.read_text(encoding="utf-8").splitlines()
    assert len(before) == len(after)
    for old, new in zip(before, after, strict=True):
        if old[:1].isdigit() and old.split("\t")[0].isdigit():
            assert new.split("\t")[4] == "X"
            assert new.endswith("SpaceAfter=No|ArcProb=0.5000")
            assert new.split("\t")[:4] == old.split("\t")[:4]
        else:
            assert new == old
    assert read_trees(out).heads == text.heads


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([(2, "dep"), (1, "dep")], "no word has the root as its head"),
        ([(2, "dep"), (3, "dep"), (2, "dep"), (0, "root")], "is in a cycle"),
        ([(0, "root"), (0, "root")], "2 words have the root as their head|2 words have the root"),
        ([(0, "root"), (9, "dep")], r"the head of word 2 \(from 1\) is 9"),
        ([(0, "root"), ("x", "dep")], "the head is 'x'"),
        ([(0, "root"), ("_", "dep")], "the word has no head"),
        ([(0, "root"), (1, "_")], "the word has no relation"),
        ([(0, "root"), (-1, "dep")], "the head is '-1'"),
        ([(0, "root"), ("9" * 5000, "dep")], "the head is"),
    ],
    ids=["no root", "cycle", "roots", "outside", "text", "headless", "unlabeled", "negative", "digits"],
)
def test_what_is_no_tree_is_refused(tmp_path: Path, words: list[tuple[object, str]], message: str) -> None:
    path = tmp_path / "a.conllu"
    path.write_text(lines_of((0, "root")) + "\n" + lines_of(*words) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=message) as error:
        read_trees(path)
    assert str(error.value).startswith(f"{path}, ")
    assert "\n" not in str(error.value)
    assert read_trees(path, require_trees=False).token_count == len(words) + 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "no sentence|empty"),
        ("a\tb\n\nc\td\n", "not CoNLL-U"),
        ("# sent_id = 1\n", "no sentence|ends in a comment"),
        (lines_of((0, "root")) + "\n# sent_id = 2", "ends in a comment"),
        (lines_of((0, "root"))[:20], "columns"),
    ],
    ids=["empty", "columns", "comments", "cut", "cut line"],
)
def test_other_files_are_refused(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / ("a.txt" if "a\tb" in content else "a.conllu")
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_trees(path)
