"""Saved recalibrators with any one value changed or gone: refused in one line, or a map to probabilities."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from calibrant.exceptions import FormatError, InputError
from calibrant.io import load_recalibrator, save_recalibrator
from calibrant.io.envelope import checksum
from calibrant.io.saved_recalibrators import SavedRecalibrator
from calibrant.recalibrate.methods import METHODS
from calibrant.verbs import apply, fit

RNG = np.random.default_rng(8)
CLASSES = ("N", "V", "D")
VALUES: tuple[Any, ...] = (None, True, -1, 3, 0.5, 10**400, "abc", "0.5", [], ["abc"], [[0.1]], {}, {"a": 1})
GONE = object()


def wide(n: int) -> pa.Table:
    matrix = RNG.dirichlet([2.0, 1.0, 1.0], n)
    true = [int(RNG.choice(3, p=row)) for row in matrix]
    columns = {f"p_{name}": matrix[:, k] for k, name in enumerate(CLASSES)}
    return pa.table({**columns, "label": [CLASSES[k] for k in true]})


def long(n: int) -> pa.Table:
    score = RNG.random(3 * n)
    return pa.table({"score": score, "label": RNG.random(3 * n) < score, "class": CLASSES * n})


TABLES = {"binary": long(20).drop_columns(["class"]), "classes": long(20), "wide": wide(20)}
FITS: dict[str, tuple[str, dict[str, Any]]] = {
    **{
        name: ("binary", {"method": name} | ({} if method.n_bins is None else {"n_bins": 2}))
        for name, method in METHODS.items()
        if method.maps != "rows"
    },
    "shared": ("classes", {"method": "platt", "drop_below": 0.05}),
    "class": ("classes", {"method": "platt", "group": "class", "min_scores": 1}),
    "frequency": ("classes", {"method": "platt", "group": "frequency", "groups": 2}),
    "given": ("classes", {"method": "platt", "group": {"N": "a", "V": "a", "D": "b"}}),
    **{
        f"wide-{name}": ("wide", {"method": name})
        for name, method in METHODS.items()
        if method.maps != "scores"
    },
    "wide-class": ("wide", {"method": "platt", "group": "class", "min_scores": 1}),
}


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths to all parts of JSON; of lists of numbers only the first and the last."""
    if path:
        yield path
    if isinstance(value, dict):
        for key in value:
            yield from places(value[key], (*path, key))
    elif isinstance(value, list) and value:
        for index in range(len(value)) if isinstance(value[0], (dict, list)) else {0, len(value) - 1}:
            yield from places(value[index], (*path, index))


def changed(header: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    new = copy.deepcopy(header)
    inside = new
    for key in path[:-1]:
        inside = inside[key]
    if value is GONE:
        del inside[path[-1]]
    else:
        inside[path[-1]] = value
    return new


def check(path: Path, view: str, folder: Path) -> None:
    """Refused as a file, or as a model that goes not with the table, or a map to probabilities."""
    found: SavedRecalibrator | None = None
    refused: InputError | None = None
    try:
        found = load_recalibrator(path)
        apply(found, TABLES[view], folder / "recalibrated.parquet")
    except InputError as error:
        refused = error
    if refused is not None:
        assert refused.hint
        assert found is not None or (isinstance(refused, FormatError) and refused.file == str(path))
        return
    recalibrated = pa.parquet.read_table(folder / "recalibrated.parquet")
    for name in recalibrated.column_names:
        if name == "score" or name.startswith("p_"):
            score = recalibrated[name].to_numpy()
            assert ((score >= 0) & (score <= 1)).all()


@pytest.mark.parametrize("name", FITS)
def test_no_changed_value_gives_a_traceback_or_a_number_that_is_no_probability(
    name: str, tmp_path: Path
) -> None:
    view, settings = FITS[name]
    path = tmp_path / "model.json"
    save_recalibrator(fit(TABLES[view], **settings), path)
    header = json.loads(path.read_text("utf-8"))
    for place in places(header):
        for value in (*VALUES, GONE):
            new = changed(header, place, value)
            if place[0] != "checksum":
                new["checksum"] = checksum(new)
            path.write_text(json.dumps(new), encoding="utf-8")
            try:
                check(path, view, tmp_path)
            except Exception as error:
                error.add_note(f"{place} = {value!r:.50}")
                raise


@pytest.mark.parametrize("name", FITS)
def test_without_a_newchecksum_every_change_is_refused(name: str, tmp_path: Path) -> None:
    view, settings = FITS[name]
    path = tmp_path / "model.json"
    save_recalibrator(fit(TABLES[view], **settings), path)
    header = json.loads(path.read_text("utf-8"))
    for place in places(header):
        for value in (0.123456789, GONE):
            path.write_text(json.dumps(changed(header, place, value)), encoding="utf-8")
            with pytest.raises(FormatError):
                load_recalibrator(path)


@pytest.mark.parametrize("digit", range(3))
def test_a_digit_that_was_flipped_on_the_disk_is_seen(digit: int, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    save_recalibrator(fit(TABLES["binary"], method="isotonic"), path)
    data = bytearray(path.read_bytes())
    digits = [place for place, byte in enumerate(data) if 48 <= byte <= 57]
    for place in digits[digit :: len(digits) // 40]:
        flipped = bytearray(data)
        flipped[place] = 48 + (data[place] - 47) % 10
        path.write_bytes(bytes(flipped))
        if json.loads(bytes(flipped)) == json.loads(bytes(data)):
            continue  # a seventeenth digit that no number hangs on
        with pytest.raises(FormatError):
            load_recalibrator(path)
