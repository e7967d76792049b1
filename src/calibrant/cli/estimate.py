"""`calibrant estimate`: counts that a labelled subsample corrects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from calibrant.cli._options import LEVEL, Printing, command_line, printing

if TYPE_CHECKING:
    from calibrant.results.estimates import CorrectedCounts, CorrectedMean

MOST = 3  # estimates that a note names
METHODS = ("uncorrected", "labels", "ppi", "ppi++", "dsl", "prior-shift")


@click.command(
    "estimate",
    short_help="Correct a count by a labelled subsample.",
    epilog="Example: calibrant estimate scores.parquet --labelled labels.csv --by year",
)
@click.argument("predictions", metavar="PRED")
@click.option(
    "--labelled",
    required=True,
    metavar="LABELS",
    help="Table of a random subsample: item, label (0 / 1); chance where documents were chosen with unequal "
    "probabilities; cluster where labels are dependent.",
)
@click.option(
    "--by",
    type=click.Choice(["week", "month", "quarter", "year"]),
    help="Period of the column date.  [default: the column period, if there is one]",
)
@click.option(
    "--method",
    "methods",
    multiple=True,
    type=click.Choice(METHODS),
    help="May be repeated.  [default: all]",
)
@click.option(
    "--population",
    type=click.Choice(["corpus", "superpopulation"]),
    default="corpus",
    show_default=True,
    help="What is estimated: the number in these documents, or in what they were drawn from.",
)
@click.option(
    "--sampling",
    type=click.Choice(["detect", "fixed", "independent"]),
    default="detect",
    show_default=True,
    help="How documents with unequal chances were chosen: a fixed number of each group with one chance, or "
    "each document independently; detect concludes it from the chances.",
)
@LEVEL
@click.option("--score", metavar="NAME", default="score", show_default=True, help="Column of probabilities.")
@click.option("--label", metavar="NAME", default="label", show_default=True, help="Column of labels.")
@click.option(
    "--item", metavar="NAME", default="item", show_default=True, help="Column that names documents."
)
@printing
def command(
    predictions: str, labelled: str, methods: tuple[str, ...], printing: Printing, **options: Any
) -> None:
    """Estimate how many documents have something, by period, from scores of all and labels of some.

    PRED is a table with item and score, and period or date. The labels must be of a random subsample.
    """
    from calibrant.workflow import estimate

    given = {"methods": methods or METHODS, "command": command_line(), **options}
    found = estimate(predictions, labelled, **given)

    printing.show(found, lambda: _lines(found))


def _lines(found: CorrectedCounts) -> list[str]:
    from calibrant.cli import _text as text

    share = text.percent(found.level)
    lines = [
        f"{found.documents:,} documents, {found.labelled:,} of them labelled; intervals of {share}, "
        f"of the {found.population}",
        _sampling(found),
        "",
    ]
    rows = [["period", "method", "labels", "documents", "count", "interval", "share"]]
    rows += [_row(one) for one in found.estimates]
    lines += text.table(rows, left=2)
    reasons: dict[str, list[str]] = {}
    for one in found.estimates:
        for reason in dict.fromkeys(one.reasons.values()):
            reasons.setdefault(reason, []).append(f"{one.period or 'all'} {one.method}")
    notes = [f"  {_where(names)}: {reason}" for reason, names in reasons.items()]
    return lines + (["", *notes] if notes else [])


def _sampling(found: CorrectedCounts) -> str:
    design = {
        "simple": "simple random sampling, in each period",
        "fixed": "a fixed number of labels for each group of documents with one chance",
        "independent": "each document was chosen independently, with its own chance",
    }[found.sampling]
    clusters = "" if found.clusters is None else f"; labels in {found.clusters:,} clusters"
    detected = " (detected from the chances; state it with --sampling)" if found.sampling_detected else ""
    return f"variance of {design}{detected}{clusters}"


def _where(names: list[str]) -> str:
    return ", ".join(names[:MOST]) + (f" and {len(names) - MOST} more" if len(names) > MOST else "")


def _row(one: CorrectedMean) -> list[str]:
    from calibrant.cli import _text as text

    period = "all" if one.period is None else one.period
    labels = "-" if one.method == "uncorrected" else f"{one.labelled:,}"
    if one.count is None:
        return [period, one.method, labels, f"{one.documents:,}", "-", "-", "-"]
    interval = "-"
    if one.count_low is not None and one.count_high is not None:
        interval = f"[{one.count_low:,.1f}, {one.count_high:,.1f}]"
    share = text.number(one.mean)
    return [period, one.method, labels, f"{one.documents:,}", f"{one.count:,.1f}", interval, share]
