"""Recalibrators in files: the same after reading, and every other file refused in one clear line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression
from sklearn.naive_bayes import GaussianNB

from calibrant import Calibrated, recalibrate
from calibrant.exceptions import FormatError, InputError
from calibrant.io import load_recalibrator, save_recalibrator
from calibrant.io.envelope import checksum
from calibrant.recalibrate import Isotonic, PerGroup, Temperature, VectorScaling
from calibrant.recalibrate.methods import METHODS

RNG = np.random.default_rng(3)
SCORE = RNG.random(600)
LABEL = RNG.random(600) < SCORE**2
SINGLE = [method.estimator for method in METHODS.values() if method.maps != "rows"]


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "model.json"
    save_recalibrator(Isotonic().fit(SCORE, LABEL), path)
    return path


@pytest.mark.parametrize("name", SINGLE)
def test_a_map_is_the_same_after_reading(name: str, tmp_path: Path) -> None:
    model = getattr(recalibrate, name)().fit(SCORE, LABEL)
    save_recalibrator(model, tmp_path / "model.json")
    found = load_recalibrator(tmp_path / "model.json")
    grid = np.linspace(0, 1, 1001)
    np.testing.assert_array_equal(found.recalibrator.transform(grid), model.transform(grid))
    assert (found.method, found.kind, found.pairs) == (model.method, "binary", 600)


def test_maps_of_groups_and_of_whole_rows_are_the_same_after_reading(tmp_path: Path) -> None:
    classes = [f"T{code}" for code in RNG.integers(0, 4, 600)]
    grouped = PerGroup(Isotonic(), [["T0", "T1"], ["T2"]]).fit(SCORE, LABEL, classes)
    save_recalibrator(grouped, tmp_path / "model.json")
    back = load_recalibrator(tmp_path / "model.json")
    assert (back.kind, back.classes, back.group) == ("classes", ("T0", "T1", "T2", "T3"), "given")
    assert back.method == "isotonic"
    read: Any = back.recalibrator
    np.testing.assert_array_equal(read.transform(SCORE, classes), grouped.transform(SCORE, classes))
    rows = RNG.dirichlet(np.ones(3), 300)
    code = [int(RNG.choice(3, p=row)) for row in rows]
    for joint in (
        Temperature().fit(rows**2 / (rows**2).sum(1, keepdims=True), code),
        VectorScaling().fit(rows, code),
    ):
        save_recalibrator(joint, tmp_path / "joint.json")
        saved = load_recalibrator(tmp_path / "joint.json")
        np.testing.assert_array_equal(saved.recalibrator.transform(rows), joint.transform(rows))
        assert (saved.kind, saved.classes, saved.group) == ("wide", ("0", "1", "2"), None)


def test_a_classifier_is_saved_by_joblib_and_not_as_json(tmp_path: Path) -> None:
    for model in (Calibrated(GaussianNB()), IsotonicRegression()):
        with pytest.raises(InputError, match=f"{type(model).__name__}, and only .* joblib"):
            save_recalibrator(model, tmp_path / "model.json")


def test_what_was_not_fitted_is_not_saved(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="fitted") as caught:
        save_recalibrator(Isotonic(), tmp_path / "model.json")
    assert caught.value.code == "undefined"
    assert not list(tmp_path.iterdir())


def edited(**changes: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda header: header | changes


def write(header: dict[str, Any], path: Path) -> None:
    """Write a header with a checksum that is right."""
    path.write_text(json.dumps(header | {"checksum": checksum(header)}), encoding="utf-8")


def deeper(header: dict[str, Any]) -> dict[str, Any]:
    header["state"]["fitted"]["score_range_"] = ["a", "b"]
    return header


def unknown(header: dict[str, Any]) -> dict[str, Any]:
    header["state"]["method"] = "os.system"
    return header


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (edited(format="other"), "file-mislabelled"),
        (edited(schema_version=2), "file-newer"),
        (edited(schema_version="1"), "file-broken"),
        (edited(schema_version=True), "file-broken"),
        (edited(kind="top"), "file-broken"),
        (edited(classes=["a"]), "file-broken"),
        (edited(classes=None), "file-broken"),
        (edited(threshold=2.0), "file-broken"),
        (edited(fitted_on=[]), "file-broken"),
        (edited(state=None), "file-broken"),
        (edited(state={}), "file-broken"),
        (deeper, "file-broken"),
        (unknown, "file-newer"),
    ],
)
def test_what_could_not_have_been_written_is_refused(
    change: Callable[[dict[str, Any]], dict[str, Any]], code: str, saved: Path
) -> None:
    write(change(json.loads(saved.read_text("utf-8"))), saved)
    with pytest.raises(FormatError) as caught:
        load_recalibrator(saved)
    assert (caught.value.code, caught.value.file) == (code, str(saved))
    assert caught.value.hint


@pytest.mark.parametrize("sealed", [False, True])
@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("$.fitted_on.pairs", "600", "expected int, got str"),
        ("$.fitted_on.pairs", 599, "does not go with the state"),
        ("$.fitted_on.score_range", [0, 1], "does not go with the state"),
        ("$.threshold", 2.0, "expected float < 1.0"),
        ("$.kind", "top", "invalid enum value 'top'"),
        ("$.classes", ["a"], "does not go with the state"),
    ],
)
def test_an_error_names_the_path_of_the_value(
    saved: Path, path: str, value: Any, words: str, sealed: bool
) -> None:
    header = json.loads(saved.read_text("utf-8"))
    *folders, name = path.removeprefix("$.").split(".")
    inside = header[folders[0]] if folders else header
    inside[name] = value
    if sealed:
        write(header, saved)
    else:
        saved.write_text(json.dumps(header), "utf-8")
    if not sealed and words.startswith("does not"):
        path, words = "$.checksum", "does not match the content"
    with pytest.raises(FormatError) as caught:
        load_recalibrator(saved)
    assert f"the recalibrator is damaged ({path}: {words})" in str(caught.value)
    assert caught.value.code == "file-broken"


@pytest.mark.parametrize("missing", ["state", "kind", "classes", "fitted_on", "method", "threshold"])
def test_a_header_without_a_part_is_refused(missing: str, saved: Path) -> None:
    header = json.loads(saved.read_text("utf-8"))
    del header[missing]
    write(header, saved)
    with pytest.raises(FormatError, match="damaged"):
        load_recalibrator(saved)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "file-mislabelled"),
        (b"PAR1", "file-mislabelled"),
        (b"[1, 2]", "file-mislabelled"),
        (b"{}", "file-mislabelled"),
        (b"{" * 100_000, "file-broken"),
        (b'{"a":' * 100_000, "file-broken"),
        (b'{"format": NaN}', "file-broken"),
        (b'{"format": "\xff"}', "file-broken"),
    ],
)
def test_foreign_files_are_refused(data: bytes, code: str, tmp_path: Path) -> None:
    (tmp_path / "model.json").write_bytes(data)
    with pytest.raises(FormatError) as caught:
        load_recalibrator(tmp_path / "model.json")
    assert caught.value.code == code


def test_a_file_cut_anywhere_is_refused(saved: Path) -> None:
    data = saved.read_bytes()
    for end in range(1, len(data) - 3, len(data) // 60):
        saved.write_bytes(data[:end])
        with pytest.raises(FormatError):
            load_recalibrator(saved)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file") as caught:
        load_recalibrator(tmp_path / "model.json")
    assert caught.value.code == "file-missing"
