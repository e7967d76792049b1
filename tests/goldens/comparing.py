"""The comparison of outputs with their goldens, which knows only the changes that someone decided."""

from __future__ import annotations

import difflib
import json
import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from tests.goldens.commands import command_of

FOLDER = Path(__file__).parent
STORED = FOLDER / "stored"
FUNCTIONS = "functions.json"  # the other files have the texts of one command each
HEAD = re.compile(r"^===== ([\w-]+): calibrant .*\n", re.MULTILINE)
CHANGES = FOLDER / "changes.toml"
RELATIVE, ABSOLUTE = 1e-8, 1e-9  # where an optimizer stops depends on the processor
OF_ENDS = 1e-5  # relative; profile likelihoods are solved to about 1e-6
NUMBER = re.compile(r"(\d[\d,]*(?:\.\d+)?(?:[eE][+-]?\d+)?)")
SHOWN = 12
KEYS = {"why", "goldens", "path", "text", "added", "to", "value", "becomes"}

Flat = dict[str, Any]


@dataclass
class Change:
    """An intended change: see the head of ``changes.toml`` for its keys."""

    why: str
    goldens: Sequence[str]
    path: str | None = None
    text: str | None = None
    added: str | None = None
    to: Sequence[str] | None = None
    value: str | None = None
    becomes: str | None = None
    used: bool = field(default=False, compare=False)

    def in_paths(self, old: Flat) -> Flat:
        """Rename, leave out or reword the values of a JSON golden at the paths that the change names."""
        if self.path is None:
            return old
        found: Flat = {}
        for path, value in old.items():
            match = re.fullmatch(self.path, path)
            if match is None or (self.value is not None and not re.fullmatch(self.value, _dumped(value))):
                found[path] = value
                continue
            self.used = True
            if self.becomes is not None:
                value = json.loads(re.sub(self.value or ".*", self.becomes, _dumped(value), count=1))
            found |= dict.fromkeys([path] if self.to is None and self.becomes is not None else
                                   [match.expand(each) for each in self.to or ()], value)  # fmt: skip
        return found

    def in_text(self, old: str) -> str:
        """Replace the text that the change names."""
        if self.text is None:
            return old
        changed, count = re.subn(self.text, (self.to or [""])[0], old, flags=re.MULTILINE)
        self.used |= count > 0
        return changed

    def adds(self, new: str) -> bool:
        """Tell whether a path or line that only the new output has is intended."""
        if self.added is None or re.fullmatch(self.added, new) is None:
            return False
        self.used = True
        return True


def read_changes(text: str) -> list[Change]:
    """Read the table of intended changes.

    Examples
    --------
    >>> read_changes('''
    ... [[change]]
    ... why = "The key is spelled out."
    ... goldens = "functions.json"
    ... path = "(.*)p"
    ... to = '\\\\1p_value'
    ... ''')[0].in_paths({"test/p": 0.5})
    {'test/p_value': 0.5}
    """
    found = []
    for number, entry in enumerate(tomllib.loads(text).get("change", []), 1):
        kinds = [key for key in ("path", "text", "added") if key in entry]
        if set(entry) - KEYS or len(kinds) != 1 or not entry.get("why") or not entry.get("goldens"):
            raise ValueError(f"change {number} needs why, goldens, and one of path, text and added")
        entry["goldens"] = _listed(entry["goldens"])
        if "to" in entry:
            entry["to"] = _listed(entry["to"])
        found.append(Change(**entry))
    return found


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def flat(value: Any, path: str = "") -> Flat:
    """Return the leaves of JSON by their path; an empty object or list is a leaf.

    Examples
    --------
    >>> flat({"a": [1, {"b": None}], "c": {}})
    {'a/0': 1, 'a/1/b': None, 'c': {}}
    """
    if not isinstance(value, dict | list) or not value:
        return {path: value}
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    return {
        place: leaf
        for key, each in pairs
        for place, leaf in flat(each, f"{path}/{key}" if path else f"{key}").items()
    }


def differences(
    name: str, old: str, new: str, changes: Sequence[Change] = (), *, exact: bool = False
) -> list[str]:
    """Return the differences of an output from its golden that no change intends, a line each.

    Parameters
    ----------
    name
        Name of the golden; ``functions.json`` is compared by paths, without regard to the order of keys.
    old, new
        The golden and the output.
    changes
        Intended changes; those whose patterns match the name apply, in order.
    exact
        Compare numbers to the last digit instead of with a tolerance of 1e-8.
    """
    concerned = [each for each in changes if any(fnmatch(name, pattern) for pattern in each.goldens)]
    compare = _json_differences if name.endswith(".json") else _text_differences
    found = list(compare(old, new, concerned, exact))
    more = [f"... and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
    return [f"{name}: {each}" for each in found[:SHOWN] + more]


def _json_differences(old: str, new: str, changes: Sequence[Change], exact: bool) -> Iterator[str]:
    wanted, found = flat(json.loads(old)), flat(json.loads(new))
    for change in changes:
        wanted = change.in_paths(wanted)
    for path in wanted.keys() | found.keys():
        if path not in found:
            yield f"{path}: {_dumped(wanted[path])} is gone"
        elif path not in wanted:
            if not any(each.adds(path) for each in changes):
                yield f"{path}: {_dumped(found[path])} is new"
        elif path == "checksum" and not exact:
            continue  # it follows from the last digits of the other values
        elif not _same_value(wanted[path], found[path], exact) and (
            exact or not path.endswith(("/low", "/high")) or not _close_ends(wanted[path], found[path])
        ):
            yield f"{path}: {_dumped(wanted[path])} became {_dumped(found[path])}"


def _text_differences(old: str, new: str, changes: Sequence[Change], exact: bool) -> Iterator[str]:
    wanted = old
    for change in changes:
        wanted = change.in_text(wanted)
    here = [line for line in new.splitlines() if not any(each.adds(line) for each in changes)]
    there = wanted.splitlines()
    if changes and (wanted != old or len(here) != len(new.splitlines())):
        here, there = _without_layout(here), _without_layout(there)
    matcher = difflib.SequenceMatcher(None, there, here, autojunk=False)
    for kind, first, last, start, end in matcher.get_opcodes():
        if kind == "equal" or (
            last - first == end - start and all(map(lambda one, other: _same_line(one, other, exact),
                                                    there[first:last], here[start:end]))
        ):  # fmt: skip
            continue
        yield from (f"- {line}" for line in there[first:last])
        yield from (f"+ {line}" for line in here[start:end])


def _without_layout(lines: list[str]) -> list[str]:
    """Make runs of blanks and of dashes one, since columns are as wide as their widest cell."""
    return [re.sub(r"-{2,}", "-", re.sub(r"\s+", " ", line)).strip() for line in lines]


def _same_line(old: str, new: str, exact: bool) -> bool:
    first, second = NUMBER.split(old), NUMBER.split(new)
    if exact or first[::2] != second[::2]:
        return old == new
    return all(
        _close(float(one.replace(",", "")), float(other.replace(",", "")))
        for one, other in zip(first[1::2], second[1::2], strict=True)
    )


def _same_value(old: Any, new: Any, exact: bool) -> bool:
    if isinstance(old, str) and isinstance(new, str):
        return _same_line(old, new, exact)
    if type(old) is not type(new):
        return False
    if isinstance(old, float):
        return repr(old) == repr(new) or (not exact and _close(old, new))
    return bool(old == new)


def _close(old: float, new: float) -> bool:
    return math.isclose(old, new, rel_tol=RELATIVE, abs_tol=ABSOLUTE)


def _close_ends(old: Any, new: Any) -> bool:
    return isinstance(old, float) and isinstance(new, float) and math.isclose(old, new, rel_tol=OF_ENDS)


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def stored() -> dict[str, str]:
    """Return the stored goldens by their names."""
    found = {FUNCTIONS: (STORED / FUNCTIONS).read_text(encoding="utf-8")}
    for path in sorted(STORED.glob("*.text")):
        _, *parts = HEAD.split(path.read_text(encoding="utf-8"))
        found |= dict(zip(parts[::2], parts[1::2], strict=True))
    return found


def store(found: Mapping[str, str], commands: Mapping[str, str]) -> None:
    """Write goldens: the functions to one file, and the texts of each command, by its name, to one file."""
    texts: dict[str, str] = {}
    for name, line in commands.items():
        if name in found:
            file = f"{command_of(line).replace(' ', '-')}.text"
            texts[file] = texts.get(file, "") + f"===== {name}: calibrant {line}\n{found[name]}"
    for path in STORED.glob("*.text"):
        path.unlink()
    for file, text in {FUNCTIONS: found[FUNCTIONS], **texts}.items():
        (STORED / file).write_text(text, encoding="utf-8")


def compared(found: Mapping[str, str], *, exact: bool = False, whole: bool = True) -> list[str]:
    """Compare outputs with their goldens; if they are the whole, what is left over on either side counts too.

    Left over are goldens that no output is of, and changes that apply nowhere.
    """
    changes, old = read_changes(CHANGES.read_text(encoding="utf-8")), stored()
    lines = [f"{name}: there is no golden of this output" for name in sorted(found.keys() - old.keys())]
    for name in sorted(old.keys() & found.keys()):
        lines += differences(name, old[name], found[name], changes, exact=exact)
    if whole:
        gone = sorted(old.keys() - found.keys())
        lines += [f"{name}: no command gives this golden any more" for name in gone]
        lines += [f"changes.toml: nothing changed as in: {each.why}" for each in changes if not each.used]
    return lines
