"""Slow parts of a study: computed once, kept, and reused if the settings are the same."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from calibrant.io.atomic import writing


@dataclass(frozen=True)
class KeptPart:
    """A part that is kept as JSON.

    Attributes
    ----------
    file
        Its name in the folder of what is kept.
    settings
        Settings as JSON; a part with other settings is computed again.
    """

    file: str
    settings: Mapping[str, Any]

    def there(self, folder: Path) -> dict[str, Any] | None:
        """Return the kept part; None if there is none with these settings."""
        file = folder / self.file
        found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        return found if found.get("settings") == self.settings else None

    def take(self, folder: Path, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Take what is kept, or make it and keep it."""
        if self.there(folder) is None:
            values = {**make(), "settings": self.settings}
            with writing(folder / self.file) as out:
                out.write(json.dumps(values).encode())
        found = self.there(folder)
        assert found is not None
        return found
