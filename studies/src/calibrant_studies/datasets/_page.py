"""Page beside a data set: description, terms, and the source of each file."""

from __future__ import annotations

from calibrant_studies.datasets._catalogue import DataFile, DataSet


def page(about: DataSet) -> str:
    """Word the README of a data set that was fetched.

    Examples
    --------
    >>> from calibrant_studies.datasets import data_set
    >>> print(page(data_set("conll2000")).splitlines()[0])
    # Wall Street Journal texts of the CoNLL-2000 shared task, with predicted tags and gold chunks
    """
    parts = [
        f"# {about.title}",
        f"License: {about.license}.\n\n{about.terms}",
        f"To cite: {about.reference}",
        f"Written by `calibrant data fetch {about.name}`, of files of public repositories at fixed commits:",
        *(_file(file) for file in about.files),
    ]
    return "\n\n".join(parts) + "\n"


def _file(file: DataFile) -> str:
    # From many originals of one place, the first says enough.
    shown = file.originals if len(file.originals) < 4 else file.originals[:1]
    sources = [
        f"  - https://github.com/{each.repository}/blob/{each.commit}/{each.path} ({each.digest})"
        for each in shown
    ]
    if len(shown) < len(file.originals):
        sources.append(f"  - and {len(file.originals) - 1} more beside it")
    return "\n".join([f"- `{file.name}`, uncompressed {file.content}", *sources])
