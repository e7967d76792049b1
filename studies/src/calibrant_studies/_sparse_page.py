"""The sparse study's tables as its page shows them: the paper's table 1, and intervals beside numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from calibrant_studies._base import Row, number
from calibrant_studies._sparse_choice import OF_PAPER
from calibrant_studies._sparse_findings import PAPER_MEASURES, RAREST, paper_value
from calibrant_studies._sparse_maps import PAPER_SHARING, TECHNIQUES, Sharing
from calibrant_studies._sparse_scores import GROUPS, TITLE

MAPS = {"SCW": 1, "TFG": GROUPS}
TASK = {"lextag": "LSR", "hmm": "CCG", "spacy": "CCG"}


def arrange(tables: Mapping[str, list[Row]]) -> dict[str, list[Row]]:
    """Tables for the page, from those of the record."""
    arranged: dict[str, list[Row]] = {}
    for kind, title in TITLE.items():
        own = {name: [row for row in rows if row["tagger"] == title] for name, rows in tables.items()}
        if own["errors"]:
            arranged[f"table-1-{kind}"] = _table_1(own["errors"], TASK[kind])
            arranged[f"page-groups-{kind}"] = [_group(row) for row in own["groups"]]
            arranged[f"page-debiased-{kind}"] = debiased_rows(own["errors"], ("SCW", "TFG"))
    arranged["page-category"] = _categories(tables["errors"])
    arranged["page-resampled"] = _resampled(tables["resampled"])
    arranged["page-renormalized"] = _renormalized(tables["renormalized"])
    arranged["page-choice"] = [
        _choice(row) for row in tables["choice"] if row["chosen"] or row["name"] in OF_PAPER
    ]
    return arranged


def _pick(rows: Sequence[Row], **wanted: str) -> Row:
    return next(row for row in rows if all(row[key] == value for key, value in wanted.items()))


def _table_1(errors: Sequence[Row], task: str) -> list[Row]:
    """Return the paper's table 1 with the numbers of this study and of the paper."""
    first: Row = {"recalibration": "none", "G": None}
    for measure in PAPER_MEASURES:
        first[measure] = f"{_pick(errors, measure=measure)['plug-in before']:.4f}"
        first[f"{measure}, paper ({task})"] = f"{paper_value(task, 'none', '', measure)[0]:.4f}"
    rows = [first]
    for technique in TECHNIQUES:
        for sharing in PAPER_SHARING:
            row: Row = {"recalibration": technique, "G": MAPS[sharing]}
            for measure in PAPER_MEASURES:
                found = _pick(errors, technique=technique, sharing=sharing, measure=measure)
                there = paper_value(task, technique, sharing, measure)
                row[measure] = f"{found['plug-in after']:.4f} ({100 * found['change']:+.1f} %)"
                row[f"{measure}, paper ({task})"] = f"{there[0]:.4f} ({there[1]:+.1f} %)"
            rows.append(row)
    return rows


def _group(row: Row) -> Row:
    return {
        "tags": "all" if row["measure"] == "SMCE" else f"group {row['measure'][5:]}",
        "N": row["N"],
        "tag types": row["tag types"],
        "fraction in train": f"[{100 * row['lowest share']:.2f} %, {100 * row['highest share']:.2f} %]",
        "tokens": row["tokens"],
        "error": f"{row['plug-in']:.4f}",
        "of a calibrated model": f"{row['floor']:.4f} (95 %: {row['floor, high']:.4f})",
        "debiased": _interval(row, "debiased", "low", "high"),
        "frequency minus score": _interval(row, "gap", "gap, low", "gap, high"),
    }


def _interval(row: Row, value: str, low: str, high: str, digits: int = 4) -> str:
    if row[value] is None:
        return number(None)
    ends = "" if row[low] is None else f" [{row[low]:.{digits}f}, {row[high]:.{digits}f}]"
    return f"{row[value]:.{digits}f}{ends}"


def debiased_rows(errors: Sequence[Row], sharings: Sequence[Sharing]) -> list[Row]:
    """Debiased errors with their intervals; a star where the squared error's paired interval excludes 0."""
    measures = ["SMCE", *(f"GMCE {group}" for group in range(1, GROUPS + 1))]
    first: Row = {"recalibration": "none", "G": None}
    first |= {
        m: _interval(_pick(errors, measure=m), "debiased before", "before, low", "before, high", 3)
        for m in measures
    }
    rows = [first]
    for technique in TECHNIQUES:
        for sharing in sharings:
            row: Row = {"recalibration": technique, "G": MAPS.get(sharing)}
            for measure in measures:
                found = _pick(errors, technique=technique, sharing=sharing, measure=measure)
                row[measure] = _interval(found, "debiased after", "after, low", "after, high", 3) + _sign(
                    found
                )
            rows.append(row)
    return rows


def _sign(row: Row) -> str:
    """An arrow where the paired interval of the squared errors' difference excludes 0."""
    return " ↓" if row["mse_low"] > 0 else " ↑" if row["mse_high"] < 0 else ""


def _categories(errors: Sequence[Row]) -> list[Row]:
    """Return debiased errors by the tags that share a map."""
    rows: list[Row] = []
    for title in dict.fromkeys(row["tagger"] for row in errors):
        for technique in TECHNIQUES:
            row: Row = {"tagger": title, "recalibration": technique}
            row["MCE before"] = f"{_pick(errors, tagger=title, measure='MCE')['debiased before']:.3f}"
            for sharing, name in (("SCW", "one map"), ("TFG", "by frequency"), ("category", "by category")):
                for measure in ("MCE", RAREST):
                    found = _pick(errors, tagger=title, technique=technique, sharing=sharing, measure=measure)
                    row[f"{measure}, {name}"] = f"{found['debiased after']:.3f}{_sign(found)}"
            rows.append(row)
    return rows


def _resampled(rows: Sequence[Row]) -> list[Row]:
    arranged: list[Row] = []
    for row in rows:
        if row["measure"] == "MCE":
            name = {"tagger": row["tagger"], "recalibration": row["technique"], "G": MAPS[row["sharing"]]}
            arranged.append(name)
        if row["measure"] in ("SMCE", RAREST):
            arranged[-1][row["measure"]] = _interval(row, "plug-in after", "after, low", "after, high")
            fall = _interval(row, "mse_difference", "mse_low", "mse_high", 5)
            arranged[-1][f"fall of the squared error, {row['measure']}"] = fall
    return arranged


def _renormalized(rows: Sequence[Row]) -> list[Row]:
    """Debiased shared errors without and with division, the mass below the threshold kept or recalibrated."""
    arranged: list[Row] = []
    for row in rows:
        if row["measure"] != "SMCE":
            continue
        after = f"{row['debiased after']:.3f}{_sign(row)}"
        off = row["mean distance of sums from 1"]
        if row["below the threshold"] == "kept":
            name = {"tagger": row["tagger"], "recalibration": row["technique"], "G": MAPS[row["sharing"]]}
            arranged.append(name | {"not divided": f"{row['debiased before']:.3f}"})
        arranged[-1] |= {
            f"divided, rest {row['below the threshold']}": after,
            f"sums off 1, rest {row['below the threshold']}": f"{off:.3f}",
        }
    return arranged


def _choice(row: Row) -> Row:
    return {
        "tagger": row["tagger"],
        "recalibration": row["technique"],
        "setting": row["name"] + (" (best on dev)" if row["chosen"] else " (the paper's)"),
        "Brier score, held out of dev": f"{row['loss']:.5f}",
        "on test": f"{row['test']:.5f}",
        "below that of one map": _interval(row, "gain", "gain, low", "gain, high", 5),
    }
