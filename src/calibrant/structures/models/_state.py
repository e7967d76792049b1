"""Checks of the saved states of models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from calibrant.exceptions import FormatError, InputError


def check_kind(state: Mapping[str, Any], kind: str, version: int) -> None:
    """Raise `FormatError` if a state is of another kind of model or another version."""
    if not isinstance(state, Mapping):
        raise damaged(f"it is {state!r:.40} instead of a dictionary")
    stated = state.get("kind")
    if not (isinstance(stated, str) and stated == kind):
        message = f"the model's state is of kind {stated!r:.40}"
        raise FormatError(message, f"expected {kind!r}", code="file-mislabelled")
    stated = state.get("version")
    if not (isinstance(stated, int) and stated == version):
        message = f"the model's state has version {stated!r:.40}"
        raise FormatError(message, f"this release reads version {version}", code="version")


@contextmanager
def reading_state() -> Iterator[None]:
    """Convert errors from invalid values into `damaged`."""
    try:
        yield
    except KeyError as missing:
        raise damaged(f"it has no {missing}") from missing
    except FormatError:
        raise
    except (InputError, TypeError, ValueError, OverflowError) as wrong:
        raise damaged(str(wrong)) from wrong


def distinct_strings(column: Any, name: str) -> list[str]:
    whole = isinstance(column, list) and all(isinstance(value, str) for value in column)
    require(whole and len(set(column)) == len(column), f"{name} are not distinct strings")
    return list(column)


def require(fine: bool, problem: str) -> None:
    """Raise `damaged` with the problem found, unless ``fine`` is true."""
    if not fine:
        raise damaged(problem)


def damaged(problem: str) -> FormatError:
    hint = "train and save the model again"
    return FormatError(f"the model's state is damaged: {problem}", hint, code="file-broken")
