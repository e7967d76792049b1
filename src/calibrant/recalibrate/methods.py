"""The recalibrators by the names that `calibrant fit` accepts. Register a new recalibrator here."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Name = Literal[
    "histogram",
    "bbq",
    "isotonic",
    "scaling-binning",
    "platt",
    "temperature",
    "beta",
    "venn-abers",
    "vector",
    "matrix",
]

DRAWS = 200  # default number of maps that are fitted to resamples of dev


@dataclass(frozen=True)
class Setting:
    """An argument of an estimator that `calibrant fit` has an option for.

    Attributes
    ----------
    help
        Help of the option.
    flag
        True if it is on or off; else it is a number of at least 0.
    """

    help: str
    flag: bool = False


@dataclass(frozen=True)
class Method:
    """A recalibrator.

    Attributes
    ----------
    estimator
        Its class in `calibrant.recalibrate`, whose ``method`` is its name here.
    maps
        ``scores``: each score by itself. ``rows``: all classes of a wide table's row at once. ``both``:
        rows if the table is wide, else scores.
    n_bins
        Default number of bins; None if it has no bins.
    settings
        Arguments of the estimator that have options on the command line, except ``n_bins``.
    """

    estimator: str
    maps: Literal["scores", "rows", "both"] = "scores"
    n_bins: int | None = None
    settings: dict[str, Setting] = field(default_factory=dict)


PENALTY = Setting(
    "For vector: penalty that keeps scales near 1 and biases near 0; 1e-4 is weak. For matrix: penalty on "
    "off-diagonal elements and biases.  [default: 0 for vector; for matrix chosen by cross-validation]"
)

METHODS: dict[str, Method] = {
    "histogram": Method("HistogramBinning", n_bins=15),
    "bbq": Method("BBQ"),
    "isotonic": Method("Isotonic"),
    "scaling-binning": Method("ScalingBinning", n_bins=10),
    "platt": Method(
        "Platt",
        settings={
            "smoothing": Setting(
                "For platt: fit to smoothed labels, for scores that separate the labels completely.",
                flag=True,
            )
        },
    ),
    "temperature": Method("Temperature", maps="both"),
    "beta": Method("Beta"),
    "venn-abers": Method("VennAbers"),
    "vector": Method("VectorScaling", maps="rows", settings={"penalty": PENALTY}),
    "matrix": Method("MatrixScaling", maps="rows", settings={"penalty": PENALTY}),
}
SETTINGS = {name: setting for method in METHODS.values() for name, setting in method.settings.items()}


def with_setting(name: str) -> list[str]:
    """Return the methods that have a setting; ``n_bins`` is a setting too.

    Examples
    --------
    >>> with_setting("n_bins"), with_setting("smoothing")
    (['histogram', 'scaling-binning'], ['platt'])
    """
    return [
        key
        for key, method in METHODS.items()
        if name in method.settings or (name == "n_bins" and method.n_bins is not None)
    ]
