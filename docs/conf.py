from __future__ import annotations

import json
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert

from calibrant.outputs import outputs
from calibrant.records import schema

project = "calibrant"
author = "The calibrant authors"
copyright = "the calibrant authors"
version = release = installed_version("calibrant")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]
default_role = "code"
myst_enable_extensions = ["dollarmath", "deflist", "attrs_inline"]
myst_heading_anchors = 3
html_math_renderer = "mathml"  # which browsers show by themselves: no script, no network

autosummary_generate = True
autodoc_typehints = "none"
autodoc_default_options = {"members": True}
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

html_theme = "furo"
html_title = f"calibrant {version}"
html_static_path = ["_static"]
html_css_files = ["style.css"]
html_show_copyright = False
html_show_sphinx = False


def _is_of_scikit_learn(_app: Any, _what: str, name: str, _member: Any, skip: bool, _options: Any) -> bool:
    """Leave out what scikit-learn adds to estimators for its own use, with its own documentation."""
    return skip or (name.startswith("set_") and name.endswith("_request"))


def _write_schemas(app: Any, error: Exception | None) -> None:
    """Publish the JSON Schemas beside the page about JSON output, which links to them."""
    folder = Path(app.outdir) / "reference" / "schemas"
    folder.mkdir(parents=True, exist_ok=True)
    for command, record in outputs().items():
        text = json.dumps(schema(record, command=command), indent=1)
        (folder / f"{command.replace(' ', '-')}.json").write_text(text, encoding="utf-8")


def _inline_math(writer: Any, node: Any) -> None:
    """Write a formula as MathML."""
    writer.body.append(convert(node.astext()))
    raise nodes.SkipNode


def _math_block(writer: Any, node: Any) -> None:
    """Write a formula as MathML in a separate paragraph."""
    writer.body.append(f'<div class="formula">{convert(node.astext(), display="block")}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> None:
    app.add_html_math_renderer("mathml", (_inline_math, None), (_math_block, None))
    app.connect("autodoc-skip-member", _is_of_scikit_learn)
    app.connect("build-finished", _write_schemas)
