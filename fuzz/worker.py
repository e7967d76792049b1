"""One process of fuzzing: inputs into a reader, and a record of everything but a good read or a clear error.

It goes on after an error; a crash of the interpreter ends it, and ``campaign.py`` starts it again.
"""

from __future__ import annotations

import faulthandler
import hashlib
import shutil
import sys
import time
import traceback
import warnings
import zlib
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any
from zipfile import BadZipFile, ZipFile

import atheris

ROOT = Path(__file__).resolve().parent.parent
# Compiled from their bytecode, which therefore stays as it is.
KERNELS = [
    ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)
    for path in (ROOT / "src" / "calibrant").rglob("*.py")
    if "_kernels" in (path.parent.name, path.stem)
]

with atheris.instrument_imports(include=["calibrant"], exclude=KERNELS):
    import mutations
    from targets import TARGETS, Target, placed

    from calibrant.exceptions import CalibrantError

SECONDS = 3.0  # of the processor, for one input
BASE, TIMES = 64 << 20, 10  # bytes that any input may take, and how often its own size
LARGEST = 1 << 16
MOST = 256 << 20  # bytes, to which any small file may unpack
SPEED = 1 << 20  # bytes a second
HANGS = 60  # seconds, after which the process is ended


class Watch:
    """Time of the processor and peak memory of a block."""

    def __enter__(self) -> Watch:
        Path("/proc/self/clear_refs").write_text("5")
        self.before = _kilobytes("VmRSS")
        self.start = time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.process_time() - self.start
        self.bytes = (_kilobytes("VmHWM") - self.before) << 10


def _kilobytes(key: str) -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.split(f"{key}:")[1].split()[0])


class Session:
    """Return the action for each input, and its findings."""

    def __init__(self, target: Target, folder: Path, findings: Path) -> None:
        self.target = target
        self.folder = folder
        self.findings = findings
        self.known = {path.name.partition("-")[0] for path in findings.iterdir()}

    def __call__(self, data: bytes) -> None:
        """Read an input with each reader."""
        faulthandler.dump_traceback_later(HANGS, exit=True)
        if self.target.folders:
            shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True, exist_ok=True)
        path = placed(self.target, data, self.folder)
        size = unpacked_size(data)
        for again in (False, True):
            with Watch() as watch:
                for read in self.target.read:
                    self._read(read, path, data)
            slow, large = watch.seconds > SECONDS + size / SPEED, watch.bytes > BASE + TIMES * size
            if not slow and not large:  # the first time, a kernel may have been compiled
                break
            if again:
                what = f"{watch.seconds:.1f} s, {watch.bytes >> 20} MiB for {len(data)} bytes"
                self.keep(
                    "slow" if slow else "memory", what, data, f"{data[:2]!r} {slow} {watch.bytes >> 28}"
                )
        if not self.target.folders:
            path.unlink()
        faulthandler.cancel_dump_traceback_later()

    def _read(self, read: Any, path: Path, data: bytes) -> None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                read(path)
        except CalibrantError as error:
            try:
                str(error).encode()
            except UnicodeEncodeError:
                self.keep("unprintable", ascii(error), data, type(error).__name__)
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)
            ours = [each for each in frames if "/src/calibrant" in each.filename][-1:]
            key = "".join(f"{type(error)} {each.filename} {each.name} {each.line}" for each in ours)
            self.keep("error", traceback.format_exc(), data, key)

    def keep(self, kind: str, text: str, data: bytes, key: str) -> None:
        """Keep the first input of each kind of finding."""
        digest = hashlib.sha256(key.encode()).hexdigest()[:12]
        if digest in self.known:
            return
        self.known.add(digest)
        (self.findings / f"{digest}-{kind}.bin").write_bytes(data)
        (self.findings / f"{digest}-{kind}.txt").write_text(text, errors="backslashreplace")
        sys.stderr.write(f"FOUND {kind} {digest}: {text.strip().splitlines()[-1][:200]}\n")


def unpacked_size(data: bytes) -> int:
    """Bytes of an input, unpacked if gzip or zip packed it: of so many it may take its time and memory."""
    if data.startswith(b"PK"):
        try:
            with ZipFile(BytesIO(data)) as archive:
                stated = sum(each.file_size for each in archive.infolist())
            return min(max(len(data), stated), MOST)
        except (BadZipFile, NotImplementedError, UnicodeDecodeError):
            return len(data)
    try:
        return max(len(data), len(zlib.decompressobj(31).decompress(data, LARGEST << 10)))
    except zlib.error:
        return len(data)


def mutated(data: bytes, size: int, seed: int) -> bytes:
    """An input changed within its format, or as libFuzzer changes bytes."""
    random = Random(seed)
    if random.random() < 0.6:
        try:
            found = data
            for _ in range(random.choice((1, 1, 1, 2, 4))):
                found = mutations.by_content(found, random)
            if len(found) <= size:
                return found
        except Exception:  # what is broken already cannot be changed within its format
            found = data
    if data.startswith(b"\x1f\x8b") and random.random() < 0.7:
        try:
            unpacked = zlib.decompressobj(31).decompress(data, LARGEST)
            return _packed(bytes(atheris.Mutate(unpacked, LARGEST)))
        except zlib.error:
            pass
    return bytes(atheris.Mutate(data, size))


def _packed(data: bytes) -> bytes:
    import gzip

    return gzip.compress(data, 1)


def main() -> None:
    """``worker.py NAME FOLDER CORPUS FINDINGS [libFuzzer's options]``."""
    name, folder, corpus, findings, *options = sys.argv[1:]
    target = TARGETS[name]
    session = Session(target, Path(folder), Path(findings))
    warnings.simplefilter("ignore")  # of writers of archives with two members of one name
    with atheris.instrument_imports(include=["calibrant", *target.also], exclude=KERNELS):
        for data in target.seeds():
            if len(data) <= target.longest:
                Path(corpus, hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)
                session(data)  # what it needs is loaded and compiled before time and memory count
    limits = [f"-max_len={target.longest}", "-timeout=120", "-rss_limit_mb=6000", "-print_final_stats=1"]
    atheris.Setup([sys.argv[0], *limits, *options, corpus], session, custom_mutator=mutated)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
