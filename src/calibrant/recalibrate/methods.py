"""The recalibrators by the names that `calibrant fit` accepts. Register a new recalibrator here.

Other packages add recalibrators by entry points of the group ``calibrant.recalibrators``: a name, which is
the class attribute ``method``, and the class.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Literal

from calibrant.plugins import RECALIBRATORS, find

DRAWS = 200  # default number of maps that are fitted to resamples of dev


@dataclass(frozen=True)
class Method:
    """A recalibrator.

    Attributes
    ----------
    estimator
        Its class in `calibrant.recalibrate`, or in the module before a colon; its ``method`` is its name
        here.
    maps
        ``scores``: each score by itself. ``rows``: all classes of a wide table's row at once. ``both``:
        rows if the table is wide, else scores.
    n_bins
        Default number of bins; None if it has no bins.
    settings
        Arguments of the estimator that have options on the command line, except ``n_bins``, and the help of
        each option. They are numbers of at least 0.
    fixed
        Arguments that the method sets. If methods share an estimator, later rows set more.
    """

    estimator: str
    maps: Literal["scores", "rows", "both"] = "scores"
    n_bins: int | None = None
    settings: dict[str, str] = field(default_factory=dict)
    fixed: dict[str, bool] = field(default_factory=dict)

    def make(self, **settings: Any) -> Any:
        """Return an unfitted estimator."""
        module, _, name = self.estimator.rpartition(":")
        return getattr(import_module(module or "calibrant.recalibrate"), name)(**self.fixed, **settings)


PENALTY = {
    "penalty": "For vector: penalty that keeps scales near 1 and biases near 0; 1e-4 is weak. For matrix: "
    "penalty on off-diagonal elements and biases.  [default: 0 for vector; for matrix chosen by "
    "cross-validation]"
}

METHODS: dict[str, Method] = {
    "auto": Method("Auto", maps="both"),
    "histogram": Method("HistogramBinning", n_bins=15),
    "bbq": Method("BBQ"),
    "isotonic": Method("Isotonic"),
    "isotonic-smoothed": Method("Isotonic", fixed={"smoothing": True}),
    "scaling-binning": Method("ScalingBinning", n_bins=10),
    "platt": Method("Platt"),
    "platt-smoothed": Method("Platt", fixed={"smoothing": True}),
    "temperature": Method("Temperature", maps="both"),
    "beta": Method("Beta"),
    "venn-abers": Method("VennAbers"),
    "vector": Method("VectorScaling", maps="rows", settings=PENALTY),
    "matrix": Method("MatrixScaling", maps="rows", settings=PENALTY),
}
SETTINGS = {name: setting for method in METHODS.values() for name, setting in method.settings.items()}


def method_named(name: str, parameter: str = "method") -> Method:
    """Return a method of `METHODS`, or one of another package.

    Parameters
    ----------
    name
        Name of the method.
    parameter
        Name of the argument in the message of an error.

    Raises
    ------
    InputError
        If there is no such method, or it cannot be imported.

    Examples
    --------
    >>> method_named("beta").estimator
    'Beta'
    """
    if name in METHODS:
        return METHODS[name]
    from calibrant.recalibrate.base import BinaryRecalibrator, Recalibrator

    estimator = find(name, METHODS, RECALIBRATORS, Recalibrator, parameter)
    maps: Literal["scores", "rows"] = "scores" if issubclass(estimator, BinaryRecalibrator) else "rows"
    return Method(f"{estimator.__module__}:{estimator.__qualname__}", maps=maps)


def with_setting(name: str) -> list[str]:
    """Return the methods that have a setting; ``n_bins`` is a setting too.

    Examples
    --------
    >>> with_setting("n_bins"), with_setting("penalty")
    (['histogram', 'scaling-binning'], ['vector', 'matrix'])
    """
    return [
        key
        for key, method in METHODS.items()
        if name in method.settings or (name == "n_bins" and method.n_bins is not None)
    ]


def method_of(estimator: Any) -> str:
    """Return the name of an estimator's method.

    Examples
    --------
    >>> method_of(METHODS["platt-smoothed"].make())
    'platt-smoothed'
    """
    kind, given = type(estimator).__name__, estimator.get_params().items()
    fits = [name for name, one in METHODS.items() if one.estimator == kind and one.fixed.items() <= given]
    return fits[-1] if fits else str(estimator.method)
