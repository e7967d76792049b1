"""`calibrant plan-judge`: how many labels a comparison by a judge needs."""

from __future__ import annotations

from typing import Any

import click

from calibrant.cli.made import Command, options_of
from calibrant.cli.options import Printing, printing


@click.command(
    "plan-judge",
    cls=Command,
    short_help="Compute how many labels a comparison by a judge needs, from a pilot.",
    epilog="Example: calibrant plan-judge judged.csv --difference 0.1",
)
@click.argument("source", metavar="FILE")
@options_of(
    "calibrant.estimation.verbs.judge_plans:plan_judge",
    leave=("source",),
    label_range=click.Tuple([float, float]),
    view="class:NAME",
    **dict.fromkeys(
        ("system", "item", "judge", "label", "annotator", "inclusion_probability", "cluster", "run"), "NAME"
    ),
)
@printing
def command(source: str, printing: Printing, **options: Any) -> None:
    """Compute how many labeled prompts give an interval of a wanted width, or detect a difference.

    FILE is the table of a pilot, as for calibrant judge: about 50 labeled prompts, the same for all systems.
    The output also says if the judge helps at all: if the interval of its gain contains 1, the labels alone
    are about as good.
    """
    from calibrant.estimation.verbs.judge_plans import plan_judge

    record = plan_judge(source, **options)
    printing.show(record, steps=["calibrant judge FILE"])
