"""Entry points of other packages, with formats and recalibrators: imported only if they are needed."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from calibrant.exceptions import InputError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

LOG_FORMATS = "calibrant.log_formats"
TABLE_FORMATS = "calibrant.table_formats"
RECALIBRATORS = "calibrant.recalibrators"


def entry_points_of(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name; none of them is imported.

    Parameters
    ----------
    group
        `LOG_FORMATS`, `TABLE_FORMATS` or `RECALIBRATORS`.

    Examples
    --------
    >>> entry_points_of("calibrant.no_such_group")
    {}
    """
    from importlib.metadata import entry_points  # takes 10 ms, and a known file needs none

    return {point.name: point for point in entry_points(group=group)}


def load(point: EntryPoint, kind: type) -> Any:
    """Import what an entry point names, an object or a subclass of ``kind``.

    Raises
    ------
    InputError
        If it cannot be imported, or is something else.
    """
    package = point.dist.name if point.dist is not None else point.value
    remedy = f"update or uninstall {package}"
    try:
        value = point.load()
    except Exception as error:  # of another package's code, which may raise anything
        reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
        message = f"the plug-in {point.name!r} of {package} cannot be imported ({reason})"
        raise InputError(message, remedy, code="plugin") from error
    if not (isinstance(value, kind) or (isinstance(value, type) and issubclass(value, kind))):
        message = f"the plug-in {point.name!r} of {package} is no {kind.__name__}: {point.value}"
        raise InputError(message, remedy, code="plugin")
    return value


def find(name: str, known: Mapping[str, Any], group: str, kind: type, parameter: str) -> Any:
    """Return what has a name, here or in a group of entry points, which is then imported.

    Parameters
    ----------
    name
        The name.
    known
        Objects of calibrant by name.
    group, kind
        Group of entry points, and class of what they name; as in `load`.
    parameter
        Name of the argument in the message of an error.

    Raises
    ------
    InputError
        If nothing has the name, or it cannot be imported.

    Examples
    --------
    >>> find("a", {"a": 1}, LOG_FORMATS, int, "log_format")
    1
    """
    if name in known:
        return known[name]
    points = entry_points_of(group)
    if name not in points:
        hint = f"use one of {', '.join([*known, *points])}"
        raise InputError(f"{parameter} is {name!r}", hint, code="parameter")
    return load(points[name], kind)


def load_all(group: str, kind: type) -> Iterator[tuple[str, Any]]:
    """Import a group; a plug-in that cannot be imported is named in a warning, and the others are yielded."""
    for name, point in sorted(entry_points_of(group).items()):
        try:
            yield name, load(point, kind)
        except InputError as error:
            warnings.warn(str(error), RuntimeWarning, stacklevel=2)
