"""Changes that keep a format whole, so that what is behind checksums, headers and packing is reached too."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import zipfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any

import hostile

Mutation = Callable[[bytes, Random], bytes]
EPOCH = (1980, 1, 1, 0, 0, 0)
LARGEST = 1 << 18  # bytes that a mutation may unpack or make


def lines(data: bytes, random: Random) -> bytes:
    """Lines and the fields of one: changed, doubled, moved, cut; other line ends, another first byte."""
    rows = data.split(b"\n")
    place = random.randrange(len(rows))
    kind = random.randrange(10)
    if kind < 5:
        separator = b"\t" if b"\t" in rows[place] else random.choice((b" ", b",", b"|", b"=", b"("))
        fields = rows[place].split(separator)
        fields[random.randrange(len(fields))] = hostile.field(random).encode("utf-8", "surrogatepass")
        rows[place] = separator.join(fields)
    elif kind == 5:
        rows.insert(random.randrange(len(rows)), rows[place])
    elif kind == 6:
        rows[place:] = rows[place + random.randrange(1, 4) :]
    elif kind == 7:
        rows.insert(place, hostile.field(random).encode())
    elif kind == 8:
        other = random.randrange(len(rows))
        rows[place], rows[other] = rows[other], rows[place]
    else:
        return random.choice((data.replace(b"\n", b"\r\n"), b"\xef\xbb\xbf" + data, data * 2, data + b"\x00"))
    return b"\n".join(rows)


def json_lines(data: bytes, random: Random) -> bytes:
    """Parts of one object a line."""
    rows = data.split(b"\n")
    place = random.randrange(len(rows))
    found = hostile.json_changed(json.loads(rows[place]), random)
    rows[place] = hostile.json_text(found, random).encode("utf-8", "surrogatepass")
    return b"\n".join(rows)


def json_whole(data: bytes, random: Random) -> bytes:
    """Parts of one JSON document."""
    found = hostile.json_changed(json.loads(data), random)
    return hostile.json_text(found, random).encode("utf-8", "surrogatepass")


def json_with_checksum(data: bytes, random: Random) -> bytes:
    """Parts of a saved recalibrator or monitor, with the checksum that then is right."""
    header = json.loads(data)
    header.pop("checksum", None)
    header = hostile.json_changed(header, random)
    text = json.dumps(header, sort_keys=True, separators=(",", ":"))
    header["checksum"] = hashlib.sha256(text.encode()).hexdigest()
    return json.dumps(header).encode()


def packed(inner: Mutation) -> Mutation:
    """The same inside gzip."""

    def change(data: bytes, random: Random) -> bytes:
        unpacked = zlib.decompressobj(31).decompress(data, LARGEST)
        return gzip.compress(inner(unpacked, random), 1)

    return change


def bomb(data: bytes, random: Random) -> bytes:
    """Something short that unpacks to a thousand times its size."""
    head = zlib.decompressobj(31).decompress(data, LARGEST)
    line = head.split(b"\n")[0] + b"\n" if random.random() < 0.5 else head[-1:]
    return gzip.compress(head + line * ((8 << 20) // max(1, len(line))), 9)


def npy(data: bytes, random: Random) -> bytes:
    """The header or the numbers of a NumPy array."""
    if random.random() < 0.5:
        length = int.from_bytes(data[8:10], "little")
        header = data[10 : 10 + length].decode("latin-1")
        old, new = random.choice(
            (
                ("(", f"({random.choice((0, 1, 2**31, 2**40, 2**62, -1, 10**12))}, "),
                (
                    "'<f8'",
                    random.choice(
                        ("'<f4'", "'<i8'", "'|O'", "'<U9'", "'<c16'", "'|b1'", "'<M8[D]'", "'<f2'")
                    ),
                ),
                ("'<i8'", random.choice(("'<f8'", "'<u8'", "'|i1'", "'|O'", "'|S0'", "[('a', '<i8')]"))),
                ("False", "True"),
                ("}", "," * 9_000 + "}"),
                ("(", "(" * 500),
            )
        )
        header = header.replace(old, new, 1)
        return data[:8] + len(header).to_bytes(2, "little") + header.encode("latin-1") + data[10 + length :]
    import numpy as np

    array = np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)
    flat = array.reshape(-1).copy()
    if flat.size:
        numbers = [each for each in hostile.NUMBERS if array.dtype.kind == "f" or isinstance(each, int)]
        with np.errstate(all="ignore"):
            flat[random.randrange(flat.size)] = random.choice(numbers)
    shape = random.choice((array.shape, array.shape, (flat.size,), (flat.size, 1), array.shape[::-1]))
    if random.random() < 0.3:
        flat = flat[: random.randrange(flat.size + 1)]
        shape = flat.shape
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, flat.reshape(shape), allow_pickle=False)
    return buffer.getvalue()


def archive(data: bytes, random: Random) -> bytes:
    """A member of a zip file, with sums and sizes that then are right; or its name, or its being there."""
    with zipfile.ZipFile(io.BytesIO(data)) as source:
        members = [(each.filename, source.open(each).read(LARGEST)) for each in source.infolist()]
        packing = max(each.compress_type for each in source.infolist())  # some readers take no packed members
    place = random.randrange(len(members))
    name, content = members[place]
    kind = random.random()
    if kind < 0.8:
        members[place] = (name, _member(name, content, random))
    elif kind < 0.86:
        del members[place]
    elif kind < 0.92:
        members.append((name, content))
    elif kind < 0.98:
        members[place] = (
            random.choice((*(each for each, _ in members), hostile.field(random), "../a")),
            content,
        )
    else:
        members[place] = (name, content + bytes(4 << 20))
    if any(name == "manifest.json" for name, _ in members):
        members = _store(members, random)
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as result:
        for name, content in members:
            info = zipfile.ZipInfo(name or "a", EPOCH)
            info.compress_type = packing
            result.writestr(info, content, compresslevel=1)
    return target.getvalue()


def _store(members: list[tuple[str, bytes]], random: Random) -> list[tuple[str, bytes]]:
    """A store with a double part at times, and mostly with a manifest that names the parts as they are."""
    parts = [(name, content) for name, content in members if name.startswith("documents/part-")]
    if parts and random.random() < 0.1:
        copy = (f"documents/part-{random.randrange(4):06}.parquet", random.choice(parts)[1])
        members, parts = [*members, copy], [*parts, copy]
    if random.random() < 0.3:
        return members
    digests = {
        name.removeprefix("documents/"): hashlib.blake2b(content, digest_size=32).hexdigest()
        for name, content in parts
    }
    named = []
    for name, content in members:
        if name == "manifest.json":
            with suppress(ValueError, TypeError):
                content = json.dumps({**json.loads(content), "parts": digests}).encode()
        named.append((name, content))
    return named


def _member(name: str, content: bytes, random: Random) -> bytes:
    if content.startswith(b"\x93NUMPY"):
        return npy(content, random)
    if content.startswith(b"PAR1"):
        return parquet(content, random)
    if name.endswith((".json", ".jsonl")):
        return json_whole(content, random)
    return lines(content, random)


def parquet(data: bytes, random: Random) -> bytes:
    """Values, types, names and notes of a Parquet file, written again."""
    import pyarrow as pa
    from pyarrow import parquet as pq

    table = _table_changed(pq.read_table(pa.BufferReader(data)).slice(0, 200), random)
    sink = pa.BufferOutputStream()
    pq.write_table(
        table,
        sink,
        compression=random.choice(("none", "snappy", "zstd")),
        use_dictionary=random.random() < 0.5,
        row_group_size=random.choice((1, 3, 1000)),
        data_page_version=random.choice(("1.0", "2.0")),
        write_page_checksum=random.random() < 0.5,
    )
    return bytes(sink.getvalue())


def arrow(data: bytes, random: Random) -> bytes:
    """The same of Arrow IPC, as a file or as a stream."""
    import pyarrow as pa

    source = pa.BufferReader(data)
    is_file = data.startswith(b"ARROW1")
    reader = pa.ipc.open_file(source) if is_file else pa.ipc.open_stream(source)
    table = reader.read_all()
    table.validate(full=True)  # else what is broken already ends the process
    table = _table_changed(table.slice(0, 200), random)
    sink = pa.BufferOutputStream()
    make = pa.ipc.new_file if is_file != (random.random() < 0.05) else pa.ipc.new_stream
    with make(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=random.choice((1, 7, 1000)))
    return bytes(sink.getvalue())


def _retyped(column: Any, random: Random) -> Any:
    """The column in another type."""
    import pyarrow as pa
    import pyarrow.compute

    kind = random.choice(
        (
            *(
                pa.float32(),
                pa.float16(),
                pa.int8(),
                pa.uint64(),
                pa.bool_(),
                pa.decimal128(30, 10),
                pa.null(),
            ),
            *(pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.binary_view()),
            *(pa.dictionary(pa.int8(), pa.string()), pa.run_end_encoded(pa.int32(), column.type)),
            *(pa.large_list(column.type), pa.date32(), pa.timestamp("ns"), pa.duration("s")),
        )
    )
    if pa.types.is_run_end_encoded(kind):
        return pa.compute.run_end_encode(column)
    if pa.types.is_large_list(kind):
        return pa.array([[each] for each in column.to_pylist()], kind)
    return column.cast(kind, safe=False)


def _table_changed(table: Any, random: Random) -> Any:
    import pyarrow as pa

    kind = random.randrange(8)
    place = random.randrange(max(1, table.num_columns))
    if kind == 0:
        notes = dict(table.schema.metadata or {})
        key = random.choice([*notes, b"calibrant.threshold", b"calibrant.recalibrated"])
        note = notes.get(key, b"0.5")
        try:
            notes[key] = json_whole(note, random)
        except ValueError:
            notes[key] = hostile.field(random).encode()
        return table.replace_schema_metadata(notes)
    if not table.num_columns:
        return table
    name, column = table.column_names[place], table.column(place).combine_chunks()
    if kind == 1:
        return table.drop_columns([name])
    if kind == 2:
        names = list(table.column_names)
        names[place] = random.choice((*names, hostile.field(random), "p_b", "cluster", "weight", "logits"))
        return table.rename_columns(names)
    if kind == 3:
        return table.set_column(place, name, _retyped(column, random))
    if kind == 4:
        return table.append_column(random.choice((name, hostile.field(random))), column)
    if kind == 5:
        return pa.concat_tables([table, table]).slice(random.randrange(table.num_rows + 1))
    if pa.types.is_string(column.type) and len(column) and random.random() < 0.2:
        data = [each.as_buffer() for each in column]  # texts of which one is not UTF-8
        data[random.randrange(len(data))] = b"a\xff"
        changed = pa.array([None if each is None else bytes(each) for each in data], pa.binary())
        return table.set_column(
            place, name, pa.Array.from_buffers(pa.string(), len(changed), changed.buffers())
        )
    values = column.to_pylist()
    if not values:
        return table
    row = random.randrange(len(values))
    values[row] = _like(values[row], random)
    return table.set_column(place, name, pa.array(values, column.type if random.random() < 0.7 else None))


def _like(found: Any, random: Random) -> Any:
    """Another value of the same kind, mostly."""
    if isinstance(found, list | dict):
        return hostile.json_changed(found, random)
    if isinstance(found, bool) or found is None or random.random() < 0.2:
        return random.choice((None, True, 0, 1.5, "", [], {}))
    if isinstance(found, int):
        return random.choice([each for each in hostile.NUMBERS if isinstance(each, int)])
    return random.choice(hostile.NUMBERS) if isinstance(found, float) else hostile.field(random)


def by_content(data: bytes, random: Random) -> bytes:
    """The mutation that fits what the bytes are."""
    if data.startswith(b"\x1f\x8b"):
        return bomb(data, random) if random.random() < 0.01 else packed(by_content)(data, random)
    if data.startswith(b"PK"):
        return archive(data, random)
    if data.startswith(b"PAR1"):
        return parquet(data, random)
    if data.startswith((b"ARROW1", b"\xff\xff\xff\xff")):
        return arrow(data, random)
    if data.lstrip(b"\xef\xbb\xbf \n").startswith((b"{", b"[")) and random.random() < 0.8:
        try:
            return (json_with_checksum if b'"checksum"' in data else json_whole)(data, random)
        except ValueError:
            return json_lines(data, random)
    return lines(data, random)
