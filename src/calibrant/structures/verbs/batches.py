"""Batches of documents for workers, their names, and the sources of models."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from calibrant.exceptions import InputError
from calibrant.io.origin import reads_once
from calibrant.verbs.executors import Workers

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Item = TypeVar("Item")
Settings = TypeVar("Settings", bound="DataclassInstance")


def batches_of(
    items: Iterable[Item], most: int, *, size: Callable[[Item], int] | None = None, full: int = 0
) -> Iterator[list[Item]]:
    """Yield batches of at most ``most`` items; a batch also ends when its sizes add up to ``full``."""
    batch: list[Item] = []
    total = 0
    for item in items:
        batch.append(item)
        total += 0 if size is None else size(item)
        if len(batch) == most or (size is not None and total >= full):
            yield batch
            batch, total = [], 0
    if batch:
        yield batch


def same_paths(settings: Settings, *names: str) -> Settings:
    """Make paths absolute, since workers may run in other folders; names stay.

    Raises
    ------
    InputError
        If a path is that of a pipe.
    """
    paths = {name: getattr(settings, name) for name in names}
    for name, path in paths.items():
        if reads_once(path):
            message = f"{path} is a pipe, and each worker opens the {name}"
            raise InputError(message, "give the path of a file", code="parameter")
    there = {name: os.path.abspath(path) for name, path in paths.items() if path and os.path.exists(path)}
    return replace(settings, **there)


def named_source(source: Any, pool: Workers, what: str) -> Any:
    """Return the source from which workers load a model: its path or name, or, in this process, the model.

    Raises
    ------
    InputError
        If other processes need a model without a path.
    """
    if isinstance(source, (str, os.PathLike)):
        name = os.fspath(source)
        return os.path.abspath(name) if os.path.exists(name) else name
    if pool.local or source is None:
        return source
    message = f"workers cannot load a {what} that has no path"
    raise InputError(message, f"give the path of the {what}, or use one worker", code="parameter")


def span(names: Sequence[str]) -> str:
    """Return a phrase for the documents of a batch, with the first and the last name.

    Examples
    --------
    >>> span(["a"]), span(["a", "b", "c"])
    ("document 'a'", "the documents from 'a' to 'c'")
    """
    if len(names) == 1:
        return f"document {names[0]!r}"
    return f"the documents from {names[0]!r} to {names[-1]!r}"
