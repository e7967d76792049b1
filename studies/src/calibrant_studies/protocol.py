"""The lecture's protocol on real references: labels of many annotators, and the systems of a shared task.

Snow et al. (2008) asked ten people for a label of each item, in tasks that experts had labeled before. The
shared task of WNUT 2017 published the outputs of its seven systems beside the reference.
"""

from __future__ import annotations

import csv
import gzip
import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Literal

import numpy as np

from calibrant.evaluation import Protocol, Ratings, agree, agreement, protocol
from calibrant.seeds import generator_of
from calibrant_studies._base import Finding, Row, Study, digest
from calibrant_studies._surface_coverage import coverage_rows
from calibrant_studies._verdicts import above, between
from calibrant_studies.datasets._folders import real_data, required

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Distance = Literal["nominal", "interval"]

SEED = 20261123
CROWD, SHARED = "crowd-labels", "wnut17"
EMOTIONS = ("anger", "disgust", "fear", "joy", "sadness", "surprise")
TASKS: Mapping[str, tuple[str, Distance]] = {
    "rte": ("entailment: yes, no", "nominal"),
    "temp": ("before, after", "nominal"),
    "wsd": ("one of three senses", "nominal"),
    **dict.fromkeys(EMOTIONS, ("0 to 100", "interval")),
    "valence": ("-100 to 100", "interval"),
    "wordsim": ("0 to 10", "interval"),
}
TYPES = ("person", "location", "group", "creative-work", "corporation", "product")
# Entity F1 and surface F1, %, in the results of the task: Derczynski et al. (2017), W17-4418.
PUBLISHED = {
    "arcada": (39.98, 37.77),
    "drexel-cci": (26.30, 25.26),
    "flytxt": (38.35, 36.31),
    "mic-cis": (37.06, 34.25),
    "sjtu-adapt": (40.42, 37.62),
    "spinningbytes": (40.78, 39.33),
    "uh-ritual": (41.86, 40.24),
}
METRICS = {"entity_f1": "entity F1", "surface_f1": "surface F1"}
VOTES: Mapping[Distance, tuple[int, ...]] = {"nominal": (1, 3, 5, 10), "interval": (1, 10)}
EXPERT_SCALE = {"wordsim": 2.5}  # experts gave 0 to 4, annotators 0 to 10
ROUNDING = 0.0051  # of two decimals; 37.625 is rounded to 37.62
REPLICATIONS = 100
SIZES, RECURRING = (200, 1287), (0.1, 0.3)


def run(*, data: Path | None = None, seed: int = SEED) -> Study:
    """Measure annotators and systems; takes some minutes.

    Parameters
    ----------
    data
        Folder that has ``crowd-labels/`` and ``wnut17/``.
    seed
        Seed of the resampled tests and of the simulated sentences.

    Returns
    -------
    Study
        With tables ``annotators``, ``votes``, ``systems``, ``pairs`` and ``coverage``.

    Raises
    ------
    InputError
        If there is no folder, or a file is missing.

    Examples
    --------
    >>> run()
    Traceback (most recent call last):
    calibrant.exceptions.InputError: the study protocol needs real data: run `calibrant data fetch ...
    """
    data = real_data("protocol", data)
    started = time.perf_counter()
    files = sources(data)
    found = shared_task(data, seed)
    tables = {
        "annotators": [annotator_row(data, task) for task in TASKS],
        "votes": [row for task in TASKS if task not in EMOTIONS for row in vote_rows(data, task, seed)],
        "systems": system_rows(found),
        "pairs": pair_rows(found),
        "coverage": coverage_rows(seed, REPLICATIONS, SIZES, RECURRING),
    }
    return Study(
        name="protocol",
        title="The evaluation protocol of the lecture on real references",
        command="calibrant study protocol",
        seed=seed,
        wall_seconds=time.perf_counter() - started,
        data={f"{path.parent.name}/{path.name}": digest(path) for path in files},
        parameters={
            "level": found.level,
            "samples": found.samples,
            "replications": REPLICATIONS,
        },
        findings=tuple(findings(tables)),
        tables=tables,
    )


def sources(data: Path) -> list[Path]:
    """Every file that the study reads."""
    outputs = ["test", *(f"system-{system}" for system in PUBLISHED)]
    files = [_labels(task) for task in TASKS] + [f"{SHARED}/{name}.conll.gz" for name in outputs]
    return [required(data, file) for file in files]


def _labels(task: str) -> str:
    return f"{CROWD}/{task}.tsv.gz"


def shared_task(data: Path, seed: int, *, samples: int = 2_000) -> Protocol:
    """Evaluate the systems of the shared task as `calibrant protocol` does."""
    labels = ["O", *(f"{mark}-{kind}" for kind in TYPES for mark in "BI")]

    def text(value: object) -> str:
        return json.dumps(value, ensure_ascii=False)

    folder = (data / SHARED).absolute()
    lines = [
        "[task]",
        'name = "Emerging entities of WNUT 2017"',
        f"labels = {text(labels)}",
        "[reference]",
        f"file = {text(str(folder / 'test.conll.gz'))}",
    ]
    for system in PUBLISHED:
        file = folder / f"system-{system}.conll.gz"
        lines += ["[[systems]]", f"name = {text(system)}", f"file = {text(str(file))}"]
    lines += ["[evaluation]", f"metrics = {text(list(METRICS))}", f"samples = {samples}", f"seed = {seed}"]
    with TemporaryDirectory() as place:
        file = Path(place) / "eval.toml"
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return protocol(file)


def annotator_row(data: Path, task: str) -> Row:
    """Measure the agreement of all annotators of a task, as `calibrant agree` prints it."""
    scale, distance = TASKS[task]
    found = agree(
        data / _labels(task),
        item="orig_id",
        annotator="!amt_worker_ids",
        label="response",
        distance=distance,
        disputed=0,
    )
    alpha = found.krippendorff_alpha
    return {
        "task": task,
        "scale": scale,
        "items": found.items,
        "annotators": found.annotators,
        "alpha": alpha.estimate,
        "alpha, low": alpha.low,
        "alpha, high": alpha.high,
        "raw agreement": found.raw_agreement.estimate if distance == "nominal" else None,
    }


def vote_rows(data: Path, task: str, seed: int) -> list[Row]:
    """Measure the agreement of the experts with labels of each item that are drawn at random and combined.

    The order of the files is not random: labels in the first column equal the experts' more often.
    """
    _, distance = TASKS[task]
    given, gold = labels_of(data / _labels(task))
    rng = generator_of(seed, task)
    given = {item: rng.permutation(labels).tolist() for item, labels in given.items()}
    scale = EXPERT_SCALE.get(task, 1.0)
    expert: dict[str, str | float] = {
        item: float(label) * scale if distance == "interval" else label for item, label in gold.items()
    }
    rows: list[Row] = []
    for votes in VOTES[distance]:
        joint = {item: combined(labels[:votes], distance) for item, labels in given.items()}
        items = [*joint, *expert]
        names = ["crowd"] * len(joint) + ["expert"] * len(expert)
        ratings = Ratings.from_table(items, names, [*joint.values(), *expert.values()])
        found = agreement(ratings, distance=distance)
        row: Row = {"task": task, "labels per item": votes, "items": found.items}
        equal = found.raw_agreement if distance == "nominal" else None
        for name, number in (("alpha with experts", found.krippendorff_alpha), ("equal to experts", equal)):
            ends = (None, None, None) if number is None else (number.estimate, number.low, number.high)
            row |= dict(zip((name, f"{name}, low", f"{name}, high"), ends, strict=True))
        rows.append(row)
    return rows


def labels_of(path: Path) -> tuple[dict[str, list[str]], dict[str, str]]:
    """Labels of each item in the order of the file, and the experts' label."""
    given: dict[str, list[str]] = {}
    expert: dict[str, str] = {}
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            given.setdefault(row["orig_id"], []).append(row["response"])
            expert[row["orig_id"]] = row["gold"]
    return given, expert


def combined(labels: Sequence[str], distance: Distance) -> str | float:
    """Return the most frequent label, the first of equally frequent ones; of a scale the mean."""
    if distance == "interval":
        return float(np.mean([float(label) for label in labels]))
    return Counter(labels).most_common(1)[0][0]


def system_rows(found: Protocol) -> list[Row]:
    """Both scores of each system in percent, beside the published ones."""
    rows: list[Row] = []
    for system in found.systems:
        row: Row = {"system": system.name}
        for published, (metric, title) in zip(PUBLISHED[system.name], METRICS.items(), strict=True):
            value = system.values[metric]
            row |= {f"{title}, published": published, title: _percent(value.estimate)}
            row |= {f"{title}, low": _percent(value.low), f"{title}, high": _percent(value.high)}
        rows.append(row)
    return sorted(rows, key=lambda row: -float(row["entity F1"]))


def pair_rows(found: Protocol) -> list[Row]:
    """All pairs of systems by both scores, in percentage points."""
    return [
        {
            "score": METRICS[comparison.metric],
            "units": comparison.units,
            "first": pair.first,
            "second": pair.second,
            "difference": _percent(pair.difference.estimate),
            "low": _percent(pair.difference.low),
            "high": _percent(pair.difference.high),
            "p": pair.p_value,
            "p (Holm)": pair.holm_p_value,
            "better": pair.better,
        }
        for comparison in found.comparisons
        for pair in comparison.pairs
    ]


def _percent(value: float | None) -> float | None:
    return None if value is None else 100 * value


def findings(tables: Mapping[str, Sequence[Row]]) -> Iterator[Finding]:
    """Yield the study's numbers beside the published ones, from its tables."""
    for row in tables["systems"]:
        for title in METRICS.values():
            published = row[f"{title}, published"]
            yield Finding(
                f"{row['system']}/{title.replace(' ', '-')}",
                f"{row['system']}: {title} of this output, %",
                row[title],
                row[title],
                row[title],
                published,
                note="the published number is rounded to 0.01; interval over sentences like these "
                f"[{row[f'{title}, low']:.1f}, {row[f'{title}, high']:.1f}]",
                claim=between(published - ROUNDING, published + ROUNDING),
            )
    for title in METRICS.values():
        yield from _of_pairs(title, [row for row in tables["pairs"] if row["score"] == title])
    for row in tables["annotators"]:
        yield Finding(
            f"{row['task']}/alpha",
            f"{row['task']}: Krippendorff's alpha of {row['annotators']} annotators",
            row["alpha"],
            row["alpha, low"],
            row["alpha, high"],
            note=f"{row['items']} items; {row['scale']}",
        )


def _of_pairs(title: str, rows: Sequence[Row]) -> Iterator[Finding]:
    ranked = sorted(PUBLISHED, key=lambda name: -PUBLISHED[name][list(METRICS.values()).index(title)])
    first, second = ranked[:2]
    row = next(row for row in rows if {row["first"], row["second"]} == {first, second})
    turned = row["first"] != first
    ends = (-row["high"], -row["low"]) if turned else (row["low"], row["high"])
    yield Finding(
        f"lead/{title.replace(' ', '-')}",
        f"{title}: {first} minus {second}, the published first and second, percentage points",
        -row["difference"] if turned else row["difference"],
        *ends,
        f"{first} ranked first",
        note=f"paired; p {row['p']:.3f}, after Holm {row['p (Holm)']:.3f}; {row['units']:,} units",
        claim=above(0),
    )
    decided = [row["better"] for row in rows if row["better"] is not None]
    yield Finding(
        f"decided/{title.replace(' ', '-')}",
        f"{title}: pairs of systems, of {len(rows)}, that differ after Holm's correction",
        len(decided),
        note="better: " + ", ".join(f"{name} in {count}" for name, count in sorted(Counter(decided).items())),
    )


def figures(study: Study) -> dict[str, Figure]:
    """Draw both scores of all systems with their intervals.

    Examples
    --------
    >>> sorted(figures(run(data=Path("data"))))  # doctest: +SKIP
    ['systems']
    """
    from calibrant.plots import style

    rows = study.tables["systems"]
    figure, (ax,) = style.new_figure(6.4, 3.0)
    for place, title in enumerate(METRICS.values()):
        look = style.series(place)
        height = np.arange(len(rows)) + 0.2 * (place - 0.5)
        low, value, high = (
            np.array([row[f"{title}{end}"] for row in rows]) for end in (", low", "", ", high")
        )
        ax.errorbar(
            value,
            height,
            xerr=[value - low, high - value],
            fmt=look.marker,
            color=look.color,
            label=title,
            markersize=4,
        )
    ax.set_yticks(range(len(rows)), [row["system"] for row in rows])
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.set_xlabel("F1, % (95 % intervals by sentence)")
    style.grid(ax)
    style.legend_outside(ax)
    return {"systems": figure}
