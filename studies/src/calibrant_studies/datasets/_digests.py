"""Digests by which contents are known: SHA-256, or git's own, which a commit fixes."""

from __future__ import annotations

import hashlib


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
