"""Files of PyTorch, made by hand: zip archives with a pickle that is never run."""

from __future__ import annotations

import io
import pickle
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calibrant.exceptions import FormatError, InputError
from calibrant_studies._tensors import read_tensor

REBUILD = b"ctorch._utils\n_rebuild_tensor_v2\n"


def number(value: int) -> bytes:
    return b"J" + struct.pack("<i", value)


def text(value: str) -> bytes:
    return b"X" + struct.pack("<I", len(value)) + value.encode()


def described(
    shape: tuple[int, ...],
    *,
    count: int | None = None,
    kind: str = "LongStorage",
    strides: tuple[int, ...] | None = None,
    offset: int = 0,
) -> bytes:
    """The opcodes of one tensor, as PyTorch writes them."""
    size = int(np.prod(shape)) if count is None else count
    steps = strides or tuple(int(np.prod(shape[place + 1 :])) for place in range(len(shape)))
    parts = [
        b"\x80\x02",
        REBUILD,
        b"q\x00((",
        text("storage"),
        b"ctorch\n" + kind.encode() + b"\n",
        text("0"),
    ]
    parts += [text("cpu"), number(size), b"tQ", number(offset)]
    for values in (shape, steps):
        parts += [b"(", *map(number, values), b"t"]
    return b"".join([*parts, b"\x89ccollections\nOrderedDict\n)RtR."])


def archive(members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", compression) as made:
        for name, data in members.items():
            made.writestr(name, data)
    return target.getvalue()


def saved(values: np.ndarray, pickled: bytes | None = None, **more: bytes) -> bytes:
    described_as = described(values.shape) if pickled is None else pickled
    return archive({"a/data.pkl": described_as, "a/data/0": values.tobytes(), "a/version": b"3\n", **more})


VALUES = np.arange(6, dtype="<i8")


def read(tmp_path: Path, data: bytes) -> Any:
    path = tmp_path / "some.pt"
    path.write_bytes(data)
    return read_tensor(path)


def refused(tmp_path: Path, data: bytes, words: str) -> None:
    with pytest.raises(FormatError, match=words) as caught:
        read(tmp_path, data)
    assert "\n" not in str(caught.value)
    assert "some.pt" in str(caught.value)


def test_one_and_two_dimensions_are_read_in_every_type(tmp_path: Path) -> None:
    for kind, dtype in (
        ("FloatStorage", "<f4"),
        ("DoubleStorage", "<f8"),
        ("LongStorage", "<i8"),
        ("IntStorage", "<i4"),
        ("ShortStorage", "<i2"),
        ("CharStorage", "|i1"),
        ("ByteStorage", "|u1"),
        ("BoolStorage", "|b1"),
    ):
        for values in (np.array([0, 1, 1, 0], dtype), np.array([[0, 1], [1, 0], [1, 1]], dtype)):
            found = read(tmp_path, saved(values, described(values.shape, kind=kind)))
            np.testing.assert_array_equal(found, values)
            assert found.dtype == np.dtype(dtype)


def test_a_transposed_tensor_and_a_part_of_one_have_their_strides(tmp_path: Path) -> None:
    turned = described((3, 2), strides=(1, 3))
    np.testing.assert_array_equal(read(tmp_path, saved(VALUES, turned)), VALUES.reshape(2, 3).T)
    part = described((2,), count=6, offset=3)
    np.testing.assert_array_equal(read(tmp_path, saved(VALUES, part)), [3, 4])


def test_notes_of_later_versions_are_allowed(tmp_path: Path) -> None:
    notes = {"a/byteorder": b"little", "a/.data/serialization_id": b"1", "a/.format_version": b"1"}
    np.testing.assert_array_equal(read(tmp_path, saved(VALUES, **notes)), VALUES)
    refused(tmp_path, saved(VALUES, **{"a/byteorder": b"big"}), "big-endian")


def test_nothing_of_a_pickle_is_run(tmp_path: Path) -> None:
    class Harmful:
        def __reduce__(self) -> tuple[Any, tuple[str]]:
            return (Path.touch, (tmp_path / "harmed",))  # type: ignore[return-value]

    for protocol in (0, 2, 4):
        refused(tmp_path, saved(VALUES, pickle.dumps(Harmful(), protocol)), "which no tensor needs")
    calling = described((6,)).replace(REBUILD, b"cos\nsystem\n")
    refused(tmp_path, saved(VALUES, calling), "'GLOBAL os system', which no tensor needs")
    escaped = described((6,)).replace(REBUILD, b"cos\nsys\\ctem\n")
    refused(tmp_path, saved(VALUES, escaped), "which no tensor needs")
    assert not (tmp_path / "harmed").exists()


def test_other_contents_are_refused_by_name(tmp_path: Path) -> None:
    refused(tmp_path, saved(VALUES, pickle.dumps({"a": 1}, 2)), "'EMPTY_DICT', which no tensor needs")
    refused(tmp_path, saved(VALUES, pickle.dumps("text", 2)), "does not describe one tensor")
    refused(tmp_path, pickle.dumps([1], 2), "a pickle, as PyTorch wrote before version 1.6")
    refused(tmp_path, b"score,label\n0.5,1\n", "no zip archive")
    refused(tmp_path, saved(VALUES, **{"a/data/1": b"12345678"}), "'data/1', which no single tensor has")
    refused(tmp_path, saved(VALUES, **{"b/data.pkl": b""}), "not an archive with one tensor")
    refused(tmp_path, archive({"probs.npy": b"", "x/y": b""}), "not an archive with one tensor")


def test_wrong_types_and_sizes_are_refused(tmp_path: Path) -> None:
    refused(tmp_path, saved(VALUES, described((6,), kind="HalfStorage")), "HalfStorage")
    refused(
        tmp_path, saved(VALUES, described((6,), kind="FloatStorage")), "48 bytes are not 6 numbers of 4 bytes"
    )
    refused(tmp_path, saved(VALUES, described((7,))), "48 bytes are not 7 numbers")
    refused(tmp_path, saved(VALUES, described((2, 4), count=6)), "in a storage of 6 numbers")
    refused(tmp_path, saved(VALUES, described((3, 2), count=6, strides=(2, 2))), "reaches beyond its storage")
    refused(tmp_path, saved(VALUES, described((4,), count=6, offset=3)), "reaches beyond its storage")
    refused(tmp_path, saved(VALUES, described((6,), strides=(-1,))), "in a storage of 6 numbers")
    refused(tmp_path, saved(VALUES, described((2**30, 2**30), count=6, strides=(0, 0))), "in a storage of 6")
    refused(tmp_path, saved(VALUES, described((0,), count=6)), "in a storage of 6 numbers")
    refused(tmp_path, saved(VALUES, described((1, 2, 3))), "expected one or two dimensions")
    many = np.array([0, 2], "u1")
    refused(tmp_path, saved(many, described((2,), kind="BoolStorage")), "neither 0 nor 1")


def test_truncated_and_damaged_files_are_refused(tmp_path: Path) -> None:
    whole = saved(VALUES)
    for size in (5, 40, len(whole) // 2, len(whole) - 30, len(whole) - 1):
        with pytest.raises(FormatError, match=r"cut short|cannot be read|damaged"):
            read(tmp_path, whole[:size])
    place = whole.index(VALUES.tobytes())
    refused(tmp_path, whole[:place] + b"\xff" + whole[place + 1 :], "cannot be read|damaged")
    for pickled in (described((6,))[:-1], described((6,))[:20], b"", b"\x80\x02\xff", b"\x80\x02\x85."):
        refused(tmp_path, saved(VALUES, pickled), "damaged|does not describe")
    refused(tmp_path, saved(VALUES, described((6,)) + b"."), "does not end with the tensor")
    refused(tmp_path, b"", "no zip archive")


def test_a_zip_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    members = {"a/data.pkl": described((1 << 20,)), "a/data/0": bytes(8 << 20)}
    refused(tmp_path, archive(members, zipfile.ZIP_DEFLATED), "compressed, which PyTorch never does")
    long = {"a/data.pkl": bytes(5000), "a/data/0": b""}
    refused(tmp_path, archive(long), "description has more than 4,096 bytes")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        read_tensor(tmp_path / "none.pt")
    with pytest.raises(InputError, match="does not exist"):
        read_tensor(tmp_path)
