"""The uncertainty that documents of the events study share: a recalibrator fitted to GUM, and its effect."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calibrant.estimation.total import RefittedRecalibrator
from calibrant.recalibrate import LabelledScores, Platt
from calibrant_studies._base import Row
from calibrant_studies._events_dev import SAMPLES, dev_rows, of_force

REFITS = 200
CLIP = 1 / (2 * SAMPLES)  # limit of a probability estimated from S samples
EDGES = (0.0, 0.1, 0.3, 0.7, 0.9, 0.995, 1.0)


def labelled_scores(rows: Sequence[Row]) -> LabelledScores:
    """Return the pairs that the recalibrator is fitted to; documents are the clusters."""
    used = dev_rows(rows)
    names = {name: place for place, name in enumerate(sorted({row["document"] for row in used}))}
    return LabelledScores(
        np.array([row["score"] for row in used]),
        np.array([row["label"] for row in used]),
        clusters=np.array([names[row["document"]] for row in used]),
    )


def recalibrator(rows: Sequence[Row], seed: int) -> RefittedRecalibrator:
    """Fit Platt scaling, and refit it to documents drawn with replacement."""
    return RefittedRecalibrator(Platt(clip=CLIP), labelled_scores(rows), refits=REFITS, seed=seed)


def label_rows(rows: Sequence[Row]) -> list[Row]:
    """Return the sizes of the labeled documents, for every verb and for the verbs of force alone."""
    found = []
    for name, chosen in (("every verb in turn", rows), ("the verbs of force", of_force(rows))):
        scored = dev_rows(chosen)
        found.append(
            {
                "verbs": name,
                "documents": len({row["document"] for row in chosen}),
                "triples with a score": len(scored),
                "positive": sum(row["label"] for row in scored),
                "expected": float(sum(row["score"] for row in scored)),
                "gold alone": sum(row["score"] == 0 for row in chosen),
                "scores of 1": sum(row["score"] == 1 for row in scored),
                "scores in 0.25-0.75": sum(0.25 <= row["score"] <= 0.75 for row in scored),
            }
        )
    return found


def map_rows(recalibrated: RefittedRecalibrator) -> list[Row]:
    """The fitted map at some probabilities, with the central 95 % of the refits."""
    scores = np.array([0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0])
    fitted = recalibrated.probabilities(scores)
    refits = np.stack(list(recalibrated.refitted_probabilities(scores)))
    low, high = np.quantile(refits, (0.025, 0.975), axis=0)
    return [
        {"score": float(score), "recalibrated": float(one), "low": float(below), "high": float(above)}
        for score, one, below, above in zip(scores, fitted, low, high, strict=True)
    ]


def bin_rows(rows: Sequence[Row]) -> list[Row]:
    """Return binned scores and the fraction that gold confirms."""
    used = dev_rows(rows)
    score = np.array([row["score"] for row in used])
    label = np.array([row["label"] for row in used])
    place = np.digitize(score, EDGES[1:-1])
    return [
        {
            "scores": f"{EDGES[at]:g} to {EDGES[at + 1]:g}",
            "triples": int((place == at).sum()),
            "mean score": float(score[place == at].mean()),
            "in gold": float(label[place == at].mean()),
        }
        for at in range(len(EDGES) - 1)
        if (place == at).any()
    ]
