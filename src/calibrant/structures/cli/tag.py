"""`calibrant tag`: train and evaluate taggers."""

from __future__ import annotations

from calibrant.cli.group import CommandGroup

command = CommandGroup(
    name="tag",
    short_help="Train taggers, write their probabilities, and measure their calibration.",
    help="Train taggers, write the probability of every tag of every word, and measure how well these "
    "probabilities are calibrated.\n\n"
    "Texts are CoNLL-U, or text with one token and its tags per line and a blank line after each sentence. "
    "Each command takes --json.",
    epilog="Example: calibrant tag train train.conllu --dev dev.conllu -o pos.model",
    commands={
        "train": "calibrant.structures.cli.tag_train",
        "predict": "calibrant.structures.cli.tag_predict",
        "eval": "calibrant.structures.cli.tag_eval",
    },
)
