"""Train all networks of the study, and keep their predictions, small enough to ship."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.exceptions import FormatError
from calibrant.io.atomic import writing
from calibrant.metrics import debiased_squared_error, expected_calibration_error
from calibrant.progress import Progress
from calibrant.seeds import generator_of
from calibrant_studies._base import Row, digest
from calibrant_studies._networks_trained_data import READERS, Vectors, sources, vectors
from calibrant_studies._networks_trained_fit import BATCH, EPOCHS, RATE, Epoch, Network, train

SHIPPED = Path(__file__).parent / "shipped"
SETS = ("headlines", "tweets")
SPLITS = ("dev", "test")
DEPTHS = (1, 2, 4, 8)
WIDTHS = (16, 48, 128)
DECAYS = (1e-5, 1e-4, 1e-3, 1e-2)
DEPTH, WIDTH, DECAY = 4, 48, 1e-4  # of the networks at which the other two vary one at a time
SEEDS = (0, 1, 2)
BINS = 15
LAST, STOPPED = "last", "stopped"
RESOLUTION = 16  # logits are kept to 1/16 near the top one, more coarsely far below it
METADATA = b"calibrant"
NETWORKS = tuple(
    dict.fromkeys(
        [
            *(Network(*shape, DECAY) for shape in product(DEPTHS, WIDTHS, (False, True))),
            *(Network(DEPTH, WIDTH, *rest) for rest in product((False, True), DECAYS)),
        ]
    )
)
BASE = tuple(
    network for network in NETWORKS if network[:2] == (DEPTH, WIDTH) and network.weight_decay == DECAY
)


class Run(NamedTuple):
    """One trained network.

    Attributes
    ----------
    network
        Its architecture.
    seed
        Index of its training, from 0.
    stage
        ``"last"``, or ``"stopped"``: after the epoch with the lowest log loss on dev.
    """

    network: Network
    seed: int
    stage: str

    def __str__(self) -> str:
        return f"{self.network}/{self.seed}/{self.stage}"


@dataclass(frozen=True)
class Trained:
    """All networks of one set.

    Attributes
    ----------
    name
        Name of the set.
    items, labels
        Number of each text in its source, and its class, by name of the split.
    packed
        Logits by run and split, as `pack` makes them.
    epochs
        A row per run and epoch.
    about
        How the networks were trained: seed, machine, seconds, versions, digests of the files read.
    """

    name: str
    items: dict[str, NDArray[np.int32]]
    labels: dict[str, NDArray[np.uint8]]
    packed: dict[Run, dict[str, NDArray[np.uint8]]]
    epochs: list[Row]
    about: dict[str, Any]

    def logits(self, run: Run, split: str) -> NDArray[np.float64]:
        """Logits (n, K) of one run, relative to the top one."""
        return unpack(self.packed[run][split])


def pack(logits: ArrayLike) -> NDArray[np.uint8]:
    """Round logits to one byte each.

    Parameters
    ----------
    logits
        (n, K), finite.

    Returns
    -------
    ndarray of uint8, shape (n, K)
        The distance of each from the top one of its row on the scale of the inverse hyperbolic sine.

    Examples
    --------
    >>> unpack(pack([[3.0, 1.0, -40.0]])).round(2).tolist()
    [[0.0, -1.99, -42.28]]
    """
    values = np.asarray(logits, dtype=np.float64)
    below = values.max(axis=1, keepdims=True) - values
    packed: NDArray[np.uint8] = np.minimum(np.rint(RESOLUTION * np.arcsinh(below)), 255).astype(np.uint8)
    return packed


def unpack(packed: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return the logits that `pack` has rounded; the top one of each row is 0."""
    below: NDArray[np.float64] = np.sinh(packed / RESOLUTION)
    return 0.0 - below


def top(
    logits: NDArray[np.float64], labels: NDArray[np.uint8]
) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.float64]]:
    """Return confidence in the top class, correctness and log loss of each text."""
    shifted = logits - logits.max(axis=1, keepdims=True)
    logs = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return np.exp(logs.max(axis=1)), logits.argmax(axis=1) == labels, -logs[np.arange(len(labels)), labels]


def train_all(data: Path, *, seed: int, progress: Progress | None = None) -> Iterator[Trained]:
    """Train every network on every set.

    Parameters
    ----------
    data
        Folder that has ``reuters-21578/`` and ``sentiment/``.
    seed
        Seed of all random draws.
    progress
        Called with the number of networks done.
    """
    done, total = 0, len(SETS) * len(NETWORKS) * len(SEEDS)
    for name in SETS:
        begun = time.perf_counter(), time.process_time()
        texts, classes = READERS[name](data)
        splits = vectors(texts, seed=seed)
        packed: dict[Run, dict[str, NDArray[np.uint8]]] = {}
        rows: list[Row] = []
        for network, number in product(NETWORKS, SEEDS):
            if progress is not None:
                progress("training networks", done, total)
            rng = generator_of(seed, f"{name}/{network}/{number}")
            found = train(splits, network, rng, classes=len(classes))
            rows += _epoch_rows(network, number, found, splits)
            packed[Run(network, number, LAST)] = _packed(found[-1])
            if network in BASE:
                losses = [row["dev_loss"] for row in rows[-len(found) :]]
                packed[Run(network, number, STOPPED)] = _packed(found[int(np.argmin(losses))])
            done += 1
        yield Trained(
            name,
            {split: splits[split].items for split in SPLITS},
            {split: splits[split].labels for split in SPLITS},
            packed,
            rows,
            {
                "seed": seed,
                "classes": list(classes),
                "training_texts": len(splits["train"].items),
                "networks": len(NETWORKS),
                "seeds": len(SEEDS),
                "epochs": EPOCHS,
                "batch": BATCH,
                "rate": RATE,
                "seconds": round(time.perf_counter() - begun[0]),
                "processor_seconds": round(time.process_time() - begun[1]),
                "data": {path.name: digest(path) for path in sources(data)[name]},
                **_machine(),
            },
        )


def _machine() -> dict[str, str]:
    """Machine and versions of the libraries that train."""
    from importlib.metadata import version
    from os import cpu_count

    libraries = ", ".join(f"{name} {version(name)}" for name in ("jax", "optax", "numpy", "scikit-learn"))
    machine = f"{platform.machine()}, {cpu_count()} cores, {platform.system()}"
    return {"machine": machine, "libraries": f"Python {platform.python_version()}, {libraries}"}


def _packed(epoch: Epoch) -> dict[str, NDArray[np.uint8]]:
    return {split: pack(epoch.logits[split]) for split in SPLITS}


def _epoch_rows(network: Network, number: int, found: list[Epoch], splits: dict[str, Vectors]) -> list[Row]:
    """Log loss, error and calibration error of one training, epoch by epoch."""
    rows = []
    for at, epoch in enumerate(found, start=1):
        scores = {
            split: top(epoch.logits[split].astype(np.float64), splits[split].labels) for split in SPLITS
        }
        confidence, right, losses = scores["test"]
        rows.append(
            {
                "network": str(network),
                "seed": number,
                "epoch": at,
                "training_loss": epoch.training_loss,
                "dev_loss": float(scores["dev"][2].mean()),
                "test_loss": float(losses.mean()),
                "test_error": 1 - float(right.mean()),
                "test_ece": expected_calibration_error(right, confidence, n_bins=BINS),
                "test_mse": debiased_squared_error(right, confidence),
            }
        )
    return rows


def files(name: str, folder: Path = SHIPPED) -> tuple[Path, Path]:
    """Files of one set: predictions, and epochs."""
    return folder / f"networks-{name}.parquet", folder / f"networks-{name}-epochs.parquet"


def write(trained: Trained, folder: Path) -> list[Path]:
    """Write one set to a folder: a column per run, a row per text of dev and test; and a table of epochs."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    split = np.repeat(np.arange(len(SPLITS), dtype=np.int8), [len(trained.labels[name]) for name in SPLITS])
    columns: dict[str, Any] = {"split": split}
    columns["item"] = np.concatenate([trained.items[name] for name in SPLITS])
    columns["label"] = np.concatenate([trained.labels[name] for name in SPLITS])
    for run, parts in trained.packed.items():
        values = np.ascontiguousarray(np.concatenate([parts[name] for name in SPLITS]))
        kind = pa.binary(values.shape[1])
        columns[str(run)] = pa.FixedSizeBinaryArray.from_buffers(
            kind, len(values), [None, pa.py_buffer(values.tobytes())]
        )
    predictions = pa.table(columns).replace_schema_metadata({METADATA: json.dumps(trained.about)})
    rows = pa.table({key: [row[key] for row in trained.epochs] for key in trained.epochs[0]})
    for key, values in ((key, rows[key]) for key in rows.column_names):
        if pa.types.is_floating(values.type):
            rows = rows.set_column(rows.column_names.index(key), key, values.cast(pa.float32()))
    folder.mkdir(parents=True, exist_ok=True)
    encodings: tuple[dict[str, str], dict[str, str]] = (
        {str(run): "BYTE_STREAM_SPLIT" for run in trained.packed},
        {name: "BYTE_STREAM_SPLIT" for name in rows.column_names if name.startswith(("t", "dev"))},
    )
    for path, table, encoding in zip(
        files(trained.name, folder), (predictions, rows), encodings, strict=True
    ):
        options = {"compression": "zstd", "compression_level": 19, "write_statistics": False}
        with writing(path) as file:
            pq.write_table(
                table,
                file,
                column_encoding=encoding,
                use_dictionary=[name for name in table.column_names if name not in encoding],
                **options,
            )
    return list(files(trained.name, folder))


def ship(data: Path, folder: Path = SHIPPED, *, seed: int, progress: Progress | None = None) -> list[Path]:
    """Train all networks, and write their predictions to the folder that the study reads."""
    return [path for each in train_all(data, seed=seed, progress=progress) for path in write(each, folder)]


def read(name: str, folder: Path = SHIPPED) -> Trained:
    """Read one set back.

    Raises
    ------
    FormatError
        If the file does not contain the networks of this study.
    """
    import pyarrow.parquet as pq

    path, epochs = files(name, folder)
    table = pq.read_table(path)
    about = json.loads((table.schema.metadata or {}).get(METADATA, b"{}"))
    runs = [Run(network, seed, LAST) for network, seed in product(NETWORKS, SEEDS)]
    runs += [Run(network, seed, STOPPED) for network, seed in product(BASE, SEEDS)]
    missing = [str(run) for run in runs if str(run) not in table.column_names]
    if missing or "classes" not in about:
        raise FormatError(
            f"there is no column {missing[0]!r}" if missing else "the file does not say how it was made",
            "run `calibrant study networks --train`, which makes it",
            code="file-broken",
            file=str(path),
        )
    split = table["split"].to_numpy()
    part = partial(_part, split)
    return Trained(
        name,
        part(table["item"].to_numpy()),
        part(table["label"].to_numpy()),
        {run: part(_bytes(table[str(run)], len(about["classes"]))) for run in runs},
        pq.read_table(epochs).to_pylist(),
        about,
    )


def _part(split: NDArray[np.int8], values: NDArray[Any]) -> dict[str, NDArray[Any]]:
    return {name: values[split == number] for number, name in enumerate(SPLITS)}


def _bytes(column: Any, width: int) -> NDArray[np.uint8]:
    chunk = column.combine_chunks()
    found = np.frombuffer(chunk.buffers()[1], dtype=np.uint8)
    return found[chunk.offset * width : (chunk.offset + len(chunk)) * width].reshape(-1, width)
