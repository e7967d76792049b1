"""Tables of spans: read from any format, checked, and written as prediction tables."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from calibrant import InputError, measure, open_predictions
from calibrant.structures import SpanColumns, SpanWriter, read_spans

PREDICTED = """document,start,end,type,score
d1,0,5,PER,0.9
d1,0,5,LOC,0.05
d1,10,12,LOC,0.4
d2,3,8,ORG,0.7
d2,4,9,ORG,0.2
"""
GOLD = """document,start,end,type
d1,0,5,PER
d1,20,25,LOC
d2,3,8,MISC
"""
ONE = """document,start,end,type,score,gold
d1,0,5,PER,0.9,1
d1,0,5,LOC,0.05,0
d1,10,12,LOC,0.4,0
d1,20,25,LOC,,1
d2,3,8,ORG,0.7,0
d2,4,9,ORG,0.2,0
d2,3,8,MISC,,1
"""


def written(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text)
    return str(folder / name)


@pytest.fixture
def tables(tmp_path: Path) -> tuple[str, str]:
    return written(tmp_path, "p.csv", PREDICTED), written(tmp_path, "g.csv", GOLD)


def test_two_tables_and_one_with_a_gold_column_give_the_same_pairs(
    tables: tuple[str, str], tmp_path: Path
) -> None:
    two, one = read_spans(*tables), read_spans(written(tmp_path, "one.csv", ONE))
    for found in (two, one):
        assert found.score.tolist() == [0.9, 0.05, 0.4, 0.7, 0.2]
        assert found.label.tolist() == [True, False, False, False, False]
        assert [found.documents[code] for code in found.document] == ["d1", "d1", "d1", "d2", "d2"]
        assert (found.gold, found.missed, found.unseen) == (3, {"LOC": 1}, {"MISC": 1})


def test_gold_rows_apart_from_the_predicted_rows_of_one_table_are_matched(tmp_path: Path) -> None:
    text = "document,start,end,type,score,gold\nd1,0,5,PER,0.9,0\nd1,0,5,PER,,1\nd1,6,7,PER,,1\n"
    found = read_spans(written(tmp_path, "one.csv", text))
    assert (found.score.tolist(), found.label.tolist(), found.missed) == ([0.9], [True], {"PER": 1})


def test_columns_may_be_called_otherwise(tmp_path: Path) -> None:
    text = PREDICTED.replace("document,start,end,type,score", "doc,from,to,label,p")
    gold = GOLD.replace("document,start,end,type", "doc,from,to,label")
    columns = SpanColumns(document="doc", start="from", end="to", type_column="label", score="p")
    files = written(tmp_path, "p.csv", text), written(tmp_path, "g.csv", gold)
    assert read_spans(*files, columns=columns).label.sum() == 1


def test_boundaries_need_no_types(tmp_path: Path) -> None:
    files = [
        written(tmp_path, "p.csv", "document,start,end,score\nd1,0,5,0.9\nd1,7,8,0.2\n"),
        written(tmp_path, "g.csv", "document,start,end\nd1,0,5\n"),
    ]
    assert read_spans(*files, match="boundary").label.tolist() == [True, False]
    with pytest.raises(InputError, match=r"no column 'type'.*`match='boundary'`"):
        read_spans(*files)


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("d1,5,5,PER,0.5", r'row 6, column "?end"?: .*ends at 5 and starts at 5'),
        ("d1,5.5,7,PER,0.5", r"row 6, column \"?start\"?: 5.5 is not a position"),
        ("d1,-1,7,PER,0.5", r"row 6, column \"?start\"?: -1.0 is not a position"),
        ("d1,0,7,PER,1.5", r"row 6, column \"?score"),
        ("d1,0,7,PER,", r"row 6, column \"?score"),
        ("d1,0,7,,0.5", r"row 6, column \"?type"),
        ("d1,,7,PER,0.5", r"row 6, column \"?start"),
        ("d1,0,5,PER,0.5", r"row 6.*has the score 0.5 here and 0.9 in an earlier row"),
    ],
)
def test_bad_values_are_named_by_file_row_and_column(
    tables: tuple[str, str], tmp_path: Path, row: str, told: str
) -> None:
    with pytest.raises(InputError, match=told) as error:
        read_spans(written(tmp_path, "bad.csv", f"{PREDICTED}{row}\n"), tables[1])
    assert "bad.csv" in str(error.value)
    assert "\n" not in str(error.value)


def test_tables_without_a_common_document_are_refused(tables: tuple[str, str], tmp_path: Path) -> None:
    other = written(tmp_path, "other.csv", GOLD.replace("d1", "a").replace("d2", "b"))
    with pytest.raises(InputError, match="for example, 'd1' and 'a'"):
        read_spans(tables[0], other)


def test_a_span_without_score_that_is_not_gold_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"row 8.*not gold has no score"):
        read_spans(written(tmp_path, "one.csv", f"{ONE}d2,1,2,ORG,,0\n"))


def test_a_noted_threshold_travels_into_the_pairs(tables: tuple[str, str], tmp_path: Path) -> None:
    noted = written(tmp_path, "p.csv", f"# calibrant threshold=0.05\n{PREDICTED}")
    found = read_spans(noted, tables[1])
    with SpanWriter(tmp_path / "pairs.csv", found) as writer:
        writer.write()
    assert open_predictions(tmp_path / "pairs.csv").threshold == 0.05
    assert read_spans(noted, tables[1], drop_below=0.3).threshold == 0.3


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv", "tsv", "jsonl", "csv.gz"])
def test_every_format_that_is_written_is_measured_like_the_pairs(
    tables: tuple[str, str], tmp_path: Path, ending: str
) -> None:
    found = read_spans(*tables)
    with SpanWriter(tmp_path / f"pairs.{ending}", found) as writer:
        writer.write()
    of_file = measure(tmp_path / f"pairs.{ending}", view="pooled")["pooled"]
    of_query = measure(found.query)["spans, exact"]
    assert (of_file.n, of_file.positives, of_file.clusters) == (5, 1, 2)
    assert of_file.calibration_error == of_query.calibration_error


def test_parquet_and_dataframes_are_read_as_csv_is(tables: tuple[str, str], tmp_path: Path) -> None:
    lines = [line.split(",") for line in PREDICTED.splitlines()]
    columns = dict(zip(lines[0], zip(*lines[1:], strict=True), strict=True))
    frame = pa.table(
        {
            "document": columns["document"],
            "start": [*map(int, columns["start"])],
            "end": [*map(int, columns["end"])],
            "type": columns["type"],
            "score": [*map(float, columns["score"])],
        }
    )
    parquet.write_table(frame, tmp_path / "p.parquet")
    for source in (frame, tmp_path / "p.parquet"):
        assert read_spans(source, tables[1]).score.tolist() == [0.9, 0.05, 0.4, 0.7, 0.2]


def test_nothing_is_written_if_no_predicted_boundary_is_gold(tmp_path: Path) -> None:
    predicted = "document,start,end,type,score\nd1,0,5,A,0.5\nd1,0,5,B,0.2\n"
    files = (
        written(tmp_path, "p.csv", predicted),
        written(tmp_path, "g.csv", "document,start,end,type\nd1,9,10,A\n"),
    )
    found = read_spans(*files, match="type")
    told = "no predicted span has the boundary of a gold span"
    with pytest.raises(InputError, match=told), SpanWriter(tmp_path / "pairs.csv", found) as writer:
        writer.write()
    assert not (tmp_path / "pairs.csv").exists()


def test_a_threshold_outside_0_and_1_is_refused(tables: tuple[str, str]) -> None:
    with pytest.raises(InputError, match=r"drop_below is 1.5: give a number in \[0, 1\), 0 for all spans"):
        read_spans(*tables, drop_below=1.5)


def test_a_gold_table_without_rows_says_that_no_span_is_gold(tables: tuple[str, str], tmp_path: Path) -> None:
    empty = written(tmp_path, "none.csv", "document,start,end,type\n")
    for match in ("exact", "boundary"):
        found = read_spans(tables[0], empty, match=match)
        assert (int(found.label.sum()), found.gold, len(found.missed), found.without_gold) == (0, 0, 0, 2)
    with pytest.raises(InputError, match=r"none.csv: there is no column 'type'"):
        read_spans(tables[0], written(tmp_path, "none.csv", "document,start,end\n"))
    scored = written(tmp_path, "p.csv", "document,start,end,type,score\n")
    with pytest.raises(InputError, match=r"p.csv: there are no rows"):
        read_spans(scored, tables[1])
