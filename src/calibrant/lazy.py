"""Import names of packages, and optional libraries, on first use."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any


def lazily(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package.

    The names are those that its ``__init__.py`` imports under ``if TYPE_CHECKING:``, so that they are
    written once, where type checkers read them too. A name must not be that of a module of the package,
    which would hide it.
    """
    home: dict[str, str] = {}

    def load(name: str) -> Any:
        module = sys.modules[package]
        if not home:
            home.update(_names(Path(str(module.__file__))))
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        submodule = home[name] == package
        value = import_module(f"{package}.{name}") if submodule else getattr(import_module(home[name]), name)
        setattr(module, name, value)
        return value

    def names() -> list[str]:
        module = sys.modules[package]
        return sorted({*vars(module), *module.__all__})

    return load, names


def from_extra(module: str, need: str, extra: str) -> Any:
    """Import a module of a library that an extra of calibrant installs.

    Raises
    ------
    MissingExtraError
        If the library is not there; ``need`` says what needs what.
    """
    try:
        return import_module(module)
    except ImportError as error:
        from calibrant.exceptions import MissingExtraError
        from calibrant.parts import installing

        raise MissingExtraError(need, installing(extra)) from error


def _names(file: Path) -> Iterator[tuple[str, str]]:
    """Each name that a file imports under ``if TYPE_CHECKING:``, and the module that it comes from."""
    import ast

    for branch in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(branch, ast.If) and ast.unparse(branch.test) == "TYPE_CHECKING":
            for node in branch.body:
                if isinstance(node, ast.ImportFrom) and node.module is not None:
                    yield from ((alias.name, node.module) for alias in node.names)
