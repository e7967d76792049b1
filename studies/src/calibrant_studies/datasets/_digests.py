"""Digests by which contents are known: SHA-256, or git's own, which a commit fixes."""

from __future__ import annotations

import gzip
import hashlib
import io
import zipfile
from pathlib import Path


def digest_of(content: bytes, like: str) -> str:
    """Digest of a content by the algorithm of another digest.

    Parameters
    ----------
    content
        Whole.
    like
        ``sha256:...`` or ``git:...``.

    Returns
    -------
    str

    Examples
    --------
    >>> digest_of(b"", "sha256:")[:17], digest_of(b"", "git:")[:14]
    ('sha256:e3b0c44298', 'git:e69de29bb2')
    """
    algorithm = like.partition(":")[0]
    if algorithm == "git":
        named = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False)
        return f"git:{named.hexdigest()}"
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def unpacked(path: Path, content: bytes) -> bytes:
    """Return the content of a packed file, as packers differ: of ``.npz``, its arrays by name.

    Parameters
    ----------
    path
        Its ending says how it is packed.
    content
        Whole.

    Returns
    -------
    bytes
        The content itself, if it is not packed.

    Examples
    --------
    >>> unpacked(Path("a.gz"), gzip.compress(b"text")), unpacked(Path("a.txt"), b"text")
    (b'text', b'text')
    """
    if path.suffix == ".gz":
        return gzip.decompress(content)
    return arrays(content) if path.suffix == ".npz" else content


def arrays(content: bytes) -> bytes:
    """Return the arrays of an archive of NumPy, one after the other in order of their names."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return b"".join(archive.read(name) for name in sorted(archive.namelist()))
