"""`calibrant plan-regress`: how many labels a coefficient of a regression needs."""

from __future__ import annotations

from typing import Any

import click

from calibrant.cli.made import Command, options_of
from calibrant.cli.options import Printing, printing


@click.command(
    "plan-regress",
    cls=Command,
    short_help="Compute how many labels a coefficient of a regression needs, from a pilot.",
    epilog='Example: calibrant plan-regress posts.csv --formula "topic ~ year" --predicted topic=gpt '
    "--term year --width 0.1",
)
@click.argument("predictions", metavar="FILE")
@options_of(
    "calibrant.estimation.verbs.regression_plans:plan_regress",
    leave=("predictions",),
    formula="FORMULA",
    labels="FILE",
    predicted="NAME[=COLUMN,...]",
    term="TERM",
    **dict.fromkeys(("item", "inclusion_probability"), "NAME"),
)
@printing
def command(predictions: str, printing: Printing, **options: Any) -> None:
    """Compute how many labels a coefficient needs for a wanted width, or to tell an effect from 0.

    FILE is a table of all rows with predictions, and --labels the labels of a pilot, as for calibrant
    regress. The output compares labels alone and labels with predictions.
    """
    from calibrant.estimation.verbs.regression_plans import plan_regress

    record = plan_regress(predictions, **options)
    printing.show(record, steps=["calibrant sample FILE --size LABELS -o sample.csv"])
