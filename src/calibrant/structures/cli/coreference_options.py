"""Options that the commands on coreference share."""

from __future__ import annotations

from calibrant.cli.made import options_of

coreference = options_of(
    "calibrant.structures.verbs.coreference:predict_coreference",
    "detect",
    "possessive_endings",
    "parser",
    "clustering",
    parser="PIPELINE",
)
