"""The sparse study's taggers: a CRF of lexical-semantic tags, an HMM and a network of features."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from calibrant.structures.files.saved_models import load_tagger
from calibrant.structures.files.tagged import TaggedText, read_tagged
from calibrant.structures.models import SpacyTagger
from calibrant.structures.models.crf import CRFTagger
from calibrant.structures.models.hmm import HMMTagger
from calibrant.structures.posterior import ChainPosterior
from calibrant_studies._sparse_scores import Tagset, near_zero, scores_of, tag_counts
from calibrant_studies._tagging_data import DEV_SHARE, Part
from calibrant_studies._tagging_models import accuracy_interval
from calibrant_studies.datasets._folders import required

LEXTAG_COLUMN = 19
EPOCHS = 12
PENALTY = 0.1
PSEUDOCOUNT = 0.01
PIPELINE = "en_ud_ewt_gum"
SAVED = "streusle-lextag.model"
SPLITS = ("train", "dev", "test")
STREUSLE = tuple(f"sparse-tags/streusle.ud_{split}.conllulex.gz" for split in SPLITS)
TREEBANK = tuple(f"ud-english-ewt/en_ewt-ud-{split}.conllu.gz" for split in SPLITS)
CHUNKS = ("conll2000/train.txt.gz", "conll2000/test.txt.gz")
CHUNK_COLUMN = 3


class Tagger(Protocol):
    """Model with a distribution over tags."""

    @property
    def tags(self) -> tuple[str, ...]: ...

    def posterior(self, sentences: Sequence[Sequence[str]], /) -> ChainPosterior: ...

    def predict(self, sentences: Sequence[Sequence[str]], /) -> list[list[str]]: ...


def sources(data: Path, models: Path | None, kinds: Sequence[str]) -> list[Path]:
    """Return the files that the study reads: texts, and the models that are available."""
    files = STREUSLE if "lextag" in kinds else ()
    files += TREEBANK if {"hmm", "spacy", "upos"} & set(kinds) else ()
    files += CHUNKS if "chunk" in kinds else ()
    saved = {
        "lextag": [SAVED],
        "spacy": [f"{PIPELINE}/{part}/model" for part in ("tok2vec", "morphologizer")],
    }
    found = [data / file for file in files]
    if models is not None:
        found += [models / file for kind in kinds for file in saved.get(kind, ()) if (models / file).exists()]
    return found


def has_pipeline(models: Path | None) -> bool:
    """Return True if the folder of models contains spaCy's pipeline."""
    return models is not None and (models / PIPELINE).is_dir()


def tagsets(data: Path, models: Path | None, kinds: Sequence[str], epochs: int) -> Iterator[Tagset]:
    """Train or load each tagger, and collect its scores on dev and test."""
    if "lextag" in kinds:
        train, dev, test = _read(data, STREUSLE, LEXTAG_COLUMN)
        yield _tagset("lextag", _lextag(train, models, epochs), train, dev, test)
    if {"hmm", "spacy"} & set(kinds):
        train, dev, test = _read(data, TREEBANK, "upos+feats")
        if "hmm" in kinds:
            yield _tagset("hmm", _hmm(train), train, dev, test)
        if "spacy" in kinds and models is not None:
            spacy = SpacyTagger(models / PIPELINE, column="upos+feats")
            yield _tagset("spacy", spacy, train, dev, test)
    if "upos" in kinds:
        train, dev, test = _read(data, TREEBANK, "upos")
        yield _tagset("upos", _hmm(train), train, dev, test)
    if "chunk" in kinds:
        whole, test = _read(data, CHUNKS, CHUNK_COLUMN)
        count = len(whole.sentences) - len(whole.sentences) // DEV_SHARE
        train, dev = _some(whole, slice(count)), _some(whole, slice(count, None))
        yield _tagset("chunk", _hmm(train), train, dev, test)


def _hmm(train: TaggedText) -> HMMTagger:
    return HMMTagger(pseudocount=PSEUDOCOUNT, unseen="classes").fit(train.sentences, train.tags or [])


def _some(text: TaggedText, part: slice) -> TaggedText:
    """Part of the sentences of a text."""
    return replace(text, sentences=text.sentences[part], tags=(text.tags or [])[part], document_ids=None)


def lextag_crf(epochs: int = EPOCHS) -> CRFTagger:
    """Return the study's untrained CRF, with few epochs, since each costs K^2 per token."""
    start = {"calibration.samples": 100, "calibration.candidates": 2, "calibration.max_trials": 4}
    return CRFTagger(algorithm="l2sgd", l2=PENALTY, max_iterations=epochs, settings=start)


def _lextag(train: TaggedText, models: Path | None, epochs: int) -> Tagger:
    if models is not None and (models / SAVED).exists():
        return load_tagger(models / SAVED)
    return lextag_crf(epochs).fit(train.sentences, train.tags or [])


def _read(data: Path, files: Sequence[str], column: int | str) -> list[TaggedText]:
    return [read_tagged(path, column=column) for path in [required(data, file) for file in files]]


def _tagset(kind: str, tagger: Tagger, train: TaggedText, dev: TaggedText, test: TaggedText) -> Tagset:
    posterior = tagger.posterior(test.sentences)
    accuracy = accuracy_interval(Part(test.sentences, test.tags or []), tagger.predict(test.sentences))
    return Tagset(
        kind,
        tagger.tags,
        tag_counts(train),
        scores_of(tagger.posterior(dev.sentences), dev),
        scores_of(posterior, test),
        posterior.token_count,
        near_zero(posterior),
        accuracy,
    )
