"""The paper's claims about recalibration, and its tables for text, as findings on the given logits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from calibrant_studies._base import Finding, Row
from calibrant_studies._networks_measure import (
    ALL,
    METHODS,
    NONE,
    ODIR,
    Measured,
    impossible,
    interval,
    place,
)
from calibrant_studies._verdicts import Claim, above, below, between, equal

NEAR = 0.01  # "comparably": within one point of ECE
CONSTANT = 1.1  # "nearly constant entries": largest over smallest
RESAMPLED = "clusters of dev and test drawn again, maps fitted again; mean over seeds"
OF_PAPER = ("histogram", "isotonic", "BBQ", "temperature", "vector", "matrix")

# Table 1 (ECE) and tables S2 and S3 of the paper: its four data sets of text, and the column of ResNet 110 on
# CIFAR-100, whose 100 classes matrix scaling fails on.
PUBLISHED: dict[str, dict[str, tuple[float, ...]]] = {
    "ECE": {
        "20 News, DAN 3": (0.0802, 0.036, 0.0552, 0.0498, 0.0411, 0.0461, 0.091),
        "Reuters, DAN 3": (0.0085, 0.0175, 0.0115, 0.0097, 0.0091, 0.0066, 0.0158),
        "SST Binary, TreeLSTM": (0.0663, 0.0193, 0.0165, 0.0227, 0.0184, 0.0184, 0.0184),
        "SST Fine Grained, TreeLSTM": (0.0671, 0.0209, 0.0165, 0.0261, 0.0256, 0.0298, 0.0239),
        "CIFAR-100, ResNet 110": (0.1653, 0.0266, 0.0499, 0.0546, 0.0126, 0.0132, 0.2549),
    },
    "log loss": {
        "20 News, DAN 3": (0.7949, 1.0499, 0.8968, 0.9519, 0.7387, 0.7296, 0.9089),
        "Reuters, DAN 3": (0.102, 0.2403, 0.1475, 0.1167, 0.0994, 0.0990, 0.1491),
        "SST Binary, TreeLSTM": (0.3367, 0.2842, 0.2908, 0.2778, 0.2739, 0.2739, 0.2739),
        "SST Fine Grained, TreeLSTM": (1.1475, 1.1717, 1.1661, 1.149, 1.1168, 1.1085, 1.1112),
        "CIFAR-100, ResNet 110": (1.4978, 1.4379, 1.207, 1.5466, 1.0442, 1.0485, 2.5637),
    },
    "test error": {
        "20 News, DAN 3": (0.2006, 0.2512, 0.2029, 0.2081, 0.2006, 0.1989, 0.22),
        "Reuters, DAN 3": (0.0297, 0.0781, 0.0352, 0.0393, 0.0297, 0.0283, 0.0352),
        "SST Binary, TreeLSTM": (0.1181, 0.1208, 0.1175, 0.1126, 0.1181, 0.1181, 0.1181),
        "SST Fine Grained, TreeLSTM": (0.495, 0.4991, 0.4855, 0.4986, 0.495, 0.4977, 0.4851),
        "CIFAR-100, ResNet 110": (0.2783, 0.3478, 0.2841, 0.2856, 0.2783, 0.2782, 0.3877),
    },
}

Number = Callable[[np.ndarray], np.ndarray]


def published_rows() -> list[Row]:
    """The paper's numbers, as fractions."""
    return [
        {"measure": measure, "network": network, **dict(zip((NONE, *OF_PAPER), values, strict=True))}
        for measure, rows in PUBLISHED.items()
        for network, values in rows.items()
    ]


def findings(found: Sequence[Measured]) -> Iterator[Finding]:
    """Findings on each network, over its seeds."""
    for model in dict.fromkeys(each.test.model for each in found):
        group = [each for each in found if each.test.model == model]
        yield from _before(model, group)
        yield from _errors(model, group)
        yield from _losses(model, group)
        yield from _decisions(model, group)


def _of(method: str, measure: str) -> Number:
    at = place(method, measure)
    return lambda values: values[..., at[0], at[1]]


def _minus(first: str, second: str, measure: str) -> Number:
    one, other = _of(first, measure), _of(second, measure)
    return lambda values: one(values) - other(values)


def _finding(
    model: str,
    group: Sequence[Measured],
    name: str,
    text: str,
    number: Number,
    paper: str | None,
    claim: Claim | None,
) -> Finding:
    """Return a finding on a mean over seeds, with its interval and the paper's claim, if it has one."""
    value = float(np.mean([number(each.values) for each in group]))
    low, high = interval(value, np.mean([number(each.draws) for each in group], axis=0))
    return Finding(
        f"given/{model}/{name}", f"{model}: {text}", value, low, high, paper, note=RESAMPLED, claim=claim
    )


def _before(model: str, group: Sequence[Measured]) -> Iterator[Finding]:
    def gap(values: np.ndarray) -> np.ndarray:
        found: np.ndarray = _of(NONE, "confidence")(values) - _of(NONE, "accuracy")(values)
        return found

    text = "mean confidence minus accuracy"
    yield _finding(model, group, "overconfidence", text, gap, "overconfident", above(0))
    yield _finding(
        model,
        group,
        "ECE",
        "ECE before recalibration",
        _of(NONE, "ECE"),
        "typically 4 to 10 %",
        between(0.04, 0.10),
    )


def _errors(model: str, group: Sequence[Measured]) -> Iterator[Finding]:
    def against_others(values: np.ndarray) -> np.ndarray:
        others = [_of(name, "ECE")(values) for name in OF_PAPER if name != "temperature"]
        found: np.ndarray = _of("temperature", "ECE")(values) - np.mean(others, axis=0)
        return found

    claims: list[tuple[str, str, Number, str, Claim]] = [
        (
            "temperature_gain",
            "ECE after temperature scaling minus before",
            _minus("temperature", NONE, "ECE"),
            "falls",
            below(0),
        ),
        (
            "temperature_others",
            "ECE of temperature scaling minus the mean of the other five methods of the paper",
            against_others,
            "comparable on text (here: not worse by a point)",
            below(NEAR),
        ),
    ]
    for name in ("vector", "matrix"):
        text = f"ECE of {name} scaling minus that of temperature scaling"
        number = _minus(name, "temperature", "ECE")
        claims.append((f"{name}_temperature", text, number, "temperature outperforms it", above(0)))
    for name in ("isotonic", "BBQ"):
        text = f"ECE of {name} minus that of histogram binning"
        paper = "histogram binning typically outperforms it"
        claims.append((f"{name}_histogram", text, _minus(name, "histogram", "ECE"), paper, above(0)))
    for claim in claims:
        yield _finding(model, group, *claim)
    spread = float(np.mean([each.spread[0] for each in group]))
    low, high = interval(spread, np.mean([each.spread[1:] for each in group], axis=0))
    yield Finding(
        f"given/{model}/vector_entries",
        f"{model}: largest over smallest entry of the vector",
        spread,
        low,
        high,
        "nearly constant entries (here: at most 1.1)",
        note=RESAMPLED,
        claim=below(CONSTANT),
    )


def _losses(model: str, group: Sequence[Measured]) -> Iterator[Finding]:
    claims = (
        ("temperature", NONE, "falls", below(0)),
        ("BBQ", "temperature", "higher (all four text sets)", above(0)),
        ("vector", "temperature", "lower or equal (all four text sets)", below(0)),
        ("matrix", "vector", "higher or equal (all four text sets)", above(0)),
        (ODIR, "matrix", None, None),
    )
    for first, second, paper, claim in claims:
        number = _minus(first, second, "log loss")
        than = "before" if second == NONE else second
        text = f"log loss after {first} minus {than}"
        yield _finding(model, group, f"loss_{first}", text, number, paper, claim)
    for name in ("histogram", "isotonic"):
        yield Finding(
            f"given/{model}/impossible_{name}",
            f"{model}: items per seed whose true class has probability 0 after {name}",
            float(np.mean([impossible(each.prob[name], each.test.labels) for each in group])),
            paper="finite log losses",
            verdict="not comparable",
            note="the log loss is infinite; the paper does not say how it avoids that",
        )


def _decisions(model: str, group: Sequence[Measured]) -> Iterator[Finding]:
    changed = float(max(each.values[place("temperature", "changed")] for each in group))
    yield Finding(
        f"given/{model}/temperature_decisions",
        f"{model}: fraction of top predictions that temperature scaling changes",
        changed,
        changed,
        changed,
        "0",
        note="true by construction",
        claim=equal(0, width=0.0),
    )
    for name in ("histogram", "isotonic", "BBQ"):
        number = _minus(name, NONE, "accuracy")
        text = f"accuracy after {name} minus before"
        yield _finding(model, group, f"accuracy_{name}", text, number, "hurts accuracy", below(0))


def measure_rows(found: Sequence[Measured]) -> list[Row]:
    """Return every measure of every network and method."""
    from calibrant_studies._networks_measure import MEASURES, debiased

    rows = []
    for each in found:
        for index, name in enumerate(ALL):
            error = debiased(each, name)
            row: Row = {"network": each.test.model, "seed": each.test.seed, "method": name}
            values = dict(zip(MEASURES, each.values[index].tolist(), strict=True))
            row |= {key: value if np.isfinite(value) else None for key, value in values.items()}
            row["true class impossible"] = impossible(each.prob[name], each.test.labels)
            rows.append({**row, "debiased": error.estimate, "low": error.low, "high": error.high})
    return rows


def parameter_rows(found: Sequence[Measured]) -> list[Row]:
    """Return the fitted parameters: temperature, vector, and the penalty that cross-validation chose."""
    rows: list[Row] = []
    for each in found:
        vector, matrix = each.fitted["vector"], each.fitted["matrix"]
        rows.append(
            {
                "network": each.test.model,
                "seed": each.test.seed,
                "temperature": each.fitted["temperature"].temperature_,
                "vector": ", ".join(f"{value:.2f}" for value in vector.scale_),
                "biases": ", ".join(f"{value:+.2f}" for value in vector.bias_),
                "matrix": "; ".join(", ".join(f"{value:.2f}" for value in row) for row in matrix.matrix_),
                "penalty": each.fitted[ODIR].penalty_,
            }
        )
    return rows


assert set(OF_PAPER) <= set(METHODS)
