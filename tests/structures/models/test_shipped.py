from __future__ import annotations

from pathlib import Path

import pytest

from calibrant.structures.documents import Document, Mention
from calibrant.structures.files.saved_models import load_coreference_model
from calibrant.structures.models.shipped import FOLDER, shipped_models
from calibrant.structures.posterior import probable_entities


def test_the_model_of_novels_needs_words_and_mentions_alone() -> None:
    sentences = [["Mr.", "Darcy", "bowed", "."], ["Elizabeth", "saw", "him", "."], ["She", "smiled", "."]]
    mentions = [Mention(0, 0, 2), Mention(1, 0, 1), Mention(1, 2, 3), Mention(2, 0, 1)]
    model = load_coreference_model(shipped_models()["litbank"])
    assert model.features == "surface"
    posterior = model.posterior([Document("novel", sentences, mentions)])
    assert probable_entities(posterior).tolist() == [0, 1, 0, 1]


def test_what_ships_is_small_and_says_where_it_is_from() -> None:
    assert sum(path.stat().st_size for path in shipped_models().values()) < 2_000_000
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    for name, path in shipped_models().items():
        assert f"`{name}.model` | {path.stat().st_size:,} |" in readme
    assert "Creative Commons Attribution 4.0" in readme


@pytest.mark.slow
def test_it_was_trained_with_the_features_of_this_release(data: Path) -> None:
    """Codes of features that change without a new model would leave its weights without meaning."""
    from calibrant.structures.verbs.coreference import evaluate_coreference

    test = data / "litbank-coref" / "litbank-coref.test.conll.gz"
    scores = evaluate_coreference("litbank", test, bin_size=5000).scores
    assert scores.conll_f1.estimate == pytest.approx(0.781, abs=0.002)
