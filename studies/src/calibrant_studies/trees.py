"""Calibration of a parser's arcs, by relation, distance and genre, before and after a temperature."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from calibrant import measure
from calibrant.metrics import Pairs
from calibrant.metrics.compare import accuracy
from calibrant.progress import Progress
from calibrant.structures import TreeText, read_trees
from calibrant.structures.models import DependencyModel
from calibrant.structures.posterior import DependencyPosterior, fit_tree_temperature
from calibrant.structures.posterior.dependency_queries import DISTANCES, distance
from calibrant.structures.verbs.parser_training import TAGGER_EPOCHS, together, trained_on_predicted_tags
from calibrant.structures.verbs.tree_source import TreeSource, chosen_trees, potentials_of
from calibrant_studies._base import Finding, Row, Study, digest
from calibrant_studies.datasets._folders import required

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from calibrant.structures.models import CRFTagger

SEED = 0
FOLDS = 5
FILES = {
    "EWT": "ud-english-ewt/en_ewt-ud-{}.conllu.gz",
    "GUM": "ud-english-gum/en_gum-ud-{}.conllu.gz",
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
    right
        (N,) True if the head is right.
    scores
        (N,) probabilities of the arcs, before and after the temperature.
    document, genre, relation
        (N,) of each word; the relation is the predicted one.
    distance
        (N,) places in `DISTANCES`.
    """

    right: NDArray[np.bool_]
    scores: Mapping[str, NDArray[np.float64]]
    document: NDArray[Any]
    genre: NDArray[Any]
    relation: NDArray[Any]
    distance: NDArray[np.int64]


def run(*, data: Path | None = None, seed: int = SEED, progress: Progress | None = None) -> Study:
    """Train a parser on EWT and GUM, and measure it on their test sets; takes about six minutes.

    Parameters
    ----------
    data
        Folder that has ``ud-english-ewt/`` and ``ud-english-gum/``.
    seed
        Seed of the order of sentences in the training.
    progress
        Called with a stage, the work done and the whole work.
    """
    started = time.perf_counter()
    folder = Path() if data is None else data
    paths = {
        (name, part): required(folder, file.format(part))
        for name, file in FILES.items()
        for part in ("train", "dev", "test")
    }
    train = together([read_trees(paths[name, "train"], require_tags=True) for name in FILES])
    model, tagger, _ = trained_on_predicted_tags(DependencyModel(seed=seed), train, FOLDS, seed, progress)
    dev = {name: read_trees(paths[name, "dev"]) for name in FILES}
    test = {name: read_trees(paths[name, "test"]) for name in FILES}
    tables = measured(model, tagger, dev, test)
    return Study(
        name="trees",
        title="Calibration of the arcs of a dependency parser",
        command="calibrant study trees",
        seed=seed,
        wall_seconds=time.perf_counter() - started,
        data={path.name: digest(path) for path in paths.values()},
        parameters={
            "parser": f"{model.settings.epochs} epochs, 2^{model.settings.bits} weights, "
            f"l2 {model.settings.l2:g}",
            "tags": f"UPOS by a CRF ({TAGGER_EPOCHS} epochs), in {FOLDS} folds for the training",
            "groups": f"at least {LEAST} words",
            "clusters": "documents",
        },
        findings=findings(tables),
        tables=tables,
    )


def measured(
    model: DependencyModel,
    tagger: CRFTagger,
    dev: Mapping[str, TreeText],
    test: Mapping[str, TreeText],
) -> dict[str, list[Row]]:
    """Return the tables of the study, for a trained parser.

    Parameters
    ----------
    model, tagger
        Parser at temperature 1, and the tagger of new texts.
    dev, test
        Texts with gold trees, by treebank.
    """
    arcs, heads = [], []
    for text in dev.values():
        arcs += potentials_of(TreeSource(text, model, tagger.predict(text.sentences)))
        heads += list(chain.from_iterable(text.heads or []))
    fitted = fit_tree_temperature(DependencyPosterior(arcs), heads)
    found: list[Row] = []
    curves: list[Row] = []
    points: list[Row] = []
    for name, text in test.items():
        tags = tagger.predict(text.sentences)
        right_tags = [a == b for a, b in zip(chain(*tags), chain(*(text.tags or [])), strict=True)]
        losses: dict[str, float] = {}
        words = _words(name, text, model, tags, fitted.temperature, losses)
        labels = _labeled(text, model, tags)
        found.append(
            {
                "treebank": name,
                "words": len(words.right),
                "tags right, %": 100 * float(np.mean(right_tags)),
                "unlabeled, %": _percent(words.right, words.document),
                "labeled, %": _percent(labels, words.document),
                "temperature": fitted.temperature,
                "log loss before": losses["before"],
                "log loss after": losses["after"],
            }
        )
        for kind, values in (
            ("all", np.full(len(words.right), "all")),
            ("distance", np.array(DISTANCES)[words.distance]),
            ("genre", words.genre),
            ("relation", words.relation),
        ):
            order = DISTANCES if kind == "distance" else _by_size(values)
            points += list(_groups(name, kind, values, order, words))
        curves += list(_curve(name, words))
    return {"attachment": found, **arranged(points), "points": points, "curves": curves}


def arranged(points: list[Row]) -> dict[str, list[Row]]:
    """Return the tables of the page: a row per group, with errors and intervals as text."""
    tables: dict[str, list[Row]] = {}
    for kind, title in (("all", "errors"), ("distance", "distances"), ("genre", "genres")):
        tables[title] = [_shown(row, kind) for row in points if row["kind"] == kind]
    tables["relations"] = [_shown(row, "relation") for row in points if row["kind"] == "relation"]
    return tables


def _shown(row: Row, kind: str) -> Row:
    group = {} if kind == "all" else {kind: row["group"]}
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
    temperature: float,
    losses: dict[str, float],
) -> Words:
    """Return the words of a text; the trees are those of temperature 1, so that only scores change."""
    found = {}
    for when, value in zip(WHEN, (1.0, temperature), strict=True):
        found[when] = chosen_trees(TreeSource(text, model, tags, temperature=value))
        losses[when] = float(found[when].log_loss.mean())
    before = found["before"]
    scores = {"before": before.arc}
    after = TreeSource(text, model, tags, temperature=temperature)
    start, parts = 0, []
    for _, posterior in after.blocks():
        for own in posterior.marginals():
            parts.append(own[np.arange(len(own)), before.heads[start : start + len(own)]])
            start += len(own)
    scores["after"] = np.minimum(np.concatenate(parts), 1.0)
    gold = np.array(list(chain.from_iterable(text.heads or [])))
    lengths = [len(sentence) for sentence in text.sentences]
    documents = np.repeat(np.array(text.document_ids), lengths)
    place = np.concatenate([np.arange(length) for length in lengths])
    return Words(
        right=before.heads == gold,
        scores=scores,
        document=documents,
        genre=np.array([genre_of(name, document) for document in documents.tolist()]),
        relation=np.array(model.relations)[before.labels],
        distance=distance(place, before.heads),
    )


def genre_of(treebank: str, document: str) -> str:
    """Return the genre in the name of a document.

    Examples
    --------
    >>> genre_of("GUM", "GUM_news_asylum"), genre_of("EWT", "weblog-blogspot.com_zentelligence")
    ('news', 'weblog')
    """
    return document.split("_")[1] if treebank == "GUM" else document.partition("-")[0]


def _labeled(text: TreeText, model: DependencyModel, tags: list[list[str]]) -> NDArray[np.bool_]:
    found = chosen_trees(TreeSource(text, model, tags))
    heads = np.array(list(chain.from_iterable(text.heads or [])))
    relations = np.array(list(chain.from_iterable(text.relations or [])))
    both: NDArray[np.bool_] = (found.heads == heads) & (np.array(model.relations)[found.labels] == relations)
    return both


def _by_size(values: NDArray[Any]) -> list[str]:
    names, counts = np.unique(values, return_counts=True)
    return [str(names[place]) for place in np.argsort(-counts, kind="stable")]


def _groups(treebank: str, kind: str, values: NDArray[Any], order: Any, words: Words) -> Iterator[Row]:
    """Yield a row per group of words that is large enough."""
    for name in order:
        inside = values == name
        if inside.sum() < LEAST:
            continue
        yield {
            "kind": kind,
            "treebank": treebank,
            "group": name,
            "words": int(inside.sum()),
            "right, %": 100 * float(words.right[inside].mean()),
            **_errors(words, inside),
        }


def _errors(words: Words, inside: NDArray[np.bool_]) -> Row:
    """Return the mean errors (probability minus proportion right) and calibration errors, in points."""
    row: Row = {}
    enough = len(np.unique(words.document[inside])) >= FEWEST
    for when in WHEN:
        found = measure(
            words.right[inside].astype(int), words.scores[when][inside], clusters=words.document[inside]
        )["binary"]
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
        if row["kind"] == "all":
            for when in WHEN:
                found.append(
                    Finding(
                        f"error-{when}-{row['treebank']}",
                        f"{row['treebank']}: calibration error of arcs {when} the temperature, points",
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
    """Draw the curves before and after the temperature, and the mean errors by distance and genre."""
    from calibrant.plots import style

    figure, axes = style.new_figure(9.6, 4.4, columns=3)
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
    return {"errors": figure}
