"""The papers' experiments: each a function from data to a record, "paper" beside "here".

`run` runs a study by name, `figures` draws its record, `write` saves both and fills the study's page.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from calibrant.exceptions import InputError
from calibrant.lazy import lazily

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from calibrant_studies._base import Finding, Study, fill
else:
    __getattr__, __dir__ = lazily(__name__)

__all__ = ["NAMES", "Finding", "Study", "figures", "fill", "run", "write"]

NAMES = (
    "agreement",
    "coreference",
    "counts",
    "coverage",
    "decisions",
    "events",
    "hacking",
    "judges",
    "monitoring",
    "networks",
    "protocol",
    "sentiment",
    "significance",
    "sparse",
    "synthetic",
    "tagging",
    "thresholds",
    "trees",
)


def run(name: str, *, data: Path | None = None, seed: int | None = None, **options: Any) -> Study:
    """Run a study.

    Parameters
    ----------
    name
        One of `NAMES`.
    data
        Folder of real data. None: what ships with the package.
    seed
        None: the study's own, fixed seed.
    options
        Parameters that this study alone has, such as ``cells`` of coverage or ``ontonotes`` of coreference.

    Returns
    -------
    Study

    Raises
    ------
    InputError
        If there is no such study, or the folder lacks a file.

    Examples
    --------
    >>> run("sentimental")
    Traceback (most recent call last):
    calibrant.exceptions.InputError: there is no study 'sentimental': the studies are agreement, ...
    """
    module = _module(name)
    found: Study = module.run(data=data, seed=module.SEED if seed is None else seed, **options)
    return found


def figures(study: Study) -> dict[str, Figure]:
    """Draw the figures of a study's record.

    Parameters
    ----------
    study
        As `run` returns it.

    Returns
    -------
    dict of str to matplotlib.figure.Figure
        By name.

    Examples
    --------
    >>> sorted(figures(run("sentiment")))
    ['curves-100k', 'curves-dated', 'sizes']
    """
    drawn: dict[str, Figure] = _module(study.name.partition("-")[0]).figures(study)
    return drawn


def write(study: Study, folder: Path) -> list[Path]:
    """Save a study's record as ``NAME.json`` and its figures beside it, and fill the tables of ``NAME.md``.

    Parameters
    ----------
    study
        As `run` returns it.
    folder
        An existing folder. A page ``NAME.md`` in it keeps its prose; see `fill`.

    Returns
    -------
    list of Path
        The files written.

    Raises
    ------
    InputError
        If the folder does not exist or cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = write(run("sentiment"), Path(folder))
    >>> written[0].name
    'sentiment.json'
    """
    from calibrant_studies._base import save

    return save(study, figures(study), folder)


def _module(name: str) -> ModuleType:
    if name not in NAMES:
        raise InputError(
            f"there is no study {name!r}", f"the studies are {', '.join(NAMES)}", code="parameter"
        )
    return import_module(f"calibrant_studies.{name}")
