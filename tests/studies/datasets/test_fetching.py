from __future__ import annotations

import errno
import gzip
import hashlib
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from calibrant.exceptions import CalibrantError, InputError, MissingExtraError
from calibrant_studies.datasets import _downloading, _fetching, data_set, fetch

LONG_TEXT = "a/long%20text.txt"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data"


def contents(folder: Path) -> tuple[bytes, bytes]:
    place = folder / "made-up"
    return gzip.decompress((place / "both.txt.gz").read_bytes()), (place / "short.txt").read_bytes()


def whole(made_up: Any) -> tuple[bytes, bytes]:
    long, short, _ = made_up.files.values()
    return long + short, short


def ranges(made_up: Any) -> list[str]:
    """The ranges asked for of the long file."""
    return [wanted for path, wanted in made_up.asked if path.endswith(LONG_TEXT)]


def start(wanted: str) -> int:
    return int(wanted.removeprefix("bytes=").rstrip("-"))


def code_of(folder: Path, **options: Any) -> tuple[str, str]:
    with pytest.raises(CalibrantError) as caught:
        fetch("made-up", folder, **options)
    return caught.value.code, str(caught.value)


def test_files_come_with_their_license_and_sources(made_up: Any, folder: Path) -> None:
    done = fetch("made-up", folder)
    assert contents(folder) == whole(made_up)
    assert done.files == ("both.txt.gz", "short.txt")
    assert done.size == sum(map(len, made_up.files.values()))
    assert (folder / "made-up" / "LICENSE").read_bytes() == b"Do as you like.\n"
    page = (folder / "made-up" / "README.md").read_text(encoding="utf-8")
    assert "CC BY 4.0" in page
    assert "Name the author." in page
    assert "https://github.com/someone/texts/blob/0f0f" in page
    assert sorted(path.name for path in folder.iterdir()) == [".downloads", "made-up"]
    assert [path.name for path in (folder / ".downloads").iterdir()] == ["made-up.lock"]
    assert len(made_up.asked) == 3, "what two files are made of is fetched once"


def test_what_is_there_is_not_fetched_again(made_up: Any, folder: Path) -> None:
    fetch("made-up", folder)
    made_up.asked.clear()
    assert fetch("made-up", folder).files == ()
    assert made_up.asked == []
    (folder / "made-up" / "short.txt").unlink()
    assert fetch("made-up", folder).files == ("short.txt",)
    assert [path.rpartition("/")[2] for path, _ in made_up.asked] == ["short.txt"]


def test_progress_ends_at_the_whole(made_up: Any, folder: Path) -> None:
    seen: list[tuple[str, int, int | None]] = []
    fetch("made-up", folder, progress=lambda *what: seen.append(what))
    total = sum(map(len, made_up.files.values()))
    assert {stage for stage, _, _ in seen} == {"fetching made-up"}
    assert [done for _, done, _ in seen] == sorted(done for _, done, _ in seen)
    assert seen[-1][1:] == (total, total)


def test_a_cut_connection_is_taken_up_where_it_broke(made_up: Any, folder: Path) -> None:
    made_up.cuts = [100_000, 50_000]
    fetch("made-up", folder)
    assert contents(folder) == whole(made_up)
    first, second, third = ranges(made_up)
    assert first == ""
    for place, wanted in ((100_000, second), (150_000, third)):
        assert place - 2 * _downloading.BLOCK < start(wanted) <= place


def test_a_server_without_ranges_begins_anew(made_up: Any, folder: Path) -> None:
    made_up.cuts, made_up.ranges = [100_000], False
    fetch("made-up", folder)
    assert contents(folder) == whole(made_up)


def test_an_interrupted_fetch_goes_on_where_it_was(made_up: Any, folder: Path) -> None:
    def interrupt(stage: str, done: int, total: int | None) -> None:
        if done > 100_000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch("made-up", folder, progress=interrupt)
    assert not list((folder / "made-up").iterdir()), "no file is there before it is whole"
    fetch("made-up", folder)
    assert contents(folder) == whole(made_up)
    first, then = ranges(made_up)
    assert first == ""
    assert start(then) > 100_000


def test_whole_originals_of_an_interrupted_fetch_are_kept(made_up: Any, folder: Path) -> None:
    short = next(path for path in made_up.files if path.endswith("short.txt"))
    kept = made_up.files.pop(short)
    assert code_of(folder)[0] == "download"
    made_up.files[short] = kept
    fetch("made-up", folder)
    assert ranges(made_up) == [""], "the long file was whole"


@pytest.mark.parametrize("what", ["other bytes", "too much", "a whole file"])
def test_what_was_kept_of_another_file_is_dropped(made_up: Any, folder: Path, what: str) -> None:
    long = data_set("made-up").originals[0]
    path = folder / ".downloads" / "made-up" / long.place
    path.parent.mkdir(parents=True)
    bad = {"other bytes": b"x" * 1000, "too much": b"x" * 1_000_000, "a whole file": b"x"}[what]
    (path if what == "a whole file" else path.with_name(f"{path.name}.part")).write_bytes(bad)
    fetch("made-up", folder)
    assert contents(folder) == whole(made_up)


@pytest.mark.parametrize("change", ["another byte", "more", "nothing"])
def test_another_content_is_refused_with_both_sums(made_up: Any, folder: Path, change: str) -> None:
    path, right = next(iter(made_up.files.items()))
    wrong = {"another byte": b"L" + right[1:], "more": right + b"more", "nothing": b""}[change]
    made_up.files[path] = wrong
    code, said = code_of(folder)
    if change == "nothing":
        assert code == "download"
    else:
        assert code == "checksum"
        assert hashlib.sha256(right).hexdigest() in said
        assert said.count("sha256:") == 2
        assert LONG_TEXT in said
    assert not list((folder / "made-up").iterdir())
    made_up.files[path] = right
    fetch("made-up", folder)
    assert contents(folder) == whole(made_up)


def test_a_missing_file_names_its_address(made_up: Any, folder: Path) -> None:
    made_up.files.clear()
    code, said = code_of(folder)
    assert code == "download"
    assert f"{made_up.address}/someone/texts/" in said
    assert "answers 404" in said


def test_a_busy_server_is_asked_again(made_up: Any, folder: Path) -> None:
    made_up.statuses = [503, 429]
    fetch("made-up", folder)
    assert contents(folder) == whole(made_up)
    made_up.statuses = [429] * 10
    (folder / "made-up" / "short.txt").unlink()
    code, said = code_of(folder)
    assert code == "download"
    assert "answers 429" in said
    assert "run the command again" in said


def test_a_slow_server_is_not_waited_for_without_end(
    made_up: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_downloading, "PATIENCE", (1, 0.1))
    monkeypatch.setattr(_downloading, "TRIES", 1)
    made_up.delay = 0.5
    code, said = code_of(folder)
    assert code == "download"
    assert "nothing came for 0.1 seconds" in said


def test_no_server_is_said_in_a_line(made_up: Any, folder: Path) -> None:
    code, said = code_of(folder, server="http://127.0.0.1:9")
    assert code == "download"
    assert "127.0.0.1:9 cannot be reached" in said


def test_no_network_is_said_in_a_line(made_up: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import requests

    def get(*arguments: object, **options: object) -> None:
        raise requests.ConnectionError("NameResolutionError: Failed to resolve 'somewhere'")

    monkeypatch.setattr(requests.Session, "get", get)
    code, said = code_of(folder, server="https://somewhere")
    assert code == "download"
    assert "somewhere is not known here: there is no network" in said


def test_the_address_of_a_server_is_checked(made_up: Any, folder: Path) -> None:
    assert code_of(folder, server="ftp://somewhere")[0] == "parameter"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_named(made_up: Any, folder: Path) -> None:
    long = data_set("made-up").originals[0]
    part = folder / ".downloads" / "made-up" / f"{long.place}.part"
    part.parent.mkdir(parents=True)
    part.symlink_to("/dev/full")
    code, said = code_of(folder)
    assert code == "output"
    assert "no space left on device" in said


def test_a_folder_that_cannot_be_written_is_named(
    made_up: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_bytes(b"")
    code, said = code_of(tmp_path / "file")
    assert code == "output"
    assert str(tmp_path / "file") in said

    def refuse(*arguments: object, **options: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(Path, "mkdir", refuse)
    code, said = code_of(tmp_path / "read-only")
    assert code == "output"
    assert "read-only file system" in said


def test_two_do_not_fetch_the_same_at_once(made_up: Any, folder: Path) -> None:
    (folder / ".downloads").mkdir(parents=True)
    with _fetching.alone(folder / ".downloads" / "made-up.lock"):
        assert code_of(folder)[0] == "busy"
    fetch("made-up", folder)


@pytest.mark.parametrize("name", ["both.txt.gz", "short.txt"])
@pytest.mark.parametrize("content", [b"mine", gzip.compress(b"mine")], ids=["text", "gzip"])
def test_a_file_of_the_users_is_never_replaced(made_up: Any, folder: Path, name: str, content: bytes) -> None:
    path = folder / "made-up" / name
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    code, said = code_of(folder)
    assert code in ("checksum", "file-broken")
    assert str(path) in said
    assert path.read_bytes() == content
    assert made_up.asked == []


def test_a_page_of_the_users_is_kept(made_up: Any, folder: Path) -> None:
    page = folder / "made-up" / "README.md"
    page.parent.mkdir(parents=True)
    page.write_text("mine", encoding="utf-8")
    fetch("made-up", folder)
    assert page.read_text(encoding="utf-8") == "mine"


def test_what_may_not_be_passed_on_is_asked_for(made_up: Any, folder: Path) -> None:
    with pytest.raises(InputError, match="calibrant data list secret") as caught:
        fetch("secret", folder)
    assert caught.value.code == "ask"
    (folder / "secret").mkdir(parents=True)
    (folder / "secret" / "secret.txt").write_bytes(b"anything")
    assert fetch("secret", folder).files == ()
    assert made_up.asked == []


def test_the_digests_of_git_are_known(made_up: Any, folder: Path, tmp_path: Path) -> None:
    content = next(iter(made_up.files.values()))
    digest = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
    file = tmp_path / "sources" / "made-up.toml"
    known = f"{hashlib.sha256(content).hexdigest()} {len(content)}"
    file.write_text(file.read_text("utf-8").replace(known, f"git:{digest} -"), encoding="utf-8")
    data_set.cache_clear()
    made_up.cuts = [100_000]
    fetch("made-up", folder)
    assert contents(folder) == whole(made_up)
    (folder / "made-up" / "both.txt.gz").unlink()
    path = next(iter(made_up.files))
    made_up.files[path] = content + b"more"
    code, said = code_of(folder)
    assert code == "checksum"
    assert f"not git:{digest}" in said


def test_without_pooch_the_extra_is_named(
    made_up: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(MissingExtraError, match="pip install calibrant-studies"):
        fetch("made-up", folder)
