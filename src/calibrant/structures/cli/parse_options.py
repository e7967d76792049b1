"""Options that the commands on parsers share."""

from __future__ import annotations

from calibrant.cli.made import options_of

tags = options_of(
    "calibrant.structures.verbs.parsing:predict_trees",
    "tagger",
    "column",
    tagger="MODEL",
    column="COLUMN",
)
