"""Lists of verbs from files."""

from __future__ import annotations

import os

from calibrant.exceptions import InputError
from calibrant.io.text import open_lines


def read_verbs(path: str | os.PathLike[str]) -> tuple[str, ...]:
    r"""Read lemmas in lower case, one per line; blank lines and comments after ``#`` are ignored.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "verbs.txt")
    ...     _ = file.write_text("attack\ninvade  # by land\n")
    ...     read_verbs(file)
    ('attack', 'invade')
    """
    verbs = []
    with open_lines(path) as (name, lines):
        for number, line in enumerate(lines, 1):
            words = line.partition("#")[0].split()
            if len(words) > 1 or any(word != word.lower() for word in words):
                message = f"{' '.join(words)!r:.40} is not a valid verb"
                hint = "write one lemma per line, in lower case"
                raise InputError(message, hint, code="file-row", file=name, line=number)
            verbs += words
        if not verbs:
            raise InputError("the file has no verbs", "write one lemma per line", code="empty", file=name)
    return tuple(dict.fromkeys(verbs))
