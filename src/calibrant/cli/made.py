"""Make the options of a command from its verb: names, types, defaults, and help from the docstring.

The verb's source is read instead of imported, since verbs import NumPy and `--help` has to be fast.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import click

from calibrant.cli.group import option_of

Function = TypeVar("Function", bound=Callable[..., Any])
SOURCE = Path(__file__).resolve().parents[2]
SECTION = r"(?ms)^(?:Attributes|Parameters)\n-+\n(.*?)(?=^\n|\Z)"
ENTRY = r"(?m)^\S.*\n(?: .*\n)+"
TYPES = {"str": str, "int": int, "float": float, "bool": bool}
# Parameters of verbs that the command line sets itself, or from several options.
SET = ("progress", "command", "columns", "executor")


@dataclass(frozen=True)
class Definition:
    """Definition of a name: the module that defines it, and the node of its source."""

    module: str
    node: Any


@dataclass(frozen=True)
class Declared:
    """A parameter of a verb: the function that declares it, its name, and its type and default."""

    verb: Definition
    name: str
    kind: ast.expr | None
    default: ast.expr | None


@cache
def _tree(module: str) -> ast.Module:
    path = SOURCE.joinpath(*module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(file.read_text(encoding="utf-8"))


def _find(module: str, name: str) -> Definition | None:
    """Return the definition of a name, which the module may import from another module of calibrant."""
    *inner, name = name.split(".")
    module = ".".join(inner) or module
    top = _tree(module).body
    for each in [*top, *(inside for branch in top if isinstance(branch, ast.If) for inside in branch.body)]:
        if isinstance(each, ast.FunctionDef | ast.ClassDef) and each.name == name:
            return Definition(module, each)
        if isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) == name:
            return Definition(module, each.value)
        if isinstance(each, ast.ImportFrom) and str(each.module).startswith("calibrant"):
            for alias in each.names:
                if alias.name == name:
                    return _find(str(each.module), name)
    return None


def _defined(module: str, name: str) -> Definition:
    found = _find(module, name)
    assert found is not None, f"{module} does not define {name}"
    return found


def _constant(module: str, node: ast.expr | None) -> Any:
    """Return the value of a default: a literal, or a constant of calibrant; None without a default."""
    if node is None:
        return None
    if isinstance(node, ast.Name):
        found = _defined(module, node.id)
        return _constant(found.module, found.node)
    return ast.literal_eval(node)


@cache
def declared(module: str, name: str) -> dict[str, Declared]:
    """Return the parameters of a verb, or the options of a `TypedDict`, by name.

    Examples
    --------
    >>> list(declared("calibrant.verbs.converting", "convert"))
    ['source', 'output', 'to', 'columns', 'progress']
    """
    verb = _defined(module, name)
    node = verb.node
    if isinstance(node, ast.ClassDef):
        return _fields(verb)
    arguments = [*node.args.posonlyargs, *node.args.args]
    missing: list[ast.expr | None] = [None] * (len(arguments) - len(node.args.defaults))
    arguments += node.args.kwonlyargs
    defaults = [*missing, *node.args.defaults, *node.args.kw_defaults]
    found = {
        each.arg: Declared(verb, each.arg, each.annotation, default)
        for each, default in zip(arguments, defaults, strict=True)
    }
    for each in node.decorator_list:  # `takes` adds the options of another function, or of a `TypedDict`
        if isinstance(each, ast.Call) and ast.unparse(each.func) == "takes":
            more = declared(verb.module, ast.unparse(each.args[0]))
            found |= {key: each for key, each in more.items() if key not in found}
    return found


def _fields(options: Definition) -> dict[str, Declared]:
    """Return the options of measuring, with the defaults of the settings as which they are checked."""
    defaults: dict[str, ast.expr | None] = {}
    for name in ("Settings", "Run"):
        body = _defined(options.module, name).node.body
        defaults |= {ast.unparse(each.target): each.value for each in body if isinstance(each, ast.AnnAssign)}
    fields = {ast.unparse(each.target): each for each in options.node.body if isinstance(each, ast.AnnAssign)}
    return {name: Declared(options, name, each.annotation, defaults[name]) for name, each in fields.items()}


def _text(verb: Definition, name: str) -> str:
    """Return the description of a parameter; ``As in `function`.`` stands for that of another function."""
    section = re.search(SECTION, f"{ast.get_docstring(verb.node) or ''}\n")
    for entry in re.findall(ENTRY, section[1] if section else ""):
        header, *lines = entry.splitlines()
        if name in header.split(", "):
            text = " ".join(line.strip() for line in lines)
            reference = re.fullmatch(r"As in `([\w.]+)`\.", text)
            other = _find(verb.module, reference[1]) if reference else None
            return text if other is None else _text(other, name)
    return ""


def _kinds(module: str, node: ast.expr | None) -> Iterator[Any]:
    """Yield what an annotation allows: `str`, a number, `bool`, the choices of a `Literal`, or `list`."""
    if isinstance(node, ast.BinOp):
        yield from _kinds(module, node.left)
        yield from _kinds(module, node.right)
    elif isinstance(node, ast.Subscript) and ast.unparse(node.value) == "Literal":
        values = ast.literal_eval(node.slice)
        yield click.Choice(list(values) if isinstance(values, tuple) else [values])
    elif isinstance(node, ast.Subscript) and ast.unparse(node.value) == "Sequence":
        yield list
        yield from _kinds(module, node.slice)
    elif isinstance(node, ast.Name) and node.id in TYPES:
        yield TYPES[node.id]
    elif isinstance(node, ast.Name) and node.id != "Any":
        found = _find(module, node.id)
        if found is not None and isinstance(found.node, ast.expr):
            yield from _kinds(found.module, found.node)


def help_of(text: str, names: Collection[str], *, repeated: bool = False) -> str:
    """Return a description as the help of an option: names of parameters become options.

    A last sentence that begins with ``None:`` becomes the default. ``repeated``: the option may be repeated.

    Examples
    --------
    >>> help_of("Smallest score, with ``exact`` and `n_bins`. None: 0.", {"n_bins"})
    'Smallest score, with exact and --n-bins.  [default: 0]'
    """
    text = re.sub(r" \(`[\w.]+`\)", "", text)  # references to Python
    text = re.sub(r'``"?(.*?)"?``', r"\1", text)
    text = re.sub(r"`(\w+)`", lambda found: option_of(found[1]) if found[1] in names else found[0], text)
    said, none, default = text.partition(" None: ")
    said += " May be repeated." if repeated else ""
    return f"{said}  [default: {default.removesuffix('.')}]" if none else said


@dataclass(frozen=True)
class Options:
    """Options of a command, as `options_of` takes them."""

    verb: str
    names: tuple[str, ...]
    leave: tuple[str, ...]
    given: dict[str, Any]

    def __call__(self) -> list[click.Parameter]:
        """Make the options."""
        module, _, name = self.verb.partition(":")
        found = declared(module, name)
        chosen = self.names or [each for each in found if each not in (*self.leave, *SET)]
        return [self._option(found[each], found) for each in chosen]

    def _option(self, each: Declared, names: Collection[str]) -> click.Option:
        kinds, option = list(_kinds(each.verb.module, each.kind)), option_of(each.name)
        default = _constant(each.verb.module, each.default)
        text = help_of(_text(each.verb, each.name), names, repeated=list in kinds)
        settings: dict[str, Any] = {"help": text, "required": each.default is None}
        settings |= {} if default is None else {"default": default}
        if bool in kinds:
            spelled = f"{option}/{option_of(f'no_{each.name}')}" if default else option
            return click.Option([spelled, each.name], is_flag=True, **settings)
        if list in kinds:
            settings |= {
                "multiple": True,
                "callback": lambda context, option, value: list(value or ()) or None,
            }
        choice = next((kind for kind in kinds if isinstance(kind, click.Choice)), None)
        number = next((kind for kind in kinds if kind in (int, float)), str)
        settings["type"] = choice or (str if str in kinds else number)
        given = self.given.get(each.name)
        if given is not None:
            settings["metavar" if isinstance(given, str) else "type"] = given
        return click.Option([option, each.name], **settings)


def options_of(
    verb: str, *names: str, leave: Collection[str] = (), **given: Any
) -> Callable[[Function], Function]:
    """Add options to a `Command`, each made from the parameter of a verb.

    Parameters
    ----------
    verb
        Module and name, such as ``calibrant.verbs.planning:plan``.
    *names
        Parameters; all by default, except for those that the command line sets itself.
    leave
        Parameters that are no options, such as those that are arguments.
    **given
        By parameter: a type of click that is narrower than the verb's, or the name of the value in the help.
    """

    def decorated(function: Function) -> Function:
        options = Options(verb, names, tuple(leave), given)
        vars(function).setdefault("__click_params__", []).append(options)
        return function

    return decorated


class Command(click.Command):
    """A command whose options are made when they are needed, but not for the list of commands."""

    @property
    def params(self) -> list[click.Parameter]:
        """Return the arguments and options."""
        found = [each() if isinstance(each, Options) else [each] for each in self._params]
        self._params: list[Any] = [option for options in found for option in options]
        return self._params

    @params.setter
    def params(self, given: list[Any]) -> None:
        self._params = given
