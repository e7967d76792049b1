"""The events study's tables as its page shows them: fewer columns, an interval beside its number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from calibrant_studies._base import Row, number
from calibrant_studies._coreference_page import interval

Tables = Mapping[str, Sequence[Row]]


def arrange(tables: Tables) -> dict[str, list[Row]]:
    """Tables for the page, from those of the record."""
    makers = {
        "overview": _overview,
        "countries": _country,
        "not-real": _difference,
        "real": _difference,
        "differences": _differences,
        "fewer": _fewer,
        "doubtful": _doubtful,
        "sure": _sure,
        "skipping": _skipping,
        "lexicons": _lexicons,
        "relations": _relations,
        "labels": _labels,
        "map": _map,
        "bins": _bins,
    }
    found = {f"page-{key}": [make(row) for row in tables[key]] for key, make in makers.items()}
    return {
        **found,
        "page-cells": [_cells(row) for row in tables["overview"]],
        "page-verbs": _verbs(tables),
        "page-words": _words(tables),
    }


def _ends(row: Row, low: str, high: str) -> str:
    return f"[{row[low]:,.0f}, {row[high]:,.0f}]"


def _name(row: Row) -> Row:
    return {key: row[key] for key in ("corpus", "rules")}


def _overview(row: Row) -> Row:
    return {
        **_name(row),
        **{key: row[key] for key in ("documents", "parsed", "may count", "countries")},
        "mean": f"{row['mean']:,.1f}",
        "sd": f"{row['sd']:.1f}",
        "1-best": row["best"],
        "p in 0.25-0.75": row["pairs in 0.25-0.75"],
        "p = 1": row["pairs of probability 1"],
        "seconds": f"{row['seconds']:,.0f}",
    }


def _cells(row: Row) -> Row:
    return {
        **_name(row),
        **{f"mean per {by}": f"{row[f'{by} mean']:.1f}" for by in ("month", "quarter", "year")},
        "shown by": row["by"],
        "cells": row["cells"],
        "not zero": row["cells not zero"],
        "5 or more": row["cells of 5 or more"],
    }


def _country(row: Row) -> Row:
    return {
        "corpus": row["corpus"],
        "country": row["country"],
        "may count": row["may count"],
        "1-best": row["best"],
        "mean": f"{row['mean']:.1f}",
        "model's 95 %": _ends(row, "low", "high"),
        "recalibrated": f"{row['recalibrated']:.1f}",
        "total 95 %": _ends(row, "low_total", "high_total"),
        "paper's rules: mean": f"{row['by paper']:.1f}",
        "1-best there": row["best by paper"],
    }


def _differences(row: Row) -> Row:
    return {
        **_name(row),
        "compared": row["kind"],
        **{key: row[key] for key in ("shown by 1-best", "real", "not real", "by 1 or 2")},
        "largest not real": row["largest not real"],
        "smallest real": row["smallest real"],
    }


def _difference(row: Row) -> Row:
    return {
        "corpus": row["corpus"] if row["rules"] == "default" else f"{row['corpus']}, paper's rules",
        "first, second": f"{row['first']}, {row['second']}",
        "1-best": f"{row['best, first']}, {row['best, second']}",
        "means": f"{row['mean, first']:.1f}, {row['mean, second']:.1f}",
        "difference, 95 %": f"{row['difference']:+.1f} {_ends(row, 'low', 'high')}",
        "P(first above)": f"{row['P(first above)']:.3f}",
        "P(second above)": f"{row['P(second above)']:.3f}",
        "total: P(first above)": f"{row['total: P(first above)']:.3f}",
    }


def _fewer(row: Row) -> Row:
    same = row.get("same interval")
    return {
        **_name(row),
        "of": row["of"],
        "numbers": row["numbers"],
        "rms difference": f"{row['rms difference']:.4f}",
        "expected from sampling": f"{row['expected']:.4f}",
        "largest": f"{row['largest']:.2f}",
        "same interval": number(None) if same is None else f"{same:.1%}",
        "an end moves by 2 or more": row.get("ends moved by 2 or more"),
    }


def _doubtful(row: Row) -> Row:
    return {
        **{key: row[key] for key in ("corpus", "id", "date", "country")},
        "p": f"{row['p']:.2f}",
        **{key: row[key] for key in ("1-best", "right", "cause", "what it says")},
    }


def _sure(row: Row) -> Row:
    return {
        **{key: row[key] for key in ("corpus", "of at least 0.9", "read", "right")},
        "fraction": interval(row, "share", "low", "high", ".2f"),
        "earlier sample, places counted": f"{row['right with places']} of {row['read']}",
        **{key: row[key] for key in list(row)[list(row).index("right with places") + 1 :]},
    }


def _skipping(row: Row) -> Row:
    seconds = {key: f"{row[key]:.1f}" for key in ("seconds with", "seconds without")}
    return {
        **{key: row[key] for key in ("corpus", "documents", "skipped", "may count", "different")},
        **seconds,
    }


def _lexicons(row: Row) -> Row:
    return {
        **{key: row[key] for key in ("corpus", "documents", "same")},
        "other code": row["other_code"],
        "calibrant's alone": row["only_first"],
        "the paper's alone": row["only_second"],
    }


def _relations(row: Row) -> Row:
    return {
        **{key: row[key] for key in ("corpus", "relation")},
        "mentions": f"{row['mentions']:.1f}",
        "proportion": f"{row['share']:.3f}",
        "governed by a verb of the rules": f"{row['acting']:.1f}",
        "governors": f"`{row['governors']}`",  # words of the texts
    }


def _words(tables: Tables) -> list[Row]:
    """Return for each corpus the names that one lexicon alone finds, with their counts."""
    rows = tables["lexicon-words"]
    titles = {"only_first": "calibrant's alone", "only_second": "the paper's alone"}
    return [
        {
            "corpus": corpus,
            **{
                title: ", ".join(
                    f"{row['words']} ({row['times']})"
                    for row in rows
                    if (row["corpus"], row["side"]) == (corpus, side)
                )
                for side, title in titles.items()
            },
        }
        for corpus in dict.fromkeys(row["corpus"] for row in rows)
    ]


def _labels(row: Row) -> Row:
    return {**row, "expected": f"{row['expected']:.1f}"}


def _map(row: Row) -> Row:
    return {
        "score": f"{row['score']:g}",
        "recalibrated": interval(row, "recalibrated", "low", "high", ".3f"),
    }


def _bins(row: Row) -> Row:
    shares = {key: f"{row[key]:.3f}" for key in ("mean score", "in gold")}
    return {"scores": row["scores"], "triples": row["triples"], **shares}


def _verbs(tables: Tables) -> list[Row]:
    """Return one row per verb and one column per corpus."""
    rows = tables["verbs"]
    titles = list(dict.fromkeys(row["corpus"] for row in rows))
    mean = {(row["verb"], row["corpus"]): row["mean"] for row in rows}
    verbs = sorted(
        {row["verb"] for row in rows}, key=lambda verb: -sum(mean.get((verb, one), 0) for one in titles)
    )
    return [{"verb": verb, **{one: f"{mean.get((verb, one), 0.0):.1f}" for one in titles}} for verb in verbs]
