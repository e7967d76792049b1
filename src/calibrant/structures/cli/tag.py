"""`calibrant tag`: taggers whose probabilities can be checked."""

from __future__ import annotations

from calibrant.cli.group import CommandGroup

command = CommandGroup(
    name="tag",
    short_help="Taggers: train, predict, and check their probabilities.",
    help="Train a tagger, write its probability of every tag of every word, and check how far these can be "
    "trusted.\n\n"
    "Texts are CoNLL-U, or one token and its tags a line with a blank line after each sentence. Each command "
    "takes --json.",
    epilog="Example: calibrant tag train train.conllu --dev dev.conllu -o pos.model",
    commands={
        "train": "calibrant.structures.cli.tag_train",
        "predict": "calibrant.structures.cli.tag_predict",
        "eval": "calibrant.structures.cli.tag_eval",
    },
)
