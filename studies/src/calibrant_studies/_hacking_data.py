"""Gold labels and labels of language models: the populations of the study of conclusions."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from calibrant_studies._base import digest
from calibrant_studies.arrays import Floats
from calibrant_studies.datasets._folders import required

# Classes by the letters of the prompts' options, in their order there; None where letters name both.
OPTIONS: dict[str, tuple[str, ...] | None] = {
    "discourse": (
        "question",
        "answer",
        "agreement",
        "disagreement",
        "appreciation",
        "elaboration",
        "humor",
    ),
    "emotion": None,
    "ibc": ("Liberal", "Conservative", "Neutral"),
    "implicit_hate": (
        "white_grievance",
        "incitement",
        "inferiority",
        "irony",
        "stereotypical",
        "threatening",
    ),
    "persuasion": ("1.0",),
    "semeval_stance": ("Against", "Favor", "None"),
    "wiki_politeness": ("1", "0", "-1"),
}
TRUE = {"true": "1.0", "false": "0.0"}  # the answers of persuasion, in any case
FEWEST = 100  # items of a model; one model answered a single item of a task


@dataclass(frozen=True)
class Population:
    """Items of a task with a model's labels, seen as labels of one class.

    Attributes
    ----------
    task, model, label
        Task, model, and class.
    gold, predicted
        (items,) 1 where the gold label, or the model's label, is this class, else 0.
    """

    task: str
    model: str
    label: str
    gold: Floats
    predicted: Floats

    @property
    def prevalence(self) -> float:
        """Proportion of the class among gold labels."""
        return float(self.gold.mean())

    @property
    def rates(self) -> tuple[float, float]:
        """Proportions of the model's label where the gold label is another class, and where it is this."""
        return float(self.predicted[self.gold == 0].mean()), float(self.predicted[self.gold == 1].mean())

    @property
    def correlation(self) -> float:
        """Correlation of the model's label with the gold label."""
        return float(np.corrcoef(self.gold, self.predicted)[0, 1])


def files(data: Path) -> list[Path]:
    """Return the files of all tasks."""
    return [required(data, f"model-labels/{task}.tsv.gz") for task in OPTIONS]


def digests(data: Path) -> dict[str, str]:
    """Return the digests of the files."""
    return {f"model-labels/{path.name}": digest(path) for path in files(data)}


def populations(data: Path, task: str) -> Iterator[Population]:
    """Yield each class of each model of a task, except classes that the model names never or always.

    An answer outside the task's classes counts as a label of no class.

    Parameters
    ----------
    data
        Folder of all data sets.
    task
        One of `OPTIONS`.
    """
    with gzip.open(required(data, f"model-labels/{task}.tsv.gz"), "rt", encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    classes = OPTIONS[task] or tuple(sorted({row["gold"] for row in rows}))
    letters = {chr(ord("A") + place): name for place, name in enumerate(classes)}
    if OPTIONS[task] is None:
        letters = {name: name for name in classes}
    if task == "persuasion":
        letters = TRUE
    for model in sorted({row["model"] for row in rows}):
        own = [row for row in rows if row["model"] == model]
        if len(own) < FEWEST:
            continue
        gold = np.array([row["gold"] for row in own])
        answer = (row["label"].lower() if task == "persuasion" else row["label"] for row in own)
        predicted = np.array([letters.get(text, "") for text in answer])
        for name in classes:
            if 0 < (predicted == name).sum() < len(own):
                yield Population(task, model, name, (gold == name) * 1.0, (predicted == name) * 1.0)
