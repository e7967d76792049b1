"""From the files that a source publishes to the files that the studies read.

Each function takes the originals, in the order of the data set's file, and that file's options, and
returns the content of the file. ``LAYOUTS`` names them.
"""

from __future__ import annotations

import io
import re
import tarfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from calibrant_studies.datasets._judges import annotated, judged, preferred
from calibrant_studies.datasets._nli import chaos, logits
from calibrant_studies.datasets._reuters import stories

LEAF = re.compile(r"\((?P<tag>[^\s()]+) (?P<token>[^\s()]+)\)|[()]")
TRACE = "-NONE-"


def joined(paths: Sequence[Path]) -> bytes:
    """One after the other, as they are."""
    return b"".join(path.read_bytes() for path in paths)


def lines(paths: Sequence[Path]) -> bytes:
    """One after the other, a line end after each."""
    return b"".join(path.read_bytes() + b"\n" for path in paths)


def member(paths: Sequence[Path], *, member: str) -> bytes:
    """A file out of a zip archive, or of a tar archive that gzip has packed."""
    content = io.BytesIO(joined(paths))
    if zipfile.is_zipfile(content):
        with zipfile.ZipFile(content) as archive:
            return archive.read(member)
    content.seek(0)
    with tarfile.open(fileobj=content, mode="r:gz") as packed:
        found = packed.extractfile(member)
        assert found is not None, member
        return found.read()


def tagged(paths: Sequence[Path], *, first: int, last: int) -> bytes:
    """Tagged tokens of articles of NLTK's treebank sample, without traces; a blank line after a sentence."""
    with zipfile.ZipFile(io.BytesIO(joined(paths))) as archive:
        trees = [
            archive.read(f"treebank/combined/wsj_{number:04}.mrg").decode("ascii")
            for number in range(first, last + 1)
        ]
    return "".join(_leaves(text) for text in trees).encode("ascii")


def _leaves(text: str) -> str:
    found: list[str] = []
    depth = 0
    for match in LEAF.finditer(text):
        if match["tag"] is None:
            depth += 1 if match[0] == "(" else -1
            if depth == 0 and found and found[-1] != "\n":
                found.append("\n")
        elif match["tag"] != TRACE:
            found.append(f"{match['token']}\t{match['tag']}\n")
    return "".join(found)


def folds(paths: Sequence[Path]) -> bytes:
    """LitBank's documents with the fold in whose test set each is; an original lists one fold's names."""
    fold = {
        Path(name).stem: number
        for number, path in enumerate(paths)
        for name in path.read_text(encoding="utf-8").split()
    }
    return "".join(["document\ttest_fold\n", *(f"{name}\t{fold[name]}\n" for name in sorted(fold))]).encode()


def reuters(paths: Sequence[Path]) -> bytes:
    """Stories of Reuters-21578, a line of JSON each."""
    return stories(joined(paths))


def answers(paths: Sequence[Path], *, names: Sequence[str]) -> bytes:
    """Gold labels and answers of models, without the markers around answers; an original per model."""
    found = ["item\tmodel\tgold\tlabel\n"]
    for name, path in zip(names, paths, strict=True):
        for line in path.read_text(encoding="utf-8").splitlines():
            item, gold, label = line.split("\t")
            found.append(f"{item}\t{name}\t{gold}\t{label.strip('& ')}\n")
    return "".join(found).encode()


LAYOUTS: Mapping[str, Callable[..., bytes]] = {
    function.__name__: function
    for function in (
        *(joined, lines, member, tagged, folds, reuters),
        *(logits, chaos, answers, judged, annotated, preferred),
    )
}
