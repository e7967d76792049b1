"""Rewrite the manifests of stores of events of version 1 so that they name their parts with their digests.

Usage: python scripts/store_manifests.py STORE...
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from calibrant.events.files.store_parts import (
    DOCUMENTS,
    ENVELOPE,
    MANIFEST,
    PATTERN,
    Manifest,
    part_digest,
    write_manifest,
)


def upgrade(folder: Path) -> None:
    """Name the parts of a store whose content was checked by whoever runs this."""
    values = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    known = {name: values[name] for name in Manifest.__struct_fields__ if name in values}
    files = sorted((folder / DOCUMENTS).glob(PATTERN))
    parts = {file.name: part_digest(file.read_bytes()) for file in files}
    write_manifest(folder, Manifest(**{**known, "version": ENVELOPE.version, "parts": parts}))


if __name__ == "__main__":
    for name in sys.argv[1:]:
        upgrade(Path(name))
