"""The recalibrators by the names that `calibrant fit` knows them by: a new one gets a row here."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Name = Literal[
    "histogram", "isotonic", "scaling-binning", "platt", "temperature", "beta", "venn-abers", "vector"
]

DRAWS = 200  # maps that are fitted to resamples of dev, where nobody says how many


@dataclass(frozen=True)
class Setting:
    """An argument of an estimator that `calibrant fit` has an option for.

    Attributes
    ----------
    help
        What the command line says of it.
    flag
        Whether it is on or off; else it is a number of at least 0.
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
        ``scores``: every score by itself. ``rows``: all classes of a wide table's row at once. ``both``:
        rows where the table is wide.
    n_bins
        How many bins it has if nobody says; None if it has none.
    settings
        Arguments of the estimator that the command line has options for, beside ``n_bins``.
    """

    estimator: str
    maps: Literal["scores", "rows", "both"] = "scores"
    n_bins: int | None = None
    settings: dict[str, Setting] = field(default_factory=dict)


METHODS: dict[str, Method] = {
    "histogram": Method("HistogramBinning", n_bins=15),
    "isotonic": Method("Isotonic"),
    "scaling-binning": Method("ScalingBinning", n_bins=10),
    "platt": Method(
        "Platt",
        settings={
            "smoothing": Setting("Fit platt to smoothed labels, for labels without overlap.", flag=True)
        },
    ),
    "temperature": Method("Temperature", maps="both"),
    "beta": Method("Beta"),
    "venn-abers": Method("VennAbers"),
    "vector": Method(
        "VectorScaling",
        maps="rows",
        settings={"penalty": Setting("Of vector: keeps scales near 1 and biases near 0; 1e-4 is little.")},
    ),
}
SETTINGS = {name: setting for method in METHODS.values() for name, setting in method.settings.items()}


def with_setting(name: str) -> list[str]:
    """The methods that have a setting, or bins.

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
