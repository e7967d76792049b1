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
    found = state.get("kind")
    if not (isinstance(found, str) and found == kind):
        message = f"the model's state is of kind {found!r:.40}"
        raise FormatError(message, f"expected {kind!r}", code="file-mislabelled")
    found = state.get("version")
    if not (isinstance(found, int) and found == version):
        message = f"the model's state has version {found!r:.40}"
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
    """Return a list of distinct strings, or raise an error."""
    whole = isinstance(column, list) and all(isinstance(value, str) for value in column)
    require(whole and len(set(column)) == len(column), f"{name} are not distinct strings")
    return list(column)


def require(fine: bool, found: str) -> None:
    """Raise `damaged` with the problem found, unless ``fine`` is true."""
    if not fine:
        raise damaged(found)


def damaged(found: str) -> FormatError:
    """Return the error for an invalid state."""
    hint = "train and save the model again"
    return FormatError(f"the model's state is damaged: {found}", hint, code="file-broken")
