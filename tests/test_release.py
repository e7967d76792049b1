"""The metadata of the distribution, as the package index shows it."""

from __future__ import annotations

import email
import re
import tomllib
from pathlib import Path

import pytest
from hatchling.build import prepare_metadata_for_build_wheel

LINK = re.compile(r"\]\(([^)\s]+)\)")


@pytest.fixture
def metadata(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> email.message.Message:
    """The metadata of the wheel."""
    monkeypatch.chdir(root)
    folder = prepare_metadata_for_build_wheel(str(tmp_path))
    return email.message_from_string((tmp_path / folder / "METADATA").read_text(encoding="utf-8"))


def test_every_link_of_the_package_index_leads_to_a_file_of_the_version(
    metadata: email.message.Message, root: Path
) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    repository, text = project["urls"]["Repository"], str(metadata.get_payload())
    links = LINK.findall(text)
    own = [link for link in links if link.startswith(f"{repository}/")]
    assert len(own) >= 20
    assert not [link for link in links if ":" not in link and not link.startswith("#")]
    for link in own:
        kind, version, path = link.removeprefix(f"{repository}/").split("/", 2)
        assert version == f"v{project['version']}"
        assert kind == ("raw" if path.endswith((".svg", ".png")) else "blob")
        assert (root / path.partition("#")[0]).is_file(), path


def test_the_readme_itself_is_the_same_but_for_its_links(metadata: email.message.Message, root: Path) -> None:
    own = (root / "README.md").read_text(encoding="utf-8")
    shown = str(metadata.get_payload())
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert LINK.sub("]()", shown).split() == LINK.sub("]()", own).split()


def test_the_owner_of_the_repository_is_named_once(root: Path) -> None:
    files = [root / "README.md", root / "CITATION.cff", root / "docs" / "conf.py", root / "action.yml"]
    files += [*(root / ".github").rglob("*.yml"), *(root / "studies").glob("*.toml")]
    repository = re.compile(r"github\.com/[\w-]+/calibrant")
    assert len(repository.findall((root / "pyproject.toml").read_text(encoding="utf-8"))) == 1
    assert not [path for path in files if repository.search(path.read_text(encoding="utf-8"))]
