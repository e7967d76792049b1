"""The code is layered, free of cycles, and cut small. docs/architecture.md draws the same picture."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parent.parent / "src"
ROOT = SOURCE.parent
FILES = sorted((SOURCE / "calibrant").rglob("*.py"))
FOLDERS = ("src", "studies", "benchmarks", "crosscheck", "fuzz", "scripts", "tests")
ALL_FILES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))

STUDIES = sorted((ROOT / "studies" / "src" / "calibrant_studies").rglob("*.py"))

# The core from the floor up: a block imports from itself and from the blocks above it in this list.
LAYERS: list[set[str]] = [
    {
        "_version",
        "exceptions",
        "lazy",
        "parts",
        "plugins",
        "progress",
        "_checks",
        "_special",
        "seeds",
        "_parallel",
        "_kernels",
    },
    {"records", "synthetic", "data"},
    {"results", "outputs"},
    {"metrics"},
    {"recalibrate"},
    {"io"},
    {"plots"},
    {"verbs"},
    {"pages", "testing"},
    {"cli", "__main__"},
]
HEIGHT = {block: height for height, blocks in enumerate(LAYERS) for block in blocks}

# The wings, and which other wings each may import. The core imports none.
WINGS: dict[str, set[str]] = {
    "structures": set(),
    "estimation": set(),
    "evaluation": set(),
    "events": {"structures", "estimation"},
    "demo": {"structures", "events"},
}
# The parts of a wing from the floor up, each with the block of the core at its level. Modules of the
# wing itself are its numbers.
PARTS = {
    "_kernels": "_kernels",
    "documents": "records",
    "results": "results",
    "outputs": "results",
    "numbers": "recalibrate",
    "posterior": "recalibrate",
    "models": "recalibrate",
    "files": "io",
    "plots": "plots",
    "verbs": "verbs",
    "pages": "pages",
    "web": "pages",
    "cli": "cli",
    "inspect_ai": "cli",  # a front end of another program
}
RANK = {part: rank for rank, part in enumerate(PARTS)}

# Blocks that may use less than the blocks below them.
NARROW = {
    "synthetic": {"exceptions", "_checks", "seeds"},
    "data": {"_checks"},
    # Plots draw records and estimate nothing.
    "plots": {"exceptions", "lazy", "parts", "_checks", "records", "results", "plots"},
}
# Libraries that only some blocks of the core, the parts beside them, or one wing may know.
CONFINED = {
    "click": {"cli", "__main__"},
    "duckdb": {"io", "events"},
    "inspect_ai": {"evaluation"},
    "jinja2": {"pages"},
    "matplotlib": {"plots", "pages"},
    "pyarrow": {"io"},
    "pycrfsuite": {"structures"},
    "sklearn": {"recalibrate"},
    "spacy": {"structures"},
    "starlette": {"events"},
    "uvicorn": {"events"},
}
# Tests that use private names, these names, and the reason why no public name will do. Tests of compiled
# loops are in folders called _kernels.
LIMIT = "the test lowers a limit, so that few rows take the path of many"
SIMULATED = "the studies simulate data of which the truth is known"
REACHED: dict[str, tuple[set[str], str]] = {
    "evaluation/test_monitoring.py": (
        {"calibrant_studies._dependent_days", "calibrant_studies._streams"},
        SIMULATED,
    ),
    "evaluation/test_selective.py": ({"calibrant_studies._error_rates"}, SIMULATED),
    "evaluation/test_significance.py": ({"calibrant_studies._error_rates"}, SIMULATED),
    "structures/models/test_mention_detection.py": (
        {"calibrant_studies._coreference_data"},
        "the study of coreference has the recall of detected mentions",
    ),
    "evaluation/verbs/test_protocol.py": (
        {"calibrant_studies._summaries"},
        "the study writes the files of the example that ships",
    ),
    "events/web/test_hostile_requests.py": ({"calibrant.events.web._connections.SECONDS_TO_ASK"}, LIMIT),
    "io/test_logs_answers.py": ({"calibrant.io._log_text"}, LIMIT),
    "recalibrate/test_platt.py": (
        {"calibrant.recalibrate._log_odds"},
        "the processor's rounding decides whether scores that nearly tie are an error",
    ),
    "structures/files/test_saved_models.py": ({"_add"}, "the interrupt must come in the middle of writing"),
    "structures/posterior/test_chain.py": (
        {"calibrant.structures._kernels.chain"},
        "results do not show whether they were computed in logarithms, and the chains must need both ways",
    ),
    "structures/posterior/test_paths.py": ({"calibrant.structures.posterior._paths.DRAWS"}, LIMIT),
    "structures/posterior/test_queries.py": (
        {"calibrant.structures.posterior._query"},
        LIMIT,
    ),
    "io/test_engines.py": (
        {"_collect", "calibrant.io.workers._rows_of"},
        "a lazy frame must not be collected, and a worker must lack the module",
    ),
    "verbs/test_recalibrating.py": ({"calibrant.verbs._methods"}, LIMIT),
    "test_clusters.py": ({"_ensure_connected"}, "Dask must answer wrongly once, at the moment it connects"),
    "test_help_examples.py": (
        {"calibrant_studies.datasets._fetching.digest_of"},
        "the files of data sets are made up, so they have other checksums",
    ),
}
REPLACING = ("setattr", "delattr")
LONGEST_FILE = 700
LONGEST_FUNCTION = 100
# Lines of Python that each block or wing may have. A number falls with the code, and rises only with an entry
# in docs/architecture.md that says what the lines are for.
BUDGET = {
    "": 116,
    "__main__": 37,
    "_checks": 695,
    "_kernels": 1894,
    "_parallel": 75,
    "_special": 85,
    "_version": 3,
    "cli": 2442,
    "data": 259,
    "demo": 639,
    "estimation": 15865,
    "evaluation": 15086,
    "events": 10321,
    "exceptions": 157,
    "io": 12809,
    "lazy": 64,
    "metrics": 10657,
    "outputs": 75,
    "pages": 1266,
    "parts": 33,
    "plots": 1729,
    "plugins": 98,
    "progress": 14,
    "recalibrate": 5854,
    "records": 1917,
    "results": 3002,
    "seeds": 69,
    "structures": 23444,
    "synthetic": 253,
    "testing": 127,
    "verbs": 5667,
}


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in FILES}


def imports(path: Path) -> Iterator[str]:
    """Every module that a file imports, at its top or inside a function."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in MODULES else node.module


def place(module: str) -> tuple[str, str]:
    """Wing and part of a module; the wing is "" in the core, whose parts are its blocks."""
    top, part, *_ = [*module.split(".")[1:], "", ""]
    if top in WINGS:
        return top, part if part in PARTS else "numbers"
    return "", top


def beside(module: str) -> str:
    """Return the block of the core that a module belongs to, or is at the level of."""
    wing, part = place(module)
    return PARTS[part] if wing else part


def test_every_module_belongs_to_a_layer() -> None:
    homeless = [module for module in MODULES if module != "calibrant" and beside(module) not in HEIGHT]
    assert not homeless, f"add them to LAYERS and to docs/architecture.md: {homeless}"


def allowed(module: str, other: str) -> bool:
    """Return True if one module may import another."""
    (wing, part), (other_wing, other_part) = place(module), place(other)
    if other_wing and other_wing == wing:
        return module == f"calibrant.{wing}" or RANK[other_part] <= RANK[part]
    if other_wing:
        return other_wing in WINGS.get(wing, ())
    here = beside(module)
    return other_part in NARROW[here] if here in NARROW else HEIGHT[other_part] <= HEIGHT[here]


@pytest.mark.parametrize("module", MODULES)
def test_a_module_imports_only_from_the_layers_below_it(module: str) -> None:
    if module == "calibrant":  # names the verbs, and loads them when they are asked for
        return
    names = [name for name in imports(MODULES[module]) if name.startswith("calibrant.")]
    wrong = [name for name in names if not allowed(module, name)]
    assert not wrong, f"{module} may not import {wrong}"


@pytest.mark.parametrize("module", MODULES)
def test_a_module_takes_nothing_from_the_whole_package_which_is_above_all_layers(module: str) -> None:
    found: list[str] = []
    for node in ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name == "calibrant"]
        elif isinstance(node, ast.ImportFrom) and node.module == "calibrant":
            found += [alias.name for alias in node.names if f"calibrant.{alias.name}" not in MODULES]
    found = [] if module == "calibrant" else found
    assert not found, f"{module} may not import {found}: import modules"


@pytest.mark.parametrize("module", MODULES)
def test_a_module_knows_only_the_libraries_of_its_layer(module: str) -> None:
    roots = {name.split(".")[0] for name in imports(MODULES[module])}
    homes = {place(module)[0], beside(module)}
    wrong = [library for library in roots & CONFINED.keys() if not homes & CONFINED[library]]
    assert not wrong, f"{module} may not import {wrong}"


@pytest.mark.parametrize("module", MODULES)
def test_no_module_takes_a_private_name_of_another(module: str) -> None:
    for node in ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("calibrant."):
            private = [
                alias.name
                for alias in node.names
                if is_private(alias.name) and f"{node.module}.{alias.name}" not in MODULES
            ]
            assert not private, f"{module} imports {private} of {node.module}: give them a public name"


def package_of(module: str) -> str:
    """The block of the core, or the wing."""
    wing, part = place(module)
    return wing or part


@pytest.mark.parametrize("module", MODULES)
def test_no_module_reaches_into_the_private_modules_of_another_package(module: str) -> None:
    inside = []
    for name in imports(MODULES[module]):
        parts = name.split(".")
        private = len(parts) > 2 and any(part.startswith("_") for part in parts[2:])
        if name.startswith("calibrant.") and private and package_of(name) != package_of(module):
            inside.append(name)
    assert not inside, f"{module} imports {inside}: give them a public name"


def test_no_study_takes_a_private_name_of_calibrant() -> None:
    found = []
    for path in STUDIES:
        for name in imports(path):
            if name.startswith("calibrant.") and any(part.startswith("_") for part in name.split(".")):
                found.append(f"{path.stem} imports {name}")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("calibrant."):
                found += [f"{path.stem} imports {a.name}" for a in node.names if a.name.startswith("_")]
    assert not found


def is_private(name: str) -> bool:
    """Return True if a part of a dotted name begins with one underscore."""
    return any(part.startswith("_") and not part.startswith("__") for part in name.split("."))


def reached(path: Path) -> Iterator[str]:
    """Private names of calibrant that a test imports or replaces."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if alias.name.startswith("calibrant")]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("calibrant"):
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                names.append(inner if inner in MODULES or alias.name.startswith("_") else str(node.module))
        elif isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in REPLACING:
            texts = [each.value for each in node.args[:2] if isinstance(each, ast.Constant)]
            names = [text for text in texts if isinstance(text, str)]
        yield from (name for name in names if is_private(name))


def test_tests_use_public_names_except_where_nothing_public_will_do() -> None:
    tests = ROOT / "tests"
    found: dict[str, set[str]] = {}
    for path in tests.rglob("*.py"):
        place = path.relative_to(tests)
        if "_kernels" not in place.parts and place.parts[0] != "studies" and (names := set(reached(path))):
            found[place.as_posix()] = names
    allowed = {place: names for place, (names, _) in REACHED.items()}
    new = {place: names - allowed.get(place, set()) for place, names in found.items()}
    assert not {place: names for place, names in new.items() if names}, (
        "test a public name instead, or add the reason to REACHED"
    )
    gone = {place: names - found.get(place, set()) for place, names in allowed.items()}
    assert not {place: names for place, names in gone.items() if names}, "remove them from REACHED"


@pytest.mark.parametrize("module", MODULES)
def test_the_package_knows_no_studies(module: str) -> None:
    assert not [name for name in imports(MODULES[module]) if name.startswith("calibrant_studies")]


@pytest.mark.parametrize("block", BUDGET)
def test_a_block_has_no_more_lines_than_its_budget(block: str) -> None:
    modules = [module for module in MODULES if (module.split(".")[1:2] or [""])[0] == block]
    assert sum(MODULES[module].read_text(encoding="utf-8").count("\n") for module in modules) <= BUDGET[block]


def test_every_block_has_a_budget() -> None:
    assert {(module.split(".")[1:2] or [""])[0] for module in MODULES} == BUDGET.keys()


def test_no_modules_import_each_other_in_a_circle() -> None:
    # The package itself imports nothing when it is imported; test_import_budget.py sees to that.
    modules = MODULES.keys() - {"calibrant"}
    graph = {module: modules & set(imports(MODULES[module])) - {module} for module in modules}
    tuple(TopologicalSorter(graph).static_order())  # raises CycleError, which names the circle


def test_no_modules_beside_the_package_import_each_other_in_a_circle() -> None:
    for folder in ("benchmarks", "crosscheck", "fuzz", "scripts"):
        paths = {path.stem: path for path in (ROOT / folder).rglob("*.py")}
        graph = {
            stem: {name.rpartition(".")[2] for name in imports(path)} & paths.keys() - {stem}
            for stem, path in paths.items()
        }
        tuple(TopologicalSorter(graph).static_order())


@pytest.mark.parametrize("path", ALL_FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_and_functions_are_short(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    if not path.is_relative_to(ROOT / "tests"):  # which have a file for each of the package's, however long
        assert text.count("\n") <= LONGEST_FILE
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            length = (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0
            assert length <= LONGEST_FUNCTION, f"{node.name} has {length} lines"


def test_no_package_hides_a_module_of_the_same_name() -> None:
    packages = {path.parent for path in MODULES.values() if path.name == "__init__.py"}
    hidden = [module for module, path in MODULES.items() if path.with_suffix("") in packages]
    assert hidden == []
