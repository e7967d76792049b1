"""The documentation is complete, its examples run, and nothing in the tree names one machine."""

from __future__ import annotations

import ast
import dataclasses
import doctest
import importlib
import importlib.util
import inspect
import re
import shlex
import subprocess
import tomllib
import typing
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import pytest

import calibrant
import calibrant.io
from calibrant.cli import main, options
from calibrant.cli.convert import command as convert
from calibrant.io.log_formats import FORMATS as LOG_FORMATS
from calibrant.io.logs import open_log
from calibrant.io.table_formats import FORMATS as TABLES
from calibrant.outputs import outputs
from calibrant.records import Record, fields_of, schema
from tests.quantities import defined

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = sorted([ROOT / "README.md", *(p for p in DOCS.rglob("*.md") if "_" not in p.parts[-2][:1])])
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def identity(path: Path) -> str:
    return str(path.relative_to(ROOT))


def script(name: str) -> ModuleType:
    """A script of the tree, as a module."""
    spec = defined(importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py"))
    module = importlib.util.module_from_spec(spec)
    defined(spec.loader).exec_module(module)
    return module


REFERENCE = script("reference")
LINKS = script("check_links")
PUBLIC_MODULES: list[str] = list(REFERENCE.PUBLIC_MODULES)


# Names, commands, fields, codes.


def help_of(*names: str) -> str:
    """The help of a command, in one line."""
    command: click.Command = main
    for name in names:
        assert isinstance(command, click.Group)
        command = defined(command.get_command(click.Context(command), name))
    return " ".join(str(command.help).split())


READ = {
    "calibrant measure --help": help_of("measure"),
    "calibrant agree --help": help_of("agree"),
    "calibrant compare --help": help_of("compare"),
    "open_predictions": str(calibrant.io.open_predictions.__doc__),
    "docs/guide/data.md": text(DOCS / "guide" / "data.md"),
}
WRITTEN = {
    "WRITES": options.WRITES,
    "calibrant convert --help": " ".join(
        str(option.help) for option in convert.params if hasattr(option, "help")
    ),
    "apply": str(calibrant.apply.__doc__),
    "convert": str(calibrant.convert.__doc__),
    "PredictionWriter": str(calibrant.io.PredictionWriter.__doc__),
}
LOGS = {
    "calibrant measure --help": help_of("measure"),
    "open_log": str(open_log.__doc__),
    "calibrant compare --help": help_of("compare"),
    "compare": str(calibrant.compare.__doc__),
    "docs/guide/logs.md": text(DOCS / "guide" / "logs.md"),
}


@pytest.mark.parametrize("place", READ)
def test_every_place_that_lists_formats_of_tables_lists_all(place: str) -> None:
    names_only = place in ("calibrant agree --help", "calibrant compare --help")  # whose tables hold names
    endings = [name for name, form in TABLES.items() if form.reader is not None or not names_only]
    assert [ending for ending in endings if f".{ending}" not in READ[place]] == []


@pytest.mark.parametrize("place", WRITTEN)
def test_every_place_that_lists_formats_of_output_lists_all(place: str) -> None:
    endings = [name for name, form in TABLES.items() if form.sink is not None]
    assert [ending for ending in endings if f".{ending}" not in WRITTEN[place]] == []


@pytest.mark.parametrize("place", LOGS)
def test_every_place_that_lists_formats_of_logs_lists_all(place: str) -> None:
    probabilities = place in ("calibrant measure --help", "open_log")
    forms = [form for form in LOG_FORMATS.values() if form.probabilities or not probabilities]
    writers = [defined(re.search(r"(?:of|in) ([\w/-]+)", form.title))[1] for form in forms]
    assert [writer for writer in writers if writer not in LOGS[place]] == []


@pytest.mark.parametrize("module", PUBLIC_MODULES)
def test_every_public_name_has_an_entry(module: str) -> None:
    names = REFERENCE.public_names(module)
    entries = {line.strip() for page in (DOCS / "api").glob("*.md") for line in text(page).splitlines()}
    missing = [name for name in names if REFERENCE.entry(module, name) not in entries]
    assert not missing, f"list them in docs/api: {missing}"


def test_every_name_at_the_top_can_be_had() -> None:
    for name in calibrant.__all__:
        assert getattr(calibrant, name) is not None


def test_every_public_function_has_an_example_and_every_class_a_docstring() -> None:
    bare = []
    for module in PUBLIC_MODULES:
        for name in REFERENCE.public_names(module):
            value = getattr(importlib.import_module(module), name)
            wanted = ">>>" if inspect.isfunction(value) else ""
            if callable(value) and (not value.__doc__ or wanted not in value.__doc__):
                bare.append(f"{module}.{name}")
    assert not bare, f"without an example or a docstring: {bare}"


def test_the_reference_pages_say_what_the_code_says() -> None:
    for page, now in REFERENCE.pages().items():
        stale = f"run python scripts/reference.py: {identity(page)}"
        assert text(page).splitlines() == now.splitlines(), stale


def test_the_picture_of_the_layers_is_that_of_the_layers_that_are_enforced() -> None:
    layers = script("layers")
    assert text(layers.PICTURE) == layers.picture(), "run python scripts/layers.py"


@pytest.mark.parametrize("name", sorted(REFERENCE.STUDY_ORDER))
def test_the_page_of_a_study_has_its_numbers_and_a_figure(name: str) -> None:
    page = text(DOCS / "studies" / f"{name}.md")
    assert "<!-- table: findings -->" in page
    assert f"]({name}-" in page


def test_every_study_is_in_the_table_of_studies() -> None:
    from calibrant_studies import NAMES

    assert sorted(REFERENCE.STUDY_ORDER) == sorted(NAMES)


def test_every_field_of_the_json_output_is_described() -> None:
    bare = []
    for command, record in outputs().items():
        found = schema(record, command=command)
        for kind in (found, *found["$defs"].values()):
            bare += [name for name, node in kind["properties"].items() if not node.get("description")]
    assert not bare


def field_names(kind: type, seen: set[type]) -> Iterator[str]:
    """Names of a record's fields, and of the records in it; figures' data and tables of sums are left out."""
    from calibrant import results

    if kind in seen or kind in (results.Drawing, results.Bins):
        return
    seen.add(kind)
    if issubclass(kind, Record):
        for field in fields_of(kind):
            yield field.path[0]
            if field.kind is not None:
                yield from field_names(field.kind, seen)
        return
    hints = typing.get_type_hints(kind, localns=vars(results))
    assert dataclasses.is_dataclass(kind)
    for each in dataclasses.fields(kind):
        yield each.name
        inside = [hints[each.name]]
        while inside:
            hint = inside.pop()
            inside += typing.get_args(hint)
            if isinstance(hint, type) and (dataclasses.is_dataclass(hint) or issubclass(hint, Record)):
                yield from field_names(hint, seen)


PRINTED = ["Measured", "Report", "FittedRecalibrator", "AppliedRecalibrator", "SliceTables", "Monitoring"]
PRINTED += [
    "CorrectedCounts",
    "EventTable",
    "Agreement",
    "CandidateTest",
    "Comparison",
    "RunComparison",
    "TagEvaluation",
    "ParserEvaluation",
    "CoreferenceEvaluation",
]
PRINTED += ["LabelPlan"]


@pytest.mark.parametrize("record", PRINTED)
def test_every_number_that_a_command_prints_has_a_line_on_how_to_read_it(record: str) -> None:
    (kind,) = {kind for kind in outputs().values() if kind.__name__ == record}
    explained = set(re.findall(r"`(\w+)`", text(DOCS / "guide" / "numbers.md")))
    missing = set(field_names(kind, set())) - explained
    assert not missing, f"explain them in docs/guide/numbers.md: {sorted(missing)}"


def error_codes() -> Iterator[str]:
    """Codes in the source: keywords and their defaults, and bare words among what is raised with."""
    for path in [*(ROOT / "src").rglob("*.py"), *(ROOT / "studies" / "src").rglob("*.py")]:
        for node in ast.walk(ast.parse(text(path))):
            values: list[ast.expr | None] = []
            if isinstance(node, ast.keyword) and node.arg == "code":
                values = [node.value]
            elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                values = list(node.exc.args)
            elif isinstance(node, ast.FunctionDef):
                names = [argument.arg for argument in node.args.kwonlyargs]
                values = [
                    value for name, value in zip(names, node.args.kw_defaults, strict=True) if name == "code"
                ]
            for value in values:
                if isinstance(value, ast.Constant) and re.fullmatch("[a-z]+(-[a-z]+)*", str(value.value)):
                    yield str(value.value)


def test_every_error_code_is_explained() -> None:
    explained = set(re.findall(r"^\| `([a-z-]+)`", text(DOCS / "errors.md"), re.MULTILINE))
    assert set(error_codes()) == explained


def test_every_dependency_and_every_layer_is_explained() -> None:
    from packaging.requirements import Requirement

    page = text(DOCS / "architecture.md")
    project = tomllib.loads(text(ROOT / "pyproject.toml"))["project"]
    names = [Requirement(line).name for line in project["dependencies"]]
    names += [path.name for path in (ROOT / "src" / "calibrant").iterdir() if (path / "__init__.py").exists()]
    missing = [name for name in names if f"`{name}`" not in page]
    assert not missing, f"explain them in docs/architecture.md: {missing}"


# Examples.


def blocks(page: Path) -> Iterator[tuple[str, int, str]]:
    """The fenced examples of a page: language, line, text."""
    pattern = re.compile(r"^```(pycon|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    for match in pattern.finditer(text(page)):
        yield match[1], text(page).count("\n", 0, match.start(2)), match[2]


def commands(block: str) -> Iterator[tuple[list[str], str]]:
    """Each `$ command` of a block with the output shown under it."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, output = part.replace("\\\n", "").partition("\n")
        yield shlex.split(command), output


def run_command(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """Exit code and output of a command, run in this process: a new one takes seconds to load libraries."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", words)
        with pytest.raises(SystemExit) as left:
            main(words[1:], prog_name="calibrant")
    out, err = capsys.readouterr()
    return int(left.value.code or 0), out, err


def run_commands(block: str, place: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Run the commands of a block in the current folder; compare what they print with what is shown."""
    for words, expected in commands(block):
        if words[0] != "calibrant":
            continue
        code, out, err = run_command(words, capsys)
        assert "a bug in calibrant" not in err, err
        got = out + err if code == 3 else err if code else out  # 3: a condition of --fail-if
        assert expected or code == 0, err
        if expected:
            same = doctest.OutputChecker().check_output(expected, got, FLAGS)
            assert same, f"{place}: {' '.join(words)}\n{got}"


NEEDS = re.compile(r"^<!-- needs: ([\w-]+) -->$", re.MULTILINE)  # a data set of the examples of a page


def with_examples() -> Iterator[Any]:
    """Pages with examples; those that need a data set take longer."""
    for page in PAGES:
        if any(blocks(page)):
            marks = [pytest.mark.slow] if NEEDS.search(text(page)) else []
            yield pytest.param(page, id=identity(page), marks=marks)


@pytest.mark.parametrize("page", list(with_examples()))
def test_the_examples_of_the_page_run(
    page: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> None:
    for name in NEEDS.findall(text(page)):
        assert (request.getfixturevalue("data") / name).is_dir()  # the test is skipped without the set
    monkeypatch.chdir(tmp_path)
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(optionflags=FLAGS)
    names: dict[str, object] = {}
    for language, line, block in blocks(page):
        if language == "console":
            run_commands(block, f"{identity(page)}:{line}", capsys)
            continue
        report: list[str] = []
        case = parser.get_doctest(block, names, identity(page), str(page), line)
        runner.run(case, out=report.append, clear_globs=False)
        names = case.globs
        assert not report, "".join(report)


# The tree.


def tracked() -> list[Path]:
    try:
        run = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("needs a git work tree")
    return [path for name in run.stdout.split("\0") if name and (path := ROOT / name).is_file()]


def test_no_file_names_one_machine_or_one_package_index() -> None:
    # Written in two halves, so that this file passes too.
    halves = [("/wo", "rk/"), ("/ro", "ot/"), ("/tmp/te", "am"), ("pypi", ".org"), ("python", "hosted")]
    forbidden = [first + second for first, second in halves]
    pattern = re.compile("|".join(map(re.escape, forbidden)).encode())
    guilty = {identity(path): found[0] for path in tracked() if (found := pattern.search(path.read_bytes()))}
    assert not guilty


def test_every_link_of_the_pages_that_are_read_alone_leads_somewhere() -> None:
    assert not list(LINKS.broken(*LINKS.markdown_tree(LINKS.READ_ALONE)))


def test_a_link_to_no_file_or_to_no_place_in_a_file_is_found(tmp_path: Path) -> None:
    (tmp_path / "one.html").write_text('<h1 id="top"></h1><a href="two.html#here">x</a><a href="#top">x</a>')
    (tmp_path / "two.html").write_text('<p id="here"></p><a href="one.html#gone">x</a><img src="no.png">')
    (tmp_path / "three.md").write_text(
        "# The *end*, or not\n[x](#the-end-or-not) [y](#the-start) [z](https://x.y/)"
    )
    site = LINKS.broken(*LINKS.site_links(tmp_path))
    assert [(page.name, link) for page, link in site] == [
        ("two.html", "one.html#gone"),
        ("two.html", "no.png"),
    ]
    alone = LINKS.broken(*LINKS.markdown_tree([tmp_path / "three.md"]))
    assert [link for _, link in alone] == ["#the-start"]


def test_the_version_is_the_same_everywhere() -> None:
    version = calibrant.__version__
    assert tomllib.loads(text(ROOT / "pyproject.toml"))["project"]["version"] == version
    assert f"version: {version}\n" in text(ROOT / "CITATION.cff")
    assert f"## {version.partition('rc')[0]}" in text(ROOT / "CHANGELOG.md")
