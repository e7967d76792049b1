"""One half of the study of neural networks: logits that are given, or networks that are trained."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from calibrant_studies._base import Finding, Row


@dataclass(frozen=True)
class Half:
    """Part of the study's record that one half adds.

    Attributes
    ----------
    data
        Digest of every file that was read, by its name.
    parameters
        Settings by name.
    findings
        Numbers beside the paper's; their names begin with the half's.
    tables
        Rows by name of the table; the names begin with the half's.
    """

    data: dict[str, str]
    parameters: dict[str, Any]
    findings: tuple[Finding, ...]
    tables: dict[str, list[Row]] = field(default_factory=dict)
