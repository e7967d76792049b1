"""The readers that are fuzzed: what reads a file, which name it gets, and what it begins with."""

from __future__ import annotations

import io
import shutil
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import seeds

from calibrant import estimation, evaluation, events, structures
from calibrant import io as files
from calibrant.evaluation.files.protocol_file import Reference, read_protocol_file
from calibrant.evaluation.files.protocol_tables import read_item_labels
from calibrant.events.files.dated import layout_note
from calibrant.events.files.dated_pieces import Unread, iter_unread
from calibrant.events.files.layout import Layout
from calibrant.exceptions import CalibrantError
from calibrant.io.log_scores import read_log_scores
from calibrant.structures.files.coreference import read_folds

Read = Callable[[Path], Any]
LARGEST = 65_536  # bytes of a folder's members
# Errors of the library for a broken zip file.
BROKEN = (zipfile.BadZipFile, zlib.error, ValueError, OSError, EOFError, RuntimeError, NotImplementedError)
ENTITY_TAGS = ("O", "B-person", "I-person", "B-group", "I-group")


@dataclass(frozen=True)
class Target:
    """A reader, or readers of one kind of file.

    Attributes
    ----------
    title
        For the log.
    read
        Functions of a path; each may raise a `CalibrantError` and nothing else.
    seeds
        Sound files.
    suffix
        Ending of the file's name, by its content.
    folders
        True if a zip file with one of these members represents a folder with them.
    also
        Modules of other libraries whose branches guide the search too.
    longest
        Bytes of an input.
    """

    title: str
    read: tuple[Read, ...]
    seeds: Callable[[], Iterator[bytes]]
    suffix: Callable[[bytes], str]
    folders: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    longest: int = 8_192


def entities(path: Path) -> Any:
    """Read the tags of tokens, of two types."""
    return read_item_labels(Reference(file=path), ENTITY_TAGS)


def named(suffix: str) -> Callable[[bytes], str]:
    """Always the same ending."""
    return lambda data: suffix


def of_arcs(data: bytes) -> str:
    """The ending of scores of arcs, by their first bytes."""
    return ".npz" if data.startswith(b"PK") else ".jsonl"


def of_table(data: bytes) -> str:
    """The ending of a table, by its first bytes."""
    for start, suffix in (
        (b"PAR1", ".parquet"),
        (b"ARROW1", ".arrow"),
        (b"\xff" * 4, ".arrow"),
        (b"PK", ".npz"),
    ):
        if data.startswith(start):
            return suffix
    if data.startswith(b"\x1f\x8b"):
        with suppress(zlib.error):
            return of_table(zlib.decompressobj(31).decompress(data, 512)) + ".gz"
    text = data.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith(b"{"):
        return ".jsonl"
    return ".tsv" if b"\t" in text.split(b"\n", 1)[0] else ".csv"


def of_log(data: bytes) -> str:
    """The ending of a log."""
    if data.startswith(b"PK"):
        return ".eval"
    if data.startswith(b"PAR1"):
        return ".parquet"
    if data.startswith((b"[", b'{"evalId', b'{"testCases')):
        return ".json"
    return ".jsonl" if data.split(b"\n", 1)[0].rstrip().endswith(b"}") else ".json"


def placed(target: Target, data: bytes, folder: Path) -> Path:
    """Write an input where the reader finds it; return the path."""
    if target.folders and data.startswith(b"PK"):
        with (
            suppress(*BROKEN),
            zipfile.ZipFile(io.BytesIO(data)) as archive,
        ):
            if set(target.folders) & set(archive.namelist()):
                return _unpacked(archive, folder / "store")
    path = folder / f"in{target.suffix(data)}"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    return path


def _unpacked(archive: zipfile.ZipFile, folder: Path) -> Path:
    (folder / "documents").mkdir(parents=True, exist_ok=True)
    for member in archive.infolist()[:8]:
        place = Path(member.filename)
        if len(place.parts) <= 2 and not {"..", "/"} & set(place.parts) and "\x00" not in member.filename:
            with suppress(OSError):
                (folder / place).write_bytes(archive.open(member).read(LARGEST))
    return folder


def tagged_text(path: Path) -> None:
    """Return a column of tags; the input decides which."""
    columns: tuple[str | int | None, ...] = (
        (None, 3) if path.suffix == ".txt" else (None, "xpos", "upos+feats", 10)
    )
    column = columns[zlib.crc32(path.read_bytes()) % len(columns)]
    with suppress(CalibrantError):
        structures.read_tagged(path, column=column).clusters("document")
    structures.read_tagged(path, require_tags=False)


def dated(path: Path) -> None:
    """Documents, at once and in pieces."""
    with suppress(CalibrantError):
        events.check_dated(path)
    with suppress(CalibrantError):
        list(events.iter_dated(path))
    for each in iter_unread(path):
        if isinstance(each, Unread):
            with suppress(CalibrantError):
                each.read()


def dated_tables(path: Path) -> None:
    """Documents in the rows of a table, by usual and by named columns, and as text files of a folder."""
    for layout in (Layout(), Layout(text="t", id="i", date="d", date_from="%d.%m.%Y")):
        with suppress(CalibrantError):
            layout_note(path, layout)
        with suppress(CalibrantError):
            list(events.iter_dated(path, layout=layout))
    folder = path.parent / "folder"
    folder.mkdir(exist_ok=True)
    shutil.copy(path, folder / "2001-09-11.txt")
    list(events.iter_dated(folder))


def predictions(path: Path) -> None:
    """A table in each of its forms."""
    for form in (None, "long", "wide"):
        with suppress(CalibrantError):
            found = files.open_predictions(path, files.Columns(form=form))
            found.read(items=found.has_items)


def evaluations(path: Path) -> None:
    """The other tables: ratings, results of systems, labels and scores of documents."""
    for read in (
        evaluation.read_ratings,
        evaluation.read_results,
        partial(estimation.estimate, methods=("ppi",)),
    ):
        with suppress(CalibrantError):
            read(path)


def log(path: Path) -> None:
    """A log in both views, and its scores with and without clusters."""
    if path.suffix == ".parquet":
        path = path.rename(path.with_name("details.parquet"))
    for cluster in (None, "a"):
        with suppress(CalibrantError):
            read_log_scores(path, None, cluster)
    for view in ("options", "top"):
        with suppress(CalibrantError):
            files.open_log(path, view=view).read()
    found = files.open_predictions(path)
    found.read(items=found.has_items)


def model(path: Path) -> None:
    """A model, and what it then says of a text."""
    from calibrant.structures.documents import Document, Mention

    found: Any = structures.load_model(path)
    if hasattr(found, "relations"):
        found.predict([["I", "see"], ["words"]], [["A", "B"], ["C"]])
    elif hasattr(found, "predict"):
        found.predict([["I", "see"], ["Unknown", "words", "too"]])
        found.posterior([["I", "see"], ["words"]])
    else:
        mentions = [Mention(0, 0, 1), Mention(0, 2, 3), Mention(1, 0, 1)]
        sentences = [["Ann", "met", "Eve"], ["She", "left"]]
        found.posterior([Document("d", sentences, mentions)])
        found.posterior([Document("d", sentences, mentions[:1])])


def recalibrator(path: Path) -> None:
    """A map, and what it does to scores."""
    found: Any = files.load_recalibrator(path)
    score = np.array([0.0, 1e-300, 0.25, 0.5, 1.0])
    if found.kind == "binary":
        found.recalibrator.transform(score)
    elif found.kind == "classes":
        found.recalibrator.transform(score, [found.classes[0]] * len(score))
    else:
        found.recalibrator.transform(np.full((3, len(found.classes)), 1 / len(found.classes)))


def tally(path: Path) -> None:
    """Counts, and what is computed from them."""
    from calibrant.verbs import measure

    found = files.load_tally(path)
    found.merge(found)
    measure(path)


def store(path: Path) -> None:
    """Documents, counts and digests of a store."""
    found = events.EventStore(path)
    counts = found.counts()
    for name in counts.names[:3]:
        found.document(name)
    counts.bits()
    found.seen()
    list(found.documents())
    found.digest()


def monitor_state(path: Path) -> None:
    """A monitor, and what it then says of another day."""
    from calibrant.evaluation.verbs.monitoring import opened

    found, _ = opened(str(path))
    found.result().to_tables()
    with suppress(CalibrantError):
        found.update("2999-12-31", [0, 1, 1], [0.0, 0.25, 1.0], clusters=["a", "b", "b"])


def posteriors(path: Path) -> None:
    """Distributions over antecedents."""
    list(structures.read_posteriors(path))


def arc_scores(path: Path) -> None:
    """Scores of arcs of another parser, as log-potentials and as probabilities, and their trees."""
    from calibrant.structures.posterior import DependencyPosterior

    with suppress(CalibrantError):
        structures.read_arc_scores(path, scores="probability", rows="words")
    found = structures.read_arc_scores(path)
    found.in_order(found.names, [len(arcs) for arcs in found.arcs], "text")
    small = [arcs for arcs in found.arcs if len(arcs) < 20]
    if small:
        DependencyPosterior(small).minimum_bayes_risk()


def dependency_trees(path: Path) -> None:
    """Trees, and their lines."""
    with suppress(CalibrantError):
        structures.read_trees(path, require_trees=False, keep_lines=True)
    structures.read_trees(path)


def tensor(path: Path) -> None:
    """A tensor, and the labels and scores that the sparse study makes of one."""
    from calibrant_studies._sparse_authors import labels, read_scores
    from calibrant_studies._tensors import read_tensor

    for read in (
        read_tensor,
        lambda found: labels(found, 3),
        lambda found: read_scores(found, gold(found), 3),
    ):
        with suppress(CalibrantError):
            read(path)


def gold(path: Path) -> Any:
    """Labels for as many tokens as a file has scores; one if it has no scores."""
    from calibrant_studies._tensors import read_tensor

    try:
        return np.zeros(len(read_tensor(path)), np.int64)
    except CalibrantError:
        return np.zeros(1, np.int64)


def published(path: Path) -> None:
    """Tables and tag counts of the sparse study's authors; the input decides which."""
    from calibrant_studies._sparse_authors import read_integers, read_published

    (read_integers if path.suffix == ".json" else read_published)(path)


def ontonotes(path: Path) -> None:
    """A file of CoNLL-2011 or CoNLL-2012 in each split, as documents and as tagged newswire."""
    from calibrant_studies.licensed import ontonotes_documents, ontonotes_newswire

    for split in ("dev", "test"):
        shutil.copy(path, path.with_name(f"{split}.v4_gold_conll"))
    for read in (ontonotes_documents, ontonotes_newswire):
        with suppress(CalibrantError):
            read(path.parent)


def trees(path: Path) -> None:
    """A file of the Penn Treebank, beside sound ones of the other sections."""
    from calibrant_studies.licensed import treebank

    for section in (19, 22):
        path.with_name(f"wsj_{section}01.mrg").write_bytes(next(seeds.treebank()))
    treebank(path.parent)


def news(path: Path) -> None:
    """An article of the New York Times, or an archive of some."""
    from calibrant_studies.licensed import news_articles

    for each in news_articles(path):
        each.line()


LISTS = (read_folds, files.read_class_table, events.read_verbs, events.read_lexicon)
TARGETS: dict[str, Target] = {
    "conllu": Target(
        "CoNLL-U",
        (tagged_text, structures.read_documents, dependency_trees),
        seeds.conllu,
        named(".conllu"),
        also=("conllu",),
    ),
    "tagged": Target("tagged text and lists", (tagged_text, *LISTS), seeds.tagged, named(".txt")),
    "coreference": Target(
        "coreference: columns, trees, JSON lines",
        (structures.read_documents, posteriors),
        seeds.coreference,
        named(".txt"),
    ),
    "arcs": Target("scores of arcs", (arc_scores,), seeds.arcs, of_arcs),
    "text-tables": Target(
        "tables: CSV, TSV, JSON lines, gzip", (predictions, evaluations), seeds.text_tables, of_table
    ),
    "binary-tables": Target(
        "tables: Parquet, Arrow, npz",
        (predictions, evaluations),
        seeds.binary_tables,
        of_table,
        longest=16_384,
    ),
    "logs": Target("logs", (log,), seeds.logs, of_log, folders=("state.json",), longest=65_536),
    "models": Target("saved models", (model,), seeds.models, named(".model")),
    "recalibrators": Target("saved recalibrators", (recalibrator,), seeds.recalibrators, named(".json")),
    "tallies": Target("saved tallies", (tally,), seeds.tallies, named(".tally.parquet"), longest=16_384),
    "monitors": Target(
        "states of monitors", (monitor_state,), seeds.monitors, named(".json"), longest=16_384
    ),
    "protocol": Target(
        "TOML of `calibrant protocol`",
        (read_protocol_file,),
        seeds.protocols,
        named(".toml"),
        also=("tomllib",),
    ),
    "entities": Target(
        "entities in CoNLL columns", (entities,), seeds.entities, named(".conll"), longest=16_384
    ),
    "documents": Target("dated documents", (dated,), seeds.documents, named("")),
    "document-tables": Target(
        "dated documents in tables and folders", (dated_tables,), seeds.document_tables, of_table
    ),
    "tensors": Target(
        "tensors of PyTorch (studies)",
        (tensor,),
        seeds.tensors,
        named(".pt"),
        also=("calibrant_studies", "pickletools"),
    ),
    "published": Target(
        "published results and tag counts (studies)",
        (published,),
        seeds.published,
        lambda data: ".json" if data.lstrip().startswith(b"{") else ".csv",
        also=("calibrant_studies",),
    ),
    "ontonotes": Target(
        "CoNLL-2011 and CoNLL-2012 (studies)",
        (ontonotes,),
        seeds.ontonotes,
        lambda data: "/train.v4_gold_conll",
        also=("calibrant_studies",),
    ),
    "treebank": Target(
        "Penn Treebank (studies)",
        (trees,),
        seeds.treebank,
        lambda data: "/wsj_0001.mrg",
        also=("calibrant_studies",),
    ),
    "news": Target(
        "New York Times Annotated Corpus (studies)",
        (news,),
        seeds.news,
        lambda data: (
            ".tgz" if data.startswith(b"\x1f\x8b") else ".xml" if data.lstrip()[:1] == b"<" else ".tar"
        ),
        also=("calibrant_studies", "tarfile"),
    ),
    "stores": Target(
        "stores of events", (store,), seeds.stores, named(""), folders=("manifest.json",), longest=16_384
    ),
}
