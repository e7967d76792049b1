"""List the licenses of calibrant's dependencies, and their known vulnerabilities.

python scripts/dependencies.py licenses        writes docs/reference/dependencies.md from what is installed
python scripts/dependencies.py audit FOLDER    compares requirements/*.lock, and the oldest versions that
                                               pyproject.toml allows, with a clone of
                                               https://github.com/pypa/advisory-database
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reference" / "dependencies.md"
STUDIES = "calibrant-studies"  # a distribution of its own, in studies/
# Extras for users; the other extras are for development.
EXTRAS = ("", "estimation", "plots", "events", "spacy", "duckdb", "dask", "spark", "web", STUDIES)
ELSEWHERE = {"pyspark": "Apache-2.0"}  # what no lock has
HEAD = """# Dependencies and their licenses

Packages that `pip install calibrant` and its extras install, with their dependencies, as locked in
`requirements/` (without packages for other operating systems). `python scripts/dependencies.py licenses`
writes this page from what the packages say of themselves.

`python scripts/dependencies.py audit FOLDER` compares the locked versions, and the oldest ones that
`pyproject.toml` allows, with the known vulnerabilities in a clone of
[the advisory database](https://github.com/pypa/advisory-database).
"""


def project() -> dict[str, list[Requirement]]:
    """The requirements by extra, the core's under the empty name, and those of the studies."""
    told, studies = (
        tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        for folder in (ROOT, ROOT / "studies")
    )
    texts = {"": told["dependencies"], **told["optional-dependencies"], STUDIES: studies["dependencies"]}
    return {extra: [Requirement(text) for text in found] for extra, found in texts.items()}


def needed(wanted: list[Requirement]) -> set[str]:
    """Names of all packages that these need here, themselves included, as far as they are installed."""
    found: set[str] = set()
    waiting = [(requirement, "") for requirement in wanted]
    while waiting:
        requirement, extra = waiting.pop()
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": extra}):
            continue
        name = canonicalize_name(requirement.name)
        if name == "calibrant" or (name in found and not requirement.extras):
            continue
        found.add(name)
        try:
            below = [Requirement(text) for text in distribution(name).requires or ()]
        except PackageNotFoundError:
            continue
        waiting += [(each, own) for own in ("", *requirement.extras) for each in below]
    return found


def license(name: str) -> str:
    """Return the license in the metadata of an installed package."""
    try:
        about = distribution(name).metadata
    except PackageNotFoundError:
        return ELSEWHERE.get(name, "not installed here")
    told = about.get_all("License-Expression") or []
    classes = [text.split(" :: ")[-1] for text in about.get_all("Classifier") or [] if "License ::" in text]
    free = "".join(about.get_all("License") or []).strip().split("\n")[:1]
    return ", ".join(told or classes or free) or "not stated"


def licenses() -> str:
    """The page."""
    text, seen = HEAD, set[str]()
    for extra, wanted in project().items():
        if extra not in EXTRAS:
            continue
        names = needed(wanted) - seen
        seen |= names
        text += f"\n## {f'Extra `{extra}`' if extra and extra != STUDIES else extra or 'Core'}\n\n"
        if not names:
            text += "Nothing that is not listed above.\n"
            continue
        direct = {canonicalize_name(requirement.name) for requirement in wanted}
        text += "| package | license |\n|---|---|\n"
        for name in sorted(names, key=lambda name: (name not in direct, name)):
            shown = f"`{name}`" if name in direct else f"`{name}` (needed by these)"
            text += f"| {shown} | {license(name)} |\n"
    return text


def locked() -> Iterator[tuple[str, str, Version]]:
    """Where a version is asked for, the package, and the version."""
    for lock in sorted((ROOT / "requirements").glob("*.lock")):
        for name, version in re.findall(
            r"^([\w.-]+)==([^\s;\\]+)", lock.read_text(encoding="utf-8"), re.MULTILINE
        ):
            yield lock.name, canonicalize_name(name), Version(version)
    for wanted in project().values():
        for requirement in wanted:
            for limit in requirement.specifier:
                if limit.operator == ">=":
                    yield "oldest allowed", canonicalize_name(requirement.name), Version(limit.version)


def affects(advisory: dict[str, Any], name: str, version: Version) -> bool:
    """Return True if an advisory in the OSV format is about this version of a package."""
    entries = [entry for entry in advisory.get("affected", ()) if entry["package"]["ecosystem"] == "PyPI"]
    for entry in entries:
        if canonicalize_name(entry["package"]["name"]) != name:
            continue
        spans = [span for span in entry.get("ranges", ()) if span["type"] == "ECOSYSTEM"]
        if str(version) in entry.get("versions", ()) or any(_inside(span, version) for span in spans):
            return True
    return False


def _inside(span: dict[str, Any], version: Version) -> bool:
    inside = False
    for event in span["events"]:
        [(kind, text)] = event.items()
        if kind == "introduced":
            inside = inside or version >= Version(text)
        elif (kind == "fixed" and version >= Version(text)) or (
            kind == "last_affected" and version > Version(text)
        ):
            inside = False
    return inside


def audit(folder: Path) -> int:
    """Print what is known of our versions; return how many findings there are."""
    findings = checked = 0
    for where, name, version in locked():
        checked += 1
        for file in sorted((folder / "vulns" / name).glob("*.yaml")):
            advisory = yaml.safe_load(file.read_text(encoding="utf-8"))
            if "withdrawn" not in advisory and affects(advisory, name, version):
                findings += 1
                what = " ".join(advisory["details"].split())[:120]
                print(f"{where}: {name} {version}: {advisory['id']} {what}")
    print(f"{checked} versions, {findings} findings")
    return findings


def main(arguments: list[str]) -> int:
    """Do what is asked; 2 where that is not understood."""
    if arguments == ["licenses"]:
        PAGE.write_text(licenses(), encoding="utf-8")
        return 0
    if len(arguments) == 2 and arguments[0] == "audit" and (Path(arguments[1]) / "vulns").is_dir():
        return min(audit(Path(arguments[1])), 1)
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
