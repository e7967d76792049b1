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
from calibrant.verbs.options import entries

Function = TypeVar("Function", bound=Callable[..., Any])
SOURCE = Path(__file__).resolve().parents[2]
TYPES = {"str": str, "int": int, "float": float, "bool": bool}
# Sections of a help after the first, which has all other options: `tests/test_options.py` counts them.
SECTIONS = {
    "Columns": (
        "form", "score", "label", "prediction", "event", "score_kind", "class_column", "weight", "item",
        "system", "fold", "repeat", "annotator", "document", "start", "end", "type_column",
        "inclusion_probability", "scores", "rows", "predicted", "fixed", "confidence_column",
        "time", "date_format", "stratum", "judge", "system_a", "system_b", "run",
        "text_column", "id_column", "date_column", "date_from",
    ),
    "Logs of evaluations": ("log_format", "normalise", "gold", "scorer", "allow_dropped"),
    "Bins, intervals and draws": (
        "bin_size", "n_bins", "n_ece_bins", "level", "interval", "samples", "seed", "smooth", "exact",
        "power", "alternative", "adjust", "least", "population", "sampling", "drift", "trees", "tags",
    ),
    "Guarantees, with --risk": ("delta", "missed", "two_sided", "loss", "save"),
    "Fitting and training": (
        "group", "groups", "counts", "min_scores", "penalty", "algorithm", "pseudocount", "unseen",
        "max_iterations", "l1", "l2", "epochs", "window", "temperature", "about", "features",
        "possessive_endings", "steps", "folds", "bits",
    ),
    "Printing": ("shape", "table", "meanings", "fail_if", "width", "title", "own_scales"),
    "More": (
        "transport_from", "label_range", "effects", "at",
        "against", "reference", "alpha", "epsilon", "restart", "cluster_size", "label_correlation", "beta",
        "with_text", "verbs", "columns", "rates", "ontonotes", "ptb", "nyt", "train",
        "floor", "dev_arcs", "previous", "round", "threads", "workers", "executor", "engine",
        "since", "until",
    ),
}  # fmt: skip
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
    branches = (inside for branch in top if isinstance(branch, ast.If) for inside in branch.body)
    for node in [*top, *branches]:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            return Definition(module, node)
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return Definition(module, node.value)
        if isinstance(node, ast.ImportFrom) and name in [alias.name for alias in node.names]:
            return _find(str(node.module), name) if str(node.module).startswith("calibrant") else None
    return None


def _defined(module: str, name: str) -> Definition:
    definition = _find(module, name)
    assert definition is not None, f"{module} does not define {name}"
    return definition


def _constant(module: str, node: ast.expr | None) -> Any:
    """Return the value of a default: a literal, or a constant of calibrant; None without a default."""
    if node is None:
        return None
    if isinstance(node, ast.Name):
        constant = _defined(module, node.id)
        return _constant(constant.module, constant.node)
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
    parameters = {
        argument.arg: Declared(verb, argument.arg, argument.annotation, default)
        for argument, default in zip(arguments, defaults, strict=True)
    }
    for decorator in node.decorator_list:  # `takes` adds the options of a function, or of a `TypedDict`
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "takes":
            parameters = parameters | declared(verb.module, ast.unparse(decorator.args[0])) | parameters
    return parameters


def _fields(options: Definition) -> dict[str, Declared]:
    """Return the options of measuring, with the defaults of the settings as which they are checked."""
    defaults: dict[str, ast.expr | None] = {}
    for name in ("Settings", "Run"):
        body = _defined(options.module, name).node.body
        defaults |= {ast.unparse(line.target): line.value for line in body if isinstance(line, ast.AnnAssign)}
    fields = {ast.unparse(line.target): line for line in options.node.body if isinstance(line, ast.AnnAssign)}
    return {name: Declared(options, name, line.annotation, defaults[name]) for name, line in fields.items()}


def _text(verb: Definition, name: str) -> str:
    """Return the description of a parameter; ``As in `function`.`` stands for that of another function."""
    for names, lines in entries(ast.get_docstring(verb.node) or ""):
        if name in names:
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
        alias = _find(module, node.id)
        if alias is not None and isinstance(alias.node, ast.expr):
            yield from _kinds(alias.module, alias.node)


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
    text = re.sub(r"`(\w+)`", lambda match: option_of(match[1]) if match[1] in names else match[0], text)
    sentences, none, default = text.partition(" None: ")
    sentences += " May be repeated." if repeated else ""
    return f"{sentences}  [default: {default.removesuffix('.')}]" if none else sentences


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
        parameters = declared(module, name)
        chosen = self.names or [key for key in parameters if key not in (*self.leave, *SET)]
        return [self._option(parameters[key], parameters) for key in chosen]

    def _option(self, parameter: Declared, names: Collection[str]) -> click.Option:
        kinds, option = list(_kinds(parameter.verb.module, parameter.kind)), option_of(parameter.name)
        default = _constant(parameter.verb.module, parameter.default)
        text = help_of(_text(parameter.verb, parameter.name), names, repeated=list in kinds)
        settings: dict[str, Any] = {"help": text, "required": parameter.default is None}
        settings |= {} if default is None else {"default": default}
        if bool in kinds:
            spelled = f"{option}/{option_of(f'no_{parameter.name}')}" if default else option
            return click.Option([spelled, parameter.name], is_flag=True, **settings)
        if list in kinds:
            settings |= {
                "multiple": True,
                "callback": lambda context, option, value: list(value or ()) or None,
            }
        choice = next((kind for kind in kinds if isinstance(kind, click.Choice)), None)
        number = next((kind for kind in kinds if kind in (int, float)), str)
        settings["type"] = choice or (str if str in kinds else number)
        given = self.given.get(parameter.name)
        if given is not None:
            settings["metavar" if isinstance(given, str) else "type"] = given
        return click.Option([option, parameter.name], **settings)


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
    """A command whose options are made when they are needed, and are in sections of the help."""

    def sections(self, ctx: click.Context) -> dict[str, list[click.Parameter]]:
        """Return the options of each section of the help; the first one has what most users need."""
        of = {name: section for section, names in SECTIONS.items() for name in names}
        sections: dict[str, list[click.Parameter]] = {name: [] for name in ("Options", *SECTIONS)}
        for option in self.get_params(ctx):
            if isinstance(option, click.Option):
                own = "Options" if option.required else of.get(str(option.name), "Options")
                sections[own].append(option)
        return {name: options for name, options in sections.items() if options}

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options into the help, under the headings of their sections."""
        for name, options in self.sections(ctx).items():
            records = [record for option in options if (record := option.get_help_record(ctx)) is not None]
            with formatter.section(name):
                formatter.write_dl(records)

    @property
    def params(self) -> list[click.Parameter]:
        """Return the arguments and options."""
        groups = [item() if isinstance(item, Options) else [item] for item in self._params]
        self._params: list[Any] = [option for options in groups for option in options]
        return self._params

    @params.setter
    def params(self, params: list[Any]) -> None:
        self._params = params
