from __future__ import annotations

import re
from pathlib import Path

import pytest

from calibrant.exceptions import InputError, MissingExtraError
from calibrant_studies import NAMES as STUDIES
from calibrant_studies import (
    _coreference_data,
    _events_data,
    _networks_data,
    _sparse_authors,
    _sparse_taggers,
    _tagging_data,
    trees,
)
from calibrant_studies.datasets import NAMES, data_folder, data_set
from calibrant_studies.datasets._catalogue import needed_by
from calibrant_studies.datasets._digests import digest_of, unpacked
from calibrant_studies.datasets._folders import found_for, real_data, required
from calibrant_studies.datasets._layouts import LAYOUTS

DIGEST = re.compile(r"sha256:[0-9a-f]{64}|git:[0-9a-f]{40}")
# The study was run on a file rebuilt from the treebank and the annotations; the released one is fetched.
REBUILT = {("sparse-tags", "streusle.ud_train.conllulex.gz")}


@pytest.mark.parametrize("name", NAMES)
def test_a_data_set_is_whole_and_pinned(name: str) -> None:
    about = data_set(name)
    assert about.title
    assert about.license
    assert about.terms
    assert set(about.studies) <= set(STUDIES)
    assert len({file.name for file in about.files}) == len(about.files) > 0
    assert bool(about.ask) != bool(about.originals)
    for original in about.originals:
        assert re.fullmatch(r"[\w.-]+/[\w.-]+", original.repository)
        assert re.fullmatch(r"[0-9a-f]{40}", original.commit)
        assert DIGEST.fullmatch(original.digest)
        assert (original.size is None) == original.digest.startswith("git:")
        assert not original.path.startswith("/")
        assert ".." not in original.path
    for file in about.files:
        assert file.how in LAYOUTS
        if not about.ask:
            assert DIGEST.fullmatch(file.content)
            assert file.originals


@pytest.mark.parametrize("name", [name for name in NAMES if not data_set(name).ask])
def test_the_files_that_the_studies_were_run_on_are_those_that_are_made(name: str, data: Path) -> None:
    for file in data_set(name).files:
        path = data / name / file.name
        content = unpacked(path, path.read_bytes())
        same = digest_of(content, file.content) == file.content
        assert same or (name, file.name) in REBUILT, file.name


def test_studies_read_the_data_sets_that_name_them() -> None:
    data = Path("data")
    reads = {
        "tagging": _tagging_data.sources(data),
        "coreference": _coreference_data.sources(data),
        "sparse": [
            *_sparse_taggers.sources(data, None, ("lextag", "hmm", "chunk")),
            *_sparse_authors.sources(data),
        ],
        "events": [data / corpus.name / "a" for corpus in _events_data.CORPORA]
        + [data / _coreference_data.FILES["gum"], data / "lexicons/a"],
        "sentiment": [data / "sentiment/a"],
        "networks": _networks_data.sources(data),
        "hacking": [data / "model-labels/a"],
        "protocol": [data / "crowd-labels/a", data / "wnut17/a"],
        "judges": [data / f"{name}/a" for name in ("judged-arena", "model-annotators", "alpaca-eval")],
        "trees": [data / file for file in trees.FILES.values()],
    }
    for study, paths in reads.items():
        assert {path.parent.name for path in paths} == set(needed_by(study)), study
    assert needed_by("counts") == needed_by("coreference")
    assert needed_by("monitoring") == needed_by("sentiment")
    for name in NAMES:
        files = {f"{name}/{file.name}" for file in data_set(name).files}
        read = {
            path.relative_to(data).as_posix()
            for path in reads["tagging"] + reads["coreference"] + reads["sparse"]
        }
        assert {path for path in read if path.startswith(f"{name}/")} <= files


def test_a_wrong_name_lists_the_right_ones() -> None:
    with pytest.raises(InputError, match="there is no data set 'ewt': use one of alpaca-eval, conll2000"):
        data_set("ewt")


def test_the_folder_is_named_or_the_system_s(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CALIBRANT_DATA", str(tmp_path))
    assert data_folder() == tmp_path
    monkeypatch.setenv("CALIBRANT_DATA", "")
    assert data_folder().is_absolute()
    assert "calibrant" in data_folder().parts
    monkeypatch.setitem(__import__("sys").modules, "pooch", None)
    with pytest.raises(MissingExtraError, match="CALIBRANT_DATA"):
        data_folder()
    assert found_for("tagging") is None


def test_a_study_finds_its_data_when_all_are_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CALIBRANT_DATA", str(tmp_path))
    assert found_for("synthetic") is None, "it reads none"
    for name in ("litbank-coref", "ud-english-gum"):
        assert found_for("counts") is None
        (tmp_path / name).mkdir()
        for file in data_set(name).files:
            (tmp_path / name / file.name).touch()
    assert found_for("counts") == tmp_path
    assert found_for("events") is None


def test_missing_data_say_what_to_fetch(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="run `calibrant data fetch litbank-coref ud-english-gum`; or name"):
        real_data("counts", None)
    with pytest.raises(InputError, match=r"`calibrant data list .*socialist-worker` says where to ask"):
        real_data("events", None)
    assert real_data("counts", tmp_path) == tmp_path
    with pytest.raises(InputError, match=r"wsj-pos/a.gz does not exist: run `calibrant data fetch wsj-pos`"):
        required(tmp_path, "wsj-pos/a.gz")
    with pytest.raises(InputError, match="`calibrant data list sentiment` says where to ask"):
        required(tmp_path, "sentiment/a.gz")
