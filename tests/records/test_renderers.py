"""Each renderer against whole outputs that were written by hand, for small tables."""

from __future__ import annotations

import json
from typing import Annotated

import pytest

from calibrant.records import Column, Quantity, Record, Table, Undefined, name, number, rows, setting
from calibrant.records.formats import Signed

COLUMNS = (
    Column("group", "", "group"),
    Column("field", "", "key"),
    Column("name", "tag_name", "name"),
    Column("n", "n", "count"),
    Column("error", "error", "number", 4, "Distance from the frequency."),
    Column("error", "95 % interval", "interval"),
    Column("p", "p", "p-value"),
    Column("remark", "remark", "text"),
)
ROWS = (
    ("Open", "nn", "NN & <b>", 12345, 0.04321, (0.0351, 0.0514), 0.2, "=1+1"),
    ("Open", "vb", "VB|x_1", 7, Signed(0.5), (0.25, None), 1e-5, None),
    ("Closed", "dt", "DT", 0, Undefined("no pairs"), Undefined("no pairs"), None, "few"),
)
TABLE = Table("errors", COLUMNS, ROWS, "Errors of a_b; level 95 %", ("A note of 50 %.",))

TEXT = """\
Errors of a_b; level 95 %
  tag_name       n    error     95 % interval         p  remark
Open
  NN & <b>  12,345   0.0432  [0.0351, 0.0514]    0.2000  =1+1
  VB|x_1         7  +0.5000        [0.2500, ]  < 0.0001
Closed
  DT             0        -                 -            few
  A note of 50 %.
  Undefined (DT: error; DT: 95 % interval): no pairs
"""

MARKDOWN = r"""
Errors of a\_b; level 95 %

| tag\_name          |      n |   error |    95 % interval |        p | remark |
| :----------------- | -----: | ------: | ---------------: | -------: | :----- |
| NN &amp; &lt;b&gt; | 12,345 |  0.0432 | [0.0351, 0.0514] |   0.2000 | =1+1   |
| VB\|x\_1           |      7 | +0.5000 |       [0.2500, ] | < 0.0001 |        |
| DT                 |      0 |       - |                - |          | few    |

A note of 50 %.

Undefined (DT: error; DT: 95 % interval): no pairs
""".removeprefix("\n")

LATEX = r"""
\begin{table}
  \centering
  \caption{Errors of a\_b; level 95 \%}
  \begin{tabular}{lrrrrl}
    \toprule
    tag\_name & n & error & 95 \% interval & p & remark \\
    \midrule
    NN \& \textless{}b\textgreater{} & 12,345 & 0.0432 & [0.0351, 0.0514] & 0.2000 & =1+1 \\
    VB\textbar{}x\_1 & 7 & $+0.5000$ & [0.2500, ] & $<$ 0.0001 &  \\
    DT & 0 & - & - &  & few \\
    \bottomrule
  \end{tabular}
  \par\smallskip\footnotesize A note of 50 \%.
  \par\smallskip\footnotesize Undefined (DT: error; DT: 95 \% interval): no pairs
\end{table}
""".removeprefix("\n")

TABULAR = r"""
% Errors of a_b; level 95 %
% A note of 50 %.
% Undefined (DT: error; DT: 95 % interval): no pairs
\begin{tabular}{lrrrrl}
  \toprule
  tag\_name & n & error & 95 \% interval & p & remark \\
  \midrule
  NN \& \textless{}b\textgreater{} & 12,345 & 0.0432 & [0.0351, 0.0514] & 0.2000 & =1+1 \\
  VB\textbar{}x\_1 & 7 & $+0.5000$ & [0.2500, ] & $<$ 0.0001 &  \\
  DT & 0 & - & - &  & few \\
  \bottomrule
\end{tabular}
""".removeprefix("\n")

CSV = """\
group,field,name,n,error,error_low,error_high,p,remark
Open,nn,NN & <b>,12345,0.04321,0.0351,0.0514,0.2,'=1+1
Open,vb,VB|x_1,7,0.5,0.25,,1e-05,
Closed,dt,DT,0,,,,,few
"""

HTML = """
<table>
<caption>Errors of a_b; level 95 %</caption>
<thead><tr>
<th scope="col">tag_name</th>
<th scope="col" style="text-align: right">n</th>
<th scope="col" title="Distance from the frequency." style="text-align: right">error</th>
<th scope="col" style="text-align: right">95 % interval</th>
<th scope="col" style="text-align: right">p</th>
<th scope="col">remark</th></tr></thead><tbody>
<tr>
<th colspan="6" scope="rowgroup">Open</th></tr>
<tr>
<th scope="row">NN &amp; &lt;b&gt;</th>
<td style="text-align: right">12,345</td>
<td style="text-align: right">0.0432</td>
<td style="text-align: right">[0.0351, 0.0514]</td>
<td style="text-align: right">0.2000</td>
<td style="text-align: left">=1+1</td></tr>
<tr>
<th scope="row">VB|x_1</th>
<td style="text-align: right">7</td>
<td style="text-align: right">+0.5000</td>
<td style="text-align: right">[0.2500, ]</td>
<td style="text-align: right">&lt; 0.0001</td>
<td style="text-align: left"></td></tr>
<tr>
<th colspan="6" scope="rowgroup">Closed</th></tr>
<tr>
<th scope="row">DT</th>
<td style="text-align: right">0</td>
<td style="text-align: right">-</td>
<td style="text-align: right">-</td>
<td style="text-align: right"></td>
<td style="text-align: left">few</td></tr>
</tbody></table>
<p><small>A note of 50 %.</small></p>
<p><small>Undefined (DT: error; DT: 95 % interval): no pairs</small></p>
"""


def test_text_has_aligned_columns_groups_and_notes() -> None:
    assert TABLE.to_text() == TEXT
    assert TABLE.to_text(meanings=True) == f"{TEXT}  error: Distance from the frequency.\n"


def test_markdown_is_a_pipe_table_between_caption_and_notes() -> None:
    assert TABLE.to_markdown() == MARKDOWN
    assert TABLE.to_markdown(meanings=True) == f"{MARKDOWN}\nerror: Distance from the frequency.\n"


def test_latex_is_a_table_of_booktabs_or_a_tabular_alone() -> None:
    assert TABLE.to_latex() == LATEX
    assert TABLE.to_latex(tabular=True) == TABULAR


def test_latex_breaks_the_lines_of_long_texts_and_writes_powers() -> None:
    columns = Column("name", "name", "name"), Column("x", "x"), Column("remark", "remark", "text")
    lines = Table("t", columns, (("a", 1.5e-7, "word " * 13), ("b", -2.0, "-- 'x'"))).to_latex(tabular=True)
    assert lines.splitlines()[0] == r"\begin{tabular}{lrp{0.5\linewidth}}"
    assert lines.splitlines()[4].startswith(r"  a & $1.5 \times 10^{-7}$ & word word")
    assert lines.splitlines()[5] == r"  b & $-2.0000$ & -{}- 'x' \\"


def test_csv_has_all_digits_two_columns_per_interval_and_no_formulas() -> None:
    assert TABLE.to_csv() == CSV.replace("\n", "\r\n")
    assert TABLE.to_rows()[1]["error_low"] == 0.25
    assert TABLE.to_rows()[1]["error_high"] is None


def test_html_has_headings_with_meanings_and_escaped_cells() -> None:
    assert TABLE.to_html().replace("\n", "") == HTML.replace("\n", "")


def test_a_terminal_shows_the_first_of_ranked_rows_and_a_selection_of_others() -> None:
    columns, counted = (Column("n", "n", "count"),), tuple((each,) for each in range(1000, 1101))
    chosen = Table("t", columns, counted, most=3)
    assert (
        chosen.to_text()
        == """\
      n
  1,000
  1,050
  1,100
  (3 of 101 rows; the JSON output has all)
"""
    )
    ranked = Table("t", columns, counted, most=3, ranked=True)
    assert ranked.to_text().split()[:4] == ["n", "1,000", "1,001", "1,002"]
    assert chosen.to_csv().count("\r\n") == 102
    assert chosen.to_markdown().count("\n") == 103


def test_no_column_is_narrower_than_its_heading_or_wider_than_its_widest_cell() -> None:
    columns = Column("name", "a long heading", "name"), Column("x", "x")
    lines = Table("t", columns, (("é", 0.5), ("b", 1234.0))).to_text().splitlines()
    assert lines == [
        "  a long heading          x",
        "  é                  0.5000",
        "  b               1234.0000",
    ]


class Part(Record, frozen=True, kw_only=True):
    """A part."""

    label: Annotated[str, name("Part", "Name of the part.")]
    error: Annotated[Quantity, number("Error", "Mean distance.", group="Size", headline=True)]


class Parts(Record, frozen=True, kw_only=True):
    """Errors of parts."""

    n: Annotated[int, number("n", "Number of items.", group="Data")]
    error: Annotated[Quantity, number("Error", "Mean distance.", group="Size", short="error")]
    level: Annotated[float, setting("Level", "Coverage.", unit="percent", headline=True)]
    parts: Annotated[tuple[Part, ...], rows("Parts", "One entry per part.")]


@pytest.fixture
def parts() -> Parts:
    """A record with two tables, one part of which has no error."""
    few = Part(label="b", error=Quantity(None, reason="no items"))
    return Parts(
        n=1200,
        error=Quantity(0.25, 0.2, 0.3, warning="few items"),
        level=0.9,
        parts=(Part(label="a_b", error=Quantity(1 / 3, 0.0, 1.0)), few),
    )


def test_a_record_of_several_tables_as_text(parts: Parts) -> None:
    assert (
        parts.to_text()
        == """\
Errors of parts
  number   value     90 % interval
Data
  n        1,200
Size
  Error   0.2500  [0.2000, 0.3000]
  Error: few items

Parts
  part   error     90 % interval
  a_b   0.3333  [0.0000, 1.0000]
  b          -
  Undefined (b: error): no items

How
  Level  90 %
"""
    )


class Listed(Record, frozen=True, kw_only=True):
    """Errors of many parts."""

    parts: Annotated[tuple[Part, ...], rows("Parts", "One entry per part.")]
    main_table = "parts"


@pytest.mark.parametrize(("count", "missing"), [(40, False), (41, True)])
def test_a_main_table_lacks_many_rows_or_none(count: int, missing: bool) -> None:
    listed = Listed(parts=tuple(Part(label=f"p{place}", error=Quantity(0.5)) for place in range(count)))
    assert ("(30 of 41 rows" in listed.to_text(full=False)) is missing
    assert all(f"  p{place} " in listed.to_text(full=False) for place in range(count)) is not missing


def test_a_long_table_of_tests_keeps_the_rows_with_the_smallest_p_values() -> None:
    columns = (Column("pair", "pair", "name"), Column("p", "p", "p-value"))
    p_values = [1.0, 0.5, 0.001, None, 0.02, 1.0]
    pairs = tuple((f"x{place}", value) for place, value in enumerate(p_values))
    lines = Table("t", columns, pairs, most=3).to_text().splitlines()
    assert [line.split()[0] for line in lines if line.startswith("  x")] == ["x1", "x2", "x4"]
    assert "  (3 of 6 rows, with the smallest p-values; the JSON output has all)" in lines


def test_a_record_of_several_tables_in_the_formats_for_papers(parts: Parts) -> None:
    first, second = parts.to_tables()
    assert parts.to_markdown() == f"{first.to_markdown()}\n{second.to_markdown()}"
    assert parts.to_latex() == f"{first.to_latex()}\n{second.to_latex()}"
    assert parts.to_html() == first.to_html() + second.to_html()
    assert parts.to_markdown("parts") == second.to_markdown()
    assert first.to_markdown().startswith("Errors of parts: level 90 %\n\n| number |")


def test_a_record_of_several_tables_as_csv_is_one_of_them(parts: Parts) -> None:
    assert parts.to_csv() == parts.to_tables()[0].to_csv()
    assert parts.to_csv("parts") == (
        "label,error,error_low,error_high\r\na_b,0.3333333333333333,0.0,1.0\r\nb,,,\r\n"
    )


def test_json_has_every_field_and_reads_back_as_the_same_record(parts: Parts) -> None:
    assert (
        parts.to_json(indent=1)
        == """\
{
 "schema_version": 1,
 "n": 1200,
 "error": {
  "estimate": 0.25,
  "low": 0.2,
  "high": 0.3,
  "warning": "few items"
 },
 "level": 0.9,
 "parts": [
  {
   "label": "a_b",
   "error": {
    "estimate": 0.3333333333333333,
    "low": 0.0,
    "high": 1.0
   }
  },
  {
   "label": "b",
   "error": {
    "estimate": null,
    "reason": "no items"
   }
  }
 ]
}"""
    )
    again = Parts.from_dict(json.loads(parts.to_json()))
    assert again == parts
    assert (again.to_text(), again.to_latex()) == (parts.to_text(), parts.to_latex())
