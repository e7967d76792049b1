"""Options that commands share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click

from calibrant.cli.made import options_of

if TYPE_CHECKING:
    from calibrant.cli.gates import Condition
    from calibrant.io import Columns
    from calibrant.records import Printed

Function = TypeVar("Function", bound=Callable[..., Any])

AT_LEAST_1 = click.IntRange(min=1)
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
EXECUTOR = click.option(
    "--executor",
    metavar="ADDRESS",
    default="processes",
    callback=lambda context, parameter, value: None if value == "processes" else value,
    help="Where the work runs: processes on this machine, or the address of a Dask scheduler "
    "(tcp://HOST:PORT) whose workers find models under the same paths.",
)
WORKERS = click.option(
    "--workers",
    type=click.IntRange(min=1),
    default=1,
    help="Number of processes. Each process loads its own copy of the model, so several processes pay off "
    "only for long texts and slow models, such as spaCy's.",
)
THREADS = click.option(
    "--threads", type=click.IntRange(min=1), help="Number of threads.  [default: all processors, at most 8]"
)
NAMES = click.option(
    "--name",
    "names",
    multiple=True,
    metavar="NAME",
    help="Name of each model, in order; repeat the option.  [default: its file's name]",
)

WIDTH = click.option(
    "--width",
    type=click.FloatRange(min=1, max=40),
    metavar="INCHES",
    help="Width of the figure in inches: 3.3 fits one column of a two-column page, 6.9 the full page.",
)
PLOT = (
    click.option(
        "--plot", metavar="FIGURE", help="Also draw the calibration curve to this file (.pdf, .svg or .png)."
    ),
    WIDTH,
)


def drawn_as(function: Function) -> Function:
    """Add the option for a command's figure; ``-o`` and ``--output`` are other names of ``--plot``."""
    names = "-o", "--output", "--plot"
    text = "Also draw the result to this file (.pdf, .svg or .png)."
    return added(function, (click.option(*names, "output", metavar="FIGURE", help=text), WIDTH))


FORMATS = ("text", "md", "latex", "tabular", "csv", "json")
_PRINTING = (
    click.option(
        "--format",
        "shape",
        type=click.Choice(FORMATS),
        help="Format of the printed result. md and latex: tables for a paper; tabular: the LaTeX tables "
        "without the table environment; csv: one table with all digits; json: the whole result.  "
        "[default: text]",
    ),
    click.option(
        "--full",
        is_flag=True,
        help="Print all tables and settings, not only the main table and a summary (with text).",
    ),
    click.option(
        "--table",
        metavar="NAME",
        help="Print only this table (with md, latex, tabular or csv); an unknown name lists the known ones.  "
        "[default: all; csv: the first]",
    ),
    click.option("--json", "as_json", is_flag=True, help="The same as --format json."),
    click.option(
        "--meanings",
        is_flag=True,
        help="Print an explanation of each number after the tables (with text, md, latex or tabular).",
    ),
    click.option(
        "--fail-if",
        "fail_if",
        multiple=True,
        metavar="CONDITION",
        help="Exit with code 3 if a number meets this condition, such as 'calibration_error.low > 0.05'. "
        "Names are those of --json. An undefined number meets the condition, unless it ends in "
        "'if defined'. May be repeated.",
    ),
)


@dataclass(frozen=True)
class Printing:
    """How a command prints its result.

    Attributes
    ----------
    shape
        One of `FORMATS`.
    full
        Print all of the text, not only its main table.
    table
        Name of the only table to print; None for all (in CSV, the first).
    meanings
        Explain each number below the tables.
    conditions
        Conditions; if one is met, the command exits with code 3 after it has printed its result.
    """

    shape: str
    full: bool = False
    table: str | None = None
    meanings: bool = False
    conditions: tuple[Condition, ...] = ()

    def show(
        self,
        record: Printed,
        lines: Callable[[list[str]], Sequence[str]] | None = None,
        *,
        steps: Sequence[str] = (),
        wrote: Sequence[str | None] = (),
        most: int | None = None,
        whole: bool = False,
        err: bool = False,
    ) -> None:
        """Print a result, and exit with code 3 if it meets a condition.

        ``lines`` returns the lines of the text format, from those of the record; if it is None, these are
        printed. ``wrote`` are the files that the command wrote, each of which a line names after these lines.
        ``steps`` are the commands to run next, which come last. ``most`` is the number of
        rows of tables of which a terminal shows a part; ``whole`` says that ``lines`` returns all there is.
        With ``err``, print to standard error and without steps, because standard output contains the result.
        """
        if self.shape == "text":
            shown = record.to_text(full=self.full, most=most).splitlines()
            more = not (whole or self.full) and len(record.to_text().splitlines()) > len(shown)
            shown = shown if lines is None else [*lines(shown)]
            if not err:
                written = [f"Wrote {file}" for file in wrote if file is not None]
                shown += ["", *written] if written else []
                rest = ["the same with --full    all tables, and how the numbers were computed"]
                steps = [*steps, *(rest if more else ())]
                shown += ["", "Next", *(f"  {step}" for step in steps)] if steps else []
            if self.meanings:
                texts = {text.casefold(): text for table in record.to_tables() for text in table.meanings()}
                shown += ["", "Meanings", *(f"  {text}" for text in texts.values())]
        else:
            click.echo(self._written(record).encode(), nl=False, err=err)
            shown = self._beside(record) if self.shape == "csv" else []
            err = True
        if shown:
            from calibrant.cli.text import show

            show(shown, err=err)
        if self.conditions:
            from calibrant.cli.gates import check
            from calibrant.records import Record

            assert isinstance(record, Record), "conditions are checked against the command's record"
            check(record, self.conditions)

    def _beside(self, record: Printed) -> list[str]:
        """Return the lines that CSV cannot contain: warnings, reasons and the names of other tables."""
        from calibrant.records.formats import named

        tables = record.to_tables()
        shown = named(tables, self.table)
        lines = list(shown.all_notes())
        others = [table.name for table in tables if table is not shown]
        if others and self.table is None:
            lines.append(
                f"This is the table {shown.name}. For another one, give --table: {', '.join(others)}."
            )
        return lines

    def _written(self, record: Printed) -> str:
        if self.shape == "json":
            return f"{record.to_json(indent=2)}\n"
        if self.shape == "md":
            return record.to_markdown(self.table, meanings=self.meanings)
        if self.shape == "csv":
            return record.to_csv(self.table)
        return record.to_latex(self.table, tabular=self.shape == "tabular", meanings=self.meanings)


def printing(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options of printing; the command receives them as ``printing``."""

    @wraps(function)
    def command(
        *args: Any,
        shape: str | None,
        table: str | None,
        as_json: bool,
        full: bool,
        meanings: bool,
        fail_if: tuple[str, ...],
        **options: Any,
    ) -> None:
        if as_json and shape not in (None, "json"):
            raise click.UsageError(f"--json and --format {shape} exclude each other: give one of them.")
        shape = "json" if as_json else shape or "text"
        if full and shape != "text":
            raise click.UsageError(f"--full requires --format text: {shape} has all tables.")
        if table is not None and shape in ("text", "json"):
            raise click.UsageError("--table requires --format md, latex, tabular or csv.")
        if meanings and shape in ("csv", "json"):
            hint = (
                "CSV contains the meanings in its column meaning"
                if shape == "csv"
                else "the JSON Schemas contain the meanings"
            )
            raise click.UsageError(f"--meanings requires --format text, md, latex or tabular: {hint}.")
        conditions: tuple[Condition, ...] = ()
        if fail_if:
            from calibrant.cli.gates import conditions_of

            conditions = conditions_of(fail_if)
        function(*args, printing=Printing(shape, full, table, meanings, conditions), **options)

    return added(command, _PRINTING)


def columns(function: Function) -> Function:
    """Add the options that name the columns."""
    form = click.option(
        "--form", type=click.Choice(["long", "wide"]), help="Form of the table, if its columns fit both."
    )
    named = [
        click.option(
            f"--{name}",
            parameter,
            metavar="NAME",
            multiple=name == "cluster",
            help=f"{text}  [default: {name}]",
        )
        for name, parameter, text in (
            ("score", "score", "Column of predicted probabilities."),
            ("label", "label", "Column of outcomes: 0 or 1, or class names in a wide table."),
            (
                "prediction",
                "prediction",
                "Column of the model's answers, of which the scores are the confidence.",
            ),
            ("class", "class_column", "Column of class names in a long table."),
            (
                "cluster",
                "cluster",
                "Column of clusters of dependent rows; without it, items that repeat. Give it twice for two "
                "kinds that are crossed, such as items and annotators.",
            ),
            ("weight", "weight", "Column of weights."),
            ("item", "item", "Column of items: their rows are a cluster, and models are paired by them."),
        )
    ]
    event = click.option(
        "--event",
        metavar="LABEL",
        help="Label that counts as 1 in a long table.  [default: 1, true, yes or pos]",
    )
    return added(function, (form, *LOGS, *named, event, SCORE_KIND))


SCORE_KIND = click.option(
    "--score-kind",
    type=click.Choice(["probability", "percent", "logit", "logprob", "ranking", "uncertainty"]),
    default="probability",
    help="Meaning of the scores. percent: 0 to 100, also as text such as 90%. logprob: logarithms of "
    "probabilities. ranking: only the order counts, for calibrant fit and threshold; uncertainty: a ranking "
    "whose lowest score is the surest.",
)


# Formats that `calibrant.io` writes, for the help of outputs; a test compares them with its list of formats.
WRITES = (
    "Table to write: .parquet, .arrow, .csv, .tsv or .jsonl (text formats may be compressed, as .csv.gz)."
)
WRITES_OR_PRINTS = f"{WRITES} - writes CSV to standard output, and messages to standard error."


def added(function: Function, options: Sequence[Callable[[Function], Function]]) -> Function:
    """Add options in the given order."""
    for option in reversed(options):
        function = option(function)
    return function


class MethodName(click.Choice[str]):
    """Name of a recalibrator, which may be one of another package."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the name."""
        from calibrant.plugins import RECALIBRATORS, entry_points_of

        if value in self.choices or value not in entry_points_of(RECALIBRATORS):
            return super().convert(value, param, ctx)
        return value


LOGS = (
    click.option(
        "--log-format",
        metavar="NAME",
        help="Format of a log, if it is not recognized: one of another package.",
    ),
    click.option(
        "--normalise",
        type=click.Choice(["none", "characters", "bytes"]),
        default="none",
        help="For logs: divide the log-likelihood of each answer option by its length (as acc_norm does).",
    ),
    click.option(
        "--gold",
        metavar="FILE",
        help="For logs of responses: file of right answers, one line per response: custom_id, a tab, the "
        "answer.",
    ),
    click.option(
        "--scorer", metavar="NAME", help="For logs of inspect_ai: the scorer to read, if several disagree."
    ),
    click.option(
        "--allow-dropped",
        is_flag=True,
        help="For logs: leave out samples that cannot be read, also if they are more than 5 %, or one has an "
        "answer.",
    ),
)


MEASURING = options_of(
    "calibrant.verbs.options:MeasuringOptions",
    samples=click.IntRange(min=2),
    seed=click.IntRange(min=0),
    threads=click.IntRange(min=1),
)
ENGINE = click.option(
    "--engine",
    type=click.Choice(["kernel", "duckdb"]),
    default="kernel",
    help="Reader of .parquet files: that of calibrant, or DuckDB, whose rows are then summed.",
)


def measuring(function: Function) -> Function:
    """Add the options of measuring."""
    return columns(options_of("calibrant.verbs.measuring:measure", "view", view="VIEW")(MEASURING(function)))


def settings_of(options: dict[str, Any]) -> dict[str, Any]:
    """Turn parsed options into arguments of `calibrant.verbs.measure`."""
    columns = columns_of(options)
    return {**options, "columns": columns, "command": command_line()}


def columns_of(options: dict[str, Any]) -> Columns:
    """Remove the names of columns from parsed options and return them."""
    from calibrant.io import Columns

    names = ["form", "score", "label", "prediction", "class_column", "cluster", "item", "weight"]
    names += ["event", "score_kind", "log_format", "normalise", "gold", "scorer", "allow_dropped"]
    engine = options.pop("engine", "kernel")
    clusters = options["cluster"]
    options["cluster"] = clusters[0] if len(clusters) == 1 else clusters or None
    return Columns(**{name: options.pop(name) for name in names}, engine=engine)


def spelled(columns: Columns, parts: Collection[str] | None = None) -> str:
    """Return the options that name these columns, for a suggested command; all, or those of some parts."""
    import shlex

    names = {"form": columns.form, **columns.named, "normalise": columns.normalise, "gold": columns.gold}
    names |= {"scorer": columns.scorer, "log-format": columns.log_format, "event": columns.event}
    names["score-kind"] = None if columns.score_kind == "probability" else columns.score_kind
    known = {part: value for part, value in names.items() if value not in (None, "none")}
    chosen = (part for part in known if parts is None or part in parts)
    flag = " --allow-dropped" if columns.allow_dropped and parts is None else ""
    return "".join(f" --{part.split()[-1]} {shlex.quote(str(known[part]))}" for part in chosen) + flag


def command_line() -> str:
    """Return the command that runs now, as it would be typed."""
    import shlex
    import sys

    return shlex.join(["calibrant", *sys.argv[1:]])
