"""Calibration of a parser's arcs, by relation, distance and genre, before and after a temperature.

Two treebanks of English and one of French; then counts of events from drawn trees against those from gold
trees (`calibrant_studies._trees_counts`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from calibrant import measure
from calibrant.metrics import Pairs
from calibrant.metrics.compare import accuracy
from calibrant.progress import Progress
from calibrant.structures import TreeText, load_dependency_model, load_tagger, read_trees, save_model
from calibrant.structures.files.english import english_about
from calibrant.structures.models import DependencyModel
from calibrant.structures.posterior.dependency_queries import DISTANCES, distance
from calibrant.structures.verbs.parser_training import (
    TAGGER_EPOCHS,
    label_temperature,
    together,
    trained_on_predicted_tags,
)
from calibrant.structures.verbs.parsing import fit_temperature
from calibrant.structures.verbs.tree_source import TreeRows, TreeSource, chosen_trees
from calibrant_studies import _trees_counts as counts
from calibrant_studies import _trees_coverage as coverage
from calibrant_studies._base import Finding, Row, Study, digest
from calibrant_studies._counts_checks import draws_of, ends
from calibrant_studies._kept_parts import KeptPart
from calibrant_studies.datasets._folders import real_data, required

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from calibrant.structures.models import CRFTagger, HMMTagger

SEED = 0
FOLDS = 5
STORE = "CALIBRANT_STORE"
FILES = {
    "EWT": "ud-english-ewt/en_ewt-ud-{}.conllu.gz",
    "GUM": "ud-english-gum/en_gum-ud-{}.conllu.gz",
    "Sequoia": "ud-french-sequoia/fr_sequoia-ud-{}.conllu.gz",
}
SEQUOIA = {
    "Europar": "parliament",
    "frwiki": "encyclopedia",
    "annodis": "newspaper",
    "emea": "medicine",
}
LEAST = 200  # words of a group
FEWEST = 5  # documents, with which a group has intervals
BINS = 15
WHEN = ("before", "after")


@dataclass(frozen=True)
class Words:
    """Words of a test set with the arc of the tree with the most expected correct arcs.

    Attributes
    ----------
    right, labels_right
        (N,) True if the head is right, and if the head and the relation are right.
    scores, labeled
        (N,) probabilities of the arcs, and of the arcs with their relations, before and after the
        temperatures.
    document, genre, relation
        (N,) of each word; the relation is the predicted one. A treebank that marks no documents has sentences
        in their place.
    distance
        (N,) places in `DISTANCES`.
    numbers
        Numbers of arcs of each relation by document, (documents, relations): in gold, in the trees, and
        expected after the temperatures.
    """

    right: NDArray[np.bool_]
    labels_right: NDArray[np.bool_]
    scores: Mapping[str, NDArray[np.float64]]
    labeled: Mapping[str, NDArray[np.float64]]
    document: NDArray[Any]
    genre: NDArray[Any]
    relation: NDArray[Any]
    distance: NDArray[np.int64]
    numbers: Mapping[str, NDArray[np.float64]]


@dataclass(frozen=True)
class Parser:
    """A parser at temperature 1, and the tagger of new texts."""

    model: DependencyModel
    tagger: CRFTagger | HMMTagger


def run(*, data: Path | None = None, seed: int = SEED, progress: Progress | None = None) -> Study:
    """Measure the English parser and one that is trained on French, and count; takes half an hour.

    The English models are those of the distribution calibrant-english. ``CALIBRANT_STORE`` names a folder
    that keeps the French parser and the counts, so that an interrupted study continues from them.

    Parameters
    ----------
    data
        Folder that has ``ud-english-ewt/``, ``ud-english-gum/`` and ``ud-french-sequoia/``.
    seed
        Seed of the order of sentences in the training, and of the draws.
    progress
        Called with a stage, the work done and the whole work.
    """
    kept = os.environ.get(STORE)
    if kept:
        return trees(data, store=Path(kept), seed=seed, progress=progress)
    with TemporaryDirectory() as folder:
        return trees(data, store=Path(folder), seed=seed, progress=progress)


def trees(data: Path | None, *, store: Path, seed: int = SEED, progress: Progress | None = None) -> Study:
    """Run the study; see `run`.

    Parameters
    ----------
    data, seed, progress
        As in `run`.
    store
        Folder of the parsers and of the counts of each document. Existing parts are reused; delete them to
        compute them again.

    Returns
    -------
    Study
    """
    folder = real_data("trees", data)
    store.mkdir(parents=True, exist_ok=True)
    paths = {
        (name, part): required(folder, file.format(part))
        for name, file in FILES.items()
        for part in ("train", "dev", "test")
        if (name, part) != ("EWT", "train")  # of GUM for the lexicon of the counts
    }
    models = counts.Models.load()
    parsers: dict[tuple[str, ...], Callable[[], Parser]] = {
        ("EWT", "GUM"): lambda: Parser(models.model, models.tagger),
        ("Sequoia",): lambda: _trained(paths["Sequoia", "train"], store, seed, progress),
    }
    tables: dict[str, list[Row]] = {}
    seconds = 0.0
    for names, parser_of in parsers.items():

        def arcs(names: tuple[str, ...] = names, parser_of: Callable[[], Parser] = parser_of) -> Row:
            began = time.perf_counter()
            texts = [{name: read_trees(paths[name, part]) for name in names} for part in ("dev", "test")]
            found = measured(parser_of(), *texts)
            return {"tables": found, "seconds": time.perf_counter() - began}

        settings = {"seed": seed, "least": LEAST, "models": english_about()["version"]}
        kept = KeptPart(f"trees-arcs-{'-'.join(names).lower()}.json", settings)
        part = kept.take(store, arcs)
        seconds += part["seconds"]
        for name, rows in part["tables"].items():
            tables.setdefault(name, []).extend(rows)
    counted = counts.collected(models, folder, store, seed, progress)
    tables["count-temperatures"] = counted.temperatures
    tables |= coverage.tables(counted, seed)
    return Study(
        name="trees",
        title="Calibration of the arcs of a dependency parser, and of counts of events from its trees",
        command="calibrant study trees",
        seed=seed,
        wall_seconds=seconds + counted.seconds,
        data={path.name: digest(path) for path in paths.values()},
        parameters={
            "English": "tagger and parser of calibrant-english",
            "French": f"parser with the default settings; UPOS by a CRF ({TAGGER_EPOCHS} epochs), in {FOLDS} "
            "folds for the training",
            "groups": f"at least {LEAST} words",
            "clusters": "documents; sentences of Sequoia, which marks no documents",
            **counts.PARAMETERS,
        },
        findings=(*findings(tables), *coverage.findings(tables)),
        tables=tables,
    )


def _trained(path: Path, store: Path, seed: int, progress: Progress | None) -> Parser:
    """Train a parser and a tagger of French, or load those that are kept."""
    files = [store / f"trees-french-{seed}-{what}.model" for what in ("parser", "tagger")]
    if not all(file.exists() for file in files):
        text = read_trees(path, require_tags=True)
        model, crf, _ = trained_on_predicted_tags(DependencyModel(seed=seed), text, FOLDS, seed, progress)
        save_model(crf, files[1])
        save_model(model, files[0])
    return Parser(load_dependency_model(files[0]), load_tagger(files[1]))


def measured(
    parser: Parser, dev: Mapping[str, TreeText], test: Mapping[str, TreeText]
) -> dict[str, list[Row]]:
    """Return the tables of the arcs, for a trained parser.

    Parameters
    ----------
    parser
        Parser at temperature 1.
    dev, test
        Texts with gold trees, by treebank.
    """
    text = together(list(dev.values()))
    source = TreeSource(text, parser.model, parser.tagger.predict(text.sentences))
    of_arcs = fit_temperature(source).temperature
    of_labels = label_temperature(source)
    found: list[Row] = []
    curves: list[Row] = []
    points: list[Row] = []
    numbers: list[Row] = []
    for name, text in test.items():
        tags = parser.tagger.predict(text.sentences)
        # The English tags have some features after the part of speech.
        pairs = zip(chain(*tags), chain(*(text.tags or [])), strict=True)
        right_tags = [tag.partition("|")[0] == gold for tag, gold in pairs]
        losses: dict[str, float] = {}
        words = _words(name, text, parser.model, tags, (of_arcs, of_labels), losses)
        found.append(
            {
                "treebank": name,
                "words": len(words.right),
                "tags right, %": 100 * float(np.mean(right_tags)),
                "unlabeled, %": _percent(words.right, words.document),
                "labeled, %": _percent(words.labels_right, words.document),
                "temperature": of_arcs,
                "of labels": of_labels,
                "log loss before": losses["before"],
                "log loss after": losses["after"],
            }
        )
        every = np.full(len(words.right), "all")
        for kind, values, right, scores in (
            ("all", every, words.right, words.scores),
            ("labeled", every, words.labels_right, words.labeled),
            ("distance", np.array(DISTANCES)[words.distance], words.right, words.scores),
            ("genre", words.genre, words.right, words.scores),
            ("relation", words.relation, words.right, words.scores),
            ("labeled relation", words.relation, words.labels_right, words.labeled),
        ):
            order = DISTANCES if kind == "distance" else _by_size(values)
            points += list(_groups(name, kind, values, order, right, scores, words.document))
        curves += list(_curve(name, words))
        numbers += list(_numbers(name, words, parser.model.relations))
    tables = {"attachment": found, "points": points, "curves": curves, "numbers": numbers}
    return {**tables, **arranged(tables)}


def arranged(found: Mapping[str, list[Row]]) -> dict[str, list[Row]]:
    """Return the tables of the page: a row per group, with errors and intervals as text."""
    tables: dict[str, list[Row]] = {}
    for kind, column, title in (
        ("all", "", "errors"),
        ("labeled", "", "labeled"),
        ("distance", "distance", "distances"),
        ("genre", "genre", "genres"),
        ("relation", "relation", "relations"),
        ("labeled relation", "relation", "labeled-relations"),
    ):
        tables[title] = [_shown(row, column) for row in found["points"] if row["kind"] == kind]
    tables["page-numbers"] = [
        {
            **{key: row[key] for key in ("treebank", "relation", "gold", "trees")},
            "trees less gold, %": f"{row['trees, %']:+.1f} "
            f"[{row['trees low']:+.1f}, {row['trees high']:+.1f}]",
            "expected": f"{row['expected']:,.1f}",
            "expected less gold, %": f"{row['expected, %']:+.1f} "
            f"[{row['expected low']:+.1f}, {row['expected high']:+.1f}]",
        }
        for row in found["numbers"]
    ]
    return tables


def _shown(row: Row, kind: str) -> Row:
    group = {kind: row["group"]} if kind else {}
    errors = {
        f"{what} {when}": _text(row[f"{what} {when}"], row[f"{low} {when}"], row[f"{high} {when}"])
        for what, low, high in (("mean error", "mean low", "mean high"), ("error", "low", "high"))
        for when in WHEN
    }
    right = f"{row['right, %']:.1f}"
    return {"treebank": row["treebank"], **group, "words": row["words"], "right, %": right, **errors}


def _text(value: float | None, low: float | None, high: float | None) -> str:
    if value is None:
        return "–"
    ends = "" if low is None or high is None else f" [{low:.1f}, {high:.1f}]"
    return f"{value:.1f}{ends}"


def _words(
    name: str,
    text: TreeText,
    model: DependencyModel,
    tags: list[list[str]],
    temperatures: tuple[float, float],
    losses: dict[str, float],
) -> Words:
    """Return the words of a text; the trees are those of temperature 1, so that only scores change."""
    chosen = chosen_trees(TreeSource(text, model, tags))
    losses["before"] = float(chosen.log_loss.mean())
    gold_heads, gold_labels = TreeRows(TreeSource(text, model, tags), chosen, "head", "sentence").gold
    arcs, labeled, loss, expected = [], [], [], []
    start = 0
    for part, posterior in TreeSource(text, model.tempered(*temperatures), tags).blocks(labels=True):
        loss.append(-posterior.log_probability(list(chain.from_iterable((text.heads or [])[part]))))
        for marginal, given in zip(posterior.marginals(), posterior.labels, strict=True):
            words = np.arange(len(marginal))
            heads, labels = (own[start : start + len(words)] for own in (chosen.heads, chosen.labels))
            arcs.append(marginal[words, heads])
            # Log-potentials of labels are normalized.
            share = np.exp(given)
            labeled.append(arcs[-1] * share[words, heads, labels])
            expected.append(np.einsum("ij,ijl->l", marginal, share))
            start += len(words)
    losses["after"] = float(np.concatenate(loss).mean())
    lengths = [len(sentence) for sentence in text.sentences]
    documents = np.repeat(np.array(text.document_ids or text.sentence_ids), lengths)
    place = np.concatenate([np.arange(length) for length in lengths])
    right = chosen.heads == gold_heads
    names, of_word = np.unique(documents, return_inverse=True)
    of_sentence = of_word[np.cumsum(lengths) - 1]
    shape = len(names), len(model.relations)
    numbers = {kind: np.zeros(shape) for kind in ("gold", "trees", "expected")}
    known = gold_labels >= 0
    np.add.at(numbers["gold"], (of_word[known], gold_labels[known]), 1)
    np.add.at(numbers["trees"], (of_word, chosen.labels), 1)
    np.add.at(numbers["expected"], of_sentence, np.array(expected))
    return Words(
        right=right,
        labels_right=right & (chosen.labels == gold_labels),
        scores={"before": chosen.arc, "after": np.minimum(np.concatenate(arcs), 1.0)},
        labeled={"before": chosen.labeled, "after": np.minimum(np.concatenate(labeled), 1.0)},
        document=documents,
        genre=np.array([genre_of(name, document) for document in documents.tolist()]),
        relation=np.array(model.relations)[chosen.labels],
        distance=distance(place, chosen.heads),
        numbers=numbers,
    )


def genre_of(treebank: str, document: str) -> str:
    """Return the genre in the name of a document, or of a sentence of Sequoia.

    Examples
    --------
    >>> genre_of("GUM", "GUM_news_asylum"), genre_of("EWT", "weblog-blogspot.com_zentelligence")
    ('news', 'weblog')
    >>> genre_of("Sequoia", "emea-fr-test_00011")
    'medicine'
    """
    if treebank == "Sequoia":
        return next(genre for prefix, genre in SEQUOIA.items() if document.startswith(prefix))
    return document.split("_")[1] if treebank == "GUM" else document.partition("-")[0]


def _by_size(values: NDArray[Any]) -> list[str]:
    names, counts = np.unique(values, return_counts=True)
    return [str(names[place]) for place in np.argsort(-counts, kind="stable")]


def _groups(
    treebank: str,
    kind: str,
    values: NDArray[Any],
    order: Any,
    right: NDArray[np.bool_],
    scores: Mapping[str, NDArray[np.float64]],
    document: NDArray[Any],
) -> Iterator[Row]:
    """Yield a row per group of words that is large enough."""
    for name in order:
        inside = values == name
        if inside.sum() < LEAST:
            continue
        own = {when: scores[when][inside] for when in WHEN}
        yield {
            "kind": kind,
            "treebank": treebank,
            "group": name,
            "words": int(inside.sum()),
            "right, %": 100 * float(right[inside].mean()),
            **_errors(right[inside], own, document[inside]),
        }


def _errors(
    right: NDArray[np.bool_], scores: Mapping[str, NDArray[np.float64]], document: NDArray[Any]
) -> Row:
    """Return the mean errors (probability minus proportion right) and calibration errors, in points."""
    row: Row = {}
    enough = len(np.unique(document)) >= FEWEST
    for when in WHEN:
        found = measure(right.astype(int), scores[when], clusters=document)["binary"]
        mean, error = found.mean_error, found.calibration_error
        row[f"mean error {when}"] = 100 * mean.estimate if mean.estimate is not None else None
        row[f"mean low {when}"] = _points(mean.low, enough)
        row[f"mean high {when}"] = _points(mean.high, enough)
        row[f"error {when}"] = 100 * error.estimate if error.estimate is not None else None
        row[f"low {when}"] = _points(error.low, enough)
        row[f"high {when}"] = _points(error.high, enough)
    return row


def _points(value: float | None, enough: bool) -> float | None:
    return 100 * value if value is not None and enough else None


def _percent(right: NDArray[np.bool_], documents: NDArray[Any]) -> str:
    _, cluster = np.unique(documents, return_inverse=True)
    zeros = np.zeros(len(right))
    found = accuracy(right, Pairs(zeros, zeros, None, cluster, int(cluster.max()) + 1), 0.95)
    assert found.estimate is not None
    assert found.low is not None
    assert found.high is not None
    return f"{100 * found.estimate:.1f} [{100 * found.low:.1f}, {100 * found.high:.1f}]"


def _numbers(treebank: str, words: Words, relations: Sequence[str]) -> Iterator[Row]:
    """Yield the number of arcs of each frequent relation, expected and in trees, against gold."""
    gold = words.numbers["gold"]
    weight = draws_of(len(gold), SEED)
    for place in np.argsort(-gold.sum(axis=0), kind="stable"):
        own = gold[:, place]
        if own.sum() < LEAST:
            break
        row: Row = {"treebank": treebank, "relation": relations[place], "gold": int(own.sum())}
        for kind in ("trees", "expected"):
            values = words.numbers[kind][:, place]
            error = 100 * (weight @ (values - own)) / np.maximum(weight @ own, 1)
            row[kind] = int(values.sum()) if kind == "trees" else float(values.sum())
            row[f"{kind}, %"] = float(100 * (values - own).sum() / own.sum())
            row[f"{kind} low"], row[f"{kind} high"] = ends(error)
        yield row


def _curve(treebank: str, words: Words) -> Iterator[Row]:
    """Yield bins of equal counts of the scores, before and after."""
    for when in WHEN:
        order = np.argsort(words.scores[when], kind="stable")
        for part in np.array_split(order, BINS):
            yield {
                "treebank": treebank,
                "scores": when,
                "mean score": float(words.scores[when][part].mean()),
                "right": float(words.right[part].mean()),
                "words": len(part),
            }


def findings(tables: Mapping[str, list[Row]]) -> tuple[Finding, ...]:
    """Return the numbers of the page; no paper has them."""
    found = []
    for row in tables["points"]:
        if row["kind"] in ("all", "labeled"):
            what, prefix = ("arcs", "") if row["kind"] == "all" else ("labeled arcs", "labeled-")
            for when in WHEN:
                found.append(
                    Finding(
                        f"{prefix}error-{when}-{row['treebank']}",
                        f"{row['treebank']}: calibration error of {what} {when} the temperature, points",
                        row[f"error {when}"],
                        row[f"low {when}"],
                        row[f"high {when}"],
                        note="inverted test, documents as clusters",
                    )
                )
    for kind in ("relation", "distance", "genre"):
        for name in FILES:
            rows = [
                row
                for row in tables["points"]
                if (row["kind"], row["treebank"]) == (kind, name) and row["low after"] is not None
            ]
            if rows:
                worst = max(rows, key=lambda row: float(row["low after"]))
                found.append(
                    Finding(
                        f"worst-{kind}-{name}",
                        f"{name}: error after the temperature of the worst {kind}, {worst['group']}, points",
                        worst["error after"],
                        worst["low after"],
                        worst["high after"],
                        note="the largest lower end of an interval, chosen after looking",
                    )
                )
    return tuple(found)


def figures(study: Study) -> dict[str, Figure]:
    """Draw the curves before and after the temperature, the mean errors by distance and genre, and counts."""
    from calibrant.plots import style

    figure, axes = style.new_figure(9.6, 5.4, columns=3)
    for place, name in enumerate(FILES):
        look = style.series(place)
        for when, marker, line in (("before", "none", "--"), ("after", look.marker, "-")):
            rows = [
                row for row in study.tables["curves"] if row["treebank"] == name and row["scores"] == when
            ]
            score, right = ([row[key] for row in rows] for key in ("mean score", "right"))
            label = f"{name}, {when}"
            axes[0].plot(
                score, right, color=look.color, marker=marker, markersize=3.5, linestyle=line, label=label
            )
    axes[0].plot([0, 1], [0, 1], color=style.MUTED, linewidth=0.8)
    axes[0].set_xlabel("mean probability of the arc")
    axes[0].set_ylabel("proportion with the right head")
    axes[0].legend(frameon=False, fontsize=7, loc="upper left")
    for ax, kind in ((axes[1], "distance"), (axes[2], "genre")):
        rows = [row for row in study.tables["points"] if row["kind"] == kind]
        for at, row in enumerate(rows):
            for when, color, shift in (("before", style.MUTED, -0.15), ("after", None, 0.15)):
                look = style.series(list(FILES).index(row["treebank"]))
                if row[f"mean low {when}"] is not None:
                    ends = [row[f"mean low {when}"], row[f"mean high {when}"]]
                    ax.plot(ends, [at + shift] * 2, color=color or look.color, linewidth=1.0)
                ax.plot(
                    row[f"mean error {when}"],
                    at + shift,
                    color=color or look.color,
                    marker=look.marker,
                    markersize=3.5,
                    linestyle="none",
                )
        ax.axvline(0, color=style.INK, linewidth=0.8)
        ax.set_yticks(range(len(rows)), [f"{row['treebank']}, {row['group']}" for row in rows])
        ax.tick_params(axis="y", labelsize=6.5)
        ax.set_ylim(len(rows) - 0.4, -0.6)
        ax.set_xlabel("mean error, points")
        style.grid(ax, "x")
    return {"errors": figure, "counts": coverage.figure(study.tables)}
