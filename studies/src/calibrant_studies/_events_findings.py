"""The events study's numbers beside the paper's statements, from its tables alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from calibrant_studies._base import Finding, Row
from calibrant_studies._counts_findings import rows_of
from calibrant_studies._events_data import NYT
from calibrant_studies._verdicts import above, below, equal

Tables = Mapping[str, Sequence[Row]]
PAPER_ARTICLES = 193_403
OTHER_TEXTS = "193,403 articles of the New York Times, 1987-2007; no total given"


def find(tables: Tables) -> Iterator[Finding]:
    """All findings."""
    for row in tables["totals"]:
        yield _total(row)
    for row in tables["overview"]:
        yield _cells(row)
        if row["corpus"] == NYT.title and row["rules"] == "paper":
            count, claim = row["documents"], equal(PAPER_ARTICLES, width=0)
            text = f"{NYT.title}: articles about world news"
            yield Finding("nyt/articles", text, count, count, count, PAPER_ARTICLES, claim=claim)
    yield from _differences(tables)
    yield from _fewer(tables)
    for row in tables["sure"]:
        yield Finding(
            f"{row['corpus']}/right",
            f"{row['corpus']}: documents of at least 0.9: fraction in which somebody of the country does it, "
            "by reading",
            row["share"],
            row["low"],
            row["high"],
            note=f"{row['right']} of {row['read']} drawn at random; the model states nearly 1, "
            f"and no interval includes this error; with places counted {row['right with places']} of as "
            "many others",
        )
    if tables["doubtful"]:
        yield _doubtful(tables["doubtful"])
    skipped = tables["skipping"]
    yield Finding(
        "skipping/different",
        "documents that parsing without skipping changes",
        sum(row["different"] for row in skipped),
        note=f"of {sum(row['documents'] for row in skipped)}, "
        f"of which {sum(row['skipped'] for row in skipped)} are skipped",
    )
    for row in tables["labels"]:
        yield Finding(
            f"labels/{row['verbs'].replace(' ', '-')}",
            f"GUM, {row['verbs']}: documents, countries and verbs that gold confirms, of those with a score",
            row["positive"],
            note=f"of {row['triples with a score']}; {row['expected']:.1f} expected; "
            f"{row['gold alone']} more in gold have no score",
        )


def _doubtful(read: Sequence[Row]) -> Finding:
    return Finding(
        "doubtful/right",
        "documents near 50 % that were read: fraction in which somebody of the country does it",
        sum(row["right"] == "yes" for row in read) / len(read),
        paper="about 50 %: difficult coreference cases",
        claim=equal(0.5, width=0.2),
        note=f"of {len(read)} that were chosen to show causes, not at random, so there is no interval; the "
        "1-best is right in "
        f"{sum((row['right'] == 'yes') == (row['1-best'] == 'counts') for row in read)}",
    )


def _total(row: Row) -> Finding:
    title, rules = row["corpus"], row["rules"]
    return Finding(
        f"{title}/{rules}/documents",
        f"{title}, {rules} rules: documents with an agent, summed over countries",
        row["mean"],
        row["low"],
        row["high"],
        paper=OTHER_TEXTS,
        verdict="not comparable",
        note=f"95 % under the model; 1-best {row['best']:,}; recalibrated {row['recalibrated']:,.1f}, "
        f"total interval [{row['low_total']:,.0f}, {row['high_total']:,.0f}]",
    )


def _cells(row: Row) -> Finding:
    return Finding(
        f"{row['corpus']}/{row['rules']}/cells",
        f"{row['corpus']}, {row['rules']} rules: countries by {row['by']}, cells with a mean of 5 or more",
        row["cells of 5 or more"],
        note=f"of {row['cells']}, of which {row['cells not zero']} are not zero; "
        f"the most frequent country has {row[row['by'] + ' mean']:.1f} per {row['by']}",
    )


def _differences(tables: Tables) -> Iterator[Finding]:
    statements = {
        "two periods": "USA, 1993-1996: the model does not know whether differences are real",
        "two countries": "Yugoslavia and NATO, 1999: 1-best says one, the intervals overlap",
    }
    for row in tables["differences"]:
        if not row["shown by 1-best"]:
            continue
        cases = rows_of(tables, "not-real", corpus=row["corpus"], rules=row["rules"], kind=row["kind"])
        example = ""
        if cases:
            case = cases[0]
            example = (
                f"; {case['first']} against {case['second']}: 1-best {case['best, first']} and "
                f"{case['best, second']}, P {case['P(first above)']:.2f}"
            )
        yield Finding(
            f"{row['corpus']}/{row['rules']}/{row['kind'].replace(' ', '-')}",
            f"{row['corpus']}, {row['rules']} rules, {row['kind']}: differences that 1-best shows, not real",
            row["not real"],
            row["not real beyond sampling"],
            row["shown by 1-best"],
            statements[row["kind"]],
            note=f"of {row['shown by 1-best']}; low: those that 100 samples decide; one mean at least 5, the "
            f"other at least 1{example}",
            claim=above(0),
        )


def _fewer(tables: Tables) -> Iterator[Finding]:
    for row in rows_of(tables, "fewer", of="a country and period", rules="default"):
        yield Finding(
            f"{row['corpus']}/ten-samples",
            f"{row['corpus']}: root mean square distance of mean counts from 10 samples to those from 100",
            row["rms difference"],
            row["rms, low"],
            row["rms, high"],
            "similar results using only 10 samples",
            claim=below(0.5),
            note="rounding hides half a document; interval by cell; sampling alone gives "
            f"{row['expected']:.3f}; the 95 % interval stays the same in "
            f"{row['same interval']:.0%} of {row['numbers']} cells",
        )
