"""The exact digits of the public functions and classes that compute, on fixed inputs."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from datetime import date
from enum import Enum
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np

from calibrant.exceptions import CalibrantError
from tests.goldens import function_calls
from tests.goldens.printing import compact

MODULES = {
    "metrics": "calibrant.metrics",
    "recalibrate": "calibrant.recalibrate",
    "structures": "calibrant.structures",
    "posterior": "calibrant.structures.posterior",
    "queries": "calibrant.structures.posterior.queries",
    "coreference_queries": "calibrant.structures.posterior.coreference_queries",
    "dependency_queries": "calibrant.structures.posterior.dependency_queries",
    "estimation": "calibrant.estimation",
    "evaluation": "calibrant.evaluation",
}
EXCEPTIONS = {
    "recalibrate.Recalibrator": "abstract: its subclasses are held",
    "recalibrate.BinaryRecalibrator": "abstract: its subclasses are held",
    "queries.Batch": "a protocol without numbers",
    "queries.Query": "what the queries return; held through them",
    "coreference_queries.MentionPairs": "what mention_pairs returns; held through it",
    "posterior.BestSequences": "what ChainPosterior.k_best returns; held through it",
    "structures.SpanPairs": "what pair_spans returns",
    "structures.SpanRows": "what pair_spans takes",
    "structures.pair_spans": "held through the command spans",
    "metrics.Pairs": "checked input; held through all functions of pairs",
    "metrics.pairs": "checks only",
    "recalibrate.Calibrated": "trains an estimator of another library, whose last digits are its own",
    "estimation.METHODS": "names, not a function",
    "estimation.JudgedTable": "what judged_systems takes; held through it",
    "estimation.Groups": "the layout of groups and periods; held through corrected_counts",
    "estimation.ProxyWeights": "what combine_proxies returns; held through it",
    "estimation.preference_table": "the layout of arrays; held through bradley_terry",
}
"""Public names that are not held, with the reason."""

METHOD_EXCEPTIONS = {
    "expected_pairs": "sums for training; compared with finite differences in its test",
    "check_fitted": "checks only",
    "check_parameters": "checks only",
    "predict": "the labels of predict_proba",
    "predict_proba": "the columns of transform, which is held; tests/recalibrate/test_scikit_learn.py",
    "messages": "sums inside the chain; held through marginals, entropy and sample",
    "block_messages": "sums inside the chain; held through marginals, entropy and sample",
    "as_block": "sums inside the chain; held through marginals, entropy and sample",
    "rows_of": "the layout of arrays; held through document",
    "fits_mean": "true or false; compared with fits in tests/estimation/test_total.py",
    "rows_by_part": "which rows a map takes; held through fit and transform",
}
"""Public methods that are not held, with the reason."""


def public_names() -> set[str]:
    """Name what the packages make public and what computes, as in ``metrics.brier_score``."""
    return {f"{package}.{name}" for package, module in MODULES.items() for name in _computing(module)}


def _computing(module: str) -> list[str]:
    """The public names of a package but for records, files, verbs and pages, which a wing has too."""
    package = import_module(module)
    homes = {name: getattr(getattr(package, name), "__module__", "") for name in package.__all__}
    other = re.compile(rf"{re.escape(module)}\.(results|files|verbs|pages)\b")
    return [name for name, home in homes.items() if not other.match(home)]


def public_methods() -> set[str]:
    """Name the public methods and properties of the public classes, as in ``metrics.Tally.merge``."""
    found = set()
    for package, module in MODULES.items():
        for name in _computing(module):
            item = getattr(import_module(module), name)
            if inspect.isclass(item) and f"{package}.{name}" not in EXCEPTIONS:
                found |= {f"{package}.{name}.{attribute}" for attribute in _attributes(item)}
    return found


def _attributes(item: type) -> set[str]:
    kinds = (property, cached_property, classmethod, staticmethod)
    return {
        name
        for base in item.__mro__
        if base.__module__.startswith("calibrant")
        for name, value in vars(base).items()
        if not name.startswith("_")
        and name not in METHOD_EXCEPTIONS
        and (inspect.isfunction(value) or isinstance(value, kinds))
    }


def values() -> dict[str, Any]:
    """Call everything; return the results as JSON knows them, by ``package.name:case``."""
    return {
        f"{package}.{name}": plain(_called(call))
        for package, calls in function_calls.calls().items()
        for name, call in calls.items()
    }


def _called(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except CalibrantError as error:
        return {"error": str(error)}


def digits() -> str:
    """Print all results; a Python float is printed so that it is read back to the last bit."""
    return compact(values())


def plain(value: Any) -> Any:
    """Turn records, arrays and NumPy numbers into what JSON knows, and keep every digit."""
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, Enum | date):
        return str(value)
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return [plain(each) for each in value]
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return {name: plain(getattr(value, name)) for name in _fields(value)}


def _fields(value: Any) -> list[str]:
    if hasattr(value, "_fields"):
        return list(value._fields)
    if hasattr(value, "__struct_fields__"):
        return list(value.__struct_fields__)
    if is_dataclass(value):
        return [each.name for each in fields(value) if not each.name.startswith("_")]
    raise TypeError(f"a golden cannot hold a {type(value).__name__}: {value!r}")
