"""The cells of the coverage study, by situation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Literal

from calibrant.synthetic import BetaScores, LogitSlope, Shift, Transform
from calibrant_studies._designs import (
    CLUSTERED,
    CORRELATED,
    DEPENDENCE,
    INDEPENDENT,
    MAPS,
    ClassesDesign,
    Dependence,
    Design,
    DifferenceDesign,
    Kind,
    MapsDesign,
    PairsDesign,
    SlicesDesign,
    Weighting,
)
from calibrant_studies._populations import (
    Identity,
    LogitNormalScores,
    RoundedScores,
    Sawtooth,
    Scaled,
    TransformedScores,
)

SCORES = (BetaScores(0.1, 1), BetaScores(0.5, 0.5), BetaScores(2, 2))
TRANSFORMS: dict[str, Transform] = {
    "calibrated": Identity(),
    "k = 0.05": Shift(0.05),
    "k = 0.1": Shift(0.1),
    "logits x 1.5": LogitSlope(1.5),
}
SIZES = (2_000, 20_000, 200_000)
_ARCSINE = BetaScores(0.5, 0.5)
_HALF, _NOISY = LogitSlope(0.5), LogitSlope(1.5)
# Means of normal log-odds of standard deviation 2 at which the mean probability is the base rate.
BASE_RATES = {0.5: 0.0, 0.1: -3.41696, 0.01: -6.40409, 0.001: -8.87146, 0.0001: -11.20547}
_PEERS = ((5_000, 40), (30_000, 16))  # draws of the peers' intervals, up to so many pairs


def beta_name(scores: BetaScores) -> str:
    """Return the name of a Beta distribution in tables.

    Examples
    --------
    >>> beta_name(BetaScores(0.1, 1.0))
    'Beta(0.1, 1)'
    """
    return f"Beta({scores.a:g}, {scores.b:g})"


def grid() -> Iterator[Design]:
    """Common events in mild clusters: three distributions of scores, four transforms."""
    replications = {2_000: 2_000, 20_000: 1_000, 200_000: 200}
    for n in SIZES:
        for kind in DEPENDENCE:
            for scores in SCORES:
                for name, transform in TRANSFORMS.items():
                    yield PairsDesign(
                        "grid",
                        f"{beta_name(scores)}, {name}",
                        scores,
                        transform,
                        n,
                        kind,
                        replications=replications[n],
                        wald=True,
                        peers=_peers(n) if kind is INDEPENDENT else 0,
                    )


def size() -> Iterator[Design]:
    """From 100 to 10^6 pairs."""
    for n, replications in ((100, 400), (200, 400), (500, 400), (1_000_000, 60)):
        for scores in SCORES:
            for name, transform in TRANSFORMS.items():
                yield PairsDesign(
                    "size", f"{beta_name(scores)}, {name}", scores, transform, n, replications=replications
                )


def _clusters(name: str, *sizes: tuple[int, int], labels: float = 0.0, scores: float = 1.0) -> Dependence:
    return Dependence(name, 1, labels, scores, sizes)


REPEATED = (
    _clusters("300 items x 20 labels", (300, 20)),
    _clusters("30 items x 20 labels", (30, 20)),
    _clusters("1,000 items x 3 labels", (1_000, 3)),
    _clusters("2,000 items, 20 % with 50 labels", (1_600, 1), (400, 50)),
    _clusters("200 documents of 1 to 40 sentences", (100, 1), (60, 8), (30, 20), (10, 40), labels=0.3),
)


def repeated() -> Iterator[Design]:
    """All pairs of a cluster have the same score: annotators of an item, sentences of a document."""
    for kind in REPEATED:
        for name, transform in (
            ("calibrated", Identity()),
            ("logits x 0.5", _HALF),
            ("logits x 1.5", _NOISY),
        ):
            yield PairsDesign("repeated", f"{kind.name}; {name}", _ARCSINE, transform, kind.rows, kind)


DOMINANT = (
    _clusters("one of 40 clusters has 70 % of rows", (39, 20), (1, 1_820), labels=0.3, scores=0.5),
    _clusters("one of 40 clusters has 70 % of rows, equal scores", (39, 20), (1, 1_820)),
    _clusters("one of 40 clusters has 70 % of rows, labels independent", (39, 20), (1, 1_820), scores=0.0),
    _clusters("one of 100 clusters has 30 % of rows", (99, 20), (1, 849), labels=0.3, scores=0.5),
    _clusters("one of 100 clusters has 30 % of rows, equal scores", (99, 20), (1, 849)),
    _clusters("one of 100 clusters has 30 % of rows, labels independent", (99, 20), (1, 849), scores=0.0),
)
FEW = tuple(Dependence(f"{count} clusters", 2_000 // count, 0.3, 0.5) for count in (5, 10, 20, 50))


def clusters() -> Iterator[Design]:
    """Few clusters, and a dominant cluster."""
    for kind in (*FEW, *DOMINANT):
        for name, transform in (("calibrated", Identity()), ("k = 0.1", Shift(0.1)), ("logits x 0.5", _HALF)):
            n = kind.rows or 2_000
            yield PairsDesign("clusters", f"{kind.name}; {name}", _ARCSINE, transform, n, kind)


def rare() -> Iterator[Design]:
    """Few positives: logit-normal and Beta scores."""
    drawn: list[tuple[str, Transform, Transform, tuple[int, ...]]] = [
        (
            "N(-10, 3), logits x 0.5 - 3",
            LogitNormalScores(-10, 3),
            LogitSlope(0.5, -3),
            (3_000, 7_000, 28_000),
        ),
        ("Beta(0.2, 10), truth q / 2", BetaScores(0.2, 10), Scaled(0.5), (1_000, 5_000, 20_000)),
    ]
    shapes: dict[str, Transform] = {
        "calibrated": Identity(),
        "logits x 0.7": LogitSlope(0.7),
        "logits x 1.5": _NOISY,
    }
    sources: list[tuple[str, Transform, tuple[int, ...]]] = [
        ("N(-6, 2)", LogitNormalScores(-6, 2), (1_000, 5_000, 20_000)),
        ("N(-8, 2)", LogitNormalScores(-8, 2), (3_000, 20_000)),
        ("Beta(0.02, 2)", BetaScores(0.02, 2), (1_000, 5_000, 20_000)),
        ("Beta(0.003, 1)", BetaScores(0.003, 1), (2_000, 20_000)),
    ]
    for label, scores, sizes in sources:
        drawn += [(f"{label}, {name}", scores, transform, sizes) for name, transform in shapes.items()]
    for name, scores, transform, sizes in drawn:
        for n in sizes:
            yield PairsDesign("rare", name, scores, transform, n, replications=400 if n < 10_000 else 300)
    for kind in (CLUSTERED, _clusters("400 items x 20 labels", (400, 20))):
        n = kind.rows or 8_000
        yield PairsDesign(
            "rare", f"N(-6, 2), logits x 0.7; {kind.name}", LogitNormalScores(-6, 2), LogitSlope(0.7), n, kind
        )


def base_rates() -> Iterator[Design]:
    """Base rates from 50 % to 0.01 % with 5 to 500 expected positives; true log-odds vary by 2."""
    for rate, mean in BASE_RATES.items():
        for positives in (5, 20, 100, 500):
            n = round(positives / rate)
            if not 100 <= n <= 1_000_000:
                continue
            for name, stretch in (("calibrated", 1.0), ("overconfident", 1.5), ("underconfident", 0.7)):
                yield PairsDesign(
                    "base-rates",
                    f"base rate {100 * rate:g} %, {name}",
                    LogitNormalScores(mean, 2 * stretch),
                    Identity() if stretch == 1 else LogitSlope(1 / stretch, mean * (1 - 1 / stretch)),
                    n,
                    replications=400 if n <= 200_000 else 150,
                )


def rounding() -> Iterator[Design]:
    """Scores rounded to few digits."""
    for label, scores, transform, n in (
        ("Beta(0.5, 0.5), k = 0.1", _ARCSINE, Shift(0.1), 2_000),
        ("Beta(0.1, 1), logits x 1.5", BetaScores(0.1, 1), _NOISY, 20_000),
        ("N(-6, 2), logits x 0.7", LogitNormalScores(-6, 2), LogitSlope(0.7), 20_000),
    ):
        for digits in (1, 2, 3, 6):
            name = f"{label}; {digits} digit{'s' * (digits > 1)}"
            yield PairsDesign("rounding", name, RoundedScores(scores, digits), transform, n)


SAWTEETH = (1, 2.5, 5, 9, 20, 40)  # half-periods in bins


def sawteeth() -> Iterator[Design]:
    """An error of +0.1 and -0.1 in turn, in teeth of 1 to 40 bins of n^(1/3) (at least 20) pairs."""
    for n, replications in ((2_000, 400), (20_000, 300), (200_000, 150)):
        bins = n / max(20, round(n ** (1 / 3)))
        for half in SAWTEETH:
            name = f"teeth of {half:g} bins"
            transform = Sawtooth(0.1, half / bins)
            yield PairsDesign("sawteeth", name, BetaScores(1, 1), transform, n, replications=replications)


_RATIOS: tuple[tuple[Literal["negatives", "low scores", "random pairs"], tuple[int, ...]], ...] = (
    ("negatives", (5, 20, 100)),
    ("low scores", (5, 20)),
    ("random pairs", (5, 20, 100)),
)


def weights() -> Iterator[Design]:
    """Weights that depend on labels (case-control samples), on scores, or on nothing."""
    case_control = LogitNormalScores(-4, 1.5), LogitSlope(0.7, -0.5)
    common = BetaScores(0.5, 0.5), Shift(0.1)
    for label, (scores, transform) in (("N(-4, 1.5)", case_control), ("Beta(0.5, 0.5)", common)):
        for of, ratios in _RATIOS:
            for ratio in ratios:
                for n in (2_000, 20_000):
                    name = f"{label}; {of} weigh {ratio}"
                    weighting = Weighting(of, ratio)
                    yield PairsDesign(
                        "weights", name, scores, transform, n, weighting=weighting, replications=200
                    )
    yield PairsDesign(
        "weights",
        "Beta(0.5, 0.5); negatives weigh 20",
        *common,
        200_000,
        weighting=Weighting("negatives", 20),
        replications=100,
    )


KINDS: tuple[Kind, ...] = ("calibrated", "overconfident", "underconfident")


def classes() -> Iterator[Design]:
    """50 and 500 classes, pooled and class by class."""
    for count, n, pooled, classwise in ((50, 2_000, 60, 20), (500, 1_000, 30, 4)):
        for kind in KINDS:
            name = f"K = {count}, {kind}"
            yield ClassesDesign("classes", f"{name}; pooled", count, n, kind, "pooled", pooled)
            yield ClassesDesign("classes", f"{name}; class by class", count, n, kind, "classwise", classwise)


def slices() -> Iterator[Design]:
    """Simultaneous intervals of rare events in small slices."""
    for label, scores, transform in (
        ("N(-6, 2), logits x 0.7", LogitNormalScores(-6, 2), LogitSlope(0.7)),
        ("N(-8, 2), logits x 0.7", LogitNormalScores(-8, 2), LogitSlope(0.7)),
        ("Beta(0.02, 2), logits x 0.7", BetaScores(0.02, 2), LogitSlope(0.7)),
        ("N(-10, 3), logits x 0.5 - 3", LogitNormalScores(-10, 3), LogitSlope(0.5, -3)),
        ("Beta(0.5, 0.5), k = 0.1", _ARCSINE, Shift(0.1)),
    ):
        for count, rows in ((20, 200), (20, 1_000), (100, 300)):
            name = f"{label}; {count} slices of {rows:,}"
            yield SlicesDesign("slices", name, scores, transform, count, rows, 40 if count > 50 else 80)


def differences() -> Iterator[Design]:
    """Two models on the same items."""
    uniform = BetaScores(1, 1)
    for n, replications in ((2_000, 300), (20_000, 60)):
        for kind in (INDEPENDENT, CORRELATED):
            for models in (
                "logits x 0.6 and x 0.8",
                "logits x 0.6 and x 0.62",
                "logits x 0.6 and calibrated",
                "equal errors: p + 0.05 and p - 0.05, cut",
                "both calibrated: p and its tenth",
            ):
                yield DifferenceDesign(
                    "differences", f"{models}; {kind.name}", uniform, models, n, kind, replications
                )
    improved = TransformedScores(_ARCSINE, _HALF)  # the errors are 0.108 and 0
    for kind in (*REPEATED, *DOMINANT[:2]):
        name = f"logits x 2 and calibrated; {kind.name}"
        yield DifferenceDesign(
            "differences", name, improved, "logits x 2 and calibrated", kind.rows, kind, 100
        )


def maps() -> Iterator[Design]:
    """Changes by maps that are fitted to dev, with the map's own sampling error."""
    scarce, ample = (300, 2_000), (2_000, 5_000)
    settings: list[tuple[str, Transform, Transform, Dependence, tuple[tuple[int, int], ...]]] = [
        ("calibrated", _ARCSINE, Identity(), INDEPENDENT, (scarce,)),
        ("logits x 0.5", _ARCSINE, _HALF, INDEPENDENT, (scarce, ample)),
        ("k = 0.05, clusters of 20", _ARCSINE, Shift(0.05), CLUSTERED, (scarce, ample)),
        ("N(4, 3), logits x 0.6", LogitNormalScores(4, 3), LogitSlope(0.6), INDEPENDENT, (scarce, ample)),
        ("N(-5, 2), logits x 0.5 - 2", LogitNormalScores(-5, 2), LogitSlope(0.5, -2), INDEPENDENT, (ample,)),
    ]
    for label, scores, transform, kind, sizes in settings:
        for dev, n in sizes:
            for method in MAPS:
                name = f"{method} on {dev:,}; {label}"
                yield MapsDesign("maps", name, scores, transform, method, dev, n, kind)


SITUATIONS: dict[str, Callable[[], Iterator[Design]]] = {
    "grid": grid,
    "size": size,
    "repeated": repeated,
    "clusters": clusters,
    "rare": rare,
    "base-rates": base_rates,
    "rounding": rounding,
    "sawteeth": sawteeth,
    "weights": weights,
    "classes": classes,
    "slices": slices,
    "differences": differences,
    "maps": maps,
}


def designs(*situations: str, replications: int | None = None, peers: bool = True) -> list[Design]:
    """The cells of some situations (all, if none is named), with other replications if they are given.

    Without ``peers``, only calibrant's interval is computed.

    Examples
    --------
    >>> len(designs("sawteeth"))
    18
    >>> designs("sawteeth", replications=7)[0].replications
    7
    """
    found: list[Design] = []
    for name in situations or SITUATIONS:
        for design in SITUATIONS[name]():
            drawn = design.replications if replications is None else replications
            changed = replace(design, replications=drawn)
            if isinstance(changed, PairsDesign):
                compared = changed.peers if design.situation == "grid" else _peers(design.n)
                changed = replace(changed, peers=min(drawn, compared) if peers else 0)
            found.append(changed)
    return found


def _peers(n: int) -> int:
    """Draws of the peers' intervals, which take longer than calibrant's."""
    return next((draws for most, draws in _PEERS if n <= most), 0)
