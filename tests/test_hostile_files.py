"""Files that fuzzing made, or that a hostile hand would: each is refused in one line that names it."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import ipc
from pyarrow import parquet as pq

from calibrant.evaluation.files.protocol_file import read_protocol_file
from calibrant.events import read_lexicon
from calibrant.exceptions import InputError
from calibrant.io import load_tally, open_log, open_predictions, origin, read_class_table, save_tally, text
from calibrant.metrics import Tally
from calibrant.structures import load_model, read_posteriors, read_tagged, save_model
from calibrant.structures.models import HMMTagger

ROWS: dict[str, list[Any]] = {"score": [0.25, 0.5, 0.75], "label": [0, 1, 1], "item": ["a", "b", "c"]}
LISTS: dict[str, list[Any]] = {
    "logits": [[[0.1, 0.2], [0.5, -1.5]], [[3.0, 1.0]]],
    "labels": [[0, 1], [-100]],
}


def refused(read: Callable[[Path], Any], path: Path, message: str) -> None:
    """One line, which names the file and can be printed."""
    with pytest.raises(InputError, match=message) as caught:
        read(path)
    line = str(caught.value)
    assert path.name in line
    assert "\n" not in line
    line.encode()


def predicted(path: Path) -> Any:
    return open_predictions(path).read(items=True)


def zipped(path: Path, members: dict[str, bytes], **settings: Any) -> Path:
    with zipfile.ZipFile(path, "w", **settings) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def npy(header: str, data: bytes = b"") -> bytes:
    """Return a NumPy file with a custom header."""
    line = header.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(line).to_bytes(2, "little") + line + data


def ipc_bytes(table: pa.Table, *, stream: bool) -> bytes:
    sink = pa.BufferOutputStream()
    with (ipc.new_stream if stream else ipc.new_file)(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


@pytest.mark.parametrize("columns", [ROWS, LISTS], ids=["columns", "lists"])
@pytest.mark.parametrize("kind", ["file", "stream"])
def test_no_byte_of_an_arrow_file_ends_the_process(
    columns: dict[str, list[Any]], kind: str, tmp_path: Path
) -> None:
    sound = ipc_bytes(pa.table(columns), stream=kind == "stream")
    path = tmp_path / "a.arrow"
    for place in range(0, len(sound), 13):
        path.write_bytes(sound[:place] + bytes([sound[place] ^ 0xA1]) + sound[place + 1 :])
        with suppress(InputError):
            predicted(path)


@pytest.mark.parametrize("columns", [ROWS, LISTS], ids=["columns", "lists"])
def test_no_byte_of_a_parquet_file_ends_the_process(columns: dict[str, list[Any]], tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table(columns), path, compression="none")
    sound = path.read_bytes()
    for place in range(4, len(sound) - 8, 17):
        path.write_bytes(sound[:place] + bytes([sound[place] ^ 0x21]) + sound[place + 1 :])
        with suppress(InputError):
            predicted(path)


def test_arrow_intervals_that_python_has_no_arrays_of_are_refused(tmp_path: Path) -> None:
    path, stream = tmp_path / "months.arrow", io.BytesIO()
    spans = pa.array([None, None], pa.month_day_nano_interval())
    rows = pa.record_batch([pa.array([0.2, 0.7]), spans], names=["score", "label"])
    with ipc.new_stream(stream, rows.schema) as writer:
        writer.write_batch(rows)
    written = stream.getvalue()
    for place in (place for place, value in enumerate(written) if value == 2):
        path.write_bytes(written[:place] + b"\0" + written[place + 1 :])
        with suppress(pa.ArrowException, KeyError):
            if str(ipc.open_stream(path).schema.field("label").type) == "month_interval":
                refused(lambda file: open_predictions(file).read(), path, "month_interval cannot be read")
                return
    raise AssertionError("no byte makes the interval one of months")


def test_texts_that_are_views_are_read_as_any_text(tmp_path: Path) -> None:
    views = {
        name: pa.array([str(each) for each in ROWS[name]], pa.string_view()) for name in ("label", "item")
    }
    table = pa.table({"score": ROWS["score"], **views})
    (tmp_path / "a.arrow").write_bytes(ipc_bytes(table, stream=False))
    batch = predicted(tmp_path / "a.arrow")
    assert batch.label.tolist() == [False, True, True]
    assert batch.item.tolist() == [0, 1, 2]


def test_columns_of_lists_stand_once(tmp_path: Path) -> None:
    table = pa.table(LISTS).append_column("labels", pa.table(LISTS)["labels"])
    (tmp_path / "a.arrow").write_bytes(ipc_bytes(table, stream=True))
    pq.write_table(table, tmp_path / "a.parquet")
    for name in ("a.arrow", "a.parquet"):
        refused(predicted, tmp_path / name, "column labels: two columns have this name")


def test_a_column_that_names_nothing_is_refused(tmp_path: Path) -> None:
    spans = pa.array([pa.MonthDayNano([1, 2, 3])] * len(ROWS["score"]))
    table = pa.table({**ROWS, "item": spans})
    (tmp_path / "a.arrow").write_bytes(ipc_bytes(table, stream=False))
    refused(predicted, tmp_path / "a.arrow", "names nothing")


@pytest.mark.parametrize("dtype", ["float16", "longdouble"])
def test_labels_of_every_width_are_read(dtype: str) -> None:
    labels = np.array([0, 1, 1], dtype)
    assert Tally.from_arrays(y_true=labels, y_prob=[0.2, 0.4, 0.9]).total_positives == 2


ARRAYS = {
    "an open bracket": npy("{'descr': '<f8', 'fortran_order': False, 'shape': ((((3,), }"),
    "no end": npy("{'descr': '<f8', 'fortran_order': False, 'shape': (3,"),
    "an old name of a type": npy("{'descr': '|a8', 'fortran_order': False, 'shape': (1,), }", b"a" * 8),
    "a trillion rows": npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1099511627776,), }"),
    "rows without columns": npy("{'descr': '<i8', 'fortran_order': False, 'shape': (1099511627776, 0), }"),
    "more rows than numbers": npy("{'descr': '<i8', 'fortran_order': False, 'shape': (4,), }", b"a" * 8),
    "a negative shape": npy("{'descr': '<i8', 'fortran_order': False, 'shape': (-1,), }", b"a" * 8),
    "code": npy("__import__('os').abort()"),
    "nothing": b"",
}


@pytest.mark.parametrize("array", ARRAYS.values(), ids=ARRAYS.keys())
def test_arrays_that_are_none_are_refused(array: bytes, tmp_path: Path) -> None:
    sound = io.BytesIO()
    np.save(sound, np.full((1, 2), 0.5))
    zipped(tmp_path / "a.npz", {"probs.npy": sound.getvalue(), "labels.npy": array})
    refused(predicted, tmp_path / "a.npz", "labels (is no array|has)")
    save_model(HMMTagger().fit([["I"]], [["PRP"]]), tmp_path / "a.model")
    with zipfile.ZipFile(tmp_path / "a.model") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    zipped(tmp_path / "b.model", {**members, "start.npy": array})
    refused(load_model, tmp_path / "b.model", "damaged|shape")


def test_a_model_whose_kind_is_an_array_is_refused(tmp_path: Path) -> None:
    save_model(HMMTagger().fit([["I"]], [["PRP"]]), tmp_path / "a.model")
    with zipfile.ZipFile(tmp_path / "a.model") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(members["state.json"])
    header["state"]["kind"] = header["state"]["start"]
    zipped(tmp_path / "b.model", {**members, "state.json": json.dumps(header).encode()})
    refused(load_model, tmp_path / "b.model", "kind .* unknown")


@pytest.mark.parametrize("array", ["start", "transition", "emission"])
def test_counts_of_a_model_that_no_sum_holds_are_refused(array: str, tmp_path: Path) -> None:
    save_model(HMMTagger().fit([["I", "see"]], [["PRP", "V"]]), tmp_path / "a.model")
    with zipfile.ZipFile(tmp_path / "a.model") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    counts = np.load(io.BytesIO(members[f"{array}.npy"]))
    counts = counts.astype(np.int64)
    counts.flat[0] = np.iinfo(np.int64).max
    changed = io.BytesIO()
    np.save(changed, counts)
    zipped(tmp_path / "b.model", {**members, f"{array}.npy": changed.getvalue()})
    refused(load_model, tmp_path / "b.model", "values that are not counts")


@pytest.mark.parametrize(
    ("read", "name"),
    [(load_model, "a.model"), (predicted, "a.npz"), (open_log, "a.eval")],
    ids=["model", "table", "log"],
)
@pytest.mark.parametrize("place", [6, 8, 10, 28], ids=["version", "flags", "packing", "places"])
def test_zip_files_with_a_wrong_directory_are_refused(
    read: Callable[[Path], Any], name: str, place: int, tmp_path: Path
) -> None:
    """The place counts from where the directory begins."""
    path = zipped(tmp_path / name, {"state\xe9.json": b"{}", "probs.npy": b"", "header.json": b"{}"})
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x01\x02") + place] = 0xF3
    path.write_bytes(data)
    with pytest.raises(InputError, match=name.replace(".", r"\.")):
        read(path)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits that a test can reach."""
    monkeypatch.setattr(origin, "LONGEST", 100_000)
    monkeypatch.setattr(text, "LONGEST", 100_000)
    monkeypatch.setattr("calibrant.io.tables.LONGEST", 100_000)


def test_an_archive_with_a_password_is_refused(tmp_path: Path) -> None:
    path = zipped(
        tmp_path / "a.npz", {"probs.npy": npy("{'descr': '<f8', 'fortran_order': False, 'shape': (0,), }")}
    )
    data = bytearray(path.read_bytes())
    for start, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):  # the flag of each header that says so
        data[data.index(start) + flags] |= 1
    path.write_bytes(data)
    refused(predicted, path, "encrypted: save it without a password")


@pytest.mark.usefixtures("small")
def test_what_unpacks_to_far_more_than_a_text_is_refused(tmp_path: Path) -> None:
    lines = gzip.compress(b"a\tb\n" * 200_000)
    assert len(lines) < 4_000 == 800_000 / 200
    texts: dict[str, Callable[[Path], Any]] = {
        "a.tsv.gz": read_class_table,
        "a.csv.gz": read_lexicon,
    }
    for name, read in texts.items():
        (tmp_path / name).write_bytes(lines)
        refused(read, tmp_path / name, "unpacks to more than")
    zeros = io.BytesIO()
    np.save(zeros, np.zeros((200_000, 2)))
    save_model(HMMTagger().fit([["I"]], [["PRP"]]), tmp_path / "sound.model")
    with zipfile.ZipFile(tmp_path / "sound.model") as archive:
        header = archive.read("state.json")
    archives: list[tuple[str, dict[str, bytes], Callable[[Path], Any]]] = [
        ("a.npz", {}, predicted),
        ("a.model", {"state.json": header}, load_model),
    ]
    for name, more, load in archives:
        members = {**more, "probs.npy": zeros.getvalue(), "labels.npy": zeros.getvalue()}
        zipped(tmp_path / name, members, compression=zipfile.ZIP_DEFLATED)
        refused(load, tmp_path / name, "unpacks to more than")


def changed_log(path: Path) -> Any:
    """Read a file that was a log when it was recognized."""
    later = path.read_bytes()
    token = {"token": "A", "logprob": -0.2, "top_logprobs": [{"token": "A", "logprob": -0.2}]}
    line = {"choices": [{"logprobs": {"content": [token]}}], "answer": "A", "options": ["A", "B"]}
    path.write_bytes(gzip.compress(json.dumps(line).encode() + b"\n"))
    log = open_log(path)
    path.write_bytes(later)
    return log.read()


STREAMED: dict[str, Callable[[Path], Any]] = {
    "tags.tsv.gz": read_tagged,
    "posteriors.jsonl.gz": lambda path: list(read_posteriors(path)),
    "samples.jsonl.gz": changed_log,
}


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("parts", [1, 20], ids=["one part", "many parts"])
@pytest.mark.parametrize("name", STREAMED)
def test_a_text_that_is_streamed_unpacks_to_no_more_either(name: str, parts: int, tmp_path: Path) -> None:
    blank = gzip.compress(b"\n" * (2_000_000 // parts))  # the last part states its own size alone
    (tmp_path / name).write_bytes(blank * parts)
    refused(STREAMED[name], tmp_path / name, "unpacks to more than")


def test_a_text_in_gzip_that_is_cut_short_is_not_taken_for_a_large_one(tmp_path: Path) -> None:
    sound = gzip.compress(bytes(np.random.default_rng(0).integers(97, 123, 5_000, np.uint8)))
    for size in range(3, len(sound), 97):
        (tmp_path / "a.tsv.gz").write_bytes(sound[:size])
        refused(read_tagged, tmp_path / "a.tsv.gz", "cut short")


PAGES = """
import resource, sys
from pathlib import Path
from calibrant.exceptions import InputError
from calibrant.io import open_predictions

path, large = Path(sys.argv[1]), bytes.fromhex("feffffff0f")  # 2^31 - 1, as Parquet writes numbers
sound = path.read_bytes()
open_predictions(path).read()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for place in range(4, 24):
    path.write_bytes(sound[:place] + large + sound[place + 1 :])
    try:
        open_predictions(path).read()
    except InputError:
        pass
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def test_the_size_that_a_parquet_page_states_allocates_no_memory(tmp_path: Path) -> None:
    columns = {"score": ROWS["score"], "label": ROWS["label"]}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet", use_dictionary=False)
    program = [sys.executable, "-c", PAGES, str(tmp_path / "a.parquet")]
    ran = subprocess.run(program, capture_output=True, text=True, check=True)
    assert int(ran.stdout) < 200  # MiB


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_a_line_without_end_is_refused(name: str, tmp_path: Path) -> None:
    line = b'{"score": 0.5, "label": 1, "a": "' + b"a" * 300_000
    data = b'{"score": 0.5, "label": 1}\n' * 1_001 + line
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    refused(predicted, tmp_path / name, "(a line of|unpacks to) more than")
    (tmp_path / name).write_bytes(gzip.compress(line) if name.endswith("gz") else line)
    refused(lambda path: list(read_posteriors(path)), tmp_path / name, "(a line of|unpacks to) more than")


def test_a_million_blank_lines_take_no_time(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"score,label\n".rjust(1 << 20, b"\n"))
    started = time.process_time()
    refused(predicted, tmp_path / "a.csv", "no rows")
    assert time.process_time() - started < 5


def test_a_name_of_a_column_as_long_as_a_book_is_a_name(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"score,label," + b"a" * 200_000 + b"\n0.5,1,1\n")
    predicted(tmp_path / "a.csv")


def test_long_names_of_columns_are_cut_in_a_message(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a" * 100_000 + "\n1\n")
    refused(predicted, tmp_path / "a.csv", r"no column 'score': .* the columns are a{80}\.\.\.$")


def test_a_name_of_digits_as_long_as_a_book_takes_no_time(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1" * 100_000 + "x\n1\n")
    started = time.process_time()
    refused(predicted, tmp_path / "a.csv", "no column 'score'")
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    "number", ["1" + "0" * 400, "1e400", "-1e400", "NaN"], ids=["whole", "large", "small", "NaN"]
)
def test_numbers_that_no_float_holds_are_refused(number: str, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(f'{{"score": {number}, "label": 1}}\n')
    refused(predicted, tmp_path / "a.jsonl", "row 1.*(not a number|not a prob)|too big")


def test_times_that_python_cannot_hold_are_written_as_text(tmp_path: Path) -> None:
    times = pa.array([1, 2**62, 2**62]).cast(pa.duration("s"))
    rows: dict[str, Any] = {"score": [0.25, 0.5, 0.5], "label": [1, 0, 0], "class": ["x"] * 3}
    for column, message in (("score", "'4611686018427387904' is not a number"),
                            ("label", "label '4611686018427387904' is not 0 or 1"),
                            ("item", "item '?4611686018427387904'? has class 'x' twice")):  # fmt: skip
        values = times if column == "item" else times.take(pa.array([1, 0, 0]))
        pq.write_table(pa.table(rows | {"item": ["a", "b", "c"], column: values}), tmp_path / "a.parquet")
        refused(predicted, tmp_path / "a.parquet", message)


def test_names_that_no_terminal_should_show_are_written_by_their_codes(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"score": 0.5, "\\u001b[2J\\u202e": 1}\n')
    refused(predicted, tmp_path / "a.jsonl", r"\\x1b\[2J\\u202e")


@pytest.mark.parametrize(
    "state",
    [
        pytest.param("[" * 100_000, id="deep"),
        pytest.param(json.dumps({"_data_files": [{"filename": "a" * 5_000}]}), id="a long name"),
        pytest.param(json.dumps({"_data_files": [{"filename": "a\0b"}]}), id="NUL"),
        pytest.param(json.dumps({"_data_files": [{"filename": "../state.json"}]}), id="another folder"),
        pytest.param(json.dumps({"_data_files": {}}), id="none"),
    ],
)
def test_data_sets_with_a_hostile_state_are_refused(state: str, tmp_path: Path) -> None:
    folder = tmp_path / "set"
    folder.mkdir()
    (folder / "state.json").write_text(state)
    refused(predicted, folder, "set")


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("a = " + "[" * 5_000, id="deep"),
        pytest.param("a = " + "9" * 5_000, id="a long number"),
        pytest.param("budget = 0x" + "f" * 5_000, id="a long hexadecimal number"),
        pytest.param("labels = [" + "0x" + "f" * 5_000 + "]", id="it as a label"),
        pytest.param("a." * 1_000 + "b = 1", id="long dots"),
        pytest.param("[[" * 500, id="brackets"),
        pytest.param("budget = 1e400", id="no float"),
        pytest.param('labels = ["a", "\\u0000", "b\\u001b"]\npositive = "c"', id="NUL"),
        pytest.param("labels = [" + '"a", ' * 20_000 + "]", id="one label many times"),
    ],
)
def test_settings_that_are_none_are_refused(line: str, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(f"[task]\n{line}\n")
    refused(read_protocol_file, tmp_path / "a.toml", "a.toml")
    head = '[task]\nlabels = ["a", "b"]\n[[systems]]\nname = "s"\nfile = "s.csv"\nthreshold = '
    for number in ("1" + "0" * 400, "0x" + "f" * 5_000, "-inf"):
        (tmp_path / "b.toml").write_text(f'{head}{number}\n[reference]\nfile = "r.csv"\n')
        refused(read_protocol_file, tmp_path / "b.toml", r"line 6: systems\[0\]\.threshold is")


TALLY = Tally.from_arrays(y_true=[0, 1, 1, 0], y_prob=[0.2, 0.7, 0.9, 0.7], clusters=["a", "b", "b", "c"])


def tallied(path: Path, *, header: dict[str, Any] | None = None, **columns: Any) -> Path:
    """A saved tally with other columns, or another header."""
    save_tally(TALLY, path)
    table = pq.read_table(path)
    for name, values in columns.items():
        table = table.set_column(table.column_names.index(name), name, values)
    notes = json.loads(table.schema.metadata[b"calibrant.tally"]) | (header or {})
    kept = {name: value for name, value in notes.items() if value != "gone"}
    pq.write_table(table.replace_schema_metadata({"calibrant.tally": json.dumps(kept)}), path)
    return path


def test_a_tally_written_again_as_it_was_is_read(tmp_path: Path) -> None:
    assert load_tally(tallied(tmp_path / "a.tally.parquet")).total_n == 4


@pytest.mark.parametrize(
    "header",
    [{"kind": "other"}, {"kind": ["exact"]}, {"weighted": 1}, {"weighted": "gone"}, {"pairs": "gone"},
     {"pairs": 1e400}, {"pairs": True}, {"event": []}, {"version": 1e400}, {"version": None}],
    ids=str,
)  # fmt: skip
def test_tallies_with_a_hostile_header_are_refused(header: dict[str, Any], tmp_path: Path) -> None:
    refused(load_tally, tallied(tmp_path / "a.tally.parquet", header=header), "the tally is damaged")


def test_a_tally_whose_header_is_nested_too_deep_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.tally.parquet"
    save_tally(TALLY, path)
    table = pq.read_table(path).replace_schema_metadata({"calibrant.tally": "[" * 100_000})
    pq.write_table(table, path)
    refused(load_tally, path, "the tally is damaged")


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("weight", pa.array([0.0] * 4)),
        ("weight", pa.array([1e-320] * 4)),
        ("weight", pa.array([1e308] * 4)),
        ("weight", pa.array([1.0] * 4).cast(pa.float16())),
        ("weight", pa.array(["1"] * 4)),
        ("weight", pa.array([1.0, None, 1.0, 1.0])),
        ("weight2", pa.array([2.0] * 4)),
        ("weight2", pa.array([-1.0] * 4)),
        ("weight2", pa.array([1e-300] * 4)),
        ("anchor", pa.array([1e300] * 4)),
        ("offset", pa.array([0.5] * 4)),
        ("offset2", pa.array([-1.0] * 4)),
        ("offset2", pa.array([1e300] * 4)),
        ("offset_positive", pa.array([1e300] * 4)),
        ("n", pa.array([2**62] * 4)),
        ("n", pa.array([1] * 4).cast(pa.decimal128(30, 10))),
        ("positives", pa.array([-1] * 4)),
        ("weight_positives", pa.array([1.0] * 4)),
        ("low", pa.array([0.95] * 4)),
        ("cluster", pa.array([None, "a", "b", "c"])),
        ("cluster", pa.array([["a"]] * 4)),
    ],
    ids=lambda value: value if isinstance(value, str) else f"{value[0]} {value.type}",
)
def test_tallies_that_nobody_counted_are_refused(column: str, values: pa.Array, tmp_path: Path) -> None:
    refused(load_tally, tallied(tmp_path / "a.tally.parquet", **{column: values}), "rows are damaged")


def test_a_tally_whose_clusters_have_names_that_are_no_text_is_refused(tmp_path: Path) -> None:
    names = pa.array([b"\xff"] * 4).view(pa.string())
    refused(load_tally, tallied(tmp_path / "a.tally.parquet", cluster=names), "rows are damaged")


@pytest.mark.parametrize("name", ["offset2", "cluster"])
def test_columns_of_a_tally_stand_once(name: str, tmp_path: Path) -> None:
    path = tmp_path / "a.tally.parquet"
    save_tally(TALLY, path)
    table = pq.read_table(path)
    pq.write_table(table.append_column(name, table[name]), path)
    refused(load_tally, path, "rows are damaged")


@pytest.mark.parametrize("threshold", [[0.5], [[0.5]], 1.5, -0.5, float("nan"), "0.5", True], ids=str)
def test_the_threshold_of_an_archive_is_one_number(threshold: object, tmp_path: Path) -> None:
    arrays: dict[str, Any] = {"probs": np.full((1, 2), 0.5), "labels": np.array([0])}
    np.savez(tmp_path / "a.npz", threshold=np.array(threshold), **arrays)
    refused(predicted, tmp_path / "a.npz", "threshold is not one number")


def test_a_lexicon_with_a_lone_hyphen_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("code,name\nA,-\nB,Bhutan\n")
    assert read_lexicon(tmp_path / "a.csv").code_of("Bhutan") == "B"


def test_a_lexicon_with_a_field_as_long_as_a_book_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('code,name\nA,"' + "a" * 200_000 + '"\n')
    refused(read_lexicon, tmp_path / "a.csv", "line 2: the file is not valid CSV")


@pytest.mark.usefixtures("small")
def test_a_tally_of_far_more_rows_than_its_size_is_refused(tmp_path: Path) -> None:
    tally = TALLY.without_clusters()
    save_tally(tally, tmp_path / "a.tally.parquet")
    table = pq.read_table(tmp_path / "a.tally.parquet")
    pq.write_table(table.take([0] * 100_000), tmp_path / "b.tally.parquet", compression="zstd")
    refused(load_tally, tmp_path / "b.tally.parquet", "unpacks to more than")
