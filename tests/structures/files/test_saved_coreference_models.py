"""Models of coreference come back from files as they were; taggers and damaged files are refused."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calibrant.exceptions import FormatError, InputError
from calibrant.structures import load_coreference_model, load_model, load_tagger, save_model
from calibrant.structures.documents import Document, Mention
from calibrant.structures.models import CoreferenceModel, HMMTagger

MENTIONS = [Mention(0, 0, 1), Mention(0, 2, 3), Mention(1, 0, 1), Mention(1, 2, 4)]
SENTENCES = [["Ann", "met", "Eve"], ["She", "hurt", "the", "king"]]
DOCUMENTS = [Document(name, SENTENCES, MENTIONS, ["a", "b", "a", "c"]) for name in ("d1", "d2")]


@pytest.fixture(scope="module")
def model() -> CoreferenceModel:
    return CoreferenceModel(bits=12, epochs=3).fit(DOCUMENTS)


@pytest.fixture
def saved(tmp_path: Path, model: CoreferenceModel) -> Path:
    save_model(model, tmp_path / "a.model")
    return tmp_path / "a.model"


def test_a_model_comes_back_as_it_was(saved: Path, model: CoreferenceModel) -> None:
    for again in (load_coreference_model(saved), load_model(saved)):
        assert isinstance(again, CoreferenceModel)
        np.testing.assert_array_equal(
            again.posterior(DOCUMENTS).log_probabilities, model.posterior(DOCUMENTS).log_probabilities
        )
        assert again.losses == model.losses


def test_equal_models_give_equal_bytes(saved: Path) -> None:
    save_model(load_model(saved), saved.with_name("b.model"))
    assert saved.read_bytes() == saved.with_name("b.model").read_bytes()


def test_models_are_not_taken_for_those_of_another_task(saved: Path) -> None:
    with pytest.raises(InputError, match=r"a\.model: this is a coreference model, not a tagger"):
        load_tagger(saved)
    with pytest.raises(InputError, match="not trained with a feature function"):
        load_model(saved, features=lambda tokens: [[token] for token in tokens])
    save_model(HMMTagger().fit([["I"]], [["PRP"]]), saved)
    with pytest.raises(InputError, match=r"a\.model: this is a tagger, not a coreference model"):
        load_coreference_model(saved)


def test_a_model_cut_anywhere_is_refused(saved: Path) -> None:
    whole = saved.read_bytes()
    for end in [4, 100, len(whole) // 2, len(whole) - 30, len(whole) - 1]:
        saved.write_bytes(whole[:end])
        with pytest.raises(FormatError, match=r"a\.model: the file is cut short"):
            load_model(saved)


def test_a_flipped_bit_never_passes_unnoticed(saved: Path, model: CoreferenceModel) -> None:
    whole = saved.read_bytes()
    wanted = model.posterior(DOCUMENTS).log_probabilities
    refused = 0
    for place in range(0, len(whole), max(1, len(whole) // 100)):
        saved.write_bytes(whole[:place] + bytes([whole[place] ^ 0x10]) + whole[place + 1 :])
        try:
            found = load_coreference_model(saved)
        except FormatError:
            refused += 1
            continue
        # The archive holds dates and sizes that nothing depends on.
        np.testing.assert_array_equal(found.posterior(DOCUMENTS).log_probabilities, wanted)
    assert refused > 10


def changed(path: Path, name: str, value: Any) -> None:
    """Write another value into the state: into the header, or as an array."""
    with zipfile.ZipFile(path) as archive:
        contents = {member: archive.read(member) for member in archive.namelist()}
    if isinstance(value, np.ndarray):
        buffer = io.BytesIO()
        np.save(buffer, value)
        contents[f"{name}.npy"] = buffer.getvalue()
    else:
        header = json.loads(contents["state.json"])
        header["state"][name] = value
        contents["state.json"] = json.dumps(header).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for member, content in contents.items():
            archive.writestr(member, content)


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        pytest.param("version", 99, "file-newer", id="newer"),
        pytest.param("kind", "neural", "file-newer", id="unknown-kind"),
        pytest.param("features", "deep", "file-broken", id="features"),
        pytest.param("bits", 10**9, "file-broken", id="bits"),
        pytest.param("bits", "12", "file-broken", id="bits-text"),
        pytest.param("window", -1, "file-broken", id="window"),
        pytest.param("costs", [1], "file-broken", id="costs"),
        pytest.param("frequent", [], "file-broken", id="frequent"),
        pytest.param("losses", None, "file-broken", id="losses"),
        pytest.param("weight", np.array([np.nan]), "file-broken", id="weight-nan"),
        pytest.param("weight", np.zeros((2, 2)), "file-broken", id="weight-shape"),
        pytest.param("place", np.array([1 << 30]), "file-broken", id="place-beyond"),
        pytest.param("place", np.array([0.5]), "file-broken", id="place-fraction"),
    ],
)
def test_a_state_that_no_model_has_is_refused(saved: Path, name: str, value: Any, code: str) -> None:
    changed(saved, name, value)
    with pytest.raises(FormatError) as caught:
        load_model(saved)
    assert (caught.value.code, caught.value.file) == (code, str(saved))
    assert caught.value.hint
    assert "\n" not in str(caught.value)
