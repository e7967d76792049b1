"""Make the stores of events that ship with the package from those of the study: small, and without texts."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from msgspec.structs import replace

from calibrant.events.files.store import EventStore
from calibrant.events.files.store_parts import (
    DOCUMENTS,
    part_digest,
    read_manifest,
    read_part,
    schema,
    write_manifest,
)
from calibrant.io.atomic import writing
from calibrant_studies._base import Row
from calibrant_studies._events_dev import dev_rows

PART = "part-000000.parquet"
SOURCES = {
    "coref": "trained on GUM by calibrant coref train --features syntax --mentions detected",
    "lexicon": "default",
    "parser": "en_ud_ewt_gum",
}


def ship_store(store: Path, folder: Path) -> None:
    """Write a store as one part, by date and id, with columns packed tightly and without ``source``.

    The digests of the documents do not compress: they would be three quarters of what ships.

    Parameters
    ----------
    store
        A finished store without texts.
    folder
        Folder of the new store.
    """
    import pyarrow as pa
    from pyarrow import parquet

    manifest = read_manifest(store)
    assert manifest is not None
    samples = manifest.settings["samples"]
    parts = [read_part(file, samples) for file in EventStore(store).parts]
    table = pa.concat_tables(parts).sort_by([("date", "ascending"), ("id", "ascending")])
    at = table.schema.get_field_index("source")
    table = table.set_column(at, table.schema.field(at), pa.nulls(len(table), table.schema.field(at).type))
    (folder / DOCUMENTS).mkdir(parents=True)
    plain = [name for name in schema().names if name not in ("id", "date")]
    with writing(folder / DOCUMENTS / PART) as file:
        parquet.write_table(
            table,
            file,
            compression="zstd",
            compression_level=19,
            use_dictionary=_leaves(table, plain),
            column_encoding={"id": "DELTA_BYTE_ARRAY", "date": "DELTA_BINARY_PACKED"},
            write_statistics=False,
            write_page_checksum=True,
        )
    sources = {**SOURCES, "rules": manifest.sources["rules"]}
    digest = part_digest((folder / DOCUMENTS / PART).read_bytes())
    write_manifest(folder, replace(manifest, sources=sources, parts={PART: digest}))


def _leaves(table: object, names: Iterable[str]) -> list[str]:
    """Paths of the columns that Parquet has for some columns of a part."""
    import pyarrow as pa

    assert isinstance(table, pa.Table)
    found = []
    for name in names:
        kind = table.schema.field(name).type
        if pa.types.is_list(kind) and not pa.types.is_struct(kind.value_type):
            found.append(f"{name}.list.element")
        elif pa.types.is_list(kind):
            item = kind.value_type
            found += [f"{name}.list.element.{item.field(at).name}" for at in range(item.num_fields)]
        else:
            found.append(name)
    return found


def ship_labels(rows: Iterable[Row], file: Path) -> None:
    """Write the labeled documents as a prediction table: ``score``, ``label``, ``cluster``, by document."""
    import pyarrow as pa
    from pyarrow import parquet

    used = sorted(dev_rows(list(rows)), key=lambda row: str(row["document"]))
    table = pa.table(
        {
            "score": [row["score"] for row in used],
            "label": [row["label"] for row in used],
            "cluster": [row["document"] for row in used],
        }
    )
    with writing(file) as out:
        parquet.write_table(table, out, compression="zstd")


def ship_readings(rows: Iterable[Row], file: Path) -> None:
    """Write the results of the reading, from the study's table ``sure``."""
    found = {row["corpus"]: {"right": row["right"], "read": row["read"]} for row in rows}
    with writing(file) as out:
        out.write((json.dumps(found, indent=2) + "\n").encode())
