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
