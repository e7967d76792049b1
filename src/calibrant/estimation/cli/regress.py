"""`calibrant regress`: regressions whose outcome or covariates are predicted."""

from __future__ import annotations

import shlex
from typing import Any

import click

from calibrant.cli.made import Command, options_of
from calibrant.cli.options import WRITES, Printing, command_line, printing

ADJUSTED = (
    "Also write the variables and the column corrected: the outcome that other programs regress to get these "
    "coefficients."
)


@click.command(
    "regress",
    cls=Command,
    short_help="Fit a regression with predicted variables, corrected by labels.",
    epilog='Example: calibrant regress posts.csv --formula "topic ~ year + C(party)" --predicted topic=gpt',
)
@click.argument("predictions", metavar="FILE")
@options_of(
    "calibrant.estimation.verbs.regressing:regress",
    leave=("predictions", "output"),
    formula="FORMULA",
    labels="FILE",
    predicted="NAME[=COLUMN,...]",
    at="NAME[=VALUES]",
    **dict.fromkeys(("fixed", "item", "inclusion_probability", "cluster", "weight"), "NAME"),
)
@click.option("-o", "--output", metavar="OUT", help=f"{ADJUSTED} {WRITES}")
@printing
def command(predictions: str, printing: Printing, **options: Any) -> None:
    """Fit a regression in which a model predicted the outcome, covariates or both.

    FILE is a table with one row per document, and with the predictions of all of them. Gold values of a
    random subsample are in a separate table, or in columns of FILE that are empty for the other rows.
    """
    from calibrant.estimation.verbs.regressing import regress

    record = regress(predictions, command=command_line(), **options)
    output, steps = options["output"], []
    if output is not None:
        steps = [f"regress the column corrected of {shlex.quote(output)} with OLS in R, Stata or statsmodels"]
    printing.show(record, steps=steps, wrote=[output])
