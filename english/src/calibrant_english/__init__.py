"""Models for English texts that calibrant finds when this distribution is installed.

`calibrant.structures.models.english` reads them. The folder has a tagger, a splitter of sentences, a
dependency parser, a table of lemmas and a coreference model; ``about.json`` states what they were trained on.
"""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent / "models"
