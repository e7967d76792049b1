"""`calibrant protocol`: a complete evaluation that one file describes."""

from __future__ import annotations

import click

from calibrant.cli.made import Command
from calibrant.cli.options import Printing, command_line, printing
from calibrant.cli.progress import ProgressLine


@click.command(
    "protocol",
    cls=Command,
    short_help="Run an evaluation from one file: task, reference, agreement, systems, tests.",
    epilog="Example: calibrant protocol --example summaries && calibrant protocol summaries/eval.toml",
)
@click.argument("file", metavar="[EVAL.toml]", required=False)
@click.option("-o", "--output", metavar="FILE", default="report.html", help="The report to write.")
@click.option("--title", help="Title of the report.  [default: the task's name]")
@click.option(
    "--example",
    type=click.Choice(["summaries", "sentiment"]),
    help="Write an example evaluation into a new folder of that name, and evaluate nothing.",
)
@printing
def command(
    file: str | None, output: str, title: str | None, example: str | None, printing: Printing
) -> None:
    """Evaluate the systems that EVAL.toml names, and write a report that ends with the conclusions.

    EVAL.toml names the task (its labels and the budget per document), the annotators' labels, the rule that
    makes a reference from them, the systems' labels or probabilities, and the settings of the statistics.
    Paths in it are relative to its folder.
    """
    from calibrant.cli.text import show

    if example is not None:
        if file is not None:
            raise click.UsageError("--example only writes files: leave EVAL.toml out")
        if printing.conditions:
            raise click.UsageError("--example only writes files: leave --fail-if out")
        from calibrant.evaluation.verbs.protocol_steps import write_example

        show([f"Wrote {path}" for path in write_example(example)])
        return
    if file is None:
        raise click.UsageError("Missing argument 'EVAL.toml'.")
    from calibrant.evaluation.files.protocol_file import read_protocol_file
    from calibrant.evaluation.pages.page import protocol_page
    from calibrant.evaluation.verbs.protocol_steps import protocol
    from calibrant.io.atomic import keep_sources
    from calibrant.pages import write
    from calibrant.pages.report_page import check_page

    keep_sources(output, file, *read_protocol_file(file).files)
    check_page(output)
    with ProgressLine() as progress:
        record = protocol(file, progress=progress, command=command_line())
        progress("drawing")
        write(output, protocol_page(record, title=title))
    printing.show(record, wrote=[output])
