"""The sparse study's findings and page tables on its authors' numbers and the rules of their code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from calibrant_studies._base import Finding, Row, number
from calibrant_studies._sparse_authors import SAME, TASKS
from calibrant_studies._sparse_findings import PAPER, PAPER_MEASURES, RAREST, paper_value
from calibrant_studies._sparse_maps import PAPER_SHARING, TECHNIQUES
from calibrant_studies._sparse_rules import DEPARTURES, MEASURES
from calibrant_studies._sparse_scores import GROUPS, TITLE
from calibrant_studies._verdicts import Claim, below, between, equal

ROUNDED = 5e-5  # of four digits
# At the bottom of table 1: scores in all, in group 1 and in group 5; types of group 1, and highest shares.
PAPER_SIZES: Mapping[str, tuple[int, int, int]] = {
    "CCG": (72_373, 12_873, 15_854),
    "LSR": (15_933, 2_854, 3_020),
}
PAPER_TAGS = {"CCG": (1, 22.2, 0.4), "LSR": (3, 10.3, 0.1)}
G = {"SCW": 1, "TFG": GROUPS}
ABSENT = "the scores are not available: fetch tfg-scores"


def find_published(tables: Mapping[str, Sequence[Row]]) -> Iterator[Finding]:
    """Compare the authors' published numbers with their text, and with their rules if there are scores."""
    for task in TASKS:
        rows = [row for row in tables["authors"] if row["task"] == task]
        yield _table_1(task, rows)
        yield from _sizes(task, rows)
        yield from _tags(task, [row for row in tables["author-groups"] if row["task"] == task])
        yield _raised(task, rows)
        yield _same(task, rows)
    yield from _contrasts(tables)


def _exact(name: str, text: str, value: float, paper: float | str, note: str, claim: Claim) -> Finding:
    """Compare a published number, which no sample moves, with the text."""
    return Finding(name, text, value, value, value, paper, note=note, claim=claim)


def _table_1(task: str, rows: Sequence[Row]) -> Finding:
    gaps = [
        abs(row["after"] - paper_value(task, row["technique"], row["sharing"], row["measure"])[0])
        for row in rows
        if row["measure"] in PAPER_MEASURES
    ]
    before = dict(zip(PAPER_MEASURES, PAPER[task]["none", ""][0], strict=True))
    gaps += [abs(row["before"] - before[row["measure"]]) for row in rows if row["measure"] in before]
    text = f"{task}: largest distance between table 1 and the published results"
    note = f"published numbers, {len(gaps)} errors compared"
    name = f"authors/{task.lower()}/table-1"
    return _exact(name, text, max(gaps), "rounded to 4 digits", note, below(ROUNDED))


def _sizes(task: str, rows: Sequence[Row]) -> Iterator[Finding]:
    n = {row["measure"]: row["n"] for row in rows}
    for measure, paper in zip(PAPER_MEASURES, PAPER_SIZES[task], strict=True):
        name = f"authors/{task.lower()}/scores-{measure[5:] or 'all'}"
        text = (
            f"{task}: scores of {f'group {measure[5:]}' if measure != 'SMCE' else 'all tags'}, as published"
        )
        yield _exact(name, text, n[measure], paper, "published number", equal(paper, width=0))


def _tags(task: str, rows: Sequence[Row]) -> Iterator[Finding]:
    tags, first, last = PAPER_TAGS[task]
    same = sum(bool(row["same by the text"]) for row in rows[:GROUPS])
    note = f"published counts; {same} of {GROUPS} groups are the same by the code and by the text"
    name, text = f"authors/{task.lower()}/tags", f"{task}: tags of group 1, from the published counts"
    yield _exact(name, text, rows[0]["tags"], tags, note, equal(tags, width=0))
    for row, share in ((rows[0], first), (rows[GROUPS - 1], last)):
        text = f"{task}: frequency of the most frequent tag of group {row['group']}, per cent"
        claim = between(share - 0.05, share + 0.05)
        value = 100 * row["highest share"]
        yield _exact(
            f"authors/{task.lower()}/share-{row['group']}", text, value, share, "published counts", claim
        )


def _raised(task: str, rows: Sequence[Row]) -> Finding:
    raised = {
        technique: [
            f"{row['measure'][5:]} ({row['sharing']})"
            for row in rows
            if row["technique"] == technique and row["change"] > 0 and row["measure"] != "SMCE"
        ]
        for technique in TECHNIQUES
    }
    listed = "; ".join(f"{name} {', '.join(some) or 'none'}" for name, some in raised.items())
    known = ("1 (SCW)", "1 (TFG)") if task == "CCG" else ()
    return _exact(
        f"authors/{task.lower()}/raised",
        f"{task}: groups{' but group 1' if known else ''} whose published error isotonic regression raises",
        len([group for group in raised["isotonic regression"] if group not in known]),
        0,
        f"published plug-in errors; raised are: {listed}",
        equal(0, width=0),
    )


def _same(task: str, rows: Sequence[Row]) -> Finding:
    """Yield the distance of the published results from the code's rules; undefined without the scores."""
    text = f"{task}: largest distance between the published results and the code's rules"
    name, paper = f"authors/{task.lower()}/code", f"at most {SAME:g}"
    if rows[0]["after, code"] is None:
        return Finding(name, text, None, paper=paper, verdict="not comparable", note=ABSENT)
    gap = max(abs(row[key] - row[f"{key}, code"]) for row in rows for key in ("before", "after"))
    by_text = max(abs(row["after"] - row["after, text"]) for row in rows)
    counts = "the same" if all(row["n"] == row["n, code"] for row in rows) else "other"
    note = f"{counts} numbers of scores; from the text's rules at most {by_text:.4f}"
    return _exact(name, text, gap, paper, note, below(SAME))


def _contrasts(tables: Mapping[str, Sequence[Row]]) -> Iterator[Finding]:
    """Yield the effect of halves in the order of the groups on one shared map of scaling binning."""
    for row in tables["effects"]:
        if (row["departure"], row["sharing"], row["measure"]) != ("ordered halves", "SCW", RAREST):
            continue
        rules = [
            each
            for each in tables["rules"]
            if (each["tagger"], each["technique"], each["sharing"], each["measure"])
            == (row["tagger"], "scaling binning", "SCW", RAREST)
        ]
        text, ordered = (
            next(each for each in rules if each["rules"] == name) for name in ("text", "ordered halves")
        )
        yield Finding(
            f"{next(kind for kind, title in TITLE.items() if title == row['tagger'])}/ordered-halves",
            f"{row['tagger']}, scaling binning, SCW, rarest group: squared error, random less ordered halves",
            row["mse_difference"],
            row["mse_low"],
            row["mse_high"],
            note=f"debiased, paired; GMCE {ordered['after']:.4f} with halves by group, with random halves "
            f"{text['after']:.4f} [{text['low']:.4f}, {text['high']:.4f}] (middle 95 % of draws)",
        )


def arrange_published(tables: Mapping[str, list[Row]]) -> dict[str, list[Row]]:
    """Tables for the page, from those of the record."""
    arranged = {f"page-authors-{task.lower()}": _results(tables["authors"], task) for task in TASKS}
    arranged["page-author-groups"] = [_group(row) for row in tables["author-groups"]]
    arranged["page-departures"] = _departures(tables["rules"])
    arranged["page-rules"] = _rules(tables["rules"])
    arranged["page-effects"] = _effects(tables["effects"])
    arranged["page-affected"] = _affected(tables["affected"])
    return arranged


def _results(rows: Sequence[Row], task: str) -> list[Row]:
    own = [row for row in rows if row["task"] == task]
    first: Row = {"recalibration": "none", "G": None}
    first |= {row["measure"]: f"{row['before']:.4f}" for row in own[: len(MEASURES)]}
    arranged = [first | {"off the code's rules": None, "off the text's rules": None}]
    for technique in TECHNIQUES:
        for sharing in PAPER_SHARING:
            some = [row for row in own if (row["technique"], row["sharing"]) == (technique, sharing)]
            line: Row = {"recalibration": technique, "G": G[sharing]}
            line |= {row["measure"]: f"{row['after']:.4f} ({100 * row['change']:+.1f} %)" for row in some}
            for rules in ("code", "text"):
                gaps = [abs(row["after"] - row[f"after, {rules}"]) for row in some if row[f"after, {rules}"]]
                line[f"off the {rules}'s rules"] = max(gaps) if gaps else None
            arranged.append(line)
    return arranged


def _group(row: Row) -> Row:
    known = row["share"] is not None
    shares = f"[{100 * row['lowest share']:.3f} %, {100 * row['highest share']:.3f} %]" if known else "–"
    return {
        "task": row["task"],
        "group": row["group"] or "in none",
        "tags": row["tags"],
        "fraction of train": f"{100 * row['share']:.1f} %" if known else "–",
        "its tags, from and to": shares,
        "the same by the text": {True: "yes", False: "no", None: "–"}[row["same by the text"]],
        "gold tags in test": row["gold in test"],
    }


def _shown(row: Row) -> str:
    ends = "" if row["low"] is None else f" [{row['low']:.4f}, {row['high']:.4f}]"
    return f"{row['after']:.4f}{ends}"


def _departures(rows: Sequence[Row]) -> list[Row]:
    """Errors of the rarest group and of all tags with each departure alone."""
    arranged: list[Row] = []
    found: dict[tuple[Any, ...], Row] = {
        (row["tagger"], row["technique"], row["sharing"], row["measure"], row["rules"]): row for row in rows
    }
    for tagger in dict.fromkeys(row["tagger"] for row in rows):
        for technique in TECHNIQUES:
            for sharing in PAPER_SHARING:
                for measure in (RAREST, "SMCE"):
                    line: Row = {"tagger": tagger, "recalibration": technique, "G": G[sharing]}
                    line["measure"] = measure
                    line["text"] = _shown(found[tagger, technique, sharing, measure, "text"])
                    for name in (*DEPARTURES, "code"):
                        row = found[tagger, technique, sharing, measure, name]
                        line[name] = f"{row['after']:.4f}" if name == "code" or _moved(row, found) else "="
                    arranged.append(line)
    return arranged


def _moved(row: Row, found: Mapping[tuple[Any, ...], Row]) -> bool:
    """Return True if a departure changes the error in the digits that are shown."""
    text = found[row["tagger"], row["technique"], row["sharing"], row["measure"], "text"]
    return f"{row['after']:.4f}" != f"{text['after']:.4f}"


def _rules(rows: Sequence[Row]) -> list[Row]:
    """All five groups by the text's rules and by the code's."""
    arranged: list[Row] = []
    for row in rows:
        if row["rules"] not in ("text", "code"):
            continue
        name = {"tagger": row["tagger"], "recalibration": row["technique"], "G": G[row["sharing"]]}
        if row["measure"] == "SMCE":
            arranged.append({**name, "rules": row["rules"]})
        arranged[-1][row["measure"]] = _shown(row)
    return [{key: row.get(key, "–") for key in arranged[0]} for row in arranged]


def _effects(rows: Sequence[Row]) -> list[Row]:
    """Differences of the debiased squared errors, with their paired intervals."""
    arranged: list[Row] = []
    for row in rows:
        if row["measure"] == "SMCE":
            maps = G.get(row["sharing"], row["sharing"])
            name = {"tagger": row["tagger"], "recalibration": row["technique"], "G": str(maps)}
            arranged.append({**name, "departure": row["departure"]})
        ends = f"[{row['mse_low']:.5f}, {row['mse_high']:.5f}]" if row["mse_low"] is not None else ""
        arranged[-1][row["measure"]] = f"{row['mse_difference']:.5f} {ends}".strip()
    return arranged


def _affected(rows: Sequence[Row]) -> list[Row]:
    """Return the percentage of the scores that each departure affects."""
    arranged: list[Row] = []
    for row in rows:
        shares = {
            key: f"{number(value)} ({100 * value / row['n']:.1f} %)"
            for key, value in row.items()
            if key not in ("tagger", "sharing", "n")
        }
        arranged.append({"tagger": row["tagger"], "G": G[row["sharing"]], "scores": row["n"], **shares})
    return arranged
