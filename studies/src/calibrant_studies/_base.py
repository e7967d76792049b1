"""Record of a study, and the page made from it.

A study is a function from data to a `Study`. `save` writes the record as ``NAME.json`` and its
figures beside it, and fills the tables of ``NAME.md``, whose prose is written by hand, between
``<!-- table: KEY -->`` and ``<!-- end -->``.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import Meta

from calibrant.exceptions import InputError
from calibrant.io.atomic import writing
from calibrant.records import Column, Record, Table, name, setting
from calibrant.records import number as numeric
from calibrant.records.formats import interval_heading
from calibrant_studies._sources import source_lines
from calibrant_studies._tables import table_of
from calibrant_studies._verdicts import Claim, Verdict, judge
from calibrant_studies.datasets._digests import unpacked

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Row = dict[str, Any]
KINDS: tuple[Literal["svg", "png"], ...] = ("svg", "png")
HERE = "Here"
TABLE = re.compile(r"(<!-- table: (?P<key>[\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


class Finding(Record, frozen=True):
    """One number of a study, beside the paper's.

    A finding with a claim gets its verdict by the one rule for all studies, `judge`. The only verdict that
    can be given is ``not comparable``.
    """

    name: Annotated[str, name("Name", "Name of the finding, unique in its study.")]
    text: Annotated[str, name("Number", "Name of the number for a reader.")]
    value: Annotated[
        int | float | str | None,
        numeric("Here", "The number, or a word; null without a result.", group=HERE),
    ]
    low: Annotated[float | None, numeric("Low", "Lower end of its 95 % interval, if any.", group=HERE)] = None
    high: Annotated[float | None, numeric("High", "Upper end of its 95 % interval, if any.", group=HERE)] = (
        None
    )
    paper: Annotated[
        int | float | str | None,
        numeric("Paper", "The paper's number or statement; null if the paper states nothing.", group="Paper"),
    ] = None
    verdict: Annotated[
        Verdict | None,
        setting("Verdict", "Agreement with the paper; null if the paper has no number to compare with."),
    ] = None
    note: Annotated[str, setting("Note", "Kind of the interval, or reason for the verdict.")] = ""
    claim: Annotated[
        Claim | None,
        Meta(description="Values for which the paper is right; null where no verdict follows from one."),
    ] = None

    def __post_init__(self) -> None:
        for end in ("low", "high"):  # of a count too, so that a record is read back as it was written
            if isinstance(getattr(self, end), int):
                msgspec.structs.force_setattr(self, end, float(getattr(self, end)))
        if self.claim is not None:
            msgspec.structs.force_setattr(self, "verdict", judge(self.claim, self.low, self.high))
        elif self.verdict not in (None, "not comparable"):
            raise ValueError(
                f"the verdict {self.verdict!r} of {self.name!r} needs a claim that it follows from"
            )


class Study(Record, frozen=True, kw_only=True):
    """Run of a study."""

    name: Annotated[str, name("Study", "Name of the study on the command line.")]
    title: Annotated[str, setting("Title", "Experiment that it reproduces.")]
    command: Annotated[str, setting("Command", "Command that makes this record.")]
    seed: Annotated[int, setting("Seed", "Seed of everything random in it.", unit="seed", headline=True)]
    wall_seconds: Annotated[float, setting("Seconds", "Seconds that it took.")]
    data: Annotated[
        dict[str, str],
        setting("Data", "SHA-256 of every file read (unpacked), by name of the file."),
    ]
    parameters: Annotated[dict[str, Any], setting("Parameters", "Value by name of what was chosen.")]
    findings: Annotated[tuple[Finding, ...], Meta(description="Numbers beside the paper's.")]
    tables: Annotated[
        dict[str, list[Row]],
        Meta(description="Further numbers, and the points of the figures: rows by name of the table."),
    ] = msgspec.field(default_factory=dict)

    def more_tables(self) -> tuple[Table, ...]:
        """Return the findings beside the paper's numbers, then the study's own tables."""
        columns = (
            Column("number", "number", "name"),
            Column("paper", "paper"),
            Column("value", "here"),
            Column("value", interval_heading(0.95), "interval"),
            Column("verdict", "verdict", "text"),
        )
        rows = tuple(
            (
                each.text,
                each.paper,
                each.value,
                None if each.low is None else (each.low, each.high),
                each.verdict,
            )
            for each in self.findings
        )
        first = Table("findings", columns, rows, f"{self.title}: paper and here; seed {self.seed}")
        others = (table_of(found, name=name, caption=name) for name, found in self.tables.items() if found)
        return (first, *others)

    def finding(self, name: str) -> Finding:
        """Return the finding of that name."""
        return {finding.name: finding for finding in self.findings}[name]


def digest(path: Path) -> str:
    """Return the SHA-256 of a file's uncompressed content, in hexadecimal."""
    if path.suffix == ".npz":
        return hashlib.sha256(unpacked(path, path.read_bytes())).hexdigest()
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def save(study: Study, figures: Mapping[str, Figure], folder: Path) -> list[Path]:
    """Write a study's record and figures (SVG and PNG) to a folder, and fill the tables of its page.

    The folder is created if it does not exist. The page ``NAME.md`` is only touched if the folder has one.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is not a folder", "name another", code="output")
    folder.mkdir(parents=True, exist_ok=True)
    record = folder / f"{study.name}.json"
    with writing(record) as file:
        file.write((study.to_json(indent=1) + "\n").encode())
    written = [record]
    for key, figure in figures.items():
        from calibrant.plots import render

        for kind in KINDS:
            path = folder / f"{study.name}-{key}.{kind}"
            with writing(path) as file:
                file.write(render(figure, kind, dpi=90))
            written.append(path)
    page = folder / f"{study.name}.md"
    if page.exists():
        filled = fill(page.read_text(encoding="utf-8"), json.loads(record.read_text(encoding="utf-8")))
        with writing(page) as file:
            file.write(filled.encode())
        written.append(page)
    return written


def shared_legend(figure: Figure, ax: Axes, columns: int = 2) -> None:
    """Put one legend, that of ``ax``, above all panels of a figure."""
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=columns, frameon=False, fontsize=8)


def fill(page: str, record: dict[str, Any]) -> str:
    r"""Fill the tables of a study's page from its record.

    Parameters
    ----------
    page
        Markdown with ``<!-- table: KEY -->`` and ``<!-- end -->`` around each table; what is between them is
        replaced. KEY is ``run`` (how the record was made), ``sources`` (where its data come from),
        ``findings``, or one of the record's tables.
    record
        The content of ``NAME.json``.

    Returns
    -------
    str
        The page.

    Examples
    --------
    >>> page = "<!-- table: sizes -->\n<!-- end -->"
    >>> print(fill(page, {"tables": {"sizes": [{"b": 50, "error": 0.25}]}}))
    <!-- table: sizes -->
    | b | error |
    | ---: | ---: |
    | 50 | 0.2500 |
    <!-- end -->
    """

    def table(match: re.Match[str]) -> str:
        key = match["key"]
        if key == "run":
            body = _run_lines(record)
        elif key == "findings":
            body = _findings_table(record["findings"])
        elif key == "sources":
            body = source_lines(record["name"])
        else:
            body = markdown(record["tables"][key])
        return f"{match[1]}{body}\n{match[3]}"

    return TABLE.sub(table, page)


def markdown(rows: Sequence[Row]) -> str:
    """Rows as a Markdown table; a row's keys are the header."""
    header = list(rows[0])
    numeric = [all(isinstance(row[key], (int, float, type(None))) for row in rows) for key in header]
    lines = [header, [("---:" if right else "---") for right in numeric]]
    lines += [[number(row[key]) for key in header] for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def number(value: Any) -> str:
    """A value as a page shows it: four decimals, three digits if it is small, an en dash for nothing."""
    if value is None:
        return "–"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 0.1 else f"{value:.4f}" if abs(value) < 10 else f"{value:,.1f}"
    return str(value).replace("|", "\\|")


def interval(value: Any, low: float | None, high: float | None) -> str:
    """Format the interval of a finding; empty without an interval; counts have whole ends."""
    if low is None or high is None:
        return ""
    kind = int if isinstance(value, int) else float
    return "(exact)" if low == high else f"[{number(kind(low))}, {number(kind(high))}]"


def _findings_table(findings: Sequence[Row]) -> str:
    rows = []
    claims = any(finding["claim"] for finding in findings)
    for finding in findings:
        here = number(finding["value"])
        ends = interval(finding["value"], finding["low"], finding["high"])
        here += f" {ends}" if ends else ""
        row = {"number": finding["text"], "paper": number(finding["paper"])}
        if claims:
            row["agrees if"] = str(Claim(**finding["claim"])) if finding["claim"] else "–"
        row |= {"here": here, "verdict": number(finding["verdict"]), "note": finding["note"]}
        rows.append(row)
    return markdown(rows)


def _run_lines(record: dict[str, Any]) -> str:
    parameters = "; ".join(f"{name} {value}" for name, value in record["parameters"].items())
    files = "".join(f"\n- `{name}`: `{value[:16]}`" for name, value in record["data"].items())
    return (
        f"Command: `{record['command']}`. Seed {record['seed']}. {record['wall_seconds']:.0f} seconds.\n"
        f"Chosen: {parameters}."
        + (f"\n\nData (first digits of the SHA-256, unpacked):\n{files}" if files else "")
    )
