"""Nothing that is read is executed: no module uses what would run code out of a file or a text."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FILES = sorted([*(ROOT / "src").rglob("*.py"), *(ROOT / "studies" / "src").rglob("*.py")])
MODULES = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "marshal", "shelve", "joblib", "jsonpickle",
           "code", "codeop", "imp", "runpy", "dbm"}  # fmt: skip
BUILTINS = {"eval", "exec", "compile", "__import__", "execfile"}
CALLS = {
    *("yaml.load", "yaml.unsafe_load", "yaml.full_load", "torch.load", "joblib.load", "pickle.load"),
    *("pickle.loads", "os.system", "os.popen", "pd.read_pickle", "pandas.read_pickle"),
}
KEYWORDS = {"allow_pickle": False, "shell": False, "weights_only": True}  # what each may be alone


def name_of(node: ast.expr) -> str:
    """``a.b.c`` of an expression; empty for anything else."""
    if isinstance(node, ast.Attribute):
        inner = name_of(node.value)
        return f"{inner}.{node.attr}" if inner else node.attr
    return node.id if isinstance(node, ast.Name) else ""


def executed(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Lines that import or call what executes data, and what it is."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names if alias.name.split(".")[0] in MODULES]
        elif isinstance(node, ast.ImportFrom):
            found = [node.module or ""] if (node.module or "").split(".")[0] in MODULES else []
        elif isinstance(node, ast.Call):
            name = name_of(node.func)
            known = name in BUILTINS or any(name == each or name.endswith(f".{each}") for each in CALLS)
            found = [name] if known else []
            for keyword in node.keywords:
                safe = KEYWORDS.get(keyword.arg or "")
                said = isinstance(keyword.value, ast.Constant) and keyword.value.value is safe
                found += [f"{name}({keyword.arg}=)"] if safe is not None and not said else []
            # np.load without allow_pickle: its default has been another one.
            if name in ("np.load", "numpy.load", "np.lib.format.read_array"):
                said = any(keyword.arg == "allow_pickle" for keyword in node.keywords)
                found += [] if said else [f"{name} without allow_pickle=False"]
        else:
            continue
        yield from ((node.lineno, each) for each in found)


def test_no_module_executes_what_it_reads() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {what}"
        for path in FILES
        for line, what in executed(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert not found


@pytest.mark.parametrize(
    "text",
    [
        "import pickle",
        "from joblib import load",
        "eval(text)",
        "exec(text)",
        "np.load(path, allow_pickle=True)",
        "np.load(path, allow_pickle=given)",
        "np.load(path)",
        "yaml.load(text)",
        "torch.load(path)",
        "subprocess.run(text, shell=True)",
        "os.system(text)",
        "marshal.loads(data) if __import__('marshal') else None",
    ],
)
def test_what_executes_is_noticed(text: str) -> None:
    assert list(executed(ast.parse(text)))


@pytest.mark.parametrize("text", ["np.load(a, allow_pickle=False)", "re.compile(a)", "run(a, shell=False)"])
def test_what_does_not_is_left_alone(text: str) -> None:
    assert not list(executed(ast.parse(text)))
