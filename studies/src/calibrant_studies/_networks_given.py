"""The half of given logits: calibration of fine-tuned transformers, and the effect of recalibration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from calibrant_studies._base import Row, digest
from calibrant_studies._networks_chaos import chaos
from calibrant_studies._networks_claims import findings, measure_rows, parameter_rows, published_rows
from calibrant_studies._networks_classes import DEV, REPEATS, TEST, class_findings, class_rows
from calibrant_studies._networks_coverage import coverage_rows
from calibrant_studies._networks_data import networks, sources
from calibrant_studies._networks_half import Half
from calibrant_studies._networks_measure import BINS, NONE, Measured, measured, noise, top_bins
from calibrant_studies._networks_notes import balance_rows, code_rows, note_findings, trained_rows
from calibrant_studies._networks_page import arrange

DRAWS = 100
CURVES = (NONE, "temperature", "histogram")


def given(
    data: Path,
    seed: int,
    *,
    draws: int = DRAWS,
    sizes: Mapping[str, Any] | None = None,
    coverage: Mapping[str, Any] | None = None,
) -> Half:
    """Measure the given logits, recalibrate them on dev, and measure again on test.

    Parameters
    ----------
    data
        Folder that has ``nli-logits/``.
    seed
        Seed of all random draws.
    draws
        Samples of clusters of dev and test.
    sizes
        Sizes of the simulation of classes, as in `class_rows`; None for its defaults.
    coverage
        Sizes of `coverage_rows`; None for its defaults.
    """
    found = [measured(dev, test, draws, seed) for dev, test in networks(data)]
    people, of_people = chaos(data, found, seed)
    classes = class_rows(seed, **dict(sizes or {}))
    tables: dict[str, list[Row]] = {
        "given": measure_rows(found),
        "given-parameters": parameter_rows(found),
        "given-paper": published_rows(),
        "given-noise": _noise_rows(found, seed),
        "given-bins": _bin_rows(found),
        "given-people": people,
        "given-classes": classes,
        "given-coverage": coverage_rows(seed, **dict(coverage or {})),
        "notes-code": code_rows(found),
        "notes-balance": balance_rows(),
        "notes-trained": trained_rows(),
    }
    return Half(
        data={path.name: digest(path) for path in sources(data)},
        parameters={
            "bins": f"{BINS} of equal width",
            "given logits resampled": f"{draws} times",
            "clusters": "pictures (SNLI), premises (MNLI)",
            "simulated classes": f"{DEV:,} items of dev, {TEST:,} of test, {REPEATS} times",
        },
        findings=(*findings(found), *of_people, *class_findings(classes), *note_findings(tables)),
        tables=tables | arrange(tables),
    )


def _noise_rows(found: Sequence[Measured], seed: int) -> list[Row]:
    """The ECE that calibrated scores would have on as many items."""
    return [
        {
            "network": each.test.model,
            "seed": each.test.seed,
            "items": len(each.test),
            "ECE of calibrated scores": noise(each, "temperature", 500, seed),
        }
        for each in found
    ]


def _bin_rows(found: Sequence[Measured]) -> list[Row]:
    """The bins of the first seed of each network, for the figures."""
    return [
        {"network": each.test.model, "method": method, **row}
        for each in found
        if each.test.seed == 0
        for method in CURVES
        for row in top_bins(each.prob[method], each.test.labels).to_rows()
    ]
