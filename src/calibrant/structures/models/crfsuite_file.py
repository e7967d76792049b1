"""Reader of CRFsuite's model files at full precision, since CRFsuite's dump rounds the weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibrant.exceptions import FormatError

HEADER = np.dtype(
    [
        ("magic", "S4"),
        ("size", "<u4"),
        ("type", "S4"),
        ("version", "<u4"),
        ("features", "<u4"),
        ("labels", "<u4"),
        ("attributes", "<u4"),
        ("features_at", "<u4"),
        ("labels_at", "<u4"),
        ("attributes_at", "<u4"),
        ("label_references_at", "<u4"),
        ("attribute_references_at", "<u4"),
    ]
)
FEATURE = np.dtype([("type", "<u4"), ("source", "<u4"), ("target", "<u4"), ("weight", "<f8")])
COUNT_AT, FEATURES_AT = 8, 12  # in the chunk of features, after its name and size
NAMES_AT = 20  # position, in a dictionary, of the start of the offsets of names
TRANSITION = 1  # type of a feature; 0 for attributes


@dataclass(frozen=True)
class ModelFile:
    """Content of a model file of CRFsuite.

    Attributes
    ----------
    attributes, labels
        Names of attributes and labels.
    state
        Weights of (attribute, label), as records with ``source``, ``target`` and ``weight``.
    transition
        Weights of (label, label), as the same records.
    """

    attributes: list[str]
    labels: list[str]
    state: NDArray[np.void]
    transition: NDArray[np.void]


def parse_model(content: bytes) -> ModelFile:
    """Return the content of a model file of CRFsuite (version 100).

    Parameters
    ----------
    content
        Bytes of the file.

    Returns
    -------
    ModelFile

    Raises
    ------
    FormatError
        If the file has another format, or is truncated.
    """
    if len(content) < HEADER.itemsize:
        raise FormatError("CRFsuite wrote no model", "check the space left on disk", code="file-truncated")
    header = np.frombuffer(content, HEADER, 1)[0]
    if (header["magic"], header["type"], header["version"]) != (b"lCRF", b"FOMC", 100):
        found = "CRFsuite wrote a model that this release cannot read"
        raise FormatError(found, "use python-crfsuite 0.9", code="file-newer")
    if header["size"] != len(content):
        found = f"CRFsuite's model has {len(content)} bytes, expected {header['size']}"
        hint = "train on fewer features; its files cannot exceed 4 GiB"
        raise FormatError(found, hint, code="file-truncated")
    begin = int(header["features_at"])  # start of their chunk; the count in the header stays 0
    count = int(np.frombuffer(content, "<u4", 1, begin + COUNT_AT)[0])
    feature = np.frombuffer(content, FEATURE, count, begin + FEATURES_AT)
    is_transition = feature["type"] == TRANSITION
    return ModelFile(
        _names(content, int(header["attributes_at"]), int(header["attributes"])),
        _names(content, int(header["labels_at"]), int(header["labels"])),
        feature[~is_transition],
        feature[is_transition],
    )


def _names(content: bytes, start: int, count: int) -> list[str]:
    """Return names in the order of their numbers, from a CQDB dictionary that begins at byte ``start``.

    A name is stored as its number, its size with a closing zero (32 bits each), and its bytes.
    """
    if count == 0:
        return []
    places_at = int(np.frombuffer(content, "<u4", 1, start + NAMES_AT)[0])
    places = (np.frombuffer(content, "<u4", count, start + places_at).astype(np.int64) + start).tolist()
    sizes = [int.from_bytes(content[place + 4 : place + 8], "little") for place in places]
    return [
        content[place + 8 : place + 7 + size].decode("utf-8")
        for place, size in zip(places, sizes, strict=True)
    ]
