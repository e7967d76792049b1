"""`calibrant coref`: train and evaluate coreference models."""

from __future__ import annotations

from calibrant.cli.group import CommandGroup

command = CommandGroup(
    name="coref",
    short_help="Train coreference models, write their posteriors, and measure their calibration.",
    help="Train coreference models, write their posteriors, and measure how well their probabilities that "
    "two mentions corefer are calibrated.\n\n"
    "Texts are CoNLL-2012 (LitBank) or CoNLL-U with Entity= (GUM, CorefUD). Posteriors of other systems are "
    "read from JSON lines. Each command takes --json.",
    epilog="Example: calibrant coref predict litbank test.conll -o posteriors.jsonl",
    commands={
        "train": "calibrant.structures.cli.coref_train",
        "predict": "calibrant.structures.cli.coref_predict",
        "eval": "calibrant.structures.cli.coref_eval",
        "pairs": "calibrant.structures.cli.coref_pairs",
    },
)
