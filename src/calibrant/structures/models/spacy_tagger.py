"""Tagger from a trained spaCy pipeline, with probabilities."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from calibrant._checks import Floats, one_of
from calibrant.exceptions import FormatError, InputError
from calibrant.lazy import from_extra
from calibrant.structures.models._tagger import (
    ChainTagger,
    Sentences,
    codes_of,
    refuse_other_than_text,
    sentence_lengths,
)
from calibrant.structures.posterior import ChainPosterior

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

Column = Literal["xpos", "upos", "upos+feats"]
BATCH = 64  # sentences per batch; their word vectors fit into a processor's cache
EMPTY = "_"  # no features in CoNLL-U and spaCy; no part of speech in CoNLL-U


class SpacyTagger(ChainTagger):
    """Tagger or morphologizer of a trained spaCy pipeline, on given tokens.

    Probabilities are the component's softmax over whole tags. The pipeline's tokenizer is not used.
    Components before the requested one run, as in spaCy; components after it, such as a parser or an
    attribute ruler, do not. Each sentence is treated as a separate document, and every token as followed by a
    space. Predicted tags equal spaCy's for ``"xpos"`` and ``"upos+feats"``. For ``"upos"``, probabilities are
    summed over features, while spaCy uses the part of speech of the best whole tag.

    Parameters
    ----------
    path_or_pipeline
        Folder written by spaCy, name of an installed pipeline, or loaded pipeline.
    column
        ``"xpos"``: tags of the tagger. ``"upos+feats"``: tags of the morphologizer in the format of CoNLL-U
        (``NOUN|Number=Sing``, or ``ADP`` without features). ``"upos"``: the same, summed over features, while
        spaCy uses the part of speech of the best whole tag. A missing part of speech is ``_``.

    Attributes
    ----------
    tags : tuple of str
        Sorted tags of the component.

    Raises
    ------
    MissingExtraError
        If spaCy is not installed.
    InputError
        If the pipeline does not exist, lacks the component or is not trained, or the column is unknown.
    FormatError
        If spaCy cannot load the pipeline.

    References
    ----------
    spaCy's tagger and morphologizer: https://spacy.io/api/tagger, https://spacy.io/api/morphologizer

    Examples
    --------
    This pipeline knows its tags but is not trained:

    >>> import spacy
    >>> from spacy.training import Example
    >>> nlp = spacy.blank("en")
    >>> component = nlp.add_pipe("tagger")
    >>> example = Example.from_dict(nlp.make_doc("I see"), {"tags": ["PRP", "VBP"]})
    >>> optimizer = nlp.initialize(lambda: [example])
    >>> tagger = SpacyTagger(nlp)
    >>> tagger.tags, tagger.posterior([["I", "see"]]).marginals().tolist()
    (('PRP', 'VBP'), [[0.5, 0.5], [0.5, 0.5]])
    """

    def __init__(
        self, path_or_pipeline: str | os.PathLike[str] | Language, *, column: Column = "xpos"
    ) -> None:
        one_of(column, get_args(Column), "column")
        self.column: Column = column
        self.path: str | None = None
        if isinstance(path_or_pipeline, (str, os.PathLike)):
            self.path = os.fspath(path_or_pipeline)
        self._nlp, file = load_pipeline(path_or_pipeline)
        name = _component_name(self._nlp, column, file)
        place = self._nlp.pipe_names.index(name)
        self._not_run = self._nlp.pipe_names[place:]
        component: Any = self._nlp.get_pipe(name)
        self._model = component.model
        _check_upstream(self._nlp, name, self._model, file)
        self._softmax = _softmax(self._model, name, file)
        names = [_tag(label, column) for label in component.labels]
        if not self._softmax.has_param("W") or self._softmax.get_dim("nO") != len(names):
            message = f"the pipeline's {name} has not been trained on its {len(names)} tags"
            raise InputError(message, "train the pipeline first", code="undefined", file=file)
        self.tags = tuple(sorted(set(names)))
        if column == "upos" and self.tags == (EMPTY,):
            message = f"the pipeline's {name} predicts features only, not parts of speech"
            raise InputError(message, "use column='upos+feats'", code="parameter", file=file)
        code = codes_of(self.tags)
        codes = np.array([code[tag] for tag in names])
        self._order = np.argsort(codes, kind="stable")
        self._groups = np.searchsorted(codes[self._order], np.arange(len(self.tags)))

    def posterior(self, sentences: Sentences) -> ChainPosterior:
        """Return the distribution over the tags of sentences; tags are independent given the text.

        Parameters
        ----------
        sentences
            Tokens of each sentence.

        Returns
        -------
        ChainPosterior
            Distribution without transitions, with log-probabilities as potentials. Apart from rounding in
            spaCy's single precision, they do not depend on the other sentences.

        Examples
        --------
        >>> import spacy
        >>> from spacy.training import Example
        >>> nlp = spacy.blank("en")
        >>> component = nlp.add_pipe("tagger")
        >>> example = Example.from_dict(nlp.make_doc("I see"), {"tags": ["PRP", "VBP"]})
        >>> optimizer = nlp.initialize(lambda: [example])
        >>> SpacyTagger(nlp).posterior([["I", "see"]]).marginals().tolist()
        [[0.5, 0.5], [0.5, 0.5]]
        """
        lengths = sentence_lengths(sentences)
        refuse_other_than_text(sentences)
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        unary = np.empty((int(offsets[-1]), len(self.tags)))
        for first in range(0, len(sentences), BATCH):
            last = min(first + BATCH, len(sentences))
            docs = [self._document(sentences[row], row) for row in range(first, last)]
            unary[offsets[first] : offsets[last]] = self._of_documents(docs)
        return ChainPosterior(unary, lengths=lengths, tags=self.tags)

    def _document(self, sentence: Sequence[str], row: int) -> Doc:
        from spacy.tokens import Doc

        try:
            return Doc(self._nlp.vocab, words=list(sentence))
        except ValueError as error:  # spaCy refuses "", and surrogates, which UTF-8 cannot encode
            what = "an empty token" if "" in sentence else "a token that is not Unicode text"
            message = f"sentences[{row}] has {what}"
            raise InputError(message, "correct or remove the token", code="missing-value", row=row) from error

    def _of_documents(self, docs: list[Doc]) -> Floats:
        """Return (tokens, tags) log-probabilities."""
        from scipy.special import log_softmax

        docs = list(self._nlp.pipe(docs, batch_size=len(docs), disable=self._not_run))
        ops = self._model.ops
        scores: Floats = ops.to_numpy(ops.xp.concatenate(self._model.predict(docs))).astype(np.float64)
        if self._softmax.attrs["softmax_normalize"]:
            with np.errstate(divide="ignore"):  # a probability may have been rounded to 0
                scores = np.log(scores)
        else:  # the default: spaCy omits the softmax in prediction, since the best tag is the same
            scores /= self._softmax.attrs["softmax_temperature"]
        whole = log_softmax(scores, axis=1)
        summed: Floats = np.logaddexp.reduceat(whole[:, self._order], self._groups, axis=1)
        return summed


def load_pipeline(source: object) -> tuple[Language, str | None]:
    """Return a pipeline, and the name of its file if it was loaded."""
    # spaCy warns here if the versions of pipeline and library differ.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spacy = from_extra("spacy", "pipelines of spaCy need spaCy", "spacy")
        if isinstance(source, spacy.language.Language):
            return source, None
        if not isinstance(source, str | os.PathLike):
            message = f"path_or_pipeline is of type {type(source).__name__}"
            raise InputError(message, "pass a folder, a name or a pipeline", code="source")
        name = os.fspath(source)
        hint = "pass a folder written by spaCy, or the name of an installed pipeline"
        if not name or not (Path(name).exists() or spacy.util.is_package(name)):
            raise InputError("the spaCy pipeline does not exist", hint, code="file-missing", file=name)
        try:
            return spacy.load(source if isinstance(source, str) else Path(source)), name
        except Exception as error:  # components raise arbitrary errors for invalid files
            reason = str(error).strip().splitlines()[:1] or [type(error).__name__]
            message = f"spaCy cannot load the pipeline ({reason[0].partition('. ')[0]})"
            raise FormatError(message, hint, code="file-broken", file=name) from error


def _component_name(nlp: Language, column: Column, file: str | None) -> str:
    """Return the name of the first component with such tags."""
    wanted, other = ("tagger", "morphologizer") if column == "xpos" else ("morphologizer", "tagger")
    factories = {nlp.get_pipe_meta(name).factory: name for name in reversed(nlp.pipe_names)}
    if wanted in factories:
        return factories[wanted]
    message = f"the pipeline has no {wanted}, which column {column!r} needs"
    hint = f"its components are {', '.join(nlp.pipe_names) or 'none'}"
    if other in factories:
        hint = f"it has a {other}: use column={'upos' if column == 'xpos' else 'xpos'!r}"
    raise InputError(message, hint, code="parameter", file=file)


def _check_upstream(nlp: Language, name: str, model: Any, file: str | None) -> None:
    """Raise an error if a component's source of vectors is disabled."""
    from spacy.ty import ListenedToComponent

    before: list[tuple[str, Any]] = nlp.pipeline[: nlp.pipe_names.index(name)]
    sources = {source for source, component in before if isinstance(component, ListenedToComponent)}
    for layer in model.walk():
        upstream = getattr(layer, "upstream_name", None)
        if upstream is not None and not (sources if upstream == "*" else sources & {upstream}):
            # spaCy would take zeros for the vectors, and tag without a warning.
            wanted = "a component with vectors" if upstream == "*" else upstream
            message = f"the pipeline's {name} needs {wanted} before it, which is missing or disabled"
            raise InputError(message, "enable it, or load the whole pipeline", code="parameter", file=file)


def _softmax(model: Any, name: str, file: str | None) -> Any:
    layers = [layer for layer in model.walk() if "softmax_normalize" in layer.attrs]
    if len(layers) != 1:
        message = f"the pipeline's {name} does not end in one softmax"
        hint = "use a pipeline with spaCy's architecture spacy.Tagger"
        raise InputError(message, hint, code="undefined", file=file)
    return layers[0]


def _tag(label: str, column: Column) -> str:
    """Return a component's label in the format of CoNLL-U, with features sorted without regard to case."""
    if column == "xpos":
        return label
    features = dict(part.split("=", 1) for part in label.split("|")) if label != EMPTY else {}
    part_of_speech = features.pop("POS", EMPTY)
    if column == "upos":
        return part_of_speech
    return "|".join([part_of_speech, *(f"{key}={features[key]}" for key in sorted(features, key=str.lower))])
