"""A pipeline trained here, in a moment, on sentences that it learns by heart."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import fix_random_seed

from calibrant import FormatError, InputError, MissingExtraError
from calibrant.parts import installing
from calibrant.structures.files.tagged import read_tagged
from calibrant.structures.models import SpacyTagger
from calibrant.structures.models.spacy_tagger import BATCH, Column

# Both orders of capitals in UD: Number before NumForm, and Case before Definite; and two values of a feature.
CONLLU = """\
1	We	_	PRON	PRP	Case=Nom|Number=Plur|Person=1	_	_	_	_
2	saw	_	VERB	VBD	Tense=Past|VerbForm=Fin	_	_	_	_
3	two	_	NUM	CD	Number=Plur|NumForm=Word|NumType=Card	_	_	_	_
4	saws	_	NOUN	NNS	Number=Plur	_	_	_	_
5	of	_	ADP	IN	_	_	_	_	_

1	A	_	DET	DT	Definite=Ind|PronType=Art	_	_	_	_
2	saw	_	NOUN	NN	Number=Sing	_	_	_	_
3	what	_	PRON	WP	PronType=Int,Rel	_	_	_	_
4	runs	_	VERB	VBZ	Mood=Ind|Number=Sing|VerbForm=Fin	_	_	_	_

1	Runs	_	NOUN	NNS	Number=Plur	_	_	_	_
"""
COLUMNS: list[Column] = ["xpos", "upos", "upos+feats"]
NEW = [["Two", "saws", "of", "a", "run"], ["saw"], ["what", "runs", ",", "we", "saw", "unheard", "of"]]
VECTORS = {"width": 16, "depth": 1, "embed_size": 50, "window_size": 1, "maxout_pieces": 2}
LISTENER = {
    "@architectures": "spacy.Tagger.v2",
    "tok2vec": {"@architectures": "spacy.Tok2VecListener.v1", "width": 16, "upstream": "*"},
}


def gold(folder: Path, column: Column) -> tuple[list[list[str]], list[list[str]]]:
    path = folder / "gold.conllu"
    path.write_text(CONLLU, encoding="utf-8")
    text = read_tagged(path, column=column)
    assert text.tags is not None
    return text.sentences, text.tags


def trained(folder: Path) -> Language:
    """Vectors, tagger and morphologizer, and after them a component that a tagger must not run."""
    sentences, xpos = gold(folder, "xpos")
    _, whole = gold(folder, "upos+feats")
    fix_random_seed(0)
    nlp = spacy.blank("en")
    architecture = {"@architectures": "spacy.HashEmbedCNN.v2", "pretrained_vectors": None, **VECTORS}
    nlp.add_pipe("tok2vec", config={"model": {**architecture, "subword_features": True}})
    nlp.add_pipe("tagger", config={"model": LISTENER})
    nlp.add_pipe("morphologizer", config={"model": LISTENER})
    examples = []
    for words, tags, features in zip(sentences, xpos, whole, strict=True):
        parts = [tag.partition("|") for tag in features]
        reference = {
            "words": words,
            "tags": tags,
            "pos": [p for p, _, _ in parts],
            "morphs": [m for _, _, m in parts],
        }
        examples.append(Example.from_dict(Doc(nlp.vocab, words=words), reference))
    optimizer = nlp.initialize(lambda: examples)
    optimizer.learn_rate = 0.03
    for _ in range(25):
        nlp.update(examples, sgd=optimizer)
    nlp.add_pipe("sentencizer")
    return nlp


@pytest.fixture(scope="module")
def nlp(tmp_path_factory: pytest.TempPathFactory) -> Language:
    return trained(tmp_path_factory.mktemp("training"))


@pytest.fixture
def saved(nlp: Language, tmp_path: Path) -> Path:
    path = tmp_path / "pipeline"
    nlp.to_disk(path)
    return path


def processed(nlp: Language, sentences: list[list[str]]) -> list[Doc]:
    return [nlp(Doc(nlp.vocab, words=words)) for words in sentences]


def part(nlp: Language, name: str) -> Any:
    return nlp.get_pipe(name)


def softmax_of(nlp: Language, component: str, sentences: list[list[str]]) -> np.ndarray[Any, Any]:
    """Return rows that spaCy itself has normalized, in single precision."""
    model = part(nlp, component).model
    layer = model.get_ref("softmax")
    layer.attrs["softmax_normalize"] = True
    try:
        return np.concatenate(model.predict(processed(nlp, sentences)))
    finally:
        layer.attrs["softmax_normalize"] = False


def test_tags_learned_by_heart_are_those_of_the_file(nlp: Language, tmp_path: Path) -> None:
    for column in COLUMNS:
        sentences, tags = gold(tmp_path, column)
        tagger = SpacyTagger(nlp, column=column)
        assert set(tagger.tags) == {tag for sentence in tags for tag in sentence}
        assert tagger.predict(sentences) == tags


def test_probabilities_are_the_softmax_of_spacy(nlp: Language) -> None:
    tagger = SpacyTagger(nlp)
    labels = part(nlp, "tagger").labels
    expected = softmax_of(nlp, "tagger", NEW)[:, [labels.index(tag) for tag in tagger.tags]]
    found = tagger.posterior(NEW).marginals()
    np.testing.assert_allclose(found, expected, atol=1e-6)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    assert found.max(axis=1).min() < 0.99  # it is not certain of everything


def test_parts_of_speech_are_sums_over_features(nlp: Language) -> None:
    tagger = SpacyTagger(nlp, column="upos")
    labels = part(nlp, "morphologizer").labels
    softmax = softmax_of(nlp, "morphologizer", NEW)
    expected = np.zeros((len(softmax), len(tagger.tags)))
    for label, column in zip(labels, softmax.T, strict=True):
        pos = next(part[4:] for part in label.split("|") if part.startswith("POS="))
        expected[:, tagger.tags.index(pos)] += column
    np.testing.assert_allclose(tagger.posterior(NEW).marginals(), expected, atol=1e-6)


def test_predictions_are_the_annotations_of_spacy(nlp: Language) -> None:
    docs = processed(nlp, NEW)
    assert SpacyTagger(nlp).predict(NEW) == [[token.tag_ for token in doc] for doc in docs]
    for found, doc in zip(SpacyTagger(nlp, column="upos+feats").predict(NEW), docs, strict=True):
        for tag, token in zip(found, doc, strict=True):
            pos, _, features = tag.partition("|")
            assert pos == token.pos_
            assert set(features.split("|")) == set(str(token.morph).split("|"))


def test_tags_are_independent_given_the_text(nlp: Language) -> None:
    posterior = SpacyTagger(nlp).posterior(NEW)
    assert posterior.transition is None
    np.testing.assert_allclose(posterior.log_partition, 0.0, atol=1e-12)


def test_a_sentence_has_the_same_probabilities_in_every_company(nlp: Language) -> None:
    tagger = SpacyTagger(nlp)
    many = NEW * (BATCH // 2)  # more than one batch, the last not full
    together = tagger.posterior(many).marginals()
    alone = np.concatenate([tagger.posterior([sentence]).marginals() for sentence in NEW])
    np.testing.assert_allclose(together, np.tile(alone, (BATCH // 2, 1)), atol=1e-6)


def test_a_softmax_within_the_model_changes_nothing(nlp: Language) -> None:
    tagger = SpacyTagger(nlp)
    expected = tagger.posterior(NEW).marginals()
    layer = part(nlp, "tagger").model.get_ref("softmax")
    layer.attrs["softmax_normalize"] = True
    try:
        np.testing.assert_allclose(tagger.posterior(NEW).marginals(), expected, atol=1e-6)
    finally:
        layer.attrs["softmax_normalize"] = False


@pytest.mark.parametrize("normalize", [False, True])
def test_the_temperature_of_the_softmax_counts(nlp: Language, normalize: bool) -> None:
    tagger = SpacyTagger(nlp)
    expected = np.sqrt(tagger.posterior(NEW).marginals())
    expected /= expected.sum(axis=1, keepdims=True)
    layer = part(nlp, "tagger").model.get_ref("softmax")
    layer.attrs.update(softmax_normalize=normalize, softmax_temperature=2.0)
    try:
        np.testing.assert_allclose(tagger.posterior(NEW).marginals(), expected, atol=1e-6)
    finally:
        layer.attrs.update(softmax_normalize=False, softmax_temperature=1.0)


def test_a_saved_pipeline_is_read_by_its_path(nlp: Language, saved: Path) -> None:
    expected = SpacyTagger(nlp).posterior(NEW).marginals()
    for path in (saved, str(saved)):
        assert np.array_equal(SpacyTagger(path).posterior(NEW).marginals(), expected)


@pytest.mark.parametrize(("place", "runs"), [({"before": "tagger"}, len(NEW)), ({"after": "tagger"}, 0)])
def test_the_components_before_the_tagger_run_and_no_others(
    nlp: Language, place: dict[str, Any], runs: int
) -> None:
    seen = []

    def probe(doc: Doc) -> Doc:
        seen.append(doc)
        return doc

    Language.component("probe", func=probe)
    nlp.add_pipe("probe", **place)
    try:
        SpacyTagger(nlp).posterior(NEW)
    finally:
        nlp.remove_pipe("probe")
    assert len(seen) == runs


def test_a_pipeline_of_another_version_of_spacy_is_no_noise(saved: Path) -> None:
    meta = json.loads((saved / "meta.json").read_text())
    (saved / "meta.json").write_text(json.dumps(meta | {"spacy_version": ">=3.0.0,<3.1.0"}))
    with pytest.warns(UserWarning, match="W095"):
        spacy.load(saved)
    assert SpacyTagger(saved).tags  # a warning would be an error here


def test_a_token_without_part_of_speech_has_an_underscore() -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("morphologizer")
    doc = Doc(nlp.vocab, words=["a", "b"], morphs=["Number=Sing", "Case=Nom"])
    nlp.initialize(lambda: [Example(nlp.make_doc("a b"), doc)])
    assert SpacyTagger(nlp, column="upos+feats").tags == ("_|Case=Nom", "_|Number=Sing")
    with pytest.raises(InputError, match="features only"):
        SpacyTagger(nlp, column="upos")


@pytest.mark.parametrize(
    ("sentences", "message"),
    [
        ([], "sentences is empty"),
        ([["a"], []], r"sentences\[1\] has no tokens"),
        ([["a"], ["b", ""]], r"sentences\[1\] has an empty token"),
        ([["a"], ["b", "\ud800"]], r"sentences\[1\] has a token that is not Unicode text"),
        (["abc"], r"sentences\[0\] is 'abc'"),
        ([["a", 1]], r"sentences\[0\]\[1\] is 1"),
    ],
)
def test_sentences_that_are_none_are_refused(nlp: Language, sentences: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        SpacyTagger(nlp).posterior(sentences)


def test_an_unknown_column_is_refused(nlp: Language) -> None:
    wrong: Any = "feats"
    with pytest.raises(InputError, match="column is 'feats': use one of xpos, upos, upos\\+feats"):
        SpacyTagger(nlp, column=wrong)


@pytest.mark.parametrize("source", [3, None, b"path"])
def test_what_is_no_pipeline_is_refused(source: Any) -> None:
    with pytest.raises(InputError, match=f"of type {type(source).__name__}"):
        SpacyTagger(source)


@pytest.mark.parametrize("name", ["", "nowhere", "no/where"])
def test_a_pipeline_that_is_not_there_is_named(name: str) -> None:
    with pytest.raises(InputError, match="the spaCy pipeline does not exist") as caught:
        SpacyTagger(name)
    assert (caught.value.file, caught.value.code) == (name, "file-missing")


@pytest.mark.parametrize(
    "part", ["meta.json", "config.cfg", "tagger/model", "tok2vec/model", "vocab/strings.json"]
)
@pytest.mark.parametrize("cut", [True, False])
def test_a_broken_pipeline_is_one_clear_error(saved: Path, part: str, cut: bool) -> None:
    content = (saved / part).read_bytes()
    (saved / part).unlink()
    if cut:
        (saved / part).write_bytes(content[: len(content) // 2])
    with pytest.raises(FormatError, match="spaCy cannot load the pipeline") as caught:
        SpacyTagger(saved)
    assert caught.value.file == str(saved)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("column", "left", "message"),
    [
        ("xpos", ["tok2vec", "morphologizer"], "no tagger, .* it has a morphologizer: use column='upos'"),
        ("upos", ["tok2vec", "tagger"], "no morphologizer, .* it has a tagger: use column='xpos'"),
        ("upos+feats", [], "no morphologizer, .* components are"),
        ("xpos", ["tagger"], "tagger needs a component with vectors before it"),
    ],
)
def test_a_pipeline_that_lacks_a_component_is_refused(
    nlp: Language, column: Column, left: list[str], message: str
) -> None:
    with (
        nlp.select_pipes(disable=[name for name in nlp.pipe_names if name not in left]),
        pytest.raises(InputError, match=message),
    ):
        SpacyTagger(nlp, column=column)


@pytest.mark.parametrize("tags", [[], ["NN", "VB"]])
def test_a_tagger_that_is_not_trained_is_refused(tags: list[str]) -> None:
    nlp = spacy.blank("en")
    component: Any = nlp.add_pipe("tagger")
    for tag in tags:
        component.add_label(tag)
    with pytest.raises(InputError, match=f"not been trained on its {len(tags)} tags"):
        SpacyTagger(nlp)


def test_without_spacy_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(MissingExtraError, match=re.escape(installing("spacy"))):
        SpacyTagger("anything")
