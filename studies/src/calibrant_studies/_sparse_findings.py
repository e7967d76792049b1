"""The sparse study's numbers beside those of Kranzlein, Liu & Schneider (2021)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from calibrant_studies._base import Finding, Row
from calibrant_studies._sparse_maps import PAPER_SHARING, TECHNIQUES
from calibrant_studies._sparse_scores import GROUPS, Tagset
from calibrant_studies._tagging_compare import holm
from calibrant_studies._verdicts import above, apart, below, between

LEVEL = 0.05
RAREST = f"GMCE {GROUPS}"
Three = tuple[float, float, float]
# Table 1 of the paper: SMCE, GMCE of group 1 and of group 5, and their changes in per cent.
PAPER: Mapping[str, Mapping[tuple[str, str], tuple[Three, Three]]] = {
    "CCG": {
        ("none", ""): ((0.0167, 0.0183, 0.0396), (0.0, 0.0, 0.0)),
        ("scaling binning", "SCW"): ((0.0065, 0.0225, 0.0390), (-61.0, 22.89, -1.47)),
        ("scaling binning", "TFG"): ((0.0019, 0.0049, 0.0114), (-88.87, -73.09, -71.19)),
        ("isotonic regression", "SCW"): ((0.0024, 0.0226, 0.0276), (-85.54, 23.72, -30.35)),
        ("isotonic regression", "TFG"): ((0.0032, 0.0230, 0.0228), (-80.93, 25.58, -42.37)),
        ("histogram binning", "SCW"): ((0.0047, 0.0286, 0.0422), (-72.06, 56.49, 6.54)),
        ("histogram binning", "TFG"): ((0.0028, 0.0254, 0.0218), (-83.42, 38.69, -44.93)),
    },
    "LSR": {
        ("none", ""): ((0.0330, 0.0356, 0.0553), (0.0, 0.0, 0.0)),
        ("scaling binning", "SCW"): ((0.0144, 0.0105, 0.0534), (-56.36, -70.48, -3.48)),
        ("scaling binning", "TFG"): ((0.0159, 0.0269, 0.0153), (-51.83, -24.42, -72.27)),
        ("isotonic regression", "SCW"): ((0.0130, 0.0161, 0.0374), (-60.74, -54.95, -32.49)),
        ("isotonic regression", "TFG"): ((0.0124, 0.0132, 0.0142), (-62.57, -62.93, -74.34)),
        ("histogram binning", "SCW"): ((0.0086, 0.0298, 0.0409), (-73.94, -16.4, -26.15)),
        ("histogram binning", "TFG"): ((0.0110, 0.0222, 0.0145), (-66.76, -37.78, -73.71)),
    },
}
PAPER_MEASURES = ("SMCE", "GMCE 1", RAREST)


def paper_value(task: str, technique: str, sharing: str, measure: str) -> tuple[float, float]:
    """Return an error of the paper's table 1, and its change in per cent."""
    errors, changes = PAPER[task][technique, sharing]
    place = PAPER_MEASURES.index(measure)
    return errors[place], changes[place]


def find(tagsets: Sequence[Tagset], tables: Mapping[str, list[Row]]) -> Iterator[Finding]:
    """All findings, tagger by tagger."""
    for tagset in tagsets:
        own = {name: [row for row in rows if row["tagger"] == tagset.title] for name, rows in tables.items()}
        yield from _about(tagset)
        yield from _falls(tagset, own["errors"])
        yield from _rarest(tagset, own["rivals"])
        yield _others_close(tagset, own["rivals"])
        yield _increases(tagset, own["errors"])
        yield from _initial(tagset, own["groups"])
        yield _most_improved(tagset, own["errors"])
        yield _renormalized(tagset, own["renormalized"])
        yield from _directions(tagset, own["groups"])


def _about(tagset: Tagset) -> Iterator[Finding]:
    paper = "0.811 on dev (LSR)" if tagset.kind == "lextag" else "0.961 on dev (CCG)"
    note = "another tagger; normal interval by sentence"
    text = f"{tagset.title}: accuracy on test"
    yield Finding(f"{tagset.kind}/accuracy", text, *tagset.accuracy, paper, "not comparable", note)
    text = f"{tagset.title}: fraction of all scores below 0.0001"
    yield Finding(
        f"{tagset.kind}/near-zero",
        text,
        *tagset.near_zero,
        "more than 0.98",
        note="normal interval by sentence",
        claim=above(0.98),
    )


def _pick(rows: Sequence[Row], **wanted: str) -> Row:
    return next(row for row in rows if all(row[key] == value for key, value in wanted.items()))


def _percent(change: float) -> str:
    return f"{100 * change:+.0f} %"


def _falls(tagset: Tagset, errors: Sequence[Row]) -> Iterator[Finding]:
    """Yield the reduction of SMCE by each technique, and compare its size with the paper's."""
    found = []
    for technique in TECHNIQUES:
        for sharing in PAPER_SHARING:
            row = _pick(errors, technique=technique, sharing=sharing, measure="SMCE")
            found.append(row["change"])
            lsr, ccg = (paper_value(task, technique, sharing, "SMCE")[1] for task in ("LSR", "CCG"))
            yield Finding(
                f"{tagset.kind}/{technique.replace(' ', '-')}/{sharing}/smce",
                f"{tagset.title}, {technique}, {sharing}: fall of the squared shared error",
                row["mse_difference"],
                row["mse_low"],
                row["mse_high"],
                f"falls (SMCE {lsr:+.0f} % LSR, {ccg:+.0f} % CCG)",
                note=f"debiased, paired; SMCE {row['plug-in before']:.4f} to {row['plug-in after']:.4f}, "
                f"{_percent(row['change'])}",
                claim=above(0),
            )
    yield Finding(
        f"{tagset.kind}/smce-range",
        f"{tagset.title}: change of SMCE over techniques",
        f"{_percent(min(found))} to {_percent(max(found))}",
        paper="-89 % to -52 %",
        note="plug-in errors, as in the paper, without an interval; see those above",
        claim=between(-0.895, -0.515),
    )


def _rarest(tagset: Tagset, rivals: Sequence[Row]) -> Iterator[Finding]:
    for technique in TECHNIQUES:
        row = _pick(rivals, technique=technique, measure=RAREST)
        there = []
        for task in PAPER:
            shared, grouped = (paper_value(task, technique, name, RAREST)[0] for name in PAPER_SHARING)
            there.append(f"{shared:.3f} and {grouped:.3f} {task}")
        yield Finding(
            f"{tagset.kind}/{technique.replace(' ', '-')}/rarest",
            f"{tagset.title}, {technique}, rarest group: squared error, SCW minus TFG",
            row["mse_difference"],
            row["mse_low"],
            row["mse_high"],
            f"TFG far better ({'; '.join(there)})",
            note=f"debiased, paired; GMCE {row['plug-in before']:.4f} and {row['plug-in after']:.4f}",
            claim=above(0),
        )


def _others_close(tagset: Tagset, rivals: Sequence[Row]) -> Finding:
    rows = [row for row in rivals if row["measure"].startswith("GMCE") and row["measure"] != RAREST]
    adjusted = holm(np.array([row["p_value"] for row in rows]))
    better = {
        "TFG": sum(p < LEVEL and row["mse_difference"] > 0 for p, row in zip(adjusted, rows, strict=True)),
        "SCW": sum(p < LEVEL and row["mse_difference"] < 0 for p, row in zip(adjusted, rows, strict=True)),
    }
    signs = sum(row["mse_difference"] > 0 for row in rows)
    decided = sum(better.values())
    return Finding(
        f"{tagset.kind}/other-groups",
        f"{tagset.title}: cases of the other groups, of {len(rows)}, in which SCW and TFG differ",
        decided,
        float(decided),
        float(len(rows)),
        "close in most cases",
        note=f"at least those after Holm's correction (TFG better in {better['TFG']}, SCW in "
        f"{better['SCW']}), at most all: undecided is not the same as close; by sign TFG better in {signs}",
        claim=below(len(rows) / 2),
    )


def _increases(tagset: Tagset, errors: Sequence[Row]) -> Finding:
    counts, sure = {}, 0
    for technique in TECHNIQUES:
        rows = [
            row
            for row in errors
            if (row["technique"], row["sharing"] in PAPER_SHARING) == (technique, True)
            and row["measure"].startswith("GMCE")
        ]
        counts[technique] = sum(row["change"] > 0 for row in rows)
        sure += sum(row["mse_high"] < 0 for row in rows)
    isotonic = counts.pop("isotonic regression")
    return Finding(
        f"{tagset.kind}/increases",
        f"{tagset.title}: groups, of {2 * GROUPS} (SCW and TFG), whose GMCE isotonic regression raises, "
        "minus the fewest of the other techniques",
        isotonic - min(counts.values()),
        paper="isotonic regression fewest (CCG: group 1; LSR: none)",
        claim=below(1),
        note=f"isotonic regression {isotonic}, "
        + ", ".join(f"{name} {count}" for name, count in counts.items())
        + f"; plug-in errors, without an interval; {sure} of {3 * 2 * GROUPS} squared errors rise "
        "beyond their paired interval",
    )


def _initial(tagset: Tagset, groups: Sequence[Row]) -> Iterator[Finding]:
    """Yield findings on the groups with the largest and smallest error before recalibration."""
    rows = [row for row in groups if row["measure"].startswith("GMCE")]
    listed = "; ".join(
        f"{r['measure'][5:]}: {r['debiased']:.3f} [{r['low']:.3f}, {r['high']:.3f}]" for r in rows
    )
    for word, group, choose, claim in (("lowest", 2, min, below(0)), ("highest", GROUPS, max, above(0))):
        own = rows[group - 1]
        others = [row for row in rows if row is not own]
        best = choose(others, key=lambda row: float(row["debiased"]))
        ends = (choose(row["low"] for row in others), choose(row["high"] for row in others))
        yield Finding(
            f"{tagset.kind}/{word}",
            f"{tagset.title}: error of group {group} before, minus the {word} of the other groups",
            own["debiased"] - best["debiased"],
            *apart((own["low"], own["high"]), ends),
            f"group {group} {word}",
            note=f"from the ends of the intervals, conservative; debiased: {listed}",
            claim=claim,
        )


def _most_improved(tagset: Tagset, errors: Sequence[Row]) -> Finding:
    """Yield a finding on the group whose error falls most by TFG, in the mean over the techniques."""
    changes = {
        group: float(
            np.mean(
                [
                    row["change"]
                    for row in errors
                    if (row["sharing"], row["measure"]) == ("TFG", f"GMCE {group}")
                ]
            )
        )
        for group in range(1, GROUPS + 1)
    }
    others = min(change for group, change in changes.items() if group != GROUPS)
    listed = ", ".join(f"{group}: {_percent(change)}" for group, change in changes.items())
    return Finding(
        f"{tagset.kind}/most-improved",
        f"{tagset.title}: change of group {GROUPS} by TFG, minus the largest fall of the other groups",
        changes[GROUPS] - others,
        paper=f"group {GROUPS} falls most",
        note=f"mean change of GMCE over techniques, without an interval; {listed}",
        claim=below(0),
    )


def _directions(tagset: Tagset, groups: Sequence[Row]) -> Iterator[Finding]:
    """Yield findings on the sign of the error for frequent and for rare tags."""
    for group, word in ((1, "below 0 (overconfident)"), (GROUPS, "above 0 (underconfident)")):
        row = _pick(groups, measure=f"GMCE {group}")
        yield Finding(
            f"{tagset.kind}/gap-{group}",
            f"{tagset.title}: frequency minus score, {'most frequent' if group == 1 else 'rarest'} group",
            row["gap"],
            row["gap, low"],
            row["gap, high"],
            f"often {word}",
            note="interval by sentence",
            claim=below(0) if group == 1 else above(0),
        )


def _renormalized(tagset: Tagset, rows: Sequence[Row]) -> Finding:
    shared = [row for row in rows if row["measure"] == "SMCE"]
    counts = []
    for treatment in ("kept", "recalibrated"):
        own = [row for row in shared if row["below the threshold"] == treatment]
        beyond = sum(row["mse_high"] < 0 for row in own)
        worse = sum(row["mse_difference"] < 0 for row in own)
        counts.append(f"{worse} of {len(own)} ({beyond} beyond the interval) with the rest {treatment}")
    return Finding(
        f"{tagset.kind}/renormalized",
        f"{tagset.title}: maps after which dividing by sums raises the shared error",
        "; ".join(counts),
        note="debiased, paired; the paper does not examine this",
    )
