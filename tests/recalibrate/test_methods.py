"""Every method of the table is an estimator, an option of `calibrant fit`, a file, and a row of the guide."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from click.testing import CliRunner

from calibrant import recalibrate
from calibrant.cli import main
from calibrant.io import load_recalibrator
from calibrant.recalibrate import BinaryRecalibrator, Recalibrator
from calibrant.recalibrate.methods import METHODS, SETTINGS
from calibrant.verbs import apply, fit

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "recalibrate.md"
RNG = np.random.default_rng(12)
SCORE = RNG.random(300).round(3)
BINARY = pa.table({"score": SCORE, "label": (RNG.random(300) < SCORE**2).astype(int)})
ROWS = RNG.dirichlet([2.0, 1.0, 1.0], 300)
WIDE = pa.table(
    {**{f"p_{name}": ROWS[:, k] for k, name in enumerate("NVD")}}
    | {"label": ["NVD"[int(RNG.choice(3, p=row))] for row in ROWS]}
)
each = pytest.mark.parametrize("name", METHODS)


def kind_of(name: str) -> type[Recalibrator]:
    kind: type[Recalibrator] = getattr(recalibrate, METHODS[name].estimator)
    return kind


def test_every_recalibrator_of_scores_or_rows_is_in_the_table() -> None:
    compositions = {"Shared", "PerClass", "PerGroup"}
    found = {
        name
        for name in recalibrate.__all__
        if isinstance(kind := getattr(recalibrate, name), type)
        and issubclass(kind, Recalibrator)
        and "method" in vars(kind)
    }
    assert found == {method.estimator for method in METHODS.values()} | compositions


@each
def test_a_row_says_what_its_estimator_says(name: str) -> None:
    method, kind = METHODS[name], kind_of(name)
    assert name == kind.method or method.fixed
    assert method.make().get_params().items() >= method.fixed.items()
    assert issubclass(kind, BinaryRecalibrator) == (method.maps != "rows")
    parameters = inspect.signature(kind).parameters
    assert method.settings.keys() <= parameters.keys()
    assert ("n_bins" in parameters) == (method.n_bins is not None)
    if method.n_bins is not None:
        assert kind().get_params()["n_bins"] in (method.n_bins, None)


@each
def test_the_guide_has_a_row_for_every_method(name: str) -> None:
    assert f"\n| `{name}` | " in GUIDE.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "form"),
    [(name, form) for name in METHODS for form in ("scores", "rows") if METHODS[name].maps in (form, "both")],
)
def test_every_method_is_fitted_saved_and_applied_by_the_command_line(
    name: str, form: str, tmp_path: Path
) -> None:
    table = BINARY if form == "scores" else WIDE
    pa.csv.write_csv(table, tmp_path / "dev.csv")
    arguments = [str(tmp_path / "dev.csv"), "-o", str(tmp_path / "model.json"), "--method", name]
    for setting in METHODS[name].settings:
        arguments += [f"--{setting}", "0.01"]
    run = CliRunner().invoke(main, ["fit", *arguments, "--json"], catch_exceptions=False)
    assert run.exit_code == 0, run.output
    assert json.loads(run.stdout)["method"] == name
    loaded = load_recalibrator(tmp_path / "model.json")
    assert type(loaded.recalibrator) is kind_of(name)
    done = apply(loaded, table, tmp_path / "recalibrated.csv")
    assert done.rows == 300
    again = Recalibrator.from_state(json.loads(json.dumps(loaded.recalibrator.to_state())))
    assert again.to_state() == loaded.recalibrator.to_state()


def test_the_help_and_the_docstring_of_fit_name_every_method_and_setting() -> None:
    text = CliRunner().invoke(main, ["fit", "--help"]).output
    assert all(name in text for name in METHODS)
    assert all(f"--{name}" in text for name in SETTINGS)
    assert all(f"``{name}``" in str(fit.__doc__) for name in METHODS)
