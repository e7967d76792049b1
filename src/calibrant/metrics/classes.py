"""Scores that each belong to a class: their names as codes, and classes put into groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant import _checks
from calibrant._checks import Integers
from calibrant.exceptions import InputError

Groups = Sequence[Sequence[str]] | Mapping[str, Sequence[str]]


def class_codes(classes: ArrayLike, names: Sequence[str] | None = None) -> tuple[Integers, tuple[str, ...]]:
    """Return (n,) codes and the names they stand for: sorted if found here, else as given.

    Parameters
    ----------
    classes
        (n,) the class of each score: a name, or with ``names`` an index into them.
    names
        Different class names.

    Raises
    ------
    InputError
        If a class is missing, an index is out of range, or two names are equal.

    Examples
    --------
    >>> codes, names = class_codes(["V", "N", "V"])
    >>> codes.tolist(), names
    ([1, 0, 1], ('N', 'V'))
    """
    array = _checks.one_dimensional(classes, "classes")
    if names is not None:
        return _indices(array, _checks.list_of_names(names, "names"))
    if array.dtype.kind == "f":
        raise InputError("classes are floating point numbers", "pass names, or integers", code="dtype")
    hint = "name the class of every score"
    code, labels = _checks.cluster_codes(array, "classes", hint=hint, code="missing-value")
    ordered, place = np.unique(labels.astype(str), return_inverse=True)
    return place.astype(np.int64)[code], tuple(ordered.tolist())


def _indices(array: NDArray[Any], names: tuple[str, ...]) -> tuple[Integers, tuple[str, ...]]:
    if array.dtype.kind not in "iu":
        message, hint = f"classes has dtype {array.dtype}", "with names, pass indices into them"
        raise InputError(message, hint, code="dtype")
    if int(array.min()) < 0 or int(array.max()) >= len(names):
        row = int(np.flatnonzero((array < 0) | (array >= len(names)))[0])
        message = f"classes[{row}] is {array[row].item()}, and there are {len(names)} names"
        raise InputError(message, f"pass indices 0 to {len(names) - 1}", code="class-unknown", row=row)
    return array.astype(np.int64, copy=False), names


def named_groups(groups: Any) -> dict[str, tuple[str, ...]]:
    """Return groups of tags by name; those of a list are numbered "1", "2" and so on.

    Raises
    ------
    InputError
        If there is no group, a group is a bare string, or a tag is in two groups.

    Examples
    --------
    >>> named_groups([["DT", "NN"], ["UH"]])
    {'1': ('DT', 'NN'), '2': ('UH',)}
    """
    if isinstance(groups, str) or not isinstance(groups, (Sequence, Mapping)):
        raise InputError("groups are neither a list nor a mapping", _GROUPS_HINT, code="parameter")
    items = groups.items() if isinstance(groups, Mapping) else enumerate(groups, start=1)
    tags_of: dict[str, tuple[str, ...]] = {}
    home: dict[str, str] = {}
    for key, tags in items:
        name = str(key)
        if isinstance(tags, str) or not isinstance(tags, (Sequence, set, frozenset)):
            raise InputError(f"group {name} is {tags!r}, not a list of tags", _GROUPS_HINT, code="parameter")
        tags_of[name] = tuple(str(tag) for tag in tags)
        for tag in tags_of[name]:
            if tag in home:
                where = f"twice in group {name}" if home[tag] == name else f"in groups {home[tag]} and {name}"
                message, hint = f"the tag {tag!r} is {where}", "put each tag into one group"
                raise InputError(message, hint, code="parameter")
            home[tag] = name
    if not tags_of:
        raise InputError("there are no groups", _GROUPS_HINT, code="parameter")
    return tags_of


_GROUPS_HINT = "pass lists of tags, such as by_frequency makes, or a mapping from names to lists of tags"


def group_of_names(names: Sequence[str], groups: Groups) -> Integers:
    """Return the index of each name's group.

    In a list of groups, the last group includes the tags that are in no group, because unseen tags are the
    rarest. A mapping must contain every tag.

    Raises
    ------
    InputError
        If a tag is in no group of a mapping, or groups are unusable.

    Examples
    --------
    >>> group_of_names(["NN", "??"], [["DT", "NN"], ["UH"]]).tolist()
    [0, 1]
    """
    tags_of = named_groups(groups)
    home = {tag: index for index, tags in enumerate(tags_of.values()) for tag in tags}
    if isinstance(groups, Mapping):
        lost = [name for name in names if name not in home]
        if lost:
            known = ", ".join(list(tags_of)[:20])
            message, hint = f"the tag {lost[0]!r} is in no group", f"put it into one of {known}"
            raise InputError(message, hint, code="class-unknown")
    return np.array([home.get(name, len(tags_of) - 1) for name in names], np.int64)
