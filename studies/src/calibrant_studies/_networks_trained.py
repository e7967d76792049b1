"""The half of trained networks: calibration by depth, width, batch normalization, weight decay and epoch.

It repeats figures 2 and 3 of Guo et al. (2017) on text: networks that classify headlines by topic and
tweets by sentiment. Their predictions ship with the package; training them again needs JAX.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from calibrant.progress import Progress
from calibrant.records import Quantity
from calibrant_studies._base import Finding, Row, digest, interval, number
from calibrant_studies._networks_half import Half
from calibrant_studies._networks_trained_effects import (
    GROUPS,
    WITH,
    WITHOUT,
    Measured,
    effects,
    effects_by_norm,
    levels,
    measure,
    over_seeds_and_texts,
    root,
)
from calibrant_studies._networks_trained_files import (
    BASE,
    BINS,
    LAST,
    NETWORKS,
    SEEDS,
    SETS,
    STOPPED,
    Trained,
    files,
    read,
    train_all,
)
from calibrant_studies._verdicts import above, below

PAPER = {
    "depth": "deeper is worse",
    "width": "wider is worse",
    "batch_norm": "batch normalization is worse",
    "weight_decay": "less weight decay is worse",
}
NOTE = "interval over trainings and test texts"
TITLES = {
    "ece": "ECE",
    "calibration_error": "calibration error",
    "error": "classification error",
    "loss": "log loss",
    "ece_after": "ECE after temperature scaling",
    "calibration_error_after": "calibration error after temperature scaling",
    "loss_after": "log loss after temperature scaling",
}


def trained(data: Path | None, seed: int, *, anew: bool = False, progress: Progress | None = None) -> Half:
    """Measure the networks that ship, or train them again.

    Parameters
    ----------
    data
        Folder that has ``reuters-21578/`` and ``sentiment/``; only training reads it.
    seed
        Seed of the groups of texts that the intervals leave out, and of the training.
    anew
        True to train the networks.
    progress
        Called with the number of networks that have been trained or measured.
    """
    if anew:
        assert data is not None
        sets = list(train_all(data, seed=seed, progress=progress))
    else:
        sets = [read(name) for name in SETS]
    measured = {each.name: measure(each, NETWORKS, LAST, seed=seed, progress=progress) for each in sets}
    stopped = {each.name: measure(each, BASE, STOPPED, seed=seed) for each in sets}
    findings = [
        finding
        for name in SETS
        for finding in (
            *_effect_findings(name, measured[name]),
            *_epoch_findings(name, measured[name], stopped[name]),
            _temperature_finding(name, measured[name]),
        )
    ]
    paths = [] if anew else [path for name in SETS for path in files(name)]
    read_files = {key: value for each in sets for key, value in each.about["data"].items()} if anew else {}
    tables = {
        "trained-effects": [row for name in SETS for row in _effect_rows(name, measured[name])],
        "trained-levels": [row for name in SETS for row in _level_rows(name, measured[name])],
        "trained-stopping": [
            row for name in SETS for row in stopping_rows(name, measured[name], stopped[name])
        ],
        "trained-networks": [row for name in SETS for row in _network_rows(name, measured[name])],
        "trained-epochs": [row for each in sets for row in _epoch_means(each)],
    }
    return Half(
        data=read_files | {path.name: digest(path) for path in paths},
        parameters=_parameters(sets, anew),
        findings=tuple(findings),
        tables=tables
        | {f"page-{name}": _shown(tables[name]) for name in ("trained-effects", "trained-stopping")},
    )


def _shown(rows: Sequence[Row]) -> list[Row]:
    """Rows for the page: each number with its interval in one cell."""
    arranged = []
    for row in rows:
        cells: Row = {}
        for key, value in row.items():
            if not key.endswith(("_low", "_high")):
                ends = interval(value, row.get(f"{key}_low"), row.get(f"{key}_high"))
                cells[TITLES.get(key, key)] = f"{number(value)} {ends}".strip()
        arranged.append(cells)
    return arranged


def _parameters(sets: Sequence[Trained], anew: bool) -> dict[str, str]:
    about = sets[0].about
    minutes = sum(each.about["seconds"] for each in sets) / 60
    busy = sum(each.about["processor_seconds"] for each in sets) / 60
    where = f"{about['machine']}; {about['libraries']}"
    return {
        "trained networks": f"{len(NETWORKS)} per set, {len(SEEDS)} times each, {about['epochs']} epochs",
        "training": f"{'in this run' if anew else 'shipped predictions'}, seed {about['seed']}, "
        f"{minutes:.0f} minutes ({busy:.0f} of the processor) on {where}",
        "groups of the jackknife": str(GROUPS),
        "bins of ECE": f"{BINS} of equal width",
    }


def _effect_findings(name: str, measured: Measured) -> list[Finding]:
    """State the paper's four claims: each effect on the debiased calibration error is above 0."""
    return [
        _finding(
            f"trained/{name}/{effect.name}",
            f"{name}: change of the debiased calibration error {effect.text}",
            over_seeds_and_texts(effect.of(measured.networks, measured.rms())),
            PAPER[effect.name],
            above=0,
        )
        for effect in effects()
    ]


def _epoch_findings(name: str, last: Measured, stopped: Measured) -> list[Finding]:
    """State the paper's third figure: after the best epoch the log loss rises, and the error does not."""
    loss, error = (
        over_seeds_and_texts((_of_base(last, key) - stopped.values[key]).mean(axis=0))
        for key in ("loss", "error")
    )
    since = "last epoch minus that of the lowest loss on dev"
    return [
        _finding(
            f"trained/{name}/overfit_loss",
            f"{name}: log loss, {since}",
            loss,
            "rises",
            above=0,
        ),
        _finding(
            f"trained/{name}/overfit_error",
            f"{name}: classification error, {since}",
            error,
            "falls from 0.29 to 0.27",
            below=0,
        ),
    ]


def _temperature_finding(name: str, measured: Measured) -> Finding:
    """State the fraction of the debiased calibration error that temperature scaling leaves."""
    left = measured.rms("_after").mean(axis=0) / measured.rms().mean(axis=0)
    return _finding(
        f"trained/{name}/temperature",
        f"{name}: fraction of the debiased calibration error that temperature scaling leaves",
        over_seeds_and_texts(left),
        "repairs: 0.28 of the ECE is left on SST",
        below=0.5,
    )


def _finding(name: str, text: str, found: Quantity, paper: str, **claim: float) -> Finding:
    stated = above(claim["above"]) if "above" in claim else below(claim["below"])
    return Finding(name, text, found.estimate, found.low, found.high, paper, note=NOTE, claim=stated)


def _of_base(measured: Measured, key: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return measured.values[key][[measured.networks.index(network) for network in BASE]]


def _effect_rows(name: str, measured: Measured) -> list[Row]:
    """Effects on calibration error, on ECE, on the classification error and on the log loss."""
    rows = []
    for effect in (*effects(), *effects_by_norm()):
        row: Row = {"set": name, "effect": effect.text}
        for key, values in (
            ("calibration_error", measured.rms()),
            ("calibration_error_after", measured.rms("_after")),
            ("error", measured.values["error"]),
            ("loss", measured.values["loss"]),
        ):
            row |= _with_ends(key, over_seeds_and_texts(effect.of(measured.networks, values)))
        row["ece"] = float(effect.of(measured.networks, measured.ece).mean())
        rows.append(row)
    return rows


def _level_rows(name: str, measured: Measured) -> list[Row]:
    """The lines of the paper's second figure."""
    rows = []
    for factor, value, norm, mean in levels():
        row: Row = {"set": name, "factor": factor.replace("_", " "), "value": value, "networks": norm}
        found = over_seeds_and_texts(mean.of(measured.networks, measured.rms()))
        row |= _with_ends("calibration_error", replace(found, low=max(0.0, found.low or 0.0)))
        row |= {"ece": float(mean.of(measured.networks, measured.ece).mean())}
        row |= {
            key: float(mean.of(measured.networks, measured.values[key][..., 0]).mean())
            for key in ("error", "loss")
        }
        rows.append(row)
    return rows


def stopping_rows(name: str, last: Measured, stopped: Measured) -> list[Row]:
    """Return the networks of medium size after their best epoch and after the last one."""
    rows = []
    for network in BASE:
        for title, measured in (("lowest loss on dev", stopped), ("last", last)):
            row: Row = {"set": name, "networks": WITH if network.batch_norm else WITHOUT, "epoch": title}
            rows.append(row | _numbers(measured, measured.networks.index(network)))
    return rows


def _network_rows(name: str, measured: Measured) -> list[Row]:
    rows = []
    for place, network in enumerate(measured.networks):
        row: Row = {"set": name, **network._asdict()}
        rows.append(row | _numbers(measured, place))
    return rows


def _numbers(measured: Measured, place: int) -> Row:
    """Means over the trainings of one network, with intervals."""
    values = {key: found[place] for key, found in measured.values.items()}
    row: Row = {}
    row |= _with_ends("error", over_seeds_and_texts(values["error"]))
    row |= {"ece": float(measured.ece[place].mean())}
    row |= _with_ends("calibration_error", root(over_seeds_and_texts(values["mse"])))
    row |= {"loss": float(values["loss"][:, 0].mean())}
    row |= {"temperature": float(measured.temperature[place].mean())}
    row |= {"ece_after": float(measured.ece_after[place].mean())}
    row |= _with_ends("calibration_error_after", root(over_seeds_and_texts(values["mse_after"])))
    row |= {"loss_after": float(values["loss_after"][:, 0].mean())}
    return row


def _with_ends(key: str, found: Quantity) -> Row:
    return {key: found.estimate, f"{key}_low": found.low, f"{key}_high": found.high}


def _epoch_means(each: Trained) -> list[Row]:
    """Return means over trainings, epoch by epoch, of the networks of medium size."""
    names = {str(network): WITH if network.batch_norm else WITHOUT for network in BASE}
    numbers = ("training_loss", "dev_loss", "test_loss", "test_error", "test_ece", "test_mse")
    rows = []
    for network, title in names.items():
        for epoch in range(1, each.about["epochs"] + 1):
            chosen = [row for row in each.epochs if (row["network"], row["epoch"]) == (network, epoch)]
            means = {key: float(np.mean([row[key] for row in chosen])) for key in numbers}
            error = max(0.0, means.pop("test_mse")) ** 0.5
            rows.append(
                {
                    "set": each.name,
                    "networks": title,
                    "epoch": epoch,
                    **means,
                    "test_calibration_error": error,
                }
            )
    return rows
