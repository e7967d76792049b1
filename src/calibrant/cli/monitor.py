"""`calibrant monitor`: a stream of predictions, watched day by day."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from calibrant.cli._options import Printing, columns, columns_of, drawn_as, printing

if TYPE_CHECKING:
    from calibrant.results.monitoring import Monitoring


@click.command(
    "monitor",
    short_help="Watch a stream of predictions day by day, with alarms that are seldom false.",
    epilog="Example: calibrant monitor scored.parquet --time date --state monitor.json -o monitor.svg",
)
@click.argument("predictions", metavar="PRED")
@click.option(
    "--time",
    required=True,
    metavar="COLUMN",
    help="Column of dates (YYYY-MM-DD) or time stamps: when the label came.",
)
@click.option(
    "--by",
    type=click.Choice(["day", "week", "month", "value"]),
    default="day",
    show_default=True,
    help="Windows. value: what stands in the column, numbers or text in their order.",
)
@click.option(
    "--against",
    type=click.Choice(["calibrated", "reference"]),
    default="calibrated",
    show_default=True,
    help="What is no fault: that scores are calibrated, or errors as in the reference period.",
)
@click.option("--reference", metavar="DAY", help="Last day of the reference period.")
@click.option(
    "--alpha",
    type=float,
    default=0.01,
    show_default=True,
    help="Probability that there is ever a false alarm. With --restart: one over the mean number of windows "
    "between them.",
)
@click.option(
    "--epsilon", type=float, default=0.0, show_default=True, help="Mean error that is no fault yet."
)
@click.option(
    "--unit",
    type=click.Choice(["day", "cluster", "item", "dependent-day"]),
    default="day",
    show_default=True,
    help="What is independent given the past. day: windows, not the labels of one. cluster and item find a "
    "change much sooner, if it is true. dependent-day: nothing; errors may persist for days.",
)
@click.option("--restart", is_flag=True, help="Start again after each alarm.")
@click.option("--event", metavar="EVENT", help="binary, class:NAME, or of a wide table top or pooled.")
@click.option(
    "--state", metavar="FILE", help="Keep the monitor in FILE; windows that it has taken are passed over."
)
@drawn_as
@columns
@printing
def command(predictions: str, output: str | None, printing: Printing, **options: Any) -> None:
    """Watch whether the labels in PRED go on as the scores say.

    PRED is a table as for calibrant measure, with a column of time. However often you look, the probability
    that there is ever a false alarm is at most ALPHA, under the condition of the --unit, which is printed.
    The guide, docs/guide/monitoring.md, explains the conditions and what late labels do.
    """
    from calibrant.workflow import monitor

    found = monitor(predictions, output=output, columns=columns_of(options), **options)
    wrote = [] if output is None else [f"Wrote {output}"]
    printing.show(found, lambda: [*lines_of(found, predictions), *wrote])


def lines_of(found: Monitoring, file: str) -> list[str]:
    """Word what was monitored, a line a window."""
    from calibrant.cli import _text as text

    against = "calibrated scores" if found.against == "calibrated" else "the reference period"
    lines = [f"{file}: {text.counted(len(found.days), 'window')} against {against}; {_promise(found)}"]
    lines += [f"Condition: {found.condition}", ""]
    rows = [["window", "n", "score", "frequency", "error", "95 % interval", "log10 e", ""]]
    for day in found.days:
        rows.append(
            [
                str(day.day),
                text.count(day.n),
                text.number(day.score),
                text.number(day.frequency),
                text.number(day.error),
                text.between(day.low, day.high),
                f"{day.log10_e:.2f}",
                "ALARM" if day.alarm else "",
            ]
        )
    lines += [*text.table(rows), ""]
    if found.alarms:
        named = ", ".join(map(str, found.alarms[:10])) + (", ..." if len(found.alarms) > 10 else "")
        lines.append(f"ALARM on {named}")
    last = found.days[-1] if found.days else None
    if last is not None and last.leading is not None and found.alarms:
        lines.append(f"Most of the evidence: {last.leading}")
    if not found.alarms:
        lines.append(f"No alarm: the evidence stays below {found.threshold:.2f}")
    notes = {name: reason for name, reason in found.reasons.items() if name.endswith("warning")}
    meaning = [found.reasons["alarm"]] if "alarm" in found.reasons else []
    return [*lines, *meaning, *text.notes(notes)]


def _promise(found: Monitoring) -> str:
    if found.restart:
        return f"at least {1 / found.alpha:,.0f} windows between false alarms, on average"
    return f"a false alarm, ever, has a probability of at most {100 * found.alpha:g} %"
