"""Threads of a reader get no memory of Python, which they could free only while the interpreter runs."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.json
import pytest

from calibrant.io.origin import in_memory
from calibrant.io.table_formats import FORMATS, locate

TEXT = {
    "csv": b"score,label\n0.25,ham\n0.75,spam\n" * 100,
    "jsonl": b'{"score": 0.25, "label": "ham"}\n' * 100,
}


@pytest.mark.parametrize("piped", [False, True])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("kind", TEXT)
def test_bytes_of_a_table_are_not_of_python(
    kind: str, packed: bool, piped: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = gzip.compress(TEXT[kind]) if packed else TEXT[kind]
    file = tmp_path / f"table.{kind}{'.gz' if packed else ''}"
    file.write_bytes(content)
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(content)))
    before = pa.total_allocated_bytes()
    origin = locate("-" if piped else file)
    assert pa.total_allocated_bytes() - before >= len(content)
    with origin.open() as stream:
        assert stream.read() == TEXT[kind]


def test_blocks_of_json_lines_are_not_of_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "table.jsonl"
    file.write_bytes(TEXT["jsonl"])
    table = FORMATS["jsonl"].table(locate(file))
    before = pa.total_allocated_bytes()
    allocated: list[int] = []
    read = pyarrow.json.read_json

    def counted(*given: Any, **more: Any) -> Any:
        allocated.append(pa.total_allocated_bytes() - before)
        return read(*given, **more)

    monkeypatch.setattr(pyarrow.json, "read_json", counted)
    assert sum(batch.num_rows for batch in table.batches({"score": "number"}, 1000)) == 100
    assert allocated
    assert min(allocated) >= len(TEXT["jsonl"])


def test_bytes_in_memory_are_the_same() -> None:
    assert in_memory(b"").to_pybytes() == b""
    assert in_memory(b"abc").to_pybytes() == b"abc"
