"""Parts of a store of events: their columns, and rows as records."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta, Struct

from calibrant._checks import decoded
from calibrant.exceptions import FormatError
from calibrant.io.atomic import writing
from calibrant.io.envelope import Envelope, Version
from calibrant.io.origin import parquet_file

if TYPE_CHECKING:
    import pyarrow as pa

MANIFEST = "manifest.json"
DOCUMENTS = "documents"
PATTERN = "part-*.parquet"
PartName = Annotated[str, Meta(pattern=r"^part-[0-9]{6,9}\.parquet\Z")]
Digest = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]
LIGHT = ("id", "date", "counts")
LISTS = ("counts", "evidence")
ENTITIES = "entities"
MOST_ENTITIES = 255
MOST_SAMPLES = 2**31 - 1
FIRST_DAY, LAST_DAY = ((day - date(1970, 1, 1)).days for day in (date.min, date.max))


class StoredCount(NamedTuple):
    """Whether a document counts for a country.

    Attributes
    ----------
    country
        Its code.
    probability
        Share of the samples in which the document counts.
    best
        Whether it counts with the most probable antecedents (the 1-best structure).
    samples
        A bit a sample, the first in the lowest bit of the first byte: ``numpy.unpackbits(...,
        bitorder="little")`` undoes it.
    """

    country: str
    probability: float
    best: bool
    samples: bytes


class StoredEvidence(NamedTuple):
    """Two mentions, of a country and of an agent, that may be of one entity.

    Attributes
    ----------
    country
        Code.
    verb
        Lemma of what the agent does.
    probability
        Share of the samples in which the two are one entity.
    mention_sentence, mention_from, mention_to
        Where the mention of the country is: the sentence's number from 0, and characters of the text, the
        end exclusive: ``text[mention_from:mention_to]``.
    agent_sentence, agent_from, agent_to
        The same of the agent; it may be the same mention.
    """

    country: str
    verb: str
    probability: float
    mention_sentence: int
    mention_from: int
    mention_to: int
    agent_sentence: int
    agent_from: int
    agent_to: int


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """What a store says of one document.

    Attributes
    ----------
    id
        Its name, unique in the store.
    date
        Its day.
    skipped
        Whether it was not parsed, since without a name or a verb of the rules it cannot count.
    counts
        Countries for which it counts in some sample or in the 1-best structure, by code.
    evidence
        For each of them the most probable pairs of mentions, the most probable first.
    title, text
        None unless the store holds texts and the document counts for some country. The text of a document in
        CoNLL-U is its words between blanks, a sentence a line.
    entities
        For each of ``counts`` a byte per sample: how many entities count, at most 255; and one more for the
        1-best structure. None: not known, as in stores of earlier versions.
    """

    id: str
    date: date
    skipped: bool = False
    counts: Sequence[StoredCount] = ()
    evidence: Sequence[StoredEvidence] = ()
    title: str | None = None
    text: str | None = None
    entities: Sequence[bytes] | None = None


class Manifest(Struct, frozen=True, tag_field="kind", tag="calibrant events"):
    """What a store holds, and what made it.

    Attributes
    ----------
    settings
        All that decides what is in it; runs of other settings are not mixed. Models, lexicons and parsers
        stand as digests of their contents.
    sources
        Names of those, for people.
    finished
        Whether the last run came to the end of its documents.
    parts
        The BLAKE2b digest of each part, by file name. Other files are not read. While the store is
        unfinished, the last part may be missing: it is named before it is written.
    version
        Of the format.
    calibrant
        The release that began the store.
    """

    settings: Mapping[str, Any]
    sources: Mapping[str, str]
    finished: bool
    version: Version
    calibrant: str
    parts: Mapping[PartName, Digest]

    @property
    def digest(self) -> str:
        """Of the settings."""
        return self.digest_of(self.settings)

    @staticmethod
    def digest_of(settings: Mapping[str, Any]) -> str:
        """Return the digest of settings, by which a store tells them from others."""
        return blake2b(canonical(settings), digest_size=16).hexdigest()


class _Needed(Struct, frozen=True):
    """The settings that a store cannot be read without."""

    samples: Annotated[int, Meta(ge=1, le=MOST_SAMPLES)]
    with_text: bool


ENVELOPE = Envelope(
    Manifest,
    version=2,
    name="manifest of a store of events",
    make="name a folder that `calibrant events run` wrote",
    again="make the store again in a new folder with `calibrant events run`",
    key="version",
    oldest=2,
)


def first_line(error: Exception) -> str:
    """Of its message, to stand in another."""
    return next(iter(str(error).splitlines()), type(error).__name__)[:80]


def canonical(value: Any) -> bytes:
    """JSON of one way of writing it."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def read_manifest(folder: Path) -> Manifest | None:
    """Read the manifest of a store; None if there is none."""
    file = folder / MANIFEST
    try:
        data = file.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise FormatError(
            "the manifest cannot be read", str(error), code="file-broken", file=str(file)
        ) from error
    manifest = ENVELOPE.decode(data, str(file))
    try:
        check_settings(manifest.settings, "$.settings")
        if len(set(manifest.parts.values())) < len(manifest.parts):
            raise ValueError("$.parts: two parts have the same content")
    except ValueError as error:
        raise ENVELOPE.damaged(str(file), str(error)) from error
    return manifest


def check_settings(settings: Mapping[str, Any], at: str) -> None:
    """Raise ValueError unless settings have all that a store cannot be read without."""
    decoded(dict(settings), _Needed, at)


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest whole."""
    values = {**msgspec.to_builtins(manifest), "settings_digest": manifest.digest}
    with writing(folder / MANIFEST) as file:
        file.write(json.dumps(values, indent=2, ensure_ascii=False).encode() + b"\n")


def schema() -> pa.Schema:
    """The columns of a part."""
    import pyarrow as pa

    count = [
        ("country", pa.string()),
        ("probability", pa.float64()),
        ("best", pa.bool_()),
        ("samples", pa.binary()),
    ]
    place = [
        (f"{of}_{what}", pa.int32()) for of in ("mention", "agent") for what in ("sentence", "from", "to")
    ]
    evidence = [("country", pa.string()), ("verb", pa.string()), ("probability", pa.float64()), *place]
    return pa.schema(
        [
            pa.field("id", pa.string(), nullable=False),
            pa.field("date", pa.date32(), nullable=False),
            pa.field("skipped", pa.bool_(), nullable=False),
            pa.field("counts", pa.list_(pa.struct(count)), nullable=False),
            pa.field("evidence", pa.list_(pa.struct(evidence)), nullable=False),
            pa.field("title", pa.string()),
            pa.field("text", pa.string()),
            pa.field("entities", pa.list_(pa.binary())),
        ]
    )


def part_bytes(documents: Iterable[StoredDocument]) -> pa.Buffer:
    """A part as Parquet, in memory: a full disk is then met by plain writing."""
    import pyarrow as pa
    from pyarrow import parquet

    rows = [
        {
            "id": each.id,
            "date": each.date,
            "skipped": each.skipped,
            "counts": [count._asdict() for count in each.counts],
            "evidence": [evidence._asdict() for evidence in each.evidence],
            "title": each.title,
            "text": each.text,
            "entities": None if each.entities is None else list(each.entities),
        }
        for each in documents
    ]
    sink = pa.BufferOutputStream()
    table = pa.Table.from_pylist(rows, schema())
    parquet.write_table(table, sink, compression="zstd", write_page_checksum=True)
    return sink.getvalue()


def part_digest(content: bytes | pa.Buffer) -> str:
    """Return the digest by which a manifest knows a part."""
    return blake2b(content, digest_size=32).hexdigest()


def sound_parts(folder: Path, manifest: Manifest) -> tuple[list[Path], dict[Path, FormatError]]:
    """Return the parts that are as the manifest describes them, and an error for each other part."""
    again = "run `calibrant events run` again: its documents are then done again"
    sound: list[Path] = []
    problems: dict[Path, FormatError] = {}

    def refuse(file: Path, message: str, hint: str = again, code: str = "file-truncated") -> None:
        problems[file] = FormatError(message, hint, code=code, file=os.fspath(file))

    owner = {digest: name for name, digest in manifest.parts.items()}
    names = sorted(manifest.parts)
    for name in names:
        file = folder / DOCUMENTS / name
        try:
            digest = part_digest(file.read_bytes())
        except FileNotFoundError:
            if manifest.finished or name != names[-1]:
                refuse(file, "the part is missing", code="file-missing")
        except OSError as error:
            refuse(file, f"the part cannot be read ({error.strerror})")
        else:
            if digest == manifest.parts[name]:
                sound.append(file)
            elif digest in owner:
                refuse(file, f"the part has the content of {owner[digest]}")
            else:
                refuse(file, "the part is cut short or damaged, or was changed (its digest differs)")
    for file in sorted((folder / DOCUMENTS).glob(PATTERN)):
        if file.name not in manifest.parts:
            copied = owner.get(part_digest(file.read_bytes())) if file.is_file() else None
            message = "the manifest does not name this part, and its documents are not counted"
            message = message if copied is None else f"this is a copy of {copied}, and is not counted"
            refuse(file, message, "move the file out of the store", "duplicate")
    return sound, problems


def read_part(file: Path, samples: int, columns: Sequence[str] | None = None) -> pa.Table:
    """Read columns of a part of so many samples a document; raise if it is damaged."""
    import pyarrow as pa

    names = schema().names if columns is None else list(columns)
    try:
        found = parquet_file(file, page_checksum_verification=True).read(columns=names)
        if ENTITIES in names and ENTITIES not in found.column_names:  # a part of an earlier version
            unknown = pa.nulls(len(found), pa.list_(pa.binary()))
            found = found.append_column(schema().field(ENTITIES), [unknown])
            found = found.select(names)
        table = found.cast(pa.schema([schema().field(name) for name in names]))
        table.validate(full=True)  # texts are UTF-8
        problem = _part_problem(table, samples)
        if problem is not None:
            raise ValueError(problem)
        return table
    except (OSError, pa.ArrowException, KeyError, ValueError) as error:
        message = f"the part is cut short or damaged ({first_line(error)})"
        hint = "run `calibrant events run` again: its documents are then done again"
        raise FormatError(message, hint, code="file-truncated", file=str(file)) from error


def _part_problem(table: pa.Table, samples: int) -> str | None:
    """Say what no writer writes: nulls in lists, days that no calendar has, samples of another length."""
    import pyarrow.compute as pc

    flat = {name: table[name].combine_chunks().flatten() for name in LISTS if name in table.column_names}
    for name, rows in flat.items():
        fields = rows.flatten()  # where a row is null, its fields are
        if any(each.null_count for each in fields):
            return f"{name} has an empty field"
        share = rows.field("probability")
        if not pc.all(pc.and_(pc.greater_equal(share, 0), pc.less_equal(share, 1)), min_count=0).as_py():
            return f"{name} has a probability outside 0 to 1"
    if "counts" in flat:
        size, sizes = -(-samples // 8), pc.binary_length(flat["counts"].field("samples"))
        if not pc.all(pc.equal(sizes, size), min_count=0).as_py():
            return f"samples are not of {size} bytes"
    if ENTITIES in table.column_names and (problem := _entities_problem(table, samples)) is not None:
        return problem
    if "date" in table.column_names and len(table):
        day = pc.min_max(table["date"].cast("int32"))
        if not FIRST_DAY <= day["min"].as_py() <= day["max"].as_py() <= LAST_DAY:
            return "a date is outside the years 1 to 9999"
    return None


def _entities_problem(table: pa.Table, samples: int) -> str | None:
    """Say which numbers of entities no writer writes; those of earlier versions are null."""
    import pyarrow.compute as pc

    numbers = table[ENTITIES].combine_chunks()
    sizes = pc.fill_null(pc.binary_length(numbers.flatten()), -1)
    if not pc.all(pc.equal(sizes, samples + 1), min_count=0).as_py():
        return f"numbers of entities are not of {samples + 1} bytes"
    if "counts" in table.column_names:
        lengths = (pc.list_value_length(each) for each in (numbers, table["counts"].combine_chunks()))
        if not pc.all(pc.equal(*lengths), min_count=0).as_py():
            return "numbers of entities are not those of the countries"
    return None


def documents_of(table: pa.Table) -> list[StoredDocument]:
    """Rows of a part as records."""
    return [
        StoredDocument(
            row["id"],
            row["date"],
            row["skipped"],
            tuple(StoredCount(**count) for count in row["counts"]),
            tuple(StoredEvidence(**evidence) for evidence in row["evidence"]),
            row["title"],
            row["text"],
            None if row["entities"] is None else tuple(row["entities"]),
        )
        for row in table.to_pylist()
    ]


def document_digest(document: StoredDocument) -> int:
    """A number of 256 bits for all that is stored of a document."""
    values = [
        document.id,
        document.date.isoformat(),
        document.skipped,
        [[*count[:3], count.samples.hex()] for count in document.counts],
        document.evidence,
        document.title,
        document.text,
    ]
    if document.entities is not None:
        values.append([each.hex() for each in document.entities])
    return int.from_bytes(blake2b(canonical(values), digest_size=32).digest(), "big")
