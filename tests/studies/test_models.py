"""The recipe of the models that the studies use, on a treebank of a few sentences."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import pytest

from calibrant.data import dated_documents
from calibrant.events import extract_events
from calibrant.events.files.store import EventStore
from calibrant.exceptions import InputError
from calibrant.structures import load_coreference_model, read_documents
from calibrant_studies.models import MODELS, find_model, models_folder, train_models
from tests.command_line import Run

NAMES = ("ud-english-ewt/en_ewt-ud", "ud-english-gum/en_gum-ud")


@pytest.fixture
def treebanks(tmp_path: Path) -> Path:
    """Treebanks of the names that the recipe reads, each with the 14 texts that ship."""
    text = Path(dated_documents()).read_bytes()
    for name in NAMES:
        for part in ("train", "dev"):
            file = tmp_path / "data" / f"{name}-{part}.conllu.gz"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(gzip.compress(text))
    return tmp_path / "data"


@pytest.mark.slow
def test_both_models_are_trained_and_kept_and_extract_events(treebanks: Path, tmp_path: Path) -> None:
    pytest.importorskip("spacy")
    folder, log = tmp_path / "models", io.StringIO()
    found = train_models(data=treebanks, output=folder, steps=8, epochs=1, log=log)
    assert [each.name for each in found.models] == list(MODELS) == sorted(p.name for p in folder.iterdir())
    assert not any(each.there for each in found.models)
    assert all(0 <= each.score <= 1 for each in found.models if each.score is not None)
    assert "LOSS PARSER" in log.getvalue()
    again = train_models(data=treebanks, output=folder, steps=8, epochs=1, log=log)
    assert all(each.there and each.score is None for each in again.models)
    trained_on = load_coreference_model(folder / "gum.model").trained_on
    assert trained_on is not None
    assert trained_on.startswith("GUM: ")
    config = (folder / "en_ud_ewt_gum" / "config.cfg").read_text(encoding="utf-8")
    assert str(tmp_path) not in config
    assert "seed = 0" in config

    stories = tmp_path / "stories.jsonl"
    lines = [
        {"id": each.name, "date": "1866-05-02", "text": " ".join(" ".join(words) for words in each.sentences)}
        for each in read_documents(dated_documents())
    ]
    stories.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    parser = folder / "en_ud_ewt_gum"
    done = extract_events(stories, tmp_path / "store", coref=folder / "gum.model", parser=parser)
    assert done.documents == 14
    assert done.trained_on == trained_on
    assert EventStore(tmp_path / "store").manifest.sources["coref trained on"] == trained_on


@pytest.mark.slow
def test_the_same_seed_gives_the_same_parser(treebanks: Path, tmp_path: Path) -> None:
    pytest.importorskip("spacy")
    weights = []
    for name in ("one", "other"):
        train_models(["en_ud_ewt_gum"], data=treebanks, output=tmp_path / name, steps=3, log=io.StringIO())
        weights.append((tmp_path / name / "en_ud_ewt_gum" / "parser" / "model").read_bytes())
    assert weights[0] == weights[1]


def test_missing_data_and_unknown_models_are_named_before_training(tmp_path: Path, run: Run) -> None:
    with pytest.raises(InputError, match="calibrant data fetch ud-english-ewt"):
        train_models(data=tmp_path, output=tmp_path / "models")
    with pytest.raises(InputError, match="names"):
        train_models(["gum"], data=tmp_path)  # type: ignore[list-item]
    assert run("data", "train", "gum").code == 2


def test_models_are_looked_for_where_they_are_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CALIBRANT_DATA", str(tmp_path))
    monkeypatch.delenv("CALIBRANT_MODELS", raising=False)
    assert models_folder() == tmp_path / "models"
    assert find_model("gum.model") is None
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "gum.model").touch()
    assert find_model("gum.model") == tmp_path / "models" / "gum.model"
