"""`calibrant coref`: coreference models whose probabilities can be checked."""

from __future__ import annotations

from calibrant.cli.group import CommandGroup

command = CommandGroup(
    name="coref",
    short_help="Coreference: train, predict, and check the probabilities of pairs.",
    help="Train a model of which mentions are of one entity, write its posteriors, and check how far the "
    "probabilities of pairs of mentions can be trusted.\n\n"
    "Texts are CoNLL-2012 (LitBank) or CoNLL-U with Entity= (GUM, CorefUD). Posteriors of any other system "
    "come in as JSON lines. Each command takes --json.",
    epilog="Example: calibrant coref predict litbank FILE -o posteriors.jsonl",
    commands={
        "train": "calibrant.structures.cli.coref_train",
        "predict": "calibrant.structures.cli.coref_predict",
        "eval": "calibrant.structures.cli.coref_eval",
        "pairs": "calibrant.structures.cli.coref_pairs",
    },
)
