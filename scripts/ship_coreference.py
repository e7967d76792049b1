"""Train the coreference model that ships, on LitBank: src/calibrant/structures/models/shipped/litbank.model.

Its penalty is chosen, and its temperature fitted, on the dev split; nothing is fitted on the test split. The
same data give the same bytes. `CALIBRANT_DATA` names the folder of the data.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from calibrant.structures.models.shipped import ENDING, FOLDER
from calibrant.structures.verbs.coreference import evaluate_coreference
from calibrant.structures.verbs.coreference_training import train_coreference

NAME = "litbank"
ABOUT = "LitBank: 80 works of English fiction, 1719 to 1922"


def ship(data: Path) -> str:
    """Train, save, and return what to write in the README."""
    train, dev, test = (data / "litbank-coref" / f"litbank-coref.{part}.conll.gz" for part in PARTS)
    output = FOLDER / f"{NAME}{ENDING}"
    output.unlink(missing_ok=True)
    _, trained = train_coreference(train, dev, output=output, about=ABOUT)
    lines = [
        f"settings {trained.settings}, temperature {trained.temperature:.4f}",
        f"{output.stat().st_size:,} bytes",
    ]
    for name, path in (("dev", dev), ("test", test)):
        scores = evaluate_coreference(output, path).scores
        lines.append(f"{name}: CoNLL F1 {scores.conll_f1.estimate:.4f}")
    return "\n".join(lines)


PARTS = ("train", "dev", "test")

if __name__ == "__main__":
    sys.stdout.write(ship(Path(os.environ["CALIBRANT_DATA"])) + "\n")
