"""Data that ship with the package: predictions, example evaluations, dated texts and stores of events.

`predictions` are long prediction tables (``item``, ``score``, ``label``) of one of two classifiers of tweets
on one split of one of two sets; ``item`` is the line of the text in its source file, from 1.
`tagger_predictions` are predictions of a part-of-speech tagger, one row per word and tag.
``README.md`` beside the files describes their origin. `example` returns the files of whole evaluations.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from calibrant._checks import one_of

__all__ = [
    "EXAMPLES",
    "MODELS",
    "SETS",
    "SPLITS",
    "STORES",
    "EventReading",
    "dated_documents",
    "event_labels",
    "event_reading",
    "event_store",
    "example",
    "predictions",
    "tag_counts",
    "tagger_predictions",
]

FOLDER = Path(__file__).parent
SETS = ("dated", "100k")
MODELS = ("naive-bayes", "logistic-regression")
SPLITS = ("test", "dev")
STORES = (
    "current-events",
    "current-events-paper",
    "reuters-21578",
    "reuters-21578-paper",
    "socialist-worker",
    "socialist-worker-paper",
)
EXAMPLES = {
    "summaries": FOLDER / "summaries" / "eval.toml",
    "sentiment": FOLDER / "sentiment.toml",
}


def predictions(text_set: str = "dated", model: str = "naive-bayes", split: str = "test") -> Path:
    """Path of a shipped prediction table.

    Parameters
    ----------
    text_set
        ``"dated"``: tweets of 2009, split by time (6,004 test items). ``"100k"``: 28,902 test items
        whose labels go with the date, so that the models look better than they are.
    model
        ``"naive-bayes"`` or ``"logistic-regression"``.
    split
        ``"test"``, or ``"dev"`` for what is chosen or fitted before testing.

    Returns
    -------
    Path
        Path of a Parquet file in the installed package.

    Raises
    ------
    InputError
        If there is no such table.

    Examples
    --------
    >>> predictions("dated", "logistic-regression").name
    'sentiment-dated-logistic-regression.parquet'
    """
    one_of(text_set, SETS, "text_set")
    one_of(model, MODELS, "model")
    one_of(split, SPLITS, "split")
    suffix = "" if split == "test" else f"-{split}"
    return FOLDER / f"sentiment-{text_set}-{model}{suffix}.parquet"


def tagger_predictions(split: str = "test") -> Path:
    """Path of a shipped prediction table of a part-of-speech tagger: a long table with classes.

    A hidden Markov model of the 49 tags of the English Web Treebank, 25,000 words of web text a split.
    A row is a word (``item``) and a tag (``class``) whose probability is at least 0.01; sentences are the
    clusters.

    Parameters
    ----------
    split
        ``"test"``, or ``"dev"`` for what is fitted before testing.

    Returns
    -------
    Path
        Path of a Parquet file in the installed package.

    Raises
    ------
    InputError
        If there is no such split.

    Examples
    --------
    >>> from calibrant.io import open_predictions
    >>> open_predictions(tagger_predictions()).threshold
    0.01
    """
    one_of(split, SPLITS, "split")
    return FOLDER / f"tagger-{split}.parquet"


def tag_counts() -> Path:
    r"""Path of how often the tags of `tagger_predictions` occur in its training text: tag and count a line.

    Examples
    --------
    >>> tag_counts().read_text(encoding="utf-8").splitlines()[0]
    'NN\t26919'
    """
    return FOLDER / "tagger-train-counts.tsv"


def example(name: str = "summaries") -> Path:
    """Path of the file of an evaluation that ships with the package, for `calibrant protocol`.

    Parameters
    ----------
    name
        ``"summaries"``: sentences that a summary should keep, of a dozen short articles, labeled twice.
        ``"sentiment"``: the two classifiers of tweets.

    Returns
    -------
    Path
        Path of a TOML file in the installed package; the tables that it names are in the same folder.

    Raises
    ------
    InputError
        If there is no such evaluation.

    Examples
    --------
    >>> example("sentiment").name
    'sentiment.toml'
    """
    one_of(name, EXAMPLES, "name")
    return EXAMPLES[name]


def dated_documents() -> Path:
    """Path of a small dated corpus in CoNLL-U: 14 short texts on wars at sea, 1864 to 1866.

    They were written for this project, and have trees, mentions and entities. One holds markup that is
    hostile to whoever shows it without escaping.

    Examples
    --------
    >>> dated_documents().name
    'events.conllu'
    """
    return FOLDER / "events.conllu"


def event_store(name: str = "current-events") -> Path:
    """Path of a store of events that ships with the package: ids, dates and probabilities, no text.

    The commands on stores take these names where there is no such folder.

    Parameters
    ----------
    name
        ``"current-events"``: 111,870 short reports of 2002 to 2025. ``"socialist-worker"``: 6,714 articles of
        a partisan paper, 2001 to 2007. ``"reuters-21578"``: 21,578 stories of 58 days of 1987. With
        ``-paper`` after it: the same by the rules of the 2015 paper, instead of a list of verbs of force.

    Returns
    -------
    Path
        Path of a folder in the installed package.

    Raises
    ------
    InputError
        If there is no such store.

    Examples
    --------
    >>> from calibrant.events import EventStore
    >>> EventStore(event_store("reuters-21578")).document_count
    21578
    """
    one_of(name, STORES, "name")
    return FOLDER / "stores" / name


def event_labels() -> Path:
    """Return the path of labeled documents for the stores that ship: ``score``, ``label``, ``cluster``.

    They are documents of GUM with gold entities, each scored by a model that has not seen it, with one row
    per document, country and verb. Their use assumes that scores of the three corpora have the same quality.

    Examples
    --------
    >>> event_labels().name
    'event-labels.parquet'
    """
    return FOLDER / "stores" / "event-labels.parquet"


class EventReading(NamedTuple):
    """Result of reading documents about which a store is certain.

    Attributes
    ----------
    right
        In how many somebody of the country does what the verb says.
    read
        How many were drawn at random from those of a probability of at least 0.9, and read.
    """

    right: int
    read: int


def event_reading(name: str = "current-events") -> EventReading:
    """How many of the documents that a store is sure of are right, to one who reads them.

    Errors of the parser, the rules and the lexicon, which no interval has, show here.

    Parameters
    ----------
    name
        Name of a store as in `event_store`, without ``-paper``, because those were not read.

    Returns
    -------
    EventReading

    Raises
    ------
    InputError
        If no document of such a store was read.

    Examples
    --------
    >>> event_reading("reuters-21578").read
    25
    """
    readings = json.loads((FOLDER / "stores" / "readings.json").read_text(encoding="utf-8"))
    one_of(name, readings, "name")
    return EventReading(**readings[name])
