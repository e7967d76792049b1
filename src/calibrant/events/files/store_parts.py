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
ENTITIES, EVIDENCE, ARCS = "entities", "evidence", "arcs"
LIGHT = ("id", "date", "counts")
LISTS = ("counts", EVIDENCE)
LATER = (ENTITIES, "source")  # columns that parts of earlier versions lack
MOST_ENTITIES = 255
MOST_SAMPLES = 2**31 - 1
FIRST_DAY, LAST_DAY = ((day - date(1970, 1, 1)).days for day in (date.min, date.max))


class StoredCount(NamedTuple):
    """Counts of a document for one country.

    Attributes
    ----------
    country
        Code of the country.
    probability
        Proportion of samples in which the document counts.
    best
        True if the document counts with the most probable antecedents (the 1-best structure).
    samples
        One bit per sample, the first in the lowest bit of the first byte, for ``numpy.unpackbits(...,
        bitorder="little")``.
    """

    country: str
    probability: float
    best: bool
    samples: bytes


class StoredArc(NamedTuple):
    """An arc of a dependency tree between two words of a sentence, with its label.

    Attributes
    ----------
    word, relation, head
        The dependent, the label of the arc, and the head.
    probability
        Probability of the arc with its label under the parser.
    """

    word: str
    relation: str
    head: str
    probability: float


class StoredEvidence(NamedTuple):
    """Mentions of a country and of an agent that may corefer.

    Attributes
    ----------
    country
        Code of the country.
    verb
        Lemma of the agent's verb.
    probability
        Proportion of samples in which the two mentions corefer.
    mention_sentence, mention_from, mention_to
        Sentence of the mention of the country, from 0, and its characters
        ``text[mention_from:mention_to]``.
    agent_sentence, agent_from, agent_to
        Sentence and characters of the agent, which may be the same mention.
    arcs
        Arcs between the verb and its agent or target, or both for pairs of countries, from the participant up
        to the verb. Empty if the parser gives no probabilities.
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
    arcs: tuple[StoredArc, ...] = ()


def stored_evidence(row: Mapping[str, Any]) -> StoredEvidence:
    """Return a pair of mentions from a row of the column ``evidence``; earlier versions wrote no arcs."""
    return StoredEvidence(**{**row, "arcs": tuple(StoredArc(**arc) for arc in row.get("arcs") or ())})


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """Stored values of one document.

    Attributes
    ----------
    id
        Id, unique in the store.
    date
        Day of the document.
    skipped
        True if the document was not parsed, because it has no name or no verb of the rules and cannot count.
    counts
        Countries for which it counts in some sample or in the 1-best structure, sorted by code.
    evidence
        Most probable pairs of mentions of each country, the most probable first.
    title, text
        None unless the store contains texts and the document counts for some country. The text of a CoNLL-U
        document is its words separated by blanks, with one sentence per line.
    entities
        For each of ``counts``, one byte per sample and one for the 1-best structure: the number of entities
        that count, at most 255. None if unknown, as in stores that earlier versions wrote.
    source
        Digest of the document as it was read, from `source_of`; None if unknown.
    """

    id: str
    date: date
    skipped: bool = False
    counts: Sequence[StoredCount] = ()
    evidence: Sequence[StoredEvidence] = ()
    title: str | None = None
    text: str | None = None
    entities: Sequence[bytes] | None = None
    source: bytes | None = None


class Manifest(Struct, frozen=True, tag_field="kind", tag="calibrant events"):
    """Manifest of a store: settings, sources and parts.

    Attributes
    ----------
    settings
        Settings that determine the content; runs with other settings are refused. Models, lexicons and
        parsers are given by digests of their contents.
    sources
        Display names of models, lexicons and parsers.
    finished
        True if the last run finished.
    parts
        BLAKE2b digest of each part, by file name. Other files are not read. While the store is unfinished,
        the last part may be missing, since it is listed before it is written.
    version
        Version of the format.
    calibrant
        Version of calibrant that created the store.
    """

    settings: Mapping[str, Any]
    sources: Mapping[str, str]
    finished: bool
    version: Version
    calibrant: str
    parts: Mapping[PartName, Digest]

    @property
    def digest(self) -> str:
        """Return the digest of the settings."""
        return self.digest_of(self.settings)

    @staticmethod
    def digest_of(settings: Mapping[str, Any]) -> str:
        """Return the digest of settings, by which a store compares them."""
        return blake2b(canonical(settings), digest_size=16).hexdigest()


class _Needed(Struct, frozen=True):
    """Settings required to read a store."""

    samples: Annotated[int, Meta(ge=1, le=MOST_SAMPLES)]
    with_text: bool


ENVELOPE = Envelope(
    Manifest,
    version=2,
    name="manifest of a store of events",
    make="give a folder written by `calibrant events run`",
    again="write the store again in a new folder with `calibrant events run`",
    key="version",
    oldest=2,
)


def first_line(error: Exception) -> str:
    """Return the first line of an error's message."""
    return next(iter(str(error).splitlines()), type(error).__name__)[:80]


def canonical(value: Any) -> bytes:
    """Return a canonical JSON encoding of a value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def read_manifest(folder: Path) -> Manifest | None:
    """Return the manifest of a store, or None if there is no manifest."""
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
    """Raise `ValueError` if settings lack a value that is required to read a store."""
    decoded(dict(settings), _Needed, at)


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest atomically."""
    values = {**msgspec.to_builtins(manifest), "settings_digest": manifest.digest}
    with writing(folder / MANIFEST) as file:
        file.write(json.dumps(values, indent=2, ensure_ascii=False).encode() + b"\n")


def schema() -> pa.Schema:
    """Return the columns of a part."""
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
    arc = [("word", pa.string()), ("relation", pa.string()), ("head", pa.string())]
    arcs = pa.list_(pa.struct([*arc, ("probability", pa.float64())]))
    evidence = [
        ("country", pa.string()),
        ("verb", pa.string()),
        ("probability", pa.float64()),
        *place,
        (ARCS, arcs),
    ]
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
            pa.field("source", pa.binary()),
        ]
    )


def part_bytes(documents: Iterable[StoredDocument]) -> pa.Buffer:
    """Return a part as Parquet in memory, so that a full disk raises a plain writing error."""
    import pyarrow as pa
    from pyarrow import parquet

    rows = [
        {
            "id": document.id,
            "date": document.date,
            "skipped": document.skipped,
            "counts": [count._asdict() for count in document.counts],
            "evidence": [
                evidence._asdict() | {ARCS: [arc._asdict() for arc in evidence.arcs]}
                for evidence in document.evidence
            ],
            "title": document.title,
            "text": document.text,
            "entities": None if document.entities is None else list(document.entities),
            "source": document.source,
        }
        for document in documents
    ]
    sink = pa.BufferOutputStream()
    table = pa.Table.from_pylist(rows, schema())
    parquet.write_table(table, sink, compression="zstd", write_page_checksum=True)
    return sink.getvalue()


def part_digest(content: bytes | pa.Buffer) -> str:
    """Return the digest of a part in the manifest."""
    return blake2b(content, digest_size=32).hexdigest()


def sound_parts(folder: Path, manifest: Manifest) -> tuple[list[Path], dict[Path, FormatError]]:
    """Return the parts that match the manifest, and one error per other part."""
    again = "run `calibrant events run` again to replace its documents"
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
                refuse(file, "the part is truncated, damaged or changed (its digest differs)")
    for file in sorted((folder / DOCUMENTS).glob(PATTERN)):
        if file.name not in manifest.parts:
            copied = owner.get(part_digest(file.read_bytes())) if file.is_file() else None
            message = "the manifest does not list this part, so its documents are not counted"
            message = message if copied is None else f"this is a copy of {copied}, so it is not counted"
            refuse(file, message, "move the file out of the store", "duplicate")
    return sound, problems


def read_part(file: Path, samples: int, columns: Sequence[str] | None = None) -> pa.Table:
    """Return columns of a part with ``samples`` samples per document; damage raises an error."""
    import pyarrow as pa

    names = schema().names if columns is None else list(columns)
    try:
        stored = parquet_file(file, page_checksum_verification=True).read(columns=names)
        for name in LATER:
            if name in names and name not in stored.column_names:
                field = schema().field(name)
                stored = stored.append_column(field, [pa.nulls(len(stored), field.type)])
        stored = stored.select(names)
        if EVIDENCE in names and _lacks_arcs(stored.schema.field(EVIDENCE).type):
            place = names.index(EVIDENCE)
            stored = stored.set_column(place, EVIDENCE, _without_arcs(stored[EVIDENCE].combine_chunks()))
        table = stored.cast(pa.schema([schema().field(name) for name in names]))
        table.validate(full=True)  # texts are UTF-8
        problem = _part_problem(table, samples)
        if problem is not None:
            raise ValueError(problem)
        return table
    except (OSError, pa.ArrowException, KeyError, ValueError) as error:
        message = f"the part is truncated or damaged ({first_line(error)})"
        hint = "run `calibrant events run` again to replace its documents"
        raise FormatError(message, hint, code="file-truncated", file=str(file)) from error


def _lacks_arcs(kind: pa.DataType) -> bool:
    import pyarrow as pa

    is_list = pa.types.is_list(kind) and pa.types.is_struct(kind.value_type)
    return bool(is_list and kind.value_type.get_field_index(ARCS) < 0)


def _without_arcs(evidence: pa.ListArray) -> pa.ListArray:
    """Return pairs of mentions with an empty list of arcs each, for parts of earlier versions."""
    import pyarrow as pa
    import pyarrow.compute as pc

    pairs = evidence.flatten()
    arcs = pa.array([[]] * len(pairs), schema().field(EVIDENCE).type.value_type.field(ARCS).type)
    names = [field.name for field in pairs.type]
    extended = pa.StructArray.from_arrays([*map(pairs.field, names), arcs], [*names, ARCS])
    return pa.ListArray.from_arrays(pc.subtract(evidence.offsets, evidence.offsets[0]), extended)


def _part_problem(table: pa.Table, samples: int) -> str | None:
    """Return a problem that no writer causes: nulls in lists, impossible days, samples of another length."""
    import pyarrow.compute as pc

    flat = {name: table[name].combine_chunks().flatten() for name in LISTS if name in table.column_names}
    if EVIDENCE in flat:
        flat[ARCS] = flat[EVIDENCE].field(ARCS).flatten()
    for name, rows in flat.items():
        fields = rows.flatten()  # the fields of a null row are null
        if any(field.null_count for field in fields):
            return f"{name} has an empty field"
        share = rows.field("probability")
        if not pc.all(pc.and_(pc.greater_equal(share, 0), pc.less_equal(share, 1)), min_count=0).as_py():
            return f"{name} has a probability outside 0 to 1"
    if "counts" in flat:
        size, sizes = -(-samples // 8), pc.binary_length(flat["counts"].field("samples"))
        if not pc.all(pc.equal(sizes, size), min_count=0).as_py():
            return f"samples do not have {size} bytes"
    if ENTITIES in table.column_names and (problem := _entities_problem(table, samples)) is not None:
        return problem
    if "date" in table.column_names and len(table):
        day = pc.min_max(table["date"].cast("int32"))
        if not FIRST_DAY <= day["min"].as_py() <= day["max"].as_py() <= LAST_DAY:
            return "a date is outside the years 1 to 9999"
    return None


def _entities_problem(table: pa.Table, samples: int) -> str | None:
    """Return a problem of numbers of entities that no writer causes; earlier versions wrote nulls."""
    import pyarrow.compute as pc

    numbers = table[ENTITIES].combine_chunks()
    sizes = pc.fill_null(pc.binary_length(numbers.flatten()), -1)
    if not pc.all(pc.equal(sizes, samples + 1), min_count=0).as_py():
        return f"numbers of entities do not have {samples + 1} bytes"
    if "counts" in table.column_names:
        lengths = (pc.list_value_length(lists) for lists in (numbers, table["counts"].combine_chunks()))
        if not pc.all(pc.equal(*lengths), min_count=0).as_py():
            return "numbers of entities do not match the countries"
    return None


def documents_of(table: pa.Table) -> list[StoredDocument]:
    """Return the rows of a part as records."""
    return [
        StoredDocument(
            row["id"],
            row["date"],
            row["skipped"],
            tuple(StoredCount(**count) for count in row["counts"]),
            tuple(map(stored_evidence, row["evidence"])),
            row["title"],
            row["text"],
            None if row["entities"] is None else tuple(row["entities"]),
            row["source"],
        )
        for row in table.to_pylist()
    ]


def document_digest(document: StoredDocument) -> int:
    """Return a 256-bit number for the stored results of a document."""
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
        values.append([packed.hex() for packed in document.entities])
    return int.from_bytes(blake2b(canonical(values), digest_size=32).digest(), "big")
