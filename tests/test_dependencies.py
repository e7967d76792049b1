from __future__ import annotations

import importlib
import re
from pathlib import Path
from types import ModuleType

import pytest
from packaging.version import Version

ADVISORY = {
    "id": "MADE-UP-1",
    "affected": [
        {
            "package": {"name": "Some_Package", "ecosystem": "PyPI"},
            "ranges": [
                {
                    "type": "ECOSYSTEM",
                    "events": [{"introduced": "1.2"}, {"fixed": "1.4"}, {"introduced": "2"}],
                }
            ],
            "versions": ["0.9"],
        }
    ],
}


@pytest.fixture
def dependencies(root: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(root / "scripts"))
    return importlib.import_module("dependencies")


def test_the_page_names_the_license_of_all_that_is_asked_for(root: Path, dependencies: ModuleType) -> None:
    page = (root / "docs" / "reference" / "dependencies.md").read_text(encoding="utf-8")
    listed = dict(re.findall(r"^\| `([^`]+)`[^|]*\| ([^|]+) \|$", page, re.MULTILINE))
    asked = [
        each
        for extra, wanted in dependencies.project().items()
        if extra in dependencies.EXTRAS
        for each in wanted
    ]
    assert {dependencies.canonicalize_name(each.name) for each in asked} <= {*listed, "calibrant"}
    for name, license in listed.items():
        assert "not stated" not in license, name
        assert "GPL" not in license, name


@pytest.mark.parametrize(
    ("version", "affected"),
    [("0.9", True), ("1.1", False), ("1.2", True), ("1.3.9", True), ("1.4", False), ("2.0", True)],
)
def test_an_advisory_is_about_the_versions_in_its_ranges(
    dependencies: ModuleType, version: str, affected: bool
) -> None:
    assert dependencies.affects(ADVISORY, "some-package", Version(version)) is affected
    assert not dependencies.affects(ADVISORY, "another", Version(version))
