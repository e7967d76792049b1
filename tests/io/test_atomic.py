"""Files are whole or absent."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from calibrant.exceptions import InputError
from calibrant.io.atomic import writing


def write_half(target: Path) -> None:
    with writing(target) as file:
        file.write(b"new")
        raise RuntimeError("stop")


def test_a_file_appears_only_when_it_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    with writing(target) as file:
        file.write(b"half")
        assert not target.exists()
    assert target.read_bytes() == b"half"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_bytes(b"old")
    with pytest.raises(RuntimeError, match="stop"):
        write_half(target)
    assert target.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_bytes(b"old")
    target.chmod(0o600)
    with writing(target) as file:
        file.write(b"new")
        assert [path.stat().st_mode & 0o777 for path in tmp_path.iterdir()] == [0o600, 0o600]
    assert (target.read_bytes(), target.stat().st_mode & 0o777) == (b"new", 0o600)


def test_a_link_that_the_system_does_not_follow_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").symlink_to(tmp_path / "a.txt")
    with (
        pytest.raises(InputError, match=r"a\.txt: cannot write: too many levels"),
        writing(tmp_path / "a.txt"),
    ):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_gz_is_packed_and_equal_content_gives_equal_bytes(tmp_path: Path) -> None:
    for name in ("a.csv.gz", "b.csv.gz"):
        with writing(tmp_path / name) as file:
            file.write(b"score,label\n")
    assert gzip.decompress((tmp_path / "a.csv.gz").read_bytes()) == b"score,label\n"
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()


def test_a_failure_while_packing_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="stop"):
        write_half(tmp_path / "a.csv.gz")
    assert not list(tmp_path.iterdir())


def test_a_device_is_written_directly() -> None:
    with writing("/dev/null") as file:
        file.write(b"gone")


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
def test_a_full_disk_is_an_error_that_names_the_file(tmp_path: Path, name: str) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("needs /dev/full")
    (tmp_path / name).symlink_to(full)
    with (
        pytest.raises(InputError, match=rf"{name}: cannot write: no space left") as caught,
        writing(tmp_path / name) as file,
    ):
        file.write(bytes(100_000))
    assert caught.value.code == "output"


def test_a_place_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot write: no such file"), writing(tmp_path / "no" / "a.txt"):
        pass
    with pytest.raises(InputError, match="this is a folder"), writing(tmp_path):
        pass
