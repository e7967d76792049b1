"""Taggers come back from files as they were, and whatever is no sound model is refused in one line."""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from calibrant.exceptions import FormatError, InputError
from calibrant.structures import load_tagger, read_tagged, save_model
from calibrant.structures.files import saved_models
from calibrant.structures.models import CRFTagger, HMMTagger

ARCHIVES = Path(__file__).resolve().parents[2] / "archives"
SENTENCES = [["I", "see", "a", "dog"], ["you", "see", "é!"], ["a", "dog", "barks"], ["dogs", "bark", "."]]
TAGS = [
    ["PRON", "VERB", "DET", "NOUN"],
    ["PRON", "VERB", "X|é"],
    ["DET", "NOUN", "VERB"],
    ["NOUN", "VERB", "."],
]
NEW = [["a", "dog", "see", "you"], ["unseen", "."], ["é!"]]


def last_letters(tokens: Sequence[str]) -> list[list[str]]:
    return [[token[-1]] for token in tokens]


def trained(kind: str) -> HMMTagger | CRFTagger:
    if kind == "hmm":
        return HMMTagger().fit(SENTENCES, TAGS)
    features = last_letters if kind == "function" else kind
    return CRFTagger(features=features, max_iterations=20).fit(SENTENCES, TAGS)


@pytest.fixture(params=["hmm", "basic", "advanced"])
def model(request: pytest.FixtureRequest) -> HMMTagger | CRFTagger:
    return trained(request.param)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "crf.model"
    save_model(trained("basic"), path)
    return path


def refused(path: Path, code: str, message: str) -> FormatError:
    with pytest.raises(FormatError, match=message) as caught:
        load_tagger(path)
    assert (caught.value.code, caught.value.file) == (code, str(path))
    assert caught.value.hint
    assert "\n" not in str(caught.value)
    return caught.value


def members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write_members(path: Path, contents: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in contents.items():
            archive.writestr(name, content)


def with_header(path: Path, change: Any) -> None:
    """Rewrite the header as ``change`` alters it."""
    contents = members(path)
    header = json.loads(contents["state.json"])
    change(header)
    write_members(path, {**contents, "state.json": json.dumps(header).encode()})


def with_array(path: Path, name: str, array: np.ndarray[Any, Any]) -> None:
    buffer = io.BytesIO()
    np.save(buffer, array)
    write_members(path, {**members(path), f"{name}.npy": buffer.getvalue()})


# Round trips.


def test_a_model_comes_back_as_it_was(tmp_path: Path, model: HMMTagger | CRFTagger) -> None:
    save_model(model, tmp_path / "a.model")
    again = load_tagger(tmp_path / "a.model")
    assert type(again) is type(model)
    assert again.tags == model.tags
    assert again.predict(NEW) == model.predict(NEW)
    np.testing.assert_array_equal(again.posterior(NEW).marginals(), model.posterior(NEW).marginals())


def test_equal_models_give_equal_bytes(tmp_path: Path, model: HMMTagger | CRFTagger) -> None:
    save_model(model, tmp_path / "a.model")
    save_model(load_tagger(tmp_path / "a.model"), tmp_path / "b.model")
    assert (tmp_path / "a.model").read_bytes() == (tmp_path / "b.model").read_bytes()


def test_a_model_with_a_function_of_features_needs_it_again(tmp_path: Path) -> None:
    path, model = tmp_path / "a.model", trained("function")
    save_model(model, path)
    assert load_tagger(path, features=last_letters).predict(NEW) == model.predict(NEW)
    without = load_tagger(path)
    with pytest.raises(InputError, match="function"):
        without.predict(NEW)


@pytest.mark.parametrize("kind", ["hmm", "basic"])
def test_a_function_for_a_model_without_one_is_an_error(tmp_path: Path, kind: str) -> None:
    save_model(trained(kind), tmp_path / "a.model")
    with pytest.raises(
        InputError, match=r"a\.model: the model was not trained with a feature function"
    ) as caught:
        load_tagger(tmp_path / "a.model", features=last_letters)
    assert not isinstance(caught.value, FormatError)


def test_numpy_can_look_into_the_file(saved: Path) -> None:
    with np.load(saved, allow_pickle=False) as arrays:
        np.testing.assert_array_equal(arrays["transition"], load_tagger(saved).to_state()["transition"])


def test_states_keep_every_kind_of_plain_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = {
        "kind": "hmm",
        "text": ["é", '"', "\ud800", ""],
        "numbers": [1, -2.5, True, None, float("inf"), 2**60],
        "nested": {"arrays": [np.arange(3), {"inner": np.zeros((2, 0))}], "none": {}, "empty": []},
        "scalar": np.float32(0.5),
    }

    class Model:
        @staticmethod
        def to_state() -> dict[str, Any]:
            return state

        @staticmethod
        def from_state(found: dict[str, Any]) -> dict[str, Any]:
            return found

    monkeypatch.setattr("calibrant.structures.models.HMMTagger", Model)
    model: Any = Model()
    save_model(model, tmp_path / "a.model")
    found: Any = load_tagger(tmp_path / "a.model")
    arrays = found["nested"].pop("arrays")
    np.testing.assert_array_equal(arrays[0], np.arange(3))
    assert arrays[1]["inner"].shape == (2, 0)
    assert found == {**state, "nested": {"none": {}, "empty": []}, "scalar": 0.5}


@pytest.mark.parametrize(
    ("kind", "tags", "first"),
    [
        (
            "hmm",
            [["DET", "NOUN", "VERB", "."], ["PRON", "."], ["X|é"]],
            [0.061695, 0.547612, 0.100442, 0.180281, 0.048274, 0.061695],
        ),
        (
            "crf",
            [["DET", "NOUN", "VERB", "PRON"], ["PRON", "VERB"], ["X|é"]],
            [0.123986, 0.325156, 0.142132, 0.142916, 0.141823, 0.123986],
        ),
    ],
)
def test_a_tagger_of_version_1_still_loads(kind: str, tags: list[list[str]], first: list[float]) -> None:
    model = load_tagger(ARCHIVES / f"tagger-v1-{kind}.model")
    assert model.predict(NEW) == tags
    np.testing.assert_allclose(model.posterior(NEW).marginals()[0], first, atol=1e-6)


# Models that are not saved.


def test_models_of_other_kinds_are_not_saved(tmp_path: Path) -> None:
    class Classifier:
        def to_state(self) -> dict[str, str]:
            return {"kind": "naive_bayes"}

    other: Any = Classifier()
    with pytest.raises(InputError, match="models of kind 'naive_bayes' cannot be saved"):
        save_model(other, tmp_path / "a.model")
    nothing: Any = object()
    with pytest.raises(InputError, match="an object of type object is not a model: save an HMMTagger"):
        save_model(nothing, tmp_path / "a.model")
    with pytest.raises(InputError, match="not been trained"):
        save_model(HMMTagger(), tmp_path / "a.model")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "part", [{"objects": np.array([None])}, {"text": np.array(["a"])}, {"keys": {1: "a"}}]
)
def test_states_that_no_file_would_give_back_are_errors(tmp_path: Path, part: dict[str, Any]) -> None:
    class Model:
        def to_state(self) -> dict[str, Any]:
            return {"kind": "hmm", **part}

    model: Any = Model()
    with pytest.raises(InputError) as caught:
        save_model(model, tmp_path / "a.model")
    assert caught.value.code == "dtype"
    assert list(tmp_path.iterdir()) == []


def test_a_model_is_not_packed_twice_or_written_to_nowhere(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"remove \.gz"):
        save_model(trained("hmm"), tmp_path / "a.model.gz")
    with pytest.raises(InputError, match="cannot write: no such file"):
        save_model(trained("hmm"), tmp_path / "none" / "a.model")


def test_an_interrupted_save_leaves_the_file_as_it_was(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = saved.read_bytes()

    def interrupt(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(saved_models, "_add", interrupt)
    with pytest.raises(KeyboardInterrupt):
        save_model(trained("hmm"), saved)
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


# Files that are refused.


@pytest.mark.parametrize("kind", ["hmm", "basic"])
def test_a_model_cut_anywhere_is_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a.model"
    save_model(trained(kind), path)
    whole = path.read_bytes()
    for end in [4, 10, 100, len(whole) // 2, len(whole) - 30, len(whole) - 1]:
        path.write_bytes(whole[:end])
        refused(path, "file-truncated", "the file is cut short")


def test_a_flipped_bit_never_passes_unnoticed(saved: Path) -> None:
    whole, model = saved.read_bytes(), load_tagger(saved)
    for place in range(0, len(whole), max(1, len(whole) // 150)):
        saved.write_bytes(whole[:place] + bytes([whole[place] ^ 0x10]) + whole[place + 1 :])
        try:
            found = load_tagger(saved)
        except FormatError:
            continue
        # The archive holds dates and sizes that nothing depends on.
        assert found.predict(NEW) == model.predict(NEW)
        assert json.dumps(found.to_state()["values"]) == json.dumps(model.to_state()["values"])


def test_foreign_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.model"
    parquet.write_table(pa.table({"score": [0.5]}), path)
    refused(path, "file-mislabelled", "this is not a saved model")
    for content in (b"I\tPRON\n", b"{}", pickle.dumps({"kind": "crf"}), b"\x00" * 100, b"P"):
        path.write_bytes(content)
        refused(path, "file-mislabelled", "this is not a saved model")
    with path.open("wb") as file:
        np.savez(file, weight=np.zeros(3))
    refused(path, "file-mislabelled", "this is not a saved model")
    write_members(path, {"state.json": b'{"format": "something else"}'})
    refused(path, "file-mislabelled", "this is not a saved model")


def test_pickles_inside_are_never_loaded(saved: Path) -> None:
    buffer = io.BytesIO()
    np.save(buffer, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    write_members(saved, {**members(saved), "weight.npy": buffer.getvalue()})
    refused(saved, "file-broken", "the model is damaged")


def test_files_that_are_missing_or_empty_are_errors(tmp_path: Path) -> None:
    for path, code in ((tmp_path / "none", "file-missing"), (tmp_path, "file-missing")):
        with pytest.raises(InputError) as caught:
            load_tagger(path)
        assert (caught.value.code, caught.value.file) == (code, str(path))
    (tmp_path / "a").write_bytes(b"")
    with pytest.raises(InputError, match="the file is empty"):
        load_tagger(tmp_path / "a")


def test_a_damaged_archive_is_described_without_its_bytes(saved: Path) -> None:
    content = bytearray(saved.read_bytes())
    content[35] ^= 0xFF  # inside the first member's name, which stands in the table of members too
    saved.write_bytes(content)
    assert refused(saved, "file-broken", "the model is damaged").hint == "save the model again"


def test_a_newer_format_state_or_kind_asks_for_a_newer_release(saved: Path) -> None:
    whole = saved.read_bytes()
    with_header(saved, lambda header: header.update(version=saved_models.ENVELOPE.version + 1))
    assert "newer" in refused(saved, "file-newer", "format version 2").hint
    saved.write_bytes(whole)
    with_header(saved, lambda header: header["state"].update(version=99))
    assert "newer" in refused(saved, "file-newer", "version 99").hint
    saved.write_bytes(whole)
    with_header(saved, lambda header: header["state"].update(kind="transformer"))
    assert "newer" in refused(saved, "file-newer", "kind 'transformer'").hint


@pytest.mark.parametrize(
    "change",
    [
        lambda header: header.pop("state"),
        lambda header: header.update(state=[1]),
        lambda header: header.update(version="x"),
        lambda header: header.update(version="1"),
        lambda header: header.update(version=1.5),
        lambda header: header["state"].pop("weight"),
        lambda header: header["state"].pop("tags"),
        lambda header: header["state"].update(tags=3),
        lambda header: header["state"].update(tags=["A", "A"]),
        lambda header: header["state"].update(weight=[1, 2]),
        lambda header: header["state"].update(weight={"array in": "none.npy"}),
        lambda header: header["state"].update(l2="much"),
        lambda header: header["state"].update(values={}),
        lambda header: header["state"].update(features=["unheard of"]),
        lambda header: header["state"].update(iterations=None),
    ],
)
def test_a_damaged_header_is_refused(saved: Path, change: Any) -> None:
    with_header(saved, change)
    refused(saved, "file-broken", "damaged")


def test_an_error_about_a_header_names_the_path_of_the_value(saved: Path) -> None:
    with_header(saved, lambda header: header.update(column=[1]))
    refused(
        saved, "file-broken", r"the model is damaged \(\$.column: expected int \| str \| null, got array\)"
    )
    with_header(saved, lambda header: header.update(column="xpos", other=1))
    refused(saved, "file-broken", r"\(\$: object contains unknown field other\)")


def test_a_header_that_is_no_json_is_refused(saved: Path) -> None:
    for text in (b"{", b"[]", b"3", b"\xff", b"[" * 100_000):
        write_members(saved, {**members(saved), "state.json": text})
        refused(saved, "file-broken", "damaged|cannot be read")


@pytest.mark.parametrize("kind", ["hmm", "basic"])
def test_arrays_of_wrong_shapes_values_or_types_are_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a.model"
    save_model(trained(kind), path)
    whole = path.read_bytes()
    weights = {"hmm": ["transition", "emission"], "basic": ["transition", "weight"]}[kind]
    codes = {"hmm": ["row", "tag"], "basic": ["first", "tag"]}[kind]
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in (*weights, *codes)}
    wrong: list[tuple[str, np.ndarray[Any, Any]]] = []
    for name, array in arrays.items():
        wrong += [(name, array[:-1]), (name, array[None]), (name, np.full(array.shape, "a"))]
    for name in weights:
        wrong += [(name, np.full(arrays[name].shape, value)) for value in (np.nan, np.inf)]
    for name in codes:
        wrong += [(name, np.full_like(arrays[name], value)) for value in (-1, 10**6)]
    for name, array in wrong:
        path.write_bytes(whole)
        with_array(path, name, array)
        refused(path, "file-broken", "damaged")


@pytest.mark.parametrize("size", [10**9, 10**13, 2**63])
def test_an_array_that_claims_to_be_huge_is_refused(saved: Path, size: int) -> None:
    buffer = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": (size,)}
    np.lib.format.write_array_header_1_0(buffer, header)
    write_members(saved, {**members(saved), "weight.npy": buffer.getvalue() + bytes(64)})
    refused(saved, "file-broken", "damaged")


def test_a_tagger_of_real_text_comes_back(data: Path, tmp_path: Path) -> None:
    text = read_tagged(data / "twitter-pos" / "oct27.train.tsv.gz")
    new = read_tagged(data / "twitter-pos" / "oct27.dev.tsv.gz").sentences
    assert text.tags is not None
    models: list[HMMTagger | CRFTagger] = [HMMTagger(), CRFTagger(features="advanced", max_iterations=3)]
    for model in models:
        save_model(model.fit(text.sentences, text.tags), tmp_path / "a.model")
        assert load_tagger(tmp_path / "a.model").predict(new) == model.predict(new)
