"""`calibrant parse`: train and evaluate dependency parsers."""

from __future__ import annotations

from calibrant.cli.group import CommandGroup

command = CommandGroup(
    name="parse",
    short_help="Train dependency parsers, write their trees, and measure their calibration.",
    help="Train dependency parsers, write trees with the probability of each arc, and measure how well the "
    "probabilities of arcs are calibrated.\n\n"
    "Texts are CoNLL-U. Scores of arcs of other parsers are read from .npz and JSON lines. Each command "
    "takes --json.",
    epilog="Example: calibrant parse train train.conllu --dev dev.conllu -o parser.model",
    commands={
        "train": "calibrant.structures.cli.parse_train",
        "predict": "calibrant.structures.cli.parse_predict",
        "eval": "calibrant.structures.cli.parse_eval",
    },
)
