"""Watching a table: windows, references, states that go on, and bad input."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calibrant.evaluation import CalibrationMonitor, Monitoring, monitor
from calibrant.evaluation.files.timed import RowStore
from calibrant.exceptions import FormatError, InputError
from calibrant.io import Columns
from calibrant.io.atomic import locked
from calibrant.io.envelope import checksum

Edit = Callable[[dict[str, Any]], None]


def table(days: int = 10, each: int = 60, seed: int = 0, *, power: float = 1.0) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    score = random.random(days * each)
    label = (random.random(days * each) < score**power).astype(int)
    first = date(2026, 3, 1)
    names = [str(first + timedelta(days=place // each)) for place in range(days * each)]
    cluster = [f"c{place // 5}" for place in range(days * each)]
    return {"score": score, "label": label, "day": names, "cluster": cluster}


def test_windows_are_those_of_the_monitor_itself() -> None:
    columns = table()
    order = np.random.default_rng(1).permutation(600)
    shuffled = {name: np.asarray(values)[order] for name, values in columns.items()}
    found = monitor(pa.table(shuffled), time="day", unit="cluster", alpha=0.05)
    expected = CalibrationMonitor(unit="cluster", alpha=0.05)
    for start in range(0, 600, 60):
        part = slice(start, start + 60)
        expected.update(
            columns["day"][start],
            columns["label"][part],
            columns["score"][part],
            clusters=columns["cluster"][part],
        )
    for one, other in zip(found.days, expected.result().days, strict=True):
        assert (one.day, one.n, one.groups, one.alarm) == (other.day, other.n, other.groups, other.alarm)
        assert one.log10_e == pytest.approx(other.log10_e, rel=1e-9, abs=1e-12)
        assert one.error.estimate == pytest.approx(other.error.estimate, rel=1e-6, abs=1e-9)


def test_versions_are_taken_in_the_order_of_their_numbers() -> None:
    columns = table()
    columns["version"] = np.repeat([f"v{place}.10" for place in range(3, 13)], 60)
    shuffled = pa.table(columns).take(np.random.default_rng(1).permutation(600))
    found = monitor(shuffled, time="version", by="value")
    assert [day.day for day in found.days] == [f"v{place}.10" for place in range(3, 13)]
    later = monitor(shuffled, time="version", by="value", against="reference", reference="v9.2")
    assert [day.day for day in later.days] == ["v9.10", "v10.10", "v11.10", "v12.10"]


def test_months_may_be_written_without_days() -> None:
    columns = table() | {"month": np.repeat([f"2026-{month:02}" for month in range(1, 11)], 60)}
    found = monitor(pa.table(columns), time="month", by="month")
    assert [day.day for day in found.days] == [f"2026-{month:02}" for month in range(1, 11)]


@pytest.mark.parametrize(("by", "windows"), [("day", 10), ("week", 3), ("month", 1), ("value", 10)])
def test_windows_are_days_weeks_months_or_what_stands_there(by: str, windows: int) -> None:
    found = monitor(pa.table(table()), time="day", by=by)
    assert len(found.days) == windows
    assert sum(day.n for day in found.days) == 600


def test_time_stamps_dates_and_numbers_are_read() -> None:
    columns = table(3)
    stamps = [datetime.fromisoformat(day) + timedelta(minutes=k) for k, day in enumerate(columns["day"])]
    for values in (stamps, [stamp.date() for stamp in stamps], [f"{stamp}" for stamp in stamps]):
        found = monitor(pa.table({**columns, "day": values}), time="day")
        assert [day.day for day in found.days] == ["2026-03-01", "2026-03-02", "2026-03-03"]
    numbers = pa.table({**columns, "day": [9 + k // 60 for k in range(180)]})
    assert [day.day for day in monitor(numbers, time="day", by="value").days] == [9, 10, 11]


def test_numbers_in_a_text_file_are_in_the_order_of_numbers(tmp_path: Path) -> None:
    file = tmp_path / "scored.csv"
    rows = [f"0.5,{place % 2},{place}" for place in range(8, 12)]
    file.write_text("score,label,batch\n" + "\n".join(rows) + "\n")
    assert [day.day for day in monitor(file, time="batch", by="value").days] == [8, 9, 10, 11]
    later = monitor(file, time="batch", by="value", against="reference", reference="9", unit="item")
    assert [day.day for day in later.days] == [10, 11]


def test_a_state_goes_on_without_counting_twice(tmp_path: Path) -> None:
    columns = table()
    state = tmp_path / "state.json"
    whole = monitor(pa.table(columns), time="day", unit="item")
    for rows in (120, 240, 240, 600):
        part = pa.table({name: values[:rows] for name, values in columns.items()})
        found = monitor(part, time="day", unit="item", state=state)
        assert len(found.days) == rows // 60
    assert found == whole


def test_a_table_of_new_days_alone_goes_on_too(tmp_path: Path) -> None:
    columns = table()
    state = tmp_path / "state.json"
    for start in range(0, 600, 120):
        part = pa.table({name: values[start : start + 120] for name, values in columns.items()})
        found = monitor(part, time="day", unit="item", state=state)
    assert found == monitor(pa.table(columns), time="day", unit="item")


def test_rows_that_come_too_late_are_said_and_not_counted(tmp_path: Path) -> None:
    columns = table()
    state = tmp_path / "state.json"
    first = {name: list(values[:150]) for name, values in columns.items()}
    monitor(pa.table(first), time="day", state=state)
    found = monitor(pa.table(columns), time="day", state=state)
    assert found.days[2].n == 30
    assert "2026-03-03 (at least 30)" in str(found.late_warning)


def test_late_rows_are_said_also_if_they_come_alone_and_a_repeated_day_is_not(tmp_path: Path) -> None:
    columns = table()
    for rows, changed, said in (
        ((175, 180), False, "5, unless"),
        ((120, 175), False, None),
        ((120, 175), True, "55, unless"),
    ):
        state = tmp_path / f"{said}.json"
        monitor(pa.table({name: values[:175] for name, values in columns.items()}), time="day", state=state)
        part = {name: values[slice(*rows)] for name, values in columns.items()}
        part["score"] = [1 - q for q in part["score"]] if changed else part["score"]
        found = monitor(pa.table(part), time="day", state=state)
        assert (
            found.late_warning is None if said is None else f"2026-03-03 ({said}" in str(found.late_warning)
        )


@pytest.mark.parametrize("kind", [np.float16, np.float32])
def test_a_repeated_day_of_short_floats_is_not_said_to_be_late(kind: Any, tmp_path: Path) -> None:
    columns = table(each=1500)
    rows = pa.table(columns | {"score": columns["score"].astype(kind)})
    for _ in range(2):
        found = monitor(rows, time="day", unit="item", state=tmp_path / "state.json")
    assert found.late_warning is None


def test_rows_without_a_label_are_counted_and_left_out(tmp_path: Path) -> None:
    columns = table()
    there = np.random.default_rng(1).random(600) < 0.8
    given = {name: np.asarray(values)[there] for name, values in columns.items()}
    expected = monitor(pa.table(given), time="day", unit="item")
    label = pa.array(columns["label"], mask=~there)
    rows = pa.table({**columns, "label": label, "day": pa.array(columns["day"], mask=~there)})
    found = monitor(rows, time="day", unit="item")
    assert found.days == expected.days
    assert found.unlabeled_warning is not None
    assert found.unlabeled_warning.startswith(
        f"rows left out because they have no label: {600 - there.sum()}."
    )
    state, none = tmp_path / "state.json", rows.set_column(1, "label", pa.nulls(600))
    monitor(rows, time="day", unit="item", state=state)
    assert monitor(none, time="day", unit="item", state=state).days == expected.days
    with pytest.raises(InputError, match="no row has a label"):
        monitor(none, time="day")


def test_the_row_of_an_error_counts_rows_without_a_label() -> None:
    columns = table(1, 10) | {"label": [None, 1, None, None, 0, 1, 0, None, 1, 0]}
    for row in (2, 5, 6, 10):
        days = [name if place != row - 1 else "soon" for place, name in enumerate(columns["day"])]
        with pytest.raises(InputError, match="'soon' is not a date") as caught:
            monitor(pa.table(columns | {"day": days}), time="day")
        assert caught.value.row == row - 1  # a table in memory has row 0
    wide = {"p_a": [0.3] * 9 + [0.4], "p_b": [0.7] * 10, "label": [None, "a", None, *["b"] * 7]}
    with pytest.raises(InputError, match="add up to") as caught:
        monitor(pa.table(wide | {"day": columns["day"]}), time="day", view="top")
    assert caught.value.row == 9


def test_the_error_of_a_date_names_the_file_of_a_folder(tmp_path: Path) -> None:
    for part, second in (("a", "2026-01-02"), ("b", "soon")):
        table = pa.table({"score": [0.1, 0.2], "label": [None, 1], "day": ["2026-01-01", second]})
        pq.write_table(table, tmp_path / f"{part}.parquet")
    with pytest.raises(InputError, match="'soon' is not a date") as caught:
        monitor(tmp_path, time="day")
    assert (caught.value.file, caught.value.row) == (str(tmp_path / "b.parquet"), 2)


def test_the_error_of_a_label_na_says_to_leave_it_empty() -> None:
    days = ["2026-03-01"] * 4
    long = {"score": [0.3] * 4, "label": ["1", "NA", "", "0"], "day": days}
    wide = {"p_a": [0.3] * 4, "p_b": [0.7] * 4, "label": ["a", "NA", "", "b"], "day": days}
    for columns, view in ((long, "binary"), (wide, "top")):
        with pytest.raises(InputError, match="leave the field of a missing label empty") as caught:
            monitor(pa.table(columns), time="day", view=view)
        assert caught.value.row == 1


def test_an_unknown_class_is_an_error_also_with_rows_without_a_label() -> None:
    columns = table(1, 4) | {"label": [None, 1, 0, 1], "class": ["a"] * 4}
    with pytest.raises(InputError, match="view class:b has no pairs"):
        monitor(pa.table(columns), time="day", view="class:b")


def test_a_reference_is_the_rows_up_to_a_day(tmp_path: Path) -> None:
    columns = table(40, power=2.0)
    source = pa.table(columns)
    arguments: dict[str, Any] = {"time": "day", "unit": "item", "against": "reference"}
    state = tmp_path / "state.json"
    found = monitor(source, reference="2026-03-20", state=state, **arguments)
    assert len(found.days) == 20
    assert not found.alarms
    assert found.against == "reference"
    assert monitor(source, reference="2026-03-20", state=state, **arguments) == found
    assert monitor(source, time="day", unit="item").alarms
    days = monitor(source, time="day", against="reference", reference="2026-03-20")
    assert (np.array(days.bound_above) >= np.array(found.bound_above)).all()
    nothing = monitor(source, reference="2027-01-01", **arguments)
    assert any("No window was monitored" in line for _, line in nothing.remarks())


def test_views_of_tables_with_classes() -> None:
    columns = table(4)
    names = {"label": ["yes" if label else "no" for label in columns["label"]], "day": columns["day"]}
    wide = pa.table({**names, "p_yes": columns["score"], "p_no": 1 - columns["score"]})
    view = monitor(wide, time="day", view="class:yes", unit="item")
    plain = monitor(pa.table(columns), time="day", unit="item")
    assert [day.log10_e for day in view.days] == pytest.approx([day.log10_e for day in plain.days])
    assert monitor(wide, time="day", view="pooled").days[0].n == 120
    assert monitor(wide, time="day", view="top").days[0].n == 60
    classes = np.array(["a", "b"] * 120)
    long = pa.table({**columns, "class": classes})
    assert monitor(long, time="day", view="class:a").days[0].n == 30
    for name, code in (("class:z", "class-unknown"), ("top", "view"), (None, "view")):
        with pytest.raises(InputError) as error:
            monitor(long, time="day", view=name)
        assert error.value.code == code


def test_figures_are_written_and_columns_renamed(tmp_path: Path) -> None:
    columns = table(3)
    renamed = pa.table({"p": columns["score"], "y": columns["label"], "day": columns["day"]})
    figure = tmp_path / "stream.svg"
    found = monitor(renamed, time="day", columns=Columns(score="p", label="y"), output=figure)
    assert isinstance(found, Monitoring)
    assert figure.read_bytes().startswith(b"<?xml")


def bad(column: str, row: int, value: Any) -> Edit:
    def edit(columns: dict[str, Any]) -> None:
        columns[column] = list(columns[column])
        columns[column][row] = value

    return edit


@pytest.mark.parametrize(
    ("edit", "arguments", "code", "words"),
    [
        (bad("day", 7, "soon"), {}, "date", "row 7, column day: 'soon' is not a date"),
        (bad("day", 7, "2026-05"), {}, "date", "or use values as windows (`by='value'`)"),
        (bad("day", 7, None), {}, "missing-value", "row 7"),
        (bad("score", 3, 1.5), {}, "score-range", "row 3"),
        (lambda columns: columns.update(day=list(range(120))), {}, "date", "`by='value'`"),
        (lambda columns: columns.pop("day"), {}, "column-missing", "the columns are score"),
        (lambda columns: columns.update(weight=[1.0] * 120), {}, "parameter", "does not use weights"),
        (lambda columns: None, {"against": "reference"}, "parameter", "`reference`"),
        (lambda columns: None, {"reference": "2026-03-01"}, "parameter", "`against='reference'`"),
        (
            lambda columns: None,
            {"against": "reference", "reference": "2020-01-01"},
            "empty",
            "no labeled row is in the reference",
        ),
        (lambda columns: None, {"by": "hour"}, "parameter", "use one of day"),
        (lambda columns: None, {"output": "figure.jpg"}, "file-kind", ".pdf, .svg or .png"),
        (lambda columns: columns.pop("cluster"), {"unit": "cluster"}, "cluster", "{'cluster': ...}"),
        (lambda columns: columns.update(day=["1.5", "10.5"] * 60), {"by": "value"}, "date", "row 0, column"),
        (lambda columns: None, {"columns": Columns(label="day")}, "column", "is a score or the"),
        (lambda columns: None, {"epsilon": 1}, "parameter", "below 1"),
        (lambda columns: None, {"state": "one.svg", "output": "./one.svg"}, "output", "have the same path"),
    ],
    ids=[
        "date", "a month", "missing", "score", "numbers", "no column", "weights", "no reference",
        "unused reference", "empty reference", "by", "figure", "no clusters", "fractions",
        "time is the label", "epsilon", "one place twice",
    ],
)  # fmt: skip
def test_bad_input_is_one_line(edit: Edit, arguments: dict[str, Any], code: str, words: str) -> None:
    columns = table(2)
    edit(columns)
    with pytest.raises(InputError) as error:
        monitor(pa.table(columns), time="day", **arguments)
    assert error.value.code == code
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "no whole JSON object, input data was truncated"),
        ("[]", "not a saved state of a monitor"),
        ('{"version": 1, "monitor": {}}', "not a saved state of a monitor"),
        ('{"format": "calibrant monitor", "schema_version": 7}', "version 7"),
        ('{"format": "calibrant monitor", "schema_version": 2, "checksum": "0"}', "damaged"),
    ],
    ids=["json", "list", "older", "version", "checksum"],
)
def test_a_bad_state_is_named(tmp_path: Path, content: str, words: str) -> None:
    state = tmp_path / "state.json"
    state.write_text(content)
    with pytest.raises(InputError, match=words) as error:
        monitor(pa.table(table(2)), time="day", state=state)
    assert error.value.file == str(state)
    assert state.read_text() == content


@pytest.mark.parametrize(
    ("part", "name", "value"),
    [
        (None, "settings", None),
        (None, "rows", [1]),
        (None, "rows", {}),
        ("monitor", "alpha", 0.5),
        ("monitor", "log_cash", float("nan")),
        ("monitor", "bound", [[0.0]]),
        ("monitor", "looks", -3),
        ("monitor", "days", []),
        ("monitor", "alarms", ["never"]),
        (None, "rows", {"2026-03-01": 60, "2026-03-02": 61}),
    ],
    ids=["settings", "rows", "no rows", "alpha", "cash", "bound", "looks", "days", "alarms", "other rows"],
)
@pytest.mark.parametrize("sealed", [False, True], ids=["edited", "sealed"])
def test_a_state_that_contradicts_itself_is_damaged(
    tmp_path: Path, part: str | None, name: str, value: Any, sealed: bool
) -> None:
    state = tmp_path / "state.json"
    monitor(pa.table(table(2)), time="day", state=state)
    saved = json.loads(state.read_text())
    (saved if part is None else saved[part])[name] = value
    if sealed:
        saved["checksum"] = checksum(saved)
    state.write_text(json.dumps(saved))
    with pytest.raises(InputError, match="damaged") as error:
        monitor(pa.table(table(3)), time="day", state=state)
    assert error.value.file == str(state)


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("monitor.days.1.n", "60", "$.monitor.days[1].n: expected int, got str"),
        ("monitor.days.1.score", 1.5, "$.monitor.days[1]: impossible numbers"),
        ("monitor.unit", "hour", "$.monitor.unit: invalid enum value 'hour'"),
        ("monitor.alpha", 0.5, "$.monitor.alpha: not as in the settings"),
        ("monitor.bound", [[0.0], [0.0]], "$.monitor.bound: the shape is not (2, regions)"),
        ("settings.restart", 1, "$.settings.restart: expected bool, got int"),
        ("rows.2026-03-01", 1, "$.rows: the windows differ from the monitor's"),
    ],
)
def test_an_error_about_a_state_names_the_path_of_the_value(
    tmp_path: Path, path: str, value: Any, words: str
) -> None:
    state = tmp_path / "state.json"
    monitor(pa.table(table(2)), time="day", state=state)
    saved = json.loads(state.read_text())
    *folders, name = path.split(".")
    inside = saved
    for each in folders:
        inside = inside[int(each) if each.isdigit() else each]
    inside[name] = value
    state.write_text(json.dumps({**saved, "checksum": checksum(saved)}))
    with pytest.raises(FormatError) as error:
        monitor(pa.table(table(3)), time="day", state=state)
    assert f"damaged ({words}" in str(error.value)
    assert error.value.file == str(state)


def test_a_state_of_other_settings_is_refused(tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    monitor(pa.table(table(2)), time="day", state=state)
    before = json.loads(state.read_text())
    with pytest.raises(InputError, match=r"made with alpha 0.01, and 0.05 was given"):
        monitor(pa.table(table(3)), time="day", state=state, alpha=0.05)
    assert json.loads(state.read_text()) == before


def test_a_stream_on_disk_gives_the_same_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = table(40, power=2.0)
    order = np.random.default_rng(2).permutation(2400)
    source = pa.table({name: np.asarray(values)[order] for name, values in columns.items()})
    arguments: list[dict[str, Any]] = [
        {"unit": "cluster", "by": "week"},
        {"unit": "item", "against": "reference", "reference": "2026-03-18", "by": "week"},
    ]
    in_memory = [monitor(source, time="day", **each) for each in arguments]
    monkeypatch.setattr(RowStore.__init__, "__defaults__", (1000,))
    assert [monitor(source, time="day", **each) for each in arguments] == in_memory


def test_texts_of_time_stamps_are_cut_to_days_and_other_texts_are_not(tmp_path: Path) -> None:
    file = tmp_path / "scored.csv"
    file.write_text("score,label,at\n0.5,1,2026-03-01T10:00:00Z\n0.5,0,2026-03-01 11:00\n0.2,0,2026-03-02\n")
    assert [day.n for day in monitor(file, time="at").days] == [2, 1]
    zoned = pa.array([datetime(2026, 3, 1, 23, 30)], pa.timestamp("us")).cast(
        pa.timestamp("us", "Asia/Tokyo")
    )
    found = monitor(pa.table({"score": [0.5], "label": [1], "at": zoned}), time="at")
    assert [day.day for day in found.days] == ["2026-03-02"]
    file.write_text("score,label,at\n0.5,1,2026-03-01\n0.5,1,2026-03-01X10\n")
    with pytest.raises(InputError, match="is not a date") as error:
        monitor(file, time="at")
    assert (error.value.row, error.value.column) == (2, "at")


def test_a_monitor_takes_no_thresholded_wide_table() -> None:
    wide = pa.table({"label": ["a", "b"], "p_a": [0.9, 0.2], "p_b": [0.1, 0.8], "day": ["2026-03-01"] * 2})
    noted = wide.replace_schema_metadata({"calibrant.threshold": "0.05"})
    with pytest.raises(InputError, match="needs all scores") as error:
        monitor(noted, time="day", view="class:a")
    assert error.value.code == "threshold"


@pytest.mark.parametrize("by", ["day", "week", "month"])
def test_text_other_than_a_time_after_a_date_is_an_error(by: str) -> None:
    columns = table()
    columns["day"] = np.array([f"2026-11-{1 + row // 60:02d} 08:00" for row in range(600)], dtype=object)
    assert len(monitor(pa.table(columns), time="day", by=by).days) == {"day": 10, "week": 3, "month": 1}[by]
    columns["day"][7] = "2026-11-01 foo"
    with pytest.raises(InputError, match=r"2026-11-01 foo.* is not a date") as caught:
        monitor(pa.table(columns), time="day", by=by)
    assert (caught.value.row, caught.value.column) == (7, "day")  # rows of dataframes count from 0


def test_rows_of_one_item_are_refused_where_items_are_the_units() -> None:
    # Each row twice gave a false alarm in 34 % of streams at a bound of 1 %.
    columns = table()
    del columns["cluster"]
    columns["item"] = np.arange(600)
    twice = pa.concat_tables([pa.table(columns)] * 2)
    assert monitor(pa.table(columns), time="day", unit="item").days[0].n == 60
    with pytest.raises(InputError, match="120 rows of 2026-03-01 are of only 60 items") as error:
        monitor(twice, time="day", unit="item")
    assert error.value.code == "duplicate"
    assert monitor(twice, time="day", unit="day").days[0].n == 120


def test_a_state_that_another_run_writes_is_refused(tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    with locked(tmp_path / ".state.json.lock", "", ""):
        with pytest.raises(InputError, match="another run writes the state"):
            monitor(pa.table(table()), time="day", state=state)
        assert not state.exists()
    assert monitor(pa.table(table()), time="day", state=state).days


def test_a_day_is_that_of_the_zone_of_the_file_in_duckdb_too(tmp_path: Path) -> None:
    start = datetime(2024, 1, 1, 22, 30, tzinfo=UTC)
    times = [start + timedelta(hours=7 * row) for row in range(40)]
    table = pa.table({"score": [0.4, 0.6] * 20, "label": [0, 1] * 20})
    for zone in ("Europe/Berlin", "Asia/Kolkata", "UTC"):
        stamps = pa.array(times, pa.timestamp("us", zone))
        pq.write_table(table.append_column("t", stamps), tmp_path / "t.parquet")
        found, expected = (
            monitor(tmp_path / "t.parquet", time="t", columns=Columns(engine=engine)).to_dict()
            for engine in ("duckdb", "kernel")
        )
        assert found == expected
