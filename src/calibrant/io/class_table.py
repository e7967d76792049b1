"""Small text files that say something of each class: its group, its count."""

from __future__ import annotations

import os

from calibrant.exceptions import InputError
from calibrant.io.text import read_lines


def read_class_table(path: str | os.PathLike[str]) -> dict[str, str]:
    r"""Read a text of lines with a class, a tab, and what belongs to it; empty lines are skipped.

    Raises
    ------
    InputError
        If there is no such file, a line does not have two parts, or a class is in two lines.
    FormatError
        The file is not UTF-8.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "groups.tsv").write_text("NN\topen\nDT\tclosed\n")
    ...     read_class_table(f"{folder}/groups.tsv")
    {'NN': 'open', 'DT': 'closed'}
    """
    name, lines = read_lines(path)
    found: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        parts = [part.strip() for part in line.split("\t")]
        if len(parts) != 2 or not all(parts):
            hint = "write a name, a tab, and its group or count"
            raise InputError(
                f"{line[:60]!r} does not have two parts", hint, code="file-row", file=name, line=number
            )
        if parts[0] in found:
            message = f"{parts[0]!r} is in two lines"
            raise InputError(message, "name each once", code="file-row", file=name, line=number)
        found[parts[0]] = parts[1]
    if not found:
        raise InputError("the file is empty", "write one line per class", code="empty", file=name)
    return found
