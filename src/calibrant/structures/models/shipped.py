"""Trained models included in the package."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent / "shipped"
ENDING = ".model"


def shipped_models() -> dict[str, Path]:
    """Return the files of the included models by name.

    Examples
    --------
    >>> all(path.suffix == ".model" for path in shipped_models().values())
    True
    """
    return {path.name.removesuffix(ENDING): path for path in sorted(FOLDER.glob(f"*{ENDING}"))}


def is_shipped(model: str) -> bool:
    """Return True if a name is that of an included model, and no file has this name.

    Examples
    --------
    >>> is_shipped("litbank"), is_shipped("my.model")
    (True, False)
    """
    return model in shipped_models() and not Path(model).exists()
