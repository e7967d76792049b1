"""Build hook: the README of the package index, whose relative links lead to the repository of this version.

The repository is named once, in ``[project.urls]`` of ``pyproject.toml``.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

RELATIVE = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!\w+:|#)([^)\s]+)\)")


def absolute(text: str, repository: str, version: str) -> str:
    """Return a page in Markdown with links to files of a version instead of relative ones.

    Examples
    --------
    >>> absolute("[Guide](docs/a.md#b) ![](c.svg) [d](#e)", "https://x.org/me/it", "1.0")
    '[Guide](https://x.org/me/it/blob/v1.0/docs/a.md#b) ![](https://x.org/me/it/raw/v1.0/c.svg) [d](#e)'
    """

    def link(found: re.Match[str]) -> str:
        image, label, path = found.groups()
        return f"{image}[{label}]({repository}/{'raw' if image else 'blob'}/v{version}/{path})"

    return RELATIVE.sub(link, text)


class AbsoluteLinks(MetadataHookInterface):
    """Sets the README, which ``pyproject.toml`` declares as dynamic."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Read the README of the project, and make its links absolute."""
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        text = absolute(text, metadata["urls"]["Repository"], metadata["version"])
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
