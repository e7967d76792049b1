"""Write the reference pages that code already knows: public names, commands, fields of the JSON output.

python scripts/reference.py          writes docs/reference/*.md, docs/api/*.md, docs/studies/index.md and
                                     the tables of fields in docs/guide/numbers.md
"""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

if TYPE_CHECKING:
    from calibrant.records import Field

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "reference"
API = ROOT / "docs" / "api"
STUDIES = ROOT / "docs" / "studies"
NUMBERS = ROOT / "docs" / "guide" / "numbers.md"
WIDTH = 100

# Public modules with the title of their page. Every name in the `__all__` of each is public.
PUBLIC_MODULES = {
    "calibrant.metrics": "Metrics",
    "calibrant.recalibrate": "Recalibrate",
    "calibrant.verbs": "Verbs",
    "calibrant.io": "Files and dataframes",
    "calibrant.records": "Records",
    "calibrant.results": "Result records",
    "calibrant.outputs": "Outputs of commands",
    "calibrant.plots": "Plots",
    "calibrant.pages": "Pages",
    "calibrant.testing": "Assertions for test suites",
    "calibrant.synthetic": "Synthetic predictions",
    "calibrant.data": "Data that ships",
    "calibrant.exceptions": "Errors",
    "calibrant.structures": "Structures",
    "calibrant.structures.documents": "Documents",
    "calibrant.structures.posterior": "Posteriors",
    "calibrant.structures.posterior.queries": "Queries",
    "calibrant.structures.posterior.coreference_queries": "Queries of coreference",
    "calibrant.structures.posterior.dependency_queries": "Queries of dependency trees",
    "calibrant.structures.models": "Models",
    "calibrant.events": "Events",
    "calibrant.events.plots": "Plots of events",
    "calibrant.events.web": "Explorer",
    "calibrant.evaluation": "Evaluation",
    "calibrant.evaluation.plots": "Plots of an evaluation",
    "calibrant.estimation": "Estimation",
    "calibrant.estimation.plots": "Plots of estimates",
    "calibrant_studies": "Studies",
    "calibrant_studies.datasets": "Data sets to fetch",
    "calibrant_studies.models": "Models that the studies use",
}

# Files in the order in which a reader needs them; those not named here follow.
ORDER = ["tally", "binning", "frequencies", "calibration_error", "debiased", "intervals", "noise_floor"]
ORDER += ["smooth", "curve", "proper_scores", "decompositions", "logistic", "views", "compare", "planning"]
ORDER += ["chain", "_paths", "spans", "antecedent"]

# Studies in the order of the papers, then those of calibrant's methods.
STUDY_ORDER = ["sentiment", "tagging", "coreference", "counts", "events", "decisions"]
STUDY_ORDER += ["synthetic", "sparse", "networks", "trees", "protocol", "hacking", "coverage", "monitoring"]
STUDY_ORDER += ["agreement", "significance", "thresholds", "judges"]


def public_names(module: str) -> list[str]:
    """Names of the module's `__all__`; without one, what the module defines itself."""
    found = importlib.import_module(module)
    own = [name for name, value in vars(found).items() if getattr(value, "__module__", None) == module]
    return getattr(found, "__all__", None) or [name for name in own if not name.startswith("_")]


def summary(module: str) -> str:
    """First line of a module's docstring, without its full stop."""
    return (sys.modules[module].__doc__ or module).strip().splitlines()[0].removesuffix(".")


def heading(module: str) -> str:
    """Return a module's summary as a heading: the text before its colon, and the rest as a sentence."""
    title, _, rest = summary(module).partition(": ")
    return f"## {title}" + (f"\n\n{rest[0].upper()}{rest[1:]}." if rest else "")


def rank(module: str) -> int:
    """Place of a file in the reader's order."""
    name = module.rpartition(".")[2]
    return ORDER.index(name) if name in ORDER else len(ORDER)


def entry(module: str, name: str) -> str:
    """How a page lists a public name: under the package, without the package's name.

    Examples
    --------
    >>> entry("calibrant.plots", "render"), entry("calibrant_studies", "run")
    ('plots.render', 'run')
    """
    return ".".join([*module.split(".")[1:], name])


def api_page(module: str, title: str) -> str:
    """A page that lists a module's public names under the headings of the files that define them."""
    home: dict[str, list[str]] = {}
    for name in public_names(module):
        source = getattr(getattr(importlib.import_module(module), name), "__module__", module)
        home.setdefault(source if source in sys.modules else module, []).append(name)
    parts = [f"# {title}", f"`{module}`: {summary(module)}."]
    for source, names in sorted(home.items(), key=lambda item: rank(item[0])):
        if source != module:
            parts.append(heading(source))
        entries = "\n".join(f"   {entry(module, name)}" for name in names)
        options = ".. autosummary::\n   :toctree: _generated\n   :nosignatures:"
        options = f".. currentmodule:: {module.partition('.')[0]}\n{options}"
        parts.append(f"```{{eval-rst}}\n{options}\n\n{entries}\n```")
    return "\n\n".join(parts) + "\n"


def page_name(module: str) -> str:
    """Name of a module's page.

    Examples
    --------
    >>> page_name("calibrant.structures.documents"), page_name("calibrant_studies")
    ('structures_documents', 'studies')
    """
    return re.sub("^calibrant[._]", "", module).replace(".", "_")


def api() -> dict[Path, str]:
    """The pages on Python's interface, and their table of contents."""
    pages = {API / f"{page_name(module)}.md": api_page(module, t) for module, t in PUBLIC_MODULES.items()}
    contents = "\n".join(page.stem for page in pages)
    text = f"# Python interface\n\n```{{toctree}}\n:maxdepth: 1\n\n{contents}\n```\n"
    return {API / "index.md": text, **pages}


def command_line() -> str:
    """Every command's help, as `--help` prints it."""
    import click

    from calibrant.cli import main

    parts = [
        "# Command line",
        "Exit code 0 means success; 2, wrong usage or invalid input, with one line that says what to do; "
        "3, a condition of --fail-if is met; 130 or 143, SIGINT (Ctrl-C) or SIGTERM ended the command; "
        "1, any other error.",
    ]
    width: dict[str, Any] = {"max_content_width": WIDTH, "terminal_width": WIDTH}

    def add(command: click.Command, name: str, parent: click.Context | None) -> None:
        context = command.make_context(name, [], parent=parent, resilient_parsing=True, **width)
        parts.extend([f"## {context.command_path}", f"```text\n{command.get_help(context)}\n```"])
        if isinstance(command, click.Group):
            for inner in command.list_commands(context):
                found = command.get_command(context, inner)
                assert found is not None
                add(found, inner, context)

    add(main, "calibrant", None)
    return "\n\n".join(parts) + "\n"


def type_name(node: dict[str, Any]) -> str:
    """Describe the content of a field; a record by the name of its kind."""
    if "$ref" in node:
        return str(node["$ref"].rpartition("/")[2])
    if isinstance(node.get("items"), dict) and "$ref" in node["items"]:
        return f"array of {type_name(node['items'])}"
    if "anyOf" in node:
        return " or ".join(dict.fromkeys(type_name(each) for each in node["anyOf"]))
    if "enum" in node:
        return " or ".join(json.dumps(value) for value in node["enum"])
    if "const" in node:
        return json.dumps(node["const"])
    kinds = node.get("type", "anything")
    return " or ".join([kinds] if isinstance(kinds, str) else kinds)


def field_table(rows: dict[str, dict[str, Any]]) -> list[str]:
    """Fields as a table."""
    lines = [
        f"| `{name}` | {type_name(node)} | {node.get('description', '')} |" for name, node in rows.items()
    ]
    return ["| field | holds | meaning |", "|---|---|---|", *lines, ""]


def json_output() -> str:
    """The fields of the JSON output, from the schemas."""
    from calibrant.outputs import outputs

    seen: dict[str, Any] = {}
    return "\n".join(
        [
            "# JSON output",
            "",
            "The JSON Schema of each command's output is generated from its record.",
            "`calibrant schema COMMAND` prints it, and each section below links to it as a file. In Python,",
            '`calibrant.outputs.schema("measure")` returns it.',
            "An undefined number is `null`, with its `reason` beside it.",
            "",
            "For a field with a record, the kind of record is named. The fields of each kind are listed "
            "below or above.",
            "",
            *(line for command in outputs() for line in command_fields(command, seen)),
        ]
    )


def command_fields(command: str, seen: dict[str, Any]) -> list[str]:
    """The fields of one command's output; those of each kind of record by themselves, once on the page."""
    from calibrant.outputs import outputs
    from calibrant.records import schema

    found = schema(outputs()[command], command=command)
    lines = [
        f"## calibrant {command}",
        "",
        f"`calibrant {command} --json` prints these fields "
        f'(<a href="schemas/{command.replace(" ", "-")}.json">JSON Schema</a>).',
        "",
        *field_table(found["properties"]),
    ]
    for name, kind in found["$defs"].items():
        if seen.get(name) != kind:
            lines += [f"### {name} ({command})", "", *field_table(kind["properties"])]
        seen[name] = kind
    return lines


def studies() -> str:
    """Return all studies in a table: question and answer of each page, and the verdicts of its record."""
    from calibrant_studies import _verdicts

    verdicts = get_args(_verdicts.Verdict)
    rule = (_verdicts.__doc__ or "").partition("\n\n")[2].strip()
    totals = Counter[str | None]()
    rows = []
    for name in STUDY_ORDER:
        head = (STUDIES / f"{name}.md").read_text(encoding="utf-8").split("---\n")[1]
        question, answer = (json.loads(line.partition(": ")[2]) for line in head.splitlines())
        findings = json.loads((STUDIES / f"{name}.json").read_text(encoding="utf-8"))["findings"]
        given = Counter(finding["verdict"] for finding in findings)
        totals += given
        counts = " | ".join(str(given[verdict]) for verdict in (*verdicts, None))
        rows.append(f"| [{name}]({name}.md) | {question} | {answer} | {counts} |")
    return "\n".join(
        [
            "# Studies",
            "",
            "The studies repeat the experiments of papers and simulate calibrant's methods. Each study is",
            "a command, `calibrant study NAME`, with a fixed seed. Its page compares each number of the",
            "paper with calibrant's and gives a verdict, also if a replication fails. If",
            "[data sets](../guide/data_sets.md) are missing, the command names those to fetch.",
            "",
            "Scripts make further pages of simulations: the coverage of [paired differences of runs]"
            "(run_coverage.md) beside other libraries, of [estimates](estimates.md) ([corrected counts]"
            "(estimate_coverage.md), also [by sampling design](sampling_coverage.md), and [regressions with "
            "predicted variables](regression_coverage.md)), of [proportions under label shift]"
            "(label_shift_coverage.md), of [judged systems](judge_coverage.md), also [beside other libraries]"
            "(judge_peers.md), of [counts corrected by readings](reading_coverage.md), of [guaranteed "
            "thresholds](threshold_coverage.md) beside MAPIE, and of [intervals in difficult situations]"
            "(interval_limits.md). [Articles of R's dsl](dsl_articles.md) compares regressions with "
            "published ones.",
            "",
            "The last columns count the numbers of each page by [verdict](#verdicts).",
            "",
            f"| study | question | answer | {' | '.join(verdicts)} | not in a paper |",
            "|---|---|---|" + "---:|" * (len(verdicts) + 1),
            *rows,
            f"| all | | | {' | '.join(str(totals[verdict]) for verdict in (*verdicts, None))} |",
            "",
            "## Verdicts",
            "",
            "One rule serves all studies (`calibrant_studies._verdicts`); no study states a verdict itself.",
            "",
            rule,
            "",
            "A number is *not comparable* if its data or its model differ from the paper's, so that it can",
            "neither confirm nor contradict the paper. It is *not in a paper* if no paper has such a number.",
            "",
            "```{toctree}",
            ":hidden:",
            "",
            *STUDY_ORDER,
            "```",
            "",
        ]
    )


def numbers() -> str:
    """The guide to the numbers, with new tables of fields between their marks.

    A section has a field once: its later tables omit a field with the same name and meaning. All tables
    omit the fields of a quantity, which the first table explains.
    """
    from calibrant import estimation, evaluation, events, results, structures
    from calibrant.records import Quantity, fields_of

    homes = (results, structures, events, evaluation, estimation)
    quantity = {(field.name, field.meaning) for field in fields_of(Quantity)}
    marks = re.compile(r"<!-- fields: (\w+) -->.*?<!-- end -->", re.DOTALL)

    def section(text: str) -> str:
        known = set(quantity)

        def table(match: re.Match[str]) -> str:
            home = next(each for each in homes if match[1] in each.__all__)
            fields = [
                each for each in fields_of(getattr(home, match[1])) if (each.name, each.meaning) not in known
            ]
            known.update((field.name, field.meaning) for field in fields)
            return "\n".join([match[0].partition("\n")[0], *fields_table(fields), "<!-- end -->"])

        return marks.sub(table, text)

    return "\n## ".join(map(section, NUMBERS.read_text(encoding="utf-8").split("\n## ")))


def fields_table(fields: list[Field]) -> list[str]:
    """A row per field. A label that only repeats the name is left out, and so is an empty column."""
    best = any(field.best is not None for field in fields)
    lines = ["| name, *label* | meaning |" + " best |" * best, "|---|---|" + "---|" * best]
    for field in fields:
        trivial = (field.name.replace("_", " "), field.name.rpartition("_warning")[1].strip("_"))
        label = "" if field.label.lower().replace("-", " ") in trivial else f", *{field.label}*"
        goal = "" if field.best is None else f" {field.best:g}"
        meaning = field.meaning.replace("|", chr(92) + "|")
        lines.append(f"| `{field.name}`{label} | {meaning} |" + f"{goal} |" * best)
    return lines


def pages() -> dict[Path, str]:
    """Return the text of each generated page."""
    return {
        PAGES / "command-line.md": command_line(),
        PAGES / "json.md": json_output(),
        NUMBERS: numbers(),
        STUDIES / "index.md": studies(),
        **api(),
    }


if __name__ == "__main__":
    for page, text in pages().items():
        page.write_text(text, encoding="utf-8")
