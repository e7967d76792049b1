from __future__ import annotations

import io
import json
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest

from calibrant.exceptions import FormatError
from calibrant_studies.datasets._digests import unpacked
from calibrant_studies.datasets._layouts import LAYOUTS
from calibrant_studies.datasets._reuters import stories

TREES = """
( (S
    (NP-SBJ (DT The) (NN dog) )
    (VP (VBD ran)
      (S (NP-SBJ (-NONE- *-1) )))
    (. .) ))
( (NP (-LRB- -LRB-) (CD 2\\/3) (-RRB- -RRB-)))
( (S (-NONE- *T*)))
"""
HEAD = '<REUTERS TOPICS="{}" LEWISSPLIT="{}" CGISPLIT="TRAINING-SET" OLDID="5" NEWID="{}">'


@pytest.fixture
def paths(tmp_path: Path) -> list[Path]:
    found = [tmp_path / "a.ids", tmp_path / "b.ids"]
    for path, text in zip(found, ("tom_jones.tsv\nbeauty.tsv\n", "emma.tsv"), strict=True):
        path.write_text(text, encoding="utf-8")
    return found


def test_parts_are_joined(paths: list[Path]) -> None:
    assert LAYOUTS["joined"](paths) == b"tom_jones.tsv\nbeauty.tsv\nemma.tsv"
    assert LAYOUTS["lines"](paths) == b"tom_jones.tsv\nbeauty.tsv\n\nemma.tsv\n"


@pytest.mark.parametrize("kind", ["zip", "tgz"])
def test_a_member_is_read_from_either_kind_of_archive(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "archive"
    if kind == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("a/b.tsv", "one\n")
    else:
        with tarfile.open(path, "w:gz") as packed:
            info = tarfile.TarInfo("a/b.tsv")
            info.size = 4
            packed.addfile(info, io.BytesIO(b"one\n"))
    assert LAYOUTS["member"]([path], member="a/b.tsv") == b"one\n"


def test_folds_are_numbered_by_their_lists(paths: list[Path]) -> None:
    assert LAYOUTS["folds"](paths) == b"document\ttest_fold\nbeauty\t0\nemma\t1\ntom_jones\t0\n"


def test_answers_of_models_are_one_table(tmp_path: Path) -> None:
    for name, text in (("0", "0\tA\t&&&&A\n1\tB\tB \n"), ("1", "0\tA\t\n")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    made = LAYOUTS["answers"]([tmp_path / "0", tmp_path / "1"], names=["one", "other"])
    assert made == b"item\tmodel\tgold\tlabel\n0\tone\tA\tA\n1\tone\tB\tB\n0\tother\tA\t\n"


def test_trees_become_tagged_tokens(tmp_path: Path) -> None:
    path = tmp_path / "treebank.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for number in (1, 2):
            archive.writestr(f"treebank/combined/wsj_000{number}.mrg", TREES if number == 1 else "")
        archive.writestr("treebank/README", "About.")
    made = LAYOUTS["tagged"]([path], first=1, last=2).decode()
    assert made == "The\tDT\ndog\tNN\nran\tVBD\n.\t.\n\n-LRB-\t-LRB-\n2\\/3\tCD\n-RRB-\t-RRB-\n\n"
    assert LAYOUTS["member"]([path], member="treebank/README") == b"About."


def story(body: str, topics: str = "YES", split: str = "TRAIN", number: int = 1) -> bytes:
    return (HEAD.format(topics, split, number) + body + "</REUTERS>\n").encode()


def test_stories_are_read_in_all_their_forms() -> None:
    normal = story(
        "<DATE>26-FEB-1987 15:01:01.79</DATE><TOPICS><D>cocoa</D><D>tea</D></TOPICS><PLACES></PLACES>"
        "<TEXT>&#2;\n<TITLE>A  &lt;B> &amp; C</TITLE>\n<DATELINE>    ROME, Feb 26 - </DATELINE>"
        "<BODY>First line \n\tsecond\n\n Reuter\n&#3;</BODY></TEXT>"
    )
    brief = story(
        '<DATE> 2-MAR-1987 605:12:19.1V RM\nf0512</DATE><TEXT TYPE="BRIEF">&#2;<TITLE>Only</TITLE></TEXT>',
        "NO",
        "NOT-USED",
        2,
    )
    unprocessed = story(
        '<DATE>2-MAR-1987 05:12:19.12</DATE><TEXT TYPE="UNPROC">&#2;\nAll of\nit\n&#3;</TEXT>', number=3
    )
    assert [json.loads(line) for line in stories(normal + b"\xfc" + brief + unprocessed).splitlines()] == [
        {
            "id": 1,
            "date": "1987-02-26T15:01:01.79",
            "title": "A <B> & C",
            "dateline": "ROME, Feb 26",
            "places": [],
            "topics": ["cocoa", "tea"],
            "lewissplit": "TRAIN",
            "topics_attr": "YES",
            "text_type": "NORM",
            "text": "First line\n second\n\n Reuter",
        },
        {
            "id": 2,
            "date": "1987-03-02T05:12:19.1",
            "title": "Only",
            "dateline": "",
            "places": [],
            "topics": [],
            "lewissplit": "NOT-USED",
            "topics_attr": "NO",
            "text_type": "BRIEF",
            "text": "",
        },
        {
            "id": 3,
            "date": "1987-03-02T05:12:19.12",
            "title": "",
            "dateline": "",
            "places": [],
            "topics": [],
            "lewissplit": "TRAIN",
            "topics_attr": "YES",
            "text_type": "UNPROC",
            "text": "All of\nit",
        },
    ]


def test_a_story_without_text_or_date_is_named() -> None:
    with pytest.raises(FormatError, match="story 1 has no text"):
        stories(story("<DATE>2-MAR-1987 05:12:19.12</DATE>"))
    with pytest.raises(FormatError, match="story 1 has no date"):
        stories(story("<DATE>soon</DATE><TEXT></TEXT>"))


def test_logits_of_seeds_become_one_archive(tmp_path: Path) -> None:
    rows = [{"uid": f"{i}e", "true": i % 3, "logits": [i, 0.5, -1]} for i in range(4)]
    paths = [tmp_path / f"{seed}.json" for seed in (0, 1)]
    for path in paths:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    content = LAYOUTS["logits"](paths)
    with np.load(io.BytesIO(content)) as found:
        assert sorted(found.files) == ["ids", "labels", "logits_0", "logits_1"]
        assert found["labels"].tolist() == [0, 1, 2, 0]
        assert found["logits_1"][2].tolist() == [2.0, 0.5, -1.0]
    again = io.BytesIO()
    with np.load(io.BytesIO(content)) as found:
        np.savez(again, **{name: found[name] for name in sorted(found.files)})
    assert unpacked(Path("a.npz"), content) == unpacked(Path("b.npz"), again.getvalue())
    paths[1].write_text(json.dumps(rows[0]) + "\n", encoding="utf-8")
    with pytest.raises(FormatError, match=r"1\.json has other ids than 0\.json"):
        LAYOUTS["logits"](paths)


def test_labels_of_a_hundred_people_become_counts(tmp_path: Path) -> None:
    row = {
        "uid": "7n",
        "label_count": [30, 70, 0],
        "majority_label": "n",
        "old_label": "n",
        "old_labels": ["neutral"],
    }
    (tmp_path / "chaos.jsonl").write_text(json.dumps(row), encoding="utf-8")
    lines = LAYOUTS["chaos"]([tmp_path / "chaos.jsonl"]).decode().splitlines()
    assert lines == [
        "uid,entailment,neutral,contradiction,majority_label,old_label,old_labels",
        "7n,30,70,0,n,n,neutral",
    ]
