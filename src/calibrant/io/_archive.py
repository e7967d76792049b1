"""``.npz`` archives of class probabilities or logits, read without pickle."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from calibrant import _checks
from calibrant._checks import shown
from calibrant.exceptions import FormatError, InputError
from calibrant.io.columns import IGNORED, Codes, Column, class_name
from calibrant.io.frames import FrameTable
from calibrant.io.origin import Origin, array_of, members, reading
from calibrant.io.readers import ArrayReader, check_logits
from calibrant.io.tables import THRESHOLD_KEY

KNOWN = ("probs", "logits", "labels", "classes", "clusters", "items", "weights", "threshold")
# As the trainer of Hugging Face calls them; its metrics are no arrays and are not read.
TRAINER = {"predictions": "logits", "label_ids": "labels"}


def open_archive(
    origin: Origin, *, labelled: bool = True
) -> tuple[ArrayReader, tuple[str, ...], float | None]:
    """Read the arrays; return the reader, the classes, and the threshold if one was applied.

    If not ``labelled``, an archive without labels is read, and each label is -1.
    """
    loaded = _load(origin, labelled)
    arrays = _counted(origin, loaded)
    given = [name for name in ("probs", "logits") if name in arrays]
    if len(given) != 1:
        what = "both probs and logits" if given else "neither probs nor logits"
        raise _error(
            origin, f"the archive has {what}", f"store exactly one of them; it holds {_list(arrays)}"
        )
    matrix = arrays[given[0]]
    if matrix.ndim != 2 or matrix.shape[1] < 2:
        hint = "store one column per class, two or more; for one view write a long table with score and label"
        raise _error(origin, f"{given[0]} has shape {matrix.shape}, expected (n, K)", hint, "shape")
    if matrix.dtype.kind not in "fiu":
        raise _error(origin, f"{given[0]} has dtype {matrix.dtype}", "store numbers", "column-type")
    rows, width = matrix.shape
    if rows == 0:
        raise _error(origin, "there are no rows", "write at least one; labels of -100 do not count", "empty")
    if given[0] == "logits":
        check_logits(matrix, origin.name)
    classes = tuple(class_name(value) for value in arrays.get("classes", np.arange(width)).ravel().tolist())
    if len(classes) != width or len(set(classes)) != width:
        raise _error(
            origin,
            f"classes has {len(classes)} names ({len(set(classes))} distinct) and {given[0]} {width} columns",
            "name each column once",
            "length",
        )
    codes, item_codes = Codes(), Codes()
    items = _column(origin, arrays, "items", rows)
    clusters = _column(origin, arrays, "clusters", rows)
    weights = _column(origin, arrays, "weights", rows)
    reader = ArrayReader(
        origin.name,
        np.asarray(matrix, dtype=np.float64),
        given[0] == "logits",
        _labels(origin, arrays, rows, classes) if labelled or "labels" in arrays else np.full(rows, -1),
        None if clusters is None else _clusters(origin, arrays, codes, named="clusters" in loaded),
        None if weights is None else _weights(origin, weights),
        "threshold" in arrays,
        len(loaded["labels"]) - rows if "labels" in loaded and loaded["labels"].ndim == 1 else 0,
        item=None if items is None else _coded(origin, "items", items, item_codes),
        cluster_codes=codes,
        item_codes=item_codes,
    )
    return reader, classes, _threshold(origin, arrays.get("threshold"))


def archive_table(origin: Origin) -> FrameTable:
    """Return an archive, with or without labels, as a wide table with the scores as they are."""
    import pyarrow as pa

    reader, classes, threshold = open_archive(origin, labelled=False)
    kind = "logit_" if reader.logits else "p_"
    codes = {"item": (reader.item_codes, reader.item), "cluster": (reader.cluster_codes, reader.cluster)}
    columns = {name: known.named(values) for name, (known, values) in codes.items() if values is not None}
    if reader.label.min() >= 0:
        columns["label"] = pa.array(np.array(classes, object)[reader.label])
    if reader.weight is not None:
        columns["weight"] = pa.array(reader.weight)
    columns |= {
        f"{kind}{name}": pa.array(values) for name, values in zip(classes, reader.matrix.T, strict=True)
    }
    metadata = {} if threshold is None else {THRESHOLD_KEY: str(threshold).encode()}
    table = FrameTable(pa.table(columns, metadata=metadata), origin.name)
    table.eager, table.first_row = None, 1  # as for other files
    return table


def _load(origin: Origin, labelled: bool) -> dict[str, NDArray[Any]]:
    with reading(origin.name), origin.open() as file, zipfile.ZipFile(file) as archive:
        there = {name.removesuffix(".npy"): name for name in archive.namelist()}
        names = list(there)
        trainer = "predictions" in names and "logits" not in names
        if labelled and names == ["predictions"]:
            hint = "save the labels too: numpy.savez(FILE, predictions=..., label_ids=...)"
            raise _error(origin, "the archive has predictions without label_ids", hint, "column-missing")
        if "predictions" in names and "label_ids" in names:
            names = [name for name in names if name != "metrics"]
        unknown = [name for name in names if name not in (*KNOWN, *TRAINER)]
        if unknown:
            hint = f"rename it or leave it out; the names are {', '.join(KNOWN)}"
            raise _error(origin, f"unknown array {unknown[0]!r}", hint, "column")
        unpacked = members(archive, [there[name] for name in names], file.size(), origin.name)
        arrays = {
            TRAINER.get(name, name): _array(origin, name, content)
            for name, (_, content) in zip(names, unpacked, strict=True)
        }
        if trainer and arrays["logits"].ndim > 1 and arrays["logits"].dtype.kind in "fiu":
            check_logits(arrays["logits"], origin.name, "predictions")
    return arrays


def _array(origin: Origin, name: str, content: bytes) -> NDArray[Any]:
    try:
        array = array_of(content)
        if array.ndim > 1 and len(array) and not array.size:
            raise ValueError("its rows have no columns")
        return array
    except (ValueError, MemoryError) as error:
        if "pickle" in str(error).lower():
            hint = "store text as a NumPy string array, not as objects"
            if name in ("predictions", "logits", "probs"):
                hint = f"store one array; of a tuple the one with a score per class, often {name}[0]"
            raise _error(origin, f"{name} holds Python objects", hint, "column-type") from error
        raise _error(origin, f"{name} is no array, or damaged", "write the archive again") from error


def _counted(origin: Origin, arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Put tokens of texts (n, tokens, K) below each other, the text as cluster, without ignored labels."""
    name = "logits" if "logits" in arrays else "probs"
    labels, matrix = arrays.get("labels"), arrays.get(name)
    if labels is None or matrix is None or labels.dtype.kind not in "iu":
        return arrays
    if not labels.ndim or not matrix.ndim:  # refused by whoever needs them, with their shape
        return arrays
    if matrix.shape == labels.shape and matrix.dtype.kind in "iu":
        message = f"{name} has the shape of labels, {matrix.shape}, and whole numbers"
        hint = "these look like predicted classes (argmax): save the scores of all classes"
        raise _error(origin, message, hint, "shape")
    texts = np.arange(len(labels))
    if matrix.ndim == 3:
        if labels.shape != matrix.shape[:2]:
            message = f"labels has shape {labels.shape} and {name} {matrix.shape}"
            raise _error(origin, message, "store one label per token", "length")
        each, width = matrix.shape[1:]
        matrix, labels, texts = matrix.reshape(-1, width), labels.ravel(), np.repeat(texts, each)
        arrays = {**arrays, name: matrix, "labels": labels}
        for part in ("clusters", "weights"):
            if part in arrays and arrays[part].ndim == 1 and len(arrays[part]) * each == len(labels):
                arrays[part] = np.repeat(arrays[part], each)
        arrays.setdefault("clusters", texts)
    kept = labels != IGNORED
    if labels.ndim != 1 or kept.all() or len(matrix) != len(labels):
        return arrays
    parts = (name, "labels", "clusters", "items", "weights")
    return {
        part: values[kept] if part in parts and values.ndim and len(values) == len(kept) else values
        for part, values in arrays.items()
    }


def _labels(
    origin: Origin, arrays: dict[str, NDArray[Any]], rows: int, classes: tuple[str, ...]
) -> NDArray[np.int64]:
    labels = _column(origin, arrays, "labels", rows)
    if labels is None:
        hint = f"add it as (n,) class positions; the archive contains {_list(arrays)}"
        raise _error(origin, "the archive has no labels", hint, "column-missing")
    named = labels.dtype.kind == "U" and "classes" in arrays
    if not named and labels.dtype.kind not in "iub":
        hint = "store each label as a whole number, the position of its class from 0, or add classes"
        raise _error(origin, f"labels has dtype {labels.dtype}", hint, "column-type")
    if named:
        place = {name: position for position, name in enumerate(classes)}
        met, where = np.unique(labels, return_inverse=True)
        code = np.array([place.get(name, -1) for name in met.tolist()])[where]
    else:
        code = labels
    bad = np.flatnonzero((code < 0) | (code >= len(classes)))
    if len(bad):
        row = int(bad[0])
        known = (
            f"one of the {len(classes)} classes"
            if named
            else f"a class position from 0 to {len(classes) - 1}"
        )
        message = f"label {shown(labels[row].item())} is not {known}"
        hint = "repair it"
        raise InputError(message, hint, code="class-unknown", file=origin.name, row=row + 1, column="labels")
    return code.astype(np.int64, copy=False)


def _threshold(origin: Origin, value: NDArray[Any] | None) -> float | None:
    if value is None:
        return None
    if value.ndim or value.dtype.kind not in "fiu" or not 0 <= value < 1:
        message, hint = "threshold is not one number in [0, 1)", "store a single number, or leave it out"
        raise _error(origin, message, hint, "threshold")
    return float(value)


def _column(origin: Origin, arrays: dict[str, NDArray[Any]], name: str, rows: int) -> NDArray[Any] | None:
    array = arrays.get(name)
    if array is None:
        return None
    hint = "store one value per row"
    if array.ndim != 1:
        if name == "labels":
            hint += (
                ", the position of its class; repeat the row of an item with several labels, and add clusters"
            )
        raise _error(origin, f"{name} has shape {array.shape}, expected (n,)", hint, "shape")
    if array.dtype.kind in "Vc":
        raise _error(origin, f"{name} has dtype {array.dtype}", hint, "dtype")
    if len(array) != rows:
        raise _error(origin, f"{name} has {len(array)} values for {rows} rows", hint, "length")
    return array


def _coded(origin: Origin, name: str, values: NDArray[Any], codes: Codes) -> NDArray[np.int64]:
    import pyarrow as pa

    kind = pa.uint64() if values.dtype.kind == "u" else None  # hashes of 64 bits exceed Arrow's default
    return Column(pa.array(values.tolist(), kind), origin.name, name, 1).codes(codes)


def _clusters(
    origin: Origin, arrays: dict[str, NDArray[Any]], codes: Codes, *, named: bool
) -> NDArray[np.int64]:
    """Codes of clusters; texts without names get the file's, since other files number theirs alike.

    Files of the same name in different folders differ in the checksum of their labels.
    """
    if named:
        return _coded(origin, "clusters", arrays["clusters"], codes)
    texts, where = np.unique(arrays["clusters"], return_inverse=True)
    file = f"{Path(origin.name).stem}-{crc32(arrays['labels'].astype(np.int64).tobytes()):08x}"
    names = np.array([f"{file}:{text}" for text in texts.tolist()])
    return _coded(origin, "clusters", names, codes)[where]


def _weights(origin: Origin, values: NDArray[Any]) -> NDArray[np.float64]:
    try:
        return _checks.weights(values, "weights")
    except InputError as error:
        row = None if error.row is None else error.row + 1
        raise error.at(file=origin.name, row=row, column="weights") from None


def _list(arrays: dict[str, NDArray[Any]]) -> str:
    return ", ".join(sorted(arrays)) or "nothing"


def _error(origin: Origin, message: str, hint: str, code: str = "archive") -> InputError:
    kind = FormatError if code == "archive" else InputError
    return kind(message, hint, code=code, file=origin.name)
