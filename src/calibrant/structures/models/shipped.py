"""Trained models that come with the package."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent / "shipped"
ENDING = ".model"


def shipped_models() -> dict[str, Path]:
    """Files of the trained models in the package, by name.

    Examples
    --------
    >>> all(path.suffix == ".model" for path in shipped_models().values())
    True
    """
    return {path.name.removesuffix(ENDING): path for path in sorted(FOLDER.glob(f"*{ENDING}"))}


def is_shipped(model: str) -> bool:
    """Whether a model is one of the package: its name is one of theirs, and no file has that name.

    Examples
    --------
    >>> is_shipped("litbank"), is_shipped("my.model")
    (True, False)
    """
    return model in shipped_models() and not Path(model).exists()
