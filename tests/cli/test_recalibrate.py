"""`calibrant fit`, `calibrant apply`, and `calibrant report --model`."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from calibrant.io import load_recalibrator
from tests.command_line import Run


@pytest.fixture
def tags(tmp_path: Path) -> Path:
    """Scores of three tags of 600 tokens; the third is rare."""
    random = np.random.default_rng(6)
    code = np.tile(np.arange(3), 600)
    score = random.random(1800) * np.array([0.9, 0.6, 0.2])[code]
    names = pa.array(["NN", "VB", "UH"]).take(pa.array(code))
    path = tmp_path / "tags.parquet"
    pq.write_table(
        pa.table({"score": score, "label": random.random(1800) < score**1.5, "class": names}), path
    )
    return path


def test_apply_suggests_a_label_column_if_the_table_has_none_of_the_usual_name(
    run: Run, long_table: Path, tmp_path: Path
) -> None:
    model, output = tmp_path / "model.json", tmp_path / "out.parquet"
    run("fit", long_table, "-o", model, "--method", "platt")
    assert f"calibrant measure {output}    if the" in run("apply", model, long_table, "-o", output).out
    clicks = tmp_path / "clicks.parquet"
    pq.write_table(pa.table({"p_click": [0.1, 0.9], "clicked": [0, 1]}), clicks)
    ran = run("apply", model, clicks, "--score", "p_click", "-o", output)
    assert f"calibrant measure {output} --score p_click --label LABEL    if the" in ran.out


@pytest.mark.parametrize(("fitted", "given"), [("wide", "long"), ("long", "wide")])
def test_a_table_of_the_other_form_is_applied_after_the_conversion_that_the_error_names(
    run: Run, tmp_path: Path, fitted: str, given: str
) -> None:
    random = np.random.default_rng(4)
    matrix = random.dirichlet([1.0, 1.0, 1.0], 300)
    label = [random.choice([*"xyz"], p=row) for row in matrix]
    columns = {f"p_{name}": matrix[:, place] for place, name in enumerate("xyz")}
    pq.write_table(pa.table({"label": label, **columns}), tmp_path / "wide.parquet")
    run("convert", tmp_path / "wide.parquet", "--to", "long", "-o", tmp_path / "long.parquet")
    model, again = tmp_path / "model.json", tmp_path / "again.parquet"
    run("fit", tmp_path / f"{fitted}.parquet", "-o", model, "--method", "histogram")
    ran = run("apply", model, tmp_path / f"{given}.parquet", "-o", tmp_path / "out.parquet")
    assert (ran.code, f"`calibrant convert --to {fitted}`" in ran.err) == (2, True)
    run("convert", tmp_path / f"{given}.parquet", "--to", fitted, "-o", again)
    assert run("apply", model, again, "-o", tmp_path / "out.parquet").code == 0


def test_fit_to_an_archive_suggests_apply_which_reads_archives(run: Run, tmp_path: Path) -> None:
    archive, model = tmp_path / "dev.npz", tmp_path / "model.json"
    probs = np.random.default_rng(4).dirichlet([1.0, 1.0, 1.0], 300)
    np.savez(archive, probs=probs, labels=np.arange(300) % 3)
    assert f"calibrant apply {model} TEST -o OUT" in run("fit", archive, "-o", model).out
    assert run("apply", model, archive, "-o", tmp_path / "out.parquet").code == 0


def test_fit_then_apply_then_measure(run: Run, long_table: Path, tmp_path: Path) -> None:
    model, output = tmp_path / "model.json", tmp_path / "recalibrated.parquet"
    ran = run("fit", long_table, "-o", model, "--method", "platt", "--full")
    assert (ran.code, ran.err) == (0, "")
    for part in ("platt", "  Pairs", "400", f"Wrote {model}\n", f"calibrant apply {model} TEST"):
        assert part in ran.out, part
    ran = run("apply", model, long_table, "-o", output)
    assert (ran.code, ran.err) == (0, "")
    assert str(output) in ran.out
    assert run("measure", output).code == 0
    header = json.loads(model.read_text("utf-8"))
    assert header["command"].startswith("calibrant fit ")
    assert header["fitted_on"]["file"] == str(long_table)
    assert len(header["fitted_on"]["sha256"]) == 64


def test_a_model_never_replaces_a_file_that_it_is_fitted_on(run: Run, tags: Path, tmp_path: Path) -> None:
    counts = tmp_path / "counts.tsv"
    counts.write_text("NN\t5\nVB\t5\nUH\t1\n", encoding="utf-8")
    for read in (tags, counts):
        before = read.read_bytes()
        run("fit", tags, "-o", read, "--group", "frequency", "--counts", counts).refused(
            f"{read}: the output would replace this file"
        )
        assert read.read_bytes() == before


def test_a_count_of_thousands_of_digits_is_refused(run: Run, tags: Path, tmp_path: Path) -> None:
    counts = tmp_path / "counts.tsv"
    counts.write_text(f"NN\t{'9' * 5000}\nVB\t5\nUH\t1\n", encoding="utf-8")
    run("fit", tags, "-o", tmp_path / "model.json", "--group", "frequency", "--counts", counts).refused("NN")


def test_groups_and_counts_come_from_files(run: Run, tags: Path, tmp_path: Path) -> None:
    model = tmp_path / "model.json"
    (tmp_path / "groups.tsv").write_text("NN\topen\nVB\topen\nUH\tclosed\n", encoding="utf-8")
    ran = run("fit", tags, "-o", model, "--group", tmp_path / "groups.tsv", "--json")
    assert ran.code == 0
    found = json.loads(ran.out)
    assert (found["maps"], found["classes"], found["group"]) == (2, 3, str(tmp_path / "groups.tsv"))
    (tmp_path / "counts.tsv").write_text("NN\t5\nVB\t5\nUH\t1\n", encoding="utf-8")
    counts = ("--group", "frequency", "--groups", 2, "--counts", tmp_path / "counts.tsv")
    assert run("fit", tags, "-o", model, *counts).code == 0
    recalibrator: Any = load_recalibrator(model).recalibrator
    assert [list(group) for group in recalibrator.groups] == [["NN", "VB"], ["UH"]]
    (tmp_path / "counts.tsv").write_text("NN\tmany\n", encoding="utf-8")
    run("fit", tags, "-o", model, *counts).refused("the count of 'NN' is 'many'")


@pytest.mark.parametrize("text", ["NN open\n", "NN\ta\nNN\tb\n", "\n", "NN\ta\tb\n"])
def test_bad_groups_are_one_line(text: str, run: Run, tags: Path, tmp_path: Path) -> None:
    (tmp_path / "groups.tsv").write_text(text, encoding="utf-8")
    run("fit", tags, "-o", tmp_path / "model.json", "--group", tmp_path / "groups.tsv").refused(
        f"calibrant: {tmp_path / 'groups.tsv'}"
    )
    assert not (tmp_path / "model.json").exists()


def test_report_shows_before_and_after(run: Run, tags: Path, tmp_path: Path) -> None:
    model, page = tmp_path / "model.json", tmp_path / "report.html"
    assert run("fit", tags, "-o", model).code == 0
    ran = run("report", tags, "--model", model, "--view", "pooled", "-o", page, "--full")
    assert (ran.code, ran.err) == (0, "")
    for part in (
        "  before  pooled",
        "  after   pooled",
        f"before and after {model}",
        "fitted to the same data",
        " %]",
    ):
        assert part in ran.out, part
    text = page.read_text("utf-8")
    assert "before" in text
    assert "fitted to the same data" in text
    ran = run("report", tags, tags, "--model", model, "-o", page)
    assert (ran.code, "one table" in ran.err) == (2, True)
    ran = run("report", tags, "--dev", tags, "-o", page)
    assert (ran.code, "(--model)" in ran.err) == (2, True)


@pytest.mark.slow
def test_report_fits_again_to_resamples_of_dev(run: Run, tags: Path, tmp_path: Path) -> None:
    model, page = tmp_path / "model.json", tmp_path / "report.html"
    assert run("fit", tags, "-o", model, "--method", "platt").code == 0
    ran = run("report", tags, "--model", model, "--dev", tags, "--view", "pooled", "-o", page)
    assert (ran.code, ran.err) == (0, "")
    said = "include the sampling error of the calibration map (the dev set was resampled)"
    assert f"{said}: 200 maps fitted to resamples of" in ran.out
    assert said in page.read_text("utf-8")
    assert "is not the file to which" not in ran.out
    other = tmp_path / "other.parquet"
    pq.write_table(pq.read_table(tags).slice(0, 900), other)
    foreign = run("report", tags, "--model", model, "--dev", other, "--view", "pooled", "-o", page)
    assert f"{other} is not the file to which the recalibrator was fitted ({tags})" in foreign.out
    fixed = run("report", tags, "--model", model, "--view", "pooled", "-o", page, "--full")
    said = "treat the calibration map as fixed"
    assert said in fixed.out
    assert said in page.read_text("utf-8")
    method = ("--dev", tags, "--method", "platt")
    again = run("report", tags, *method, "--view", "pooled", "-o", page, "--full")
    assert again.code == 0
    assert "maps fitted to resamples" in again.out
    # Their interval would treat the map as fixed.
    assert "Brier scores:" in fixed.out
    assert "Brier scores:" not in again.out


def test_apply_says_what_to_know(run: Run, tags: Path, tmp_path: Path) -> None:
    model, output = tmp_path / "model.json", tmp_path / "recalibrated.parquet"
    assert run("fit", tags, "-o", model, "--drop-below", 0.05).code == 0
    other = pa.table({"score": [0.01, 0.5, 0.99], "class": ["NN", "FW", "NN"]})
    pq.write_table(other.replace_schema_metadata({"calibrant.threshold": "0.01"}), tmp_path / "other.parquet")
    ran = run("apply", model, tmp_path / "other.parquet", "-o", output)
    assert ran.code == 0
    for part in (
        "1  they stay unchanged",
        "1  the map is extrapolated",
        "FW",
        "leaves out scores below 0.01",
    ):
        assert part in ran.out, part
    ran = run("apply", model, output, "-o", tmp_path / "again.parquet", "--json")
    assert json.loads(ran.out)["again"] is True


def test_errors_are_one_line_and_leave_nothing(
    run: Run, tags: Path, long_table: Path, tmp_path: Path
) -> None:
    model, output = tmp_path / "model.json", tmp_path / "recalibrated.parquet"
    assert run("fit", tags, "-o", model).code == 0
    for arguments in (
        (model, long_table, "-o", output),
        (tags, tags, "-o", output),
        (model, tags, "-o", tags),
        (model, tmp_path / "none.parquet", "-o", output),
        (tmp_path / "none.json", tags, "-o", output),
        (model, tags, "-o", tmp_path / "recalibrated.xlsx"),
    ):
        ran = run("apply", *arguments)
        assert (ran.code, ran.err.count("\n"), ran.out) == (2, 1, ""), arguments
    assert not output.exists()
    assert run("fit", tags, "-o", tmp_path / "no" / "model.json").code == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--groups", 3),
            "groups is only for groups by frequency: leave --groups out, or choose these groups (--gr",
        ),
        (("--counts", "counts.tsv"), "counts is only for"),
        (("--min-scores", 3), "--min-scores is only for groups by class"),
        (("--groups", "many"), "'many' is neither a whole number of at least 1 nor auto"),
        (("--n-bins", 3), "auto has no n_bins: leave --n-bins out, or choose histogram"),
        (("--penalty", 1), "auto has no penalty: leave --penalty out, or choose vector or matrix"),
        (("--method", "vector", "--penalty", 1), "vector maps all classes of a row at once"),
        (
            ("--group", "class", "--min-scores", 10_000),
            "lower --min-scores, or fit classes together",
        ),
        (("--method", "histogram", "--n-bins", 5000), "5,000 bins cannot be made of 1,800 pairs"),
        (("--group", "frequency", "--groups", 0), "'0' is neither"),
    ],
    ids=str,
)
def test_options_that_do_not_go_together_are_refused(
    options: tuple[Any, ...], message: str, run: Run, tags: Path, tmp_path: Path
) -> None:
    ran = run("fit", tags, "-o", tmp_path / "model.json", *options)
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert message in ran.err
    assert not (tmp_path / "model.json").exists()


def test_separable_labels_are_fitted_with_smoothing(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "dev.csv"
    path.write_text("score,label\n0.1,0\n0.2,0\n0.7,1\n0.8,1\n", encoding="utf-8")
    run("fit", path, "-o", tmp_path / "model.json", "--method", "platt").refused(str(path), "platt-smoothed")
    assert run("fit", path, "-o", tmp_path / "model.json", "--method", "platt-smoothed").code == 0


def test_bins_and_groups_can_be_chosen(run: Run, tags: Path, tmp_path: Path) -> None:
    choose = ("--method", "histogram", "--n-bins", "auto", "--group", "frequency", "--groups", "auto")
    ran = run("fit", tags, "-o", tmp_path / "model.json", *choose)
    assert (ran.code, ran.err) == (0, "")
    assert "bins: the best of" in ran.out


def test_a_group_file_with_classes_that_are_not_there_is_told(run: Run, tags: Path, tmp_path: Path) -> None:
    groups = tmp_path / "groups.tsv"
    groups.write_text("NN\topen\nVB\topen\nUH\topen\nFW\tother\n", encoding="utf-8")
    run("fit", tags, "-o", tmp_path / "model.json", "--group", groups).refused(
        "group other has no scores to fit on: it has the class 'FW': leave the group out"
    )


@pytest.mark.parametrize("command", ["fit", "apply", "report"])
def test_an_empty_name_for_the_output_is_refused(command: str, run: Run, tags: Path, tmp_path: Path) -> None:
    assert run("fit", tags, "-o", tmp_path / "model.json").code == 0
    model = (tmp_path / "model.json",) if command == "apply" else ()
    ran = run(command, *model, tags, "-o", "")
    assert (ran.code, ran.err) == (2, "calibrant: the output has no name: name a file\n")


def test_a_constant_score_is_noted(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "dev.csv"
    path.write_text("score,label\n" + "0.4,0\n0.4,1\n" * 20, encoding="utf-8")
    ran = run("fit", path, "-o", tmp_path / "model.json")
    assert "all scores are equal" in ran.out


def test_a_command_that_is_told_to_end_leaves_nothing_behind(
    run: Run, tags: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("fit", tags, "-o", tmp_path / "model.json").code == 0
    there = sorted(tmp_path.iterdir())

    def end(self: Any, scores: Any, codes: Any) -> Any:
        assert any(path.name.endswith(".tmp") for path in tmp_path.iterdir())
        os.kill(os.getpid(), signal.SIGTERM)
        return scores

    monkeypatch.setattr("calibrant.verbs.applying.Recalibration.__call__", end)
    ran = run("apply", tmp_path / "model.json", tags, "-o", tmp_path / "recalibrated.parquet")
    assert (ran.code, ran.err.strip()) == (143, "calibrant: stopped")
    assert sorted(tmp_path.iterdir()) == there
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_fit_offers_dev_only_where_maps_are_fitted_again(run: Run, tmp_path: Path) -> None:
    rows = [f"0.{place % 10}5,{place % 3 % 2},{1 + place % 2}" for place in range(300)]
    for name, header in (("plain.csv", "score,label,other"), ("weighted.csv", "score,label,weight")):
        (tmp_path / name).write_text("\n".join([header, *rows]), encoding="utf-8")
        ran = run("fit", tmp_path / name, "-o", tmp_path / "map.json", "--method", "platt")
        assert ("--dev" in ran.out) == (name == "plain.csv")
